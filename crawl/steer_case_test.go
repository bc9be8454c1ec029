package crawl

import (
	"fmt"
	"testing"

	"weir/page"
)

// shelf is a crawl whose pages a test hands to the Ledger itself, one by one, and
// which is steered between them.
type shelf struct {
	*play
	l     *Ledger
	links map[string][]string // by path
}

func newShelf(t *testing.T, links map[string][]string) *shelf {
	s := &shelf{play: newPlay(t, "http://a.example/0"), links: links}
	return s
}

func (s *shelf) begin() {
	s.play.open()
	s.l = s.ledger
}

func (s *shelf) at(path string) PageInfo { return s.page("http://a.example" + path) }

// read are the facts of a page.
func (s *shelf) read(path string) *page.Facts {
	info := s.at(path)
	f := &page.Facts{Key: info.Key, URL: mustURL("http://a.example" + path), Outcome: page.OK, Status: 200, Depth: uint16(info.Depth)}
	for _, to := range s.links[path] {
		f.Links = append(f.Links, link("http://a.example"+to))
	}
	return f
}

// take fetches pages, each in a group of its own.
func (s *shelf) take(paths ...string) {
	for _, path := range paths {
		s.must(s.l.Page(1, s.read(path), Archived{}, false))
		s.flush()
	}
}

// derive has a page lead to another at a depth, whatever its links say.
func (s *shelf) derive(from, to string, depth uint16) {
	k := s.at(to).Key
	_, err := s.l.crawl(s.read(from), k, fingerprint(k), &Row{URL: mustURL("http://a.example" + to), Hash: k.Hash, Depth: depth, By: ByLink})
	s.must(err)
}

func (s *shelf) steerTo(scope ScopeConfig) {
	s.scope = scope
	rules := s.rules(1)
	s.must(s.l.Steer(1, rules, rules.Traits()))
	s.flush()
}

// settle delivers what is due until nothing is.
func (s *shelf) settle() {
	s.t.Helper()
	for range 100 {
		keys, err := s.l.Due(64)
		s.must(err)
		for _, k := range keys {
			if k.Hash == 0 {
				s.must(s.l.Skip(k))
				continue
			}
			info, err := s.view().Key(k)
			s.must(err)
			s.must(s.l.Again(s.read(info.URL.Path())))
		}
		s.l.Delivered()
		s.flush()
		if tot := s.l.Totals(); !tot.Steered && !tot.Stale && tot.Due == 0 {
			return
		}
	}
	s.t.Fatalf("there is no end to it: %+v", s.l.Totals())
}

// A page that the new program finds by a long way first, and by a short one before
// it was delivered, is delivered once.
func TestSteerFindsAShorterWay(t *testing.T) {
	s := newShelf(t, map[string][]string{"/0": {"/t"}})
	s.begin()
	s.take("/0", "/t")
	s.steerTo(ScopeConfig{Scope: "any", Depth: -1, Exclude: []string{"zzz"}})
	for _, depth := range []uint16{3, 2} {
		s.derive("/0", "/t", depth)
		s.flush()
	}
	s.settle()
}

// What was due under the old program means nothing to one that does not ask for it.
func TestSteerForgetsWhatWasDue(t *testing.T) {
	s := newShelf(t, map[string][]string{"/0": {"/a"}, "/a": {"/b"}, "/b": {"/c"}})
	s.scope.Depth = 5
	s.begin()
	s.take("/0", "/a", "/b")
	s.derive("/0", "/b", 1)
	s.flush()
	s.links["/b"] = []string{"/c", "/d"}
	s.steerTo(ScopeConfig{Scope: "any", Depth: 5, Exclude: []string{"/b$"}})
	s.settle()
	if got := s.at("/d").State; got != "" {
		t.Errorf("/d is %s: only /b, which the program excludes, links to it", got)
	}
}

// A page that is asked for while its end as steered away is on its way waits on.
func TestSteerAsksAtTheLastMoment(t *testing.T) {
	s := newShelf(t, map[string][]string{"/0": {"/a", "/b"}})
	s.begin()
	s.take("/0")
	s.steerTo(ScopeConfig{Scope: "any", Depth: -1, Exclude: []string{"/b$"}})
	s.settle()
	b := s.at("/b")
	s.derive("/a", "/b", 2)
	s.must(s.l.Settle(9, b.Key.Site, b.Entry, page.SteeredAway))
	s.flush()
	if got := s.at("/b"); got.State != "queued" {
		t.Errorf("it is %s as %v", got.State, got.Outcome)
	}
}

// A page that is steered away and asked for again in one group is queued once.
func TestSteerQueuesOnce(t *testing.T) {
	s := newShelf(t, map[string][]string{"/0": {"/b"}})
	s.begin()
	s.take("/0")
	s.steerTo(ScopeConfig{Scope: "any", Depth: -1, Exclude: []string{"/b$"}})
	s.settle()
	b := s.at("/b")
	s.must(s.l.Settle(9, b.Key.Site, b.Entry, page.SteeredAway))
	s.derive("/0", "/b", 2)
	s.flush()
	n := 0
	s.must(s.kv.Scan([]byte{keyQueue}, []byte{keyQueue + 1}, func(_, _ []byte) bool { n++; return true }))
	if n != 1 || s.l.Totals().Queued != 1 {
		t.Errorf("%d queue rows for %d queued pages", n, s.l.Totals().Queued)
	}
}

// A page that failed while the crawl was steered is tried again for the program
// that had asked for it, and for no other.
func TestSteerDuringARetry(t *testing.T) {
	s := newShelf(t, map[string][]string{"/0": {"/b"}})
	s.begin()
	s.take("/0")
	s.steerTo(ScopeConfig{Scope: "any", Depth: -1, Exclude: []string{"/b$"}})
	f := s.read("/b")
	f.Outcome = page.ServerError
	s.must(s.l.Page(2, f, Archived{}, false))
	s.flush()
	if e := s.at("/b").Entry; e.Version != 0 {
		t.Errorf("the entry says version %d; only version 0 has asked for it", e.Version)
	}
}

// However deep a page lies, the next program finds it.
func TestSteerGoesDeep(t *testing.T) {
	p := newPlay(t, "http://a.example/0")
	p.facts = func(f *page.Facts) {
		var i int
		fmt.Sscanf(f.URL.String(), "http://a.example/%d", &i)
		to := fmt.Sprintf("http://a.example/%d", i+1)
		if i == 300 {
			to = "http://a.example/end"
		}
		f.Links = []page.Link{link(to)}
	}
	p.scope.Exclude = []string{"end"}
	p.steer = func(Fetch) *ScopeConfig {
		if len(p.fetched) < 301 {
			return nil
		}
		return &ScopeConfig{Scope: "any", Depth: -1, Exclude: []string{"/[0-9]{4}"}}
	}
	p.cfg.MaxPages = 400
	p.run()
	if got := p.page("http://a.example/end").State; got != "ended" {
		t.Errorf("the end is %q", got)
	}
}

// The next program hears of all seeds with their scores, also of those that the
// last one did not want.
func TestSteerTellsTheSeeds(t *testing.T) {
	p := newOwn(t, `crawl(U, 0, S) :- seed(U, S), ends(U, "/a").`, nil, "http://a.example/a", "http://a.example/b")
	p.scores = map[string]float32{"http://a.example/a": 7, "http://a.example/b": 6}
	p.steer = func(Fetch) *ScopeConfig {
		p.own = "crawl(U, 0, S) :- seed(U, S), S > 5."
		return &p.scope
	}
	p.run()
	for _, u := range []string{"http://a.example/a", "http://a.example/b"} {
		info := p.page(u)
		b, _, err := p.kv.Get(pageKey(keyURL, info.Key))
		p.must(err)
		var r urlRow
		p.must(r.read(b))
		if r.version != 1 || info.State != "ended" {
			t.Errorf("%s is %q, of version %d", u, info.State, r.version)
		}
	}
}

// A sweep that is cut off after its pages were named, and before they came, names
// them again.
func TestSweepIsRepeated(t *testing.T) {
	s := newShelf(t, map[string][]string{})
	s.begin()
	s.take("/0")
	s.l.stale()
	s.flush()
	if keys, err := s.l.Due(64); err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	s.flush() // while the archive is read
	s.begin() // killed, and begun again
	if keys, err := s.l.Due(64); err != nil || len(keys) != 1 {
		t.Errorf("%d pages are due, %v", len(keys), err)
	}
}

// A page that ended with an error has a meaning too when a small table grows.
func TestErrorsAreSweptToo(t *testing.T) {
	web := map[string][]page.Link{}
	p := newOwn(t, `small ok.
		ok(S) :- title(_, S).
		crawl(U, 0) :- seed(U).
		crawl("http://b.example/", 0) :- fetched(U, _, _, _, O), ok(O).`, web, "http://a.example/e", "http://a.example/client-error")
	p.answer = func(f Fetch) Done {
		if f.URL.Path() == "/e" {
			return Done{Outcome: page.ClientError}
		}
		return Done{Outcome: page.OK}
	}
	p.run()
	if got := p.page("http://b.example/").State; got != "ended" {
		t.Errorf("b.example is %q, after %v", got, p.visited())
	}
}

// A page whose priority improves after it was fetched is delivered again, if rules
// test the priority.
func TestPriorityIsTheGreatest(t *testing.T) {
	links := map[string][]page.Link{
		"http://a.example/s": {link("http://a.example/a"), link("http://a.example/b")}, "http://a.example/a": {link("http://a.example/aa")},
		"http://a.example/aa": {link("http://a.example/x")}, "http://a.example/b": {link("http://a.example/x")}, "http://a.example/x": {link("http://a.example/end")},
	}
	p := newOwn(t, `
		crawl(U, 0, 9) :- seed(U).
		crawl(V, D+1, P) :- crawl(U, D, P), link(U, V), D < 3, P >= 5, !contains(V, "/b").
		crawl(V, D+1, 6) :- crawl(U, D, _), link(U, V), D < 3, contains(V, "/b").`, links, "http://a.example/s")
	p.run()
	if got := p.page("http://a.example/end").State; got != "ended" {
		t.Errorf("/end is 3 links away and has priority 5 or more, and is %q after %v", got, p.visited())
	}
}
