package query

import (
	"cmp"
	"fmt"
	"slices"

	"weir/page"
)

// infer finds the types of derived columns: the least that all heads agree on.
// Texts that are constants have no say until everything else has spoken, since
// they may turn out to be URLs: by what else is in their column, or by what the
// column is used for.
func (c *checker) infer() {
	c.spread(func(r *clause, changed func(t *Table)) { r.infer(false, changed) })
	c.spread(func(r *clause, changed func(t *Table)) {
		r.infer(false, changed)
		r.want(changed)
	})
	c.spread(func(r *clause, changed func(t *Table)) { r.infer(true, changed) })
}

// barren reports tables of which a column never gets a type, and gives it one. By
// now no rule has a fault that could be why: nothing derives a row.
func (c *checker) barren() {
	if Failed(c.diags) {
		return
	}
	found := false
	for _, t := range c.tables {
		if slices.Contains(t.Types, Unknown) {
			found = true
			c.suggest(t.Rules[0].Head.Pos, "a rule must derive it from facts, inputs or constants", "nothing can ever be in %s: its rules need rows of it, or of others that need them", t.Name)
		}
		for col, typ := range t.Types {
			if typ == Unknown {
				t.Types[col] = Text
			}
		}
	}
	if found {
		c.typeRules()
	}
}

// infer gives a head's columns the types of its terms, as far as they are known.
// With constants it takes texts for texts.
func (r *clause) infer(constants bool, changed func(t *Table)) {
	r.typeVars(func(b *binding) Type { return r.guess(b.def, constants) })
	if orderNamed(r.head.Name) != nil {
		return
	}
	col := 0
	for _, a := range r.Head.Args {
		for i := range width(a) {
			t := r.guess(a, constants)
			if width(a) == 3 {
				t = r.guessTop(a, i, constants)
			}
			if was := r.head.Types[col]; was == Unknown && t != Unknown || was == Int && t == Float {
				r.head.Types[col] = t
				changed(r.head)
			}
			col++
		}
	}
}

// want makes columns of unknown type URLs if a variable in them stands where a
// URL must: in a head's column, in a function, beside one in a comparison.
func (r *clause) want(changed func(t *Table)) {
	url := func(t *Term) {
		if t.Op != Var || r.binding(t).typ != Unknown {
			return
		}
		for _, p := range r.binding(t).atoms {
			if in := r.reads[p.lit]; in.Types[p.col] == Unknown {
				in.Types[p.col] = URL
				changed(in)
			}
		}
	}
	r.columns(func(a *Term, typ Type) {
		if typ == URL {
			url(a)
		}
	})
	r.terms(func(t *Term) {
		t.Walk(func(t *Term) {
			if f := FunctionNamed(t.Name); t.Op == Call && f != nil && len(f.Args) == len(t.Args) {
				for i, a := range t.Args {
					if f.Args[i] == URL {
						url(a)
					}
				}
			}
		})
	})
	for _, l := range r.Body {
		if l.Compare == nil {
			continue
		}
		if r.guess(l.Compare.L, false) == URL {
			url(l.Compare.R)
		} else if r.guess(l.Compare.R, false) == URL {
			url(l.Compare.L)
		}
	}
	r.typeVars(func(b *binding) Type { return r.guess(b.def, false) })
	// A variable that is known by now makes its other columns known.
	r.atoms(func(_ int, l *Literal, t *Table) {
		for col, a := range l.Atom.Args {
			if a.Op == Var && t.Types[col] == Unknown && r.binding(a).typ == URL {
				t.Types[col] = URL
				changed(t)
			}
		}
	})
}

// columns calls fn for the terms of the rule that stand in columns, with the
// types of these.
func (r *clause) columns(fn func(a *Term, typ Type)) {
	r.atoms(func(_ int, l *Literal, t *Table) {
		for col, a := range l.Atom.Args {
			fn(a, t.Types[col])
		}
	})
	col := 0
	for _, a := range r.Head.Args {
		if a.Op != Aggregate {
			fn(a, r.head.Types[col])
		}
		col += width(a)
	}
}

// guessTop is the type of one of the three columns of top<k, score, x>.
func (r *clause) guessTop(a *Term, col int, constants bool) Type {
	if col == 0 || len(a.Args) != 3 {
		return Int
	}
	return r.guess(a.Args[col], constants)
}

// typeVars gives every variable its type: that of its first column which has
// one, or else of what it equals.
func (r *clause) typeVars(typeOf func(b *binding) Type) {
	for i := range r.bound {
		b := &r.bound[i]
		b.typ = Unknown
		for _, p := range b.atoms {
			if t := r.reads[p.lit].Types[p.col]; t != Unknown {
				b.typ, b.from = t, p
				break
			}
		}
	}
	for _, i := range r.defs {
		r.bound[i].typ = typeOf(&r.bound[i])
	}
}

// guess is the type of a term, or Unknown if it cannot be told yet, or never.
func (r *clause) guess(t *Term, constants bool) Type {
	switch t.Op {
	case Var, Anon:
		return r.binding(t).typ
	case Const:
		if t.Type.Textual() && !constants {
			return Unknown
		}
		return t.Type
	case Call:
		if f := FunctionNamed(t.Name); f != nil {
			return f.Result
		}
		return Unknown
	case Aggregate:
		switch f := AggregateNamed(t.Name); {
		case f == nil || f.Result == Unknown && len(t.Args) == 0:
			return Unknown
		case f.Result != Unknown:
			return f.Result
		}
		typ := r.guess(t.Args[0], constants)
		if AggregateNamed(t.Name).Numeric && !typ.Numeric() {
			return Unknown
		}
		return typ
	}
	typ, _ := arithmetic(t.Op, r.guess(t.Args[0], constants), r.guess(t.Args[1], constants))
	return typ
}

// arithmetic is the type of what an operator makes of two types, and false if it
// makes nothing of them.
func arithmetic(op Op, l, r Type) (Type, bool) {
	switch {
	case l == Unknown || r == Unknown:
		return Unknown, true
	case l == Int && r == Int:
		return Int, true
	case l.Numeric() && r.Numeric():
		return Float, true
	case l == Time && r == Time && op == Sub:
		return Int, true
	case l == Time && r.Numeric() && (op == Add || op == Sub), l.Numeric() && r == Time && op == Add:
		return Time, true
	}
	return Unknown, false
}

// typeRules gives every term its type, and reports those that do not fit.
func (c *checker) typeRules() {
	c.sound(func(r *clause) {
		r.typeVars(r.settle)
		tc := typing{checker: c, clause: r}
		for i, l := range r.Body {
			tc.literal(i, l)
		}
		tc.heads()
		r.broken = r.broken || tc.failed
	})
}

// settle is the type of a variable that an equation defines. A constant text is
// whatever the columns want where the variable stands.
func (r *clause) settle(b *binding) Type {
	if b.def.Op != Const || !b.def.Type.Textual() {
		return r.guess(b.def, true)
	}
	want := Text
	r.columns(func(a *Term, typ Type) {
		if a.Op == Var && a.Name == b.name && typ == URL {
			want = URL
		}
	})
	return want
}

// typing types one rule.
type typing struct {
	*checker
	*clause
	failed bool
}

func (c *typing) fault(at Pos, hint, format string, args ...any) {
	c.fail(at, hint, format, args...)
	c.failed = true
}

func (c *typing) literal(i int, l *Literal) {
	switch {
	case l.Atom != nil:
		for col, a := range l.Atom.Args {
			c.argument(place{i, col}, a)
		}
	case l.Test != nil:
		c.call(l.Test, TestNamed(l.Test.Name))
	case l.Compare != nil:
		c.compare(l.Compare)
	}
}

// argument types a column of a body's atom.
func (c *typing) argument(p place, a *Term) {
	t := c.reads[p.lit]
	want := t.Types[p.col]
	if a.Op == Anon {
		a.Type = want
		return
	}
	got := c.term(a)
	if got == Unknown || want == Unknown || got == want || c.constant(a, want) {
		return
	}
	column := fmt.Sprintf("column %d of %s", p.col+1, t.Name)
	if t.Columns[p.col] != "" {
		column = t.Columns[p.col] + " of " + t.Name
	}
	c.fault(a.Pos, c.remedy(a, got, want), "%s is %s, but %s is %s%s", a, article(got), column, article(want), c.origin(a, p))
}

// origin says where a variable got its type, if that was another column.
func (c *typing) origin(a *Term, p place) string {
	if a.Op != Var {
		return ""
	}
	if b := c.binding(a); len(b.atoms) > 0 && b.from != p {
		return " (see " + c.Body[b.from.lit].Atom.Table + ")"
	}
	return ""
}

func article(t Type) string {
	switch t {
	case Int:
		return "an int"
	case Unknown:
		return "of unknown type"
	}
	return "a " + t.String()
}

// remedy says what to do about a term of one type where another is wanted.
func (c *typing) remedy(t *Term, got, want Type) string {
	switch {
	case got == URL && want == Text:
		hint := fmt.Sprintf("host(%s) or path(%s) is a text", t, t)
		if input := c.declared(t); input != "" {
			hint += "; or " + input
		}
		return hint
	case got == Text && want == URL:
		return c.declared(t)
	case got == Text && want == Time:
		return `times are written time("2026-01-31")`
	case got == Int && want == Float && t.Op == Var, got == Float && want == Int && t.Op == Var:
		return "use two variables and compare them with ="
	case got == Int && want == Float:
		return "write it with a fraction, as in 1.0"
	}
	return ""
}

// declared is a hint at the input that gives a variable its texts, which may well be
// URLs, or "".
func (c *typing) declared(t *Term) string {
	if t.Op != Var {
		return ""
	}
	for _, p := range c.binding(t).atoms {
		if in := c.reads[p.lit]; in.Kind == File && in.Types[p.col] == Text {
			return fmt.Sprintf("declare column %d of the input %s a url, in line %d", p.col+1, in.Name, in.Input.Line)
		}
	}
	return ""
}

// constant makes a constant one of the wanted type, and says whether it could.
// A text that is no URL is reported.
func (c *typing) constant(t *Term, want Type) bool {
	switch {
	case t.Op != Const:
		return false
	case t.Type == Int && want == Float:
		t.Value, t.Type = FloatValue(float64(t.Value.N)), Float
		return true
	case t.Type == Text && want == URL:
		u, err := page.Parse(t.Value.S)
		if err != nil {
			c.fault(t.Pos, "write it as https://example.org/", "%s stands where a URL must: %v", t, err)
			return true
		}
		t.Value, t.Type = Value{S: u.String()}, URL
		return true
	}
	return false
}

// term types a term, and returns Unknown if it has no type.
func (c *typing) term(t *Term) Type {
	switch t.Op {
	case Var, Anon:
		t.Type = c.binding(t).typ
	case Const:
	case Call:
		t.Type = Unknown
		if f := FunctionNamed(t.Name); f == nil {
			c.failed = true
			c.unknown(t.Pos, "function", t.Name)
		} else if c.call(t, f) {
			t.Type = f.Result
		}
	case Aggregate:
		t.Type = c.aggregate(t)
	default:
		t.Type = c.operation(t)
	}
	return t.Type
}

// call types the arguments of a function or test.
func (c *typing) call(t *Term, f *Function) bool {
	if f == nil || len(f.Args) != len(t.Args) {
		c.fault(t.Pos, "", "%s cannot have %s", t.Name, arguments(len(t.Args)))
		return false
	}
	ok := true
	for i, a := range t.Args {
		got, want := c.term(a), f.Args[i]
		switch {
		case got == Unknown:
			ok = false
		case want == Unknown, got == want, want == Text && got == URL, c.constant(a, want):
		default:
			c.fault(a.Pos, c.remedy(a, got, want), "%s takes %s, and %s is %s", t.Name, article(want), a, article(got))
			ok = false
		}
	}
	if ok && f.Result == Time && len(t.Args) == 1 {
		return c.moment(t.Args[0])
	}
	return ok
}

// moment says that a constant names a time, as time(..) asks.
func (c *typing) moment(t *Term) bool {
	if t.Op != Const {
		c.fault(t.Pos, "columns such as at and lastmod are times already", "the time must be a constant text")
		return false
	}
	if _, err := ParseTime(t.Value.S); err != nil {
		c.fault(t.Pos, timeHint, "%s is no time", short(t.Value.S))
		return false
	}
	return true
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprint(n, " arguments")
}

// operation types an operator of arithmetic.
func (c *typing) operation(t *Term) Type {
	l, r := c.term(t.Args[0]), c.term(t.Args[1])
	typ, ok := arithmetic(t.Op, l, r)
	if !ok {
		c.fault(t.Pos, "", "%s has no meaning: %s is %s and %s is %s", t, t.Args[0], article(l), t.Args[1], article(r))
		return Unknown
	}
	if typ == Float {
		c.constant(t.Args[0], Float)
		c.constant(t.Args[1], Float)
	}
	// Bits of a float that are all 0 are 0.
	if by := t.Args[1]; t.Op == Div && by.Op == Const && by.Value.N == 0 {
		c.fault(by.Pos, setTo(by), "division by 0: no row can have this value")
		return Unknown
	}
	return typ
}

// setTo is a hint at the value of a setting, "" for what is none.
func setTo(t *Term) string {
	if t.Setting == "" {
		return ""
	}
	return fmt.Sprintf("$%s is %s", t.Setting, show(t.Value, t.Type))
}

// aggregate types an aggregate.
func (c *typing) aggregate(t *Term) Type {
	f := AggregateNamed(t.Name)
	if f == nil || len(t.Args) < f.Least || len(t.Args) > f.Most {
		c.fault(t.Pos, "", "%s<> cannot have %s", t.Name, arguments(len(t.Args)))
		return Unknown
	}
	for _, a := range t.Args {
		if c.term(a) == Unknown {
			return Unknown
		}
	}
	if f.Numeric && !t.Args[0].Type.Numeric() {
		c.fault(t.Args[0].Pos, "", "%s<> takes numbers, and %s is %s", t.Name, t.Args[0], article(t.Args[0].Type))
		return Unknown
	}
	switch {
	case t.Name != "top":
	case t.Args[0].Op != Const || t.Args[0].Type != Int || t.Args[0].Value.N < 1:
		c.fault(t.Args[0].Pos, "as in top<10, N, U>", "how many top<> keeps must be a constant number")
	case !t.Args[1].Type.Numeric() && t.Args[1].Type != Time:
		c.fault(t.Args[1].Pos, "top<k, score, x> ranks x by score", "the score of top<> must be a number, and %s is %s", t.Args[1], article(t.Args[1].Type))
	default:
		return t.Args[2].Type
	}
	if f.Result != Unknown || len(t.Args) == 0 || t.Name == "top" {
		return f.Result
	}
	return t.Args[0].Type
}

// compare types a comparison, whose sides must be alike.
func (c *typing) compare(e *Compare) {
	// A variable that the equation defines has the type of the other side.
	if b := c.defined(e.L, e.R); b != nil {
		c.constant(e.R, b.typ)
	} else if b := c.defined(e.R, e.L); b != nil {
		c.constant(e.L, b.typ)
	}
	l, r := c.term(e.L), c.term(e.R)
	switch {
	case l == Unknown || r == Unknown || l == r:
	case c.constant(e.L, r) || c.constant(e.R, l):
	case l.Numeric() && r.Numeric():
	default:
		hint := c.remedy(e.L, l, r)
		if other := c.remedy(e.R, r, l); hint != "" && other != "" {
			hint += "; or " + other
		} else {
			hint += other
		}
		if hint == "" && (l == Time || r == Time) {
			hint = `times are written time("2026-01-31")`
		}
		c.fault(e.Pos, hint, "%s is %s and %s is %s: they cannot be compared", e.L, article(l), e.R, article(r))
	}
}

// defined returns the binding of v if it is t that defines it.
func (c *typing) defined(v, t *Term) *binding {
	if v.Op != Var {
		return nil
	}
	if b := c.binding(v); b.def == t {
		return b
	}
	return nil
}

// heads types the head, whose terms must fit their columns.
func (c *typing) heads() {
	col := 0
	for _, a := range c.Head.Args {
		got, want := c.term(a), c.head.Types[col+width(a)-1]
		switch {
		case got == Unknown, want == Unknown, got == want, c.constant(a, want), got == Int && want == Float:
		default:
			c.fault(a.Pos, c.remedy(a, got, want), "%s is %s, but column %d of %s is %s%s", a, article(got), col+1, c.head.Name, article(want), c.sibling())
		}
		if c.head.Name == "wait" && a.Op == Const && a.Type == Float && a.Value.Float() < 0 {
			c.fault(a.Pos, cmp.Or(setTo(a), "it is seconds between two requests, as in wait(H, 5)"), "a wait cannot be less than 0")
		}
		col += width(a)
	}
}

// sibling says which rule made the column of the head what it is.
func (c *typing) sibling() string {
	if orderNamed(c.head.Name) != nil || c.head.Rules[0] == c.Rule {
		return ""
	}
	return fmt.Sprintf(" (see line %d)", c.head.Rules[0].Line)
}
