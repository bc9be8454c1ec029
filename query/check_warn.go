package query

import "cmp"

// marks finds the tables that are declared live or small.
func (c *checker) marks() {
	for _, m := range c.prog.Lives {
		t := c.marked(m, "live")
		if t == nil {
			continue
		}
		t.Live = true
		if t.Level > 0 {
			c.late(t.Name+" is declared live, but it depends", t)
		}
	}
	for _, m := range c.prog.Smalls {
		t := c.marked(m, "small")
		if t == nil {
			continue
		}
		t.Small = true
		for _, l := range t.Lattice {
			if l != Each {
				c.fail(m.Pos, "derive from it a table without that column, and declare that one small", "%s has a %s column, so it cannot be small", t.Name, l)
				break
			}
		}
		if t.Level > 0 {
			c.late(t.Name+" is declared small, and small tables steer the crawl, but it depends", t)
		}
	}
}

// marked returns the table that a declaration names, or nil if it makes no sense.
func (c *checker) marked(m *Mark, how string) *Table {
	t := c.byName[m.Table]
	switch {
	case t == nil:
		names := make([]string, 0, len(c.tables))
		for _, t := range c.tables {
			if t.Kind == Derived {
				names = append(names, t.Name)
			}
		}
		c.fail(m.Pos, cmp.Or(meant(m.Table, names), "declare tables that rules derive"), "there is no table %s to be %s", m.Table, how)
		return nil
	case t.Kind == File:
		c.fail(m.Pos, "leave the declaration out", "%s is an input: all of it is known everywhere from the start", m.Table)
		return nil
	case t.Kind != Derived:
		c.fail(m.Pos, "derive a table from it, and declare that one "+how, "%s comes from the crawler, so it cannot be declared %s", m.Table, how)
		return nil
	case how == "small" && orderNamed(m.Table) != nil:
		c.fail(m.Pos, "", "%s goes to the crawler, so it cannot be small", m.Table)
		return nil
	}
	return t
}

// warn reports what is allowed and yet most probably not meant.
func (c *checker) warn() {
	for _, r := range c.rules {
		if r.bound != nil {
			c.lonely(r)
		}
	}
	c.sound(c.merging)
	c.misnamed()
	if !Failed(c.diags) {
		c.boundless()
	}
}

// lonely reports variables that a rule mentions once. Where solutions are counted
// or added up, naming a variable has a meaning of its own.
func (c *checker) lonely(r *clause) {
	for _, a := range r.Head.Args {
		if a.Op == Aggregate {
			return
		}
	}
	for i := range r.bound {
		if b := &r.bound[i]; b.uses == 1 && len(b.atoms) == 1 && r.Body[b.atoms[0].lit].Atom.Args[b.atoms[0].col].Op == Var {
			c.suggest(b.first, "write _ if its value does not matter", "%s is mentioned only once", b.name)
		}
	}
}

// merging reports sums in which equal values of different pages become one, since
// nothing tells the pages apart.
func (c *checker) merging(r *clause) {
	for _, a := range r.Head.Args {
		if a.Op != Aggregate || a.Name != "sum" && a.Name != "avg" && (a.Name != "count" || len(a.Args) > 0) {
			continue
		}
		r.atoms(func(_ int, l *Literal, t *Table) {
			if p := l.Atom.Args[0]; !l.Neg && t.Kind == PageFact && p.Op == Anon {
				c.suggest(p.Pos, "name the page, as in "+t.Name+"(U, ..)", "%s runs over different solutions, and nothing tells pages apart here: equal values of two pages count once", a)
			}
		})
	}
}

// misnamed reports tables that nobody reads and whose name is almost that of
// another.
func (c *checker) misnamed() {
	read := make([]bool, len(c.tables))
	for _, r := range c.rules {
		for _, t := range r.reads {
			if t != nil {
				read[t.ID] = true
			}
		}
	}
	var idle []*Table
	var names []string
	for _, t := range c.tables {
		switch {
		case t.Kind != Derived || read[t.ID]:
			names = append(names, t.Name)
		case orderNamed(t.Name) == nil && len(t.Name) > 3:
			idle = append(idle, t)
		}
	}
	for i := range orders {
		if c.byName[orders[i].Name] == nil || !read[c.byName[orders[i].Name].ID] {
			names = append(names, orders[i].Name)
		}
	}
	const most = 100 // of both, for the time it takes
	if len(idle) > most || len(names) > most {
		return
	}
	for _, t := range idle {
		for _, n := range names {
			if distance(t.Name, n, 2) < 2 && len(n) > 3 && t.Name != n+"s" && t.Name+"s" != n {
				c.suggest(t.Rules[0].Head.Pos, "did you mean "+n+"?", "nothing reads %s, and its name is almost %s", t.Name, n)
				break
			}
		}
	}
}

// boundless reports a crawl that nothing holds back. A rule is open if it asks
// for no more than that crawl, facts of pages and open tables have a row.
func (c *checker) boundless() {
	crawl := c.byName["crawl"]
	open := make([]*Rule, len(c.tables)) // by table, an open rule of it
	c.spread(func(r *clause, changed func(t *Table)) {
		if open[r.head.ID] == nil && r.open(open) {
			open[r.head.ID] = r.Rule
			changed(r.head)
		}
	})
	if r := open[crawl.ID]; r != nil {
		c.suggest(r.Head.Pos, "add a bound such as D < 5 or host(V) = \"example.org\"; limits of pages, bytes or time are settings of the crawl", "nothing bounds this crawl: it may go through the whole web")
	}
}

// open says that the rule leads from pages to others without any condition.
func (r *clause) open(tables []*Rule) bool {
	leads := false
	for i, l := range r.Body {
		t := r.reads[i]
		switch {
		case t == nil || l.Neg:
			if l.Compare == nil || !r.definition(l.Compare) {
				return false
			}
		case t.Kind == PageFact:
			leads = leads || t.Name != "redirect" && t.Name != "robots"
		case t.Name == "crawl":
		case tables[t.ID] == nil:
			return false
		default:
			leads = true
		}
		if t != nil {
			for _, a := range l.Atom.Args {
				if a.Op != Anon && (a.Op != Var || len(r.binding(a).atoms) > 1 && t.Kind != PageFact && t.Name != "crawl") {
					return false
				}
			}
		}
	}
	return leads
}

// definition says that a comparison only gives a variable its value.
func (r *clause) definition(e *Compare) bool {
	return e.L.Op == Var && r.binding(e.L).def == e.R || e.R.Op == Var && r.binding(e.R).def == e.L
}
