package flow

import (
	"testing"

	"weir/page"
	"weir/query"
)

// compile makes a plan of a program's text, or fails the test.
func compile(t testing.TB, src string, o Options) *Plan {
	t.Helper()
	prog, diags := query.Parse("test.dl", src)
	if query.Failed(diags) {
		t.Fatalf("parse: %v", diags)
	}
	c, diags := query.Check(prog)
	if query.Failed(diags) {
		t.Fatalf("check: %v", diags)
	}
	p, diags := Compile(c, o)
	if len(diags) > 0 {
		t.Fatalf("compile: %v", diags)
	}
	return p
}

func mustURL(t testing.TB, s string) page.URL {
	t.Helper()
	u, err := page.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const plainProgram = `
root(U, max S) :- seed(U, S).
root(V, max S) :- root(U, S), redirect(U, V).
small scope.
scope(host(U)) :- root(U, _).
crawl(U, 0, S) :- root(U, S).
crawl(V, D, P) :- crawl(U, D, P), redirect(U, V), scope(host(V)).
crawl(V, D+1, P) :- crawl(U, D, P), link(U, V), D < 3, scope(host(V)), !matches(V, "/tag/"), matches(V, "^https?://").
`

func TestPlainCrawlFollowsLinksInScope(t *testing.T) {
	p := compile(t, plainProgram, Options{Crawl: true})
	x, err := NewPart(p, NewMem(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out Out
	if err := x.Seed(mustURL(t, "http://a.org/"), 2, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Crawl) != 1 || out.Crawl[0].URL.String() != "http://a.org/" || out.Crawl[0].Depth != 0 || out.Crawl[0].Priority != 2 {
		t.Fatalf("orders of a seed: %+v", out.Crawl)
	}
	out.Reset()
	f := &page.Facts{URL: mustURL(t, "http://a.org/"), Outcome: page.OK, Status: 200, Score: 2, Links: []page.Link{
		{URL: mustURL(t, "http://a.org/x")},
		{URL: mustURL(t, "http://a.org/tag/x")},
		{URL: mustURL(t, "http://b.org/x")},
		{URL: mustURL(t, "http://a.org/p.png"), Kind: page.Requisite},
	}}
	if err := x.Page(f, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Crawl) != 1 || out.Crawl[0].Link != &f.Links[0] || out.Crawl[0].Depth != 1 || out.Crawl[0].Via != ByLink {
		t.Fatalf("orders of a page: %+v", out.Crawl)
	}
}
