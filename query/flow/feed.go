package flow

import (
	"slices"

	"weir/query"
)

// head prepares where a rule's rows go.
func (p *Plan) head(r *Rule) {
	if r.Head.Name != "crawl" {
		p.table(r.Head)
	}
	p.pools(r)
}

// feed says how the rows of a stage's inputs come.
func (p *Plan) feed(s *Stage) {
	s.Flows = s.flows()
	for _, in := range slices.Concat(s.Inputs, s.Absent) {
		switch {
		case in.From != nil:
			in.Source, in.Store = FromStore, in.From.Into
		case in.Table.Kind == query.File:
			in.Source = FromFile
			if p.files[in.Table.ID] == nil {
				p.files[in.Table.ID] = newHall(in.Table.Types, in.Table.Lattice)
			}
		case in.Table.Small && !in.home:
			in.Source, in.Store = FromSmall, p.table(in.Table)
		case s.Flows && in.Table.Kind == query.PageFact:
			in.Source = FromPage
		case s.Flows: // crawl
			in.Source = FromCrawl
		case in.Table.Kind == query.PageFact:
			in.Source, in.Store = FromStore, p.kept(in)
		default:
			in.Source, in.Store = FromStore, p.table(in.Table)
		}
	}
	if s.Flows {
		return
	}
	for _, in := range s.Inputs {
		if in.Store != nil {
			in.Store.Readers = append(in.Store.Readers, in)
		}
	}
}

// flows says that all a stage needs comes with one page.
func (s *Stage) flows() bool {
	var first *Column
	same := func(in *Input) bool {
		c := &in.Columns[0]
		if first == nil {
			first = c
		}
		return c.Slot == first.Slot && (c.Slot >= 0 || c.Const != nil && *c.Const == *first.Const)
	}
	pages := 0
	for _, in := range s.Inputs {
		switch {
		case in.From != nil:
			return false
		case in.Table.Kind == query.PageFact:
			if !same(in) {
				return false
			}
			pages++
		case in.Table.Name == "crawl":
			if !same(in) {
				return false
			}
		case in.Table.Kind == query.File, in.Table.Small && !in.home:
		default:
			return false
		}
	}
	for _, in := range s.Absent {
		if in.From != nil || in.Table.Kind != query.File && !(in.Table.Kind == query.PageFact && same(in)) {
			return false
		}
	}
	return pages > 0 && s.Level == 0
}

// passes says that nobody looks up rows of a store, and whoever is told of one
// twice does not mind: rows that are handed in from outside, where they are known
// already, and those that only pools take in.
func (p *Plan) passes(st *Store) bool {
	if st.Table == nil || st.Small { // small ones must come back after a crash
		return false
	}
	pours := p.pours(st)
	if st.Table.Name != "crawl" && st.Table.Kind != query.SeedFact && !slices.Contains(p.Options.Given, st.Table.Name) && !pours {
		return false
	}
	for _, s := range p.Stages {
		for _, in := range s.Absent {
			if in.Store == st {
				return false
			}
		}
	}
	for _, in := range st.Readers {
		alone := !slices.ContainsFunc(in.Stage.Inputs, func(o *Input) bool { return o != in && o.Store != nil })
		if !alone || in.Stage.Level > 0 && !pours {
			return false
		}
	}
	return true
}

// pours says that a table was not asked for, and that all who read it put what
// they find into pools, as soon as it is derived.
func (p *Plan) pours(st *Store) bool {
	t := st.Table
	if t.Kind != query.Derived || slices.Contains(p.Options.Given, t.Name) || len(p.Options.Tables) == 0 || slices.Contains(p.Options.Tables, t.Name) || p.Options.Crawl ||
		t.Small || !st.point || len(st.Readers) == 0 {
		return false
	}
	for _, in := range st.Readers {
		if len(in.Stage.Rule.Pools) == 0 || in.Stage.Sends != nil {
			return false
		}
		for _, r := range p.Rules {
			if r.Head == t && r.Root().Level < in.Stage.Level && len(r.Pools) == 0 {
				return false
			}
		}
	}
	return true
}
