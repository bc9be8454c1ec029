// Bench measures the built weir as a user would run it: whole crawls, from
// start to exit, with the web served by another process. It prints the flags of
// every run, what was measured, and for every target whether it was met. It
// measures CPU as the system accounts it to the crawler's process, so a server
// on the same cores costs time but not CPU.
//
//	go run ./internal/bench                all suites that take seconds
//	go run ./internal/bench farm forms     some
//	go run ./internal/bench -runs 5 farm   medians
//	go run ./internal/bench -list
//	go run ./internal/bench -runs 12 -before OLD builds   what this build costs, times an older one
//	go run ./internal/bench wire-lab -h    a laboratory to try programs in
//
// Read sheet.go for how numbers are judged, web.go for the other process, lab.go for
// a crawl, then the suite in question.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// suite is a set of runs that answer one question.
type suite struct {
	name string
	what string
	long bool // left out unless named
	run  func(*lab) error
}

var suites = []suite{
	{"farm", "20 sites x 5,000 pages of 20 KB with 30 links, three archive forms", false, (*lab).farm},
	{"forms", "the same pages over TLS, gzipped and chunked", false, (*lab).forms},
	{"real", "real pages, of two documentation packages of Debian under 20 names", false, (*lab).real},
	{"start", "start to first request, and after kill -9", false, (*lab).start},
	{"store", "the seen-test and the commit alone, ten million URLs", true, (*lab).store},
	{"large-many", "ten million URLs over 100,000 sites", true, func(l *lab) error { return l.grow(many) }},
	{"large-few", "ten million URLs over 1,000 sites", true, func(l *lab) error { return l.grow(few) }},
	{"large-50m", "fifty million URLs over 5,000 sites", true, func(l *lab) error { return l.grow(fifty) }},
	{"large-warc", "a million URLs over 10,000 sites, with an archive", true, func(l *lab) error { return l.grow(archived) }},
	{"orders", "orders of a small uneven web under a limit, on the real clock", true, (*lab).orders},
	{"deadlines", "deadlines of 8 uneven sites of 20 under a limit, and the same without, on the real clock", true, (*lab).deadlines},
	{"slow", "5,000 servers of 2 KB/s", true, (*lab).slow},
	{"wire", "a limit held on the wire: three controls, strict, TLS, keep-alive, yield, and aria2, wget, curl", true, (*lab).wire},
	{"builds", "20 x 1,000 pages of 8 KB, with this build and the one of -before at once", true, (*lab).builds},
	{"peers", "wget, wget2, httrack, scrapy and colly on 20 x 1,000 pages", true, (*lab).others},
}

// groups are names for several suites.
var groups = map[string][]string{"large": {"large-many", "large-few", "large-warc"}}

func main() {
	var l lab
	serve := flag.String("serve", "", "serve the web described in this `file` and wait for the end of standard input")
	list := flag.Bool("list", false, "list the suites")
	flag.StringVar(&l.weir, "weir", "", "measure this `binary` instead of building one")
	flag.StringVar(&l.before, "before", "", "builds: compare with this `binary`")
	flag.Float64Var(&l.scale, "scale", 1, "multiply the size of every job")
	flag.IntVar(&l.runs, "runs", 1, "repeat what takes seconds so often, and judge the median")
	minutes := flag.Float64("minutes", 0, "let a large crawl grow for so long, and judge nothing that was not reached; the time of an attempt of wire")
	flag.StringVar(&l.only, "only", "", "wire: make only the attempts whose name matches this `regexp`, such as '^weir at 140|^yield'")
	flag.IntVar(&l.seeds, "seeds", 3, "wire: webs to try each attempt on")
	flag.IntVar(&l.seed, "seed", 1, "deadlines: the first web to try; -runs says how many")
	flag.IntVar(&l.parallel, "parallel", 1, "wire: laboratories open at once")
	flag.StringVar(&l.drawings, "drawings", "docs/results", "wire: `folder` for the figures")
	flag.Parse()
	l.longest = time.Duration(*minutes * float64(time.Minute))
	l.out = os.Stdout
	switch {
	case flag.Arg(0) == "wire-lab":
		exit(byHand(flag.Args()[1:]))
	case *serve != "":
		exit(serveWeb(*serve))
	case *list:
		for _, s := range suites {
			fmt.Printf("%-11s %s\n", s.name, s.what)
		}
	default:
		exit(l.measure(flag.Args()))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// chosen are the suites that the names mean, all short ones for no name.
func chosen(names []string) ([]suite, error) {
	want := map[string]bool{}
	for _, n := range names {
		for _, n := range append([]string{n}, groups[n]...) {
			want[n] = true
		}
		if groups[n] == nil && !slices.ContainsFunc(suites, func(s suite) bool { return s.name == n }) {
			return nil, fmt.Errorf("no suite is called %q; -list names them", n)
		}
	}
	var list []suite
	for _, s := range suites {
		if want[s.name] || len(names) == 0 && !s.long {
			list = append(list, s)
		}
	}
	return list, nil
}

// measure runs suites. One that cannot run does not keep the others from it.
func (l *lab) measure(names []string) error {
	list, err := chosen(names)
	if err != nil {
		return err
	}
	if l.dir, err = os.MkdirTemp("", "weir-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(l.dir)
	if l.weir == "" {
		l.weir = filepath.Join(l.dir, "weir")
		if err := build(l.weir); err != nil {
			return err
		}
	}
	var failed error
	for _, s := range list {
		l.say("\n## %s: %s", s.name, s.what)
		if l.scale != 1 {
			l.say("(at %g times that size: the verdicts are about another job)", l.scale)
		}
		l.say("")
		if err := s.run(l); err != nil {
			l.say("  FAILED: %v", err)
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	l.sum()
	return failed
}
