package crawl

import (
	"encoding/binary"
	"fmt"
	"strings"

	"weir/overlay"
	"weir/page"
)

// Under redirect and adaptive the owner of a page's home may leave the fetching to
// another partition's (overlay.Scheme). What is new at home goes on to the other
// partition's log as a row that has moved; home knows the page from then on, and has
// ended with it: with no status, since it was not fetched. How the owner's word for it is
// made good is in handed.go. A row that brings the page nearer is handed on as well.
//
// Such a page is not among the numbers of its home's site: it is among those of the
// partition that it was left to.
//
// Where several programs ask for pages they stay: a row that has moved does not say who
// asked for it.

// spreads are over how many partitions hosts are spread, as far as this node has to
// know: those at home here.
type spreads struct {
	table *overlay.Spreads       // nil: the scheme spreads none
	calm  bool                   // the node has connections for all its hosts
	away  map[int]map[string]int // by partition: those that its hosts were left to; nil: hosts are left to none
}

// awayKept is how many hosts of a partition are known to be left to others. All are
// forgotten when there are more: what is found of them stays, until they are left again.
const awayKept = 1 << 10

func newSpreads(s overlay.Scheme) spreads {
	if s.Second != overlay.Adapt {
		return spreads{}
	}
	return spreads{table: overlay.NewSpreads(s), away: map[int]map[string]int{}}
}

// send notes that a host was left to another partition.
func (x *spreads) send(host string, part, to int) {
	if x.away[part] == nil || len(x.away[part]) >= awayKept {
		x.away[part] = map[string]int{}
	}
	x.away[part][strings.Clone(host)] = to
}

// forget forgets to whom the hosts of a partition were left, which may be others when
// it comes back.
func (x *spreads) forget(part int) {
	delete(x.away, part)
}

// openSpreads reads over how many partitions hosts were spread.
func (l *Ledger) openSpreads() error {
	table := l.share.spreads.table
	if table == nil {
		return nil
	}
	var bad error
	err := l.kv.Scan([]byte{keyShare, shareWide}, []byte{keyShare, shareWide + 1}, func(key, value []byte) bool {
		d := decoder{b: value}
		table.Apply(overlay.Wide{Host: string(key[2:]), N: uint16(d.uvarint()), Version: d.uvarint()})
		bad = d.err
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("read over how many partitions hosts are spread: %w", err)
	}
	return nil
}

// keepSpread keeps over how many partitions a host is spread: its log is not read
// again.
func (l *Ledger) keepSpread(w overlay.Wide) {
	value := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(w.N)), w.Version)
	l.extra = append(l.extra, Pair{Key: append([]byte{keyShare, shareWide}, w.Host...), Value: value})
}

// applySpread takes what the owner of a host has decided.
func (l *Ledger) applySpread(r overlay.Spread) {
	for _, w := range r.Hosts {
		if table := l.share.spreads.table; table != nil && table.Apply(w) {
			l.keepSpread(w)
		}
	}
}

// Pressed says whether hosts wait at this node. Until it is told it takes that for
// granted.
func (l *Ledger) Pressed(c Counted) {
	if l.share != nil {
		l.share.spreads.calm = c.Ready == 0
	}
}

// fetcher returns the partition that is to fetch a new page in place of its own.
func (l *Ledger) fetcher(s *siteRecord, row *Row) (part int, ok bool, err error) {
	if l.share == nil || !l.share.stakes.mine(int(s.part)) || l.several != nil { // whose programs' rows stay at home
		return 0, false, nil
	}
	keys := l.share.Keys
	switch scheme := keys.Scheme(); scheme.Second {
	case overlay.ByLoad:
		if !scheme.HandOn(int(l.share.waiting), 0, int(row.moves)) {
			return 0, false, nil
		}
		part, ok = keys.Onto(row.URL, int(row.moves))
		return part, ok, nil
	case overlay.Adapt:
		to, left := l.left(s, row.URL.Host(), scheme.Over)
		switch {
		case left:
			part = to
		case row.moves > 0:
			return 0, false, nil
		default:
			part, err = l.aim(row.URL, l.spread(s, row.URL.Host(), scheme.Over))
		}
	case overlay.ByRTT:
		if !scheme.HandOn(0, l.share.trips.here(row.URL.Host()), int(row.moves)) {
			return 0, false, nil
		}
		return l.byTrip(s, row)
	default:
		return 0, false, nil
	}
	return part, part != int(s.part), err
}

// byTrip returns the partition that a page is to be handed on to by round trips: not one
// that it may have come from.
func (l *Ledger) byTrip(s *siteRecord, row *Row) (part int, ok bool, err error) {
	keys, host, from := l.share.Keys, row.URL.Host(), int(s.part)
	part, err = l.nearest(host)
	return part, part != from && part != keys.Home(row.URL) && (row.moves == 0 || keys.Onward(host, from, part)), err
}

// aim returns the partition that is to fetch a page of a host that is spread over n: if
// it is not spread and far from here, the nearest of three.
func (l *Ledger) aim(u page.URL, n int) (int, error) {
	keys := l.share.Keys
	if n == 1 && keys.Scheme().HandOn(0, l.share.trips.here(u.Host()), 0) {
		return l.nearest(u.Host())
	}
	return keys.Spread(u, n), nil
}

// spread returns over how many partitions a host is spread. What waits here is about
// what waits in each; that is looked at again when as many pages are new as make one
// too many, so that a change shows before the next. As long as the node has a
// connection for every host that may be asked, others could ask no sooner, and
// hosts are gathered.
func (l *Ledger) spread(s *siteRecord, host string, over int) int {
	x := &l.share.spreads
	n := x.table.Of(host)
	if s.since++; s.since < over {
		return n
	}
	s.since = 0
	waiting := int(s.queued) * n
	if x.calm {
		waiting = 0
	}
	w, changed := x.table.Adjust(host, waiting)
	if changed {
		to := l.share.posts.to(int(s.part))
		to.wide = append(to.wide, w)
		l.keepSpread(w)
	}
	return x.table.Of(host)
}

// Give leaves a page that waits to another partition, and what is found of its host from
// now on. If that cannot be, the page waits again.
func (l *Ledger) Give(o Give) error {
	l.noted(o.ID)
	r, err := l.page(page.Key{Site: o.Site, Hash: o.Entry.Hash})
	if err != nil {
		return err
	}
	if r == nil || r.state != stateQueued {
		l.vain(o.ID)
		return nil
	}
	s, err := l.site(o.Site)
	if err != nil {
		return err
	}
	if err := l.load(r); err != nil { // it may mean more than when it was ordered
		return err
	}
	e := &r.entry
	if l.share.spreads.away == nil || l.several != nil || o.To == s.part || e.Attempt > 0 { // no row says how often it was tried
		l.vain(o.ID)
		return l.again(r, &page.Facts{Key: r.key, Outcome: page.Aborted})
	}
	l.share.spreads.send(page.SiteHost(s.name), int(s.part), int(o.To))
	row := Row{
		URL: page.Join(s.name, e.Rest), Hash: r.key.Hash, Depth: r.depth, Hops: e.Hops, Root: r.root, Seed: r.seed, Score: e.Score, By: r.rule,
	}
	s.queued--
	l.totals.Queued--
	if st := l.own(s); st != nil {
		st.queued--
	}
	l.drift(s, int64(bit(o.Entry.Counted))-int64(bit(r.counted)))
	l.count(s, r, false, 0)
	if l.purse != nil {
		if row.Score, err = l.spend(s, r); err != nil {
			return err
		}
	}
	l.handOn(s, r, int(o.To), &row)
	return nil
}

// left returns the partition that a host was left to. When the node has connections for
// all its hosts, and many pages of this one are new, it is left no more: what is found
// of it stays.
func (l *Ledger) left(s *siteRecord, host string, over int) (part int, ok bool) {
	x := &l.share.spreads
	if part, ok = x.away[int(s.part)][host]; !ok || !x.calm {
		return part, ok
	}
	if s.since++; s.since >= over {
		s.since = 0
		delete(x.away[int(s.part)], host)
	}
	return part, true
}

// handOn leaves a new page to another partition.
func (l *Ledger) handOn(s *siteRecord, r *pageRecord, part int, row *Row) {
	l.discount(s, r, -1)
	if l.purse == nil {
		r.score = row.Score
	}
	l.offer(s, r, part, row)
}

// discount counts a page out that was handed on, or in again.
func (l *Ledger) discount(s *siteRecord, r *pageRecord, n int64) {
	l.totals.Seen += n
	if st := l.own(s); st != nil {
		st.known += n
	}
	if r.seed {
		l.totals.Seeds += n
	}
}

// handed says that a page which has ended was handed on.
func (r *urlRow) handed() bool {
	return r.archive.File == elsewhere && r.outcome == page.OK && r.status == 0
}

// heir returns the partition that a page was handed on to, if that is known: ends do not
// say it.
func (r *urlRow) heir() (part int, ok bool) { return int(r.archive.Offset) - 1, r.archive.Offset > 0 }

// forward hands on what makes a page mean more that was handed on. It says whether it
// could: while the page's partition is not this node's to decide for, or by now has the
// page to itself, or nobody knows where it went from there, it is fetched there.
func (l *Ledger) forward(s *siteRecord, r *pageRecord, row *Row) (bool, error) {
	if row.Anew || l.own(s) == nil {
		return false, nil
	}
	var part int
	var err error
	ok := true
	switch keys, host := l.share.Keys, row.URL.Host(); keys.Scheme().Second {
	case overlay.Adapt:
		var known bool
		if part, known = r.heir(); !known {
			part, err = l.aim(row.URL, l.share.spreads.table.Of(host))
		}
		ok = keys.Onward(host, int(s.part), part) // those before it have heard
	case overlay.ByRTT:
		part, ok, err = l.byTrip(s, row)
	default:
		part, ok = keys.Onto(row.URL, int(row.moves))
	}
	if err != nil || !ok {
		return false, err
	}
	better := *row
	better.Depth = r.depth
	if l.cfg.Traits.Priority && l.purse == nil {
		better.Score = r.score
	}
	l.offer(s, r, part, &better)
	return true, nil
}
