package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/node"
	"weir/internal/store"
)

// dueForm is how deadlines stand in crawl.yaml: a crawl that goes on tomorrow must
// not take 06:00 for another day's.
const dueForm = time.RFC3339

const dueHint = "write --deadline example.org=06:00, or a date, as in 2026-11-16T06:00, or a span from now, as in 2h30m"

// due reads a deadline: a time of day, a date, or a span from now.
func due(text string, now time.Time) (time.Time, error) {
	at, ok := clockIn(text, now)
	if !ok {
		seconds, err := parseSpan(text)
		if err != nil {
			return time.Time{}, err
		}
		if seconds <= 0 {
			return time.Time{}, fmt.Errorf("%s is no time to come", text)
		}
		most := 2 * node.Horizon.Seconds()                                                                           // what is more is too far in any case
		at = now.Add(time.Duration(min(seconds, most)*float64(time.Second)) + time.Second - 1).Truncate(time.Second) // as it is written down
	}
	if at.Sub(now) > node.Horizon {
		return time.Time{}, fmt.Errorf("%s is more than ten years ahead", text)
	}
	return at, nil
}

// told is SITE=TIME as somebody wrote it.
type told struct {
	text string
	from string // a flag, or a key and its line in a file
}

// wish is what told means.
type wish struct {
	told
	host string
	at   time.Time // zero: none
}

// read makes a wish of SITE=TIME, or SITE=none.
func (t told) read(now time.Time) (wish, error) {
	name, at, ok := strings.Cut(t.text, "=")
	if !ok {
		return wish{}, usage(dueHint, "%s %q has no time", t.from, t.text)
	}
	host, err := hostOf(name)
	if err != nil {
		return wish{}, usage(dueHint, "%s: %w", t.from, err)
	}
	w := wish{told: t, host: host}
	if at == none {
		return w, nil
	}
	if w.at, err = due(at, now); err != nil {
		return wish{}, usage(dueHint, "%s of %s: %w", t.from, host, err)
	}
	return w, nil
}

// readWishes reads what stands in one place, where a site has one deadline.
func readWishes(all []told, now time.Time) ([]wish, error) {
	var out []wish
	for _, t := range all {
		w, err := t.read(now)
		if err != nil {
			return nil, err
		}
		if old := wishOf(out, w.host); old != nil {
			return nil, usage("name each site once; www makes no difference", "%s: %s has two deadlines, %s and %s", t.from, w.host, old.time(), w.time())
		}
		out = append(out, w)
	}
	return out, nil
}

// wishOf finds the wish for a host, or nil.
func wishOf(all []wish, host string) *wish {
	i := slices.IndexFunc(all, func(w wish) bool { return crawl.SameSite(w.host, host) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// time is the part of the text that says when.
func (w wish) time() string {
	_, at, _ := strings.Cut(w.text, "=")
	return at
}

func (w wish) String() string {
	if w.at.IsZero() {
		return w.host + "=" + none
	}
	return w.host + "=" + w.at.Format(dueForm)
}

func (w wish) demand() crawl.Demand {
	d := crawl.Demand{Host: w.host}
	if !w.at.IsZero() {
		d.Deadline = w.at.UnixNano()
	}
	return d
}

// over refuses a deadline that has passed.
func (w wish) over(now time.Time) error {
	if w.at.IsZero() || w.at.After(now) {
		return nil
	}
	return usage("write a time to come: "+strings.TrimPrefix(dueHint, "write "), "%s: %s of %s is in the past: it is %s now", w.from, w.at.Format(dueForm), w.host, now.Format(dueForm))
}

// dues are deadlines by where they come from: the folder, the config file and the
// command line, which wins over the file.
type dues struct{ had, file, flags []told }

// telling lists texts that come from one place.
func telling(from string, texts []string) (all []told) {
	for _, text := range texts {
		all = append(all, told{text, from})
	}
	return all
}

// lift takes the deadlines out of the list of sites.
func (s *settings) lift() (all []told) {
	s.Sites = slices.Clone(s.Sites)
	for i := range s.Sites {
		if one := &s.Sites[i]; one.Deadline != "" {
			all = append(all, told{one.Site + "=" + one.Deadline, one.where() + ": deadline"})
			one.Deadline = ""
		}
	}
	return all
}

// agree makes the deadlines of a crawl of those that the folder has and those that
// are told now, and returns what is new of them. A site's new one takes the place
// of the old, unless it is the same in the words that the old one had: then whoever
// repeats a command means the same time, as long as that is to come. What a person
// should know of that is in notes.
func (s *settings) agree(now time.Time, d *dues) (fresh []wish, notes []string, err error) {
	var all []wish
	for _, t := range d.had {
		w, err := t.read(now)
		if err != nil {
			return nil, nil, err
		}
		all = append(slices.DeleteFunc(all, func(o wish) bool { return crawl.SameSite(o.host, w.host) }), w)
	}
	for _, text := range s.DeadlineAs {
		host, _, _ := strings.Cut(text, "=")
		if w := wishOf(all, host); w != nil {
			w.text = text
		}
	}
	fromFile, err := readWishes(d.file, now)
	if err != nil {
		return nil, nil, err
	}
	fromFlags, err := readWishes(d.flags, now)
	if err != nil {
		return nil, nil, err
	}
	fresh = slices.DeleteFunc(fromFile, func(w wish) bool { return wishOf(fromFlags, w.host) != nil })
	fresh = append(fresh, fromFlags...)
	for _, w := range fresh {
		old := wishOf(all, w.host)
		switch {
		case old != nil && old.time() == w.time() && (old.at.After(now) || !w.at.After(now)):
			if !old.at.Equal(w.at) && old.at.After(now) {
				notes = append(notes, fmt.Sprintf("%s is still due at %s, as when %s was said first; another time changes it", old.host, node.Clock(old.at, now), w.time()))
			}
			continue
		case w.over(now) != nil:
			return nil, nil, w.over(now)
		case old == nil:
			all = append(all, w)
			continue
		case !old.at.IsZero() && !w.at.IsZero() && !old.at.Equal(w.at):
			notes = append(notes, fmt.Sprintf("%s is due at %s now; it was %s", w.host, node.Clock(w.at, now), node.Clock(old.at, now)))
		}
		*old = w
	}
	s.Deadline, s.DeadlineAs = nil, nil
	for _, w := range all {
		s.Deadline = append(s.Deadline, w.String())
		if as := w.host + "=" + w.time(); as != w.String() {
			s.DeadlineAs = append(s.DeadlineAs, as)
		}
	}
	return fresh, notes, nil
}

const endless = "deadlines without a limit: how much the link brings is not known, so a promise goes by the speed of its site alone; --limit says it"

// bounded takes back that warning where nodes have a limit together.
func bounded(cfg *node.Config, limit int64) {
	if limit > 0 {
		cfg.Warnings = slices.DeleteFunc(cfg.Warnings, func(w string) bool { return w == endless })
	}
}

// setupDeadlines makes demands of the deadlines, with the sizes that are told.
func setupDeadlines(s *settings, cfg *node.Config) error {
	for _, t := range telling("deadline", s.Deadline) {
		w, err := t.read(time.Now())
		if err != nil {
			return err
		}
		cfg.Demands = append(cfg.Demands, w.demand())
	}
	for _, one := range s.Sites {
		host, err := hostOf(one.Site)
		if err != nil {
			return usage(siteHint, "%s: %w", one.where(), err)
		}
		if (one.Size > 0 || one.Pages > 0) && !slices.ContainsFunc(cfg.Demands, func(d crawl.Demand) bool { return crawl.SameSite(d.Host, host) }) {
			cfg.Warnings = append(cfg.Warnings, fmt.Sprintf("%s: size and pages of %s are for its deadline, and it has none", one.where(), host))
		}
		for i := range cfg.Demands {
			if d := &cfg.Demands[i]; crawl.SameSite(d.Host, host) {
				d.Size += int64(one.Size)
				d.Pages += int64(one.Pages)
			}
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
		cfg.Warnings = append(cfg.Warnings, endless)
	}
	return nil
}

// familiar refuses deadlines, told now, of sites that a crawl does not come to.
func familiar(s *settings, at ground, fresh []wish, seeds []node.Seed) error {
	if s.Scope == "any" || len(fresh) == 0 {
		return nil
	}
	var hosts []string
	if at == begun {
		var err error
		if hosts, err = node.Hosts(s.Dir); errors.Is(err, store.ErrInUse) {
			return folderError(s.Dir, err)
		} else if err != nil && !errors.Is(err, store.ErrNotCrawl) {
			return nil // the crawl will say what is wrong with its folder
		}
	}
	for _, seed := range seeds {
		hosts = append(hosts, seed.URL.Host())
	}
	var demands []crawl.Demand
	for _, w := range fresh {
		demands = append(demands, w.demand())
	}
	return stranger(node.Familiar(s.Scope, demands, hosts))
}

// stranger says which site was meant when an error is about one that a crawl does
// not come to.
func stranger(err error) error {
	var s *node.Stranger
	if !errors.As(err, &s) {
		return err
	}
	hint := "name a page of it among the URLs to start from"
	if close := nearest(s.Site, s.Known); close != "" {
		hint = "did you mean " + close + "?"
	}
	return usage(hint, "%w", s)
}

// promiseLine tells a person how it stands with a promise, what matters most first:
// a terminal may cut the rest.
func promiseLine(p node.Promise, now time.Time) string {
	at := node.Clock(p.Deadline, now)
	progress := fmt.Sprintf("%s of %s", thousands(p.Pages), many(p.Pages+p.Left, "page"))
	switch p.Standing {
	case crawl.Kept:
		return fmt.Sprintf("due %s, done at %s, %s early", at, node.Clock(*p.ETA, now), short(seconds(*p.Slack)))
	case crawl.Missed:
		return fmt.Sprintf("due %s, MISSED: %s", at, p.Why)
	case crawl.Refused:
		return fmt.Sprintf("due %s, not promised: %s", at, p.Why)
	case crawl.Broken:
		return fmt.Sprintf("LATE%s, due %s: %s, %s", when(p, now), at, p.Why, progress)
	case crawl.Held:
		return fmt.Sprintf("promised, risk %s%s, %s, due %s", p.Risk, when(p, now), progress, at)
	}
	return fmt.Sprintf("due %s, not promised yet: looking how large it is, %s", at, progress)
}

// when says when the last page of a promise should come.
func when(p node.Promise, now time.Time) string {
	if p.ETA == nil {
		return ""
	}
	text := ", done about " + node.Clock(*p.ETA, now)
	if *p.Slack > 0 {
		text += " (" + short(seconds(*p.Slack)) + " early)"
	}
	return text
}
