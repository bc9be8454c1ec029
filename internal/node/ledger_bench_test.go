package node

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/cputime"
	"weir/internal/program"
	"weir/internal/store"
	"weir/page"
	"weir/query/flow"
)

// benchPrograms are what the committer runs for every page.
var benchPrograms = []struct{ name, text string }{
	{name: "plain"},
	{"regexp", `
		input blocked(text) from "blocked".
		crawl(U, 0) :- seed(U).
		crawl(V, D+1) :- crawl(U, D), link(U, V), D < 100000, !matches(V, "/(tag|login)/[0-9]+"), !blocked(host(V)).`},
	{"stored", `
		input blocked(text) from "blocked".
		live pop.
		crawl(U, 0) :- seed(U).
		crawl(V, D+1) :- crawl(U, D), link(U, V), D < 100000, !matches(V, "/(tag|login)/[0-9]+"), !blocked(host(V)).
		pop(V, max count<U>) :- link(U, V), contains(V, "7").`},
}

// BenchmarkLedger measures what a page costs the committer: the seen-test of
// its 30 links (one in about thirty is new), the rows, and the durable commit of
// groups of 100 pages, without an archive.
//
// The rules are those of a plain crawl; a program with a regexp and a block list;
// and one that also keeps a count for some links in the store. The rate is that of links.
func BenchmarkLedger(b *testing.B) {
	for _, p := range benchPrograms {
		b.Run(p.name, func(b *testing.B) { benchLedger(b, p.text) })
	}
}

// benchRules makes a program ready, or the plain one.
func benchRules(b *testing.B, text string, secret page.Secret, s *store.Store) *crawl.Program {
	if text == "" {
		rules, err := crawl.ScopeConfig{Scope: "host", Depth: -1}.Rules(secret, s)
		if err != nil {
			b.Fatal(err)
		}
		return rules
	}
	var blocked strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&blocked, "bad%05d.test\n", i)
	}
	src := program.Source{Name: "bench", Text: text, Inputs: []program.File{{Table: "blocked", Text: blocked.String()}}}
	plan, err := src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true})
	if err != nil {
		b.Fatal(err)
	}
	rules, err := crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: true, Secret: secret}, s)
	if err != nil {
		b.Fatal(err)
	}
	return rules
}

func benchLedger(b *testing.B, text string) {
	s, err := store.Create(b.TempDir(), store.Options{Form: store.None})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	secret := page.Secret{1}
	rules := benchRules(b, text, secret, s)
	l, err := crawl.NewLedger(s, crawl.LedgerConfig{Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: rules, Traits: rules.Traits(), Secret: secret})
	if err != nil {
		b.Fatal(err)
	}
	const sites = 20
	link := func(site, n int) page.Link {
		u := page.Canonical(fmt.Sprintf("http://s%04d.test/p/%d", site, n))
		return page.Link{URL: u, Hash: secret.Hash(u.Rest())}
	}
	for i := range sites {
		if err := l.Seed(link(i, 0).URL, 0); err != nil {
			b.Fatal(err)
		}
	}
	g := s.Begin()
	if _, err := l.Flush(g); err != nil {
		b.Fatal(err)
	}
	if err := g.Commit(); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var found [sites]int
	pages := make([]*page.Facts, b.N)
	for i := range pages {
		at := i % sites
		n := i / sites
		self := link(at, n)
		f := &page.Facts{
			Key: page.Key{Site: page.SiteID(at + 1), Hash: self.Hash}, URL: self.URL, Outcome: page.OK, Status: 200,
			Mime: "text/html", Bytes: 20_000, Server: "127.0.0.1", Depth: uint16(min(n, 20)),
		}
		found[at] = max(found[at], n)
		for k := range 30 {
			to := found[at] + 1
			if k > 1 {
				to = rng.IntN(found[at] + 1)
			} else {
				found[at]++
			}
			f.Links = append(f.Links, link(at, to))
		}
		pages[i] = f
	}
	b.ReportAllocs()
	b.ResetTimer()
	used := cputime.Used()
	g = s.Begin()
	for i, f := range pages {
		if err := l.Page(uint64(i), f, crawl.Archived{}, false); err != nil {
			b.Fatal(err)
		}
		if i%100 == 99 || i == len(pages)-1 {
			if _, err := l.Flush(g); err != nil {
				b.Fatal(err)
			}
			if err := g.Commit(); err != nil {
				b.Fatal(err)
			}
			g = s.Begin()
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(30*b.N)/(cputime.Used()-used).Seconds(), "links/cpu-s")
	if t := l.Totals(); t.Fetched != int64(b.N) {
		b.Errorf("%d pages of %d", t.Fetched, b.N)
	}
}
