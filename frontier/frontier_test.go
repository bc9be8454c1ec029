package frontier

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
	"weir/robots"
)

// A window holds the first entries of its queue, whatever is pushed, moved and
// taken, and never skips one.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 4
		s := &site{complete: true}
		var disk []Entry
		n := uint64(0)
		draw := func() Place { n++; return Place{uint8(rapid.IntRange(0, 3).Draw(t, "class")), n} }
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch act := rapid.IntRange(0, 5).Draw(t, "act"); {
			case act < 2:
				e := Entry{Hash: n + 1000, Place: draw()}
				disk = append(disk, e)
				s.insert(e, limit)
			case act == 2 && len(disk) > 0:
				i := rapid.IntRange(0, len(disk)-1).Draw(t, "moved")
				old := disk[i].Place
				disk[i].Place = Place{0, draw().Seq}
				s.drop(old, disk[i].Hash)
				s.insert(disk[i], limit)
			case act == 3:
				s.chill()
			case len(s.live()) > 0:
				e := s.pop()
				if e != disk[0] {
					t.Fatalf("popped %v, the first is %v", e.Place, disk[0].Place)
				}
				disk = disk[1:]
			case !s.complete:
				for _, e := range disk {
					if e.Place.Before(s.low()) {
						t.Fatalf("%v lies before %v and would never be loaded", e.Place, s.low())
					}
					if w := s.heated(); len(w.window) < limit {
						w.window = append(w.window, e)
					}
				}
				s.complete = len(disk) < limit
			}
			slices.SortFunc(disk, byPlace)
			w := s.live()
			if len(w) > limit || len(w) > len(disk) || !slices.Equal(w, disk[:len(w)]) || s.complete && len(w) != len(disk) {
				t.Fatalf("window %v, queue %v", w, disk)
			}
		}
	})
}

// The array behind a window that never runs empty does not grow.
func TestWindowGivesBackRoom(t *testing.T) {
	s := &site{complete: true}
	for n := range uint64(10_000) {
		s.insert(Entry{Hash: n, Place: Place{0, n}}, 64)
		if n > 20 {
			s.pop()
		}
	}
	if cap(s.hot.window) > 256 {
		t.Errorf("21 entries lie in an array of %d", cap(s.hot.window))
	}
}

// A host that was kept room for and went elsewhere does not keep the others
// from the address.
func TestAddressThatNobodyUses(t *testing.T) {
	s := newStage(t, func(c *Config) { c.PerServer, c.Wait = 1, time.Second })
	old, moved := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	looked := map[string]int{}
	s.addr = func(host string) ([]netip.Addr, time.Duration) {
		if looked[host]++; looked[host] > 1 && host == "h2.d2.org" {
			return []netip.Addr{moved}, time.Second
		}
		return []netip.Addr{old}, time.Second
	}
	s.site(1, 0)
	s.site(2, 0)
	s.site(3, 0)
	first, ok := s.next()
	if !ok {
		t.Fatal("no page")
	}
	if p, ok := s.next(); ok {
		t.Fatalf("%s was asked for while the address is taken", p.URL)
	}
	s.now = s.now.Add(time.Minute) // the others' addresses are out of date
	s.done(first)
	var got []page.SiteID
	for p, ok := s.next(); ok; p, ok = s.next() {
		got = append(got, p.Site)
		s.f.check(t)
	}
	slices.Sort(got)
	if !slices.Equal(got, []page.SiteID{2, 3}) {
		t.Errorf("sites %v go on, want 2 at the new address and 3 at the old", got)
	}
}

// An address of more than 50 registered domains is a CDN and takes 32.
func TestCDN(t *testing.T) {
	for _, c := range []struct{ domains, want int }{{50, 4}, {51, 32}} {
		s := newStage(t, func(c *Config) { c.Conns = 1000 })
		s.addr = func(string) ([]netip.Addr, time.Duration) {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, time.Hour
		}
		for i := range c.domains {
			s.site(page.SiteID(i+1), 0)
		}
		n := 0
		for _, ok := s.next(); ok; _, ok = s.next() {
			n++
		}
		s.f.check(t)
		if n != c.want {
			t.Errorf("%d domains: %d connections, want %d", c.domains, n, c.want)
		}
	}
}

// What all nodes know of an address counts for each of them.
func TestCDNThatOthersKnowOf(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Conns = 1000 })
	s.addr = func(string) ([]netip.Addr, time.Duration) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, time.Hour
	}
	for i := range 50 {
		s.site(page.SiteID(i+1), 0)
	}
	n := 0
	for _, ok := s.next(); ok; _, ok = s.next() {
		if n++; n == 4 {
			s.f.Crowd("h1.d1.org")
			s.f.Crowd("h1.d1.org")
			s.f.Crowd("unheard.of.org")
		}
	}
	s.f.check(t)
	if n != 32 {
		t.Errorf("%d connections, want 32", n)
	}
}

// IPv4 in IPv6's clothes is the same address.
func TestMappedAddress(t *testing.T) {
	s := newStage(t, func(c *Config) { c.PerServer = 1 })
	s.addr = func(host string) ([]netip.Addr, time.Duration) {
		if host == "h1.d1.org" {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, time.Hour
		}
		return []netip.Addr{netip.MustParseAddr("::ffff:192.0.2.1")}, time.Hour
	}
	s.site(1, 0)
	s.site(2, 0)
	_, _ = s.next()
	if p, ok := s.next(); ok {
		t.Errorf("%s got a second connection to the address", p.Host)
	}
}

// No more than Hot sites keep windows and rules while they rest, also after a
// restart, when every queue must be read once to know where its site belongs.
func TestMemoryIsBounded(t *testing.T) {
	for _, order := range rankings {
		s := newStage(t, func(c *Config) { c.Hot, c.Conns, c.Order = 20, 4, order })
		for i := range 500 {
			d := uint16(i * 7 % 50)
			s.site(page.SiteID(i+1), d, d+1, d+2)
		}
		bounded := func() {
			if s.f.warm > 20+4+9 { // and those just being visited or loaded
				t.Fatalf("%s: %d sites hold memory", order.Name(), s.f.warm)
			}
			if s.f.lines > 20+2*4+9 {
				t.Fatalf("%s: %d hosts hold addresses", order.Name(), s.f.lines)
			}
		}
		for n := 0; n < 300; {
			if p, ok := s.next(); ok {
				n++
				s.done(p)
				bounded()
			} else {
				s.wait()
			}
		}
		for i := range 500 { // new pages of resting sites stay on disk
			s.f.Push(s.now, page.SiteID(i+1), s.entry(1, 100))
		}
		s.f.check(t)
		bounded()
	}
}

// However large robots.txt are, no more than RulesBytes of them stay in memory
// while their sites rest, from the first visit on.
func TestRulesAreBounded(t *testing.T) {
	const sites, disallowed = 300, 200
	text := "User-agent: *\n"
	for i := range disallowed {
		text += fmt.Sprintf("Disallow: /private/%d\n", i)
	}
	rules := robots.Parse([]byte(text), "weir")
	size := int64(rules.Size())
	s := newStage(t, func(c *Config) { c.RulesBytes, c.Conns = 20*size, 4 })
	for i := range sites {
		s.site(page.SiteID(i+1), 0, 1, 2)
	}
	had := map[page.SiteID]bool{}
	most := int64(0)
	s.load = func(b *Batch) {
		if b.Rules = nil; had[b.Site] {
			b.Rules = rules
		}
	}
	s.robots = func(p Pick) {
		s.f.Done(s.now, Visit{Host: p.Host, Site: p.Site, Robots: true, Outcome: page.OK, Rules: rules})
		had[p.Site] = true
		s.f.RobotsSaved(p.Site)
	}
	for n := 0; n < 2*sites; {
		if p, ok := s.next(); ok {
			n++
			s.done(p)
		} else if !s.wait() {
			t.Fatalf("%d pages, %+v", n, s.f.Count())
		}
		s.f.check(t)
		most = max(most, s.f.rules)
	}
	if bound := (20 + 4 + 9 + 1) * size; most > bound || most < 10*size {
		t.Errorf("rules of %d bytes in memory, the bound is %d", most, bound)
	}
}

// A crawl-delay holds from the robots.txt that names it, for all sites of the
// host, and between the requests of one connection.
func TestCrawlDelay(t *testing.T) {
	f := New(Config{Order: Length{}, Wait: time.Second, PerConn: 10, Conns: 4, PerServer: 4, Window: 1, Hot: 10, Proxy: true, Holdable: time.Minute})
	for id, name := range []string{"http://a.example", "https://a.example"} {
		f.Add(0, Known{ID: page.SiteID(id + 1), Name: name})
		for n := range uint64(2) {
			f.Push(0, page.SiteID(id+1), Entry{Hash: n, Place: Place{0, n}, Rest: fmt.Sprintf("/%d", n)})
		}
	}
	rules := robots.Parse([]byte("User-agent: *\nCrawl-delay: 10"), "weir")
	var at []page.Time
	for now := page.Time(0); ; {
		p, ok := f.Next(now, ample)
		if !ok {
			var more bool
			if now, more = f.Wake(); !more {
				break
			}
			continue
		}
		if p.Kind == Close {
			continue
		}
		at = append(at, now)
		v := Visit{Host: p.Host, Site: p.Site, Outcome: page.OK, KeepAlive: true}
		if v.Robots = p.Kind == Robots; v.Robots {
			v.Rules = rules
		}
		f.Done(now, v)
		f.check(t)
	}
	if len(at) != 6 {
		t.Fatalf("%d requests, want 2 robots.txt and 4 pages", len(at))
	}
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap != 10*time.Second {
			t.Errorf("request %d came after %v", i, gap)
		}
	}
}

// BenchmarkTurn is one page's life in the frontier: Next, Done, Settled, Push.
// It costs about the same however many sites there are.
func BenchmarkTurn(b *testing.B) {
	for _, sites := range []int{1_000, 100_000} {
		for _, order := range rankings {
			b.Run(fmt.Sprintf("%s/sites=%d", order.Name(), sites), func(b *testing.B) {
				f := New(Config{Order: order, Wait: time.Second, PerConn: 1, Conns: 1000, PerServer: 4, Window: 16, Hot: 1 << 30, Proxy: true, NoRobots: true})
				for i := range sites {
					id := page.SiteID(i + 1)
					f.Add(0, Known{ID: id, Name: fmt.Sprintf("http://h%d.example", i)})
					for n := range uint64(3) {
						f.Push(0, id, Entry{Hash: n, Place: order.Place(uint16(n), 0, n), Depth: uint16(n), Rest: "/x"})
					}
				}
				now, seq := page.Time(0), uint64(3)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					p, ok := f.Next(now, ample)
					for !ok {
						now, _ = f.Wake()
						p, ok = f.Next(now, ample)
					}
					f.Done(now, Visit{Host: p.Host, Site: p.Site, Outcome: page.OK})
					f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
					seq++
					e := p.Entry
					e.Hash, e.Place = seq, order.Place(e.Depth, 0, seq)
					f.Push(now, p.Site, e)
				}
			})
		}
	}
}
