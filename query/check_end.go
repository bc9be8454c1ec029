package query

import (
	"fmt"
	"slices"
)

// flow says that values of one column go into another, by way of a variable.
type flow struct {
	from, to int // columns, numbered through all tables
	rule     *clause
	term     *Term // of the head
	by       *binding
	low      float64 // what a value is the less or the more for it
	high     float64
}

// terminate reports rules that could go on for ever. Rows are finite as long as
// values are, and arithmetic alone makes values that were not there before. So
// where values go round in columns that need one another, they may only rise if
// something stops them above, and only fall if something stops them below; those
// of a min column may not fall at all, and those of a max column not rise.
func (c *checker) terminate() {
	first := make([]int, len(c.tables)+1)
	for i, t := range c.tables {
		first[i+1] = first[i] + t.Arity()
	}
	var flows []*flow
	c.sound(func(r *clause) {
		for i, a := range r.Head.Args {
			flows = append(flows, c.flows(r, i, a, first)...)
		}
	})
	group := circles(first[len(c.tables)], flows, func(*flow) bool { return true })
	var round []*flow // where values may go round
	for _, f := range flows {
		inside := group[f.from] == group[f.to]
		for _, p := range f.by.atoms {
			inside = inside && group[first[f.rule.reads[p.lit].ID]+p.col] == group[f.to]
		}
		if inside {
			round = append(round, f)
		}
	}
	told := map[*Term]bool{}
	tell := func(f *flow, hint, what string) {
		if !told[f.term] {
			told[f.term] = true
			c.fail(f.term.Pos, hint, "%s %s", f.rule.spelled(f.term), what)
		}
	}
	var each []*flow
	for _, f := range round {
		kind := f.rule.head.Lattice[f.to-first[f.rule.head.ID]]
		switch {
		case kind == Min && f.low < 0:
			tell(f, "round a cycle a min value may stay or grow, as D+1 does, or D*2 where D >= 0", "would improve for ever round a cycle")
		case kind == Max && f.high > 0:
			tell(f, "round a cycle a max value may stay or shrink, as P-1 does, or P*0.9 where P >= 0", "would improve for ever round a cycle")
		case kind == Each:
			each = append(each, f)
		}
	}
	for _, f := range endless(first[len(c.tables)], each, above) {
		tell(f, f.remedy("< 10", Min), "makes new values without end")
	}
	for _, f := range endless(first[len(c.tables)], each, below) {
		tell(f, f.remedy("> 0", Max), "makes new values without end")
	}
}

// remedy says how to hold values back.
func (f *flow) remedy(bound string, l Lattice) string {
	if !f.countable() {
		return "there is no end of floats between two bounds; count in ints, or make the column " + l.String()
	}
	return fmt.Sprintf("bound it by a comparison such as %s %s, or make the column %s", f.by.name, bound, l)
}

// spelled is a term with what its variable stands for, if an equation says so.
func (r *clause) spelled(t *Term) string {
	if t.Op == Var {
		if b := r.binding(t); b.def != nil {
			return b.name + " = " + b.def.String()
		}
	}
	return t.String()
}

// flows returns the ways of values into the i-th column of a head. Where rounds
// are counted, only the count itself goes from one round to the next.
func (c *checker) flows(r *clause, i int, a *Term, first []int) (list []*flow) {
	t := a
	if a.Op == Aggregate {
		if r.Class == Final || a.Name != "min" && a.Name != "max" {
			return nil
		}
		t = a.Args[0]
	}
	if r.advances && r.head.Step != i {
		return nil
	}
	for _, v := range r.bases(t) {
		b := &r.bound[v]
		if slices.ContainsFunc(b.atoms, func(p place) bool {
			from := r.reads[p.lit]
			return from.Kind != Derived || c.group[from.ID] != c.group[r.head.ID]
		}) {
			continue // its values are given
		}
		low, high := r.change(t, v)
		for _, p := range b.atoms {
			list = append(list, &flow{from: first[r.reads[p.lit].ID] + p.col, to: first[r.head.ID] + i, rule: r, term: a, by: b, low: low, high: high})
		}
	}
	return list
}

// circles gives nodes of one circle of flows the same number.
func circles(nodes int, flows []*flow, counts func(f *flow) bool) []int {
	to := make([][]int, nodes)
	for _, f := range flows {
		if counts(f) {
			to[f.from] = append(to[f.from], f.to)
		}
	}
	group := make([]int, nodes)
	for g, members := range components(to) {
		for _, m := range members {
			group[m] = g
		}
	}
	return group
}

// A direction is a way in which values may run off: moves says that a flow takes
// them further, and stopped that none comes out of it beyond some bound.
type direction struct{ moves, stopped func(f *flow) bool }

var (
	above = direction{
		func(f *flow) bool { return f.high > 0 },
		func(f *flow) bool { _, high := f.rule.bounds(f.term); return f.countable() && !isInf(high) },
	}
	below = direction{
		func(f *flow) bool { return f.low < 0 },
		func(f *flow) bool { low, _ := f.rule.bounds(f.term); return f.countable() && !isInf(low) },
	}
)

// countable says that there are only so many values between two bounds: ints and
// times, and floats that only sums are made of.
func (f *flow) countable() bool { return f.term.Type != Float || f.rule.plain(f.term) }

// endless returns flows that move values on and on: round a circle of flows none
// of which is stopped.
func endless(nodes int, flows []*flow, d direction) (list []*flow) {
	group := circles(nodes, flows, func(f *flow) bool { return !d.stopped(f) })
	for _, f := range flows {
		if d.moves(f) && !d.stopped(f) && group[f.from] == group[f.to] {
			list = append(list, f)
		}
	}
	return list
}
