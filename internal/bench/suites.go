package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weir/internal/testweb"
)

// farmSites are what the peers were measured on, five times as large.
func (l *lab) farmSites() []testweb.Site {
	return testweb.Even(20, testweb.Site{Pages: int(5000 * l.scale), Links: 30, Size: 20_000})
}

// judged crawls one web and prints what its audit has to say.
func (l *lab) judged(sites []testweb.Site, args ...string) (result, error) {
	w, err := l.web(webConfig{Sites: sites})
	if err != nil {
		return result{}, err
	}
	r, err := l.crawl(w, args...)
	s, closed := w.close()
	if err == nil {
		err = closed
	}
	if err != nil {
		return r, err
	}
	for _, p := range s.Problems {
		fmt.Println("  MANNERS:", p)
	}
	if s.Pages != s.Truth {
		fmt.Printf("  INCOMPLETE: %d of %d pages\n", s.Pages, s.Truth)
	}
	return r, nil
}

func (l *lab) farm() error {
	for _, f := range []struct {
		form      string
		cpu, rate float64
	}{{"none", 0.12, 9000}, {"zstd", 0.30, 5000}, {"gzip", 0.32, 4500}} {
		r, err := l.judged(l.farmSites(), "--wait", "0s", "--per-conn", "100", "--warc", f.form)
		if err != nil {
			return err
		}
		target("CPU, archive "+f.form, r.perThousand(), "s/1,000 pages", "<=", f.cpu)
		target("speed, archive "+f.form, r.rate(), "pages/s", ">=", f.rate)
		value("memory", float64(r.rss)/1e6, "MB")
	}
	return nil
}

func (l *lab) forms() error {
	for _, f := range []struct {
		name string
		set  func(*testweb.Site)
	}{
		{"TLS", func(s *testweb.Site) { s.TLS = true }},
		{"gzip transfer", func(s *testweb.Site) { s.Faults = []testweb.Fault{{Kind: testweb.Gzip, Every: 1}} }},
		{"chunked", func(s *testweb.Site) { s.Faults = []testweb.Fault{{Kind: testweb.Chunked, Every: 1}} }},
	} {
		for _, form := range []string{"none", "gzip"} {
			sites := testweb.Even(20, testweb.Site{Pages: int(1000 * l.scale), Links: 30, Size: 20_000})
			for i := range sites {
				f.set(&sites[i])
			}
			r, err := l.judged(sites, "--wait", "0s", "--per-conn", "100", "--warc", form)
			if err != nil {
				return err
			}
			value("CPU, "+f.name+", archive "+form, r.perThousand(), "s/1,000 pages")
			value("speed, "+f.name+", archive "+form, r.rate(), "pages/s")
		}
	}
	return nil
}

// slow crawls thousands of slow servers at once.
func (l *lab) slow() error {
	n := int(5000 * l.scale)
	sites := testweb.Even(n, testweb.Site{Pages: 3, Links: 3, Size: 20_000, Rate: 2000})
	r, err := l.judged(sites, "--wait", "0s", "--conns", fmt.Sprint(n), "--warc", "none")
	if err != nil {
		return err
	}
	target("memory", float64(r.rss)/1e6, "MB", "<=", 500)
	value("CPU", r.perThousand(), "s/1,000 pages")
	value("CPU of a core", 100*r.cpu.Seconds()/r.wall.Seconds(), "%")
	return nil
}

// start measures the time to the first request, of a new crawl and of one that
// was killed.
func (l *lab) start() error {
	w, err := l.web(webConfig{Sites: testweb.Even(1000, testweb.Site{Pages: int(100 * l.scale), Links: 30, Size: 2000}), Addresses: 100})
	if err != nil {
		return err
	}
	defer w.close()
	seeds := filepath.Join(l.dir, "seeds.txt")
	if err := os.WriteFile(seeds, []byte(w.Seeds[0]+"\n"), 0o644); err != nil {
		return err
	}
	args := []string{
		"crawl", "--dir", filepath.Join(l.dir, "start"), "--seeds", seeds, "--dns", w.DNS, "--allow-private",
		"--scope", "any", "--wait", "0s", "--per-conn", "100", "--json",
	}
	for _, run := range []struct {
		what  string
		limit float64
	}{{"start to first request", 0.1}, {"first request after kill -9", 2}} {
		if err := w.mark(); err != nil {
			return err
		}
		begin := time.Now()
		cmd, lines, err := start(l.weir, args)
		if err != nil {
			return err
		}
		at, err := w.heard()
		if err != nil {
			return err
		}
		target(run.what, at.Sub(begin).Seconds(), "s", "<=", run.limit)
		lines.Scan() // let it crawl until it first tells of itself
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return nil
}
