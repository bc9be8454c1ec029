package plan

import (
	"math"
)

// guard turns an order into a plan for fluid tasks: one by one, each job is done
// as soon as all jobs before it allow, and all deadlines of those after it. It is
// slow, and exact where booking is not.
type guard struct {
	t    *task
	due  []float64 // deadlines
	dues []float64 // deadlines of jobs to come, times of jobs that were placed
	jobs []job
	last float64
	work int
}

func newGuard(t *task, dues []float64) *guard {
	g := &guard{t: t, due: dues, dues: make([]float64, len(dues)), last: t.horizon()}
	return g
}

// horizon returns a time by which any sensible plan of a fluid task is over.
func (t *task) horizon() float64 {
	bytes, own := 0.0, 0.0
	for j := range t.jobs {
		w := &t.jobs[j]
		bytes += w.size
		own = max(own, t.link.finish(w.from+t.startup, w.size, w.most))
	}
	return own + t.link.time(t.link.work(own)+bytes)
}

// decode returns when jobs are done; the slice is overwritten by the next call.
func (g *guard) decode(order []int) []float64 {
	copy(g.dues, g.due)
	for _, j := range order {
		w := &g.t.jobs[j]
		low, high := g.t.link.finish(w.from, w.size, w.most), min(g.dues[j], g.last)
		g.dues[j] = low
		if g.fits() {
			continue
		}
		for range 40 {
			mid := low + (high-low)/2
			if high-low <= 1e-10*high || mid <= low || mid >= high {
				break
			}
			g.dues[j] = mid
			if g.fits() {
				high = mid
			} else {
				low = mid
			}
		}
		g.dues[j] = high
	}
	return g.dues
}

func (g *guard) fits() bool {
	g.jobs = g.jobs[:0]
	for j, due := range g.dues {
		if !math.IsInf(due, 1) {
			w := g.t.jobs[j].job
			w.due = due
			g.jobs = append(g.jobs, w)
		}
	}
	g.work += 4 * len(g.jobs)
	if g.t.late {
		g.work += 20 * len(g.jobs)
	}
	fails, _, _ := admit(&g.t.link, g.jobs, false)
	return fails < 0
}
