package mesh

import (
	"testing"
	"time"

	"weir/page"
)

func minutes(n float64) page.Time { return page.Time(float64(n) * float64(time.Minute)) }

func (w *World) report(t *testing.T) {
	t.Helper()
	for _, f := range w.faults {
		t.Error(f)
	}
}

// Three nodes crawl everything, each page once, and know when they are through.
func TestThreeNodes(t *testing.T) {
	w := NewWorld(Setting{Seed: 1, Parts: 32, Pages: 1000, Fetch: 200 * time.Millisecond}, 3)
	w.nodes[0].seed(0)
	if !w.Net.Run(minutes(5), w.finished) {
		t.Fatal("the crawl does not end")
	}
	w.report(t)
	if w.again != 0 {
		t.Errorf("%d pages were fetched again", w.again)
	}
	t.Logf("after %v, %d adoptions", time.Duration(w.Net.Now()), w.Moves)
}
