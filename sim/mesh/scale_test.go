package mesh

import (
	"fmt"
	"testing"
	"time"

	"weir/overlay"
)

// wait lets time pass until something is true, and tells how long it took.
func wait(t testing.TB, w *World, what string, done func() bool) time.Duration {
	t.Helper()
	d, err := w.until(what, done)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func on() bool { return true }

// The partitions of a node that has crashed are crawled again within 30 seconds of
// its last renewal, and a node that joins has its share within 30 seconds.
func TestRebalance(t *testing.T) {
	for _, nodes := range []int{3, 10, 100} {
		g, err := Grow(1, nodes, overlay.Parts, on)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", g)
		if limit := 30 * time.Second; g.Crash > limit || g.Join > limit {
			t.Errorf("%d nodes: %v after a crash, %v after a join", nodes, g.Crash, g.Join)
		}
		if g.Words > 12 || g.Busiest > overlay.Parts/nodes+1 {
			t.Errorf("%d nodes: each hears %.1f words a second, one owns %d partitions", nodes, g.Words, g.Busiest)
		}
	}
}

// How it goes with many nodes; go test -bench Rebalance -benchtime 1x.
func BenchmarkRebalance(b *testing.B) {
	for _, x := range []struct{ nodes, parts int }{{3, 256}, {10, 256}, {100, 256}, {1000, 256}, {1000, 4096}, {10_000, 256}} {
		b.Run(fmt.Sprintf("nodes=%d/parts=%d", x.nodes, x.parts), func(b *testing.B) {
			for range b.N {
				g, err := Grow(1, x.nodes, x.parts, on)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(g.Start.Seconds(), "s-start")
				b.ReportMetric(g.Crash.Seconds(), "s-crash")
				b.ReportMetric(g.Join.Seconds(), "s-join")
				b.ReportMetric(g.Words, "words/s/node")
				b.ReportMetric(g.Bytes, "B/s/node")
				b.ReportMetric(g.Teller, "words/s/teller")
				b.ReportMetric(float64(g.Moved), "moved")
			}
		})
	}
}
