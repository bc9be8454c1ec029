package mesh

import (
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
)

// A node that has fetched much is cut off until others own what it had, and comes back
// to tell of it when these reach no log, though they keep their sessions: soon they order
// nothing, and ask for nothing then that they could have read of long before.
func TestLogsOutOfReach(t *testing.T) {
	stopped := 0
	for seed := range uint64(*seeds) {
		w := NewWorld(Setting{Seed: seed, Parts: 8, Pages: 600, Fetch: 2 * time.Second}, 3)
		ids := make([]int, w.Pages)
		for id := range ids {
			ids[id] = id
		}
		w.nodes[0].seed(ids...)
		w.Net.Run(page.Time(w.between(8*time.Second, 20*time.Second)), func() bool { return false })
		away := w.nodes[seed%3]
		away.port.Side(1)
		w.Net.Run(w.Net.Now().Add(w.between(25*time.Second, 40*time.Second)), func() bool { return false })
		for _, n := range w.nodes {
			for log := range overlay.Logs {
				if n != away {
					n.port.Block(log, 80*time.Second)
				}
			}
		}
		away.port.Side(0)
		w.Net.Run(w.Net.Now().Add(stale+time.Second), func() bool { return false })
		for _, n := range w.nodes {
			if n != away && n.clock() < n.m.Until() && n.queued+n.total == 0 {
				stopped++
			}
		}
		if !w.ends(t, minutes(20)) {
			break
		}
	}
	if stopped < 2**seeds {
		t.Errorf("%d nodes of %d had their sessions and ordered nothing", stopped, 2**seeds)
	}
}
