package ask

import (
	"fmt"
	"slices"
	"strings"

	"weir/crawl"
	"weir/internal/program"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// Own is the program that a crawl runs, its own or what its flags mean, with the
// tables that it keeps.
type Own struct {
	*query.Program
	source *program.Source // nil: it follows from flags
	plan   *flow.Plan      // what the crawl keeps up
	rules  *crawl.Program  // nil: its rows are elsewhere, see NewOwn
}

// Of returns the crawl as the program of a name sees it, of several that share it.
// Without a name it is the crawl of all.
func Of(view *crawl.View, name string) (*crawl.View, error) {
	if name == "" {
		return view, nil
	}
	each := view.Programs().Each
	if i := slices.IndexFunc(each, func(n crawl.Named) bool { return n.Name == name && !n.Left }); i >= 0 {
		return view.Of(each[i]), nil
	}
	if len(each) == 0 {
		return nil, fmt.Errorf("this crawl has one program, which needs no name: %s", name)
	}
	return nil, fmt.Errorf("no program that shares the crawl is called %s; there are %s", name, strings.Join(view.Programs().Names(), ", "))
}

// ReadOwn reads the program of the crawl in dir whose state is kv, as the view has
// it: nil if that is of several programs. Plain is what its flags say, for a crawl
// without a program of its own.
func ReadOwn(dir string, kv crawl.KV, view *crawl.View, plain crawl.ScopeConfig) (*Own, error) {
	return ReadOwnOf(dir, kv, view, plain, flow.Options{Scheme: flow.ByHost})
}

// ReadOwnOf does so for the part of a node in a crawl whose pages are spread over
// nodes by a scheme.
func ReadOwnOf(dir string, kv crawl.KV, view *crawl.View, plain crawl.ScopeConfig, scheme flow.Options) (*Own, error) {
	version, ok := view.Program()
	if !ok {
		return nil, nil
	}
	src, err := program.Load(dir, int(version))
	if err != nil {
		return nil, err
	}
	o, err := NewOwn(src, plain, scheme)
	if err != nil {
		return nil, err
	}
	o.rules, err = crawl.NewProgram(crawl.ProgramConfig{Plan: o.plan, Own: src != nil, Version: version}, kv)
	return o, err
}

// NewOwn returns the program of a crawl whose rows are not at hand, see Far.
func NewOwn(src *program.Source, plain crawl.ScopeConfig, scheme flow.Options) (o *Own, err error) {
	o = &Own{source: src}
	if src != nil {
		scheme.Crawl, scheme.IgnoreRobots = true, plain.NoRobots
		o.plan, err = src.Compile(scheme)
	} else {
		o.plan, err = plain.Compile()
	}
	if err != nil {
		return nil, err
	}
	o.Program = o.plan.Program.Program
	return o, nil
}

// Share leaves out, from now on, rows of partitions that this node does not own.
func (o *Own) Share(parts int, owns func(part int) bool) { o.rules.Share(parts, owns) }

// Wants says which facts of pages the crawl itself looks at.
func (o *Own) Wants() page.Want { return o.plan.Wants() }

// Table returns a table that the crawl keeps up; nil if there is none.
func (o *Own) Table(name string) *query.Table {
	if !o.Keeps(name) {
		return nil
	}
	return o.plan.Program.Table(name)
}

// Home is the partition, of so many, of the rows with a value in their first column.
func (o *Own) Home(t *query.Table, first query.Value, parts int) int {
	return o.plan.Options.Home(t.Types[0], first, parts)
}

// Find calls fn for the rows of a table with a value in their first column, until it
// returns false.
func (o *Own) Find(table string, first query.Value, fn func(flow.Row) bool) error {
	return o.rules.Find(o.plan.Program.Table(table), first, fn)
}

// Tables are the names of the tables that the program derives, as they come, but
// for crawl.
func (o *Own) Tables() []string {
	var names []string
	for _, r := range o.Rules {
		if !slices.Contains(names, r.Head.Table) && r.Head.Table != "crawl" {
			names = append(names, r.Head.Table)
		}
	}
	return names
}

// Keeps says that the crawl keeps a table of its program up.
func (o *Own) Keeps(table string) bool {
	return table != "crawl" && slices.ContainsFunc(o.plan.Rules, func(r *flow.Rule) bool { return r.Head.Name == table })
}

// Rows calls fn for the rows of a table that the crawl keeps, until it returns
// false.
func (o *Own) Rows(table string, fn func(flow.Row) bool) error {
	return o.rules.Rows(o.plan.Program.Table(table), fn)
}

// Ship calls fn for all rows that the crawl keeps for its program, for nodes that go
// on with it; see flow.Part.
func (o *Own) Ship(parts int, fn func(flow.Tuple) bool) error { return o.rules.Ship(parts, fn) }

// input returns the rows of an input as they were when the crawl began; false if
// the program has no such input.
func (o *Own) input(in *query.Input) (rows []flow.Row, diags []query.Diag, ok bool) {
	if o == nil || o.source == nil {
		return nil, nil, false
	}
	for _, f := range o.source.Inputs {
		if f.Table == in.Table {
			rows, diags = in.Read(f.Text)
			return rows, diags, true
		}
	}
	return nil, nil, false
}
