package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/testweb"
)

// shape is a web that is larger than what a crawl fetches of it: every page has
// 200 links, so that few pages make many URLs known.
type shape struct {
	sites, urls int    // URLs to know of each site
	memory      string // --memory
	most        float64
	warc        string
}

// The shapes: ten million URLs over many small sites and over few large ones,
// five times as many, and a tenth with an archive that is synced too.
var (
	many     = shape{sites: 100_000, urls: 100, memory: "1GB", most: 600, warc: "none"}
	few      = shape{sites: 1000, urls: 10_000, memory: "1GB", most: 600, warc: "none"}
	fifty    = shape{sites: 5000, urls: 10_000, memory: "1GB", most: 1000, warc: "none"}
	archived = shape{sites: 10_000, urls: 100, memory: "1GB", most: 600, warc: "gzip"}
)

// sample is the crawl at one moment.
type sample struct {
	report
	cpu time.Duration
	rss int64 // at most, so far
	at  time.Time
}

// Rhythm of a large run.
const (
	tellEvery  = 30 * time.Second
	fewSamples = 9                // are too few for comparing thirds
	goOn       = 20 * time.Second // after the kill
)

// grow crawls until the URLs of the shape are known, kills the crawler, starts
// it again and ends it in peace.
func (l *lab) grow(s shape) error {
	sites := testweb.Even(l.scaled(s.sites), testweb.Site{Pages: s.urls * 103 / 100, Links: 200, Size: 12_000})
	want := int64(len(sites)) * int64(s.urls)
	w, err := l.serve(webConfig{Sites: sites, Addresses: 32})
	if err != nil {
		return err
	}
	defer w.close()
	dir := filepath.Join(l.dir, "large")
	defer os.RemoveAll(dir)
	args := []string{"--wait", "0s", "--per-conn", "2", "--per-server", "64", "--order", "depth", "--memory", s.memory, "--warc", s.warc}
	l.say("weir crawl %s", strings.Join(args, " "))
	samples, err := l.follow(l.command(w, dir, args...), want)
	if err != nil {
		return err
	}
	last := samples[len(samples)-1]
	if last.known() < want {
		l.short = fmt.Sprintf("%d of %d URLs known", last.known(), want)
		defer func() { l.short = "" }()
	}
	l.growth(samples, s.most)
	l.commits("while growing", last.report)
	if err := l.disk("killed, not compacted", dir, last.known()); err != nil {
		return err
	}
	end, err := l.again(w, l.command(w, dir, args...), s.most)
	if err != nil {
		return err
	}
	l.commits("at that size", end)
	if err := l.disk("ended in peace", dir, end.known()); err != nil {
		return err
	}
	_, rss := usage(w.cmd.Process.Pid)
	l.value("memory of the web server", one(float64(rss)/1e6), "MB")
	return nil
}

// growth prints what a crawl cost as it grew.
func (l *lab) growth(samples []sample, most float64) {
	n := len(samples)
	first, last := samples[0], samples[n-1]
	l.value("URLs known", one(float64(last.known())), "")
	l.value("pages fetched", one(float64(last.Fetched)), "")
	l.value("time", one(last.at.Sub(first.at).Seconds()), "s")
	l.target("memory", one(float64(last.rss)/1e6), "MB", atMost(most))
	per := func(a, b sample) float64 { return (b.cpu - a.cpu).Seconds() / float64(b.Fetched-a.Fetched) * 1e6 }
	early, late := per(first, samples[n/3]), per(samples[n-1-n/3], last)
	fresh := func(a, b sample) figures { return one(float64(b.known()-a.known()) / float64(b.Fetched-a.Fetched)) }
	l.value("CPU per page, first third", one(early), "us")
	l.value("CPU per page, last third", one(late), "us")
	// New URLs are what a page costs most for, and pages show fewer of them as a web becomes known.
	l.value("new URLs per page, first third", fresh(first, samples[n/3]), "")
	l.value("new URLs per page, last third", fresh(samples[n-1-n/3], last), "")
	l.target("CPU per page, last third to first", one(late/early), "times", atMost(1.1))
}

// commits prints how long groups took to become durable, if weir says.
func (l *lab) commits(when string, r report) {
	if r.CommitMS == nil {
		l.untold("commit "+when+", p99", atMost(20), "weir does not say commit_ms")
		l.untold("commit "+when+", longest", atMost(200), "weir does not say commit_ms")
		return
	}
	l.value("commit "+when+", p50", one(r.CommitMS.P50), "ms")
	l.target("commit "+when+", p99", one(r.CommitMS.P99), "ms", atMost(20))
	l.target("commit "+when+", longest", one(r.CommitMS.Max), "ms", atMost(200))
}

// disk prints what the state takes. The target is about a settled one.
func (l *lab) disk(how, dir string, urls int64) error {
	size, err := folderSize(filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	per := one(float64(size) / float64(urls))
	if how == "ended in peace" {
		l.target("disk, "+how, per, "B/URL", atMost(40))
		return nil
	}
	l.value("disk, "+how, per, "B/URL")
	return nil
}

// again starts a killed crawl, waits for its first request, lets it go on for a
// while and ends it as Ctrl-C does. It may take so many megabytes. It returns
// what it said last.
func (l *lab) again(w *web, cmd *exec.Cmd, memory float64) (report, error) {
	var end report
	if err := w.mark(); err != nil {
		return end, err
	}
	from := time.Now()
	lines, err := begin(cmd)
	if err != nil {
		return end, err
	}
	defer kill(cmd)
	at, err := w.heard()
	if err != nil {
		return end, err
	}
	l.target("first request after kill -9", one(at.Sub(from).Seconds()), "s", atMost(2))
	stop := time.AfterFunc(goOn, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer stop.Stop()
	most := int64(0)
	for lines.Scan() {
		_ = json.Unmarshal(lines.Bytes(), &end)
		if _, rss := usage(cmd.Process.Pid); rss > most {
			most = rss
		}
	}
	l.target("memory after the restart", one(float64(most)/1e6), "MB", atMost(memory))
	if end.Event != "report" {
		return end, fmt.Errorf("weir ended without a report: %v", lines.Err())
	}
	return end, nil
}

// follow runs weir until it knows so many URLs, has come to its end or has used
// up its time, and kills it.
func (l *lab) follow(cmd *exec.Cmd, want int64) ([]sample, error) {
	lines, err := begin(cmd)
	if err != nil {
		return nil, err
	}
	defer kill(cmd)
	from := time.Now()
	told := from
	var samples []sample
	for lines.Scan() {
		s, ok := read(lines.Bytes(), cmd.Process.Pid)
		if !ok {
			continue
		}
		samples = append(samples, s)
		if s.at.Sub(told) >= tellEvery {
			told = s.at
			fmt.Fprintf(os.Stderr, "%v: %d URLs known, %d pages fetched, %d MB\n", s.at.Sub(from).Round(time.Second), s.known(), s.Fetched, s.rss/1e6)
		}
		late := l.longest > 0 && s.at.Sub(from) > l.longest
		done := s.known() >= want && (len(samples) >= fewSamples || s.Queued < want/3)
		if (late || done) && len(samples) >= 3 {
			return samples, nil
		}
	}
	return nil, fmt.Errorf("the crawl was over after %d samples, before it could be killed: it needs a larger -scale", len(samples))
}

// read makes a sample of a progress line and what the system says of the
// process.
func read(line []byte, pid int) (sample, bool) {
	s := sample{at: time.Now()}
	if json.Unmarshal(line, &s.report) != nil || s.Event != "progress" || s.Fetched == 0 {
		return s, false
	}
	s.cpu, s.rss = usage(pid)
	return s, true
}
