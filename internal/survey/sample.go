package survey

import (
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
	dir, err := os.MkdirTemp(cfg.TempDir, "weir-survey-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the sample: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	seeds := seedsOf(&ts, lists)
	if len(seeds) > 0 {
		if err := pause(ctx, rested); err != nil {
			return nil, err
		}
		c := cfg.crawl(filepath.Join(dir, "crawl"), seeds, max(time.Until(end), time.Second))
		c.Progress = cfg.sampling(len(ts.by))
		if _, err := node.Run(ctx, nil, c); err != nil {
			return nil, fmt.Errorf("crawl a sample: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return cfg.conclude(filepath.Join(dir, "crawl"), &ts, lists, len(seeds) > 0)
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
		if !l.Start.IsZero() && s.host(l.Start.Host()).due().After(rested) {
			l.Start, l.Err = page.URL{}, errBusy
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

// crawl is the crawl of a sample: seeds first, then by links, a few pages a site.
func (c Config) crawl(dir string, seeds []node.Seed, most time.Duration) node.Config {
	n := c.Crawl
	n.Dir, n.Seeds, n.Archive = dir, seeds, store.None
	n.Scope.Scope, n.Scope.Sitemaps = "host", false
	n.Order, n.StopGain = "depth-flat", 0
	n.SitePages, n.DomainPages = int64(c.Pages), 0
	n.Sites = maps.Clone(n.Sites)
	for host, s := range n.Sites {
		s.MaxPages = 0
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
func (c Config) conclude(dir string, ts *targets, lists []Listing, crawled bool) ([]Estimate, error) {
	out := make([]Estimate, len(lists))
	if !crawled {
		for i, l := range lists {
			out[i] = l.estimate()
		}
		return out, nil
	}
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
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
		e := f.estimate(t, found[ts.by[t.key]])
		e.Delay = max(e.Delay, l.Delay)
		e.How = fmt.Sprintf("sample: %d pages fetched, %d more known", e.Fetched, e.Queued)
		checked, good, err := f.check(l.Drawn, c.Crawl.Strip)
		if err != nil {
			return nil, fmt.Errorf("look the sample up: %w", err)
		}
		e.believe(l, checked, good)
		out[i] = e
	}
	return out, nil
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
// drawn from them is there.
func (e *Estimate) believe(l Listing, checked, good int) {
	if l.Pages == 0 || e.PageBytes == 0 {
		if e.Fetched == 0 {
			e.Pages = max(e.Pages, l.Pages)
		}
		return
	}
	share, down, up := 1.0, 0.0, 0.0
	if checked > 0 {
		share = float64(good) / float64(checked)
	}
	if l.Pages > int64(checked) {
		down, up = shareDoubt(good, checked)
	}
	e.How += fmt.Sprintf("; sitemaps: %d listed", l.Pages)
	if good < checked {
		e.How += fmt.Sprintf(", of %d looked at %d are there", checked, good)
	}
	listed := share * float64(l.Pages)
	if listed < float64(e.Pages) {
		return
	}
	e.Pages, e.More = int64(math.Round(listed)), l.More
	e.weigh(listed, down, up)
}
