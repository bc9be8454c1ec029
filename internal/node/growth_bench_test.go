package node

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

var (
	growthURLs   = flag.Int("urls", 200_000, "BenchmarkGrowth: pages known in the end")
	growthMemory = flag.Int64("memory", 0, "BenchmarkGrowth: bytes for the memory of seen pages, 0 = no bound")
	growthSites  = flag.Int("sites", 0, "BenchmarkGrowth: sites; 0 = one for every fifty pages")
)

// BenchmarkGrowth grows a stored crawl as a web would: sites by a power law, 30
// links a page, 88 of a hundred to the same site, four occurrences to every new
// page; groups of 100 pages, synced, no archive. Its figures are those of the
// whole process, compaction included.
//
//	go test -run '^$' -bench Growth -benchtime 1x ./internal/node -urls 10000000
//	go test -run '^$' -bench Growth -benchtime 1x ./internal/node -urls 10000000 -memory 20000000
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		growth(b)
	}
}

func growth(b *testing.B) {
	dir := b.TempDir()
	s, err := store.Create(dir, store.Options{Form: store.None})
	if err != nil {
		b.Fatal(err)
	}
	w := newGrowing(b, s)
	idle := idleCost()
	var early, late time.Duration
	begin := cpuTime()
	for w.ledger.Totals().Seen < int64(*growthURLs) {
		from, pages := cpuTime(), w.pages
		for range 100 {
			w.group(b, s)
		}
		late = (cpuTime()-from)/time.Duration(w.pages-pages) - idle
		if early == 0 {
			early = late
		}
	}
	micros := func(d time.Duration) float64 { return float64(d) / 1e3 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(micros((cpuTime()-begin)/time.Duration(w.pages)-idle), "us/page")
	b.ReportMetric(micros(early), "us/page-first")
	b.ReportMetric(micros(late), "us/page-last")
	slices.Sort(w.commits)
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
		b.ReportMetric(w.commits[int(q.part*float64(len(w.commits)-1))].Seconds()*1e3, "ms-commit-"+q.name)
	}
	seen := float64(w.ledger.Totals().Seen)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(folder(b, dir))/seen, "B/URL")
	open := time.Now()
	if s, err = store.Open(dir, store.Options{Form: store.None}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(open).Seconds(), "s-reopen")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// idleCost is what making a page costs the benchmark itself.
func idleCost() time.Duration {
	const pages = 20_000
	w := &growing{}
	w.plant()
	from := cpuTime()
	for range pages {
		w.page()
	}
	return (cpuTime() - from) / pages
}

func folder(b *testing.B, dir string) (n int64) {
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// growing is a web that a Ledger learns of.
type growing struct {
	ledger *crawl.Ledger
	secret page.Secret
	rng    *rand.Rand
	names  []string
	ids    []page.SiteID // in the order the Ledger gives them
	next   page.SiteID
	known  []int32 // pages of each site
	queue  []place
	head   int
	facts  page.Facts

	pages   int
	commits []time.Duration
}

type place struct{ site, n int32 }

// plant makes the sites and names the first pages.
func (w *growing) plant() {
	sites := *growthSites
	if sites == 0 {
		sites = max(*growthURLs/50, 20)
	}
	w.secret, w.rng = page.Secret{1}, rand.New(rand.NewPCG(1, 1))
	w.ids, w.known = make([]page.SiteID, sites), make([]int32, sites)
	for i := range sites {
		w.names = append(w.names, fmt.Sprintf("http://www.s%06d.test", i))
	}
	for i := range int32(20) {
		w.meet(i)
	}
}

// meet makes a new page of a site known.
func (w *growing) meet(site int32) (n int32) {
	if w.ids[site] == 0 {
		w.next++
		w.ids[site] = w.next
	}
	n = w.known[site]
	w.known[site]++
	w.queue = append(w.queue, place{site, n})
	return n
}

func newGrowing(b *testing.B, s *store.Store) *growing {
	w := &growing{}
	w.plant()
	rules, err := crawl.NewScope(crawl.ScopeConfig{Scope: "any", Depth: -1, Secret: w.secret}, s)
	if err != nil {
		b.Fatal(err)
	}
	w.ledger, err = crawl.NewLedger(s, crawl.LedgerConfig{
		Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: rules, Secret: w.secret, Memory: *growthMemory,
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range w.queue {
		if err := w.ledger.Seed(w.link(q).URL, 0); err != nil {
			b.Fatal(err)
		}
	}
	w.commit(b, s.Begin())
	return w
}

func (w *growing) link(q place) page.Link {
	text := append(make([]byte, 0, 64), w.names[q.site]...)
	text = append(text, "/articles/"...)
	text = strconv.AppendInt(text, int64(q.n%37), 10)
	text = append(text, "/story-"...)
	text = strconv.AppendInt(text, int64(q.n), 10)
	u := page.Canonical(string(append(text, ".html"...)))
	return page.Link{URL: u, Hash: w.secret.Hash(u.Rest())}
}

// page makes the next page that waits, a quarter of its links new.
func (w *growing) page() *page.Facts {
	self := w.queue[w.head]
	w.head++
	l := w.link(self)
	w.pages++
	w.facts = page.Facts{
		URL: l.URL, Outcome: page.OK, Status: 200, Mime: "text/html", Bytes: 20_000, Server: "127.0.0.1", Depth: 1, Links: w.facts.Links[:0],
		Key: page.Key{Site: w.ids[self.site], Hash: l.Hash}, At: 1_800_000_000e9 + int64(w.pages)*1e6,
	}
	for range 30 {
		to := place{site: self.site}
		if w.rng.IntN(100) >= 88 { // another site, by a power law
			to.site = int32(math.Pow(float64(len(w.names)), w.rng.Float64())) - 1
		}
		if known := w.known[to.site]; known == 0 || w.rng.IntN(4) == 0 {
			to.n = w.meet(to.site)
		} else {
			to.n = w.rng.Int32N(known)
		}
		w.facts.Links = append(w.facts.Links, w.link(to))
	}
	return &w.facts
}

// group makes a hundred pages durable.
func (w *growing) group(b *testing.B, s *store.Store) {
	g := s.Begin()
	for range 100 {
		if err := w.ledger.Page(uint64(w.pages), w.page(), crawl.Archived{}, false); err != nil {
			b.Fatal(err)
		}
	}
	w.commit(b, g)
	if got := w.ledger.Totals(); got.Fetched != int64(w.pages) || got.Seen != int64(len(w.queue)) {
		b.Fatalf("%d pages, %d known; want %d, %d", got.Fetched, got.Seen, w.pages, len(w.queue))
	}
}

func (w *growing) commit(b *testing.B, g *store.Group) {
	begin := time.Now()
	if _, err := w.ledger.Flush(g); err != nil {
		b.Fatal(err)
	}
	if err := g.Commit(); err != nil {
		b.Fatal(err)
	}
	w.commits = append(w.commits, time.Since(begin))
}
