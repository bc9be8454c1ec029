package flow

import (
	"fmt"
	"slices"

	"weir/query"
)

// store numbers a store and finds its key.
func (p *Plan) store(st *Store) *Store {
	st.ID = uint32(len(p.Stores))
	if st.Lattice == nil {
		st.Lattice = make([]query.Lattice, len(st.Types))
	}
	for i, l := range st.Lattice {
		if l == query.Each {
			st.keys = append(st.keys, i)
		} else {
			st.lats = append(st.lats, i)
		}
	}
	st.point = len(st.lats) == 0
	if st.Small {
		st.hall = newHall(st.Types, st.Lattice)
	}
	p.Stores = append(p.Stores, st)
	p.addPath(st, st.keys, 0)
	return st
}

func (p *Plan) addPath(st *Store, columns []int, prefix int) *Path {
	path := &Path{ID: uint16(p.paths), Columns: columns, Prefix: prefix}
	p.paths++
	st.Paths = append(st.Paths, path)
	return path
}

// path returns a path of a store that begins with the columns.
func (p *Plan) path(st *Store, columns []int) *Path {
	n := len(columns)
	for i, path := range st.Paths {
		if (path.Prefix == n || i == 0 && path.Prefix == 0) && slices.Equal(path.Columns[:n], columns) {
			path.Prefix = n
			return path
		}
	}
	order := slices.Clone(columns)
	for _, c := range st.keys {
		if !slices.Contains(columns, c) {
			order = append(order, c)
		}
	}
	return p.addPath(st, order, n)
}

// table returns the store of a table that is not a page's fact.
func (p *Plan) table(t *query.Table) *Store {
	if p.tables[t.ID] == nil {
		st := &Store{Table: t, Types: t.Types, Lattice: t.Lattice, Small: t.Small}
		for i := range t.Types {
			st.Columns = append(st.Columns, i)
		}
		p.tables[t.ID] = p.store(st)
	}
	return p.tables[t.ID]
}

// kept returns the store of a page fact that an input waits for: of the columns
// that it looks at, in rows that can matter to it.
func (p *Plan) kept(in *Input) *Store {
	st := &Store{Table: in.Table, Hides: in.Stage.Hides && isLink(in)}
	where := map[int]int{} // the columns of slots
	for i, c := range in.Columns {
		switch {
		case c.Slot >= 0:
			if first, twice := where[c.Slot]; twice {
				st.where += fmt.Sprintf("%d=%d;", i, first)
				continue
			}
			where[c.Slot] = i
		case c.Const != nil:
			st.where += fmt.Sprintf("%d is %q/%d;", i, c.Const.S, c.Const.N)
		}
		if i == 0 || c.Slot >= 0 {
			st.Columns = append(st.Columns, i)
			st.Types = append(st.Types, in.Table.Types[i])
		}
	}
	var own []*Cond
	for _, c := range in.Stage.Conds {
		if !in.decides(c) {
			continue
		}
		own = append(own, c)
		st.where += c.Literal.String()
		for _, v := range c.vars {
			st.where += fmt.Sprintf(" %s at %d", in.Stage.Rule.name(v), where[v])
		}
	}
	for _, o := range p.Stores {
		if o.Table == st.Table && o.Hides == st.Hides && slices.Equal(o.Columns, st.Columns) && o.where == st.where {
			return o
		}
	}
	st.picks, st.own = in, own
	return p.store(st)
}

// decides says that the rows of an input alone decide a condition.
func (in *Input) decides(c *Cond) bool {
	return c.Slot < 0 && len(c.vars) > 0 && slices.Contains(in.Stage.Inputs, in) && !slices.ContainsFunc(c.vars, func(v int) bool {
		return !slices.ContainsFunc(in.Columns, func(k Column) bool { return k.Slot == v })
	})
}
