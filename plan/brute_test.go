package plan

import (
	"math"
	"math/rand/v2"
	"testing"
)

// brute finds the best plan among those that give whole bytes in whole seconds, by
// trying everything. It knows no start-up and no least rate. Infinite: no such
// plan keeps the deadlines.
type brute struct {
	p    *Problem
	end  int
	memo map[[5]int]float64
}

func (b *brute) best(now int, left [4]int) float64 {
	if left == [4]int{} {
		return b.nothing()
	}
	if now == b.end {
		return math.Inf(1)
	}
	k := [5]int{now, left[0], left[1], left[2], left[3]}
	v, ok := b.memo[k]
	if !ok {
		slots := b.p.MaxSites
		if slots == 0 {
			slots = len(b.p.Sites)
		}
		v = b.share(now, 0, int(rateAt(b.p, float64(now))), slots, left, b.nothing())
		b.memo[k] = v
	}
	return v
}

// share gives site i and those after it what they may have in the second from now on.
func (b *brute) share(now, i, rest, slots int, left [4]int, cost float64) float64 {
	if math.IsInf(cost, 1) {
		return cost
	}
	if i == len(b.p.Sites) {
		return b.join(cost, b.best(now+1, left))
	}
	best := b.share(now, i+1, rest, slots, left, cost)
	s := &b.p.Sites[i]
	if slots == 0 || s.NotBefore > float64(now) {
		return best
	}
	for give := 1; give <= min(rest, left[i]) && float64(give) <= s.Most(); give++ {
		next, paid := left, cost
		if next[i] -= give; next[i] == 0 {
			paid = b.join(cost, b.cost(s, float64(now+1)))
		}
		best = min(best, b.share(now, i+1, rest-give, slots-1, next, paid))
	}
	return best
}

func (b *brute) nothing() float64 {
	if b.p.Objective == Lateness {
		return math.Inf(-1)
	}
	return 0
}

func (b *brute) cost(s *Site, done float64) float64 {
	late := done - s.Due()
	switch b.p.Objective {
	case Lateness:
		return late
	case Tardiness:
		return s.Worth() * max(late, 0)
	}
	if late > 0 {
		return math.Inf(1)
	}
	if b.p.Objective == Max {
		return done
	}
	return s.Worth() * done
}

func (b *brute) join(x, y float64) float64 {
	if b.p.Objective == Max || b.p.Objective == Lateness {
		return max(x, y)
	}
	return x + y
}

// Small problems of every kind: no plan of whole bytes is better, and none is below
// the bound.
func TestSolveAgainstEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for i := range 1200 {
		p := &Problem{Link: []Step{{0, float64(1 + r.IntN(4))}}, MaxSites: r.IntN(3), Objective: Objective(i % 4)}
		if r.IntN(2) == 0 {
			p.Link = append(p.Link, Step{float64(1 + r.IntN(4)), float64(1 + r.IntN(4))})
		}
		var left [4]int
		for k := range 1 + r.IntN(4) {
			left[k] = 1 + r.IntN(4)
			s := Site{Size: float64(left[k]), Cap: float64(r.IntN(4)), Weight: float64(r.IntN(4))}
			if r.IntN(3) == 0 {
				s.NotBefore = float64(r.IntN(4))
			}
			if r.IntN(2) == 0 {
				s.Deadline = s.NotBefore + float64(2+r.IntN(9))
			}
			p.Sites = append(p.Sites, s)
		}
		b := &brute{p: p, end: 16, memo: map[[5]int]float64{}}
		best := b.best(0, left)
		pl := solve(t, p, Options{})
		if math.IsInf(best, 0) {
			continue
		}
		if pl.Bound > best+1e-9 {
			t.Errorf("problem %d: a bound of %g, yet %g is possible\n%+v", i, pl.Bound, best, p)
		}
		if (p.Objective == Sum || p.Objective == Max) && pl.Late > 0 {
			t.Errorf("problem %d: %d late, yet none need be\n%+v\n%+v", i, pl.Late, p, pl)
		} else if pl.Value > best+0.01*math.Abs(best)+1e-9 {
			t.Errorf("problem %d: %v of %g, yet %g is possible\n%+v\n%+v", i, p.Objective, pl.Value, best, p, pl)
		}
	}
}

// oneLink returns the best value of sites that each can take the whole link, over all
// orders, by subsets; infinite if no order keeps the deadlines that come first.
func oneLink(p *Problem) float64 {
	n := len(p.Sites)
	l := newLink(p.Link)
	b := brute{p: p}
	best := make([]float64, 1<<n)
	best[0] = b.nothing()
	for set := 1; set < 1<<n; set++ {
		bytes := 0.0
		for i := range n {
			if set>>i&1 == 1 {
				bytes += p.Sites[i].Size
			}
		}
		done := l.time(bytes)
		best[set] = math.Inf(1)
		for i := range n {
			if set>>i&1 == 1 {
				best[set] = min(best[set], b.join(best[set&^(1<<i)], b.cost(&p.Sites[i], done)))
			}
		}
	}
	return best[len(best)-1]
}

// One link, whatever the objective: the plan is the best there is.
func TestSolveOneLink(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for i := range 120 {
		w := wild{sites: 2 + r.IntN(11), steps: i % 3, weights: i%3 > 0, deadline: 0.3 + 0.7*r.Float64(), tight: 0.5 + r.Float64()}
		p := w.random(r)
		p.Objective = Objective(r.IntN(4))
		best := oneLink(p)
		if i%2 == 0 {
			// A hair slower, so that the search has to find it.
			for k := range p.Sites {
				l := newLink(p.Link)
				p.Sites[k].Cap = l.most() * (1 - 1e-8)
				p.Sites[k].Deadline *= 1 + 1e-7
			}
		}
		pl := solve(t, p, Options{})
		if math.IsInf(best, 0) {
			continue
		}
		if pl.Bound > best+1e-6*math.Abs(best) {
			t.Errorf("problem %d: a bound of %g, yet %g is possible\n%+v", i, pl.Bound, best, p)
		}
		if p.Objective <= Max && pl.Late > 0 || math.Abs(pl.Value-best) > 1e-4*(1+math.Abs(best)) {
			t.Errorf("problem %d: %v of %g with %d late, the best is %g\n%+v", i, p.Objective, pl.Value, pl.Late, best, p)
		}
	}
}
