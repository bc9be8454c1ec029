package flow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"weir/page"
)

// Mem is a State in memory, the twin of the one on disk. A Part writes to it
// directly. Rows lie packed in large chunks, and nothing in them is a pointer:
// millions of them cost the garbage collector nothing. It is not safe for
// concurrent use.
type Mem struct {
	shelves []*shelf // by path
	most    int64    // bytes that rows may take; 0: as many as there are
	used    int64    // about how many they take
	place   *place   // where the row belongs that is added next, if that is known
}

// NewMem returns an empty state.
func NewMem() *Mem { return &Mem{} }

// ErrFull says that the rows of a Part take more memory than they may.
var ErrFull = errors.New("the rows of the program take more memory than they may")

// Bound has a Part that writes to m fail with [ErrFull] when its rows take more
// bytes.
func (m *Mem) Bound(bytes int64) { m.most = bytes }

func (m *Mem) full() bool { return m.most > 0 && m.used > m.most }

// rowCost is about what a row takes besides its bytes.
const rowCost = 80

// pathSize is how many bytes of a key name its path.
const pathSize = 2

// Get returns the value of a key.
func (m *Mem) Get(key []byte) ([]byte, bool, error) {
	v, ok := m.shelf(key).get(key[pathSize:])
	return []byte(v), ok, nil
}

// Set gives a key its value.
func (m *Mem) Set(key, value []byte) error {
	s := m.shelf(key)
	if _, old, found := s.add(key[pathSize:], value, placed(key[pathSize:], 0)); found && old != string(value) {
		s.set(key[pathSize:], value)
	}
	return nil
}

// Delete makes a key gone.
func (m *Mem) Delete(key []byte) error {
	m.shelf(key).remove(key[pathSize:])
	return nil
}

// Scan calls fn for the keys from lower up to but not including upper, in order.
func (m *Mem) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	type pair struct{ key, value []byte }
	var found []pair
	for id, s := range m.shelves {
		if s == nil {
			continue
		}
		name := binary.BigEndian.AppendUint16(nil, uint16(id))
		s.all(func(key, value string) bool {
			k := append(name[:pathSize:pathSize], key...)
			if bytes.Compare(k, lower) >= 0 && bytes.Compare(k, upper) < 0 {
				found = append(found, pair{k, []byte(value)})
			}
			return true
		})
	}
	slices.SortFunc(found, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	for _, p := range found {
		if !fn(p.key, p.value) {
			break
		}
	}
	return nil
}

// Len returns how many keys there are.
func (m *Mem) Len() int {
	n := 0
	for _, s := range m.shelves {
		if s != nil {
			n += s.live
		}
	}
	return n
}

func (m *Mem) shelf(key []byte) *shelf { return m.at(binary.BigEndian.Uint16(key)) }

func (m *Mem) at(id uint16) *shelf {
	for int(id) >= len(m.shelves) {
		m.shelves = append(m.shelves, nil)
	}
	if m.shelves[id] == nil {
		m.shelves[id] = &shelf{}
	}
	return m.shelves[id]
}

// A Mem keeps what a Part needs without the detour over keys of State.

func (m *Mem) get(p *Path, key []byte) (string, bool) { return m.at(p.ID).get(key) }

func (m *Mem) add(p *Path, key []byte, cut int, value []byte) (kept halves, old string, found bool) {
	var to place
	if m.place != nil {
		to, m.place = *m.place, nil
	} else {
		to = placed(key, cut)
	}
	kept, old, found = m.at(p.ID).add(key, value, to)
	if !found {
		m.used += rowCost + int64(len(key)+len(value))
	}
	return kept, old, found
}

func (m *Mem) set(p *Path, key []byte, cut int, value []byte) {
	if _, old, found := m.add(p, key, cut, value); found && old != string(value) {
		m.at(p.ID).set(key, value)
		m.used += int64(len(value))
	}
}

func (m *Mem) drop(p *Path, prefix []byte) {
	s := m.at(p.ID)
	for i := range s.n {
		r := s.row(i)
		if k := s.key(r); !r.gone && k.begins(string(prefix)) {
			r.gone = true
			s.live--
			m.used -= rowCost + int64(len(k.head)+len(k.rest)+len(s.value(i)))
		}
	}
	if s.live < s.n/2 { // the room is wanted
		left := &shelf{}
		for i := range s.n {
			if r := s.row(i); !r.gone {
				k, cut := s.key(r), 0
				if r.group > 0 {
					cut = len(k.head)
				}
				key := []byte(k.whole())
				left.add(key, []byte(s.value(i)), placed(key, cut))
			}
		}
		m.shelves[p.ID] = left
	}
}

func (m *Mem) sorted(p *Path, prefix []byte, fn func(key, value string) bool) {
	m.at(p.ID).inOrder(prefix, fn)
}

func (m *Mem) scan(p *Path, prefix []byte, fn func(key, value string) bool) {
	s := m.at(p.ID)
	if len(prefix) == 0 {
		s.all(fn)
		return
	}
	for i := s.first(prefix); i >= 0; i = s.next(i) {
		if !fn(s.key(s.row(i)).whole(), s.value(i)) {
			return
		}
	}
}

// shelf holds the rows of one path: found by their whole key, or, all those that
// were added with an equal cut, by the first bytes of it. These stand in the shelf
// once for all rows that begin so, and what follows stands once for rows that come
// one after another, such as those of one page's links.
//
// Rows may be added while others are walked over: they are not met on that walk.
type shelf struct {
	text   arena
	blocks []*[blockRows]entry // of rows, which never move
	n      int                 // rows, those that are gone too
	values []string            // by row; shorter if the rest have none
	keys   slots               // of rows, by their keys
	groups []group
	heads  slots // of groups, by what their keys begin with
	live   int
	last   int      // the row that was found last
	order  []uint32 // rows by their keys, as of when they were last asked for so
}

const blockRows = 1 << 10

type entry struct {
	rest   span   // the key, or what follows the group's part of it
	group  uint32 // number+1; 0: it is of none
	before uint32 // row+1 of the group's row before
	gone   bool
}

// group are rows whose keys begin alike.
type group struct {
	head  span   // how
	last  uint32 // row+1
	count uint32 // of a pool's group: how many of its rows are counted
	total uint32 // where that is kept: row+1 on the shelf of the totals
}

// halves are a packed key in two parts of whole columns. The second may be empty.
type halves struct {
	head, rest string
	group      uint32 // whose head it is, on a shelf; see entry
}

func (k halves) whole() string {
	if k.rest == "" {
		return k.head
	}
	return k.head + k.rest
}

func (s *shelf) row(i int) *entry { return &s.blocks[i/blockRows][i%blockRows] }

func (s *shelf) key(r *entry) halves {
	if r.group == 0 {
		return halves{head: s.text.at(r.rest)}
	}
	return halves{s.text.at(s.groups[r.group-1].head), s.text.at(r.rest), r.group}
}

// is says that a row's key is this one.
func (s *shelf) is(r *entry, key []byte) bool {
	k := s.key(r)
	n := len(k.head)
	return len(key) == n+len(k.rest) && string(key[:n]) == k.head && string(key[n:]) == k.rest
}

func (s *shelf) value(i int) string {
	if i < len(s.values) {
		return s.values[i]
	}
	return ""
}

func half[T string | []byte](s T) uint32 { return uint32(page.Sum(s) >> 32) }

// find returns where a key's row is, or -1 and the slot where it would go.
func (s *shelf) find(key []byte, h uint32) (row int, slot uint32) {
	for slot = h; ; slot++ {
		if row, slot = s.keys.next(h, slot); row < 0 || s.is(s.row(row), key) {
			return row, slot
		}
	}
}

func (s *shelf) get(key []byte) (string, bool) {
	i := s.at(key)
	if i < 0 || s.row(i).gone {
		return "", false
	}
	return s.value(i), true
}

// at returns where a key's row is, or -1. A row that was just looked at is often
// looked at again, to be changed.
func (s *shelf) at(key []byte) int {
	if s.last < s.n && s.is(s.row(s.last), key) {
		return s.last
	}
	i, _ := s.find(key, half(key))
	if i >= 0 {
		s.last = i
	}
	return i
}

// add puts a row that is not there yet, and returns its key to hold. Of one that
// is there it returns the value.
func (s *shelf) add(key, value []byte, to place) (kept halves, old string, found bool) {
	s.keys.grow(s.n)
	i, slot := s.find(key, to.key)
	if i >= 0 {
		s.last = i
		r := s.row(i)
		if !r.gone {
			return kept, s.value(i), true
		}
		r.gone = false
		s.live++
		s.put(i, value)
		return s.key(r), "", false
	}
	i = s.n
	if i/blockRows == len(s.blocks) {
		s.blocks = append(s.blocks, new([blockRows]entry))
	}
	r := s.row(i)
	*r = entry{rest: s.rest(key[to.cut:])}
	s.n++
	s.keys.put(slot, to.key, i)
	s.live++
	if len(value) > 0 {
		s.put(i, value)
	}
	if to.cut > 0 {
		s.join(i, r, key[:to.cut], to)
	}
	return s.key(r), "", false
}

// rest keeps what follows the group's part of a key.
func (s *shelf) rest(b []byte) span {
	if s.n > 0 {
		if last := s.row(s.n - 1).rest; s.text.at(last) == string(b) {
			return last
		}
	}
	return s.text.add(b)
}

func (s *shelf) set(key, value []byte) {
	if i := s.at(key); i >= 0 {
		s.put(i, value)
	}
}

func (s *shelf) put(i int, value []byte) {
	for len(s.values) <= i {
		s.values = append(s.values, "")
	}
	s.values[i] = s.text.text(value)
}

func (s *shelf) remove(key []byte) {
	if i := s.at(key); i >= 0 && !s.row(i).gone {
		s.row(i).gone = true
		s.live--
	}
}

// head returns the group of a prefix, or -1 and the slot where it would go.
func (s *shelf) head(prefix []byte, h uint32) (i int, slot uint32) {
	for slot = h; ; slot++ {
		if i, slot = s.heads.next(h, slot); i < 0 || s.text.at(s.groups[i].head) == string(prefix) {
			return i, slot
		}
	}
}

// join makes a row the last one of its group.
func (s *shelf) join(row int, r *entry, prefix []byte, to place) {
	i := int(to.group) - 1
	if i < 0 || s.text.at(s.groups[i].head) != string(prefix) {
		i = s.begin(prefix, to.head)
	}
	g := &s.groups[i]
	r.group, r.before = uint32(i)+1, g.last
	g.last = uint32(row) + 1
}

// begin returns the group of a prefix, a new one if there is none.
func (s *shelf) begin(prefix []byte, h uint32) int {
	s.heads.grow(len(s.groups))
	i, slot := s.head(prefix, h)
	if i < 0 {
		i = len(s.groups)
		s.heads.put(slot, h, i)
		s.groups = append(s.groups, group{head: s.text.add(prefix)})
	}
	return i
}

// first returns the first row of a group to walk over, or -1.
func (s *shelf) first(prefix []byte) int {
	i, _ := s.head(prefix, half(prefix))
	if i < 0 {
		return -1
	}
	if i = int(s.groups[i].last) - 1; s.row(i).gone {
		return s.next(i)
	}
	return i
}

// next returns the row to walk over after another one of its group, or -1.
func (s *shelf) next(i int) int {
	for {
		i = int(s.row(i).before) - 1
		if i < 0 || !s.row(i).gone {
			return i
		}
	}
}

func (s *shelf) all(fn func(key, value string) bool) {
	for i, n := 0, s.n; i < n; i++ {
		if r := s.row(i); !r.gone && !fn(s.key(r).whole(), s.value(i)) {
			return
		}
	}
}

// inOrder walks over the rows whose key begins with prefix, by their keys.
func (s *shelf) inOrder(prefix []byte, fn func(key, value string) bool) {
	if len(s.order) != s.n {
		s.order = s.arranged() // another walk may go on over the one before
	}
	order, from := s.order, halves{head: string(prefix)}
	at, _ := slices.BinarySearchFunc(order, from, func(row uint32, from halves) int { return s.key(s.row(int(row))).compare(from) })
	for _, i := range order[at:] {
		r := s.row(int(i))
		key := s.key(r)
		if !key.begins(from.head) || !r.gone && !fn(key.whole(), s.value(int(i))) {
			return
		}
	}
}

// reset empties the shelf and keeps its tables.
func (s *shelf) reset() {
	s.text.reset()
	s.values, s.order = s.values[:0], nil
	clear(s.keys)
	clear(s.heads)
	s.groups = s.groups[:0]
	s.n, s.live = 0, 0
}

// arena holds texts that never change, many to a chunk.
type arena struct {
	chunks []string
	last   *strings.Builder
	size   int // bytes in all
}

// span says where in an arena a text is.
type span struct{ chunk, from, to uint32 }

const (
	leastChunk = 1 << 10
	mostChunk  = 1 << 20
)

func (a *arena) at(s span) string { return a.chunks[s.chunk][s.from:s.to] }

func (a *arena) add(b []byte) span {
	if a.last == nil || a.last.Len()+len(b) > a.last.Cap() {
		size := leastChunk
		if a.last != nil {
			size = min(2*a.last.Cap(), mostChunk)
		}
		a.last = &strings.Builder{}
		a.last.Grow(max(size, len(b)))
		a.chunks = append(a.chunks, "")
	}
	from := a.last.Len()
	a.last.Write(b)
	a.size += len(b)
	a.chunks[len(a.chunks)-1] = a.last.String()
	return span{uint32(len(a.chunks) - 1), uint32(from), uint32(from + len(b))}
}

// text returns b as a text that may be kept.
func (a *arena) text(b []byte) string { return a.at(a.add(b)) }

// reset forgets the texts, and goes on behind them. Whoever holds one keeps it.
func (a *arena) reset() {
	if a.last != nil {
		clear(a.chunks)
		a.chunks = append(a.chunks[:0], a.last.String())
	}
}
