package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/testweb"
)

// peer is another crawler, and how it is told to do the same job.
type peer struct {
	name string
	args func(dir string, seeds []string) []string
	note string
}

var peers = []peer{
	{"wget", func(dir string, seeds []string) []string {
		return append([]string{"-r", "-l", "inf", "-q", "-P", dir}, seeds...)
	}, "writes files, one connection, no state"},
	{"wget2", func(dir string, seeds []string) []string {
		return append([]string{"-r", "-l", "0", "-q", "--max-threads=20", "-P", dir}, seeds...)
	}, "writes files, 20 threads, no state"},
	{"httrack", func(dir string, seeds []string) []string {
		// Its own limits are of 10 connections a second and a modest rate; -A0, which should lift the latter, makes it stand still.
		return append(append([]string{}, seeds...), "-O", dir, "-q", "-%!", "-A1000000000", "-%c0", "-c20", "-%k", "-s2", "-C0", "-I0")
	}, "writes files, 20 connections, no state"},
	{"scrapy", func(dir string, seeds []string) []string {
		return []string{"runspider", filepath.Join(dir, "spider.py"), "-L", "ERROR", "-a", "seeds=" + strings.Join(seeds, ","),
			"-s", "ROBOTSTXT_OBEY=1", "-s", "CONCURRENT_REQUESTS=32", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "-s", "DEPTH_PRIORITY=1"}
	}, "keeps nothing"},
	{"colly", func(_ string, seeds []string) []string { return seeds }, "keeps nothing; internal/bench/colly"},
}

// patience is how long a peer may take.
const patience = 10 * time.Minute

// spider follows every link on the hosts it was given.
const spider = `import scrapy
from scrapy.linkextractors import LinkExtractor
from urllib.parse import urlsplit

class Spider(scrapy.Spider):
    name = "bench"

    def __init__(self, seeds):
        self.start_urls = seeds.split(",")
        self.allowed_domains = [urlsplit(u).hostname for u in self.start_urls]
        self.links = LinkExtractor()

    def parse(self, response):
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
`

// bare are 20 sites x 1,000 pages under bare addresses, which every crawler can
// resolve.
func (l *lab) bare() []testweb.Site {
	sites := make([]testweb.Site, 20)
	for i := range sites {
		sites[i] = testweb.Site{Pages: l.scaled(1000), Links: 30, Size: 20_000}
	}
	return sites
}

// yardstick tells how fast the machine is at this moment, by a crawler that does
// not change.
func (l *lab) yardstick() error {
	s, err := l.peer(peers[0], l.bare())
	if err == nil && len(s) > 0 && s.whole() {
		l.beside(peers[0].name, s, "a yardstick: the issue that set the targets gives it 0.23")
	}
	return err
}

// others runs the peers that are installed on the bare sites, and weir beside them.
func (l *lab) others() error {
	sites := l.bare()
	var ours, best float64
	for _, form := range []string{"gzip", "none"} {
		s, err := l.crawl(sites, append(fast, form)...)
		if err != nil {
			return err
		}
		l.beside("weir", s, "archive "+form+", synced state")
		ours = s.of(result.perThousand).median() // peers have no archive either
	}
	for _, p := range peers {
		s, err := l.peer(p, sites)
		if err != nil {
			return err
		}
		if len(s) > 0 {
			l.beside(p.name, s, p.note)
			if cpu := s.of(result.perThousand).median(); s.whole() && (best == 0 || cpu < best) {
				best = cpu
			}
		}
	}
	const what = "CPU, weir without archive to the best peer"
	if best == 0 {
		l.untold(what, atMost(1), "no peer finished")
		return nil
	}
	l.target(what, one(ours/best), "times", atMost(1))
	return nil
}

// whole says that every run fetched every page.
func (s series) whole() bool {
	for _, r := range s {
		if r.audit.Pages < r.audit.Truth {
			return false
		}
	}
	return true
}

// beside prints one line of the comparison. Its pages are those that the web saw
// go out whole, so that what was fetched twice counts once.
func (l *lab) beside(name string, s series, note string) {
	a := s[len(s)-1].audit
	l.say("  %-8s %7.3f CPU s/1,000 pages%s %7.0f pages/s %5.0f MB  %d of %d pages, %d twice, %d against robots.txt, %d requests; %s", name,
		s.of(result.perThousand).median(), s.of(result.perThousand).spread(), s.of(result.speed).median(), s.of(result.memory).median(),
		a.Pages, a.Truth, a.Duplicates, a.Forbidden, a.Requests, note)
}

// peer runs another crawler as often as asked; none that is not installed.
func (l *lab) peer(p peer, sites []testweb.Site) (series, error) {
	path := p.name
	if p.name == "colly" {
		path = filepath.Join(l.dir, "colly")
		cmd := exec.Command("go", "build", "-o", path, ".")
		cmd.Dir = filepath.Join("internal", "bench", "colly")
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build colly: %w\n%s", err, out)
		}
	} else if _, err := exec.LookPath(path); err != nil {
		l.say("  %-8s not installed", p.name)
		return nil, nil
	}
	var s series
	for range max(1, l.runs) {
		r, err := l.visit(p, path, sites)
		if err != nil {
			return nil, err
		}
		s = append(s, r)
	}
	return s, nil
}

// visit runs another crawler once, to its end or to the end of patience.
func (l *lab) visit(p peer, path string, sites []testweb.Site) (result, error) {
	var r result
	dir := filepath.Join(l.dir, "peer-"+p.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "spider.py"), []byte(spider), 0o644); err != nil {
		return r, err
	}
	w, err := l.serve(webConfig{Sites: sites})
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, p.args(dir, w.URLs)...)
	cmd.Dir = dir
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	r.wall = time.Since(begin)
	if ctx.Err() != nil {
		l.say("  %-8s gave up after %v", p.name, patience)
	}
	var ended error
	if r.audit, ended = w.close(); ended != nil {
		return r, ended
	}
	if r.audit.Pages == 0 {
		return r, fmt.Errorf("%s fetched nothing: %w\n%s", p.name, err, out)
	}
	r.Fetched = int64(r.audit.Pages)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.rss = maxRSS(cmd.ProcessState)
	return r, nil
}
