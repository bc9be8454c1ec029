package mesh

import (
	"testing"
	"time"

	"weir/overlay"
)

// Three nodes that should fetch so many pages together fetch these and none above but
// for what rounding gives each, however fast they are and however little each has to do.
func TestEnough(t *testing.T) {
	for _, fetch := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 2 * time.Second} {
		for _, enough := range []int{1, 10, 100, 700} {
			w := NewWorld(Setting{Seed: uint64(enough), Parts: 32, Pages: 3000, Fetch: fetch, Enough: enough}, 3)
			w.nodes[0].seed(0)
			if !w.Net.Run(minutes(30), w.full) {
				t.Fatalf("%d pages of %v: the crawl does not end; %d", enough, fetch, w.ended())
			}
			w.report(t)
			pages := w.ended()
			if pages != enough {
				t.Errorf("%d pages were fetched, and %d are enough", pages, enough)
			}
			t.Logf("%d pages of %v: %d after %v", enough, fetch, pages, time.Duration(w.Net.Now()))
		}
	}
}

// Of bytes they fetch as many as they should, and above that no more than the pages that
// all have under way when it is enough.
func TestEnoughBytes(t *testing.T) {
	for _, fetch := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 2 * time.Second} {
		for _, heavy := range []int64{1, 10_000, 300_000} {
			w := NewWorld(Setting{Seed: uint64(heavy), Parts: 32, Pages: 3000, Fetch: fetch, Heavy: heavy}, 3)
			w.nodes[0].seed(0)
			if !w.Net.Run(minutes(30), w.full) {
				t.Fatalf("%d bytes of %v: the crawl does not end; %d", heavy, fetch, w.weight())
			}
			w.report(t)
			bytes, flying := w.weight(), int64(3*workers*(100+maxSize))
			if bytes < heavy || bytes >= heavy+flying {
				t.Errorf("%d bytes were fetched, and %d are enough", bytes, heavy)
			}
			t.Logf("%d bytes of %v: %d after %v", heavy, fetch, bytes, time.Duration(w.Net.Now()))
		}
	}
}

// Partitions move all the time, and nodes come, go and die: none of that has them end
// with less than they should fetch. More is fetched only of what nodes have that died before
// they could tell.
func TestEnoughInTrouble(t *testing.T) {
	t.Run("pages", func(t *testing.T) { enoughInTrouble(t, 250, 0) })
	t.Run("bytes", func(t *testing.T) { enoughInTrouble(t, 0, 130_000) })
	t.Run("both", func(t *testing.T) { enoughInTrouble(t, 250, 130_000) })
}

func enoughInTrouble(t *testing.T, enough int, heavy int64) {
	most := 0
	for seed := range uint64(*seeds / 4) {
		s := trouble(seed)
		s.Fetch, s.Enough, s.Heavy, s.Pages = 500*time.Millisecond, enough, heavy, 2000
		w := NewWorld(s, 4)
		w.nodes[0].seed(0, 1, 2)
		untold := 0
		for i := range 12 {
			w.Net.After(time.Duration(i)*4*time.Second, func() {
				n := w.nodes[w.random.IntN(len(w.nodes))]
				switch i % 3 {
				case 0:
					w.drain(n, 5*time.Second)
				case 1:
					untold += n.untold()
					w.kill(n, w.between(time.Second, 40*time.Second))
				default:
					w.join()
				}
			})
		}
		if !w.Net.Run(minutes(20), w.full) {
			t.Errorf("seed %d: the crawl does not end; %d", seed, w.ended())
		}
		for _, f := range w.faults {
			t.Errorf("seed %d: %s", seed, f)
		}
		pages := w.ended()
		over := int64((untold + workers*len(w.nodes)) * (100 + maxSize))
		if bytes := w.weight(); heavy > 0 && enough == 0 && bytes > heavy+over {
			t.Errorf("seed %d: %d bytes were fetched, %d are enough", seed, bytes, heavy)
		}
		if most = max(most, pages); enough > 0 && pages > s.Enough+untold {
			t.Errorf("seed %d: %d pages were fetched, %d are enough, and nodes had %d when they died that they had not told of", seed, pages, s.Enough, untold)
		}
		if t.Failed() {
			w.dump(t)
			break
		}
	}
	t.Logf("at most %d pages, where %d are enough", most, enough)
}

// untold counts the pages that the node has fetched and of which others may not have
// heard.
func (n *node) untold() (pages int) {
	if !n.alive() {
		return 0
	}
	for _, p := range n.disk.outbox {
		pages += len(p.Ended)
	}
	return pages + len(n.group)
}

// A node that was cut off tells late of pages which others have begun meanwhile, and these
// fetch them once more. They are not under way for ever, and the crawl ends.
func TestEnoughWithPagesFetchedTwice(t *testing.T) {
	twice := int64(0)
	for seed := range uint64(20) {
		w := NewWorld(Setting{Seed: seed, Parts: 16, Pages: 3000, Fetch: 8 * time.Second, Enough: 120}, 3)
		w.nodes[0].seed(0, 1, 2)
		for i, n := range w.nodes {
			at := time.Duration(20+60*i) * time.Second
			w.Net.After(at, func() { n.port.Cut(true, true) })
			w.Net.After(at+w.between(overlay.TTL, overlay.TTL+15*time.Second), func() { n.port.Cut(false, false) })
		}
		if !w.Net.Run(minutes(30), w.full) {
			t.Errorf("seed %d: the crawl does not end; %d", seed, w.ended())
		}
		w.report(t)
		for _, n := range w.nodes {
			twice += n.twice
		}
	}
	if twice == 0 {
		t.Error("no page was fetched twice: this tests nothing")
	}
	t.Logf("%d pages were fetched twice", twice)
}
