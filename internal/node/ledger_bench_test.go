package node

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

// BenchmarkLedger measures what a page costs the committer: the seen-test of
// its 30 links (one in about thirty is new), the rows, and the durable commit of
// groups of 100 pages, without an archive.
func BenchmarkLedger(b *testing.B) {
	s, err := store.Create(b.TempDir(), store.Options{Form: store.None})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	secret := page.Secret{1}
	rules, err := crawl.ScopeConfig{Scope: "host", Depth: -1}.Rules(secret, s)
	if err != nil {
		b.Fatal(err)
	}
	l, err := crawl.NewLedger(s, crawl.LedgerConfig{Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: rules, Secret: secret})
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
	if t := l.Totals(); t.Fetched != int64(b.N) {
		b.Errorf("%d pages of %d", t.Fetched, b.N)
	}
}
