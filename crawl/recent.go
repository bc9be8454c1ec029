package crawl

import (
	"weir/frontier"
	"weir/page"
)

// rows holds the rows of pages that were queued a while ago, by their key: the
// one that ends next is often among them, and then needs no read. A row that is
// there is as it was last written. It is direct-mapped: a page may put another
// one out.
type rows []rowSlot

// rowSlot is what a queued page's urlRow says.
type rowSlot struct {
	key                          page.Key // Site 0: empty
	parent                       page.Key
	place                        frontier.Place
	depth                        uint16
	rule                         Rule
	version                      uint8
	seed, root, free, plain, had bool
	renewed, counted             bool
}

// newRows returns room for the budget: a thirty-second of the memory for seen
// pages, at most some seventeen megabytes.
func newRows(memory int64) rows {
	const slot = 64 // bytes
	n := int64(1 << 18)
	if memory > 0 {
		n = min(n, max(memory/32/slot, 1))
	}
	return make(rows, n)
}

func (c rows) at(k page.Key) *rowSlot { return &c[fingerprint(k)%uint64(len(c))] }

// find returns a page's row, if it is there.
func (c rows) find(k page.Key) (urlRow, bool) {
	s := c.at(k)
	if s.key != k {
		return urlRow{}, false
	}
	return urlRow{
		state: stateQueued, seed: s.seed, root: s.root, free: s.free, plain: s.plain, had: s.had, renewed: s.renewed, counted: s.counted, depth: s.depth, rule: s.rule, version: s.version, parent: s.parent, place: s.place,
	}, true
}

// put keeps the row of a page that waits, and forgets that of one that does not.
func (c rows) put(k page.Key, r *urlRow) {
	s := c.at(k)
	switch {
	case r.state == stateQueued:
		*s = rowSlot{
			key: k, parent: r.parent, place: r.place, depth: r.depth, rule: r.rule, version: r.version, seed: r.seed, root: r.root, free: r.free, plain: r.plain, had: r.had, renewed: r.renewed, counted: r.counted,
		}
	case s.key == k:
		*s = rowSlot{}
	}
}
