package flow

import (
	"cmp"
	"slices"
	"strings"

	"weir/query"
)

// folding works out one aggregate of one group. What it keeps does not grow with
// the rows, but for the best of a top.
type folding struct {
	pool  *Pool
	total total
	best  ranking
}

func (p *Pool) folding() folding {
	f := folding{pool: p, total: total{fold: p.Fold, of: p.of()}}
	if p.Fold == Top {
		f.best = ranking{most: int(p.Term.Args[0].Value.N), score: p.Term.Args[1].Type, what: p.Term.Args[2].Type}
	}
	return f
}

// add takes a row of the pool, without its group, and reports whether it could.
// Rows come once.
func (f *folding) add(row string) bool {
	switch f.pool.Fold {
	case Count:
		return f.total.add(query.Value{})
	case Top:
		_, row, _ = cutValue(row, query.Int) // how many, which is a constant
		score, row, _ := cutValue(row, f.best.score)
		what, _, _ := cutValue(row, f.best.what)
		f.best.add(score, what)
		return true
	}
	v, _, _ := cutValue(row, f.total.of)
	return f.total.add(v)
}

func (f *folding) reset() {
	f.total.reset()
	f.best.list = f.best.list[:0]
}

// ranked is a value and what it is ranked by.
type ranked struct{ score, what query.Value }

// ranking keeps the best of what it is given: a heap, the worst of them first.
type ranking struct {
	most  int // how many it keeps
	score query.Type
	what  query.Type
	list  []ranked
}

// compare puts better ones first; of equal scores that is the lesser value.
func (r *ranking) compare(a, b ranked) int {
	return cmp.Or(compare(r.score, b.score, a.score), compare(r.what, a.what, b.what))
}

func (r *ranking) add(score, what query.Value) {
	e := ranked{score, what}
	full := len(r.list) == r.most
	if full && (r.most == 0 || r.compare(e, r.list[0]) >= 0) {
		return
	}
	e.score.S, e.what.S = strings.Clone(score.S), strings.Clone(what.S)
	if full {
		r.sink(e)
		return
	}
	r.list = append(r.list, e)
	for i := len(r.list) - 1; i > 0; { // up, while it is worse than what is above
		up := (i - 1) / 2
		if r.compare(r.list[i], r.list[up]) < 0 {
			break
		}
		r.list[i], r.list[up] = r.list[up], r.list[i]
		i = up
	}
}

// sink puts e in the place of the worst.
func (r *ranking) sink(e ranked) {
	i := 0
	for {
		down := 2*i + 1
		if down >= len(r.list) {
			break
		}
		if down+1 < len(r.list) && r.compare(r.list[down+1], r.list[down]) > 0 {
			down++
		}
		if r.compare(e, r.list[down]) >= 0 {
			break
		}
		r.list[i] = r.list[down]
		i = down
	}
	r.list[i] = e
}

// sorted returns what it has kept, the best first. It cannot be added to then.
func (r *ranking) sorted() []ranked {
	slices.SortFunc(r.list, r.compare)
	return r.list
}

// scanner walks over the rows of a pool whose group begins with prefix, in order.
type scanner func(p *Pool, prefix []byte, fn func(row string))

// groups works out the rows of a rule with aggregates, group by group.
type groups struct {
	part  *Part
	rule  *Rule
	scan  scanner
	folds []folding // by Rule.Pools
	group []byte    // packed; there is none if it is nil
	row   Row
}

// fold derives the rows of all groups of a rule that begin with prefix.
func (x *Part) fold(r *Rule, prefix []byte, scan scanner) {
	f := groups{part: x, rule: r, scan: scan, row: make(Row, r.Head.Arity())}
	for _, p := range r.Pools {
		f.folds = append(f.folds, p.folding())
	}
	first := &f.folds[0]
	scan(first.pool, prefix, func(row string) {
		n := first.pool.cut(row)
		if f.group == nil || string(f.group) != row[:n] {
			f.close()
			f.group = append(f.group[:0], row[:n]...)
			if f.group == nil { // the only group there is
				f.group = []byte{}
			}
		}
		f.take(first, row[n:])
	})
	f.close()
}

// take adds a row to one of the aggregates. One that cannot be added is dropped.
func (f *groups) take(to *folding, row string) {
	if !to.add(row) {
		f.part.drops[f.rule.index]++
	}
}

// close ends a group: the other aggregates are worked out, and its row is
// derived, unless one of them has no value.
func (f *groups) close() {
	if f.group == nil {
		return
	}
	defer func() {
		for i := range f.folds {
			f.folds[i].reset()
		}
	}()
	if p := f.folds[0].pool; p.Fold == Top && p.Store != nil && p.place(string(f.group), f.part) != f.part.id {
		return // its best were sent to where it lives
	}
	for i := range f.folds[1:] {
		other := &f.folds[i+1]
		f.scan(other.pool, f.group, func(row string) { f.take(other, row[len(f.group):]) })
	}
	rest, pool := string(f.group), f.folds[0].pool
	for i, c := range pool.Group {
		f.row[c], rest, _ = cutValue(rest, pool.Types[i])
	}
	if f.values() {
		f.tell()
	} else {
		f.part.drops[f.rule.index]++
	}
}

// values puts the results into the row, and reports whether all have one.
func (f *groups) values() bool {
	for i := range f.folds {
		p := f.folds[i].pool
		if p.Fold == Top {
			continue
		}
		v, ok := f.folds[i].total.value()
		if !ok {
			return false
		}
		f.row[p.Column] = widen(v, p.result(), f.rule.Head.Types[p.Column])
	}
	return true
}

// tell derives the row, or those of a top.
func (f *groups) tell() {
	last := &f.folds[len(f.folds)-1]
	if last.pool.Fold != Top {
		f.part.derived(f.rule, f.row)
		return
	}
	types, c := f.rule.Head.Types, last.pool.Column
	for i, e := range last.best.sorted() {
		f.row[c] = number(int64(i + 1))
		f.row[c+1] = widen(e.score, last.best.score, types[c+1])
		f.row[c+2] = widen(e.what, last.best.what, types[c+2])
		f.part.derived(f.rule, f.row)
	}
}

// widen makes an int a float where a float is asked for.
func widen(v query.Value, from, to query.Type) query.Value {
	if from == query.Int && to == query.Float {
		return query.FloatValue(float64(v.N))
	}
	return v
}
