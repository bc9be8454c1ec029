package crawl

import (
	"weir/overlay"
	"weir/page"
)

// Under redirect and adaptive the owner of a page's home may leave the fetching to
// another partition's (overlay.Scheme). What is new at home goes on to the other
// partition's log as a row that has moved; home knows the page from then on, and has
// ended with it. That end is posted behind the row, as any other, so that no crash
// loses the page between the two, and the next owner of home finds both.

// spreads are over how many partitions hosts are spread, as far as this node has to
// know: those at home here.
type spreads struct {
	table *overlay.Spreads // nil: the scheme spreads none
	since map[string]int   // by host: new pages since that was looked at
	calm  bool             // the node has connections for all its hosts
}

func newSpreads(s overlay.Scheme) spreads {
	if s.Second != overlay.Adapt {
		return spreads{}
	}
	return spreads{table: overlay.NewSpreads(s), since: map[string]int{}}
}

// Pressed says whether hosts wait for a connection of this node. Until it is told it
// takes that for granted.
func (l *Ledger) Pressed(is bool) {
	if l.share != nil {
		l.share.spreads.calm = !is
	}
}

// fetcher returns the partition that is to fetch a new page in place of its own.
func (l *Ledger) fetcher(s *siteRecord, row *Row) (part int, ok bool) {
	if l.share == nil || !l.share.stakes[s.part].adopted || l.several != nil { // whose programs' rows stay at home
		return 0, false
	}
	keys := l.share.Keys
	switch scheme := keys.Scheme(); scheme.Second {
	case overlay.ByLoad:
		if !scheme.HandOn(int(l.share.waiting), 0, int(row.moves)) {
			return 0, false
		}
		part = keys.Moved(row.URL, int(row.moves)+1)
	case overlay.Adapt:
		if row.moves > 0 {
			return 0, false
		}
		part = keys.Spread(row.URL, l.spread(s, row.URL.Host(), scheme.Over))
	default:
		return 0, false
	}
	return part, part != int(s.part)
}

// spread returns over how many partitions a host is spread. What waits here is about
// what waits in each; that is looked at again when as many pages are new as make one
// too many, so that a change shows before the next. As long as the node has a
// connection for every host that may be asked, others could ask no sooner, and
// hosts are gathered.
func (l *Ledger) spread(s *siteRecord, host string, over int) int {
	x := &l.share.spreads
	n := x.table.Of(host)
	if x.since[host]++; x.since[host] < over {
		return n
	}
	x.since[host] = 0
	waiting := int(s.queued) * n
	if x.calm {
		waiting = 0
	}
	w, changed := x.table.Adjust(host, waiting)
	if changed {
		to := l.share.posts.to(int(s.part))
		to.wide = append(to.wide, w)
	}
	return x.table.Of(host)
}

// handOn leaves a new page to another partition.
func (l *Ledger) handOn(s *siteRecord, r *pageRecord, part int, row *Row) error {
	moved := *row
	moved.moves++
	l.logRow(part, &moved)
	r.state, r.outcome, r.at, r.archive = stateEnded, page.OK, l.wall, Archived{File: elsewhere}
	l.totals.Seen-- // it is among the other's
	if st := l.own(s); st != nil {
		st.known--
	}
	if row.Seed {
		l.totals.Seeds--
	}
	if l.purse == nil {
		r.score = row.Score
	}
	l.touch(s)
	l.mark(r)
	return l.postEnd(s, r)
}
