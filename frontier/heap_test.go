package frontier

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct {
	key    int
	placed int32
}

// TestHeap: an indexed heap gives what sorting would, whatever is moved or
// removed in between.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := heap[*item]{less: func(a, b *item) bool { return a.key < b.key }, place: func(x *item) *int32 { return &x.placed }}
		var all []*item
		for range rapid.IntRange(0, 80).Draw(t, "n") {
			key := rapid.IntRange(0, 20).Draw(t, "key")
			switch act := rapid.IntRange(0, 3).Draw(t, "act"); {
			case act < 2 || len(all) == 0:
				x := &item{key: key}
				h.push(x)
				all = append(all, x)
			case act == 2:
				x := rapid.SampledFrom(all).Draw(t, "moved")
				x.key = key
				h.fix(x)
			default:
				x := rapid.SampledFrom(all).Draw(t, "removed")
				h.remove(x)
				all = slices.DeleteFunc(all, func(y *item) bool { return y == x })
				if x.placed != 0 {
					t.Fatalf("a removed item believes it is at %d", x.placed)
				}
			}
			checkHeap(t, "heap", &h, func(*item) {})
		}
		var want, got []int
		for _, x := range all {
			want = append(want, x.key)
		}
		slices.Sort(want)
		for h.len() > 0 {
			got = append(got, h.pop().key)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("popped %v, want %v", got, want)
		}
	})
}

func TestFifo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		var want []int
		for i := range rapid.IntRange(0, 400).Draw(t, "n") {
			if len(want) > 0 && rapid.Bool().Draw(t, "pop") {
				if x := q.pop(); x != want[0] {
					t.Fatalf("popped %d, want %d", x, want[0])
				}
				want = want[1:]
				continue
			}
			q.push(i)
			want = append(want, i)
			if q.len() != len(want) {
				t.Fatalf("%d long, want %d", q.len(), len(want))
			}
		}
	})
}
