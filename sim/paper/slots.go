package paper

import (
	"fmt"
	"math"

	"weir/plan"
	"weir/sim/chart"
)

// program is the repaired integer program of a few sites, with slots so many
// times shorter than the paper's would be.
type program struct{ finer int }

func (g program) String() string {
	return fmt.Sprintf("the integer program with slots of 1/%d", g.finer)
}

// Solved is what a solver made of an integer program.
type Solved struct {
	By        string  // the solver's name
	Objective float64 // NaN: it found nothing
	Proved    bool    // nothing is better
}

// programs are those that a solver proves within seconds.
var programs = []program{{1}, {2}, {4}}

// few are the first sites of the crowd, without deadlines.
func few() *plan.Problem {
	p := crowd600(links600[0], 0)
	p.Sites, p.MaxSites = p.Sites[:9], 3
	for i := range p.Sites {
		p.Sites[i].Deadline = 0
	}
	return p
}

// slots returns the length of the program's slots, and how many there are: one more
// than the bytes need where they are cut finer, for what does not fit evenly.
func (g program) slots(p *plan.Problem) (length float64, n int) {
	n = len(p.Sites) / p.MaxSites
	if g.finer == 1 {
		return evenly(p).needs(p), n
	}
	return evenest(p) / float64(g.finer), n*g.finer + 1
}

// solve has the programs solved that experiments ask for.
func (l *lab) solve(chosen []Experiment) error {
	for _, e := range chosen {
		for _, g := range e.programs {
			if !l.on() || l.opt.Solve == nil {
				continue
			}
			l.tell(g.String())
			p := few()
			length, n := g.slots(p)
			lp, err := plan.Slots(p, length, n)
			if err != nil {
				return fmt.Errorf("%s: %w", g, err)
			}
			got, err := l.opt.Solve(l.ctx, lp.WriteLP)
			switch {
			case l.ctx.Err() != nil:
				return nil
			case err != nil:
				return fmt.Errorf("%s: %w", g, err)
			}
			l.rec.solved[g] = got
			l.done.Add(1)
			l.tell(g.String())
		}
	}
	return nil
}

// slotted is the repaired program at work.
func slotted() Experiment {
	return Experiment{
		Name: "zhu-slots", Title: "The integer program, repaired", Live: true,
		Paper: "A mixed integer program, solved by CPLEX, gets the least sum of times; in figures 10 and 11 it is worse than the greedy CPQ. No numbers.",
		Setup: "The first nine sites of zhu-10 without their deadlines, three at a time, U = 6. The repaired program (plan.Slots) charges a site for the slots until it is done; slots as long as the paper's three would have to be, then a half and a quarter " +
			"of three equally full ones. Solved by cbc, HiGHS or glpsol, whichever is installed; runs only when --only asks for it.",
		programs: programs,
		judge:    judgeSlots,
	}
}

func judgeSlots(r *record, f *Finding) {
	p := few()
	cpq, err := plan.CPQ(p)
	if err != nil {
		f.Comment = "CPQ has no plan: " + err.Error()
		return
	}
	ours := plan.Solve(p, plan.Options{})
	t := &chart.Table{Title: "sum of the times when sites are done", Columns: []string{"method", "slots", "of, s", "sum, s", ""}}
	b := &chart.Bars{Title: "Nine sites, three at a time: sum of times", Value: chart.Axis{Label: "sum of times", Unit: chart.Seconds}, Series: []chart.Series{{Name: "sum"}}}
	add := func(name, slots, length string, sum float64, note string) {
		t.Add(name, slots, length, round(sum), note)
		b.Names, b.Series[0].Values = append(b.Names, name), append(b.Series[0].Values, sum)
	}
	d, n := program{1}.slots(p)
	add("CPQ", "", "", cpq.Sum, "")
	add("MILP of the paper", fmt.Sprint(n), fmt.Sprintf("%.2f", d), evenly(p).objective(d), "whatever the assignment")
	have, proved, last := true, true, nan
	falling := true
	for _, g := range programs {
		got, ok := r.solved[g]
		if have = have && ok && !math.IsNaN(got.Objective); !ok {
			continue
		}
		d, n := g.slots(p)
		note := got.By + ": time was up"
		if got.Proved {
			note = got.By + ": optimal"
		}
		add(fmt.Sprintf("MILP repaired, 1/%d", g.finer), fmt.Sprint(n), fmt.Sprintf("%.2f", d), got.Objective, note)
		proved = proved && got.Proved
		falling = falling && !(got.Objective > last)
		last = got.Objective
	}
	add("weir", "", "", ours.Sum, map[bool]string{true: "at the bound", false: ""}[above(ours.Sum, ours.Bound) == 0])
	f.table("", t)
	f.Plates = append(f.Plates, Plate{Name: "chart", Bars: b})
	f.target("repaired, the finest slots", "below CPQ, and proved", have, proved && last < cpq.Sum, "%.3g s, CPQ %.3g s", last, cpq.Sum)
	f.target("repaired, finer slots", "lower sums", have, falling, "%.3g s with the finest", last)
	f.target("weir", "no higher than any of them", have, ours.Sum <= last*(1+1e-6), "%.3g s", ours.Sum)
	f.Comment = "With the paper's slots the repaired program comes to the paper's constant: three sites fill three crawlers, and nobody is done before the slot ends. With shorter slots it sees that small sites may end first, and is far ahead of CPQ. " +
		"As slots shrink its sum nears that of weir's plan, which has none and is at the bound, while the solver's time grows: it has a variable for every site and slot."
}
