package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func benchmarkSolve(b *testing.B, p *Problem) {
	if err := p.Check(); err != nil {
		b.Fatal(err)
	}
	var pl *Plan
	for b.Loop() {
		pl = Solve(p, Options{})
	}
	if err := Verify(p, pl); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(100*pl.Gap(), "gap%")
	b.ReportMetric(float64(pl.Late), "late")
}

func BenchmarkSolve600(b *testing.B)              { benchmarkSolve(b, sixHundred(b)[2].p) }
func BenchmarkSolve600Startup(b *testing.B)       { benchmarkSolve(b, sixHundred(b)[7].p) }
func BenchmarkSolve600Speeds(b *testing.B)        { benchmarkSolve(b, fleet(600, 30, 0)) }
func BenchmarkSolve600SpeedsStartup(b *testing.B) { benchmarkSolve(b, fleet(600, 30, 2)) }
func BenchmarkSolve10000(b *testing.B)            { benchmarkSolve(b, fleet(10000, 30, 0)) }
func BenchmarkSolve10000Startup(b *testing.B)     { benchmarkSolve(b, fleet(10000, 30, 2)) }
func BenchmarkSolve10000Slow(b *testing.B) {
	p := fleet(10000, 0, 0)
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Cap /= 400; s.Deadline > 0 {
			s.Deadline += 2 * s.Size / s.Cap
		}
	}
	if a := Admit(p); a.Fails >= 0 {
		b.Fatalf("%d fails", a.Fails)
	}
	benchmarkSolve(b, p)
}

func BenchmarkSolve10000Tardiness(b *testing.B) {
	p := fleet(10000, 30, 0)
	p.Objective = Tardiness
	r := rand.New(rand.NewPCG(3, 3))
	for i := range p.Sites {
		p.Sites[i].Deadline *= r.Float64()
		p.Sites[i].Weight = r.Float64()
	}
	benchmarkSolve(b, p)
}

// Whatever the problem, the plan holds, its bound too, and it is the same again.
func TestSolveHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if err := p.Check(); err != nil {
			t.Skip(err)
		}
		pl := Solve(p, Options{Effort: 60})
		if err := Verify(p, pl); err != nil {
			t.Fatalf("%v\n%+v\n%+v", err, p, pl)
		}
		if again := Solve(p, Options{Effort: 60}); !reflect.DeepEqual(pl, again) {
			t.Fatalf("another plan the second time:\n%+v\n%+v", pl, again)
		}
		// What rounding decides is left out.
		for i := range p.Sites {
			p.Sites[i].Deadline += 1e-7 * math.Abs(p.Sites[i].Deadline)
		}
		if a := Admit(p); a.Fails >= 0 && pl.Late == 0 && p.Objective != Tardiness {
			t.Fatalf("site %d cannot be in time, yet nothing is late\n%+v\n%+v", a.Fails, p, pl)
		}
	})
}

// Plans that have to be late may have a lower sum than any that is not: the bound
// holds for them all the same.
func TestSolveLateBound(t *testing.T) {
	p := &Problem{Link: []Step{{0, 10}}, MaxSites: 1, Startup: 0.5, MinRate: 1.1, Sites: []Site{
		{Name: "a", Size: 7, Deadline: 30, Cap: 0.5},
		{Name: "b", Size: 27, Manners: Manners{Pages: 8, PerConn: 3, Wait: 0.976, PageTime: 0.265}},
		{Name: "c", Size: 8, Cap: 4.6},
		{Name: "d", Size: 34, NotBefore: 8},
		{Name: "e", Size: 16, Deadline: 22, NotBefore: 9, Manners: Manners{Pages: 16, Wait: 0.583, PageTime: 0.111}},
		{Name: "f", Size: 24, Deadline: 23},
	}}
	pl := solve(t, p, Options{})
	if pl.Late != 1 || pl.Gap() == 0 {
		t.Errorf("%d late, a value of %g, a bound of %g, a gap of %g", pl.Late, pl.Value, pl.Bound, pl.Gap())
	}
	pl.Bound = 1.01 * pl.Value
	if !math.IsInf(pl.Gap(), 1) {
		t.Errorf("a gap of %g to a bound above the value", pl.Gap())
	}
}

// The same of any crowd that has to be late: no order of a few sites that are done one
// after another is below the bound.
func TestSolveLateCrowd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawCrowd(t)
		pl := Solve(p, Options{Effort: 60})
		if err := Verify(p, pl); err != nil {
			t.Fatalf("%v\n%+v\n%+v", err, p, pl)
		}
		if pl.Late == 0 {
			return
		}
		d := newDecoder(newTask(p))
		order := rapid.Permutation(newTask(p).order(func(j int) float64 { return float64(j) })).Draw(t, "order")
		d.decode(order)
		sum := 0.0
		for j, f := range d.finish {
			sum += newTask(p).jobs[j].weight * f
		}
		if pl.Bound > sum*(1+1e-9) {
			t.Fatalf("a bound of %g, yet %v has %g\n%+v", pl.Bound, order, sum, p)
		}
	})
}

// drawCrowd draws sites of which one can be served at a time, with deadlines that
// the link alone has room for.
func drawCrowd(t *rapid.T) *Problem {
	p := &Problem{
		Link: []Step{{0, 10}}, MaxSites: rapid.IntRange(1, 2).Draw(t, "maxsites"),
		Startup: rapid.Float64Range(0, 2).Draw(t, "startup"), MinRate: rapid.Float64Range(0, 2).Draw(t, "least"),
	}
	bytes := 0.0
	for i := range rapid.IntRange(2, 7).Draw(t, "sites") {
		s := Site{Name: fmt.Sprint("site", i), Size: rapid.Float64Range(1, 40).Draw(t, "size")}
		if rapid.Bool().Draw(t, "slow") {
			s.Cap = rapid.Float64Range(0.5, 10).Draw(t, "cap")
		}
		if rapid.IntRange(0, 3).Draw(t, "later") == 0 {
			s.NotBefore = rapid.Float64Range(0, 9).Draw(t, "from")
		}
		if bytes += s.Size; rapid.Bool().Draw(t, "promised") {
			s.Deadline = s.NotBefore + p.Startup + max(bytes/10, s.Size/min(s.Most(), 10))*rapid.Float64Range(1, 2).Draw(t, "time")
		}
		p.Sites = append(p.Sites, s)
	}
	return p
}

// drawProblem draws problems of every kind and magnitude.
func drawProblem(t *rapid.T) *Problem {
	small := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 12).Draw(t, "n")) })
	scale := rapid.SampledFrom([]float64{1, 1, 1e-3, 1e6, 1e15})
	bytes, seconds := scale.Draw(t, "bytes"), scale.Draw(t, "seconds")
	p := &Problem{
		Link:      []Step{{0, (small.Draw(t, "link")) * bytes / seconds}},
		MaxSites:  rapid.IntRange(0, 4).Draw(t, "maxsites"),
		Objective: Objective(rapid.IntRange(0, 3).Draw(t, "objective")),
	}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		last := p.Link[len(p.Link)-1].From
		p.Link = append(p.Link, Step{last + (1+small.Draw(t, "after"))*seconds, small.Draw(t, "rate") * bytes / seconds})
	}
	if rapid.Bool().Draw(t, "startup") {
		p.Startup = small.Draw(t, "s") / 4 * seconds
	}
	if rapid.Bool().Draw(t, "least") {
		p.MinRate = small.Draw(t, "v") / 4 * bytes / seconds
	}
	n := rapid.SampledFrom([]int{0, 1, 2, 3, 5, 9, 20}).Draw(t, "sites")
	for i := range n {
		s := Site{Name: fmt.Sprint("site", i), Size: small.Draw(t, "size") * bytes}
		switch rapid.IntRange(0, 3).Draw(t, "cap") {
		case 0:
			s.Cap = small.Draw(t, "c") / 4 * bytes / seconds
		case 1:
			s.Manners = Manners{Pages: rapid.IntRange(0, 9).Draw(t, "pages"), PerConn: 2, Wait: seconds, PageTime: seconds / 8}
		}
		if rapid.Bool().Draw(t, "promised") {
			s.Deadline = rapid.Float64Range(-1, 40).Draw(t, "deadline") * seconds
		}
		if rapid.IntRange(0, 3).Draw(t, "later") == 0 {
			s.NotBefore = small.Draw(t, "from") * seconds
		}
		if rapid.Bool().Draw(t, "weighted") {
			s.Weight = small.Draw(t, "w") / 3
		}
		// Crumbs beside giants.
		if rapid.IntRange(0, 9).Draw(t, "crumb") == 0 {
			s.Size *= 1e-9
		}
		p.Sites = append(p.Sites, s)
	}
	return p
}

// Thousands of sites, of which some are of no size, have no time, or no link for
// hours: the plan holds, and is made at once.
func TestSolveMany(t *testing.T) {
	for _, o := range []Objective{Sum, Max, Lateness, Tardiness} {
		for _, startup := range []float64{0, 3} {
			p := fleet(3000, 20, startup)
			p.Link = []Step{{0, 8}, {100, 0}, {300, 12}, {1000, 4}, {2000, 8}}
			p.Objective = o
			for i := range p.Sites {
				s := &p.Sites[i]
				switch i % 10 {
				case 1:
					s.Size = 0
				case 2:
					s.Deadline = 1
				case 3:
					s.Deadline = 5000
				case 4:
					s.NotBefore = float64(i)
				case 5:
					s.Size *= 1e-6
				case 6:
					s.Weight = 3
				}
			}
			pl := solve(t, p, Options{})
			if pl.Late < 300 {
				t.Errorf("%v: only %d are late", o, pl.Late)
			}
		}
	}
}

// Promises that cannot be kept take none of the others with them.
func TestSolveKeepsOthers(t *testing.T) {
	for _, maxSites := range []int{0, 30} {
		for _, startup := range []float64{0, 2} {
			for _, o := range []Objective{Sum, Max} {
				p := fleet(300, maxSites, startup)
				p.Objective = o
				for _, i := range []int{0, 100, 200} {
					p.Sites[i].Deadline = 0.001
				}
				if pl := solve(t, p, Options{}); pl.Late != 3 {
					t.Errorf("%d at a time, start-up %g, %v: %d are late", maxSites, startup, o, pl.Late)
				}
			}
		}
	}
}

// Looking at all sets of sites is effort too: whoever allows for little gets little.
func TestSolveCountsSets(t *testing.T) {
	p := (wild{sites: 15, weights: true, deadline: 0.5, tight: 2}).random(rand.New(rand.NewPCG(6, 8)))
	for effort, want := range map[int]bool{100: false, 1 << 15: true, 0: true} {
		task := newTask(p)
		s := newSearch(task, task.bound(task.dues), effort)
		if got := s.prove(); got != want {
			t.Errorf("an effort of %d: proved %v, want %v", effort, got, want)
		}
		if want && s.plans < 1<<15 {
			t.Errorf("an effort of %d: counts %d", effort, s.plans)
		}
	}
}
