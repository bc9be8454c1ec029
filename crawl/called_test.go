package crawl

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/overlay"
)

// A node hands pages on, and is cut off or killed before it can tell. Another node gets
// their partition, in which they wait. Whether that one has fetched them when the first is
// back or not: each page is fetched once, and no cash is lost or there twice.
func TestHandOnIsCalledOff(t *testing.T) {
	const pages, over = 24, 20
	for _, c := range []struct {
		name    string
		killed  bool // else it is fenced
		fetched bool // by who owns the partition meanwhile
		reads   bool // the log, before it hears that its pages are called off
		told    bool // it could tell, and has not noted that it did
	}{
		{name: "fenced, and fetched by another", fetched: true},
		{name: "fenced, and fetched by another, as it has read", fetched: true, reads: true},
		{name: "fenced, and fetched by nobody"},
		{name: "killed, and fetched by another", killed: true, fetched: true},
		{name: "killed, and fetched by another, as it has read", killed: true, fetched: true, reads: true},
		{name: "killed, and fetched by nobody, as it has read", killed: true, reads: true},
		{name: "killed when it had told", killed: true, told: true},
		{name: "killed when it had told, as it has read", killed: true, told: true, reads: true},
		{name: "killed when it had told, and fetched by another", killed: true, told: true, fetched: true},
	} {
		for _, order := range []frontier.Ranking{frontier.Length{}, frontier.SiteOPIC{}} {
			once(t, func(t *rapid.T) {
				s := mustScheme(fmt.Sprintf("redirect:over=%d", over))
				f := newFleet(t, sharedPlan(t, fmt.Sprintf(boundedPrograms["a depth"], 2), s), true)
				f.keys, f.order = overlay.NewKeys(s, fleetParts), order
				f.crew(3)
				a, b := f.nodes[0], f.nodes[1]
				home := f.keys.HostPart("h.test")
				a.adopt(home)
				for i := range pages {
					f.append(f.nodes[2], overlay.Post{Part: home, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{
						{URL: mustURL(fmt.Sprintf("http://h.test/%d", i)), Depth: 1, Score: 0.5},
					}}}})
					a.read(home)
				}
				if len(a.queued) != over+1 || len(a.outbox) == 0 {
					t.Fatalf("%s: %d pages wait, and %d parcels", c.name, len(a.queued), len(a.outbox))
				}
				for c.told && len(a.outbox) > 0 {
					a.post(false)
				}
				if c.killed {
					f.owner[home] = -1
					a.open()
				} else {
					a.disown(home)
				}
				for part := range fleetParts {
					b.adopt(part)
				}
				if len(b.queued) != pages {
					t.Fatalf("%s: at the next owner %d pages wait", c.name, len(b.queued))
				}
				for c.fetched && len(b.queued) > 0 {
					b.fetch()
					b.settle()
				}
				if c.reads {
					a.read(home)
				}
				a.tell()
				b.settle() // what the first had to say
				if !c.fetched && len(b.queued) != pages || c.fetched && len(b.queued) > 0 {
					t.Fatalf("%s: the first is back, and at the other these wait: %v", c.name, b.queued)
				}
				b.disown(home)
				a.adopt(home)
				here := pages // that wait at home
				if c.told {
					here = over + 1
				}
				if c.fetched && len(a.queued) > 0 || !c.fetched && len(a.queued) != here {
					t.Fatalf("%s: the first has the partition back, and %d pages wait", c.name, len(a.queued))
				}
				if n, m := a.l.Totals().Seen, b.l.totals.Seen; int(n) != here || m != pages {
					t.Errorf("%s: of %d pages they know %d and %d", c.name, pages, n, m)
				}
				if n, m := a.l.share.stakes.of(home).fetched, b.l.share.stakes.of(home).fetched; n != m {
					t.Errorf("%s: they count %d and %d pages that were fetched", c.name, n, m)
				}
				if a.l.purse != nil && !c.fetched {
					id, err := a.l.siteIn("http://h.test", home)
					a.must(err)
					site, err := a.l.site(id)
					a.must(err)
					if math.Abs(site.cash-float64(here)*0.5) > 1e-6 {
						t.Errorf("%s: the pages' cash is %v", c.name, site.cash)
					}
				}
				for len(a.queued)+len(b.queued) > 0 {
					a.fetch()
					a.settle()
					b.fetch()
					b.settle()
				}
				for i := range pages {
					if u := fmt.Sprintf("http://h.test/%d", i); f.asked[u] != 1 {
						t.Errorf("%s: %s was fetched %d times", c.name, u, f.asked[u])
					}
				}
			})
		}
	}
}

// Which parcels have arrived is known after a restart; if none is left they are counted
// anew, and those that come then have not.
func TestArrivedIsKept(t *testing.T) {
	once(t, func(t *rapid.T) {
		_, a, _ := crew(t, "redirect:over=1", 2)
		rows := func(n int) {
			for range n {
				a.l.logRow(0, &Row{URL: mustURL("http://h.test/")})
				a.commit()
			}
		}
		a.tell()
		a.commit()
		rows(3)
		a.l.Arrived(a.outbox[1].Seq)
		a.commit()
		a.open()
		if n := a.l.HasArrived(); len(a.outbox) != 3 || n != a.outbox[1].Seq {
			t.Fatalf("%d parcels are left, and they have arrived up to %d", len(a.outbox), n)
		}
		a.tell()
		a.commit()
		for range 2 { // the second finds a parcel that has the number of one that arrived
			a.open()
			if n := a.l.HasArrived(); n != 0 {
				t.Fatalf("%d parcels are left, and they have arrived up to %d", len(a.outbox), n)
			}
			rows(1)
		}
	})
}
