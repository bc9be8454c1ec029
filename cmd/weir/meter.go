package main

import (
	"fmt"
	"io"
	"time"

	"weir/crawl"
)

// meter tells a person how far a job is, such as the reading of an archive. It is
// silent unless that takes long.
type meter struct {
	out   io.Writer
	doing string
	live  bool // a terminal: the line is written over
	all   int64
	began time.Time
	last  time.Time
	shown bool
}

const (
	meterAfter = 2 * time.Second        // before that, nothing is said
	meterEvery = 500 * time.Millisecond // on a terminal
	meterLines = 10 * time.Second       // elsewhere
	meterPages = 64                     // between looks at the clock
)

// meter counts the pages that there are to read.
func (e *env) meter(f *folder) *meter {
	m := e.metered("reading", 0)
	f.Sites(func(s *crawl.SiteInfo) bool { // a guess is enough
		m.all += s.Ended
		return true
	})
	return m
}

// metered is for a job with so many pages.
func (e *env) metered(doing string, all int64) *meter {
	now := time.Now()
	return &meter{out: e.err, doing: doing, live: terminal(e.err), all: all, began: now, last: now}
}

// page notes that so many pages were read.
func (m *meter) page(n int64) {
	if n%meterPages != 0 {
		return
	}
	now := time.Now()
	every := meterLines
	if m.live {
		every = meterEvery
	}
	if now.Sub(m.began) < meterAfter || now.Sub(m.last) < every {
		return
	}
	m.last = now
	line := progressOf(m.doing, n, m.all, now.Sub(m.began))
	if !m.live {
		fmt.Fprintln(m.out, line)
		return
	}
	fmt.Fprint(m.out, "\r\x1b[K"+line)
	m.shown = true
}

// progressOf says how far it is: reading 20,000 pages, 3,200/s, 4 s left.
func progressOf(doing string, n, all int64, took time.Duration) string {
	rate := float64(n) / took.Seconds()
	line := fmt.Sprintf("%s %s, %s/s", doing, many(all, "page"), thousands(int64(rate)))
	if left := float64(all-n) / rate; all > n {
		line += ", " + short(time.Duration(left*float64(time.Second))) + " left"
	}
	return line
}

// moved says that rows go to disk, and begins anew.
func (m *meter) moved() {
	m.clear()
	fmt.Fprintln(m.out, "weir: this needs more than --memory: working on disk")
	m.began = time.Now()
}

// clear takes the line away.
func (m *meter) clear() {
	if m.shown {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.shown = false
	}
}
