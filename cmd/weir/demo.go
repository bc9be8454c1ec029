package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"weir/internal/node"
	"weir/internal/testweb"
	"weir/page"
)

// demoCmd crawls a web that it serves itself.
type demoCmd struct {
	Dir   string `placeholder:"DIR" help:"Folder for the crawl. Default: a new one among the system's temporary files."`
	Keep  bool   `negatable:"" default:"true" help:"Keep the folder, to look at it."`
	Limit rate   `placeholder:"RATE" default:"250KB/s" help:"Bandwidth that may be used. Default: 250KB/s."`

	Garden bool `help:"Crawl nothing; serve the small web of the tutorial, docs/query.md, until Ctrl-C, and write garden.yaml, with which it is crawled."`
}

// Help shows examples.
func (c *demoCmd) Help() string {
	return `Eight small sites are served on loopback addresses of this machine: fast, slow, shy, endless, broken. weir crawls them
under a limit, and the sites say how it behaved. It takes about twenty seconds and no network.

Examples:
  weir demo
  weir demo --limit 1MB/s --dir demo
  weir demo --garden                  a web to try programs on, see docs/query.md`
}

// demoWait is the pause between visits to a host, so short that nobody is
// bored and long enough to be seen.
const demoWait = 100 * time.Millisecond

// demoTime ends a demo on a machine that is very slow.
const demoTime = 50 * time.Second

// demoSites is the web of the demo, with what each site is there to show.
var demoSites = []struct {
	what string
	site testweb.Site
}{
	{"large and fast", testweb.Site{Name: "library.test", Pages: 110, Links: 8, Size: 16e3}},
	{"compressed and chunked", testweb.Site{Name: "gallery.test", Pages: 60, Links: 6, Size: 30e3, Faults: []testweb.Fault{
		{Kind: testweb.Gzip, Every: 2}, {Kind: testweb.Chunked, Every: 2}}}},
	{"slow: each answer takes 300 ms", testweb.Site{Name: "archive.test", Pages: 18, Links: 4, Size: 4e3, Latency: 300 * time.Millisecond}},
	{"asks for a second between visits", testweb.Site{Name: "museum.test", Pages: 10, Links: 4, Size: 4e3, Delay: time.Second}},
	{"forbids a part of itself", testweb.Site{Name: "private.test", Pages: 30, Links: 4, Size: 4e3, Deny: []string{"/p/1", "/secret"}}},
	{"endless: filters, sessions, nested paths", testweb.Site{Name: "maze.test", Pages: 12, Links: 4, Size: 2e3,
		Traps: testweb.Traps{Facets: true, Session: true, Nest: true}}},
	{"broken: errors, then better", testweb.Site{Name: "broken.test", Pages: 30, Links: 6, Size: 2e3, Faults: []testweb.Fault{
		{Kind: testweb.NotFound, Every: 6}, {Kind: testweb.Broken, Every: 8, Times: 1}, {Kind: testweb.Unavailable, Every: 20, Times: 1, After: time.Second}}}},
	{"moved: redirects and mirrors", testweb.Site{Name: "moved.test", Pages: 40, Links: 4, Size: 4e3, Faults: []testweb.Fault{
		{Kind: testweb.RedirectPage, Every: 4}, {Kind: testweb.RedirectSite, Every: 6}, {Kind: testweb.Duplicate, Every: 4}}}},
}

// Run implements the verb.
func (c *demoCmd) Run(e *env) (err error) {
	if c.Garden {
		return c.garden(e)
	}
	cfg := testweb.Config{Seed: 5}
	for _, s := range demoSites {
		cfg.Sites = append(cfg.Sites, s.site)
	}
	web, err := testweb.Start(cfg)
	if err != nil {
		return failure(err, "the demo serves its web on 127.0.0.0/8; is the loopback interface up?")
	}
	defer web.Close()
	if err := c.folder(); err != nil {
		return err
	}
	if !c.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	}
	if err := c.announce(e.out, web); err != nil {
		return err
	}
	if err := c.crawl(e, web); err != nil {
		return err
	}
	if err := verdict(e.out, web); err != nil || !c.Keep {
		return err
	}
	return c.suggest(e.out, web)
}

// folder makes sure that there is an empty folder.
func (c *demoCmd) folder() (err error) {
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "weir-demo-"); err != nil {
			return failure(err, "name a folder with --dir")
		}
		return nil
	}
	found, err := look(c.Dir)
	if err != nil {
		return folderError(c.Dir, err)
	}
	if found != vacant {
		return usage("name an empty folder, or one that does not exist", "%s is not empty; the demo starts from nothing", c.Dir)
	}
	return nil
}

func (c *demoCmd) announce(w io.Writer, web *testweb.Web) error {
	fmt.Fprintf(w, "A web of %d sites on this machine, crawled at %s:\n\n", len(demoSites), c.Limit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, s := range demoSites {
		fmt.Fprintf(t, "  %s\t%d pages\t%s\n", web.URL(i), s.site.Pages, s.what)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// crawl crawls the web as weir crawl would with the same settings.
func (c *demoCmd) crawl(e *env, web *testweb.Web) error {
	s := defaults()
	s.Dir, s.Scope, s.Limit, s.Resolve = c.Dir, "any", c.Limit, web.Resolve()
	s.Wait, s.MaxTime, s.Memory = span(demoWait), span(demoTime), 128e6
	s.Trap.Variants, s.Strip = 10, "default,sid" // maze.test would take all day
	var seeds []node.Seed
	for _, text := range web.Seeds() {
		u, err := page.Parse(text)
		if err != nil {
			return err
		}
		seeds = append(seeds, node.Seed{URL: u})
	}
	cfg, err := setup(s, seeds)
	if err != nil {
		return err
	}
	if err := keep(s, vacant); err != nil {
		return err
	}
	return e.crawl(cfg, false)
}

// verdict tells how the sites judge their visitor.
func verdict(w io.Writer, web *testweb.Web) error {
	audit := web.Audit()
	fmt.Fprintf(w, "\nWhat the sites say of their visitor:\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "site\trequests\tpages\ttwice\tforbidden\tclosest gap\tconnections at once\t")
	for _, h := range audit.Hosts {
		gap := "-"
		if h.Between.N > 0 {
			gap = h.Between.End.Round(time.Millisecond).String()
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t\n", h.Host, h.Requests, h.Pages, h.Duplicates, h.Forbidden, gap, h.MaxConns)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	problems := audit.Problems(testweb.Manners{Wait: demoWait, PerConn: 1, PerServer: 4})
	if len(problems) == 0 {
		_, err := fmt.Fprintf(w, "\nNo complaints: every wait was kept, nothing forbidden was asked for, nothing was fetched twice.\n")
		return err
	}
	for _, p := range problems {
		fmt.Fprintf(w, "\ncomplaint: %s", p)
	}
	fmt.Fprintln(w)
	return failure(fmt.Errorf("the sites have %s", plural(int64(len(problems)), "complaint")), "this is a fault of weir's; please report it")
}

// suggest names commands to try on the folder.
func (c *demoCmd) suggest(w io.Writer, web *testweb.Web) error {
	at := func(name, path string) string { return web.URL(web.Find(name)) + path }
	fmt.Fprintf(w, "\nThe web is gone, the crawl stays in %s. Try:\n\n", c.Dir)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	dir := dirFlag(c.Dir)
	fmt.Fprintf(t, "  weir why%s %s\twhy a page was not fetched\n", dir, at("private.test", "p/1"))
	fmt.Fprintf(t, "  weir get%s %s\ta page from the archive\n", dir, at("gallery.test", ""))
	fmt.Fprintf(t, "  weir export parked%s\twhat looked endless in maze.test\n", dir)
	return t.Flush()
}
