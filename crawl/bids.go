package crawl

import (
	"encoding/binary"
	"math"

	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// When several nodes share a crawl that several programs share, what a program asks
// of a page lies with the page: in its partition's log stands a row for every program
// that asks for it, and the crawl tables of the programs, see Claim, are read from
// there. A page that a program has asked for only after it was fetched, unknown to
// whoever fetched it, is fetched again for that program.

// Share lets all programs know which partitions are this node's.
func (s *Several) Share(parts int, owns func(part int) bool) {
	for _, m := range s.members {
		m.Rules.Share(parts, owns)
	}
}

// Tuple takes a row that a partition has sent to a program.
func (s *Several) Tuple(program uint8, t flow.Tuple, out *Out) error {
	m := s.member(program)
	if m == nil || m.stopped != "" {
		return nil
	}
	clear(s.merged)
	m.out.reset()
	if err := m.Rules.Tuple(program, t, &m.out); err != nil {
		return err
	}
	if err := s.take(m, &page.Facts{}, out); err != nil {
		return err
	}
	s.stop(out)
	return nil
}

// apply takes what a partition's log says that a program asks for.
func (s *Several) apply(program uint8, row Row, part int, out *Out) error {
	m := s.member(program)
	if m == nil {
		return nil
	}
	clear(s.merged)
	m.out.reset()
	m.out.Crawl = append(m.out.Crawl, row)
	s.applying = part
	if m.stopped != "" { // what it has asked for before is its own, and nothing follows from it
		err := s.claim(m, &page.Facts{}, out)
		m.news = nil
		return err
	}
	return s.take(m, &page.Facts{}, out)
}

// member is the program with a number; nil if there is none.
func (s *Several) member(program uint8) *sharer {
	for _, m := range s.members {
		if m.number == program {
			return m
		}
	}
	return nil
}

// print tells apart what programs see of a page: nodes that agree on it have nothing
// to deliver again.
func (s *Several) print(k page.Key) (uint32, error) {
	sum := uint64(s.founders) // whoever comes later and does not ask for the page changes nothing
	for _, m := range s.members {
		c, ok, err := s.claims.get(claimID{m.number, k})
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		var eyes uint64
		if m.traits.Depth {
			eyes = uint64(c.Depth)
		}
		if m.traits.Score {
			eyes = eyes<<32 | uint64(math.Float32bits(c.Score))
		}
		sum = page.Sum(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, sum^eyes), uint64(m.number)))
	}
	return max(uint32(sum^sum>>32), 1), nil
}

// short says that a page which has ended elsewhere must be fetched once more, for a
// program that asks for it and was not known of there.
func (s *Several) short(k page.Key, e *overlay.Ended) (bool, error) {
	var all bool
	var err error
	if e.Asked == 0 {
		all, err = s.founded(k, e)
	} else {
		var asked uint32
		asked, err = s.print(k)
		all = asked == e.Asked
	}
	if err != nil || all {
		return false, err
	}
	return s.Wants(k) // else whoever asked has left
}

// founded says that a page which a node has ended that had only the first program was
// delivered to all that ask for it.
func (s *Several) founded(k page.Key, e *overlay.Ended) (bool, error) {
	for _, m := range s.members {
		c, ok, err := s.claims.get(claimID{m.number, k})
		if err != nil {
			return false, err
		}
		if ok && (m.Joined || m.traits.Depth && c.Depth < e.Depth || m.traits.Score && c.Score > e.Score) {
			return false, nil
		}
	}
	return true, nil
}

// bid is a row as a partition's log has it.
func (m *sharer) bid(row *Row) overlay.Row {
	return overlay.Row{
		URL: row.URL, Depth: row.Depth, Hops: row.Hops, Root: row.Root, Seed: row.Seed, Rule: uint8(row.By), Program: m.number, Score: row.Score,
	}
}

// partOf finds the partition of a page, and says whether it is kept here.
func (l *Ledger) partOf(u page.URL) (part int, here bool) {
	if l.share == nil {
		return 0, true
	}
	part = l.share.Keys.Home(u)
	return part, l.share.stakes.mine(part)
}

// siteOf returns the number of a site in a partition.
func (l *Ledger) siteOf(name string, part int) (page.SiteID, error) {
	if l.share == nil {
		return l.siteID(name)
	}
	return l.siteIn(name, part)
}

// applyBids takes what a partition's log says that programs ask for.
func (l *Ledger) applyBids(part int, rows []overlay.Row, taken bool) error {
	for _, r := range rows {
		if taken {
			r.Score = 0
		}
		l.out.reset()
		row := Row{
			URL: r.URL, Hash: l.cfg.Secret.Hash(r.URL.Rest()), Depth: r.Depth, Hops: r.Hops, Root: r.Root, Seed: r.Seed, Score: r.Score, By: Rule(r.Rule),
		}
		if err := l.several.apply(r.Program, row, part, &l.out); err != nil {
			return err
		}
		if err := l.follow(&page.Facts{}, false); err != nil {
			return err
		}
	}
	return nil
}

// placeBids does what place does for rows whose partitions are known.
func (l *Ledger) placeBids(rows []Row) {
	for i := range rows {
		k := page.Key{Site: rows[i].Site, Hash: rows[i].Hash}
		if k.Site == 0 {
			k.Hash = l.cfg.Secret.Hash(rows[i].URL.String())
		}
		l.share.parts = append(l.share.parts, int(rows[i].part))
		l.keys, l.prints = append(l.keys, k), append(l.prints, fingerprint(k))
	}
}

// logBids writes what programs ask of a page into the log of its partition, which is
// this node's.
func (l *Ledger) logBids(row *Row) {
	l.endow(row)
	l.logOwn(int(row.part), row.bids...)
}

// sendBids hands them on to the node whose page it is.
func (l *Ledger) sendBids(row *Row, print uint64) {
	l.endow(row)
	to := l.share.posts.to(int(row.part))
	for _, b := range row.bids {
		news := true
		if !b.Root && !b.Seed {
			b.Score, news = l.sends(print+uint64(b.Program), b.Depth, b.Score)
		}
		if news {
			to.rows = append(to.rows, b)
		}
	}
}

// endow gives the first of a page's rows its cash: where scores are that, the page has
// it once.
func (l *Ledger) endow(row *Row) {
	if l.purse == nil {
		return
	}
	for i := range row.bids {
		row.bids[i].Score = 0
	}
	if len(row.bids) > 0 {
		row.bids[0].Score = row.Score
	}
}
