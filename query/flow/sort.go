package flow

import (
	"cmp"
	"slices"
	"strings"
)

// chunk is eight bytes of a row's key, as a number, and which row it is.
type chunk struct {
	bytes uint64
	row   uint32
}

// fewRows are compared by their whole keys.
const fewRows = 16

// arranged returns the rows by their keys. Keys are compared eight bytes at a
// time, and only those that are equal so far are looked at again: most of a
// key is never touched. Since columns say where they end, no key begins with
// another, and what is behind the end of one does not matter.
func (s *shelf) arranged() []uint32 {
	list := make([]chunk, s.n)
	for i := range list {
		list[i].row = uint32(i)
	}
	s.arrange(list, 0)
	order := make([]uint32, s.n)
	for i, c := range list {
		order[i] = c.row
	}
	return order
}

// arrange sorts rows whose keys are equal in their first bytes.
func (s *shelf) arrange(list []chunk, equal int) {
	for len(list) > fewRows {
		for i := range list {
			list[i].bytes = s.key(s.row(int(list[i].row))).chunk(equal)
		}
		slices.SortFunc(list, func(a, b chunk) int { return cmp.Compare(a.bytes, b.bytes) })
		equal += 8
		from := 0
		for i := range list {
			if list[i].bytes != list[from].bytes {
				s.arrange(list[from:i], equal)
				from = i
			}
		}
		list = list[from:]
	}
	slices.SortFunc(list, func(a, b chunk) int {
		return s.key(s.row(int(a.row))).compare(s.key(s.row(int(b.row))))
	})
}

// chunk returns the eight bytes behind the first ones.
func (k halves) chunk(from int) uint64 {
	switch n := len(k.head); {
	case k.rest == "" || from+8 <= n:
		return chunkOf(k.head, from)
	case from >= n:
		return chunkOf(k.rest, from-n)
	default:
		return chunkOf(k.head[from:]+k.rest[:min(8, len(k.rest))], 0)
	}
}

// compare orders keys by their bytes, wherever they are split.
func (k halves) compare(o halves) int {
	n := min(len(k.head), len(o.head))
	if c := strings.Compare(k.head[:n], o.head[:n]); c != 0 {
		return c
	}
	if len(k.head) == len(o.head) {
		return strings.Compare(k.rest, o.rest)
	}
	return strings.Compare(k.whole(), o.whole())
}

// begins says that a key begins with prefix.
func (k halves) begins(prefix string) bool {
	n := min(len(k.head), len(prefix))
	return k.head[:n] == prefix[:n] && strings.HasPrefix(k.rest, prefix[n:])
}

func chunkOf(key string, from int) (n uint64) {
	if len(key) >= from+8 {
		k := key[from : from+8]
		return uint64(k[0])<<56 | uint64(k[1])<<48 | uint64(k[2])<<40 | uint64(k[3])<<32 | uint64(k[4])<<24 | uint64(k[5])<<16 | uint64(k[6])<<8 | uint64(k[7])
	}
	for i := range 8 {
		n <<= 8
		if from+i < len(key) {
			n |= uint64(key[from+i])
		}
	}
	return n
}
