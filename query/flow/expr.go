package flow

import (
	"math"
	"math/bits"
	"strings"
	"time"
	"unicode/utf8"

	"weir/page"
	"weir/query"
)

// env are the values of a rule's variables, by slot.
type env struct {
	v      []query.Value
	link   *page.Link // that the rule's page was found by, while it is looked at
	failed bool       // an expression had no value: its row is dropped
	now    int64      // what now() is
}

// Expressions become functions of the values, one kind for each kind of value:
// what is known from the program is not asked again for every row.
type (
	textExpr  func(*env) string
	intExpr   func(*env) int64
	floatExpr func(*env) float64
	valueExpr func(*env) query.Value
)

// writer compiles the expressions of one rule.
type writer struct {
	slot  func(t *query.Term) int
	lead  int  // the slot whose value is env.link's URL, or -1
	fails bool // what was compiled since it was last reset may have no value
}

// value compiles t as a value of a type: an int may become a float.
func (w *writer) value(t *query.Term, as query.Type) valueExpr {
	switch {
	case t.Op == query.Var || t.Op == query.Anon:
		if as == t.Type || as != query.Float {
			i := w.slot(t)
			return func(e *env) query.Value { return e.v[i] }
		}
	case t.Op == query.Const:
		v := constant(t, as)
		return func(*env) query.Value { return v }
	}
	switch {
	case as.Textual():
		f := w.text(t)
		return func(e *env) query.Value { return query.Value{S: f(e)} }
	case as == query.Float:
		f := w.float(t)
		return func(e *env) query.Value { return query.FloatValue(f(e)) }
	}
	f := w.int(t)
	return func(e *env) query.Value { return query.Value{N: f(e)} }
}

// constant is a constant's value in a column of a type.
func constant(t *query.Term, as query.Type) query.Value {
	if as == query.Float && t.Type != query.Float {
		return query.FloatValue(float64(t.Value.N))
	}
	return t.Value
}

func (w *writer) text(t *query.Term) textExpr {
	switch t.Op {
	case query.Const:
		s := t.Value.S
		return func(*env) string { return s }
	case query.Call:
		a := w.text(t.Args[0])
		switch t.Name {
		case "host":
			if w.leadsHost(t) {
				return func(e *env) string { return e.link.URL.Host() }
			}
			return func(e *env) string { return hostOf(a(e)) }
		case "domain":
			return func(e *env) string { return page.Domain(hostOf(a(e))) }
		case "path":
			return func(e *env) string { return page.Canonical(a(e)).Path() }
		case "folder":
			return func(e *env) string { return folder(a(e)) }
		case "ext":
			return func(e *env) string { return ext(a(e)) }
		case "lower":
			return func(e *env) string { return strings.ToLower(a(e)) }
		}
		panic("flow: no function gives a text and is called " + t.Name)
	}
	i := w.slot(t)
	return func(e *env) string { return e.v[i].S }
}

// leadsHost says that t is the host of the link that is looked at.
func (w *writer) leadsHost(t *query.Term) bool {
	return t.Op == query.Call && t.Name == "host" && t.Args[0].Op == query.Var && w.lead >= 0 && w.slot(t.Args[0]) == w.lead
}

func (w *writer) int(t *query.Term) intExpr {
	switch t.Op {
	case query.Const:
		n := t.Value.N
		return func(*env) int64 { return n }
	case query.Call:
		switch t.Name {
		case "now":
			return func(e *env) int64 { return e.now }
		case "time":
			n, err := query.ParseTime(t.Args[0].Value.S)
			if err != nil {
				panic("flow: a time that was not checked: " + err.Error())
			}
			return func(*env) int64 { return n }
		case "len":
			a := w.text(t.Args[0])
			return func(e *env) int64 { return int64(utf8.RuneCountInString(a(e))) }
		case "depth":
			a := w.text(t.Args[0])
			return func(e *env) int64 { return depth(a(e)) }
		}
		panic("flow: no function gives a number and is called " + t.Name)
	case query.Add, query.Sub, query.Mul, query.Div:
		a, b := w.int(t.Args[0]), w.int(t.Args[1])
		w.fails = true
		return integer[t.Op](a, b)
	}
	i := w.slot(t)
	return func(e *env) int64 { return e.v[i].N }
}

// integer are the operations on whole numbers; where the result is too large, or
// none, the row fails.
var integer = map[query.Op]func(a, b intExpr) intExpr{
	query.Add: func(a, b intExpr) intExpr {
		return func(e *env) int64 {
			x, y := a(e), b(e)
			s := x + y
			if (s > x) != (y > 0) && y != 0 {
				e.failed = true
			}
			return s
		}
	},
	query.Sub: func(a, b intExpr) intExpr {
		return func(e *env) int64 {
			x, y := a(e), b(e)
			d := x - y
			if (d < x) != (y > 0) && y != 0 {
				e.failed = true
			}
			return d
		}
	},
	query.Mul: func(a, b intExpr) intExpr {
		return func(e *env) int64 {
			x, y := a(e), b(e)
			hi, lo := bits.Mul64(uint64(x), uint64(y))
			// The signed upper half must be the sign of the lower one.
			if int64(hi)-(x>>63&y)-(y>>63&x) != int64(lo)>>63 {
				e.failed = true
			}
			return int64(lo)
		}
	},
	query.Div: func(a, b intExpr) intExpr {
		return func(e *env) int64 {
			x, y := a(e), b(e)
			if y == 0 || x == math.MinInt64 && y == -1 {
				e.failed = true
				return 0
			}
			return x / y
		}
	},
}

func (w *writer) float(t *query.Term) floatExpr {
	if t.Type != query.Float {
		a := w.int(t)
		return func(e *env) float64 { return float64(a(e)) }
	}
	switch t.Op {
	case query.Const:
		f := t.Value.Float()
		return func(*env) float64 { return f }
	case query.Add, query.Sub, query.Mul, query.Div:
		a, b := w.float(t.Args[0]), w.float(t.Args[1])
		w.fails = true
		f := real[t.Op]
		return func(e *env) float64 {
			r := f(a(e), b(e))
			if math.IsInf(r, 0) || math.IsNaN(r) {
				e.failed = true
			}
			return r
		}
	}
	i := w.slot(t)
	return func(e *env) float64 { return e.v[i].Float() }
}

var real = map[query.Op]func(a, b float64) float64{
	query.Add: func(a, b float64) float64 { return a + b },
	query.Sub: func(a, b float64) float64 { return a - b },
	query.Mul: func(a, b float64) float64 { return a * b },
	query.Div: func(a, b float64) float64 { return a / b },
}

// Costs of conditions, in nanoseconds or so. Dear ones are asked last.
const (
	costNumber = 2
	costText   = 5
	costParse  = 20
	costSearch = 30
	costFind   = 40 // in a table in memory
	costRegexp = 400
)

// cost estimates what it takes to work out a literal that is not a table.
func cost(l *query.Literal) int {
	n := costNumber
	count := func(t *query.Term) {
		t.Walk(func(t *query.Term) {
			switch {
			case t.Op == query.Call && t.Name == "domain":
				n += 10 * costParse
			case t.Op == query.Call && t.Name == "lower":
				n += 2 * costSearch
			case t.Op == query.Call && t.Name != "time" && t.Name != "now":
				n += costParse
			case t.Type.Textual():
				n += costText
			}
		})
	}
	if l.Compare != nil {
		count(l.Compare.L)
		count(l.Compare.R)
		return n
	}
	for _, a := range l.Test.Args {
		count(a)
	}
	switch l.Test.Name {
	case "matches":
		n += costRegexp
	case "contains":
		n += costSearch
	}
	return n
}

func (w *writer) cond(l *query.Literal) (sieve, error) {
	if l.Compare != nil {
		return w.compare(l.Compare), nil
	}
	return w.test(l.Test, l.Neg)
}

func (w *writer) compare(c *query.Compare) sieve {
	switch {
	case c.L.Type.Textual():
		return comparison(c.Op, w.text(c.L), w.text(c.R))
	case c.L.Type == query.Float || c.R.Type == query.Float:
		return comparison(c.Op, w.float(c.L), w.float(c.R))
	}
	return comparison(c.Op, w.int(c.L), w.int(c.R))
}

func comparison[T string | int64 | float64](op string, a, b func(*env) T) sieve {
	switch op {
	case "=":
		return called(func(_ *Part, e *env) bool { return a(e) == b(e) })
	case "!=":
		return called(func(_ *Part, e *env) bool { return a(e) != b(e) })
	case "<":
		return called(func(_ *Part, e *env) bool { return a(e) < b(e) })
	case "<=":
		return called(func(_ *Part, e *env) bool { return a(e) <= b(e) })
	case ">":
		return called(func(_ *Part, e *env) bool { return a(e) > b(e) })
	}
	return called(func(_ *Part, e *env) bool { return a(e) >= b(e) })
}

// textTests are the tests of a text by another one.
var textTests = map[string]struct {
	f   func(a, b string) bool
	how how
}{
	"contains": {strings.Contains, has}, "starts": {strings.HasPrefix, starts}, "ends": {strings.HasSuffix, ends}, "under": {under, byCall},
}

func (w *writer) test(t *query.Term, neg bool) (sieve, error) {
	what, plain := t.Args[1], t.Args[0].Op == query.Var
	if t.Name == "matches" {
		m, err := newMatcher(what.Value.S)
		if plain && m.how != byCall {
			return sieve{how: m.how, neg: neg, slot: w.slot(t.Args[0]), texts: m.texts}, err
		}
		a := w.text(t.Args[0])
		return called(func(_ *Part, e *env) bool { return m.match(a(e)) != neg }), err
	}
	test := textTests[t.Name]
	if plain && what.Op == query.Const && test.how != byCall {
		return sieve{how: test.how, neg: neg, slot: w.slot(t.Args[0]), texts: []string{what.Value.S}}, nil
	}
	a, b := w.text(t.Args[0]), w.text(what)
	return called(func(_ *Part, e *env) bool { return test.f(a(e), b(e)) != neg }), nil
}

// folder returns host, port and path up to the last slash.
func folder(s string) string {
	u := page.Canonical(s)
	if u.IsZero() {
		return ""
	}
	path, _, _ := strings.Cut(u.Path(), "?")
	return u.HostPort() + path[:strings.LastIndexByte(path, '/')+1]
}

func under(s, folder string) bool {
	u := page.Canonical(s)
	rest, ok := strings.CutPrefix(folder, u.HostPort())
	if u.IsZero() || !ok {
		return false
	}
	path, _, _ := strings.Cut(u.Path(), "?")
	return strings.HasPrefix(path, rest)
}

func ext(s string) string {
	path, _, _ := strings.Cut(page.Canonical(s).Path(), "?")
	last := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(last, '.'); dot >= 0 {
		return strings.ToLower(last[dot+1:])
	}
	return ""
}

// depth counts the parts of a path.
func depth(s string) int64 {
	path, _, _ := strings.Cut(page.Canonical(s).Path(), "?")
	n := int64(0)
	for i := range len(path) {
		if path[i] != '/' && (i == 0 || path[i-1] == '/') {
			n++
		}
	}
	return n
}

// Forms in which sitemaps and feeds write times.
var timeForms = []string{
	time.RFC3339, time.DateOnly, "2006-01-02T15:04Z07:00", time.DateTime, "2006-01-02T15:04:05", "2006-01", "2006",
	time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
}

// timeOf returns the time that a text names, or 0.
func timeOf(s string) int64 {
	if len(s) > 64 {
		return 0
	}
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, s, time.UTC); err == nil {
			return t.Unix()
		}
	}
	return 0
}
