package rank

import (
	"errors"
	"fmt"
	"math"
)

// Links hands every page and its links to visit, in any order; called again, it
// does the same again. A page may come in parts, and a page that is only known
// may come without links, or not at all when another links to it. Visit keeps no
// targets. An error ends the building.
type Links func(visit func(from uint64, targets []uint64)) error

// Builder makes a [Web] of pages that only have names, such as hashes of their
// URLs: two pages of one name are one page. It holds a link in 4 bytes and a page
// in 36 or fewer, ranking included, and goes over the links twice, once to count
// and once to keep them, because what grows while it is filled takes twice as much.
//
// A web is what its links say, whatever sites do: a page's links to itself do not
// count, lest it praise itself; a target listed often counts once; a target that
// never comes as a page is one without links.
type Builder struct {
	Budget int64  // bytes a web may take, its ranking included
	Seed   uint64 // kept from sites, else they could choose names that are slow to find; ranks do not depend on it
}

// TooLarge says that a web cannot be ranked within the budget. When links
// could not even be counted exactly, Pages and Need are estimates, rather too high.
type TooLarge struct {
	Pages, Links int64
	Need, Budget int64 // bytes; Need is math.MaxInt64 if no budget suffices
}

func (e *TooLarge) Error() string {
	if e.Need == never {
		return fmt.Sprintf("%d pages with %d links cannot be ranked: %d of each are the most", e.Pages, e.Links, int64(most))
	}
	return fmt.Sprintf("ranking %d pages with %d links needs %d bytes of memory, %d are allowed", e.Pages, e.Links, e.Need, e.Budget)
}

// errChanged is a fault of whoever hands out links.
var errChanged = errors.New("the links differ from those counted before")

const (
	most  = 3 << 30       // pages, and links, that 32 bits can number in slots one quarter free
	never = math.MaxInt64 // bytes that no machine has
)

// need is how much a web takes at most, at whichever time it takes most:
//
//	counting  8 a page for names, 4 for links counted, 16 for slots while they double
//	filling   8 for names, 4 + 4 for offsets while they are summed, up to 11 for slots; 4 a link
//	ranking   8 for names, 4 for offsets, 11 for slots, 12 for scores and what is owed; 4 a link
func need(pages, links int64) int64 {
	if pages > most || links > most {
		return never
	}
	return 36*pages + 4*links + 24*chunk
}

// Build goes over links twice. Its error is a [*TooLarge], or about the links.
func (b Builder) Build(links Links) (*Web, error) {
	c := &counter{budget: b.Budget, seed: b.Seed, names: newRegister(b.Seed)}
	if err := links(c.count); err != nil {
		return nil, fmt.Errorf("count links: %w", err)
	}
	if err := c.fits(); err != nil {
		return nil, err
	}
	f := c.filler()
	if err := links(f.fill); err != nil {
		return nil, fmt.Errorf("keep links: %w", err)
	}
	if f.sum != c.sum || f.bad {
		return nil, fmt.Errorf("keep links: %w", errChanged)
	}
	return f.web(), nil
}

// counter is the first time over the links.
type counter struct {
	budget int64
	seed   uint64
	names  *register  // nil once the budget is spent
	out    [][]uint32 // links of each page, in chunks like the names
	rough  *sample    // of the names, once the budget is spent
	links  int64
	sum    uint64 // of the hashes of all links
}

func (c *counter) count(from uint64, targets []uint64) {
	c.links += int64(len(targets))
	if c.rough != nil {
		c.guess(from, targets)
		return
	}
	p := c.add(from)
	c.out[p/chunk][p%chunk] += uint32(len(targets)) // if these are too many for 32 bits, all are refused below
	for _, t := range targets {
		c.add(t)
		c.sum += stir(from^c.seed^first, t^c.seed^other)
	}
	if n := need(int64(c.names.pages), c.links); n > c.budget || n == never {
		c.rough = newSample(c.seed)
		for p := range c.names.pages {
			c.rough.add(c.names.name(p))
		}
		c.names, c.out = nil, nil
	}
}

func (c *counter) add(name uint64) int {
	p := c.names.add(name)
	if p/chunk == len(c.out) {
		c.out = append(c.out, make([]uint32, chunk))
	}
	return p
}

func (c *counter) guess(from uint64, targets []uint64) {
	c.rough.add(from)
	for _, t := range targets {
		c.rough.add(t)
	}
}

// fits refuses a web that is too large, and asks for a little more than it would
// take, because a guess may be low and asking twice is a nuisance.
func (c *counter) fits() error {
	if c.rough == nil {
		return nil
	}
	pages := c.rough.pages()
	if c.rough.zeros > 0 {
		pages += pages / 20
	}
	return &TooLarge{Pages: pages, Links: c.links, Need: need(pages, c.links), Budget: c.budget}
}

// filler is the second time over the links.
type filler struct {
	names *register
	seed  uint64
	graph Graph // while links come, Off[p] is where the last link of p that came lies, going down
	sum   uint64
	bad   bool // a page or a link came that was not counted
}

func (c *counter) filler() *filler {
	n := c.names.pages
	f := &filler{names: c.names, seed: c.seed, graph: Graph{Off: make([]uint32, n+1)}}
	end := uint32(0)
	for p := range n {
		end += c.out[p/chunk][p%chunk]
		f.graph.Off[p] = end
	}
	f.graph.Off[n] = end
	c.names, c.out = nil, nil
	f.graph.Adj = make([]uint32, end)
	return f
}

func (f *filler) fill(from uint64, targets []uint64) {
	p, ok := f.names.find(from)
	if !ok {
		f.bad = true
		return
	}
	for _, t := range targets {
		q, ok := f.names.find(t)
		if !ok || f.graph.Off[p] == 0 {
			f.bad = true
			return
		}
		f.graph.Off[p]--
		f.graph.Adj[f.graph.Off[p]] = uint32(q)
		f.sum += stir(from^f.seed^first, t^f.seed^other)
	}
}

// web drops links that do not count.
func (f *filler) web() *Web {
	g, n := f.graph, f.names.pages
	seen := make([]uint32, n) // seen[t] is the last page, plus one, with a link to t
	kept := uint32(0)
	for p := range n {
		links := g.Adj[g.Off[p]:g.Off[p+1]]
		g.Off[p] = kept
		for _, t := range links {
			if int(t) != p && seen[t] != uint32(p+1) {
				seen[t] = uint32(p + 1)
				g.Adj[kept] = t
				kept++
			}
		}
	}
	g.Off[n] = kept
	g.Adj = g.Adj[:kept]
	return &Web{names: f.names, graph: g}
}

// Web is a graph of named pages, and their scores once it is ranked. It is not
// safe for concurrent use.
type Web struct {
	names  *register
	graph  Graph
	scores []float32
}

// Pages is how many pages are known.
func (w *Web) Pages() int { return w.names.pages }

// Links is how many links count.
func (w *Web) Links() int { return len(w.graph.Adj) }

// Rank scores all pages, and says how many rounds it took.
func (w *Web) Rank(opt Options) (rounds int) {
	if w.scores == nil {
		w.scores = make([]float32, w.Pages())
	}
	s := &sweeper{g: w.graph, score: w.scores, owed: make([]float64, w.Pages()), opt: opt.filled()}
	s.start()
	rounds = s.run()
	s.pay()
	return rounds
}

// Score is 1 for a page nobody links to, and more for others. A page that is not
// known has none.
func (w *Web) Score(name uint64) (score float64, known bool) {
	p, ok := w.names.find(name)
	if !ok || w.scores == nil {
		return 0, false
	}
	return float64(w.scores[p]), true
}
