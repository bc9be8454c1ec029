package frontier

import (
	"fmt"
	"testing"
	"time"

	"weir/page"
)

func hostOf(i int) string { return fmt.Sprintf("h%d.d%d.org", i, i) }

// Urgent hosts go first, in the order told, whatever the order of the crawl says.
func TestUrgentFirst(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order = Depth{} })
	for i := range 6 {
		s.site(page.SiteID(i+1), 0, 0)
	}
	s.f.Urge([]string{hostOf(4), hostOf(2), hostOf(99)})
	for _, want := range []int{4, 2, 1, 3, 5} {
		if p, ok := s.next(); !ok || p.Host != hostOf(want) {
			t.Fatalf("%s goes, want %s", p.Host, hostOf(want))
		}
		s.f.check(t)
	}
}

// What was urgent and is not any more waits its turn again.
func TestUrgeEnds(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order = Depth{} })
	for i := range 3 {
		s.site(page.SiteID(i+1), 0, 0)
	}
	s.f.Urge([]string{hostOf(3)})
	s.f.Urge(nil)
	s.f.check(t)
	if p, _ := s.next(); p.Host != hostOf(1) {
		t.Errorf("%s goes, want %s", p.Host, hostOf(1))
	}
}

// A full link keeps all others back, and not the urgent.
func TestUrgentPassesTheGate(t *testing.T) {
	s := newStage(t, nil)
	s.f.Admit(&shutGate{}, 1)
	for i := range 4 {
		s.site(page.SiteID(i+1), 0, 0)
	}
	if p, ok := s.next(); ok {
		t.Fatalf("%+v was picked past a shut gate", p)
	}
	s.f.Urge([]string{hostOf(2), hostOf(3)})
	for _, want := range []int{2, 3} {
		if p, ok := s.next(); !ok || p.Host != hostOf(want) {
			t.Fatalf("%+v (%v), want %s", p, ok, hostOf(want))
		}
	}
	if p, ok := s.next(); ok {
		t.Fatalf("%+v was picked past a shut gate", p)
	}
}

type shutGate struct{ limited }

func (*shutGate) Open(_ int, urgent bool) bool { return urgent }

// A connection is kept for an urgent host that will soon have rested, and none for
// one that rests for long; never more than half of all, and none for those that have
// theirs.
func TestUrgentKeepsConnections(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		want int // others that may begin
	}{{soon, 3}, {soon + 1, 4}} {
		s := newStage(t, func(cfg *Config) { cfg.Conns, cfg.Wait, cfg.Order = 4, c.wait, Depth{} })
		for i := range 8 {
			s.site(page.SiteID(i+1), 0, 0, 0, 0)
		}
		s.f.Urge([]string{hostOf(1)})
		p, _ := s.next()
		if p.Host != hostOf(1) {
			t.Fatalf("%s goes, want %s", p.Host, hostOf(1))
		}
		s.done(p) // it rests
		others := 0
		for ok := true; ok; others++ {
			_, ok = s.next()
		}
		if others--; others != c.want {
			t.Fatalf("%d others began while it rests for %v, want %d", others, c.wait, c.want)
		}
		s.now = s.now.Add(c.wait)
		if p, ok := s.next(); ok != (c.want == 3) || ok && p.Host != hostOf(1) {
			t.Fatalf("%+v (%v), want %s on the connection that was kept", p, ok, hostOf(1))
		}
	}
}

// An urgent host waits as long as any other.
func TestUrgentWaits(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Wait = 10 * time.Second })
	s.site(1, 0, 0, 0)
	s.f.Urge([]string{hostOf(1)})
	p, _ := s.next()
	s.done(p)
	if pause := s.f.Pause(s.now, hostOf(1), 1); pause != 10*time.Second {
		t.Errorf("it rests for %v, want 10s", pause)
	}
	s.now = s.now.Add(10*time.Second - 1)
	if p, ok := s.next(); ok {
		t.Fatalf("%+v before its wait was over", p)
	}
	s.now++
	if _, ok := s.next(); !ok {
		t.Fatal("nothing after its wait")
	}
}
