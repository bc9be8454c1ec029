package plan

import (
	"strings"
	"testing"
)

// Every promise that a plan breaks is found.
func TestVerify(t *testing.T) {
	problem := func() *Problem {
		return &Problem{
			Link: []Step{{0, 10}, {20, 5}}, MaxSites: 2, Startup: 1, MinRate: 2,
			Sites: []Site{
				{Size: 50, Cap: 5, Deadline: 12},
				{Size: 25, NotBefore: 3},
				{Size: 25},
				{NotBefore: 7},
			},
		}
	}
	plan := func() *Plan {
		return &Plan{
			Courses: []Course{
				{0, 11, []Rate{{1, 11, 5}}},
				{3, 9, []Rate{{4, 9, 5}}},
				{9, 15, []Rate{{10, 11, 5}, {11, 13, 8}, {13, 15, 2}}},
				{7, 7, nil},
			},
			Sum: 42, Max: 15, Value: 42, Bound: 40,
		}
	}
	if err := Verify(problem(), plan()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		breaks func(p *Problem, pl *Plan)
		want   string
	}{
		{func(p *Problem, pl *Plan) { pl.Courses = pl.Courses[1:] }, "3 courses for 4 sites"},
		{func(p *Problem, pl *Plan) { pl.Objective = Max }, "the plan is for max"},
		{func(p *Problem, pl *Plan) { p.Link[0].Rate = 9 }, "the link carries 10 at"},
		{func(p *Problem, pl *Plan) { p.Link[1] = Step{12, 5} }, "the link carries 8 at 12"},
		{func(p *Problem, pl *Plan) { p.MaxSites = 1 }, "2 sites at 3"},
		{func(p *Problem, pl *Plan) { pl.Courses[2].Start = 8 }, "3 sites at 8"},
		{func(p *Problem, pl *Plan) { p.Sites[0].Cap = 4 }, "more than its 4"},
		{func(p *Problem, pl *Plan) { p.Sites[0].Manners = Manners{Pages: 11, Delay: 1} }, "more than its 4.5"},
		{func(p *Problem, pl *Plan) { p.MinRate = 3 }, "less than the least, 3"},
		{func(p *Problem, pl *Plan) { p.Startup = 2 }, "before 2"},
		{func(p *Problem, pl *Plan) { p.Sites[1].NotBefore = 3.5 }, "starts at 3, not before 3.5"},
		{func(p *Problem, pl *Plan) { pl.Courses[2].Rates[1].From = 10.5 }, "before 11"},
		{func(p *Problem, pl *Plan) { pl.Courses[2].Rates[1].From = 11.5 }, "before 12"},
		{func(p *Problem, pl *Plan) { p.Sites[2].Size = 26 }, "gets only 25 of 26"},
		{func(p *Problem, pl *Plan) { p.Sites[2].Size = 24 }, "gets 25 of 24"},
		{func(p *Problem, pl *Plan) { pl.Courses[1].Finish = 8 }, "is done at 9, not 8"},
		{func(p *Problem, pl *Plan) { pl.Courses[3].Finish = 0 }, "nothing is to come"},
		{func(p *Problem, pl *Plan) { pl.Sum = 41 }, "sum is 42, not 41"},
		{func(p *Problem, pl *Plan) { pl.Max = 14 }, "max is 15, not 14"},
		{func(p *Problem, pl *Plan) { p.Sites[0].Deadline = 10 }, "1 to 1 sites are late, not 0"},
		{func(p *Problem, pl *Plan) { p.Objective, pl.Objective = Lateness, Lateness }, "value is -1, not 42"},
		{func(p *Problem, pl *Plan) { pl.Bound = 43 }, "a bound of 43"},
	} {
		p, pl := problem(), plan()
		tc.breaks(p, pl)
		if err := Verify(p, pl); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
