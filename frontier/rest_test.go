package frontier

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/page"
)

// An answer that took longer than the wait makes the host rest as long, over a
// restart too: what is kept is never less, and a steady host is written once.
func TestSlowAnswersAreKept(t *testing.T) {
	for _, last := range []time.Duration{time.Second + 1, 1900 * time.Millisecond, 4 * time.Second, time.Hour} {
		s := newScene(t, func(c *Config) { c.NoRobots = true })
		s.site(1, "http://a.example", 5)
		var kept HostState
		writes := 0
		for range 4 {
			p, _ := s.next()
			s.done(p, Visit{Outcome: page.OK, Elapsed: last})
			if st, changed := s.f.Changed(s.now, "a.example", 0); changed {
				kept = st
				writes++
			}
		}
		if least := min(last, page.MaxPause); kept.Last < least || kept.Last > least*3/2+time.Second || writes != 1 {
			t.Errorf("an answer of %v is kept as %v, written %d times", last, kept.Last, writes)
		}
		again := newScene(t, func(c *Config) { c.NoRobots = true })
		again.f.Resume(again.now)
		again.f.Recall(again.now, "a.example", kept, 0)
		again.site(1, "http://a.example", 1)
		if p, ok := again.next(); !ok || again.now.Sub(1) < min(last, page.MaxPause) {
			t.Errorf("after a restart %s was asked after %v, its answers take %v", p.Host, again.now.Sub(1), last)
		}
	}
	s := newScene(t, func(c *Config) { c.NoRobots = true })
	s.site(1, "http://a.example", 1)
	p, _ := s.next()
	s.done(p, Visit{Outcome: page.OK, Elapsed: time.Second})
	if st, changed := s.f.Changed(s.now, "a.example", 0); changed {
		t.Errorf("a host that needs nothing but the wait is written as %+v", st)
	}
}

// A crawl-delay that becomes known while a connection is open, by the robots.txt
// of another site of the host, holds for the next request on it.
func TestPostponedWhileConnected(t *testing.T) {
	for _, c := range []struct {
		name     string
		delay    string
		busy     bool // the delay comes while a request is under way
		sameConn bool
	}{
		{"between two requests", "10", false, true},
		{"during a request", "10", true, true},
		{"longer than a connection is held", "100", false, false},
		{"longer than a connection is held, during a request", "100", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, func(c *Config) { c.PerConn = 10 })
			s.site(1, "https://a.example", 1)
			robots, _ := s.next()
			s.done(robots, Visit{Outcome: page.Redirected, Redirect: mustURL("http://b.example/robots.txt")})
			errand, _ := s.next()
			if errand.Host != "b.example" {
				t.Fatalf("%+v", errand)
			}
			s.site(2, "http://a.example", 3)
			first, _ := s.next()
			s.done(first, Visit{Outcome: page.ClientError, KeepAlive: true}) // its robots.txt
			if c.busy {
				first, _ = s.next()
			}
			s.done(errand, Visit{Outcome: page.OK, Rules: readRules("Crawl-delay: " + c.delay)})
			end := s.now
			if c.busy {
				s.done(first, Visit{Outcome: page.OK, KeepAlive: true})
			}
			p, ok := s.next()
			want, _ := time.ParseDuration(c.delay + "s")
			if gap := s.now.Sub(end); !ok || p.Host != "a.example" || gap != want || p.Open == c.sameConn {
				t.Errorf("%s was asked for after %v, on a new connection: %v", p.URL, gap, p.Open)
			}
		})
	}
}

// Failures of different kinds do not add up to the bound of one of them, yet a
// site that only fails, in turns, comes to its end.
func TestFailuresCountByKind(t *testing.T) {
	s := newScene(t, func(c *Config) { c.NoRobots = true })
	s.site(1, "https://a.example", 3)
	mixed := []page.Outcome{page.ServerError, page.TLSFailed, page.ConnectFailed, page.TLSFailed, page.ServerError}
	n := 0
	s.play(func(Pick) Visit {
		if n++; n <= len(mixed) {
			return Visit{Outcome: mixed[n-1]}
		}
		return Visit{Outcome: page.OK}
	})
	if len(s.over) > 0 {
		t.Errorf("a site was given up as %v after one failure of a kind", s.over[0].Outcome)
	}
	s = newScene(t, func(c *Config) { c.NoRobots = true })
	s.site(1, "https://a.example", 3)
	s.play(func(Pick) Visit {
		return Visit{Outcome: []page.Outcome{page.TLSFailed, page.ConnectFailed}[len(s.sent)%2]}
	})
	if len(s.sent) != maxFailures || len(s.over) != 3 {
		t.Errorf("%d visits, %d pages given up", len(s.sent), len(s.over))
	}
	// The rests grow with every failure, whatever its kind.
	for i := 2; i < 6; i++ {
		if before, gap := s.sent[i-1].at.Sub(s.sent[i-2].at), s.sent[i].at.Sub(s.sent[i-1].at); gap < 2*before {
			t.Errorf("rest %d was %v, the one before %v", i, gap, before)
		}
	}
}

// TestOtherAddressIsTried: a host whose first address is down is visited at its
// second, however little is remembered of hosts that rest.
func TestOtherAddressIsTried(t *testing.T) {
	for _, hot := range []int{1000, -11} { // below nothing: every line is given up at once
		s := newStage(t, func(c *Config) { c.Hot = hot })
		down, up := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		s.addr = func(string) ([]netip.Addr, time.Duration) { return []netip.Addr{down, up}, time.Hour }
		s.site(1, 1, 1, 1, 1, 1)
		var asked []netip.Addr
		for range 5 {
			p, ok := s.next()
			for !ok && s.wait() {
				p, ok = s.next()
			}
			if !ok {
				t.Fatalf("hot %d: nothing after %v", hot, asked)
			}
			asked = append(asked, p.Addr)
			s.open[p.Host]--
			o := page.OK
			if p.Addr == down {
				o = page.ConnectFailed
			}
			s.f.Done(s.now, Visit{Host: p.Host, Site: p.Site, Outcome: o})
		}
		if want := []netip.Addr{down, up, up, up, up}; !slices.Equal(asked, want) {
			t.Errorf("hot %d: asked %v", hot, asked)
		}
	}
}
