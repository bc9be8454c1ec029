package plan

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Admission says whether all deadlines of a Problem can be kept.
type Admission struct {
	Fails int      // the first site, in the order of deadlines, whose deadline cannot be kept besides those before it; -1: none
	Fits  float64  // bytes of that site that can be done in time
	Rates [][]Rate // when all can: rates of every site that keep its deadline; nil for sites without one
}

// Admit says whether all deadlines can be kept by rates that change over time,
// given what the link and the sites can carry and when sites may begin. It is
// exact about those; MaxSites, Startup and MinRate it leaves to Solve, so that a
// refusal always holds, and a yes holds where none of the three is set.
//
// Without NotBefore it takes O(n^2) at the worst, and O(n log n) as a rule; with
// it, it is a flow.
func Admit(p *Problem) *Admission {
	l := newLink(p.Link)
	jobs := make([]job, 0, len(p.Sites))
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Size > 0 && s.Deadline != 0 {
			jobs = append(jobs, job{site: i, size: s.Size, most: s.Most(), from: s.NotBefore, due: s.Deadline})
		}
	}
	a := &Admission{}
	var rates [][]Rate
	a.Fails, a.Fits, rates = admit(&l, jobs, true)
	if a.Fails < 0 {
		a.Rates = make([][]Rate, len(p.Sites))
		for i, j := range jobs {
			a.Rates[j.site] = rates[i]
		}
	}
	return a
}

// job is a site that has to be done by a time.
type job struct {
	site int
	size float64
	most float64
	from float64
	due  float64
}

// admit puts the jobs into the order of their deadlines and returns the site of
// the first that does not fit, -1 if all do, and how much of it fits. The rates,
// if they are asked for, follow the jobs.
func admit(l *link, jobs []job, rates bool) (fails int, fits float64, _ [][]Rate) {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.due, b.due) })
	for i := range jobs {
		if jobs[i].from > 0 {
			f := newFlow(l, jobs)
			return f.admit()
		}
	}
	lv := leveler{link: l, keep: rates}
	for i := range jobs {
		if fits, ok := lv.add(&jobs[i]); !ok {
			return jobs[i].site, fits, nil
		}
	}
	return -1, 0, lv.rates
}

// refused returns the sites of all jobs that do not fit in besides those that are
// due before and do.
func refused(l *link, jobs []job) (sites []int) {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.due, b.due) })
	add := (&leveler{link: l}).add
	if slices.ContainsFunc(jobs, func(j job) bool { return j.from > 0 }) {
		f := newFlow(l, jobs)
		i := -1
		add = func(*job) (float64, bool) {
			i++
			return f.add(i)
		}
	}
	for i := range jobs {
		if _, ok := add(&jobs[i]); !ok {
			sites = append(sites, jobs[i].site)
		}
	}
	return sites
}

// leveler fills the link job by job, each as level as it can be: it takes first
// where most of the link is left. Jobs come in the order of their deadlines.
//
// That is exact. Call what is left of the link at a time its rest, and a rest level
// if no bytes can be moved from a time of less rest to one of more, by any
// chain of jobs that change places. A level rest has the most room for a job of any
// speed B, since sum min(rest, B) is concave. The job takes
// clamp(rest-level, 0, B) where it may, so the new rest grows with the old: a job
// placed before, that could move only to where the rest was less, still can
// move only there. The new job itself moves from where it has something, rest >=
// level, to where it is below B, rest <= level. So the rest stays level; new
// times that a later deadline adds hold no job yet. By induction a job that
// does not fit does not fit in any way.
//
// Times of equal rest stay equal, so they are kept as one group; since the order
// of groups by rest never changes, finding a level is a merge.
type leveler struct {
	link   *link
	groups []group // by rest, rising
	last   float64 // deadline of the last job
	keep   bool
	rates  [][]Rate
}

// group is all times that have the same rest.
type group struct {
	rest, length float64
	times        []span // sorted, without touching; only when rates are kept
}

type span struct{ from, to float64 }

// add fits one more job in and returns how many bytes of it fit, and whether all do.
func (lv *leveler) add(j *job) (fits float64, ok bool) {
	if j.due <= 0 {
		return 0, false
	}
	lv.extend(j.due)
	for i := len(lv.groups) - 1; i >= 0 && fits <= j.size*(1+hair); i-- {
		fits += float64(lv.groups[i].length * min(lv.groups[i].rest, j.most))
	}
	// What rounding takes from a small job after many great ones is forgiven.
	if fits < float64(j.size*(1-hair))-min(1e-13*lv.link.work(j.due), 3e-7*j.size) {
		return fits, false
	}
	level := 0.0
	if fits > j.size*(1+hair) {
		level = lv.level(j)
	}
	lv.fill(j, level)
	return j.size, true
}

// extend adds the times up to due.
func (lv *leveler) extend(due float64) {
	for i := lv.link.at(lv.last); lv.last < due; i++ {
		end := min(due, lv.link.end(i))
		g := group{rest: lv.link.steps[i].Rate, length: end - lv.last}
		if lv.keep {
			g.times = []span{{lv.last, end}}
		}
		at := sort.Search(len(lv.groups), func(k int) bool { return lv.groups[k].rest > g.rest })
		lv.groups = slices.Insert(lv.groups, at, g)
		lv.last = end
	}
}

// level returns the level down to which j takes the rest, if it fits.
func (lv *leveler) level(j *job) float64 {
	g := lv.groups
	// From the top down: below its rest a group gives, most below that it has
	// given all it may.
	enter, leave := len(g)-1, len(g)-1
	level := g[len(g)-1].rest
	fits, length := 0.0, 0.0
	for leave >= 0 {
		next, entering := g[leave].rest-j.most, false
		if enter >= 0 && g[enter].rest >= next {
			next, entering = g[enter].rest, true
		}
		next = max(next, 0)
		if got := fits + float64(length*(level-next)); got >= j.size {
			return max(level-(j.size-fits)/length, next)
		} else if next < level {
			fits, level = got, next
		}
		if level <= 0 {
			break
		}
		if entering {
			length += g[enter].length
			enter--
		} else {
			length -= g[leave].length
			leave--
		}
	}
	return level
}

// fill takes the rest down to level, by at most what j can take.
func (lv *leveler) fill(j *job, level float64) {
	g := lv.groups
	low := sort.Search(len(g), func(k int) bool { return g[k].rest > level })
	high := low + sort.Search(len(g)-low, func(k int) bool { return g[low+k].rest > level+j.most })
	if lv.keep {
		var rates []Rate
		got := 0.0
		for k := low; k < len(g); k++ {
			got += float64(g[k].length * min(g[k].rest-level, j.most))
		}
		// Small rates, as differences of great ones, are not exact.
		scale := j.size / got
		for k := low; k < len(g); k++ {
			rate := min((g[k].rest-level)*scale, j.most)
			for _, s := range g[k].times {
				rates = append(rates, Rate{s.from, s.to, rate})
			}
		}
		lv.rates = append(lv.rates, join(rates))
	}
	if high > low {
		one := group{rest: level}
		// What lies at the level already belongs to it.
		for low > 0 && g[low-1].rest == level {
			low--
		}
		for _, h := range g[low:high] {
			one.length += h.length
			one.times = append(one.times, h.times...)
		}
		one.times = unite(one.times)
		g[low] = one
		low++
	}
	for k := high; k < len(g); k++ {
		h := g[k]
		h.rest = max(h.rest-j.most, level)
		g[low] = h
		low++
	}
	clear(g[low:])
	lv.groups = g[:low]
}

// unite sorts times and joins those that touch.
func unite(times []span) []span {
	slices.SortFunc(times, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := times[:0]
	for _, s := range times {
		if n := len(out); n > 0 && out[n-1].to == s.from {
			out[n-1].to = s.to
		} else {
			out = append(out, s)
		}
	}
	return out
}

// join sorts rates by time and joins those that touch and are equal.
func join(rates []Rate) []Rate {
	slices.SortFunc(rates, func(a, b Rate) int { return cmp.Compare(a.From, b.From) })
	out := rates[:0]
	for _, r := range rates {
		out = extend(out, r)
	}
	return slices.Clip(out)
}

// extend adds a rate after others: to the last if they touch and are equal but
// for rounding, and not at all if it is of nothing.
func extend(rates []Rate, r Rate) []Rate {
	if r.Rate <= 0 || r.To <= r.From {
		return rates
	}
	if n := len(rates); n > 0 && rates[n-1].To == r.From && math.Abs(rates[n-1].Rate-r.Rate) <= 1e-12*r.Rate {
		rates[n-1].To = r.To
		return rates
	}
	return append(rates, r)
}
