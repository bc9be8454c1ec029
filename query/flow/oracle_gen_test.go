package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A gcol is a column as the generator knows it: its type is one of u (url),
// t (text), h (text: a host), i (int), f (float) and z (time).
type gcol struct {
	typ byte
	lat string // "", min or max
}

// A gtable is a table that rules may read.
type gtable struct {
	name string
	cols []gcol
	page bool // facts of a page
	fact bool // trailing columns may be left out
}

func cols(s string) []gcol {
	var c []gcol
	for _, t := range []byte(s) {
		c = append(c, gcol{typ: t})
	}
	return c
}

var pageTables = []gtable{
	{"link", cols("uutt"), true, true},
	{"link", cols("uutt"), true, true},
	{"link", cols("uutt"), true, true},
	{"fetched", cols("uitit"), true, true},
	{"fetched", cols("uititzf"), true, true},
	{"title", cols("ut"), true, true},
	{"word", cols("utii"), true, true},
	{"noindex", cols("u"), true, true},
	{"header", cols("utt"), true, true},
	{"meta", cols("utt"), true, true},
	{"redirect", cols("uui"), true, true},
	{"hreflang", cols("utu"), true, true},
	{"sitemap", cols("uu"), true, true},
	{"requisite", cols("uu"), true, true},
}

// A writer makes one random program. Tables that may steer the crawl come first,
// then crawl, then tables that only read: so most of what it writes means
// something.
type writer struct {
	*rand.Rand
	lines  []string
	crawl  gtable
	inputs []gtable
	live   []gtable // may steer
	final  []gtable // may not
	names  int
	set    bool // the setting max is declared
}

// newProgram writes a program, a clause a line.
func newProgram(r *rand.Rand) string {
	w := &writer{Rand: r}
	w.inputs = []gtable{{"seed", cols("uf"), false, true}}
	if w.chance(30) {
		w.line(`input blocked(text) from "blocked.txt".`)
		w.inputs = append(w.inputs, gtable{name: "blocked", cols: cols("h")})
	}
	if w.chance(20) {
		w.line(`input topic(text, int) from "topic.txt".`)
		w.inputs = append(w.inputs, gtable{name: "topic", cols: cols("ti")})
	}
	if w.chance(20) {
		w.line(`input chosen(url) from "chosen.txt".`)
		w.inputs = append(w.inputs, gtable{name: "chosen", cols: cols("u")})
	}
	if w.chance(15) {
		w.line("set max = %d.", 1+w.IntN(3))
		w.set = true
	}
	arity := pick(r, 1, 2, 2, 3, 3)
	w.crawl = gtable{name: "crawl", cols: []gcol{{'u', ""}, {'i', "min"}, {'f', "max"}}[:arity]}
	w.line("crawl(%s) :- seed(U, S).", strings.Join([]string{"U", pick(r, "0", "0", "1"), pick(r, "S", "S", "3", "S - 1")}[:arity], ", "))
	for range 1 + w.IntN(3) {
		pick(r, w.liveJoin, w.liveJoin, w.liveJoin, w.near, w.growing, w.growing, w.sealed, w.small, w.small, w.twins, w.path, w.mutual, w.halfPage, w.halfPage)()
	}
	w.steer(true)
	for range w.IntN(3) {
		w.steer(false)
	}
	if w.chance(8) {
		b := w.body(1+w.IntN(2), true)
		w.conditions(b, true)
		w.line("stop(%s) :- %s.", pick(r, `"found"`, b.plain("t", `"found"`)), b)
	}
	if w.chance(8) {
		b := w.body(1+w.IntN(2), true)
		w.conditions(b, true)
		if u := b.plain("u", ""); u != "" {
			w.line("wait(host(%s), max %s) :- %s.", u, pick(r, "2", b.plain("i", "3")), b)
		}
	}
	for range w.IntN(5) {
		pick(r, w.join, w.join, w.aggregate, w.aggregate, w.negation, w.negation, w.top, w.stepped, w.average, w.near, w.path, w.twins)()
	}
	if len(w.live) > 0 && w.chance(20) {
		w.line("live %s.", pick(r, w.live...).name)
	}
	return strings.Join(w.lines, "\n") + "\n"
}

func (w *writer) chance(percent int) bool { return w.IntN(100) < percent }

func (w *writer) line(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *writer) name() string { w.names++; return fmt.Sprint("t", w.names) }

// A body is the literals of a rule as they are put together.
type body struct {
	w     *writer
	lits  []string
	vars  []gvar
	pages []string // variables that are the first column of page facts
}

type gvar struct {
	name string
	gcol
}

func (b *body) String() string {
	lits := slices.Clone(b.lits)
	b.w.Shuffle(len(lits), func(i, j int) { lits[i], lits[j] = lits[j], lits[i] })
	return strings.Join(lits, ", ")
}

func (b *body) add(format string, args ...any) { b.lits = append(b.lits, fmt.Sprintf(format, args...)) }

func (b *body) fresh(c gcol) string {
	name := fmt.Sprintf("%s%d", strings.ToUpper(string(c.typ)), len(b.vars))
	b.vars = append(b.vars, gvar{name, c})
	return name
}

// plain returns a variable of one of the types that is in no min or max column, or
// else the given text.
func (b *body) plain(types, otherwise string) string {
	var have []string
	for _, v := range b.vars {
		if v.lat == "" && strings.IndexByte(types, v.typ) >= 0 {
			have = append(have, v.name)
		}
	}
	if len(have) == 0 {
		return otherwise
	}
	return pick(b.w.Rand, have...)
}

// constant returns a constant of a type that webs are likely to have.
func (w *writer) constant(typ byte) string {
	switch typ {
	case 'u':
		return fmt.Sprintf("%q", fmt.Sprintf("http://h%d.test/p%d", 1+w.IntN(2), w.IntN(4)))
	case 'h':
		return fmt.Sprintf("%q", fmt.Sprintf("h%d.test", 1+w.IntN(3)))
	case 't':
		return fmt.Sprintf("%q", pick(w.Rand, texts...))
	case 'f':
		return pick(w.Rand, "0.5", "1.25", "2", "3")
	case 'z':
		return fmt.Sprintf("time(%q)", fmt.Sprintf("1970-01-01T00:16:4%dZ", w.IntN(4)))
	}
	if w.set && w.chance(20) {
		return "$max"
	}
	return fmt.Sprint(w.IntN(4))
}

// atom adds a table to the body. But for the first it shares a variable with what
// is there, if it can; else nothing is added.
func (w *writer) atom(b *body, t gtable, live bool) bool {
	n := len(t.cols)
	if t.fact {
		n = 1 + w.IntN(n)
		if t.name == "link" {
			n = max(n, 2)
		}
	}
	cs := t.cols[:n]
	shared := -1
	if len(b.vars) > 0 {
		var can []int
		for i, c := range cs {
			if c.lat == "" && b.plain(string(c.typ), "") != "" {
				can = append(can, i)
			}
		}
		if len(can) == 0 {
			return false
		}
		shared = pick(w.Rand, can...)
	}
	var args []string
	old := *b
	old.vars = slices.Clone(b.vars)
	for i, c := range cs {
		switch {
		case i == shared:
			args = append(args, old.plain(string(c.typ), ""))
		case c.lat == "" && w.chance(5):
			args = append(args, w.constant(c.typ))
		case i > 0 && w.chance(20):
			args = append(args, "_")
		case i > 0 && c.lat == "" && w.chance(25) && old.plain(string(c.typ), "") != "":
			args = append(args, old.plain(string(c.typ), ""))
		default:
			args = append(args, b.fresh(c))
		}
		if i == 0 && t.page && args[0][0] == 'U' {
			b.pages = append(b.pages, args[0])
		}
	}
	b.add("%s(%s)", t.name, strings.Join(args, ", "))
	return true
}

func (w *writer) readable(live bool) []gtable {
	pool := slices.Concat(pageTables, w.live, w.live, w.inputs, []gtable{w.crawl, w.crawl})
	if !live {
		pool = slices.Concat(pool, w.final, w.final, w.final)
	}
	return pool
}

// body makes a connected body of up to n tables.
func (w *writer) body(n int, live bool) *body {
	b := &body{w: w}
	for len(b.vars) == 0 || b.plain("u", "") == "" && b.plain("th", "") == "" {
		*b = body{w: w}
		w.atom(b, pick(w.Rand, w.readable(live)...), live)
	}
	for tries := 0; len(b.lits) < n && tries < 10; tries++ {
		w.atom(b, pick(w.Rand, w.readable(live)...), live)
	}
	if u := b.plain("u", ""); u != "" && w.chance(6) { // meet by host
		b.add("%s, Hh = host(Uh), Hh = host(%s)", pick(w.Rand, "title(Uh)", "link(Uh)", "seed(Uh)", "word(Uh, \"red\")"), u)
		b.vars = append(b.vars, gvar{"Uh", gcol{typ: 'u'}})
	}
	return b
}

// conditions adds tests, comparisons and negations.
func (w *writer) conditions(b *body, live bool) {
	for _, v := range slices.Clone(b.vars) {
		if !w.chance(20) && !(live && v.lat != "" && w.chance(40)) {
			continue
		}
		switch {
		case v.lat == "min" && live:
			b.add("%s %s %s", v.name, pick(w.Rand, "<", "<="), fmt.Sprint(2+w.IntN(3)))
		case v.lat == "max" && live:
			b.add("%s %s %s", v.name, pick(w.Rand, ">", ">="), pick(w.Rand, "0", "1", "2"))
		case v.typ == 'u':
			switch w.IntN(7) {
			case 6:
				b.add(pick(w.Rand, "depth(%s) < 2", "ext(%s) != \"html\"", "len(path(%s)) > 4", "domain(%s) != \"h2.test\""), v.name)
			case 0:
				b.add("%s(%s, %q)", pick(w.Rand, "contains", "!contains"), v.name, pick(w.Rand, "h1", "h2", "p1", "/a/", "https"))
			case 1:
				b.add("%s(%s, %q)", pick(w.Rand, "starts", "!ends", "!starts", "ends"), v.name, pick(w.Rand, "http:", "https:", ".html", "1"))
			case 2:
				b.add("host(%s) %s %s", v.name, pick(w.Rand, "!=", "="), w.constant('h'))
			case 3:
				if o := b.plain("u", ""); o != v.name {
					b.add("host(%s) %s host(%s)", v.name, pick(w.Rand, "=", "=", "!="), o)
				}
			case 4:
				if o := b.plain("u", ""); o != v.name {
					b.add("%s != %s", v.name, o)
				}
			case 5:
				b.add("%s(%s, %q)", pick(w.Rand, "matches", "!matches"), v.name, pick(w.Rand, "/(a|tag)/", "h[12]", "p[0-4]$"))
			}
		case v.typ == 't' || v.typ == 'h':
			switch w.IntN(3) {
			case 0:
				b.add("%s(lower(%s), %q)", pick(w.Rand, "contains", "!contains", "starts"), v.name, pick(w.Rand, "re", "fox", "h1"))
			case 1:
				b.add("%s != %s", v.name, w.constant(v.typ))
			case 2:
				b.add("len(%s) %s %d", v.name, pick(w.Rand, "<", ">="), 3+w.IntN(4))
			}
		case v.typ == 'i':
			b.add("%s %s %s", v.name, pick(w.Rand, "<", ">", ">=", "!=", "<="), w.constant('i'))
		case v.typ == 'z':
			b.add("%s %s %s", v.name, pick(w.Rand, "<", ">=", "!="), w.constant('z'))
			if o := b.plain("z", ""); o != "" && o != v.name {
				b.add("A = %s - %s", v.name, o)
				b.vars = append(b.vars, gvar{"A", gcol{typ: 'i'}})
			} else if !live && w.chance(30) {
				b.add("%s < now()", v.name)
			}
		case v.typ == 'f':
			b.add("%s %s %s", v.name, pick(w.Rand, "<", ">"), w.constant('f'))
		}
	}
	if w.chance(25) && b.plain("u", "") != "" { // a table of hosts
		for _, t := range w.live {
			if t.cols[0].typ == 'h' && w.chance(60) {
				w.hosts(b, t)
			}
		}
	}
	if live && w.chance(30) {
		var low, high string
		for _, v := range b.vars {
			switch v.lat {
			case "min":
				low = v.name
			case "max":
				high = v.name
			}
		}
		if low != "" && high != "" {
			b.add("%s %s %s", low, pick(w.Rand, "<", "<="), high)
		}
	}
	if w.chance(12) && b.plain("u", "") != "" && slices.ContainsFunc(w.inputs, func(t gtable) bool { return t.name == "blocked" }) {
		b.add("%sblocked(host(%s))", pick(w.Rand, "!", "!", ""), b.plain("u", ""))
	}
	if w.chance(20) && len(b.pages) > 0 { // settled with the page
		p := pick(w.Rand, b.pages...)
		b.add("!%s", pick(w.Rand,
			fmt.Sprintf("title(%s, _)", p), fmt.Sprintf(`meta(%s, "robots", "nofollow")`, p), fmt.Sprintf("word(%s, %q)", p, pick(w.Rand, texts...)),
			fmt.Sprintf("redirect(%s, _)", p), fmt.Sprintf("hreflang(%s, %q)", p, "en"), fmt.Sprintf("link(%s, %s)", p, b.plain("u", "_"))))
	}
	if w.chance(12) {
		if v := b.plain("i", ""); v != "" {
			b.add("N = %s %s %s", v, pick(w.Rand, "+", "*", "-", "/"), pick(w.Rand, pick(w.Rand, "1", "2", "3"), b.plain("i", "2")))
			b.vars = append(b.vars, gvar{"N", gcol{typ: 'i'}})
		}
	}
	if w.chance(8) {
		if u, t := b.plain("u", ""), b.plain("th", ""); u != "" {
			b.add("M = %s", pick(w.Rand, "len(%[1]s)", "depth(%[1]s)", "len(path(%[1]s)) - 3"))
			b.lits[len(b.lits)-1] = fmt.Sprintf(b.lits[len(b.lits)-1], u)
			b.vars = append(b.vars, gvar{"M", gcol{typ: 'i'}})
		} else if t != "" {
			b.add("L = lower(%s)", t)
			b.vars = append(b.vars, gvar{"L", gcol{typ: 't'}})
		}
	}
	if i, f := b.plain("i", ""), b.plain("f", ""); i != "" && f != "" && w.chance(20) {
		b.add("%s %s %s", f, pick(w.Rand, "<", ">=", "!="), i)
	}
	if w.chance(8) {
		if v := b.plain("u", ""); v != "" {
			b.add("H = host(%s)", v)
			b.vars = append(b.vars, gvar{"H", gcol{typ: 'h'}})
		}
	}
}

// head chooses up to n plain columns for a head, the first of them a place.
func (w *writer) head(b *body, n int, live bool) ([]string, []gcol) {
	var args []string
	var cs []gcol
	take := func(types string) {
		v := b.plain(types, "")
		if v == "" || slices.Contains(args, v) {
			return
		}
		i := slices.IndexFunc(b.vars, func(x gvar) bool { return x.name == v })
		c := gcol{typ: b.vars[i].typ}
		if c.typ == 'u' && w.chance(8) {
			v, c.typ = "host("+v+")", 'h'
		}
		args, cs = append(args, v), append(cs, c)
	}
	take(pick(w.Rand, "u", "u", "u", "th"))
	if len(args) == 0 {
		take("uth")
	}
	for range n - 1 {
		take("uuthifz")
	}
	if !live { // the value when all is over
		for _, v := range b.vars {
			if v.lat != "" && w.chance(50) {
				args, cs = append(args, v.name), append(cs, gcol{typ: v.typ})
			}
		}
	}
	return args, cs
}
