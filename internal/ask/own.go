package ask

import (
	"slices"

	"weir/crawl"
	"weir/internal/program"
	"weir/query"
	"weir/query/flow"
)

// Own is the program that a crawl runs, its own or what its flags mean, with the
// tables that it keeps.
type Own struct {
	*query.Program
	source *program.Source // nil: it follows from flags
	plan   *flow.Plan      // what the crawl keeps up
	rules  *crawl.Program
}

// ReadOwn reads the program of the crawl in dir whose state is kv. Plain is what
// its flags say, for a crawl without a program of its own.
func ReadOwn(dir string, kv crawl.KV, plain crawl.ScopeConfig) (*Own, error) {
	version, _, err := crawl.ReadProgram(kv)
	if err != nil {
		return nil, err
	}
	o := &Own{}
	if o.source, err = program.Load(dir, version); err != nil {
		return nil, err
	}
	if o.source != nil {
		o.plan, err = o.source.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: plain.NoRobots})
	} else {
		o.plan, err = plain.Compile()
	}
	if err != nil {
		return nil, err
	}
	o.Program = o.plan.Program.Program
	o.rules, err = crawl.NewProgram(crawl.ProgramConfig{Plan: o.plan, Own: o.source != nil, Version: byte(version)}, kv)
	return o, err
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
