package frontier

import (
	"fmt"
	"math"
	"testing"
	"time"

	"weir/page"
)

// TestPerConnFollowsTheBacklog: c = clamp(ceil(q (w + t_s) / (Q t / r)), 1, max).
func TestPerConnFollowsTheBacklog(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name string
		b    backlog
		most int
		want int
	}{
		{"nothing is known", backlog{pages: 50, rest: s, all: 100, conns: 4}, 100, 1},
		{"nothing waits", backlog{rest: s, each: s, mean: s, conns: 4}, 100, 1},
		{"an equal share", backlog{10, 0, s, 40, s, 4}, 100, 1},
		{"the wait counts", backlog{10, s, s, 40, s, 4}, 100, 2},
		{"rounded up", backlog{10, s, s, 39, s, 4}, 100, 3},
		{"a slow host", backlog{10, s, 5 * s, 40, s, 4}, 100, 6},
		{"a fast host", backlog{10, s, s / 10, 40, s, 4}, 100, 2},
		{"a small one", backlog{1, 15 * s, s, 1_000_000, s, 64}, 100, 1},
		{"the only one", backlog{10, s, s, 10, s, 64}, 100, 100},
		{"the only one, small bound", backlog{10, s, s, 10, s, 64}, 7, 7},
		{"a bound of one", backlog{10, s, s, 10, s, 64}, 1, 1},
		{"no bound at all", backlog{10, s, s, 10, s, 64}, 0, 1},
		{"all there is of everything", backlog{math.MaxInt64, math.MaxInt64, math.MaxInt64, 1, 1, math.MaxInt32}, 100, 100},
		{"nearly nothing", backlog{1, 0, 1, math.MaxInt64, math.MaxInt64, 1}, 100, 1},
	} {
		if got := c.b.perConn(c.most); got != c.want {
			t.Errorf("%s: %d pages a connection, want %d", c.name, got, c.want)
		}
	}
}

// visits plays a stage to its end with answers of this kind and returns how many
// requests each connection to a host carried.
func (s *stage) visits(host string, answer func(p Pick) Visit) []int {
	var conns []int
	for {
		p, ok := s.next()
		if !ok {
			if !s.wait() {
				return conns
			}
			continue
		}
		if p.Host == host {
			if p.Open {
				conns = append(conns, 0)
			}
			conns[len(conns)-1]++
		}
		v := answer(p)
		v.Host, v.Site = p.Host, p.Site
		s.now = s.now.Add(v.Elapsed)
		if p.Last {
			v.KeepAlive = false
		}
		if !v.KeepAlive {
			s.open[p.Host]--
		}
		s.f.Done(s.now, v)
		s.f.check(s.t)
	}
}

// backlogged is a stage with one large site and a few small ones.
func backlogged(t testing.TB, change func(c *Config)) *stage {
	s := newStage(t, func(c *Config) {
		c.Wait, c.PerConn, c.Auto, c.Conns = time.Second, 20, true, 4
		if change != nil {
			change(c)
		}
	})
	s.site(1, make([]uint16, 60)...)
	for id := page.SiteID(2); id < 6; id++ {
		s.site(id, 0, 0)
	}
	return s
}

func most(counts []int) int {
	n := 0
	for _, c := range counts {
		n = max(n, c)
	}
	return n
}

func fine(Pick) Visit {
	return Visit{Outcome: page.OK, Elapsed: 100 * time.Millisecond, KeepAlive: true}
}

// A large site gets many pages a connection, a small one still one.
func TestAutoServesTheBacklog(t *testing.T) {
	if got := backlogged(t, nil).visits("h1.d1.org", fine); most(got) != 20 || got[0] != 1 {
		t.Errorf("the large site's connections carried %v pages", got)
	}
	for _, want := range []int{1, 2} {
		one := backlogged(t, func(c *Config) { c.Auto, c.PerConn = false, want })
		if got := one.visits("h1.d1.org", fine); most(got) != want {
			t.Errorf("without auto the connections carried %v pages, %d are meant", got, want)
		}
	}
	s := newStage(t, func(c *Config) { c.Wait, c.PerConn, c.Auto, c.Conns = time.Second, 20, true, 2 })
	for id := page.SiteID(1); id < 50; id++ {
		s.site(id, 0, 0, 0)
	}
	slow := func(Pick) Visit { return Visit{Outcome: page.OK, Elapsed: time.Second, KeepAlive: true} }
	if got := s.visits("h9.d9.org", slow); most(got) != 1 {
		t.Errorf("a small site among others got %v pages a connection", got)
	}
}

// A host with a crawl-delay gets one page a connection, whether the delay is
// known before, or is read on the connection, or by another site's robots.txt.
func TestAutoIsRefusedUnderCrawlDelay(t *testing.T) {
	known := backlogged(t, nil)
	known.load = func(b *Batch) {
		if b.Site == 1 {
			b.Rules = readRules("Crawl-delay: 2")
		}
	}
	got := known.visits("h1.d1.org", func(p Pick) Visit {
		if p.Host == "h1.d1.org" && !p.Last {
			t.Error("the server of a host with a delay is not told that its connection ends")
		}
		return fine(p)
	})
	if most(got) != 1 {
		t.Errorf("a host that asks for a delay got %v pages a connection", got)
	}
	for _, busy := range []bool{true, false} {
		s := backlogged(t, nil)
		var told page.Time
		tell := func() { s.f.slow(s.f.hosts["h1.d1.org"], 3*time.Second); told = s.now }
		got := s.visits("h1.d1.org", func(p Pick) Visit {
			h := s.f.hosts["h1.d1.org"]
			switch {
			case p.Host == h.name && told > 0 && (!p.Open || s.now.Sub(told) < 2*time.Second):
				t.Errorf("asked %v after the delay became known, on a new connection: %v", s.now.Sub(told), p.Open)
			case told == 0 && busy && p.Host == h.name && !p.Open:
				tell()
			case told == 0 && !busy && p.Host != h.name && h.line.conn != nil && h.state == resting:
				tell()
			}
			v := fine(p)
			if p.Host == h.name {
				v.Elapsed = time.Second // the others answer while it has its gap
			}
			return v
		})
		if told == 0 {
			t.Errorf("the delay never became known (busy %v): %v pages a connection", busy, got)
		}
	}
}

// Between two requests of a connection the host rests as long as it worked.
func TestAutoLeavesGaps(t *testing.T) {
	s := backlogged(t, nil)
	took := []time.Duration{10 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second}
	var end page.Time
	var last time.Duration
	n, further := 0, 0
	s.visits("h1.d1.org", func(p Pick) Visit {
		v := fine(p)
		if p.Host != "h1.d1.org" {
			return v
		}
		if gap := s.now.Sub(end); !p.Open && gap < last || p.Open && end > 0 && gap < max(last, time.Second) {
			t.Errorf("asked again after %v, new connection %v, the last answer took %v", gap, p.Open, last)
		}
		if !p.Open {
			further++
		}
		v.Elapsed = took[n%len(took)]
		n++
		end, last = s.now.Add(v.Elapsed), v.Elapsed
		return v
	})
	if further == 0 {
		t.Error("no connection carried two pages")
	}
}

// What a server says of its connections bounds them.
func TestAutoHeedsKeepAlive(t *testing.T) {
	for _, c := range []struct {
		name string
		hint func(v *Visit, on int) // on: requests on the connection so far
		want int
	}{
		{"says nothing", func(*Visit, int) {}, 20},
		{"max=3 at first", func(v *Visit, on int) { v.Left = 4 - on }, 4},
		{"always max=100", func(v *Visit, _ int) { v.Left = 100 }, 20},
		{"no more", func(v *Visit, _ int) { v.Left = -1 }, 1},
		{"timeout shorter than the gap", func(v *Visit, _ int) { v.Elapsed, v.Idle = 2*time.Second, time.Second }, 1},
		{"timeout as long as the gap", func(v *Visit, _ int) { v.Elapsed, v.Idle = 2*time.Second, 2*time.Second }, 1},
		{"timeout longer than the gap", func(v *Visit, _ int) { v.Elapsed, v.Idle = 2*time.Second, 3*time.Second }, 20},
		{"slower than a connection is held", func(v *Visit, _ int) { v.Elapsed = 2 * time.Minute }, 1},
		{"timeout said once", func(v *Visit, on int) {
			if v.Elapsed = 2 * time.Second; on == 1 {
				v.Elapsed, v.Idle = 0, time.Second
			}
		}, 2},
		{"fails", func(v *Visit, on int) {
			if on == 2 {
				v.Outcome = page.ServerError
			}
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := backlogged(t, nil)
			on := 0
			got := s.visits("h1.d1.org", func(p Pick) Visit {
				v := fine(p)
				if p.Host != "h1.d1.org" {
					return v
				}
				if on++; p.Open {
					on = 1
				}
				c.hint(&v, on)
				return v
			})
			if most(got) != c.want {
				t.Errorf("the connections carried %v requests, the most should be %d", got, c.want)
			}
		})
	}
}

// A connection that was not used in time, since there was no room, is closed.
func TestAutoConnectionLapses(t *testing.T) {
	s := backlogged(t, nil)
	for {
		p, ok := s.next()
		if !ok {
			s.wait()
			continue
		}
		s.now = s.now.Add(time.Second)
		v := Visit{Host: p.Host, Site: p.Site, Outcome: page.OK, KeepAlive: !p.Last, Elapsed: time.Second, Idle: 5 * time.Second}
		if !v.KeepAlive {
			s.open[p.Host]--
		}
		s.f.Done(s.now, v)
		if v.KeepAlive && p.Host == "h1.d1.org" {
			break
		}
	}
	s.now = s.now.Add(time.Minute) // nobody asked for picks
	for range 100 {
		p, ok := s.f.Next(s.now, ample)
		switch {
		case ok && p.Kind == Close && p.Host == "h1.d1.org":
			return
		case !ok || p.Host == "h1.d1.org":
			t.Fatalf("%+v after a minute on a connection that is kept for five seconds", p)
		}
	}
	t.Fatal("the connection was never closed")
}

// What pages of a host take survives a restart, is written now and then, and
// only of hosts that depend on it.
func TestPaceIsKept(t *testing.T) {
	s := backlogged(t, nil)
	var kept HostState
	writes, n := 0, 0
	s.visits("h1.d1.org", func(p Pick) Visit {
		v := fine(p)
		if p.Host == "h1.d1.org" {
			v.Elapsed = 800*time.Millisecond + time.Duration(n%3)*100*time.Millisecond
			n++
		}
		if st, changed := s.f.Changed(s.now, p.Host, p.Site); changed {
			if p.Host != "h1.d1.org" {
				t.Errorf("the pace of %s is kept: %+v", p.Host, st)
			}
			kept = st
			writes++
		}
		return v
	})
	if kept.Pace < 700*time.Millisecond || kept.Pace > 1100*time.Millisecond || writes > 2 {
		t.Errorf("pages that take about 900ms are kept as %+v, written %d times", kept, writes)
	}
	again := backlogged(t, nil)
	again.f.Recall(again.now, "h9.d9.org", HostState{Pace: 5 * time.Second}, 0)
	again.site(9, make([]uint16, 30)...)
	h := again.f.hosts["h9.d9.org"]
	if h.tempo() != 5*time.Second {
		t.Errorf("after a restart pages of a host are thought to take %v, it was 5s", h.tempo())
	}
	again.f.tempo = tempo{sum: 1e6, pages: 1}
	if with, without := again.f.share(h), again.f.share(again.f.hosts["h1.d1.org"]); with <= without {
		t.Errorf("a slow host of 30 pages gets %d a connection, one of 60 as fast as others %d", with, without)
	}
}

// A host that is known for its pace alone is forgotten like any other.
func TestPaceAloneIsForgotten(t *testing.T) {
	s := backlogged(t, func(c *Config) { c.Linger = time.Second })
	s.visits("h1.d1.org", func(p Pick) Visit {
		s.f.Changed(s.now, p.Host, p.Site)
		s.f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash - 1})
		return fine(p)
	})
	for id := page.SiteID(1); id < 6; id++ {
		for n := range s.disk[id] {
			s.f.Settled(page.Key{Site: id, Hash: uint64(n)})
		}
	}
	for range 100 {
		s.now = s.now.Add(time.Minute)
		s.f.Next(s.now, ample)
	}
	if len(s.f.hosts) > 0 || len(s.f.cares) > 0 {
		t.Errorf("%d hosts are remembered, and %d more in part", len(s.f.hosts), len(s.f.cares))
	}
}

// All sites of a host count, whichever the connection is for, up to a bound.
func TestShelfIsCounted(t *testing.T) {
	f := New(Config{Order: Length{}, PerConn: 1, Conns: 1})
	want := int64(0)
	for i := range 12 {
		f.Add(0, Known{ID: page.SiteID(i + 1), Name: fmt.Sprintf("http://a.example:%d", 81+i), Queued: 10})
		if i < shelfCount {
			want += 10
		}
		if got := f.hosts["a.example"].sites.queued(); got != want {
			t.Errorf("%d pages are counted at %d sites, want %d", got, i+1, want)
		}
	}
}

// BenchmarkAuto is what a visit costs, pages following the backlog.
func BenchmarkAuto(b *testing.B) {
	f := New(Config{Order: Length{}, Wait: time.Second, PerConn: 100, Auto: true, Conns: 64, PerServer: 4, Hot: 1000, NoRobots: true})
	f.Add(0, Known{ID: 1, Name: "http://a.example", Queued: 1000})
	h := f.hosts["a.example"]
	b.ReportAllocs()
	for range b.N {
		f.measure(h, time.Second)
		if f.most(h) == 0 {
			b.Fatal("no pages")
		}
	}
}
