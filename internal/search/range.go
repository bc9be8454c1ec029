package search

import (
	"cmp"
	"fmt"
	"slices"

	"weir/internal/store"
)

// Point is a place between two records of an archive. Points grow with every
// commit.
type Point struct {
	File   uint32
	Offset int64
}

// Start returns the point before a record.
func Start(p store.Place) Point { return Point{p.File, p.Offset} }

// End returns the point behind a record.
func End(p store.Place) Point { return Point{p.File, p.Offset + p.Length} }

// Compare returns -1, 0 or 1 as p comes before, is, or comes after q.
func (p Point) Compare(q Point) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Offset, q.Offset))
}

// Range is a part of an archive: the records that begin at From or later, and
// before To.
type Range struct{ From, To Point }

func (r Range) empty() bool { return r.From.Compare(r.To) >= 0 }

// Holds says whether a record lies in the range.
func (r Range) Holds(p store.Place) bool {
	return r.From.Compare(Start(p)) <= 0 && Start(p).Compare(r.To) < 0
}

// name is the name of the segment of a range.
func (r Range) name() string {
	return fmt.Sprintf("%05d-%09d-%05d-%09d%s", r.From.File, r.From.Offset, r.To.File, r.To.Offset, suffix)
}

// gaps returns what of the archive up to end is in none of the ranges, which are
// in order and do not overlap.
func gaps(have []Range, end Point) []Range {
	var missing []Range
	at := Point{}
	for _, r := range have {
		missing = append(missing, Range{at, r.From})
		at = r.To
	}
	missing = append(missing, Range{at, end})
	return slices.DeleteFunc(missing, Range.empty)
}

// Holes returns what of the gaps up to end no [Indexer] fills that began at a point: what
// was crawled before it, and gaps that it has left behind. Of these only what lies before
// known.
func Holes(gaps []Range, end, began, known Point) (holes []Range) {
	least := func(p, q Point) Point {
		if p.Compare(q) < 0 {
			return p
		}
		return q
	}
	for _, g := range gaps {
		if g.To.Compare(end) >= 0 { // it has this one in memory, from there on
			g.To = least(g.To, began)
		}
		if g.To = least(g.To, known); !g.empty() {
			holes = append(holes, g)
		}
	}
	return holes
}
