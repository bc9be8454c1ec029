package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/testweb"
	"weir/page"
)

// patience is how long a run waits for what must come, on whatever machine.
const patience = 5 * time.Minute

// run is a run under way.
type run struct {
	cfg      Config
	begin    time.Time
	lan      *lan
	web      *testweb.Web
	certs    string
	machines []*machine
	tasks    sync.WaitGroup // of machines
	log      *os.File

	mu      sync.Mutex
	visits  []Visit
	spans   []Span
	shares  []Share
	failed  []string
	stood   time.Duration // the longest stall
	noticed chan struct{} // a page was served
}

func (r *run) now() time.Duration { return time.Since(r.begin).Round(time.Millisecond) }

// say writes down what happens.
func (r *run) say(format string, args ...any) {
	text := fmt.Sprintf("%9.3f ", r.now().Seconds()) + fmt.Sprintf(format, args...)
	fmt.Fprintln(r.log, text)
	if r.cfg.Log != nil {
		r.cfg.Log(text)
	}
}

// fail notes what should not be.
func (r *run) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.say("FAILURE: %s", text)
	r.mu.Lock()
	r.failed = append(r.failed, fmt.Sprintf("at %v: %s", r.now(), text))
	r.mu.Unlock()
}

// watch notes when this machine itself stands still, its disk or all of it: who reads a result should know, though it
// excuses nothing.
func (r *run) watch(ctx context.Context) {
	const beat, worth = 100 * time.Millisecond, 2 * time.Second
	f, err := os.Create(filepath.Join(r.cfg.Dir, "beat"))
	if err != nil {
		r.fail("watch this machine: %v", err)
		return
	}
	defer f.Close()
	for ctx.Err() == nil {
		begin := time.Now()
		select {
		case <-ctx.Done():
		case <-time.After(beat):
		}
		slept := time.Since(begin) - beat
		_, werr := f.WriteAt([]byte{1}, 0)
		if err := errors.Join(werr, f.Sync()); err != nil {
			r.fail("watch this machine: %v", err)
			return
		}
		stood := time.Since(begin) - beat
		if stood >= worth {
			r.say("this machine stood still for %.1f s, %.1f of them its disk", stood.Seconds(), (stood - slept).Seconds())
		}
		r.mu.Lock()
		r.stood = max(r.stood, stood)
		r.mu.Unlock()
	}
}

func (r *run) certOf(name string) string { return filepath.Join(r.certs, name) }

// begin builds a laboratory, and lets its nodes begin to crawl; end takes it down.
func begin(ctx context.Context, cfg Config) (r *run, end func(), err error) {
	r = &run{cfg: cfg, begin: time.Now(), certs: filepath.Join(cfg.Dir, "certs"), noticed: make(chan struct{}, 1)}
	var undo []func()
	end = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	if err := os.MkdirAll(cfg.Dir, 0o777); err != nil {
		return nil, nil, err
	}
	if r.log, err = os.Create(filepath.Join(cfg.Dir, "events.log")); err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() { r.log.Close() })
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.watch(watching) })
	undo = append(undo, watch.Wait, stop)
	if r.lan, err = newLAN(cfg.Nodes + cfg.Spares); err != nil {
		return nil, nil, err
	}
	undo = append(undo, r.lan.close)
	if err := r.serve(); err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() { r.web.Close() })
	for i := range cfg.Nodes + cfg.Spares {
		r.machines = append(r.machines, &machine{run: r, i: i, room: r.lan.nodes[i], dir: filepath.Join(cfg.Dir, fmt.Sprintf("n%d", i))})
	}
	undo = append(undo, r.tasks.Wait, func() {
		for _, m := range r.machines {
			m.kill()
		}
	})
	if err := r.found(ctx); err != nil {
		return nil, nil, err
	}
	return r, end, r.submit(ctx)
}

// Run carries a run out. What the nodes did wrong is in the result; the error is of the laboratory.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	r, end, err := begin(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer end()
	faults := cfg.Script
	if faults == nil && cfg.Faults > 0 {
		faults = schedule(cfg.Seed, cfg.Nodes, cfg.Spares, cfg.Faults)
	}
	started := r.now()
	if cfg.Poll {
		polling, stop := context.WithCancel(ctx)
		var poll sync.WaitGroup
		poll.Go(func() { r.poll(polling) })
		defer poll.Wait()
		defer stop()
	}
	r.harm(ctx, started, faults)
	r.say("no more faults")
	calm := r.now()
	for _, m := range r.machines[:cfg.Nodes] {
		if err := m.on(); err != nil {
			return nil, err
		}
	}
	return r.finish(ctx, calm)
}

// finish waits for the end, and judges. Nothing happens to the nodes since calm.
func (r *run) finish(ctx context.Context, calm time.Duration) (*Result, error) {
	last, quiet := r.settle(ctx)
	now := r.now()
	for _, m := range r.machines {
		m.kill()
	}
	acked, unknown, err := r.acknowledged()
	if err != nil {
		return nil, err
	}
	res := r.judge(last, quiet, calm, now, acked)
	if quiet && len(unknown) > 0 {
		res.Failed = append(res.Failed, fmt.Sprintf("nothing is left, but no node was told that the ends of %d pages are known: %s", len(unknown), unknown[0]))
	}
	return res, errors.Join(r.record(res), ctx.Err())
}

// acknowledged reads what the nodes have written down: when the end of each page was acknowledged.
func (r *run) acknowledged() (acked map[string]time.Duration, unknown []string, err error) {
	w := witnessed{}
	var secret page.Secret
	for _, m := range r.machines {
		f, err := os.Open(m.acked())
		if errors.Is(err, fs.ErrNotExist) { // it never came
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		err = w.read(f, r.begin)
		f.Close()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.acked(), err)
		}
		if secret, err = m.secret(); err != nil {
			return nil, nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.pages(r.visits, secret)
}

// record leaves what the web saw in the run's folder.
func (r *run) record(res *Result) error {
	var b strings.Builder
	b.WriteString("arrived,ended,node,port,status,url\n")
	for _, v := range res.Visits {
		fmt.Fprintf(&b, "%.4f,%.4f,n%d,%d,%d,%s%s\n", v.At.Seconds(), v.End.Seconds(), v.Node, v.From.Port(), v.Status, v.Host, v.Path)
	}
	for _, a := range res.Again {
		fmt.Fprintf(r.log, "again: %v\n", a)
	}
	for _, text := range slices.Concat(res.Hasty, res.Lost, res.Failed) {
		fmt.Fprintf(r.log, "wrong: %s\n", text)
	}
	return os.WriteFile(filepath.Join(r.cfg.Dir, "visits.csv"), []byte(b.String()), 0o666)
}

// serve starts the web.
func (r *run) serve() error {
	web := r.cfg.Web
	if web == nil {
		n := r.cfg.sites()
		web = testweb.Even(n, testweb.Site{Pages: max(1, r.cfg.Pages/n), Links: 12, Size: 4000, Latency: 5 * time.Millisecond})
		if r.cfg.Server > 0 {
			r.cfg.crowd(web)
		}
	}
	cfg := testweb.Config{
		Seed: r.cfg.Seed, First: webFirst, Port: 80, Addresses: len(web), Sites: web,
		Gone: func(a netip.Addr, opened time.Time) bool { return r.machines[nodeAt(a)].gone(opened) },
		Visited: func(v testweb.Visit) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.visits = append(r.visits, Visit{Visit: v, At: v.Arrived.Sub(r.begin), End: v.Ended.Sub(r.begin), Node: nodeAt(v.From.Addr())})
			select {
			case r.noticed <- struct{}{}:
			default:
			}
		},
	}
	return r.lan.web.Do(func() (err error) {
		r.web, err = testweb.Start(cfg)
		return err
	})
}

// found makes certificates, starts the nodes and waits until they are one cluster.
func (r *run) found(ctx context.Context) error {
	if out, err := r.weir(ctx, "node", "init", r.certs); err != nil {
		return fmt.Errorf("weir node init: %w: %s", err, out)
	}
	for _, m := range r.machines {
		if out, err := r.weir(ctx, "node", "cert", m.name(), "--hosts", place(m.i).String(), "--ca", r.certs); err != nil {
			return fmt.Errorf("weir node cert: %w: %s", err, out)
		}
	}
	if out, err := r.weir(ctx, "node", "cert", "me", "--ca", r.certs); err != nil {
		return fmt.Errorf("weir node cert: %w: %s", err, out)
	}
	for _, m := range r.machines[:r.cfg.Nodes] {
		if err := m.on(); err != nil {
			return err
		}
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		s, err := r.status(ctx, r.machines[0])
		waiting := 0
		for _, n := range s.Nodes {
			if n.State == "waiting" {
				waiting++
			}
		}
		if waiting == r.cfg.Nodes {
			r.say("founded")
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("the nodes are no cluster after %v: %v %w", patience, s, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// submit gives the nodes their crawl, and waits for its first page.
func (r *run) submit(ctx context.Context) error {
	seeds := filepath.Join(r.cfg.Dir, "seeds")
	if err := os.WriteFile(seeds, []byte(strings.Join(slices.Concat(r.web.Seeds(), r.cfg.Seeds), "\n")+"\n"), 0o666); err != nil {
		return err
	}
	args := []string{"submit", "--at", r.machines[0].addr(), "--certs", r.certOf("me"), "--seeds", seeds, "--scheme", cmp.Or(r.cfg.Scheme, "host")}
	out, err := r.weir(ctx, append(args, r.settings()...)...)
	if err != nil {
		return fmt.Errorf("weir submit: %w: %s", err, out)
	}
	r.say("submitted: %s", strings.TrimSpace(string(out)))
	select {
	case <-r.noticed:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("no page was asked for within %v", patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settings are the flags of the crawl.
func (r *run) settings() []string {
	set := []string{"--dns", r.web.DNS(), "--allow-private", "--wait", r.cfg.wait().String(), "--per-conn", fmt.Sprint(perConn), "--trap", "none"}
	if r.cfg.Server > 0 {
		set = append(set, "--per-server", fmt.Sprint(r.cfg.Server))
	}
	if r.cfg.Conns > 0 {
		set = append(set, "--conns", fmt.Sprint(r.cfg.Conns))
	}
	return set
}

// harm lets the faults happen, each in its time, and returns when all are over.
func (r *run) harm(ctx context.Context, started time.Duration, faults []Fault) {
	var wg sync.WaitGroup
	over := started
	for _, f := range faults {
		over = max(over, started+f.At+f.For)
	}
	for _, f := range faults {
		wg.Go(func() {
			if r.until(ctx, started+f.At) {
				r.inflict(ctx, f, started+f.At+f.For)
			}
		})
	}
	wg.Wait()
	r.until(ctx, over)
}

// until waits for a time of the run.
func (r *run) until(ctx context.Context, at time.Duration) bool {
	t := time.NewTimer(at - time.Since(r.begin))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// inflict lets one fault happen, until its end.
func (r *run) inflict(ctx context.Context, f Fault, end time.Duration) {
	if f.Node == Leader {
		f.Node = r.leader(ctx)
	}
	m := r.machines[f.Node]
	r.mu.Lock()
	i := len(r.spans)
	r.spans = append(r.spans, Span{Kind: f.Kind, Node: f.Node, Other: f.Other, Start: r.now(), End: end})
	r.mu.Unlock()
	r.say("begins: %v", f)
	defer func() {
		r.mu.Lock()
		r.spans[i].End = r.now()
		r.mu.Unlock()
		r.say("over:   %v", f)
	}()
	switch f.Kind {
	case Kill:
		m.kill()
		r.until(ctx, end)
		r.turnOn(m)
	case Pause:
		speak, goOn := m.hush(), m.pause()
		r.until(ctx, end)
		speak()
		goOn()
	case Drain:
		short, cancel := context.WithTimeout(ctx, end-r.now()+30*time.Second)
		m.leave(short)
		cancel()
		r.until(ctx, end)
		r.turnOn(m)
	case Join:
		r.turnOn(m)
		r.until(ctx, end)
		leaving := Fault{At: f.At + f.For, For: 30 * time.Second, Kind: Leave, Node: f.Node}
		r.inflict(ctx, leaving, end+leaving.For)
	case Leave:
		short, cancel := context.WithTimeout(ctx, f.For)
		m.leave(short)
		cancel()
	default:
		for _, c := range cuts(f) {
			mend, err := r.lan.lose(c[0], c[1])
			if err != nil {
				r.fail("%v", err)
				continue
			}
			defer func() {
				if err := mend(); err != nil {
					r.fail("%v", err)
				}
			}()
		}
		if f.Kind == Dark { // from now on
			defer m.hush()()
		}
		r.until(ctx, end)
	}
}

// leader is the node whose server leads, the first if nobody knows.
func (r *run) leader(ctx context.Context) int {
	for _, m := range r.machines[:r.cfg.Nodes] {
		s, err := r.status(ctx, m)
		if err != nil || len(s.Nodes) == 0 {
			continue
		}
		for _, m := range r.machines {
			if m.name() == s.Nodes[0].Leader {
				return m.i
			}
		}
	}
	return 0
}

// poll writes down who owns how much, until the end.
func (r *run) poll(ctx context.Context) {
	for k := 0; ctx.Err() == nil; k++ {
		s, err := r.status(ctx, r.machines[k%r.cfg.Nodes])
		if err != nil {
			continue
		}
		at := r.now()
		r.mu.Lock()
		for _, n := range s.Nodes {
			var i int
			if _, err := fmt.Sscanf(n.Name, "n%d", &i); err == nil {
				r.shares = append(r.shares, Share{At: at, Node: i, Owned: n.Owned})
			}
		}
		r.mu.Unlock()
		r.until(ctx, at+500*time.Millisecond)
	}
}

// cuts are the pairs between which nothing passes.
func cuts(f Fault) [][2]netip.Prefix {
	all, me := netip.PrefixFrom(netip.IPv4Unspecified(), 0), one(f.Node)
	switch f.Kind {
	case Mute:
		return [][2]netip.Prefix{{me, everyNode}}
	case Deaf:
		return [][2]netip.Prefix{{everyNode, me}}
	case Cut:
		return [][2]netip.Prefix{{me, everyNode}, {everyNode, me}}
	case Part:
		return [][2]netip.Prefix{{me, one(f.Other)}, {one(f.Other), me}}
	}
	return [][2]netip.Prefix{{me, all}, {all, me}}
}

func (r *run) turnOn(m *machine) {
	if err := m.on(); err != nil {
		r.fail("%v", err)
	}
}

// settle waits until all nodes say that nothing is left.
func (r *run) settle(ctx context.Context) (last said, quiet bool) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	deadline := time.After(r.cfg.Settle)
	for k := 0; ; k++ {
		m := r.machines[k%r.cfg.Nodes]
		s, err := r.status(ctx, m)
		if err != nil {
			r.say("status by %s: %v", m.name(), err)
		} else {
			last = s
			if k%5 == 0 {
				r.say("status by %s: %v", m.name(), s)
			}
		}
		if err == nil && r.agree(s) {
			r.say("quiet: %v", s)
			return s, true
		}
		select {
		case <-tick.C:
		case <-deadline:
			r.say("not quiet in time: %v", last)
			for _, n := range last.Nodes {
				r.say("%s: orphans %v, leader %s, warned of %q", n.Name, n.Orphans, n.Leader, n.Warned)
			}
			return last, false
		case <-ctx.Done():
			return last, false
		}
	}
}

// agree says whether every node that runs is quiet, and every partition owned.
func (r *run) agree(s said) bool {
	quiet := map[string]bool{}
	owned := 0
	for _, n := range s.Nodes {
		quiet[n.Name] = n.State == "quiet"
		owned += n.Owned
	}
	for _, m := range r.machines {
		m.mu.Lock()
		on := m.cmd != nil
		m.mu.Unlock()
		if on && !quiet[m.name()] {
			return false
		}
	}
	return s.Quiet && owned == 256
}

// judge makes the result of what was seen.
func (r *run) judge(last said, quiet bool, calm, now time.Duration, acked map[string]time.Duration) *Result {
	audit := r.web.Audit()
	truth, served := r.web.Truth(), r.web.Served()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.visits, func(a, b Visit) int { return cmp.Compare(a.At, b.At) })
	res := &Result{
		Seed: r.cfg.Seed, Pages: len(truth), Quiet: quiet, Took: now, Visits: r.visits, Spans: r.spans, Failed: r.failed,
		Requests: len(r.visits), Gap: longest(r.visits), Stood: r.stood,
	}
	got := make(map[string]bool, len(served))
	for _, u := range served {
		got[u] = true
	}
	for _, u := range truth {
		if !got[u] {
			res.Lost = append(res.Lost, u)
		}
	}
	res.weigh(refetches(r.visits, r.spans, acked))
	res.Hasty = audit.Problems(testweb.Manners{Wait: r.cfg.wait(), PerServer: r.cfg.Server, PerConn: perConn + 1, Duplicates: len(res.Again)})
	res.Failed = append(res.Failed, overtime(r.visits, r.spans)...)
	if !quiet {
		res.Failed = append(res.Failed, fmt.Sprintf("not quiet: %v", last))
	}
	end := calm
	if n := len(r.visits); n > 0 {
		end = max(end, r.visits[n-1].End)
	}
	res.ToQuiet = now - end
	res.Shares, res.Kinds = r.shares, map[string]int64{}
	for _, n := range last.Nodes {
		for k, b := range n.Spoken {
			res.Spoken += b
			res.Kinds[k] += b
		}
	}
	for _, m := range r.machines {
		m.mu.Lock()
		res.CPU += m.used
		m.mu.Unlock()
	}
	return res
}
