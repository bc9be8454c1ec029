package flow_test

import (
	"fmt"
	"slices"
	"strings"
)

// This file has the kinds of rules that programs are made of: those that may steer
// a crawl first, then those that only read.

func (w *writer) derive(name string, args []string, b *body) {
	w.line("%s(%s) :- %s.", name, strings.Join(args, ", "), b)
}

func (w *writer) liveJoin() {
	name := w.name()
	b := w.body(1+w.IntN(3), true)
	w.conditions(b, true)
	args, cs := w.head(b, 1+w.IntN(3), true)
	for _, v := range b.vars { // a value that may improve goes where it may improve
		if v.lat != "" && w.chance(60) {
			add := ""
			if w.chance(40) {
				add = map[string]string{"min": " + 1", "max": " - 1"}[v.lat]
			}
			args, cs = append(args, v.lat+" "+v.name+add), append(cs, v.gcol)
		}
	}
	w.derive(name, args, b)
	w.live = append(w.live, gtable{name: name, cols: cs})
	w.more(name, cs)
}

// more adds rules, or rows, to a table that has a rule.
func (w *writer) more(name string, cs []gcol) {
	if w.chance(8) {
		var args []string
		for _, c := range cs {
			args = append(args, w.constant(c.typ))
		}
		w.line("%s(%s).", name, strings.Join(args, ", "))
	}
	if !w.chance(30) {
		return
	}
	b := w.body(1+w.IntN(2), true)
	w.conditions(b, true)
	var args []string
	for _, c := range cs {
		v := b.plain(string(c.typ), w.constant(c.typ))
		for _, x := range b.vars {
			if c.lat != "" && x.gcol == c {
				v = x.name
			}
		}
		args = append(args, v)
	}
	w.derive(name, args, b)
}

// mutual are two tables that need one another.
func (w *writer) mutual() {
	a, b := w.name(), w.name()
	edge := pick(w.Rand, "link(U, V)", "link(V, U)", "link(U, V, T), word(V, T)", "hreflang(U, _, V)")
	w.line("%s(U) :- seed(U).", a)
	w.line("%s(V) :- %s(U), %s.", b, a, edge)
	w.line("%s(V) :- %s(U), %s.", a, b, pick(w.Rand, "link(U, V)", "sitemap(U, V)", "redirect(U, V)", "title(U, T), title(V, T)"))
	w.live = append(w.live, gtable{name: a, cols: cols("u")}, gtable{name: b, cols: cols("u")})
}

// twins are pages that say the same in several ways.
func (w *writer) twins() {
	b := &body{w: w}
	t := pick(w.Rand, slices.Concat(pageTables, w.live)...)
	for page := range 2 + w.IntN(2) {
		args := []string{fmt.Sprint("X", page)}
		for i, c := range t.cols[1:] {
			switch {
			case c.lat != "" || w.chance(15):
				args = append(args, "_")
			case w.chance(15):
				args = append(args, b.fresh(c))
			default:
				args = append(args, fmt.Sprint("S", i))
			}
		}
		b.add("%s(%s)", t.name, strings.Join(args, ", "))
		b.vars = append(b.vars, gvar{args[0], t.cols[0]})
	}
	if w.chance(30) {
		b.add("title(X0, Q), title(X1, Q)")
	}
	if w.chance(50) {
		b.add("X0 != X1")
	}
	name := w.name()
	args, cs := w.head(b, 1+w.IntN(3), true)
	if len(t.cols) < 2 || len(args) == 0 {
		return
	}
	w.derive(name, args, b)
	w.live = append(w.live, gtable{name: name, cols: cs})
}

// halfPage joins a page's own facts with something that comes from elsewhere, and
// looks at what the page does not say.
func (w *writer) halfPage() {
	name := w.name()
	b := &body{w: w}
	b.add("link(V, U)")
	b.add("%s", pick(w.Rand, "word(U, T)", "title(U, T)", "fetched(U, I)", "meta(U, T)", "hreflang(U, T)"))
	b.vars = []gvar{{"U", gcol{typ: 'u'}}, {"V", gcol{typ: 'u'}}}
	if w.chance(60) {
		b.add("!%s", pick(w.Rand, "title(U)", "meta(U)", `word(U, "red")`, "link(U)", "hreflang(U)", `link(U, _, "red")`))
	} else {
		b.add("%s", pick(w.Rand, "word(U, W)", "title(U, X)", "link(U, Y)"))
	}
	w.derive(name, []string{"U", "V"}, b)
	w.live = append(w.live, gtable{name: name, cols: cols("uu")})
}

// near is a table with a least distance along something.
func (w *writer) near() {
	name := w.name()
	w.line("%s(U, min %s) :- %s.", name, pick(w.Rand, "0", "1"), pick(w.Rand, "seed(U)", "title(U)", "word(U, \"red\")", "redirect(_, U)"))
	limit := ""
	if w.chance(60) {
		limit = fmt.Sprintf(", D < %d", 2+w.IntN(3))
	}
	edge := pick(w.Rand, "link(U, V)", "link(V, U)", "link(U, V, _, \"next\")", "sitemap(U, V)", "link(U, V), host(U) = host(V)", "link(U, X), link(X, V)")
	w.line("%s(V, min %s) :- %s(U, D), %s%s.", name, pick(w.Rand, "D + 1", "D + 1", "D + 2", "D", "D * 2", "D + len(V)"), name, edge, limit)
	w.live = append(w.live, gtable{name: name, cols: []gcol{{'u', ""}, {'i', "min"}}})
}

// growing is a count that only rises.
func (w *writer) growing() {
	name := w.name()
	b := w.body(1+w.IntN(2), true)
	w.conditions(b, true)
	args, cs := w.head(b, 1, true)
	what := "max count<" + b.plain("uuuthi", "") + ">"
	switch n := b.plain("i", ""); {
	case w.chance(10):
		what = "max count<>"
	case w.chance(10):
		what = "max count<" + b.plain("uuuthi", "") + ", " + b.plain("uth", "") + ">"
	case n != "" && w.chance(30):
		what = "max max<" + n + ">"
	case n != "" && w.chance(30):
		what = "min min<" + n + ">"
	}
	args = append(args, what)
	w.derive(name, args, b)
	w.live = append(w.live, gtable{name: name, cols: append(cs, gcol{'i', what[:3]})})
}

// sealed aggregates a page's own facts.
func (w *writer) sealed() {
	name := w.name()
	t := pick(w.Rand,
		"count<V>) :- link(U, V)", "count<A>) :- link(U, _, A)", "count<>) :- link(U, V), title(U, T)", "sum<N>) :- word(U, T, N)",
		"max<N>) :- word(U, T, N)", "min<N>) :- word(U, T, N)", "count<V>) :- link(U, V), host(U) != host(V)", "count<V>) :- link(U, V), !title(U)",
		"count<T>) :- word(U, T), !blockedword(T)")
	t = strings.ReplaceAll(t, ", !blockedword(T)", `, T != "red"`)
	w.line("%s(U, %s.", name, t)
	w.live = append(w.live, gtable{name: name, cols: cols("ui")})
}

// small is a table that is looked up where the links are.
func (w *writer) small() {
	name := w.name()
	w.line("small %s.", name)
	var cs []gcol
	if w.chance(50) {
		w.line("%s(host(U)) :- seed(U).", name)
		if w.chance(80) {
			w.line("%s(host(V)) :- %s.", name, pick(w.Rand, "redirect(U, V)", "link(U, V), title(U, \"red\")", name+"(host(U)), sitemap(U, V)", "hreflang(U, _, V)"))
		}
		cs = cols("h")
	} else {
		kind := w.IntN(2)
		w.line("%s(%s) :- %s.", name, []string{"host(U), T", "T, host(U)"}[kind],
			pick(w.Rand, "title(U, T), fetched(U, 200)", "link(U, V, T), fetched(U)", "word(U, T, 1)", "word(U, T), link(U, V)"))
		cs = [][]gcol{cols("ht"), cols("th")}[kind]
	}
	t := gtable{name: name, cols: cs}
	w.live = append(w.live, t)
	if w.chance(25) { // beside itself
		b := &body{w: w}
		w.atom(b, t, true)
		if w.atom(b, t, true); len(b.vars) > 0 {
			user := w.name()
			args, cs := w.head(b, 2, true)
			w.derive(user, args, b)
			w.live = append(w.live, gtable{name: user, cols: cs})
		}
	}
	if w.chance(70) && cs[0].typ == 'h' { // looked up beside a page's facts
		b := &body{w: w, vars: []gvar{{"U", gcol{typ: 'u'}}}}
		b.add("%s", pick(w.Rand, "link(U, V)", "link(U, V), title(U, _)", "sitemap(U, V)", "redirect(U, V)"))
		b.vars = append(b.vars, gvar{"V", gcol{typ: 'u'}})
		b.pages = []string{"U"}
		w.hosts(b, t)
		if w.chance(30) {
			w.atom(b, t, true)
		}
		w.conditions(b, true)
		user := w.name()
		args, cs := w.head(b, 3, true)
		w.derive(user, args, b)
		w.live = append(w.live, gtable{name: user, cols: cs})
	}
}

// hosts adds a table whose first column is a host to a body that has URLs.
func (w *writer) hosts(b *body, t gtable) {
	args := "host(" + b.plain("u", "") + ")"
	for _, c := range t.cols[1:] {
		if w.chance(40) {
			args += ", _"
		} else {
			args += ", " + b.fresh(c)
		}
	}
	b.add("%s(%s)", t.name, args)
}

// path is a relation that leads on and on.
func (w *writer) path() {
	name := w.name()
	w.line("%s(U, V) :- %s.", name, pick(w.Rand, "redirect(U, V)", "hreflang(U, _, V)", `link(U, V, _, "next")`, `link(U, V, "red")`, "sitemap(U, V)"))
	w.line("%s(U, X) :- %s(U, V), %s.", name, name, pick(w.Rand, "redirect(V, X)", "hreflang(V, _, X)", `link(V, X, _, "next")`, name+"(V, X)"))
	w.live = append(w.live, gtable{name: name, cols: cols("uu")})
}

// steer is a rule for crawl. The broad ones leave little out, so that there is a
// crawl to speak of.
func (w *writer) steer(broad bool) {
	arity := len(w.crawl.cols)
	b := &body{w: w}
	args := []string{"U", "D", "P"}[:arity]
	var depth, priority string
	if w.chance(80) {
		b.add("crawl(%s)", strings.Join(args, ", "))
		for i, a := range args {
			b.vars = append(b.vars, gvar{a, w.crawl.cols[i]})
		}
		depth = pick(w.Rand, "D + 1", "D + 1", "D", "D + 2")
		priority = pick(w.Rand, "P", "P - 1", "2", "P - 0.25")
	} else {
		b.vars = append(b.vars, gvar{"U", gcol{typ: 'u'}})
		depth, priority = pick(w.Rand, "0", "1", "2"), pick(w.Rand, "1", "2.5")
	}
	edges := []string{
		"link(U, V)", "link(U, V)", "link(U, V)", "link(U, V, A)", "link(U, V, _, \"next\")", "sitemap(U, V)", "redirect(U, V)", "hreflang(U, _, V)",
		"requisite(U, V)", "link(U, X), link(X, V)", "word(U, T); word(X, T); link(X, V)", "sitemap(U, V, _, \"page\")",
	}
	for _, t := range w.live {
		if len(t.cols) > 1 && t.cols[0].typ == 'u' && t.cols[1].typ == 'u' {
			e := fmt.Sprintf("%s(%s%s)", t.name, pick(w.Rand, "U, V", "U, V", "V, U"), strings.Repeat(", _", len(t.cols)-2))
			edges = append(edges, e, e, e)
		}
	}
	if broad {
		edges = edges[:4]
	}
	e := pick(w.Rand, edges...)
	b.lits = append(b.lits, strings.Split(e, ";")...)
	b.vars = append(b.vars, gvar{"V", gcol{typ: 'u'}})
	if strings.Contains(e, "A)") {
		b.vars = append(b.vars, gvar{"A", gcol{typ: 't'}})
	}
	if !strings.Contains(e, "(V,") && !strings.HasPrefix(e, "t") {
		b.pages = append(b.pages, "U")
	}
	if strings.Contains(depth, "D") && arity > 1 && w.chance(60) {
		b.add("D < %d", 1+w.IntN(5))
	}
	if !broad {
		if w.chance(15) {
			b.add("host(U) = host(V)")
		}
		if w.chance(70) && len(w.live) > 0 {
			w.atom(b, pick(w.Rand, w.live...), true)
		}
		if w.chance(25) {
			w.atom(b, pick(w.Rand, w.readable(true)...), true)
		}
	}
	if !broad || w.chance(30) {
		w.conditions(b, true)
	}
	for _, v := range b.vars { // a count may be the priority
		if v.lat == "max" && v.typ == 'i' && w.chance(30) {
			priority = v.name
		}
	}
	if depth == "D + 2" && strings.HasPrefix(e, "redirect") {
		depth = "D"
	}
	w.derive("crawl", []string{"V", depth, priority}[:arity], b)
}

func (w *writer) join() {
	name := w.name()
	b := w.body(1+w.IntN(3), false)
	w.conditions(b, false)
	args, cs := w.head(b, 1+w.IntN(3), false)
	w.derive(name, args, b)
	if w.chance(20) {
		b := w.body(1, false)
		if args2, cs2 := w.head(b, len(cs), false); slices.Equal(cs, cs2) {
			w.derive(name, args2, b)
		}
	}
	w.final = append(w.final, gtable{name: name, cols: cs})
}

// aggregate is a table of totals.
func (w *writer) aggregate() {
	name := w.name()
	b := w.body(1+w.IntN(2), false)
	w.conditions(b, false)
	args, cs := w.head(b, 1+w.IntN(2), false)
	agg := "count<" + b.plain("uuthi", "") + ">"
	typ := byte('i')
	var numbers []gvar
	for _, v := range b.vars {
		if (v.typ == 'i' || v.typ == 'f') && !slices.Contains(args, v.name) {
			numbers = append(numbers, v)
		}
	}
	switch {
	case len(numbers) > 0 && w.chance(75):
		v := pick(w.Rand, numbers...)
		agg, typ = pick(w.Rand, "sum", "min", "max", "sum")+"<"+v.name+">", v.typ
	case w.chance(20):
		agg = "count<>"
	}
	args, cs = append(args, agg), append(cs, gcol{typ: typ})
	if w.chance(20) {
		args, cs = append(args, "count<"+b.plain("uth", "")+">"), append(cs, gcol{typ: 'i'})
	}
	w.derive(name, args, b)
	w.final = append(w.final, gtable{name: name, cols: cs})
}

func (w *writer) negation() {
	name := w.name()
	b := w.body(1+w.IntN(2), false)
	pool := w.readable(false)
	for range 20 {
		t := pick(w.Rand, pool...)
		var args []string
		some := false
		for _, c := range t.cols {
			v := b.plain(string(c.typ), "")
			switch {
			case c.lat == "" && v != "" && w.chance(80):
				args, some = append(args, v), true
			case c.lat == "" && w.chance(20):
				args = append(args, w.constant(c.typ))
			default:
				args = append(args, "_")
			}
		}
		if some {
			b.add("!%s(%s)", t.name, strings.Join(args, ", "))
			break
		}
	}
	w.conditions(b, false)
	args, cs := w.head(b, 1+w.IntN(2), false)
	w.derive(name, args, b)
	w.final = append(w.final, gtable{name: name, cols: cs})
}

func (w *writer) top() {
	name := w.name()
	b := w.body(1+w.IntN(2), false)
	w.conditions(b, false)
	score := b.plain("if", "")
	for _, v := range b.vars {
		if v.lat != "" {
			score = v.name
		}
	}
	x := b.plain("ut", "")
	if score == "" || x == "" {
		return
	}
	group := ""
	if g := b.plain("uth", ""); g != x && w.chance(40) {
		group = g + ", "
		if g[0] == 'U' && w.chance(50) {
			group = "host(" + g + "), "
		}
	}
	w.line("%s(%stop<%d, %s, %s>) :- %s.", name, group, 1+w.IntN(4), score, x, b)
}

func (w *writer) average() {
	b := w.body(1+w.IntN(2), false)
	w.conditions(b, false)
	args, _ := w.head(b, 1, false)
	if v := b.plain("i", ""); v != "" && !slices.Contains(args, v) {
		w.line("%s(%s, avg<%s>) :- %s.", w.name(), args[0], v, b)
	}
}

// stepped passes values on along links, round by round.
func (w *writer) stepped() {
	rank, give, out := w.name(), w.name(), w.name()
	w.line("%s(U, count<V>) :- link(U, V).", out)
	rounds := 1 + w.IntN(3)
	switch w.IntN(5) {
	case 3: // with a sum over all in every round
		all := w.name()
		w.line("%s(U, 0, 64) :- fetched(U).", rank)
		w.line("%s(I, sum<R>) :- %s(U, I, R).", all, rank)
		w.line("%s(V, I, U, X) :- %s(U, I, R), %s(I, S), link(U, V), X = R * 100 / S, I < %d.", give, rank, all, rounds)
	case 4: // how many ways there are, as long as some are new
		w.line("%s(U, 0, 1) :- seed(U).", rank)
		w.line("%s(V, I, U, R) :- %s(U, I, R), link(U, V), !%s(V, I, _), I < %d.", give, rank, rank, rounds)
	case 0: // whole numbers
		w.line("%s(U, 0, %d) :- fetched(U).", rank, 60*(1+w.IntN(3)))
		w.line("%s(V, I, U, X) :- %s(U, I, R), %s(U, N), link(U, V), X = R / N, I < %d.", give, rank, out, rounds)
		w.line("%s(V, I, V, 7) :- %s(V, I, _), I < %d.", give, rank, rounds)
	case 1: // PageRank
		w.line("%s(U, 0, 1.0) :- fetched(U).", rank)
		w.line("%s(V, I, U, X) :- %s(U, I, R), %s(U, N), link(U, V), X = 0.85 * R / N, I < %d.", give, rank, out, rounds)
		w.line("%s(V, I, V, 0.15) :- %s(V, I, _), I < %d.", give, rank, rounds)
	case 2: // only what is passed on
		w.line("%s(U, 0, 1) :- title(U).", rank)
		w.line("%s(V, I, U, R) :- %s(U, I, R), link(U, V), I < %d.", give, rank, rounds)
	}
	w.line("%s(V, I + 1, sum<X>) :- %s(V, I, U, X).", rank, give)
	w.final = append(w.final, gtable{name: rank, cols: cols("uii")})
	if strings.Contains(w.lines[len(w.lines)-2], "0.15") {
		w.final[len(w.final)-1].cols[2].typ = 'x' // not for others: last digits may differ
	}
}
