package parse

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// decode returns what a piece of the page says, given where it stands: in UTF-8,
// with its line ends made one kind and its character references undone. Most
// pieces need nothing of it and come back as they are.
func (s *scanner) decode(b []byte, where textKind) []byte {
	b = s.transcode(b)
	refs := where == markupText || where == escapableText || where == valueText
	nul := where != markupText
	if !(refs && bytes.IndexByte(b, '&') >= 0) && bytes.IndexByte(b, '\r') < 0 && !(nul && bytes.IndexByte(b, 0) >= 0) {
		return b
	}
	from := len(s.buf)
	out := s.buf
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '\r':
			out = append(out, '\n')
			if i++; i < len(b) && b[i] == '\n' {
				i++
			}
		case c == 0 && nul:
			out = append(out, "\uFFFD"...)
			i++
		case c == '&' && refs:
			ref := reference(b[i:])
			if where != valueText {
				out = appendReference(out, ref)
			} else if i+len(ref) < len(b) && b[i+len(ref)] == '=' && ref[len(ref)-1] != ';' && ref[min(1, len(ref)-1)] != '#' {
				out = append(out, ref...) // the next parameter of a query, as in ?a=1&lt=2
			} else {
				out = appendValueReference(out, ref)
			}
			i += len(ref)
		default:
			out = append(out, c)
			i++
		}
	}
	s.buf = out
	return out[from:len(out):len(out)]
}

// reference returns what may be a character reference at the beginning of b:
// the ampersand, letters and digits, and a semicolon if there is one.
func reference(b []byte) []byte {
	i := 1
	if i < len(b) && b[i] == '#' {
		i++
	}
	for i < len(b) && (isLetter(b[i]) || b[i] >= '0' && b[i] <= '9') {
		i++
	}
	if i < len(b) && b[i] == ';' {
		i++
	}
	return b[:i]
}

// appendReference appends what a reference in text means. Of a name without a
// semicolon the first letters may be one: &notit is ¬it.
func appendReference(out, ref []byte) []byte {
	if c := common(ref); c != "" {
		return append(out, c...)
	}
	return append(out, html.UnescapeString(string(ref))...)
}

// appendValueReference appends what a reference in an attribute means: a name
// counts as a whole or not at all.
func appendValueReference(out, ref []byte) []byte {
	if c := common(ref); c != "" {
		return append(out, c...)
	}
	text := html.UnescapeString(string(ref))
	if len(ref) > 1 && ref[1] != '#' && text != string(ref) && !whole(ref, text) {
		return append(out, ref...)
	}
	return append(out, text...)
}

// whole says that text is what all of ref means, and not what the beginning of
// it means with the rest of it behind. The rest would bring the semicolon along,
// or, where there is none, be a second character: names without semicolons mean
// one.
func whole(ref []byte, text string) bool {
	if ref[len(ref)-1] == ';' {
		return text[len(text)-1] != ';' || string(ref) == "&semi;"
	}
	return utf8.RuneCountInString(text) == 1
}

// common knows the references that nearly all are.
func common(ref []byte) string {
	switch string(ref) {
	case "&amp;", "&#38;":
		return "&"
	case "&lt;":
		return "<"
	case "&gt;":
		return ">"
	case "&quot;", "&#34;":
		return `"`
	case "&#39;", "&#x27;":
		return "'"
	case "&nbsp;", "&#160;":
		return "\u00A0"
	}
	return ""
}
