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
	rows    map[string][]int
	asked   bool // by stages that flow, which do not ask again

	// What was asked for last, of a hall that is one Part's own: the links of a page
	// mostly lead to one host.
	last  string
	known bool // last was asked for, and found still holds
	found []int
}

func newHall(types []query.Type, lattice []query.Lattice) *hall {
	return &hall{types: types, lattice: lattice, index: map[string]int{}}
}

// empty returns a hall with the same aisles and no rows.
func (h *hall) empty() *hall {
	n := newHall(h.types, h.lattice)
	for _, a := range h.aisles {
		n.aisles = append(n.aisles, &aisle{columns: a.columns, bare: a.bare, asked: a.asked, rows: map[string][]int{}})
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
		h.aisles = append(h.aisles, &aisle{columns: columns, bare: bare, rows: map[string][]int{}})
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
		k := a.key(h.types, row)
		a.rows[k] = append(a.rows[k], n)
		a.known = false
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

// find returns the rows of a key that is bare.
func (a *aisle) find(key string, own bool) []int {
	if !own {
		return a.rows[key]
	}
	if !a.known || key != a.last {
		a.last, a.known, a.found = key, true, a.rows[key]
	}
	return a.found
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
