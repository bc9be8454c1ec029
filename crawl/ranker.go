package crawl

import (
	"cmp"

	"weir/bandwidth"
	"weir/page"
)

// ranker is when pages are ranked, for the orders that go by it, and what the
// pages that were fetched have been worth.
//
// Without batches pages are ranked whenever a number of them has been fetched. A
// batch is over when the last of its pages has ended or, so that connections do
// not stand idle for its few large sites, when fewer than a share of them are
// busy; but not before a tenth of it was handed out, since all pages are ranked
// for the next. What is left of it is carried over: it goes before the next one. Either
// way fetching goes on while pages are being ranked.
type ranker struct {
	version uint32
	busy    bool  // pages are being ranked
	news    bool  // something may have come that was not ranked
	since   int64 // pages answered since they were ranked last
	left    int64 // pages of the batch that have not been handed out
	out     int64 // pages handed out since its ranking began
	size    int64 // of the batch

	first float64 // what the first pages were worth together
	last  float64 // and the last
	n     int64   // pages counted in last
	whole bool    // first is the sum of as many as it should be
}

const (
	defaultBatch = 10_000
	defaultBusy  = 0.1
)

// spell is K: pages in a batch, or between two rankings.
func (c *EngineConfig) spell() int64 { return cmp.Or(c.Batch, defaultBatch) }

// rank orders a ranking when it is due.
func (e *Engine) rank() {
	r := &e.ranker
	if !e.traits.Ranked || r.busy || e.stop != StopByNobody {
		return
	}
	if e.traits.Batched && !r.news || !e.traits.Batched && r.since < e.cfg.spell() {
		return
	}
	if e.traits.Batched && !e.spent() {
		return
	}
	r.version++
	r.busy, r.news, r.since, r.out = true, false, 0, 0
	e.out = append(e.out, Rank{Version: r.version, Pages: e.cfg.spell()})
}

// spent says that the batch is over, or is to be cut short.
func (e *Engine) spent() bool {
	r := &e.ranker
	if e.valve != nil && e.valve.limit == bandwidth.Off {
		return false // it waits for the link
	}
	conns := e.cfg.Frontier.Conns
	few := float64(e.f.Count().Active) < cmp.Or(e.cfg.Busy, defaultBusy)*float64(conns)
	if r.left <= 0 {
		return few || e.flights.n == 0
	}
	if begun := r.out >= min(int64(conns), (r.size+1)/2) && r.out >= r.size/10; begun && few {
		return true
	}
	_, wakes := e.f.Wake()
	return e.flights.n == 0 && e.loads == 0 && e.resolves == 0 && !wakes // none of it can be fetched
}

// ranked takes the end of a ranking.
func (e *Engine) ranked(ev Ranked) {
	r := &e.ranker
	if !r.busy || ev.Version != r.version {
		return
	}
	r.busy = false
	r.left = max(r.left+ev.Pages, 0) // some may be handed out already
	r.size = r.left + r.out
	r.news = r.news || ev.Pages > 0
}

// handed counts a page that is handed out.
func (r *ranker) handed() {
	r.left--
	r.out++
}

// gained counts what a page that was fetched was worth, and ends the crawl when
// the last pages have been worth too little (Castillo asks when to stop; chapter
// 6 leaves it open).
func (e *Engine) gained(score float32) {
	r := &e.ranker
	r.since++
	if e.cfg.StopGain <= 0 {
		return
	}
	r.last += float64(max(score, 0))
	if r.n++; r.n < e.cfg.spell() {
		return
	}
	switch {
	case !r.whole:
		r.whole, r.first = true, r.last
	case r.last < e.cfg.StopGain*r.first:
		e.end(StopGain)
	}
	r.last, r.n = 0, 0
}

// idle adds up the connections that could have been open and were not.
type idle struct {
	at  page.Time
	sum float64 // connections times nanoseconds
	all float64
}

func (i *idle) pass(now page.Time, unused, conns int) {
	dt := float64(now.Sub(i.at))
	i.sum += float64(dt * float64(unused)) // rounded, so that every machine adds up alike
	i.all += float64(dt * float64(conns))
	i.at = now
}

// share is the mean, of 1.
func (i *idle) share() float64 {
	if i.all == 0 {
		return 0
	}
	return i.sum / i.all
}
