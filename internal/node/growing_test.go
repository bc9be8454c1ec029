package node

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

var (
	growthURLs   = flag.Int("urls", 200_000, "growth: pages known in the end")
	growthMemory = flag.Int64("memory", 0, "growth: bytes for the memory of seen pages, 0 = no bound")
	growthSites  = flag.Int("sites", 0, "growth: sites; 0 = one for every fifty pages")
)

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

// grow opens the Ledger of a store, with so many bytes for the memory of seen
// pages, and goes on where the last commit was.
func grow(s *store.Store, memory int64) (*growing, error) {
	w := &growing{}
	w.plant()
	rules, err := crawl.ScopeConfig{Scope: "any", Depth: -1}.Rules(w.secret, s)
	if err != nil {
		return nil, err
	}
	w.ledger, err = crawl.NewLedger(s, crawl.LedgerConfig{
		Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: rules, Secret: w.secret, Memory: memory,
	})
	if err != nil {
		return nil, err
	}
	for _, q := range w.queue {
		if err := w.ledger.Seed(w.link(q).URL, 0); err != nil {
			return nil, err
		}
	}
	for w.pages < int(w.ledger.Totals().Fetched) {
		w.page()
	}
	return w, w.commit(s.Begin())
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
		to := place{site: w.aim(self.site)}
		if known := w.known[to.site]; known == 0 || w.rng.IntN(4) == 0 {
			to.n = w.meet(to.site)
		} else {
			to.n = w.rng.Int32N(known)
		}
		w.facts.Links = append(w.facts.Links, w.link(to))
	}
	return &w.facts
}

// aim returns where a link of a site leads: to the site itself or, by a power law,
// to another.
func (w *growing) aim(site int32) int32 {
	if w.rng.IntN(100) < 88 {
		return site
	}
	return int32(math.Pow(float64(len(w.names)), w.rng.Float64())) - 1
}

// group makes a hundred pages durable.
func (w *growing) group(s *store.Store) error {
	g := s.Begin()
	for range groupPages {
		if err := w.ledger.Page(uint64(w.pages), w.page(), crawl.Archived{}, false); err != nil {
			return err
		}
	}
	if err := w.commit(g); err != nil {
		return err
	}
	return w.check(w.ledger.Totals())
}

// check holds totals against what the web has shown so far.
func (w *growing) check(got crawl.Totals) error {
	if got.Fetched != int64(w.pages) || got.Seen != int64(len(w.queue)) || got.Queued != got.Seen-got.Fetched {
		return fmt.Errorf("%d pages fetched, %d known, %d queued; the web has shown %d and %d", got.Fetched, got.Seen, got.Queued, w.pages, len(w.queue))
	}
	return nil
}

func (w *growing) commit(g *store.Group) error {
	begin := time.Now()
	if _, err := w.ledger.Flush(g); err != nil {
		return err
	}
	err := g.Commit()
	w.commits = append(w.commits, time.Since(begin))
	return err
}

// growingStore is a store as a crawl with --memory 1GB has it.
var growingStore = store.Options{Form: store.None, Cache: 83e6, Ordered: crawl.Ordered}
