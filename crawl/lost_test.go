package crawl

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
)

// TestLostPagesAreFetchedAgain: a node is gone for good, with all that it has
// fetched. The others find in the logs which pages these are, and fetch them again;
// what others have is left alone, and doing it once more finds nothing.
func TestLostPagesAreFetchedAgain(t *testing.T) {
	plan, err := ScopeConfig{Scope: "any", Depth: -1}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(t, plan, false)
		f.keys = overlay.NewKeys(mustScheme(fleetSchemes.Draw(t, "scheme")), fleetParts)
		all := fleetPages(30, 7)
		for i, u := range all {
			f.web[u] = append(f.web[u], all[(i+1)%len(all)], all[(i+9)%len(all)])
		}
		f.seeds = all[:1]
		f.sail()

		lost := f.nodes[2]
		for part, o := range f.owner {
			if o == 2 {
				f.owner[part] = -1
			}
		}
		had, asked := map[string]bool{}, map[string]int{}
		for _, u := range lost.held {
			had[u] = true
		}
		for _, u := range all {
			asked[u] = f.asked[u]
		}
		held := func(u string) bool {
			return slices.ContainsFunc(f.nodes[:2], func(s *ship) bool {
				for _, have := range s.held {
					if have == u {
						return true
					}
				}
				return false
			})
		}
		only := 0
		for _, u := range all {
			if !held(u) {
				only++
			}
		}
		if found := f.lose(lost.name); found < only {
			t.Fatalf("%d pages were found to be lost, and %d are", found, only)
		}
		f.finish(2)
		for _, u := range all {
			if !held(u) {
				t.Fatalf("nobody has %s", u)
			}
			if f.asked[u] > asked[u] && !had[u] || f.asked[u] > asked[u]+1 {
				t.Fatalf("%s was asked for %d times more, though it was lost: %v", u, f.asked[u]-asked[u], had[u])
			}
		}
		if found := f.lose(lost.name); found > 0 {
			t.Fatalf("%d pages are lost once more", found)
		}
	})
}

// lose says in the logs which pages a node had.
func (f *fleet) lose(node string) (pages int) {
	for part := range fleetParts {
		s := overlay.NewSearch(node, worldSecret)
		for _, b := range f.logs[part] {
			s.Take(b)
		}
		rows := s.Rows()
		pages += len(rows)
		for some := range slices.Chunk(rows, 3) {
			b, err := overlay.ReadBatch(overlay.AppendBatch(nil, &overlay.Batch{Records: []overlay.Record{overlay.Lost{Node: node, Rows: some}}}))
			if err != nil {
				f.t.Fatal(err)
			}
			f.logs[part] = append(f.logs[part], b)
			f.said++
			for _, r := range some {
				delete(f.ended, fmt.Sprint(part, r.URL.Site(), hashOf(r.URL)))
			}
		}
	}
	return pages
}
