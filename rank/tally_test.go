package rank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// exact is the scores by their definition, in float64.
func exact(g Graph, fetched, known []bool, damping float64) []float64 {
	scores := make([]float64, g.Pages())
	for change := 1.0; change > 1e-12; {
		next := make([]float64, len(scores))
		change = 0
		for p := range next {
			if known[p] {
				next[p]++
			}
			links := g.Adj[g.Off[p]:g.Off[p+1]]
			for _, q := range links {
				if fetched[p] {
					next[q] += damping * scores[p] / float64(len(links))
				}
			}
		}
		change = distance(next, scores)
		scores = next
	}
	return scores
}

// A crawl uncovers a web in any order, asks for scores now and then, and is told
// of every page whose score has grown by a step: once, and in time.
func TestTallyFollowsACrawl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _, _ := draw(t, 1)
		n := g.Pages()
		growth := Growth{
			Damping: rapid.Float64Range(0.05, 0.95).Draw(t, "damping"),
			Slack:   rapid.SampledFrom([]float64{0.5, 0.1, 0.01, 1e-6}).Draw(t, "slack"),
			Step:    rapid.SampledFrom([]float64{1.0001, 1.3, 10}).Draw(t, "step"),
		}
		tally := NewTally(g, growth)
		fetched, known := make([]bool, n), make([]bool, n)
		told := make([]float64, n)
		page := rapid.Custom(func(t *rapid.T) uint32 { return uint32(rapid.IntRange(0, n-1).Draw(t, "page")) })
		t.Repeat(map[string]func(*rapid.T){
			"know": func(t *rapid.T) {
				p := page.Draw(t, "page")
				known[p] = true
				tally.Know(p)
			},
			"fetch": func(t *rapid.T) {
				p := page.Draw(t, "page")
				fetched[p], known[p] = true, true
				for _, q := range g.Adj[g.Off[p]:g.Off[p+1]] {
					known[q] = true
				}
				tally.Fetch(p)
			},
			"settle": func(t *rapid.T) {
				tally.Settle()
				want := exact(g, fetched, known, growth.Damping)
				missing, sum, pages := 0.0, 0.0, 0
				for p := range n {
					got := tally.Score(uint32(p))
					if (got > 0) != known[p] || got > want[p]*(1+1e-5) {
						t.Fatalf("page %d scores %v of %v, known: %v", p, got, want[p], known[p])
					}
					missing += want[p] - got
					sum += want[p]
					if known[p] {
						pages++
					}
				}
				if may := sum * growth.Slack * growth.Damping / (1 - growth.Damping); missing > may+1e-5*sum {
					t.Fatalf("%v of %v is missing, and %v may be", missing, sum, may)
				}
				if tally.Known() != pages {
					t.Fatalf("%d of %d pages are known", tally.Known(), pages)
				}
			},
			"tell": func(t *rapid.T) {
				most := rapid.IntRange(1, 2*n).Draw(t, "most")
				for p, score := range tally.Grown() {
					if fetched[p] || score != tally.Score(p) || score < told[p]*growth.Step*(1-1e-6) {
						t.Fatalf("page %d is told with %v, after %v; it is fetched: %v", p, score, told[p], fetched[p])
					}
					told[p] = score
					if most--; most == 0 {
						return
					}
				}
				for p := range n {
					if got := tally.Score(uint32(p)); !fetched[p] && got > told[p]*growth.Step*(1+1e-6) {
						t.Fatalf("page %d scores %v, and was last told with %v", p, got, told[p])
					}
				}
			},
		})
	})
}

func TestTallyGivesTheSameBits(t *testing.T) {
	g := chile(20_000, 200_000)
	crawl := func() (scores []float64) {
		tally := NewTally(g, Growth{})
		for i := range g.Pages() {
			tally.Fetch(uint32(i * 7919 % g.Pages()))
			if i%1000 == 0 {
				tally.Settle()
				for _, score := range tally.Grown() {
					scores = append(scores, score)
				}
			}
		}
		return scores
	}
	if !slices.Equal(crawl(), crawl()) {
		t.Error("the same crawl gives other scores")
	}
}

// When all is fetched, scores order pages as PageRank does but for a few per cent.
func TestTallyEndsAtPageRank(t *testing.T) {
	g := chile(20_000, 200_000)
	n := g.Pages()
	tally := NewTally(g, Growth{})
	passed, sum := 0, 0.0
	for i := range n {
		tally.Fetch(uint32(i * 7919 % n))
		if i%100 == 99 {
			passed += tally.Settle()
		}
	}
	passed += tally.Settle()
	for p := range n {
		sum += tally.Score(uint32(p))
	}
	off := 0.0
	for p, want := range textbook(g, nil, nil, .85) {
		off += math.Abs(tally.Score(uint32(p))/sum - want)
	}
	if off > 0.02 {
		t.Errorf("ranks are %v off in all", off)
	}
	if most := 15 * len(g.Adj); passed > most {
		t.Errorf("200 rankings of a growing web took %d links, at most %d are fair", passed, most)
	}
}

func TestNonsenseIsNotTallied(t *testing.T) {
	for _, growth := range []Growth{{Damping: 1}, {Damping: -1}, {Slack: -1}, {Slack: math.NaN()}, {Step: 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was taken", growth)
				}
			}()
			NewTally(Graph{}, growth)
		}()
	}
	if NewTally(Graph{}, Growth{}).Settle() != 0 {
		t.Error("an empty web took links")
	}
}
