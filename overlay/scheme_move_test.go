package overlay

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A page that is handed on goes elsewhere.
func TestMoved(t *testing.T) {
	for text, want := range map[string]int{"redirect": 200, "redirect:n=8": 8, "redirect:url": 200} {
		k := NewKeys(scheme(t, text), Parts)
		places := map[int]bool{}
		for i := range 1000 {
			u := mustURL(t, fmt.Sprintf("https://www.example.org/%d", i))
			if k.Moved(u, 0) != k.Home(u) {
				t.Fatalf("%s: a page that was not handed on is fetched away from its home", text)
			}
			if k.Moved(u, 1) == k.Home(u) {
				t.Fatalf("%s: %s goes from %d to %d", text, u, k.Home(u), k.Moved(u, 1))
			}
			places[k.Moved(u, 1)] = true
		}
		if n := len(places); n < want || want == 8 && n != 8 {
			t.Errorf("%s: pages of a host are handed on to %d partitions, want %d", text, n, want)
		}
	}
	if k := NewKeys(scheme(t, "redirect:n=8"), 1); k.Moved(mustURL(t, "https://a.example/"), 1) != 0 {
		t.Error("of one partition, a page goes to another")
	}
}

// However often it is handed on, a page never comes to where it was.
func TestOnto(t *testing.T) {
	k := NewKeys(scheme(t, "redirect:max=9,n=4"), Parts)
	far := 0
	for i := range 1000 {
		u := mustURL(t, fmt.Sprintf("https://www.example.org/%d", i))
		been, at := map[int]bool{k.Home(u): true}, k.Home(u)
		for moves := 0; ; moves++ {
			part, ok := k.Onto(u, moves)
			if !ok {
				if !been[part] {
					t.Fatalf("%s, handed on %d times: stays at %d, and was never at %d", u, moves, at, part)
				}
				break
			}
			if been[part] {
				t.Fatalf("%s comes to %d again", u, part)
			}
			been[part], at, far = true, part, max(far, moves+1)
		}
	}
	if far != 4 {
		t.Errorf("pages are handed on %d times at most", far)
	}
}

func TestHandOn(t *testing.T) {
	for _, c := range []struct {
		scheme  string
		waiting int
		rtt     time.Duration
		moves   int
		want    bool
	}{
		{"host", 1e6, time.Second, 0, false},
		{"adaptive", 1e6, time.Second, 0, false},
		{"adaptive:rtt", 1e6, 100 * time.Millisecond, 0, false},
		{"adaptive:rtt", 0, 101 * time.Millisecond, 0, true},
		{"adaptive:rtt", 0, 101 * time.Millisecond, 1, false},
		{"redirect", 500, time.Second, 0, false},
		{"redirect", 501, 0, 0, true},
		{"redirect", 501, 0, 1, false},
		{"redirect:max=2", 501, 0, 1, true},
		{"redirect:over=80ms", 1e6, 80 * time.Millisecond, 0, false},
		{"redirect:over=80ms", 0, 81 * time.Millisecond, 0, true},
		{"redirect:over=80ms", 0, 0, 0, false},
	} {
		if got := scheme(t, c.scheme).HandOn(c.waiting, c.rtt, c.moves); got != c.want {
			t.Errorf("%s with %d waiting, %v away, handed on %d times: %v", c.scheme, c.waiting, c.rtt, c.moves, got)
		}
	}
}

func TestNearest(t *testing.T) {
	k := NewKeys(Scheme{}, 8)
	home := k.HostPart("www.example.org")
	for rtt, want := range map[[Near]time.Duration]int{{80, 20, 30}: 1, {80, 20, 0}: 2, {10, 20, 30}: 0, {10, 10, 10}: 0, {}: 0} {
		if got := k.Nearest("www.example.org", rtt); got != (home+want)%8 {
			t.Errorf("%v: the nearest is %d, home is %d", rtt, got, home)
		}
	}
	if got := NewKeys(Scheme{}, 1).Nearest("www.example.org", [Near]time.Duration{9, 1, 1}); got != 0 {
		t.Errorf("the nearest of 1 is %d", got)
	}
}

// The nearest is one of the first partitions from home on: one that has measured nothing,
// if there is any, else none of the others is nearer; and always the same one.
func TestNearestIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := NewKeys(scheme(t, rapid.SampledFrom([]string{"redirect:rtt", "adaptive:rtt"}).Draw(t, "scheme")), rapid.IntRange(1, 9).Draw(t, "parts"))
		var rtt [Near]time.Duration
		for i := range rtt {
			rtt[i] = time.Duration(rapid.IntRange(0, 5).Draw(t, "rtt"))
		}
		part := k.Nearest("www.example.org", rtt)
		at := (part - k.HostPart("www.example.org") + k.Parts()) % k.Parts()
		if at >= Near {
			t.Fatalf("the nearest is partition %d from home on", at)
		}
		for i := range min(Near, k.Parts()) {
			if rtt[i] < rtt[at] {
				t.Fatalf("of %v it is %d", rtt, at)
			}
		}
		if k.Nearest("www.example.org", rtt) != part {
			t.Fatal("it is another one now")
		}
	})
}

// A host that is spread twice as far leaves half of its pages where they are.
func TestSpreadMovesHalf(t *testing.T) {
	k := NewKeys(scheme(t, "adaptive"), Parts)
	stay := 0
	places := map[int]int{}
	for i := range 2000 {
		u := mustURL(t, fmt.Sprintf("https://www.example.org/%d", i))
		if k.Spread(u, 1) != k.Home(u) {
			t.Fatal("a host that is not spread is fetched away from its home")
		}
		if k.Spread(u, 4) == k.Spread(u, 8) {
			stay++
		}
		places[k.Spread(u, 8)]++
	}
	if stay < 900 || stay > 1100 {
		t.Errorf("%d pages of 2000 stay", stay)
	}
	for p, n := range places {
		if n < 180 || n > 320 {
			t.Errorf("partition %d fetches %d pages of 2000", p, n)
		}
	}
	if len(places) != 8 {
		t.Errorf("pages are fetched by %d partitions", len(places))
	}
}

// A host is spread as its queue grows and gathered as it shrinks; in between nothing
// flutters.
func TestSpreadsFollowTheQueue(t *testing.T) {
	s := NewSpreads(scheme(t, "adaptive:over=100,n=8"))
	for _, c := range []struct{ waiting, want int }{
		{100, 1}, {101, 2}, {200, 2}, {202, 4}, {5000, 8}, {5000, 8}, {300, 8}, {199, 4}, {199, 4}, {0, 2}, {0, 1}, {0, 1},
	} {
		before := s.Of("a.example")
		w, changed := s.Adjust("a.example", c.waiting)
		if got := s.Of("a.example"); got != c.want || changed != (before != got) || changed && int(w.N) != got {
			t.Fatalf("with %d waiting: %d, want %d (%+v)", c.waiting, got, c.want, w)
		}
	}
}

// However often, and in whatever order, records are read: the last one holds.
func TestSpreadsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSpreads(Scheme{Second: Adapt, Over: 10}), NewSpreads(Scheme{})
		var log []Wide
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			host := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "host")
			if w, ok := a.Adjust(host, rapid.IntRange(0, 1000).Draw(t, "waiting")); ok {
				log = append(log, w)
			}
		}
		for _, w := range append(rapid.Permutation(log).Draw(t, "order"), log...) {
			b.Apply(w)
		}
		for _, host := range []string{"a", "b"} {
			if a.Of(host) != b.Of(host) {
				t.Fatalf("%s is spread over %d for one and %d for the other", host, a.Of(host), b.Of(host))
			}
		}
		if b.Apply(Wide{"a", 3, 1 << 60}) || b.Apply(Wide{"a", 0, 1 << 60}) || b.Apply(Wide{"a", 512, 1 << 60}) {
			t.Fatal("what cannot be was believed")
		}
	})
}
