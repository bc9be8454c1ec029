package main

import (
	"errors"
	"math"
	"time"

	"weir/internal/solver"
	"weir/plan"
)

// attempt is what a method made of a problem.
type attempt struct {
	method string
	plan   *plan.Plan // nil: there is none
	spent  time.Duration
	note   string
	err    error // why there is none
}

// planReport is a plan and all that is to be said of it.
type planReport struct {
	file     *planFile
	attempt            // the one that was asked for
	all      []attempt // with --method all
	troubles []trouble
	better   bool // weir keeps promises that this method does not
}

// trouble is a promise that cannot be kept.
type trouble struct {
	site     int
	message  string
	earliest float64 // infinite: never; NaN: not known
	link     float64 // that would do; infinite: none; NaN: not known
	trim     float64 // bytes; NaN: not known, or it is all of it
	slip     *plan.Slip
}

// planners make a plan each.
var planners = map[string]func(*plan.Problem) (*plan.Plan, error){
	"weir": func(p *plan.Problem) (*plan.Plan, error) { return plan.Solve(p, plan.Options{}), nil },
	"maxt": plan.MaxT,
	"sumt": plan.SumT,
	"cpq":  plan.CPQ,
}

// try plans by one method.
func try(method string, p *plan.Problem) attempt {
	a := attempt{method: method}
	began := time.Now()
	a.plan, a.err = planners[method](p)
	a.spent = time.Since(began)
	return a
}

// solve plans by the method that was asked for. What weir finds out about the best
// there is holds for the others too.
func (c *planCmd) solve(e *env, f *planFile) (*planReport, error) {
	r := &planReport{file: f}
	if len(f.Sites) == 0 {
		r.attempt = attempt{method: c.Method, plan: &plan.Plan{Method: c.Method, Objective: f.Objective}}
		return r, nil
	}
	ours := try("weir", &f.Problem)
	if !r.wishes() {
		r.explain(ours.plan)
	}
	one := func(method string) attempt {
		switch method {
		case ours.method:
			return ours
		case "mip":
			return c.program(e, &f.Problem, ours.plan)
		}
		return try(method, &f.Problem)
	}
	if c.Method == "all" {
		r.attempt = ours
		for _, m := range planMethods[:len(planMethods)-1] {
			a := one(m)
			if errors.Is(a.err, errInterrupted) {
				return nil, &fault{a.err, "", exitInterrupted}
			}
			r.know(&a, ours.plan)
			r.all = append(r.all, a)
		}
		return r, nil
	}
	r.attempt = one(c.Method)
	if r.err != nil {
		return nil, noPlan(r.err)
	}
	r.know(&r.attempt, ours.plan)
	r.better = r.plan.Late > 0 && ours.plan.Late == 0 && !r.wishes()
	return r, nil
}

// explain says what is in the way of promises that weir's plan does not keep.
func (r *planReport) explain(ours *plan.Plan) {
	if ours.Late == 0 {
		return
	}
	f := r.file
	for _, t := range plan.Explain(&f.Problem, ours) {
		link := f.link.rate
		if f.link.table.Set() {
			perWeek, _ := weekly(f.link.table)
			link = perWeek / weekLong
		}
		known := func(v float64) float64 {
			if v == 0 {
				return math.NaN()
			}
			return v
		}
		r.troubles = append(r.troubles, trouble{t.Site, t.Message, known(t.Earliest), known(t.LinkNeeded * link), known(t.Trim), t.Slip})
		if last := &r.troubles[len(r.troubles)-1]; last.trim >= f.Sites[t.Site].Size {
			last.trim = math.NaN()
		}
	}
}

// know takes over a bound that weir's plan has found. Where deadlines come first,
// that of a plan that keeps them says nothing of those that do not.
func (r *planReport) know(a *attempt, ours *plan.Plan) {
	if a.plan != nil && (a.plan.Late == 0 || ours.Late > 0 || r.wishes()) {
		a.plan.Bound = max(a.plan.Bound, ours.Bound)
	}
}

// noPlan is the error of a method that has no plan, and what to do then.
func noPlan(err error) error {
	var no *plan.Unsuited
	var missing *solver.Missing
	switch {
	case errors.Is(err, errInterrupted):
		return &fault{err, "", exitInterrupted}
	case errors.Is(err, errSlow):
		return failure(err, "a longer --slot makes a smaller program; --method weir needs no solver")
	case errors.As(err, &missing):
		return failure(err, "--method weir needs no solver")
	case errors.As(err, &no):
		return failure(err, "--method weir takes any plan")
	}
	return failure(err, "--method weir may still keep all deadlines, by rates that change over time; if it cannot, it says why")
}

// gap says how far a plan can be from the best, as a share; infinite when nothing
// is known. A plan that breaks promises has none: it was made to break them as
// little as can be, and others may have a better value by breaking more.
func (r *planReport) gap(a attempt) float64 {
	if a.plan.Late > 0 && !r.wishes() {
		return math.Inf(1)
	}
	return a.plan.Gap()
}

// kept says that every promise can be kept, and every site gets done. Where
// deadlines are wishes, nothing else is promised.
func (r *planReport) kept() bool {
	return !math.IsInf(r.plan.Max, 1) && (r.plan.Feasible() || r.wishes())
}

// wishes says that deadlines are wishes.
func (r *planReport) wishes() bool {
	return r.file.Objective == plan.Lateness || r.file.Objective == plan.Tardiness
}

// late says that a site is done after its deadline.
func (r *planReport) late(i int) bool { return r.file.Sites[i].Missed(r.plan.Courses[i].Finish) }

// slack is how long before its deadline a site is done, if it has one.
func (r *planReport) slack(i int) (slack float64, due bool) {
	s := &r.file.Sites[i]
	return s.Deadline - r.plan.Courses[i].Finish, s.Deadline != 0
}

// risk says how much may go wrong before a deadline is missed: a twentieth of the
// time or a fifth, or as much as an estimate of the size may be wrong.
func (r *planReport) risk(i int) string {
	slack, due := r.slack(i)
	if !due {
		return ""
	}
	c, deadline := &r.plan.Courses[i], r.file.Sites[i].Deadline
	more, open := 0.0, false // what the size may be beyond its estimate, as a share
	if est := r.file.entries[i].estimate; est != nil {
		more, open = max(est.High/est.Size-1, 0), est.More
	}
	switch {
	case r.late(i):
		return "late"
	case slack < max(0.05*deadline, more*(c.Finish-c.Start)):
		return "high"
	case slack < 0.2*deadline || open:
		return "some"
	}
	return "low"
}

// mean is the rate of a site from its first byte to its last.
func (r *planReport) mean(i int) float64 {
	rates := r.plan.Courses[i].Rates
	if len(rates) == 0 {
		return 0
	}
	return r.file.Sites[i].Size / (rates[len(rates)-1].To - rates[0].From)
}

// busy is how much of the link is used until the last site is done.
func (r *planReport) busy() float64 {
	used, there := 0.0, 0.0
	for i, s := range r.file.Link {
		end := r.plan.Max
		if i+1 < len(r.file.Link) {
			end = min(end, r.file.Link[i+1].From)
		}
		there += s.Rate * max(end-s.From, 0)
	}
	for _, c := range r.plan.Courses {
		for _, p := range c.Rates {
			used += p.Rate * (p.To - p.From)
		}
	}
	return used / there
}
