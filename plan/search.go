package plan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// search looks for the order of jobs whose plan is best. It is deterministic, and
// its effort is counted: in plans, or in stretches of time looked at.
type search struct {
	t      *task
	bound  float64
	plain  *decoder
	booked *decoder // around what deadlines need; nil: nothing is booked
	guard  *guard   // exact about deadlines; nil: it would not help, or take too long
	exact  *exact   // about times, too; nil: there are too many jobs
	rng    *rand.Rand

	plans, mostPlans int
	mostWork         int

	best  trial
	proud bool // the best is at the bound
}

// trial is a plan in the making.
type trial struct {
	way    way
	order  []int
	finish []float64
	score  score
}

// way is how an order becomes a plan.
type way uint8

const (
	plainly  way = iota // as soon as possible
	aroundly            // as soon as possible, around what is booked
	guarded             // as soon as all deadlines allow
)

// usualWork is the effort of a search that is given none: some hundredths of a
// second, and a second for ten thousand jobs.
func usualWork(jobs int) int { return max(4e6, 4e3*jobs) }

func newSearch(t *task, bound float64, effort int) *search {
	s := &search{t: t, bound: bound, plain: newDecoder(t), rng: rand.New(rand.NewPCG(6, uint64(len(t.jobs))))}
	s.mostPlans, s.mostWork = math.MaxInt, usualWork(len(t.jobs))
	if effort > 0 {
		s.mostPlans, s.mostWork = effort, math.MaxInt
	}
	return s
}

// over says that the search has done what it may, or can do no better.
func (s *search) over() bool {
	return s.proud || s.plans >= s.mostPlans || s.work() >= s.mostWork
}

// spent returns the share of the effort that is used up.
func (s *search) spent() float64 {
	return max(float64(s.plans)/float64(s.mostPlans), float64(s.work())/float64(s.mostWork))
}

func (s *search) work() int {
	w := s.plain.q.work
	if s.booked != nil {
		w += s.booked.q.work
	}
	if s.guard != nil {
		w += s.guard.work
	}
	if s.exact != nil {
		w += s.exact.work
	}
	return w
}

// try makes a plan of an order and keeps it if it is the best so far. The times
// are valid until the next try.
func (s *search) try(order []int, how way) (finish []float64, sc score, better bool) {
	s.plans++
	switch how {
	case plainly:
		s.plain.decode(order)
		finish = s.plain.finish
	case aroundly:
		s.booked.decode(order)
		finish = s.booked.finish
	case guarded:
		finish = s.guard.decode(order)
		// A link that ends, or rounding, can leave the guard without a way.
		if math.IsInf(slices.Max(finish), 1) || !s.t.fits(finish) {
			worst := math.Inf(1)
			return finish, score{worst, worst, worst}, false
		}
	}
	return s.note(order, how, finish)
}

// note keeps a plan if it is the best so far.
func (s *search) note(order []int, how way, times []float64) (finish []float64, sc score, better bool) {
	sc = s.t.score(times)
	if s.best.order == nil || sc.less(s.best.score) {
		s.best.way, s.best.score = how, sc
		s.best.order = append(s.best.order[:0], order...)
		s.best.finish = append(s.best.finish[:0], times...)
		s.proud = sc.tardiness == 0 && sc.value <= s.bound+float64(tiny*math.Abs(s.bound))
		better = true
	}
	return times, sc, better
}

// run searches until it is over.
func (s *search) run() {
	if len(s.t.jobs) == 0 {
		return
	}
	orders := s.orders()
	tight := false
	for _, o := range orders {
		_, sc, _ := s.try(o, plainly)
		tight = tight || sc.tardiness > 0
		if s.over() {
			break
		}
	}
	if s.proud || s.prove() {
		return
	}
	// However little effort is left, deadlines that can be kept are.
	if tight || s.t.p.Objective != Sum {
		s.settle(orders)
	}
	if tight && !s.over() {
		s.repair()
	}
	if len(s.t.jobs) <= 6 {
		s.all()
		return
	}
	s.improve()
}

// prove finds the best plan there is by looking at all sets of jobs, where that
// is possible, and raises the bound to it.
func (s *search) prove() bool {
	t := s.t
	if len(t.jobs) > mostSubsets || !t.single() || t.p.Objective != Sum && t.p.Objective != Tardiness {
		return false
	}
	sets := 1 << len(t.jobs) // each as much as a plan
	if s.mostPlans-s.plans < sets {
		return false
	}
	s.plans += sets
	order := t.subsets()
	if order == nil {
		return false
	}
	if s.try(order, plainly); s.best.score.tardiness > 0 {
		return false // by rounding
	}
	s.bound = max(s.bound, s.best.score.value*(1-1e-11))
	s.proud = true
	return true
}

// orders returns orders worth a try, the likely best first.
func (s *search) orders() [][]int {
	t := s.t
	edf := t.order(func(j int) float64 { return t.jobs[j].due })
	var orders [][]int
	switch t.p.Objective {
	case Max:
		orders = append(orders, t.order(func(j int) float64 { return -t.jobs[j].size / t.jobs[j].most }))
	case Lateness:
		orders = append(orders, edf)
	case Tardiness:
		for _, patience := range []float64{2, 1, 0.5, 4} {
			orders = append(orders, t.urgent(patience))
		}
	}
	for _, k := range t.keys() {
		orders = append(orders, t.smith(k, t.dues))
	}
	for _, k := range t.keys() {
		orders = append(orders, t.order(k))
	}
	orders = append(orders, edf, t.order(func(j int) float64 { return t.jobs[j].due - t.jobs[j].size/t.jobs[j].most }))
	if t.late {
		orders = append(orders, t.order(func(j int) float64 { return t.jobs[j].from + t.jobs[j].size/t.jobs[j].most }))
	}
	return distinct(orders)
}

// distinct leaves out orders that were there before.
func distinct(orders [][]int) [][]int {
	out := orders[:0]
	for _, o := range orders {
		if !slices.ContainsFunc(out, func(p []int) bool { return slices.Equal(o, p) }) {
			out = append(out, o)
		}
	}
	return out
}

// settle books what the deadlines need, and tries the orders around it.
func (s *search) settle(orders [][]int) {
	t := s.t
	if t.startup > 0 {
		return
	}
	dues := t.dues
	if t.hard {
		dues = t.keepable()
	}
	var booked [][]Rate
	var around profile
	if t.p.Objective == Sum {
		booked, around = t.reserve(dues)
	} else {
		booked, around = s.worst(dues)
	}
	if booked != nil {
		s.booked = newDecoder(t)
		s.booked.booked, s.booked.around = booked, around
		for _, o := range orders {
			finish, _, _ := s.try(o, aroundly)
			for range 3 {
				if s.over() {
					return
				}
				finish, _, _ = s.try(byTime(finish), plainly)
			}
		}
	}
	if t.p.Objective == Sum && t.fluid() && len(t.jobs) <= 120 {
		s.guard = newGuard(t, dues)
		for _, o := range append([][]int{slices.Clone(s.best.order)}, orders...) {
			if s.spent() > 0.3 {
				break
			}
			finish, _, _ := s.try(o, guarded)
			s.try(byTime(finish), plainly)
		}
	}
}

// reserve books what jobs need to be done by dues, or returns nil.
func (t *task) reserve(dues []float64) (booked [][]Rate, around profile) {
	booked, around = t.book(dues)
	if booked == nil && t.fluid() {
		booked, around = t.level(dues)
	}
	return booked, around
}

// worst books what jobs need if none of them may be worse than the bound, by
// objectives that are about the worst job; or, where that is too much, no worse
// than a little more.
func (s *search) worst(dues []float64) (booked [][]Rate, around profile) {
	t := s.t
	if t.p.Objective == Tardiness {
		return nil, around
	}
	low := s.bound
	high := low
	ease := 1e-10 * (math.Abs(low) + t.horizon())
	for booked == nil {
		if ease > 10*t.horizon() || math.IsInf(ease, 1) {
			return nil, around
		}
		low, high = high, low+ease
		booked, around = t.reserve(t.within(dues, high))
		ease *= 16
	}
	for range 10 {
		if high-low <= tiny*max(math.Abs(low), math.Abs(high)) {
			break
		}
		mid := between(low, high)
		if b, a := t.reserve(t.within(dues, mid)); b != nil {
			booked, around, high = b, a, mid
		} else {
			low = mid
		}
	}
	return booked, around
}

// within returns the times by which jobs have to be done so that the objective
// is no more than a value.
func (t *task) within(dues []float64, value float64) []float64 {
	dues = slices.Clone(dues)
	for j := range dues {
		if t.p.Objective == Max {
			dues[j] = min(dues[j], value)
		} else {
			dues[j] += value
		}
	}
	return dues
}

// repair takes Smith's orders and shortens the deadlines that are missed, until none is.
func (s *search) repair() {
	t := s.t
	dues := make([]float64, len(t.jobs))
	for _, k := range t.keys() {
		for _, each := range []bool{true, false} {
			copy(dues, t.dues)
			for range 25 {
				if s.over() || s.spent() > 0.5 {
					return
				}
				finish, sc, _ := s.try(t.smith(k, dues), plainly)
				if sc.tardiness == 0 {
					break
				}
				most := 0.0
				for j, f := range finish {
					most = max(most, f-t.dues[j])
				}
				for j, f := range finish {
					switch {
					case !each:
						dues[j] -= most
					case f > t.dues[j]:
						dues[j] -= float64(1.2*(f-t.dues[j])) + float64(1e-6*f)
					}
				}
			}
		}
	}
}

// all tries every order, in ways that matter.
func (s *search) all() {
	n := len(s.t.jobs)
	order := make([]int, n)
	count := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if s.t.fluid() && (s.t.p.Objective == Sum || s.t.p.Objective == Tardiness) {
		s.exact = &exact{t: s.t}
	}
	each := func() {
		finish, _, _ := s.try(order, plainly)
		if s.exact != nil {
			s.polish(order, finish)
		}
		if s.booked != nil {
			s.try(order, aroundly)
		}
		if s.guard != nil {
			s.try(order, guarded)
		}
	}
	// Heap's way through all permutations.
	each()
	for i := 0; i < n; {
		if s.over() {
			return
		}
		if count[i] >= i {
			count[i] = 0
			i++
			continue
		}
		if i%2 == 0 {
			order[0], order[i] = order[i], order[0]
		} else {
			order[count[i]], order[i] = order[i], order[count[i]]
		}
		each()
		count[i]++
		i = 0
	}
	// One of them is the order of the best, but for what the simplex method rounds.
	if s.exact != nil && len(s.t.p.Link) == 1 && !s.t.late && s.best.score.tardiness == 0 {
		s.bound = max(s.bound, s.best.score.value*(1-strict))
	}
}

// polish takes the best times for jobs that are done in an order, by exact.
func (s *search) polish(order []int, finish []float64) {
	// Some orders come out of order.
	times := make([]float64, len(finish))
	last := 0.0
	for _, j := range order {
		last = max(last, finish[j])
		times[j] = last
	}
	best := s.exact.times(order, times)
	if best == nil {
		return
	}
	// Rounding must not take away what deadlines need.
	for j := range best {
		best[j] = min(best[j]*(1+tiny/4), max(best[j], s.t.jobs[j].due))
	}
	if !s.t.fits(best) {
		return
	}
	s.plans++
	s.note(order, guarded, best)
}

// improve moves jobs to other places in the order, at random, and keeps what is
// better; when nothing is any more, it shakes the best and goes on from there.
func (s *search) improve() {
	n := len(s.t.jobs)
	if n < 2 {
		return
	}
	cur := trial{way: s.best.way, order: byTime(s.best.finish), score: s.best.score}
	next := make([]int, n)
	// The best by times, not by turns, is the better one to start from if it is as good.
	if _, sc, _ := s.try(cur.order, cur.way); s.best.score.less(sc) {
		copy(cur.order, s.best.order)
	}
	for stall := 0; !s.over(); stall++ {
		if stall > 4*n*n || stall > 40*n+400 {
			copy(cur.order, s.best.order)
			cur.way = s.best.way
			for range 3 + s.rng.IntN(3) {
				a, b := s.rng.IntN(n), s.rng.IntN(n)
				cur.order[a], cur.order[b] = cur.order[b], cur.order[a]
			}
			_, cur.score, _ = s.try(cur.order, cur.way)
			stall = 0
			continue
		}
		copy(next, cur.order)
		a, b := s.rng.IntN(n), s.rng.IntN(n)
		if s.rng.IntN(2) == 0 {
			// Not far, as a rule: most gains are among neighbours.
			b = min(max(a-8+s.rng.IntN(17), 0), n-1)
		}
		if a == b {
			continue
		}
		if s.rng.IntN(3) == 0 {
			next[a], next[b] = next[b], next[a]
		} else {
			move(next, a, b)
		}
		_, sc, _ := s.try(next, cur.way)
		if sc.less(cur.score) {
			stall = 0
		}
		if !cur.score.less(sc) {
			cur.score = sc
			cur.order, next = next, cur.order
			if cur.way == guarded {
				s.guard.rebase(cur.order)
			}
		}
	}
}

// move takes the job at place a to place b.
func move(order []int, a, b int) {
	j := order[a]
	if a < b {
		copy(order[a:b], order[a+1:b+1])
	} else {
		copy(order[b+1:a+1], order[b:a])
	}
	order[b] = j
}

// byTime returns the jobs in the order in which they are done.
func byTime(finish []float64) []int {
	order := make([]int, len(finish))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(finish[a], finish[b]) })
	return order
}
