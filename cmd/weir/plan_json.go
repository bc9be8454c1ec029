package main

import (
	"math"
	"time"
)

// planJSON is a plan for programs. Names are never changed; what is not known, or
// never comes, is null. Times are seconds from now.
type planJSON struct {
	Feasible  bool          `json:"feasible"`
	Objective string        `json:"objective"`
	Value     *float64      `json:"value"`
	Bound     *float64      `json:"lower_bound"`
	Gap       *float64      `json:"gap"` // a share: 0.01 is 1%
	Sum       *float64      `json:"sum"`
	Max       *float64      `json:"max"`
	Late      int           `json:"late"`
	Seconds   float64       `json:"seconds"` // that planning took
	Method    string        `json:"method"`
	Now       time.Time     `json:"now"`
	Link      []stepJSON    `json:"link"`
	Sites     []siteJSON    `json:"sites"`
	Problems  []problemJSON `json:"problems"`
	Methods   []methodJSON  `json:"methods,omitempty"`  // with --method all
	Left      []leftJSON    `json:"left_out,omitempty"` // sites that could not be measured
}

type stepJSON struct {
	From float64 `json:"from"`
	Rate float64 `json:"rate"`
}

type siteJSON struct {
	Site     string        `json:"site"`
	Finish   *float64      `json:"finish"`
	Slack    *float64      `json:"slack"` // null: no deadline
	Rates    []rateJSON    `json:"rates"`
	Size     float64       `json:"size"`
	Guessed  bool          `json:"estimated,omitempty"`
	Deadline *float64      `json:"deadline"`
	Start    *float64      `json:"start"`
	Risk     string        `json:"risk,omitempty"`
	Estimate *estimateJSON `json:"estimate,omitempty"` // a survey's
}

type estimateJSON struct {
	Pages int64   `json:"pages"`
	Low   float64 `json:"low"` // of the size, as High
	High  float64 `json:"high"`
	More  bool    `json:"more"` // the size is rather the least
	How   string  `json:"how"`
}

type rateJSON struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Rate float64 `json:"rate"`
}

type problemJSON struct {
	Site     string    `json:"site"`
	Message  string    `json:"message"`
	Earliest *float64  `json:"earliest"`
	Link     *float64  `json:"link_needed"`
	Trim     *float64  `json:"trim"` // bytes to leave out
	Slip     *slipJSON `json:"slip"` // somebody else's promise, given a later deadline
}

type leftJSON struct {
	Site string `json:"site"`
	Why  string `json:"why"`
}

type slipJSON struct {
	Site string  `json:"site"`
	To   float64 `json:"to"`
}

type methodJSON struct {
	Method   string   `json:"method"`
	Feasible *bool    `json:"feasible"` // null: there is no plan
	Value    *float64 `json:"value"`
	Gap      *float64 `json:"gap"`
	Sum      *float64 `json:"sum"`
	Max      *float64 `json:"max"`
	Late     *int     `json:"late"`
	Seconds  float64  `json:"seconds"`
	Why      string   `json:"why,omitempty"` // there is none
}

// finite64 is null for what no number is.
func finite64(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (r *planReport) json() *planJSON {
	p := r.plan
	j := &planJSON{
		Feasible: p.Feasible() && !math.IsInf(p.Max, 1), Objective: p.Objective.String(), Value: finite64(p.Value), Bound: finite64(p.Bound), Gap: finite64(r.gap(r.attempt)),
		Sum: finite64(p.Sum), Max: finite64(p.Max), Late: p.Late, Seconds: r.spent.Seconds(), Method: r.method, Now: r.file.now,
		Link: []stepJSON{}, Sites: []siteJSON{}, Problems: []problemJSON{},
	}
	for _, s := range r.file.Link {
		j.Link = append(j.Link, stepJSON(s))
	}
	for i, c := range p.Courses {
		s := &r.file.Sites[i]
		one := siteJSON{Site: s.Name, Finish: finite64(c.Finish), Rates: []rateJSON{}, Size: s.Size, Guessed: r.file.entries[i].guessed, Start: finite64(c.Start), Risk: r.risk(i)}
		if slack, due := r.slack(i); due {
			one.Slack, one.Deadline = finite64(slack), finite64(s.Deadline)
		}
		if est := r.file.entries[i].estimate; est != nil {
			one.Estimate = &estimateJSON{est.Pages, est.Low, est.High, est.More, est.How}
		}
		for _, rate := range c.Rates {
			one.Rates = append(one.Rates, rateJSON(rate))
		}
		j.Sites = append(j.Sites, one)
	}
	for _, t := range r.troubles {
		one := problemJSON{Message: t.message, Earliest: finite64(t.earliest), Link: finite64(t.link), Trim: finite64(t.trim)}
		if t.slip != nil {
			one.Slip = &slipJSON{r.file.Sites[t.slip.Site].Name, t.slip.To}
		}
		if t.site >= 0 {
			one.Site = r.file.Sites[t.site].Name
		}
		j.Problems = append(j.Problems, one)
	}
	for _, l := range r.file.left {
		j.Left = append(j.Left, leftJSON{l.site, l.why})
	}
	for _, a := range r.all {
		m := methodJSON{Method: a.method, Seconds: a.spent.Seconds()}
		if a.plan == nil {
			m.Why = a.err.Error()
		} else {
			feasible := a.plan.Feasible()
			m.Feasible, m.Value, m.Gap = &feasible, finite64(a.plan.Value), finite64(r.gap(a))
			m.Sum, m.Max, m.Late = finite64(a.plan.Sum), finite64(a.plan.Max), &a.plan.Late
		}
		j.Methods = append(j.Methods, m)
	}
	return j
}
