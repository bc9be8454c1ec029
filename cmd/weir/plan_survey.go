package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/internal/node"
	"weir/internal/survey"
	"weir/page"
)

// surveyFlags say where sizes come from that a plan file does not have.
type surveyFlags struct {
	From     string `name:"from" group:"sizes" placeholder:"DIR" help:"Sizes that the file does not have are those of a crawl folder."`
	Sitemaps bool   `name:"sitemaps" group:"sizes" help:"Pages that the file does not have are counted in the sites' sitemaps; page_size says how large they are."`
	Measure  bool   `name:"measure" group:"sizes" help:"Sizes that the file does not have are estimated: sitemaps are read, and a few pages of each site fetched, with all manners. Takes seconds to minutes."`
	Sample   whole  `name:"sample" group:"sizes" placeholder:"N" default:"20" help:"Pages that --measure fetches of each site. Default: 20."`
	Within   span   `name:"within" group:"sizes" placeholder:"TIME" default:"2m" help:"Time for --measure and --sitemaps. Default: 2m."`
	Config   string `name:"config" group:"sizes" placeholder:"FILE" help:"Settings of weir crawl for asking sites: wait, contact, user-agent, proxy and so on."`
}

// estimate finds the sizes that the file does not have, as far as flags say how.
// A site that it does not find keeps the reason.
func (c *planCmd) estimate(e *env, f *planFile) error {
	s := defaults()
	if c.Config != "" {
		if _, err := readConfig(c.Config, s, nil); err != nil {
			return err
		}
	}
	if c.From != "" {
		if err := c.fromCrawl(e, f); err != nil {
			return err
		}
	}
	if c.Sitemaps {
		if err := c.fromSitemaps(e, f, s); err != nil {
			return err
		}
	}
	if c.Measure {
		if err := c.fromSample(e, f, s); err != nil {
			return err
		}
	}
	if c.Sitemaps || c.Measure {
		f.leaveOut(c.Measure)
		f.paste(e.err)
	}
	return nil
}

// leaveOut takes the sites out of the plan that were asked for their size in vain.
// Without a size of pages, sitemaps were not asked.
func (f *planFile) leaveOut(all bool) {
	sites, entries := f.Sites[:0], f.entries[:0]
	for i, e := range f.entries {
		if !e.sized && (all || e.pageSize > 0) {
			f.left = append(f.left, leftOut{e.line, f.Sites[i].Name, e.why})
			continue
		}
		sites, entries = append(sites, f.Sites[i]), append(entries, e)
	}
	f.Sites, f.entries = sites, entries
}

// paste writes the entries of the sites that were measured as a plan file has
// them, with all that this one says of them.
func (f *planFile) paste(w io.Writer) {
	head := "lines for the plan, so that nobody need be asked again:\n"
	for i := range f.entries {
		e, s := &f.entries[i], &f.Sites[i]
		if e.estimate == nil {
			continue
		}
		var keys []string
		said := map[string]bool{}
		for _, p := range e.said {
			if said[p.key] = true; p.key != "page_size" {
				keys = append(keys, p.key+": "+quotedYAML(p.text))
			}
		}
		m := &s.Manners
		for _, found := range []struct {
			key   string
			value float64
		}{{"size", math.Ceil(s.Size)}, {"pages", float64(m.Pages)}, {"per_conn", float64(m.PerConn)}, {"wait", m.Wait}, {"delay", m.Delay}, {"page_time", math.Ceil(m.PageTime*1e3) / 1e3}} {
			if !said[found.key] && found.value > 0 {
				keys = append(keys, found.key+": "+strconv.FormatFloat(found.value, 'f', -1, 64))
			}
		}
		fmt.Fprintf(w, "%s- {%s}\n", head, strings.Join(keys, ", "))
		head = ""
	}
}

// quotedYAML writes a value as it is where nobody could take it for anything else.
func quotedYAML(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r > '~' || r <= ' ' || strings.ContainsRune("'\"\\{}[],#&*!|>%@`:?", r) }) < 0 {
		return text
	}
	return strconv.Quote(text)
}

// unsized returns the sites without a size, and what they are called.
func (f *planFile) unsized(also func(*planEntry) bool) (which []int, names []string) {
	for i := range f.entries {
		if e := &f.entries[i]; !e.sized && also(e) {
			which, names = append(which, i), append(names, f.Sites[i].Name)
		}
	}
	return which, names
}

func anyEntry(*planEntry) bool { return true }

func (c *planCmd) fromCrawl(e *env, f *planFile) error {
	which, names := f.unsized(anyEntry)
	if len(which) == 0 {
		return nil
	}
	found, err := survey.FromCrawl(c.From, names)
	if err != nil {
		return folderFault(c.From, err)
	}
	asRun, _ := readAsRun(c.From)
	for k, i := range which {
		if errors.Is(found[k].Err, survey.ErrUnknown) {
			f.entries[i].why = fmt.Sprintf("the crawl in %s knows no such site", c.From)
			continue
		}
		f.believe(e, i, &found[k], &asRun)
	}
	return nil
}

func (c *planCmd) fromSample(e *env, f *planFile, s *settings) error {
	which, names := f.unsized(anyEntry)
	return c.ask(e, f, s, names, func(ctx context.Context, cfg survey.Config) error {
		found, err := survey.Sample(ctx, cfg, names)
		if err != nil {
			return err
		}
		for k, i := range which {
			f.believe(e, i, &found[k], s)
		}
		return nil
	})
}

func (c *planCmd) fromSitemaps(e *env, f *planFile, s *settings) error {
	which, names := f.unsized(func(e *planEntry) bool { return e.pageSize > 0 })
	return c.ask(e, f, s, names, func(ctx context.Context, cfg survey.Config) error {
		found, err := survey.Sitemaps(ctx, cfg, names)
		if err != nil {
			return err
		}
		for k, i := range which {
			l := &found[k]
			f.believe(e, i, &survey.Estimate{
				Pages: l.Pages, Size: float64(l.Pages) * f.entries[i].pageSize, More: l.More, Delay: l.Delay, Err: l.Err,
				How: fmt.Sprintf("%s in %s", many(l.Pages, "page"), many(int64(l.Files), "sitemap")),
			}, s)
		}
		return nil
	})
}

// ask lets a survey ask sites, and shows how far it is.
func (c *planCmd) ask(e *env, f *planFile, s *settings, names []string, how func(context.Context, survey.Config) error) error {
	if len(names) == 0 {
		return nil
	}
	if s.Limit == 0 && f.link.set() {
		s.Limit = rate(max(f.steps(f.link)[0].Rate, 1)) // what the plan may use, its survey may
	}
	var seeds []node.Seed
	for _, name := range names {
		host, err := siteOf(name)
		if err != nil {
			return err
		}
		if u, err := page.Parse("http://" + host + "/"); err == nil {
			seeds = append(seeds, node.Seed{URL: u})
		}
	}
	s.allow(seeds)
	crawl, err := setup(s, seeds)
	if err != nil {
		return err
	}
	var now struct {
		sync.Mutex
		survey.Progress
	}
	cfg := survey.Config{Crawl: *crawl, Pages: int(c.Sample), Time: max(time.Duration(c.Within), 0), Progress: func(p survey.Progress) {
		now.Lock()
		now.Progress = p
		now.Unlock()
	}}
	say := func() string {
		now.Lock()
		defer now.Unlock()
		return fmt.Sprintf("%s: %d of %s, %s", now.Stage, now.Done, many(int64(now.Sites), "site"), many(now.Pages, "page"))
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	fmt.Fprintf(e.err, "asking %s for sizes; this takes %s at most\n", many(int64(len(names)), "site"), short(time.Duration(c.Within)))
	g := e.gauge(func() []string { return []string{"  " + say()} }, say)
	err = how(ctx, cfg)
	g.end()
	if ctx.Err() != nil {
		return &fault{errors.New("interrupted while asking sites"), "", exitInterrupted}
	}
	if err != nil {
		return failure(fmt.Errorf("ask sites how large they are: %w", err), "write size into the plan, or take sizes of a crawl with --from DIR")
	}
	return nil
}

// believe takes over an estimate, and the manners of a crawl with such settings,
// where the file says nothing else.
func (f *planFile) believe(e *env, i int, est *survey.Estimate, s *settings) {
	entry, m := &f.entries[i], &f.Sites[i].Manners
	if !(est.Size > 0) {
		entry.why = "nothing was found out about it"
		if est.Err != nil {
			entry.why = est.Err.Error()
		}
		return
	}
	entry.sized, entry.guessed, entry.estimate = true, true, est
	f.Sites[i].Size = min(max(est.Size, leastAmount), mostAmount)
	said := func(key string) bool {
		return slices.ContainsFunc(entry.said, func(p pair) bool { return p.key == key })
	}
	if !said("pages") {
		m.Pages = int(min(est.Pages, maxPlanPages))
	}
	if !said("per_conn") {
		m.PerConn = int(s.PerConn.most)
	}
	if !said("wait") {
		m.Wait = max(time.Duration(s.Wait), 0).Seconds()
	}
	if !said("delay") {
		m.Delay = est.Delay.Seconds()
	}
	if !said("page_time") {
		m.PageTime = est.PageTime.Seconds()
	}
	fmt.Fprintf(e.err, "%s: %s\n", f.Sites[i].Name, estimated(est))
}

// estimated writes an estimate for people.
func estimated(est *survey.Estimate) string {
	size := bytesOf(est.Size)
	switch {
	case est.Least:
		size = "at least " + size
	case est.More:
		size = "about " + size
	}
	if est.Low < est.High && !est.Least {
		size += fmt.Sprintf(" (%s to %s)", bytesOf(est.Low), bytesOf(est.High))
	}
	return fmt.Sprintf("%s, %s; %s", size, many(est.Pages, "page"), est.How)
}
