package plan

import (
	"container/heap"
	"math"
	"slices"
	"sort"
)

// bound returns a value of the objective that no plan of the jobs can beat: none
// that is done by dues, where deadlines come first. Those that no plan can keep
// are left out.
//
// Every bound drops some of what holds: all but the link, or all but the sites at
// a time, or all but each site's own speed; the best of them counts.
func (t *task) bound(dues []float64) (b float64) {
	if len(t.jobs) == 0 {
		return 0
	}
	switch t.p.Objective {
	case Sum:
		b = t.boundSum(dues)
	case Max:
		b = t.boundMax()
	case Lateness:
		b = t.boundLateness()
	case Tardiness:
		b = t.boundTardiness()
	}
	if math.IsInf(b, 0) {
		return b
	}
	return b - float64(1e-11*math.Abs(b)) // what rounding adds must not make it too high
}

// fair is the share of sizes that bounds are about: plans may lack a hair, and the
// link may pause just there.
const fair = 1 - 10*hair

// machine is a relaxation: jobs that share one thing and nothing else. It is
// the link, that carries bytes, or the sites at a time, that take time.
type machine struct {
	link link
	size []float64 // of jobs
	most []float64 // rates of jobs
	from []float64
}

// machines returns the relaxations of a task.
func (t *task) machines() []machine {
	n := len(t.jobs)
	wire := machine{link: t.link, size: make([]float64, n), most: make([]float64, n), from: make([]float64, n)}
	sites := machine{size: make([]float64, n), most: make([]float64, n), from: make([]float64, n)}
	for j := range t.jobs {
		w := &t.jobs[j]
		wire.size[j], wire.most[j] = w.size, w.most
		sites.size[j], sites.most[j], sites.from[j] = w.size/w.most+t.startup, 1, w.from
		if t.late {
			wire.from[j] = w.from + t.startup
		}
	}
	if t.startup > 0 && !t.late {
		wire.link = newLink(t.steps)
	}
	if !t.crowded() {
		return []machine{wire}
	}
	sites.link = newLink([]Step{{0, float64(t.slots)}})
	return []machine{wire, sites}
}

// delayed returns the link's steps with nothing before a time.
func (l *link) delayed(t float64) []Step {
	steps := []Step{{0, 0}, {t, l.steps[l.at(t)].Rate}}
	for _, s := range l.steps {
		if s.From > t {
			steps = append(steps, s)
		}
	}
	return steps
}

// never returns the deadlines of jobs that have none.
func (t *task) never() []float64 { return slices.Repeat([]float64{math.Inf(1)}, len(t.jobs)) }

// alone returns when every job would be done if it were the only one.
func (t *task) alone() []float64 {
	done := make([]float64, len(t.jobs))
	for j := range t.jobs {
		w := &t.jobs[j]
		done[j] = t.link.finish(w.from+t.startup, w.size*fair, w.most)
	}
	return done
}

func (t *task) boundSum(dues []float64) float64 {
	best := 0.0
	for j, f := range t.alone() {
		best += float64(t.jobs[j].weight * f)
	}
	dues = slices.Clone(dues)
	for j := range dues {
		dues[j] += float64(3 * tiny * math.Abs(dues[j])) // a little late is not late
	}
	if !t.fits(dues) {
		dues = t.never()
	}
	if b := t.together(); b > best {
		best = b
	}
	for _, m := range t.machines() {
		bounds := []float64{t.meanBusy(&m, dues)}
		if t.even {
			bounds = append(bounds, t.shortest(&m, dues))
		}
		if t.late {
			bounds = append(bounds, t.meanBusyFrom(&m))
		}
		for _, b := range bounds {
			if b > best { // no number where the link ends too soon
				best = b
			}
		}
	}
	return best
}

// meanBusy bounds the weighted sum through the mean of the times at which a job's
// bytes come: it is done at least half of what it takes at full speed later. On
// one machine, bytes of any job may come in any order, so the means are best if the
// machine, backward from the end, always serves the job that matters least a byte of
// those whose deadline has not passed.
func (t *task) meanBusy(m *machine, dues []float64) float64 {
	n := len(t.jobs)
	left := slices.Clone(m.size)
	total, sum := 0.0, 0.0
	light := &longest{key: make([]float64, n)}
	due := make([]float64, n) // in bytes
	for j := range t.jobs {
		w := t.jobs[j].weight
		total += left[j]
		light.key[j] = -w / left[j]
		due[j] = math.Inf(1)
		if !math.IsInf(dues[j], 1) {
			due[j] = m.link.work(max(dues[j], 0))
		}
		sum += float64(w * m.size[j] / m.most[j] / 2)
	}
	byDue := t.order(func(j int) float64 { return -due[j] })
	for at := total; at > tiny*total; {
		for len(byDue) > 0 && due[byDue[0]] >= at*(1-tiny) {
			heap.Push(light, byDue[0])
			byDue = byDue[1:]
		}
		if len(light.jobs) == 0 {
			// No plan keeps all deadlines; drop them.
			return t.meanBusy(m, t.never())
		}
		j := light.jobs[0]
		bytes, to := left[j], max(at-left[j], 0)
		if len(byDue) > 0 && due[byDue[0]] > to {
			to = due[byDue[0]]
			bytes = min(at-to, bytes)
		} else {
			heap.Pop(light)
		}
		sum -= float64(light.key[j] * bytes * m.link.mean(to*fair, at*fair))
		left[j] -= bytes
		at = to
	}
	return sum
}

// meanBusyFrom is meanBusy for jobs that begin at different times, without
// deadlines: forward, the machine always serves the job that matters most a byte.
func (t *task) meanBusyFrom(m *machine) float64 {
	n := len(t.jobs)
	left := slices.Clone(m.size)
	sum, now := 0.0, 0.0
	heavy := &longest{key: make([]float64, n)}
	for j := range t.jobs {
		heavy.key[j] = t.jobs[j].weight / m.size[j]
		sum += float64(t.jobs[j].weight * m.size[j] / m.most[j] / 2)
	}
	byFrom := t.order(func(j int) float64 { return m.from[j] })
	for len(byFrom) > 0 || len(heavy.jobs) > 0 {
		if len(heavy.jobs) == 0 {
			now = max(now, m.from[byFrom[0]])
		}
		for len(byFrom) > 0 && m.from[byFrom[0]] <= now {
			heap.Push(heavy, byFrom[0])
			byFrom = byFrom[1:]
		}
		j := heavy.jobs[0]
		at := m.link.work(now)
		bytes := left[j]
		end := m.link.time(at + bytes)
		if len(byFrom) > 0 && m.from[byFrom[0]] < end {
			end = m.from[byFrom[0]]
			bytes = min(m.link.work(end)-at, bytes)
		} else {
			heap.Pop(heavy)
		}
		if math.IsInf(end, 1) {
			return 0
		}
		if bytes > 0 {
			sum += float64(heavy.key[j] * bytes * m.link.mean(at, at+bytes))
		}
		left[j] -= bytes
		now = max(end, now)
	}
	return sum
}

// together bounds the weighted sum by mean times as meanBusy does, for the link and
// the sites' own speeds at once, without deadlines. Of the k jobs that matter most
// a byte, no more is done by a time than the link carries, nor than the jobs can
// take, each at its speed; so the sum of the times at which their bytes come is at
// least what is left to be done, over all time. The bounds for all k add up to one
// for all jobs, as what a byte matters falls from one to the next.
func (t *task) together() float64 {
	n := len(t.jobs)
	if !t.capped || n > 1500 {
		return 0
	}
	bytes := newLink(t.steps)
	order := t.order(func(j int) float64 { return -t.jobs[j].weight / t.jobs[j].size })
	var own []int // the k jobs, by the time that each takes
	time := func(j int) float64 { return t.jobs[j].size / t.jobs[j].most }
	total, sum := 0.0, 0.0
	for k, j := range order {
		w := &t.jobs[j]
		at := sort.Search(len(own), func(i int) bool { return time(own[i]) > time(j) })
		own = slices.Insert(own, at, j)
		total += w.size
		sum += float64(w.weight * w.size / w.most / 2)
		matters := w.weight / w.size
		if k+1 < n {
			matters -= t.jobs[order[k+1]].weight / t.jobs[order[k+1]].size
		}
		if matters > 0 {
			sum += float64(matters * t.undone(&bytes, own, total))
		}
	}
	return sum
}

// undone returns the least that can be left of jobs, over all time; own lists them
// by the time that each takes.
func (t *task) undone(l *link, own []int, total float64) (area float64) {
	speed, done := 0.0, 0.0 // of the jobs, each alone
	for _, j := range own {
		speed += t.jobs[j].most
	}
	step, next := 0, 0
	for now := 0.0; ; {
		end := l.end(step)
		if now < t.startup {
			end = min(end, t.startup)
		} else if next < len(own) {
			end = min(end, t.startup+t.jobs[own[next]].size/t.jobs[own[next]].most)
		}
		carried := l.done[step] + float64(l.steps[step].Rate*(now-l.steps[step].From))
		if next == len(own) {
			if carried >= total*(1-1e-12) {
				return area
			}
			if math.IsInf(end, 1) && l.steps[step].Rate == 0 {
				return area
			}
			if end = min(end, now+(total-carried)/l.steps[step].Rate); end <= now {
				return area
			}
		}
		rate := 0.0
		if now >= t.startup {
			rate = speed
		}
		d := end - now
		area += over(total-carried, total-carried-float64(l.steps[step].Rate*d), max(total-done, 0), max(total-done-float64(rate*d), 0), d)
		done += float64(rate * d)
		for now = end; next < len(own) && now >= t.startup+t.jobs[own[next]].size/t.jobs[own[next]].most; next++ {
			speed = max(speed-t.jobs[own[next]].most, 0)
		}
		for l.end(step) <= now {
			step++
		}
	}
}

// over returns the area under the higher of two lines, that run from a to b and
// from c to d within a time.
func over(a, b, c, d, time float64) float64 {
	x, y := a-c, b-d
	if x*y >= 0 {
		return time * (max(a, c) + max(b, d)) / 2
	}
	cross := x / (x - y)
	mid := a + float64((b-a)*cross)
	return time * (float64(cross*(max(a, c)+mid)) + float64((1-cross)*(mid+max(b, d)))) / 2
}

// shortest bounds the sum by Smith's rule, which is exact for one machine and equal
// weights: the last job is the longest that may be last.
func (t *task) shortest(m *machine, dues []float64) float64 {
	n := len(t.jobs)
	long := &longest{key: m.size}
	byDue := t.order(func(j int) float64 { return -dues[j] })
	total, sum := 0.0, 0.0
	for _, s := range m.size {
		total += s
	}
	for range n {
		end := m.link.time(total * fair)
		for len(byDue) > 0 && dues[byDue[0]] >= end*(1-tiny) {
			heap.Push(long, byDue[0])
			byDue = byDue[1:]
		}
		if len(long.jobs) == 0 {
			return t.shortest(m, t.never())
		}
		j := heap.Pop(long).(int)
		sum += float64(t.jobs[j].weight * end)
		total = max(total-m.size[j], 0)
	}
	return sum
}

// boundMax is the least time by which all could be done.
func (t *task) boundMax() float64 {
	low := slices.Max(t.alone())
	return t.smallest(low, func(end float64) []float64 {
		return slices.Repeat([]float64{end}, len(t.jobs))
	})
}

// boundLateness is the least time by which all deadlines would have to be later.
func (t *task) boundLateness() float64 {
	low := math.Inf(-1)
	for j, f := range t.alone() {
		if due := t.jobs[j].due; !math.IsInf(due, 1) {
			low = max(low, f-due)
		}
	}
	if math.IsInf(low, -1) {
		return 0
	}
	return t.smallest(low, func(more float64) []float64 {
		dues := slices.Clone(t.dues)
		for j := range dues {
			dues[j] += more
		}
		return dues
	})
}

// smallest returns the least x from low on for which every machine can have the jobs done
// by dues(x), or a little less.
func (t *task) smallest(low float64, dues func(x float64) []float64) float64 {
	for _, m := range t.machines() {
		low = m.smallest(t, low, dues)
	}
	return low
}

func (m *machine) smallest(t *task, low float64, dues func(x float64) []float64) float64 {
	fits := func(x float64) bool {
		var jobs []job
		same := true
		for j, due := range dues(x) {
			if !math.IsInf(due, 1) {
				jobs = append(jobs, job{j, m.size[j], m.most[j], m.from[j], due})
				same = same && due == jobs[0].due
			}
		}
		l := &m.link
		if same && t.late && len(jobs) > 0 {
			l, jobs = mirror(l, jobs)
		}
		fails, _, _ := admit(l, jobs, false)
		return fails < 0
	}
	if fits(low) {
		return low
	}
	step := float64(t.horizon() / 64)
	high := low + step
	for !fits(high) {
		if step *= 2; math.IsInf(step, 1) || step > 1e6*t.horizon() {
			return low
		}
		low, high = high, high+step
	}
	for range 60 {
		mid := between(low, high)
		if high-low <= 1e-11*max(math.Abs(low), math.Abs(high)) {
			break
		}
		if fits(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// mirror turns time around for jobs that all are due at the same time: begins become
// deadlines, and all begin at once, which is much faster to decide.
func mirror(l *link, jobs []job) (*link, []job) {
	end := jobs[0].due
	if end <= 0 {
		return l, jobs
	}
	var steps []Step
	for i := l.at(end); i >= 0; i-- {
		if l.steps[i].From < end {
			steps = append(steps, Step{max(end-l.end(i), 0), l.steps[i].Rate})
		}
	}
	back := newLink(steps)
	for i := range jobs {
		jobs[i].from, jobs[i].due = 0, end-jobs[i].from
	}
	return &back, jobs
}

// boundTardiness is the better of two: some job is as late as the best plan for
// lateness has it; and the k-th job to be done is so no sooner than in the order
// of sizes, and no plan matches times to deadlines better than in their orders.
func (t *task) boundTardiness() float64 {
	lightest := math.Inf(1)
	var dues []float64
	for j := range t.jobs {
		if w := &t.jobs[j]; !math.IsInf(w.due, 1) {
			lightest = min(lightest, w.weight)
			dues = append(dues, w.due)
		}
	}
	if len(dues) == 0 {
		return 0
	}
	worst := t.boundLateness()
	best := lightest * max(worst, 0)
	soon := make([]float64, len(t.jobs)) // when the k-th can be done
	for _, m := range t.machines() {
		sizes := slices.Sorted(slices.Values(m.size))
		total := 0.0
		for k, s := range sizes {
			total += s
			soon[k] = max(soon[k], m.link.time(total*fair))
		}
	}
	alone := t.alone()
	slices.Sort(alone)
	slices.Sort(dues)
	sum := 0.0
	for k, due := range dues {
		// Jobs without deadlines may come last.
		sum += max(0, max(soon[k], alone[k])-due)
	}
	// Rounding must not make lateness of nothing.
	if best = max(best, lightest*sum); best <= tiny*lightest*t.horizon() {
		return 0
	}
	return best
}
