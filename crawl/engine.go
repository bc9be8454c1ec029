package crawl

import (
	"cmp"
	"fmt"
	"time"

	"weir/bandwidth"
	"weir/frontier"
	"weir/page"
)

// Why a crawl ended, as report.json says it in stopped_by.
const (
	StopDone     = "done" // nothing is left that may be fetched in this run
	StopPages    = "max-pages"
	StopBytes    = "max-bytes"
	StopTime     = "max-time"
	StopGain     = "stop-gain"
	StopByUser   = "interrupted"
	StopNoRoom   = "disk-full"
	StopByStore  = "store-failed"
	StopRule     = "stop: "            // and the reason that a rule for stop gave
	StopTooLarge = "too-large-to-rank" // the next batch cannot be found within the memory
	StopByNobody = ""                  // not stopped yet
)

// EngineConfig are the settings of an Engine.
type EngineConfig struct {
	Order    string // the Ranking's name
	Frontier frontier.Config
	MaxPages int64 // over all runs of the crawl; 0 = no bound
	MaxBytes int64
	MaxTime  time.Duration // of this run
	Open     int           // orders that are not over yet, at most
	Loads    int           // Loads under way, at most
	Resolves int           // Resolves under way, at most

	// For orders that go by ranks: pages in a batch, or between two rankings; 0 =
	// 10,000 (K in Castillo, section 6.3). A batch is cut short when less than a share
	// Busy of the connections is in use; 0 = 0.1, negative = never (section 6.4).
	Batch int64   `json:",omitempty"`
	Busy  float64 `json:",omitempty"`
	// StopGain ends the crawl when the last Batch pages were worth less than this
	// share of what the first were, by their scores; 0 = never. It never does with
	// orders that rank: a page's rank is 1 and what others pass on to it, and the
	// last pages of a crawl have no less of that than the first.
	StopGain float64 `json:",omitempty"`

	Bandwidth Bandwidth `json:",omitzero"`

	Demands []Demand `json:",omitempty"` // hosts that shall be done by a time

	// Shared: other nodes crawl with this one. It may have nothing to do for now,
	// and does not finish for that.
	Shared bool `json:",omitempty"`

	// Homes is how many partitions hosts are at home in, where hosts that wait for a
	// connection may be left to another node, see Relief; 0: they are not.
	Homes int `json:",omitempty"`

	Leave int64 `json:",omitempty"` // of hosts with more pages than that, none are left

	// Rationed: no more pages are begun than Allow says. Metered: none is when there are
	// as many bytes.
	Rationed bool `json:",omitempty"`
	Metered  bool `json:",omitempty"`

	// Ends is when the nodes of a shared crawl stop ordering requests, Unix nanoseconds;
	// 0 = never.
	Ends int64 `json:",omitempty"`
}

// Engine decides what to do next. See the package doc. Not safe for concurrent
// use; the driver owns it.
type Engine struct {
	cfg EngineConfig
	f   *frontier.Frontier

	traits   frontier.Traits
	ranker   ranker
	idle     idle
	started  bool
	began    page.Time
	flights  flights
	asking   int // pages ordered and not answered
	settling int // Settles not durable yet
	loads    int
	resolves int
	totals   Totals // as committed
	pages    int64  // answered, committed or not
	bytes    int64
	stop     string
	finished bool
	wake     page.Time
	clock    bandwidth.Clock
	valve    *valve // nil: there is no limit, and never was
	promises promises
	estates  estates
	again    bool                     // a Redeliver is under way
	awaited  int                      // programs on their way
	slowed   map[string]time.Duration // how long hosts rest at least, as the rules say
	kept     []Keep                   // what earlier runs learned, for the valve that may come
	out      []Order
}

// NewEngine returns an Engine that waits for Start.
func NewEngine(cfg EngineConfig) (*Engine, error) {
	order, err := frontier.Order(cfg.Order)
	if err != nil {
		return nil, err
	}
	if cfg.Open > 1<<slotBits {
		return nil, fmt.Errorf("%d open orders: there can be at most %d", cfg.Open, 1<<slotBits)
	}
	cfg.Frontier.Order = order
	e := &Engine{cfg: cfg, traits: order.Traits(), f: frontier.New(cfg.Frontier), estates: estates{own: map[uint16]bool{}}}
	for _, d := range cfg.Demands {
		e.demand(d)
	}
	v, err := newValve(cfg.Bandwidth)
	if err != nil {
		return nil, err
	}
	if cfg.Bandwidth.Set() {
		e.bind(v)
	}
	return e, nil
}

// Step takes one event and returns what is to be done, in order. The slice is
// the Engine's and holds until the next Step. Time never goes back.
func (e *Engine) Step(now page.Time, ev Event) []Order {
	e.out = e.out[:0]
	if e.started {
		c := e.f.Count()
		e.idle.pass(now, c.Idle, e.cfg.Frontier.Conns)
	}
	switch ev := ev.(type) {
	case Start:
		e.start(now, ev)
	case Done:
		e.done(now, ev)
	case Committed:
		e.committed(now, ev)
	case Loaded:
		e.loads--
		e.f.Loaded(now, ev.Batch)
	case Resolved:
		e.resolves--
		e.f.Resolved(now, ev.Host, ev.Addrs, ev.TTL, ev.Outcome)
	case Command:
		e.command(now, ev)
	case Wall:
		e.tell(now, ev)
	case Wire:
		e.measured(now, ev)
	case Ranked:
		e.ranked(ev)
	case Planned:
		e.reserved(now, ev)
	case Redelivered:
		e.again = false
	case Await:
		e.awaited += ev.More
	case Adopted:
		e.adopted(now, ev)
	case Disowned:
		e.disowned(now, ev)
	case Allow:
		e.estates.allowed = ev
	case Hold:
		e.estates.hold = ev
	case Census:
		e.census(now, ev)
	case Relief:
		e.relieve(ev)
	case Leased:
		if ev.CDN {
			e.f.Crowd(ev.Host)
		}
		switch {
		case ev.Others:
			e.f.Sought(ev.Host)
		case ev.Waits:
			e.f.Stands(ev.Host)
		default:
			e.f.Leased(now, ev.Host, ev.Given, ev.In)
		}
	case Tick:
		e.wake = 0
	}
	if e.started && !e.finished {
		e.bounds(now)
		e.limit(now)
		e.attend(now)
		e.pump(now)
	}
	return e.out
}

func (e *Engine) start(now page.Time, ev Start) {
	e.started, e.began, e.idle.at = true, now, now
	e.ranker.version, e.ranker.news = ev.Version, true
	e.totals = ev.Totals
	e.pages, e.bytes = ev.Totals.Fetched, ev.Totals.Bytes
	if ev.Resumed {
		e.f.Resume(now)
	}
	e.recall(ev.Kept)
	e.recallPromises(ev.Promises)
	for _, d := range ev.Domains {
		e.f.Used(d.Domain, d.Pages)
	}
	for _, h := range ev.Hosts {
		e.f.Recall(now, h.Host, h.State, h.Delay)
	}
	for _, w := range ev.Waits {
		e.slow(now, w)
	}
	for _, s := range ev.Sites {
		e.f.Add(now, s)
	}
	e.acquaint(ev.Sites)
	if ev.Stop != "" {
		e.end(StopRule + ev.Stop)
	}
}

func (e *Engine) done(now page.Time, ev Done) {
	fl := e.flights.find(ev.ID)
	if fl == nil || fl.done {
		return
	}
	fl.done = true
	if fl.saved {
		defer e.land(fl)
	}
	if !fl.robots {
		if e.asking--; !fl.vain {
			fl.change += int8(frontier.Ended(fl.counted, ev.Outcome, fl.attempt))
		}
		if ev.Outcome.Row().Answer && ev.Outcome.Final(fl.attempt) {
			e.pages++
			e.bytes += ev.Bytes
			fl.bytes = ev.Bytes
			e.gained(fl.score)
		}
	}
	rate := e.expected(fl.host)
	e.learn(now, fl, ev)
	e.f.Done(now, frontier.Visit{
		Host: fl.host, Site: fl.key.Site, Attempt: fl.attempt, Counted: fl.counted, Vain: fl.vain, Outcome: ev.Outcome, Elapsed: max(ev.Elapsed-ev.Waited, 0), Waited: min(ev.Waited, ev.Elapsed),
		Asked: ev.Asked, KeepAlive: ev.KeepAlive, Left: ev.Left, Idle: ev.Idle, Robots: fl.robots, Rules: ev.Rules, Redirect: ev.Redirect, Hops: fl.hops,
	})
	e.delivered(now, fl, ev, rate)
	if state, changed := e.f.Changed(now, fl.host, fl.key.Site); changed {
		e.out = append(e.out, Save{Host: fl.host, State: state})
	}
}

func (e *Engine) committed(now page.Time, ev Committed) {
	var foreign map[page.SiteID]uint16 // with their partitions: of a fence that the Ledger had not heard of, or about to come
	for _, s := range ev.Sites {
		if e.owns(s) {
			e.f.Add(now, s)
			continue
		}
		if foreign == nil {
			foreign = map[page.SiteID]uint16{}
		}
		foreign[s.ID] = s.Part
	}
	for _, id := range ev.Vain {
		if fl := e.flights.find(id); fl != nil && !fl.saved && !fl.vain {
			e.f.Correct(fl.key.Site, -int64(fl.change))
			fl.vain, fl.change = true, 0
		}
	}
	for _, id := range ev.IDs {
		fl := e.flights.find(id)
		if fl == nil || fl.saved {
			continue
		}
		fl.saved = true
		if fl.settle {
			e.settling--
		}
		if fl.robots {
			e.f.RobotsSaved(fl.key.Site)
		} else {
			e.f.Settled(fl.key)
		}
		e.over(fl)
		if fl.done {
			e.land(fl)
		}
	}
	for _, m := range ev.Moved {
		if _, not := foreign[m.Site]; not {
			continue
		}
		e.f.Move(now, m.Site, m.Old, float64(m.Entry.Score)-float64(m.Was), m.Entry)
	}
	for _, q := range ev.Queued {
		if _, not := foreign[q.Site]; not {
			continue
		}
		e.f.Push(now, q.Site, q.Entry)
	}
	e.acquaint(ev.Sites)
	e.ranker.news = e.ranker.news || len(ev.Queued) > 0
	e.totals = ev.Totals
	if foreign != nil {
		e.later(&ev, foreign)
	}
	for _, h := range ev.Hosts {
		e.f.Recall(now, h.Host, h.State, h.Delay)
	}
	e.handOver(now)
	if ev.Steered {
		e.f.Reload()
	}
	for _, w := range ev.Waits {
		e.slow(now, w)
	}
	if ev.Stop != "" {
		e.end(StopRule + ev.Stop)
	}
}

// slow has a host rest as long as the rules say.
func (e *Engine) slow(now page.Time, w Wait) {
	e.f.Slow(now, w.Host, w.Delay)
	if e.slowed == nil {
		e.slowed = map[string]time.Duration{}
	}
	e.slowed[w.Host] = max(e.slowed[w.Host], w.Delay)
}

// perRedeliver is how many pages are delivered again at a time: what turns up
// meanwhile goes first.
const perRedeliver = 64

func (e *Engine) redeliver() {
	if !e.again {
		e.again = true
		e.out = append(e.out, Redeliver{Pages: perRedeliver})
	}
}

// end lets nothing new start.
func (e *Engine) end(reason string) {
	if e.stop == StopByNobody {
		e.stop = cmp.Or(reason, StopByUser)
		e.f.Stop()
	}
}

// bounds ends the crawl when it has had what the user allowed.
func (e *Engine) bounds(now page.Time) {
	switch c := e.cfg; {
	case e.overdue(now):
		e.estates.late = true
		e.out = append(e.out, Overdue{})
	case c.MaxTime > 0 && now.Sub(e.began) >= c.MaxTime:
		e.end(StopTime)
	case c.MaxPages > 0 && e.pages >= c.MaxPages:
		e.end(StopPages)
	case c.MaxBytes > 0 && e.bytes >= c.MaxBytes:
		e.end(StopBytes)
	}
}

// overdue says that the time has come when a shared crawl ends, if it had not before.
func (e *Engine) overdue(now page.Time) bool {
	return e.cfg.Ends > 0 && !e.estates.late && e.clock.Set() && e.clock.Time(now).UnixNano() >= e.cfg.Ends
}

// pump turns picks of the frontier into orders for as long as there is room for
// their answers.
func (e *Engine) pump(now page.Time) {
	for {
		room := frontier.Room{Fetch: e.room(), Rest: e.rests(), Load: e.cfg.Loads - e.loads, Resolve: e.cfg.Resolves - e.resolves}
		// Half of the room at most, or one dead host with a long queue would
		// keep all others from being asked.
		if room.Settle = min(e.credit(), max(e.cfg.Open/2, 1)-e.settling); e.totals.Steered {
			room.Settle = 0
		}
		p, ok := e.f.Next(now, room)
		if !ok {
			break
		}
		e.order(p)
	}
	if e.flights.n == 0 && e.loads == 0 && !e.again {
		switch {
		case e.stop != StopByNobody:
			e.finish(now, e.stop)
		case (e.totals.Due > 0 || e.totals.Stale || e.totals.Steered) && !e.estates.hold.On:
			e.redeliver()
		case e.f.Count().Waiting == 0 && !e.cfg.Shared && e.awaited == 0:
			e.finish(now, StopDone)
		}
	}
	e.rank()
	if at, ok := e.nextWake(); ok && at != e.wake {
		e.wake = at
		e.out = append(e.out, Wake{At: at})
	}
}

// credit is how many more orders there is room for the answers of.
func (e *Engine) credit() int { return max(e.cfg.Open-e.flights.n, 0) }

// rests reports whether nothing is to be ordered until somebody says so, or it is time.
func (e *Engine) rests() bool {
	return e.valve != nil && e.valve.limit == bandwidth.Off || e.estates.hold.On || e.estates.hold.Enough || e.estates.late
}

// room is how many requests may be ordered now.
func (e *Engine) room() int {
	if e.rests() || e.totals.Steered { // what waits may not be wanted any more
		return 0
	}
	room, begun := int64(e.credit()), e.pages+int64(e.asking)
	if e.cfg.MaxPages > 0 {
		room = min(room, max(e.cfg.MaxPages-begun, 0))
	}
	if e.cfg.Rationed {
		room = min(room, max(e.estates.allowed.Pages-begun, 0))
	}
	if e.cfg.Metered {
		room = min(room, e.affords())
	}
	return int(room)
}

// affords is how many pages may be begun before there are as many bytes as Allow says, if
// they and those under way are as large as the others were: one at least, as long as there
// are fewer and nothing is under way.
func (e *Engine) affords() int64 {
	left := e.estates.allowed.Bytes - e.bytes
	switch mean := e.bytes / max(e.pages, 1); {
	case left <= 0:
		return 0
	case mean == 0:
		return int64(e.cfg.Open)
	default:
		return max((left+mean-1)/mean-int64(e.asking), 0)
	}
}

// nextWake returns when something is due that no answer will bring.
func (e *Engine) nextWake() (page.Time, bool) {
	if e.stop != StopByNobody {
		return 0, false
	}
	at, ok := e.f.Wake()
	if e.cfg.MaxTime > 0 {
		if limit := e.began.Add(e.cfg.MaxTime); !ok || limit < at {
			at, ok = limit, true
		}
	}
	if e.cfg.Ends > 0 && !e.estates.late && e.clock.Set() {
		if limit := e.clock.At.Add(time.Duration(e.cfg.Ends - e.clock.Unix)); !ok || limit < at {
			at, ok = limit, true
		}
	}
	if e.valve != nil && e.valve.until > 0 && (!ok || e.valve.until < at) {
		at, ok = e.valve.until, true
	}
	if look, due := e.nextLook(); due && (!ok || look < at) {
		at, ok = look, true
	}
	return at, ok
}

func (e *Engine) finish(now page.Time, reason string) {
	e.finished = true
	e.end(reason)
	e.settleValve()
	e.settlePromises(now)
	e.out = append(e.out, Finish{Reason: reason})
}

func (e *Engine) order(p frontier.Pick) {
	switch p.Kind {
	case frontier.Fetch, frontier.Robots:
		var change int8
		if p.Kind == frontier.Fetch {
			change = int8(frontier.Begun(p.Entry.Counted))
		}
		id := e.flights.start(flight{
			key: page.Key{Site: p.Site, Hash: p.Entry.Hash}, host: p.Host,
			attempt: p.Entry.Attempt, counted: p.Entry.Counted, change: change, score: p.Entry.Score, robots: p.Kind == frontier.Robots, hops: p.Hops,
		})
		if p.Kind == frontier.Fetch {
			e.asking++
			e.ranker.handed()
		}
		if p.Open && e.valve != nil {
			e.valve.open(p.Host, p.Addr)
		}
		e.out = append(e.out, Fetch{
			ID: id, Host: p.Host, Site: p.Site, URL: p.URL, Addr: p.Addr, Open: p.Open, Last: p.Last,
			Robots: p.Kind == frontier.Robots, Hops: p.Hops, Entry: p.Entry,
		})
	case frontier.Settle:
		id := e.decline(p)
		e.settled(p.Host, p.Outcome)
		e.out = append(e.out, Settle{ID: id, Site: p.Site, Entry: p.Entry, Outcome: p.Outcome})
	case frontier.Give:
		e.out = append(e.out, Give{ID: e.decline(p), Site: p.Site, Entry: p.Entry, To: p.To})
	case frontier.Load:
		e.loads++
		e.out = append(e.out, Load{Site: p.Site, From: p.From, N: p.N})
	case frontier.Resolve:
		e.resolves++
		e.out = append(e.out, Resolve{Host: p.Host})
	case frontier.Lease:
		e.out = append(e.out, Lease{Host: p.Host, Addr: p.Addr, Wait: p.Rest, CDN: p.CDN})
	case frontier.Return:
		e.out = append(e.out, Return{Host: p.Host, Used: p.Used, Rest: p.Rest})
	case frontier.Close:
		if e.valve != nil {
			e.valve.close(p.Host)
		}
		e.out = append(e.out, Close{Host: p.Host})
	}
}

// decline starts an order to end a page without a request.
func (e *Engine) decline(p frontier.Pick) (id uint64) {
	e.settling++
	e.ranker.handed()
	return e.flights.start(flight{
		key: page.Key{Site: p.Site, Hash: p.Entry.Hash}, host: p.Host, settle: true, done: true, change: int8(frontier.Declined(p.Entry.Counted)),
	})
}

// Status is the Engine in numbers, for people and reports.
type Status struct {
	Totals  Totals // durable
	Waiting int64  // pages in queues
	// Unreachable are the pages behind a robots.txt that could not be had in
	// this run. They stay queued, and the next run asks for it again.
	Unreachable int64
	Flying      int     // orders not over yet
	Sites       int     // known, in memory or not
	Active      int     // open connections
	Idle        int     // connections that could be open and are not
	IdleShare   float64 // the same over the run so far: the mean, of 1
	Resting     int     // hosts that wait
	Ready       int     // hosts that could go
	Drift       int64   // must be 0: pages that counters and queues disagree about
	Stop        string
	Link        LinkStatus // zero without a limit
	Promises    []PromiseStatus
	Rest        Rest // zero while something is under way, or could be
}

// Rest says that all hosts with pages rest, and whose turn comes first.
type Rest struct {
	Host  string
	Until page.Time
	Asked time.Duration // how long the rules have the host rest at least; 0: they say nothing
}

// Backlogs tells of every site in memory what waits, in the order of their numbers.
func (e *Engine) Backlogs(tell func(site string, b frontier.Backlog)) {
	e.f.Sites(func(id page.SiteID, name string) { tell(name, e.f.Backlog(id)) })
}

// Status returns the numbers.
func (e *Engine) Status() Status {
	c := e.f.Count()
	var rest Rest
	if host, until, ok := e.f.Rests(); ok && e.flights.n == 0 && c.Ready == 0 && !e.again {
		rest = Rest{host, until, e.slowed[host]}
	}
	return Status{
		Totals: e.totals, Waiting: c.Waiting, Unreachable: c.Asleep, Flying: e.flights.n, Sites: int(e.totals.Sites),
		Active: c.Active, Idle: c.Idle, IdleShare: e.idle.share(), Resting: c.Resting, Ready: c.Ready, Drift: c.Drift, Stop: e.stop, Link: e.linkStatus(),
		Promises: e.promiseStatus(), Rest: rest,
	}
}
