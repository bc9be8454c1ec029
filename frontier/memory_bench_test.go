package frontier

import (
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"testing"
	"time"

	"weir/page"
)

// There can be millions of sites that only wait: their structures must stay
// small.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		of   any
		most uintptr
	}{{site{}, 80}, {host{}, 80}, {care{}, 72}} {
		if typ := reflect.TypeOf(c.of); typ.Size() > c.most {
			t.Errorf("a %s takes %d bytes, at most %d are meant", typ.Name(), typ.Size(), c.most)
		}
	}
}

// BenchmarkSites is what a site costs in memory: while its one page waits on
// disk, and when that page is done and durable and a day has gone by.
func BenchmarkSites(b *testing.B) {
	const sites = 200_000
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for range b.N {
		before := heap()
		f := New(Config{Order: Length{}, Wait: time.Second, PerConn: 1, Conns: 1000, PerServer: 4, PerCDN: 32, CDNDomains: 50, Hot: 1, NoRobots: true})
		for i := range sites {
			f.Add(0, Known{ID: page.SiteID(i + 1), Name: fmt.Sprintf("https://www.site%d.example", i), Queued: 1})
		}
		waiting := heap()
		now := page.Time(0)
		room := Room{Fetch: 9, Load: 9, Resolve: 9, Settle: 9}
		for pages := 0; pages < sites; {
			p, ok := f.Next(now, room)
			if !ok {
				now, _ = f.Wake()
				continue
			}
			switch p.Kind {
			case Load:
				f.Loaded(now, Batch{Site: p.Site, From: p.From, Entries: []Entry{{Hash: 1, Place: Place{0, 1}, Rest: "/"}}})
			case Resolve:
				a := netip.AddrFrom4([4]byte{10, byte(pages >> 18), byte(pages >> 10), byte(pages >> 2)})
				f.Resolved(now, p.Host, []netip.Addr{a}, time.Hour, page.OK)
			case Fetch:
				f.Done(now, Visit{Host: p.Host, Site: p.Site, Outcome: page.OK})
				f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
				pages++
				now = now.Add(time.Millisecond)
			}
		}
		for range sites {
			now = now.Add(24 * time.Hour / sites)
			f.Next(now, room)
		}
		finished := heap()
		b.ReportMetric((waiting-before)/sites, "B/waiting-site")
		b.ReportMetric((finished-before)/sites, "B/finished-site")
		runtime.KeepAlive(f)
	}
}
