package crawl

import (
	"bytes"
	"fmt"
	"slices"

	"weir/page"
)

// ahead is what the store was asked about the links of the page under way, all
// at once: sorted, since neighbours of one site then share what is read. It
// matters when the memory of seen pages is not whole.
type ahead struct {
	keys  [][]byte
	bytes []byte                // of keys
	none  map[page.Key]struct{} // asked for and not there
}

// absent says that the store has no row of this page.
func (a *ahead) absent(k page.Key) bool {
	_, ok := a.none[k]
	return ok
}

// forget ends what is known of the store: the next commit may change it.
func (a *ahead) forget() { clear(a.none) }

// lookAhead reads what the seen-test of these rows will want to know.
func (l *Ledger) lookAhead(rows []Row) error {
	a := &l.ahead
	if l.seen.whole() || len(rows) < 2 {
		return nil
	}
	if a.none == nil {
		a.none = map[page.Key]struct{}{}
	}
	a.keys, a.bytes = a.keys[:0], a.bytes[:0]
	for i := range rows {
		row, k := &rows[i], l.keys[i]
		if k.Site == 0 || l.remembered(k, l.prints[i], row) {
			continue
		}
		if _, twice := a.none[k]; !twice {
			a.none[k] = struct{}{}
			from := len(a.bytes)
			a.bytes = appendPageKey(a.bytes, keyURL, k)
			a.keys = append(a.keys, a.bytes[from:])
		}
	}
	slices.SortFunc(a.keys, bytes.Compare)
	var bad error
	err := l.kv.Find(a.keys, func(i int, value []byte) {
		k, err := readPageKey(a.keys[i])
		r := l.slab.next()
		r.key = k
		if err == nil {
			err = r.read(value)
		}
		if err != nil {
			bad = err
			return
		}
		delete(a.none, k)
		l.had(r)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("look pages up: %w", err)
	}
	return nil
}

// remembered says that the seen-test of this row needs no look into the store.
func (l *Ledger) remembered(k page.Key, print uint64, row *Row) bool {
	if l.pages[k] != nil || l.rows.has(k) {
		return true
	}
	depth := uint8(min(row.Depth, maxSeen))
	least, known := l.seen.find(print)
	return row.plain() && (known && least <= depth || l.seen.hasMet(print, depth))
}
