package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/testweb"
)

// large crawls until ten million URLs are known, over many small sites and over
// fewer large ones, then kills the crawler and starts it again.
func (l *lab) large() error {
	for _, shape := range []struct {
		name                string
		sites, pages, links int
		memory              string
	}{
		{"100,000 sites of 100 pages", 100_000, 100, 200, "1GB"},
		{"1,000 sites of 10,000 pages", 1000, 10_000, 200, "1GB"},
	} {
		fmt.Printf("%s\n", shape.name)
		sites := testweb.Even(int(float64(shape.sites)*l.scale), testweb.Site{Pages: shape.pages, Links: shape.links, Size: 12_000})
		if err := l.grow(sites, shape.memory); err != nil {
			return err
		}
	}
	return nil
}

// sample is the crawl at one moment.
type sample struct {
	pages, seen int64
	cpu         time.Duration
	rss         int64
	at          time.Time
}

func (l *lab) grow(sites []testweb.Site, memory string) error {
	w, err := l.web(webConfig{Sites: sites, Addresses: 32})
	if err != nil {
		return err
	}
	defer w.close()
	dir := filepath.Join(l.dir, "large")
	defer os.RemoveAll(dir)
	seeds := filepath.Join(l.dir, "seeds.txt")
	if err := os.WriteFile(seeds, []byte(strings.Join(w.Seeds, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	want := int64(0)
	for _, s := range sites {
		want += int64(s.Pages)
	}
	want = want * 98 / 100
	args := []string{
		"crawl", "--dir", dir, "--seeds", seeds, "--dns", w.DNS, "--allow-private", "--json", "--wait", "0s", "--per-conn", "2",
		"--per-server", "64", "--warc", "none", "--order", "depth", "--memory", memory,
	}
	fmt.Printf("weir %s\n", strings.Join(args[9:], " "))
	samples, err := l.follow(args, want)
	if err != nil {
		return err
	}
	n := len(samples)
	if n < 6 {
		return fmt.Errorf("the crawl was over after %d samples", n)
	}
	last := samples[n-1]
	value("URLs known", float64(last.seen), "")
	value("pages fetched", float64(last.pages), "")
	value("time", last.at.Sub(samples[0].at).Seconds(), "s")
	target("memory", float64(last.rss)/1e6, "MB", "<=", 600)
	per := func(a, b sample) float64 { return (b.cpu - a.cpu).Seconds() / float64(b.pages-a.pages) * 1e3 }
	first, end := per(samples[1], samples[1+n/3]), per(samples[n-1-n/3], samples[n-1])
	value("CPU per page, first third", first, "ms")
	value("CPU per page, last third", end, "ms")
	target("no slower at the end", end/first, "times", "<=", 1.1)
	size, err := folderSize(filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	target("disk, killed and not yet compacted", float64(size)/float64(last.seen), "B/URL", "<=", 40)
	return l.again(w, args)
}

// again starts a killed crawl and waits for its first request.
func (l *lab) again(w *web, args []string) error {
	if err := w.mark(); err != nil {
		return err
	}
	begin := time.Now()
	cmd, _, err := start(l.weir, args)
	if err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	at, err := w.heard()
	if err != nil {
		return err
	}
	target("first request after kill -9", at.Sub(begin).Seconds(), "s", "<=", 2)
	return nil
}

// follow runs weir until it knows so many URLs, then kills it.
func (l *lab) follow(args []string, want int64) ([]sample, error) {
	cmd, lines, err := start(l.weir, args)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var samples []sample
	for lines.Scan() {
		s, ok := read(lines.Bytes(), cmd.Process.Pid)
		if !ok || s.seen == 0 {
			continue
		}
		samples = append(samples, s)
		if s.seen >= want {
			break
		}
	}
	return samples, nil
}

func start(weir string, args []string) (*exec.Cmd, *bufio.Scanner, error) {
	cmd := exec.Command(weir, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = os.Stderr
	return cmd, bufio.NewScanner(out), cmd.Start()
}

// read makes a sample of a progress line and what the system says of the
// process.
func read(line []byte, pid int) (sample, bool) {
	var p struct {
		Event           string
		Pages           int64
		Fetched, Queued int64
		Parked          int64
	}
	if json.Unmarshal(line, &p) != nil || p.Event != "progress" {
		return sample{}, false
	}
	s := sample{pages: p.Fetched, seen: p.Fetched + p.Queued + p.Parked, at: time.Now()}
	s.cpu, s.rss = usage(pid)
	return s, true
}

func folderSize(dir string) (int64, error) {
	var n int64
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	})
	return n, err
}
