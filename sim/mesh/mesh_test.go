package mesh

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
)

func minutes(n float64) page.Time { return page.Time(float64(n) * float64(time.Minute)) }

func (w *World) report(t *testing.T) {
	t.Helper()
	for _, f := range w.faults {
		t.Error(f)
	}
}

// ends reports whether the crawl ends in time and nothing was wrong with it. Otherwise the
// test fails, and shows how things stand.
func (w *World) ends(t *testing.T, until page.Time) bool {
	t.Helper()
	ended := w.Net.Run(until, w.finished)
	if !ended {
		t.Errorf("seed %d: the crawl does not end", w.Seed)
	}
	for _, f := range w.faults {
		t.Errorf("seed %d: %s", w.Seed, f)
	}
	if ended && len(w.faults) == 0 {
		return true
	}
	w.dump(t)
	return false
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

var seeds = flag.Int("seeds", 100, "runs of each test with trouble; make mesh has more")

func trouble(seed uint64) Setting {
	much := []float64{0.01, 0, 0.1}
	return Setting{
		Seed: seed, Parts: 16, Pages: 500, Fetch: 2 * time.Second, Skew: 0.01, Limit: 1 << 20,
		Loss: much[seed%3], Late: much[seed/3%3], Slow: much[seed/9%3],
		Wanted: func(node int, now page.Time) float64 {
			return float64(mix(uint64(node)<<32|uint64(now/page.Time(20*time.Second))) % (1 << 20))
		},
	}
}

// troubled is a world in which whatever can go wrong does.
func troubled(seed uint64) *World {
	w := NewWorld(trouble(seed), 5)
	w.nodes[0].seed(0, 1, 2)
	w.Trouble(2*time.Minute, 8)
	return w
}

// Nodes crash, stop, are cut off, join and leave, one by one and all at once: every
// page is fetched, no host is asked by two of them, and they know when they are
// through, not a moment before.
func TestTrouble(t *testing.T) {
	again, longest := 0, time.Duration(0)
	for seed := range uint64(*seeds) {
		w := troubled(seed)
		ok := w.ends(t, minutes(20))
		again += w.again
		longest = max(longest, time.Duration(w.Net.Now()))
		if !ok {
			break
		}
	}
	t.Logf("%d pages of %d were fetched again, the longest crawl took %v", again, 500**seeds, longest)
}

// All nodes lose power again and again, and their logs what was not on disks yet:
// every page is fetched, and they know when they are through.
func TestOutages(t *testing.T) {
	for seed := range uint64(*seeds) {
		s := trouble(seed)
		s.Fetch = time.Second
		w := NewWorld(s, 4)
		w.nodes[0].seed(0, 1, 2)
		w.Outages(2 * time.Minute)
		if !w.ends(t, minutes(20)) {
			break
		}
	}
}

// Nodes that join and leave in peace cost nothing: no page is fetched twice.
func TestComeAndGo(t *testing.T) {
	for seed := range uint64(*seeds / 4) {
		w := NewWorld(Setting{Seed: seed, Parts: 16, Pages: 500, Fetch: time.Second, Skew: 0.01, Late: 0.05}, 3)
		w.nodes[0].seed(0, 1, 2)
		for i := range 10 {
			w.Net.After(time.Duration(i)*6*time.Second, func() {
				if i%2 == 0 {
					w.join()
				} else {
					w.drain(w.nodes[w.random.IntN(len(w.nodes))], 20*time.Second)
				}
			})
		}
		if !w.Net.Run(minutes(20), w.finished) {
			t.Fatalf("seed %d: the crawl does not end", seed)
		}
		w.report(t)
		if w.again != 0 {
			t.Errorf("seed %d: %d pages were fetched again", seed, w.again)
		}
	}
}

// The same seed gives the same run.
func TestSame(t *testing.T) {
	run := func() string {
		w := troubled(7)
		w.Net.Run(minutes(20), w.finished)
		return fmt.Sprint(w.Net.Now(), w.Net.Traffic, w.Moves, w.fetches)
	}
	if a, b := run(), run(); a != b {
		t.Errorf("%s\nand then\n%s", a, b)
	}
}

// A node that comes back when all is over reads what it has missed, and nothing that
// it knows; it fetches nothing that the others have fetched.
func TestBackAfterHours(t *testing.T) {
	w := NewWorld(Setting{Seed: 3, Parts: 32, Pages: 1000, Fetch: 200 * time.Millisecond}, 4)
	w.nodes[0].seed(0)
	w.Net.Run(page.Time(10*time.Second), func() bool { return false })
	away := w.nodes[3]
	away.crash()
	if !w.Net.Run(minutes(60), w.finished) {
		t.Fatal("the crawl does not end without it")
	}
	w.Net.Run(minutes(240), func() bool { return false })
	again, before := w.again, slices.Clone(away.disk.offsets)
	away.start()
	wait(t, w, "a node that comes back", func() bool { return away.quiet })
	w.report(t)
	if w.again != again {
		t.Errorf("%d pages were fetched again", w.again-again)
	}
	for p, epoch := range away.epochs {
		if log := w.Net.logs[p]; epoch != 0 && away.disk.offsets[p] != log[len(log)-1].offset {
			t.Errorf("partition %d was read from %d to %d", p, before[p], away.disk.offsets[p])
		}
	}
}

func (w *World) dump(t *testing.T) {
	for _, n := range w.nodes {
		m, ok := n.m.(*overlay.Member)
		if !ok {
			continue
		}
		st := m.Status()
		t.Logf("%v: alive %v paused %v left %v quiet %v load %+v group %d outbox %d held %v owned %d unacked %d teller %s peers %+v", n, n.alive(), n.paused, n.left, n.quiet, n.load(), len(n.group), len(n.disk.outbox), st.Held, st.Owned, st.Unacked, st.Teller, st.Peers)
		for p, x := range st.Parts {
			if !x.Alive || x.Phase != "" && x.Phase != "owned" {
				t.Logf("  %d %+v truly %+v", p, x, w.Net.owners[p])
			}
		}
	}
}
