package parse

import "bytes"

// candidate splits the first image off a srcset, as the HTML standard has it:
// commas part the candidates, but one inside an address belongs to it. The
// address is nil for a candidate whose descriptors a browser would not accept.
func candidate(set []byte) (ref, rest []byte) {
	for len(set) > 0 && (isSpace(set[0]) || set[0] == ',') {
		set = set[1:]
	}
	ref, rest = nextWord(set)
	if bare := bytes.TrimRight(ref, ","); len(bare) < len(ref) {
		return bare, rest
	}
	ok := true
	for len(rest) > 0 && rest[0] != ',' {
		if isSpace(rest[0]) {
			rest = rest[1:]
			continue
		}
		n := descriptor(rest)
		ok = ok && size(rest[:n])
		rest = rest[n:]
	}
	if !ok {
		return nil, rest
	}
	return ref, rest
}

// descriptor returns the length of the first descriptor of s: to a space or
// comma outside parentheses.
func descriptor(s []byte) int {
	inside := false
	for i, c := range s {
		switch {
		case c == '(':
			inside = true
		case c == ')':
			inside = false
		case !inside && (c == ',' || isSpace(c)):
			return i
		}
	}
	return len(s)
}

// size says whether d is a width, height or density: 320w, 240h, 1.5x.
func size(d []byte) bool {
	number, unit := d[:len(d)-1], d[len(d)-1]
	if unit == 'x' {
		return bytes.ContainsAny(number, "0123456789") && len(bytes.Trim(number, "+-.0123456789eE")) == 0
	}
	return (unit == 'w' || unit == 'h') && len(number) > 0 && len(bytes.Trim(number, "0123456789")) == 0
}

// refresh returns where the content of a meta refresh leads. It is false when
// that is no refresh, or one of the page itself.
func refresh(s []byte) (ref []byte, ok bool) {
	s = skipSpace(s)
	rest := bytes.TrimLeft(s, "0123456789")
	if len(rest) == len(s) && (len(s) == 0 || s[0] != '.') {
		return nil, false
	}
	rest = bytes.TrimLeft(rest, ".0123456789")
	if len(rest) > 0 && rest[0] != ';' && rest[0] != ',' && !isSpace(rest[0]) {
		return nil, false
	}
	rest = skipSpace(rest)
	if len(rest) > 0 && (rest[0] == ';' || rest[0] == ',') {
		rest = skipSpace(rest[1:])
	}
	if hasPrefix(rest, "u") {
		after, found := afterURL(rest)
		if !found {
			return rest, true // an address that happens to begin with u
		}
		rest = after
	}
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[0]
		rest = rest[1:]
		if i := bytes.IndexByte(rest, quote); i >= 0 {
			rest = rest[:i]
		}
	}
	return rest, len(rest) > 0
}

// afterURL skips "url =".
func afterURL(s []byte) ([]byte, bool) {
	if !hasPrefix(s, "url") {
		return nil, false
	}
	if s = skipSpace(s[3:]); len(s) == 0 || s[0] != '=' {
		return nil, false
	}
	return skipSpace(s[1:]), true
}

func skipSpace(s []byte) []byte {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}
