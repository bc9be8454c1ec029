package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"weir/plan"
)

// planCmd answers whether sites can be done by their deadlines, and how.
type planCmd struct {
	File      string `arg:"" optional:"" name:"file" help:"YAML or JSON file of the link and the sites, - for standard input."`
	Limit     string `name:"limit" placeholder:"RATE" help:"The link, instead of what the file says: 2MB/s, 8Mbit/s or a timetable, as 'Mon-Fri 08:00-18:00 500KB/s, 2MB/s'. U in the paper."`
	Objective string `name:"objective" placeholder:"WHAT" help:"What to make small, instead of what the file says: sum (of the times when sites are done), max (the last of them), lateness (the most a site is late) or tardiness (all that sites are late). Default: sum."`
	Method    string `name:"method" placeholder:"METHOD" default:"weir" help:"Who plans: weir; maxt, sumt or cpq of the paper; mip, its integer program, by a solver on the PATH; or all, to compare. Default: weir."`
	Slot      span   `name:"slot" placeholder:"TIME" default:"none" help:"Length of a slot of the integer program. Default: so that there are 40 or so."`
	Now       string `name:"now" placeholder:"TIME" help:"Plan as if it were this time: 2026-11-15T22:00, with a zone if it is not the local one."`
	Example   bool   `name:"example" help:"Print a plan file to start from."`

	surveyFlags

	JSON bool   `name:"json" group:"output" help:"Print the plan as JSON."`
	HTML string `name:"html" group:"output" placeholder:"FILE" help:"Write a report: one HTML file with everything in it."`
	SVG  string `name:"svg" group:"output" placeholder:"FILE" help:"Write the chart as SVG."`
}

//go:embed plan_example.yaml
var planExample string

// Help shows examples.
func (c *planCmd) Help() string {
	return `Can these sites be done by then on this link, and at whose cost? A plan gives every site rates over time, says when each is
done, and how far from the best possible it is at most. When promises cannot be kept it says which, and what would help.

Examples:
  weir plan --example > night.yaml                   a file to start from, with all keys explained
  weir plan night.yaml                               a table, a chart, and how good the plan is
  weir plan night.yaml --limit 500KB/s               what if the link were slower?
  weir plan night.yaml --objective max               all done as soon as can be
  weir plan night.yaml --method all                  weir beside the methods of Zhu et al.
  weir plan night.yaml --html night.html             for people who would rather look
  weir plan night.yaml --from weir-crawl             sizes of the crawl of last week
  weir plan night.yaml --measure                     sizes by asking the sites
  weir plan night.yaml --json | jq '.sites[] | select(.slack != null and .slack < 600)'
  echo '{link: 1MB/s, sites: [{site: example.org, size: 2GB, deadline: 06:00}]}' | weir plan -

Rates are numbers (bytes a second) or 140KB/s, 8Mbit/s; sizes numbers (bytes) or 2.6GB; times numbers (seconds from now), spans
such as 90m, 2h30m or 1d, or times of day: 06:00 (the next), Mon 06:00, 2026-11-16T06:00. K is 1000.

Keys: link, max_sites (at a time), startup (time before a site's first byte), min_rate (of a site in progress), objective,
sites. Of a site: site, size, deadline, cap (what it can serve), weight, not_before; and, for manners, pages, per_conn (pages
on a connection), wait (between connections), delay (between pages) and page_time. Instead of size: pages and page_size.

Exit codes: 0 all promises can be kept, or there are none; 1 some cannot, a site could not be measured, or failed; 2 wrong
usage. With the objectives lateness and tardiness deadlines are wishes, and being late is no error.`
}

// planMethods are the names of --method.
var planMethods = []string{"weir", "maxt", "sumt", "cpq", "mip", "all"}

// Run implements the verb.
func (c *planCmd) Run(e *env) error {
	if c.Example {
		_, err := io.WriteString(e.out, planExample)
		return err
	}
	if c.File == "" {
		return usage("weir plan FILE; weir plan --example prints one to start from", "no plan file given")
	}
	if !slices.Contains(planMethods, c.Method) {
		return choice("--method", c.Method, planMethods...)
	}
	if c.Within <= 0 {
		return usage("write a time that something takes, as in --within 2m", "--within: no site answers in no time")
	}
	now, err := c.time()
	if err != nil {
		return err
	}
	text, err := c.read(e)
	if err != nil {
		return err
	}
	f, slips := readPlan(text, now)
	if len(slips) == 0 {
		slips, err = c.complete(e, f)
	}
	if err != nil {
		return err
	}
	if len(slips) > 0 {
		return c.complain(e, slips)
	}
	files, err := c.open(e)
	if err != nil {
		return err
	}
	defer files.drop()
	r, err := c.solve(e, f)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(e.out).Encode(r.json())
	} else {
		err = r.print(e.out, width(e.out))
	}
	if err == nil {
		err = r.write(files)
	}
	if err != nil && !closed(err) {
		return err
	}
	if !r.kept() || len(f.left) > 0 {
		return quiet(exitFailed)
	}
	return nil
}

func (c *planCmd) time() (time.Time, error) {
	if c.Now == "" {
		return time.Now().Truncate(time.Second), nil
	}
	now := time.Now()
	at, ok := clockIn(c.Now, now)
	if !ok || len(c.Now) < len("2006-01-02T15:04") {
		return at, usage("write it as in --now 2026-11-15T22:00 or --now 2026-11-15T22:00Z", "--now: %q is no time", c.Now)
	}
	return at, nil
}

// name is what messages call the file.
func (c *planCmd) name() string {
	if c.File == "-" {
		return "stdin"
	}
	return c.File
}

// read returns the plan file, which is not longer than a plan can be.
func (c *planCmd) read(e *env) ([]byte, error) {
	from := e.in
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, usage("check the name and the permissions of the file; weir plan --example prints one to start from", "cannot read the plan: %w", err)
		}
		defer file.Close()
		from = file
	} else if terminal(e.in) {
		fmt.Fprintln(e.err, "reading the plan from the terminal; Ctrl-D ends it")
	}
	b, err := io.ReadAll(io.LimitReader(from, maxPlan+1))
	switch {
	case err != nil && c.File != "-":
		return nil, usage("a plan is a YAML or JSON file, or - for standard input; weir plan --example prints one to start from", "cannot read the plan: %w", err)
	case err != nil:
		return nil, failure(fmt.Errorf("read %s: %w", c.name(), plain(err)), "a plan is a YAML or JSON file, or - for standard input")
	case len(b) > maxPlan:
		return nil, usage("split the plan", "%s: longer than %s", c.name(), bytesOf(maxPlan))
	}
	return b, nil
}

// maxSlips is how many mistakes are told at once.
const maxSlips = 20

// complain tells what is wrong with the file.
func (c *planCmd) complain(e *env, slips []slip) error {
	for i, s := range slips {
		if i == maxSlips {
			fmt.Fprintf(e.err, "weir: and %s more\n", many(int64(len(slips)-i), "mistake"))
			break
		}
		fmt.Fprintf(e.err, "weir: %s:%d: %s\n", c.name(), s.line, line(s.message))
		// What holds for several is said after the last of them.
		if s.hint != "" && (i+1 == len(slips) || i+1 == maxSlips || slips[i+1].hint != s.hint) {
			fmt.Fprintf(e.err, "  hint: %s\n", s.hint)
		}
	}
	return quiet(exitUsage)
}

// complete makes the file a whole Problem, with what flags say, or says what is
// missing.
func (c *planCmd) complete(e *env, f *planFile) ([]slip, error) {
	if c.Objective != "" {
		var err error
		if f.Objective, err = plan.ParseObjective(c.Objective); err != nil {
			return nil, choice("--objective", c.Objective, objectiveNames()...)
		}
	}
	if c.Limit != "" {
		var err error
		if f.link, err = parseLink(c.Limit); err != nil {
			return nil, usage("write it as in --limit 2MB/s or --limit 'Mon-Fri 08:00-18:00 500KB/s, 2MB/s'", "--limit: %w", err)
		}
		f.clock = f.clock || f.link.table.Set()
	}
	if len(f.Sites) == 0 {
		return nil, nil
	}
	if err := c.estimate(e, f); err != nil {
		return nil, err
	}
	if len(f.Sites) == 0 {
		for _, l := range f.left[:min(len(f.left), maxSlips)] {
			fmt.Fprintf(e.err, "weir: %s:%d: %s has no size%s\n", c.name(), l.line, l.site, after(": ", l.why))
		}
		return nil, failure(errors.New("no site could be measured, so there is nothing to plan"), "add size: 2.6GB to the sites, or take it of a crawl, with --from DIR")
	}
	var slips []slip
	if !f.link.set() {
		slips = append(slips, slip{1, "there is no link", "add the rate that the link has for you, as in link: 2MB/s, or say --limit 2MB/s"})
	}
	for i, e := range f.entries {
		if !e.sized {
			slips = append(slips, slip{e.line, f.Sites[i].Name + " has no size" + after(": ", e.why), c.sizeHint(&e)})
		}
	}
	if len(slips) > 0 {
		return slips, nil
	}
	f.Link = f.steps(f.link)
	var bad *plan.Fault
	if err := f.Check(); errors.As(err, &bad) {
		if bad.Field == "min_rate" && c.Limit != "" {
			return nil, usage("write a higher --limit, or a lower min_rate into the plan", "--limit %s: it is never as much as min_rate, %s/s, that a site gets at least", c.Limit, bytesOf(f.MinRate))
		}
		s := slip{1, bad.Error(), "weir plan --help says what each key means"}
		if bad.Site >= 0 {
			s.line, s.message = f.entries[bad.Site].line, f.Sites[bad.Site].Name+": "+s.message
		}
		return []slip{s}, nil
	} else if err != nil {
		return nil, err
	}
	return nil, nil
}

// sizeHint says how a site gets a size.
func (c *planCmd) sizeHint(e *planEntry) string {
	if c.Sitemaps && e.pageSize == 0 {
		return "add page_size: 30KB, for sitemaps count pages only; or let weir find it out, with --measure"
	}
	hint := "add size: 2.6GB, or pages: 1000 and page_size: 30KB"
	if c.From == "" {
		hint += "; or take it of a crawl, with --from DIR"
	}
	if !c.Measure {
		hint += "; or let weir ask the site, with --measure"
	}
	return hint
}

// after puts something before a text, if there is one.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// open opens the files that were asked for, before the work. The caller calls
// drop.
func (c *planCmd) open(e *env) (*simOutput, error) {
	taken := map[string]string{}
	if c.File != "-" && !special(c.File) {
		taken[trueName(c.File)] = "the plan"
	}
	o := new(simOutput)
	return o, o.openAll(e, []simFile{{flag: "--html", name: c.HTML}, {flag: "--svg", name: c.SVG}}, taken)
}

// write writes them.
func (r *planReport) write(o *simOutput) error {
	if err := o.file("--html").write(r.html().WriteHTML); err != nil {
		return err
	}
	return o.file("--svg").write(r.gantt(0).WriteSVG)
}
