package ask_test

import (
	"slices"
	"strings"
	"testing"

	"weir/crawl"
	"weir/internal/ask"
	"weir/internal/program"
	"weir/internal/store"
	"weir/page"
	"weir/query"
)

// site is the program of a crawl that questions may build on.
const site = `set max = 3.
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < $max.
broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
deep(U) :- crawl(U, D), D = $max.
small topic.
topic(folder(U)) :- seed(U).
about(U, V) :- link(U, V), topic(F), under(V, F), fetched(V).
`

// begun is the program of a crawl that has found nothing yet.
func begun(t *testing.T) *ask.Own {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Create(dir, store.Options{Form: store.None})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	src := &program.Source{Name: "site.dl", Text: site}
	if err := src.Save(dir, 0); err != nil {
		t.Fatal(err)
	}
	g := st.Begin()
	crawl.WriteSecret(g, page.Secret{1})
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	view, err := crawl.NewView(st)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ask.ReadOwn(dir, st, view, crawl.ScopeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return own
}

func TestAnswerTable(t *testing.T) {
	own := begun(t)
	for _, c := range []struct{ text, table, name, columns string }{
		{"link(U, V), fetched(V, S), S >= 400", "", "answer", "u v s"},
		{"fetched(V, S), S >= 400, title(V, _).", "", "answer", "v s"},
		{"link(\"https://a.example/\", V), contains(V, \"x:-y\") % :- not a rule", "", "answer", "v"},
		{"title(\"https://a.example/\", \"home\")", "", "answer", ""},
		{"in(V, count<U>) :- link(U, V). best(top<3, N, V>) :- in(V, N).", "", "best", "rank n v"},
		{"in(V, count<U>) :- link(U, V). best(top<3, N, V>) :- in(V, N).", "in", "in", ""},
		{"broken(U, _, S), S < 500", "", "answer", "u s"},
		{"crawl(U, D), D > 2", "", "answer", "u d"},
		{"crawl(U, D, P)", "", "answer", "u d p"},
		{"deep(U)", "", "answer", "u"},
		{"about(U, V), !broken(U, V, _)", "", "answer", "u v"}, // it takes a small table
		{"topic(F) :- link(U, V), F = folder(V). small topic. on(V) :- about(_, V).", "", "on", "v"},
		{"broken(U, V) :- link(U, V), fetched(V, 404).", "", "broken", "u v"},
	} {
		p, diags := ask.Question{Name: "query", Text: c.text, Table: c.table, Own: own}.Read()
		if p == nil {
			t.Errorf("%s: %v", c.text, diags)
			continue
		}
		if p.Answer.Name != c.name {
			t.Errorf("%s: answer is %s, want %s", c.text, p.Answer.Name, c.name)
		}
		if got := strings.ToLower(strings.Join(p.Answer.Columns, " ")); c.columns != "" && got != c.columns {
			t.Errorf("%s: columns %q, want %q", c.text, got, c.columns)
		}
	}
}

// What is wrong is shown in the words of the question, not in those of the rule
// that was made of it.
func TestFaultsPointIntoTheQuestion(t *testing.T) {
	own := begun(t)
	for _, c := range []struct{ text, table, want string }{
		{"lnk(U, V)", "", "query:1:1: error: "},
		{"link(U, V), fetched(V, S), S >= ", "", "query:1:32: error: expected a value, found the end of the text"},
		{"link(U, V", "", "query:1:10: error: expected ) or a comma, found the end of the text"},
		{"link(U, V.\n", "", "query:1:10: error: expected ) or a comma, found the end of the text"},
		{"x(U) :- link(U, V", "", "query:1:18: error: expected ) or a comma, found the end of the text"},
		{"link(U, V),\n  fetchd(V, S)", "", "query:2:3: error: "},
		{"x(U) :- link(U, V), W > 1.", "", "query:1:"},
		{"crawl(V) :- link(U, V).", "", "query:1:1: error: a question cannot derive crawl"},
		{"a(U) :- lnk(U, V).\nb(U) :- fetchd(U).", "", "query:2:9: error: "},
		{"", "", "the question is empty"},
		{"% only a comment\n", "", "error"},
		{"link(U, V)", "brken", "did you mean broken?"},
		{"link(U, V)", "nothing_like_it", "there are answer, broken, deep, topic, about"},
	} {
		q := ask.Question{Name: "query", Text: c.text, Table: c.table, Own: own}
		p, diags := q.Read()
		if p != nil || !query.Failed(diags) {
			t.Errorf("%q: is fine, want %q", c.text, c.want)
			continue
		}
		if !slices.ContainsFunc(diags, func(d query.Diag) bool { return strings.Contains(q.Format(d), c.want) }) {
			t.Errorf("%q: %v, want %q", c.text, diags, c.want)
		}
	}
}
