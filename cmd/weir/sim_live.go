package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"weir/internal/node"
	"weir/internal/solver"
	"weir/internal/testweb"
	"weir/page"
	"weir/sim/paper"
)

// visitSite is what live crawls for figures 2 and 3 of Zhu et al. crawl, with as
// many pages as a visit asks for.
var visitSite = testweb.Site{Name: "site.test", Links: 6, Size: 16e3}

// visitTime ends a visit on a machine that is very slow.
const visitTime = time.Minute

// visit serves a site on loopback and crawls it as weir crawl --limit would.
func visit(ctx context.Context, v paper.Visit) (got paper.Visited, err error) {
	site := visitSite
	site.Pages = v.Pages
	web, err := testweb.Start(testweb.Config{Seed: 5, Sites: []testweb.Site{site}})
	if err != nil {
		return got, failure(err, "the site is served on 127.0.0.0/8; is the loopback interface up?")
	}
	defer web.Close()
	dir, err := os.MkdirTemp("", "weir-papers-")
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := defaults()
	s.Dir, s.Limit, s.Resolve, s.Warc = filepath.Join(dir, "crawl"), rate(v.Rate), web.Resolve(), "none"
	s.Wait, s.MaxTime, s.Memory = 0, span(visitTime), 128e6
	s.PerConn.most = whole(v.Pages)
	url, err := page.Parse(web.URL(0))
	if err != nil {
		return got, err
	}
	cfg, err := setup(s, []node.Seed{{URL: url}})
	if err != nil {
		return got, err
	}
	report, err := node.Run(ctx, nil, *cfg)
	if err != nil {
		return got, err
	}
	if report.Fetched != int64(v.Pages) && ctx.Err() == nil {
		return got, fmt.Errorf("%d of %d pages were fetched in %.1f s", report.Fetched, v.Pages, report.Seconds)
	}
	wire := report.Bandwidth.Mean * max(report.Seconds, 1) // a mean is taken over a second at least
	return paper.Visited{Bytes: float64(report.Bytes), Wire: wire, Seconds: report.Seconds}, nil
}

// solveTime is how long a solver may take for one program.
const solveTime = time.Minute

// solve has a program solved by what is installed on this machine.
func solve(s solver.Solver) func(context.Context, func(io.Writer) error) (paper.Solved, error) {
	return func(ctx context.Context, write func(io.Writer) error) (paper.Solved, error) {
		a, err := s.Solve(ctx, write, solveTime)
		if err != nil {
			return paper.Solved{}, err
		}
		got := paper.Solved{By: s.Name, Objective: math.NaN(), Proved: a.Status == solver.Optimal}
		if a.Status.Solved() {
			got.Objective = a.Objective
		}
		return got, nil
	}
}
