package flow_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"weir/query"
)

// This file translates programs for clingo, which works out stable models. Each
// table p becomes
//
//	t_p  its rows when all is over
//	k_p  of a table with min or max columns, the other columns,
//	c_p_i  and, for each such column, all values ever derived.
//
// Rules that a table's own growth depends on read k and c: there a value may only
// be used where a better one would do as well, so all values may be used. Others
// read t, which takes the best of c. Without a bound there would be no end of
// values; the bound comes from the other oracle, with room, and errs only on the
// side of a difference.
//
// Facts of pages are f_p, those that steering sees g_p, and t_p and s_p once the
// page is asked for. What a page does not say is asked of f and g. Floats are
// counted in quarters.

const quarter = 4

type translation struct {
	*graph
	web      *web
	bound    int
	beyond   map[string]bool // tables that clingo cannot work out
	strings  map[string]bool
	text     strings.Builder
	calls    map[string]bool
	tests    map[string]*query.Term
	variable int
}

// An aspBody is a rule's body in clingo's language.
type aspBody struct {
	lits  []string
	names map[string]string // of variables
}

// translate returns clingo's text, and the tables that it is about.
func translate(x *world) (string, []string) {
	t := &translation{
		graph: x.graph, web: x.web, beyond: beyond(x.graph), strings: map[string]bool{},
		calls: map[string]bool{}, tests: map[string]*query.Term{},
	}
	t.bound = spread(x) + 12
	t.facts()
	for _, part := range t.parts {
		if t.beyond[part[0]] {
			continue
		}
		last, steps := 0, t.stepped(part)
		if steps {
			last, _ = t.unroll(part)
		}
		for _, name := range part {
			for _, r := range t.rules[name] {
				if !steps {
					t.rule(r, -1)
					continue
				}
				for step := range last + 1 {
					t.rule(r, step)
				}
			}
			if steps {
				for step := range last + 1 {
					t.line("t_%s(%s) :- t_%s_s%d(%s).", name, xs(t.Table(name).Arity()), name, step, xs(t.Table(name).Arity()))
				}
			}
			t.merge(name)
		}
	}
	if slices.Contains(t.lattice["crawl"], query.Min) {
		t.line("page(U) :- k_crawl(U).")
	} else {
		t.line("page(U) :- t_crawl(U).")
	}
	t.functions()
	t.line("#show.")
	var tables []string
	for _, tab := range t.Tables {
		if tab.Kind == query.Derived && !t.beyond[tab.Name] {
			tables = append(tables, tab.Name)
			t.line("#show t_%s/%d.", tab.Name, tab.Arity())
		}
	}
	return t.text.String(), tables
}

func (t *translation) line(format string, args ...any) {
	fmt.Fprintf(&t.text, format, args...)
	t.text.WriteByte('\n')
}

func xs(n int) string {
	var v []string
	for i := range n {
		v = append(v, fmt.Sprint("X", i))
	}
	return strings.Join(v, ",")
}

// beyond finds the tables that need more than whole numbers and quarters.
func beyond(g *graph) map[string]bool {
	b := map[string]bool{}
	for _, r := range g.Rules {
		look := func(t *query.Term) {
			t.Walk(func(t *query.Term) {
				switch {
				case t.Op == query.Aggregate && t.Name == "avg",
					(t.Op == query.Mul || t.Op == query.Div) && t.Type == query.Float,
					t.Op == query.Const && t.Type == query.Float && unfloat(t.Value)*quarter != math.Trunc(unfloat(t.Value)*quarter):
					b[r.Head.Table] = true
				}
			})
		}
		for _, a := range r.Head.Args {
			look(a)
		}
		for _, l := range r.Body {
			if l.Compare != nil {
				look(l.Compare.L)
				look(l.Compare.R)
			}
		}
	}
	for name := range g.needs {
		for need := range g.needs[name] {
			if b[need] {
				b[name] = true
			}
		}
	}
	return b
}

// spread is the greatest size of a value in a min or max column.
func spread(x *world) int {
	most := 1.0
	for name, rel := range x.rels {
		for i, l := range x.lattice[strings.TrimSuffix(name, seenBySteering)] {
			if l == query.Each {
				continue
			}
			for _, row := range rel.rows {
				most = max(most, math.Abs(number(row[i])))
			}
		}
	}
	return int(most)
}

func (t *translation) facts() {
	urls := map[string]bool{}
	for _, u := range t.web.urls {
		urls[u] = true
	}
	for _, s := range t.web.seeds {
		urls[s.url] = true
	}
	for _, row := range t.web.files["chosen"] {
		urls[row[0].(string)] = true
	}
	for _, r := range t.Rules {
		for _, s := range constants(r) {
			t.strings[s] = true
			if strings.Contains(s, "://") {
				urls[s] = true
			}
		}
	}
	for _, u := range slices.Sorted(maps.Keys(urls)) {
		for _, f := range t.web.facts(u) {
			t.fact("f_"+f.table, f.row)
			if !f.hidden {
				t.fact("g_"+f.table, f.row)
			}
		}
	}
	for _, f := range query.Facts {
		v := xs(len(f.Columns))
		if f.Name != "seed" {
			t.line("t_%s(%s) :- f_%s(%s), page(X0).", f.Name, v, f.Name, v)
			t.line("s_%s(%s) :- g_%s(%s), page(X0).", f.Name, v, f.Name, v)
		}
	}
	for _, s := range t.web.seeds {
		t.fact("t_seed", []any{s.url, s.score})
	}
	for _, in := range t.Inputs {
		for _, row := range t.web.files[in.Table] {
			t.fact("t_"+in.Table, row)
		}
	}
}

func (t *translation) fact(name string, row []any) {
	var v []string
	for _, x := range row {
		switch x := x.(type) {
		case string:
			t.strings[x] = true
			v = append(v, quote(x))
		case float64:
			v = append(v, fmt.Sprint(int(x*quarter)))
		default:
			v = append(v, fmt.Sprint(x))
		}
	}
	t.line("%s(%s).", name, strings.Join(v, ","))
}

// quote writes a text in hexadecimal, which keeps the order and needs no escapes.
func quote(s string) string { return fmt.Sprintf(`"%x"`, s) }

func constants(r *query.Rule) []string {
	var all []string
	see := func(t *query.Term) {
		if t.Op == query.Const && t.Type.Textual() {
			all = append(all, t.Value.S)
		}
	}
	for _, a := range r.Head.Args {
		a.Walk(see)
	}
	for _, l := range r.Body {
		switch {
		case l.Atom != nil:
			for _, a := range l.Atom.Args {
				a.Walk(see)
			}
		case l.Test != nil:
			l.Test.Walk(see)
		default:
			l.Compare.L.Walk(see)
			l.Compare.R.Walk(see)
		}
	}
	return all
}

// functions writes what functions and tests say of every text there can be.
func (t *translation) functions() {
	for more := true; more; {
		more = false
		for _, s := range slices.Sorted(maps.Keys(t.strings)) {
			for f := range t.calls {
				if v, ok := t.apply(f, s).(string); ok && !t.strings[v] {
					t.strings[v], more = true, true
				}
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(t.strings)) {
		for _, f := range slices.Sorted(maps.Keys(t.calls)) {
			switch v := t.apply(f, s).(type) {
			case string:
				t.line("fn_%s(%s,%s).", f, quote(s), quote(v))
			case int64:
				t.line("fn_%s(%s,%d).", f, quote(s), v)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.tests)) {
			if c := t.tests[name]; test(c.Name, s, c.Args[1].Value.S) {
				t.line("%s(%s).", name, quote(s))
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(t.calls)) { // so that clingo knows the name
		t.line("fn_%s(0,0) :- 1 < 0.", f)
	}
	for _, name := range slices.Sorted(maps.Keys(t.tests)) {
		t.line("%s(0) :- 1 < 0.", name)
	}
}

func (t *translation) apply(f, s string) any {
	if f != "lower" && f != "len" && !strings.Contains(s, "://") {
		return nil
	}
	return call(f, s)
}

// rule writes one rule; of a stepped table for one step.
func (t *translation) rule(r *query.Rule, step int) {
	if step == 0 && t.advances(r) {
		return
	}
	name := r.Head.Table
	b := t.body(r, step)
	var args []string // the head
	aggregated := false
	for i, a := range r.Head.Args {
		if a.Op == query.Aggregate {
			args = append(args, "")
			aggregated = true
			continue
		}
		args = append(args, t.scaled(b, a, t.Table(name).Types[i]))
	}
	if step >= 0 {
		b.lits = append(b.lits, fmt.Sprintf("%s = %d", args[t.step[name]], step))
		name = fmt.Sprintf("%s_s%d", name, step)
	}
	if aggregated {
		t.aggregate(r, name, b, args)
		return
	}
	t.head(r.Head.Table, name, args, b.lits)
}

// head writes a rule for the rows args.
func (t *translation) head(table, name string, args, body []string) {
	var plain []string
	for i, l := range t.lattice[table] {
		if l == query.Each {
			plain = append(plain, args[i])
		}
	}
	if len(plain) == len(args) {
		t.line("t_%s(%s)%s", name, strings.Join(args, ","), tail(prune(body, args...)))
		return
	}
	t.line("k_%s(%s)%s", name, strings.Join(plain, ","), tail(prune(body, plain...)))
	for i, l := range t.lattice[table] {
		if l == query.Each {
			continue
		}
		limit := t.bound
		if t.Table(table).Types[i] == query.Float {
			limit *= quarter
		}
		bounded := append(slices.Clone(body), fmt.Sprintf("%s <= %d", args[i], limit), fmt.Sprintf("%s >= %d", args[i], -limit))
		t.line("c_%s_%d(%s,%s)%s", name, i, strings.Join(plain, ","), args[i], tail(prune(bounded, append(plain, args[i])...)))
	}
}

func tail(body []string) string {
	if len(body) == 0 {
		return "."
	}
	return " :- " + strings.Join(body, ", ") + "."
}

var aspVar = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\b[A-Z]\w*`)

// prune leaves out values that nobody looks at: all of a column's values beside
// all of another's would be many.
func prune(body []string, head ...string) []string {
	uses := map[string]int{}
	for _, s := range slices.Concat(body, head) {
		for _, v := range aspVar.FindAllString(s, -1) {
			uses[v]++
		}
	}
	return slices.DeleteFunc(slices.Clone(body), func(s string) bool {
		if !strings.HasPrefix(s, "c_") {
			return false
		}
		vars := aspVar.FindAllString(s, -1)
		return uses[vars[len(vars)-1]] == 1
	})
}

// merge takes the best of what was derived for min and max columns.
func (t *translation) merge(name string) {
	var plain, all, best []string
	for i, l := range t.lattice[name] {
		v := fmt.Sprint("X", i)
		all = append(all, v)
		if l == query.Each {
			plain = append(plain, v)
		}
	}
	if len(plain) == len(all) {
		return
	}
	for i, l := range t.lattice[name] {
		if l != query.Each {
			best = append(best, fmt.Sprintf("X%d = #%s{ V : c_%s_%d(%s,V) }", i, l, name, i, strings.Join(plain, ",")))
		}
	}
	t.line("t_%s(%s) :- k_%s(%s), %s.", name, strings.Join(all, ","), name, strings.Join(plain, ","), strings.Join(best, ", "))
}

// body translates a rule's conditions.
func (t *translation) body(r *query.Rule, step int) *aspBody {
	b := &aspBody{names: map[string]string{}}
	lits, _ := flat(r)
	for _, l := range lits {
		if l.Atom != nil && !l.Neg {
			t.atom(b, r, l.Atom, step)
		}
	}
	for _, l := range lits {
		not := ""
		if l.Neg {
			not = "not "
		}
		switch {
		case l.Compare != nil:
			as := query.Int
			if l.Compare.L.Type == query.Float || l.Compare.R.Type == query.Float {
				as = query.Float
			}
			b.lits = append(b.lits, t.scaled(b, l.Compare.L, as)+" "+l.Compare.Op+" "+t.scaled(b, l.Compare.R, as))
		case l.Test != nil:
			arg := t.term(b, l.Test.Args[0])
			name := "ts_" + l.Test.Name + "_" + fmt.Sprintf("%x", l.Test.Args[1].Value.S)
			t.tests[name] = l.Test
			b.lits = append(b.lits, not+name+"("+arg+")")
		case l.Neg:
			var args []string
			for i, a := range l.Atom.Args {
				if a.Op == query.Anon {
					args = append(args, "_")
				} else {
					args = append(args, t.scaled(b, a, t.Table(l.Atom.Table).Types[i]))
				}
			}
			b.lits = append(b.lits, "not "+t.absent(r, l.Atom.Table)+"("+strings.Join(args, ",")+")")
		}
	}
	return b
}

// absent names the table in which a negated row is looked for.
func (t *translation) absent(r *query.Rule, table string) string {
	switch {
	case !t.page[table]:
		return "t_" + table
	case t.steers[r.Head.Table]:
		return "g_" + table
	case t.together(r.Head.Table, "crawl"):
		return "f_" + table
	}
	return "t_" + table
}

func (t *translation) atom(b *aspBody, r *query.Rule, a *query.Atom, step int) {
	var args, plain []string
	lattice := t.lattice[a.Table]
	for i, x := range a.Args {
		var s string
		if x.Op == query.Anon {
			t.variable++
			s = fmt.Sprint("A", t.variable)
		} else {
			s = t.scaled(b, x, t.Table(a.Table).Types[i])
		}
		args = append(args, s)
		if lattice[i] == query.Each {
			plain = append(plain, s)
		}
	}
	all := strings.Join(args, ",")
	own := t.together(a.Table, r.Head.Table)
	switch {
	case t.page[a.Table] && r.Class == query.Sealed:
		pre := "f_"
		if t.steers[r.Head.Table] {
			pre = "g_"
		}
		b.lits = append(b.lits, pre+a.Table+"("+all+")")
	case t.page[a.Table] && t.steers[r.Head.Table]:
		b.lits = append(b.lits, "s_"+a.Table+"("+all+")")
	case step >= 0 && own:
		at := step
		if t.advances(r) {
			at--
		}
		b.lits = append(b.lits, fmt.Sprintf("t_%s_s%d(%s)", a.Table, at, all))
	case own && len(plain) < len(args):
		b.lits = append(b.lits, fmt.Sprintf("k_%s(%s)", a.Table, strings.Join(plain, ",")))
		for i, l := range lattice {
			if l != query.Each {
				b.lits = append(b.lits, fmt.Sprintf("c_%s_%d(%s,%s)", a.Table, i, strings.Join(plain, ","), args[i]))
			}
		}
	default:
		b.lits = append(b.lits, "t_"+a.Table+"("+all+")")
	}
}

// scaled translates an expression for a place of a type: whole numbers become
// quarters where floats are.
func (t *translation) scaled(b *aspBody, x *query.Term, as query.Type) string {
	s := t.term(b, x)
	if as == query.Float && (x.Type == query.Int || x.Type == query.Time) {
		return fmt.Sprintf("(%s)*%d", s, quarter)
	}
	return s
}

func (t *translation) term(b *aspBody, x *query.Term) string {
	switch x.Op {
	case query.Var:
		if b.names[x.Name] == "" {
			b.names[x.Name] = fmt.Sprint("V", len(b.names), "_", strings.ReplaceAll(x.Name, "'", "_"))
		}
		return b.names[x.Name]
	case query.Const:
		switch {
		case x.Type.Textual():
			return quote(x.Value.S)
		case x.Type == query.Float:
			return fmt.Sprint(int(unfloat(x.Value) * quarter))
		}
		return fmt.Sprint(x.Value.N)
	case query.Call:
		if x.Name == "now" || x.Name == "time" {
			n, _ := env{}.value(x)
			return fmt.Sprint(n)
		}
		t.calls[x.Name] = true
		t.variable++
		v := fmt.Sprint("C", t.variable)
		b.lits = append(b.lits, fmt.Sprintf("fn_%s(%s,%s)", x.Name, t.term(b, x.Args[0]), v))
		return v
	}
	op := map[query.Op]string{query.Add: "+", query.Sub: "-", query.Mul: "*", query.Div: "/"}[x.Op]
	as := x.Type
	return "(" + t.scaled(b, x.Args[0], as) + op + t.scaled(b, x.Args[1], as) + ")"
}
