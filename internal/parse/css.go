package parse

import (
	"bytes"
	"unicode/utf8"

	"weir/page"
)

// CSS reads a style sheet: what its url() and @import name, as requisites.
// Strings that only some properties take for addresses, as in image-set(), are
// not read, and the sheet is taken for UTF-8.
func (p *Parser) CSS(body []byte, at page.URL) []page.Link {
	p.reset(at, nil)
	sheet := bytes.TrimPrefix(body, []byte("\uFEFF"))
	for len(sheet) > 0 {
		var ref []byte
		ref, sheet = styleRef(sheet)
		if ref = trim(ref); len(ref) > 0 && ref[0] != '#' {
			p.add(page.Requisite, ref, nil, false)
		}
	}
	return p.take()
}

// styleRef finds the first reference in a piece of CSS and returns it with what
// follows; the reference is nil when there is none. Comments and strings are
// skipped, so url( inside them is none, and a string is a reference only after
// @import.
func styleRef(s []byte) (ref, rest []byte) {
	for len(s) > 0 {
		i := bytes.IndexAny(s, "/\"'@uU\\")
		if i < 0 {
			return nil, nil
		}
		inName := i > 0 && nameByte(s[i-1])
		s = s[i:]
		switch {
		case hasPrefix(s, "/*"):
			end := bytes.Index(s[2:], []byte("*/"))
			if end < 0 {
				return nil, nil
			}
			s = s[2+end+2:]
		case s[0] == '"' || s[0] == '\'':
			_, s = cssString(s)
		case s[0] == '\\':
			s = s[min(2, len(s)):]
		case hasPrefix(s, "@namespace"):
			s = s[statement(s):] // its address names a language, it is not fetched
		case hasPrefix(s, "@import"):
			s = cssSpace(s[len("@import"):])
			if len(s) > 0 && (s[0] == '"' || s[0] == '\'') {
				return cssString(s)
			}
		case !inName && hasPrefix(s, "url("):
			return cssURL(s[len("url("):])
		case nameByte(s[0]):
			// The rest of a name is no beginning of one.
			for len(s) > 0 && nameByte(s[0]) {
				s = s[1:]
			}
		default:
			s = s[1:]
		}
	}
	return nil, nil
}

// nameByte says that c can stand in an identifier.
func nameByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= utf8.RuneSelf
}

// statement returns the length of s up to the end of its statement.
func statement(s []byte) int {
	if i := bytes.IndexAny(s, ";{}"); i >= 0 {
		return i
	}
	return len(s)
}

// cssSpace skips spaces and comments.
func cssSpace(s []byte) []byte {
	for {
		s = skipSpace(s)
		if !bytes.HasPrefix(s, []byte("/*")) {
			return s
		}
		end := bytes.Index(s[2:], []byte("*/"))
		if end < 0 {
			return nil
		}
		s = s[2+end+2:]
	}
}

// cssString reads the string that s begins with. A line end cuts it off, and
// makes it bad: it is nil then.
func cssString(s []byte) (text, rest []byte) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case quote:
			return cssUnescape(s[1:i]), s[i+1:]
		case '\\':
			i++
		case '\n', '\r', '\f':
			return nil, s[i:]
		}
	}
	return cssUnescape(s[1:]), nil
}

// cssURL reads what follows "url(", quoted or not. An address with what may not
// stand in one unquoted is nil.
func cssURL(s []byte) (ref, rest []byte) {
	s = skipSpace(s)
	if len(s) > 0 && (s[0] == '"' || s[0] == '\'') {
		return cssString(s)
	}
	bad := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ')':
			if bad {
				return nil, s[i+1:]
			}
			return cssUnescape(bytes.TrimRight(s[:i], " \t\r\n\f")), s[i+1:]
		case c == '\\':
			i += len(s[i:]) - len(afterEscape(s[i+1:])) - 1
		case c == '"' || c == '\'' || c == '(':
			bad = true
		case isSpace(c):
			after := skipSpace(s[i:])
			bad = bad || len(after) > 0 && after[0] != ')'
			i = len(s) - len(after) - 1
		}
	}
	if bad {
		return nil, nil
	}
	return cssUnescape(bytes.TrimRight(s, " \t\r\n\f")), nil
}

// cssUnescape undoes backslashes: before hex digits a code point with one space
// after it, before a line end nothing, else the character itself.
func cssUnescape(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		if s[0] != '\\' || len(s) == 1 {
			out = append(out, s[0])
			s = s[1:]
			continue
		}
		escaped := s[1:]
		s = afterEscape(escaped)
		r, n := escapedRune(escaped)
		switch {
		case n > 0:
			out = utf8.AppendRune(out, r)
		case escaped[0] != '\n':
			out = append(out, escaped[0])
		}
	}
	return out
}

// escapedRune reads up to six hex digits.
func escapedRune(s []byte) (r rune, n int) {
	for n < len(s) && n < 6 && hexDigit(s[n]) >= 0 {
		r = r<<4 | rune(hexDigit(s[n]))
		n++
	}
	if r == 0 || !utf8.ValidRune(r) {
		r = utf8.RuneError
	}
	return r, n
}

// afterEscape skips what a backslash before s escapes.
func afterEscape(s []byte) []byte {
	_, n := escapedRune(s)
	if n == 0 {
		return s[min(1, len(s)):]
	}
	if s = s[n:]; len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

func hexDigit(c byte) int {
	switch c = lower(c); {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
