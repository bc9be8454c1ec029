package frontier

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"weir/page"
	"weir/robots"
)

// stage is a frontier whose names, queues and robots.txt answer at once, so
// that a test sees page after page. Nothing is committed.
type stage struct {
	t    testing.TB
	f    *Frontier
	now  page.Time
	disk map[page.SiteID][]Entry
	addr func(host string) ([]netip.Addr, time.Duration)
	// what else is loaded, and how a robots.txt is answered; nil: it must not be asked for
	load   func(b *Batch)
	robots func(p Pick)
	open   map[string]int
	most   int
}

func newStage(t testing.TB, change func(c *Config)) *stage {
	cfg := Config{Order: Length{}, Wait: 15 * time.Second, PerConn: 1, Conns: 10, PerServer: 4, PerCDN: 32, CDNDomains: 50, Window: 32, Hot: 1000,
		Holdable: time.Minute}
	if change != nil {
		change(&cfg)
	}
	s := &stage{t: t, f: New(cfg), disk: map[page.SiteID][]Entry{}, open: map[string]int{}}
	s.addr = func(host string) ([]netip.Addr, time.Duration) {
		return stageAddr(host), time.Hour
	}
	return s
}

// stageAddr is an address that no other host is likely to have.
func stageAddr(host string) []netip.Addr {
	h := page.Secret{}.Hash(host)
	return []netip.Addr{netip.AddrFrom4([4]byte{10, byte(h >> 16), byte(h >> 8), byte(h)})}
}

// site makes a site with pages of these depths.
func (s *stage) site(id page.SiteID, depths ...uint16) {
	for i, d := range depths {
		s.disk[id] = append(s.disk[id], s.entry(d, uint64(i)))
	}
	// Depths are given in the order of their places.
	s.f.Add(s.now, Known{ID: id, Name: fmt.Sprintf("http://h%d.d%d.org", id, id), Queued: int64(len(depths))})
}

func (s *stage) entry(depth uint16, n uint64) Entry {
	e := Entry{Hash: n, Depth: depth, Rest: fmt.Sprintf("/%d", n), Place: s.f.cfg.Order.Place(depth, 0, n)}
	if s.f.batched {
		e.Place = InBatch(1, uint32(n))
	}
	return e
}

// next returns the next page; robots.txt, lookups and loads are answered on the
// way. It does not wait.
func (s *stage) next() (Pick, bool) {
	for {
		p, ok := s.f.Next(s.now, ample)
		if !ok {
			return p, false
		}
		switch p.Kind {
		case Load:
			b := Batch{Site: p.Site, From: p.From}
			for _, e := range s.disk[p.Site] {
				if !e.Place.Before(p.From) && len(b.Entries) < p.N {
					b.Entries = append(b.Entries, e)
				}
			}
			b.More = len(b.Entries) == p.N
			b.Rules = robots.AllowAll()
			if s.load != nil {
				s.load(&b)
			}
			s.f.Loaded(s.now, b)
		case Resolve:
			addrs, ttl := s.addr(p.Host)
			s.f.Resolved(s.now, p.Host, addrs, ttl, page.OK)
		case Fetch:
			if p.Open {
				s.open[p.Host]++
			}
			if s.open[p.Host] > 1 {
				s.t.Fatalf("%d connections to %s", s.open[p.Host], p.Host)
			}
			s.most = max(s.most, s.f.active)
			return p, true
		case Close:
			s.open[p.Host]--
		case Robots:
			if s.robots == nil {
				s.t.Fatalf("%s was asked for", p.URL)
			}
			s.robots(p)
		}
	}
}

// wait goes to the next time at which something can happen.
func (s *stage) wait() bool {
	at, ok := s.f.Wake()
	s.now = max(s.now, at)
	return ok
}

func (s *stage) done(p Pick) {
	if p.Last {
		s.open[p.Host]--
	}
	s.f.Done(s.now, Visit{Host: p.Host, Site: p.Site, Outcome: page.OK, KeepAlive: !p.Last})
}
