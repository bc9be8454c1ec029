package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lpOf returns a Program as text.
func lpOf(t testing.TB, p *Problem, slot float64, slots int) (*Program, string) {
	t.Helper()
	g, err := Slots(p, slot, slots)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := g.WriteLP(&b); err != nil {
		t.Fatal(err)
	}
	return g, b.String()
}

// Section V.B: one site that is on in the first slot or the second.
func TestPaperProgram(t *testing.T) {
	p := &Problem{Link: []Step{{0, 10}}, Sites: []Site{{Name: "a", Size: 40, Cap: 8, Weight: 3}}, MinRate: 2}
	_, got := lpOf(t, p, 5, 2)
	want := `\ 1 sites, 2 slots of 5
Minimize
 charge: + 15 o0_0 + 15 o0_1 + 15 one
Subject To
 + 0.8 x0_0 <= 1
 + 0.8 x0_1 <= 1
 + 1 x0_0 - 1 y0_0 <= 0
 + 1 x0_0 - 0.25 y0_0 >= 0
 + 1 x0_0 + 1 o0_0 >= 1
 + 1 x0_1 - 1 y0_1 <= 0
 + 1 x0_1 - 0.25 y0_1 >= 0
 + 1 o0_1 - 1 o0_0 <= 0
 + 1 x0_0 + 1 x0_1 + 1 o0_1 >= 1
Bounds
 one = 1
 o0_1 = 0
Binaries
 y0_0 o0_0
 y0_1 o0_1
End
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A slot of start-up and bytes has a part for each, a deadline and a release
// count to the whole slot, and a link that changes within a slot at its least.
func TestProgramKnowsWhatBinds(t *testing.T) {
	p := &Problem{
		Link:     []Step{{0, 10}, {7, 4}},
		Sites:    []Site{{Name: "a", Size: 20, Deadline: 14}, {Name: "b", Size: 10, NotBefore: 6}, {Name: "c"}},
		MaxSites: 1, Startup: 2,
	}
	_, got := lpOf(t, p, 5, 3)
	for _, want := range []string{
		" + 1 u0_1 + 0.5 u1_1 <= 1\n",                                   // from 5 to 7
		" + 0.6666666666666666 x0_1 + 0.3333333333333333 x1_1 <= 0.4\n", // from 7 to 10
		" + 1 y0_1 + 1 y1_1 <= 1\n",
		" + 1 u0_1 - 1 y0_1 + 1 a0_1 <= 0\n",
		" + 1 a0_1 - 1 y0_1 + 1 y0_0 >= 0\n",
		" o0_1 = 0\n o0_2 = 0\n",
		" y1_0 = 0\n y1_1 = 0\n o1_2 = 0\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "x2_") {
		t.Error("a site with nothing to come is in the program")
	}
	for line := range strings.Lines(got) {
		if len(line) > 255 {
			t.Errorf("a line of %d characters, which some readers cut", len(line))
		}
	}
}

func TestProgramEmpty(t *testing.T) {
	g, _ := lpOf(t, &Problem{Sites: []Site{{Name: "a", NotBefore: 3}}, Link: []Step{{0, 0}}}, 1, 1)
	pl, err := g.Plan(nil)
	if err != nil || pl.Max != 3 {
		t.Errorf("%+v, %v", pl, err)
	}
}

func TestSlotsRefuses(t *testing.T) {
	big := &Problem{Link: []Step{{0, 10}}}
	for i := range 600 {
		big.Sites = append(big.Sites, Site{Name: fmt.Sprint(i), Size: 1})
	}
	one := []Site{{Name: "a", Size: 1, Deadline: 4}}
	for _, c := range []struct {
		p     *Problem
		slot  float64
		slots int
		want  string
	}{
		{big, 1, 1000, "mip: 600 sites in 1000 slots make a program of about 305 million terms, and 2 million are the most: take fewer, longer slots"},
		{&Problem{Link: []Step{{0, 10}}, Sites: one, Startup: 9}, 5, 3, "mip: slots of 5.0s are shorter than the start-up time, 9.0s"},
		{&Problem{Link: []Step{{0, 10}}, Sites: one}, 5, 3, "mip: the deadline of a lies within the first slot of 5.0s: take shorter ones"},
		{&Problem{Link: []Step{{0, 10}}, Sites: one}, math.NaN(), 3, "mip: 3 slots of NaN are none"},
		{&Problem{Link: []Step{{0, 10}}, Sites: one}, 1, -1, "mip: -1 slots of 1 are none"},
	} {
		_, err := Slots(c.p, c.slot, c.slots)
		if unsuited := new(Unsuited); !errors.As(err, &unsuited) || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// What solvers round is mended; what does not add up is told.
func TestProgramPlan(t *testing.T) {
	p := &Problem{Link: []Step{{0, 10}}, Sites: []Site{{Name: "a", Size: 30, Cap: 6}, {Name: "b", Size: 40}}, Startup: 1}
	g, _ := lpOf(t, p, 4, 4)
	on := map[string]float64{
		"y0_0": 1, "a0_0": 1, "y0_1": 0.9999999, "y1_1": 1, "a1_1": 1, "y1_2": 1, "y1_3": 1,
		"x0_0": 0.6, "u0_1": 0.2, "x0_1": 0.2, "x1_1": 0.59999995, "u1_2": 0.1, "x1_2": 0.3,
	}
	pl, err := g.Plan(on)
	if err != nil {
		t.Fatal(err)
	}
	if c := pl.Courses[0]; c.Start != 0 || math.Abs(c.Finish-8) > 1e-6 {
		t.Errorf("a is on from %v to %v", c.Start, c.Finish)
	}
	if c := pl.Courses[1]; c.Start != 4 || c.Rates[0].From != 5 || math.Abs(c.Finish-12) > 1e-6 {
		t.Errorf("b is on from %v to %v: %v", c.Start, c.Finish, c.Rates)
	}
	delete(on, "x1_2")
	if _, err := g.Plan(on); err == nil || err.Error() != "the solver's values leave 30% of b undone" {
		t.Error(err)
	}
	on["x1_2"] = math.NaN()
	if _, err := g.Plan(on); err == nil {
		t.Error("a plan of what is not a number")
	}
}

// Whatever a solver says, there is a plan that holds or an error.
func TestProgramTrustsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Problem{Link: []Step{{0, 10}, {5, 3}}, MaxSites: rapid.IntRange(0, 2).Draw(t, "m"),
			Startup: rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "s"), MinRate: rapid.SampledFrom([]float64{0, 1}).Draw(t, "v"),
			Sites: []Site{{Name: "a", Size: 12, Cap: 2}, {Name: "b", Size: 5, NotBefore: 4}, {Name: "c", Size: 9, Deadline: 30}}}
		g, err := Slots(p, 3, 12)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for i := range p.Sites {
			for k := range 12 {
				for _, letter := range []string{"x", "u", "y", "a", "o"} {
					values[name(letter, i, k)] = rapid.SampledFrom([]float64{0, 0, 0.1, 0.3, 0.5, 1, 1, 7, -1, math.Inf(1), math.NaN()}).Draw(t, letter)
				}
			}
		}
		if pl, err := g.Plan(values); err == nil {
			if err := Verify(p, pl); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A solver that rounds a little away, and sets bytes aside for a site that is
// done, does not make it late.
func TestProgramSurplus(t *testing.T) {
	p := &Problem{Link: []Step{{Rate: 10}}, Sites: []Site{{Name: "a", Size: 10}}}
	g, err := Slots(p, 1, 9)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := g.Plan(map[string]float64{"y0_0": 1, "x0_0": 1 - 1e-6, "y0_8": 1, "x0_8": 0.6})
	if err != nil {
		t.Fatal(err)
	}
	if pl.Max > 1.001 {
		t.Errorf("it is done after %v s, want 1", pl.Max)
	}
}
