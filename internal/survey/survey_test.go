package survey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/bandwidth"
	"weir/crawl"
	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/node"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wait is short, so that nobody is bored, and long enough to be seen.
const wait = 20 * time.Millisecond

func start(t *testing.T, sites ...testweb.Site) *testweb.Web {
	t.Helper()
	web, err := testweb.Start(testweb.Config{Seed: 7, Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	return web
}

func config(t *testing.T, web *testweb.Web) Config {
	t.Helper()
	return Config{
		Crawl: node.Config{
			Scope: crawl.ScopeConfig{Scope: "host", Depth: -1}, Trap: frontier.DefaultTrap(), Strip: page.DefaultStrip(),
			Order: "siteopic", Wait: wait, PerConn: 1, Conns: 64, PerServer: 4, Memory: 64 << 20, Agent: "weir", Archive: store.Gzip,
			Fetch: fetch.Config{Agent: "weir/test", AllowPrivate: true, DNS: web.DNS()},
		},
		TempDir: t.TempDir(),
	}
}

// polite checks how the web was treated. A survey may ask for a page that a
// sitemap lists after it has read it as a sitemap, and for robots.txt twice.
func polite(t *testing.T, web *testweb.Web) {
	t.Helper()
	for _, p := range web.Audit().Problems(testweb.Manners{Wait: wait, Conns: 1, PerServer: 4, PerConn: 1}) {
		t.Error(p)
	}
}

// sitemap lists pages from one number up to another.
func sitemap(from, to int) string {
	var b strings.Builder
	b.WriteString("<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "<url><loc>/p/%d</loc></url>", i)
	}
	return b.String() + "</urlset>"
}

// index lists sitemaps.
func index(files ...string) string {
	var b strings.Builder
	b.WriteString("<sitemapindex>")
	for _, f := range files {
		fmt.Fprintf(&b, "<sitemap><loc>%s</loc></sitemap>", f)
	}
	return b.String() + "</sitemapindex>"
}

// empty checks that nothing was left behind.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is still there", e.Name())
	}
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if !(got >= low && got <= high) {
		t.Errorf("%s is %v, want between %v and %v", what, got, low, high)
	}
}

func TestFromCrawl(t *testing.T) {
	web := start(t,
		testweb.Site{Name: "a.test", Pages: 60, Links: 6, Size: 5000, Latency: 10 * time.Millisecond},
		testweb.Site{Name: "b.test", Pages: 10, Links: 3, Size: 1000, Delay: 30 * time.Millisecond},
		testweb.Site{Name: "shut.test", Pages: 10, Links: 3, Size: 1000, Deny: []string{"/"}})
	cfg := config(t, web).Crawl
	cfg.Dir = filepath.Join(t.TempDir(), "crawl")
	for _, text := range web.Seeds() {
		cfg.Seeds = append(cfg.Seeds, node.Seed{URL: page.Canonical(text)})
	}
	cfg.Wait, cfg.PerConn, cfg.Scope.Scope = 0, 50, "host"
	if _, err := node.Run(context.Background(), nil, cfg); err != nil {
		t.Fatal(err)
	}
	served := func(name string) float64 { return float64(web.Audit().Host(name).Bytes) }

	hosts := []string{"a.test", "https://b.test", "shut.test", "nobody.test", "www.a.test", fmt.Sprintf("http://a.test:%d/p/1", web.Port()), "a.test:1", "a.test"}
	got, err := FromCrawl(cfg.Dir, hosts)
	if err != nil {
		t.Fatal(err)
	}
	a, b := got[0], got[1]
	for i, e := range got {
		if e.Host != hosts[i] {
			t.Errorf("%d is %s, want %s", i, e.Host, hosts[i])
		}
	}
	if a.Pages != 60 || a.Fetched != 60 || a.Queued != 0 || a.More || a.Err != nil || a.Low != a.Size || a.High != a.Size {
		t.Errorf("a: %+v", a)
	}
	// What is sent for robots.txt belongs to no page.
	within(t, "the size of a", a.Size, 0.95*served("a.test"), 1.05*served("a.test"))
	within(t, "the time of a page of a", a.PageTime.Seconds(), 0.010, 1)
	within(t, "the speed of a", a.Speed, 1, 5000*1.5/0.010)
	if b.Pages != 10 || b.Delay != 30*time.Millisecond {
		t.Errorf("b: %+v", b)
	}
	if e := got[2]; e.Err == nil || !strings.Contains(e.Err.Error(), "robots.txt forbids") || e.Size != 0 {
		t.Errorf("one that forbids: %+v", e)
	}
	if e := got[3]; !errors.Is(e.Err, ErrUnknown) {
		t.Errorf("one that nobody knows: %+v", e)
	}
	if e := got[4]; !errors.Is(e.Err, ErrUnknown) {
		t.Errorf("one that goes by its other name: %+v", e)
	}
	if got[5].Pages != 60 || got[7].Pages != 60 {
		t.Errorf("the same once more: %+v, %+v", got[5], got[7])
	}
	if e := got[6]; !errors.Is(e.Err, ErrUnknown) {
		t.Errorf("another port: %+v", e)
	}

	if got, err = FromCrawl(cfg.Dir, []string{"www.a.test"}); err != nil || got[0].Pages != 60 {
		t.Errorf("by its other name alone: %+v, %v", got, err)
	}

	all, err := FromCrawl(cfg.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Host)
	}
	if strings.Join(names, " ") != "a.test b.test shut.test" {
		t.Errorf("all: %v", names)
	}
}

// TestFromInterruptedCrawl ends a crawl in the middle: the rest is guessed from
// what was had.
func TestFromInterruptedCrawl(t *testing.T) {
	web := start(t, testweb.Site{Name: "a.test", Pages: 300, Links: 40, Size: 5000})
	cfg := config(t, web).Crawl
	cfg.Dir, cfg.Seeds = filepath.Join(t.TempDir(), "crawl"), []node.Seed{{URL: page.Canonical(web.URL(0))}}
	cfg.Wait, cfg.PerConn, cfg.MaxPages = 0, 50, 100
	// While it runs the folder is not ours to read.
	var busy error
	cfg.Progress = func(node.Status) {
		if busy == nil {
			_, busy = FromCrawl(cfg.Dir, []string{"a.test"})
		}
	}
	if _, err := node.Run(context.Background(), nil, cfg); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(busy, store.ErrInUse) {
		t.Errorf("while it runs: %v", busy)
	}
	got, err := FromCrawl(cfg.Dir, []string{"a.test"})
	if err != nil {
		t.Fatal(err)
	}
	e := got[0]
	if e.Fetched < 100 || e.Queued == 0 || e.Pages != e.Fetched+e.Queued || !e.More || !e.Least || e.Low >= e.Size || e.High <= e.Size {
		t.Errorf("%+v", e)
	}
	mean := float64(web.Audit().Host("a.test").Bytes) / float64(e.Fetched)
	within(t, "the size", e.Size, 0.95*mean*float64(e.Pages), 1.05*mean*float64(e.Pages))
}

func TestFromNoCrawl(t *testing.T) {
	if _, err := FromCrawl(t.TempDir(), nil); !errors.Is(err, store.ErrNotCrawl) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := FromCrawl(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("no folder is no error")
	}
}

func TestSitemaps(t *testing.T) {
	many := make([]string, 40)
	files := map[string]string{}
	for i := range many {
		many[i] = fmt.Sprintf("/s/%d.xml", i)
		files[many[i]] = sitemap(i*10, i*10+10)
	}
	files["/index.xml"] = index(many...)
	web := start(t,
		testweb.Site{Name: "plain.test", Files: map[string]string{"/sitemap.xml": sitemap(0, 25)}},
		testweb.Site{Name: "named.test", Robots: "Sitemap: /a.xml\nSitemap: /b.xml\nSitemap: /c.txt\nSitemap: http://plain.test/sitemap.xml\n", Files: map[string]string{
			"/a.xml": sitemap(0, 20), "/b.xml": sitemap(15, 25), "/c.txt": "http://other.test/\nhttp://named.test:1/x\n"}},
		testweb.Site{Name: "index.test", Robots: "Sitemap: /index.xml\n", Files: files},
		testweb.Site{Name: "none.test"},
		testweb.Site{Name: "shut.test", Robots: "User-agent: *\nDisallow: /sitemap\n", Files: map[string]string{"/sitemap.xml": sitemap(0, 9)}},
		testweb.Site{Name: "broken.test", RobotsStatus: 500, Files: map[string]string{"/sitemap.xml": sitemap(0, 9)}},
		testweb.Site{Name: "junk.test", Files: map[string]string{"/sitemap.xml": "<html>not what you think</html>"}},
	)
	hosts := []string{"plain.test", "named.test", "index.test", "none.test", "shut.test", "broken.test", "junk.test", "dead.test"}
	for i, h := range hosts {
		hosts[i] = fmt.Sprintf("http://%s:%d/", h, web.Port())
	}
	hosts = append(hosts, fmt.Sprintf("plain.test:%d", web.Port()))
	cfg := config(t, web)
	cfg.Files = 20
	var told []Progress
	cfg.Progress = func(p Progress) { told = append(told, p) }
	got, err := Sitemaps(context.Background(), cfg, hosts)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		pages int64
		files int
		more  bool
		start bool
		err   string
	}{
		{25, 1, false, true, ""},
		{25, 3, false, true, ""},  // five are there twice, two are not its own
		{400, 20, true, true, ""}, // 19 of 40 sitemaps: the rest counts like these
		{0, 0, false, true, "404"},
		{0, 0, false, true, "forbids"},
		{0, 0, false, false, "500"},
		{0, 0, false, true, "neither a sitemap"},
		{0, 0, false, false, "does not exist"},
		{25, 1, false, true, ""}, // found by http after https
	} {
		g := got[i]
		if g.Pages != want.pages || g.Files != want.files || g.More != want.more || g.Start.IsZero() == want.start ||
			(g.Err == nil) != (want.err == "") || g.Err != nil && !strings.Contains(g.Err.Error(), want.err) {
			t.Errorf("%s: %+v\nwant %+v", hosts[i], g, want)
		}
	}
	if last := told[len(told)-1]; last.Done != len(hosts)-1 || last.Sites != len(hosts)-1 || last.Stage != "sitemaps" {
		t.Errorf("told %+v last", last)
	}
	for _, p := range web.Audit().Problems(testweb.Manners{Wait: wait, PerServer: 4, PerConn: 1}) {
		t.Error(p)
	}
	empty(t, cfg.TempDir)
}

// TestSitemapsOfOnesOwn asks without robots.txt, as for servers of one's own.
func TestSitemapsOfOnesOwn(t *testing.T) {
	web := start(t, testweb.Site{Name: "own.test", Deny: []string{"/"}, Files: map[string]string{"/sitemap.xml": sitemap(0, 25)}})
	cfg := config(t, web)
	cfg.Crawl.IgnoreRobots = true
	got, err := Sitemaps(context.Background(), cfg, []string{fmt.Sprintf("own.test:%d", web.Port())})
	if err != nil || got[0].Pages != 25 || got[0].Start.String() != web.URL(0) {
		t.Errorf("%+v, %v", got, err)
	}
	if h := web.Audit().Host("own.test"); h.Robots != 0 {
		t.Errorf("robots.txt was asked for %d times", h.Robots)
	}
}

// TestEndlessSitemaps meets an index that nests for ever, and one that names
// itself.
func TestEndlessSitemaps(t *testing.T) {
	web := start(t, testweb.Site{Name: "endless.test", Behaviour: "trap-08"})
	cfg := config(t, web)
	got, err := Sitemaps(context.Background(), cfg, []string{web.URL(0)})
	if err != nil {
		t.Fatal(err)
	}
	if g := got[0]; g.Pages != 0 || !g.More || g.Files > 10 {
		t.Errorf("%+v", g)
	}
	polite(t, web)
}

func TestSample(t *testing.T) {
	liar := sitemap(0, 20_000)
	web := start(t,
		testweb.Site{Name: "small.test", Pages: 12, Links: 4, Size: 3000},
		testweb.Site{Name: "large.test", Pages: 5000, Links: 10, Size: 6000, Latency: 5 * time.Millisecond,
			Files: map[string]string{"/sitemap.xml": sitemap(1, 5000)}},
		testweb.Site{Name: "liar.test", Pages: 40, Links: 4, Size: 3000, Files: map[string]string{"/sitemap.xml": liar}},
		testweb.Site{Name: "shut.test", Pages: 40, Links: 4, Size: 3000, Deny: []string{"/"}},
		testweb.Site{Name: "slow.test", Pages: 40, Links: 4, Size: 3000, Delay: time.Hour, Files: map[string]string{"/sitemap.xml": sitemap(0, 40)}},
		testweb.Site{Name: "later.test", Pages: 40, Links: 4, Size: 3000, RobotsStatus: 503},
		testweb.Site{Name: "vacant.test", Folder: t.TempDir()},
	)
	hosts := append(web.Seeds(), "http://dead.test/", web.URL(0))
	cfg := config(t, web)
	cfg.Time = time.Minute
	got, err := Sample(context.Background(), cfg, hosts)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(hosts) {
		t.Fatalf("%d estimates of %d hosts", len(got), len(hosts))
	}
	for i, e := range got {
		if e.Host != hosts[i] {
			t.Errorf("%d is %s, want %s", i, e.Host, hosts[i])
		}
	}
	small, large, liars := got[0], got[1], got[2]
	if small.Pages != 12 || small.More || small.Err != nil || small.Low != small.Size {
		t.Errorf("small: %+v", small)
	}
	if large.Fetched != 20 || large.Pages != 4999 || large.More || large.Err != nil || large.Speed == 0 || large.PageTime < 5*time.Millisecond {
		t.Errorf("large: %+v", large)
	}
	// A page has its HTML and a header.
	within(t, "a page of large", large.PageBytes, 5000, 8500)
	within(t, "the size of large", large.Size, large.Low, large.High)
	within(t, "the doubt in large", large.High/large.Low, 1.01, 3)
	if liars.Pages > 2000 || liars.Err != nil || !strings.Contains(liars.How, "of 10 looked at") {
		t.Errorf("liar: %+v", liars)
	}
	for i, want := range map[int]string{3: "forbids", 4: "more time between visits", 5: "503", 6: "not there", 7: "does not exist"} {
		if e := got[i]; e.Err == nil || !strings.Contains(e.Err.Error(), want) || e.Size != 0 {
			t.Errorf("%s: %+v", e.Host, e)
		}
	}
	if again := got[8]; again.Size != small.Size || again.Err != nil {
		t.Errorf("a host that is there twice: %+v, then %+v", small, again)
	}
	if slow := got[4]; slow.Delay != time.Hour {
		t.Errorf("slow: %+v", slow)
	}
	polite(t, web)
	empty(t, cfg.TempDir)
}

// TestSampleSeesFurther samples a site without a sitemap: how its links meet tells
// about how many pages there are, though most of them were never heard of.
func TestSampleSeesFurther(t *testing.T) {
	web := start(t, testweb.Site{Name: "a.test", Pages: 1000, Links: 10, Size: 3000}, testweb.Site{Name: "maze.test", Pages: 10, Links: 4, Size: 3000,
		Files: map[string]string{"/sitemap.xml": sitemap(1, 10)}, Traps: testweb.Traps{Calendar: true, Facets: true, Session: true}})
	cfg := config(t, web)
	cfg.Crawl.SitePages = 5000
	got, err := Sample(context.Background(), cfg, web.Seeds())
	if err != nil {
		t.Fatal(err)
	}
	e, maze := got[0], got[1]
	if e.Fetched != 20 || e.Fetched+e.Queued > 400 || !e.More || e.Least || !strings.Contains(e.How, "by how its links meet") {
		t.Errorf("%+v", e)
	}
	within(t, "the number of pages", float64(e.Pages), 500, 2000)
	within(t, "the size", e.Size, e.Low, e.High)
	within(t, "the pages of a maze", float64(maze.Pages), 10, 5000)
	polite(t, web)

	// Nobody counts what a crawl would not fetch.
	cfg.Crawl.SitePages = 100
	if got, err = Sample(context.Background(), cfg, web.Seeds()[:1]); err != nil {
		t.Fatal(err)
	}
	e = got[0]
	if e.Pages != 100 || e.More || e.Size < e.Low || e.Size > e.High {
		t.Errorf("with a budget of 100: %+v", e)
	}
}

// TestSampleInterrupted cancels in each stage: the survey ends at once, and
// nothing stays behind.
func TestSampleInterrupted(t *testing.T) {
	for _, stage := range []string{"sitemaps", "sample"} {
		t.Run(stage, func(t *testing.T) {
			web := start(t, testweb.Even(4, testweb.Site{Pages: 200, Links: 4, Size: 3000})...)
			cfg := config(t, web)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cfg.Progress = func(p Progress) {
				if p.Stage == stage {
					cancel()
				}
			}
			if _, err := Sample(ctx, cfg, web.Seeds()); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
			empty(t, cfg.TempDir)
		})
	}
}

func TestSampleUnderALimit(t *testing.T) {
	web := start(t, testweb.Even(6, testweb.Site{Pages: 30, Links: 4, Size: 20_000, Files: map[string]string{"/sitemap.xml": sitemap(1, 30)}})...)
	cfg := config(t, web)
	cfg.Pages = 5
	cfg.Crawl.Bandwidth.Rate = 1e6
	got, err := Sample(context.Background(), cfg, web.Seeds())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got {
		if e.Fetched != 5 || e.Pages != 29 || e.Err != nil || e.Speed == 0 {
			t.Errorf("%+v", e)
		}
	}
	polite(t, web)

	before := web.Audit().Requests()
	cfg.Crawl.Bandwidth.Timetable, err = bandwidth.ParseTimetable("off")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sample(context.Background(), cfg, web.Seeds()); !errors.Is(err, ErrPaused) {
		t.Errorf("when nothing may flow: %v", err)
	}
	if n := web.Audit().Requests() - before; n != 0 {
		t.Errorf("when nothing may flow, %d requests were made", n)
	}
}

// TestHostileSites surveys everything that is wrong on the web. It must end in
// time, tell something of every site and leave nothing behind.
func TestHostileSites(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	web := start(t, testweb.Hostile()...)
	cfg := config(t, web)
	cfg.Time, cfg.Pages = 3*time.Second, 5
	cfg.Crawl.Fetch.Limits = fetch.Limits{MaxBody: 1 << 20, Connect: time.Second, Handshake: time.Second, FirstByte: time.Second, Window: time.Second, Whole: 2 * time.Second}
	got, err := Sample(context.Background(), cfg, web.Seeds())
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range got {
		if e.Host != web.URL(i) || e.Err == nil && !(e.Low <= e.Size && e.Size <= e.High && e.Size < 1e12) {
			t.Errorf("%+v", e)
		}
	}
	empty(t, cfg.TempDir)
}

func TestBadHosts(t *testing.T) {
	for _, host := range []string{"", "ftp://a.test/", "a b", "http://"} {
		if _, err := FromCrawl(t.TempDir(), []string{host}); err == nil || !strings.Contains(err.Error(), "is no site") {
			t.Errorf("%q: %v", host, err)
		}
		if _, err := Sample(context.Background(), Config{}, []string{host}); err == nil {
			t.Errorf("%q can be sampled", host)
		}
	}
}
