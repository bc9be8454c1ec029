package flow

import (
	"weir/page"
	"weir/query"
)

// Share makes a Part, which has taken nothing yet, that of a node which owns some of
// so many partitions, now these and then others. A row that lives in a partition it
// owns is taken at once, and sent as well; any other is only sent. So are the rows
// found on pages, and the rows of small tables, of stop and of wait, which go
// Everywhere. Whoever owns a partition next has what its owners had, once it has
// taken all that was sent there, in order, and everywhere: what follows from that it
// finds out itself.
//
// Of partitions that it has lost a Part keeps what it knew. That is never wrong, as
// rows are only added, and what it finds out from it is known elsewhere already.
//
// All nodes must be told of all seeds and inputs: what follows from these alone is
// not sent.
func (x *Part) Share(of int, owns func(part int) bool) {
	x.of, x.owns = of, owns
	// Who takes the facts of a page one by one must know of those that rules want
	// absent before the others lead to anything.
	x.keeps = x.plan.deniedFirst(x.keeps)
}

// deniedFirst returns stores with those before the others that rules want rows
// absent of.
func (p *Plan) deniedFirst(stores []*Store) []*Store {
	denied := make([]bool, len(p.Stores))
	for _, s := range p.Stages {
		for _, in := range s.Absent {
			if in.Store != nil {
				denied[in.Store.ID] = true
			}
		}
	}
	var first, others []*Store
	for _, st := range stores {
		if denied[st.ID] {
			first = append(first, st)
		} else {
			others = append(others, st)
		}
	}
	return append(first, others...)
}

// mine says that a partition is this Part's.
func (x *Part) mine(part int) bool {
	if x.owns != nil {
		return x.owns(part)
	}
	return part == x.id
}

// uses says that rows which are everywhere, and live in a partition, are to be read
// here as well. A shared Part may own that partition later, and reads them all.
func (x *Part) uses(part int) bool { return x.owns != nil || part == x.id }

// find says where the rows live that are found on a page.
func (x *Part) find(f *page.Facts) {
	if x.owns != nil {
		x.found = x.home(query.URL, text(f.URL.String()))
	}
}

// lodge takes the row in key and val, which lives where it was found. The facts of
// the page that it was found on are nowhere else.
func (x *Part) lodge(st *Store) {
	if x.land(st, x.key, x.val) && x.found >= 0 {
		x.send(st, x.found)
	}
}

// share brings the row in key and val to a partition of a crawl that is shared.
func (x *Part) share(st *Store, to int) {
	switch {
	case x.given:
		x.land(st, x.key, x.val)
	case to == Everywhere:
		if x.land(st, x.key, x.val) {
			x.send(st, to)
		}
	case x.owns(to) || x.facts != nil && x.facts.Outcome == page.Redirected:
		// Where a redirect leads is found out with its page, which knows how many came
		// before it, though that partition may not be this Part's.
		if x.land(st, x.key, x.val) || !x.owns(to) {
			x.send(st, to)
		}
	default:
		x.send(st, to)
	}
}

// rules says that the rows of a store mean something to every node.
func (st *Store) rules() bool {
	return st.Table != nil && (st.Table.Name == "stop" || st.Table.Name == "wait")
}

// alone says that nothing but rows of one store, and what is everywhere anyway, leads
// to what a stage finds.
func (in *Input) alone() bool {
	for _, o := range in.Stage.Inputs {
		if o != in && o.Source == FromStore {
			return false
		}
	}
	return len(in.Stage.Absent) == 0
}
