package plan

import (
	"math"
	"slices"
)

const (
	mostAsks  = 32  // plans that are made to confirm advice
	mostAsked = 200 // sites of a problem whose advice is confirmed
)

// confirmer makes advice larger until Solve can follow it, since Admit knows
// nothing of the sites at a time, the least speed, and what a start-up keeps
// others from; nor of those that have to be given more time where others have a
// better link, or are trimmed.
type confirmer struct {
	p        *Problem
	troubles []Trouble
	asks     int
}

// confirm rounds the advice as it is written, and makes sure of it, or takes it
// back. It is left as it is, and called rough, where that would take too long.
func confirm(p *Problem, pl *Plan, troubles []Trouble) {
	c := &confirmer{p: p, troubles: troubles}
	if p.MaxSites == 0 && p.Startup == 0 && p.MinRate == 0 && !slices.ContainsFunc(troubles, c.lacks) {
		return
	}
	if len(p.Sites) > mostAsked {
		for i := range troubles {
			troubles[i].rough = p.MaxSites > 0 || p.MinRate > 0
		}
		return
	}
	c.moves(pl)
	c.trims()
	c.links()
	c.slips()
}

// lacks says that some kind of advice is not there for a trouble.
func (c *confirmer) lacks(t Trouble) bool {
	return t.Room || math.IsInf(t.LinkNeeded, 1) || upSize(t.Trim) >= c.p.Sites[t.Site].Size
}

// keeps says whether Solve keeps all promises of a problem that was changed.
func (c *confirmer) keeps(change func(*Problem)) bool {
	if c.asks++; c.asks > mostAsks {
		return false
	}
	q := *c.p
	q.Sites, q.Link = slices.Clone(c.p.Sites), slices.Clone(c.p.Link)
	change(&q)
	return q.Check() == nil && Solve(&q, Options{}).Late == 0
}

// widen tries amounts from the least until one will do, then some between that and
// the one before. It returns the least that would do.
func widen(amounts []float64, ok func(float64) bool) (least float64, found bool) {
	const closer = 3
	for i, high := range amounts {
		if !ok(high) {
			continue
		}
		if i > 0 {
			low := amounts[i-1]
			for range closer {
				if mid := between(low, high); ok(mid) {
					high = mid
				} else {
					low = mid
				}
			}
		}
		return high, true
	}
	return 0, false
}

// give moves the deadline of a site to the Earliest, or takes it away if there is
// none.
func (t *Trouble) give(q *Problem) {
	s := &q.Sites[t.Site]
	if s.Deadline = t.Earliest; math.IsInf(t.Earliest, 1) {
		s.Deadline = 0
	}
}

// moves makes sure of the deadlines. The plan that there is keeps those that are
// as late as it, so they come next.
func (c *confirmer) moves(pl *Plan) {
	dues := make([]float64, len(c.troubles))
	try := func(more float64) bool {
		return c.keeps(func(q *Problem) {
			for i := range c.troubles {
				t := &c.troubles[i]
				t.Earliest = upTime(dues[i] * (1 + more))
				t.give(q)
			}
		})
	}
	for i, t := range c.troubles {
		dues[i] = t.Earliest
	}
	if try(0) {
		return
	}
	for i, t := range c.troubles {
		dues[i] = max(dues[i], pl.Courses[t.Site].Finish)
	}
	more, _ := widen([]float64{0, 0.02, 0.1, 0.3}, try)
	for i := range c.troubles {
		c.troubles[i].Earliest = upTime(dues[i] * (1 + more))
	}
}

// trims makes sure of what is left out. Who has no such advice has more time.
func (c *confirmer) trims() {
	if !slices.ContainsFunc(c.troubles, func(t Trouble) bool { return t.Trim > 0 }) {
		return
	}
	trim := func(t *Trouble, more float64) float64 {
		size := c.p.Sites[t.Site].Size
		if trim := upSize(t.Trim + float64(more*(size-t.Trim))); t.Trim > 0 && trim < size {
			return trim
		}
		return 0
	}
	more, ok := widen([]float64{0, 0.1, 0.3, 0.6}, func(more float64) bool {
		return c.keeps(func(q *Problem) {
			for i := range c.troubles {
				t := &c.troubles[i]
				s := &q.Sites[t.Site]
				if bytes := trim(t, more); bytes > 0 {
					*s = s.trim(bytes)
				} else {
					t.give(q)
				}
			}
		})
	})
	for i := range c.troubles {
		if t := &c.troubles[i]; ok {
			t.Trim = trim(t, more)
		} else {
			t.Trim = 0
		}
	}
}

// links makes sure of the link. Who has no such advice has more time.
func (c *confirmer) links() {
	able := func(t *Trouble) bool { return t.LinkNeeded > 0 && !math.IsInf(t.LinkNeeded, 1) }
	factor := 0.0
	for i := range c.troubles {
		if t := &c.troubles[i]; able(t) {
			factor = max(factor, t.LinkNeeded)
		}
	}
	if factor == 0 {
		return
	}
	more, ok := widen([]float64{1, 1.1, 1.5, 2, 3}, func(more float64) bool {
		return c.keeps(func(q *Problem) {
			for i := range q.Link {
				q.Link[i].Rate *= upFactor(factor * more)
			}
			for i := range c.troubles {
				if t := &c.troubles[i]; !able(t) {
					t.give(q)
				}
			}
		})
	})
	for i := range c.troubles {
		switch t := &c.troubles[i]; {
		case !able(t):
		case ok:
			t.LinkNeeded = upFactor(t.LinkNeeded * more)
		default:
			t.LinkNeeded = 0
		}
	}
}

// slips makes sure of promises of others that would have to slip, when those
// that are late besides are given up.
func (c *confirmer) slips() {
	for i := range c.troubles {
		t := &c.troubles[i]
		if t.Slip == nil {
			continue
		}
		to := upTime(t.Slip.To)
		ok := c.keeps(func(q *Problem) {
			for k := range c.troubles {
				if k != i {
					q.Sites[c.troubles[k].Site].Deadline = 0
				}
			}
			q.Sites[t.Slip.Site].Deadline = to
		})
		if t.Slip.To = to; !ok {
			t.Slip = nil
		}
	}
}
