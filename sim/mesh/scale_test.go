package mesh

import (
	"fmt"
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
)

// wait lets time pass until something is true, and tells how long it took.
func (w *World) wait(t testing.TB, what string, done func() bool) time.Duration {
	t.Helper()
	from := w.Net.Now()
	for at := from; !done(); {
		if at = at.Add(50 * time.Millisecond); at.Sub(from) > 5*time.Minute {
			t.Fatalf("%d nodes: %s takes too long", len(w.nodes), what)
		}
		w.Net.Run(at, func() bool { return false })
	}
	return w.Net.Now().Sub(from)
}

// rebalance measures how long it takes until all partitions have owners at first,
// after a crash, and after a node has joined; and what they say meanwhile.
func rebalance(t testing.TB, nodes, parts int) (boot, crash, join time.Duration, perNode float64) {
	w := NewWorld(Setting{
		Seed: 1, Parts: parts, Skew: 0.01,
		Wanted: func(node int, now page.Time) float64 { return float64(mix(uint64(node)^uint64(now)) % 1e6) }, // they are busy
	}, nodes)
	boot = w.wait(t, "the start", w.placed)

	// Every node tells all others of its load once in a tenth of a second for each.
	before, span := w.Net.Traffic, time.Duration(min(max(2*nodes/10, 20), 200))*time.Second
	w.Net.Run(w.Net.Now().Add(span), func() bool { return false })
	perNode = float64(w.Net.Traffic.Bytes-before.Bytes) / span.Seconds() / float64(nodes)

	w.byName(w.Net.owners[parts/2].Node).crash()
	crash = w.wait(t, "a crash", w.placed)

	n := w.join()
	join = w.wait(t, "a join", func() bool { return n.m.Until() > 0 && len(w.sharing) == nodes && w.placed() })
	return boot, crash, join, perNode
}

// placed reports whether all partitions are where they belong.
func (w *World) placed() bool {
	for _, p := range w.sharing {
		if p.Draining {
			return false // it has not heard an answer yet
		}
	}
	if !w.settled() {
		return false
	}
	for p, o := range w.Net.owners {
		if w.shared.Of(p) != o.Node {
			return false
		}
	}
	return true
}

// The partitions of a node that has crashed are crawled again within 30 seconds of
// its last renewal, and a node that joins has its share within 30 seconds.
func TestRebalance(t *testing.T) {
	for _, nodes := range []int{3, 10, 100} {
		boot, crash, join, bytes := rebalance(t, nodes, overlay.Parts)
		t.Logf("%d nodes: %v to start, %v after a crash, %v after a join; %.0f bytes of gossip a second for each", nodes, boot, crash, join, bytes)
		if limit := 30 * time.Second; crash > limit || join > limit {
			t.Errorf("%d nodes: %v after a crash, %v after a join", nodes, crash, join)
		}
	}
}

// How it goes with many nodes; go test -bench Rebalance -benchtime 1x.
func BenchmarkRebalance(b *testing.B) {
	for _, x := range []struct{ nodes, parts int }{{10, 256}, {100, 256}, {1000, 256}, {1000, 4096}, {10_000, 256}} {
		b.Run(fmt.Sprintf("nodes=%d/parts=%d", x.nodes, x.parts), func(b *testing.B) {
			for range b.N {
				boot, crash, join, bytes := rebalance(b, x.nodes, x.parts)
				b.ReportMetric(boot.Seconds(), "s-boot")
				b.ReportMetric(crash.Seconds(), "s-crash")
				b.ReportMetric(join.Seconds(), "s-join")
				b.ReportMetric(bytes, "gossip-B/s/node")
			}
		})
	}
}
