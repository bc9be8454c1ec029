package sim

import (
	"cmp"
	"slices"

	"weir/crawl"
	"weir/frontier"
	"weir/page"
	"weir/rank"
	"weir/sim/web"
)

// ranker ranks the pages of a simulated crawl, as the live driver does beside a
// real one. It reads the web where that reads the links that were kept, and
// follows the scores as pages are fetched instead of beginning anew every time.
type ranker struct {
	w       *web.Web
	tally   *rank.Tally
	batched bool
	listed  []bool // pages that were in a batch
	asked   crawl.Rank
	answer  *crawl.Ranked // for when the scores are durable
	best    []uint32
	scores  []crawl.Score
}

func newRanker(w *web.Web, order frontier.Ranking) *ranker {
	r := &ranker{
		w: w, tally: rank.NewTally(rank.Graph{Off: w.Off, Adj: w.Adj}, rank.Growth{}), batched: order.Traits().Batched,
	}
	if r.batched {
		r.listed = make([]bool, w.Pages())
	}
	return r
}

// ended takes the answer to a page. One that will be asked for again can be in
// another batch.
func (r *ranker) ended(t *trip, final bool) {
	if t.outcome.Row().Kept {
		r.tally.Fetch(t.page)
	}
	if r.batched && !final {
		r.listed[t.page] = false
	}
}

// rank answers the last Rank: it gives the Ledger the scores that matter.
func (r *ranker) rank(c *crawler) error {
	r.tally.Settle()
	r.scores = r.scores[:0]
	if r.batched {
		r.batch(c, int(min(r.asked.Pages, int64(r.w.Pages()))))
	} else {
		for p, score := range r.tally.Grown() {
			r.take(c, p, score)
		}
	}
	moved, err := c.ledger.Rescore(r.asked.Version, r.scores)
	r.answer = &crawl.Ranked{Version: r.asked.Version, Pages: moved}
	c.learned()
	return err
}

// take adds a page to the scores that are told. One that the Ledger has not
// heard of yet keeps what it starts with.
func (r *ranker) take(c *crawler, p uint32, score float64) bool {
	id := c.rules.ids[r.w.SiteOf[p]]
	if id != 0 {
		r.scores = append(r.scores, crawl.Score{Key: page.Key{Site: id, Hash: c.w.names.hash(p)}, Score: float32(score)})
	}
	return id != 0
}

// batch chooses the best n pages that wait and are in no batch, best first, and
// those of equal scores by their numbers.
func (r *ranker) batch(c *crawler, n int) {
	worse := func(a, b uint32) bool {
		sa, sb := r.tally.Score(a), r.tally.Score(b)
		return sa < sb || sa == sb && a > b
	}
	heap := r.best[:0] // the worst of the best on top
	down := func(i int) {
		for {
			least := i
			for j := 2*i + 1; j <= 2*i+2 && j < len(heap); j++ {
				if worse(heap[j], heap[least]) {
					least = j
				}
			}
			if least == i {
				return
			}
			heap[i], heap[least] = heap[least], heap[i]
			i = least
		}
	}
	for i := range r.listed {
		p := uint32(i)
		switch {
		case r.listed[p] || !c.rules.told(p) || c.rules.ids[r.w.SiteOf[p]] == 0:
		case len(heap) < n:
			if heap = append(heap, p); len(heap) == n {
				for i := n/2 - 1; i >= 0; i-- {
					down(i)
				}
			}
		case n > 0 && worse(heap[0], p):
			heap[0] = p
			down(0)
		}
	}
	slices.SortFunc(heap, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(r.tally.Score(b), r.tally.Score(a)), cmp.Compare(a, b))
	})
	for _, p := range heap {
		r.listed[p] = r.take(c, p, r.tally.Score(p))
	}
	r.best = heap
}
