package plan

import (
	"cmp"
	"math"
	"slices"
)

// exact finds the best times for a fluid task of few jobs once the order is known in which
// things happen: jobs that are done, the link that changes, jobs that may
// begin. Between two of them all rates may be taken for constant, so the best
// times are those of a linear program.
type exact struct {
	t      *task
	events []event
	work   int
}

// event is something that ends a stretch of constant rates.
type event struct {
	job  int // that is done; -1: the time is given
	time float64
}

// times returns when jobs are best done if they are done in an order; finish,
// rising in that order, says before and after which given times.
// It returns nil if deadlines forbid it.
func (e *exact) times(order []int, finish []float64) []float64 {
	t := e.t
	e.events = e.events[:0]
	last := 0.0
	for _, j := range order {
		e.events = append(e.events, event{j, finish[j]})
		last = finish[j]
	}
	for _, s := range t.link.steps[1:] {
		if s.From < last {
			e.events = append(e.events, event{-1, s.From})
		}
	}
	for j := range t.jobs {
		if f := t.jobs[j].from; f > 0 && f < last {
			e.events = append(e.events, event{-1, f})
		}
	}
	slices.SortStableFunc(e.events, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	best, value := e.solve()
	// A job that is done just when something else happens might do better after it, or before.
	for i := 0; best != nil && i+1 < len(e.events); i++ {
		a, b := e.events[i], e.events[i+1]
		if (a.job < 0) == (b.job < 0) {
			continue
		}
		j, given := a.job, b.time
		if b.job >= 0 {
			j, given = b.job, a.time
		}
		if math.Abs(best[j]-given) > 1e-7*given {
			continue
		}
		e.events[i], e.events[i+1] = b, a
		if other, v := e.solve(); other != nil && v < value*(1-tiny) {
			best, value = other, v
		} else {
			e.events[i], e.events[i+1] = a, b
		}
	}
	return best
}

// solve writes and solves the program for the events.
func (e *exact) solve() (finish []float64, value float64) {
	t := e.t
	// Sizes and times of about 1 keep the simplex method well.
	bytes := 0.0
	for j := range t.jobs {
		bytes = max(bytes, t.jobs[j].size)
	}
	second := bytes / t.link.most()

	stretches := len(e.events)
	place := make([]int, len(t.jobs)) // of the event at which a job is done
	for k, v := range e.events {
		if v.job >= 0 {
			place[v.job] = k
		}
	}
	// Variables: lengths of stretches, tardiness of jobs, bytes of jobs in stretches.
	tardy := stretches
	next := tardy + len(t.jobs)
	type part struct{ job, stretch, variable int }
	var parts []part
	begin := 0.0
	step := make([]float64, stretches) // the link's rate
	for k, v := range e.events {
		step[k] = t.link.steps[t.link.at(begin)].Rate * second / bytes
		for j := range t.jobs {
			if place[j] >= k && t.jobs[j].from <= begin {
				parts = append(parts, part{j, k, next})
				next++
			}
		}
		if v.job < 0 {
			begin = v.time
		}
	}
	var rows [][]float64
	var limits []float64
	row := func(limit float64) []float64 {
		r := make([]float64, next)
		rows, limits = append(rows, r), append(limits, limit)
		return r
	}
	cost := make([]float64, next)
	link := make([][]float64, stretches)
	for k := range link {
		link[k] = row(0)
		link[k][k] = -step[k]
	}
	size := make([][]float64, len(t.jobs))
	for j := range t.jobs {
		w := &t.jobs[j]
		size[j] = row(-w.size / bytes)
		if !math.IsInf(w.due, 1) {
			r := row(w.due / second)
			for k := range place[j] + 1 {
				r[k] = 1
			}
			if !t.hard {
				r[tardy+j] = -1
			}
		}
		if t.p.Objective == Tardiness {
			cost[tardy+j] = w.weight
			continue
		}
		for k := range place[j] + 1 {
			cost[k] += w.weight
		}
	}
	for _, p := range parts {
		link[p.stretch][p.variable] = 1
		size[p.job][p.variable] = -1
		most := t.jobs[p.job].most * second / bytes
		if most < step[p.stretch] {
			r := row(0)
			r[p.variable], r[p.stretch] = 1, -most
		}
	}
	for k, v := range e.events {
		if v.job >= 0 {
			continue
		}
		upper, lower := row(v.time/second), row(-v.time/second)
		for i := range k + 1 {
			upper[i], lower[i] = 1, -1
		}
	}
	e.work += len(rows) * next / 8
	x := minimize(cost, rows, limits)
	if x == nil {
		return nil, 0
	}
	finish = make([]float64, len(t.jobs))
	at := 0.0
	for k, v := range e.events {
		at += x[k]
		if v.job >= 0 {
			finish[v.job] = at * second
		}
	}
	for i, c := range cost {
		value += float64(c * x[i])
	}
	return finish, value
}
