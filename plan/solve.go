package plan

import "slices"

// Options say how a plan is made.
type Options struct {
	Effort int // plans that the search may try, or sets of sites that it may look at; 0 = as many as a moment allows, by count
}

// Solve makes a Plan whose rates change over time. It keeps all deadlines if it
// finds a way, and then makes the objective as small as it can; where it finds
// none, it makes the weighted tardiness small before the objective. The Bound of
// a Plan that keeps all deadlines is about those that do; of one that does not
// it is about all plans.
//
// It tries orders of the sites, and gives each in its turn what is left of the link
// as soon as possible; orders that are likely to be good come first, and those of
// Smith's rule are best where sites are faster than the link.
func Solve(p *Problem, opt Options) *Plan {
	t := newTask(p)
	s := newSearch(t, t.bound(t.dues), opt.Effort)
	s.run()
	if s.best.score.tardiness > 0 {
		s.bound = t.bound(t.never()) // plans that are late may do better than those that are not
	}
	pl := &Plan{Method: "weir", Courses: idle(p), Bound: t.whole(s.bound)}
	if len(t.jobs) > 0 {
		s.courses(pl.Courses)
	}
	pl.tally(p)
	return pl
}

// courses fills in what the best trial gives each site.
func (s *search) courses(courses []Course) {
	t := s.t
	if s.best.way == guarded {
		booked, _ := t.level(s.best.finish)
		for j, rates := range booked {
			courses[t.jobs[j].site] = Course{rates[0].From, rates[len(rates)-1].To, rates}
		}
		return
	}
	d := s.plain
	if s.best.way == aroundly {
		d = s.booked
	}
	d.keep = true
	d.decode(s.best.order)
	for j := range t.jobs {
		c := &courses[t.jobs[j].site]
		c.Rates = slices.Clip(d.rates[j])
		c.Finish = d.finish[j]
		if len(c.Rates) > 0 {
			c.Start = max(c.Rates[0].From-t.startup, t.jobs[j].from) // rounding must not make it too early
		}
	}
}

// whole returns the bound of the whole Problem, given that of its jobs: sites without
// anything to come count in sums.
func (t *task) whole(b float64) float64 {
	for i := range t.p.Sites {
		s := &t.p.Sites[i]
		if s.Size > 0 {
			continue
		}
		switch t.p.Objective {
		case Sum:
			b += float64(s.Worth() * s.NotBefore)
		case Max:
			b = max(b, s.NotBefore)
		}
	}
	return b
}
