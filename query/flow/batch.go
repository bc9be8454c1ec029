package flow

import (
	"fmt"

	"weir/page"
	"weir/query"
)

// Batch works a program out over what a crawl has found, when it is over or so
// far: first it is given the pages and rows, then it finishes, then it tells. It
// is not safe for concurrent use.
//
// All rows are in its state. Nothing else grows with them, but what the best of
// a top and the small tables need.
type Batch struct {
	plan  *Plan
	part  *Part
	out   Out
	pages int
	rows  int
	stale bool
}

// NewBatch returns a batch that keeps its rows in an empty state: a [Mem], or one
// on disk where there are many. now is what now() is, in seconds since 1970.
func NewBatch(p *Plan, s Writer, now int64) (*Batch, error) {
	x, err := NewPart(p, s, 0, 1)
	if err != nil {
		return nil, err
	}
	x.Now(now)
	b := &Batch{plan: p, part: x}
	return b, b.took(x.Start(&b.out))
}

// took ends a delivery.
func (b *Batch) took(err error) error {
	b.stale = b.stale || b.out.Stale
	b.out.Reset()
	return err
}

// Page takes the facts of a page.
func (b *Batch) Page(f *page.Facts) error {
	if !f.Robots {
		b.pages++
	}
	return b.took(b.part.Page(f, &b.out))
}

// Seed takes a page that the user has named.
func (b *Batch) Seed(u page.URL, score float64) error {
	return b.took(b.part.Seed(u, score, &b.out))
}

// Crawl takes a row of crawl, of a page that was fetched or still waits.
func (b *Batch) Crawl(u string, depth int64, priority float64) error {
	b.rows++
	if !b.plan.KeepsCrawl {
		return nil
	}
	return b.took(b.part.Crawled(u, depth, priority, &b.out))
}

// Stale says that a small table has grown after pages that may mean more now: all
// pages are to be delivered again. It is true once for each time.
func (b *Batch) Stale() bool {
	stale := b.stale
	b.stale = false
	return stale
}

// SoFar returns how many pages were delivered, and how many rows of crawl wait for
// theirs.
func (b *Batch) SoFar() (pages, waiting int) { return b.pages, max(0, b.rows-b.pages) }

// Finish works out the final tables.
func (b *Batch) Finish() error {
	if b.stale {
		return fmt.Errorf("a small table has grown: all pages are to be delivered again")
	}
	return Finish([]*Part{b.part})
}

// Rows calls fn for the rows of a table, sorted by their columns, until it
// returns false.
func (b *Batch) Rows(t *query.Table, fn func(Row) bool) error { return b.part.Rows(t, fn) }

// Drops returns how many rows of a rule were dropped since an expression had no
// value.
func (b *Batch) Drops(r *Rule) int64 { return b.part.Drops(r) }
