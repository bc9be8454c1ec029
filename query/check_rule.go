package query

import (
	"fmt"
	"slices"
	"strings"
)

// resolve finds the tables of all bodies, and where variables get their values.
func (c *checker) resolve() {
	for _, r := range c.rules {
		r.reads = make([]*Table, len(r.Body))
		for i, l := range r.Body {
			if l.Atom != nil {
				r.reads[i] = c.tableOf(l.Atom)
				r.broken = r.broken || r.reads[i] == nil
			}
		}
		if !r.broken {
			r.bind()
			c.safe(r)
		}
	}
}

// filled begins the names of anonymous variables that the program left out.
const filled = "_+"

// tableOf returns the table of a body's atom, or nil when there is none of that
// name or it has other columns. Columns that may be left out are filled in.
func (c *checker) tableOf(a *Atom) *Table {
	t := c.byName[a.Table]
	if t == nil {
		c.unknown(a.Pos, "table or test", a.Table)
		return nil
	}
	if t.Kind == PageFact || t.Kind == SeedFact || t.Name == "crawl" {
		for len(a.Args) < t.Arity() {
			c.anons++
			a.Args = append(a.Args, &Term{Pos: a.Pos, Op: Anon, Name: fmt.Sprint(filled, c.anons)})
		}
	}
	if len(a.Args) != t.Arity() {
		hint := ""
		if t.Kind == PageFact || t.Kind == SeedFact || orderNamed(t.Name) != nil {
			hint = "its columns are " + strings.Join(t.Columns, ", ")
		} else if len(a.Args) < t.Arity() {
			hint = "write _ for columns that do not matter"
		}
		c.fail(a.Pos, hint, "%s has %s, not %d", a.Table, columns(t.Arity()), len(a.Args))
		return nil
	}
	return t
}

// unknown reports a name that means nothing.
func (c *checker) unknown(at Pos, what, name string) {
	var names []string
	for _, t := range c.tables {
		names = append(names, t.Name)
	}
	for _, f := range slices.Concat(Tests, Functions) {
		names = append(names, f.Name)
	}
	hint := ""
	if !c.full() {
		hint = meant(name, names)
	}
	c.fail(at, hint, "there is no %s %s", what, name)
}

// meant is a hint at the name that was probably meant, or "".
func meant(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// number gives a variable its number in the rule.
func (r *clause) number(t *Term) *binding {
	i, ok := r.vars[t.Name]
	if !ok {
		i = len(r.bound)
		r.vars[t.Name] = i
		r.bound = append(r.bound, binding{name: t.Name, first: t.Pos})
	}
	return &r.bound[i]
}

// terms calls fn for the outermost terms of a rule.
func (r *clause) terms(fn func(t *Term)) {
	for _, a := range r.Head.Args {
		fn(a)
	}
	for _, l := range r.Body {
		l.terms(fn)
	}
}

// terms calls fn for the outermost terms of a literal.
func (l *Literal) terms(fn func(t *Term)) {
	switch {
	case l.Atom != nil:
		for _, a := range l.Atom.Args {
			fn(a)
		}
	case l.Test != nil:
		fn(l.Test)
	case l.Compare != nil:
		fn(l.Compare.L)
		fn(l.Compare.R)
	}
}

// bind finds out where variables get their values: from atoms first, then from
// equations all of whose other variables have one.
func (r *clause) bind() {
	r.vars = map[string]int{}
	r.terms(func(t *Term) { t.Vars(func(v *Term) { r.number(v).uses++ }) })
	var equations []*Compare
	for i, l := range r.Body {
		if e := l.Compare; e != nil {
			r.limited(e.Op, e.L, e.R)
			r.limited(mirrored[e.Op], e.R, e.L)
		}
		switch {
		case l.Atom != nil && !l.Neg:
			for col, a := range l.Atom.Args {
				if a.Op == Var || a.Op == Anon {
					b := r.binding(a)
					b.atoms = append(b.atoms, place{i, col})
				}
			}
		case l.Compare != nil && l.Compare.Op == "=" && !l.Neg:
			equations = append(equations, l.Compare)
		}
	}
	for found := true; found; {
		found = false
		waiting := equations[:0]
		for _, e := range equations {
			switch {
			case r.defines(e.L, e.R), r.defines(e.R, e.L):
				found = true
			case !r.valued(e.L) || !r.valued(e.R):
				waiting = append(waiting, e)
			}
		}
		equations = waiting
	}
	for i := range r.bound {
		r.bound[i].bases, r.bound[i].plain = []int{i}, true
	}
	for _, i := range r.defs {
		b := &r.bound[i]
		b.bases, b.plain = r.bases(b.def), r.plain(b.def)
	}
}

// bases are the variables with atoms that a term comes down to, in order.
func (r *clause) bases(t *Term) (list []int) {
	t.Vars(func(v *Term) { list = append(list, r.binding(v).bases...) })
	slices.Sort(list)
	return slices.Compact(list)
}

// plain says that a term is made without products and quotients.
func (r *clause) plain(t *Term) bool {
	ok := true
	t.Walk(func(t *Term) {
		ok = ok && t.Op != Mul && t.Op != Div
		if t.Op == Var {
			ok = ok && r.binding(t).plain
		}
	})
	return ok
}

// defines makes t the meaning of the variable v, if it has none and t has.
func (r *clause) defines(v, t *Term) bool {
	if v.Op != Var || r.binding(v).value() || !r.valued(t) {
		return false
	}
	r.binding(v).def = t
	r.defs = append(r.defs, r.vars[v.Name])
	return true
}

// valued says that all variables of t have values.
func (r *clause) valued(t *Term) bool {
	ok := true
	t.Vars(func(v *Term) { ok = ok && r.binding(v).value() })
	return ok
}

// safe reports variables without a value. One place of each is enough.
func (c *checker) safe(r *clause) {
	told := map[string]bool{}
	need := func(t *Term, where string) {
		t.Vars(func(v *Term) {
			if r.binding(v).value() || told[v.Name] {
				return
			}
			r.broken, told[v.Name] = true, true
			if v.Op == Anon {
				c.fail(v.Pos, "_ stands for any value; give it a name, and use it in a table", "_ has no value in %s", where)
				return
			}
			hint := "a table of the body that is not negated must have " + v.Name + " in a column"
			if m := meant(v.Name, r.known()); m != "" {
				hint = m + " Else " + hint
			}
			c.fail(v.Pos, hint, "%s has no value in %s", v.Name, where)
		})
	}
	for _, a := range r.Head.Args {
		need(a, "the head")
	}
	for _, l := range r.Body {
		switch {
		case l.Compare != nil:
			need(l.Compare.L, "this comparison")
			need(l.Compare.R, "this comparison")
		case l.Test != nil:
			need(l.Test, "this test")
		case l.Atom != nil:
			for _, a := range l.Atom.Args {
				if a.Op != Anon {
					need(a, l.Atom.Table+"(..)")
				}
			}
		}
	}
}

// known are the names of variables that have a value.
func (r *clause) known() (names []string) {
	for i := range r.bound {
		if b := &r.bound[i]; b.value() && !strings.HasPrefix(b.name, "_") {
			names = append(names, b.name)
		}
	}
	return names
}
