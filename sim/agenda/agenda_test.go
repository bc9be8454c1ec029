package agenda

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/page"
)

// Things come in the order of their moments, those of one moment in the order in
// which they were planned, however planning and happening are mixed.
func TestOrder(t *testing.T) {
	type plan struct {
		at page.Time
		n  int
	}
	rapid.Check(t, func(t *rapid.T) {
		var g Agenda[int]
		var want []plan
		pop := func() {
			next, _ := g.Next()
			at, n := g.Pop()
			if got := (plan{at, n}); next != at || got != want[0] {
				t.Fatalf("%v comes, said to be at %d; want %v", got, next, want[0])
			}
			want = want[1:]
		}
		for n := range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				pop()
				continue
			}
			at := page.Time(rapid.Int64Range(0, 20).Draw(t, "at"))
			g.Add(at, n)
			want = append(want, plan{at, n})
			slices.SortStableFunc(want, func(a, b plan) int { return cmp.Compare(a.at, b.at) })
		}
		for len(want) > 0 {
			pop()
		}
		if at, ok := g.Next(); ok {
			t.Fatalf("something comes at %d after all have come", at)
		}
	})
}
