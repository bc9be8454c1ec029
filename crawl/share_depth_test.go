package crawl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
)

// Programs that follow links of a page only if the page is near, or dear, enough.
var boundedPrograms = map[string]string{
	"a depth": `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < %d.`,

	"a priority": `
crawl(U, 0, 9) :- seed(U).
crawl(V, 0, P-1) :- crawl(U, D, P), link(U, V), P > 9-%d.`,
}

// TestSharedBounds: nodes that hand partitions over, are fenced and come late fetch
// the pages that one alone would, though a page may have been fetched by a node that
// had not heard yet how near it is.
func TestSharedBounds(t *testing.T) {
	names := slices.Sorted(maps.Keys(boundedPrograms))
	rapid.Check(t, func(t *rapid.T) {
		scheme := mustScheme(rapid.SampledFrom([]string{"host", "url", "host-2", "redirect:over=2", "redirect:url,over=1", "redirect:host-2,over=1,max=2,n=3", "adaptive:over=1"}).Draw(t, "scheme"))
		text := fmt.Sprintf(boundedPrograms[rapid.SampledFrom(names).Draw(t, "program")], rapid.IntRange(2, 6).Draw(t, "bound"))
		f := newFleet(t, sharedPlan(t, text, scheme), true)
		f.keys = overlay.NewKeys(scheme, fleetParts)
		// A chain with few shortcuts: most pages are found far away, and nearer later.
		all := fleetPages(16, 5)
		for i, u := range all {
			if i+1 < len(all) {
				f.web[u] = append(f.web[u], all[i+1])
			}
			if rapid.IntRange(0, 2).Draw(t, "shortcut") == 0 {
				f.web[u] = append(f.web[u], rapid.SampledFrom(all).Draw(t, "link"))
			}
		}
		f.seeds = []string{all[0], rapid.SampledFrom(all).Draw(t, "seed")}
		f.sail()
		f.alike()
	})
}

// alike holds the pages that the fleet has fetched to those of one node alone.
func (f *fleet) alike() (alone *ship) {
	alone = f.single()
	if got, want := slices.Sorted(maps.Keys(f.asked)), slices.Sorted(maps.Keys(alone.fl.asked)); !slices.Equal(got, want) {
		f.t.Fatalf("together they have fetched\n%s\nand one alone\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return alone
}

// single is one node that has crawled the same web alone.
func (f *fleet) single() *ship {
	one := newFleet(f.t, f.plan, f.own)
	one.web, one.moved, one.lost, one.seeds, one.more = f.web, f.moved, f.lost, f.seeds, f.more
	alone := one.board(&ship{name: "alone", alone: true})
	for alone.again(); len(alone.queued) > 0; alone.again() {
		alone.fetch()
	}
	return alone
}

// TestNearerBeforeEnd: a row that brings a page nearer lies in the log before the end
// of a fetch that had not read it. The next owner has the page fetched again; unless
// who fetched it has said, by then, that it was delivered at that depth.
func TestNearerBeforeEnd(t *testing.T) {
	once(t, func(t *rapid.T) {
		f := newFleet(t, sharedPlan(t, fmt.Sprintf(boundedPrograms["a depth"], 3), overlay.Scheme{}), true)
		f.keys = overlay.NewKeys(overlay.Scheme{}, fleetParts)
		f.size = 500
		f.crew(3)
		a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
		had := func(s *ship, pages, bytes int64) {
			t.Helper()
			if got := s.l.Census(0); got.Fetched != pages || got.Bytes != bytes {
				t.Errorf("%s counts %d pages and %d bytes, want %d and %d", s.name, got.Fetched, got.Bytes, pages, bytes)
			}
		}
		u := "http://h.test/p"
		part := f.keys.Home(mustURL(u))
		f.web[u] = []string{"http://h.test/child"}
		row := func(depth uint16) overlay.Post {
			return overlay.Post{Part: part, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Depth: depth}}}}}
		}
		f.append(c, row(3))
		a.adopt(part)
		f.append(c, row(2)) // a has not read it
		a.fetch()
		a.tell()
		had(a, 1, 500)
		a.disown(part)

		f.owner[part] = -1
		b.adopt(part)
		if len(b.queued) != 1 {
			t.Fatalf("after the end of a fetch at depth 3 the new owner of a page at depth 2 has to fetch %v", b.queued)
		}
		b.disown(part)

		a.read(part)
		a.again()
		a.tell()
		c.adopt(part)
		if got := slices.Collect(maps.Values(c.queued)); !slices.Equal(got, f.web[u]) {
			t.Fatalf("%v wait, want the child of the page that was delivered again", got)
		}
		had(c, 1, 500) // also the bytes, which were told with the first end
		c.disown(part)
		c.open()
		c.adopt(part)
		had(c, 1, 500)
	})
}
