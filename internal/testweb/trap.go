package testweb

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// entries are the paths by which a visitor walks into the traps.
func (t Traps) entries() []string {
	var out []string
	if t.Calendar {
		out = append(out, "/cal?month=0")
	}
	if t.Nest {
		out = append(out, "/a/b/")
	}
	if t.Facets {
		out = append(out, "/find?f=1")
	}
	if t.Session {
		out = append(out, "/shop/0?sid=1")
	}
	return out
}

// trap appends the page of an endless part, if the path lies in one.
func (s *site) trap(b []byte, path string) ([]byte, bool) {
	path, query, _ := strings.Cut(path, "?")
	switch {
	case s.Traps.Calendar && path == "/cal":
		n, err := strconv.ParseInt(strings.TrimPrefix(query, "month="), 10, 32)
		if err != nil {
			return b, false
		}
		return calendar(b, int(n)), true
	case s.Traps.Nest && strings.HasPrefix(path, "/a/b/"):
		return nest(b), true
	case s.Traps.Facets && path == "/find":
		f, err := strconv.ParseUint(strings.TrimPrefix(query, "f="), 10, 20)
		if err != nil {
			return b, false
		}
		return facets(b, uint32(f)), true
	case s.Traps.Session && strings.HasPrefix(path, "/shop/"):
		return shop(b, path, query), true
	}
	return b, false
}

func calendar(b []byte, month int) []byte {
	return fmt.Appendf(b, "<title>Month %d</title><h1>Month %d</h1><a href=\"/cal?month=%d\">before</a> <a href=\"/cal?month=%d\">after</a>\n",
		month, month, month-1, month+1)
}

// nest is the relative link that should have been absolute.
func nest(b []byte) []byte {
	return append(b, "<title>Deeper</title><a href=\"a/b/\">deeper</a>\n"...)
}

// facets has twenty filters, a bit each. Two thirds of the combinations find nothing and look the same.
func facets(b []byte, f uint32) []byte {
	if r := dice(uint64(f), saltTrap); f != 1 && r.below(3) > 0 {
		return append(b, "<title>Search</title><p>Nothing found.</p>\n"...)
	}
	b = fmt.Appendf(b, "<title>Search</title><p>%d filters, choice %d</p>\n", bits.OnesCount32(f), f)
	for i := range 20 {
		b = fmt.Appendf(b, "<a href=\"/find?f=%d\">filter %d</a>\n", f^1<<i, i)
	}
	return b
}

// shop shows one of four pages; every link carries a fresh session.
func shop(b []byte, path, query string) []byte {
	b = append(b, "<title>Shop</title>\n"...)
	for i := range 4 {
		r := dice(hash(path), hash(query), uint64(i), saltTrap)
		b = fmt.Appendf(b, "<a href=\"/shop/%d?sid=%016x\">shelf %d</a>\n", i, r.next(), i)
	}
	return b
}
