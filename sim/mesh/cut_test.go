package mesh

import (
	"testing"
	"time"

	"weir/page"
)

// A node is cut off while all others lose power, and the logs their ends. When it is
// back it goes on with logs that say something else than it has read, the common one
// included: every page is fetched nevertheless.
func TestCutWhileAway(t *testing.T) {
	for seed := range uint64(*seeds) {
		w := NewWorld(Setting{Seed: seed, Parts: 8, Pages: 600, Fetch: 300 * time.Millisecond}, 4)
		w.nodes[0].seed(0)
		w.Net.Run(page.Time(8*time.Second), func() bool { return false })
		away := w.nodes[seed%4]
		away.port.Side(1)
		for _, n := range w.nodes {
			if n != away {
				w.kill(n, w.between(0, time.Second))
			}
		}
		w.Net.Lose(time.Second)
		w.Net.After(w.between(15*time.Second, 30*time.Second), func() { away.port.Side(0) })
		if !w.ends(t, minutes(10)) {
			break
		}
	}
}
