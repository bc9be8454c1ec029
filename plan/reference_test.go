package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// reference is a problem of testdata, in the letters of the README there, and what is known of it.
type reference struct {
	Name       string
	U, S, Vmin float64
	M          int
	Sites      []struct {
		D, B, W float64
		T       float64 `json:"d"`
	}
	Ref struct {
		SumBest   float64 `json:"sumC_opt"`
		SumBound  float64 `json:"sumC_lb"`
		TardyBest float64 `json:"tard_opt"`
		SlotBest  float64 `json:"slot_mip_end"`
	}
}

func (r *reference) problem(o Objective) *Problem {
	p := &Problem{Link: []Step{{0, r.U}}, MaxSites: r.M, Startup: r.S, MinRate: r.Vmin, Objective: o}
	for i, s := range r.Sites {
		p.Sites = append(p.Sites, Site{Name: fmt.Sprint("site", i), Size: s.D, Cap: s.B, Deadline: s.T, Weight: s.W})
	}
	return p
}

// solve makes a plan that is checked.
func solve(t testing.TB, p *Problem, opt Options) *Plan {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	pl := Solve(p, opt)
	if err := Verify(p, pl); err != nil {
		t.Fatalf("%v\n%+v\n%+v", err, p, pl)
	}
	return pl
}

// Plans are as good as what is known to be the best, and keep all deadlines.
func TestReferences(t *testing.T) {
	for _, tc := range []struct {
		file      string
		objective Objective
		share     float64 // above what is known
		known     func(*reference) float64
	}{
		{"small_caps_n4.json", Sum, 1e-6, func(r *reference) float64 { return r.Ref.SumBest }},
		{"small_caps_n5.json", Sum, 1e-6, func(r *reference) float64 { return r.Ref.SumBest }},
		{"caps_lb_n40.json", Sum, 0.02, func(r *reference) float64 { return r.Ref.SumBound }},
		{"tardiness.json", Tardiness, 1e-6, func(r *reference) float64 { return r.Ref.TardyBest }},
		// Slots are coarser than time, so their best can be beaten.
		{"mip_small.json", Sum, 0, func(r *reference) float64 { return r.Ref.SlotBest }},
	} {
		var all []reference
		read(t, tc.file, &all)
		for i := range all {
			r := &all[i]
			p := r.problem(tc.objective)
			pl := solve(t, p, Options{})
			if known := tc.known(r); known == 0 || pl.Value > known*(1+tc.share) {
				t.Errorf("%s: %g, %g is known", r.Name, pl.Value, known)
			}
			if tc.objective == Sum && pl.Late > 0 {
				t.Errorf("%s: %d are late", r.Name, pl.Late)
			}
			if tc.share < 0.01 && tc.share > 0 && pl.Bound > tc.known(r)*(1+1e-6) {
				t.Errorf("%s: a bound of %g, yet %g is known", r.Name, pl.Bound, tc.known(r))
			}
		}
	}
}

// Six sites over one link: Smith's rule is the best there is, and the plan says so.
func TestReferenceSixSites(t *testing.T) {
	var rows []struct {
		Tag       string
		U         float64
		Sizes     []float64 `json:"D"`
		Deadlines []float64 `json:"d"`
		EDF       bool      `json:"edf_ok"`
		Smith     *struct{ Sum float64 }
	}
	read(t, "six_sites.json", &rows)
	for _, r := range rows {
		p := &Problem{Link: []Step{{0, r.U}}, Sites: sitesOf(r.Sizes, r.Deadlines)}
		if fits := Admit(p).Fails < 0; fits != r.EDF {
			t.Errorf("%s at %g: fits %v", r.Tag, r.U, fits)
		}
		pl := solve(t, p, Options{})
		if pl.Feasible() != r.EDF {
			t.Errorf("%s at %g: %d are late", r.Tag, r.U, pl.Late)
		}
		if r.Smith != nil && (!near(pl.Sum, r.Smith.Sum, 1e-9) || pl.Gap() > 0) {
			t.Errorf("%s at %g: sum %g with a gap of %g, the best is %g", r.Tag, r.U, pl.Sum, pl.Gap(), r.Smith.Sum)
		}
	}
}

// 600 sites, 30 at a time: the best there is, proved, with and without start-up times.
func TestReferenceSixHundred(t *testing.T) {
	for _, row := range sixHundred(t) {
		pl := solve(t, row.p, Options{})
		if !near(pl.Sum, row.bound, 1e-9) || pl.Late > 0 || pl.Gap() > 0 {
			t.Errorf("%s: sum %g with a gap of %g, the best is %g; %d are late", row.name, pl.Sum, pl.Gap(), row.bound, pl.Late)
		}
	}
}

type sixHundredRow struct {
	name  string
	p     *Problem
	bound float64
}

func sixHundred(t testing.TB) (rows []sixHundredRow) {
	type instance struct {
		Name      string
		M         int
		Sizes     []float64 `json:"D"`
		Deadlines []float64 `json:"d"`
	}
	var data struct {
		Instances []instance
		Table     []struct {
			Fam   string
			S, U  float64
			Bound float64 `json:"opt_lb"`
		}
	}
	read(t, "six_hundred.json", &data)
	for _, row := range data.Table {
		in := data.Instances[slices.IndexFunc(data.Instances, func(in instance) bool { return strings.HasSuffix(in.Name, row.Fam) })]
		rows = append(rows, sixHundredRow{
			fmt.Sprintf("%s, start-up %g, link %g", row.Fam, row.S, row.U),
			&Problem{Link: []Step{{0, row.U}}, MaxSites: in.M, Startup: row.S, Sites: sitesOf(in.Sizes, in.Deadlines)},
			row.Bound,
		})
	}
	return rows
}
