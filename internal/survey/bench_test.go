package survey

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

var benchPages = flag.Int("bench.pages", 100_000, "pages of the folder that BenchmarkFromCrawl reads")

// BenchmarkFromCrawl reads a folder of one large site.
func BenchmarkFromCrawl(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "crawl")
	fill(b, dir, *benchPages)
	for b.Loop() {
		got, err := FromCrawl(dir, []string{"a.test"})
		if err != nil || got[0].Fetched != int64(*benchPages) {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(float64(*benchPages)*float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}

// fill makes a folder whose crawl has fetched so many pages of a.test.
func fill(b *testing.B, dir string, pages int) {
	b.Helper()
	st, err := store.Create(dir, store.Options{Form: store.None, Ordered: crawl.Ordered})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	secret := page.Secret{1}
	scope, err := crawl.ScopeConfig{Scope: "host", Depth: -1}.Rules(secret, st)
	if err != nil {
		b.Fatal(err)
	}
	ledger, err := crawl.NewLedger(st, crawl.LedgerConfig{Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: scope, Secret: secret, Memory: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	ledger.Clock(time.Now().UnixNano())
	var site page.SiteID = 1 // it is the first
	for from := 0; from < pages; from += 4096 {
		for half := range 2 {
			for i := from; i < min(from+4096, pages); i++ {
				u := page.Canonical(fmt.Sprintf("http://a.test/some/folder/%d.html", i))
				if half == 0 {
					err = ledger.Seed(u, 0)
				} else {
					err = ledger.Page(uint64(i), &page.Facts{
						Key: page.Key{Site: site, Hash: secret.Hash(u.Rest())}, URL: u, Outcome: page.OK, Status: 200, Bytes: int64(1000 + i%9000),
						Wire: 10_000, Elapsed: time.Second / 4, Server: "192.0.2.1", Mime: "text/html", At: int64(i),
					}, crawl.Archived{}, false)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			g := st.Begin()
			crawl.WriteSecret(g, secret)
			if _, err := ledger.Flush(g); err != nil {
				b.Fatal(err)
			}
			if err := g.Commit(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
