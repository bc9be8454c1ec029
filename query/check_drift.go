package query

import "fmt"

// drift says how a value may still change while tables grow: the value of a min
// column falls, that of a max column rises. Conclusions that must stay true may
// be drawn only from where it drifts to.
type drift uint8

const (
	still drift = 0
	falls drift = 1
	rises drift = 2
)

func (l Lattice) drift() drift { return [...]drift{still, falls, rises}[l] }

// turned is the drift of the value with its sign changed.
func (d drift) turned() drift { return d>>1 | d<<1&rises }

// within says that d is e or still.
func (d drift) within(e drift) bool { return d&^e == 0 }

// edge says that one table depends on another, because of an atom in a rule.
type edge struct {
	Pos
	from, to *Table
	rule     *clause
	lit      int // the atom among the rule's literals
	// What growth of the table may take back, in words, and what to do about it;
	// "" when it takes nothing back.
	why, hint string
}

// final says that growth of the table below may take rows of the one above back.
func (e *edge) final() bool { return e.why != "" }

// connect finds out which tables depend on which, and how.
func (c *checker) connect() {
	c.out = make([][]*edge, len(c.tables))
	add := func(e *edge) {
		c.edges = append(c.edges, e)
		c.out[e.from.ID] = append(c.out[e.from.ID], e)
	}
	c.sound(func(r *clause) {
		r.Class, r.timely = c.classOf(r), r.now()
		for _, e := range c.edgesOf(r) {
			add(e)
		}
	})
	// A page is fetched because crawl asks for it.
	if crawl := c.byName["crawl"]; crawl != nil {
		for _, t := range c.tables {
			if t.Kind == PageFact {
				add(&edge{from: t, to: crawl})
			}
		}
	}
}

// classOf says when what the rule aggregates is settled.
func (c *checker) classOf(r *clause) Class {
	class := Plain
	for i, a := range r.Head.Args {
		if a.Op != Aggregate {
			continue
		}
		if class = max(class, Growing); !grows(a.Name, r.head.Lattice[i]) {
			class = Final
		}
	}
	if class == Final && r.sealed() && !r.now() {
		return Sealed
	}
	return class
}

// grows says that an aggregate in a column of that kind only improves.
func grows(aggregate string, l Lattice) bool {
	switch l {
	case Max:
		return aggregate == "count" || aggregate == "max"
	case Min:
		return aggregate == "min"
	}
	return false
}

// sealed says that the rule asks only for facts of one page, which is among its
// head's columns, and inputs.
func (r *clause) sealed() bool {
	var pages *Term
	ok := true
	r.atoms(func(i int, l *Literal, t *Table) {
		switch {
		case t.Kind == PageFact && pages == nil && !l.Neg:
			pages = l.Atom.Args[0]
		case t.Kind == PageFact:
		case t.Kind != File:
			ok = false
		}
	})
	if !ok || pages == nil || pages.Op != Var {
		return false
	}
	r.atoms(func(_ int, l *Literal, t *Table) {
		ok = ok && (t.Kind != PageFact || same(l.Atom.Args[0], pages))
	})
	named := false
	for _, a := range r.Head.Args {
		named = named || same(a, pages)
	}
	return ok && named
}

// same says that two terms are the same variable or constant.
func same(a, b *Term) bool {
	return a.Op == b.Op && (a.Op == Var && a.Name == b.Name || a.Op == Const && a.Type == b.Type && a.Value == b.Value)
}

// beside says that the body has a fact of the page that the i-th literal, a fact
// too, is about: then both come together.
func (r *clause) beside(i int) bool {
	found := false
	r.atoms(func(_ int, l *Literal, t *Table) {
		found = found || !l.Neg && t.Kind == PageFact && same(l.Atom.Args[0], r.Body[i].Atom.Args[0])
	})
	return found
}

// edgesOf returns the edges of a rule, one for each atom.
func (c *checker) edgesOf(r *clause) []*edge {
	d := drifting{clause: r, byLit: make([]*edge, len(r.Body)), drift: make([]drift, len(r.bound))}
	var edges []*edge
	r.atoms(func(i int, l *Literal, t *Table) {
		d.byLit[i] = &edge{Pos: l.Pos, from: r.head, to: t, rule: r, lit: i}
		edges = append(edges, d.byLit[i])
		if r.timely {
			d.final(i, l.Pos, "now()", hintNow)
		}
	})
	d.atoms()
	d.conditions()
	d.heads()
	return edges
}

// drifting finds the values in a rule that drift, and what the rule may not
// conclude from them.
type drifting struct {
	*clause
	byLit []*edge
	drift []drift // by variable
}

// exact marks the edges that a term drifts because of as final.
func (d *drifting) exact(t *Term, at Pos, why, hint string) {
	for _, v := range d.bases(t) {
		for _, p := range d.bound[v].atoms {
			if d.reads[p.lit].Lattice[p.col] != Each {
				d.final(p.lit, at, why, hint)
			}
		}
	}
}

// final marks the edge of a literal as final, unless it is so already.
func (d *drifting) final(lit int, at Pos, why, hint string) {
	if e := d.byLit[lit]; !e.final() {
		e.Pos, e.why, e.hint = at, why, hint
	}
}

const (
	hintNegation = "what is not there may yet come; ! is settled at once only for inputs, and for facts of a page beside another fact of the same page"
	hintFinal    = "this is settled only when the crawl is over; put it in a table that crawl, stop and wait do not need"
)

func hintDrift(l Lattice) string {
	if l == Min {
		return "a min column may yet fall: ask D < c or D <= c of it, or hand it on to a min column as D or D+c"
	}
	return "a max column may yet rise: ask P > c or P >= c of it, or hand it on to a max column as P or P-c"
}

// atoms finds what drifts, and what the atoms themselves ask for.
func (d *drifting) atoms() {
	d.clause.atoms(func(i int, l *Literal, t *Table) {
		switch {
		case l.Neg && t.Kind == File, l.Neg && t.Kind == PageFact && d.beside(i):
		case l.Neg:
			d.final(i, l.Pos, l.String(), hintNegation)
		case d.Class == Final:
			d.final(i, d.aggregate().Pos, fmt.Sprintf("%s over %s", d.aggregate(), t.Name), hintAggregate(d.aggregate()))
		}
		if l.Neg {
			return
		}
		for col, a := range l.Atom.Args {
			kind := t.Lattice[col]
			switch {
			case kind == Each || a.Op == Anon:
			case a.Op != Var:
				d.final(i, a.Pos, fmt.Sprintf("the exact value %s of a %s column", a, kind), hintDrift(kind))
			default:
				v := d.vars[a.Name]
				if len(d.bound[v].atoms) > 1 {
					d.final(i, a.Pos, fmt.Sprintf("a join on %s (a %s column may yet change)", a, kind), hintDrift(kind))
				}
				d.drift[v] |= kind.drift()
			}
		}
	})
	for _, v := range d.defs {
		d.drift[v] = d.of(d.bound[v].def)
	}
}

// aggregate is the head's first aggregate that does not only improve.
func (d *drifting) aggregate() *Term {
	for i, a := range d.Head.Args {
		if a.Op == Aggregate && !grows(a.Name, d.head.Lattice[i]) {
			return a
		}
	}
	return nil
}

func hintAggregate(a *Term) string {
	switch a.Name {
	case "count", "max":
		return "it may yet change; max " + a.String() + " only rises, and may feed crawl as N >= c or as a priority"
	case "min":
		return "it may yet change; min " + a.String() + " only falls, and may feed crawl as N <= c"
	}
	return hintFinal
}

// of is the drift of a term.
func (d *drifting) of(t *Term) drift {
	switch t.Op {
	case Var, Anon:
		return d.drift[d.vars[t.Name]]
	case Add:
		return d.of(t.Args[0]) | d.of(t.Args[1])
	case Sub:
		return d.of(t.Args[0]) | d.of(t.Args[1]).turned()
	case Mul, Div:
		return d.product(t)
	}
	all := still
	for _, a := range t.Args {
		if d.of(a) != still {
			all = falls | rises
		}
	}
	return all
}

// product is the drift of a product or quotient: it has one when a factor, or
// the dividend, drifts and the other is of known sign.
func (d *drifting) product(t *Term) drift {
	a, b := t.Args[0], t.Args[1]
	moves, other := d.of(a), b
	switch {
	case moves == still && d.of(b) == still:
		return still
	case t.Op == Mul && moves == still:
		moves, other = d.of(b), a
	case d.of(b) != still:
		return falls | rises
	}
	switch low, high := d.bounds(other); {
	case low >= 0 && (t.Op == Mul || low > 0):
		return moves
	case high <= 0 && (t.Op == Mul || high < 0):
		return moves.turned()
	}
	return falls | rises
}

// conditions finds tests and comparisons that may cease to hold, and atoms that
// want an exact value.
func (d *drifting) conditions() {
	d.clause.terms(func(t *Term) {
		t.Walk(func(t *Term) {
			if t.Op == Div && d.of(t.Args[1]) != still {
				d.exact(t.Args[1], t.Pos, fmt.Sprintf("%s (what it divides by may yet be 0)", t), hintFinal)
			}
		})
	})
	for _, l := range d.Body {
		switch {
		case l.Test != nil:
			if d.of(l.Test) != still {
				d.exact(l.Test, l.Pos, fmt.Sprintf("%s (its value may yet change)", l), hintFinal)
			}
		case l.Compare != nil:
			d.compare(l.Compare)
		case l.Atom != nil:
			for _, a := range l.Atom.Args {
				if (l.Neg || a.Op != Var && a.Op != Anon) && d.of(a) != still {
					d.exact(a, a.Pos, fmt.Sprintf("a join on %s (its value may yet change)", a), hintFinal)
				}
			}
		}
	}
}

const hintNow = "what time it is differs whenever the crawl is replayed; ask in a table that crawl, stop and wait do not need"

// now says that the rule asks what time it is.
func (r *clause) now() (asks bool) {
	r.terms(func(t *Term) {
		t.Walk(func(t *Term) { asks = asks || t.Op == Call && t.Name == "now" })
	})
	return asks
}

// compare marks a comparison that may cease to hold. One that defines a
// variable always holds.
func (d *drifting) compare(e *Compare) {
	l, r := d.of(e.L), d.of(e.R)
	var ok bool
	switch e.Op {
	case "<", "<=":
		ok = l.within(falls) && r.within(rises)
	case ">", ">=":
		ok = l.within(rises) && r.within(falls)
	case "=":
		ok = l == still && r == still || d.definition(e)
	default:
		ok = l == still && r == still
	}
	if ok {
		return
	}
	kind := Max
	if (l|r)&falls != 0 {
		kind = Min
	}
	why := fmt.Sprintf("%s (a %s column may yet change)", e, kind)
	d.exact(e.L, e.Pos, why, hintDrift(kind))
	d.exact(e.R, e.Pos, why, hintDrift(kind))
}

// heads finds columns that want an exact value.
func (d *drifting) heads() {
	for i, a := range d.Head.Args {
		kind := d.head.Lattice[i]
		if a.Op == Aggregate && a.Name != "count" && d.Class == Growing {
			a = a.Args[0]
		}
		if a.Op == Aggregate && a.Name == "count" && len(a.Args) == 0 {
			d.solutions(a)
		}
		if got := d.of(a); !got.within(kind.drift()) {
			what, hint := "min", hintDrift(Min)
			if got&rises != 0 {
				what, hint = "max", hintDrift(Max)
			}
			d.exact(a, a.Pos, fmt.Sprintf("the exact value of %s (a %s column may yet change)", a, what), hint)
		}
	}
}

// solutions marks what drifts among the named variables: count<> tells apart the
// values that they had on the way.
func (d *drifting) solutions(count *Term) {
	d.terms(func(t *Term) {
		t.Vars(func(v *Term) {
			if v.Op == Var && d.of(v) != still {
				d.exact(v, count.Pos, fmt.Sprintf("%s over values of %s, which may yet change", count, v), hintFinal)
			}
		})
	})
}
