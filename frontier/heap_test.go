package frontier

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/page"
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

// TestRoster: a roster gives hosts as sorting would, by key, by what is finer
// where keys are rough, and then in turn.
func TestRoster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := func(h *host) int64 { return max(int64(h.next), coarse-2) }
		r := newRoster(key, func(a, b *host) int { return cmp.Compare(a.next, b.next) })
		next := rapid.Map(rapid.IntRange(0, 8), func(n int) page.Time { return page.Time(coarse - 6 + n) })
		var all []*host
		for i := range rapid.IntRange(0, 80).Draw(t, "n") {
			switch act := rapid.IntRange(0, 3).Draw(t, "act"); {
			case act < 2 || len(all) == 0:
				h := &host{next: next.Draw(t, "next"), turn: uint64(i)}
				r.push(h)
				all = append(all, h)
			case act == 2:
				h := rapid.SampledFrom(all).Draw(t, "moved")
				h.next = next.Draw(t, "next")
				r.fix(h)
			default:
				h := rapid.SampledFrom(all).Draw(t, "removed")
				r.remove(h)
				all = slices.DeleteFunc(all, func(o *host) bool { return o == h })
				if h.placed != 0 {
					t.Fatalf("a removed host believes it is at %d", h.placed)
				}
			}
			checkRoster(t, "roster", &r, func(*host) {})
		}
		slices.SortFunc(all, func(a, b *host) int { return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.turn, b.turn)) })
		for i, want := range all {
			if h := r.pop(); h != want {
				t.Fatalf("host %d is the one of turn %d, want that of %d", i, h.turn, want.turn)
			}
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
