package crawl

import (
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
		if len(a.site) < 2 {
			t.Fatalf("its pages are in %d partitions", len(a.site))
		}
		for id := range a.site { // any of them
			a.must(a.l.Robots(a.id, &page.Facts{Key: page.Key{Site: id}, Outcome: page.OK, Status: 200}, robots.Parse([]byte("User-agent: *\nDisallow: /x"), "weir")))
			break
		}
		a.commit()
		for range 2 {
			for range 2 { // also when all of them are in memory
				for id := range a.site {
					b, err := a.l.Load(Load{Site: id})
					if a.must(err); b.Rules == nil {
						t.Fatalf("site %d has no rules", id)
					}
				}
			}
			a.open()
		}
	})
}
