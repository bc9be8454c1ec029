package frontier

import (
	"testing"
	"time"

	"weir/page"
)

// A host that waits for a connection is given away with all its pages, those on disk as
// well, and without a connection; what comes later stays, and so do others.
func TestGive(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Conns, c.Wait, c.NoRobots, c.Proxy, c.Window = 1, 0, true, true, 4 })
	for id := range 3 {
		s.site(page.SiteID(id+1), make([]uint16, 10)...)
	}
	all := Gift{Hosts: 9, Pages: 10, May: func(string, uint16) bool { return true }}
	next := func() (p Pick) {
		for {
			p, ok := s.f.Next(s.now, ample)
			if !ok {
				return Pick{}
			}
			if p.Kind != Load {
				return p
			}
			b := Batch{Site: p.Site, From: p.From}
			for _, e := range s.disk[p.Site] {
				if !e.Place.Before(p.From) {
					b.Entries = append(b.Entries, e)
				}
			}
			b.More = len(b.Entries) > p.N
			b.Entries = b.Entries[:min(p.N, len(b.Entries))]
			s.f.Loaded(s.now, b)
		}
	}
	if n := s.f.Spare(all); n != 0 {
		t.Errorf("%d hosts are to spare, while a connection is free", n)
	}
	busy := next()
	if busy.Kind != Fetch || next().Host != "" {
		t.Fatalf("%+v comes first, and not alone", busy)
	}
	for _, c := range []struct {
		gift Gift
		want int
	}{
		{all, 2},
		{Gift{Hosts: 1, Pages: 10, May: all.May}, 1},
		{Gift{Hosts: 9, Pages: 9, May: all.May}, 0},
		{Gift{Hosts: 9, Pages: 10, May: func(host string, _ uint16) bool { return host != "h2.d2.org" }}, 1},
	} {
		if n := s.f.Spare(c.gift); n != c.want {
			t.Errorf("%d hosts are to spare of %d, want %d", n, c.gift.Hosts, c.want)
		}
	}
	s.f.Give(7, Gift{Hosts: 9, Pages: 10, May: func(host string, _ uint16) bool { return host != "h2.d2.org" }})
	given := map[page.Key]bool{}
	for p := next(); p.Host != ""; p = next() {
		if p.Kind != Give || p.To != 7 || p.Host == "h2.d2.org" || p.Host == busy.Host {
			t.Fatalf("%+v", p)
		}
		k := page.Key{Site: p.Site, Hash: p.Entry.Hash}
		given[k] = true
	}
	if len(given) != 10 || s.f.Count().Waiting != 9+10 {
		t.Errorf("%d pages are given away, %d wait", len(given), s.f.Count().Waiting)
	}
	s.f.check(t)
	for k := range given {
		s.f.Settled(k)
	}
	s.f.Done(s.now, Visit{Host: busy.Host, Site: busy.Site, Outcome: page.OK, Elapsed: time.Second})
	if p := next(); p.Kind != Fetch || p.Host != "h2.d2.org" && p.Host != busy.Host {
		t.Errorf("then comes %+v", p)
	}
}
