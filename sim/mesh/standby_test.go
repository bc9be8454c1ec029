package mesh

import (
	"slices"
	"testing"
	"time"

	"weir/page"
)

// Every partition has a standby that has read its log while others crawl. When the
// owner dies the standby takes it, and all that is left to read is the end.
func TestStandby(t *testing.T) {
	w := NewWorld(Setting{Seed: 5, Parts: 32, Pages: 3000, Fetch: 300 * time.Millisecond}, 4)
	w.nodes[0].seed(0)
	wait(t, w, "the start", w.placed)
	heirs := func() (n int) {
		for p, log := range w.Net.logs[:w.Parts] {
			if h := w.byName(w.shared.Next(p)); len(log) > 0 && h.disk.offsets[p] == log[len(log)-1].offset {
				n++
			}
		}
		return n
	}
	wait(t, w, "standing by", func() bool { return heirs() == w.Parts })

	dead := w.nodes[2]
	var parts []int
	heir := make([]*node, w.Parts)
	read := make([]uint64, w.Parts)
	for p, o := range w.Net.owners {
		if o.Node == dead.name {
			parts = append(parts, p)
			heir[p] = w.byName(w.shared.Next(p))
			read[p] = heir[p].disk.offsets[p]
		}
	}
	length := make([]int, w.Parts)
	for p := range length {
		length[p] = len(w.Net.logs[p])
	}
	dead.crash()
	took := wait(t, w, "a crash", func() bool {
		return !slices.ContainsFunc(parts, func(p int) bool { return heir[p].epochs[p] == 0 })
	})
	for _, p := range parts {
		if read[p] < w.Net.logs[p][length[p]-2].offset {
			t.Errorf("the standby of partition %d had read up to %d of %d", p, read[p], w.Net.logs[p][length[p]-1].offset)
		}
	}
	if len(parts) == 0 || took > 22*time.Second {
		t.Errorf("%d partitions after %v", len(parts), took)
	}
	if !w.Net.Run(w.Net.Now()+minutes(20), w.finished) {
		t.Fatal("the crawl does not end")
	}
	w.Net.Run(w.Net.Now()+page.Time(time.Minute), func() bool { return false })
	if n := heirs(); n != w.Parts {
		t.Errorf("%d of %d partitions have standbys in the end", n, w.Parts)
	}
	w.report(t)
}
