package plan

import (
	"cmp"
	"math"
	"slices"
)

// Trouble is a promise that cannot be kept, and what would help. Sizes are bytes,
// times seconds from now. Every figure is found by asking Admit again and again,
// and is good to a ten thousandth.
//
// Troubles come in the order of deadlines, and their advice adds up: do the same
// for all of them, move each deadline to its Earliest, or trim each site by its
// Trim, or multiply the link with the largest LinkNeeded, and Admit has no
// objection. A figure that is 0 was not asked for: there were too many troubles, or
// it does not apply.
type Trouble struct {
	Site    int
	Message string // for people: what is the matter, and what would help

	// Own says that the site's own speed, its manners, or its begin make it
	// impossible, whatever the link.
	Own bool
	// Room says that the link has room for it besides all that the plan keeps. It is
	// late for the sites at a time, the start-up time or the least speed, if there
	// are such bounds; else so that others, for which there is none, are less late.
	// Earliest is then when the site is done in the plan, and nothing else is known.
	Room bool
	// For is a site with a later deadline that the plan keeps instead; -1: none.
	For int

	Least      float64 // time that it takes, whatever the link, from its begin on, start-up and all
	Fits       float64 // how much of it can be done in time, besides what is kept
	Earliest   float64 // the first deadline that could be kept; infinite: none
	LinkNeeded float64 // what the whole link would have to be multiplied with; infinite: no link would do
	Slip       *Slip   // nil: no other promise would help by itself
	Trim       float64 // how much of it to leave out, its pages in proportion

	first bool // nothing that is kept is due before
	rough bool // advice that leaves MaxSites and MinRate out of account
}

// Slip is somebody else's promise, given a later deadline.
type Slip struct {
	Site int
	To   float64
}

// Explain says which deadlines of a Problem cannot be kept, each with what would
// help; none when all can.
//
// Without a Plan it is about what no plan can do, whatever MaxSites and
// MinRate, and promises that are due first are kept first. With the best Plan
// that was found it is about the sites that are late in it, all of them and no
// others, and what it advises is what Solve can do.
func Explain(p *Problem, pl *Plan) []Trouble {
	x := &explainer{p: p, steps: since(p.Link, p.Startup)}
	x.link = newLink(x.steps)
	var jobs []job
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Size > 0 && s.Deadline != 0 {
			jobs = append(jobs, x.job(i, s))
		}
	}
	x.kept, x.late = sift(&x.link, jobs)
	if pl != nil {
		x.follow(pl, jobs)
	}
	troubles := x.missing()
	told := make([]bool, len(p.Sites))
	for _, t := range troubles {
		told[t.Site] = true
	}
	if pl != nil {
		for i, c := range pl.Courses {
			if p.Sites[i].Missed(c.Finish) && !told[i] {
				troubles = append(troubles, Trouble{Site: i, Room: true, For: -1, Least: p.Startup + least(&p.Sites[i]), Earliest: c.Finish})
			}
		}
	}
	slices.SortStableFunc(troubles, func(a, b Trouble) int {
		return cmp.Compare(p.Sites[a.Site].Deadline, p.Sites[b.Site].Deadline)
	})
	if pl != nil {
		confirm(p, pl, troubles)
	}
	for i := range troubles {
		troubles[i].Message = troubles[i].text(p)
	}
	return troubles
}

// since returns the link from a time on, which is then 0.
func since(link []Step, begin float64) []Step {
	var out []Step
	for i, s := range link {
		if i+1 == len(link) || link[i+1].From > begin {
			out = append(out, Step{max(s.From-begin, 0), s.Rate})
		}
	}
	return out
}

// job is what a site asks of the link, whose first byte comes no sooner than its
// start-up lets it.
func (x *explainer) job(i int, s *Site) job {
	return job{i, s.Size, s.Most(), s.NotBefore, s.Deadline - x.p.Startup}
}

// least returns the time that a site takes whatever the link.
func least(s *Site) float64 { return s.Size / s.Most() }

// trim returns the site with some bytes less, and its pages in proportion.
func (s *Site) trim(bytes float64) Site {
	share := max(0, 1-bytes/s.Size)
	less := *s
	less.Size *= share
	less.Manners.Pages = int(math.Ceil(float64(float64(s.Manners.Pages)*share) - tiny))
	return less
}

// misfit is a job that does not fit besides those that are kept.
type misfit struct {
	job
	fits    float64
	instead int // the site that is kept for it; -1: those due before it leave no room
}

// sift takes the jobs in the order of their deadlines, and parts those that fit
// from those that do not fit besides them.
func sift(l *link, jobs []job) (kept []job, late []misfit) {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.due, b.due) })
	var add func(i int) (fits float64, ok bool)
	if slices.ContainsFunc(jobs, func(j job) bool { return j.from > 0 }) {
		f := newFlow(l, jobs)
		add = f.try
	} else {
		lv := leveler{link: l}
		add = func(i int) (float64, bool) { return lv.add(&jobs[i]) }
	}
	for i, j := range jobs {
		if fits, ok := add(i); ok {
			kept = append(kept, j)
		} else {
			late = append(late, misfit{j, fits, -1})
		}
	}
	return kept, late
}

// try lets a job in if all of it fits, and returns how much does.
func (f *flow) try(i int) (fits float64, ok bool) {
	size := f.jobs[i].size
	need := f.soon(i)
	for need > tiny*size {
		moved := f.chain(i, need)
		if moved == 0 {
			for _, p := range slices.Clone(f.parts[i]) {
				f.left[p.at] += p.bytes
				f.give(i, p.at, -p.bytes)
			}
			return size - need, false
		}
		need -= moved
	}
	return size, true
}

// explainer finds out what would help those that are late. It counts its work
// in jobs admitted, so that it ends in a time that does not depend on how many
// are late.
type explainer struct {
	p     *Problem
	steps []Step // the link from when the first byte may come, which is 0 to all jobs
	link  link
	kept  []job
	late  []misfit
	work  int
}

// follow takes the promises that a plan keeps for those that are kept, and parts
// those that it does not keep into those that fit besides them and those that do not.
// Where that is too much work, the order of deadlines has to do.
func (x *explainer) follow(pl *Plan, jobs []job) {
	var kept, late []job
	for _, j := range jobs {
		finish := pl.Courses[j.site].Finish
		if x.p.Sites[j.site].Missed(finish) {
			late = append(late, j)
		} else {
			kept = append(kept, j.by(max(j.due, finish-x.p.Startup)))
		}
	}
	isLate := func(site int) bool { return slices.ContainsFunc(late, func(j job) bool { return j.site == site }) }
	others := slices.ContainsFunc(x.late, func(m misfit) bool { return !isLate(m.site) })
	if !others && len(late) == len(x.late) {
		return
	}
	if len(late) > enough/len(jobs) {
		x.late = slices.DeleteFunc(x.late, func(m misfit) bool { return !isLate(m.site) })
		return
	}
	x.late = nil
	for _, j := range late {
		switch fails, fits := x.admit(&x.link, kept, j); fails {
		case -1:
			kept = append(kept, j)
		case j.site:
			x.late = append(x.late, misfit{j, fits, -1})
		default:
			lacks := bisect(0, j.size, func(bytes float64) bool {
				less := j
				less.size -= bytes
				return less.size <= 0 || x.fits(&x.link, kept, less)
			})
			x.late = append(x.late, misfit{j, j.size - lacks, fails})
		}
	}
	slices.SortStableFunc(kept, func(a, b job) int { return cmp.Compare(a.due, b.due) })
	x.kept = kept
	x.work = 0
}

// enough bounds the work, but for the first trouble: a fifth of a second or so.
const enough = 600_000

// fits says whether all jobs can be done in time.
func (x *explainer) fits(l *link, jobs []job, more job) bool {
	fails, _ := x.admit(l, jobs, more)
	return fails < 0
}

// admit returns the site of the first job that cannot be done in time, and how much
// of it can; -1 if all can.
func (x *explainer) admit(l *link, jobs []job, more job) (fails int, fits float64) {
	all := append(slices.Clone(jobs), more)
	x.work += len(all)
	if slices.ContainsFunc(all, func(j job) bool { return j.from > 0 }) {
		x.work += 3 * len(all)
	}
	fails, fits, _ = admit(l, all, false)
	return fails, fits
}

// missing returns the troubles of all that are late, with figures as long as
// there is not too much to do.
func (x *explainer) missing() []Trouble {
	// The jobs so far, if those that are late were moved, trimmed, or had a better link.
	moved, trimmed, linked := slices.Clone(x.kept), slices.Clone(x.kept), slices.Clone(x.kept)
	factor := 1.0
	var troubles []Trouble
	for _, m := range x.late {
		s := &x.p.Sites[m.site]
		t := Trouble{Site: m.site, For: m.instead, Fits: m.fits, Least: x.p.Startup + least(s), first: !slices.ContainsFunc(x.kept, func(j job) bool { return j.due <= m.due })}
		t.Own = s.Missed(s.NotBefore + t.Least)
		if x.work < enough {
			t.Earliest = x.earliest(moved, m.job)
			if !math.IsInf(t.Earliest, 1) {
				moved = append(moved, m.by(t.Earliest))
			}
			t.Earliest += x.p.Startup
			t.Trim = x.trim(trimmed, s, m.job)
			if less := s.trim(t.Trim); less.Size > 0 {
				trimmed = append(trimmed, x.job(m.site, &less))
			}
			t.LinkNeeded = math.Inf(1)
			if !t.Own {
				t.LinkNeeded = x.linkNeeded(linked, m.job, factor)
			}
			if !math.IsInf(t.LinkNeeded, 1) {
				factor = t.LinkNeeded
				linked = append(linked, m.job)
			}
			if !t.Own {
				t.Slip = x.slip(m)
			}
		}
		troubles = append(troubles, t)
	}
	return troubles
}

// by is the job with another deadline.
func (j job) by(due float64) job {
	j.due = due
	return j
}

// bisect returns a number between low and high at which ok begins to hold, good
// to a ten thousandth of its distance from low; it holds at the number returned.
func bisect(low, high float64, ok func(float64) bool) float64 {
	const share = 1e-4
	base := low
	for high-low > share*(high-base) && high-low > tiny*high {
		if mid := between(low, high); ok(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// snap takes a number that is the least but for a ten thousandth down to the next
// that is written without rounding, if that will do.
func snap(v, unit float64, ok func(float64) bool) float64 {
	if down := float64(math.Floor(v/unit) * unit); down > 0 && down > v*(1-1e-3) && ok(down) {
		return down
	}
	return v
}

// horizon returns a time by which a job can be done after all others are due.
func (x *explainer) horizon(others []job, j job) float64 {
	last := max(j.from, 0)
	for _, o := range others {
		last = max(last, o.due)
	}
	if done := x.link.finish(last, j.size, j.most); !math.IsInf(done, 1) {
		return done
	}
	// The link ends some day.
	return max(last, x.steps[len(x.steps)-1].From)
}

// earliest returns the first deadline of a job that can be kept besides others.
func (x *explainer) earliest(others []job, j job) float64 {
	ok := func(due float64) bool { return x.fits(&x.link, others, j.by(due)) }
	end := x.horizon(others, j) * (1 + 2*tiny)
	if !ok(end) {
		return math.Inf(1)
	}
	due := bisect(max(j.due, 0), end, ok)
	return snap(due+x.p.Startup, timeUnit(due+x.p.Startup), func(due float64) bool { return ok(due - x.p.Startup) }) - x.p.Startup
}

// trim returns how much of a site to leave out so that the rest is done in time
// besides others.
func (x *explainer) trim(others []job, s *Site, j job) float64 {
	ok := func(bytes float64) bool {
		less := s.trim(bytes)
		return less.Size == 0 || x.fits(&x.link, others, x.job(j.site, &less))
	}
	bytes := bisect(0, s.Size, ok)
	return snap(bytes, sizeUnit(bytes), ok)
}

// linkNeeded returns the factor at which the link has room for a job besides others.
func (x *explainer) linkNeeded(others []job, j job, least float64) float64 {
	const most = 1 << 20
	ok := func(factor float64) bool {
		steps := slices.Clone(x.steps)
		for i := range steps {
			steps[i].Rate *= factor
		}
		l := newLink(steps)
		return x.fits(&l, others, j)
	}
	if ok(least) {
		return least
	}
	high := 2 * least
	for !ok(high) {
		if high *= 2; high > most {
			return math.Inf(1)
		}
	}
	factor := bisect(least, high, ok)
	return snap(factor, 0.01, ok)
}

// slip returns whose promise would have to slip to make room, and to when. Only
// those due no later can be in the way, or the one that is kept instead; and only
// one that has as many bytes as are missing is enough. The later it is due, the
// less it has to slip.
func (x *explainer) slip(m misfit) *Slip {
	const tries = 12
	left := tries
	for k := len(x.kept) - 1; k >= 0 && left > 0; k-- {
		g := x.kept[k]
		if g.due > m.due && g.site != m.instead || g.size < (m.size-m.fits)*(1-tiny) {
			continue
		}
		left--
		others := slices.Delete(slices.Clone(x.kept), k, k+1)
		if !x.fits(&x.link, others, m.job) {
			continue
		}
		others = append(others, m.job)
		if to := x.earliest(others, g); !math.IsInf(to, 1) {
			return &Slip{g.site, to + x.p.Startup}
		}
	}
	return nil
}
