package rank

import (
	"math"
	"math/rand/v2"
	"testing"
)

// chile is a web like the Chilean one of 2002 in what costs time: its number of
// pages and links, sites whose sizes follow a power law, and how many links stay
// near. Nine tenths of the pages have links.
func chile(pages, links int) Graph {
	rnd := rand.New(rand.NewPCG(1, 2))
	g := Graph{Off: make([]uint32, 1, pages+1), Adj: make([]uint32, 0, links+links/8)}
	var home, size []int
	for n := 0; n < pages; {
		s := min(int(math.Pow(1-rnd.Float64(), -1/0.65)), 25000, pages-n)
		home, size = append(home, n), append(size, s)
		n += s
	}
	mean := float64(links) / float64(pages) / 0.9
	for s, h := range home {
		for i := range size[s] {
			if rnd.IntN(10) > 0 {
				for k := int(rnd.ExpFloat64()*mean + 0.5); k > 0; k-- {
					g.Adj = append(g.Adj, uint32(target(rnd, home, size, h, size[s], i)))
				}
			}
			g.Off = append(g.Off, uint32(len(g.Adj)))
		}
	}
	return g
}

func target(rnd *rand.Rand, home, size []int, h, n, i int) int {
	switch u := rnd.IntN(100); {
	case u < 12: // to another site, most often its home page, and rather to a few
		s := int(float64(len(home)) * math.Pow(rnd.Float64(), 4))
		if rnd.IntN(10) < 7 {
			return home[s]
		}
		return home[s] + rnd.IntN(size[s])
	case u < 47:
		return h + rnd.IntN(min(n, 15))
	case u < 75:
		return h + min(max(i+rnd.IntN(41)-20, 0), n-1)
	default:
		return h + int(float64(n)*math.Pow(rnd.Float64(), 3))
	}
}

// BenchmarkPageRank ranks a web of the size that must take below 5 s on one core.
func BenchmarkPageRank(b *testing.B) {
	g := chile(3_500_000, 35_000_000)
	ranks := make([]float32, g.Pages())
	rounds := 0
	for b.Loop() {
		rounds = PageRank(g, nil, nil, ranks, Options{})
	}
	b.ReportMetric(float64(rounds), "rounds")
	b.ReportMetric(float64(len(g.Adj)), "links")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

// BenchmarkBuilder builds a web of the same size from names, and ranks it.
func BenchmarkBuilder(b *testing.B) {
	g := chile(3_500_000, 35_000_000)
	var targets []uint64
	links := func(visit func(uint64, []uint64)) error {
		for p := range g.Pages() {
			targets = targets[:0]
			for _, t := range g.Adj[g.Off[p]:g.Off[p+1]] {
				targets = append(targets, naming(int(t)))
			}
			visit(naming(p), targets)
		}
		return nil
	}
	b.ReportAllocs()
	for b.Loop() {
		web, err := Builder{Budget: 1 << 30, Seed: 1}.Build(links)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(need(int64(web.Pages()), int64(len(g.Adj))))/1e6, "MB-need")
		web.Rank(Options{})
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

// BenchmarkTally follows a whole crawl that takes known pages at random, which is
// the worst for the caches, and asks which scores have grown every 10,000 pages.
// The crawl itself is part of the time: it is what BenchmarkNoTally takes.
func BenchmarkTally(b *testing.B) {
	g := chile(3_500_000, 35_000_000)
	for b.Loop() {
		tally := NewTally(g, Growth{})
		links, told := 0, 0
		uncover(g, tally.Know, func(p uint32, n int) {
			tally.Fetch(p)
			if n%10_000 == 0 {
				links += tally.Settle()
				for range tally.Grown() {
					told++
				}
			}
		})
		b.ReportMetric(float64(links)/float64(len(g.Adj)), "passes")
		b.ReportMetric(float64(told)/float64(g.Pages()), "told/page")
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

func BenchmarkNoTally(b *testing.B) {
	g := chile(3_500_000, 35_000_000)
	for b.Loop() {
		uncover(g, func(uint32) {}, func(uint32, int) {})
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

// uncover crawls g from every seventieth page, one known page after the other.
func uncover(g Graph, seed func(p uint32), fetch func(p uint32, n int)) {
	rnd := rand.New(rand.NewPCG(5, 6))
	known := make([]bool, g.Pages())
	var queue []uint32
	for p := 0; p < g.Pages(); p += 70 {
		known[p] = true
		queue = append(queue, uint32(p))
		seed(uint32(p))
	}
	for n := 1; len(queue) > 0; n++ {
		i, last := rnd.IntN(len(queue)), len(queue)-1
		p := queue[i]
		queue[i] = queue[last]
		queue = queue[:last]
		for _, t := range g.Adj[g.Off[p]:g.Off[p+1]] {
			if !known[t] {
				known[t] = true
				queue = append(queue, t)
			}
		}
		fetch(p, n)
	}
}
