package solver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"weir/plan"
)

// installed returns the solvers of this machine. cbc must be one of them: make test
// installs it, and only go test -short does without.
func installed(t *testing.T) []Solver {
	t.Helper()
	var found []Solver
	for _, name := range Names() {
		if s, err := Find(name); err == nil {
			found = append(found, s)
		} else if name == "cbc" && testing.Short() {
			t.Skip(err)
		} else if name == "cbc" {
			t.Fatalf("%v; or run 'make tools'", err)
		}
	}
	return found
}

// Every solver that is here tells the same ends.
func TestEnds(t *testing.T) {
	for _, s := range installed(t) {
		for _, c := range []struct {
			name, lp string
			want     Answer
		}{
			{"linear", "Minimize\n obj: 3 x + 2 y\nSubject To\n x + y >= 3\nBounds\n x <= 2\n y <= 2.5\nEnd\n",
				Answer{Optimal, 6.5, map[string]float64{"x": 0.5, "y": 2.5}}},
			{"integer", "Minimize\n obj: 3 x + 2 y + 7 one\nSubject To\n x + y >= 1.5\nBounds\n one = 1\nBinaries\n x y\nEnd\n",
				Answer{Optimal, 12, map[string]float64{"x": 1, "y": 1, "one": 1}}},
			{"no linear solution", "Minimize\n obj: x\nSubject To\n x + y + z >= 3\n x + y <= 1\n y + z <= 1\n x + z <= 1\nEnd\n", Answer{Status: Infeasible}},
			{"no integer solution", "Minimize\n obj: x\nSubject To\n 2 x + 2 y + 2 z = 3\nBinaries\n x y z\nEnd\n", Answer{Status: Infeasible}},
		} {
			got, err := s.Solve(t.Context(), text(c.lp), 10*time.Second)
			if err != nil {
				t.Errorf("%s, %s: %v", s.Name, c.name, err)
				continue
			}
			same := got.Status == c.want.Status && math.Abs(got.Objective-c.want.Objective) < 1e-6 && len(got.Values) == len(c.want.Values)
			for name, v := range c.want.Values {
				same = same && math.Abs(got.Values[name]-v) < 1e-6
			}
			if !same {
				t.Errorf("%s, %s: %+v, want %+v", s.Name, c.name, *got, c.want)
			}
		}
		if _, err := s.Solve(t.Context(), text("Minimize\n obj: - x\nSubject To\n x + y >= 1\nEnd\n"), 10*time.Second); err == nil {
			t.Errorf("%s: an answer without a bound", s.Name)
		}
	}
}

// The slotted program of Zhu et al., section V.B, repaired: solvers agree on
// its optimum, and their values make plans that hold.
func TestPaperSlots(t *testing.T) {
	b, err := os.ReadFile("../../plan/testdata/mip_small.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name       string
		U, S, VMin float64
		M          int
		Sites      []struct {
			Size     float64 `json:"D"`
			Cap      float64 `json:"B"`
			Deadline float64 `json:"d"`
			Weight   float64 `json:"w"`
		}
		Ref struct {
			K   int
			Dt  float64
			End float64 `json:"slot_mip_end"`
		}
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	for k, row := range rows {
		p := &plan.Problem{Link: []plan.Step{{From: 0, Rate: row.U}}, MaxSites: row.M, Startup: row.S, MinRate: row.VMin}
		for i, s := range row.Sites {
			p.Sites = append(p.Sites, plan.Site{Name: fmt.Sprint(i), Size: s.Size, Cap: s.Cap, Deadline: s.Deadline, Weight: s.Weight})
		}
		program, err := plan.Slots(p, row.Ref.Dt, row.Ref.K)
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range installed(t) {
			if n > 0 && k > 0 {
				break // one program shows that the others read the file alike
			}
			got, err := s.Solve(t.Context(), program.WriteLP, 3*time.Minute)
			if err != nil {
				t.Errorf("%s, %s: %v", row.Name, s.Name, err)
				continue
			}
			if got.Status != Optimal || math.Abs(got.Objective-row.Ref.End) > 1e-6 {
				t.Errorf("%s, %s: %v, %v; want %v", row.Name, s.Name, got.Status, got.Objective, row.Ref.End)
			}
			pl, err := program.Plan(got.Values)
			if err != nil {
				t.Errorf("%s, %s: %v", row.Name, s.Name, err)
				continue
			}
			if err := plan.Verify(p, pl); err != nil {
				t.Errorf("%s, %s: %v", row.Name, s.Name, err)
			}
			if pl.Late > 0 || pl.Sum > row.Ref.End*(1+1e-6) {
				t.Errorf("%s, %s: a sum of %v, %d late", row.Name, s.Name, pl.Sum, pl.Late)
			}
		}
	}
}

// With half a slot of start-up, a link that changes and a site that must wait,
// the values still make a plan that holds.
func TestSlotsOfTwoParts(t *testing.T) {
	p := &plan.Problem{
		Link: []plan.Step{{From: 0, Rate: 4}, {From: 6, Rate: 2}}, MaxSites: 2, Startup: 1, MinRate: 0.5,
		Sites: []plan.Site{{Name: "a", Size: 7, Deadline: 9}, {Name: "b", Size: 5, Cap: 2}, {Name: "c", Size: 3, NotBefore: 3}},
	}
	program, err := plan.Slots(p, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	objective := math.NaN()
	for _, s := range installed(t) {
		got, err := s.Solve(t.Context(), program.WriteLP, time.Minute)
		if err != nil || got.Status != Optimal {
			t.Fatalf("%s: %+v, %v", s.Name, got, err)
		}
		if math.Abs(got.Objective-objective) > 1e-6 {
			t.Errorf("%s has %v, another %v", s.Name, got.Objective, objective)
		}
		objective = got.Objective
		if _, err := program.Plan(got.Values); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// The program makes small what the problem asks for: a is due first, and b matters
// more.
func TestSlotsHaveTheObjective(t *testing.T) {
	for objective, want := range map[plan.Objective]float64{plan.Max: 3, plan.Lateness: 1, plan.Tardiness: 2, plan.Sum: 6} {
		p := &plan.Problem{Link: []plan.Step{{From: 0, Rate: 4}}, Objective: objective,
			Sites: []plan.Site{{Name: "a", Size: 8, Deadline: 1}, {Name: "b", Size: 4, Deadline: 2, Weight: 3}, {Name: "c", Size: 0}}}
		if objective == plan.Sum || objective == plan.Max {
			p.Sites[0].Deadline, p.Sites[1].Deadline = 3, 3
		}
		program, err := plan.Slots(p, 1, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range installed(t) {
			got, err := s.Solve(t.Context(), program.WriteLP, time.Minute)
			if err != nil || got.Status != Optimal || math.Abs(got.Objective-want) > 1e-6 {
				t.Fatalf("%v by %s: %+v, %v, want %g", objective, s.Name, got, err, want)
			}
			if pl, err := program.Plan(got.Values); err != nil || math.Abs(pl.Value-want) > 1e-6 {
				t.Errorf("%v by %s: %+v, %v, want %g", objective, s.Name, pl, err, want)
			}
		}
	}
}

// Admit decides as a linear program does, on a thousand problems. Amounts are
// whole numbers: so is what cannot be done, 0 or 1 at least, and rounding never decides.
func TestAdmitAgreesWithLP(t *testing.T) {
	const batches, each = 20, 50
	s := installed(t)[0]
	rng := rand.New(rand.NewPCG(6, 1))
	feasible := 0
	for range batches {
		problems := make([]*plan.Problem, each)
		wants := make([]float64, each)
		for b := range problems {
			problems[b] = wholeProblem(rng)
		}
		got, err := s.Solve(t.Context(), func(w io.Writer) error { return writeAdmission(w, problems, wants) }, time.Minute)
		if err != nil || got.Status != Optimal {
			t.Fatal(got, err)
		}
		for b, p := range problems {
			done := got.Values[fmt.Sprintf("done%d", b)]
			fits := done > wants[b]-0.5
			if fits {
				feasible++
			}
			if a := plan.Admit(p); fits != (a.Fails < 0) {
				t.Errorf("the program does %v of %v, and Admit says %d fails: %+v", done, wants[b], a.Fails, p)
			}
		}
	}
	if feasible < batches*each/4 || feasible > batches*each*3/4 {
		t.Errorf("%d of %d can be kept, which is too one-sided", feasible, batches*each)
	}
}

// wholeProblem draws a problem of whole numbers near the edge of what can be done.
func wholeProblem(rng *rand.Rand) *plan.Problem {
	p := &plan.Problem{}
	at := 0
	for range 1 + rng.IntN(3) {
		p.Link = append(p.Link, plan.Step{From: float64(at), Rate: float64(rng.IntN(20))})
		at += 1 + rng.IntN(12)
	}
	p.Link[len(p.Link)-1].Rate++
	n := 2 + rng.IntN(8)
	for i := range n {
		s := plan.Site{Name: fmt.Sprint(i), Size: float64(1 + rng.IntN(420/n)), Deadline: float64(1 + rng.IntN(40))}
		if rng.IntN(2) == 0 {
			s.Cap = float64(1 + rng.IntN(15))
		}
		if rng.IntN(3) == 0 {
			s.NotBefore = float64(rng.IntN(10))
		}
		if rng.IntN(6) == 0 {
			s.Deadline = 0
		}
		p.Sites = append(p.Sites, s)
	}
	return p
}

// writeAdmission writes many problems as one program: for each, how much of the
// sites with deadlines can be done in time. wants gets what would be all of it.
func writeAdmission(w io.Writer, problems []*plan.Problem, wants []float64) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "Maximize\n obj:")
	for i := range problems {
		fmt.Fprintf(b, " + done%d", i)
	}
	fmt.Fprint(b, "\nSubject To\n")
	var bounds []string
	for n, p := range problems {
		times := []float64{0}
		for _, s := range p.Sites {
			times = append(times, s.Deadline, s.NotBefore)
		}
		for _, s := range p.Link {
			times = append(times, s.From)
		}
		slices.Sort(times)
		times = slices.Compact(times)
		links := make([]string, len(times)-1)
		all := fmt.Sprintf(" done%d", n)
		for i, s := range p.Sites {
			if s.Deadline == 0 {
				continue
			}
			wants[n] += s.Size
			sum := ""
			for k := range links {
				if times[k] < s.NotBefore || times[k+1] > s.Deadline {
					continue
				}
				x := fmt.Sprintf("x%d_%d_%d", n, i, k)
				sum += " + " + x
				all += " - " + x + "\n"
				links[k] += " + " + x
				if s.Cap > 0 {
					bounds = append(bounds, fmt.Sprintf(" %s <= %v\n", x, s.Cap*(times[k+1]-times[k])))
				}
			}
			if sum != "" {
				fmt.Fprintf(b, "%s <= %v\n", sum, s.Size)
			}
		}
		for k, sum := range links {
			rate := 0.0
			for _, step := range p.Link {
				if step.From <= times[k] {
					rate = step.Rate
				}
			}
			if sum != "" {
				fmt.Fprintf(b, "%s <= %v\n", sum, rate*(times[k+1]-times[k]))
			}
		}
		fmt.Fprintf(b, "%s = 0\n", all)
	}
	fmt.Fprint(b, "Bounds\n")
	for _, bound := range bounds {
		fmt.Fprint(b, bound)
	}
	fmt.Fprint(b, "End\n")
	return b.Flush()
}
