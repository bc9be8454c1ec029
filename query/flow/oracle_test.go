package flow_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/query"
	"weir/query/flow"
)

// The oracles: random programs over random webs, worked out by clingo, by a naive
// evaluator, and by plans that run on several partitions whose messages are
// late, doubled and lost.
var (
	programs  = flag.Int("oracle.programs", 150, "how many random programs are compared with clingo")
	firstSeed = flag.Uint64("oracle.seed", 0, "the first of their seeds")
	refusals  = flag.Bool("oracle.refusals", false, "show the programs that are refused")
)

// A trial is one program over one web.
type trial struct {
	seed uint64
	text string
	web  *web
}

func newTrial(seed uint64) trial {
	return trial{seed, newProgram(rand.New(rand.NewPCG(seed, 1))), newWeb(rand.New(rand.NewPCG(seed, 2)))}
}

func (x trial) String() string {
	return fmt.Sprintf("seed %d\n%s\n%s", x.seed, x.text, x.web)
}

// A meaning is a trial whose program means something, and what it means.
type meaning struct {
	trial
	*world
}

// check returns what the program means, or why it means nothing or cannot be run.
func (x trial) check() (*meaning, error) {
	p, ds := query.Parse("oracle.dl", x.text)
	if query.Failed(ds) {
		return nil, fmt.Errorf("%s", format(p, ds))
	}
	c, ds := query.Check(p)
	if query.Failed(ds) {
		return nil, fmt.Errorf("%s", format(p, ds))
	}
	if _, ds := flow.Compile(c, flow.Options{}); query.Failed(ds) {
		return nil, fmt.Errorf("%s", format(p, ds))
	}
	return &meaning{x, evaluate(c, x.web)}, nil
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

// derived are the tables that the program derives.
func (m *meaning) derived() []*query.Table {
	var all []*query.Table
	for _, t := range m.Tables {
		if t.Kind == query.Derived {
			all = append(all, t)
		}
	}
	return all
}

// plan compiles the program.
func (m *meaning) plan(o flow.Options) (*flow.Plan, error) {
	plan, ds := flow.Compile(m.Checked, o)
	if query.Failed(ds) {
		return nil, fmt.Errorf("%s", format(m.Program, ds))
	}
	for _, in := range m.Inputs {
		t := m.Table(in.Table)
		var rows []flow.Row
		for _, row := range m.trial.web.files[in.Table] {
			rows = append(rows, flowRow(row))
		}
		if err := plan.Load(t, rows); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

func flowRow(row []any) flow.Row {
	var r flow.Row
	for _, v := range row {
		switch v := v.(type) {
		case string:
			r = append(r, query.Value{S: v})
		case int64:
			r = append(r, query.Value{N: v})
		case float64:
			r = append(r, query.FloatValue(v))
		}
	}
	return r
}

// run has a machine work the program out, and returns how many rows it found and
// where they are not what the program means.
func (m *meaning) run(s setup) (rows int, diff string, err error) {
	defer func() {
		if v := recover(); v != nil { // so that the case is shrunk
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	plan, err := m.plan(flow.Options{Scheme: s.scheme, Spread: s.spread, Crawl: s.crawl, IgnoreRobots: m.trial.web.bold})
	if err != nil {
		return 0, "", err
	}
	x, err := newMachine(plan, m.trial.web, s)
	if err != nil {
		return 0, "", err
	}
	if err := x.run(); err != nil {
		return 0, "", err
	}
	if !s.crawl {
		if err := x.finish(); err != nil {
			return 0, "", err
		}
		return m.compare(x, m.derived())
	}
	var kept []*query.Table
	for _, t := range m.derived() {
		if t.Name == "crawl" || slices.ContainsFunc(plan.Rules, func(r *flow.Rule) bool { return r.Head == t }) {
			kept = append(kept, t)
		}
	}
	if rows, diff, err = m.compare(x, kept); diff != "" || err != nil {
		return rows, diff, err
	}
	given := []string{"crawl"}
	kept = slices.DeleteFunc(kept, func(t *query.Table) bool { // not all, and no orders
		return slices.Contains([]string{"crawl", "stop", "wait"}, t.Name) || x.IntN(2) == 0
	})
	for _, t := range kept {
		given = append(given, t.Name)
	}
	if plan, err = m.plan(flow.Options{Scheme: s.scheme, Spread: s.spread, Given: given, IgnoreRobots: m.trial.web.bold}); err != nil {
		return 0, "", err
	}
	if x, err = newQuestion(plan, x, kept); err != nil {
		return 0, "", err
	}
	if err := x.run(); err != nil {
		return 0, "", err
	}
	if err := x.finish(); err != nil {
		return 0, "", err
	}
	asked := slices.DeleteFunc(m.derived(), func(t *query.Table) bool { return slices.Contains(kept, t) })
	more, diff, err := m.compare(x, asked)
	return rows + more, diff, err
}

// compare holds the rows of a machine's tables against what they should be.
func (m *meaning) compare(x *machine, tables []*query.Table) (rows int, diff string, err error) {
	for _, t := range tables {
		got, err := x.table(t)
		if err != nil {
			return 0, "", err
		}
		want := m.table(t.Name)
		if t.Name == "crawl" {
			got, want = x.blurred(got), x.blurred(want)
		}
		rows += len(got)
		if d := difference(show(t, got), show(t, want)); d != "" {
			diff += fmt.Sprintf("%s (level %d, steers %t):\n%s", t.Name, t.Level, t.Steers, d)
		}
	}
	return rows, diff, nil
}

// setups are the ways in which a trial is run: all numbers of partitions, all
// schemes, and for each another kind of bad luck.
func (x trial) setups() []setup {
	r := rand.New(rand.NewPCG(x.seed, 4))
	var all []setup
	for _, parts := range []int{1, 2, 3, 8} {
		for _, scheme := range []flow.Scheme{flow.ByURL, flow.ByHost, flow.ByHostN} {
			all = append(all, setup{
				parts: parts, scheme: scheme, spread: pick(r, 1, 2, 3, 9), seed: r.Uint64(), twice: pick(r, 0, 10, 30), crash: pick(r, 0, 0, 20),
				order: r.IntN(orderKinds), keep: r.IntN(keepKinds), crawl: r.IntN(2) == 0, lazy: r.IntN(2) == 0,
			})
		}
	}
	return all
}

// each runs fn for the trials of n seeds, several at a time.
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

func TestOracle(t *testing.T) {
	if _, err := exec.LookPath("clingo"); err != nil && testing.Short() {
		t.Skip(err)
	} else if err != nil {
		t.Fatal("clingo is missing: run 'make tools', or 'apt-get install gringo'")
	}
	var accepted, agreed, runs, rows, alone, failed atomic.Int64
	each(*programs, func(x trial) {
		if failed.Load() > 3 {
			return
		}
		m, err := x.check()
		if err != nil {
			if *refusals {
				t.Logf("%s is refused:\n%v", x, err)
			}
			return
		}
		accepted.Add(1)
		n, without, diff := m.ask(t)
		agreed.Add(int64(n))
		alone.Add(int64(without))
		if diff != "" {
			failed.Add(1)
			t.Errorf("the naive evaluator and clingo differ:\n%s\n%s", diff, x)
			return
		}
		for _, s := range x.setups() {
			runs.Add(1)
			n, diff, err := m.run(s)
			rows.Add(int64(n))
			if diff != "" || err != nil {
				failed.Add(1)
				report(t, x, s, diff, err)
				return
			}
		}
	})
	t.Logf("%d programs, %d of them accepted; clingo and the naive evaluator agree in %d rows (%d tables are beyond clingo); %d runs with %d rows",
		*programs, accepted.Load(), agreed.Load(), alone.Load(), runs.Load(), rows.Load())
	if accepted.Load()*100 < int64(*programs)*60 {
		t.Errorf("only %d of %d programs mean something: the writer has to write better ones", accepted.Load(), *programs)
	}
}

// ask holds the naive evaluator against clingo: how many rows they agree on, and
// how many tables only one can work out.
func (m *meaning) ask(t *testing.T) (rows, alone int, diff string) {
	text, tables := translate(m.world)
	model, err := clingo(text)
	if err != nil {
		return 0, 0, fmt.Sprintf("%v\n%s", err, text)
	}
	for _, d := range m.derived() {
		if !slices.Contains(tables, d.Name) {
			alone++
			continue
		}
		want := show(d, unscaled(d, model[d.Name]))
		diff += difference(show(d, m.table(d.Name)), want)
		rows += len(want)
	}
	return rows, alone, diff
}

// report says what went wrong in as small a case as can be found.
func report(t *testing.T, x trial, s setup, diff string, err error) {
	fails := func(y trial) bool {
		m, err := y.check()
		if err != nil {
			return false
		}
		for i := range 10 {
			again := s
			again.seed += uint64(i)
			if _, diff, err := m.run(again); diff != "" || err != nil {
				return true
			}
		}
		return false
	}
	t.Errorf("%s: %s%v\n%s", s, diff, err, x)
	if !fails(x) {
		return
	}
	y := shrink(x, fails)
	m, _ := y.check()
	for i := range 10 {
		again := s
		again.seed += uint64(i)
		if _, diff, err := m.run(again); diff != "" || err != nil {
			t.Errorf("shrunk, %s: %s%v\n%s", again, diff, err, y)
			return
		}
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

// show returns rows as text, in order. Floats are cut, and a little away from where
// decimals are rounded: sums may differ in their last digits.
func show(t *query.Table, rows [][]any) []string {
	var all []string
	for _, row := range rows {
		var cols []string
		for i, v := range row {
			if t.Types[i] == query.Float {
				cols = append(cols, fmt.Sprintf("%.9g", number(v)*(1+1e-12)))
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

// TestOracleNoticesFaults breaks the engine on purpose: an oracle that is happy
// with anything would not notice.
func TestOracleNoticesFaults(t *testing.T) {
	const patience = 300 // programs
	for name, f := range map[string]faults{
		"the first depth wins":                   {firstWins: true},
		"the first value of a min column wins":   {first: true},
		"better pages are not delivered again":   {noRedeliver: true},
		"rows that were sent are not kept":       {loose: true},
		"of a page that waits only half is kept": {half: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(patience) {
				x := newTrial(seed)
				m, err := x.check()
				if err != nil {
					continue
				}
				for _, s := range x.setups() {
					s.faults = f
					if _, diff, err := m.run(s); err != nil {
						t.Fatal(err)
					} else if diff != "" {
						t.Logf("noticed after %d programs", seed+1)
						return
					}
				}
			}
			t.Errorf("not noticed in %d programs", patience)
		})
	}
}
