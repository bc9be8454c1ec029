package crawl

import (
	"bytes"
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/frontier"
	"weir/page"
)

var simSeed = flag.Uint64("seed", 0, "run the simulation with this seed only")

// simLate is how much later than it came the Engine may hear of an answer.
const simLate = 200 * time.Millisecond

// sim drives Engine and Ledger on a virtual clock over a world: what
// internal/node does with goroutines, as one event heap. Restarts throw away
// everything but the durable rows.
type sim struct {
	t     testing.TB
	seed  uint64
	rng   *rand.Rand
	w     *world
	kv    *memory
	cfg   EngineConfig
	depth int           // links from a seed; with a bound, pages are delivered again as their rows have them
	trace *bytes.Buffer // nil: no trace

	now    time.Duration // since the world began
	events simHeap
	seq    int

	// one run
	run      int
	began    time.Duration
	engine   *Engine
	ledger   *Ledger
	tracer   *Tracer
	resumed  bool
	tick     int // the sequence number of the Tick that counts
	queue    []func() error
	syncing  bool
	due      int // items of the open group
	timer    int
	finished string
	flying   map[uint64]int
	loads    int
	resolves int

	audit *audit
	pipe  *pipe  // nil: answers take the time the world says
	watch *watch // nil: nobody asks who went before whom

	wishes *wishes // nil: there are no deadlines

	ranked *Ranked            // comes with the next group
	again  bool               // Redelivered does too
	scores map[string]float32 // of seeds, where the world gives them
	runs   int
	steps  int
	loadN  int
	reread int // pages that were delivered again

	further int // requests on a connection that was open, its pages following the backlog
}

type simEvent struct {
	at  time.Duration
	seq int
	run int
	do  func()
}

type simHeap []simEvent

func (h simHeap) Len() int { return len(h) }
func (h simHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h simHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *simHeap) Push(x any)   { *h = append(*h, x.(simEvent)) }
func (h *simHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func (s *sim) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d (go test ./crawl -run %s -seed %d), run %d, %v: %s", s.seed, s.t.Name(), s.seed, s.run, s.now, fmt.Sprintf(format, args...))
}

func (s *sim) after(d time.Duration, do func()) int {
	s.seq++
	heap.Push(&s.events, simEvent{s.now + d, s.seq, s.run, do})
	return s.seq
}

func (s *sim) time() page.Time { return page.Time(s.now-s.began) + 1 }

func newSim(t testing.TB, seed uint64) *sim {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &sim{t: t, seed: seed, rng: r, w: newWorld(seed), kv: &memory{}, depth: -1}
	s.cfg = EngineConfig{
		Order: pick(r, "length", "depth", "score", "depth-flat", "siteopic", "partial", "batch", "optimal"), Open: 2 + r.IntN(30), Loads: 1 + r.IntN(3), Resolves: 1 + r.IntN(3),
		Frontier: frontier.Config{
			Wait: pick(r, 0, time.Second, 2*time.Second), PerConn: pick(r, 1, 1, 4), Conns: 1 + r.IntN(6), PerServer: 1 + r.IntN(2),
			PerCDN: 3, CDNDomains: pick(r, 2, 50), Window: 1, Hot: pick(r, 1, 2, 1000), Holdable: pick(r, time.Second, 10*time.Second),
			Proxy: r.IntN(8) == 0, Linger: pick(r, 1, time.Second, time.Hour),
		},
	}
	s.cfg.Batch, s.cfg.Busy = int64(pick(r, 3, 20, 100)), pick(r, 0, 0.5)
	if s.cfg.Frontier.Proxy { // nothing is resolved, so a name cannot fail
		for _, site := range s.w.sites {
			if site.host.dead == page.DNSFailed {
				site.host.dead = page.ProxyFailed
			}
			site.host.flakes = nil
		}
	}
	if r.IntN(2) == 0 {
		s.bound()
	}
	if r.IntN(3) == 0 {
		s.cfg.Frontier.Auto, s.cfg.Frontier.PerConn = true, pick(r, 1, 5, 100)
	}
	s.audit = newAudit(s)
	return s
}

// bound sets a limit that the world's small pages feel.
func (s *sim) bound() {
	r := s.rng
	s.cfg.Bandwidth = Bandwidth{
		Limits:  Limits{Rate: int64(pick(r, 150, 500, 3000))},
		Control: pick(r, "weir", "paper", "reactive"), Lookahead: pick(r, 1, 2, 6, 64),
		Predictor: bandwidth.PredictorConfig{Prior: pick(r, 20.0, 200, 5000), Exact: r.IntN(2) == 0, Max: pick(r, 2, 100)},
	}
	var err error
	if r.IntN(3) == 0 {
		s.cfg.Bandwidth.Timetable, err = bandwidth.ParseTimetable(pick(r, "00:00-12:00 off, 400B/s", "Thu-Sat 90B/s, none", "01:00-05:00 off, 800B/s"))
		s.must(err)
	}
	if r.IntN(3) == 0 {
		s.cfg.Bandwidth.Quota, err = bandwidth.ParseQuota("8MB/hour")
		s.must(err)
	}
	s.pipe = &pipe{s: s, quiet: pipePause}
	if s.cfg.Bandwidth.Control != "weir" && r.IntN(2) == 0 {
		s.pipe.line = 2000
	}
}

// start begins a run on what is durable.
func (s *sim) start() {
	s.runs++
	s.run++
	s.began = s.now
	s.events = s.events[:0]
	s.queue, s.syncing, s.due, s.finished, s.ranked, s.again = nil, false, 0, "", nil, false
	s.flying, s.loads, s.resolves = map[uint64]int{}, 0, 0
	s.audit.restart()
	scope, err := ScopeConfig{Scope: "any", Depth: s.depth}.Rules(worldSecret, s.kv)
	s.must(err)
	order, err := frontier.Order(s.cfg.Order)
	s.must(err)
	s.ledger, err = NewLedger(s.kv, LedgerConfig{Order: order, Trap: frontier.DefaultTrap(), Rules: scope, Traits: scope.Traits(), Secret: worldSecret, Memory: ample, Kept: 100, Links: order.Traits().Ranked,
		Again: s.depth >= 0, Said: s.depth >= 0})
	s.must(err)
	s.ledger.Clock(s.wall())
	for _, u := range s.w.seeds { // every run names the seeds again
		score, given := s.scores[u.String()]
		if !given {
			score = float32(s.rng.IntN(3))
		}
		s.must(s.ledger.Seed(u, score))
	}
	b := &batch{}
	WriteSecret(b, worldSecret)
	_, err = s.ledger.Flush(b)
	s.must(err)
	s.kv.commit(b)
	s.engine, err = NewEngine(s.cfg)
	s.must(err)
	if s.trace != nil {
		s.tracer = NewTracer(s.trace, s.cfg)
	}
	st, err := s.ledger.Start(s.resumed)
	s.must(err)
	s.resumed = true
	if p := s.pipe; p != nil { // what was under way ends with the run
		p.flows, p.bytes, p.at, p.idle, p.past, p.mark = nil, 0, s.now, s.now, nil, 0
	}
	s.wishes.begin()
	s.step(Wall{Unix: s.wall(), Offset: 3600})
	s.step(st)
	if s.pipe != nil {
		s.pipe.report()
	}
}

func (s *sim) wall() int64 { return int64(s.now) + 1e18 }

func (s *sim) must(err error) {
	s.t.Helper()
	if err != nil {
		s.fatalf("%v", err)
	}
}

func (s *sim) step(ev Event) {
	s.steps++
	now := s.time()
	orders := s.engine.Step(now, ev)
	if s.tracer != nil {
		s.tracer.Step(now, ev, orders)
		s.must(s.tracer.Err())
	}
	if s.engine.Status().Drift != 0 {
		s.fatalf("drift %d after %T", s.engine.Status().Drift, ev)
	}
	for _, o := range append([]Order(nil), orders...) {
		if s.finished != "" {
			s.fatalf("%T after Finish", o)
		}
		s.order(o)
	}
}

func (s *sim) order(o Order) {
	switch o := o.(type) {
	case Fetch:
		s.fly(o.ID, false)
		s.fetch(o)
	case Settle:
		s.fly(o.ID, true)
		s.commit(func() error { return s.ledger.Settle(o.ID, o.Site, o.Entry, o.Outcome) })
	case Close:
		s.audit.close(o.Host)
	case Load:
		if s.loads++; s.loads > s.cfg.Loads {
			s.fatalf("%d Loads, the credit is %d", s.loads, s.cfg.Loads)
		}
		s.loadN++
		s.watch.ready(o.Site, "", false)
		s.queue = append(s.queue, func() error {
			ev, err := s.ledger.Load(o)
			s.after(0, func() { s.loads--; s.watch.ready(o.Site, "", true); s.step(ev) })
			return err
		})
		s.work()
	case Resolve:
		if s.resolves++; s.resolves > s.cfg.Resolves {
			s.fatalf("%d Resolves, the credit is %d", s.resolves, s.cfg.Resolves)
		}
		s.resolve(o)
	case Save:
		s.commit(func() error { s.audit.keep(o); s.ledger.Host(o.Host, o.State); return nil })
	case Keep:
		s.commit(func() error { s.ledger.Keep(o); return nil })
	case Limit:
		s.pipe.limit(o.Rate)
	case Plan:
		s.wishes.plan(o)
	case News:
		s.wishes.hear(o)
	case Rank:
		s.after(time.Duration(s.rng.IntN(5000))*time.Millisecond, func() { s.rank(o) })
	case Redeliver:
		s.alone(func() error { return s.redeliver(o) })
	case Wake:
		s.tick = s.seq + 1
		this := s.tick
		s.after(time.Duration(o.At-s.time()), func() {
			if s.tick == this {
				s.step(Tick{})
			}
		})
	case Finish:
		if len(s.flying) > 0 || s.loads > 0 {
			s.fatalf("Finish with %d orders and %d Loads under way", len(s.flying), s.loads)
		}
		s.audit.finish()
		s.finished = o.Reason
	}
}

// alone does something at the beginning of a group.
func (s *sim) alone(do func() error) {
	var item func() error
	item = func() error {
		if s.due == 0 {
			s.ledger.Clock(s.wall())
			return do()
		}
		s.queue = slices.Insert(s.queue, 0, item)
		s.flush()
		return nil
	}
	s.queue = append(s.queue, item)
	s.work()
}

// redeliver finds pages that are due and delivers them a moment later.
func (s *sim) redeliver(o Redeliver) error {
	keys, err := s.ledger.Due(min(o.Pages, 1+s.rng.IntN(4)))
	if len(keys) == 0 {
		s.again = true
		s.flush()
		return err
	}
	s.after(time.Duration(s.rng.IntN(100))*time.Millisecond, func() {
		s.alone(func() error {
			v, err := NewView(s.kv)
			s.must(err)
			for _, k := range keys {
				info, err := v.Key(k)
				s.must(err)
				f := info.Facts()
				s.must(ReadSaid(s.kv, worldSecret, f))
				s.must(s.ledger.Again(f))
				s.reread++
			}
			s.ledger.Delivered()
			s.again = true
			s.flush()
			return nil
		})
	})
	return err
}

// rank ranks the pages by the rows as they are, and hands the scores to the
// committer in parts.
func (s *sim) rank(o Rank) {
	order, err := frontier.Order(s.cfg.Order)
	s.must(err)
	web := links(s.t, s.kv)
	n := int64(0)
	s.must(ReadScores(s.kv, order, int(o.Pages), web, func() bool { return true }, func(all []Score) bool {
		for part := range slices.Chunk(all, 7) {
			s.commit(func() error {
				moved, err := s.ledger.Rescore(o.Version, part)
				n += moved
				return err
			})
		}
		return true
	}))
	s.commit(func() error {
		s.ranked = &Ranked{Version: o.Version, Pages: n}
		return nil
	})
}

// popular scores a page by the links to it.
type popular map[uint64]float64

func (p popular) Score(name uint64) (float64, bool) { return 1 + p[name], true }

// links counts those that are durable.
func links(t testing.TB, kv KV) popular {
	upto, err := Linked(kv)
	if err != nil {
		t.Fatal(err)
	}
	web := popular{}
	err = ReadLinks(kv, upto, func(from uint64, targets []uint64) bool {
		for _, to := range targets {
			web[to]++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return web
}

// answered counts what an order still waits for: to be answered, to be durable.
func (s *sim) answered(id uint64) {
	if s.flying[id]--; s.flying[id] == 0 {
		delete(s.flying, id)
	}
}

func (s *sim) fly(id uint64, settle bool) {
	s.flying[id] = 2
	if settle {
		s.flying[id] = 1
	}
	if len(s.flying) > s.cfg.Open {
		s.fatalf("%d orders are open, the credit is %d", len(s.flying), s.cfg.Open)
	}
}

func (s *sim) resolve(o Resolve) {
	h := s.w.hosts[o.Host]
	s.watch.ready(0, o.Host, false)
	ev := Resolved{Host: o.Host, Outcome: page.OK, Addrs: h.addrs, TTL: h.ttl}
	switch {
	case h.dead == page.DNSFailed:
		ev = Resolved{Host: o.Host, Outcome: page.DNSFailed}
	case len(h.flakes) > 0 && h.flakes[0] == page.DNSTimeout:
		h.flakes = h.flakes[1:]
		ev = Resolved{Host: o.Host, Outcome: page.DNSTimeout}
	}
	s.after(time.Duration(s.rng.IntN(30))*time.Millisecond, func() { s.resolves--; s.watch.ready(0, o.Host, true); s.step(ev) })
}

func (s *sim) fetch(f Fetch) {
	s.audit.request(f)
	s.watch.fetch(f)
	a := s.w.ask(f)
	if s.cfg.Frontier.Auto && a.done.Status > 0 && s.rng.IntN(3) == 0 {
		a.done.Left, a.done.Idle = s.rng.IntN(6)-1, time.Duration(s.rng.IntN(3))*time.Second
	}
	answer := func() {
		a.facts.At = s.wall()
		s.audit.answer(f, a.done)
		late := time.Duration(s.rng.IntN(2)) * time.Millisecond
		if s.rng.IntN(20) == 0 {
			late = simLate // it may be durable before the Engine hears of it
		}
		keep := func() {
			s.commit(func() error {
				if f.Robots {
					s.audit.kept(f, a.done)
					return s.ledger.Robots(f.ID, &a.facts, a.done.Rules)
				}
				return s.ledger.Page(f.ID, &a.facts, Archived{}, false)
			})
		}
		s.after(time.Duration(s.rng.IntN(3))*time.Millisecond, keep)
		s.after(late, func() { s.answered(f.ID); s.audit.heard(f, a.done); s.watch.done(f, a.done); s.step(a.done) })
	}
	if s.pipe == nil {
		s.after(a.done.Elapsed, answer)
		return
	}
	if s.pipe.rate == bandwidth.Off {
		s.fatalf("%s was asked for while nothing may flow", f.URL)
	}
	began := s.now
	s.after(a.done.Elapsed, func() {
		a.done.First = s.now - began
		s.pipe.carry(a.done.Bytes, s.w.hosts[f.Host].speed, func(held bool) {
			a.done.Elapsed, a.done.Throttled = s.now-began, held
			a.facts.Elapsed = a.done.Elapsed
			answer()
		})
	})
}

// commit gives the committer something for the open group: it is flushed after
// a few items or some milliseconds.
func (s *sim) commit(do func() error) {
	s.queue = append(s.queue, func() error {
		s.ledger.Clock(s.wall())
		if s.due++; s.due == 1 {
			s.timer = s.seq + 1
			this := s.timer
			s.after(50*time.Millisecond, func() {
				if s.timer == this && s.due > 0 {
					s.flush()
				}
			})
		}
		return do()
	})
	s.work()
}

func (s *sim) work() {
	for len(s.queue) > 0 && !s.syncing {
		do := s.queue[0]
		s.queue = s.queue[1:]
		s.must(do())
		if s.due >= 5 {
			s.flush()
		}
	}
}

func (s *sim) flush() {
	if s.syncing {
		return
	}
	b := &batch{}
	ev, err := s.ledger.Flush(b)
	s.must(err)
	s.syncing, s.due = true, 0
	ranked, again := s.ranked, s.again
	s.ranked, s.again = nil, false
	s.after(time.Duration(1+s.rng.IntN(8))*time.Millisecond, func() {
		s.checkMoves(ev)
		s.durable(b)
		if s.steps%8 == 0 {
			s.checkCash()
		}
		for _, id := range ev.IDs {
			s.answered(id)
		}
		s.syncing = false
		s.step(ev)
		if ranked != nil {
			s.step(*ranked)
		}
		if again {
			s.step(Redelivered{})
		}
		s.work()
	})
}

// durable applies a batch. No page may end twice.
func (s *sim) durable(b *batch) {
	for _, op := range b.ops {
		if op.key[0] == keyText {
			if s.kv.has([]byte(op.key)) {
				s.fatalf("a page was committed twice")
			}
		}
	}
	s.kv.commit(b)
	s.audit.durable()
}

// crawl runs until the crawl is done, with so many crashes on the way.
func (s *sim) crawl(crashes int) {
	s.start()
	crash := time.Duration(-1)
	plan := func() {
		if crash = -1; crashes > 0 {
			crash = s.now + time.Duration(s.rng.Int64N(int64(20*time.Second)))
		}
	}
	plan()
	for events := 0; s.finished != StopDone || s.syncing; events++ {
		switch {
		case events > 2_000_000 || s.now > 90*24*time.Hour:
			s.fatalf("the crawl does not end")
		case crash >= 0 && (len(s.events) == 0 || s.events[0].at > crash):
			crashes--
			s.now = max(s.now, crash)
			if s.rng.IntN(4) == 0 && s.finished == "" { // or a clean stop
				s.step(Command{Stop: StopByUser})
				crash = -1
				continue
			}
			s.now += time.Duration(s.rng.IntN(2000)) * time.Millisecond
			if s.rng.IntN(3) == 0 { // nobody started it again for a while
				s.now += time.Duration(s.rng.IntN(60)) * time.Hour
			}
			s.start()
			plan()
			continue
		case s.finished == StopByUser && !s.syncing && s.due == 0 && len(s.queue) == 0:
			s.now += time.Second
			s.start()
			plan()
			continue
		case len(s.events) == 0:
			s.fatalf("stuck: nothing is under way and %+v", s.engine.Status())
		}
		e := heap.Pop(&s.events).(simEvent)
		s.now = e.at
		if s.finished != "" && !s.syncing && s.due > 0 {
			s.flush()
		}
		e.do()
	}
}
