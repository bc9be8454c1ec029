package crawl

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
)

// copy is what a node has of a partition: its pages, and which of them have ended.
func (s *ship) copy(part int) map[string]bool {
	pages := map[string]bool{}
	s.must(s.kv.Scan([]byte{keyURL}, []byte{keyURL + 1}, func(key, value []byte) bool {
		k, err := readPageKey(key)
		s.must(err)
		site, err := s.l.site(k.Site)
		s.must(err)
		var row urlRow
		s.must(row.read(value))
		if int(site.part) == part {
			pages[fmt.Sprint(site.name, " ", k.Hash)] = row.state == stateEnded
		}
		return true
	}))
	return pages
}

// TestStandby: a node that reads the log of a partition while another one crawls it has
// what the owner has. None of it is among its own numbers, before it has to take over;
// then it goes on where the owner was, and fetches nothing twice.
func TestStandby(t *testing.T) {
	plan, err := ScopeConfig{Scope: "any", Depth: -1}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(t, plan, false)
		f.keys = overlay.NewKeys(mustScheme(fleetSchemes.Draw(t, "scheme")), fleetParts)
		all := fleetPages(40, 7)
		for i, u := range all {
			f.web[u] = append(f.web[u], all[(i+1)%len(all)], rapid.SampledFrom(all).Draw(t, "link"))
		}
		f.seeds = all[:3]
		owner := f.board(&ship{name: "owner", origin: 1})
		heir := f.board(&ship{name: "heir", origin: 2})
		f.nodes = []*ship{owner, heir}
		for _, s := range f.nodes { // all have the seeds, and tell of them
			s.tell()
		}
		for part := range fleetParts {
			owner.adopt(part)
		}
		tell := func() {
			for owner.commit(); len(owner.outbox) > 0; owner.commit() {
				owner.post(false)
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			owner.read(rapid.IntRange(0, fleetParts-1).Draw(t, "part"))
			owner.fetch()
			if rapid.Bool().Draw(t, "told") {
				tell()
			}
			heir.read(rapid.IntRange(0, fleetParts-1).Draw(t, "read"))
		}
		owner.settle() // rows that were handed on come back
		for part := range fleetParts {
			heir.read(part)
			if got, want := heir.copy(part), owner.copy(part); !maps.Equal(got, want) {
				t.Fatalf("of partition %d the standby has\n%v\nand the owner\n%v", part, got, want)
			}
		}
		if n := heir.l.Totals(); n.Seen != 0 || n.Queued != 0 || heir.l.Waiting() != 0 || len(heir.queued) != 0 || len(heir.outbox) != 0 {
			t.Fatalf("a standby counts %d pages, %d queued, and has %d parcels to send", n.Seen, n.Queued, len(heir.outbox))
		}
		before := owner.l.Totals()
		if before.Seen != before.Queued+before.Ended() {
			t.Fatalf("the owner counts %+v", before)
		}
		for part := range fleetParts {
			owner.disown(part)
			heir.adopt(part)
		}
		if after := heir.l.Totals(); f.keys.Scheme().Second == overlay.Stay && after.Seen != before.Seen || after.Queued != before.Queued {
			t.Fatalf("the heir counts %d pages, %d queued; the owner had %d, %d", after.Seen, after.Queued, before.Seen, before.Queued)
		}
		if got, want := len(heir.queued), int(before.Queued); got != want {
			t.Fatalf("the heir has %d pages to fetch, the owner had %d", got, want)
		}
		for {
			for heir.commit(); len(heir.outbox) > 0; heir.commit() {
				heir.post(false)
			}
			for part := range fleetParts {
				heir.read(part)
			}
			if len(heir.queued) == 0 && len(heir.outbox) == 0 {
				break
			}
			heir.fetch()
		}
		for _, u := range all {
			if f.asked[u] != 1 {
				t.Fatalf("%s was fetched %d times", u, f.asked[u])
			}
		}
	})
}
