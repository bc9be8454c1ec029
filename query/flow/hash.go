package flow

import (
	"encoding/binary"

	"weir/page"
	"weir/query"
)

// Home returns the partition, of so many, where a row lives whose first column
// is v. By host, a URL lives where its host's name does; by host-n, there or on one
// of the next few partitions.
func (o *Options) Home(t query.Type, v query.Value, of int) int {
	switch {
	case of == 1:
		return 0
	case t == query.URL && o.Scheme == ByHost:
		return page.Place(page.Sum(hostOf(v.S)), of)
	case t == query.URL && o.Scheme == ByHostN:
		return (page.Place(page.Sum(hostOf(v.S)), of) + page.Place(page.Sum(v.S), min(o.Spread, of))) % of
	case t.Textual():
		return page.Place(page.Sum(v.S), of)
	}
	return page.Place(page.Sum(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(v.N))), of)
}

// hostOf returns the host of a canonical URL, and of anything else what would be
// there. Most URLs have neither a port nor credentials: their host ends at the
// first slash.
func hostOf(s string) string {
	start := len("http://")
	if len(s) > start && s[4] == 's' {
		start++
	}
	for i := start; i < len(s); i++ {
		switch s[i] {
		case '/':
			return s[start:i]
		case ':', '@', '[':
			return page.Canonical(s).Host()
		}
	}
	return ""
}
