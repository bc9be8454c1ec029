package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	Only     *regexp.Regexp // experiments whose names match; nil = all but those that crawl live
	Workers  int            // trials at a time; default GOMAXPROCS
	Progress func(Progress) // told now and then, by any goroutine; may be nil

	// Live crawls a site for real; nil: experiments that need it are left out. It
	// returns when ctx is done.
	Live func(ctx context.Context, v Visit) (Visited, error)

	// Solve has a program solved that write writes as an LP file; nil: no solver is
	// installed.
	Solve func(ctx context.Context, write func(io.Writer) error) (Solved, error)
}

// wants says whether an experiment is asked for.
func (o *Options) wants(e *Experiment) bool {
	if o.Only == nil {
		return !e.Live
	}
	return o.Only.MatchString(e.Name)
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
	seed   uint64
	trials map[trial]sim.Result
	webs   map[string]facts
	visits map[Visit]Visited
	solved map[program]Solved
	teams  map[team]sim.ClusterResult
	crowd  func() ([]queued, error) // made when first asked for
	on     func() bool              // whether the run goes on
}

func newRecord(scale float64, seed uint64) record {
	return record{scale: scale, seed: seed, trials: map[trial]sim.Result{}, webs: map[string]facts{}, visits: map[Visit]Visited{}, solved: map[program]Solved{}, teams: map[team]sim.ClusterResult{}, crowd: sync.OnceValues(crowd), on: func() bool { return true }}
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
	heavy sync.Mutex // held while a large cluster crawls
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
		if opt.wants(&e) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no experiment is called like %q", opt.Only)
	}
	l := &lab{ctx: ctx, opt: opt, rec: newRecord(opt.Scale, opt.Seed)}
	l.rec.on = l.on
	l.stock = newStock(opt.Scale, opt.Seed, l.on)
	if err := l.play(chosen); err != nil {
		return nil, err
	}
	if err := errors.Join(l.cluster(chosen), l.visit(chosen), l.solve(chosen)); err != nil {
		return nil, err
	}
	var all []Finding
	for _, e := range chosen {
		if e.arithmetic() && !l.on() {
			continue
		}
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
	visits := map[Visit]bool{}
	for _, e := range chosen {
		for _, v := range e.visits {
			if !visits[v] {
				visits[v] = true
				l.total++
				l.of += int64(v.Pages)
			}
		}
		l.total += len(e.programs)
	}
	seenTeams := map[team]bool{}
	for _, e := range chosen {
		for _, t := range e.teams {
			if !seenTeams[t] && t.fits(l.opt.Scale) {
				seenTeams[t] = true
				l.total++
				l.of += t.expected(l.opt.Scale)
			}
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
	if err := world.Run(func() bool {
		step(world.Progress().Pages)
		l.tell(t.String())
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
	l.tell(t.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rec.trials[t] = res
	return nil
}

// tell says how far the run is.
func (l *lab) tell(trial string) {
	if l.opt.Progress != nil {
		l.opt.Progress(Progress{Trial: trial, Done: int(l.done.Load()), Trials: l.total, Pages: l.pages.Load(), Of: l.of})
	}
}

// find makes the finding of an experiment, unless nothing it needs is there.
func (r *record) find(e Experiment) (Finding, bool) {
	f := Finding{Name: e.Name, Title: e.Title, Paper: e.Paper, Setup: e.Setup, Targets: []Target{}, Plates: []Plate{}}
	some := e.arithmetic()
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
	for _, t := range e.teams {
		if _, ok := r.teams[t]; ok {
			some = true
		} else if t.fits(r.scale) {
			f.Gaps = append(f.Gaps, t.String())
		}
	}
	for _, v := range e.visits {
		if _, ok := r.visits[v]; ok {
			some = true
		} else {
			f.Gaps = append(f.Gaps, v.String())
		}
	}
	for _, g := range e.programs {
		if _, ok := r.solved[g]; ok {
			some = true
		} else {
			f.Gaps = append(f.Gaps, g.String())
		}
	}
	if !some {
		return f, false
	}
	e.judge(r, &f)
	return f, true
}
