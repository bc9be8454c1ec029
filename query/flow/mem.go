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
	if _, old, found := s.add(key[pathSize:], 0, value); found && old != string(value) {
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

func (m *Mem) add(p *Path, key []byte, cut int, value []byte) (kept, old string, found bool) {
	kept, old, found = m.at(p.ID).add(key, cut, value)
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
		if r := s.row(i); !r.gone && strings.HasPrefix(s.key(r), string(prefix)) {
			r.gone = true
			s.live--
			m.used -= rowCost + int64(len(s.key(r))+len(s.value(i)))
		}
	}
	if s.live < s.n/2 { // the room is wanted
		left := &shelf{}
		for i := range s.n {
			if r := s.row(i); !r.gone {
				left.add([]byte(s.key(r)), int(r.cut), []byte(s.value(i)))
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
		if !fn(s.key(s.row(i)), s.value(i)) {
			return
		}
	}
}

// shelf holds the rows of one path: found by their whole key, or, all those that
// were added with an equal cut, by the first bytes of it.
//
// Rows may be added while others are walked over: they are not met on that walk.
type shelf struct {
	text   arena
	blocks []*[blockRows]entry // of rows, which never move
	n      int                 // rows, those that are gone too
	values []string            // by row; shorter if the rest have none
	keys   []uint32            // open addressing by the hash of the key: row+1
	groups []uint32            // the same by the hash of key[:cut]: the last row of the group
	ngroup int
	live   int
	last   int      // the row that was found last
	order  []uint32 // rows by their keys, as of when they were last asked for so
}

const blockRows = 1 << 10

type entry struct {
	at     span
	hash   uint32 // of the key
	prefix uint32 // hash of key[:cut]
	cut    uint32
	before uint32 // row+1 of the group's row before
	gone   bool
}

func (s *shelf) row(i int) *entry { return &s.blocks[i/blockRows][i%blockRows] }

func (s *shelf) key(r *entry) string { return s.text.at(r.at) }

func (s *shelf) value(i int) string {
	if i < len(s.values) {
		return s.values[i]
	}
	return ""
}

func half[T string | []byte](s T) uint32 { return uint32(page.Sum(s) >> 32) }

// find returns where a key's row is, or -1 and the slot where it would go.
func (s *shelf) find(key []byte, h uint32) (row int, slot uint32) {
	if len(s.keys) == 0 {
		return -1, 0
	}
	mask := uint32(len(s.keys) - 1)
	for slot = h & mask; s.keys[slot] != 0; slot = (slot + 1) & mask {
		i := int(s.keys[slot] - 1)
		if r := s.row(i); r.hash == h && s.key(r) == string(key) {
			return i, slot
		}
	}
	return -1, slot
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
	if s.last < s.n && s.key(s.row(s.last)) == string(key) {
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
func (s *shelf) add(key []byte, cut int, value []byte) (kept, old string, found bool) {
	if s.last < s.n && s.key(s.row(s.last)) == string(key) && !s.row(s.last).gone {
		return "", s.value(s.last), true
	}
	h := half(key)
	i, slot := s.find(key, h)
	if i >= 0 {
		s.last = i
		r := s.row(i)
		if !r.gone {
			return "", s.value(i), true
		}
		r.gone = false
		s.live++
		s.put(i, value)
		return s.key(r), "", false
	}
	if s.n >= len(s.keys)/2 {
		s.keys = s.grow(s.keys, s.n, func(r *entry) uint32 { return r.hash })
		_, slot = s.find(key, h)
	}
	i = s.n
	s.n++
	if i/blockRows == len(s.blocks) {
		s.blocks = append(s.blocks, new([blockRows]entry))
	}
	r := s.row(i)
	*r = entry{at: s.text.add(key), hash: h, cut: uint32(cut)}
	s.keys[slot] = uint32(i) + 1
	s.live++
	if len(value) > 0 {
		s.put(i, value)
	}
	if cut > 0 {
		s.join(i, r, key[:cut])
	}
	return s.key(r), "", false
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

// grow returns a table with room for twice as many rows, by the hash that by
// tells.
func (s *shelf) grow(old []uint32, n int, by func(*entry) uint32) []uint32 {
	size := 16
	for size < 4*n {
		size *= 2
	}
	table := make([]uint32, size)
	mask := uint32(size - 1)
	for _, row := range old {
		if row == 0 {
			continue
		}
		slot := by(s.row(int(row-1))) & mask
		for table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		table[slot] = row
	}
	return table
}

// head returns the slot of a group, or the one where it would go.
func (s *shelf) head(prefix []byte, h uint32) uint32 {
	mask := uint32(len(s.groups) - 1)
	slot := h & mask
	for s.groups[slot] != 0 {
		r := s.row(int(s.groups[slot] - 1))
		if r.prefix == h && int(r.cut) == len(prefix) && s.key(r)[:r.cut] == string(prefix) {
			break
		}
		slot = (slot + 1) & mask
	}
	return slot
}

// join makes a row the last one of its group.
func (s *shelf) join(i int, r *entry, prefix []byte) {
	if s.ngroup >= len(s.groups)/2 {
		s.groups = s.grow(s.groups, s.ngroup, func(r *entry) uint32 { return r.prefix })
	}
	r.prefix = half(prefix)
	slot := s.head(prefix, r.prefix)
	if s.groups[slot] == 0 {
		s.ngroup++
	}
	r.before = s.groups[slot]
	s.groups[slot] = uint32(i) + 1
}

// first returns the first row of a group to walk over, or -1.
func (s *shelf) first(prefix []byte) int {
	if s.ngroup == 0 {
		return -1
	}
	i := int(s.groups[s.head(prefix, half(prefix))]) - 1
	if i >= 0 && s.row(i).gone {
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
		if r := s.row(i); !r.gone && !fn(s.key(r), s.value(i)) {
			return
		}
	}
}

// inOrder walks over the rows whose key begins with prefix, by their keys.
func (s *shelf) inOrder(prefix []byte, fn func(key, value string) bool) {
	if len(s.order) != s.n {
		s.order = s.arranged() // another walk may go on over the one before
	}
	order, from := s.order, string(prefix)
	at, _ := slices.BinarySearchFunc(order, from, func(row uint32, prefix string) int { return strings.Compare(s.key(s.row(int(row))), prefix) })
	for _, i := range order[at:] {
		r := s.row(int(i))
		key := s.key(r)
		if !strings.HasPrefix(key, from) || !r.gone && !fn(key, s.value(int(i))) {
			return
		}
	}
}

// reset empties the shelf and keeps its tables.
func (s *shelf) reset() {
	s.text.reset()
	s.values, s.order = s.values[:0], nil
	clear(s.keys)
	clear(s.groups)
	s.n, s.ngroup, s.live = 0, 0, 0
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
