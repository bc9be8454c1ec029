package frontier

import (
	"testing"
	"time"

	"weir/page"
)

// lent plays visits of a minute and a half to hosts that are only visited with leave,
// one connection for all of them, and tells how often leave was asked for and which
// hosts were visited.
func lent(t *testing.T, wait time.Duration, hosts int) (asked int, visits map[string]int) {
	s := newStage(t, func(c *Config) { c.Conns, c.Wait, c.Leased, c.NoRobots = 1, wait, true, true })
	for id := range hosts {
		s.site(page.SiteID(id+1), make([]uint16, 100)...)
	}
	visits = map[string]int{}
	held := map[string]bool{}
	for s.now < page.Time(90*time.Second) {
		p, ok := s.f.Next(s.now, ample)
		switch {
		case !ok:
			at, _ := s.f.Wake()
			s.now = max(at, s.now)
		case p.Kind == Load:
			s.f.Loaded(s.now, Batch{Site: p.Site, From: p.From, Entries: s.disk[p.Site][:min(p.N, 100)]})
		case p.Kind == Resolve:
			s.f.Resolved(s.now, p.Host, stageAddr(p.Host), time.Hour, page.OK)
		case p.Kind == Lease:
			if asked++; held[p.Host] {
				t.Fatalf("leave for %s is asked for twice", p.Host)
			}
			held[p.Host] = true
			s.f.Leased(s.now, p.Host, true, 0)
		case p.Kind == Return:
			held[p.Host] = false
			if !p.Used {
				t.Fatalf("leave for %s was not used", p.Host)
			}
		case p.Kind == Fetch:
			if !held[p.Host] {
				t.Fatalf("%s is visited without leave", p.Host)
			}
			visits[p.Host]++
			s.now = s.now.Add(time.Second)
			s.f.Done(s.now, Visit{Host: p.Host, Site: p.Site, Outcome: page.OK, Elapsed: time.Second})
			s.f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
		}
	}
	return asked, visits
}

// A host that need not rest is visited again under the same leave: while no other waits
// for as long as it has pages, else until the others' turn has come.
func TestLeaveIsKeptForATurn(t *testing.T) {
	if asked, visits := lent(t, 0, 1); asked != 1 || visits["h1.d1.org"] < 89 {
		t.Errorf("alone: asked %d times for %v visits", asked, visits)
	}
	if asked, visits := lent(t, 0, 2); asked != 2 || visits["h1.d1.org"] < 29 || visits["h2.d2.org"] < 29 {
		t.Errorf("of two: asked %d times for %v visits", asked, visits)
	}
	asked, visits := lent(t, 2*time.Second, 2)
	if n := visits["h1.d1.org"] + visits["h2.d2.org"]; asked != n {
		t.Errorf("hosts that rest: asked %d times for %v visits", asked, visits)
	}
}
