package parse

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// prescanned is how much of a page may go by before its charset is declared.
const prescanned = 1024

// doubted is how much text is looked at when nothing is declared.
const doubted = 64 << 10

// charEncoding is how a body's bytes spell characters.
type charEncoding struct {
	name string
	enc  encoding.Encoding
	bom  int // bytes of byte order mark
}

func (e charEncoding) utf8() bool { return e.name == "utf-8" }

// transparent says that a byte that could be one of HTML's delimiters is one,
// and that what stands between two of them can be decoded by itself. The
// encodings left out have escapes, or look more than a byte ahead.
func (e charEncoding) transparent() bool {
	switch e.name {
	case "utf-16be", "utf-16le", "iso-2022-jp", "euc-jp", "gb18030", "replacement":
		return false
	}
	return true
}

// query returns the encoding of query parts: a page's own, but never UTF-16.
func (e charEncoding) query() encoding.Encoding {
	if e.utf8() || e.name == "replacement" || strings.HasPrefix(e.name, "utf-16") {
		return nil
	}
	return e.enc
}

// detect finds a page's encoding. What stands closer to the bytes wins: a byte
// order mark, the Content-Type, the page's own declaration, an XML declaration.
// A page that says nothing is UTF-8 if it can be, else windows-1252.
func detect(body []byte, contentType string) charEncoding {
	if e, ok := byMark(body); ok {
		return e
	}
	if e, ok := lookup(param(contentType, "charset")); ok {
		return e
	}
	head := body[:min(len(body), prescanned)]
	if e, ok := lookupInside(prescan(head)); ok {
		return e
	}
	if e, ok := lookupInside(xmlEncoding(head)); ok {
		return e
	}
	if plausible(body) {
		return utf8Encoding
	}
	return must("windows-1252")
}

func byMark(body []byte) (charEncoding, bool) {
	var e charEncoding
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		e = must("utf-8")
		e.bom = 3
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		e = must("utf-16be")
		e.bom = 2
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		e = must("utf-16le")
		e.bom = 2
	case bytes.HasPrefix(body, []byte("<\x00?\x00x\x00")):
		e = must("utf-16le")
	case bytes.HasPrefix(body, []byte("\x00<\x00?\x00x")):
		e = must("utf-16be")
	default:
		return e, false
	}
	return e, true
}

// lookup finds an encoding by any label of the WHATWG's list.
func lookup(label string) (charEncoding, bool) {
	if label == "" || len(label) > 64 {
		return charEncoding{}, false
	}
	if strings.EqualFold(label, utf8Encoding.name) {
		return utf8Encoding, true // nearly always, and a lookup is dear
	}
	enc, name := charset.Lookup(label)
	return charEncoding{name: name, enc: enc}, enc != nil
}

var utf8Encoding = must("utf-8")

// lookupInside is lookup for a label that could be read in the bytes: what it
// stands in is no UTF-16 then, whatever it says.
func lookupInside(label string) (charEncoding, bool) {
	e, ok := lookup(label)
	switch {
	case !ok:
		return e, false
	case strings.HasPrefix(e.name, "utf-16"):
		return utf8Encoding, true
	case e.name == "x-user-defined":
		return must("windows-1252"), true
	}
	return e, true
}

// must is lookup for labels of ours.
func must(label string) charEncoding {
	enc, name := charset.Lookup(label)
	return charEncoding{name: name, enc: enc}
}

// plausible says that the body may be UTF-8: its first text beyond ASCII is.
func plausible(body []byte) bool {
	text := body[asciiPrefix(body):]
	if len(text) > doubted {
		text = text[:doubted]
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			return !utf8.FullRune(text) // cut in the middle of a character
		}
		text = text[size:]
	}
	return true
}

// param returns a parameter of a Content-Type, or of the content attribute that
// stands for one.
func param(contentType, name string) string {
	_, params, _ := strings.Cut(contentType, ";")
	for params != "" {
		var one string
		one, params, _ = strings.Cut(params, ";")
		key, val, ok := strings.Cut(one, "=")
		if ok && strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.Trim(strings.TrimSpace(val), `"'`)
		}
	}
	return ""
}

// media returns a Content-Type's media type in lower case.
func media(contentType string) string {
	m, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(m))
}

// prescan looks for the declaration of a meta element in the bytes of a page,
// before they are known to be characters (HTML standard, "prescan a byte stream
// to determine its encoding").
func prescan(s []byte) string {
	for len(s) > 0 {
		i := bytes.IndexByte(s, '<')
		if i < 0 {
			return ""
		}
		s = s[i:]
		switch {
		case bytes.HasPrefix(s, []byte("<!--")):
			// The two dashes that open a comment may close it: <!-->.
			end := bytes.Index(s[2:], []byte("-->"))
			if end < 0 {
				return ""
			}
			s = s[2+end+3:]
		case hasPrefix(s, "<meta") && len(s) > 5 && (isSpace(s[5]) || s[5] == '/'):
			var label string
			if label, s = metaCharset(s[5:]); label != "" {
				return label
			}
		case len(s) > 1 && isLetter(s[1]), len(s) > 2 && s[1] == '/' && isLetter(s[2]):
			for len(s) > 0 && !isSpace(s[0]) && s[0] != '>' {
				s = s[1:]
			}
			for ok := true; ok; {
				_, _, s, ok = prescanAttr(s)
			}
		case len(s) > 1 && (s[1] == '!' || s[1] == '/' || s[1] == '?'):
			end := bytes.IndexByte(s, '>')
			if end < 0 {
				return ""
			}
			s = s[end+1:]
		default:
			s = s[1:]
		}
	}
	return ""
}

// metaCharset reads the attributes of a meta element for a charset.
func metaCharset(s []byte) (label string, rest []byte) {
	var direct, inContent string
	var pragma, hasContent, hasDirect, hasPragma bool
	for {
		name, val, after, ok := prescanAttr(s)
		s = after
		if !ok {
			break
		}
		switch {
		case is(name, "http-equiv") && !hasPragma:
			hasPragma = true
			pragma = is(val, "content-type")
		case is(name, "content") && !hasContent:
			hasContent = true
			inContent = charsetIn(val)
		case is(name, "charset") && !hasDirect:
			hasDirect = true
			direct = string(val)
		}
	}
	if !hasDirect && pragma {
		direct = inContent
	}
	if _, ok := lookup(direct); !ok {
		return "", s
	}
	return direct, s
}

// charsetIn finds charset=... in the content of a meta element.
func charsetIn(s []byte) string {
	for len(s) > 0 {
		if !hasPrefix(s, "charset") {
			s = s[1:]
			continue
		}
		s = skipSpace(s[len("charset"):])
		if len(s) == 0 || s[0] != '=' {
			continue
		}
		s = skipSpace(s[1:])
		if len(s) > 0 && (s[0] == '"' || s[0] == '\'') {
			end := bytes.IndexByte(s[1:], s[0])
			if end < 0 {
				return ""
			}
			return string(s[1 : 1+end])
		}
		end := bytes.IndexAny(s, "; \t\n\f\r")
		if end < 0 {
			end = len(s)
		}
		return string(s[:end])
	}
	return ""
}

// prescanAttr reads one attribute of a tag. It is false at the tag's end.
func prescanAttr(s []byte) (name, val, rest []byte, ok bool) {
	for len(s) > 0 && (isSpace(s[0]) || s[0] == '/') {
		s = s[1:]
	}
	if len(s) == 0 {
		return nil, nil, nil, false
	}
	if s[0] == '>' {
		return nil, nil, s[1:], false
	}
	i := 1 // an attribute's name may begin with =
	for i < len(s) && !isSpace(s[i]) && s[i] != '=' && s[i] != '/' && s[i] != '>' {
		i++
	}
	name = s[:i]
	after := skipSpace(s[i:])
	if len(after) == 0 || after[0] != '=' {
		return name, nil, s[i:], true
	}
	s = skipSpace(after[1:])
	if len(s) > 0 && (s[0] == '"' || s[0] == '\'') {
		end := bytes.IndexByte(s[1:], s[0])
		if end < 0 {
			return nil, nil, nil, false
		}
		return name, s[1 : 1+end], s[1+end+1:], true
	}
	i = 0
	for i < len(s) && !isSpace(s[i]) && s[i] != '>' {
		i++
	}
	return name, s[:i], s[i:], true
}

// xmlEncoding reads the encoding of an XML declaration.
func xmlEncoding(s []byte) string {
	if !bytes.HasPrefix(s, []byte("<?xml")) {
		return ""
	}
	end := bytes.IndexByte(s, '>')
	if end < 0 {
		return ""
	}
	_, s, ok := bytes.Cut(s[:end], []byte("encoding"))
	if s = skipSpace(s); !ok || len(s) == 0 || s[0] != '=' {
		return ""
	}
	s = skipSpace(s[1:])
	if len(s) == 0 || s[0] != '"' && s[0] != '\'' {
		return ""
	}
	end = bytes.IndexByte(s[1:], s[0])
	if end < 0 {
		return ""
	}
	return string(s[1 : 1+end])
}

// encodeQuery spells the query part of a reference in the page's own encoding,
// as a browser would send it: the URL rules encode everything else as UTF-8.
// A character that the encoding lacks becomes a percent-encoded &#N;.
func (p *Parser) encodeQuery(ref []byte) []byte {
	start := bytes.IndexByte(ref, '?')
	if p.enc == nil || start < 0 {
		return ref
	}
	n := start
	for n < len(ref) && ref[n] < utf8.RuneSelf {
		n++
	}
	if n == len(ref) {
		return ref
	}
	enc := p.enc.NewEncoder()
	out := append(p.query[:0], ref[:n]...)
	for rest := ref[n:]; len(rest) > 0; {
		if rest[0] < utf8.RuneSelf {
			out = append(out, rest[0])
			rest = rest[1:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		spelt, err := enc.Bytes(rest[:size])
		if err != nil || len(spelt) > 2 && spelt[0] == '&' && spelt[1] == '#' {
			out = fmt.Appendf(out, "%%26%%23%d%%3B", r)
		} else {
			out = appendPercent(out, spelt)
		}
		rest = rest[size:]
	}
	p.query = out[:0]
	return out
}

// appendPercent appends bytes, percent-encoding those that a query may not hold.
func appendPercent(out, b []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range b {
		switch {
		case c <= ' ' || c >= 0x7f || c == '"' || c == '#' || c == '<' || c == '>' || c == '\'':
			out = append(out, '%', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}
