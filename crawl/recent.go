package crawl

import "weir/page"

// rows holds the rows of pages that were queued a while ago, by their key: the
// one that ends next is often among them, and then needs no read. A row that is
// there is as it was last written. It is direct-mapped: a page may put another
// one out.
type rows []rowSlot

type rowSlot struct {
	key page.Key // Site 0: empty
	row urlRow
}

// newRows returns room for the budget: a thirty-second of the memory for seen
// pages, at most some thirty megabytes.
func newRows(memory int64) rows {
	const slot = 128 // bytes, about
	n := int64(1 << 18)
	if memory > 0 {
		n = min(n, max(memory/32/slot, 1))
	}
	return make(rows, n)
}

func (c rows) at(k page.Key) *rowSlot { return &c[fingerprint(k)%uint64(len(c))] }

// find returns a page's row, or nil.
func (c rows) find(k page.Key) *urlRow {
	if s := c.at(k); s.key == k {
		return &s.row
	}
	return nil
}

// put keeps the row of a page that waits, and forgets that of one that does not.
func (c rows) put(k page.Key, r *urlRow) {
	s := c.at(k)
	switch {
	case r.state == stateQueued:
		*s = rowSlot{k, *r}
	case s.key == k:
		*s = rowSlot{}
	}
}
