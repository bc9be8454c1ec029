package plan

import (
	"math"
	"slices"
	"sort"
)

// flow decides admission when jobs may not begin at 0, which leveling cannot: bytes
// flow from jobs to stretches of time, no more to each than the job's speed
// lets through, and no more from each than the link carries. Jobs come in one by
// one; whatever of a job does not fit straight away is let in by moving others,
// along shortest chains, so a job fails only if no flow has room for it.
type flow struct {
	jobs  []job
	begin []float64 // of stretches; one more than there are, so that k ends at begin[k+1]
	left  []float64 // bytes that the link has left in each stretch
	whole []float64 // bytes that the link carries in each stretch
	parts [][]part  // of each job, by stretch
	users [][]int   // jobs that have bytes in a stretch

	// Of the search for a chain.
	next     []int // the first stretch from k on that was not reached, with halved paths
	byJob    []int // the job that reached a stretch
	byTime   []int // the stretch that reached a job; -1: the job that comes in
	seen     []bool
	frontier []int
	reached  []int
}

// part is what a job has in a stretch.
type part struct {
	at    int
	bytes float64
}

func newFlow(l *link, jobs []job) *flow {
	f := &flow{jobs: jobs}
	last := 0.0
	for _, j := range jobs {
		f.begin = append(f.begin, j.from, max(j.due, 0))
		last = max(last, j.due)
	}
	for _, s := range l.steps {
		if s.From < last {
			f.begin = append(f.begin, s.From)
		}
	}
	slices.Sort(f.begin)
	f.begin = slices.Compact(f.begin)
	n := len(f.begin) - 1
	f.left = make([]float64, n)
	for k := range n {
		f.left[k] = l.steps[l.at(f.begin[k])].Rate * (f.begin[k+1] - f.begin[k])
	}
	f.whole = slices.Clone(f.left)
	f.parts = make([][]part, len(jobs))
	f.users = make([][]int, n)
	f.next = make([]int, n+1)
	f.byJob = make([]int, n)
	f.byTime = make([]int, len(jobs))
	f.seen = make([]bool, len(jobs))
	return f
}

func (f *flow) admit() (fails int, fits float64, _ [][]Rate) {
	for i := range f.jobs {
		if fits, ok := f.add(i); !ok {
			return f.jobs[i].site, fits, nil
		}
	}
	rates := make([][]Rate, len(f.jobs))
	for i := range f.jobs {
		for _, p := range f.parts[i] {
			a, b := f.begin[p.at], f.begin[p.at+1]
			rates[i] = append(rates[i], Rate{a, b, p.bytes / (b - a)})
		}
		rates[i] = join(rates[i])
	}
	return -1, 0, rates
}

// add lets job i in, or says how many bytes of it fit; then none of them stay.
func (f *flow) add(i int) (fits float64, ok bool) {
	size := f.jobs[i].size
	need := f.soon(i)
	for need > hair*size {
		moved := f.chain(i, need)
		if moved == 0 {
			for len(f.parts[i]) > 0 {
				p := f.parts[i][0]
				f.left[p.at] += p.bytes
				f.give(i, p.at, -p.bytes)
			}
			return size - need, false
		}
		need -= moved
	}
	return size, true
}

// window returns the stretches in which a job may have bytes.
func (f *flow) window(i int) (from, to int) {
	from = sort.SearchFloat64s(f.begin, f.jobs[i].from)
	to = sort.SearchFloat64s(f.begin, max(f.jobs[i].due, 0))
	return from, max(from, to)
}

// room returns how many bytes more a job can have in stretch k, if it may have
// any there.
func (f *flow) room(i, k int) float64 {
	most := float64(f.jobs[i].most * (f.begin[k+1] - f.begin[k]))
	if math.IsInf(most, 1) {
		return most
	}
	if at, ok := f.find(i, k); ok {
		most -= f.parts[i][at].bytes
	}
	if most <= 1e-12*f.whole[k] {
		return 0
	}
	return most
}

func (f *flow) find(i, k int) (at int, ok bool) {
	p := f.parts[i]
	at = sort.Search(len(p), func(x int) bool { return p[x].at >= k })
	return at, at < len(p) && p[at].at == k
}

// give adds bytes to what a job has in a stretch; they may be negative.
func (f *flow) give(i, k int, bytes float64) {
	at, ok := f.find(i, k)
	if !ok {
		f.parts[i] = slices.Insert(f.parts[i], at, part{k, bytes})
		f.users[k] = append(f.users[k], i)
		return
	}
	p := &f.parts[i][at]
	if p.bytes += bytes; p.bytes <= 1e-12*min(f.whole[k], f.jobs[i].size) {
		f.parts[i] = slices.Delete(f.parts[i], at, at+1)
		u := f.users[k]
		x := slices.Index(u, i)
		u[x] = u[len(u)-1]
		f.users[k] = u[:len(u)-1]
	}
}

// soon gives a job whatever is left from its begin on, and returns what it lacks.
func (f *flow) soon(i int) (need float64) {
	need = f.jobs[i].size
	for k, to := f.window(i); k < to && need > 0; k++ {
		b := min(need, f.left[k], f.room(i, k))
		if b <= 1e-12*min(f.whole[k], need) {
			continue
		}
		f.give(i, k, b)
		f.left[k] -= b
		need -= b
	}
	return need
}

// chain makes room for up to so many bytes of a job by moving others, and
// returns how many it made room for.
func (f *flow) chain(i int, need float64) float64 {
	for k := range f.next {
		f.next[k] = k
	}
	clear(f.seen)
	f.seen[i], f.byTime[i] = true, -1
	f.frontier = append(f.frontier[:0], i)
	for len(f.frontier) > 0 {
		f.reached = f.reached[:0]
		for _, u := range f.frontier {
			from, to := f.window(u)
			for k := f.unreached(from); k < to; k = f.unreached(k + 1) {
				if f.room(u, k) == 0 {
					continue
				}
				f.byJob[k] = u
				f.next[k] = k + 1
				if f.left[k] > 1e-12*f.whole[k] {
					return f.move(k, need)
				}
				f.reached = append(f.reached, k)
			}
		}
		f.frontier = f.frontier[:0]
		for _, k := range f.reached {
			for _, u := range f.users[k] {
				if !f.seen[u] {
					f.seen[u], f.byTime[u] = true, k
					f.frontier = append(f.frontier, u)
				}
			}
		}
	}
	return 0
}

func (f *flow) unreached(k int) int {
	for f.next[k] != k {
		f.next[k] = f.next[f.next[k]]
		k = f.next[k]
	}
	return k
}

// move lets bytes in along the chain that ends in stretch k.
func (f *flow) move(end int, need float64) float64 {
	b := min(need, f.left[end])
	for k := end; k >= 0; {
		u := f.byJob[k]
		b = min(b, f.room(u, k))
		if k = f.byTime[u]; k >= 0 {
			at, _ := f.find(u, k)
			b = min(b, f.parts[u][at].bytes)
		}
	}
	f.left[end] -= b
	for k := end; k >= 0; {
		u := f.byJob[k]
		f.give(u, k, b)
		if k = f.byTime[u]; k >= 0 {
			f.give(u, k, -b)
		}
	}
	return b
}
