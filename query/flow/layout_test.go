package flow

import "testing"

// Plans that keep rows in other places, or other rows, tell so; whatever does not
// change what is kept does not.
func TestLayout(t *testing.T) {
	const program = "crawl(U, 0) :- seed(U).\nlive broken.\nbroken(U, V, S) :- link(U, V), fetched(V, S), S >= 400."
	first := compile(t, program, Options{Crawl: true}).Layout()
	for _, other := range []string{
		"crawl(U, 0) :- seed(U).\nlive broken.\nbroken(U, V, S) :- link(U, V), fetched(V, S), S >= 500.",
		"crawl(U, 0) :- seed(U).\nlive broken.\nbroken(U, V) :- link(U, V), fetched(V, S), S >= 400.",
		"crawl(U, 0) :- seed(U).\nlive broken.\nbroken(U, V, S) :- fetched(V, S), link(U, V, A), ends(A, \"next\"), S >= 400.",
		"crawl(U, 0) :- seed(U).",
	} {
		if compile(t, other, Options{Crawl: true}).Layout() == first {
			t.Errorf("kept alike:\n%s", other)
		}
	}
	if compile(t, program, Options{Crawl: true, Scheme: ByHost}).Layout() == first {
		t.Error("by host rows live elsewhere")
	}
	if compile(t, "% seeds\n"+program, Options{Crawl: true}).Layout() != first {
		t.Error("a comment changes what is kept")
	}
}
