package parse

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

var (
	pages = flag.String("pages", "", "a folder of pages to compare with the tokenizer")
	cases = flag.Int("cases", 60_000, "how many random pages to compare with the tokenizer")
)

// agree holds what the Parser says of a page to what the oracle says. The body
// must not be written to, and nothing that was said may change after it, or
// after the next page.
func agree(t testing.TB, p *Parser, body []byte, contentType string, w Want) *Doc {
	t.Helper()
	at := mustURL(t, here)
	lent := bytes.Clone(body)
	got := p.HTML(lent, at, contentType, "weir", w)
	if !bytes.Equal(lent, body) {
		t.Errorf("%.2000q was written to", body)
	}
	clear(lent)
	p.HTML([]byte("<title>other</title><a href=other rel=other>other</a>"), at, "", "", all)
	if want := oracleHTML(body, at, contentType, "weir", w); !reflect.DeepEqual(got, want) {
		t.Errorf("%s, %+v\n%.2000q\ngot\n%.4000s\nwant\n%.4000s", contentType, w, body, dump(got), dump(want))
	}
	return got
}

// pieces are what pages are made of where tokenizers disagree. A line is about
// one thing.
var pieces = func() (lines [][]string) {
	for line := range strings.Lines(`<a |<A |<a>|</a>|<a/>|href=|HREF = |href='x'|href="y?a=1&amp;b"|xlink:href=z|rel=nofollow |rel="NoFollow ugc"|x|y| |>
<img |<img alt='a&lt;b' |src=|src=i.png |srcset="a 1x, b 2x"|srcset=|alt=|<area |<iframe src=f>|</iframe>|<frame src=g>|<a href=x>|>
<base href=/b/>|<base href="//c.test/d/">|<base |<link |rel=stylesheet |rel=canonical |rel="alternate" hreflang=de |rel=next |href=u|>
<meta name=robots content=noindex>|<meta name=WEIR content="nofollow">|<meta http-equiv=refresh content="0;url=r">|<meta |content=|property="og:X y" |name=p |content=" a  b&amp;" |>
<title>|</title>|<title/>|<TITLE >|</title |</|<svg>|</svg>|</p>|<template>|</template>|&amp;|t|>|<|/
<style>|</style>|</style|url(u)|@import 'v'|<p style="b:url(w)">|style=|/*|*/|\\|(|)|'|>|<!--
<script>|</script>|</SCRIPT |<script|</scr|<!--|-->|--|-|<!|>|<|/|script|<!-- <script>|<x|1 < 2|<a href=x>
<!--|-->|--!>|--!|--|-|!|<!-->|<!--->|<!|<?|?>|<!doctype html>|<![CDATA[|]]>|]]|]|x|>|<a href=x>|</a>
<svg>|</svg>|<svg/>|<svg a=/>|<svg a a=/>|<svg A=1 a=x/>|<svg |<math>|a|a=/|/|=|/>|>|<title>|<title/>|<style x=/>|<p>|<use href=k />|<image xlink:href=j />
<textarea>|</textarea>|<xmp>|</xmp>|<noembed>|</noembed>|<noframes>|</noframes>|<noscript>|</noscript>|<plaintext>|<svg>|<body>|<a href=x>|text|&lt;
<template>|</template>|<template shadowrootmode=open>|<template x>|<body>|<p>|</p>|<a href=x>|</a>|<title>|</title>|text
<td background=t>|<input type=image |<object data=o>|<video poster=p src=v>|<use href=#k />|src=s|kind=|>
<br/>|<br>|<b|</b|</|<|>|/|/>|//|=|"|'|a|href| |<a
<a href="|">|&|&amp;|&amp|&lt|&lt=|&lt;|&not|&notit;|&notin;|&nLt;|&semi;|&fjlig;|&ampx;|&copy=1|&copy|&nbsp;|&ngE;|&acE;|=|;|x|&amp;amp;
<a href="|">|&#|&#x|&#65;|&#x41|&#0;|&#128;|&#1114112;|&#xD800;|&#13;|&#38;|;|x|0|9|&
http://o.test/p?q#f|mailto:m|javascript:j|//n.test|?q=|#|../|:|;|,|é|ß|日本|İ|<a href=|<a href="|">|>|.|/
<p |a b=c |a=b |=a |=|a=/ |class="k" |data-x='"'|>|href|a|"|'
text|some words |</p>|<p>|<td>|</td>|<a href=x>|</a>|<img alt=y>|é`) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "|"))
	}
	return append(lines,
		[]string{" ", "\t", "\n", "\r", "\r\n", "\f", "\v", "\x00", "`", "|", "\ufeff", "\u00ad", "<a ", "<a\x00", "href", "=", "'", "x", ">", "<title>", "<style>", "url("},
		[]string{"\xe9", "\xff", "\x83", "\x81", "\x8f\xfe", "\x1b$B", "\x1b(B", "\x81>\x820", "<a href=", "<a href=\"", "\"", ">", "?", "a"},
		[]string{"<svg ", "\x83A", "\x83a", "=1 ", "=/>", " ", "\x81", "<title/>", "<a href=x>"},
	)
}()

// nasty makes a page of pieces, and some bytes. Most pages are about a thing or
// two, so that they come far with them.
func nasty(r *rand.Rand) []byte {
	lines := [][]string{pieces[r.IntN(len(pieces))], pieces[r.IntN(len(pieces))]}
	if r.IntN(4) == 0 {
		lines = pieces
	}
	var b []byte
	for range 1 + r.IntN(24) {
		if r.IntN(24) == 0 {
			b = append(b, byte(r.Uint32()))
			continue
		}
		line := lines[r.IntN(len(lines))]
		b = append(b, line[r.IntN(len(line))]...)
	}
	return b
}

// charsets are one of each kind there is.
var charsets = []string{
	"utf-8", "utf-8", "utf-8", "windows-1252", "koi8-r", "windows-874", "iso-8859-8", "ibm866", "x-user-defined",
	"shift_jis", "gbk", "gb18030", "big5", "euc-kr", "euc-jp", "iso-2022-jp", "utf-16le", "hz-gb-2312", "macintosh",
}

func wants(n int) Want {
	return Want{Text: n&1 != 0, Anchors: n&2 != 0, Requisites: n&4 != 0, Words: n&8 != 0, Metas: n&16 != 0, Translations: n&32 != 0}
}

// TestScanQuirks reads what chance would take long to find.
func TestScanQuirks(t *testing.T) {
	var p Parser
	for _, body := range []string{
		"<script><!--><script></script><a href=x>",
		"<script><!---><script></script><a href=x>",
		"<script><!-- <script></script><a href=x></script><a href=y>",
		"<script><!-- <script></script --><a href=x></script><a href=y>",
		"<script><!-- <script> --> <script></script><a href=x>",
		"<script><!-- <scripty></script><a href=x>",
		"<script><!-- </scripty <script>/</script/></script ><a href=x>",
		"<script><!-- 1 < 2 <script></script><a href=x>",
		"<script><!-<script></script><a href=x>",
		"<script></script", "<script></scrip", "<script><", "<script><!", "<script><!--<", "<script><!--</", "<script><!--<s",
		"<svg \x83A=1 \x83a=/><title/><a href=x>",
		"<svg \x81\xff=1 \x81\xfe=/><title/><a href=x>",
		"<svg a=1 A=/><title><a href=x>",
		"<svg a=1 b=/><title><a href=x>",
		"<svg><title/><a href=x></title><a href=y>",
		"<svg><title b=/><a href=x></title><a href=y>",
		"<svg><p><title/><a href=x></title><a href=y>",
		"<svg><xmp/><a href=x></xmp><a href=y>",
		"<title></title ><a href=x>", "<title></title/><a href=x>", "<title></titles><a href=x></title>", "<title></", "<title></title",
		"<a href=x/>", "<a href='x'/>", "<a href=x / rel=nofollow>", "<a/href=x>", "<a =href=x>", "<a href==x>", "<a href = x>", "<a href=>x>",
		"<a href href=x>", "<a href='' href=x>", "<a HREF=x href=y>", "<a href=\"x", "<a href=x", "<a href", "<a ", "<a", "<",
		"<a href=x'y>", "<a href='x'y=z>", "<a\x00 href=x><a href\x00=x><a href=x\x00>", "<a href=a\rb\r\nc&#13;>",
		"</a href='>'>x", "</a href=\">\"", "</ a><a href=x>", "</><a href=x>", "</1><a href=x>", "</", "<a></",
		"<!><a href=x>", "<!-><a href=y>--><a href=x>", "<!--><a href=x>", "<!---><a href=x>", "<!----><a href=x>", "<!--!><a href=x>-->", "<!----!><a href=x>",
		"<!----!-><a href=x>-->", "<!----!--><a href=x>", "<!-- --!!><a href=x>-->", "<!", "<!-", "<!--", "<!--x--", "<!--x--!", "<?", "<?>", "<?<a href=x>",
		"<!DOCTYPE x [<!ENTITY a 'b'>]><a href=x>", "<!doctyp", "<![CDATA[<a href=x>]]><svg><![CDATA[<a href=y>]]>",
		"<plaintext><a href=x></plaintext><a href=y>", "<noscript><a href=x></noscript>", "<a href=x><b>t</a>u", "<a href=x>t<a>u</a>v",
		"&amp&lt&#x41&notit;&nope;&;&#;&#x;&", "<a href='&amp&lt&#x41&notit;&notin;&nope;&;&#;&#x;&lt=&copy=&copy;=&'>",
	} {
		for _, cs := range charsets {
			agree(t, &p, []byte(body), "text/html; charset="+cs, all)
		}
		sameTokens(t, []byte(body))
	}
}

// TestScanNasty reads pages that no one would write, in all encodings.
func TestScanNasty(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, seed))
	var p Parser
	for i := range *cases {
		body := nasty(r)
		w := wants(r.IntN(64) | r.IntN(64))
		agree(t, &p, body, "text/html; charset="+charsets[i%len(charsets)], w)
		sameTokens(t, body)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

// TestScanEveryPair reads all two-byte sequences round what parts a page, in
// every encoding: no delimiter is lost in a character, and none made up.
func TestScanEveryPair(t *testing.T) {
	var p Parser
	for _, cs := range charsets {
		var body []byte
		for hi := 0x80; hi < 0x100; hi++ {
			for lo := range 0x100 {
				body = fmt.Appendf(body, "<a href=%c%c>%c%c</a><p title=\"%[1]c%[2]c\"", hi, lo, hi, lo)
				body = append(body, '<', 'a', ' ', 'h', 'r', 'e', 'f', '=', '"', byte(hi), byte(lo), '"', '>', byte(hi), byte(lo), '<', '/', 'a', '>', byte(hi))
			}
			agree(t, &p, body, "text/html; charset="+cs, Want{Text: true, Anchors: true})
			body = body[:0]
			if t.Failed() {
				t.Fatalf("%s, %#x", cs, hi)
			}
		}
	}
}

// TestScanPages reads whole pages: those of the tests, and any others given.
func TestScanPages(t *testing.T) {
	var p Parser
	n := 0
	for _, root := range []string{"testdata", *pages} {
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !strings.Contains(path, ".htm") && root != "testdata" {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n++
			for _, w := range []Want{{}, all} {
				if agree(t, &p, body, "text/html", w); t.Failed() {
					t.Fatal(path)
				}
			}
			sameTokens(t, body)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pages", n)
}

func FuzzScan(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 200 {
		f.Add(nasty(r), charsets[i%len(charsets)], byte(i))
	}
	var p Parser
	f.Fuzz(func(t *testing.T, body []byte, charset string, want byte) {
		agree(t, &p, body, "text/html; charset="+charset, wants(int(want)))
		sameTokens(t, body)
	})
}

// sameTokens holds the scanner to the tokenizer one token after the other, with
// all known attributes and all text, as HTML and as XML.
func sameTokens(t *testing.T, body []byte) {
	t.Helper()
	for _, xml := range []bool{false, true} {
		got, want := scanned(body, xml), tokenized(body, xml)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("xml %v: %.2000q\ngot  %.4000q\nwant %.4000q", xml, body, got, want)
		}
	}
}

func scanned(body []byte, xml bool) []string {
	var s scanner
	s.open(body, nil)
	s.cdata, s.always = xml, ^attrSet(0)
	var out []string
	for {
		switch s.scan() {
		case endOfPage:
			return join(out)
		case textToken:
			if s.section {
				out = append(out, "text "+string(s.raw))
			} else {
				out = append(out, "text "+string(s.text()))
			}
		case startTag:
			line := fmt.Sprintf("start %s %v %v", bytes.ReplaceAll(oracleLower(s.name), []byte{0}, []byte("\uFFFD")), s.selfClosing(), s.more)
			for i, v := range s.attr {
				if v != nil {
					line += fmt.Sprintf(" %d=%q", i, v)
				}
			}
			out = append(out, line)
			if xml {
				s.notRaw()
			}
		case endTag:
			out = append(out, "end "+string(bytes.ReplaceAll(oracleLower(s.name), []byte{0}, []byte("\uFFFD"))))
		}
	}
}

func tokenized(body []byte, xml bool) []string {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.AllowCDATA(xml)
	var out []string
	for {
		switch tt := z.Next(); tt {
		case html.ErrorToken:
			return join(out)
		case html.TextToken:
			raw := bytes.Clone(z.Raw())
			if section, ok := bytes.CutPrefix(raw, []byte("<![CDATA[")); ok && xml {
				out = append(out, "text "+string(bytes.TrimSuffix(section, []byte("]]>"))))
			} else {
				out = append(out, "text "+string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			line := fmt.Sprintf("start %s %v %v", name, tt == html.SelfClosingTagToken, more)
			if xml || string(name) == "noscript" {
				z.NextIsNotRawText()
			}
			var a oracleAttrs
			a.read(z)
			for i, v := range a {
				if v != nil {
					line += fmt.Sprintf(" %d=%q", i, v)
				}
			}
			out = append(out, line)
		case html.EndTagToken:
			name, _ := z.TagName()
			out = append(out, "end "+string(name))
		}
	}
}

// join makes one of the texts that follow each other: where a page breaks off
// inside a tag the tokenizer makes two of one.
func join(tokens []string) []string {
	var out []string
	for _, tok := range tokens {
		text, ok := strings.CutPrefix(tok, "text ")
		if n := len(out) - 1; ok && n >= 0 && strings.HasPrefix(out[n], "text ") {
			out[n] += text
			continue
		}
		out = append(out, tok)
	}
	return out
}

func oracleLower(b []byte) []byte {
	b = bytes.Clone(b)
	for i, c := range b {
		b[i] = lower(c)
	}
	return b
}
