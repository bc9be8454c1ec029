package ask_test

import (
	"strings"
	"testing"

	"weir/internal/ask"
)

// Without an archive a question is refused where its answer would be wrong, and
// only there.
func TestWithoutArchive(t *testing.T) {
	own := begun(t)
	for _, c := range []struct{ text, missing, refused string }{
		{"fetched(U, 200), !seed(U)", "", ""},
		{"n(count<U>) :- fetched(U, 200).", "", ""},
		{"fetched(U, 200), title(U, T)", "title", ""},
		{"link(U, V), !fetched(V, 200)", "link", ""},
		{"fetched(U, 200), !title(U, _)", "title", "title"},
		{"n(V, count<U>) :- link(U, V).", "link", "link"},
		{"named(U) :- title(U, _), link(U, _). odd(U) :- fetched(U), !named(U).", "link title", "link, title"},
		{"named(U) :- title(U, _). n(count<U>) :- named(U). x(N) :- n(N).", "title", "title"},
		{"odd(U) :- fetched(U), !title(U, _). all(U) :- fetched(U).", "", ""}, // which the answer does not need
	} {
		p, diags := ask.Question{Name: "query", Text: c.text, Own: own}.Read()
		if p == nil {
			t.Errorf("%s: %v", c.text, diags)
			continue
		}
		if got := strings.Join(p.Missing(), " "); got != c.missing {
			t.Errorf("%s: misses %q, want %q", c.text, got, c.missing)
		}
		err := p.WithoutArchive()
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), "nothing is known of "+c.refused+", and")) {
			t.Errorf("%s: %v, want %q", c.text, err, c.refused)
		}
	}
}
