package query

import (
	"slices"
	"strconv"
	"strings"
)

// orders are Orders, as tables.
var orders = []Table{
	order(Orders[0], Each, Min, Max),
	order(Orders[1], Each),
	order(Orders[2], Each, Max),
}

func order(f Fact, lattice ...Lattice) Table {
	return Table{Name: f.Name, Columns: f.Columns, Types: f.Types, Lattice: lattice}
}

func orderNamed(name string) *Table {
	for i := range orders {
		if orders[i].Name == name {
			return &orders[i]
		}
	}
	return nil
}

// declare makes the tables: facts, inputs, and whatever rules derive.
func (c *checker) declare() {
	for _, f := range Facts {
		kind := PageFact
		if f.Name == "seed" {
			kind = SeedFact
		}
		c.add(&Table{Name: f.Name, Kind: kind, Columns: f.Columns, Types: f.Types, Lattice: make([]Lattice, len(f.Types))})
	}
	for _, in := range c.prog.Inputs {
		c.input(in)
	}
	for _, r := range c.prog.Rules {
		c.rules = append(c.rules, &clause{Rule: r, head: c.headOf(r)})
		if r := c.rules[len(c.rules)-1]; r.head == nil {
			r.broken = true
		}
	}
	for _, name := range c.given {
		if o := orderNamed(name); o != nil && c.byName[name] == nil {
			c.add(orderTable(o, len(o.Types)))
		}
	}
	if c.byName["crawl"] == nil {
		c.fail(Pos{}, "add for instance  crawl(U, 0) :- seed(U).", "no rule derives crawl, so nothing would be fetched")
	}
}

func (c *checker) add(t *Table) *Table {
	t.ID, t.Step = len(c.tables), -1
	c.tables = append(c.tables, t)
	c.byName[t.Name] = t
	return t
}

func orderTable(o *Table, arity int) *Table {
	return &Table{Name: o.Name, Kind: Derived, Columns: o.Columns[:arity], Types: slices.Clone(o.Types[:arity]), Lattice: slices.Clone(o.Lattice[:arity])}
}

func (c *checker) input(in *Input) {
	switch t := c.byName[in.Table]; {
	case callable(in.Table):
		c.fail(in.Pos, "choose another name", "%s is a function or test, not a table", in.Table)
	case orderNamed(in.Table) != nil:
		c.fail(in.Pos, "read the file into a table of another name, and derive "+in.Table+" from it", "%s is what the crawler obeys, so rules must derive it", in.Table)
	case t != nil && t.Kind == File:
		c.fail(in.Pos, "choose another name, or drop one of the two", "the input %s is declared twice, first in line %d", in.Table, t.Input.Line)
	case t != nil:
		c.fail(in.Pos, "choose another name", "%s comes from the crawler and cannot be an input", in.Table)
	default:
		c.add(&Table{Name: in.Table, Kind: File, Input: in, Columns: make([]string, len(in.Types)), Types: in.Types, Lattice: make([]Lattice, len(in.Types))})
	}
}

func callable(name string) bool { return FunctionNamed(name) != nil || TestNamed(name) != nil }

// width is how many columns a head's term fills.
func width(t *Term) int {
	if t.Op == Aggregate && t.Name == "top" {
		return 3
	}
	return 1
}

// headOf returns the table that a rule derives, which is new if no rule before it
// derives it, or nil when it cannot.
func (c *checker) headOf(r *Rule) *Table {
	h, arity := r.Head, 0
	for _, a := range h.Args {
		arity += width(a)
	}
	t, o := c.byName[h.Table], orderNamed(h.Table)
	switch {
	case t != nil && t.Kind == File:
		c.fail(h.Pos, "derive a table of another name", "%s is an input and cannot be derived", h.Table)
		return nil
	case t != nil && t.Kind != Derived:
		c.fail(h.Pos, "derive a table of another name", "%s comes from the crawler and cannot be derived", h.Table)
		return nil
	case callable(h.Table):
		c.fail(h.Pos, "choose another name", "%s is a function or test, not a table", h.Table)
		return nil
	case o != nil && arity > len(o.Types), o != nil && arity < len(o.Types) && h.Table != "crawl":
		c.fail(h.Pos, "its columns are "+strings.Join(o.Columns, ", "), "%s has %s, not %d", h.Table, columns(o.Arity()), arity)
		return nil
	case t != nil && t.Arity() != arity:
		c.fail(h.Pos, "all rules of a table have the same columns", "%s has %s in line %d, and %d here", h.Table, columns(t.Arity()), t.Rules[0].Line, arity)
		return nil
	case t == nil && o != nil:
		t = c.add(orderTable(o, arity))
	case t == nil:
		t = c.add(&Table{Name: h.Table, Kind: Derived, Columns: make([]string, arity), Types: make([]Type, arity), Lattice: make([]Lattice, arity)})
	}
	if !c.lattice(t, o, h) {
		return nil
	}
	t.Rules = append(t.Rules, r)
	t.nameColumns(h)
	return t
}

// lattice merges what a head says of min and max into its table.
func (c *checker) lattice(t, o *Table, h *Atom) bool {
	col := 0
	for i, a := range h.Args {
		switch was := t.Lattice[col]; {
		case a.Op == Aggregate && a.Name == "top" && (i < len(h.Args)-1 || aggregates(h) > 1 || a.Lattice != Each || o != nil):
			c.fail(a.Pos, "write it last and alone, as in  best(top<10, N, U>) :- indegree(U, N).", "top<> fills three columns, rank, score and what is ranked: it must be the last of its head and the only aggregate")
			return false
		case a.Lattice == Each:
		case col == 0:
			c.fail(a.Pos, "put the "+a.Lattice.String()+" column behind another one", "the first column of %s says where a row lives, so it cannot be %s", h.Table, a.Lattice)
			return false
		case o != nil && was != a.Lattice:
			c.fail(a.Pos, "", "column %d of %s, its %s, cannot be %s", col+1, h.Table, o.Columns[col], a.Lattice)
			return false
		case was != Each && was != a.Lattice:
			c.fail(a.Pos, "use two columns", "column %d of %s is both min and max", col+1, h.Table)
			return false
		default:
			t.Lattice[col] = a.Lattice
		}
		col += width(a)
	}
	return true
}

func aggregates(h *Atom) (n int) {
	for _, a := range h.Args {
		if a.Op == Aggregate {
			n++
		}
	}
	return n
}

// nameColumns gives columns without a name that of the variable they are made of.
func (t *Table) nameColumns(h *Atom) {
	col := 0
	for _, a := range h.Args {
		switch {
		case width(a) == 3 && len(a.Args) == 3:
			t.nameColumn(col, "rank")
			t.nameColumn(col+1, single(a.Args[1], "score"))
			t.nameColumn(col+2, single(a.Args[2], ""))
		case a.Op == Aggregate:
			t.nameColumn(col, a.Name)
		default:
			t.nameColumn(col, single(a, ""))
		}
		col += width(a)
	}
}

// single is the name of the only variable in a term, in lower case, or else what.
func single(t *Term, what string) string {
	n := 0
	t.Vars(func(v *Term) {
		if n == 0 || strings.ToLower(v.Name) != what {
			n++
		}
		if v.Op == Var {
			what = strings.ToLower(v.Name)
		}
	})
	if n > 1 {
		return ""
	}
	return what
}

// nameColumn names a column, unless it has a name. Where another column has that
// one, it gets a number: u, u_2.
func (t *Table) nameColumn(col int, name string) {
	if t.Columns[col] != "" || name == "" {
		return
	}
	t.Columns[col] = name
	for n := 2; slices.Contains(t.Columns[:col], t.Columns[col]) || slices.Contains(t.Columns[col+1:], t.Columns[col]); n++ {
		t.Columns[col] = name + "_" + strconv.Itoa(n)
	}
}
