package flow

import (
	"math"
	"testing"

	"weir/query"
)

func ints(ns ...int64) []query.Value {
	var vs []query.Value
	for _, n := range ns {
		vs = append(vs, query.Value{N: n})
	}
	return vs
}

func floats(xs ...float64) []query.Value {
	var vs []query.Value
	for _, x := range xs {
		vs = append(vs, query.FloatValue(x))
	}
	return vs
}

func texts(ss ...string) []query.Value {
	var vs []query.Value
	for _, s := range ss {
		vs = append(vs, query.Value{S: s})
	}
	return vs
}

func TestTotals(t *testing.T) {
	one := func(vs []query.Value) query.Value { return vs[0] }
	for _, c := range []struct {
		name string
		fold Fold
		of   query.Type
		in   []query.Value
		want query.Value
		none bool
		drop int
	}{
		{name: "count", fold: Count, of: query.URL, in: texts("http://a/", "http://b/"), want: query.Value{N: 2}},
		{name: "count of nothing is no row", fold: Count, of: query.Int, none: true},
		{name: "sum of ints", fold: Sum, of: query.Int, in: ints(2, 3, -10), want: query.Value{N: -5}},
		{name: "sum of floats", fold: Sum, of: query.Float, in: floats(.1, .2, .3, .4, .5, .6, .7, .8, .9), want: query.FloatValue(4.5)},
		{name: "sum past the largest int", fold: Sum, of: query.Int, in: ints(math.MaxInt64, 1), none: true},
		{name: "sum with a term too large", fold: Sum, of: query.Float, in: floats(1, 1e19, 2), want: query.FloatValue(3), drop: 1},
		{name: "avg of ints", fold: Avg, of: query.Int, in: ints(1, 2), want: query.FloatValue(1.5)},
		{name: "avg of ints past the largest", fold: Avg, of: query.Int, in: ints(math.MaxInt64, math.MaxInt64), want: query.FloatValue(0x1p63)},
		{name: "avg of floats", fold: Avg, of: query.Float, in: floats(1, 0, 0), want: query.FloatValue(1. / 3)},
		{name: "avg leaves out what is too large", fold: Avg, of: query.Float, in: floats(4, -1e30), want: query.FloatValue(4), drop: 1},
		{name: "min", fold: Least, of: query.Int, in: ints(3, -2, 5), want: one(ints(-2))},
		{name: "max", fold: Most, of: query.Time, in: ints(3, -2, 5), want: one(ints(5))},
		{name: "min of floats below zero", fold: Least, of: query.Float, in: floats(-1, -2, 7), want: query.FloatValue(-2)},
		{name: "max of floats below zero", fold: Most, of: query.Float, in: floats(-1, -2), want: query.FloatValue(-1)},
		{name: "min of texts", fold: Least, of: query.Text, in: texts("b", "ab", "a", "c"), want: one(texts("a"))},
		{name: "max of texts", fold: Most, of: query.Text, in: texts("b", "c", "bb"), want: one(texts("c"))},
	} {
		a := total{fold: c.fold, of: c.of}
		for range 2 { // the second time after a reset
			drop := 0
			for _, v := range c.in {
				if !a.add(v) {
					drop++
				}
			}
			got, ok := a.value()
			if ok == c.none || ok && got != c.want || drop != c.drop {
				t.Errorf("%s: got %v %t, %d dropped; want %v, %d dropped", c.name, got, ok, drop, c.want, c.drop)
			}
			a.reset()
		}
	}
}

func TestEveryAggregateHasAFold(t *testing.T) {
	for _, name := range []string{"count", "sum", "avg", "min", "max", "top"} {
		if got := foldOf(name).String(); got != name {
			t.Errorf("%s is taken for %s", name, got)
		}
	}
}
