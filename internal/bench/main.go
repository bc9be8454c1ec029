// Bench measures the built weir as a user would run it: whole crawls, from
// start to exit, with the web served by another process. It prints the flags of
// every run, what was measured, and for every target whether it was met. It
// measures CPU as the system accounts it to the crawler's process, so a server
// on the same cores costs time but not CPU.
//
//	go run ./internal/bench            all suites that take seconds
//	go run ./internal/bench farm tls   some
//	go run ./internal/bench -list
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	{"start", "start to first request, and after kill -9", false, (*lab).start},
	{"large", "ten million URLs, over 100,000 sites and over 1,000", true, (*lab).large},
	{"peers", "wget, wget2, httrack, scrapy and colly on 20 x 1,000 pages", true, (*lab).others},
	{"slow", "5,000 servers of 2 KB/s", true, (*lab).slow},
}

func main() {
	serve := flag.String("serve", "", "serve the web described in this file and wait for the end of standard input")
	list := flag.Bool("list", false, "list the suites")
	binary := flag.String("weir", "", "measure this binary instead of building one")
	scale := flag.Float64("scale", 1, "multiply the number of pages")
	flag.Parse()
	if *serve != "" {
		exit(serveWeb(*serve))
	}
	if *list {
		for _, s := range suites {
			fmt.Printf("%-8s %s\n", s.name, s.what)
		}
		return
	}
	exit(measure(*binary, *scale, flag.Args()))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func measure(binary string, scale float64, names []string) error {
	for _, n := range names {
		if !slices.ContainsFunc(suites, func(s suite) bool { return s.name == n }) {
			return fmt.Errorf("no suite is called %q; -list names them", n)
		}
	}
	dir, err := os.MkdirTemp("", "weir-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l := &lab{dir: dir, scale: scale, weir: binary}
	if binary == "" {
		l.weir = filepath.Join(dir, "weir")
		if err := build(l.weir); err != nil {
			return err
		}
	}
	for _, s := range suites {
		if len(names) == 0 && s.long || len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		fmt.Printf("\n## %s: %s\n\n", s.name, s.what)
		if err := s.run(l); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}
