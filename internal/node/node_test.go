package node

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"weir/crawl"
	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is a crawl of a web on loopback, fast unless the test slows it down.
func config(t *testing.T, web *testweb.Web) Config {
	t.Helper()
	cfg := Config{
		Dir: t.TempDir(), Scope: crawl.ScopeConfig{Scope: "host", Depth: -1}, Trap: frontier.DefaultTrap(),
		Strip: page.DefaultStrip(), Order: "length", PerConn: 100, Conns: 64, PerServer: 4, Memory: 256 << 20,
		Agent: "weir", Archive: store.Gzip,
		Fetch: fetch.Config{Agent: "weir/test", AllowPrivate: true, DNS: web.DNS(), TempDir: t.TempDir()},
	}
	for _, s := range web.Seeds() {
		u, err := page.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Seeds = append(cfg.Seeds, Seed{URL: u})
	}
	return cfg
}

func TestCrawlFetchesEverything(t *testing.T) {
	web, err := testweb.Start(testweb.Config{Seed: 1, Sites: []testweb.Site{
		{Name: "a.test", Pages: 200, Links: 10, Size: 4000},
		{Name: "b.test", Pages: 50, Links: 10, Size: 4000, Deny: []string{"/private/"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	cfg := config(t, web)
	begin := time.Now()
	report, err := Run(context.Background(), nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v %+v", time.Since(begin), report)
	if problems := web.Audit().Problems(testweb.Manners{}); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
	if want := int64(len(web.Truth())); report.Outcomes["ok"] != want {
		t.Errorf("fetched %d pages, the web has %d", report.Outcomes["ok"], want)
	}
}
