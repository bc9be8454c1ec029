package flow_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/query"
)

// The oracles: random programs over random webs, worked out by clingo, by a naive
// evaluator, and by plans that run on several partitions whose messages are
// late, doubled and lost.
var programs = flag.Int("oracle.programs", 200, "how many random programs are compared with clingo")
var firstSeed = flag.Uint64("oracle.seed", 0, "the first of their seeds")

// A trial is one program over one web.
type trial struct {
	seed uint64
	text string
	web  *web
}

func newTrial(seed uint64) trial {
	return trial{seed, newProgram(rand.New(rand.NewPCG(seed, 1))), newWeb(rand.New(rand.NewPCG(seed, 2)))}
}

// checked returns the program, or why it means nothing.
func checked(text string) (*query.Checked, error) {
	p, ds := query.Parse("oracle.dl", text)
	if query.Failed(ds) {
		return nil, fmt.Errorf("%s", format(p, ds))
	}
	c, ds := query.Check(p)
	if query.Failed(ds) {
		return nil, fmt.Errorf("%s", format(p, ds))
	}
	return c, nil
}

func format(p *query.Program, ds []query.Diag) string {
	var b strings.Builder
	for _, d := range ds {
		if !d.Warning {
			b.WriteString(d.Format(p))
		}
	}
	return b.String()
}

// each runs fn for the trials of all seeds, several at a time.
func each(n int, fn func(trial)) {
	var next atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(n) {
					return
				}
				fn(newTrial(*firstSeed + i))
			}
		})
	}
	all.Wait()
}

// TestOraclesAgree holds the naive evaluator against clingo.
func TestOraclesAgree(t *testing.T) {
	if _, err := exec.LookPath("clingo"); err != nil {
		t.Fatal("clingo is missing: run 'make tools', or 'apt-get install gringo'")
	}
	var accepted, rows, skipped atomic.Int64
	each(*programs, func(x trial) {
		c, err := checked(x.text)
		if err != nil {
			if *programs <= 20 || testing.Verbose() && accepted.Load() < 0 {
				t.Logf("seed %d is refused:\n%s%v", x.seed, x.text, err)
			}
			return
		}
		accepted.Add(1)
		w := evaluate(c, x.web)
		text, tables := translate(w)
		model, err := clingo(text)
		if err != nil {
			t.Errorf("seed %d: %v\n%s\n%s", x.seed, err, x.text, text)
			return
		}
		for _, d := range c.Tables {
			if d.Kind != query.Derived {
				continue
			}
			if !slices.Contains(tables, d.Name) {
				skipped.Add(1)
				continue
			}
			got, want := show(d, w.table(d.Name)), show(d, unscaled(d, model[d.Name]))
			rows.Add(int64(len(want)))
			if diff := difference(got, want); diff != "" {
				t.Errorf("seed %d: the naive evaluator and clingo differ in %s:\n%s\n%s\n%s\n%s", x.seed, d.Name, diff, x.text, x.web, text)
				return
			}
		}
	})
	t.Logf("%d programs, %d of them accepted, %d rows, %d tables without clingo", *programs, accepted.Load(), rows.Load(), skipped.Load())
	if accepted.Load()*100 < int64(*programs)*60 {
		t.Errorf("only %d of %d programs mean something: the writer has to write better ones", accepted.Load(), *programs)
	}
}

// table returns the rows of a table.
func (x *world) table(name string) [][]any {
	var rows [][]any
	for _, row := range x.rels[name].rows {
		rows = append(rows, row)
	}
	return rows
}

// unscaled makes floats of clingo's quarters.
func unscaled(t *query.Table, rows [][]any) [][]any {
	for _, row := range rows {
		for i := range row {
			if t.Types[i] == query.Float {
				row[i] = number(row[i]) / quarter
			}
		}
	}
	return rows
}

// show returns rows as text, in order. Floats are cut: sums may differ in their
// last digits.
func show(t *query.Table, rows [][]any) []string {
	var all []string
	for _, row := range rows {
		var cols []string
		for i, v := range row {
			if t.Types[i] == query.Float {
				cols = append(cols, fmt.Sprintf("%.9g", number(v)))
			} else {
				cols = append(cols, fmt.Sprintf("%#v", v))
			}
		}
		all = append(all, t.Name+"("+strings.Join(cols, ", ")+")")
	}
	slices.Sort(all)
	return all
}

// difference lists rows that only one side has.
func difference(got, want []string) string {
	var b strings.Builder
	for _, s := range got {
		if !slices.Contains(want, s) {
			fmt.Fprintf(&b, "  too many: %s\n", s)
		}
	}
	for _, s := range want {
		if !slices.Contains(got, s) {
			fmt.Fprintf(&b, "  missing:  %s\n", s)
		}
	}
	if b.Len() == 0 && len(got) != len(want) {
		fmt.Fprintf(&b, "  twice: %d rows instead of %d\n", len(got), len(want))
	}
	return b.String()
}
