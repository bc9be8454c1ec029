package web

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/rank"
)

// SizeCount says how many sites have so many pages.
type SizeCount struct{ Pages, Sites int }

// Sizes is the distribution of pages over sites, smallest sites first:
// Castillo's figure 6.3.
func (w *Web) Sizes() []SizeCount {
	size := make([]int, len(w.Sites))
	for s := range size {
		size[s] = int(w.First[s+1] - w.First[s])
	}
	slices.Sort(size)
	var out []SizeCount
	for i, n := range size {
		if i == 0 || n != size[i-1] {
			out = append(out, SizeCount{Pages: n})
		}
		out[len(out)-1].Sites++
	}
	return out
}

// Unreached is the depth of pages that no seed leads to.
const Unreached = math.MaxUint32

// Depths returns how many links lead from the nearest seed to each page, or
// Unreached.
func (w *Web) Depths() []uint32 {
	depth := make([]uint32, w.Pages())
	for p := range depth {
		depth[p] = Unreached
	}
	var queue []uint32
	for _, p := range w.Starts() {
		depth[p] = 0
		queue = append(queue, p)
	}
	for at := uint32(1); len(queue) > 0; at++ {
		var next []uint32
		for _, p := range queue {
			for _, t := range w.Out(p) {
				if depth[t] == Unreached {
					depth[t] = at
					next = append(next, t)
				}
			}
		}
		queue = next
	}
	return depth
}

// Ranks computes the PageRank of every page over the whole web, Castillo's
// oracle. They sum to 1. It takes seconds on a large web: keep them.
func (w *Web) Ranks() []float32 {
	ranks := make([]float32, w.Pages())
	rank.PageRank(rank.Graph{Off: w.Off, Adj: w.Adj}, nil, nil, ranks, rank.Options{Tolerance: 1e-6})
	return ranks
}

// InDegrees returns the number of links that lead to each page.
func (w *Web) InDegrees() []uint32 {
	in := make([]uint32, w.Pages())
	for _, t := range w.Adj {
		in[t]++
	}
	return in
}

// OutDegrees returns the number of links of each page.
func (w *Web) OutDegrees() []uint32 {
	out := make([]uint32, w.Pages())
	for p := range out {
		out[p] = w.Off[p+1] - w.Off[p]
	}
	return out
}

// Exponent estimates a in "n is as frequent as n^-a" from the values of at
// least least, by maximum likelihood with the correction for whole numbers of
// Clauset, Shalizi and Newman (2009), equation 3.7. It is NaN when there are
// none.
func Exponent(values []uint32, least uint32) float64 {
	n, sum := 0, 0.0
	for _, v := range values {
		if v >= least {
			n++
			sum += math.Log(float64(v) / (float64(least) - 0.5))
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return 1 + float64(n)/sum
}

// Facts are what a web measures, to hold against the Shape it was made from
// or against another web.
type Facts struct {
	Pages, Sites, Links int
	Bytes               float64
	Largest             int     // pages of the largest site
	AtLargest           int     // sites of that size
	SiteExponent        float64 // of pages a site, from 10 pages on, below the largest
	Out                 float64 // mean number of links
	OutExponent         float64 // from 20 links on
	InExponent          float64 // from 20 links on
	InMost              uint32  // links to the most popular page
	Dangling            float64 // share of pages without links
	Away                float64 // share of links that leave their site
	Isolated            float64 // share of sites without links from or to others
	IsolatedPages       float64 // share of pages on them
	Reached             float64 // share of pages that the seeds lead to
	MeanDepth           float64 // of those
	MaxDepth            int
}

// Measure counts what there is to count.
func (w *Web) Measure() Facts {
	f := Facts{Pages: w.Pages(), Sites: len(w.Sites), Links: w.Links(), Bytes: w.Bytes()}
	sizes := w.Sizes()
	last := sizes[len(sizes)-1]
	f.Largest, f.AtLargest = last.Pages, last.Sites
	f.SiteExponent = censored(sizes, 10)

	out, in := w.OutDegrees(), w.InDegrees()
	pages := float64(f.Pages)
	f.Out = float64(f.Links) / pages
	f.OutExponent, f.InExponent = Exponent(out, 20), Exponent(in, 20)
	f.InMost = slices.Max(in)

	tied := make([]bool, f.Sites)
	away, dangling := 0, 0
	for p := range uint32(f.Pages) {
		if out[p] == 0 {
			dangling++
		}
		s := w.SiteOf[p]
		for _, t := range w.Out(p) {
			if to := w.SiteOf[t]; to != s {
				tied[s], tied[to] = true, true
				away++
			}
		}
	}
	f.Dangling = float64(dangling) / pages
	f.Away = float64(away) / float64(max(f.Links, 1))
	for s, t := range tied {
		if !t {
			f.Isolated += 1 / float64(f.Sites)
			f.IsolatedPages += float64(w.First[s+1]-w.First[s]) / pages
		}
	}
	reached, sum := 0, 0
	for _, d := range w.Depths() {
		if d != Unreached {
			reached++
			sum += int(d)
			f.MaxDepth = max(f.MaxDepth, int(d))
		}
	}
	f.Reached = float64(reached) / pages
	f.MeanDepth = float64(sum) / float64(max(reached, 1))
	return f
}

// censored is Exponent for sizes of which the largest may stand for anything
// above: such a site only says how far the tail goes, not where it ends.
func censored(sizes []SizeCount, least int) float64 {
	ends, sum := 0, 0.0
	most := sizes[len(sizes)-1].Pages
	for _, c := range sizes {
		if c.Pages < least {
			continue
		}
		if c.Pages < most {
			ends += c.Sites
		}
		sum += float64(c.Sites) * math.Log(float64(c.Pages)/(float64(least)-0.5))
	}
	if ends == 0 {
		return math.NaN()
	}
	return 1 + float64(ends)/sum
}

// String shows the facts, one a line.
func (f Facts) String() string {
	var b strings.Builder
	line := func(name, format string, a ...any) {
		fmt.Fprintf(&b, "%-16s "+format+"\n", append([]any{name}, a...)...)
	}
	line("pages", "%d on %d sites, %.1f GB", f.Pages, f.Sites, f.Bytes/1e9)
	line("largest site", "%d pages (%d sites)", f.Largest, f.AtLargest)
	line("site exponent", "%.2f", f.SiteExponent)
	line("links", "%d, %.2f a page, exponent %.2f", f.Links, f.Out, f.OutExponent)
	line("in-degree", "exponent %.2f, at most %d", f.InExponent, f.InMost)
	line("dangling pages", "%.1f%%", 100*f.Dangling)
	line("links away", "%.1f%%", 100*f.Away)
	line("isolated", "%.1f%% of sites, %.1f%% of pages", 100*f.Isolated, 100*f.IsolatedPages)
	line("reached", "%.1f%% of pages, depth %.2f on average, at most %d", 100*f.Reached, f.MeanDepth, f.MaxDepth)
	return b.String()
}
