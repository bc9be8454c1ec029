package frontier

import (
	"net/netip"
	"testing"
	"time"

	"weir/page"
)

// TestAClosedPortCostsOnlyItsOwnPages visits a host with two sites, of which
// one never answers: it is given up, the other is crawled to its end.
func TestAClosedPortCostsOnlyItsOwnPages(t *testing.T) {
	f := New(Config{Order: Length{}, Wait: time.Second, PerConn: 1, Conns: 4, PerServer: 4, Hot: 100, NoRobots: true})
	const closed, open, pages = 1, 2, 10
	now := page.Time(0)
	for id, name := range []string{closed: "http://h.test:9", open: "http://h.test"} {
		if name == "" {
			continue
		}
		f.Add(now, Known{ID: page.SiteID(id), Name: name})
		for i := range uint64(pages) {
			f.Push(now, page.SiteID(id), Entry{Hash: i, Place: Place{Seq: i + 1}, Rest: "/"})
		}
	}
	room := Room{Fetch: 100, Load: 100, Resolve: 100, Settle: 100}
	fetched, ended := map[page.SiteID]int{}, map[page.Outcome]int{}
	for f.Count().Waiting > 0 {
		p, ok := f.Next(now, room)
		if !ok {
			at, some := f.Wake()
			if !some {
				t.Fatalf("stuck with %+v", f.Count())
			}
			now = at
			continue
		}
		switch p.Kind {
		case Resolve:
			f.Resolved(now, p.Host, []netip.Addr{netip.MustParseAddr("192.0.2.1")}, 24*time.Hour, page.OK)
		case Fetch:
			o := page.OK
			if p.Site == closed {
				o = page.ConnectFailed
			} else {
				fetched[p.Site]++
			}
			f.Done(now, Visit{Host: p.Host, Site: p.Site, Outcome: o, Elapsed: time.Millisecond})
			f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
			if o != page.OK {
				f.Push(now, p.Site, p.Entry)
			}
		case Settle:
			ended[p.Outcome]++
			f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
		}
	}
	if fetched[open] != pages || ended[page.ConnectFailed] != pages {
		t.Errorf("fetched %v, ended %v", fetched, ended)
	}
}
