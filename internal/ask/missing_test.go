package ask_test

import (
	"strings"
	"testing"

	"weir/internal/ask"
	"weir/page"
)

// Without an archive a question is refused where its answer would be wrong, and
// only there. Said are the facts that a crawl has which keeps links and titles, and
// of those only missing are not had then.
func TestWithoutArchive(t *testing.T) {
	own := begun(t)
	none := func(page.Want) bool { return false }
	links := func(w page.Want) bool { return page.Want{}.Has(w) }
	for _, c := range []struct{ text, missing, refused, said, still, wrong string }{
		{"fetched(U, 200), !seed(U)", "", "", "", "", ""},
		{"n(count<U>) :- fetched(U, 200).", "", "", "", "", ""},
		{"fetched(U, 200), title(U, T)", "title", "", "title", "", ""},
		{"link(U, V), !fetched(V, 200)", "link", "", "link", "", ""},
		{"link(U, V, A)", "link", "", "", "link", "links without their texts"},
		{`link(U, V, _, "next")`, "link", "", "", "link", "of links to one target only the first"},
		{"link(U, V), word(V, W, _)", "link word", "", "link", "word", ""},
		{"fetched(U, 200), !title(U, _)", "title", "title", "title", "", ""},
		{"n(V, count<U>) :- link(U, V).", "link", "link", "link", "", ""},
		{"n(W, count<U>) :- word(U, W, _), title(U, _).", "title word", "word, title", "title", "word", "nothing is known of word, and"},
		{"named(U) :- title(U, _), link(U, _). odd(U) :- fetched(U), !named(U).", "link title", "link, title", "link title", "", ""},
		{"named(U) :- title(U, _). n(count<U>) :- named(U). x(N) :- n(N).", "title", "title", "title", "", ""},
		{"odd(U) :- fetched(U), !title(U, _). all(U) :- fetched(U).", "", "", "", "", ""}, // which the answer does not need
	} {
		p, diags := ask.Question{Name: "query", Text: c.text, Own: own}.Read()
		if p == nil {
			t.Errorf("%s: %v", c.text, diags)
			continue
		}
		if got := strings.Join(p.Missing(none), " "); got != c.missing || p.Reads() != (got != "") {
			t.Errorf("%s: misses %q, want %q", c.text, got, c.missing)
		}
		err := p.WithoutArchive(none)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), "nothing is known of "+c.refused+", and")) {
			t.Errorf("%s: %v, want %q", c.text, err, c.refused)
		}
		if said, still := strings.Join(p.Said(links), " "), strings.Join(p.Missing(links), " "); said != c.said || still != c.still {
			t.Errorf("%s: has %q and misses %q, want %q and %q", c.text, said, still, c.said, c.still)
		}
		if err := p.WithoutArchive(links); c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.wrong)
		}
	}
}
