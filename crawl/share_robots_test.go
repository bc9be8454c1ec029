package crawl

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/page"
	"weir/robots"
)

// TestOneRobotsOfManyParts: the robots.txt that was fetched for a site in one partition
// counts in all others, also after a restart.
func TestOneRobotsOfManyParts(t *testing.T) {
	once(t, func(t *rapid.T) {
		scheme := mustScheme("url")
		f := newFleet(t, sharedPlan(t, "crawl(U) :- seed(U).", scheme), true)
		f.keys = overlay.NewKeys(scheme, fleetParts)
		f.crew(1)
		a := f.nodes[0]
		for _, u := range fleetPages(20, 1) {
			f.append(a, overlay.Post{Part: f.keys.Home(mustURL(u)), Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u)}}}}})
		}
		for part := range fleetParts {
			a.adopt(part)
		}
		ids := slices.Sorted(maps.Keys(a.site))
		if len(ids) < 2 {
			t.Fatalf("its pages are in %d partitions", len(ids))
		}
		a.must(a.l.Robots(a.id, &page.Facts{Key: page.Key{Site: ids[0]}, Outcome: page.OK, Status: 200}, robots.Parse([]byte("User-agent: *\nDisallow: /x"), "weir")))
		a.commit()
		for range 2 {
			for _, id := range append(ids, ids...) { // the second time all of them are in memory
				b, err := a.l.Load(Load{Site: id})
				if a.must(err); b.Rules == nil {
					t.Fatalf("site %d has no rules", id)
				}
			}
			a.open()
		}
	})
}
