package query

import (
	"fmt"
	"slices"
)

// Check finds out what a program means, or why it means nothing. Tables that are
// given need no rule: crawl, when a finished crawl is asked. A program that means
// nothing gives no Checked; warnings come either way.
//
// Check fills in what was left open, in p itself: missing trailing columns of
// facts and of crawl become anonymous variables, every term has its type, and
// constants that stand where a URL or a float belongs become one.
//
// # Types
//
// Every column has one type. A variable has that of the columns it stands in, and
// may not stand in columns of different types. Ints widen to floats where both
// meet in arithmetic or a comparison, and where a head's int goes into a float
// column: there the term keeps the type Int, and whoever evaluates it widens the
// value. Int by int is int division; the difference of two times is an int, in
// seconds; a time plus or minus a number is a time. A URL may be passed where a
// function takes a text, and nowhere else.
//
// Of an aggregate, count gives an int, avg a float, the others the type of their
// argument. top<k, score, x> stands for three columns, rank, score and x, and is
// the last of its head and its only aggregate; the type of the term is that of x.
//
// # Levels
//
// The tables of level 0 are live. A rule that reads another table in a way that
// growth may take back, by negation, by an aggregate, by the exact value of a
// min or max column, by now(), has a head of a higher level than that table: it
// reads it when it is complete. Tables that are stepped have a level of their own
// that is above all they read, and below all that read them.
func Check(p *Program, given ...string) (*Checked, []Diag) {
	c := &checker{prog: p, given: given, byName: map[string]*Table{}}
	c.declare()
	c.resolve()
	c.infer()
	c.typeRules()
	c.barren()
	c.floors()
	c.connect()
	c.order()
	c.terminate()
	c.marks()
	c.warn()
	failed := Failed(c.diags)
	if failed && len(c.diags) > MaxErrors {
		c.diags = slices.DeleteFunc(c.diags, func(d Diag) bool { return d.Warning })
	}
	diags := Tidy(c.diags)
	if failed {
		return nil, diags
	}
	return &Checked{Program: p, Tables: c.tables, Levels: c.levels, Warned: diags}, diags
}

// checker is the state of one Check. Its steps come in the order that Check calls
// them; a rule in which one finds a fault is left out of those behind it.
type checker struct {
	prog   *Program
	given  []string
	diags  []Diag
	tables []*Table
	byName map[string]*Table
	rules  []*clause // one for each of prog.Rules
	anons  int       // made so far

	edges  []*edge
	out    [][]*edge // by the table that depends
	group  []int     // of a table: those in one group depend on one another
	groups [][]*Table
	reason []*edge // of a table above level 0: the edge that put it there
	blamed []bool  // of a group: an error was reported for a cycle in it
	levels int
}

func (c *checker) fail(at Pos, hint, format string, args ...any) {
	c.diags = append(c.diags, Diag{Pos: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// full says that there are more errors already than anyone will read: what takes
// time to put well need not be.
func (c *checker) full() bool { return len(c.diags) >= MaxErrors }

func (c *checker) suggest(at Pos, hint, format string, args ...any) {
	c.diags = append(c.diags, Diag{Pos: at, Message: fmt.Sprintf(format, args...), Hint: hint, Warning: true})
}

// clause is a rule with what is found out about it.
type clause struct {
	*Rule
	head     *Table
	reads    []*Table // the tables of the body's literals, nil for those that are not atoms
	broken   bool     // has a fault: nothing more is asked of it
	queued   bool     // in spread
	timely   bool     // asks what time it is
	advances bool     // goes from one round to the next

	vars  map[string]int // the variables, numbered as they come
	bound []binding      // by variable
	defs  []int          // the variables that equations define, each behind those it needs
	floor [][]bool       // by table and column: no number there is negative
}

// binding says where a variable gets its value from: atoms, or else an equation.
type binding struct {
	name  string
	atoms []place // positive atoms that it stands in
	def   *Term   // what it equals, if no atom has it
	bases []int   // the variables with atoms that it comes down to, in order
	plain bool    // no product or quotient is on the way from them
	typ   Type
	from  place // that gave the type
	uses  int   // how often the rule mentions it
	first Pos

	limits    []limit
	low, high float64 // bounds, once they are known
	known     bool
}

// place is a column of a body's atom.
type place struct{ lit, col int }

// value says that the variable has a value.
func (b *binding) value() bool { return len(b.atoms) > 0 || b.def != nil }

// binding of a variable of the rule, anonymous or not.
func (r *clause) binding(t *Term) *binding { return &r.bound[r.vars[t.Name]] }

// atoms calls fn for each atom of the body, whose number among the literals is i.
func (r *clause) atoms(fn func(i int, l *Literal, t *Table)) {
	for i, l := range r.Body {
		if l.Atom != nil {
			fn(i, l, r.reads[i])
		}
	}
}

// spread calls fn for every sound rule, and again for those that derive or read a
// table that fn says it has changed, until nothing changes any more.
func (c *checker) spread(fn func(r *clause, changed func(t *Table))) {
	near := make([][]*clause, len(c.tables)) // by derived table, the rules that it stands in
	var queue []*clause
	c.sound(func(r *clause) {
		r.queued = true
		queue = append(queue, r)
		near[r.head.ID] = append(near[r.head.ID], r)
		for _, t := range r.reads {
			if t != nil && t.Kind == Derived {
				near[t.ID] = append(near[t.ID], r)
			}
		}
	})
	changed := func(t *Table) {
		for _, r := range near[t.ID] {
			if !r.queued {
				r.queued = true
				queue = append(queue, r)
			}
		}
	}
	for len(queue) > 0 {
		r := queue[0]
		queue = queue[1:]
		r.queued = false
		fn(r, changed)
	}
}

// sound calls fn for every rule that has no fault so far.
func (c *checker) sound(fn func(r *clause)) {
	for _, r := range c.rules {
		if !r.broken {
			fn(r)
		}
	}
}
