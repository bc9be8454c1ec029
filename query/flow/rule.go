package flow

import (
	"slices"
	"strconv"

	"weir/query"
)

// split takes one rule apart into stages, after section 2 of the design: tables
// are grouped by where their rows live, and rows are sent on until all groups
// have met.
type split struct {
	plan  *Plan
	rule  *Rule
	conds []*Cond
	class []int    // of every slot; slots of one class always live together
	apart []*Stage // stages whose rows have not been sent anywhere yet
	wait  []*Input // negated tables that no stage looks after yet
}

// split plans a rule. It decides where rows go, not yet what is kept.
func (p *Plan) split(r *query.Rule) (*Rule, *query.Diag) {
	b := &split{plan: p}
	b.rule = &Rule{Rule: r, Head: p.Program.Table(r.Head.Table), slots: map[string]int{}}
	located, halls := b.inputs()
	b.classes()
	b.group(located)
	b.furnish(halls)
	if d := b.meet(); d != nil {
		return nil, d
	}
	if len(b.apart) == 0 {
		b.apart = []*Stage{b.stage("", -1)}
		b.apart[0].Inputs = halls
		b.settle(b.apart[0])
	}
	root := b.negate(b.apart[0])
	b.order(root)
	b.rule.Ships = !b.local(root)
	return b.rule, nil
}

func (b *split) slot(name string, t query.Type) int {
	i, ok := b.rule.slots[name]
	if !ok {
		i = len(b.rule.Vars)
		b.rule.slots[name] = i
		b.rule.Vars = append(b.rule.Vars, Var{name, t})
	}
	return i
}

// hidden makes a slot for a value without a name.
func (b *split) hidden(t query.Type) (int, *query.Term) {
	i := len(b.rule.Vars)
	name := "#" + strconv.Itoa(i)
	b.rule.slots[name] = i
	b.rule.Vars = append(b.rule.Vars, Var{"", t})
	return i, &query.Term{Op: query.Var, Name: name, Type: t}
}

// inputs reads the body: tables that live somewhere, those that are everywhere,
// and, aside, conditions and negated tables.
func (b *split) inputs() (located, halls []*Input) {
	var small []*Input
	for _, l := range b.rule.Body {
		switch {
		case l.Atom == nil:
			b.cond(l)
		case l.Neg:
			b.wait = append(b.wait, b.input(l.Atom, true))
		default:
			switch in := b.input(l.Atom, false); {
			case in.Table.Kind == query.File:
				halls = append(halls, in)
			case in.Table.Small:
				small = append(small, in)
			default:
				located = append(located, in)
			}
		}
	}
	if len(located) == 0 && len(small) > 0 { // one of them has to be where it lives
		small[0].home = true
		located, small = small[:1], small[1:]
	}
	return located, append(halls, small...)
}

func (b *split) cond(l *query.Literal) {
	c := &Cond{Literal: l, Slot: -1}
	add := func(t *query.Term) {
		t.Vars(func(v *query.Term) {
			if i := b.slot(v.Name, v.Type); !slices.Contains(c.vars, i) {
				c.vars = append(c.vars, i)
			}
		})
	}
	if l.Compare != nil {
		add(l.Compare.L)
		add(l.Compare.R)
	} else {
		add(l.Test)
	}
	b.conds = append(b.conds, c)
}

// input reads an atom. An expression in a column becomes a condition on a value
// without a name; so does, where it says where rows live, a first column that may
// be anything.
func (b *split) input(a *query.Atom, neg bool) *Input {
	in := &Input{Table: b.plan.Program.Table(a.Table), Atom: a}
	for i, t := range in.Table.Types {
		c := Column{Slot: -1}
		switch {
		case i >= len(a.Args): // trailing columns that a program leaves out
		case a.Args[i].Op == query.Const:
			v := constant(a.Args[i], t)
			c.Const = &v
		case a.Args[i].Op == query.Var:
			c.Slot = b.slot(a.Args[i].Name, t)
		case a.Args[i].Op == query.Anon && (i > 0 || neg):
		case a.Args[i].Op == query.Anon:
			c.Slot, _ = b.hidden(t)
		default:
			var v *query.Term
			c.Slot, v = b.hidden(t)
			b.cond(&query.Literal{Pos: a.Args[i].Pos, Compare: &query.Compare{Pos: a.Args[i].Pos, Op: "=", L: v, R: a.Args[i]}})
		}
		in.Columns = append(in.Columns, c)
	}
	return in
}

// classes finds the slots that always share a home: equal ones, and by host
// those of one host, and its name.
func (b *split) classes() {
	for i := range b.rule.Vars {
		b.class = append(b.class, i)
	}
	for _, c := range b.conds {
		if c.Literal.Compare == nil || c.Literal.Compare.Op != "=" {
			continue
		}
		l, r := c.Literal.Compare.L, c.Literal.Compare.R
		x, y := b.place(l), b.place(r)
		if x < 0 || y < 0 || l.Type != r.Type {
			continue
		}
		from, to := b.class[x], b.class[y]
		for i := range b.class {
			if b.class[i] == from {
				b.class[i] = to
			}
		}
	}
}

// place returns the slot whose home a term's value is at, or -1.
func (b *split) place(t *query.Term) int {
	switch {
	case t.Op == query.Var:
		return b.rule.slots[t.Name]
	case t.Op == query.Call && t.Name == "host" && b.plan.Options.Scheme == ByHost && t.Args[0].Op == query.Var:
		return b.rule.slots[t.Args[0].Name]
	}
	return -1
}

func (b *split) stage(at string, class int) *Stage {
	return &Stage{Rule: b.rule, At: at, class: class, bound: map[int]bool{}}
}

// group makes a stage for every place where tables of the body live.
func (b *split) group(located []*Input) {
	for _, in := range located {
		class, at := -1, in.Atom.Args[0].String()
		if s := in.Columns[0].Slot; s >= 0 {
			class = b.class[s]
		}
		i := slices.IndexFunc(b.apart, func(s *Stage) bool {
			return s.class == class && (class >= 0 || s.At == at)
		})
		if i < 0 {
			i = len(b.apart)
			b.apart = append(b.apart, b.stage(at, class))
		}
		b.apart[i].Inputs = append(b.apart[i].Inputs, in)
	}
	for _, s := range b.apart {
		b.settle(s)
	}
}

// furnish gives tables that are everywhere to a stage that knows one of their
// values.
func (b *split) furnish(halls []*Input) {
	if len(b.apart) == 0 {
		return
	}
	for len(halls) > 0 {
		at, which := b.apart[0], 0
	search:
		for i, in := range halls {
			for _, s := range b.apart {
				if slices.ContainsFunc(in.Columns, func(c Column) bool { return c.Slot >= 0 && s.bound[c.Slot] }) {
					at, which = s, i
					break search
				}
			}
		}
		at.Inputs = append(at.Inputs, halls[which])
		halls = slices.Delete(slices.Clone(halls), which, which+1)
		b.settle(at)
	}
}

// settle gives a stage the conditions that it can decide, and values to the
// variables that it can work out.
func (b *split) settle(s *Stage) {
	for _, in := range s.Inputs {
		for _, c := range in.Columns {
			if c.Slot >= 0 {
				s.bound[c.Slot] = true
			}
		}
	}
	for again := true; again; {
		again = false
		for _, c := range b.conds {
			if c.done {
				continue
			}
			free := slices.DeleteFunc(slices.Clone(c.vars), func(v int) bool { return s.bound[v] })
			if len(free) > 0 {
				if len(free) > 1 || b.rule.side(c, free[0]) == nil {
					continue
				}
				c.Slot = free[0]
				s.bound[free[0]] = true
			}
			c.done, again = true, true
			s.Conds = append(s.Conds, c)
		}
	}
}

// side returns the expression that a condition makes equal to a variable that
// stands alone on the other side, or nil.
func (r *Rule) side(c *Cond, slot int) *query.Term {
	k := c.Literal.Compare
	if k == nil || k.Op != "=" {
		return nil
	}
	is := func(t *query.Term) bool { return t.Op == query.Var && r.slots[t.Name] == slot }
	has := func(t *query.Term) bool {
		found := false
		t.Vars(func(v *query.Term) { found = found || r.slots[v.Name] == slot })
		return found
	}
	switch {
	case is(k.L) && !has(k.R):
		return k.R
	case is(k.R) && !has(k.L):
		return k.L
	}
	return nil
}

// meet sends rows on until one stage has seen them all.
func (b *split) meet() *query.Diag {
	for len(b.apart) > 1 {
		if !b.visit() && !b.assemble() {
			return &query.Diag{Pos: b.rule.Pos, Message: "this rule multiplies unrelated tables", Hint: "join them by a variable that they share"}
		}
	}
	return nil
}

// visit sends the rows of a stage to another whose place they know.
func (b *split) visit() bool {
	for i, f := range b.apart {
		for _, g := range b.apart {
			if f == g || g.class < 0 {
				continue
			}
			for v := range b.rule.Vars {
				if f.bound[v] && b.class[v] == g.class {
					b.apart = slices.Delete(b.apart, i, i+1)
					b.send(f, g, v)
					b.settle(g)
					return true
				}
			}
		}
	}
	return false
}

// assemble sends the rows of two stages to the home of a value that they share.
func (b *split) assemble() bool {
	for i, f := range b.apart {
		for j, g := range b.apart[:i] {
			for v := range b.rule.Vars {
				if !f.bound[v] || !g.bound[v] {
					continue
				}
				m := b.stage(b.name(v), b.class[v])
				b.apart = append(slices.Delete(b.apart, j, j+1), m)
				b.send(g, m, v) // with all that f knows too, which is still apart
				b.apart = slices.DeleteFunc(b.apart, func(s *Stage) bool { return s == f })
				b.send(f, m, v)
				b.settle(m)
				return true
			}
		}
	}
	return false
}

func (b *split) name(slot int) string {
	if n := b.rule.Vars[slot].Name; n != "" {
		return n
	}
	return "_"
}

// send makes the rows of f an input of g. They go to the home of slot by, with
// every value that is needed there or further on, or that g's rows know too.
func (b *split) send(f, g *Stage, by int) {
	f.Sends = []int{by}
	in := &Input{From: f}
	for v := range b.rule.Vars {
		if v != by && f.bound[v] && (g.bound[v] || b.needed(v)) {
			f.Sends = append(f.Sends, v)
		}
	}
	for _, v := range f.Sends {
		in.Columns = append(in.Columns, Column{Slot: v})
		g.bound[v] = true
	}
	g.Inputs = append(g.Inputs, in)
}

// needed says that a value is asked for by what is not done yet.
func (b *split) needed(slot int) bool {
	found := false
	mark := func(t *query.Term) {
		t.Vars(func(v *query.Term) {
			if i, ok := b.rule.slots[v.Name]; ok && i == slot {
				found = true
			}
		})
	}
	for _, t := range b.rule.Rule.Head.Args {
		mark(t)
	}
	if solutions(b.rule.Rule) && b.rule.Vars[slot].Name != "" {
		return true
	}
	for _, c := range b.conds {
		found = found || !c.done && slices.Contains(c.vars, slot)
	}
	asks := func(in *Input) bool {
		return slices.ContainsFunc(in.Columns, func(c Column) bool { return c.Slot == slot })
	}
	for _, s := range b.apart { // a column of theirs, or worked out by an equation
		found = found || s.bound[slot]
	}
	return found || slices.ContainsFunc(b.wait, asks)
}

// solutions says that an aggregate of the rule runs over distinct solutions, not
// over distinct values.
func solutions(r *query.Rule) bool {
	return slices.ContainsFunc(r.Head.Args, func(t *query.Term) bool {
		return t.Op == query.Aggregate && (t.Name == "sum" || t.Name == "avg" || len(t.Args) == 0)
	})
}

// local says that what the rule derives, or gathers for an aggregate, lives
// where the stage is.
func (b *split) local(s *Stage) bool {
	if s.class < 0 {
		return false
	}
	for _, t := range b.rule.Rule.Head.Args {
		if t.Op == query.Aggregate {
			continue
		}
		i := b.place(t)
		return i >= 0 && b.class[i] == s.class
	}
	return false
}

// order lists the stages, those that send before those that are sent to.
func (b *split) order(s *Stage) {
	for _, in := range slices.Concat(s.Inputs, s.Absent) {
		if in.From != nil {
			b.order(in.From)
		}
	}
	b.rule.Stages = append(b.rule.Stages, s)
}
