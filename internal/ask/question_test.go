package ask_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/ask"
	"weir/query"
)

// site is the program of a crawl that questions may build on.
const site = `set max = 3.
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < $max.
broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
deep(U) :- crawl(U, D), D = $max.
`

func TestAnswerTable(t *testing.T) {
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
		{"broken(U, V) :- link(U, V), fetched(V, 404).", "", "broken", "u v"},
	} {
		own, _ := query.Parse("site.dl", site)
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
	for _, c := range []struct{ text, table, want string }{
		{"lnk(U, V)", "", "query:1:1: error: "},
		{"link(U, V), fetched(V, S), S >= ", "", "query:1:33: error: "},
		{"link(U, V),\n  fetchd(V, S)", "", "query:2:3: error: "},
		{"x(U) :- link(U, V), W > 1.", "", "query:1:"},
		{"crawl(V) :- link(U, V).", "", "query:1:1: error: a question cannot derive crawl"},
		{"a(U) :- lnk(U, V).\nb(U) :- fetchd(U).", "", "query:2:9: error: "},
		{"", "", "the question is empty"},
		{"% only a comment\n", "", "error"},
		{"link(U, V)", "brken", "did you mean broken?"},
		{"link(U, V)", "nothing_like_it", "there are answer, broken, deep"},
	} {
		own, _ := query.Parse("site.dl", site)
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
