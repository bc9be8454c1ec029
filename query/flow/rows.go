package flow

import (
	"slices"

	"weir/page"
	"weir/query"
)

// rows lines up an input: the next piece is called for each of its rows that
// agrees with the values so far. Where rows give no slot a value, one is enough.
func (l *line) rows(in *Input) {
	switch in.Source {
	case FromCrawl:
		l.put(fromCrawl(l.takes(in.Columns, nil)))
	case FromPage:
		takes := l.takes(in.Columns, nil)
		if in.leads {
			l.lead = in.Columns[facts[in.Table.Name].target()].Slot
		}
		if isTargets(in, takes) {
			l.put(targets(in, takes))
		} else {
			l.put(fromPage(in, takes).piece)
		}
	case FromFile, FromSmall:
		if each, sieve := l.fromHall(in); each == nil {
			l.sieve(sieve)
		} else {
			l.put(each.piece)
		}
	default:
		l.put(l.fromStore(in).piece)
		if in.home { // its rows are everywhere, but only one partition is to use them
			kind, where := in.Store.Types[0], take{slot: in.Columns[0].Slot, konst: in.Columns[0].Const}
			l.sieve(called(func(x *Part, e *env) bool { return x.uses(x.home(kind, where.value(e))) }))
		}
	}
}

// walk calls next for rows, and says whether there were any.
type walk func(x *Part, e *env, next op) bool

func (each walk) piece(pass []sieve, next op) op {
	next = sift(pass, next)
	return func(x *Part, e *env) { each(x, e, next) }
}

// absence lines up a negated input: the next piece is called if it has no such
// row.
func (l *line) absence(in *Input) {
	var each walk
	switch in.Source {
	case FromPage:
		each = fromPage(in, l.takes(in.Columns, nil))
	case FromFile, FromSmall: // all it asks for is known
		_, s := l.fromHall(in)
		if s.how != byCall {
			s.neg = true
			l.sieve(s)
			return
		}
		each = func(x *Part, e *env, _ op) bool { return s.call(x, e) }
	default:
		each = l.fromStore(in)
	}
	l.sieve(called(func(x *Part, e *env) bool { return !each(x, e, nothing) }))
}

func nothing(*Part, *env) {}

// fromCrawl reads the row of crawl that comes with a page.
func fromCrawl(takes []take) maker {
	return func(pass []sieve, next op) op {
		next = sift(pass, next)
		return func(x *Part, e *env) {
			if x.facts.Robots {
				return // not a page
			}
			for i := range takes {
				t := &takes[i]
				var v query.Value
				switch t.column {
				case 0:
					v = text(x.facts.URL.String())
				case 1:
					v = number(int64(x.facts.Depth))
				case 2:
					v = query.FloatValue(priority(x.facts.Score))
				}
				if !t.from(e, v) {
					return
				}
			}
			next(x, e)
		}
	}
}

// fromPage reads a page's facts where they lie.
func fromPage(in *Input, takes []take) walk {
	k := facts[in.Table.Name]
	hides, single, leads := in.Stage.Hides && k.link, once(takes), in.leads
	var first *take
	if len(takes) > 0 && takes[0].column == 0 { // the page, the same for all
		first, takes = &takes[0], takes[1:]
	}
	return func(x *Part, e *env, next op) bool {
		f, found := x.facts, false
		if first != nil && !first.from(e, text(f.URL.String())) {
			return false
		}
	rows:
		for i := range k.n(f) {
			if k.link && (f.Links[i].Kind != k.kind || hides && hidden(f, &f.Links[i])) {
				continue
			}
			for j := range takes {
				if t := &takes[j]; !t.from(e, k.cell(f, i, t.column)) {
					continue rows
				}
			}
			if leads {
				e.link = k.lead(f, i)
			}
			found = true
			next(x, e)
			if single {
				break
			}
		}
		return found
	}
}

// isTargets says that an input asks for what most rules ask for: where the links of
// a page lead.
func isTargets(in *Input, takes []take) bool {
	return facts[in.Table.Name].link && len(takes) == 2 && takes[0].column == 0 && takes[1].column == 1 && !once(takes[1:])
}

// targets is fromPage for these. Sieves that look at nothing but the link come
// first, each for all links of the page at a time, which takes a sixth less than
// going from sieve to sieve with each link.
func targets(in *Input, takes []take) maker {
	k := facts[in.Table.Name]
	hides, leads, first, slot := in.Stage.Hides, in.leads, &takes[0], takes[1].slot
	return func(pass []sieve, next op) op {
		n := 0
		for n < len(pass) && pass[n].ofLink(slot) {
			n++
		}
		picks, pass := pass[:n], pass[n:]
		return func(x *Part, e *env) {
			f := x.facts
			if !first.from(e, text(f.URL.String())) {
				return
			}
			from := len(x.picked) // before it are those of links that this one is joined to
			for i := range k.n(f) {
				if l := &f.Links[i]; l.Kind == k.kind && !(hides && hidden(f, l)) {
					x.picked = append(x.picked, int32(i))
				}
			}
			for i := range picks {
				x.picked = x.picked[:from+picks[i].pick(x, f.Links, x.picked[from:])]
			}
			to := &e.v[slot].S
		links:
			for i := from; i < len(x.picked); i++ {
				l := &f.Links[x.picked[i]]
				*to = l.URL.String()
				if leads {
					e.link = l
				}
				for i := range pass {
					if !pass[i].pass(x, e) {
						continue links
					}
				}
				next(x, e)
			}
			x.picked = x.picked[:from]
		}
	}
}

// given are the columns of an input whose values are known, and how to pack
// them.
type given struct {
	columns []int
	takes   []take
	types   []query.Type
}

// given finds the known ones among some columns.
func (l *line) given(picks []Column, types []query.Type, among []int) given {
	var g given
	for _, i := range among {
		c := picks[i]
		if c.Const != nil || c.Slot >= 0 && l.known[c.Slot] {
			g.columns = append(g.columns, i)
			g.takes = append(g.takes, take{slot: c.Slot, konst: c.Const})
			g.types = append(g.types, types[i])
		}
	}
	return g
}

func (t *take) value(e *env) query.Value {
	if t.konst != nil {
		return *t.konst
	}
	return e.v[t.slot]
}

func (g *given) pack(b []byte, e *env) []byte {
	for i := range g.takes {
		b = appendValue(b, g.types[i], g.takes[i].value(e))
	}
	return b
}

// lookup finds the rows of a table in memory that have some values.
type lookup struct {
	given
	hall   *hall // of an input
	store  *Store
	aisle  int
	memo   int  // of lookups by one text
	asks   bool // what is asked for is noted, since pages do not ask again
	always bool // also if it was found: another row, or a better one, may mean more
}

func (k *lookup) table(x *Part) *hall {
	if k.store != nil {
		return x.halls[k.store.ID]
	}
	return k.hall
}

// bare looks by one text.
func (k *lookup) bare(x *Part, key string) (*hall, []int) {
	t := k.table(x)
	rows, fresh := x.memos[k.memo].find(t, t.aisles[k.aisle], key)
	if fresh && k.asks && (k.always || len(rows) == 0) {
		x.turn(t, k.store, page.Sum(key))
	}
	return t, rows
}

func (k *lookup) rows(x *Part, e *env) (*hall, []int) {
	t := k.table(x)
	a := t.aisles[k.aisle]
	if a.bare {
		return k.bare(x, k.takes[0].value(e).S)
	}
	x.buf = k.pack(x.buf[:0], e)
	sum := page.Sum(x.buf)
	rows := find(a, x.buf, sum)
	if k.asks && (k.always || len(rows) == 0) {
		x.turn(t, k.store, sum)
	}
	return t, rows
}

// fromHall finds rows of a table in memory. If they give no slot a value, it is a
// sieve, and there is no walk.
func (l *line) fromHall(in *Input) (walk, sieve) {
	k := &lookup{asks: in.Source == FromSmall && in.Stage.Flows}
	var shape *hall
	if in.Source == FromSmall {
		k.store, shape = in.Store, in.Store.hall
	} else {
		k.hall = l.plan.files[in.Table.ID]
		shape = k.hall
	}
	var plain []int
	for i, lat := range shape.lattice {
		if lat == query.Each {
			plain = append(plain, i)
		}
	}
	k.given = l.given(in.Columns, shape.types, plain)
	k.aisle = shape.aisle(k.columns, k.asks)
	k.always = len(k.columns) < len(shape.types)
	bare := shape.aisles[k.aisle].bare
	if bare {
		k.memo = l.plan.memos
		l.plan.memos++
	}
	takes := l.takes(in.Columns, k.columns)
	switch {
	case len(takes) == 0 && bare && k.takes[0].konst == nil:
		return nil, sieve{how: inHall, slot: k.takes[0].slot, hall: k}
	case once(takes):
		return nil, called(func(x *Part, e *env) bool {
			t, rows := k.rows(x, e)
			return slices.ContainsFunc(rows, func(i int) bool { return fits(takes, e, t.rows[i]) })
		})
	}
	return func(x *Part, e *env, next op) bool {
		t, rows := k.rows(x, e)
		found := false
		for _, i := range rows {
			if fits(takes, e, t.rows[i]) {
				found = true
				next(x, e)
			}
		}
		return found
	}, sieve{}
}

// fits says that a row agrees with the values so far, and gives slots theirs.
func fits(takes []take, e *env, row Row) bool {
	for i := range takes {
		if t := &takes[i]; !t.from(e, row[t.column]) {
			return false
		}
	}
	return true
}

// fields reads packed columns.
type fields []field

type field struct {
	kind query.Type
	take *take // nil: the column is skipped
}

func newFields(st *Store, columns []int, takes []take) fields {
	var fs fields
	for _, c := range columns {
		f := field{kind: st.Types[c]}
		if i := slices.IndexFunc(takes, func(t take) bool { return t.column == c }); i >= 0 {
			f.take = &takes[i]
		}
		fs = append(fs, f)
	}
	for len(fs) > 0 && fs[len(fs)-1].take == nil {
		fs = fs[:len(fs)-1]
	}
	return fs
}

func (fs fields) read(e *env, s string) bool {
	for i := range fs {
		var v query.Value
		v, s, _ = cutValue(s, fs[i].kind)
		if t := fs[i].take; t != nil && !t.from(e, v) {
			return false
		}
	}
	return true
}

func (fs fields) readHalves(e *env, k halves) bool {
	s := k.head
	for i := range fs {
		if s == "" {
			s = k.rest
		}
		var v query.Value
		v, s, _ = cutValue(s, fs[i].kind)
		if t := fs[i].take; t != nil && !t.from(e, v) {
			return false
		}
	}
	return true
}

// ordered makes sure that a slot is known only behind the column that gives it
// its value, in the order in which columns are read.
func (l *line) ordered(picks []Column, order []int) []take {
	var list []take
	for _, c := range order {
		for _, t := range l.takes([]Column{picks[c]}, nil) {
			t.column = c
			list = append(list, t)
		}
	}
	return list
}

// fromStore finds rows of a store: one, or those of a path.
func (l *line) fromStore(in *Input) walk {
	st, picks := in.Store, in.picks()
	g := l.given(picks, st.Types, st.keys)
	if len(g.columns) == len(st.keys) {
		path := st.Paths[0]
		lats := newFields(st, st.lats, l.ordered(picks, st.lats))
		return func(x *Part, e *env, next op) bool {
			x.buf = g.pack(x.buf[:0], e)
			value, ok := x.db.get(path, x.buf)
			if !ok || !lats.read(e, value) {
				return false
			}
			next(x, e)
			return true
		}
	}
	path := st.Paths[0]
	if len(g.columns) > 0 {
		path = l.plan.path(st, g.columns)
	}
	rest := path.Columns[len(g.columns):]
	takes := l.ordered(picks, slices.Concat(rest, st.lats))
	keys, lats, single := newFields(st, rest, takes), newFields(st, st.lats, takes), once(takes)
	read := func(e *env, key, value string) bool { return keys.read(e, key) && lats.read(e, value) }
	return func(x *Part, e *env, next op) bool {
		x.buf = g.pack(x.buf[:0], e)
		if x.mem == nil || len(x.buf) == 0 {
			return x.scan(path, e, read, next, single)
		}
		found := false
		s := x.mem.at(path.ID)
		for i := s.first(x.buf); i >= 0; i = s.next(i) {
			if read(e, s.text.at(s.row(i).rest), s.value(i)) {
				found = true
				next(x, e)
				if single {
					break
				}
			}
		}
		return found
	}
}

// scan walks over rows whose key begins with what is in buf, wherever they are
// kept.
func (x *Part) scan(path *Path, e *env, read func(e *env, key, value string) bool, next op, single bool) (found bool) {
	n := len(x.buf)
	x.db.scan(path, x.buf, func(key, value string) bool {
		if !read(e, key[n:], value) {
			return true
		}
		found = true
		next(x, e)
		return !single
	})
	return found
}

// arrive begins a stage with a new row of one of its inputs.
func (l *line) arrive(in *Input) func(next op) delta {
	st := in.Store
	takes := l.ordered(in.picks(), slices.Concat(st.keys, st.lats))
	keys, lats, rule := newFields(st, st.keys, takes), newFields(st, st.lats, takes), in.Stage.Rule.index
	return func(next op) delta {
		return func(x *Part, key halves, value string) {
			e := &x.envs[rule]
			if keys.readHalves(e, key) && lats.read(e, value) {
				next(x, e)
			}
		}
	}
}
