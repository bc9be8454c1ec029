package paper

import (
	"fmt"
	"strings"
	"time"

	"weir/sim"
	"weir/sim/link"
)

// trial is one simulated crawl. Equal trials are one.
type trial struct {
	web     string // see stock
	rate    float64
	sharing link.Sharing
	order   string
	every   int // pages between two rankings at scale 1, K in section 6.3
	conns   int
	perConn int
	auto    bool    // pages per connection follow the backlog, perConn at most
	share   float64 // of the pages, where the crawl ends; 0: all
	most    int64   // or after so many pages; 0: all
	fine    bool    // many samples
}

func (t trial) String() string {
	s := t.name() + " on " + t.web
	if t.rate > 0 {
		s += fmt.Sprintf(", %s shared %s", rateText(t.rate), t.sharing)
	}
	return s
}

// name tells the trial from others of the same web and line.
func (t trial) name() string {
	s := t.label()
	s += fmt.Sprintf(", r = %d", t.conns)
	switch {
	case t.auto:
		s += ", c = auto"
	case t.perConn > 1:
		s += fmt.Sprintf(", c = %d", t.perConn)
	}
	return s
}

// label is the order, with K.
func (t trial) label() string {
	if t.every > 0 {
		return fmt.Sprintf("%s, K = %s", t.order, thousands(int64(t.every)))
	}
	return t.order
}

// pages is how many pages the trial fetches of a web of so many.
func (t trial) pages(of int) int64 {
	n := int64(of)
	if t.share > 0 {
		n = max(int64(float64(of)*t.share), 1)
	}
	if t.most > 0 {
		n = min(n, t.most)
	}
	return n
}

// config is the trial as the simulator takes it.
func (t trial) config(g *ground, scale float64) (sim.Line, sim.Config) {
	cfg := sim.Config{Name: t.name(), Order: t.order, Conns: t.conns, PerConn: t.perConn, Auto: t.auto, Ranks: g.ranks, Samples: 400}
	if n := t.pages(g.web.Pages()); n < int64(g.web.Pages()) {
		cfg.MaxPages = n
	}
	if t.every > 0 {
		cfg.Batch = max(int64(float64(t.every)*scale), 1)
		cfg.Ranking = time.Millisecond // as in the paper, whose simulator does not count the CPU's time
	}
	if t.fine {
		cfg.Samples = 10_000
	}
	return sim.Line{Rate: t.rate, Sharing: t.sharing}, cfg
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// rateText writes bytes a second as the paper does.
func rateText(rate float64) string {
	switch {
	case rate >= 1e6:
		return fmt.Sprintf("%g MB/s", rate/1e6)
	case rate >= 1e3:
		return fmt.Sprintf("%g KB/s", rate/1e3)
	}
	return fmt.Sprintf("%g B/s", rate)
}
