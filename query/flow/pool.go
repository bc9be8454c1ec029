package flow

import (
	"math"
	"slices"
	"strings"

	"weir/page"
	"weir/query"
)

// pools prepares what the aggregates of a rule gather.
func (p *Plan) pools(r *Rule) {
	var group []int
	var terms []*query.Term
	var types []query.Type
	column := 0
	for _, t := range r.Rule.Head.Args {
		if t.Op == query.Aggregate {
			r.Pools = append(r.Pools, &Pool{Rule: r, Fold: foldOf(t.Name), Term: t, Column: column})
			column += query.AggregateNamed(t.Name).Columns
			continue
		}
		group, terms, types = append(group, column), append(terms, t), append(types, r.Head.Types[column])
		column++
	}
	home := 0
	if i := slices.Index(group, r.Head.Step); i > 0 && r.Class == query.Final {
		// Rows of a round are worked out together, so they lie together.
		group, terms, types = first(group, i), first(terms, i), first(types, i)
		home = 1
	}
	for _, pool := range r.Pools {
		pool.Group, pool.terms, pool.Types, pool.home = group, terms, slices.Clone(types), home
		for _, a := range pool.Term.Args {
			pool.Types = append(pool.Types, a.Type)
		}
		if pool.solutions() {
			pool.name()
		}
		p.room(pool)
	}
}

// name adds the named variables to what the pool tells apart, but for those that
// are columns of it anyway.
func (p *Pool) name() {
	for slot, v := range p.Rule.Vars {
		is := func(t *query.Term) bool { return t.Op == query.Var && p.Rule.slot(t) == slot }
		if v.Name != "" && !slices.ContainsFunc(p.terms, is) && !slices.ContainsFunc(p.Term.Args, is) {
			p.named = append(p.named, slot)
			p.Types = append(p.Types, v.Type)
		}
	}
}

// first returns list with its i-th element before the others.
func first[T any](list []T, i int) []T { return slices.Concat(list[i:i+1], list[:i], list[i+1:]) }

// room gives a pool its stores.
func (p *Plan) room(pool *Pool) {
	r := pool.Rule
	if r.Class == query.Sealed {
		pool.slot = p.seals
		p.seals++
		return
	}
	pool.Store = p.store(&Store{Types: pool.Types, Pool: pool})
	n := len(pool.Group)
	if r.Class == query.Growing {
		pool.Store.Paths[0].group = n
	}
	switch {
	case r.Class != query.Growing:
	case p.selfsame(pool):
		pool.Totals = p.table(r.Head)
	default:
		totals := &Store{Sums: pool, Types: append(slices.Clone(pool.Types[:n]), pool.result()), Lattice: make([]query.Lattice, n+1)}
		totals.Lattice[n] = r.Head.Lattice[pool.Column]
		pool.Totals = p.store(totals)
	}
}

// selfsame says that the rows of the head are the totals of the pool: nothing
// else adds to them, and they live with their group.
func (p *Plan) selfsame(pool *Pool) bool {
	h := pool.Rule.Head
	if slices.ContainsFunc(pool.Group, func(c int) bool { return h.Lattice[c] != query.Each }) {
		return false
	}
	return len(h.Rules) == 1 && len(pool.Rule.Pools) == 1 && h.Name != "crawl" && !h.Small && pool.home == 0 &&
		len(pool.Group) > 0 && pool.Group[0] == 0 && pool.result() == h.Types[pool.Column]
}

// solutions says that the aggregate runs over distinct solutions, not over
// distinct values.
func (p *Pool) solutions() bool {
	return p.Fold == Sum || p.Fold == Avg || len(p.Term.Args) == 0
}

// of is the type of what is added up.
func (p *Pool) of() query.Type {
	if len(p.Term.Args) == 0 {
		return query.Int
	}
	return p.Term.Args[0].Type
}

// result is the type of what comes out, before the head makes a float of it.
func (p *Pool) result() query.Type {
	switch p.Fold {
	case Count:
		return query.Int
	case Avg:
		return query.Float
	}
	return p.of()
}

// cut returns how many bytes of a packed row are its group.
func (p *Pool) cut(row string) int {
	rest := row
	for i := range p.Group {
		_, rest, _ = cutValue(rest, p.Types[i])
	}
	return len(row) - len(rest)
}

// place returns the partition where a packed group lives.
func (p *Pool) place(group string, x *Part) int {
	if len(p.Group) == 0 {
		return 0
	}
	var v query.Value
	for i := range p.home + 1 {
		v, group, _ = cutValue(group, p.Types[i])
	}
	return x.home(p.Types[p.home], v)
}

// gather is the end of a rule with aggregates: it makes a row for each of them.
func (p *Plan) gather(r *Rule) op {
	var ops []op
	for _, pool := range r.Pools {
		ops = append(ops, p.contribute(pool))
	}
	if len(ops) == 1 {
		return ops[0]
	}
	return func(x *Part, e *env) {
		for _, op := range ops {
			op(x, e)
		}
	}
}

// contribute makes a row of what one aggregate runs over.
func (p *Plan) contribute(pool *Pool) op {
	r := pool.Rule
	w := &writer{slot: r.slot, lead: -1}
	columns := w.columns(slices.Concat(pool.terms, pool.Term.Args), pool.Types)
	for _, slot := range pool.named {
		columns = append(columns, func(e *env) query.Value { return e.v[slot] })
	}
	fails, types := w.fails, pool.Types
	// The best of a partition are enough: they are sent when all are known.
	stays := pool.Fold == Top
	return func(x *Part, e *env) {
		x.key, x.val = x.key[:0], x.val[:0]
		var home query.Value
		for i, c := range columns {
			v := c(e)
			if i == pool.home {
				home = v
			}
			x.key = appendValue(x.key, types[i], v)
		}
		switch {
		case fails && !x.sound(e, r.index):
		case pool.Store == nil:
			x.sealing[pool.slot] = append(x.sealing[pool.slot], x.text.text(x.key))
		case stays:
			x.lodge(pool.Store)
		case len(pool.Group) == 0:
			x.deliver(pool.Store, 0)
		default:
			x.deliver(pool.Store, x.home(types[pool.home], home))
		}
	}
}

// seal works out the sealed aggregates of the page that is delivered.
func (x *Part) seal() {
	for _, r := range x.plan.Rules {
		if r.Class != query.Sealed || len(x.sealing[r.Pools[0].slot]) == 0 {
			continue
		}
		for _, p := range r.Pools {
			rows := x.sealing[p.slot]
			slices.Sort(rows)
			x.sealing[p.slot] = slices.Compact(rows)
		}
		x.fold(r, nil, func(p *Pool, prefix []byte, fn func(row string)) {
			rows := x.sealing[p.slot]
			at, _ := slices.BinarySearch(rows, string(prefix))
			for _, row := range rows[at:] {
				if !strings.HasPrefix(row, string(prefix)) {
					break
				}
				fn(row)
			}
		})
		for _, p := range r.Pools {
			x.sealing[p.slot] = x.sealing[p.slot][:0]
		}
	}
}

// pooled takes a new row of a pool. Growing aggregates are brought up to date at
// once.
func (x *Part) pooled(p *Pool, key halves) {
	if p.Totals == nil {
		return
	}
	if key.rest == "" { // it was not kept in the groups' order
		n := p.cut(key.head)
		key = halves{head: key.head[:n], rest: key.head[n:]}
	}
	if t := p.Totals; p.Fold == Count && t.Sums == nil && len(t.Paths) == 1 && !t.point && x.mem != nil && key.group > 0 {
		x.counted(p, key)
		return
	}
	x.totalled(p, key)
}

// counted is totalled for a count in memory: the group itself knows how many rows
// it has, and where that is kept.
func (x *Part) counted(p *Pool, key halves) {
	totals := x.mem.at(p.Totals.Paths[0].ID)
	g := &x.mem.at(p.Store.Paths[0].ID).groups[key.group-1]
	if g.total == 0 {
		n := totals.n
		x.totalled(p, key)
		if totals.n > n { // it is new: what was there before is not known here
			g.count, g.total = 1, uint32(totals.n)
		}
		return
	}
	g.count++
	value := packedCount(g.count)
	totals.values[g.total-1] = value
	if x.owns != nil { // it may have to be sent
		x.key, x.val = append(x.key[:0], key.head...), append(x.val[:0], value...)
		x.tell(p.Totals, halves{head: key.head}, x.key, x.val)
	} else if !p.Totals.quiet {
		x.announce(p.Totals, halves{head: key.head}, value)
	}
}

// packedCounts are the packed numbers of one byte, one after another: most counts
// are among them, and take no room of their own.
var packedCounts = func() string {
	var b []byte
	for n := 1; n <= math.MaxUint8; n++ {
		b = appendInt(b, int64(n))
	}
	return string(b)
}()

// packedCount packs a number that is not 0.
func packedCount(n uint32) string {
	if n <= math.MaxUint8 {
		return packedCounts[2*n-2 : 2*n]
	}
	return string(appendInt(nil, int64(n)))
}

// totalled brings the total of a group up to date.
func (x *Part) totalled(p *Pool, key halves) {
	path := p.Totals.Paths[0]
	x.key = append(x.key[:0], key.head...)
	old, found := x.db.get(path, x.key)
	switch {
	case p.Fold == Count:
		v, _, _ := cutValue(old, query.Int) // 0 if there is none
		x.val = appendValue(x.val[:0], query.Int, number(v.N+1))
	case found:
		var better bool
		if x.val, better = p.Totals.better(x.val[:0], old, key.rest); !better {
			return
		}
	default: // the least or greatest of one
		x.val = append(x.val[:0], key.rest...)
	}
	switch {
	case p.Totals.Sums == nil: // the head itself
		x.land(p.Totals, x.key, x.val)
		return
	case found:
		x.db.set(path, x.key, 0, x.val)
	default:
		x.db.add(path, x.key, 0, x.val)
	}
	x.risen(p.Rule, key.head)
}

// risen derives the row of a growing aggregate's group, which is also in key, if
// all its columns have a value by now.
func (x *Part) risen(r *Rule, group string) {
	x.row = append(x.row[:0], make(Row, r.Head.Arity())...)
	for _, p := range r.Pools {
		value, ok := x.db.get(p.Totals.Paths[0], x.key)
		if !ok {
			return
		}
		v, _, _ := cutValue(value, p.result())
		x.row[p.Column] = widen(v, p.result(), r.Head.Types[p.Column])
	}
	for i, c := range r.Pools[0].Group {
		x.row[c], group, _ = cutValue(group, r.Pools[0].Types[i])
	}
	x.derived(r, x.row)
}

// derived takes a row that an aggregate has made to where it lives.
func (x *Part) derived(r *Rule, row Row) {
	st := x.plan.tables[r.Head.ID]
	switch {
	case r.Head.Name == "crawl":
		o := Order{URL: page.Canonical(row[0].S), Depth: -1, Rule: r.ID}
		if len(row) > 1 {
			o.Depth = row[1].N
		}
		if len(row) > 2 {
			o.Priority = row[2].Float()
		}
		if !o.URL.IsZero() {
			x.out.Crawl = append(x.out.Crawl, o)
		}
		return
	case st.Small:
		x.key, x.val = st.pack(x.key[:0], x.val[:0], row)
		x.spread(st)
		return
	}
	x.key, x.val = st.pack(x.key[:0], x.val[:0], row)
	if to := x.home(st.Types[0], row[0]); to != x.id || x.owns != nil {
		x.deliver(st, to)
	} else {
		x.land(st, x.key, x.val)
	}
}
