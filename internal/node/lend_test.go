package node

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/testweb"
)

// lendingWeb has pages of all kinds that can be lent, and no others.
func lendingWeb(t *testing.T) *testweb.Web {
	return start(t, testweb.Config{Seed: 7, Sites: testweb.Even(8, testweb.Site{Pages: 40, Links: 8, Size: 3000, Faults: []testweb.Fault{
		{Kind: testweb.RedirectPage, Every: 8}, {Kind: testweb.Gzip, Every: 2}, {Kind: testweb.Chunked, Every: 3},
		{Kind: testweb.NotFound, Every: 7}, {Kind: testweb.Duplicate, Every: 5},
	}})})
}

// TestTwoCrawlsFetchOnce: two crawls that want the same pages at the same time ask
// for each of them once, and both have all.
func TestTwoCrawlsFetchOnce(t *testing.T) {
	t.Parallel()
	web := lendingWeb(t)
	var cfg [2]Config
	var reports [2]Report
	for i := range cfg {
		cfg[i] = config(t, web)
	}
	var wg sync.WaitGroup
	for i := range cfg {
		cfg[i].Lending = Lending{With: []string{cfg[1-i].Dir}, Within: time.Hour}
		wg.Go(func() {
			var err error
			if reports[i], err = Run(context.Background(), nil, cfg[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	complete(t, web, testweb.Manners{Conns: 2}) // one for each crawl
	all := int64(8 * 40)
	for i, r := range reports {
		if r.StoppedBy != crawl.StopDone || r.Fetched != all {
			t.Errorf("crawl %d has %d of %d pages, and stopped by %s", i, r.Fetched, all, r.StoppedBy)
		}
		checkFolder(t, cfg[i])
	}
	if n := reports[0].Lent + reports[1].Lent; n != all {
		t.Errorf("%d pages of %d came from the other crawl", n, all)
	}
	if reports[0].Outcomes["not-found"] != reports[1].Outcomes["not-found"] || reports[0].Bytes != reports[1].Bytes {
		t.Errorf("the crawls differ: %+v, %+v", reports[0], reports[1])
	}
}

// TestCrawlBorrowsFromOneThatIsOver: what another crawl has fetched is not asked for
// again, unless it is too old, was asked for in another name, or is not lent.
func TestCrawlBorrowsFromOneThatIsOver(t *testing.T) {
	t.Parallel()
	web := lendingWeb(t)
	first := config(t, web)
	first.Lending = Lending{With: []string{t.TempDir()}, Within: time.Hour}
	all := run(t, first).Fetched
	for name, c := range map[string]struct {
		tune func(*Config)
		want int64
	}{
		"the same": {func(*Config) {}, all},
		"too old":  {func(c *Config) { c.Lending.Within = time.Nanosecond }, 0},
		"other":    {func(c *Config) { c.Fetch.Agent = "other/1.0" }, 0},
		"nowhere":  {func(c *Config) { c.Lending.With = []string{t.TempDir()} }, 0},
	} {
		cfg := config(t, web)
		cfg.Lending = Lending{With: []string{first.Dir}, Within: time.Hour}
		c.tune(&cfg)
		before := web.Audit().Requests()
		r := run(t, cfg)
		if r.Lent != c.want || r.Fetched != all {
			t.Errorf("%s: %d of %d pages were borrowed, %d should be", name, r.Lent, r.Fetched, c.want)
		}
		if pages := int64(web.Audit().Requests() - before - 8); pages != all-c.want { // and eight robots.txt
			t.Errorf("%s: %d pages were asked for, %d should be", name, pages, all-c.want)
		}
		checkFolder(t, cfg)
	}
	silent := config(t, web)
	run(t, silent)
	cfg := config(t, web)
	cfg.Lending = Lending{With: []string{silent.Dir}, Within: time.Hour}
	if r := run(t, cfg); r.Lent != 0 {
		t.Errorf("%d pages were borrowed from a crawl that does not lend", r.Lent)
	}
}
