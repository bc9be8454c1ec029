package crawl

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"testing"
)

// memory is a KV of sorted rows, in chunks so that large ones are quick to
// change, with the batches that change it.
type memory struct{ chunks [][]kvRow }

type kvRow struct {
	key   string
	value []byte
	gone  bool
}

const chunkRows = 512

// seek returns where key is, or would be.
func (m *memory) seek(key string) (chunk, row int, ok bool) {
	chunk = max(sort.Search(len(m.chunks), func(i int) bool { return m.chunks[i][0].key > key })-1, 0)
	if len(m.chunks) > 0 {
		row, ok = slices.BinarySearchFunc(m.chunks[chunk], key, func(r kvRow, k string) int { return strings.Compare(r.key, k) })
	}
	return chunk, row, ok
}

func (m *memory) has(key []byte) bool {
	_, _, ok := m.seek(string(key))
	return ok
}

func (m *memory) Get(key []byte) ([]byte, bool, error) {
	if c, i, ok := m.seek(string(key)); ok {
		return bytes.Clone(m.chunks[c][i].value), true, nil
	}
	return nil, false, nil
}

func (m *memory) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	for c, i, _ := m.seek(string(lower)); c < len(m.chunks); c, i = c+1, 0 {
		for ; i < len(m.chunks[c]); i++ {
			r := m.chunks[c][i]
			if upper != nil && r.key >= string(upper) || !fn([]byte(r.key), r.value) {
				return nil
			}
		}
	}
	return nil
}

func (m *memory) Find(keys [][]byte, fn func(i int, value []byte)) error {
	for k, key := range keys {
		if k > 0 && bytes.Compare(keys[k-1], key) >= 0 {
			panic("keys out of order")
		}
		if c, i, ok := m.seek(string(key)); ok {
			fn(k, m.chunks[c][i].value)
		}
	}
	return nil
}

// batch collects changes; the last one of a key counts.
type batch struct{ ops []kvRow }

func (b *batch) Set(key, value []byte) {
	b.ops = append(b.ops, kvRow{string(key), bytes.Clone(value), false})
}
func (b *batch) Delete(key []byte) { b.ops = append(b.ops, kvRow{string(key), nil, true}) }

// commit makes a batch durable.
func (m *memory) commit(b *batch) {
	for _, op := range b.ops {
		c, i, ok := m.seek(op.key)
		switch {
		case op.gone && !ok:
		case op.gone:
			if m.chunks[c] = slices.Delete(m.chunks[c], i, i+1); len(m.chunks[c]) == 0 {
				m.chunks = slices.Delete(m.chunks, c, c+1)
			}
		case ok:
			m.chunks[c][i] = op
		case len(m.chunks) == 0:
			m.chunks = [][]kvRow{{op}}
		default:
			if m.chunks[c] = slices.Insert(m.chunks[c], i, op); len(m.chunks[c]) > chunkRows {
				half := slices.Clone(m.chunks[c][chunkRows/2:])
				m.chunks[c] = m.chunks[c][:chunkRows/2]
				m.chunks = slices.Insert(m.chunks, c+1, half)
			}
		}
	}
}

func TestMemory(t *testing.T) {
	m, b := &memory{}, &batch{}
	for _, k := range []string{"b", "a", "c", "b"} {
		b.Set([]byte(k), []byte(k+k))
	}
	b.Delete([]byte("a"))
	m.commit(b)
	var got []string
	_ = m.Scan([]byte("a"), []byte("c"), func(k, v []byte) bool { got = append(got, string(k)+"="+string(v)); return true })
	if want := []string{"b=bb"}; !slices.Equal(got, want) {
		t.Errorf("scan: %v, want %v", got, want)
	}
}
