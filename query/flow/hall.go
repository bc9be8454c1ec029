package flow

import (
	"slices"

	"weir/page"
	"weir/query"
)

// hall is a table in memory, found by any columns that a plan asks for: an input,
// the same for all Parts, or a small table, one for each Part.
type hall struct {
	types   []query.Type
	lattice []query.Lattice
	rows    []Row
	index   map[string]int // of a row's key
	aisles  []*aisle
	turned  *filter // of a small table: what pages have asked for
}

// aisle finds rows by some of their columns.
type aisle struct {
	columns []int
	bare    bool // one column, a text: it is the key as it is
	keys    slots
	found   []found
	asked   bool // by stages that flow, which do not ask again
}

// found are the rows of a key.
type found struct {
	key  string
	rows []int
}

func newHall(types []query.Type, lattice []query.Lattice) *hall {
	return &hall{types: types, lattice: lattice, index: map[string]int{}}
}

// empty returns a hall with the same aisles and no rows.
func (h *hall) empty() *hall {
	n := newHall(h.types, h.lattice)
	for _, a := range h.aisles {
		n.aisles = append(n.aisles, &aisle{columns: a.columns, bare: a.bare, asked: a.asked})
	}
	n.turned = &filter{}
	return n
}

// aisle returns the number of the aisle for some columns.
func (h *hall) aisle(columns []int, asked bool) int {
	i := slices.IndexFunc(h.aisles, func(a *aisle) bool { return slices.Equal(a.columns, columns) })
	if i < 0 {
		i = len(h.aisles)
		bare := len(columns) == 1 && h.types[columns[0]].Textual()
		h.aisles = append(h.aisles, &aisle{columns: columns, bare: bare})
	}
	h.aisles[i].asked = h.aisles[i].asked || asked
	return i
}

// put adds a row or makes one better, and reports whether it did.
func (h *hall) put(row Row) bool {
	var b []byte
	for i, l := range h.lattice {
		if l == query.Each {
			b = appendValue(b, h.types[i], row[i])
		}
	}
	if i, ok := h.index[string(b)]; ok {
		return h.improve(h.rows[i], row)
	}
	n := len(h.rows)
	h.index[string(b)] = n
	h.rows = append(h.rows, row)
	for _, a := range h.aisles {
		a.put(a.key(h.types, row), n)
	}
	return true
}

func (h *hall) improve(old, row Row) bool {
	changed := false
	for i, l := range h.lattice {
		if d := compare(h.types[i], row[i], old[i]); l == query.Min && d < 0 || l == query.Max && d > 0 {
			old[i], changed = row[i], true
		}
	}
	return changed
}

// memo is what a Part has found in an aisle last, and before: the links of a page
// mostly lead to one host, and to others in between.
type memo [2]struct {
	found
	size int // how many rows the hall had then, and one
}

// find returns the rows of a key that is bare, and whether it had to look.
func (m *memo) find(h *hall, a *aisle, key string) (rows []int, fresh bool) {
	size := len(h.rows) + 1
	switch {
	case m[0].key == key && m[0].size == size:
		return m[0].rows, false
	case m[1].key == key && m[1].size == size:
		m[0], m[1] = m[1], m[0]
		return m[0].rows, false
	}
	rows = find(a, key, page.Sum(key))
	m[1].key, m[1].rows, m[1].size = key, rows, size
	return rows, true
}

// at returns where in an aisle a key is, or -1 and the slot where it would go.
func at[T string | []byte](a *aisle, key T, h uint32) (i int, slot uint32) {
	for slot = h; ; slot++ {
		if i, slot = a.keys.next(h, slot); i < 0 || a.found[i].key == string(key) {
			return i, slot
		}
	}
}

// find returns the rows of a key.
func find[T string | []byte](a *aisle, key T, sum uint64) []int {
	if i, _ := at(a, key, uint32(sum>>32)); i >= 0 {
		return a.found[i].rows
	}
	return nil
}

func (a *aisle) put(key string, row int) {
	h := half(key)
	a.keys.grow(len(a.found))
	i, slot := at(a, key, h)
	if i < 0 {
		i = len(a.found)
		a.keys.put(slot, h, i)
		a.found = append(a.found, found{key: key})
	}
	a.found[i].rows = append(a.found[i].rows, row)
}

func (a *aisle) key(types []query.Type, row Row) string {
	if a.bare {
		return row[a.columns[0]].S
	}
	var b []byte
	for _, c := range a.columns {
		b = appendValue(b, types[c], row[c])
	}
	return string(b)
}

// late says that pages may have asked for a row before it came.
func (h *hall) late(row Row) bool {
	for _, a := range h.aisles {
		if a.asked && h.turned.has(page.Sum(a.key(h.types, row))) {
			return true
		}
	}
	return false
}

// filter remembers hashes: it never forgets one, and may take a few for known
// that it has not met.
type filter struct {
	bits []uint64
	full bool // everything may have been met
}

const filterBits = 1 << 20

func (f *filter) add(h uint64) {
	if f.bits == nil {
		f.bits = make([]uint64, filterBits/64)
	}
	for range 2 {
		f.bits[h/64%(filterBits/64)] |= 1 << (h % 64)
		h >>= 32
	}
}

func (f *filter) has(h uint64) bool {
	if f.full || f.bits == nil {
		return f.full
	}
	for range 2 {
		if f.bits[h/64%(filterBits/64)]&(1<<(h%64)) == 0 {
			return false
		}
		h >>= 32
	}
	return true
}
