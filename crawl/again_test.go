package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/page"
)

// tangle is a web of one host in which page 0 is the seed.
type tangle [][]int

func newTangle(seed uint64, pages int) tangle {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := make(tangle, pages)
	for i := range w {
		if i+1 < pages { // a long way round to everything
			w[i] = append(w[i], i+1)
		}
		for range rng.IntN(3) {
			w[i] = append(w[i], rng.IntN(pages))
		}
	}
	return w
}

func (w tangle) url(i int) string { return fmt.Sprintf("http://a.example/%d", i) }

// depths are the fewest links from the seed to every page, by breadth.
func (w tangle) depths() []int {
	d := slices.Repeat([]int{-1}, len(w))
	d[0] = 0
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, to := range w[queue[0]] {
			if d[to] < 0 {
				d[to] = d[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	return d
}

// play crawls the tangle deepest pages first, which is the worst there is for a
// bound on the depth.
func (w tangle) play(t testing.TB, depth int) *play {
	p := newPlay(t, w.url(0))
	p.scope.Depth = depth
	p.cfg.Order = "score"
	p.scores = map[string]float32{w.url(0): 1}
	p.facts = func(f *page.Facts) {
		var i int
		fmt.Sscanf(f.URL.String(), "http://a.example/%d", &i)
		f.Score = float32(f.Depth) + 2 // what is found here goes before what waits
		for _, to := range w[i] {
			f.Links = append(f.Links, link(w.url(to)))
		}
	}
	return p
}

// Whatever the order, a crawl to depth 4 has every page that four links lead to,
// each with its least depth.
func TestDepthIsTheLeast(t *testing.T) {
	missed := 0
	for seed := range uint64(40) {
		w := newTangle(seed, 60)
		want := w.depths()
		for _, c := range []struct{ bare, deaf bool }{{}, {bare: true}, {deaf: true}} {
			p := w.play(t, 4)
			p.bare, p.deaf = c.bare, c.deaf
			if got := p.run(); got != StopDone {
				t.Fatalf("seed %d: stopped by %s", seed, got)
			}
			wrong := 0
			for i := range w {
				info := p.page(w.url(i))
				if (info.State == "ended") != (want[i] <= 4) || info.State == "ended" && info.Depth != want[i] {
					wrong++
				}
			}
			if c.deaf {
				missed += wrong
			} else if wrong > 0 {
				t.Errorf("seed %d, without an archive %v: %d of %d pages are missing, or have another depth", seed, c.bare, wrong, len(w))
			}
			if tot := p.totals(); tot.Due != 0 {
				t.Errorf("seed %d: %d pages are still due at the end", seed, tot.Due)
			}
		}
	}
	if missed == 0 {
		t.Error("without a second delivery nothing was missed: this test shows nothing")
	}
}

// A crawl that is stopped every few pages still ends with the least depths: what
// is due is as durable as what waits.
func TestDepthIsTheLeastAfterStops(t *testing.T) {
	for seed := range uint64(20) {
		w := newTangle(seed, 60)
		want := w.depths()
		p := w.play(t, 4)
		p.bare = seed%2 == 1
		for n := int64(3); ; n += 3 {
			p.cfg.MaxPages = n
			stop := p.run()
			p.resume = true
			if stop == StopDone {
				break
			}
			if n > 100 {
				t.Fatalf("seed %d: it does not end", seed)
			}
		}
		for i := range w {
			if info := p.page(w.url(i)); (info.State == "ended") != (want[i] <= 4) || info.State == "ended" && info.Depth != want[i] {
				t.Errorf("seed %d: page %d is %s at depth %d, want depth %d", seed, i, info.State, info.Depth, want[i])
			}
		}
	}
}
