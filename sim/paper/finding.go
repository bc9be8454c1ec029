package paper

import (
	"fmt"
	"slices"
	"strings"

	"weir/sim/chart"
)

// Experiment is a table or figure of a paper and how it is made again.
type Experiment struct {
	Name  string // as the paper numbers it: table-6.1; figure 4 of Zhu et al. is zhu-4, of Loo et al. loo-4
	Title string
	Paper string // what the paper says, with its numbers where it prints any
	Setup string // how it is made here, and what had to be assumed
	Live  bool   // it crawls for real, has a solver work or takes long, and runs only when its name is asked for

	trials   []trial
	teams    []team
	visits   []Visit
	programs []program
	webs     []string // whose facts it needs, besides those of its trials
	judge    func(r *record, f *Finding)
}

// Scales says that the experiment depends on Options.Scale.
func (e *Experiment) Scales() bool { return len(e.trials)+len(e.webs)+len(e.teams) > 0 }

// arithmetic says that an experiment needs nothing but sums.
func (e *Experiment) arithmetic() bool {
	return !e.Scales() && len(e.visits)+len(e.programs) == 0
}

// Finding is what came of an Experiment.
type Finding struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Paper   string   `json:"paper"`
	Setup   string   `json:"setup"`
	Comment string   `json:"comment"` // on the differences
	Targets []Target `json:"targets"`
	Plates  []Plate  `json:"plates"`
	Gaps    []string `json:"gaps,omitempty"` // crawls that were not played, since the run was stopped
}

// Plate is one picture or table of a Finding.
type Plate struct {
	Name  string       `json:"name"` // of its files, after the Finding's; may be empty
	Table *chart.Table `json:"table,omitempty"`
	Chart *chart.Chart `json:"-"`
	Bars  *chart.Bars  `json:"-"`
}

// Verdict says whether a target was reached.
type Verdict string

const (
	Met    Verdict = "met"
	NotMet Verdict = "NOT met"
	NotRun Verdict = "not run" // no result to hold against it
)

// Target is something to reach.
type Target struct {
	What    string  `json:"what"`
	Want    string  `json:"want"`
	Got     string  `json:"got"`
	Verdict Verdict `json:"verdict"`
}

// target adds a target; have says whether there is a result at all.
func (f *Finding) target(what, want string, have, met bool, got string, args ...any) {
	t := Target{What: what, Want: want, Verdict: NotRun, Got: "–"}
	if have {
		t.Got, t.Verdict = fmt.Sprintf(got, args...), NotMet
		if met {
			t.Verdict = Met
		}
	}
	f.Targets = append(f.Targets, t)
}

// table adds a table; name is that of its file.
func (f *Finding) table(name string, t *chart.Table) {
	f.Plates = append(f.Plates, Plate{Name: name, Table: t})
}

func (f *Finding) chart(name string, c *chart.Chart) {
	f.Plates = append(f.Plates, Plate{Name: name, Chart: c})
}

// count returns how many targets had which verdict.
func count(all []Finding) (met, not, gaps int) {
	for _, f := range all {
		for _, t := range f.Targets {
			switch t.Verdict {
			case Met:
				met++
			case NotMet:
				not++
			default:
				gaps++
			}
		}
	}
	return met, not, gaps
}

// Summary says in a line how many targets were met.
func Summary(all []Finding) string {
	met, not, gaps := count(all)
	if met+not+gaps == 0 {
		return "no targets"
	}
	s := fmt.Sprintf("%d of %d targets met", met, met+not)
	if gaps > 0 {
		s += fmt.Sprintf(", %d without a result", gaps)
	}
	return s
}

// Experiments are all there are, in the order of the papers.
func Experiments() []Experiment {
	castillo := []Experiment{
		speedUps(), downloaded(), siteSizes(), oneRobot(), moreRobots(), typicalBatch(), idleRobots(), keptConnections(),
		byDay(), rankByDay(), rankByDepth(), actual(), beyond(), field(),
	}
	return slices.Concat(castillo, liveFigures(), sixSites(), queues(), []Experiment{slotted()}, workloads(), roundTrips(), growths())
}

// lines joins paragraphs.
func lines(paragraphs ...string) string { return strings.Join(paragraphs, "\n\n") }
