package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"time"

	"weir/internal/node"
	"weir/internal/store"
	"weir/page"
)

// Sample estimates hosts by what their sitemaps list and by a crawl of a few
// pages of each, in a temporary folder. It takes about so many waits as there are
// pages, however many hosts there are, but no longer than Config.Time. What a
// host did is in its Estimate; the error is our own failure, or the context's.
func Sample(ctx context.Context, cfg Config, hosts []string) (_ []Estimate, err error) {
	cfg = cfg.withDefaults()
	ts, err := parseTargets(hosts)
	if err != nil || len(ts.list) == 0 {
		return nil, err
	}
	end := time.Now().Add(cfg.Time)
	lists, rested, err := firstLook(ctx, cfg, &ts)
	if err != nil {
		return nil, err
	}
	seeds := seedsOf(&ts, lists)
	if len(seeds) == 0 {
		out := make([]Estimate, len(lists))
		for i, l := range lists {
			out[i] = l.estimate()
		}
		return out, nil
	}
	if err := pause(ctx, rested); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cfg.TempDir, "weir-survey-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the sample: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := cfg.crawl(filepath.Join(dir, "crawl"), seeds, max(time.Until(end), time.Second))
	c.Progress = cfg.sampling(len(ts.by))
	report, err := node.Run(ctx, nil, c)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("crawl a sample: %w", err)
	}
	held := report.Bandwidth.Limit > 0 && report.Bandwidth.Max1s > report.Bandwidth.Limit*3/4
	return cfg.conclude(c.Dir, &ts, lists, held)
}

// firstLook reads the sitemaps, in half of the time at most, and says when all
// hosts have rested from it. A host that rests too long gets no sample.
func firstLook(ctx context.Context, cfg Config, ts *targets) ([]Listing, time.Time, error) {
	timed, cancel := context.WithTimeout(ctx, cfg.Time/2)
	defer cancel()
	s, err := newSurveyor(timed, cfg)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer s.close()
	lists := s.listAll(timed, ts)
	last := time.Now().Add(cfg.Time / 4)
	var rested time.Time
	for _, h := range s.hosts {
		if due := h.due(); due.Before(last) && due.After(rested) {
			rested = due
		}
	}
	for i := range lists {
		l := &lists[i]
		if l.Start.IsZero() || !s.host(l.Start.Host()).due().After(rested) {
			continue
		}
		l.Start = page.URL{}
		if nobody := (silence{}); !errors.As(l.Err, &nobody) {
			l.Err = errBusy // else it rests since nobody answered
		}
	}
	return lists, rested, ctx.Err()
}

// seedsOf are the beginnings of all sites and what was drawn from their sitemaps.
func seedsOf(ts *targets, lists []Listing) []node.Seed {
	var seeds []node.Seed
	for i, l := range lists {
		if l.Start.IsZero() || ts.by[ts.list[i].key] != i {
			continue
		}
		seeds = append(seeds, node.Seed{URL: l.Start})
		for _, u := range l.Drawn {
			seeds = append(seeds, node.Seed{URL: u})
		}
	}
	return seeds
}

// neverRanked is more pages than come before the first ranking.
const neverRanked = 1 << 40

// crawl is the crawl of a sample: seeds first, then by links, a few pages a site.
func (c Config) crawl(dir string, seeds []node.Seed, most time.Duration) node.Config {
	n := c.Crawl
	n.Dir, n.Seeds, n.Archive = dir, seeds, store.None
	n.Scope.Scope, n.Scope.Sitemaps = "host", false
	n.Order, n.Batch, n.StopGain = "partial", neverRanked, 0 // an order that keeps links
	few := int64(c.Pages)
	n.SitePages, n.DomainPages = min(cmp.Or(n.SitePages, few), few), 0
	n.Sites = maps.Clone(n.Sites)
	for host, s := range n.Sites {
		s.MaxPages = min(s.MaxPages, few)
		n.Sites[host] = s
	}
	n.MaxPages, n.MaxBytes, n.MaxTime = 0, 0, most
	n.LearnFrom, n.Trace = "", ""
	return n
}

func (c Config) sampling(sites int) func(node.Status) {
	return func(s node.Status) {
		c.Progress(Progress{Stage: "sample", Sites: sites, Done: sites, Pages: s.Totals.Fetched})
	}
}

// conclude joins what sites say of themselves with what was found there.
func (c Config) conclude(dir string, ts *targets, lists []Listing, held bool) ([]Estimate, error) {
	out := make([]Estimate, len(lists))
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	f.sample = true
	found, err := f.measure(ts, false)
	if err != nil {
		return nil, fmt.Errorf("add up the sample: %w", err)
	}
	for i, t := range ts.list {
		l := lists[i]
		if l.Start.IsZero() {
			out[i] = l.estimate()
			continue
		}
		m := found[ts.by[t.key]]
		e := f.estimate(t, m)
		e.Held, e.Delay = held, max(e.Delay, l.Delay)
		e.How = fmt.Sprintf("sample: %d pages fetched, %d more known", e.Fetched, e.Queued)
		checked, good, err := f.check(l.Drawn, c.Crawl.Strip)
		if err != nil {
			return nil, fmt.Errorf("look the sample up: %w", err)
		}
		if e.Err == nil && !e.believe(l, checked, good) {
			e.extrapolate(m.looks)
		}
		e.bound(c.budget(l.Start))
		out[i] = e
	}
	return out, nil
}

// budget is how many pages of a site a crawl would fetch; 0: all.
func (c Config) budget(u page.URL) int64 {
	return cmp.Or(c.Crawl.Sites[u.Host()].MaxPages, c.Crawl.SitePages)
}

// estimate is what can be said of a site that gave no sample.
func (l Listing) estimate() Estimate {
	e := Estimate{Host: l.Host, Pages: l.Pages, More: l.More, Delay: l.Delay, Err: l.Err}
	if l.Pages > 0 {
		e.How = fmt.Sprintf("sitemaps: %d pages listed", l.Pages)
	}
	return e
}

// check says how many of the pages that sitemaps list were looked at, and how
// many of those are there.
func (f *folder) check(drawn []page.URL, strip page.Strip) (checked, good int, err error) {
	for _, u := range drawn {
		p, err := f.Page(strip.Apply(u))
		if err != nil {
			return 0, 0, err
		}
		if p == nil || p.State != "ended" || p.Outcome == page.SiteBudget || p.Outcome == page.DomainBudget {
			continue
		}
		checked++
		if p.Outcome.Row().Kept || p.Outcome == page.Redirected {
			good++
		}
	}
	return checked, good, nil
}

// believe takes what sitemaps list for the size of a site, as far as what was
// drawn from them is there. It returns false when more is known without them.
func (e *Estimate) believe(l Listing, checked, good int) bool {
	if l.Pages == 0 {
		return false
	}
	e.Least = false // what sitemaps list is known, and may not be there
	e.How += fmt.Sprintf("; sitemaps: %d listed", l.Pages)
	if good < checked {
		e.How += fmt.Sprintf(", of %d looked at %d are there", checked, good)
	}
	listed := float64(l.Pages)
	if checked > 0 {
		listed *= float64(good) / float64(checked)
	}
	if listed < float64(e.Pages) {
		return false
	}
	var down, up float64
	if l.Pages > int64(checked) {
		down, up = shareDoubt(good, checked)
	}
	e.Pages, e.More = int64(math.Round(listed)), l.More
	e.weigh(listed, down, up)
	return true
}

// extrapolate adds the pages that are there though nothing leads to them yet.
func (e *Estimate) extrapolate(links looks) {
	if e.Queued == 0 {
		return
	}
	pages, doubt := links.unseen()
	if pages < 1 {
		return
	}
	known := float64(e.Pages)
	all := known + pages
	e.Pages, e.Least = int64(math.Round(all)), false
	e.How += fmt.Sprintf(", about %d by how its links meet", e.Pages)
	e.weigh(all, math.Log(all/(known+pages*math.Exp(-doubt))), math.Log((known+pages*math.Exp(doubt))/all))
}

// bound keeps an estimate to what a crawl would fetch.
func (e *Estimate) bound(most int64) {
	if most <= 0 || e.Pages <= most {
		return
	}
	share := float64(most) / float64(e.Pages)
	e.Pages, e.More, e.Least = most, false, false
	e.Size *= share
	e.Low, e.High = min(e.Low, e.Size/factor(e.doubt, 0)), min(e.High, e.Size*factor(e.doubt, 0))
	e.How += fmt.Sprintf("; a crawl ends at %d", most)
}
