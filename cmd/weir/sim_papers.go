package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/solver"
	"weir/sim/paper"
)

// simPapersCmd repeats the experiments of the papers.
type simPapersCmd struct {
	Scale float64 `name:"scale" placeholder:"X" default:"0.1" help:"Size of the webs; 1 has 3.5 million pages, as in the paper. Default: 0.1."`
	Seed  uint64  `name:"seed" placeholder:"N" default:"1" help:"Another number makes up other webs of the same kinds. Default: 1."`
	Only  string  `name:"only" placeholder:"REGEXP" help:"Only experiments whose names match, such as table-6.1, 'figure-6.1[0-3]' or zhu."`
	List  bool    `name:"list" help:"List the experiments and run none."`
	Out   string  `name:"out" placeholder:"DIR" help:"Write report.html and every figure and table as SVG, PNG and CSV to this folder."`
	JSON  bool    `name:"json" help:"Print the findings as JSON."`
}

// Help shows examples.
func (c *simPapersCmd) Help() string {
	return `Every table and figure of the papers, made again: what the paper says, how it is set up here, the numbers of both, and for
each target whether it was met. Ctrl-C stops and prints what there is.

Papers so far:
  table-6.1 ...   Castillo, Effective Web Crawling, chapter 6 (scheduling), with weir's own scheduler in virtual time. Results
                  that depend on the number of connections need --scale 1; a tenth takes minutes.
  zhu-2 ...       Zhu et al., Optimal Bandwidth Allocation for Web Crawler Systems (planning), with weir's own planner, in a
                  second, whatever the scale. zhu-2 and zhu-3 crawl a site on loopback for most of a minute, and zhu-slots has a
                  solver (cbc, HiGHS or glpsol) work, if one is installed: these run only when --only asks for them.
  loo-3 ...       Loo et al., Distributed Web Crawling over DHTs (clusters), with weir's own nodes in virtual time: up to 80 of
                  them for 15 minutes, at full size from --scale 0.1 on. That takes half an hour of two processors and 4 GB; at
                  --scale 0.01 one minute. Ctrl-C prints what there is.
  scale-...       what no paper has: 1,000 to 10,000 nodes. These run only when --only asks for them.

Examples:
  weir sim papers --out papers            everything in virtual time, on a tenth of the web
  weir sim papers --only table-6.1        the speed-ups
  weir sim papers --only 'zhu-1[01]'      600 sites, 30 crawlers
  weir sim papers --only zhu --out zhu    all of Zhu et al., with live crawls
  weir sim papers --scale 1 --only figure-6.10
  weir sim papers --scale 0.01 --only loo clusters, in short
  weir sim papers --only scale            clusters of thousands
  weir sim papers --list --json | jq -r '.experiments[].setup'
  weir sim papers --json | jq '.findings[].targets[] | select(.verdict != "met")'

Exit codes: 0 done, whatever the verdicts; 1 failed, 2 wrong usage, 130 interrupted.`
}

// Run implements the verb.
func (c *simPapersCmd) Run(e *env) error {
	if c.List && c.JSON {
		type entry struct {
			Name  string `json:"name"`
			Title string `json:"title"`
			Paper string `json:"paper"`
			Setup string `json:"setup"`
		}
		var all []entry
		for _, x := range paper.Experiments() {
			all = append(all, entry{x.Name, x.Title, x.Paper, x.Setup})
		}
		return indented(e.out, struct {
			Experiments []entry `json:"experiments"`
		}{all})
	}
	if c.List {
		for _, x := range paper.Experiments() {
			if _, err := fmt.Fprintf(e.out, "%-16s %s\n", x.Name, x.Title); err != nil {
				return err
			}
		}
		return nil
	}
	only, err := regexp.Compile(c.Only)
	if err != nil {
		return usage("the syntax is that of RE2, as in --only 'figure-6.1[0-3]'; quote it for the shell", "--only %q: %w", c.Only, err)
	}
	if !(c.Scale > 0 && c.Scale <= maxScale) {
		return usage("1 is the full size, 0.1 the default", "--scale %g: choose above 0 and at most %d", c.Scale, maxScale)
	}
	chosen := matching(only)
	if len(chosen) == 0 {
		return usage("weir sim papers --list names them", "--only %q matches no experiment", c.Only)
	}
	if pages := c.Scale * paperPages; pages < fewPages && slices.ContainsFunc(chosen, (*paper.Experiment).Scales) {
		fmt.Fprintf(e.err, "weir: warning: --scale %g makes webs of %.0f pages; on fewer than %s the verdicts mean nothing\n", c.Scale, pages, thousands(fewPages))
	}
	if err := c.writable(); err != nil {
		return err
	}
	found, stopped, err := c.play(e, only)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := paper.Write(c.Out, found, c.Scale); err != nil {
			return failure(fmt.Errorf("write to --out %s: %w", c.Out, err), "choose a folder that can be written to")
		}
	}
	if err := c.print(e, found); err != nil && !closed(err) {
		return err
	}
	fmt.Fprintln(e.err, paper.Summary(found))
	if stopped {
		return quiet(exitInterrupted)
	}
	return nil
}

// writable makes the folder of --out, and sees that files can be put there, before
// hours of work.
func (c *simPapersCmd) writable() error {
	if c.Out == "" {
		return nil
	}
	err := os.MkdirAll(c.Out, 0o777)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(c.Out, ".weir"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return failure(fmt.Errorf("write to --out %s: %w", c.Out, plain(err)), "choose a folder that can be written to")
	}
	return nil
}

// maxScale bounds --scale by what fits into the memory of a large machine.
const maxScale = 10

const (
	paperPages = 3_500_000 // at scale 1
	fewPages   = 1000
)

// matching returns the experiments with names that match.
func matching(only *regexp.Regexp) []*paper.Experiment {
	var chosen []*paper.Experiment
	for _, x := range paper.Experiments() {
		if only.MatchString(x.Name) {
			chosen = append(chosen, &x)
		}
	}
	return chosen
}

// play runs the experiments and shows how far they are.
func (c *simPapersCmd) play(e *env, only *regexp.Regexp) (found []paper.Finding, stopped bool, err error) {
	var now struct {
		sync.Mutex
		paper.Progress
	}
	began := time.Now()
	look := func() (p paper.Progress, part float64, spent time.Duration) {
		now.Lock()
		defer now.Unlock()
		return now.Progress, float64(now.Pages) / max(float64(now.Of), 1), time.Since(began)
	}
	g := e.gauge(
		func() []string {
			p, part, spent := look()
			return []string{
				fmt.Sprintf("  %s %3.0f%%  %s%s", bar(part, 40), 100*part, short(spent), remaining(spent, part, ", ")),
				fmt.Sprintf("  crawls  %d of %d", p.Done, p.Trials),
				"  now     " + p.Trial,
			}
		},
		func() string {
			p, part, spent := look()
			return fmt.Sprintf("%s: %.0f%%, %d of %d crawls%s", short(spent), 100*part, p.Done, p.Trials, remaining(spent, part, ", "))
		})
	defer g.end()
	_, stop, release := e.interrupts(func() {})
	defer release()
	ctx, cancel := context.WithCancel(e.ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	})
	defer watcher.Wait()
	defer cancel()
	opt := paper.Options{Scale: c.Scale, Seed: c.Seed, Live: visit, Progress: func(p paper.Progress) {
		now.Lock()
		now.Progress = p
		now.Unlock()
	}}
	if c.Only != "" {
		opt.Only = only
	}
	if s, err := solver.Find(); err == nil {
		opt.Solve = solve(s)
	} else if c.Only != "" && only.MatchString("zhu-slots") {
		fmt.Fprintf(e.err, "weir: warning: zhu-slots is left out: %v\n", err)
	}
	found, err = paper.Run(ctx, opt)
	return found, ctx.Err() != nil, err
}

// indented writes JSON that a person can read, too.
func indented(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

func (c *simPapersCmd) print(e *env, found []paper.Finding) error {
	if c.JSON {
		return indented(e.out, struct {
			Scale    float64         `json:"scale"`
			Summary  string          `json:"summary"`
			Findings []paper.Finding `json:"findings"`
		}{c.Scale, paper.Summary(found), append([]paper.Finding{}, found...)})
	}
	report := paper.Report(found, c.Scale)
	if c.Out != "" { // the pictures are there
		for i := range report.Parts {
			report.Parts[i].Chart, report.Parts[i].Bars = nil, nil
		}
	}
	var b strings.Builder
	if err := report.WriteText(&b); err != nil {
		return err
	}
	_, err := fmt.Fprint(e.out, b.String())
	return err
}
