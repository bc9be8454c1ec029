package solver

import (
	"io"
	"maps"
	"math"
	"strings"
	"testing"
)

// Endings of the three solvers: cbc's and glpsol's as they wrote them, HiGHS's
// by its documentation.
var cbcEnds = []string{
	"Optimal - objective value 6.00000000\n      0 x                      0                       1\n      1 y                      3                       0\n",
	"Stopped on time - objective value 57.00000000\n      0 o0_0                   1                       1\n",
	"Stopped on time (no integer solution - continuous used) - objective value 39.12857143\n      1 o0_1          0.66666667                       0\n",
	"Infeasible - objective value 2.00000000\n**       0 x                      2                       0\n",
	"Integer infeasible - objective value 3.00000000\n      1 y                    0.5                       0\n",
	"Unbounded - objective value 0.00000000\n      0 x                      0                      -3\n",
	"Optimal - objective value 2\n**       0 x                      2                       0\n",
	"Stopped on time - objective value 2\n**       0 x                      2                       0\n",
	"Optimal - objective value nan\n",
	"Optimal - objective value 1\n 0 x 1e999 0\n",
	"Optimal - objective value 1\n 0 x\n",
	"Difficulties - objective value 1\n",
	"",
}

var highsEnds = []string{
	"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 6\n# Columns 2\nx 0\ny 3\n# Rows 1\nr0 3\n\n# Dual solution values\nFeasible\n# Columns 2\nx 1\ny 0\n# Rows 1\nr0 2\n",
	"Model status\nTime limit reached\n\n# Primal solution values\nFeasible\nObjective 57\n# Columns 1\no0_0 1\n# Rows 0\n",
	"Model status\nTime limit reached\n\n# Primal solution values\nNone\n\n# Dual solution values\nNone\n",
	"Model status\nInfeasible\n\n# Primal solution values\nNone\n",
	"Model status\nUnbounded\n\n# Primal solution values\nNone\n",
	"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 6\n# Columns 2\nx 0\n",
	"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 6\n# Columns 99999999999\nx 0\n",
	"Model status\nOptimal\n",
	"Model status\nSolve error\n",
	"nonsense\n",
	"",
}

const glpkNames = "p mip min 1 2 2\nn z obj\ni 1 l 3\nj 1 d 0 2\nn j 1 x\nn j 2 y\ne o f\n"

var glpkEnds = []string{
	"c Problem:\ns bas 1 2 f f 6\ni 1 l 3 2\nj 1 l 0 1\nj 2 b 3 0\ne o f\n",
	"s mip 1 2 o 6\ni 1 3\nj 1 0\nj 2 3\ne o f\n",
	"s mip 1 2 f 57\nj 1 1\ne o f\n",
	"s mip 1094 601 u 0\nj 1 0\ne o f\n",
	"s mip 2 2 n 0\nj 1 0\ne o f\n",
	"s bas 2 2 n i 1\nj 1 l 0 1\ne o f\n",
	"s bas 1 2 f n -9\ne o f\n",
	"s bas 1 2 u u 0\ne o f\n",
	"s mip 1 2 o 6\nj 1 0\n",
	"s mip 1 2 o 6\nj 3 0\ne o f\n",
	"s mip 1 2 o 6\nj 1\ne o f\n",
	"s ipt 1 2 o 6\ne o f\n",
	"j 1 1\ne o f\n",
	"e o f\n",
	"",
}

func glpk(r io.Reader) (*Answer, error) {
	names, err := parseNames(strings.NewReader(glpkNames))
	if err != nil {
		return nil, err
	}
	return parseGLPK(r, names)
}

func TestParse(t *testing.T) {
	six := map[string]float64{"y": 3}
	one := map[string]float64{"o0_0": 1}
	for _, c := range []struct {
		name  string
		parse func(io.Reader) (*Answer, error)
		ends  []string
		want  []Answer // of the first ends; the rest are errors
		fails map[int]bool
	}{
		{"cbc", parseCBC, cbcEnds, []Answer{{Optimal, 6, six}, {Feasible, 57, one}, {Status: Unsolved}, {Status: Infeasible}, {Status: Infeasible}, {}, {}, {Status: Unsolved}},
			map[int]bool{5: true, 6: true}},
		{"highs", parseHiGHS, highsEnds, []Answer{{Optimal, 6, six}, {Feasible, 57, one}, {Status: Unsolved}, {Status: Infeasible}}, nil},
		{"glpsol", glpk, glpkEnds, []Answer{{Optimal, 6, six}, {Optimal, 6, six}, {Feasible, 57, map[string]float64{"x": 1}}, {Status: Unsolved},
			{Status: Infeasible}, {Status: Infeasible}, {}, {Status: Unsolved}}, map[int]bool{6: true}},
	} {
		for i, end := range c.ends {
			got, err := c.parse(strings.NewReader(end))
			if c.fails[i] || i >= len(c.want) {
				if err == nil {
					t.Errorf("%s: %q is %+v", c.name, end, *got)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %q: %v", c.name, end, err)
				continue
			}
			if want := c.want[i]; got.Status != want.Status || got.Objective != want.Objective || !maps.Equal(got.Values, want.Values) {
				t.Errorf("%s: %q is %+v, want %+v", c.name, end, *got, want)
			}
		}
	}
}

func TestParseNamesInOrder(t *testing.T) {
	for _, bad := range []string{"n j 2 x\n", "n j 1\n", "n j one x\n", "n j 1 " + strings.Repeat("x", maxLine) + "\n"} {
		if names, err := parseNames(strings.NewReader(bad)); err == nil {
			t.Errorf("%.40q gives %v", bad, names)
		}
	}
}

// fuzz holds what is true of every answer, whatever a solver writes.
func fuzz(f *testing.F, ends []string, parse func(io.Reader) (*Answer, error)) {
	for _, end := range ends {
		f.Add(end)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parse(strings.NewReader(text))
		if err != nil {
			return
		}
		if a.Status.Solved() != (a.Values != nil) {
			t.Fatalf("%v with values %v", a.Status, a.Values)
		}
		for name, v := range a.Values {
			if name == "" || v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%q is %v", name, v)
			}
		}
		if math.IsNaN(a.Objective) || math.IsInf(a.Objective, 0) {
			t.Fatalf("an objective of %v", a.Objective)
		}
	})
}

func FuzzCBC(f *testing.F)   { fuzz(f, cbcEnds, parseCBC) }
func FuzzHiGHS(f *testing.F) { fuzz(f, highsEnds, parseHiGHS) }
func FuzzGLPK(f *testing.F)  { fuzz(f, glpkEnds, glpk) }

func FuzzNames(f *testing.F) {
	f.Add(glpkNames)
	f.Fuzz(func(t *testing.T, text string) {
		names, err := parseNames(strings.NewReader(text))
		if err == nil && len(names) > len(text)/7 {
			t.Fatalf("%d names in %d bytes", len(names), len(text))
		}
	})
}
