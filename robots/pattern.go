package robots

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The two octets that a compiled pattern holds besides those of paths. No
// normalised path contains them, since control characters are encoded.
const (
	end  = 0x00 // "$": every path ends in it, so an anchored rule is a plain prefix
	star = 0x01 // "*"
)

// A rule is one Allow or Disallow line that can match a path.
type rule struct {
	text   string // the value as it was written, made safe to print
	off, n int32  // its compiled pattern in Rules.patterns
	allow  bool
}

func (u *rule) String() string {
	if u.allow {
		return "Allow: " + u.text
	}
	return "Disallow: " + u.text
}

// A line is an Allow or Disallow line of a file.
type line struct {
	allow bool
	value []byte
}

// A candidate is a rule on its way into Rules.
type candidate struct {
	rule
	pattern []byte
	octets  int // how specific it is: the longest rule that matches wins
	order   int
}

// better orders candidates by RFC 9309 section 2.2.2: the most octets first, an
// Allow before an equivalent Disallow.
func better(a, b candidate) int {
	if a.octets != b.octets {
		return b.octets - a.octets
	}
	if a.allow != b.allow {
		if a.allow {
			return -1
		}
		return 1
	}
	return a.order - b.order
}

// compile turns the lines of the group that concerns us into r's tables.
func (r *Rules) compile(lines []line) {
	var all []candidate
	add := func(text string, pattern []byte, octets int, allow bool) {
		if len(pattern) > 0 && pattern[0] != '/' && pattern[0] != star {
			return // every path starts with a slash
		}
		all = append(all, candidate{rule{text: text, allow: allow}, pattern, octets, len(all)})
	}
	for _, l := range lines {
		if len(l.value) == 0 {
			continue
		}
		text, value := readable(l.value), l.value
		pattern, octets := compilePattern(value, l.allow)
		add(text, pattern, octets, l.allow)

		// Google reads an allowed /a/index.html as the directory /a/ too.
		slash := bytes.LastIndexByte(value, '/')
		if l.allow && slash >= 0 && bytes.HasPrefix(value[slash:], []byte("/index.htm")) {
			value = append(slices.Clone(value[:slash+1]), '$')
			pattern, octets := compilePattern(value, true)
			add(text, pattern, octets, true)
		}
	}

	// Of rules that match the same paths only the best can ever win.
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(bytes.Compare(a.pattern, b.pattern), better(a, b))
	})
	all = slices.CompactFunc(all, func(a, b candidate) bool { return bytes.Equal(a.pattern, b.pattern) })
	slices.SortFunc(all, better)

	var plain, wild []int32
	size := 0
	for _, c := range all {
		size += len(c.pattern)
	}
	r.rules = make([]rule, len(all))
	r.patterns = make([]byte, 0, size)
	for i, c := range all {
		c.off, c.n = int32(len(r.patterns)), int32(len(c.pattern))
		r.patterns = append(r.patterns, c.pattern...)
		r.rules[i] = c.rule
		if bytes.IndexByte(c.pattern, star) < 0 {
			plain = append(plain, int32(i))
		} else {
			wild = append(wild, int32(i))
		}
	}
	slices.SortFunc(plain, func(a, b int32) int { return bytes.Compare(r.pattern(a), r.pattern(b)) })
	r.indexLiterals(plain)
	r.indexWild(wild)
}

func (r *Rules) pattern(rank int32) []byte {
	u := &r.rules[rank]
	return r.patterns[u.off : u.off+u.n]
}

// compilePattern returns the form of a rule's value that is matched, and the
// octets that it counts for. A trailing wildcard counts but matches nothing
// more, so it is dropped.
func compilePattern(value []byte, allow bool) (pattern []byte, octets int) {
	how := keepSpecial
	if !allow {
		how |= decodeLetters
	}
	text, _ := normalise(nil, value, how)
	octets = len(text)
	anchored := bytes.HasSuffix(text, []byte("$"))
	if anchored {
		text = text[:octets-1]
	}
	pattern = make([]byte, 0, octets)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '*':
			if n := len(pattern); n > 0 && pattern[n-1] == star {
				continue
			}
			c = star
		case c == '%':
			if v := unhex(text[i+1])<<4 | unhex(text[i+2]); v == '*' || v == '$' {
				c = v
				i += 2
			}
		}
		pattern = append(pattern, c)
	}
	if n := len(pattern); n > 0 && pattern[n-1] == star {
		return pattern[:n-1], octets
	}
	if anchored {
		pattern = append(pattern, end)
	}
	return pattern, octets
}

// spelling says which encoded octets normalise decodes besides "-._~".
type spelling uint8

const (
	decodeLetters spelling = 1 << iota // letters and digits too
	keepSpecial                        // not "*" and "$", which mean something in a rule
)

// normalise appends s in the spelling of RFC 9309 section 2.2.2. Doing so twice
// changes nothing more. It reports whether s had an encoded letter or digit.
func normalise[T string | []byte](dst []byte, s T, how spelling) (out []byte, letters bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if kind[c] != 0 {
			dst = append(dst, c)
			continue
		}
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			letters = letters || kind[c] == letter
			if kind[c] == mark || kind[c] == letter && how&decodeLetters != 0 ||
				kind[c] == special && how&keepSpecial == 0 {
				dst = append(dst, c)
				continue
			}
		}
		const hex = "0123456789ABCDEF"
		dst = append(dst, '%', hex[c>>4], hex[c&15])
	}
	return dst, letters
}

// kind tells the octets that may stand in a URI as they are, "%" apart.
var kind = func() (t [256]uint8) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") {
		t[c] = letter
	}
	for _, c := range []byte("-._~") {
		t[c] = mark
	}
	for _, c := range []byte(":/?#[]@!&'()+,;=") {
		t[c] = reserved
	}
	t['*'], t['$'] = special, special
	return t
}()

const (
	letter = iota + 1
	mark
	reserved
	special
)

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// readable returns a value as its author wrote it, or in its encoded spelling
// when it holds what a terminal or a text file should not.
func readable(value []byte) string {
	s := string(value)
	if utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsGraphic(c) }) < 0 {
		return s
	}
	b, _ := normalise(nil, value, keepSpecial)
	return string(b)
}
