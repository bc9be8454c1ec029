package plan

import (
	"math"
	"math/bits"
	"slices"
)

// mostSubsets is the number of jobs up to which all their subsets are looked at.
const mostSubsets = 20

// single says that jobs are best done one after another, so that nothing but
// their order matters: each takes the whole link, from the begin on.
func (t *task) single() bool {
	if t.capped || t.late || t.startup > 0 {
		return false
	}
	for _, s := range t.p.Link {
		if s.Rate < t.floor {
			return false
		}
	}
	return true
}

// subsets returns the best order of few jobs that are done one after another, for
// objectives that are sums: the best of a set ends with one of its jobs, after the
// best of the others (Held and Karp). It returns nil if no order keeps the
// deadlines that come first.
func (t *task) subsets() []int {
	n := len(t.jobs)
	best := make([]float64, 1<<n)
	last := make([]uint8, 1<<n)
	bytes := make([]float64, 1<<n)
	for set := 1; set < len(best); set++ {
		first := bits.TrailingZeros(uint(set))
		bytes[set] = bytes[set&(set-1)] + t.jobs[first].size
		done := t.link.time(bytes[set])
		best[set] = math.Inf(1)
		for left := set; left != 0; left &= left - 1 {
			j := bits.TrailingZeros(uint(left))
			w := &t.jobs[j]
			cost := best[set&^(1<<j)]
			switch late := after(done, w.due); {
			case t.p.Objective == Sum && late:
				continue
			case t.p.Objective == Sum:
				cost += float64(w.weight * done)
			case late:
				cost += float64(w.weight * (done - w.due))
			}
			if cost < best[set] {
				best[set], last[set] = cost, uint8(j)
			}
		}
	}
	set := len(best) - 1
	if math.IsInf(best[set], 1) {
		return nil
	}
	order := make([]int, 0, n)
	for ; set != 0; set &^= 1 << last[set] {
		order = append(order, int(last[set]))
	}
	slices.Reverse(order)
	return order
}
