package crawl

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"testing"
)

// memory is a KV of sorted rows, with the batches that change it.
type memory struct{ rows []kvRow }

type kvRow struct {
	key   string
	value []byte
	gone  bool
}

func (m *memory) find(key string) (int, bool) {
	return slices.BinarySearchFunc(m.rows, key, func(r kvRow, k string) int { return strings.Compare(r.key, k) })
}

func (m *memory) Get(key []byte) ([]byte, bool, error) {
	if i, ok := m.find(string(key)); ok {
		return bytes.Clone(m.rows[i].value), true, nil
	}
	return nil, false, nil
}

func (m *memory) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	i, _ := m.find(string(lower))
	for ; i < len(m.rows) && (upper == nil || m.rows[i].key < string(upper)); i++ {
		if !fn([]byte(m.rows[i].key), m.rows[i].value) {
			break
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
	ops := slices.Clone(b.ops)
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].key < ops[j].key })
	rows := make([]kvRow, 0, len(m.rows)+len(ops))
	old := m.rows
	for i, op := range ops {
		if i+1 < len(ops) && ops[i+1].key == op.key {
			continue
		}
		n := sort.Search(len(old), func(i int) bool { return old[i].key >= op.key })
		rows = append(rows, old[:n]...)
		if old = old[n:]; len(old) > 0 && old[0].key == op.key {
			old = old[1:]
		}
		if !op.gone {
			rows = append(rows, op)
		}
	}
	m.rows = append(rows, old...)
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
