package flow

import (
	"cmp"
	"strings"

	"weir/query"
)

// Fold is what an aggregate does to the distinct solutions of a group.
type Fold uint8

// Folds.
const (
	Count Fold = iota // how many there are
	Sum               // of ints an int, of floats a float
	Avg               // the sum, rounded, by the count: a float
	Least
	Most
	Top // the best k, as rows
)

var folds = [...]string{"count", "sum", "avg", "min", "max", "top"}

func (f Fold) String() string { return folds[f] }

// foldOf returns the fold that an aggregate's name stands for.
func foldOf(name string) Fold {
	for i, s := range folds {
		if s == name {
			return Fold(i)
		}
	}
	panic("flow: no aggregate is called " + name)
}

// total folds one group's solutions, one at a time, each once. Their order does
// not change the result in any digit.
type total struct {
	fold Fold
	of   query.Type // of what is added
	n    int64
	sum  fixed
	best query.Value
}

// add takes a solution's value, and reports whether it could: a term of a sum may
// be too large.
func (t *total) add(v query.Value) bool {
	switch t.fold {
	case Sum, Avg:
		if t.of != query.Float {
			t.sum.addInt(v.N)
		} else if !t.sum.addFloat(v.Float()) {
			return false
		}
	case Least:
		if t.n == 0 || compare(t.of, v, t.best) < 0 {
			t.best = query.Value{S: strings.Clone(v.S), N: v.N}
		}
	case Most:
		if t.n == 0 || compare(t.of, v, t.best) > 0 {
			t.best = query.Value{S: strings.Clone(v.S), N: v.N}
		}
	}
	t.n++
	return true
}

// value returns the result, and whether there is one: there is none of no
// solutions, and a sum may be too large.
func (t *total) value() (query.Value, bool) {
	if t.n == 0 {
		return query.Value{}, false
	}
	switch t.fold {
	case Count:
		return query.Value{N: t.n}, true
	case Sum:
		if t.of != query.Float {
			n, ok := t.sum.int()
			return query.Value{N: n}, ok
		}
		return query.FloatValue(t.sum.float()), true
	case Avg:
		return query.FloatValue(t.sum.float() / float64(t.n)), true
	}
	return t.best, true
}

// reset makes t ready for the next group.
func (t *total) reset() { *t = total{fold: t.fold, of: t.of} }

// compare orders two values of a type.
func compare(t query.Type, a, b query.Value) int {
	switch {
	case t.Textual():
		return strings.Compare(a.S, b.S)
	case t == query.Float:
		return cmp.Compare(a.Float(), b.Float())
	}
	return cmp.Compare(a.N, b.N)
}
