package main

import "testing"

// Whoever sends a node away is told when the others cannot go on without it.
func TestDrainOfANodeThatIsNeeded(t *testing.T) {
	fleet := func(states ...string) *fleetStatus {
		f := new(fleetStatus)
		var peers []peerAt
		for i, state := range states {
			name := string(rune('a' + i))
			peers = append(peers, peerAt{Name: name, Storage: i < 3})
			f.Nodes = append(f.Nodes, nodeStatus{Name: name, State: state})
		}
		for i, state := range states {
			if state != "gone" && state != "silent" {
				f.Nodes[i].Peers = peers
			}
		}
		return f
	}
	for _, c := range []struct {
		what   string
		fleet  *fleetStatus
		node   string
		needed bool
	}{
		{"all are here", fleet("crawling", "crawling", "crawling"), "c", false},
		{"one is gone", fleet("gone", "crawling", "crawling"), "c", true},
		{"one does not answer", fleet("silent", "quiet", "quiet"), "b", true},
		{"it stores nothing", fleet("gone", "quiet", "quiet", "quiet"), "d", false},
		{"others store nothing", fleet("crawling", "crawling", "gone", "crawling"), "a", true},
	} {
		if got := c.fleet.pivotal(c.node); got != c.needed {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
