package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// user is somebody who shares a crawl.
type user struct {
	name   string
	number uint8
	text   string
	seeds  []Seed
}

// several are the rules of those who share the crawl.
func (p *play) several() *Several {
	var list []Member
	for _, u := range p.shared {
		rules, err := NewProgram(ProgramConfig{Plan: compileOwn(p.t, u.text), Own: true, Secret: worldSecret, Version: u.number}, p.kv)
		p.must(err)
		list = append(list, Member{Name: u.name, Rules: rules, Seeds: u.seeds})
	}
	return NewSeveral(p.kv, list)
}

// table is the crawl table of a program: depth and, where it gives priorities,
// score by URL.
func (p *play) table(v *View, scores bool) map[string]string {
	p.t.Helper()
	rows := map[string]string{}
	note := func(i *PageInfo) bool {
		if !i.Stray {
			rows[i.URL.String()] = fmt.Sprint(i.Depth)
			if scores {
				rows[i.URL.String()] += fmt.Sprint(" ", i.Score)
			}
		}
		return true
	}
	p.must(v.Pages(note))
	p.must(v.Queue(note))
	p.must(v.Parked(note))
	return rows
}

// kept are the rows of a table that a program keeps up.
func (p *play) kept(rules *Program, table string) []string {
	var rows []string
	t := rules.cfg.Plan.Program.Table(table)
	if t == nil {
		return nil
	}
	p.must(rules.Rows(t, func(row flow.Row) bool {
		rows = append(rows, fmt.Sprint(row))
		return true
	}))
	return rows
}

// maze is a web of a few hosts, with titles, anchors and errors.
type maze struct {
	pages  int
	links  [][]int
	titled []string
}

func newMaze(rng *rand.Rand) *maze {
	m := &maze{pages: 10 + rng.IntN(40)}
	words := []string{"solar", "wind", "coal", "needle"}
	for i := range m.pages {
		var to []int
		if i+1 < m.pages && rng.IntN(4) > 0 {
			to = append(to, i+1)
		}
		for range rng.IntN(4) {
			to = append(to, rng.IntN(m.pages))
		}
		m.links = append(m.links, to)
		m.titled = append(m.titled, words[rng.IntN(len(words)-1)])
	}
	return m
}

func (m *maze) url(i int) string { return fmt.Sprintf("http://%c.example/%d", 'a'+i%3, i) }

func (m *maze) index(u page.URL) int {
	var i int
	fmt.Sscanf(u.Path(), "/%d", &i)
	return i
}

func (m *maze) play(t testing.TB) *play {
	p := newPlay(t, m.url(0), m.url(1))
	p.cfg.Order = "score"
	p.answer = func(f Fetch) Done {
		if m.index(f.URL)%7 == 6 {
			return Done{Outcome: page.ClientError}
		}
		return Done{Outcome: page.OK}
	}
	p.facts = func(f *page.Facts) {
		if f.Outcome != page.OK {
			f.Status = 404
			return
		}
		i := m.index(f.URL)
		f.Status, f.Title = 200, m.titled[i]
		for _, to := range m.links[i] {
			l := link(m.url(to))
			l.Text = m.titled[to]
			f.Links = append(f.Links, l)
		}
	}
	return p
}

// wish is a random program.
func wish(rng *rand.Rand) string {
	n := 1 + rng.IntN(6)
	word := []string{"solar", "wind", "coal"}[rng.IntN(3)]
	host := []string{"a", "b", "c"}[rng.IntN(3)]
	var b strings.Builder
	switch rng.IntN(8) {
	case 0:
		fmt.Fprintf(&b, `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), D < %d, host(V) = host(U).`, n)
	case 1:
		fmt.Fprintf(&b, `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), D < %d.`, n)
	case 2:
		fmt.Fprintf(&b, `crawl(U) :- seed(U). crawl(V) :- crawl(U), link(U, V, A), A != %q.`, word)
	case 3:
		fmt.Fprintf(&b, `crawl(U, 0, 9) :- seed(U). crawl(V, D+1, P-1) :- crawl(U, D, P), link(U, V), D < %d, P > %d.
			crawl(V, D+1, P) :- crawl(U, D, P), link(U, V, %q), D < %d.`, n+2, 9-n, word, n+2)
	case 4:
		fmt.Fprintf(&b, `crawl(U) :- seed(U). crawl(V) :- crawl(U), link(U, V), host(U) = host(V).
			pop(V, max count<U>) :- link(U, V). crawl(V) :- pop(V, N), N >= 2.`)
	case 5:
		fmt.Fprintf(&b, `small ok. ok(host(U)) :- seed(U). ok(%q) :- title(_, %q).
			crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), ok(host(V)), D < %d.`, host+".example", word, n+3)
	case 6:
		fmt.Fprintf(&b, `crawl(U, 0) :- seed(U), starts(U, "http://%s."). crawl(V, D+1) :- crawl(U, D), link(U, V), title(U, T), T != %q, D < %d.`, host, word, n+1)
	case 7:
		fmt.Fprintf(&b, `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), near(U), D < 9.
			near(V) :- crawl(U, D), link(U, V), D < %d. near(U) :- seed(U).`, n)
	}
	b.WriteString("\nlive broken. broken(U, V) :- link(U, V), fetched(V, S), S >= 400.")
	return b.String()
}

// Whoever shares a crawl has in the end what the program gives alone, whatever the
// others ask for, whenever they came, and however often the crawl was stopped; and
// no page is fetched twice.
func TestSharedCrawlIsAsAlone(t *testing.T) {
	redelivered := 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 11))
		m := newMaze(rng)
		p := m.play(t)
		var all []user
		for i := range 2 + rng.IntN(2) {
			all = append(all, user{name: string(rune('p' + i)), number: uint8(i), text: wish(rng)})
			if rng.IntN(5) == 0 {
				all[i].seeds = []Seed{{URL: mustURL(m.url(rng.IntN(m.pages)))}}
			}
		}
		p.shared = all
		if rng.IntN(2) == 0 { // the last one comes later
			p.shared = all[:len(all)-1]
			after := 1 + rng.IntN(10)
			p.join = func(Fetch) []user {
				if after--; after == 0 {
					return all
				}
				return nil
			}
		}
		if rng.IntN(2) == 0 {
			p.cfg.Order = []string{"length", "siteopic", "depth"}[rng.IntN(3)]
		}
		if n := int64(3 + rng.IntN(10)); rng.IntN(2) == 0 { // stopped and begun again
			for p.cfg.MaxPages = n; p.run() != StopDone; p.cfg.MaxPages += n {
				p.resume = true
			}
		}
		p.cfg.MaxPages = 0
		for again := true; again; again = p.totals().Steered { // somebody may have come just before the end
			if got := p.run(); got != StopDone {
				t.Fatalf("seed %d: stopped by %s", seed, got)
			}
			p.resume = true
		}
		redelivered += p.again
		once := map[string]bool{}
		for _, v := range p.fetched {
			if once[v.url] {
				t.Errorf("seed %d: %s was fetched twice", seed, v.url)
			}
			once[v.url] = true
		}
		if tot := p.totals(); tot.Due != 0 || tot.Stale || tot.Steered || tot.Queued != 0 {
			t.Errorf("seed %d: at the end %+v", seed, tot)
		}
		for i, u := range p.shared {
			alone := m.play(t)
			alone.own = u.text
			if u.seeds != nil {
				alone.seeds = []string{u.seeds[0].URL.String()}
			}
			alone.run()
			rules := p.ledger.several.members[i].Rules
			scores := rules.Traits().Priority && p.cfg.Order == "score"
			got, want := p.table(p.view().Of(Named{Name: u.name, Number: u.number}), scores), alone.table(alone.view(), scores)
			for url := range want {
				if rules.depth && got[url] != want[url] || got[url] == "" {
					t.Errorf("seed %d: %s has %s as %q, want %q", seed, u.text, url, got[url], want[url])
				}
			}
			if len(got) != len(want) {
				t.Errorf("seed %d: %s has %d pages, want %d", seed, u.text, len(got), len(want))
			}
			if got, want := p.kept(rules, "broken"), alone.kept(alone.rules(0), "broken"); !slices.Equal(got, want) {
				t.Errorf("seed %d: %s has broken %v, want %v", seed, u.text, got, want)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if redelivered == 0 {
		t.Error("nothing was delivered again: this test shows little")
	}
}

// chain is a web in which every page leads to the next, and to a side page.
func chain(host string, n int) map[string][]page.Link {
	web := map[string][]page.Link{}
	for i := range n {
		u := fmt.Sprintf("http://%s/%d", host, i)
		web[u] = []page.Link{link(fmt.Sprintf("http://%s/%d", host, i+1)), link(fmt.Sprintf("http://%s/side%d", host, i))}
	}
	return web
}

const (
	onward   = `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), !contains(V, "side"), D < 9.`
	sideward = `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), D < 9.`
)

// A program that stops ends for itself: the others go on, pages that only it asked
// for are not fetched, and the crawl stops when all have.
func TestSharedCrawlStopsOneByOne(t *testing.T) {
	p := newOwn(t, "", chain("a.example", 12), "http://a.example/0")
	p.cfg.Order = "depth"
	p.shared = []user{
		{name: "on", text: onward + ` stop("far") :- fetched(U), ends(U, "/6").`},
		{name: "side", number: 1, text: sideward + ` stop("enough") :- fetched(U), ends(U, "/3").`},
	}
	for range 2 {
		if got := p.run(); got != "stop: far, enough" {
			t.Fatalf("stopped by %q after %v", got, p.visited())
		}
		p.resume = true
	}
	for u, want := range map[string]bool{"/6": true, "/7": false, "/side1": true, "/side5": false} {
		if got := slices.Contains(p.visited(), "a.example"+u); got != want {
			t.Errorf("%s was fetched: %v; fetched %v", u, got, p.visited())
		}
	}
	p = newOwn(t, "", chain("a.example", 12), "http://a.example/0")
	p.cfg.Order = "depth"
	p.shared = []user{{name: "on", text: onward}, {name: "side", number: 1, text: sideward + ` stop("enough") :- fetched(U), ends(U, "/3").`}}
	if got := p.run(); got != StopDone {
		t.Fatalf("stopped by %q", got)
	}
	if info := p.page("http://a.example/side3"); info.Outcome != page.SteeredAway || !slices.Contains(p.visited(), "a.example/9") {
		t.Errorf("/side3, which only the program that stopped asks for, ended as %v; fetched %v", info.Outcome, p.visited())
	}
}

// What only a program has asked for that left the crawl is not fetched, and is
// when another comes that asks for it.
func TestSharedCrawlIsLeft(t *testing.T) {
	p := newOwn(t, "", chain("a.example", 9), "http://a.example/0")
	p.cfg.Order = "score"
	p.shared = []user{{name: "on", text: onward}, {name: "side", number: 1, text: sideward}}
	p.join = func(f Fetch) []user {
		if len(p.fetched) < 3 {
			return nil
		}
		return []user{{name: "on", text: onward}}
	}
	p.run()
	n := 0
	for _, u := range p.visited() {
		if strings.Contains(u, "side") {
			n++
		}
	}
	if n > 2 || len(p.fetched) < 9 {
		t.Errorf("fetched %v", p.visited())
	}
	had := len(p.fetched)
	p.resume = true
	p.cfg.MaxPages = int64(had)
	p.run() // nothing is left to do
	p.shared = append(p.shared, user{name: "side", number: 2, text: sideward})
	p.must(p.ledger.Change(p.several()))
	p.flush()
	p.cfg.MaxPages = 0
	if got := p.run(); got != StopDone {
		t.Fatal(got)
	}
	for i := range 9 {
		if u := fmt.Sprintf("http://a.example/side%d", i); p.page(u).Outcome != page.OK {
			t.Errorf("%s is %v", u, p.page(u).Outcome)
		}
	}
	if rows := p.table(p.view().Of(Named{Name: "side", Number: 2}), false); len(rows) != 19 {
		t.Errorf("side has %d pages", len(rows))
	}
	if _, ok, err := p.view().Claim(Named{Name: "side", Number: 1}, p.page("http://a.example/0").Key); ok || err != nil {
		t.Errorf("the tables of the program that left are still there: %v", err)
	}
	if got, _, err := ReadPrograms(p.kv); err != nil || got.Next != 3 || len(got.Each) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A program that comes to a site whose robots.txt was read for another hears of
// the sitemaps that it names, and only then.
func TestSharedCrawlHearsOfRobots(t *testing.T) {
	web := map[string][]page.Link{
		"http://a.example/0": {link("http://a.example/1")}, "http://a.example/1": {link("http://a.example/2")}, "http://a.example/2": {link("http://b.example/0")},
	}
	p := newOwn(t, "", web, "http://a.example/0")
	p.shared = []user{
		{name: "far", text: `crawl(U) :- seed(U). crawl("http://b.example/9") :- seed(_). crawl(V) :- crawl(U), link(U, V).`},
		{name: "maps", number: 1, text: `crawl(U) :- seed(U). crawl(V) :- crawl(U), link(U, V). crawl(V) :- robots(_, V).`},
		{name: "near", number: 2, text: `crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V), D < 1. crawl(V, 0) :- robots(_, V).`},
	}
	p.robots = func(Fetch) Done { return Done{Outcome: page.OK, Rules: rulesText("")} }
	p.maps = func(f *page.Facts) {
		l := link("http://" + f.URL.Host() + "/map.xml")
		l.Kind = page.Sitemap
		f.Links = []page.Link{l}
	}
	if got := p.run(); got != StopDone {
		t.Fatal(got)
	}
	for i, want := range []string{
		"a.example/0 a.example/1 a.example/2 b.example/0 b.example/9",
		"a.example/0 a.example/1 a.example/2 a.example/map.xml b.example/0 b.example/map.xml",
		"a.example/0 a.example/1 a.example/map.xml",
	} {
		u := p.shared[i]
		var got []string
		for at := range p.table(p.view().Of(Named{Name: u.name, Number: u.number}), false) {
			got = append(got, strings.TrimPrefix(at, "http://"))
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s has %s, want %s", u.name, s, want)
		}
	}
	if p.again == 0 {
		t.Error("nothing was delivered again")
	}
}

// A page that only a program asked for which has left is over when another node has
// fetched it, whatever that one knew; for a program that is there it is fetched again.
func TestEndsElsewhereForWhoHasLeft(t *testing.T) {
	key := page.Key{Site: 3, Hash: 7}
	for _, left := range []bool{false, true} {
		kv := &memory{}
		var list []Member
		for i := range uint8(2) {
			rules, err := NewProgram(ProgramConfig{Plan: compileOwn(t, narrow("0-9")), Own: true, Secret: worldSecret, Version: i}, kv)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, Member{Name: fmt.Sprint(i), Rules: rules, Joined: i > 0, Left: i > 0 && left})
		}
		s := NewSeveral(kv, list)
		s.claims.fresh[claimID{1, key}] = Claim{Depth: 1}
		for _, asked := range []uint32{0, 5} {
			short, err := s.short(key, &overlay.Ended{Outcome: page.OK, Asked: asked})
			if err != nil || short == left {
				t.Errorf("asked %d, left %v: short %v, %v", asked, left, short, err)
			}
		}
	}
}
