package plan

import (
	"cmp"
	"math"
	"slices"
)

// task is a Problem as Solve works on it: only sites with something to come, no
// value of 0 that means something else, and no rate above the link's.
type task struct {
	p       *Problem
	link    link
	steps   []Step // of the link, from when the first byte can come
	jobs    []load
	slots   int // sites at a time
	startup float64
	floor   float64 // the least rate, but for slow sites
	least   float64 // below it, what is left of the link serves nobody
	late    bool    // some begin later than at 0
	even    bool    // all weights are equal
	capped  bool    // some are slower than the link
	hard    bool    // deadlines come before the objective
	dues    []float64
}

// load is a job as Solve sees it.
type load struct {
	job
	least  float64 // rate below which it is not served
	weight float64
}

func newTask(p *Problem) *task {
	t := &task{
		p: p, link: newLink(p.Link), startup: p.Startup, floor: p.MinRate,
		least: math.Inf(1), even: true,
		hard: !p.Objective.wishes(),
	}
	if len(p.Link) == 0 {
		return t
	}
	most := t.link.most()
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Size == 0 {
			continue
		}
		j := load{job: job{i, s.Size, min(s.Most(), most), s.NotBefore, s.Due()}, weight: s.Worth()}
		// Crumbs of the link would only make a plan long.
		j.least = max(min(p.MinRate, j.most)*(1-tiny), min(tiny*most, 1e-3*j.most))
		t.least = min(t.least, j.least)
		t.late = t.late || j.from > 0
		t.capped = t.capped || j.most < most
		t.jobs = append(t.jobs, j)
		t.even = t.even && j.weight == t.jobs[0].weight
		t.dues = append(t.dues, j.due)
	}
	t.steps = p.Link
	if t.startup > 0 {
		t.steps = t.link.delayed(t.startup)
	}
	t.slots = len(t.jobs)
	if p.MaxSites > 0 {
		t.slots = min(t.slots, p.MaxSites)
	}
	return t
}

// crowded says that MaxSites can matter.
func (t *task) crowded() bool { return t.slots < len(t.jobs) }

// fluid says that nothing but speeds, deadlines and begins matters, so that Admit's
// answers are all there is.
func (t *task) fluid() bool { return !t.crowded() && t.startup == 0 && t.floor == 0 }

// score is what a plan is worth; less is better, the first that differs decides.
type score struct{ tardiness, value, sum float64 }

func (a score) less(b score) bool {
	for _, c := range [][2]float64{{a.tardiness, b.tardiness}, {a.value, b.value}, {a.sum, b.sum}} {
		if c[0] == c[1] {
			continue
		}
		if math.IsInf(c[1], 1) || c[1]-c[0] > tiny*max(math.Abs(c[0]), math.Abs(c[1])) {
			return true
		}
		if math.IsInf(c[0], 1) || c[0]-c[1] > tiny*max(math.Abs(c[0]), math.Abs(c[1])) {
			return false
		}
	}
	return false
}

// score rates the times at which jobs are done.
func (t *task) score(finish []float64) (s score) {
	var v value
	for j := range t.jobs {
		v.add(&t.p.Sites[t.jobs[j].site], finish[j])
	}
	s.value, s.sum = v.of(t.p.Objective), v.sum
	if t.hard {
		s.tardiness = v.tardiness
	}
	return s
}

// book sets aside what every job with a deadline needs to keep it, as late as
// possible and with whole sites, so that others fit in before; dues are the
// deadlines. It returns nil if that way finds no room for all.
func (t *task) book(dues []float64) (booked [][]Rate, around profile) {
	around.reset(t.steps, t.slots)
	booked = make([][]Rate, len(t.jobs))
	order := t.order(func(j int) float64 { return -dues[j] })
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(dues[b], dues[a]), cmp.Compare(t.jobs[b].size/t.jobs[b].most, t.jobs[a].size/t.jobs[a].most))
	})
	for _, j := range order {
		if math.IsInf(dues[j], 1) {
			continue
		}
		if booked[j] = around.late(&t.jobs[j], dues[j]); booked[j] == nil {
			return nil, around
		}
	}
	return booked, around
}

// late takes what a job needs as late as possible before due, and returns nil if it cannot.
func (q *profile) late(j *load, due float64) []Rate {
	if due <= j.from {
		return nil
	}
	var rates []Rate
	need := j.size
	first := 0
	if j.from > 0 {
		first = q.split(j.from)
	}
	for k := q.split(due) - 1; k >= first; k-- {
		s, end := q.segs[k], q.end(k)
		rate := min(j.most, s.rest)
		if s.free < 1 || rate < j.least {
			continue
		}
		from := max(end-need/rate, s.from)
		last := need-float64(rate*(end-s.from)) <= crumb(j, rate, end)
		if last && past(from, s.from) {
			q.cut(k, from)
			k++
		} else {
			from = s.from
		}
		q.take(k, k+1, rate)
		rates = append(rates, Rate{from, end, rate})
		if last {
			slices.Reverse(rates)
			return rates
		}
		need -= float64(rate * (end - from))
	}
	return nil
}

// level is book for fluid tasks: it finds room if there is any.
func (t *task) level(dues []float64) (booked [][]Rate, around profile) {
	around.reset(t.steps, t.slots)
	jobs, index := t.promises(dues)
	fails, _, rates := admit(&t.link, jobs, true)
	if fails >= 0 {
		return nil, around
	}
	booked = make([][]Rate, len(t.jobs))
	for i, j := range jobs {
		booked[index[j.site]] = rates[i]
		for _, r := range rates[i] {
			around.take(around.split(r.From), around.split(r.To), r.Rate)
		}
	}
	return booked, around
}

// promises returns the jobs that have to be done by finite dues, and the index of
// jobs by site.
func (t *task) promises(dues []float64) (jobs []job, index []int) {
	index = make([]int, len(t.p.Sites))
	for j := range t.jobs {
		index[t.jobs[j].site] = j
		if !math.IsInf(dues[j], 1) {
			w := t.jobs[j].job
			w.due = dues[j]
			jobs = append(jobs, w)
		}
	}
	return jobs, index
}

// fits says whether all jobs can be done by dues, as Admit does.
func (t *task) fits(dues []float64) bool {
	jobs, _ := t.promises(dues)
	fails, _, _ := admit(&t.link, jobs, false)
	return fails < 0
}

// keepable returns the deadlines without those that cannot be kept besides those
// before them.
func (t *task) keepable() []float64 {
	dues := slices.Clone(t.dues)
	jobs, index := t.promises(dues)
	for _, site := range refused(&t.link, jobs) {
		dues[index[site]] = math.Inf(1)
	}
	return dues
}
