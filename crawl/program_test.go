package crawl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/page"
)

// newOwn is a crawl by a program, of a web that says of every page where it leads.
func newOwn(t testing.TB, program string, web map[string][]page.Link, seeds ...string) *play {
	p := newPlay(t, seeds...)
	p.own = program
	p.cfg.Order = "score"
	p.facts = func(f *page.Facts) {
		f.Status, f.Links = 200, web[f.URL.String()]
		f.Title = strings.TrimPrefix(f.URL.Path(), "/")
	}
	return p
}

func (p *play) visited() []string {
	var list []string
	for _, v := range p.fetched {
		list = append(list, strings.TrimPrefix(v.url, "http://"))
	}
	return list
}

// The priority that a program gives a page decides when it is fetched, also when
// it comes after the page has begun to wait.
func TestProgramGivesPriorities(t *testing.T) {
	web := map[string][]page.Link{
		"http://a.example/":     {named("http://a.example/dull", "dull"), named("http://a.example/late", "dull"), named("http://a.example/good", "solar power")},
		"http://a.example/good": {named("http://a.example/late", "more on solar")},
	}
	p := newOwn(t, `
		crawl(U, 0, 1) :- seed(U).
		crawl(V, D+1, 0) :- crawl(U, D, _), link(U, V), D < 5.
		crawl(V, D+1, 5) :- crawl(U, D, _), link(U, V, A), contains(A, "solar"), D < 5.`, web, "http://a.example/")
	p.run()
	if got, want := p.visited(), []string{"a.example/", "a.example/good", "a.example/late", "a.example/dull"}; !slices.Equal(got, want) {
		t.Errorf("fetched %v, want %v", got, want)
	}
	if by := p.page("http://a.example/good").By; by.String() != "rule 2" && by.String() != "rule 3" {
		t.Errorf("brought by %s", by)
	}
}

// While all hosts rest, the crawl can say until when, and that its program wants
// it so.
func TestProgramRests(t *testing.T) {
	web := map[string][]page.Link{"http://a.example/": {link("http://a.example/1"), link("http://a.example/2")}}
	p := newOwn(t, `
		crawl(U, 0) :- seed(U).
		crawl(V, D+1) :- crawl(U, D), link(U, V), D < 3.
		wait(host(U), 900d) :- seed(U).`, web, "http://a.example/")
	var rests []Rest
	p.idle = func() {
		if r := p.engine.Status().Rest; r.Host != "" && r.Until.Sub(p.now) > time.Hour {
			rests = append(rests, r)
		}
	}
	for range 2 {
		p.run()
		p.resume = true
	}
	if len(p.fetched) != 3 || len(rests) < 2 || rests[0].Host != "a.example" || rests[0].Asked != page.MaxAsked {
		t.Errorf("fetched %v, rests %+v", p.fetched, rests)
	}
}

func named(u, anchor string) page.Link {
	l := link(u)
	l.Text = anchor
	return l
}

// A rule for stop ends the crawl, and the crawl stays ended.
func TestProgramStops(t *testing.T) {
	web := map[string][]page.Link{"http://a.example/": {link("http://a.example/1")}, "http://a.example/1": {link("http://a.example/needle")},
		"http://a.example/needle": {link("http://a.example/2")}}
	p := newOwn(t, `
		crawl(U, 0) :- seed(U).
		crawl(V, D+1) :- crawl(U, D), link(U, V), D < 9.
		stop("found") :- title(U, T), contains(T, "needle").`, web, "http://a.example/")
	for range 2 {
		if got := p.run(); got != "stop: found" {
			t.Errorf("stopped by %q", got)
		}
		p.resume = true
	}
	if n := len(p.fetched); n != 3 {
		t.Errorf("fetched %v", p.visited())
	}
}

// A rule for wait makes the rests of a host longer, in this run and the next, and
// never shorter.
func TestProgramWaits(t *testing.T) {
	web := map[string][]page.Link{}
	for _, u := range []string{"http://slow.example/", "http://fast.example/"} {
		for _, v := range []string{"1", "2", "3"} {
			web[u] = append(web[u], link(u+v))
		}
	}
	p := newOwn(t, `
		crawl(U, 0) :- seed(U).
		crawl(V, D+1) :- crawl(U, D), link(U, V), D < 3.
		wait(host(U), 30) :- fetched(U), starts(host(U), "slow").
		wait(host(U), 0) :- fetched(U), starts(host(U), "fast").`, web, "http://slow.example/", "http://fast.example/")
	p.cfg.MaxPages = 5
	p.run()
	p.cfg.MaxPages, p.resume = 0, true
	p.now = p.now.Add(time.Hour)
	p.run()
	last := map[string]page.Time{}
	for _, v := range p.fetched {
		u := mustURL(v.url)
		if at, ok := last[u.Host()]; ok {
			least := time.Second
			if u.Host() == "slow.example" {
				least = 30 * time.Second
			}
			if v.at.Sub(at) < least {
				t.Errorf("%s was fetched %v after the page before", u, v.at.Sub(at))
			}
		}
		last[u.Host()] = v.at
	}
	if len(p.fetched) != 8 {
		t.Errorf("fetched %v", p.visited())
	}
}

// A program may go on from pages by what others say of them: here, two links make
// a page worth fetching.
func TestProgramCountsLinks(t *testing.T) {
	web := map[string][]page.Link{
		"http://a.example/":  {link("http://a.example/1"), link("http://a.example/2"), link("http://x.example/once")},
		"http://a.example/1": {link("http://y.example/twice")}, "http://a.example/2": {link("http://y.example/twice")},
	}
	p := newOwn(t, `
		crawl(U) :- seed(U).
		crawl(V) :- crawl(U), link(U, V), host(U) = host(V).
		pop(V, max count<U>) :- link(U, V).
		crawl(V) :- pop(V, N), N >= 2.`, web, "http://a.example/")
	p.run()
	if got := p.visited(); !slices.Contains(got, "y.example/twice") || slices.Contains(got, "x.example/once") {
		t.Errorf("fetched %v", got)
	}
}

// Pages that lead to a host that comes into scope later are read again.
func TestScopeThatGrows(t *testing.T) {
	web := map[string][]page.Link{
		"http://a.example/": {link("http://www.b.example/only-here")},
	}
	p := newPlay(t, "http://a.example/", "http://b.example/")
	p.scope = ScopeConfig{Scope: "host", Depth: -1}
	p.answer = func(f Fetch) Done {
		if f.URL.String() == "http://b.example/" && len(p.fetched) < 2 {
			return Done{Outcome: page.ServerError} // so that it comes last
		}
		if f.URL.Host() == "b.example" {
			return Done{Outcome: page.Redirected}
		}
		return Done{Outcome: page.OK}
	}
	p.facts = func(f *page.Facts) {
		f.Links = web[f.URL.String()]
		if f.Outcome == page.Redirected {
			f.Redirect = link("http://www.b.example/")
		}
	}
	if got := p.run(); got != StopDone {
		t.Fatal(got)
	}
	if !slices.Contains(p.visited(), "www.b.example/only-here") {
		t.Errorf("fetched %v", p.visited())
	}
	if tot := p.totals(); tot.Stale || p.again == 0 {
		t.Errorf("%d pages were delivered again; %+v", p.again, tot)
	}
}

// endless redirects every page to the next one.
func endless(p *play) {
	p.answer = func(Fetch) Done { return Done{Outcome: page.Redirected} }
	p.facts = func(f *page.Facts) {
		n := 0
		fmt.Sscanf(f.URL.Path(), "/%d", &n)
		f.Redirect = link(fmt.Sprintf("http://a.example/%d", n+1))
	}
}

// A page that too many redirects lead to is never asked for, and the program hears
// of that as of any other end.
func TestProgramHearsOfTooManyRedirects(t *testing.T) {
	p := newOwn(t, `
		crawl(U, 0) :- seed(U).
		crawl(V, D) :- crawl(U, D), redirect(U, V).
		crawl("http://b.example/alarm", 1) :- fetched(U, 0, _, _, "too-many-redirects").`, nil, "http://a.example/0")
	endless(p)
	p.run()
	if got := p.page("http://a.example/11").Outcome; got != page.TooManyRedirects {
		t.Errorf("the eleventh redirect ended as %v", got)
	}
	if got := p.page("http://b.example/alarm").State; got != "ended" {
		t.Errorf("what follows from it is %q", got)
	}
}
