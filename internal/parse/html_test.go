package parse

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"weir/page"
	"weir/robots"
)

func mustURL(t testing.TB, s string) page.URL {
	t.Helper()
	u, err := page.Parse(s)
	if err != nil {
		t.Fatalf("parse %q: %v", s, err)
	}
	return u
}

const here = "http://h.test/d/p.html?q=1"

var all = Want{Text: true, Anchors: true, Requisites: true, Words: true, Metas: true, Translations: true}

func read(t testing.TB, html string, w Want) *Doc {
	t.Helper()
	var p Parser
	return agree(t, &p, []byte(html), "text/html", w)
}

// show writes links as "nav http://h.test/x".
func show(links []page.Link) []string {
	out := []string{}
	for _, l := range links {
		s := l.Kind.String() + " " + strings.TrimPrefix(l.URL.String(), "http://h.test")
		if l.NoFollow {
			s += " nofollow"
		}
		out = append(out, s)
	}
	return out
}

func TestLinks(t *testing.T) {
	for _, tc := range []struct{ name, html, want string }{
		{"a", `<a href=x>`, "nav /d/x"},
		{"a in capitals", `<A HREF="X">`, "nav /d/X"},
		{"a absolute", `<a href="https://other.test/x?y#z">`, "nav https://other.test/x?y"},
		{"a with spaces", "<a href=' \n x y\t '>", "nav /d/x%20y"},
		{"a with a broken line", "<a href='/long/\n\tpath'>", "nav /long/path"},
		{"a with entities", `<a href="?a=1&amp;b=2&copy=3&#x26;c">`, "nav /d/p.html?a=1&b=2&copy=3&c"},
		{"a of another scheme", `<a href="//o.test">`, "nav http://o.test/"},
		{"first of two attributes", `<a href=1 href=2>`, "nav /d/1"},
		{"no href", `<a name=x>`, ""},
		{"the page itself", `<a href="#top"><a href=""><a href=" # ">`, ""},
		{"a dot is no fragment", `<a href=".#top">`, "nav /d/"},
		{"area", `<map><area href=x rel=nofollow></map>`, "nav /d/x nofollow"},
		{"iframe and frame", `<iframe src=i></iframe><frameset><frame src=f></frameset>`, "nav /d/i, nav /d/f"},
		{"iframe's fallback is text", `<iframe src=i><a href=x></a></iframe>`, "nav /d/i"},
		{"refresh", `<meta http-equiv=refresh content="0; url=x">`, "nav /d/x"},
		{"refresh of itself", `<meta http-equiv=refresh content=5>`, ""},
		{"svg a", `<svg><a xlink:href=x></a></svg>`, "nav /d/x"},
		{"form", `<form action=x><button formaction=y></form>`, ""},
		{"citations", `<q cite=x></q><img longdesc=y><a ping=z>`, ""},

		{"img", `<img src=i.png srcset="a.png, b.png 2x">`, "requisite /d/i.png, requisite /d/a.png, requisite /d/b.png"},
		{"empty img", `<img src="" srcset="">`, ""},
		{"picture", `<picture><source srcset="a 100w,b 200w"><img src=c></picture>`, "requisite /d/a, requisite /d/b, requisite /d/c"},
		{"video", `<video src=v poster=p><source src=s><track src=t></video>`, "requisite /d/v, requisite /d/p, requisite /d/s, requisite /d/t"},
		{"audio", `<audio src=a></audio><bgsound src=b>`, "requisite /d/a, requisite /d/b"},
		{"embed and object", `<embed src=e><object data=o></object>`, "requisite /d/e, requisite /d/o"},
		{"script", `<script src=s></script>`, "requisite /d/s"},
		{"script's text", `<script>document.write('<a href=x>')</script><a href=y>`, "nav /d/y"},
		{"self-closing script runs on", `<script src=s /><a href=x></script><a href=y>`, "requisite /d/s, nav /d/y"},
		{"input", `<input type=IMAGE src=i><input type=text src=x>`, "requisite /d/i"},
		{"backgrounds", `<body background=b><table background=t><td background=d>`, "requisite /d/b, requisite /d/t, requisite /d/d"},
		{"svg images", `<svg><image href=i /><use xlink:href="s.svg#x"/><use href="#y"/><feImage href=f></svg>`,
			"requisite /d/i, requisite /d/s.svg, requisite /d/f"},
		{"svg title ends itself", `<svg><title/><a href=x></a></svg>`, "nav /d/x"},
		{"style attribute", `<p style="background: url('b.png')">`, ""},
		{"style element", `<style>@import "s.css"; p { background: url(b.png) }</style>`, ""},

		{"link stylesheet", `<link rel=stylesheet href=s><link rel="alternate stylesheet" href=t>`, "requisite /d/s, requisite /d/t"},
		{"link icon", `<link rel="Shortcut Icon" href=/f.ico>`, "requisite /f.ico"},
		{"link without rel", `<link rev=made href=x@h.test>`, "requisite /d/x@h.test"},
		{"link of unknown rel", `<link rel=whatever href=x>`, "requisite /d/x"},
		{"link preload", `<link rel=preload href=x imagesrcset="a 1x, b 2x"><link rel=preload imagesrcset=c>`,
			"requisite /d/x, requisite /d/a, requisite /d/b, requisite /d/c"},
		{"link next", `<link rel=next href=n><link rel=PREV href=p><link rel=contents type="text/html; charset=x" href=c>`,
			"nav /d/n, nav /d/p, nav /d/c"},
		{"link search", `<link rel=search href=s><link rel=search type=application/opensearchdescription+xml href=o>`,
			"nav /d/s, requisite /d/o"},
		{"link to a feed", `<link rel=alternate type=application/rss+xml href=feed>`, "requisite /d/feed"},
		{"link hints", `<link rel=preconnect href=//c.test><link rel=dns-prefetch href=//c.test><link rel=pingback href=/rpc>`, ""},
		{"link canonical", `<link rel=canonical href=c>`, ""},

		{"nofollow", `<a rel="noopener NoFollow" href=x><a rel=ugc href=y><a rel=sponsored href=z>`, "nav /d/x nofollow, nav /d/y, nav /d/z"},
		{"nofollow beside one to be followed", `<a rel=nofollow href=x><a href=x>`, "nav /d/x nofollow, nav /d/x"},
		{"each once, at its first place", `<a href=x><a href=y><a href=x#z><img src=x>`, "nav /d/x, nav /d/y, requisite /d/x"},

		{"comments", `<!-- <a href=x> --><!--[if IE]><a href=y><![endif]--><a href=z>`, "nav /d/z"},
		{"downlevel-revealed", `<![if !IE]><a href=x><![endif]>`, "nav /d/x"},
		{"noscript", `<noscript><img src=i><a href=x></a></noscript>`, "requisite /d/i, nav /d/x"},
		{"template", `<template><a href=x><template><a href=w></template></template><a href=y>`, "nav /d/y"},
		{"shadow root", `<template shadowrootmode=open><a href=x></template>`, "nav /d/x"},
		{"textarea and title", `<title><a href=x></title><textarea><a href=y></textarea>`, ""},
		{"unclosed tag at the end", `<a href=x><a href=y`, "nav /d/x"},
		{"unclosed quote", `<a href=x><a href="y>`, "nav /d/x"},
		{"non-ASCII", `<a href="é?ü#ö">`, "nav /d/%C3%A9?%C3%BC"},
		{"escapes stay", `<a href="a%3Db%2fc">`, "nav /d/a%3Db%2fc"},
		{"a path that looks like a host", `<a href=www.example.org>`, "nav /d/www.example.org"},
		{"an escaped colon is no scheme", `<a href="ftp%3A//x.test/y">`, "nav /d/ftp%3A//x.test/y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(show(read(t, tc.html, all).Links), ", "); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.html, got, tc.want)
			}
		})
	}
}

// Who does not ask what links say gets each target once, to be followed if any
// link to it is.
func TestTargetsOnce(t *testing.T) {
	d := read(t, `<a href=x rel=nofollow>one</a><a href=y>other</a><a href=x>two</a><a href=y rel=nofollow>more</a>`, Want{})
	if got := show(d.Links); !reflect.DeepEqual(got, []string{"nav /d/x", "nav /d/y"}) {
		t.Errorf("links %v", got)
	}
}

// Links to one target are kept apart up to a bound, and do not take the place of
// other targets.
func TestRepeatsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxRepeats + 10 {
		fmt.Fprintf(&b, "<a href=x>%d</a>", i)
	}
	b.WriteString("<a href=y>last</a>")
	links := read(t, b.String(), Want{Anchors: true}).Links
	if n := len(links); n != maxRepeats+2 || links[n-1].Text != "last" {
		t.Errorf("%d links, the last is %+v", n, links[n-1])
	}
}

func TestOnlyWhatIsWanted(t *testing.T) {
	html := `<title>t</title><a href=x>text</a><img src=i><p style="background:url(b)">`
	d := read(t, html, Want{})
	if got := show(d.Links); !reflect.DeepEqual(got, []string{"nav /d/x"}) {
		t.Errorf("links %v", got)
	}
	if d.Text != "" || d.Links[0].Text != "" || d.Title != "t" {
		t.Errorf("text %q, anchor %q, title %q", d.Text, d.Links[0].Text, d.Title)
	}
	d = read(t, html, Want{Requisites: true})
	if got := show(d.Links); !reflect.DeepEqual(got, []string{"nav /d/x", "requisite /d/i"}) {
		t.Errorf("with requisites: links %v", got)
	}
}

func TestRefused(t *testing.T) {
	d := read(t, `<a href="mailto:a@b"><a href="javascript:x()"><a href="JavaScript:y"><a href=tel:1><a href="ftp://h/">
		<img src="data:image/gif;base64,x"><a href="http://"><a href="http://a b/"><a href="java
script:z"><a href="about:blank"><a href="#x"><a href=ok>`, all)
	if d.Refused != 10 || len(d.Links) != 1 {
		t.Errorf("refused %d, links %v", d.Refused, show(d.Links))
	}
}

func TestBase(t *testing.T) {
	for _, tc := range []struct{ name, html, base, want string }{
		{"none", `<a href=x>`, here, "nav /d/x"},
		{"relative", `<base href=/b/><a href=x>`, "http://h.test/b/", "nav /b/x"},
		{"another host", `<base href=http://o.test/b/c><a href=x>`, "http://o.test/b/c", "nav http://o.test/b/x"},
		{"the first wins", `<base href=/a/><base href=/b/><a href=x>`, "http://h.test/a/", "nav /a/x"},
		{"javascript", `<base href=javascript:x><a href=x>`, here, "nav /d/x"},
		{"invalid, then valid", `<base href=http://><base href=/b/><a href=x>`, "http://h.test/b/", "nav /b/x"},
		{"target only", `<base target=_top><base href=/b/><a href=x>`, "http://h.test/b/", "nav /b/x"},
		{"from where it stands", `<a href=x><base href=/b/><a href=x>`, "http://h.test/b/", "nav /d/x, nav /b/x"},
		{"a fragment is of the base", `<base href=/b/><a href=#x><img src=#x>`, "http://h.test/b/", "nav /b/"},
		{"in a template", `<template><base href=/b/></template><a href=x>`, here, "nav /d/x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := read(t, tc.html, all)
			if got := strings.Join(show(d.Links), ", "); got != tc.want || d.Base.String() != tc.base {
				t.Errorf("%s\n got %s under %s\nwant %s under %s", tc.html, got, d.Base, tc.want, tc.base)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for _, tc := range []struct{ html, want string }{
		{`<title>A &amp; B</title>`, "A & B"},
		{"<title>\n  two\n\tlines </title>", "two lines"},
		{`<title>one</title><title>two</title>`, "one"},
		{`<title></title><title>two</title>`, ""},
		{`<svg><title>picture</title></svg><title>page</title>`, "page"},
		{`<title>a <b>c</b></title>`, "a <b>c</b>"},
		{`<title>open`, "open"},
		{`<template><title>x</title></template><title>y</title>`, "y"},
		{"<title>a\xffb\x00c</title>", "a\uFFFDb\uFFFDc"},
		{`<title>` + strings.Repeat("é", 2000) + `</title>`, strings.Repeat("é", 512)},
	} {
		var p Parser
		d := p.HTML([]byte(tc.html), mustURL(t, here), "text/html; charset=utf-8", "weir", Want{})
		if d.Title != tc.want {
			t.Errorf("%.80q: title %q, want %q", tc.html, d.Title, tc.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct{ html, want string }{
		{`<h1>Head</h1><p>One <b>bo</b>ld  word.<p>Two<br>lines`, "Head\nOne bold word.\nTwo\nlines"},
		{`<table><tr><td>a<td>b<tr><td>c</table>`, "a b\nc"},
		{`<title>t</title><script>s</script><style>s</style><noscript>n</noscript><template>t</template>x`, "x"},
		{`<p hidden>&lt;a&gt;&nbsp;&nbsp;b</p>`, "<a> b"},
		{`<!-- c -->a<!-- c -->b`, "ab"},
		{"<p>a\x00b\x01c", "a b c"},
		{`<textarea>t</textarea><iframe>no</iframe>u`, "t u"},
		{`<noscript>unclosed <body>x`, "x"},
	} {
		if got := read(t, tc.html, all).Text; got != tc.want {
			t.Errorf("%q: text %q, want %q", tc.html, got, tc.want)
		}
	}
}

func TestAnchors(t *testing.T) {
	for _, tc := range []struct{ html, want string }{
		{"<a href=x> Read\n <b>mo</b>re</a> after", "Read more"},
		{`<a href=x>open <a href=y>next</a>`, "open|next"},
		{`<a href=x><img src=i alt="a picture"></a>`, "a picture|"},
		{`<a href=x><div>one</div><div>two</div></a>`, "one two"},
		{`<a href=x></a><a href=x>later</a><a href=x>last</a>`, "|later|last"},
		{`<a href=x>same</a><a href=y></a><a href=x> same </a><a href=x rel=next>same</a>`, "same||same"},
		{`<area href=x alt="north">`, "north"},
		{`<a href=x>` + strings.Repeat("é", 200), strings.Repeat("é", 128)},
		{`<noscript><a href=x>quiet</a></noscript>`, "quiet"},
	} {
		var got []string
		for _, l := range read(t, `<meta charset=utf-8>`+tc.html, all).Links {
			got = append(got, l.Text)
		}
		if s := strings.Join(got, "|"); s != tc.want {
			t.Errorf("%.80q: %q, want %q", tc.html, s, tc.want)
		}
	}
}

// A meta element counts under each of its names; one that says nothing does not.
func TestMetas(t *testing.T) {
	d := read(t, `<meta charset=utf-8><meta name=Description property="og:description" content=" All  about
		weirs &amp; dams "><meta http-equiv=Content-Language content=en><meta name=empty content=""><meta name=none><meta content=lost>
		<template><meta name=hidden content=x></template><meta name=long content="`+strings.Repeat("x", 3000)+`">`, Want{Metas: true})
	want := []page.Field{
		{Name: "description", Value: "All about weirs & dams"}, {Name: "og:description", Value: "All about weirs & dams"},
		{Name: "content-language", Value: "en"}, {Name: "long", Value: strings.Repeat("x", MaxMeta)},
	}
	if !reflect.DeepEqual(d.Metas, want) {
		t.Errorf("%q", d.Metas)
	}
}

// The words of a page are those of its title and of what it shows.
func TestPageWords(t *testing.T) {
	d := read(t, `<title>Weir</title><script>var hidden</script><p>A weir,<b>dam</b>s<p>and dams`, Want{Words: true})
	if got := listWords(d.Words); got != "weir 2, a 1, dams 2, and 1, " || d.Text != "" {
		t.Errorf("%s and %q", got, d.Text)
	}
}

// What is not wanted is not there.
func TestUnwanted(t *testing.T) {
	d := read(t, `<title>t</title><meta name=a content=b><link rel=alternate hreflang=de href=/de>words`, Want{})
	if d.Metas != nil || d.Words != nil || d.Translations != nil || d.Text != "" {
		t.Errorf("%+v", d)
	}
}

func TestCanonicalAndTranslations(t *testing.T) {
	d := read(t, `<link rel=canonical href="file:///usr/share/doc/x"><link rel="canonical" href="/c?x#y"><link rel=canonical href=/second>
		<link rel=alternate hreflang=DE-ch href=/de><link rel=alternate hreflang=x-default href=/>
		<link rel=alternate media=handheld href=/m>`, all)
	if d.Canonical.String() != "http://h.test/c?x" {
		t.Errorf("canonical %s", d.Canonical)
	}
	want := []page.Translation{{Lang: "de-ch", URL: mustURL(t, "http://h.test/de")}, {Lang: "x-default", URL: mustURL(t, "http://h.test/")}}
	if !reflect.DeepEqual(d.Translations, want) {
		t.Errorf("alternates %v", d.Translations)
	}
	if got := show(d.Links); !reflect.DeepEqual(got, []string{"nav /de", "nav /", "nav /m"}) {
		t.Errorf("links %v", got)
	}
}

func TestRel(t *testing.T) {
	d := read(t, `<a rel=" NoOpener  nofollow " href=x><link rel="Shortcut Icon" href=y><a href=z>`, all)
	var got []string
	for _, l := range d.Links {
		got = append(got, l.Rel)
	}
	if !reflect.DeepEqual(got, []string{"noopener nofollow", "shortcut icon", ""}) {
		t.Errorf("rel %q", got)
	}
}

func TestRobotsMeta(t *testing.T) {
	for _, tc := range []struct {
		html string
		want robots.Directives
	}{
		{`<meta name=robots content="noindex">`, robots.Directives{NoIndex: true}},
		{`<meta name=WEIR content="nofollow">`, robots.Directives{NoFollow: true}},
		{`<meta name=googlebot content="none">`, robots.Directives{}},
		{`<meta name=robots content=noindex><meta name=weir content=noarchive>`, robots.Directives{NoIndex: true, NoArchive: true}},
		{`<meta name=robots><meta content=none>`, robots.Directives{}},
		{`<!-- <meta name=robots content=none> -->`, robots.Directives{}},
	} {
		if got := read(t, tc.html, Want{}).Robots; got != tc.want {
			t.Errorf("%s: %+v", tc.html, got)
		}
	}
}

// TestRobotsCases are pages of others with what they ask for.
func TestRobotsCases(t *testing.T) {
	b, err := os.ReadFile("testdata/robots/meta-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Meta []struct {
			HTML              string
			NoIndex, NoFollow bool
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Meta) != 9 {
		t.Fatalf("%d cases", len(cases.Meta))
	}
	for _, c := range cases.Meta {
		got := read(t, c.HTML, Want{}).Robots
		if got.NoIndex != c.NoIndex || got.NoFollow != c.NoFollow {
			t.Errorf("%s: %+v", c.HTML, got)
		}
	}
}

// TestReuse reads one page between others: what one page said is never part of
// another, nor changed by it.
func TestReuse(t *testing.T) {
	var p Parser
	at := mustURL(t, here)
	page1 := `<base href=/b/><title>one</title><meta name=robots content=none><a href=x rel=nofollow>text one</a><link rel=canonical href=c>`
	page2 := `<title>second</title><a href=y>other</a>`
	want1 := fmt.Sprintf("%+v", *read(t, page1, all))
	want2 := fmt.Sprintf("%+v", *read(t, page2, all))
	one := p.HTML([]byte(page1), at, "text/html", "weir", all)
	for range 3 {
		body := []byte(page2)
		two := p.HTML(body, at, "text/html", "weir", all)
		clear(body)
		if got := fmt.Sprintf("%+v", *two); got != want2 {
			t.Fatalf("second page changed:\n got %s\nwant %s", got, want2)
		}
		if got := fmt.Sprintf("%+v", *one); got != want1 {
			t.Fatalf("first page changed:\n got %s\nwant %s", got, want1)
		}
	}
}

func TestIsHTML(t *testing.T) {
	for _, tc := range []struct {
		contentType, head string
		want              bool
	}{
		{"text/html", "", true},
		{"Text/HTML; charset=x", "%PDF", true},
		{"application/xhtml+xml", "", true},
		{"text/plain", "<html>", false},
		{"application/pdf", "<html>", false},
		{"image/svg+xml", "<svg>", false},
		{"", "  <!DOCTYPE html><p>", true},
		{"", "\uFEFF<HTML lang=x>", true},
		{"", "<?xml version='1.0'?><html xmlns=x>", true},
		{"", "<?xml version='1.0'?><urlset>", false},
		{"", "<!-- x --><p>", true},
		{"", "<pre>", false},
		{"", "plain", false},
		{"", "", false},
		{"*/*", "<body>", true},
		{"html", "<body>", true},
	} {
		if got := IsHTML(tc.contentType, []byte(tc.head)); got != tc.want {
			t.Errorf("IsHTML(%q, %q) = %v", tc.contentType, tc.head, got)
		}
	}
}
