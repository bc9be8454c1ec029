package flow

import (
	"slices"

	"weir/query"
)

// op is a piece of a compiled stage: it does its work on the values so far, and
// calls the next piece for every result.
type op func(x *Part, e *env)

// delta is what a stage does with a new row of one of its inputs.
type delta func(x *Part, key halves, value string)

// maker puts a piece before the next one. What it finds goes on if it passes the
// sieves.
type maker func(pass []sieve, next op) op

// piece is a maker and the sieves behind it.
type piece struct {
	make maker
	pass []sieve
}

// line orders the pieces of a stage for one occasion: a row of one input has
// come, or a page. What costs least comes first, and nothing before the values it
// needs: so conditions on the page are decided before its links are looked at,
// and patterns are tried last.
type line struct {
	plan   *Plan
	stage  *Stage
	known  []bool // slots with values
	conds  []*Cond
	inputs []*Input
	absent []*Input
	lead   int // see writer
	pieces []piece
	err    error
}

// link compiles a stage.
func (p *Plan) link(s *Stage) error {
	end, err := p.emit(s)
	if err != nil {
		return err
	}
	if s.late != nil {
		end = s.late.gate(end)
	}
	if s.Flows || !slices.ContainsFunc(s.Inputs, func(in *Input) bool { return in.Store != nil }) {
		s.run, err = p.line(s, nil).join(end)
		return err
	}
	for _, in := range s.Inputs {
		if in.Store == nil {
			continue
		}
		l := p.line(s, in)
		begin := l.arrive(in)
		next, err := l.join(end)
		if err != nil {
			return err
		}
		in.on = begin(next)
	}
	return nil
}

// linkKept compiles what a page's facts have to pass to be kept.
func (p *Plan) linkKept(st *Store) (err error) {
	in := st.picks
	l := p.line(in.Stage, nil)
	l.conds, l.inputs, l.absent = slices.Clone(st.own), nil, nil
	rows := fromPage(in, l.takes(in.Columns, nil))
	next, err := l.join(func(x *Part, e *env) {
		x.key = x.key[:0]
		for i, c := range st.Columns {
			t := take{slot: in.Columns[c].Slot, konst: in.Columns[c].Const}
			x.key = appendValue(x.key, st.Types[i], t.value(e))
		}
		x.val = x.val[:0]
		x.lodge(st)
	})
	st.keep = func(x *Part, e *env) { rows(x, e, next) }
	return err
}

func (p *Plan) line(s *Stage, trigger *Input) *line {
	conds := slices.Clone(s.Conds)
	for _, in := range s.Inputs { // what is kept has passed these
		if in.Store != nil && in.Store.keep != nil {
			conds = slices.DeleteFunc(conds, in.decides)
		}
	}
	return &line{
		plan: p, stage: s, lead: -1, known: make([]bool, len(s.Rule.Vars)), conds: conds, absent: slices.Clone(s.Absent),
		inputs: slices.DeleteFunc(slices.Clone(s.Inputs), func(in *Input) bool { return in == trigger }),
	}
}

// join lines up all that is left and ends it with an op.
func (l *line) join(end op) (op, error) {
	for l.cheapest() {
	}
	for _, p := range slices.Backward(l.pieces) {
		end = p.make(p.pass, end)
	}
	return end, l.err
}

func (l *line) put(m maker) { l.pieces = append(l.pieces, piece{make: m}) }

// sieve lines up a sieve: the piece before it sifts what it finds.
func (l *line) sieve(s sieve) {
	if len(l.pieces) == 0 {
		l.put(sift)
	}
	last := &l.pieces[len(l.pieces)-1]
	if n := len(last.pass); n > 0 && s.how == inHall && last.pass[n-1].how == setHost && last.pass[n-1].slot == s.slot && l.stage.Rule.Vars[s.slot].Name == "" {
		s.how, last.pass = hostInHall, last.pass[:n-1] // it has no name, so nobody else asks for it
	}
	last.pass = append(last.pass, s)
}

// cheapest lines up the piece that costs least of those whose values are known,
// if any are left.
func (l *line) cheapest() bool {
	const dear = 1 << 40
	best, do := dear, func() {}
	offer := func(cost int, f func()) {
		if cost < best {
			best, do = cost, f
		}
	}
	for i, c := range l.conds {
		if slot, ok := l.ready(c); ok {
			offer(cost(c.Literal), func() {
				l.conds = slices.Delete(l.conds, i, i+1)
				l.cond(c, slot)
			})
		}
	}
	for i, in := range l.absent {
		if !slices.ContainsFunc(in.Columns, func(c Column) bool { return c.Slot >= 0 && !l.known[c.Slot] }) {
			offer(l.price(in), func() {
				l.absent = slices.Delete(l.absent, i, i+1)
				l.absence(in)
			})
		}
	}
	for i, in := range l.inputs {
		offer(l.price(in), func() {
			l.inputs = slices.Delete(l.inputs, i, i+1)
			l.rows(in)
		})
	}
	do()
	return best < dear
}

// ready says whether a condition can be decided, or, if slot is not negative,
// gives it a value.
func (l *line) ready(c *Cond) (slot int, ok bool) {
	slot = -1
	for _, v := range c.vars {
		if l.known[v] {
			continue
		}
		if slot >= 0 || l.stage.Rule.side(c, v) == nil {
			return -1, false
		}
		slot = v
	}
	return slot, true
}

// price estimates what it takes to go through an input's rows, and whatever
// follows from each.
func (l *line) price(in *Input) int {
	known, open := 0, 0
	for _, c := range in.Columns {
		switch {
		case c.Const != nil || c.Slot >= 0 && l.known[c.Slot]:
			known++
		case c.Slot >= 0:
			open++
		}
	}
	switch in.Source {
	case FromCrawl:
		return 1
	case FromPage:
		return 10*facts[in.Table.Name].many - known
	case FromFile, FromSmall:
		switch {
		case open == 0:
			return costFind
		case known > 0:
			return 10 * costFind
		}
		return 1000 * costFind
	}
	keys, given := 0, 0
	for _, c := range in.picksKeys() {
		keys++
		if c.Const != nil || c.Slot >= 0 && l.known[c.Slot] {
			given++
		}
	}
	switch given {
	case keys:
		return 300
	case 0:
		return 1 << 30
	}
	return 10000 - 100*given
}

// picks returns what the columns of an input's store have to be.
func (in *Input) picks() []Column {
	if in.Store == nil || in.Store.Table == nil {
		return in.Columns
	}
	var picked []Column
	for _, c := range in.Store.Columns {
		picked = append(picked, in.Columns[c])
	}
	return picked
}

func (in *Input) picksKeys() []Column {
	all := in.picks()
	var keys []Column
	for _, c := range in.Store.keys {
		keys = append(keys, all[c])
	}
	return keys
}

// slot returns where a rule keeps a variable's value.
func (r *Rule) slot(t *query.Term) int { return r.slots[t.Name] }

// cond lines up a condition, or the value of a slot.
func (l *line) cond(c *Cond, slot int) {
	w := &writer{slot: l.stage.Rule.slot, lead: l.lead}
	rule := l.stage.Rule.index
	if slot >= 0 {
		l.known[slot] = true
		side := l.stage.Rule.side(c, slot)
		if w.leadsHost(side) {
			l.sieve(sieve{how: setHost, slot: slot})
			return
		}
		f := w.value(side, l.stage.Rule.Vars[slot].Type)
		fails := w.fails
		l.sieve(called(func(x *Part, e *env) bool {
			e.v[slot] = f(e)
			return !fails || x.sound(e, rule)
		}))
		return
	}
	f, err := w.cond(c.Literal)
	if err != nil {
		l.err = err
		return
	}
	if !w.fails {
		l.sieve(f)
		return
	}
	l.sieve(called(func(x *Part, e *env) bool {
		ok := f.pass(x, e)
		return x.sound(e, rule) && ok
	}))
}

// take is what is done with one column of a row: its value is compared to a
// constant or to the value of a slot, or becomes that.
type take struct {
	column int
	slot   int
	known  bool
	konst  *query.Value
}

func (t *take) from(e *env, v query.Value) bool {
	switch {
	case t.konst != nil:
		return v == *t.konst
	case t.known:
		return v == e.v[t.slot]
	}
	e.v[t.slot] = v
	return true
}

// takes says what to do with the columns of a row but those that are given, and
// makes their slots known.
func (l *line) takes(columns []Column, given []int) []take {
	var list []take
	for i, c := range columns {
		if slices.Contains(given, i) || c.Const == nil && c.Slot < 0 {
			continue
		}
		t := take{column: i, slot: c.Slot, konst: c.Const}
		if c.Const == nil {
			t.known = l.known[c.Slot]
			l.known[c.Slot] = true
		}
		list = append(list, t)
	}
	return list
}

// once says that rows give no slot a value: one is as good as many.
func once(takes []take) bool {
	return !slices.ContainsFunc(takes, func(t take) bool { return t.konst == nil && !t.known })
}
