package flow

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestFixedSumsWhatItIsGiven(t *testing.T) {
	for _, c := range []struct {
		name  string
		terms []float64
		want  float64
	}{
		{"nothing", nil, 0},
		{"a tenth ten times", []float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}, 1}, // left to right this is 0.9999999999999999
		{"large and small", []float64{1e18, 1, -1e18}, 1},
		{"negative", []float64{-0.5, 0.25}, -0.25},
		{"minus zero", []float64{math.Copysign(0, -1)}, 0},
		{"below a step", []float64{1e-40, 1e-40}, 0},
		{"one step", []float64{0x1p-96}, 0x1p-96},
		{"half a step goes to the even one", []float64{0x1p-97}, 0},
		{"one and a half steps too", []float64{0x3p-97}, 0x1p-95},
	} {
		var f fixed
		for _, x := range c.terms {
			if !f.addFloat(x) {
				t.Errorf("%s: %g was refused", c.name, x)
			}
		}
		if got := f.float(); math.Float64bits(got) != math.Float64bits(c.want) {
			t.Errorf("%s: got %g, want %g", c.name, got, c.want)
		}
	}
}

func TestFixedRefusesWhatCouldOverflow(t *testing.T) {
	var f fixed
	for _, x := range []float64{0x1p63, -0x1p63, 1e300, math.Inf(1), math.NaN()} {
		if f.addFloat(x) {
			t.Errorf("%g was taken", x)
		}
	}
	if f != (fixed{}) {
		t.Errorf("what was refused left %v", f)
	}
}

// Against exact arithmetic, in any order.
func TestFixedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-0x1p62, 0x1p62), rapid.Float64Range(-1, 1), rapid.Float64Range(-0x1p-40, 0x1p-40)), 0, 40).Draw(t, "terms")
		exact := new(big.Float).SetPrec(400)
		var f, g fixed
		for i, x := range terms {
			f.addFloat(x)
			g.addFloat(terms[len(terms)-1-i])
			exact.Add(exact, round(x))
		}
		if f != g {
			t.Fatalf("forth %v, back %v", f, g)
		}
		if want, _ := exact.Float64(); f.float() != want {
			t.Fatalf("got %g, want %g", f.float(), want)
		}
	})
}

// round rounds x to a step.
func round(x float64) *big.Float {
	steps := new(big.Float).SetPrec(400).SetMantExp(big.NewFloat(x), fixedStep)
	whole, _ := steps.Int(nil)
	rest, _ := steps.Sub(steps, new(big.Float).SetPrec(400).SetInt(whole)).Float64()
	if odd := whole.Bit(0) == 1; math.Abs(rest) > .5 || math.Abs(rest) == .5 && odd {
		whole.Add(whole, big.NewInt(int64(math.Copysign(1, rest))))
	}
	return new(big.Float).SetMantExp(new(big.Float).SetPrec(400).SetInt(whole), -fixedStep)
}

func TestFixedInts(t *testing.T) {
	for _, c := range []struct {
		terms []int64
		want  int64
		ok    bool
	}{
		{nil, 0, true},
		{[]int64{1, 2, -3, -4}, -4, true},
		{[]int64{math.MaxInt64}, math.MaxInt64, true},
		{[]int64{math.MinInt64}, math.MinInt64, true},
		{[]int64{math.MaxInt64, 1}, 0, false},
		{[]int64{math.MinInt64, -1}, 0, false},
		{[]int64{math.MaxInt64, 1, -1}, math.MaxInt64, true}, // too large only on the way
		{[]int64{math.MinInt64, math.MinInt64, math.MaxInt64, math.MaxInt64, 2}, 0, true},
	} {
		var f fixed
		for _, n := range c.terms {
			f.addInt(n)
		}
		got, ok := f.int()
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%v: got %d %t, want %d %t", c.terms, got, ok, c.want, c.ok)
		}
	}
}
