package node

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
)

// TestHostileWebEnds points the crawler at every broken and hostile server at
// once: it must come to an end, keep its manners and its archive whole.
func TestHostileWebEnds(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 8, Sites: testweb.Hostile()})
	cfg := config(t, web)
	cfg.PerConn = 2
	cfg.SitePages, cfg.DomainPages = 40, 3000
	cfg.Scope.Sitemaps = true
	cfg.Trap.Variants = 20
	cfg.Fetch.Limits = fetch.Limits{
		MaxHeader: 64 << 10, MaxBody: 4 << 20, MaxDecoded: 16 << 20, Connect: 2 * time.Second, Handshake: 5 * time.Second,
		FirstByte: 1500 * time.Millisecond, MinRate: 1000, Window: time.Second, Whole: 30 * time.Second, DNS: 3 * time.Second,
	}
	report := run(t, cfg)
	if report.StoppedBy != crawl.StopDone {
		t.Errorf("%+v", report)
	}
	t.Logf("%d pages, %v", report.Pages, report.Outcomes)
	for _, p := range web.Audit().Problems(testweb.Manners{}) {
		if !strings.Contains(p, "fetched again") { // broken answers are asked for once more
			t.Error(p)
		}
	}
	checkFolder(t, cfg)
	checkOutcomes(t, cfg)
}

// hostileEnds are pages of the hostile web and how each must end. None means
// that it may not be fetched for now, since robots.txt could not be had.
var hostileEnds = map[string]page.Outcome{
	"http-01 /short":          page.Truncated,
	"http-03 /lengths":        page.BadResponse,
	"http-05 /chunks":         page.Truncated,
	"http-07 /chunks":         page.Truncated,
	"http-11 /bare":           page.BadResponse,
	"http-13 /headers":        page.HeaderTooLarge,
	"http-15 /nul":            page.BadResponse,
	"slow-01 /never":          page.FirstByteTimeout,
	"slow-03 /drip":           page.TooSlow,
	"slow-05 /":               page.ConnectTimeout,
	"size-01 /endless":        page.TooLarge,
	"size-03 /bomb":           page.Bomb,
	"size-05 /three":          page.Bomb,
	"redirect-01 /self":       page.Redirected,
	"redirect-03 /r/10":       page.Redirected,
	"redirect-03 /r/11":       page.TooManyRedirects,
	"redirect-05 /file":       page.BadRedirect,
	"redirect-05 /javascript": page.BadRedirect,
	"redirect-05 /missing":    page.BadRedirect,
	"redirect-09 /308":        page.Redirected,
	"robots-02 /":             page.None, // waits for the next run
	"503.robots-02 /":         page.None, // waits for the next run
	"timeout.robots-02 /":     page.None, // waits for the next run
	"robots-04 /open":         page.OK,
	"robots-04 /secret":       page.Denied,
	"six.robots-04 /secret":   page.OK,
	"proto-01 /":              page.None, // waits for the next run
	"proto-05 /":              page.None, // waits for the next run
	"self-signed.proto-03 /":  page.TLSFailed,
	"expired.proto-03 /":      page.TLSFailed,
	"wrong-host.proto-03 /":   page.TLSFailed,
	"untrusted.proto-03 /":    page.TLSFailed,
	"dns-02 /":                page.OK,
	"dns-04 /":                page.DNSFailed,
	"trap-06 /":               page.OK,
}

func checkOutcomes(t *testing.T, cfg Config) {
	t.Helper()
	s, err := store.Open(cfg.Dir, store.Options{Form: cfg.Archive})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	view, err := crawl.NewView(s)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]page.Outcome{}
	err = view.Pages(func(p *crawl.PageInfo) bool {
		ends[strings.TrimSuffix(p.URL.Host(), testweb.Suffix)+" "+p.URL.Path()] = p.Outcome
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	err = view.Queue(func(p *crawl.PageInfo) bool {
		ends[strings.TrimSuffix(p.URL.Host(), testweb.Suffix)+" "+p.URL.Path()] = page.None
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range hostileEnds {
		if got, known := ends[at]; (got != want || !known) && !(at == "slow-05 /" && runtime.GOOS != "linux") {
			t.Errorf("%s ended as %v, not %v", at, got, want)
		}
	}
}

// TestWildcardTrapEnds crawls a domain in which every host links to ten new
// ones: the budget of the registered domain ends it.
func TestWildcardTrapEnds(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 8, Sites: testweb.Hostile()})
	cfg := config(t, web)
	cfg.Seeds = slices.DeleteFunc(cfg.Seeds, func(s Seed) bool { return !strings.Contains(s.URL.Host(), "trap-06") })
	cfg.DomainPages, cfg.Scope.Scope = 100, "domain"
	report := run(t, cfg)
	if report.Fetched != 100 || report.Outcomes["domain-budget"] == 0 || report.StoppedBy != crawl.StopDone {
		t.Errorf("%+v", report)
	}
	checkFolder(t, cfg)
}

// TestResumeManySites starts a crawl with 100,000 sites in its queue, stops it
// and starts it again: every queue between the parts is full then, and none may
// wait for another in a circle.
func TestResumeManySites(t *testing.T) {
	t.Parallel()
	const many = 100_000
	web := start(t, testweb.Config{Seed: 9, Sites: []testweb.Site{{Name: "wild.test", Pages: 1, Links: 1, Size: 200, Wildcard: true}}})
	cfg := config(t, web)
	cfg.Archive = store.None
	cfg.PerServer, cfg.Conns, cfg.Memory = 64, 64, 1<<30
	var urls []string
	for i := range many {
		urls = append(urls, strings.Replace(web.URL(0), "wild.test", "h"+strconv.Itoa(i)+".wild.test", 1))
	}
	var err error
	if cfg.Seeds, err = seeds(urls); err != nil {
		t.Fatal(err)
	}
	cfg.MaxPages = 50
	if r := run(t, cfg); r.Sites != many || r.Fetched != 50 {
		t.Fatalf("%+v", r)
	}
	cfg.Seeds = nil
	cfg.MaxPages = 1000
	if r := run(t, cfg); r.Fetched != 1000 || r.Queued != many-1000 {
		t.Errorf("%+v", r)
	}
}
