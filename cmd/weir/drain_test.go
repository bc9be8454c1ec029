package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/overlay"
)

// The last node has left when nobody listens any more, and not when an answer fails.
func TestDrainOfTheLastNode(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca")
	if err := cluster.InitCA(ca); err != nil {
		t.Fatal(err)
	}
	certs, err := cluster.Issue(ca, "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan struct{}) // closed before the listener is
	go func() {
		for range 2 {
			if conn, err := ln.Accept(); err == nil {
				conn.Close()
			}
		}
		close(failed)
		ln.Close()
	}()
	cl, err := cluster.Dial(ln.Addr().String(), certs)
	if err != nil {
		t.Fatal(err)
	}
	c := &drainCmd{Name: "a"}
	left, err := c.watch(t.Context(), nil, cl, &fleetStatus{Nodes: []nodeStatus{{Name: "a", State: "crawling"}}})
	if !left || err != nil {
		t.Fatalf("left: %v, %v", left, err)
	}
	select {
	case <-failed:
	default:
		t.Error("it counts as gone while it listens")
		ln.Close()
	}
}

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

// A node that hands over waits for others that get on with it, however slowly, and not
// for ever for others that cannot.
func TestHandingOver(t *testing.T) {
	var h handing
	at := time.Unix(1000, 0)
	after := func(d time.Duration, m overlay.Status, flying, want int) {
		t.Helper()
		at = at.Add(d)
		if got := h.look(at, m, flying); got != want {
			t.Fatalf("after %v: %d, want %d", at.Sub(time.Unix(1000, 0)), got, want)
		}
	}
	giving := func(n int) overlay.Status {
		m := overlay.Status{Parts: make([]overlay.PartStatus, overlay.Parts)}
		for i := range n {
			m.Parts[i].Phase = "giving"
		}
		return m
	}
	after(0, giving(80), 0, handWell)
	for n := 79; n > 70; n-- {
		after(handWarn-time.Second, giving(n), 0, handWell)
	}
	after(handEnd*2, giving(71), 1, handWell) // a page takes its time
	after(handWarn-time.Second, giving(71), 0, handWell)
	after(time.Second, giving(71), 0, handWaits)
	after(handEnd-handWarn-time.Second, giving(71), 0, handWell)
	after(time.Second, giving(71), 0, handStuck)

	// One that nobody hears goes on with what it has.
	h = handing{}
	owning := func(n int) overlay.Status {
		m := giving(0)
		for i := range 70 {
			m.Parts[i].Phase = "owned"
		}
		m.Owned, m.Parcels, m.Unacked = 70, n, n
		return m
	}
	after(0, owning(1), 3, handWell)
	after(handWarn, owning(2), 5, handWaits)
	after(handEnd-handWarn, owning(3), 1, handStuck)
}
