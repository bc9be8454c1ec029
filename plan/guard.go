package plan

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// guard turns an order into a plan for fluid tasks: one by one, each job is done
// as soon as all jobs before it allow, and all deadlines of those after it. It is
// slow, and exact where booking is not.
type guard struct {
	t     *task
	due   []float64 // deadlines
	alone []float64 // when each job would be done if it were the only one
	last  float64   // by then everything can be done
	dues  []float64 // deadlines of jobs to come, times of jobs that were placed
	work  int

	// An order that was decoded before, so that others that begin like it need not begin again.
	base   []int
	finish []float64

	jobs     []job // all but the one that is being placed, by due
	head     leveler
	lv       leveler
	headJobs int
}

func newGuard(t *task, dues []float64) *guard {
	return &guard{t: t, due: dues, alone: t.alone(), last: t.horizon(), dues: make([]float64, len(dues)), finish: make([]float64, len(dues))}
}

// horizon returns a time by which any sensible plan of a fluid task is over.
func (t *task) horizon() float64 {
	bytes, own := 0.0, 0.0
	for j, f := range t.alone() {
		bytes += t.jobs[j].size
		own = max(own, f)
	}
	return own + t.link.time(t.link.work(own)+bytes)
}

// decode returns when jobs are done; the slice is overwritten by the next call.
func (g *guard) decode(order []int) []float64 {
	copy(g.dues, g.due)
	same := 0
	for same < len(g.base) && order[same] == g.base[same] {
		g.dues[order[same]] = g.finish[order[same]]
		same++
	}
	for _, j := range order[same:] {
		g.dues[j] = g.place(j)
	}
	return g.dues
}

// rebase makes the last order that was decoded the one that others are compared with.
func (g *guard) rebase(order []int) {
	g.base = append(g.base[:0], order...)
	copy(g.finish, g.dues)
}

// place returns the first time by which j can be done.
func (g *guard) place(j int) float64 {
	low, high := g.alone[j], min(g.dues[j], g.last)
	g.ready(j, low)
	for i := 0; high-low > 1e-9*high; i++ {
		// What is lacking cannot come sooner than at full speed, so that is where to
		// look next; where others slow it down, halving is faster.
		lacks := g.lacks(j, low)
		if lacks == 0 {
			return low
		}
		if low += lacks / g.t.jobs[j].most; i == 0 {
			continue
		}
		if mid := between(low, high); mid < high {
			if lacks := g.lacks(j, mid); lacks == 0 {
				high = mid
			} else {
				low = mid + lacks/g.t.jobs[j].most
			}
		}
	}
	return high
}

// ready sorts the jobs that j has to fit in with. Those that are due before from come
// into the head, which all questions share.
func (g *guard) ready(j int, from float64) {
	g.jobs = g.jobs[:0]
	for i, due := range g.dues {
		if i != j && !math.IsInf(due, 1) {
			w := g.t.jobs[i].job
			w.due = due
			g.jobs = append(g.jobs, w)
		}
	}
	slices.SortFunc(g.jobs, func(a, b job) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.site, b.site)) })
	g.work += 2 * len(g.jobs)
	if g.t.late {
		return
	}
	g.head = leveler{link: &g.t.link, groups: g.head.groups[:0]}
	g.headJobs = 0
	for g.headJobs < len(g.jobs) && g.jobs[g.headJobs].due < from {
		g.head.add(&g.jobs[g.headJobs])
		g.headJobs++
	}
}

// lacks returns how many bytes are too many if j is to be done by a time; 0 if all fit.
func (g *guard) lacks(j int, due float64) float64 {
	w := g.t.jobs[j].job
	w.due = due
	at := sort.Search(len(g.jobs), func(i int) bool { return g.jobs[i].due > due })
	if g.t.late {
		g.work += 30 * len(g.jobs)
		jobs := slices.Insert(slices.Clone(g.jobs), at, w)
		fails, fits, _ := admit(&g.t.link, jobs, false)
		if fails < 0 {
			return 0
		}
		return g.t.p.Sites[fails].Size - fits
	}
	groups := append(g.lv.groups[:0], g.head.groups...)
	g.lv = g.head
	g.lv.groups = groups
	g.work += 5 * (len(g.jobs) + 1 - g.headJobs)
	for i := g.headJobs; i <= len(g.jobs); i++ {
		if i == at {
			if fits, ok := g.lv.add(&w); !ok {
				return w.size - fits
			}
		}
		if i < len(g.jobs) {
			if fits, ok := g.lv.add(&g.jobs[i]); !ok {
				return g.jobs[i].size - fits
			}
		}
	}
	return 0
}
