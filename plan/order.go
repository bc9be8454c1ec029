package plan

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// key gives every job a number by which jobs are ordered.
type key func(j int) float64

// order returns the jobs by a key, rising; among equals the first comes first.
func (t *task) order(k key) []int {
	keys := make([]float64, len(t.jobs))
	order := make([]int, len(t.jobs))
	for j := range order {
		order[j], keys[j] = j, k(j)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// keys returns what makes a job long: its size on the link, its time on a slot, the
// larger of both, and something between; each over its weight.
func (t *task) keys() []key {
	most, slots := t.link.most(), float64(t.slots)
	size := func(j int) float64 { return t.jobs[j].size / t.jobs[j].weight }
	keys := []key{size}
	if t.capped || t.startup > 0 {
		time := func(j int) float64 { w := &t.jobs[j]; return (w.size/w.most + t.startup) / w.weight }
		keys = append(keys,
			func(j int) float64 { return max(size(j)/most, time(j)/slots) },
			func(j int) float64 { w := &t.jobs[j]; return w.size / math.Sqrt(w.most) / w.weight },
			time)
	}
	return keys
}

// smith returns the order of Smith's backward rule: the last is the longest, by
// key, of those whose deadline is not before the end of all that is left.
func (t *task) smith(long key, dues []float64) []int {
	n := len(t.jobs)
	bytes, time := 0.0, 0.0
	for j := range t.jobs {
		bytes += t.jobs[j].size
		time += t.jobs[j].size/t.jobs[j].most + t.startup
	}
	byDue := t.order(func(j int) float64 { return -dues[j] })
	open := &longest{key: make([]float64, n)}
	for j := range t.jobs {
		open.key[j] = long(j)
	}
	order := make([]int, n)
	for i := n - 1; i >= 0; i-- {
		end := max(t.startup+t.link.time(bytes), time/float64(t.slots))
		for len(byDue) > 0 && (dues[byDue[0]] >= end*(1-1e-12) || len(open.jobs) == 0) {
			heap.Push(open, byDue[0])
			byDue = byDue[1:]
		}
		j := heap.Pop(open).(int)
		order[i] = j
		bytes = max(bytes-t.jobs[j].size, 0)
		time = max(time-t.jobs[j].size/t.jobs[j].most-t.startup, 0)
	}
	return order
}

// longest is a heap of jobs, the longest on top.
type longest struct {
	jobs []int
	key  []float64
}

func (h *longest) Len() int { return len(h.jobs) }
func (h *longest) Less(a, b int) bool {
	x, y := h.jobs[a], h.jobs[b]
	if h.key[x] != h.key[y] {
		return h.key[x] > h.key[y]
	}
	return x > y
}
func (h *longest) Swap(a, b int) { h.jobs[a], h.jobs[b] = h.jobs[b], h.jobs[a] }
func (h *longest) Push(x any)    { h.jobs = append(h.jobs, x.(int)) }
func (h *longest) Pop() any {
	j := h.jobs[len(h.jobs)-1]
	h.jobs = h.jobs[:len(h.jobs)-1]
	return j
}

// urgent returns an order by apparent tardiness cost (Vepsalainen and Morton):
// what a job costs a second, the less the further its deadline is away, counted in
// mean jobs times patience. Of many jobs it takes several at a time.
func (t *task) urgent(patience float64) []int {
	n := len(t.jobs)
	most := t.link.most()
	mean := 0.0
	for j := range t.jobs {
		mean += t.jobs[j].size / most / float64(n)
	}
	batch := 1 + n/100
	left := t.order(func(j int) float64 { return t.jobs[j].due })
	cost := make([]float64, n)
	order := make([]int, 0, n)
	now := t.startup
	for len(left) > 0 {
		for _, j := range left {
			w := &t.jobs[j]
			slack := max(0, w.due-max(w.size/w.most, w.size/most)-now)
			cost[j] = math.Log(w.weight/w.size) - slack/(patience*mean)
		}
		slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(cost[b], cost[a]) })
		k := min(batch, len(left))
		for _, j := range left[:k] {
			now += t.jobs[j].size / most
		}
		order = append(order, left[:k]...)
		left = left[k:]
	}
	return order
}
