package node

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
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

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(crawlAsChild(text))
	}
	if dir := os.Getenv(growEnv); dir != "" {
		flag.Parse()
		os.Exit(growAsChild(dir))
	}
	goleak.VerifyTestMain(m)
}

// baseConfig is a crawl of a web on loopback, fast unless the test slows it.
func baseConfig(dir, dns string) Config {
	return Config{
		Dir: dir, Scope: crawl.ScopeConfig{Scope: "host", Depth: -1}, Trap: frontier.DefaultTrap(),
		Strip: page.DefaultStrip(), Order: "length", PerConn: 100, Conns: 64, PerServer: 4, Memory: 256 << 20,
		Agent: "weir", Archive: store.Gzip,
		Fetch: fetch.Config{Agent: "weir/test", AllowPrivate: true, DNS: dns},
	}
}

func seeds(urls []string) ([]Seed, error) {
	var out []Seed
	for _, s := range urls {
		u, err := page.Parse(s)
		if err != nil {
			return nil, err
		}
		out = append(out, Seed{URL: u})
	}
	return out, nil
}

func start(t testing.TB, cfg testweb.Config) *testweb.Web {
	t.Helper()
	web, err := testweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	return web
}

func config(t testing.TB, web *testweb.Web) Config {
	t.Helper()
	cfg := baseConfig(t.TempDir(), web.DNS())
	var err error
	if cfg.Seeds, err = seeds(web.Seeds()); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func run(t *testing.T, cfg Config) Report {
	t.Helper()
	report, err := Run(context.Background(), nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// complete checks that a web was crawled wholly and with manners.
func complete(t *testing.T, web *testweb.Web, m testweb.Manners) {
	t.Helper()
	if got, want := web.Served(), web.Truth(); !slices.Equal(got, want) {
		t.Errorf("served %d pages, the web has %d; missing %v", len(got), len(want), missing(want, got))
	}
	for _, p := range web.Audit().Problems(m) {
		t.Error(p)
	}
}

func TestCrawlFetchesEverything(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{
		{Name: "a.test", Pages: 200, Links: 10, Size: 4000},
		{Name: "b.test", Pages: 50, Links: 10, Size: 4000, Deny: []string{"/private/"}},
		{Name: "c.test", Pages: 40, Links: 5, Size: 4000, PerConn: 3, Silent: true},
		{Name: "d.test", Pages: 40, Links: 5, Size: 4000, Faults: []testweb.Fault{
			{Kind: testweb.Unavailable, Every: 6, Times: 2}, {Kind: testweb.Truncated, Every: 7, Times: 1},
			{Kind: testweb.RedirectPage, Every: 8}, {Kind: testweb.Gzip, Every: 2}, {Kind: testweb.Chunked, Every: 3}}},
	}})
	cfg := config(t, web)
	report := run(t, cfg)
	complete(t, web, testweb.Manners{})
	if report.StoppedBy != crawl.StopDone || report.Queued != 0 || report.SeedsOK != 4 {
		t.Errorf("%+v", report)
	}
	checkFolder(t, cfg)
}

func TestWaitsBetweenPages(t *testing.T) {
	t.Parallel()
	sites := testweb.Even(6, testweb.Site{Pages: 6, Links: 3, Size: 1000, Latency: 5 * time.Millisecond})
	sites[1].Delay = 200 * time.Millisecond
	web := start(t, testweb.Config{Seed: 2, Sites: sites, Addresses: 2})
	cfg := config(t, web)
	cfg.Wait, cfg.PerConn, cfg.PerServer = 50*time.Millisecond, 1, 2
	run(t, cfg)
	complete(t, web, testweb.Manners{Wait: cfg.Wait, Conns: 1, PerServer: 2, PerConn: 1})
}

// TestOneConnectionWhilePagesAreRead leaves a single tool for many visits, so
// that pages are still waiting to be read when their hosts are visited again:
// the old connection must be closed by then.
func TestOneConnectionWhilePagesAreRead(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 12, Sites: testweb.Even(30, testweb.Site{Pages: 25, Links: 2, Size: 20_000})})
	cfg := config(t, web)
	cfg.PerConn, cfg.Wait = 50, time.Millisecond
	n, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for len(n.tools) > 1 {
		<-n.tools
	}
	if _, err := n.close(n.run(context.Background(), nil)); err != nil {
		t.Fatal(err)
	}
	complete(t, web, testweb.Manners{Wait: cfg.Wait, Conns: 1})
}

// TestStopAndResume interrupts a crawl softly and goes on with it; nothing is
// fetched twice.
func TestStopAndResume(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 3, Sites: testweb.Even(8, testweb.Site{Pages: 60, Links: 6, Size: 2000})})
	cfg := config(t, web)
	cfg.Wait, cfg.PerConn = 5*time.Millisecond, 1
	for round := range 4 {
		stop := make(chan struct{})
		c := cfg
		c.Progress = func(s Status) {
			if stop != nil && s.Totals.Fetched > s.Started.Fetched {
				close(stop)
				stop = nil
			}
		}
		report, err := Run(context.Background(), stop, c)
		if err != nil {
			t.Fatal(err)
		}
		if report.StoppedBy == crawl.StopDone {
			break
		}
		if report.StoppedBy != crawl.StopByUser || report.Resumed != (round > 0) {
			t.Errorf("round %d: %+v", round, report)
		}
		checkFolder(t, cfg)
	}
	run(t, cfg)
	complete(t, web, testweb.Manners{Wait: cfg.Wait})
	again := run(t, cfg)
	if again.RunPages != 0 || again.StoppedBy != crawl.StopDone {
		t.Errorf("a finished crawl went on: %+v", again)
	}
}

// TestStopNow cancels in the middle; what was committed is kept, and the rest
// is fetched afterwards.
func TestStopNow(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 4, Sites: testweb.Even(8, testweb.Site{Pages: 100, Links: 6, Size: 2000})})
	cfg := config(t, web)
	cfg.Wait = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	c := cfg
	c.Progress = func(s Status) {
		if s.Totals.Fetched > 50 {
			cancel()
		}
	}
	if _, err := Run(ctx, nil, c); err != nil {
		t.Fatal(err)
	}
	cancel()
	checkFolder(t, cfg)
	run(t, cfg)
	checkFolder(t, cfg)
	if got, want := web.Served(), web.Truth(); !slices.Equal(got, want) {
		t.Errorf("served %d pages, the web has %d", len(got), len(want))
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 5, Sites: testweb.Even(4, testweb.Site{Pages: 100, Links: 6, Size: 2000})})
	for _, test := range []struct {
		name string
		set  func(*Config)
	}{
		{crawl.StopPages, func(c *Config) { c.MaxPages = 37 }},
		{crawl.StopBytes, func(c *Config) { c.MaxBytes = 50_000 }},
		{crawl.StopTime, func(c *Config) { c.MaxTime, c.Wait = 100*time.Millisecond, 50*time.Millisecond }},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(t, web)
			test.set(&cfg)
			report := run(t, cfg)
			if report.StoppedBy != test.name || report.Queued == 0 {
				t.Errorf("%+v", report)
			}
			if cfg.MaxPages > 0 && report.Fetched != cfg.MaxPages {
				t.Errorf("fetched %d pages, not %d", report.Fetched, cfg.MaxPages)
			}
			checkFolder(t, cfg)
		})
	}
}

// TestTraceReplays records a live crawl and plays its events again.
func TestTraceReplays(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 6, Sites: testweb.Even(5, testweb.Site{Pages: 40, Links: 6, Size: 2000, Faults: []testweb.Fault{
		{Kind: testweb.Broken, Every: 30}, {Kind: testweb.Busy, Every: 31, Times: 1}, {Kind: testweb.Dropped, Every: 11, Times: 1}}})})
	cfg := config(t, web)
	cfg.Trace = filepath.Join(t.TempDir(), "trace")
	run(t, cfg)
	f, err := os.Open(cfg.Trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	played, err := crawl.Replay(f)
	if err != nil || played.Events < 200 {
		t.Errorf("%d events replayed: %v", played.Events, err)
	}
}
