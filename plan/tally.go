package plan

import "math"

// tolerance is the share by which a rate or a time may miss a bound and still
// keep it: what rounding adds up to.
const tolerance = 1e-9

// tally makes a Plan of courses: when they are done, and what that is worth.
func tally(p *Problem, method string, courses []Course) *Plan {
	pl := &Plan{Method: method, Objective: p.Objective, Courses: courses, Bound: math.Inf(-1)}
	var tardy float64
	worst := math.Inf(-1)
	for i := range courses {
		s, done := &p.Sites[i], courses[i].Finish
		pl.Sum += s.Worth() * done
		pl.Max = max(pl.Max, done)
		if s.Deadline == 0 {
			continue
		}
		late := done - s.Deadline
		worst = max(worst, late)
		if late > tolerance*max(1, math.Abs(s.Deadline)) {
			pl.Late++
			tardy += s.Worth() * late
		}
	}
	switch p.Objective {
	case Sum:
		pl.Value = pl.Sum
	case Max:
		pl.Value = pl.Max
	case Lateness:
		pl.Value = worst
	case Tardiness:
		pl.Value = tardy
	}
	return pl
}

// idle returns the courses of sites that have nothing to come.
func idle(p *Problem) []Course {
	courses := make([]Course, len(p.Sites))
	for i := range courses {
		at := p.Sites[i].NotBefore
		courses[i] = Course{Start: at, Finish: at}
	}
	return courses
}
