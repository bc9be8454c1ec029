package main

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// figures are one number as several runs of the same thing gave it. What counts
// is their median: runs of one binary on one machine differ by a fifth.
type figures []float64

func one(x float64) figures { return figures{x} }

func (f figures) median() float64 {
	if len(f) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(f))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// spread is the range of several runs, in words.
func (f figures) spread() string {
	if len(f) < 2 {
		return ""
	}
	return fmt.Sprintf(" (%.3f to %.3f in %d runs)", slices.Min(f), slices.Max(f), len(f))
}

// goal is what a number must reach.
type goal struct {
	least bool
	want  float64
}

func atMost(x float64) goal  { return goal{want: x} }
func atLeast(x float64) goal { return goal{least: true, want: x} }

// met says whether a number reaches the goal; what is not a number does not.
func (g goal) met(x float64) bool {
	if g.least {
		return x >= g.want
	}
	return x <= g.want
}

func (g goal) String() string {
	if g.least {
		return fmt.Sprintf(">= %g", g.want)
	}
	return fmt.Sprintf("<= %g", g.want)
}

// sheet prints measurements and keeps count of the verdicts.
type sheet struct {
	out io.Writer
	// short says why the job at hand was not done in full, "" when it was. A
	// number taken on a part of the job reaches no target.
	short string

	met, missed, open int
}

func (s *sheet) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// value prints a number that has no target.
func (s *sheet) value(what string, got figures, unit string) {
	s.say("  %-44s %10.3f %s%s", what, got.median(), unit, got.spread())
}

// target prints a number beside its goal, and the verdict on its median.
func (s *sheet) target(what string, got figures, unit string, g goal) {
	verdict := "met"
	switch {
	case s.short != "":
		verdict = "not reached, " + s.short
		s.open++
	case g.met(got.median()):
		s.met++
	default:
		verdict = "NOT MET"
		s.missed++
	}
	s.say("  %-44s %10.3f %-13s target %s: %s%s", what, got.median(), unit, g, verdict, got.spread())
}

// untold prints a target for which there is no number.
func (s *sheet) untold(what string, g goal, why string) {
	s.open++
	s.say("  %-44s %10s %-13s target %s: not measured, %s", what, "-", "", g, why)
}

// sum prints the count of verdicts.
func (s *sheet) sum() {
	s.say("\n%d targets met, %d NOT MET, %d open", s.met, s.missed, s.open)
}
