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
		return append(append([]string{}, seeds...), "-O", dir, "-q", "-c20", "-%c1000", "-A0", "-%!", "-s2", "-I0")
	}, "writes files, 20 connections"},
	{"scrapy", func(dir string, seeds []string) []string {
		return []string{"runspider", filepath.Join(dir, "spider.py"), "-L", "ERROR", "-a", "seeds=" + strings.Join(seeds, ","),
			"-s", "ROBOTSTXT_OBEY=1", "-s", "CONCURRENT_REQUESTS=32", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "-s", "DEPTH_PRIORITY=1"}
	}, "keeps nothing"},
	{"colly", func(_ string, seeds []string) []string { return seeds }, "keeps nothing; internal/bench/colly"},
}

// patience is how long a peer may take.
const patience = 2 * time.Minute

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

// others runs the peers that are installed on 20 sites x 1,000 pages, and weir
// beside them. The sites are bare addresses, which every crawler can resolve.
func (l *lab) others() error {
	sites := make([]testweb.Site, 20)
	for i := range sites {
		sites[i] = testweb.Site{Pages: int(1000 * l.scale), Links: 30, Size: 20_000}
	}
	for _, form := range []string{"none", "gzip"} {
		r, err := l.judged(sites, "--wait", "0s", "--per-conn", "100", "--warc", form)
		if err != nil {
			return err
		}
		fmt.Printf("  %-10s %8.3f CPU s/1,000 pages %8.0f pages/s %6.0f MB  archive %s\n", "weir", r.perThousand(), r.rate(), float64(r.rss)/1e6, form)
	}
	for _, p := range peers {
		if err := l.peer(p, sites); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) peer(p peer, sites []testweb.Site) error {
	path := p.name
	if p.name == "colly" {
		path = filepath.Join(l.dir, "colly")
		cmd := exec.Command("go", "build", "-o", path, ".")
		cmd.Dir = filepath.Join("internal", "bench", "colly")
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build colly: %w\n%s", err, out)
		}
	} else if _, err := exec.LookPath(path); err != nil {
		fmt.Printf("  %-10s not installed\n", p.name)
		return nil
	}
	dir := filepath.Join(l.dir, "peer-"+p.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "spider.py"), []byte(spider), 0o644); err != nil {
		return err
	}
	w, err := l.web(webConfig{Sites: sites})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, p.args(dir, w.Seeds)...)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(begin)
	if ctx.Err() != nil {
		fmt.Printf("  %-10s gave up after %v\n", p.name, patience)
	}
	s, closed := w.close()
	if closed != nil {
		return closed
	}
	if s.Pages == 0 {
		return fmt.Errorf("%s fetched nothing: %w\n%s", p.name, err, out)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("  %-10s %8.3f CPU s/1,000 pages %8.0f pages/s %6.0f MB  %d of %d pages, %d requests; %s\n", p.name,
		cpu.Seconds()/float64(s.Pages)*1000, float64(s.Pages)/wall.Seconds(), float64(maxRSS(cmd.ProcessState))/1e6,
		s.Pages, s.Truth, s.Requests, p.note)
	return nil
}
