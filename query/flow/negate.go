package flow

import (
	"slices"

	"weir/query"
)

// negate has every negated table looked at where its rows live, by a stage that
// knows what to look for. It returns the stage that finds the rule's solutions
// then.
func (b *split) negate(root *Stage) *Stage {
	b.apart = nil
	for ; len(b.wait) > 0; b.wait = b.wait[1:] {
		in := b.wait[0]
		b.rule.Stages = nil
		b.order(root)
		stages := b.rule.Stages
		if in.Table.Kind == query.File || in.Table.Small {
			b.absent(stages, in, func(s *Stage) bool { return true })
			continue
		}
		in.sealed = b.sealed(in)
		if in.sealed && b.absent(stages, in, func(s *Stage) bool { return b.beside(s, in) }) {
			continue
		}
		if in.Columns[0].Slot < 0 {
			in = b.project(in, root)
		}
		by := in.Columns[0].Slot
		slices.Reverse(stages) // the later, the fewer rows
		if b.absent(stages, in, func(s *Stage) bool { return s.class == b.class[by] }) {
			continue
		}
		next := b.stage(b.name(by), b.class[by])
		b.send(root, next, by)
		next.Absent = append(next.Absent, in)
		root = next
	}
	b.rule.Stages = nil
	return root
}

// absent gives a negated table to the first stage that may have it and knows its
// values.
func (b *split) absent(stages []*Stage, in *Input, may func(*Stage) bool) bool {
	for _, s := range stages {
		unknown := slices.ContainsFunc(in.Columns, func(c Column) bool { return c.Slot >= 0 && !s.bound[c.Slot] })
		if !unknown && !s.Projects && may(s) {
			s.Absent = append(s.Absent, in)
			return true
		}
	}
	return false
}

// sealed says that a negated fact is about a page of which the rule has another
// fact: they come together, so what is not there will never be.
func (b *split) sealed(in *Input) bool {
	return in.Table.Kind == query.PageFact && in.Columns[0].Slot >= 0 && slices.ContainsFunc(b.rule.Body, func(l *query.Literal) bool {
		return l.Atom != nil && !l.Neg && b.plan.Program.Table(l.Atom.Table).Kind == query.PageFact &&
			l.Atom.Args[0].Op == query.Var && b.rule.slots[l.Atom.Args[0].Name] == in.Columns[0].Slot
	})
}

// beside says that s has a fact of the same page.
func (b *split) beside(s *Stage, in *Input) bool {
	return slices.ContainsFunc(s.Inputs, func(o *Input) bool {
		return o.Table != nil && o.Table.Kind == query.PageFact && o.Columns[0].Slot == in.Columns[0].Slot
	})
}

// project sends what a negated table has in the columns that matter to where
// they are known: !p(_, X) is looked for at the home of X.
func (b *split) project(in *Input, root *Stage) *Input {
	p := b.stage(in.Atom.Args[0].String(), -1)
	p.Projects = true
	p.Inputs = []*Input{in}
	anything := -1
	if c := &in.Columns[0]; c.Const == nil {
		anything, _ = b.hidden(in.Table.Types[0])
		b.class = append(b.class, anything)
		c.Slot = anything
	}
	for _, c := range in.Columns {
		if c.Slot >= 0 && c.Slot != anything && !slices.Contains(p.Sends, c.Slot) {
			p.Sends = append(p.Sends, c.Slot)
			p.bound[c.Slot] = true
		}
	}
	if len(p.Sends) == 0 { // the question is whether there is any row at all
		slot, v := b.hidden(query.Int)
		b.class = append(b.class, slot)
		zero := &query.Literal{Compare: &query.Compare{Op: "=", L: v, R: &query.Term{Op: query.Const, Type: query.Int}}}
		for _, s := range []*Stage{p, root} {
			s.Conds = append(s.Conds, &Cond{Literal: zero, Slot: slot, vars: []int{slot}, done: true})
			s.bound[slot] = true
		}
		p.Sends = []int{slot}
		b.wait[0] = &Input{Table: in.Table, Columns: []Column{{Slot: slot}}} // so that it is sent along
	}
	// Best at the home of a value where the rows are anyway.
	if i := slices.IndexFunc(p.Sends, func(v int) bool { return b.class[v] == root.class }); i > 0 {
		p.Sends[0], p.Sends[i] = p.Sends[i], p.Sends[0]
	}
	out := &Input{From: p}
	for _, v := range p.Sends {
		out.Columns = append(out.Columns, Column{Slot: v})
	}
	return out
}
