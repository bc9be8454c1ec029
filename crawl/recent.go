package crawl

import (
	"weir/frontier"
	"weir/page"
)

// rows holds the rows of pages that were queued a while ago, by their key: the
// one that ends or moves next is often among them, and then needs no read. A row
// that is there is as it was last written. Each page has one bucket that it may be
// in; a new one there puts the one out that came first.
type rows []rowBucket

type rowBucket [rowWays]rowSlot // the last one that came is first

const (
	rowWays = 4
	rowSize = 40 // bytes of a slot
)

// rowSlot is what a queued page's urlRow says.
type rowSlot struct {
	hash, parent uint64
	seq          uint64
	site, above  page.SiteID // of the page, 0: empty; of its parent
	depth        uint16
	class        uint8
	rule         Rule
	version      uint8
	flags        rowFlags
}

type rowFlags uint8

const (
	rowSeed rowFlags = 1 << iota
	rowRoot
	rowFree
	rowPlain
	rowHad
	rowRenewed
	rowCounted
)

// newRows returns room for the budget: a thirty-second of the memory for seen
// pages, at most some seventeen megabytes.
func newRows(memory int64) rows {
	n := int64(16 << 20)
	if memory > 0 {
		n = min(n, memory/32)
	}
	return make(rows, max(n/(rowWays*rowSize), 1))
}

func (c rows) bucket(k page.Key) *rowBucket { return &c[fingerprint(k)%uint64(len(c))] }

// at returns where in its bucket a page is, rowWays if it is not.
func (b *rowBucket) at(k page.Key) int {
	for i := range b {
		if b[i].hash == k.Hash && b[i].site == k.Site {
			return i
		}
	}
	return rowWays
}

// has says whether a page's row is there.
func (c rows) has(k page.Key) bool { return c.bucket(k).at(k) < rowWays }

// find returns a page's row, if it is there.
func (c rows) find(k page.Key) (urlRow, bool) {
	b := c.bucket(k)
	i := b.at(k)
	if i == rowWays {
		return urlRow{}, false
	}
	s := &b[i]
	return urlRow{
		state: stateQueued, depth: s.depth, rule: s.rule, version: s.version,
		seed: s.flags&rowSeed != 0, root: s.flags&rowRoot != 0, free: s.flags&rowFree != 0, plain: s.flags&rowPlain != 0,
		had: s.flags&rowHad != 0, renewed: s.flags&rowRenewed != 0, counted: s.flags&rowCounted != 0,
		parent: page.Key{Site: s.above, Hash: s.parent}, place: frontier.Place{Class: s.class, Seq: s.seq},
	}, true
}

// put keeps the row of a page that waits, and forgets that of one that does not.
func (c rows) put(k page.Key, r *urlRow) {
	b := c.bucket(k)
	i := b.at(k)
	if r.state != stateQueued {
		if i < rowWays {
			b[i] = rowSlot{}
		}
		return
	}
	if i == rowWays {
		if i = b.at(page.Key{}); i == rowWays {
			i--
		}
		copy(b[1:i+1], b[:i])
		i = 0
	}
	s := &b[i]
	*s = rowSlot{
		hash: k.Hash, parent: r.parent.Hash, seq: r.place.Seq, site: k.Site, above: r.parent.Site,
		depth: r.depth, class: r.place.Class, rule: r.rule, version: r.version,
	}
	for i, set := range [...]bool{r.seed, r.root, r.free, r.plain, r.had, r.renewed, r.counted} {
		if set {
			s.flags |= 1 << i
		}
	}
}
