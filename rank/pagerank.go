package rank

import "math"

// Graph holds the links of pages 0 to Pages()-1: page p links to
// Adj[Off[p]:Off[p+1]]. A target that is listed twice counts twice. Off ascends,
// Off[0] is 0, and every target is a page.
//
// A graph whose pages lie close to those they link to, as the pages of a site do
// when they are numbered in a row, is ranked twice as fast as one numbered at
// random.
type Graph struct {
	Off []uint32
	Adj []uint32
}

// Pages is how many pages the graph has.
func (g Graph) Pages() int { return max(len(g.Off)-1, 0) }

// Options says how exactly to rank. The zero value is good for ordering a crawl.
type Options struct {
	Damping   float64 // in (0, 1): how often a link is followed; 0 = 0.85
	Tolerance float64 // stop when another round of the textbook's iteration would change ranks by less in all (L1); 0 = 1e-4
	Rounds    int     // stop after as many rounds anyway; 0 = 200
	Warm      bool    // begin with the ranks given, of any scale, instead of even ones

	Stop func() bool // asked before each round; true ends the ranking as it is. nil = never
}

func (o Options) filled() Options {
	if o.Damping == 0 {
		o.Damping = 0.85
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-4
	}
	if o.Rounds == 0 {
		o.Rounds = 200
	}
	if !(o.Damping > 0 && o.Damping < 1) || !(o.Tolerance > 0) || o.Rounds < 0 {
		panic("rank: a damping outside (0, 1), or a tolerance or a number of rounds below 0")
	}
	return o
}

// PageRank writes the rank of every page into ranks, which has one for each, and
// says how many rounds it took. Ranks of known pages sum to 1; others get 0.
//
// A page that is not fetched has no links yet, and a page that is not known is
// not there; nil means all are. What a page gives to pages that are not known is
// spread evenly, as all that a page without links has.
//
// The distance of the ranks from the true ones, in all, is below
// Tolerance/(1-Damping), plus the rounding of float32. It takes 8 bytes a page
// besides its arguments.
func PageRank(g Graph, fetched, known []bool, ranks []float32, opt Options) (rounds int) {
	n := g.Pages()
	if len(ranks) != n || fetched != nil && len(fetched) != n || known != nil && len(known) != n {
		panic("rank: as many ranks and marks as pages are needed")
	}
	s := &sweeper{g: g, fetched: fetched, known: known, score: ranks, owed: make([]float64, n), opt: opt.filled()}
	s.start()
	rounds = s.run()
	sum := s.pay()
	for p, r := range ranks {
		if r != 0 {
			ranks[p] = float32(float64(r) / sum)
		}
	}
	return rounds
}

// sweeper is one ranking under way. At any time the true scores are score plus
// what comes of passing on all that is owed.
type sweeper struct {
	g              Graph
	fetched, known []bool
	score          []float32
	owed           []float64
	opt            Options

	pages int     // known ones
	sum   float64 // of the scores
}

// start sets the scores, and what is owed for them.
func (s *sweeper) start() {
	warm := s.opt.Warm && s.scale()
	for p := range s.owed {
		if !s.knows(p) {
			s.score[p] = 0
			continue
		}
		s.pages++
		s.owed[p]++
		if !warm {
			s.score[p] = 0
			continue
		}
		// A score that was not paid for is a debt to the page and a payment to its targets.
		r := float64(s.score[p])
		s.sum += r
		s.owed[p] -= r
		s.give(p, r)
	}
}

// scale brings the ranks given to the scale of scores, or says that they are of
// no use. Scores of pages that were ranked before must add up: their sum is
// their number and what links carry. Pages that were not begin with nothing, so
// that they do not take from the others.
func (s *sweeper) scale() bool {
	var pages, all, linking float64
	for p, r := range s.score {
		if !(r > 0 && r <= math.MaxFloat32) || !s.knows(p) {
			s.score[p] = 0
			continue
		}
		pages++
		all += float64(r)
		if len(s.links(p)) > 0 {
			linking += float64(r)
		}
	}
	if pages == 0 {
		return false
	}
	by := pages / (all - float64(s.opt.Damping*linking))
	for p, r := range s.score {
		s.score[p] = float32(float64(r) * by)
	}
	return true
}

func (s *sweeper) knows(p int) bool { return s.known == nil || s.known[p] }

// links are those that count.
func (s *sweeper) links(p int) []uint32 {
	if s.fetched != nil && !s.fetched[p] {
		return nil
	}
	return s.g.Adj[s.g.Off[p]:s.g.Off[p+1]]
}

// give owes the targets of p their parts of r.
func (s *sweeper) give(p int, r float64) {
	links, owed := s.links(p), s.owed
	if len(links) == 0 {
		return
	}
	// The conversion keeps the compiler from fusing, which would round otherwise on other machines.
	part := float64(r * s.opt.Damping / float64(len(links)))
	for _, t := range links {
		owed[t] += part
	}
}

// run sweeps until less than half the tolerance is owed. A round of the textbook
// would move what is owed and level the sum of the ranks again, which is as much
// at most.
func (s *sweeper) run() (rounds int) {
	if s.pages == 0 {
		return 0
	}
	for rounds < s.opt.Rounds && (s.opt.Stop == nil || !s.opt.Stop()) {
		owed := 0.0
		for p, r := range s.owed {
			if s.knows(p) {
				owed += math.Abs(r)
			}
		}
		if owed <= s.opt.Tolerance/2*s.sum {
			break
		}
		rounds++
		// What stays below this everywhere is half of what is allowed.
		s.sweep(s.opt.Tolerance / 4 * s.sum / float64(s.pages))
	}
	return rounds
}

// sweep lets every page take what it is owed, if that is more than least. Pages
// further on take what they are owed by it in the same sweep already.
func (s *sweeper) sweep(least float64) {
	for p := range s.owed {
		r := s.owed[p]
		if r <= least && r >= -least {
			continue
		}
		s.owed[p] = 0
		if !s.knows(p) {
			continue
		}
		s.sum += r
		s.score[p] += float32(r)
		s.give(p, r)
	}
}

// pay pays what is still owed, and gives the sum of the scores.
func (s *sweeper) pay() (sum float64) {
	for p, r := range s.owed {
		if s.knows(p) {
			r += float64(s.score[p])
			sum += r
			s.score[p] = float32(r)
		}
	}
	return sum
}
