package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// strict is the share of a rate, size or value by which a plan may be off.
const strict = 1e-6

// Verify returns the first promise of a Plan that does not hold for its Problem,
// or nil. It shares no arithmetic with those who make plans. Amounts may be off
// by a millionth, and stretches of a billionth of the time until then are not
// looked at.
//
// A site counts as one of MaxSites while it gets bytes and for Startup before;
// where it pauses for less than Startup it counts all along, and with a MinRate
// it may not pause so. The first time, it counts from its Start. That deadlines are
// missed is no fault of a Plan as long as it says so.
func Verify(p *Problem, pl *Plan) error {
	if len(pl.Courses) != len(p.Sites) {
		return fmt.Errorf("%d courses for %d sites", len(pl.Courses), len(p.Sites))
	}
	if pl.Objective != p.Objective {
		return fmt.Errorf("the plan is for %v, not %v", pl.Objective, p.Objective)
	}
	for i := range p.Sites {
		if err := verifyCourse(p, &p.Sites[i], &pl.Courses[i]); err != nil {
			return fmt.Errorf("site %d %s: %w", i, p.Sites[i].Name, err)
		}
	}
	if err := verifyLink(p, pl); err != nil {
		return err
	}
	if p.MaxSites > 0 {
		if err := verifySites(p, pl); err != nil {
			return err
		}
	}
	return verifyValue(p, pl)
}

func verifyCourse(p *Problem, s *Site, c *Course) error {
	if s.Size == 0 {
		if len(c.Rates) > 0 || c.Finish != s.NotBefore {
			return fmt.Errorf("nothing is to come, yet it is done at %g", c.Finish)
		}
		return nil
	}
	if math.IsNaN(c.Start) || math.IsNaN(c.Finish) {
		return fmt.Errorf("start %g, finish %g", c.Start, c.Finish)
	}
	most, least := s.Most(), min(p.MinRate, s.Most())
	got, blur, last := 0.0, 0.0, c.Start
	for i, r := range c.Rates {
		if !(r.From < r.To && r.Rate > 0) || math.IsInf(r.To, 1) || math.IsInf(r.Rate, 1) {
			return fmt.Errorf("gets %g from %g to %g", r.Rate, r.From, r.To)
		}
		ready := last
		if i == 0 {
			ready += p.Startup
		} else if p.MinRate > 0 && after(r.From, last) {
			ready += p.Startup
		}
		if after(ready, r.From) {
			return fmt.Errorf("gets bytes at %g, before %g", r.From, ready)
		}
		// What the rounding of times can hide.
		fuzz := 4e-16 * r.To
		if r.Rate > most*(1+strict) {
			return fmt.Errorf("gets %g at %g, more than its %g", r.Rate, r.From, most)
		}
		if r.Rate < least*(1-strict) && after(r.To, r.From) {
			return fmt.Errorf("gets %g at %g, less than the least, %g", r.Rate, r.From, least)
		}
		got += float64(r.Rate * (r.To - r.From))
		blur += float64(r.Rate * 2 * fuzz)
		last = r.To
	}
	if after(s.NotBefore, c.Start) {
		return fmt.Errorf("starts at %g, not before %g", c.Start, s.NotBefore)
	}
	if got > float64(s.Size*(1+strict))+blur {
		return fmt.Errorf("gets %g of %g", got, s.Size)
	}
	if math.IsInf(c.Finish, 1) {
		return nil
	}
	if got < float64(s.Size*(1-strict))-blur {
		return fmt.Errorf("gets only %g of %g", got, s.Size)
	}
	if after(c.Finish, last) || after(last, c.Finish) {
		return fmt.Errorf("is done at %g, not %g", last, c.Finish)
	}
	return nil
}

// after says that a is later than b by more than rounding makes it.
func after(a, b float64) bool {
	return a > b && (math.IsInf(a, 1) || a-b > tiny*max(math.Abs(a), math.Abs(b)))
}

// change is when the sum of something changes, and by how much.
type change struct{ at, by float64 }

// sweep returns where the sum of the changes is above most for longer than
// rounding takes, and how much it is there. most is asked at the begin of each
// stretch; bounds are further times at which it may differ.
func sweep(changes []change, bounds []float64, most func(t float64) float64) (at, sum float64, found bool) {
	for _, t := range bounds {
		changes = append(changes, change{t, 0})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	lost := 0.0 // Neumaier's correction: great rates come and go beside small ones
	for i, c := range changes {
		s := sum + c.by
		if math.Abs(sum) >= math.Abs(c.by) {
			lost += (sum - s) + c.by
		} else {
			lost += (c.by - s) + sum
		}
		sum = s
		if i+1 < len(changes) && after(changes[i+1].at, c.at) && sum+lost > most(c.at) {
			return c.at, sum + lost, true
		}
	}
	return 0, 0, false
}

func verifyLink(p *Problem, pl *Plan) error {
	var changes []change
	for i := range pl.Courses {
		for _, r := range pl.Courses[i].Rates {
			changes = append(changes, change{r.From, r.Rate}, change{r.To, -r.Rate})
		}
	}
	var bounds []float64
	for _, s := range p.Link {
		bounds = append(bounds, s.From)
	}
	rate := func(t float64) float64 {
		for i := len(p.Link) - 1; i >= 0; i-- {
			// Rounding may put a change just before the step that it belongs to.
			if !after(p.Link[i].From, t) {
				return p.Link[i].Rate * (1 + strict)
			}
		}
		return 0
	}
	if at, sum, found := sweep(changes, bounds, rate); found {
		return fmt.Errorf("the link carries %g at %g, more than its %g", sum, at, rate(at))
	}
	return nil
}

func verifySites(p *Problem, pl *Plan) error {
	var changes []change
	for i := range pl.Courses {
		c := &pl.Courses[i]
		for k := 0; k < len(c.Rates); {
			from := c.Rates[k].From - p.Startup
			if k == 0 {
				from = min(from, c.Start)
			}
			to := c.Rates[k].To
			for k++; k < len(c.Rates) && c.Rates[k].From-to <= p.Startup+float64(tiny*to); k++ {
				to = c.Rates[k].To
			}
			changes = append(changes, change{from, 1}, change{to, -1})
		}
	}
	most := func(float64) float64 { return float64(p.MaxSites) + 0.5 }
	if at, sum, found := sweep(changes, nil, most); found {
		return fmt.Errorf("%.0f sites at %g, more than %d", sum, at, p.MaxSites)
	}
	return nil
}

func verifyValue(p *Problem, pl *Plan) error {
	sum, last, weights, tardiness := 0.0, 0.0, 0.0, 0.0
	lateness, due := math.Inf(-1), false
	surely, maybe := 0, 0 // late
	for i := range p.Sites {
		s, f := &p.Sites[i], pl.Courses[i].Finish
		w := s.Weight
		if w == 0 {
			w = 1
		}
		sum += float64(w * f)
		last = max(last, f)
		if s.Deadline == 0 || s.Size == 0 {
			continue
		}
		due = true
		weights += w
		lateness = max(lateness, f-s.Deadline)
		if after(f, s.Deadline) {
			tardiness += float64(w * (f - s.Deadline))
		}
		if math.IsInf(f, 1) || after(f-float64(tiny*math.Abs(f)), s.Deadline) {
			surely++
		}
		if f > s.Deadline {
			maybe++
		}
	}
	if !due {
		lateness = 0
	}
	if pl.Late < surely || pl.Late > maybe {
		return fmt.Errorf("%d to %d sites are late, not %d", surely, maybe, pl.Late)
	}
	value := []float64{sum, last, lateness, tardiness}[p.Objective]
	blur := 0.0 // where values are differences of times
	if p.Objective == Lateness || p.Objective == Tardiness {
		blur = 4 * tiny * last * max(weights, 1)
	}
	for _, v := range []struct {
		name     string
		says, is float64
		blur     float64
	}{{"sum", pl.Sum, sum, 0}, {"max", pl.Max, last, 0}, {"value", pl.Value, value, blur}} {
		if v.says != v.is && !(math.Abs(v.says-v.is) <= float64(strict*math.Abs(v.is))+v.blur) {
			return fmt.Errorf("%s is %g, not %g", v.name, v.is, v.says)
		}
	}
	if math.IsNaN(pl.Bound) || pl.Bound > pl.Value+float64(strict*math.Abs(pl.Value))+blur {
		return fmt.Errorf("a bound of %g above the value, %g", pl.Bound, pl.Value)
	}
	return nil
}
