package main

import (
	"math"
	"strings"
	"testing"
)

// A verdict is on the median, a number that is missing meets nothing, and a job
// that was cut short settles nothing.
func TestVerdict(t *testing.T) {
	var out strings.Builder
	s := sheet{out: &out}
	s.target("a", figures{0.3, 0.1, 0.11}, "s", atMost(0.12))
	s.target("b", figures{8000, 9001, 9000, 10}, "pages/s", atLeast(9000))
	s.target("c", one(math.NaN()), "s", atMost(1))
	s.target("d", nil, "s", atLeast(0))
	s.untold("e", atMost(1), "nobody says")
	s.short = "5 of 10 URLs known"
	s.target("f", one(1), "s", atMost(2))
	s.sum()
	for _, want := range []string{
		"0.110 s             target <= 0.12: met (0.100 to 0.300 in 3 runs)",
		"8500.000 pages/s       target >= 9000: NOT MET (10.000 to 9001.000 in 4 runs)",
		"NaN s             target <= 1: NOT MET",
		"target <= 1: not measured, nobody says",
		"target <= 2: not reached, 5 of 10 URLs known",
		"1 targets met, 3 NOT MET, 2 open",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
