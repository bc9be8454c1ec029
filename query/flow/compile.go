package flow

import (
	"fmt"
	"math"
	"slices"

	"weir/query"
)

// Compile makes a program ready to run. What it cannot run it reports.
func Compile(c *query.Checked, o Options) (*Plan, []query.Diag) {
	p := &Plan{turned: &Path{}, paths: 1, Program: c, Options: o, tables: make([]*Store, len(c.Tables)), files: make([]*hall, len(c.Tables))}
	var diags []query.Diag
	var rules []*Rule
	for _, r := range c.Rules {
		if slices.Contains(o.Given, r.Head.Table) || o.Crawl && c.Table(r.Head.Table).Level > 0 {
			continue
		}
		rule, d := p.split(r)
		if d != nil {
			diags = append(diags, *d)
			continue
		}
		rules = append(rules, rule)
	}
	p.choose(rules)
	p.share()
	for i, r := range p.Rules {
		r.index = i
		p.head(r)
	}
	for _, s := range p.Stages {
		p.feed(s)
	}
	for _, st := range p.Stores {
		st.Passes = p.passes(st)
		st.special = st.Table != nil && (st.Table.Name == "stop" || st.Table.Name == "wait")
		st.quiet = len(st.Readers) == 0 && st.Pool == nil && !st.Small && !st.special
	}
	for _, st := range p.Stores {
		if st.picks != nil {
			p.report(st.picks.Stage.Rule, p.linkKept(st), &diags)
		}
	}
	for _, s := range p.Stages {
		p.report(s.Rule, p.link(s), &diags)
	}
	if p.paths > math.MaxUint16 {
		diags = append(diags, query.Diag{Message: fmt.Sprintf("the program has to keep rows in %d orders, and %d are possible", p.paths, math.MaxUint16),
			Hint: "split it into several programs"})
	}
	p.watch()
	return p, diags
}

func (p *Plan) report(r *Rule, err error, diags *[]query.Diag) {
	if err != nil {
		*diags = append(*diags, query.Diag{Pos: r.Pos, Message: err.Error()})
	}
}

// choose keeps the rules that were asked for and those whose tables they read.
func (p *Plan) choose(rules []*Rule) {
	keep := make([]bool, len(p.Program.Tables))
	var need func(t *query.Table)
	need = func(t *query.Table) {
		if t.Kind != query.Derived || keep[t.ID] || slices.Contains(p.Options.Given, t.Name) {
			return
		}
		keep[t.ID] = true
		for _, r := range t.Rules {
			p.reads(r, need)
		}
	}
	for _, t := range p.Program.Tables {
		switch {
		case p.Options.Crawl:
			if t.Kind == query.Derived && t.Level == 0 && (t.Steers || t.Live) {
				need(t)
			}
		case len(p.Options.Tables) == 0 || slices.Contains(p.Options.Tables, t.Name):
			need(t)
		}
	}
	if p.Options.Crawl {
		p.near(rules, keep)
	}
	for _, r := range rules {
		if keep[r.Head.ID] {
			p.Rules = append(p.Rules, r)
		}
	}
}

// reads calls fn for every table in a rule's body.
func (p *Plan) reads(r *query.Rule, fn func(*query.Table)) {
	for _, l := range r.Body {
		if l.Atom != nil {
			fn(p.Program.Table(l.Atom.Table))
		}
	}
}

// near also keeps the tables that can be had without sending rows about.
func (p *Plan) near(rules []*Rule, keep []bool) {
	local := make([]bool, len(keep))
	for _, t := range p.Program.Tables {
		local[t.ID] = t.Kind == query.Derived && t.Level == 0
	}
	for again := true; again; {
		again = false
		for _, r := range rules {
			if !local[r.Head.ID] || keep[r.Head.ID] {
				continue
			}
			ok := len(r.Stages) == 1 && (!r.Ships || r.Root().At == "")
			p.reads(r.Rule, func(t *query.Table) {
				ok = ok && (t.Kind != query.Derived || keep[t.ID] || local[t.ID] || slices.Contains(p.Options.Given, t.Name))
			})
			if !ok {
				local[r.Head.ID], again = false, true
			}
		}
	}
	for i := range keep {
		keep[i] = keep[i] || local[i]
	}
}
