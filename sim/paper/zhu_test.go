package paper

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/plan"
)

// visitOf makes up live crawls of one xi.
func visitOf(xi float64) func(context.Context, Visit) (Visited, error) {
	return func(_ context.Context, v Visit) (Visited, error) {
		bytes := 16e3 * float64(v.Pages)
		return Visited{Bytes: bytes, Wire: bytes, Seconds: xi * bytes / v.Rate}, nil
	}
}

// solveAt makes up a solver that finds the same sum for everything.
func solveAt(sum float64) func(context.Context, func(io.Writer) error) (Solved, error) {
	return func(_ context.Context, write func(io.Writer) error) (Solved, error) {
		return Solved{By: "nobody", Objective: sum, Proved: true}, write(io.Discard)
	}
}

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// Zhu et al., section VI: every figure that is arithmetic, with its verdicts.
func TestZhuVerdicts(t *testing.T) {
	var b strings.Builder
	for _, f := range play(t, "^zhu-([4-9]|1.)$", 0) {
		for _, x := range f.Targets {
			fmt.Fprintf(&b, "%s: %s: %s: %s: %s\n", f.Name, x.What, x.Want, x.Got, x.Verdict)
		}
	}
	const name = "testdata/zhu.txt"
	if *rewrite {
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; found\n%s\nwant\n%s", err, b.String(), want)
	}
}

// The sums and ends of 600 sites were computed before by another program.
func TestCrowdIsTheReference(t *testing.T) {
	all, err := crowd()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		startup, link                     float64
		cpq, cpqEnd, milp, ours, oursEnds float64
		late                              int
	}{
		{0, 6, 338310.755, 1060.4983, 334056.975, 231123.8412, 1060.4983, 4},
		{0, 10, 202986.453, 636.299, 200434.185, 136637.5784, 636.299, 0},
		{2, 6, 350910.755, 1100.4983, 346656.975, 232416.458, 1062.4983, 4},
		{2, 10, 215586.453, 676.299, 213034.185, 137883.3035, 638.299, 1},
	} {
		found := false
		for _, q := range all {
			if q.startup != w.startup || q.link != w.link {
				continue
			}
			found = true
			for _, v := range [][2]float64{{q.cpq.Sum, w.cpq}, {q.cpq.Max, w.cpqEnd}, {q.milp[0], w.milp}, {q.ours.Sum, w.ours}, {q.ours.Max, w.oursEnds}, {float64(q.cpq.Late), float64(w.late)}} {
				if math.Abs(v[0]-v[1]) > 1e-6*v[1] {
					t.Errorf("U = %g, s = %g: %v, want %v", w.link, w.startup, v[0], v[1])
				}
			}
		}
		if !found {
			t.Errorf("U = %g, s = %g is missing", w.link, w.startup)
		}
	}
}

// Section V.B: m sites in every slot, each charged the slot's end.
func TestPapersProgramCannotTellAssignmentsApart(t *testing.T) {
	p := crowd600(6, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	want := 30 * 97.5 * 20 * 21 / 2
	sums := map[float64]bool{}
	for range 50 {
		b := inOrder(rng.Perm(len(p.Sites)), p.MaxSites)
		if got := b.objective(97.5); math.Abs(got-want) > 1e-6 {
			t.Fatalf("the objective is %v, want %v", got, want)
		}
		if b.needs(p) < evenest(p) {
			t.Error("an assignment does with shorter slots than the shortest")
		}
		sums[b.asDone(p)] = true
	}
	if len(sums) < 50 {
		t.Errorf("batches that end when they are done give %d sums", len(sums))
	}
	if d := evenly(p).needs(p); d > 1.001*evenest(p) {
		t.Errorf("slots filled evenly need %v, and %v is the mean", d, evenest(p))
	}
}

func TestPlansOfTheFiguresAreValid(t *testing.T) {
	check := func(p *plan.Problem, pl *plan.Plan, err error) {
		t.Helper()
		if err == nil {
			err = plan.Verify(p, pl)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, s := range []sweep{linkSweep(), sizeSweep(), rigourSweep()} {
		for _, set := range s.settings {
			p := set.problem()
			pl, err := plan.MaxT(p)
			check(p, pl, err)
			pl, err = plan.SumT(p)
			check(p, pl, err)
			check(p, plan.Solve(p, plan.Options{}), nil)
		}
	}
	for _, s := range []float64{0, startup} {
		p := crowd600(6, s)
		pl, err := plan.CPQ(p)
		check(p, pl, err)
		check(p, plan.Solve(p, plan.Options{}), nil)
	}
}

func TestLiveCrawlsAreFitted(t *testing.T) {
	live := func(seconds func(bytes, rate float64) float64) []Finding {
		all, err := Run(context.Background(), Options{Only: regexp.MustCompile("zhu-[23]$"), Live: func(_ context.Context, v Visit) (Visited, error) {
			return Visited{Bytes: 16e3 * float64(v.Pages), Seconds: seconds(16e3*float64(v.Pages), v.Rate)}, nil
		}})
		if err != nil || len(all) != 2 {
			t.Fatalf("%d findings, %v", len(all), err)
		}
		return all
	}
	straight := live(func(d, v float64) float64 { return 1.04 * d / v })
	for _, f := range straight {
		for _, x := range f.Targets {
			if x.Verdict != Met {
				t.Errorf("%s: %s: %s", f.Name, x.What, x.Got)
			}
		}
		if !strings.Contains(f.Targets[0].Got, "R² = 1.0000, xi = 1.040") {
			t.Errorf("%s: %s", f.Name, f.Targets[0].Got)
		}
	}
	bent := live(func(d, v float64) float64 { return d/v + 20*v/600e3 })
	if x := bent[0].Targets[0]; x.Verdict != NotMet {
		t.Errorf("a curve that is none: %s", x.Got)
	}
	if x := bent[1].Targets[1]; x.Verdict != NotMet {
		t.Errorf("two xi: %s", x.Got)
	}
}

func TestLiveRunsOnlyWhenAsked(t *testing.T) {
	for _, e := range Experiments() {
		opt := Options{}
		if opt.wants(&e) == e.Live {
			t.Errorf("%s runs unasked, or not at all", e.Name)
		}
		if opt.Only = regexp.MustCompile("zhu"); opt.wants(&e) != strings.HasPrefix(e.Name, "zhu-") {
			t.Errorf("%s is taken for one of the other paper", e.Name)
		}
	}
}

func TestLiveCrawlThatFailsIsAnError(t *testing.T) {
	broken := errors.New("no loopback")
	opt := Options{Only: regexp.MustCompile("zhu-2$"), Live: func(context.Context, Visit) (Visited, error) { return Visited{}, broken }}
	if _, err := Run(context.Background(), opt); !errors.Is(err, broken) || !strings.Contains(err.Error(), "live crawl of 60 pages at 150 KB/s") {
		t.Errorf("%v", err)
	}
	// One that was stopped is a gap.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	made := 0
	opt.Live = func(ctx context.Context, v Visit) (Visited, error) {
		if made++; made == 3 {
			cancel()
			return Visited{}, ctx.Err()
		}
		return visitOf(1)(ctx, v)
	}
	all, err := Run(ctx, opt)
	if err != nil || len(all) != 1 || len(all[0].Gaps) != 3 || all[0].Targets[0].Verdict != NotRun {
		t.Errorf("%+v, %v", all, err)
	}
	// Nobody there to crawl: nothing is found.
	if all, err := Run(context.Background(), Options{Only: opt.Only}); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestRepairedProgramIsHeldAgainstOthers(t *testing.T) {
	slotsAt := func(sums ...float64) *Finding {
		r := newRecord(1, 1)
		for i, s := range sums {
			r.solved[programs[i]] = Solved{By: "cbc", Objective: s, Proved: true}
		}
		f, _ := r.find(slotted())
		return &f
	}
	good := verdicts(slotsAt(98, 71, 63))
	bad := verdicts(slotsAt(98, 99, 99))
	gap := verdicts(slotsAt(98, 71))
	for what, v := range map[string][3]Verdict{
		"repaired, the finest slots": {Met, NotMet, NotRun},
		"repaired, finer slots":      {Met, NotMet, NotRun},
		"weir":                       {Met, Met, NotRun},
	} {
		if got := [3]Verdict{good[what], bad[what], gap[what]}; got != v {
			t.Errorf("%s: %q, want %q", what, got, v)
		}
	}
}
