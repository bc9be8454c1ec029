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
	o := &ordering{rule: r, depthSlot: -1, prioritySlot: -1}
	if len(args) > 1 {
		o.depth = w.int(args[1])
		if a := args[1]; a.Op == query.Add && a.Args[0].Op == query.Var && a.Args[1].Op == query.Const {
			o.depthSlot, o.deeper = r.slot(a.Args[0]), a.Args[1].Value.N
		}
	}
	if len(args) > 2 {
		o.priority = w.float(args[2])
		if a := args[2]; a.Op == query.Var && a.Type == query.Float {
			o.prioritySlot = r.slot(a)
		}
	}
	o.fails = w.fails
	url := w.text(args[0])
	via := ByRule
	for _, in := range s.Inputs {
		switch {
		case args[0].Op != query.Var:
		case in.Source == FromPage:
			k := facts[in.Table.Name]
			if t := k.target(); t >= 0 && in.Columns[t].Slot == r.slot(args[0]) {
				in.leads = true
				o.lead = k
				return o.ask
			}
		case in.Table != nil && in.Table.Kind == query.SeedFact && in.Columns[0].Slot == r.slot(args[0]):
			via = BySeed
		}
	}
	o.url, o.via = url, via
	return o.ask
}

// ordering makes orders. What a link's order mostly is made of is not called for
// but written out: a depth that is another one's and some more, a priority that is
// passed on.
type ordering struct {
	rule         *Rule
	lead         *fact // the link that is looked at is where it leads to, or
	url          textExpr
	via          Via
	depth        intExpr // nil: there is none
	depthSlot    int     // -1: depth is to be called
	deeper       int64
	priority     floatExpr
	prioritySlot int
	fails        bool
}

func (a *ordering) ask(x *Part, e *env) {
	list := x.out.Crawl
	n := len(list)
	if n == cap(list) {
		list = slices.Grow(list, n+1)
	}
	list = list[:n+1]
	o := &list[n] // an old one, perhaps: all of it is written
	if a.lead != nil {
		o.URL, o.Link, o.Via = e.link.URL, e.link, a.lead.way(e.link)
	} else {
		o.URL, o.Link, o.Via = page.Canonical(a.url(e)), nil, a.via
	}
	o.Depth, o.Priority, o.Rule = -1, 0, a.rule.ID
	switch {
	case a.depthSlot >= 0:
		was := e.v[a.depthSlot].N
		o.Depth = was + a.deeper
		if (o.Depth > was) != (a.deeper > 0) && a.deeper != 0 {
			e.failed = true
		}
	case a.depth != nil:
		o.Depth = a.depth(e)
	}
	switch {
	case a.prioritySlot >= 0:
		o.Priority = e.v[a.prioritySlot].Float()
	case a.priority != nil:
		o.Priority = a.priority(e)
	}
	if (!a.fails || x.sound(e, a.rule.index)) && !o.URL.IsZero() {
		x.out.Crawl = list
	}
}
