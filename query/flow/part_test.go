package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/page"
	"weir/query"
)

// play is a Part with whatever came out of it.
type play struct {
	t    testing.TB
	plan *Plan
	part *Part
	out  Out
}

func start(t testing.TB, src string, o Options, s State) *play {
	t.Helper()
	p := &play{t: t, plan: compile(t, src, o)}
	p.restart(s)
	return p
}

func (p *play) restart(s State) {
	p.t.Helper()
	part, err := NewPart(p.plan, s, 0, 1)
	p.part = part
	p.must(err)
	p.do(func(out *Out) error { return part.Start(out) })
}

func (p *play) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// do makes a delivery and returns its orders, as "url depth priority".
func (p *play) do(fn func(*Out) error) []string {
	p.t.Helper()
	p.out.Reset()
	p.must(fn(&p.out))
	var orders []string
	for _, o := range p.out.Crawl {
		orders = append(orders, fmt.Sprintf("%s %d %g", o.URL, o.Depth, o.Priority))
	}
	return orders
}

func (p *play) seed(u string, score float64) []string {
	p.t.Helper()
	return p.do(func(out *Out) error { return p.part.Seed(mustURL(p.t, u), score, out) })
}

func (p *play) page(f *page.Facts) []string {
	p.t.Helper()
	return p.do(func(out *Out) error { return p.part.Page(f, out) })
}

// rows returns a table as text, in order.
func (p *play) rows(table string) []string {
	p.t.Helper()
	t := p.plan.Program.Table(table)
	var all []string
	p.must(p.part.Rows(t, func(row Row) bool {
		var cols []string
		for i, v := range row {
			switch {
			case t.Types[i].Textual():
				cols = append(cols, v.S)
			case t.Types[i] == query.Float:
				cols = append(cols, fmt.Sprint(v.Float()))
			default:
				cols = append(cols, fmt.Sprint(v.N))
			}
		}
		all = append(all, strings.Join(cols, " "))
		return true
	}))
	slices.Sort(all)
	return all
}

func (p *play) want(what string, got []string, want ...string) {
	p.t.Helper()
	if !slices.Equal(got, want) {
		p.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// read makes a page that was read and links to others.
func read(t testing.TB, u string, targets ...string) *page.Facts {
	f := &page.Facts{URL: mustURL(t, u), Outcome: page.OK, Status: 200, Mime: "text/html"}
	for _, v := range targets {
		f.Links = append(f.Links, page.Link{URL: mustURL(t, v)})
	}
	return f
}

func redirect(t testing.TB, u, v string) *page.Facts {
	return &page.Facts{URL: mustURL(t, u), Outcome: page.Redirected, Status: 301, Redirect: page.Link{URL: mustURL(t, v), Kind: page.Redirect}}
}

// A site that has moved says so by a redirect of its front page: scope follows,
// in the same delivery.
func TestScopeFollowsARootThatHasMoved(t *testing.T) {
	p := start(t, plainProgram, Options{Crawl: true}, NewMem())
	p.seed("http://a.org/", 0)
	p.want("orders of the redirect", p.page(redirect(t, "http://a.org/", "http://www.a.org/")), "http://www.a.org/ 0 0", "http://www.a.org/ 0 0")
	if p.out.Stale {
		t.Error("pages shall be read again, though none was turned away")
	}
	p.want("orders of the page", p.page(read(t, "http://www.a.org/", "http://www.a.org/x", "http://b.org/")), "http://www.a.org/x 1 0")
}

// A small table that grows has pages read again only if it may have turned one
// away.
func TestSmallTableThatGrows(t *testing.T) {
	for _, state := range []State{NewMem(), mapState{}} {
		p := start(t, plainProgram, Options{Crawl: true}, state)
		p.seed("http://a.org/", 0)
		p.want("orders", p.page(read(t, "http://a.org/", "http://b.org/")))
		p.seed("http://c.org/", 0)
		if p.out.Stale {
			t.Error("no page has asked for c.org, but all shall be read again")
		}
		p.seed("http://b.org/x", 0)
		if !p.out.Stale {
			t.Error("a link to b.org was turned away, and is forgotten")
		}
		p.want("orders, again", p.page(read(t, "http://a.org/", "http://b.org/")), "http://b.org/ 1 0")
		p.want("scope", p.rows("scope"), "a.org", "b.org", "c.org")
	}
}

// What a Part has put out and its State does not know yet must count all the
// same, and count once.
func TestUncommittedRowsCount(t *testing.T) {
	state := mapState{}
	p := start(t, `crawl(U, 0) :- seed(U). near(V, min 0) :- seed(V). near(V, min D+1) :- near(U, D), link(U, V), D < 2.
far(V) :- near(V, D), D < 2.`, Options{Crawl: false}, state)
	p.seed("http://a.org/", 0)
	var held Out
	held.Put = append(held.Put, p.out.Put...)
	p.page(read(t, "http://a.org/", "http://a.org/1", "http://a.org/2"))
	held.Put = append(held.Put, p.out.Put...)
	p.want("near", p.rows("near"), "http://a.org/ 0", "http://a.org/1 1", "http://a.org/2 1")
	p.page(read(t, "http://a.org/", "http://a.org/1", "http://a.org/2"))
	if len(p.out.Put) > 0 {
		t.Errorf("the same page again changes %d keys", len(p.out.Put))
	}
	state.commit(&held)
	p.part.Committed()
	p.want("near, committed", p.rows("near"), "http://a.org/ 0", "http://a.org/1 1", "http://a.org/2 1")
	p.restart(state)
	p.page(read(t, "http://a.org/2", "http://a.org/3", "http://a.org/1"))
	p.want("near, after a restart", p.rows("near"), "http://a.org/ 0", "http://a.org/1 1", "http://a.org/2 1", "http://a.org/3 2")
	p.want("far", p.rows("far"), "http://a.org/", "http://a.org/1", "http://a.org/2")
}

// A crawler must not follow what a page, or a link to a stranger, asks it not to:
// rules that steer do not see it, others do.
func TestMannersAreBeneathTheProgram(t *testing.T) {
	src := `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), D < 9. out(U, V) :- link(U, V).
live seen. pair(V, U) :- link(U, V). crawl(V, 1) :- pair(V, U), seed(V). seen(V, U) :- link(U, V).`
	f := read(t, "http://a.org/", "http://a.org/own", "http://b.org/", "http://c.org/")
	f.Links[0].NoFollow, f.Links[1].NoFollow = true, true
	all := []string{"http://a.org/ http://a.org/own", "http://a.org/ http://b.org/", "http://a.org/ http://c.org/"}

	p := start(t, src, Options{Crawl: true}, NewMem())
	p.want("orders", p.page(f), "http://a.org/own 1 0", "http://c.org/ 1 0")
	p.want("links", p.rows("out"), all...)
	p.want("pairs", p.rows("pair"), "http://a.org/own http://a.org/", "http://c.org/ http://a.org/")
	if n := len(p.rows("seen")); n != 3 {
		t.Errorf("a table that does not steer sees %d links of 3", n)
	}
	p = start(t, src, Options{Crawl: true, IgnoreRobots: true}, NewMem())
	p.want("orders, robots ignored", p.page(f), "http://a.org/own 1 0", "http://b.org/ 1 0", "http://c.org/ 1 0")

	const question = "crawl(U, 0) :- seed(U). pair(V, U) :- link(U, V). out(U, V) :- link(U, V)."
	p = start(t, question, Options{Tables: []string{"pair", "out"}, Steers: []string{"pair"}}, NewMem())
	p.page(f)
	p.want("pairs, asked for", p.rows("pair"), "http://a.org/own http://a.org/", "http://c.org/ http://a.org/")
	p.want("links, asked for", p.rows("out"), all...)

	f.NoFollow = true
	p = start(t, src, Options{Crawl: true}, NewMem())
	p.want("orders of a nofollow page", p.page(f))
	p.want("links of a nofollow page", p.rows("out"), all...)
}

// Rows for which an expression has no value are dropped and counted.
func TestRowsWithoutAValueAreDropped(t *testing.T) {
	p := start(t, `crawl(U, 0) :- seed(U). ratio(U, 100/N) :- word(U, _, N). big(U, N*9000000000000000000) :- word(U, _, N).
half(U, W) :- word(U, W, N), 10/N > 3.`, Options{}, NewMem())
	f := read(t, "http://a.org/")
	f.Words = []page.Word{{Term: "a", N: 0}, {Term: "b", N: 2}, {Term: "c", N: 1}}
	p.page(f)
	p.want("ratio", p.rows("ratio"), "http://a.org/ 100", "http://a.org/ 50")
	p.want("big", p.rows("big"), "http://a.org/ 0", "http://a.org/ 9000000000000000000")
	p.want("half", p.rows("half"), "http://a.org/ b", "http://a.org/ c")
	for i, want := range []int64{0, 1, 1, 1} {
		if got := p.part.Drops(p.plan.Rules[i]); got != want {
			t.Errorf("%s: %d rows dropped, want %d", p.plan.Rules[i], got, want)
		}
	}
}

func TestStopAndWait(t *testing.T) {
	state := NewMem()
	p := start(t, `crawl(U, 0) :- seed(U). stop("found") :- title(U, T), contains(T, "needle").
wait(host(U), max 30) :- fetched(U, 429). wait("slow.org", max 5).`, Options{Crawl: true}, state)
	if len(p.out.Waits) != 1 || p.out.Waits[0] != (Wait{"slow.org", 5}) {
		t.Errorf("waits of the start: %v", p.out.Waits)
	}
	f := read(t, "http://a.org/")
	f.Title = "a needle"
	p.page(f)
	if p.out.Stop != "found" {
		t.Errorf("the crawl is stopped by %q", p.out.Stop)
	}
	f = read(t, "http://b.org/")
	f.Status = 429
	p.page(f)
	if len(p.out.Waits) != 1 || p.out.Waits[0] != (Wait{"b.org", 30}) {
		t.Errorf("waits of a page: %v", p.out.Waits)
	}
	p.restart(state)
	if len(p.out.Waits) != 2 || p.out.Stop != "" {
		t.Errorf("after a restart: waits %v, stopped by %q", p.out.Waits, p.out.Stop)
	}
}

// The facts of a page come together: what is not there will never be.
func TestAbsentFactsOfAPage(t *testing.T) {
	src := `crawl(U, 0) :- seed(U). untitled(U) :- fetched(U, 200), !title(U, _).
crawl(V, D+1) :- crawl(U, D), link(U, V), !meta(U, "robots", "nofollow"), D < 9.
live bare. bare(V, U) :- link(U, V), fetched(V), !title(V, _).`
	for _, late := range []bool{false, true} {
		p := start(t, src, Options{Crawl: true}, NewMem())
		a := read(t, "http://a.org/", "http://a.org/1", "http://a.org/2")
		one, two := read(t, "http://a.org/1", "http://a.org/"), read(t, "http://a.org/2", "http://a.org/")
		one.Title = "One"
		two.Metas = []page.Field{{Name: "robots", Value: "nofollow"}}
		pages := []*page.Facts{one, two, a}
		if late {
			slices.Reverse(pages)
		}
		var orders []string
		for _, f := range pages {
			orders = append(orders, p.page(f)...)
		}
		slices.Sort(orders)
		p.want("orders", orders, "http://a.org/ 1 0", "http://a.org/1 1 0", "http://a.org/2 1 0")
		p.want("untitled", p.rows("untitled"), "http://a.org/", "http://a.org/2")
		p.want("bare", p.rows("bare"), "http://a.org/ http://a.org/1", "http://a.org/ http://a.org/2", "http://a.org/2 http://a.org/")
	}
}

// Links to one target that say different things are rows of their own where a rule
// looks at what they say, and one row where none does.
func TestSeveralLinksToOneTarget(t *testing.T) {
	p := start(t, `crawl(U, 0) :- seed(U). live says. live to. says(V, A, R) :- link(_, V, A, R). to(V) :- link(_, V).`, Options{Crawl: true}, NewMem())
	f := read(t, "http://a.org/", "http://a.org/1", "http://a.org/1", "http://a.org/1")
	f.Links[0].Text, f.Links[1].Text, f.Links[2].Text, f.Links[2].Rel = "one", "more", "one", "next"
	p.page(f)
	p.want("says", p.rows("says"), "http://a.org/1 more ", "http://a.org/1 one ", "http://a.org/1 one next")
	p.want("to", p.rows("to"), "http://a.org/1")
	for src, want := range map[string]bool{
		"t(V) :- link(_, V).": false, "t(V) :- link(_, V, _, _).": false, "t(A) :- link(_, _, A).": true,
		`t(V) :- link(_, V, "more").`: true, "t(R) :- link(_, _, _, R).": true, `t(V) :- link(_, V, _, "next").`: true,
	} {
		if got := compile(t, "crawl(U, 0) :- seed(U). live t. "+src, Options{Crawl: true}).Wants().Anchors; got != want {
			t.Errorf("%s: anchors are wanted: %t", src, got)
		}
	}
}

// TestLargeGroups counts past what a byte holds, a page that links twice once.
func TestLargeGroups(t *testing.T) {
	p := start(t, `crawl(U, 0) :- seed(U). live pop. pop(V, max count<U>) :- link(U, V). crawl(V, 1) :- pop(V, N), N >= 300.`, Options{Crawl: true}, NewMem())
	for i := 1; i <= 300; i++ {
		orders := p.page(read(t, fmt.Sprintf("http://a.org/%d", i), "http://b.org/", "http://b.org/"))
		p.want("pop", p.rows("pop"), fmt.Sprintf("http://b.org/ %d", i))
		if (len(orders) > 0) != (i == 300) {
			t.Errorf("page %d has led to %v", i, orders)
		}
	}
}

// A robots.txt is no page: it has no row of crawl and was not fetched, but names
// sitemaps.
func TestRobotsNamesSitemaps(t *testing.T) {
	p := start(t, `crawl(U, 0) :- seed(U). crawl(V, 7) :- robots(_, V). crawl(V, 8) :- crawl(U, D), robots(U, V), D < 9.
crawl(V, D) :- crawl(U, D), sitemap(U, V, _, "index"). crawl(V, D+1) :- crawl(U, D), sitemap(U, V, T, "page"), T > time("2020-01-01").
got(U) :- fetched(U).`, Options{Crawl: true}, NewMem())
	f := read(t, "http://a.org/robots.txt", "http://a.org/map.xml")
	f.Robots = true
	f.Links[0].Kind = page.Sitemap
	p.want("orders of robots.txt", p.page(f), "http://a.org/map.xml 7 0")
	if p.out.Crawl[0].Via != ByRobots {
		t.Errorf("the sitemap comes by %d", p.out.Crawl[0].Via)
	}
	p.want("fetched", p.rows("got"))
	f = read(t, "http://a.org/map.xml", "http://a.org/other.xml", "http://a.org/new", "http://a.org/old")
	for i, last := range []string{"", "2021-05-06T07:08:09Z", "2019-12-31"} {
		f.Links[i].Kind, f.Links[i].Text = page.Sitemap, last
	}
	f.Links[0].Rel = "sitemap"
	p.want("orders of the sitemap", p.page(f), "http://a.org/other.xml 0 0", "http://a.org/new 1 0")
	if p.out.Crawl[0].Via != BySitemapIndex || p.out.Crawl[1].Via != BySitemap {
		t.Errorf("by %d and %d", p.out.Crawl[0].Via, p.out.Crawl[1].Via)
	}
}

// A priority is tested as it was written, though pages keep less of it.
func TestPriorityKeepsItsDigits(t *testing.T) {
	p := start(t, `crawl(U, 0, 0.7) :- seed(U). crawl(V, D+1, P) :- crawl(U, D, P), link(U, V), P >= 0.7.`, Options{Crawl: true}, NewMem())
	f := read(t, "http://a.org/", "http://a.org/x")
	f.Score = 0.7
	p.want("orders", p.page(f), "http://a.org/x 1 0.7")
	if !p.plan.TestsPriority || p.plan.TestsDepth {
		t.Errorf("tests priority: %t, tests depth: %t", p.plan.TestsPriority, p.plan.TestsDepth)
	}
}

// Inputs join anywhere, by any column.
func TestInputs(t *testing.T) {
	p := &play{t: t, plan: compile(t, `input blocked(text) from "b". input topic(text, text) from "t". input start(url) from "s".
crawl(U, 0) :- start(U). crawl(V, D+1) :- crawl(U, D), link(U, V), !blocked(host(V)), D < 5.
about(U, S) :- word(U, W, _), topic(S, W).`, Options{Crawl: true})}
	load := func(table string, rows ...Row) { p.must(p.plan.Load(p.plan.Program.Table(table), rows)) }
	load("blocked", Row{text("b.org")})
	load("topic", Row{text("energy"), text("solar")}, Row{text("energy"), text("wind")}, Row{text("art"), text("paint")})
	load("start", Row{text("HTTP://a.org")})
	p.restart(NewMem())
	if len(p.out.Crawl) != 1 || p.out.Crawl[0].URL.String() != "http://a.org/" {
		t.Errorf("orders of the start: %v", p.out.Crawl)
	}
	f := read(t, "http://a.org/", "http://b.org/", "http://c.org/")
	f.Words = []page.Word{{Term: "solar", N: 1}, {Term: "wind", N: 1}, {Term: "boat", N: 1}}
	p.want("orders", p.page(f), "http://c.org/ 1 0")
	p.want("about", p.rows("about"), "http://a.org/ energy")
	if err := p.plan.Load(p.plan.Program.Table("start"), []Row{{text("nonsense")}}); err == nil {
		t.Error("a row that is no URL is taken")
	}
	if err := p.plan.Load(p.plan.Program.Table("topic"), []Row{{text("x")}}); err == nil {
		t.Error("a row with too few columns is taken")
	}
}

// Rows that wait for others are found in whichever order they come, on one
// partition or on several.
func TestJoinAcrossPages(t *testing.T) {
	src := `crawl(U, 0) :- seed(U). live broken, near, twins.
broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400. near(U, X) :- link(U, V), link(V, X).
twins(A, B) :- title(A, T), title(B, T), A != B.`
	a := read(t, "http://a.org/", "http://a.org/gone", "http://b.org/")
	b := read(t, "http://b.org/", "http://a.org/")
	gone := &page.Facts{URL: mustURL(t, "http://a.org/gone"), Outcome: page.ClientError, Status: 404}
	a.Title, b.Title = "Same", "Same"
	for _, pages := range [][]*page.Facts{{a, b, gone}, {gone, b, a}, {b, gone, a, a, gone, b}} {
		p := start(t, src, Options{Crawl: true}, NewMem())
		for _, f := range pages {
			p.page(f)
		}
		p.want("broken", p.rows("broken"), "http://a.org/ http://a.org/gone 404")
		p.want("near", p.rows("near"), "http://a.org/ http://a.org/", "http://b.org/ http://a.org/gone", "http://b.org/ http://b.org/")
		p.want("twins", p.rows("twins"), "http://a.org/ http://b.org/", "http://b.org/ http://a.org/")
	}
}

// FuzzTuple delivers bytes that no partition has sent.
func FuzzTuple(f *testing.F) {
	plan := compile(f, `crawl(U, 0) :- seed(U). live broken, best. broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
best(V, max L) :- link(U, V, A), L = len(A).`, Options{Crawl: true})
	f.Add(uint32(0), []byte("http://a.org/\x00http://b.org/\x00"))
	f.Add(uint32(1), []byte{})
	f.Add(uint32(99), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, input uint32, row []byte) {
		x, err := NewPart(plan, NewMem(), 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		var out Out
		if err := x.Tuple(Tuple{Input: input, Row: row}, &out); err != nil {
			return
		}
		if err := x.Page(read(t, "http://a.org/", "http://b.org/"), &out); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFind: the rows of a table with one value in their first column, and no others.
func TestFind(t *testing.T) {
	p := start(t, `crawl(U, 0) :- seed(U). live index. index(W, U, N, L) :- word(U, W, N, L), !noindex(U).`, Options{}, NewMem())
	for i, u := range []string{"http://a.example/", "http://b.example/", "http://c.example/"} {
		f := &page.Facts{URL: page.Canonical(u), Outcome: page.OK, Status: 200, Words: []page.Word{{Term: "dam", N: i + 1}, {Term: "damp", N: 1}}, Said: i + 2, NoIndex: i == 2}
		if err := p.part.Page(f, &Out{}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := p.part.Find(p.plan.Program.Table("index"), query.Value{S: "dam"}, func(row Row) bool {
		got = append(got, fmt.Sprint(row[0].S, " ", row[1].S, " ", row[2].N, " ", row[3].N))
		return true
	})
	want := []string{"dam http://a.example/ 1 2", "dam http://b.example/ 2 3"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v, want %q", got, err, want)
	}
}
