package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"weir/sim"
)

// Options say which experiments are run, and how.
type Options struct {
	Scale    float64        // of the webs; 1 is full size, default 0.1
	Seed     uint64         // other webs of the same kinds; default 1
	Only     *regexp.Regexp // experiments whose names match; nil = all
	Workers  int            // trials at a time; default GOMAXPROCS
	Progress func(Progress) // told now and then, by any goroutine; may be nil
}

// Progress is how far a Run is.
type Progress struct {
	Trial        string // that one is at it
	Done, Trials int
	Pages, Of    int64 // simulated
}

// record is what the trials gave.
type record struct {
	scale  float64
	trials map[trial]sim.Result
	webs   map[string]facts
}

// of returns a trial's result, if there is one.
func (r *record) of(t trial) (sim.Result, bool) {
	res, ok := r.trials[t]
	return res, ok
}

// floor is T* of a trial that fetched everything, in seconds: the time the line
// needs for all bytes (formula 6.2). NaN without a line to speak of.
func (r *record) floor(t trial) float64 {
	f, ok := r.webs[t.web]
	if !ok || t.rate == 0 {
		return nan
	}
	return f.bytes / t.rate
}

// lab is a Run under way.
type lab struct {
	ctx   context.Context
	opt   Options
	stock *stock
	stop  atomic.Bool // something failed
	pages atomic.Int64
	done  atomic.Int64
	total int
	of    int64
	mu    sync.Mutex // guards rec and fail
	rec   record
	fail  error
}

// Run plays experiments and returns their findings in the order of Experiments.
// When ctx is done it returns what it has: findings have gaps where trials are
// missing, and those without any result are left out.
func Run(ctx context.Context, opt Options) ([]Finding, error) {
	if opt.Scale == 0 {
		opt.Scale = 0.1
	}
	if opt.Seed == 0 {
		opt.Seed = 1
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	var chosen []Experiment
	for _, e := range Experiments() {
		if opt.Only == nil || opt.Only.MatchString(e.Name) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no experiment is called like %q", opt.Only)
	}
	l := &lab{ctx: ctx, opt: opt, rec: record{scale: opt.Scale, trials: map[trial]sim.Result{}, webs: map[string]facts{}}}
	l.stock = newStock(opt.Scale, opt.Seed, l.on)
	if err := l.play(chosen); err != nil {
		return nil, err
	}
	var all []Finding
	for _, e := range chosen {
		if f, ok := l.rec.find(e); ok {
			all = append(all, f)
		}
	}
	return all, nil
}

func (l *lab) on() bool { return !l.stop.Load() && l.ctx.Err() == nil }

// job is a trial, or with no order only a look at a web.
type job = trial

// play works off what the experiments need.
func (l *lab) play(chosen []Experiment) error {
	jobs := l.jobs(chosen)
	for _, j := range jobs {
		l.stock.expect(j.web)
	}
	queue := make(chan job)
	var workers sync.WaitGroup
	for range min(l.opt.Workers, max(len(jobs), 1)) {
		workers.Go(func() {
			for j := range queue {
				l.work(j)
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	workers.Wait()
	return l.fail
}

// jobs lists what is to do, each once, web by web.
func (l *lab) jobs(chosen []Experiment) []job {
	var jobs []job
	seen := map[job]bool{}
	add := func(j job) {
		if !seen[j] {
			seen[j] = true
			jobs = append(jobs, j)
		}
	}
	for _, e := range chosen {
		for _, w := range e.webs {
			add(job{web: w})
		}
		for _, t := range e.trials {
			add(job{web: t.web})
			add(t)
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int {
		return cmp.Compare(slices.Index(order, a.web), slices.Index(order, b.web))
	})
	for _, j := range jobs {
		if j.order != "" {
			l.total++
			l.of += j.pages(l.size(j.web))
		}
	}
	return jobs
}

// size is about how many pages a web has.
func (l *lab) size(name string) int {
	if name == batch {
		return int(batchPages * l.opt.Scale)
	}
	return int(3_500_000 * l.opt.Scale)
}

// work does one job.
func (l *lab) work(j job) {
	err := l.stock.use(j.web, func(g *ground) error {
		l.mu.Lock()
		l.rec.webs[j.web] = g.facts
		l.mu.Unlock()
		if j.order == "" || !l.on() {
			return nil
		}
		return l.crawl(j, g)
	})
	if err != nil && !errors.Is(err, errStopped) {
		l.stop.Store(true)
		l.mu.Lock()
		l.fail = cmp.Or(l.fail, fmt.Errorf("%s: %w", j, err))
		l.mu.Unlock()
	}
}

func (l *lab) crawl(t trial, g *ground) error {
	line, cfg := t.config(g, l.opt.Scale)
	world, err := sim.New(g.web, line, cfg)
	if err != nil {
		return err
	}
	var last int64
	step := func(pages int64) {
		l.pages.Add(pages - last)
		last = pages
	}
	tell := func() {
		if l.opt.Progress != nil {
			l.opt.Progress(Progress{Trial: t.String(), Done: int(l.done.Load()), Trials: l.total, Pages: l.pages.Load(), Of: l.of})
		}
	}
	if err := world.Run(func() bool {
		step(world.Progress().Pages)
		tell()
		return l.on()
	}); err != nil {
		return err
	}
	res := world.Results()[0]
	step(res.Pages)
	if res.Stopped == sim.Interrupted {
		return errStopped
	}
	l.done.Add(1)
	tell()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rec.trials[t] = res
	return nil
}

// find makes the finding of an experiment, unless nothing it needs is there.
func (r *record) find(e Experiment) (Finding, bool) {
	f := Finding{Name: e.Name, Title: e.Title, Paper: e.Paper, Setup: e.Setup, Targets: []Target{}, Plates: []Plate{}}
	some := false
	for _, w := range e.webs {
		_, ok := r.webs[w]
		some = some || ok
	}
	for _, t := range e.trials {
		if _, ok := r.trials[t]; ok {
			some = true
		} else {
			f.Gaps = append(f.Gaps, t.String())
		}
	}
	if !some {
		return f, false
	}
	e.judge(r, &f)
	return f, true
}
