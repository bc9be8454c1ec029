package robots

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
)

// read is Parse for a text of any size. Lines are cut at limit octets.
func read(text []byte, agent string, limit int) *Rules {
	p := parser{agent: agent}
	for len(text) > 0 {
		l := text
		if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
			l, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		p.line(l[:min(len(l), limit)])
	}
	r := &Rules{sitemaps: p.sitemaps}
	g := &p.all
	if p.named {
		g = &p.own
	}
	r.delay = g.delay
	r.compile(g.lines)
	return r
}

// A parser reads a file line by line into two groups: the merged groups that
// name the agent, and those for any agent. RFC 9309 section 2.2.1 uses the
// second only if there is none of the first.
type parser struct {
	agent    string
	own, all group
	named    bool  // some group names the agent
	rules    scope // whom the next rule concerns
	delays   scope // whom the next delay concerns
	sitemaps []string
	seen     map[string]bool // the same as a set
}

type group struct {
	lines []line
	delay time.Duration
}

// A scope says whom the lines after a run of User-agent lines concern. It is
// closed by the first such line, and the next User-agent line opens another.
type scope struct{ own, all, closed bool }

func (s *scope) name(own, all bool) {
	if s.closed {
		*s = scope{}
	}
	s.own, s.all = s.own || own, s.all || all
}

func (p *parser) line(l []byte) {
	key, value := split(l)
	switch key {
	case userAgent:
		all := len(value) > 0 && value[0] == '*' && (len(value) == 1 || unicode.IsSpace(rune(value[1])))
		own := p.agent != "" && strings.EqualFold(string(value[:tokenLen(value)]), p.agent)
		p.named = p.named || own
		p.rules.name(own, all)
		p.delays.name(own, all)
	case allow, disallow:
		p.rules.closed, p.delays.closed = true, true
		rule := line{allow: key == allow, value: value}
		if p.rules.own {
			p.own.lines = append(p.own.lines, rule)
		}
		if p.rules.all {
			p.all.lines = append(p.all.lines, rule)
		}
	case crawlDelay:
		// To the RFC this line is nothing and the group goes on. Its author
		// meant the agents above it, and not those named after it.
		p.delays.closed = true
		if p.delays.own {
			p.own.delay = max(p.own.delay, delay(value))
		}
		if p.delays.all {
			p.all.delay = max(p.all.delay, delay(value))
		}
	case sitemap:
		p.sitemap(value)
	}
}

func (p *parser) sitemap(value []byte) {
	s := readable(value)
	if s == "" || p.seen[s] || len(p.sitemaps) == MaxSitemaps {
		return
	}
	if p.seen == nil {
		p.seen = make(map[string]bool)
	}
	p.seen[s] = true
	p.sitemaps = append(p.sitemaps, s)
}

// delay reads the number of seconds that a value starts with, 0 if it does not.
func delay(value []byte) time.Duration {
	n := 0
	for n < len(value) && (value[n] == '.' || '0' <= value[n] && value[n] <= '9') {
		n++
	}
	s, err := strconv.ParseFloat(string(value[:n]), 64)
	if s >= MaxDelay.Seconds() {
		return MaxDelay // also when s is infinite, which is an error too
	}
	if err != nil {
		return 0
	}
	return time.Duration(math.Round(s * float64(time.Second)))
}

// tokenLen returns how much of b is a product token. RFC 9309 has only letters,
// "_" and "-"; names with digits and dots are common.
func tokenLen(b []byte) int {
	for i, c := range b {
		if kind[c] != letter && c != '-' && c != '_' && c != '.' {
			return i
		}
	}
	return len(b)
}

type key uint8

const (
	unknown key = iota
	userAgent
	allow
	disallow
	crawlDelay
	sitemap
)

// keys are the beginnings by which a key is known, in lower case: the right
// ones, and the wrong ones that are seen often.
var keys = []struct {
	prefix string
	key    key
}{
	{"user-agent", userAgent}, {"useragent", userAgent}, {"user agent", userAgent},
	{"useg-agent", userAgent}, {"user-agnet", userAgent}, {"users-agent", userAgent},
	{"allow", allow},
	{"disallow", disallow}, {"dissallow", disallow}, {"dissalow", disallow}, {"disalow", disallow},
	{"diaslow", disallow}, {"diasllow", disallow}, {"disallaw", disallow}, {"desallow", disallow},
	{"crawl-delay", crawlDelay}, {"crawldelay", crawlDelay}, {"crawl delay", crawlDelay},
	{"sitemap", sitemap}, {"site-map", sitemap},
}

func keyOf(b []byte) key {
	for _, k := range keys {
		if len(b) >= len(k.prefix) && strings.EqualFold(string(b[:len(k.prefix)]), k.prefix) {
			return k.key
		}
	}
	return unknown
}

// split reads a line: key, colon, value, comment. Some authors forget the
// colon, so a known key and a single word after it will do.
func split(l []byte) (key, []byte) {
	l, _, _ = bytes.Cut(l, []byte{'#'})
	l = trim(l)
	k, value, colon := bytes.Cut(l, []byte{':'})
	k = trim(k)
	if word := bytes.IndexAny(k, " \t"); word >= 0 {
		if v := trim(l[word:]); !bytes.ContainsAny(v, " \t") && keyOf(k[:word]) != unknown {
			return keyOf(k[:word]), v
		}
	}
	if !colon {
		return unknown, nil
	}
	return keyOf(k), trim(value)
}

// trim cuts white space, and what bad editors leave around lines: NULs and
// byte order marks.
func trim(b []byte) []byte {
	return bytes.TrimFunc(b, func(c rune) bool { return c == 0 || c == '\uFEFF' || unicode.IsSpace(c) })
}

// decode turns UTF-16 into UTF-8 and leaves the rest alone. UTF-16 shows by its
// byte order mark, or by a NUL in each of the first two characters.
func decode(b []byte) []byte {
	var order binary.ByteOrder
	nul := func(i int) bool { return b[i] == 0 }
	switch {
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}), len(b) > 3 && !nul(0) && nul(1) && !nul(2) && nul(3):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}), len(b) > 3 && nul(0) && !nul(1) && nul(2) && !nul(3):
		order = binary.BigEndian
	default:
		return b
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
