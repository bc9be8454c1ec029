package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// linksPerPage is what a page of BenchmarkGrowth has.
const linksPerPage = 30

// store judges the benchmarks of the seen-test and of the commit, which a crawl
// as a whole does not show: in memory, and with a bound of memory so small that
// the disk has to be asked.
func (l *lab) store() error {
	urls := l.scaled(10_000_000)
	seen, err := l.benchmark("Seen", "./crawl", "-benchtime", "200ms")
	if err != nil {
		return err
	}
	l.target("seen-test in memory", one(seen.of("ns/op")/1e3), "us", atMost(0.6))
	l.value("memory a URL", one(seen.of("B/page")), "B")
	whole, err := l.benchmark("Growth", "./internal/node", "-benchtime", "1x", "-timeout", "2h", "-urls", fmt.Sprint(urls))
	if err != nil {
		return err
	}
	l.value("commit, CPU at the start", one(whole.of("us/page-first")), "us/page")
	l.target("commit, CPU at the end", one(whole.of("us/page-last")), "us/page", atMost(160))
	l.value("commit, p50", one(whole.of("ms-commit-p50")), "ms")
	l.target("commit, p99", one(whole.of("ms-commit-p99")), "ms", atMost(20))
	l.target("commit, longest", one(whole.of("ms-commit-max")), "ms", atMost(200))
	l.target("disk", one(whole.of("B/URL")), "B/URL", atMost(40))
	l.target("reopen", one(whole.of("s-reopen")), "s", atMost(2))
	bound, err := l.benchmark("Growth", "./internal/node", "-benchtime", "1x", "-timeout", "2h", "-urls", fmt.Sprint(urls), "-memory", fmt.Sprint(2*urls))
	if err != nil {
		return err
	}
	l.value("commit without memory, CPU at the end", one(bound.of("us/page-last")), "us/page")
	l.target("seen-test without memory", one((bound.of("us/page-last")-whole.of("us/page-last"))/linksPerPage+seen.of("ns/op")/1e3), "us", atMost(4))
	l.target("commit without memory, longest", one(bound.of("ms-commit-max")), "ms", atMost(200))
	return nil
}

// gauges are the figures of one of Go's benchmarks, by unit.
type gauges map[string]float64

// of returns a figure; one that is missing is not a number and meets no target.
func (g gauges) of(unit string) float64 {
	if x, ok := g[unit]; ok {
		return x
	}
	return math.NaN()
}

// benchmark runs one of Go's benchmarks.
func (l *lab) benchmark(name, dir string, args ...string) (gauges, error) {
	all := append([]string{"test", "-run", "^$", "-bench", "^Benchmark" + name + "$", dir}, args...)
	l.say("go %s", strings.Join(all, " "))
	cmd := exec.Command("go", all...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("benchmark %s: %w\n%s", name, err, out)
	}
	m := readBenchmark(string(out), name)
	if m == nil {
		return nil, fmt.Errorf("benchmark %s: no figures in\n%s", name, out)
	}
	return m, nil
}

// readBenchmark finds the line of a benchmark and splits it into figures by
// unit; nil if there is none.
func readBenchmark(out, name string) gauges {
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark"+name) {
			continue
		}
		m := gauges{}
		for i := 2; i+1 < len(f); i += 2 {
			if x, err := strconv.ParseFloat(f[i], 64); err == nil {
				m[f[i+1]] = x
			}
		}
		return m
	}
	return nil
}
