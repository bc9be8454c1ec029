package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/robots"
)

// inspectRobotsCmd asks a robots.txt what a crawler may fetch.
type inspectRobotsCmd struct {
	Source source   `arg:"" name:"file|url|-" help:"A robots.txt: a file, a URL, or - for the input."`
	URLs   []string `arg:"" optional:"" name:"url" help:"URLs or paths to ask about; without any, the rules are shown."`
	Agent  string   `default:"weir" help:"Product token or User-Agent of the crawler."`
	JSON   bool     `name:"json" help:"A JSON object a line."`
}

// Help shows examples.
func (c *inspectRobotsCmd) Help() string {
	return `A URL without a path stands for the robots.txt of its site. It is fetched as a crawl would: 5 redirects are followed,
4xx allows everything, 429, 5xx and silence allow nothing.

Examples:
  weir inspect robots https://example.org/robots.txt https://example.org/a /b?c=d
  weir inspect robots robots.txt --agent FooBot --json https://example.org/private
  weir inspect robots https://example.org`
}

// robotsInfo is what inspect robots says of one URL. Names are for programs:
// add, never rename.
type robotsInfo struct {
	URL     string  `json:"url"`
	Allowed bool    `json:"allowed"`
	Rule    string  `json:"rule"`
	Delay   float64 `json:"crawl_delay"`
	Note    string  `json:"note,omitempty"`
	Error   string  `json:"error,omitempty"` // why the URL could not be asked about
}

// ruling are the rules that were found, and how.
type ruling struct {
	rules *robots.Rules
	at    page.URL // where the file is; zero for a file on disk
	note  string   // what became of the fetch, "" when there is nothing to say
}

// Run implements the verb.
func (c *inspectRobotsCmd) Run(e *env) error {
	found, err := c.find(e)
	if err != nil {
		return err
	}
	if found.note != "" {
		fmt.Fprintf(e.err, "note: %s\n", found.note)
	}
	out := bufio.NewWriter(e.out)
	switch {
	case len(c.URLs) == 0:
		err = c.describe(out, found)
	default:
		err = c.judge(out, found)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil || closed(err) {
		return nil
	}
	return fmt.Errorf("inspect robots.txt: %w", err)
}

// find reads the rules from where the user says.
func (c *inspectRobotsCmd) find(e *env) (*ruling, error) {
	u, ok, err := c.Source.url()
	if err != nil {
		return nil, err
	}
	if !ok {
		body, err := c.Source.read(e, robots.MaxSize+1)
		if err != nil {
			return nil, err
		}
		return &ruling{rules: robots.Parse(body, c.Agent)}, nil
	}
	if u.Path() == "/" {
		u = page.Join(u.Site(), "/robots.txt")
	}
	v, err := newVisitor(4 * robots.MaxSize)
	if err != nil {
		return nil, err
	}
	defer v.client.Close()
	a, at, o, why := v.get(e.ctx, u, frontier.RobotsHops)
	f := &ruling{at: u}
	if a != nil {
		defer a.Release()
	}
	if o == page.Aborted {
		return nil, quiet(exitInterrupted)
	}
	var read *robots.Rules
	if a != nil && o.Row().Kept {
		// A longer file is cut, as RFC 9309 section 2.5 allows.
		body, _ := a.Decoded(robots.MaxSize + 1)
		read = robots.Parse(body, c.Agent)
	}
	switch f.rules, _ = frontier.RobotsVerdict(o, read, page.URL{}, frontier.RobotsHops); {
	case f.rules == nil:
		f.rules = robots.DenyAll()
		f.note = fmt.Sprintf("%s: %s: nothing is allowed until it can be had", at, reasonOf(o, why))
	case read == nil:
		f.note = fmt.Sprintf("%s: %s: everything is allowed", at, reasonOf(o, why))
	case at != u:
		f.note = fmt.Sprintf("read from %s", at)
	}
	return f, nil
}

func reasonOf(o page.Outcome, why string) string {
	if why == "" {
		return o.String()
	}
	return why
}

// judge answers for every URL.
func (c *inspectRobotsCmd) judge(out io.Writer, f *ruling) error {
	if c.JSON {
		for _, text := range c.URLs {
			if err := writeJSON(out, f.ask(text)); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, text := range c.URLs {
		i := f.ask(text)
		verdict, rule := "allowed", i.Rule
		switch {
		case i.Error != "":
			verdict, rule = "refused", i.Error
		case !i.Allowed:
			verdict = "denied"
		}
		if rule == "" {
			rule = "no rule matches"
		}
		if i.Note != "" {
			rule += " (" + i.Note + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", verdict, visible(text), tame(rule))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if d := f.rules.CrawlDelay(); d > 0 {
		fmt.Fprintf(out, "crawl-delay %s\n", inSeconds(d))
	}
	return nil
}

// ask answers for one URL, or a path.
func (f *ruling) ask(text string) robotsInfo {
	i := robotsInfo{URL: text, Delay: f.rules.CrawlDelay().Seconds()}
	base := f.at
	if base.IsZero() {
		base = page.Canonical("http://robots.invalid/")
	}
	u, err := page.Join(base.Site(), "/").Resolve(text)
	if err != nil {
		i.Error = err.Error()
		return i
	}
	i.Allowed, i.Rule = f.rules.Match(u.Path())
	if !f.at.IsZero() && u.Site() != f.at.Site() {
		i.Note = "another site than " + f.at.Site() + ", which has a robots.txt of its own"
	}
	return i
}

// describe shows the rules themselves.
func (c *inspectRobotsCmd) describe(out io.Writer, f *ruling) error {
	text, err := f.rules.MarshalText()
	if err != nil {
		return err
	}
	var rules []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Allow:") || strings.HasPrefix(line, "Disallow:") {
			rules = append(rules, line)
		}
	}
	if c.JSON {
		return writeJSON(out, struct {
			Agent    string   `json:"agent"`
			Rules    []string `json:"rules"`
			Delay    float64  `json:"crawl_delay"`
			Sitemaps []string `json:"sitemaps"`
			Note     string   `json:"note,omitempty"`
		}{c.Agent, append([]string{}, rules...), f.rules.CrawlDelay().Seconds(), append([]string{}, f.rules.Sitemaps()...), f.note})
	}
	fmt.Fprintf(out, "rules for %s, the first that matches decides:\n", visible(c.Agent))
	for _, r := range rules {
		fmt.Fprintf(out, "  %s\n", tame(r))
	}
	if len(rules) == 0 {
		fmt.Fprintln(out, "  none: everything is allowed")
	}
	delay := "none"
	if d := f.rules.CrawlDelay(); d > 0 {
		delay = inSeconds(d)
	}
	_, err = fmt.Fprintf(out, "crawl-delay: %s\n", delay)
	for _, s := range f.rules.Sitemaps() {
		_, err = fmt.Fprintf(out, "sitemap: %s\n", tame(s))
	}
	return err
}

// inSeconds writes a duration for people: "2.5 s".
func inSeconds(d time.Duration) string {
	return fmt.Sprintf("%.6g s", d.Seconds())
}
