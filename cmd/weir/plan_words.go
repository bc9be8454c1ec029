package main

import (
	"fmt"
	"math"
	"time"

	"weir/plan"
)

// when writes a time for people: of the clock if the file speaks of it, else from
// now on.
func (r *planReport) when(seconds float64) string {
	if math.IsInf(seconds, 0) {
		return "never"
	}
	if !r.file.clock {
		return spanText(seconds)
	}
	now := r.file.now
	at := now.Add(time.Duration(min(seconds, mostSeconds/2) * 1e9)).In(now.Location())
	form := "15:04"
	if r.plan.Max < 600 {
		form = "15:04:05"
	} else {
		at = at.Round(time.Minute)
	}
	switch y, m, d := now.Date(); {
	case at.Before(time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())):
	case at.Before(time.Date(y, m, d+7, 0, 0, 0, 0, now.Location())):
		form = "Mon " + form
	case at.Year() == y:
		form = "2 Jan " + form
	default:
		form = "2006-01-02 " + form
	}
	return at.Format(form)
}

// by is when, rounded up: a bit earlier would not do.
func (r *planReport) by(seconds float64) string {
	unit := time.Minute
	if r.plan.Max < 600 {
		unit = time.Second
	}
	now := r.file.now
	at := now.Add(time.Duration(min(seconds, mostSeconds/2) * 1e9))
	if full := at.Truncate(unit); full.Before(at) {
		at = full.Add(unit)
	}
	return r.when(at.Sub(now).Seconds())
}

// spanText writes a time that something takes, which may be less than nothing.
func spanText(seconds float64) string {
	switch {
	case math.IsInf(seconds, 1):
		return "for ever"
	case math.IsInf(seconds, -1) || math.IsNaN(seconds):
		return "–"
	case seconds < 0:
		return "-" + spanText(-seconds)
	case seconds < 59.95 && math.Abs(seconds-math.Round(seconds)) >= 0.05:
		return fmt.Sprintf("%.1fs", seconds) // half a second before a deadline is no second
	}
	return clock(seconds)
}

// objective says what the plan makes small, and how small it is.
func (r *planReport) objective() string {
	p := r.plan
	weighted := ""
	for i := range r.file.Sites {
		if r.file.Sites[i].Worth() != 1 {
			weighted = ", weighted,"
		}
	}
	switch p.Objective {
	case plan.Max:
		return "the last site is done " + r.after(p.Max)
	case plan.Lateness:
		if p.Value <= 0 {
			return "every site is done " + spanText(-p.Value) + " before its deadline, or earlier"
		}
		return "the worst site is done " + spanText(p.Value) + " after its deadline"
	case plan.Tardiness:
		if p.Value == 0 {
			return "no site is late"
		}
		return fmt.Sprintf("what sites are late%s adds up to %s", weighted, spanText(p.Value))
	}
	n := 0.0
	for i := range r.file.Sites {
		n += r.file.Sites[i].Worth()
	}
	return fmt.Sprintf("the times when sites are done%s add up to %s, %s in the mean", weighted, spanText(p.Value), spanText(p.Value/n))
}

// after says when something is, after now.
func (r *planReport) after(seconds float64) string {
	if !r.file.clock || math.IsInf(seconds, 0) {
		return "in " + spanText(seconds)
	}
	return "by " + r.when(seconds) + ", in " + spanText(seconds)
}

// quality says in words how far from the best the plan can be.
func (r *planReport) quality() string {
	p, gap := r.plan, r.gap(r.attempt)
	switch {
	case p.Late > 0 && !r.wishes():
		return "being late as little as possible came first"
	case gap == 0:
		return "no plan can do better"
	case gap < 0.0005:
		return "at most 0.05% from the best possible"
	case !math.IsInf(gap, 1):
		return fmt.Sprintf("at most %s from the best possible", percent(gap))
	case r.kept() && p.Bound <= p.Value && !math.IsInf(p.Bound, -1):
		return fmt.Sprintf("at most %s from the best possible", spanText(p.Value-p.Bound))
	}
	return "how far from the best possible is not known"
}

// percent writes a share with the digits that matter.
func percent(v float64) string {
	switch {
	case v < 0.0995:
		return fmt.Sprintf("%.1f%%", 100*v)
	case v < 10:
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return fmt.Sprintf("%.0f times", v)
}
