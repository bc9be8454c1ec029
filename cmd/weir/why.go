package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/program"
	"weir/page"
	"weir/query"
	"weir/query/flow"
	"weir/robots"
)

// whyCmd tells how a URL came to where it is.
type whyCmd struct {
	URL  string `arg:"" help:"URL to explain."`
	Dir  string `placeholder:"DIR" default:"weir-crawl" help:"Folder of the crawl. Default: weir-crawl."`
	JSON bool   `name:"json" help:"One JSON object."`
}

// Help shows examples.
func (c *whyCmd) Help() string {
	return `Says in which state the URL is, which pages led to it, which rule of robots.txt decided, how long its host is left
alone between visits, and where its record lies.

Examples:
  weir why https://example.org/private/ --dir crawl
  weir why https://example.org/missing --json`
}

// whyInfo is what why says. Names are for programs: add, never rename.
type whyInfo struct {
	URL     string     `json:"url"`
	State   string     `json:"state"`             // queued, ended, parked or unknown
	Outcome string     `json:"outcome,omitempty"` // of an ended page
	Reason  string     `json:"reason,omitempty"`  // in words
	Status  int        `json:"status,omitempty"`
	At      string     `json:"at,omitempty"`
	Depth   int        `json:"depth"`
	Attempt int        `json:"attempt,omitempty"` // earlier tries of a queued page
	Asked   []whyAsked `json:"asked,omitempty"`   // of several programs that share the crawl, those that ask for it
	Chain   []whyStep  `json:"chain,omitempty"`   // from the URL back to its seed; of several programs by the first of these
	Robots  *whyRobots `json:"robots,omitempty"`
	Host    *whyHost   `json:"host,omitempty"`
	Record  *whyRecord `json:"record,omitempty"`
}

// whyAsked is a program that asks for a URL.
type whyAsked struct {
	Program string `json:"program"`
	Depth   int    `json:"depth"`
}

// whyStep is one page on the way to a URL, and what brought it.
type whyStep struct {
	URL   string `json:"url"`
	Rule  string `json:"rule"`
	Text  string `json:"text,omitempty"` // of a rule of the user's own program
	Depth int    `json:"depth"`
}

type whyRobots struct {
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"`
	At      string `json:"fetched_at"`
}

type whyHost struct {
	Host     string  `json:"host"`
	Wait     float64 `json:"wait"` // seconds between two visits, at least
	By       string  `json:"by"`   // what asks for it
	Queued   int64   `json:"queued"`
	Failures int     `json:"failures"`
}

type whyRecord struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// Run implements the verb.
func (c *whyCmd) Run(e *env) error {
	f, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	defer f.close()
	u, page, err := f.page(c.URL)
	if err != nil {
		return err
	}
	info, err := f.explain(u, page)
	if err != nil {
		return fmt.Errorf("explain %s: %w", u, err)
	}
	out := bufio.NewWriter(e.out)
	if c.JSON {
		err = writeJSON(out, info)
	} else {
		err = info.print(out)
	}
	if err == nil {
		err = out.Flush()
	}
	if closed(err) {
		return nil
	}
	return err
}

// explain gathers what is known of a URL; p is nil when the crawl has never
// seen it.
func (f *folder) explain(u page.URL, p *crawl.PageInfo) (*whyInfo, error) {
	w := &whyInfo{URL: u.String(), State: "unknown"}
	s, err := f.site(u.Site())
	if err != nil {
		return nil, err
	}
	if s != nil {
		if w.Host, err = f.host(u, s); err != nil {
			return nil, err
		}
		if w.Robots, err = robotsOf(u, s); err != nil {
			return nil, err
		}
	}
	if p == nil {
		w.Reason, err = f.unseen(u, w.Robots)
		return w, err
	}
	w.State, w.Depth, w.Reason = p.State, p.Depth, p.Why
	switch p.State {
	case "ended":
		w.Outcome, w.Reason, w.Status, w.At = p.Outcome.String(), p.Outcome.Row().What, p.Status, stamp(p.At)
		if p.Record.File != 0 {
			w.Record = &whyRecord{"warc/" + f.store.FileName(p.Record.File), p.Record.Offset, p.Record.Length}
		}
	case "elsewhere":
		w.Outcome, w.Reason = p.Outcome.String(), "another node of the cluster has fetched it"
	case "queued":
		w.Attempt = int(p.Entry.Attempt)
		w.Reason = "waits for its turn"
		if w.Attempt > 0 {
			w.Reason = fmt.Sprintf("waits to be tried again, after %d tries", w.Attempt)
		}
		if h := w.Host; h != nil && h.By == byProgram {
			w.Reason += ", while the program has its host rest " + inSeconds(time.Duration(h.Wait*float64(time.Second))) + " between visits"
		}
	}
	if p, err = f.asked(w, p); err != nil {
		return nil, err
	}
	if p.Stray { // its rules were those of another program
		return w, nil
	}
	if w.Chain, err = f.chain(p); err != nil {
		return nil, err
	}
	return w, f.quote(w.Chain)
}

// asked tells which of several programs ask for a page. What follows is about the
// crawl of the first of them.
func (f *folder) asked(w *whyInfo, p *crawl.PageInfo) (*crawl.PageInfo, error) {
	for _, n := range f.Programs().Each {
		claim, ok, err := f.Claim(n, p.Key)
		if err != nil {
			return nil, err
		}
		if ok {
			w.Asked = append(w.Asked, whyAsked{n.Name, int(claim.Depth)})
		}
	}
	if len(w.Asked) == 0 {
		return p, nil
	}
	if err := f.of(w.Asked[0].Program); err != nil {
		return nil, err
	}
	return f.Key(p.Key)
}

// maxChain bounds the chain, should a damaged store have a circle in it.
const maxChain = 1 << 16

// chain follows a page's parents up to the seed.
func (f *folder) chain(p *crawl.PageInfo) ([]whyStep, error) {
	steps := []whyStep{{URL: p.URL.String(), Rule: p.By.String(), Depth: p.Depth}}
	for p.Parent != (page.Key{}) && len(steps) < maxChain {
		up, err := f.Key(p.Parent)
		if err != nil || up == nil {
			// A sitemap is found by a robots.txt, which is no page.
			return steps, err
		}
		p = up
		steps = append(steps, whyStep{URL: p.URL.String(), Rule: p.By.String(), Depth: p.Depth})
	}
	return steps, nil
}

// quote adds the texts of rules to the steps that they made.
func (f *folder) quote(steps []whyStep) error {
	src, err := f.source()
	if err != nil || src == nil {
		return err
	}
	p, _ := query.Parse(src.Name, src.Text, src.Settings...)
	for i := range steps {
		for _, r := range p.Rules {
			if steps[i].Rule == (crawl.ByRules + crawl.Rule(r.ID)).String() {
				steps[i].Text = r.String()
			}
		}
	}
	return nil
}

// source is the program of the crawl, nil when it follows from flags; of several the
// one whose crawl it is, or the first.
func (f *folder) source() (*program.Source, error) {
	return program.Load(f.dir, int(f.program()))
}

// program is the number of that program.
func (f *folder) program() uint8 {
	number, ok := f.Program()
	if !ok {
		number = f.Programs().Each[0].Number
	}
	return number
}

// byProgram is what asks for a host's wait when a rule of the program does.
const byProgram = "the program's wait"

// host says how long a page's host is left alone.
func (f *folder) host(u page.URL, s *crawl.SiteInfo) (*whyHost, error) {
	h := &whyHost{Host: u.Host(), Queued: s.Queued, Failures: s.Host.Failures}
	wait := time.Duration(f.asRun.Wait)
	h.By = "--wait"
	for _, own := range f.asRun.Sites {
		if own.Site == u.Host() && own.Wait > 0 {
			wait, h.By = time.Duration(own.Wait), "the site's own wait"
		}
	}
	if s.Host.Last > wait {
		wait, h.By = s.Host.Last, "its last answer took as long"
	}
	if s.Delay > wait {
		wait, h.By = s.Delay, "crawl-delay"
	}
	rules, own, err := f.rules()
	if err == nil && own { // a program that cannot be read leaves the rest to be told
		err = rules.Waits(func(w crawl.Wait) bool {
			if w.Host == u.Host() && w.Delay > wait {
				wait, h.By = w.Delay, byProgram
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	h.Wait = wait.Seconds()
	return h, nil
}

// robotsOf asks the rules that the crawl has of a site; nil when it has none.
func robotsOf(u page.URL, s *crawl.SiteInfo) (*whyRobots, error) {
	if s.RobotsAt.IsZero() {
		return nil, nil
	}
	var rules robots.Rules
	if err := rules.UnmarshalText([]byte(s.Robots)); err != nil {
		return nil, err
	}
	r := &whyRobots{At: stamp(s.RobotsAt)}
	r.Allowed, r.Rule = rules.Match(u.Path())
	return r, nil
}

// unseen says what would keep a URL out of the crawl, if that can be told.
func (f *folder) unseen(u page.URL, asked *whyRobots) (string, error) {
	u = f.strip.Apply(u)
	if re := firstMatch(f.asRun.Exclude, u); re != "" {
		return "never seen; links to it are not followed: --exclude " + re, nil
	}
	if len(f.asRun.Match) > 0 && firstMatch(f.asRun.Match, u) == "" {
		return "never seen; links to it are not followed: no --match fits", nil
	}
	rules, own, err := f.rules()
	if err != nil {
		return "", err
	}
	follows, err := rules.Follows(u)
	if err != nil {
		return "", err
	}
	if !follows && own {
		return "never seen; no rule of the program follows a link to it on a seed of its host", nil
	}
	if !follows && f.asRun.Depth != 0 {
		return "never seen; links to it are not followed: outside --scope " + f.asRun.Scope, nil
	}
	if why := frontier.Trap(f.asRun.Trap).Path(u.Path()); why != "" {
		return "never seen; it would be parked as a trap: " + why, nil
	}
	if asked != nil && !asked.Allowed {
		return "never seen; it would not be fetched: robots.txt says " + asked.Rule, nil
	}
	if f.asRun.Depth >= 0 {
		return fmt.Sprintf("never seen: no page within --depth %s that was read links to it", f.asRun.Depth), nil
	}
	return "never seen: no link to it was read", nil
}

// rules are those of the crawl's program, and whether it is the user's own.
func (f *folder) rules() (rules *crawl.Program, own bool, err error) {
	src, err := f.source()
	if err != nil {
		return nil, false, err
	}
	secret, _, err := crawl.ReadSecret(f.store)
	if err != nil {
		return nil, false, err
	}
	plan, err := f.asRun.plain().Compile()
	if src != nil {
		plan, err = src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: f.asRun.IgnoreRobots})
	}
	if err != nil {
		return nil, false, err
	}
	rules, err = crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: src != nil, Version: f.program(), Secret: secret}, f.store)
	if errors.Is(err, crawl.ErrLayout) {
		err = folderError(f.dir, err)
	}
	return rules, src != nil, err
}

// firstMatch returns the first pattern that matches a URL.
func firstMatch(patterns []string, u page.URL) string {
	for _, p := range patterns {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(u.String()) {
			return p
		}
	}
	return ""
}

func (w *whyInfo) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	row("url", "%s", w.URL)
	state := w.State
	if w.Outcome != "" {
		state += " as " + w.Outcome
	}
	if w.Status != 0 {
		state += fmt.Sprintf(" (%d)", w.Status)
	}
	row("state", "%s: %s", state, tame(w.Reason))
	if w.At != "" {
		row("at", "%s", w.At)
	}
	if w.State != "unknown" && w.Depth >= 0 {
		row("depth", "%d", w.Depth)
	}
	if len(w.Asked) > 0 {
		var by []string
		for _, a := range w.Asked {
			by = append(by, fmt.Sprintf("by %s at depth %d", a.Program, a.Depth))
		}
		row("asked for", "%s", strings.Join(by, ", "))
	}
	for i, step := range w.Chain {
		if step.Text != "" {
			row("by "+step.Rule, "%s", tame(step.Text))
			if i+1 < len(w.Chain) {
				row("", "from %s", w.Chain[i+1].URL)
			}
		} else if i+1 < len(w.Chain) {
			row("by "+step.Rule, "of %s", w.Chain[i+1].URL)
		} else if step.Rule == crawl.BySitemap.String() {
			row("by sitemap", "that its robots.txt names")
		} else {
			row("by "+step.Rule, "named by the user")
		}
	}
	if r := w.Robots; r != nil {
		verdict, rule := "allows it", r.Rule
		if !r.Allowed {
			verdict = "forbids it"
		}
		if rule == "" {
			rule = "no rule matches"
		}
		row("robots.txt", "%s: %s (read %s)", verdict, tame(rule), r.At)
	}
	if h := w.Host; h != nil {
		row("host", "%s is visited every %s at most (%s); %s of the site in the queue", h.Host,
			inSeconds(time.Duration(h.Wait*float64(time.Second))), h.By, many(h.Queued, "page"))
		if h.Failures > 0 {
			row("", "it has failed %s in a row", many(int64(h.Failures), "time"))
		}
	}
	if r := w.Record; r != nil {
		row("record", "%s, %d bytes at %d", r.File, r.Length, r.Offset)
	}
	return t.Flush()
}
