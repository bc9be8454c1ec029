package store

import (
	"bytes"
	"slices"
	"sort"
	"sync"
)

// Memory is the rows of a Store without its folder and archive: the twin that
// tests of the Ledger run on. It keeps the same contract, see package
// storetest. Safe for concurrent reads; one group at a time.
type Memory struct {
	mu   sync.RWMutex
	rows []row // sorted by key; replaced, never changed, by a commit
}

type row struct{ key, value []byte }

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{} }

func (m *Memory) view() []row {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rows
}

func find(rows []row, key []byte) (int, bool) {
	i := sort.Search(len(rows), func(i int) bool { return bytes.Compare(rows[i].key, key) >= 0 })
	return i, i < len(rows) && bytes.Equal(rows[i].key, key)
}

// Get returns a copy of the committed value of key.
func (m *Memory) Get(key []byte) (value []byte, ok bool, err error) {
	rows := m.view()
	i, ok := find(rows, key)
	if !ok {
		return nil, false, nil
	}
	return append([]byte{}, rows[i].value...), true, nil
}

// Scan is as Store.Scan.
func (m *Memory) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	rows := m.view()
	i, _ := find(rows, lower)
	for ; i < len(rows); i++ {
		if upper != nil && bytes.Compare(rows[i].key, upper) >= 0 {
			break
		}
		if !fn(rows[i].key, rows[i].value) {
			break
		}
	}
	return nil
}

// Begin starts a group of changes.
func (m *Memory) Begin() *MemoryGroup { return &MemoryGroup{m: m} }

// MemoryGroup is the Group of a Memory, without Append.
type MemoryGroup struct {
	m   *Memory
	ops []op
}

type op struct {
	key, value []byte
	upper      []byte // of a range
	kind       byte   // '=' set, '-' delete, '~' delete range
}

// Set writes a row.
func (g *MemoryGroup) Set(key, value []byte) {
	checkKey(key)
	g.ops = append(g.ops, op{kind: '=', key: slices.Clone(key), value: slices.Clone(value)})
}

// Delete removes a row.
func (g *MemoryGroup) Delete(key []byte) {
	checkKey(key)
	g.ops = append(g.ops, op{kind: '-', key: slices.Clone(key)})
}

// DeleteRange removes the rows from lower up to but not including upper.
func (g *MemoryGroup) DeleteRange(lower, upper []byte) {
	checkRange(lower, upper)
	g.ops = append(g.ops, op{kind: '~', key: slices.Clone(lower), upper: slices.Clone(upper)})
}

// Commit makes the changes visible, in their order.
func (g *MemoryGroup) Commit() error {
	rows := slices.Clone(g.m.view())
	for _, o := range g.ops {
		i, ok := find(rows, o.key)
		switch {
		case o.kind == '=' && ok:
			rows[i].value = o.value
		case o.kind == '=':
			rows = slices.Insert(rows, i, row{o.key, o.value})
		case o.kind == '-' && ok:
			rows = slices.Delete(rows, i, i+1)
		case o.kind == '~':
			if j, _ := find(rows, o.upper); j > i {
				rows = slices.Delete(rows, i, j)
			}
		}
	}
	g.ops = nil
	g.m.mu.Lock()
	g.m.rows = rows
	g.m.mu.Unlock()
	return nil
}
