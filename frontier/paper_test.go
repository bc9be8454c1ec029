package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir/page"
)

// These tests hold what Castillo (2004), chapter 6, says of the scheduler; each
// cites its section.

// Section 6.2.1: an interval of w seconds between connections to a site; the
// experiments use 15.
func TestPaperInterval(t *testing.T) {
	s := newStage(t, nil)
	s.site(1, 0, 0, 0, 0)
	var at []page.Time
	for len(at) < 4 {
		if p, ok := s.next(); ok {
			at = append(at, s.now)
			s.now = s.now.Add(2 * time.Second) // the download
			s.done(p)
		} else if !s.wait() {
			t.Fatal("nothing to wait for")
		}
	}
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap != 17*time.Second {
			t.Errorf("page %d came %v after the one before, want 2 s of download and 15 s of rest", i, gap)
		}
	}
}

// Section 6.2.2: c pages are downloaded on one connection, one after another;
// then the site rests.
func TestPaperPagesPerConnection(t *testing.T) {
	s := newStage(t, func(c *Config) { c.PerConn = 3 })
	s.site(1, 0, 0, 0, 0, 0, 0, 0)
	var opened []page.Time
	for n := 0; n < 7; {
		p, ok := s.next()
		if !ok {
			s.wait()
			continue
		}
		if n++; p.Open {
			opened = append(opened, s.now)
		}
		if p.Last != (n%3 == 0) {
			t.Errorf("page %d: last on its connection: %v", n, p.Last)
		}
		s.done(p)
	}
	want := []page.Time{0, page.Time(15 * time.Second), page.Time(30 * time.Second)}
	if !slices.Equal(opened, want) {
		t.Errorf("connections at %v, want %v", opened, want)
	}
}

// Section 6.2.3: at most r connections, never more than one to a site; r is
// bounded by the sites that have pages left.
func TestPaperSimultaneousRequests(t *testing.T) {
	for _, c := range []struct{ r, sites, want int }{{1, 8, 1}, {5, 8, 5}, {64, 8, 8}} {
		s := newStage(t, func(cfg *Config) { cfg.Conns = c.r })
		for i := range c.sites {
			s.site(page.SiteID(i+1), 0, 0, 0)
		}
		var flying []Pick
		for p, ok := s.next(); ok; p, ok = s.next() {
			flying = append(flying, p)
		}
		if len(flying) != c.want || s.most != c.want {
			t.Errorf("r = %d, %d sites: %d at once, want %d", c.r, c.sites, len(flying), c.want)
		}
	}
}

// Section 6.3, "Depth": pages in breadth-first order, whatever their site.
func TestPaperDepth(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order, c.Conns = Depth{}, 1 })
	s.site(1, 0, 2, 2)
	s.site(2, 1, 1, 3)
	s.site(3, 0, 1, 4)
	if got, want := visitAll(s, 9), []uint16{0, 0, 1, 1, 1, 2, 2, 3, 4}; !slices.Equal(depths(got), want) {
		t.Errorf("depths %v, want %v", depths(got), want)
	}
}

// Section 6.3, "Depth", where only the pages of a site are ordered by depth:
// sites take turns, whatever their pages.
func TestPaperDepthOfEachSite(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order, c.Conns = DepthFlat{}, 1 })
	s.site(1, 0, 1, 2)
	s.site(2, 7, 8, 9)
	if got, want := visitAll(s, 6), []uint16{0, 7, 1, 8, 2, 9}; !slices.Equal(depths(got), want) {
		t.Errorf("depths %v, want %v", depths(got), want)
	}
}

// Section 6.3, "Optimal" and "Partial": the page with the highest rank is on top
// of its site's heap, and makes its site the top of the heap of sites. Ranks are
// a step apart, which is all that Partial tells.
func TestPaperHighestRank(t *testing.T) {
	for _, order := range []Ranking{Optimal{}, Partial{}} {
		s := newStage(t, func(c *Config) { c.Order, c.Conns = order, 1 })
		s.scored(1, 128, 4, 1)
		s.scored(2, 32, 16, 8)
		s.scored(3, 64, 2)
		if got, want := scores(visitAll(s, 8)), []float32{128, 64, 32, 16, 8, 4, 2, 1}; !slices.Equal(got, want) {
			t.Errorf("%s: ranks %v, want %v", order.Name(), got, want)
		}
	}
}

// Section 6.3, "Partial": a page that is found can be fetched at once, if no
// other has a higher rank.
func TestPaperPartialTakesNewPages(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order, c.Conns = Partial{}, 1 })
	s.scored(1, 4, 2)
	s.scored(2, 3)
	visitAll(s, 1)
	s.push(2, Entry{Hash: 50, Rest: "/new", Score: 9})
	if got, want := scores(visitAll(s, 3)), []float32{9, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}

// Section 6.3, "Batch": nothing is fetched but the pages of the batch, in the
// order of their ranks, until the next batch is formed.
func TestPaperBatch(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order, c.Conns = Batches{}, 1 })
	for id := range page.SiteID(3) {
		s.scored(id+1, 1, 1)
	}
	if p, ok := s.next(); ok || s.wait() {
		t.Fatalf("%+v is in no batch", p)
	}
	for i, at := range []struct {
		site page.SiteID
		hash uint64
	}{{3, 1}, {1, 0}, {2, 1}, {3, 0}} {
		e := &s.disk[at.site][slices.IndexFunc(s.disk[at.site], func(e Entry) bool { return e.Hash == at.hash })]
		old := e.Place
		e.Place, e.Score = InBatch(1, uint32(i)), float32(9-i)
		s.f.Move(s.now, at.site, old, 0, *e)
		slices.SortFunc(s.disk[at.site], byPlace)
	}
	s.f.check(t)
	if got, want := scores(visitAll(s, 4)), []float32{9, 8, 7, 6}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	if p, ok := s.next(); ok || s.wait() {
		t.Errorf("%+v is in no batch", p)
	}
	if n := s.f.Count().Waiting; n != 2 {
		t.Errorf("%d pages wait for the next batch, want 2", n)
	}
}

// Beyond section 6.3: the site with the most cash goes first, for one rich page
// or for many poor ones, and goes back when it has been visited.
func TestCashOfSites(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order, c.Conns = SiteOPIC{}, 1 })
	s.scored(1, 4, 4, 3) // 11, 7, 3
	s.scored(2, 10)
	s.scored(3, 5)
	if got, want := scores(visitAll(s, 5)), []float32{4, 10, 4, 5, 3}; !slices.Equal(got, want) {
		t.Errorf("cash %v, want %v", got, want)
	}
}

// scored makes a site with pages of these scores, best first.
func (s *stage) scored(id page.SiteID, scores ...float32) {
	cash := 0.0
	for i, score := range scores {
		n := uint64(i)
		s.disk[id] = append(s.disk[id], Entry{Hash: n, Rest: fmt.Sprintf("/%d", n), Score: score, Place: s.f.cfg.Order.Place(0, score, n)})
		cash += float64(score)
	}
	s.f.Add(s.now, Known{ID: id, Name: fmt.Sprintf("http://h%d.d%d.org", id, id), Queued: int64(len(scores)), Cash: cash})
}

// push queues a page that was found.
func (s *stage) push(id page.SiteID, e Entry) {
	e.Place = s.f.cfg.Order.Place(e.Depth, e.Score, e.Hash)
	s.disk[id] = append(s.disk[id], e)
	slices.SortFunc(s.disk[id], byPlace)
	s.f.Push(s.now, id, e)
}

func scores(picks []Pick) (all []float32) {
	for _, p := range picks {
		all = append(all, p.Entry.Score)
	}
	return all
}

// Section 6.3, "Length": the site with the most pages waiting goes first, its
// pages by depth, and sites are re-arranged as new pages are found.
func TestPaperLength(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Conns, c.Wait = 1, 0 })
	s.site(1, 0, 1, 2)
	s.site(2, 0, 5)
	s.site(3, 0)
	var order []page.SiteID
	for i, p := range visitAll(s, 3) {
		order = append(order, p.Site)
		if i == 0 && p.Entry.Depth != 0 {
			t.Errorf("the first page has depth %d", p.Entry.Depth)
		}
	}
	if order[0] != 1 {
		t.Errorf("sites %v, want the longest first", order)
	}
	for n := range uint64(8) { // site 3 turns out to be large
		e := s.entry(1, 100+n)
		s.disk[3] = append(s.disk[3], e)
		s.f.Push(s.now, 3, e)
	}
	s.f.check(t)
	if p := visitAll(s, 1)[0]; p.Site != 3 {
		t.Errorf("site %d goes next, want 3", p.Site)
	}
}

// visitAll returns the next n pages, one at a time; the clock is moved so that
// every host has had its rest.
func visitAll(s *stage, n int) (got []Pick) {
	for len(got) < n {
		p, ok := s.next()
		if !ok {
			if !s.wait() {
				s.t.Fatalf("%d pages, want %d", len(got), n)
			}
			continue
		}
		got = append(got, p)
		s.done(p)
		s.now = s.now.Add(time.Minute)
	}
	return got
}

func depths(picks []Pick) (d []uint16) {
	for _, p := range picks {
		d = append(d, p.Entry.Depth)
	}
	return d
}
