package flow_test

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/page"
	"weir/query"
)

// This file says what a program means, as plainly as can be: tables are sets of
// rows, the rules of tables that need one another are applied until nothing new
// comes, and what they need is worked out before. There are no partitions, no
// messages and no order of pages. Values are string, int64 and float64.

// A relation is the rows of a table. Rows that differ only in min and max columns
// are one.
type relation struct {
	types   []query.Type
	lattice []query.Lattice
	rows    map[string][]any
	index   map[int]map[any][][]any // by column and value; made when asked for
}

func newRelation(types []query.Type, lattice []query.Lattice) *relation {
	return &relation{types: types, lattice: lattice, rows: map[string][]any{}}
}

// add merges a row and says whether it taught anything.
func (r *relation) add(row []any) bool {
	row = slices.Clone(row)
	var key []any
	for i := range row {
		if n, ok := row[i].(int64); ok && r.types[i] == query.Float {
			row[i] = float64(n)
		}
		if r.lattice[i] == query.Each {
			key = append(key, row[i])
		}
	}
	k := fmt.Sprintf("%#v", key)
	old, known := r.rows[k]
	if known {
		better := false
		for i, l := range r.lattice {
			c := order(row[i], old[i])
			if l == query.Min && c < 0 || l == query.Max && c > 0 {
				better = true
			} else {
				row[i] = old[i]
			}
		}
		if !better {
			return false
		}
	}
	r.rows[k] = row
	r.index = nil
	return true
}

func (r *relation) find(column int, v any) [][]any {
	if r.index == nil {
		r.index = map[int]map[any][][]any{}
	}
	if r.index[column] == nil {
		r.index[column] = map[any][][]any{}
		for _, row := range r.rows {
			r.index[column][row[column]] = append(r.index[column][row[column]], row)
		}
	}
	return r.index[column][v]
}

// order compares two values of one kind; ints and floats are of one kind.
func order(a, b any) int {
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	}
	return cmp.Compare(number(a), number(b))
}

func number(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

// A world is everything that holds when a crawl of a web is over.
type world struct {
	*graph
	web  *web
	rels map[string]*relation
	seen map[string]bool // pages whose facts are in
}

// seenBySteering marks the part of a page table that rules which steer see.
const seenBySteering = "/followed"

func evaluate(c *query.Checked, w *web) *world {
	x := &world{graph: newGraph(c), web: w, rels: map[string]*relation{}, seen: map[string]bool{}}
	for _, t := range c.Tables {
		x.rels[t.Name] = newRelation(t.Types, x.lattice[t.Name])
		if t.Kind == query.PageFact {
			x.rels[t.Name+seenBySteering] = newRelation(t.Types, x.lattice[t.Name])
		}
	}
	for _, s := range w.seeds {
		x.rels["seed"].add([]any{s.url, s.score})
	}
	for _, in := range c.Inputs {
		for _, row := range w.files[in.Table] {
			x.rels[in.Table].add(row)
		}
	}
	for _, part := range x.parts {
		if x.stepped(part) {
			x.rounds(part)
		} else {
			x.settle(part, func(*query.Rule, []any) bool { return true })
		}
	}
	return x
}

// settle applies the rules of some tables until nothing new comes that accept
// takes.
func (x *world) settle(tables []string, accept func(*query.Rule, []any) bool) {
	for more := true; more; {
		more = false
		for _, t := range tables {
			if t == "crawl" {
				more = x.fetch() || more
			}
			for _, r := range x.rules[t] {
				for _, row := range x.derive(r) {
					if accept(r, row) && x.rels[t].add(row) {
						more = true
					}
				}
			}
		}
	}
}

// rounds works out stepped tables: step by step, and in each step first what the
// others need.
func (x *world) rounds(tables []string) {
	last, inner := x.unroll(tables)
	for step := range int64(last + 1) {
		for _, part := range inner {
			x.settle(part, func(r *query.Rule, row []any) bool { return row[x.step[r.Head.Table]] == step })
		}
	}
}

// fetch takes in the facts of all pages that crawl asks for.
func (x *world) fetch() bool {
	more := false
	for _, row := range x.rels["crawl"].rows {
		u := row[0].(string)
		if x.seen[u] {
			continue
		}
		x.seen[u], more = true, true
		for _, f := range x.web.facts(u) {
			x.rels[f.table].add(f.row)
			if !f.hidden {
				x.rels[f.table+seenBySteering].add(f.row)
			}
		}
	}
	return more
}

// derive returns the head rows of all solutions of a rule's body.
func (x *world) derive(r *query.Rule) [][]any {
	body, head := flat(r)
	var rows [][]any
	groups := map[string][]env{}
	x.solve(r, body, env{}, func(e env) {
		var row []any
		aggregated := false
		for _, t := range head {
			if t.Op == query.Aggregate {
				aggregated = true
				continue
			}
			v, ok := e.value(t)
			if !ok {
				return
			}
			row = append(row, v)
		}
		if !aggregated {
			rows = append(rows, row)
			return
		}
		k := fmt.Sprintf("%#v", row)
		groups[k] = append(groups[k], maps.Clone(e))
	})
	for _, g := range groups {
		rows = append(rows, aggregate(head, g)...)
	}
	return rows
}

// env are the values of variables.
type env map[string]any

// solve calls found for every way to satisfy the body.
func (x *world) solve(r *query.Rule, body []*query.Literal, e env, found func(env)) {
	if len(body) == 0 {
		found(e)
		return
	}
	i := slices.IndexFunc(body, e.ready)
	if i < 0 {
		i = e.mostBound(body)
	}
	l, rest := body[i], slices.Concat(body[:i], body[i+1:])
	switch {
	case l.Compare != nil:
		if l.Compare.Op == "=" {
			for _, p := range [][2]*query.Term{{l.Compare.L, l.Compare.R}, {l.Compare.R, l.Compare.L}} {
				if p[0].Op == query.Var && e[p[0].Name] == nil {
					if v, ok := e.value(p[1]); ok {
						e[p[0].Name] = v
						x.solve(r, rest, e, found)
						delete(e, p[0].Name)
					}
					return
				}
			}
		}
		a, aok := e.value(l.Compare.L)
		b, bok := e.value(l.Compare.R)
		if aok && bok && holds(l.Compare.Op, order(a, b)) {
			x.solve(r, rest, e, found)
		}
	case l.Test != nil:
		a, aok := e.value(l.Test.Args[0])
		b, bok := e.value(l.Test.Args[1])
		if aok && bok && test(l.Test.Name, a.(string), b.(string)) != l.Neg {
			x.solve(r, rest, e, found)
		}
	case l.Neg:
		none := true
		x.match(r, l.Atom, e, func() { none = false })
		if none {
			x.solve(r, rest, e, found)
		}
	default:
		x.match(r, l.Atom, e, func() { x.solve(r, rest, e, found) })
	}
}

// ready says that a literal can be decided, or gives a variable its value.
func (e env) ready(l *query.Literal) bool {
	switch {
	case l.Compare != nil:
		left, right := e.bound(l.Compare.L), e.bound(l.Compare.R)
		return left && right || l.Compare.Op == "=" && (left && l.Compare.R.Op == query.Var || right && l.Compare.L.Op == query.Var)
	case l.Test != nil:
		return e.bound(l.Test)
	case l.Neg:
		return !slices.ContainsFunc(l.Atom.Args, func(t *query.Term) bool { return t.Op != query.Anon && !e.bound(t) })
	}
	return false
}

func (e env) bound(t *query.Term) bool {
	ok := true
	t.Vars(func(v *query.Term) { ok = ok && e[v.Name] != nil })
	return ok
}

func (e env) mostBound(body []*query.Literal) int {
	best, most := -1, -1
	for i, l := range body {
		if l.Atom == nil || l.Neg {
			continue
		}
		n := 0
		for _, t := range l.Atom.Args {
			if e.bound(t) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

// match calls found with the variables bound for every row that fits.
func (x *world) match(r *query.Rule, a *query.Atom, e env, found func()) {
	name := a.Table
	if x.page[name] && x.steers[r.Head.Table] {
		name += seenBySteering
	}
	rel := x.rels[name]
	rows := slices.Collect(maps.Values(rel.rows))
	for i, t := range a.Args {
		if e.bound(t) {
			v, ok := e.value(t)
			if !ok {
				return
			}
			rows = rel.find(i, convert(v, rel.types[i]))
			break
		}
	}
	for _, row := range rows {
		var fresh []string
		fits := true
		for i, t := range a.Args {
			if t.Op == query.Anon {
				continue
			}
			if t.Op == query.Var && e[t.Name] == nil {
				e[t.Name] = row[i]
				fresh = append(fresh, t.Name)
				continue
			}
			if v, ok := e.value(t); !ok || order(v, row[i]) != 0 {
				fits = false
				break
			}
		}
		if fits {
			found()
		}
		for _, v := range fresh {
			delete(e, v)
		}
	}
}

func convert(v any, t query.Type) any {
	if n, ok := v.(int64); ok && t == query.Float {
		return float64(n)
	}
	return v
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// value works out an expression; it fails where there is no value.
func (e env) value(t *query.Term) (any, bool) {
	switch t.Op {
	case query.Var, query.Anon:
		return e[t.Name], true
	case query.Const:
		return constant(t), true
	case query.Call:
		if t.Name == "now" {
			return int64(now), true
		}
		a, ok := e.value(t.Args[0])
		if !ok {
			return nil, false
		}
		return call(t.Name, a.(string)), true
	}
	a, aok := e.value(t.Args[0])
	b, bok := e.value(t.Args[1])
	if !aok || !bok {
		return nil, false
	}
	m, mint := a.(int64)
	n, nint := b.(int64)
	if mint && nint && t.Type != query.Float {
		switch t.Op {
		case query.Add:
			return m + n, true
		case query.Sub:
			return m - n, true
		case query.Mul:
			return m * n, true
		}
		if n == 0 {
			return nil, false
		}
		return m / n, true
	}
	f, g := number(a), number(b)
	switch t.Op {
	case query.Add:
		return f + g, true
	case query.Sub:
		return f - g, true
	case query.Mul:
		return f * g, true
	}
	return f / g, g != 0
}

func constant(t *query.Term) any {
	switch {
	case t.Type.Textual():
		return t.Value.S
	case t.Type == query.Float:
		return unfloat(t.Value)
	}
	return t.Value.N
}

func call(name, s string) any {
	switch name {
	case "lower":
		return strings.ToLower(s)
	case "len":
		return int64(utf8.RuneCountInString(s))
	case "time":
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			panic(err)
		}
		return t.Unix()
	}
	_, rest, _ := strings.Cut(s, "://")
	host, p, _ := strings.Cut(rest, "/")
	switch name {
	case "host":
		return host
	case "domain":
		return page.Domain(host)
	case "path":
		return "/" + p
	case "ext":
		return strings.TrimPrefix(path.Ext(p), ".")
	case "depth":
		return int64(len(strings.FieldsFunc(p, func(r rune) bool { return r == '/' })))
	}
	panic("no function is called " + name)
}

func test(name, a, b string) bool {
	switch name {
	case "contains":
		return strings.Contains(a, b)
	case "starts":
		return strings.HasPrefix(a, b)
	case "ends":
		return strings.HasSuffix(a, b)
	case "matches":
		return regexp.MustCompile(b).MatchString(a)
	}
	panic("no test is called " + name)
}

// aggregate makes the head rows of one group.
func aggregate(head []*query.Term, group []env) [][]any {
	// Solutions are counted once, by their named variables.
	once := map[string]env{}
	for _, e := range group {
		once[fmt.Sprintf("%#v", e)] = e // fmt sorts the keys of maps
	}
	keys := slices.Sorted(maps.Keys(once))
	rows := [][]any{nil}
	for _, t := range head {
		if t.Op != query.Aggregate {
			v, _ := group[0].value(t)
			for i := range rows {
				rows[i] = append(rows[i], v)
			}
			continue
		}
		if t.Name == "top" {
			rows = best(t, rows[0], group)
			continue
		}
		distinct := map[string]bool{}
		var values []any
		for _, k := range keys {
			var vs []any
			ok := true
			for _, a := range t.Args {
				v, fine := once[k].value(a)
				vs, ok = append(vs, v), ok && fine
			}
			if !ok {
				continue
			}
			if t.Name == "count" && len(t.Args) == 0 {
				vs = []any{k}
			}
			distinct[fmt.Sprintf("%#v", vs)] = true
			values = append(values, vs[0])
		}
		if len(values) == 0 {
			return nil
		}
		var v any
		switch t.Name {
		case "count":
			v = int64(len(distinct))
		case "min":
			v = slices.MinFunc(values, order)
		case "max":
			v = slices.MaxFunc(values, order)
		case "sum":
			v = total(values)
		case "avg":
			v = number(total(values)) / float64(len(values))
		}
		for i := range rows {
			rows[i] = append(rows[i], v)
		}
	}
	return rows
}

func total(values []any) any {
	var n int64
	var f float64
	whole := true
	for _, v := range values {
		if i, ok := v.(int64); ok {
			n += i
		} else {
			whole = false
		}
		f += number(v)
	}
	if whole {
		return n
	}
	return f
}

// best are the rows of top<k, score, x>: rank, score and x.
func best(t *query.Term, before []any, group []env) [][]any {
	type entry struct{ score, x any }
	var all []entry
	for _, e := range group {
		score, ok := e.value(t.Args[1])
		x, fine := e.value(t.Args[2])
		if ok && fine {
			all = append(all, entry{score, x})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(order(b.score, a.score), order(a.x, b.x)) })
	all = slices.Compact(all)
	k, _ := env{}.value(t.Args[0])
	var rows [][]any
	for i, e := range all[:min(len(all), int(k.(int64)))] {
		rows = append(rows, append(slices.Clone(before), int64(i+1), e.score, e.x))
	}
	return rows
}
