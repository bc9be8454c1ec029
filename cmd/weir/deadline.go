package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/node"
	"weir/page"
)

// dueForm is how deadlines stand in crawl.yaml: a crawl that goes on tomorrow must
// not take 06:00 for another day's.
const dueForm = time.RFC3339

const dueHint = "write --deadline example.org=06:00, or a date, as in 2026-11-16T06:00, or a span from now, as in 2h30m"

// due reads a deadline: a time of day, a date, or a span from now.
func due(text string, now time.Time) (time.Time, error) {
	if at, ok := clockIn(text, now); ok {
		return at, nil
	}
	seconds, err := parseSpan(text)
	if err != nil {
		return time.Time{}, err
	}
	return now.Add(time.Duration(seconds * float64(time.Second))), nil
}

// wish is one --deadline.
type wish struct {
	host string
	at   time.Time // zero: none
}

// readWish reads SITE=TIME, or SITE=none.
func readWish(text string, now time.Time) (wish, error) {
	name, at, ok := strings.Cut(text, "=")
	if !ok {
		return wish{}, usage(dueHint, "--deadline %q has no time", text)
	}
	host, err := hostOf(name)
	if err != nil {
		return wish{}, usage(dueHint, "--deadline: %w", err)
	}
	if at == none {
		return wish{host: host}, nil
	}
	t, err := due(at, now)
	if err != nil {
		return wish{}, usage(dueHint, "--deadline of %s: %w", host, err)
	}
	return wish{host, t}, nil
}

func (w wish) String() string {
	if w.at.IsZero() {
		return w.host + "=" + none
	}
	return w.host + "=" + w.at.Format(dueForm)
}

// over refuses a deadline that has passed.
func (w wish) over(now time.Time) error {
	if w.at.IsZero() || w.at.After(now) {
		return nil
	}
	return usage("write a time to come: "+strings.TrimPrefix(dueHint, "write "), "--deadline: %s of %s is in the past: it is %s now", w.at.Format(dueForm), w.host, now.Format(dueForm))
}

// fixDeadlines makes times that are relative to now absolute, in the flags and in
// the list of sites, and checks those that were given now. Of two for one host
// the later in the list holds.
func (s *settings) fixDeadlines(now time.Time, fresh bool) error {
	var all []string
	for _, text := range s.Deadline {
		w, err := readWish(text, now)
		if err != nil {
			return err
		}
		if err := w.over(now); err != nil && fresh {
			return err
		}
		all = slices.DeleteFunc(all, func(old string) bool { return strings.HasPrefix(old, w.host+"=") })
		all = append(all, w.String())
	}
	s.Deadline = all
	for i := range s.Sites {
		one := &s.Sites[i]
		if one.Deadline == "" || one.Deadline == none {
			continue
		}
		w, err := readWish(one.Site+"="+one.Deadline, now)
		if err == nil && fresh {
			err = w.over(now)
		}
		if err != nil {
			return err
		}
		one.Deadline = w.at.Format(dueForm)
	}
	return nil
}

// setupDeadlines makes demands of the deadlines.
func setupDeadlines(s *settings, cfg *node.Config) error {
	for _, text := range s.Deadline {
		w, err := readWish(text, time.Now())
		if err != nil {
			return err
		}
		d := crawl.Demand{Host: w.host}
		if !w.at.IsZero() {
			d.Deadline = w.at.UnixNano()
		}
		cfg.Demands = append(cfg.Demands, d)
	}
	for _, one := range s.Sites {
		host, err := hostOf(one.Site)
		if err != nil {
			return usage("write a host's name, as in site: example.org", "sites: %w", err)
		}
		i := slices.IndexFunc(cfg.Demands, func(d crawl.Demand) bool { return d.Host == host })
		if one.Deadline != "" && one.Deadline != none && i < 0 {
			w, err := readWish(one.Site+"="+one.Deadline, time.Now())
			if err != nil {
				return err
			}
			i = len(cfg.Demands)
			cfg.Demands = append(cfg.Demands, crawl.Demand{Host: host, Deadline: w.at.UnixNano()})
		}
		if i >= 0 {
			cfg.Demands[i].Size, cfg.Demands[i].Pages = int64(one.Size), int64(one.Pages)
		}
	}
	if len(cfg.Demands) == 0 {
		return nil
	}
	order, err := frontier.Order(s.Order)
	if err == nil && order.Traits().Batched {
		return usage("choose another order, as in --order siteopic", "--order %s holds pages back until their batch comes, and cannot keep deadlines", s.Order)
	}
	if !cfg.Bandwidth.Limits.Set() {
		cfg.Warnings = append(cfg.Warnings, "deadlines without a limit: how much the link brings is not known, so a promise goes by the speed of its site alone; --limit says it")
	}
	return nil
}

// strangers refuses deadlines of sites that a new crawl will not come to.
func strangers(s *settings, demands []crawl.Demand, seeds []node.Seed) error {
	if s.Scope == "any" {
		return nil
	}
	var hosts []string
	for _, seed := range seeds {
		hosts = append(hosts, seed.URL.Host())
	}
	bare := func(h string) string { return strings.TrimPrefix(h, "www.") }
	for _, d := range demands {
		near := func(h string) bool {
			return bare(h) == bare(d.Host) || s.Scope == "domain" && page.Domain(h) == page.Domain(d.Host)
		}
		if d.Deadline != 0 && !slices.ContainsFunc(hosts, near) {
			hint := "name a page of it among the URLs to start from"
			if close := nearest(d.Host, hosts); close != "" {
				hint = "did you mean " + close + "?"
			}
			return usage(hint, "the deadline of %s: no seed leads there, and --scope %s goes nowhere else", d.Host, s.Scope)
		}
	}
	return nil
}

// promiseLine tells a person how it stands with a promise.
func promiseLine(p node.Promise, now time.Time) string {
	at := clockNear(p.Deadline, now)
	progress := fmt.Sprintf("%s of %s", thousands(p.Pages), many(p.Pages+p.Left, "page"))
	switch p.Standing {
	case crawl.Kept:
		return fmt.Sprintf("due %s, done at %s, %s early", at, clockNear(*p.ETA, now), short(seconds(*p.Slack)))
	case crawl.Missed:
		return fmt.Sprintf("due %s, MISSED: %s", at, p.Why)
	case crawl.Refused:
		return fmt.Sprintf("due %s, not promised: %s", at, p.Why)
	case crawl.Broken:
		return fmt.Sprintf("due %s, LATE%s, %s: %s", at, when(p, now), progress, p.Why)
	case crawl.Held:
		return fmt.Sprintf("due %s, promised%s, %s, risk %s", at, when(p, now), progress, p.Risk)
	}
	return fmt.Sprintf("due %s, not promised yet: looking how large it is, %s", at, progress)
}

// when says when the last page of a promise should come.
func when(p node.Promise, now time.Time) string {
	if p.ETA == nil {
		return ""
	}
	text := ", done about " + clockNear(*p.ETA, now)
	if *p.Slack > 0 {
		text += ", " + short(seconds(*p.Slack)) + " early"
	}
	return text
}

// clockNear writes a time as short as it is clear at another.
func clockNear(t, now time.Time) string {
	if d := t.Sub(now).Abs(); d < 10*time.Minute {
		return t.Format("15:04:05")
	} else if d < 18*time.Hour {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}
