package flow

import (
	"slices"

	"weir/page"
	"weir/query"
)

// emit is the end of a stage: a row that is sent on, an order, or a row of the
// rule's head.
func (p *Plan) emit(s *Stage) (op, error) {
	r := s.Rule
	switch {
	case s.Sends != nil:
		return p.send(s), nil
	case len(r.Pools) > 0:
		return p.gather(r), nil
	case r.Head.Name == "crawl":
		return p.order(s), nil
	}
	return p.derive(r), nil
}

// send packs the values that go on to another stage.
func (p *Plan) send(s *Stage) op {
	st := s.Into
	return func(x *Part, e *env) {
		x.key = x.key[:0]
		for i, slot := range s.Sends {
			x.key = appendValue(x.key, st.Types[i], e.v[slot])
		}
		x.val = x.val[:0]
		x.deliver(st, x.home(st.Types[0], e.v[s.Sends[0]]))
	}
}

// columns compiles a head's terms.
func (w *writer) columns(terms []*query.Term, types []query.Type) []valueExpr {
	var list []valueExpr
	for i, t := range terms {
		list = append(list, w.value(t, types[i]))
	}
	return list
}

// derive makes a row of a table.
func (p *Plan) derive(r *Rule) op {
	w := &writer{slot: r.slot, lead: -1}
	st := p.table(r.Head)
	columns, fails := w.columns(r.Rule.Head.Args, st.Types), false
	fails = w.fails
	return func(x *Part, e *env) {
		x.key, x.val = x.key[:0], x.val[:0]
		var first query.Value
		for i, c := range st.keys {
			v := columns[c](e)
			if i == 0 {
				first = v
			}
			x.key = appendValue(x.key, st.Types[c], v)
		}
		for _, c := range st.lats {
			x.val = appendValue(x.val, st.Types[c], columns[c](e))
		}
		switch {
		case fails && !x.sound(e, r.index):
		case st.Small:
			x.spread(st)
		case r.Ships:
			x.deliver(st, x.home(st.Types[0], first))
		default:
			x.lodge(st)
		}
	}
}

// order asks for a page.
func (p *Plan) order(s *Stage) op {
	r := s.Rule
	w := &writer{slot: r.slot, lead: -1}
	args := r.Rule.Head.Args
	var depth intExpr
	var priority floatExpr
	if len(args) > 1 {
		depth = w.int(args[1])
	}
	if len(args) > 2 {
		priority = w.float(args[2])
	}
	url := w.text(args[0])
	via := ByRule
	for _, in := range s.Inputs {
		switch {
		case args[0].Op != query.Var:
		case in.Source == FromPage:
			k := facts[in.Table.Name]
			if t := k.target(); t >= 0 && in.Columns[t].Slot == r.slot(args[0]) {
				in.leads = true
				return asked(r, w.fails, depth, priority, func(e *env, o *Order) {
					o.URL, o.Link, o.Via = e.link.URL, e.link, k.way(e.link)
				})
			}
		case in.Table != nil && in.Table.Kind == query.SeedFact && in.Columns[0].Slot == r.slot(args[0]):
			via = BySeed
		}
	}
	return asked(r, w.fails, depth, priority, func(e *env, o *Order) {
		o.URL, o.Link, o.Via = page.Canonical(url(e)), nil, via
	})
}

func asked(r *Rule, fails bool, depth intExpr, priority floatExpr, place func(e *env, o *Order)) op {
	id := r.ID
	return func(x *Part, e *env) {
		list := x.out.Crawl
		n := len(list)
		if n == cap(list) {
			list = slices.Grow(list, n+1)
		}
		list = list[:n+1]
		o := &list[n] // an old one, perhaps: all of it is written
		place(e, o)
		o.Depth, o.Priority, o.Rule = -1, 0, id
		if depth != nil {
			o.Depth = depth(e)
		}
		if priority != nil {
			o.Priority = priority(e)
		}
		if (!fails || x.sound(e, r.index)) && !o.URL.IsZero() {
			x.out.Crawl = list
		}
	}
}
