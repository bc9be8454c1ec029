package flow_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// snapshot is what now() is in tests.
const snapshot = 1_800_000_000

// site is a page of a web that one can work out by hand.
type site struct {
	url   string
	links string // targets, with spaces between
	words string
	title string
	bytes int64
}

func (s site) facts() *page.Facts {
	f := &page.Facts{URL: url(s.url), Outcome: page.OK, Status: 200, Mime: "text/html", Bytes: s.bytes, Title: s.title, At: snapshot * 1e9, Elapsed: time.Second / 4}
	for _, l := range strings.Fields(s.links) {
		f.Links = append(f.Links, page.Link{URL: url(l), Kind: page.Nav})
	}
	words := strings.Fields(s.words)
	slices.Sort(words)
	for len(words) > 0 {
		n := slices.IndexFunc(words, func(w string) bool { return w != words[0] })
		if n < 0 {
			n = len(words)
		}
		f.Words = append(f.Words, page.Word{Term: words[0], N: n})
		words = words[n:]
	}
	return f
}

// asked reads a question to a crawl that is over.
func asked(t testing.TB, text string) *query.Checked {
	t.Helper()
	p, diags := query.Parse("test.dl", text)
	if query.Failed(diags) {
		t.Fatal(format(p, diags))
	}
	c, diags := query.Check(p, "crawl")
	if c == nil {
		t.Fatal(format(p, diags))
	}
	return c
}

// printed is a row as text, with every digit.
func printed(types []query.Type, row flow.Row) string {
	var cells []string
	for i, v := range row {
		switch {
		case types[i].Textual():
			cells = append(cells, v.S)
		case types[i] == query.Float:
			cells = append(cells, fmt.Sprint(v.Float()))
		default:
			cells = append(cells, fmt.Sprint(v.N))
		}
	}
	return strings.Join(cells, " ")
}

// answers runs a question on several partitions, each page delivered where it
// lives, and twice, and returns all derived rows by table.
func answers(t testing.TB, c *query.Checked, o flow.Options, web []site, n int) map[string][]string {
	t.Helper()
	o.Given = []string{"crawl"}
	p, diags := flow.Compile(c, o)
	if query.Failed(diags) {
		t.Fatal(format(c.Program, diags))
	}
	var parts []*flow.Part
	for i := range n {
		x, err := flow.NewPart(p, flow.NewMem(), i, n)
		if err != nil {
			t.Fatal(err)
		}
		x.Now(snapshot)
		parts = append(parts, x)
	}
	var out flow.Out
	take := func(err error) {
		t.Helper()
		for err == nil && len(out.Send) > 0 {
			todo := slices.Clone(out.Send)
			out.Reset()
			for _, m := range todo {
				for range 2 {
					if err == nil {
						err = parts[m.To].Tuple(m, &out)
					}
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}
	for _, x := range parts {
		take(x.Start(&out))
	}
	for range 2 {
		for _, w := range web {
			f := w.facts()
			take(parts[o.Home(query.URL, query.Value{S: f.URL.String()}, n)].Page(f, &out))
		}
	}
	if err := flow.Finish(parts); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, tab := range c.Tables {
		if tab.Kind != query.Derived || tab.Name == "crawl" {
			continue
		}
		for _, x := range parts {
			err := x.Rows(tab, func(r flow.Row) bool {
				rows[tab.Name] = append(rows[tab.Name], printed(tab.Types, r))
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(rows[tab.Name])
	}
	return rows
}

// everywhere asks with all numbers of partitions and all schemes, and holds that
// the answers are the same to the last digit.
func everywhere(t testing.TB, c *query.Checked, web []site) map[string][]string {
	t.Helper()
	first := answers(t, c, flow.Options{}, web, 1)
	for _, s := range []flow.Scheme{flow.ByURL, flow.ByHost, flow.ByHostN} {
		for _, n := range []int{1, 2, 3, 8} {
			again := answers(t, c, flow.Options{Scheme: s, Spread: 2}, web, n)
			for _, tab := range c.Tables {
				if a, b := first[tab.Name], again[tab.Name]; !slices.Equal(a, b) {
					t.Errorf("%s on %d partitions by %s:\n%s\non one:\n%s", tab.Name, n, s, strings.Join(b, "\n"), strings.Join(a, "\n"))
				}
			}
		}
	}
	return first
}

// four is a web of four pages, and a link to one that was not fetched.
var four = []site{
	{url: "http://a.test/", links: "http://a.test/1 http://a.test/2 http://b.test/", words: "solar panel solar", title: "A", bytes: 100},
	{url: "http://a.test/1", links: "http://a.test/ http://b.test/", words: "panel", title: "One", bytes: 250},
	{url: "http://a.test/2", links: "http://a.test/", words: "solar", bytes: 100},
	{url: "http://b.test/", links: "http://c.test/", words: "wind", title: "A", bytes: 7},
}

func TestFinalTables(t *testing.T) {
	for _, c := range []struct {
		name, program, table string
		want                 []string
	}{
		{"count of distinct values", "indegree(V, count<U>) :- link(U, V).", "indegree", []string{
			"http://a.test/ 2", "http://a.test/1 1", "http://a.test/2 1", "http://b.test/ 2", "http://c.test/ 1"}},
		{"count of solutions", "n(H, count<>) :- link(U, V), H = host(U).", "n", []string{"a.test 6", "b.test 1"}},
		{"count of pairs", "n(count<H, G>) :- link(U, V), H = host(U), G = host(V).", "n", []string{"3"}},
		{"sum counts equal terms of different pages", "bytes(H, sum<B>) :- fetched(U, _, _, B), H = host(U).", "bytes", []string{"a.test 450", "b.test 7"}},
		{"sum without the page merges equal terms", "bytes(sum<B>) :- fetched(_, _, _, B).", "bytes", []string{"357"}},
		{"avg", "mean(H, avg<B>) :- fetched(U, _, _, B), H = host(U).", "mean", []string{"a.test 150", "b.test 7"}},
		{"min and max", "range(H, min<B>, max<B>) :- fetched(U, _, _, B), H = host(U).", "range", []string{"a.test 100 250", "b.test 7 7"}},
		{"several in one head", "all(H, count<U>, count<V>, sum<B>, max<V>) :- fetched(U, _, _, B), link(U, V), H = host(U).", "all", []string{
			"a.test 3 4 900 http://b.test/", "b.test 1 1 7 http://c.test/"}},
		{"the aggregate first", "n(count<U>, H) :- fetched(U), H = host(U).", "n", []string{"1 b.test", "3 a.test"}},
		{"top, ties by what is ranked", "best(top<3, N, V>) :- indegree(V, N). indegree(V, count<U>) :- link(U, V).", "best", []string{
			"1 2 http://a.test/", "2 2 http://b.test/", "3 1 http://a.test/1"}},
		{"top of each group", "best(H, top<1, B, U>) :- fetched(U, _, _, B), H = host(U).", "best", []string{
			"a.test 1 250 http://a.test/1", "b.test 1 7 http://b.test/"}},
		{"top of more than there are", "best(H, top<9, N, W>) :- word(U, W, N), H = host(U).", "best", []string{
			"a.test 1 2 solar", "a.test 2 1 panel", "a.test 3 1 solar", "b.test 1 1 wind"}},
		{"negation", "linked(V) :- link(_, V). missing(V) :- linked(V), !known(V). known(U) :- fetched(U).", "missing", []string{"http://c.test/"}},
		{"a level above a level", "in(V, count<U>) :- link(U, V). most(max<N>) :- in(_, N). star(V) :- in(V, N), most(N).", "star", []string{"http://a.test/", "http://b.test/"}},
		{"recursion in a final table", "in(V, count<U>) :- link(U, V). lone(V) :- in(V, 1). up(V, U) :- lone(V), link(U, V). up(V, W) :- up(V, U), link(W, U).", "up", []string{
			"http://a.test/1 http://a.test/", "http://a.test/1 http://a.test/1", "http://a.test/1 http://a.test/2",
			"http://a.test/2 http://a.test/", "http://a.test/2 http://a.test/1", "http://a.test/2 http://a.test/2",
			"http://c.test/ http://a.test/", "http://c.test/ http://a.test/1", "http://c.test/ http://a.test/2", "http://c.test/ http://b.test/"}},
		{"now", "age(U, now() - T) :- fetched(U, _, _, 7, _, T).", "age", []string{"http://b.test/ 0"}},
		{"growing count", "pop(V, max count<U>) :- link(U, V). known(V) :- pop(V, N), N >= 2.", "known", []string{"http://a.test/", "http://b.test/"}},
		{"sealed count", "links(U, count<V>) :- link(U, V). busy(U) :- links(U, N), N > 1.", "busy", []string{"http://a.test/", "http://a.test/1"}},
		{"sealed top", "about(U, top<1, N, W>) :- word(U, W, N).", "about", []string{
			"http://a.test/ 1 2 solar", "http://a.test/1 1 1 panel", "http://a.test/2 1 1 solar", "http://b.test/ 1 1 wind"}},
		{"two hops", "near(U, X) :- link(U, V), link(V, X). n(count<U, X>) :- near(U, X).", "n", []string{"10"}},
		{"rounds that look at what is not there", "new(U, 0) :- fetched(U, _, _, 250). old(U, I) :- new(U, I). old(U, I+1) :- old(U, I), I < 4." +
			" new(V, I+1) :- new(U, I), link(U, V), !old(V, I), I < 4.", "new", []string{
			"http://a.test/ 1", "http://a.test/1 0", "http://a.test/2 2", "http://b.test/ 1", "http://c.test/ 2"}},
		{"rounds that look at the least so far", "far(U, 0, min 0) :- fetched(U, _, _, 250). far(V, I+1, min D+1) :- far(U, I, D), link(U, V), I < 2. far(U, I+1, min D) :- far(U, I, D), I < 2." +
			" at(D, count<U>) :- far(U, 2, D).", "at", []string{"0 1", "1 2", "2 2"}},
		{"a turn that waits for another", "in(V, 0, 1) :- link(_, V). hit(V, I) :- in(V, I, N), N > 1. pass(V, I) :- in(V, I, _), !hit(V, I)." +
			" in(V, I+1, count<U>) :- pass(U, I), link(U, V), I < 2.", "pass", []string{
			"http://a.test/ 0", "http://a.test/1 0", "http://a.test/1 1", "http://a.test/2 0", "http://a.test/2 1",
			"http://b.test/ 0", "http://b.test/ 2", "http://c.test/ 0", "http://c.test/ 1"}},
		{"a sum too large is no row", "huge(H, sum<X>) :- fetched(U, _, _, B), H = host(U), X = B * 30000000000000000.", "huge", []string{"b.test 210000000000000000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := everywhere(t, asked(t, c.program), four)[c.table]; !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// What has no value is dropped, and told.
func TestDropsAreCounted(t *testing.T) {
	c := asked(t, "huge(H, sum<X>) :- fetched(U, _, _, B), H = host(U), X = B * 30000000000000000. far(H, sum<X>) :- fetched(U, _, _, B), H = host(U), X = 1.0*B*100000000000000000.")
	p, _ := flow.Compile(c, flow.Options{Given: []string{"crawl"}})
	x, err := flow.NewPart(p, flow.NewMem(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out flow.Out
	for _, w := range four {
		if err := x.Page(w.facts(), &out); err != nil {
			t.Fatal(err)
		}
	}
	if err := flow.Finish([]*flow.Part{x}); err != nil {
		t.Fatal(err)
	}
	// Of huge the group of a.test, whose sum is too large, of far its three terms, and
	// the group that is left without any.
	if huge, far := x.Drops(p.Rules[0]), x.Drops(p.Rules[1]); huge != 1 || far != 4 {
		t.Errorf("dropped %d of huge and %d of far", huge, far)
	}
}

// numbers reads a table of two columns, a page and a float.
func numbers(t testing.TB, rows []string) map[string]float64 {
	t.Helper()
	m := map[string]float64{}
	for _, r := range rows {
		var u string
		var x float64
		if _, err := fmt.Sscan(r, &u, &x); err != nil {
			t.Fatal(err)
		}
		m[u] = x
	}
	return m
}

// PageRank, program 29 of the design, against the plain iteration.
func TestPageRank(t *testing.T) {
	const program = `
		outdeg(U, count<V>) :- link(U, V).
		rank(U, 0, 1.0) :- fetched(U).
		give(V, I, U, X) :- rank(U, I, R), outdeg(U, N), link(U, V), X = 0.85*R/N, I < 20.
		give(V, I, V, 0.15) :- rank(V, I, _), I < 20.
		rank(V, I+1, sum<X>) :- give(V, I, U, X).
		last(V, R) :- rank(V, 20, R).
		best(top<2, R, V>) :- last(V, R).`
	rows := everywhere(t, asked(t, program), four)
	rank := map[string]float64{}
	for _, s := range four {
		rank[s.url] = 1
	}
	for range 20 {
		next := map[string]float64{}
		for u := range rank {
			next[u] += 0.15
		}
		for _, s := range four {
			targets := strings.Fields(s.links)
			for _, v := range targets {
				next[v] += 0.85 * rank[s.url] / float64(len(targets))
			}
		}
		rank = next
	}
	got := numbers(t, rows["last"])
	if len(got) != len(rank) {
		t.Errorf("%d pages, want %d", len(got), len(rank))
	}
	for u, want := range rank {
		if math.Abs(got[u]-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", u, got[u], want)
		}
	}
	if len(rows["best"]) != 2 || !strings.HasPrefix(rows["best"][0], "1 ") || !strings.HasSuffix(rows["best"][0], " http://a.test/") {
		t.Errorf("best pages:\n%s", strings.Join(rows["best"], "\n"))
	}
}

// Hubs and authorities: in a round the ones are made of the others and divided by
// their sum, so that they stay small.
func TestHITS(t *testing.T) {
	const program = `
		hub(U, 0, 1.0) :- fetched(U).
		pointed(V, I, sum<H>) :- hub(U, I, H), link(U, V).
		all(I, sum<A>) :- pointed(V, I, A).
		auth(V, I, X) :- pointed(V, I, A), all(I, S), X = A/S.
		hub(U, I+1, sum<A>) :- auth(V, I, A), link(U, V), I < 6.
		last(V, A) :- auth(V, 6, A).`
	rows := everywhere(t, asked(t, program), four)
	hub := map[string]float64{}
	for _, s := range four {
		hub[s.url] = 1
	}
	var auth map[string]float64
	for range 7 {
		auth = map[string]float64{}
		sum := 0.
		for _, s := range four {
			for _, v := range strings.Fields(s.links) {
				auth[v] += hub[s.url]
				sum += hub[s.url]
			}
		}
		for v := range auth {
			auth[v] /= sum
		}
		for _, s := range four {
			hub[s.url] = 0
			for _, v := range strings.Fields(s.links) {
				hub[s.url] += auth[v]
			}
		}
	}
	got := numbers(t, rows["last"])
	if len(got) != len(auth) {
		t.Errorf("%d pages, want %d", len(got), len(auth))
	}
	for u, want := range auth {
		if math.Abs(got[u]-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", u, got[u], want)
		}
	}
}
