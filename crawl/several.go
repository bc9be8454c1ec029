package crawl

import (
	"fmt"
	"slices"
	"strings"

	"weir/page"
)

// Several are the Rules of a crawl that several programs share. Each has its own
// tables, its own crawl table among them, and ends with the rows that it would
// have alone; what they share is the fetching. A page is fetched once, for all
// that ask for it, with the least of its depths and the greatest of its scores.
// A program that comes to a page which has ended already gets its facts when they
// are delivered again, like one that finds a shorter way.
//
// A program that stops orders nothing more. What waits and only such programs ask
// for ends as page.SteeredAway when its turn comes; the crawl stops when all have.
//
// Not safe for concurrent use; the Ledger owns it.
type Several struct {
	members  []*sharer
	founders int // of them, since the crawl began
	claims   claims
	merged   map[page.Key]int // rows of this delivery, where more than one program has some

	// Of the Ledger: the partition of a page, and whether the page is kept here; and
	// the number of a site in a partition.
	part func(u page.URL) (part int, here bool)
	site func(name string, part int) (page.SiteID, error)

	applying int // the partition whose log's row is being taken; -1: it was derived here
}

// Member is one of several programs.
type Member struct {
	Name  string
	Rules *Program // its Version is the program's number
	Seeds []Seed   // its own; nil: those of the crawl

	// Of a crawl that several nodes share.
	Joined bool // it came when the crawl had begun
	Left   bool // it asks for nothing more: what it has asked for is known, as all nodes know it, and nothing follows

	// Pages that ended before, Unix nanoseconds, are fetched again when it comes to ask
	// for them; 0: none are.
	Since int64
}

type sharer struct {
	Member
	traits  RuleTraits
	number  uint8
	stopped string // why; "": it goes on
	out     Out
	news    []Row // of its crawl table, that it has not heard of
}

// NewSeveral returns the rules of programs that share a crawl, with what earlier
// runs have kept.
func NewSeveral(kv KV, list []Member) *Several {
	s := &Several{claims: newClaims(kv), merged: map[page.Key]int{}, applying: -1}
	for _, m := range list {
		x := &sharer{Member: m, traits: m.Rules.Traits(), number: m.Rules.cfg.Version}
		if !m.Joined {
			s.founders++
		}
		if m.Left {
			x.stopped = "left"
		}
		s.members = append(s.members, x)
	}
	return s
}

// Members are the programs, in their order.
func (s *Several) Members() []Member {
	list := make([]Member, len(s.members))
	for i, m := range s.members {
		list[i] = m.Member
	}
	return list
}

// Stopped says by program, in their order, why its rules have ended it; "": they have
// not, or it has left.
func (s *Several) Stopped() []string {
	list := make([]string, len(s.members))
	for i, m := range s.members {
		if !m.Left {
			list[i] = m.stopped
		}
	}
	return list
}

// named are their names and numbers.
func (s *Several) named() []Named {
	var list []Named
	for _, m := range s.members {
		list = append(list, Named{m.Name, m.number, m.Joined, m.Left, m.Since})
	}
	return list
}

// Traits says what the Ledger must do for the programs. Which depths and scores
// mean more, and who must hear of new rows, Several knows itself.
func (s *Several) Traits() RuleTraits {
	var t RuleTraits
	for _, m := range s.members {
		t.Ends = t.Ends || m.traits.Ends
		t.Priority = t.Priority || m.traits.Priority
		t.Robots = t.Robots || m.traits.Robots
	}
	return t
}

// Start implements Rules. Programs with seeds of their own hear of them here.
func (s *Several) Start(out *Out) error {
	clear(s.merged)
	for _, m := range s.members {
		if m.Left {
			continue
		}
		m.out.reset()
		if err := m.Rules.Start(&m.out); err != nil {
			return fmt.Errorf("program %s: %w", m.Name, err)
		}
		if err := s.take(m, &page.Facts{}, out); err != nil {
			return err
		}
		for _, seed := range m.Seeds {
			if m.stopped != "" {
				break
			}
			if err := s.deliver(m, &page.Facts{URL: seed.URL, Root: true, Score: seed.Score}, out); err != nil {
				return err
			}
		}
	}
	s.stop(out)
	return nil
}

// Page implements Rules: every program gets the facts of the pages that it has
// asked for, with its own depth and score.
func (s *Several) Page(f *page.Facts, out *Out) error {
	clear(s.merged)
	for _, m := range s.members {
		if m.stopped != "" {
			continue
		}
		g := *f
		switch {
		case f.Outcome == page.None:
			if m.Seeds != nil {
				continue
			}
		case f.Robots:
			if _, ok, err := s.claims.get(claimID{m.number, page.Key{Site: f.Key.Site}}); err != nil {
				return err
			} else if !ok {
				continue
			}
		default:
			claim, ok, err := s.claims.get(claimID{m.number, f.Key})
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			g.Depth, g.Root, g.Score = claim.Depth, claim.Root, claim.Score
		}
		if err := s.deliver(m, &g, out); err != nil {
			return err
		}
	}
	s.stop(out)
	return nil
}

// Crawled implements Rules. Programs hear of their own rows, and of no other.
func (s *Several) Crawled(page.URL, uint16, float32, *Out) error { return nil }

// Committed implements Rules.
func (s *Several) Committed() {
	for _, m := range s.members {
		m.Rules.Committed()
	}
	s.claims.committed()
}

// Wants says whether a program that goes on asks for a page.
func (s *Several) Wants(k page.Key) (bool, error) {
	for _, m := range s.members {
		if m.stopped != "" {
			continue
		}
		if _, ok, err := s.claims.get(claimID{m.number, k}); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// since returns when a page must have been fetched for all who ask for it.
func (s *Several) since(k page.Key) (since int64, err error) {
	for _, m := range s.members {
		if m.stopped != "" || m.Since <= since {
			continue
		}
		_, asks, err := s.claims.get(claimID{m.number, k})
		if err != nil {
			return 0, err
		}
		if asks {
			since = m.Since
		}
	}
	return since, nil
}

// deliver gives a program facts, and takes what it derives.
func (s *Several) deliver(m *sharer, f *page.Facts, out *Out) error {
	m.out.reset()
	if err := m.Rules.Page(f, &m.out); err != nil {
		return fmt.Errorf("program %s: %w", m.Name, err)
	}
	return s.take(m, f, out)
}

// take hands on what a program has derived, and what follows from that.
func (s *Several) take(m *sharer, f *page.Facts, out *Out) error {
	s.hand(m, out)
	if err := s.claim(m, f, out); err != nil {
		return err
	}
	for len(m.news) > 0 {
		news := m.news
		m.news = nil
		m.out.reset()
		for i := range news {
			if err := m.Rules.Crawled(news[i].URL, news[i].Depth, news[i].Score, &m.out); err != nil {
				return fmt.Errorf("program %s: %w", m.Name, err)
			}
		}
		s.hand(m, out)
		if err := s.claim(m, f, out); err != nil {
			return err
		}
	}
	return nil
}

// hand hands on all that a program has derived but for pages to crawl.
func (s *Several) hand(m *sharer, out *Out) {
	out.Put = append(out.Put, m.out.Put...)
	out.Waits = append(out.Waits, m.out.Waits...)
	out.Send = append(out.Send, m.out.Send...)
	out.Stale = out.Stale || m.out.Stale
	if m.out.Stop != "" && m.stopped == "" {
		m.stopped = m.out.Stop
		out.Quit = true
	}
}

// claim puts the pages that a program orders into its crawl table, and hands them
// on, each once.
func (s *Several) claim(m *sharer, f *page.Facts, out *Out) error {
	last, lastPart, site := "", -1, page.SiteID(0)
	applying := s.applying
	s.applying = -1
	for i := range m.out.Crawl {
		row := &m.out.Crawl[i]
		part, here := applying, true
		if applying < 0 {
			part, here = s.part(row.URL)
		}
		row.part = uint16(part)
		k := page.Key{Hash: m.Rules.cfg.Secret.Hash(row.URL.String())} // of a page that is kept elsewhere
		if here {
			if name := row.URL.Site(); name != last || part != lastPart {
				var err error
				if site, err = s.site(name, part); err != nil {
					return err
				}
				last, lastPart = name, part
			}
			row.Site = site
			k = page.Key{Site: site, Hash: row.Hash}
		}
		bid := m.bid(row)
		if here {
			news, put, err := s.better(m, f, k, row, out)
			if err != nil {
				return err
			}
			if news && m.traits.Crawled {
				m.news = append(m.news, *row)
			}
			if put && applying < 0 {
				row.bids = append(row.bids, bid)
			}
		} else {
			row.bids = append(row.bids, bid)
		}
		at, twice := s.merged[k]
		if !twice {
			s.merged[k] = len(out.Crawl)
			out.Crawl = append(out.Crawl, *row)
			continue
		}
		out.Crawl[at].merge(row)
	}
	return nil
}

// better puts a row into a program's crawl table if it is new there, or better in
// any column, and says whether it was, and whether the table has changed at all. What
// the program has not seen the facts of, or would see with other eyes, is to be
// delivered again.
func (s *Several) better(m *sharer, f *page.Facts, k page.Key, row *Row, out *Out) (news, put bool, err error) {
	id := claimID{m.number, k}
	had, ok, err := s.claims.get(id)
	if err != nil {
		return false, false, err
	}
	if !ok {
		row.Anew = true
		if m.stopped == "" {
			row.since = m.Since
		}
		s.claims.put(id, Claim{Depth: row.Depth, Root: row.Root, Score: row.Score, By: row.By, Parent: f.Key}, out)
		return true, true, s.visit(m, k.Site, row, out)
	}
	now := had
	now.Root = had.Root || row.Root
	nearer, dearer := row.Depth < had.Depth, m.traits.Priority && row.Score > had.Score
	if nearer {
		now.Depth, now.By, now.Parent = row.Depth, row.By, f.Key
	}
	if dearer {
		now.Score = row.Score
	}
	row.Anew = nearer && m.traits.Depth || dearer && m.traits.Score
	if now != had {
		s.claims.put(id, now, out)
	}
	return nearer || dearer, now != had, nil
}

// visit notes that a program asks for a page of a site, whose robots.txt it has to
// hear of then.
func (s *Several) visit(m *sharer, site page.SiteID, row *Row, out *Out) error {
	if !m.traits.Robots {
		return nil
	}
	id := claimID{m.number, page.Key{Site: site}}
	_, ok, err := s.claims.get(id)
	if err == nil && !ok {
		row.Hear = true
		s.claims.put(id, Claim{}, out)
	}
	return err
}

// stop ends the crawl when all programs have stopped.
func (s *Several) stop(out *Out) {
	var why []string
	for _, m := range s.members {
		if m.stopped == "" {
			return
		}
		if !m.Left && !slices.Contains(why, m.stopped) {
			why = append(why, m.stopped)
		}
	}
	out.Stop = strings.Join(why, ", ")
}

// merge makes one row of two that ask for the same page.
func (r *Row) merge(o *Row) {
	if o.Depth < r.Depth {
		r.Depth, r.Hops, r.By = o.Depth, o.Hops, o.By
	}
	r.Root, r.Seed = r.Root || o.Root, r.Seed || o.Seed
	r.Anew, r.Hear = r.Anew || o.Anew, r.Hear || o.Hear
	r.Score, r.since = max(r.Score, o.Score), max(r.since, o.since)
	r.bids = append(r.bids, o.bids...)
}
