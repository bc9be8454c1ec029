package crawl

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/overlay"
)

// TestRestsAreInherited: where the pages of a host are spread, the owner of its own
// partition grants leases of it. Whoever takes that over knows for how long the host
// rests, though it has no page of it, and how much of the partition was fetched.
func TestRestsAreInherited(t *testing.T) {
	plan, err := ScopeConfig{Scope: "any", Depth: -1}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) { // for the fleet's sake; nothing is drawn
		f := newFleet(t, plan, false)
		f.keys = overlay.NewKeys(mustScheme("url"), fleetParts)
		f.crew(2)
		a, b := f.nodes[0], f.nodes[1]
		part := f.keys.HostPart("slow.test")
		a.l.Host("slow.test", frontier.HostState{Failures: 1, Rest: time.Hour})
		a.tell()
		b.read(part)
		b.l.share.stakes.of(part).fetched = 7
		for _, s := range []*ship{b, a} { // who has read of it, and who has said it
			ev, err := s.l.Adopt(part, 2)
			s.must(err)
			if len(ev.Hosts) != 1 || ev.Hosts[0].Host != "slow.test" || ev.Hosts[0].State.Rest <= 50*time.Minute {
				t.Fatalf("%s knows of its hosts: %+v", s.name, ev.Hosts)
			}
		}
		if n := b.l.share.stakes.of(part).fetched; n != 7 {
			t.Fatalf("%d pages of the partition were fetched, not 7", n)
		}
	})
}
