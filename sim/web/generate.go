package web

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Streams of random numbers, one for each thing that is drawn, so that a change
// of one leaves the others as they were.
const (
	streamSites = 1 + iota
	streamLinks
	streamBytes
	streamServers
)

// Generate makes up a web. It takes 182 MB and a few seconds for chile; the
// same Shape gives the same web on every machine.
func Generate(s Shape) (*Web, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("the shape of web %s: %w", s.Name, err)
	}
	w := &Web{Name: s.Name, Sites: make([]Site, s.Sites), First: make([]uint32, s.Sites+1)}
	r := rand.NewPCG(s.Seed, streamSites)
	size := siteSizes(s.Pages, s.Sites, s.Cap)
	shuffle(r, size)
	for i, n := range size {
		w.First[i+1] = w.First[i] + uint32(n)
	}
	w.SiteOf = make([]uint32, s.Pages)
	for i := range w.Sites {
		for p := w.First[i]; p < w.First[i+1]; p++ {
			w.SiteOf[p] = uint32(i)
		}
	}
	g := grower{
		Web: w, shape: &s, PCG: rand.NewPCG(s.Seed, streamLinks),
		urn: newUrn(s.popularity(r, size)),
	}
	g.grow()
	s.sizes(w)
	s.servers(w)
	return w, nil
}

// shuffle is Fisher and Yates'. The library's would do, but promises no order.
func shuffle[T any](r *rand.PCG, a []T) {
	for i := len(a) - 1; i > 0; i-- {
		j := below(r, i+1)
		a[i], a[j] = a[j], a[i]
	}
}

// popularity returns the weights by which sites draw links from other sites;
// isolated sites have none.
func (s *Shape) popularity(r *rand.PCG, size []int) []uint64 {
	isolated := s.isolation(size)
	pareto := newCurve(14, func(u float64) float64 {
		return min(math.Pow(1-u, -1/(s.Popular-1)), 1<<14)
	})
	weight := make([]uint64, len(size))
	for i, n := range size {
		x, u := pareto.draw(r.Uint64()), r.Uint64()
		if !isolated(n).at(uint32(u >> 32)) {
			weight[i] = max(uint64(math.Round(float64(x)*math.Pow(float64(n), s.Size))), 1)
		}
	}
	// Cutting the largest makes the sum smaller, hence the cut: a few rounds
	// come near enough.
	for range 5 {
		var sum uint64
		for _, x := range weight {
			sum += x
		}
		most := uint64(s.Share * float64(sum))
		for i, x := range weight {
			weight[i] = min(x, max(most, 1))
		}
	}
	return weight
}

// isolation returns the chance by which a site of n pages is isolated. It falls
// as a power of n, such that the shares of sites and of pages are as asked.
func (s *Shape) isolation(size []int) func(n int) chance {
	type group struct{ pages, sites float64 }
	var groups []group // sites of equal size, of which there are few
	sorted := slices.Clone(size)
	slices.Sort(sorted)
	for i, n := range sorted {
		if i == 0 || n != sorted[i-1] {
			groups = append(groups, group{pages: float64(n)})
		}
		groups[len(groups)-1].sites++
	}
	most := groups[len(groups)-1].pages
	sums := func(a, k float64) (sites, pages float64) {
		for _, g := range groups {
			p := min(1, a*math.Pow(g.pages, -k))
			sites += g.sites * p
			pages += g.sites * p * g.pages
		}
		return sites, pages
	}
	scale := func(k float64) float64 { // the factor that gives the share of sites
		lo, hi := 0.0, math.Pow(most, max(k, 0))+1
		for range 50 {
			mid := (lo + hi) / 2
			if n, _ := sums(mid, k); n < s.Isolated*float64(len(size)) {
				lo = mid
			} else {
				hi = mid
			}
		}
		return hi
	}
	lo, hi := -4.0, 4.0
	for range 30 {
		mid := (lo + hi) / 2
		if _, n := sums(scale(mid), mid); n > s.IsolatedPages*float64(s.Pages) {
			lo = mid
		} else {
			hi = mid
		}
	}
	k := hi
	a := scale(k)
	return func(n int) chance { return newChance(a * math.Pow(float64(n), -k)) }
}

// sizes draws the bytes of all pages.
func (s *Shape) sizes(w *Web) {
	r := rand.NewPCG(s.Seed, streamBytes)
	bytes := s.Bytes.curve(1, float64(s.MinBytes), float64(s.MaxBytes))
	w.Size = make([]uint32, w.Pages())
	for p := range w.Size {
		w.Size[p] = uint32(bytes.draw(r.Uint64()) >> fraction)
	}
}

// servers draws speeds in whole bytes per second and times in whole
// milliseconds.
func (s *Shape) servers(w *Web) {
	const milli = 1000
	r := rand.NewPCG(s.Seed, streamServers)
	speed := s.Speed.curve(1, 1, 1e12)
	latency := s.Latency.curve(milli, 0, 1e9)
	again := s.Again.curve(milli, 0, 1e9)
	delay := s.Delay.curve(milli, 0, 1e9)
	share, delayed := newChance(s.AgainShare), newChance(s.Delayed)
	for i := range w.Sites {
		site := &w.Sites[i]
		site.Speed = float64(speed.draw(r.Uint64()) >> fraction)
		first := latency.draw(r.Uint64()) >> fraction
		site.Latency = float64(first) / milli
		second := again.draw(r.Uint64()) >> fraction
		if s.AgainShare > 0 {
			second = first * uint64(share) >> 32
		}
		site.Again = float64(second) / milli
		wait, u := delay.draw(r.Uint64())>>fraction, r.Uint64()
		if delayed.at(uint32(u >> 32)) {
			site.Delay = float64(wait) / milli
		}
	}
}

// grower draws the links of a web, site by site.
type grower struct {
	*Web
	shape *Shape
	*rand.PCG
	urn

	menu, all, bush, links   curve
	away, home, toMenu, near chance
	dangling                 chance
	seen                     []uint32 // the last page that linked here, plus one
}

func (g *grower) grow() {
	s := g.shape
	g.menu, g.bush = power(1.5), power(s.Bush)
	// With the i-th of n pages drawing links as i^(1/k-1), the in-degree has
	// the exponent 1 + k/(k-1).
	g.all = power((s.In - 1) / (s.In - 2))
	g.home, g.toMenu, g.near, g.dangling = newChance(s.Home), newChance(s.Menu), newChance(s.Menu+s.Near), newChance(s.Dangling)

	// One link of each page but the home pages comes from the tree; the rest
	// is drawn on pages that do not dangle, and isolated sites leave those
	// away to the others.
	n := float64(s.Pages)
	lively := max(1-s.Dangling, 1/n)
	mean := max(s.Links-(n-float64(s.Sites))/n, 0) / lively
	g.links = Spread{mean * math.Exp(-s.LinkSigma*s.LinkSigma/2), s.LinkSigma}.curve(1, 0, float64(s.LinkMax))
	joined := 0
	for i := range s.Sites {
		if !g.isolated(i) {
			joined += int(g.First[i+1] - g.First[i])
		}
	}
	if joined > 0 && mean > 0 {
		g.away = newChance(s.Away * s.Links / (mean * lively) * n / float64(joined))
	}

	g.seen = make([]uint32, s.Pages)
	g.Off = make([]uint32, s.Pages+1)
	g.Adj = make([]uint32, 0, int(n*s.Links*1.01)+1000)
	if len(s.Ends) > 0 {
		g.End = make([]uint8, s.Pages)
	}
	var b branches
	for i := range s.Sites {
		g.site(i, &b)
	}
	g.seen = nil
	g.Adj = slices.Clip(g.Adj)
}

func (g *grower) isolated(site int) bool {
	w := g.urn.sum[site]
	return site > 0 && w == g.urn.sum[site-1] || w == 0
}

// branches is the tree that joins the pages of a site, by their numbers within
// it. Its slices are used again for the next site.
type branches struct {
	lively []uint32 // pages that have links, in order
	parent []uint32 // of each page
	from   []uint32 // the children of page i are child[from[i]:from[i+1]]
	child  []uint32
	leaf   []bool
}

// site draws the links of one site.
func (g *grower) site(site int, b *branches) {
	first, n := g.First[site], int(g.First[site+1]-g.First[site])
	g.plant(first, n, b)
	away := g.away
	if g.isolated(site) {
		away = 0
	}
	for i := range n {
		p := first + uint32(i)
		g.Off[p] = uint32(len(g.Adj))
		for _, c := range b.child[b.from[i]:b.from[i+1]] {
			g.link(p, first+c)
		}
		if b.leaf[i] {
			continue
		}
		u := g.Uint64()
		for k := (g.links.draw(u) + g.Uint64()>>(64-fraction)) >> fraction; k > 0; k-- {
			g.draw(p, i, n, first, away)
		}
	}
	g.Off[first+uint32(n)] = uint32(len(g.Adj))
}

// plant chooses which pages dangle or fail, and hangs every page from one
// before it that does not.
func (g *grower) plant(first uint32, n int, b *branches) {
	b.lively = append(b.lively[:0], 0)
	b.parent = append(b.parent[:0], 0)
	b.leaf = append(b.leaf[:0], false)
	b.from = slices.Grow(b.from[:0], n+1)[:n+1]
	clear(b.from)
	for i := 1; i < n; i++ {
		from := b.lively[g.bush.place(g.PCG, len(b.lively))]
		b.parent = append(b.parent, from)
		b.from[from+1]++
		leaf := g.end(first + uint32(i))
		b.leaf = append(b.leaf, leaf)
		if !leaf {
			b.lively = append(b.lively, uint32(i))
		}
	}
	for i := range n {
		b.from[i+1] += b.from[i]
	}
	b.child = slices.Grow(b.child[:0], n)[:n]
	for i := n - 1; i > 0; i-- {
		// Filled from behind: afterwards from[i+1] is where the children of i
		// begin.
		at := &b.from[b.parent[i]+1]
		*at--
		b.child[*at] = uint32(i)
	}
	copy(b.from, b.from[1:])
	b.from[n] = uint32(n - 1)
}

// end chooses how a page ends and whether it dangles.
func (g *grower) end(p uint32) (leaf bool) {
	u := uint32(g.Uint64() >> 32)
	var to float64
	for _, e := range g.shape.Ends {
		to += e.Share
		if newChance(to).at(u) {
			g.End[p] = e.Outcome
			return true
		}
	}
	return g.dangling.at(u)
}

// draw adds one link to page p, the i-th of n. A target that the page links to
// already is drawn again, for a while: small sites have no more.
func (g *grower) draw(p uint32, i, n int, first uint32, away chance) {
	const tries = 3
	u := g.Uint64()
	if away.at(uint32(u)) {
		for range tries {
			to := g.urn.draw(g.PCG)
			t, m := g.First[to], int(g.First[to+1]-g.First[to])
			if !g.home.at(uint32(u >> 32)) {
				t += uint32(g.all.place(g.PCG, m))
			}
			if g.link(p, t) {
				return
			}
		}
		return
	}
	kind, near := uint32(u>>32), g.shape.NearPages
	for try := range tries {
		var t int
		switch {
		case try == tries-1:
			t = below(g.PCG, n)
		case g.toMenu.at(kind):
			t = g.menu.place(g.PCG, min(n, g.shape.MenuPages))
		case g.near.at(kind):
			t = min(max(i-near+below(g.PCG, 2*near+1), 0), n-1)
		default:
			t = g.all.place(g.PCG, n)
		}
		if g.link(p, first+uint32(t)) {
			return
		}
	}
}

// link adds a link unless the page has it or it leads to itself.
func (g *grower) link(p, to uint32) bool {
	if g.seen[to] == p+1 || to == p {
		return false
	}
	g.seen[to] = p + 1
	g.Adj = append(g.Adj, to)
	return true
}
