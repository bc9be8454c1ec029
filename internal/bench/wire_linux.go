package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"weir/internal/wirelab"
)

// wireLimits are the limits that are held, and the connections that they need.
var wireLimits = []struct {
	rate  float64
	conns int
}{{140e3, 64}, {1e6, 128}, {10e6, 800}}

// attempt is one program under one limit. Rows of the table are attempts with a seed.
type attempt struct {
	name   string
	limit  float64
	conns  int
	tls    bool
	free   bool     // weir is given no limit
	args   []string // of weir
	argv   []string // of another program
	after  string   // the attempt whose folder it learns from
	bounds *bounds
}

// bounds are what an attempt must keep to.
type bounds struct {
	use  float64 // least mean
	over float64 // no window above so much of the limit
}

var (
	byDefault = &bounds{0.975, 1.02}
	strictly  = &bounds{0.955, 1.01}
)

// slides is what no second that begins anywhere may exceed.
const slides = 1.04

func attempts() []attempt {
	var list []attempt
	for _, l := range wireLimits {
		add := func(a attempt) {
			a.limit, a.conns = l.rate, l.conns
			list = append(list, a)
		}
		add(attempt{name: "weir", bounds: byDefault})
		add(attempt{name: "weir, warm", after: "weir", bounds: byDefault})
		add(attempt{name: "weir --strict", args: []string{"--strict"}, bounds: strictly})
		add(attempt{name: "weir, https", tls: true, bounds: byDefault})
		add(attempt{name: "weir --per-conn 10", args: []string{"--per-conn", "10"}, bounds: byDefault})
		add(attempt{name: "weir --per-conn 10, https", tls: true, args: []string{"--per-conn", "10"}, bounds: byDefault})
		for _, d := range []string{"2", "6"} {
			args := []string{"--control", "paper", "--lookahead", d}
			add(attempt{name: "paper, max_d " + d, args: args})
			add(attempt{name: "paper, max_d " + d + ", warm", args: args, after: "paper, max_d " + d})
		}
		add(attempt{name: "reactive", args: []string{"--control", "reactive"}})
		add(attempt{name: "no limit", free: true})
		rate := fmt.Sprintf("%.0f", l.rate)
		add(attempt{name: "aria2, 16 at once", argv: []string{"aria2c", "-q", "-i", "{list}", "-d", "{dir}", "-j", "16", "-x", "1", "--max-overall-download-limit=" + rate}})
		add(attempt{name: "wget", argv: []string{"wget", "-q", "-i", "{list}", "-P", "{dir}", "--limit-rate=" + rate}})
		add(attempt{name: "curl, 16 at once", argv: []string{"curl", "-s", "-K", "{curl}", "--parallel", "--parallel-max", "16", "--limit-rate", fmt.Sprintf("%.0f", l.rate/16)}})
	}
	return list
}

// full is the name by which an attempt is chosen.
func (a attempt) full() string { return fmt.Sprintf("%s at %s", a.name, say(a.limit)) }

// program is what the attempt runs; learned is the folder it learns from.
func (a attempt) program(weir, learned string) []string {
	if a.argv != nil {
		return a.argv
	}
	argv := []string{weir, "crawl", "--seeds", "{seeds}", "--depth", "0", "--order", "score", "--wait", "0s", "--dns", "{dns}",
		"--allow-private", "--conns", fmt.Sprint(a.conns), "--warc", "none", "--json", "--dir", "{dir}"}
	if !a.free {
		argv = append(argv, "--limit", say(a.limit))
	}
	argv = append(argv, a.args...)
	if learned != "" {
		argv = append(argv, "--learn-from", learned)
	}
	return argv
}

// outcome is an attempt with one seed.
type outcome struct {
	attempt
	seed  uint64
	row   row
	trace trace
	err   error
}

// wire measures how limits are kept on the wire.
func (l *lab) wire() error {
	if err := wirelab.Usable(); err != nil {
		return err
	}
	only, err := regexp.Compile(l.only)
	if err != nil {
		return err
	}
	list := attempts()
	want := map[string]bool{}
	for _, a := range list {
		if only.MatchString(a.full()) {
			want[a.full()] = true
			if a.after != "" {
				want[attempt{name: a.after, limit: a.limit}.full()] = true
			}
		}
	}
	list = slices.DeleteFunc(list, func(a attempt) bool { return !want[a.full()] })
	l.say("weir crawl --seeds FILE --depth 0 --order score --wait 0s --conns N --warc none --limit L ...; %v, %d seeds; one queue for all", l.wireLength(), l.seeds)
	l.say("\n%s", head)
	results := l.tryAll(list)
	if len(list) > 0 {
		l.say("\nThe same in order; * never had a second at 90%% of the limit and is judged from its tenth second on.\n\n%s", head)
	}
	for _, o := range results {
		if o.err == nil {
			l.say("%s", o.row)
		}
	}
	l.say("")
	for _, a := range list {
		l.judge(a, results)
	}
	l.reproduce(results)
	l.control(results)
	err = l.figures(results)
	if only.MatchString("yield") {
		err = errors.Join(err, l.yielding())
	}
	for _, o := range results {
		err = errors.Join(err, o.err)
	}
	return err
}

// wireLength is how long one attempt is measured.
func (l *lab) wireLength() time.Duration {
	if l.longest > 0 {
		return l.longest
	}
	return 5 * time.Minute
}

// rampUp is what an attempt gets besides, to reach its limit.
const rampUp = 20 * time.Second

// tryAll makes the attempts, several at a time, each with all seeds. Those that learn wait for those they learn from.
func (l *lab) tryAll(list []attempt) []outcome {
	results := make([][]outcome, len(list))
	slots := make(chan struct{}, max(1, l.parallel))
	var mu sync.Mutex
	var tasks sync.WaitGroup
	for seed := uint64(1); seed <= uint64(l.seeds); seed++ {
		folders := map[string]chan string{}
		for _, a := range list {
			folders[a.full()] = make(chan string, 1)
		}
		for i, a := range list {
			mine := folders[a.full()]
			learn := folders[attempt{name: a.after, limit: a.limit}.full()]
			tasks.Go(func() {
				var learned string
				if a.after != "" {
					learned = <-learn
				}
				slots <- struct{}{}
				defer func() { <-slots }()
				o, dir := l.try(a, seed, learned)
				mine <- dir
				mu.Lock()
				defer mu.Unlock()
				if o.err != nil {
					l.say("  FAILED: %v", o.err)
				} else {
					l.say("%s", o.row)
					if a.bounds != nil {
						for _, line := range outliers(o.trace, o.row.use.Begin, a.limit, a.bounds.over) {
							l.say("%14s%s", "", line)
						}
					}
				}
				results[i] = append(results[i], o)
			})
		}
	}
	tasks.Wait()
	for _, r := range results {
		slices.SortFunc(r, func(a, b outcome) int { return int(a.seed) - int(b.seed) })
	}
	return slices.Concat(results...)
}

// try makes one attempt and returns the folder of its crawl.
func (l *lab) try(a attempt, seed uint64, learned string) (outcome, string) {
	o := outcome{attempt: a, seed: seed}
	dir := filepath.Join(l.dir, fmt.Sprintf("wire-%g-%s-%d", a.limit, regexp.MustCompile(`\W+`).ReplaceAllString(a.name, "-"), seed))
	crawl := filepath.Join(dir, "crawl")
	if a.after != "" && learned == "" {
		o.err = fmt.Errorf("%s: there is nothing to learn from", a.full())
		return o, ""
	}
	t := trial{
		web:    wirelab.NewWeb(wirelab.WebConfig{Limit: a.limit, Length: l.wireLength() + rampUp, Seed: seed}),
		limit:  a.limit,
		conns:  a.conns,
		tls:    a.tls,
		length: l.wireLength() + rampUp,
		argv:   a.program(l.weir, learned),
		dir:    dir,
	}
	if o.trace, o.err = t.run(); o.err != nil {
		o.err = fmt.Errorf("%s, seed %d: %w", a.full(), seed, o.err)
		return o, ""
	}
	o.row = newRow(fmt.Sprintf("%s, seed %d", a.name, seed), a.limit, o.trace)
	if a.argv != nil {
		os.RemoveAll(crawl)
	}
	return o, crawl
}

// of are the outcomes of an attempt.
func of(results []outcome, name string, limit float64) []outcome {
	var some []outcome
	for _, o := range results {
		if o.name == name && o.limit == limit && o.err == nil {
			some = append(some, o)
		}
	}
	return some
}

func pick(some []outcome, f func(outcome) float64) figures {
	var xs figures
	for _, o := range some {
		xs = append(xs, f(o))
	}
	return xs
}

// judge prints the verdicts on an attempt that has bounds: the worst seed
// decides.
func (l *lab) judge(a attempt, results []outcome) {
	if a.bounds == nil {
		return
	}
	l.say("%s", a.full())
	some := of(results, a.name, a.limit)
	over := func(o outcome) float64 {
		if a.bounds.over == 1.01 {
			return o.row.use.Above1
		}
		return o.row.use.Above2
	}
	use := fmt.Sprintf("windows above %g L, worst seed", a.bounds.over)
	if len(some) == 0 {
		l.untold("mean use, worst seed", atLeast(100*a.bounds.use), "nothing ran")
		l.untold(use, atMost(0), "nothing ran")
		l.untold("worst sliding second", atMost(slides), "nothing ran")
		return
	}
	l.short = ""
	if l.wireLength() < 5*time.Minute || len(some) < 3 {
		l.short = "the full measure is three seeds of five minutes"
	}
	l.target("mean use, worst seed", one(100*slices.Min(pick(some, func(o outcome) float64 { return o.row.use.Mean }))), "% of L", atLeast(100*a.bounds.use))
	l.target(use, one(100*slices.Max(pick(some, over))), "%", atMost(0))
	l.target("worst sliding second", one(slices.Max(pick(some, func(o outcome) float64 { return o.row.use.Sliding }))), "of L", atMost(slides))
	l.value("priority inversions", pick(some, func(o outcome) float64 { return 100 * float64(o.row.inverted) / float64(max(1, o.row.began)) }), "% of starts")
	l.value("interface counters beside the packet log", pick(some, func(o outcome) float64 {
		return 100 * (wirelab.Judge(o.trace.counted, a.limit).Mean - o.row.use.Mean)
	}), "% of L")
	l.value("packets that the laboratory held 2 ms too long", pick(some, func(o outcome) float64 { return lateness(o.trace) }), "%")
	due := func(o outcome) wirelab.Use { return wirelab.Judge(o.trace.due, a.limit) }
	l.value("by when packets were due, windows above 1.02 L", pick(some, func(o outcome) float64 { return 100 * due(o).Above2 }), "%")
	l.value("by when packets were due, fullest second", pick(some, func(o outcome) float64 { return 1 + due(o).Worst }), "of L")
	l.value("by when packets were due, worst sliding second", pick(some, func(o outcome) float64 { return due(o).Sliding }), "of L")
	l.value("times that it stood still for 10 ms or more", pick(some, func(o outcome) float64 { return float64(len(o.trace.late.Still)) }), "")
	l.short = ""
}

// lateness is the share of packets that the laboratory handed over late, in percent.
func lateness(t trace) float64 { return 100 * float64(t.late.Many) / float64(max(1, t.late.Packets)) }

// reproduce asks for the paper's own results, by their direction.
func (l *lab) reproduce(results []outcome) {
	for _, limit := range wireLimits {
		two, six := of(results, "paper, max_d 2, warm", limit.rate), of(results, "paper, max_d 6, warm", limit.rate)
		reactive := of(results, "reactive", limit.rate)
		if len(two) == 0 || len(six) == 0 || len(reactive) == 0 {
			continue
		}
		mean := func(o outcome) float64 { return 100 * o.row.use.Mean }
		std := func(o outcome) float64 { return 100 * o.row.use.Std }
		l.say("the paper's results at %s", say(limit.rate))
		l.target("use, max_d 6 less max_d 2", one(pick(six, mean).median()-pick(two, mean).median()), "% of L", atLeast(0))
		l.target("std, reactive less the larger of both", one(pick(reactive, std).median()-max(pick(two, std).median(), pick(six, std).median())), "% of L", atLeast(0))
	}
}

// control compares the CPU under a limit with that of the same pages without.
func (l *lab) control(results []outcome) {
	const what = "CPU of the control, of a core at 1 MB/s"
	with, without := of(results, "weir", 1e6), of(results, "no limit", 1e6)
	if len(with) == 0 || len(without) == 0 {
		l.untold(what, atMost(4), "it needs weir and no limit at 1 MB/s")
		return
	}
	// What a page costs without a limit is taken off for every page that was
	// fetched under one; what is left is the control.
	pages := func(t trace) float64 { return float64(len(t.web.Pages) - left(t.web, t.requests)) }
	cost := pick(without, func(o outcome) float64 { return o.trace.cpu.Seconds() / pages(o.trace) }).median()
	l.target(what, pick(with, func(o outcome) float64 {
		return 100 * (o.trace.cpu.Seconds() - cost*pages(o.trace)) / o.trace.wall.Seconds()
	}), "%", atMost(4))
}

// figures draws the paper's figures from the first seed at its limit.
func (l *lab) figures(results []outcome) error {
	const limit = 140e3
	got := map[string]trace{}
	for _, o := range results {
		if o.limit == limit && o.seed == 1 && o.err == nil {
			got[o.name] = o.trace
		}
	}
	var failed error
	draw := func(name, title, note string, lines ...line) {
		if slices.ContainsFunc(lines, func(l line) bool { return len(l.ys) == 0 }) {
			return
		}
		f := figure{title: title, note: note, unit: "KB/s", limit: limit / 1e3, lines: lines}
		failed = errors.Join(failed, f.draw(l.drawings, name))
		l.say("drawn: %s", filepath.Join(l.drawings, name))
	}
	six, two := got["paper, max_d 6, warm"], got["paper, max_d 2, warm"]
	draw("wire-1.svg", "Measured and predicted bandwidth", "the paper's control, max_d 6, warm; IP bytes a second on the interface",
		line{"measured", false, window(measured(six))}, line{"predicted", true, window(predicted(got["paper, max_d 6"], six))})
	draw("wire-2.svg", "Measured bandwidth, max_d 6 and max_d 2", "the paper's control, warm; IP bytes a second on the interface",
		line{"max_d 6", false, window(measured(six))}, line{"max_d 2", true, window(measured(two))})
	draw("wire-3.svg", "Measured bandwidth, reactive control", "a fetcher more below the limit, one less above; IP bytes a second on the interface",
		line{"measured", false, window(measured(got["reactive"]))})
	draw("wire-4.svg", "Measured bandwidth, weir", "the default control; IP bytes a second on the interface",
		line{"measured", false, window(measured(got["weir"]))})
	return failed
}

// measured is KB a second, for every second of a trace.
func measured(t trace) []float64 {
	var ys []float64
	for b := t.received; len(b) >= 10; b = b[10:] {
		var s float64
		for _, x := range b[:10] {
			s += x
		}
		ys = append(ys, s/1e3)
	}
	return ys
}

// window is the paper's forty seconds, from the middle of a run.
func window(ys []float64) []float64 {
	const length = 40
	if len(ys) <= length {
		return ys
	}
	from := (len(ys) - length) / 2
	return ys[from : from+length]
}

// predicted is CB of the paper, KB a second: the sum over running downloads of
// what its formula, with k = 0.3, expects of their servers, having learned
// from the downloads that were done by then, in this run and the one before.
func predicted(before, t trace) []float64 {
	const k = 0.3
	rates := map[int]float64{}
	learn := func(f wirelab.Flow) {
		took := (f.Last - f.Began).Seconds()
		if took <= 0 || f.Bytes < 2000 {
			return
		}
		m := float64(f.Bytes) / took
		if b, ok := rates[f.Server]; ok {
			m = (1-k)*b + k*m
		}
		rates[f.Server] = m
	}
	for _, f := range before.flows {
		learn(f)
	}
	// Flows are in the order of their starts; what each was expected to take is
	// known when it starts.
	type running struct {
		wirelab.Flow
		expected float64
	}
	ended := slices.SortedFunc(slices.Values(t.flows), func(a, b wirelab.Flow) int { return int(a.Last - b.Last) })
	var all []running
	for _, f := range t.flows {
		for len(ended) > 0 && ended[0].Last < f.Began {
			learn(ended[0])
			ended = ended[1:]
		}
		all = append(all, running{f, rates[f.Server]})
	}
	n := int((t.end - t.begin) / time.Second)
	ys := make([]float64, max(0, n))
	for i := range ys {
		for tenth := range 10 {
			at := t.begin + time.Duration(i)*time.Second + time.Duration(tenth)*wirelab.Step
			for _, r := range all {
				if r.Began <= at && at < r.Last {
					ys[i] += r.expected / 10 / 1e3
				}
			}
		}
	}
	return ys
}
