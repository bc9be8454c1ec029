package paper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"weir/rank"
	"weir/sim"
	"weir/sim/web"
)

// The webs of the experiments, besides the presets.
const (
	chile    = "chile"
	core     = "core"
	isolated = "isolated"
	uniform  = "uniform" // chile with sites that are all alike, for Table 6.1
	batch    = "batch"   // what waits in the middle of a crawl of chile, a sample of it
)

// order in which webs are worked off, so that few are in memory at a time.
var order = []string{chile, batch, uniform, core, isolated}

// Table 6.1 is reproduced with one page taking 28.7 s: latency, then 23 kB at
// 100 kB a second. The paper prints none of the three; see speedUps. Sizes are
// drawn around their mean: with all alike, connections that began together
// would end together and leave the line idle while all of them wait.
const (
	pageBytes  = 23_000
	pageSpread = 0.5 // sigma
	siteSpeed  = 100_000
	latency    = 28.45
)

// wait is w, the pause between two visits to a site in seconds, as in section
// 6.2.1.
const wait = 15

// ground is a web to crawl on.
type ground struct {
	web   *web.Web
	ranks []float32
	facts
}

// facts are what experiments tell about a web itself.
type facts struct {
	pages, sites, links int
	bytes               float64
	sizes               []int     // pages of each site, largest first
	slowest             float64   // seconds that the site takes which takes longest, on a line of its own, c = 1
	kept                float64   // the same with connections that stay open, resting as long as each answer took
	levels              []int     // pages by their distance from the seeds
	levelRank           []float64 // sum of their ranks
}

// stock makes webs when they are asked for and drops them after their last use.
type stock struct {
	scale float64
	seed  uint64
	on    func() bool // false: stop

	mu   sync.Mutex
	webs map[string]*shelf
}

type shelf struct {
	sync.Mutex
	uses   int // still to come
	ground *ground
	err    error
}

// errStopped says that whoever asked for the work does not want it any more.
var errStopped = errors.New("stopped")

func newStock(scale float64, seed uint64, on func() bool) *stock {
	return &stock{scale: scale, seed: seed, on: on, webs: map[string]*shelf{}}
}

func (s *stock) shelf(name string) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.webs[name] == nil {
		s.webs[name] = &shelf{}
	}
	return s.webs[name]
}

// expect announces a use.
func (s *stock) expect(name string) {
	s.shelf(name).uses++
	if name == batch {
		s.shelf(chile).uses++
	}
}

// use hands a web to fn.
func (s *stock) use(name string, fn func(*ground) error) error {
	g, err := s.get(name)
	if err == nil {
		err = fn(g)
	}
	s.done(name)
	if name == batch {
		s.done(chile)
	}
	return err
}

// get returns a web, which it makes if it is not there.
func (s *stock) get(name string) (*ground, error) {
	sh := s.shelf(name)
	sh.Lock()
	defer sh.Unlock()
	if sh.ground == nil && sh.err == nil {
		if !s.on() {
			return nil, errStopped
		}
		sh.ground, sh.err = s.make(name)
	}
	return sh.ground, sh.err
}

func (s *stock) done(name string) {
	sh := s.shelf(name)
	sh.Lock()
	defer sh.Unlock()
	if sh.uses--; sh.uses == 0 {
		sh.ground = nil
	}
}

func (s *stock) make(name string) (*ground, error) {
	var w *web.Web
	var err error
	switch name {
	case batch:
		var from *ground
		if from, err = s.get(chile); err == nil {
			w, err = s.middle(from)
		}
	default:
		w, err = s.generate(name)
	}
	if err != nil {
		return nil, fmt.Errorf("making the web %s: %w", name, err)
	}
	g := &ground{web: w, ranks: make([]float32, w.Pages())}
	rank.PageRank(rank.Graph{Off: w.Off, Adj: w.Adj}, nil, nil, g.ranks, rank.Options{Tolerance: 1e-5})
	g.facts = survey(g)
	return g, nil
}

func (s *stock) generate(name string) (*web.Web, error) {
	preset := name
	if name == uniform {
		preset = chile
	}
	shape, err := web.Preset(preset, s.scale)
	if err != nil {
		return nil, err
	}
	shape.Seed = s.seed
	if name == uniform {
		shape.Bytes = web.Spread{Median: pageBytes * math.Exp(-pageSpread*pageSpread/2), Sigma: pageSpread}
		shape.Speed = web.Spread{Median: siteSpeed}
		shape.Latency = web.Spread{Median: latency}
	}
	return web.Generate(shape)
}

// batchPages is the size of a batch in section 6.5, at scale 1.
const batchPages = 100_000

// middle crawls a web by length to half of its pages and makes a web of what
// waits then: an even sample, in which every page is known from the start.
func (s *stock) middle(from *ground) (*web.Web, error) {
	w := from.web
	fetched := make([]bool, w.Pages())
	world, err := sim.New(w, sim.Line{Rate: 200_000}, sim.Config{
		Order: "length", Conns: 256, PerConn: 1, MaxPages: int64(max(w.Pages()/2, 1)), Fetched: func(p uint32) { fetched[p] = true },
	})
	if err != nil {
		return nil, err
	}
	if err := world.Run(s.on); err != nil {
		return nil, err
	}
	if !s.on() {
		return nil, errStopped
	}
	return cut(w, waiting(w, fetched), max(int(batchPages*s.scale), 1)), nil
}

// waiting returns the pages that are known and not fetched, in order.
func waiting(w *web.Web, fetched []bool) []uint32 {
	known := make([]bool, w.Pages())
	for _, p := range w.Starts() {
		known[p] = true
	}
	for p, is := range fetched {
		if is {
			for _, to := range w.Out(uint32(p)) {
				known[to] = true
			}
		}
	}
	var queue []uint32
	for p := range known {
		if known[p] && !fetched[p] {
			queue = append(queue, uint32(p))
		}
	}
	return queue
}

// cut makes a web of an even sample of n of the pages, without links.
func cut(w *web.Web, pages []uint32, n int) *web.Web {
	n = min(n, len(pages))
	b := &web.Web{Name: "batch of " + w.Name, Off: make([]uint32, n+1), Adj: []uint32{}}
	last := -1
	for i := range n {
		p := pages[i*len(pages)/n]
		if s := int(w.SiteOf[p]); s != last {
			last = s
			b.Sites = append(b.Sites, w.Sites[s])
			b.First = append(b.First, uint32(i))
		}
		b.SiteOf = append(b.SiteOf, uint32(len(b.Sites)-1))
		b.Size = append(b.Size, w.Size[p])
		b.Seeds = append(b.Seeds, uint32(i))
	}
	b.First = append(b.First, uint32(n))
	return b
}

// survey gathers the facts.
func survey(g *ground) facts {
	w := g.web
	f := facts{pages: w.Pages(), sites: len(w.Sites), links: w.Links(), bytes: w.Bytes()}
	for s, site := range w.Sites {
		f.sizes = append(f.sizes, int(w.First[s+1]-w.First[s]))
		apart, kept := 0.0, 0.0
		for _, size := range w.Size[w.First[s]:w.First[s+1]] {
			flow := float64(size) / site.Speed
			apart += site.Latency + flow + max(wait, site.Latency+flow)
			kept += 2 * (site.Again + flow)
		}
		f.slowest, f.kept = max(f.slowest, apart-wait), max(f.kept, kept)
	}
	slices.Sort(f.sizes)
	slices.Reverse(f.sizes)
	seen := make([]bool, w.Pages())
	level := slices.Clone(w.Starts())
	for _, p := range level {
		seen[p] = true
	}
	for len(level) > 0 {
		sum, next := 0.0, []uint32{}
		for _, p := range level {
			sum += float64(g.ranks[p])
			for _, to := range w.Out(p) {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		f.levels = append(f.levels, len(level))
		f.levelRank = append(f.levelRank, sum)
		level = next
	}
	return f
}
