package crawl

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"time"

	"weir/bandwidth"
	"weir/page"
)

// Limits say how many bytes a second may flow, and when. All that are set hold.
type Limits struct {
	Rate      int64               `json:",omitempty"` // bytes a second at all times; 0 or bandwidth.Unlimited = none
	Timetable bandwidth.Timetable `json:",omitzero"`
	Quota     bandwidth.Quota     `json:",omitzero"`
}

// Set says whether there is a limit of any kind.
func (l Limits) Set() bool {
	return l.Rate > 0 && l.Rate < bandwidth.Unlimited || l.Timetable.Set() || l.Quota.Set()
}

// Bandwidth are the settings of the link. Without limits nothing is predicted
// and every page may start.
type Bandwidth struct {
	Limits
	Control   string `json:",omitempty"` // what decides which page starts: weir, paper or reactive; "" = weir
	Lookahead int    `json:",omitempty"` // how far down the queue is searched for what may start (max_d); 0 = 64
	Predictor bandwidth.PredictorConfig
	Holidays  string `json:",omitempty"` // dates, one a line, that the Predictor takes for holidays
}

const (
	defaultLookahead = 64
	maxKeeps         = 16               // rows about the link that one event may cause
	usagePause       = 10 * time.Second // between two rows of what was used of the quota
	missGain         = 0.05
	maxTrips         = 1 << 14
	usageKey         = "q" // among the rows about the link; the Predictor has none of this name
)

// valve is the Engine's side of the limit: how much may flow now, what is under
// way, and what it is expected to bring. It is the frontier's Gate.
type valve struct {
	cfg       Bandwidth
	control   bandwidth.Control
	predictor *bandwidth.Predictor
	book      bandwidth.Book
	charges   map[string]charge // of open connections, by host
	trips     map[netip.Addr]time.Duration
	clock     bandwidth.Clock
	now       page.Time
	wire      bandwidth.Wire
	limit     int64     // as ordered last
	ordered   bool      // there was an order
	until     page.Time // the limit is good until then; 0 = until it is changed
	stale     bool      // the limits, the clock or the usage changed
	usage     bandwidth.Usage
	used      int64     // of wire.Bytes, counted in usage
	saved     page.Time // when usage was
	unsaved   bool
	miss      float64 // mean error of predictions, natural logarithm
	last      charge  // the one that Fits was asked about last, and whose
	host      string
	counted   int64     // of wire.Bytes, when wanted was asked last
	asked     page.Time // when that was
}

// charge is what one connection is expected to bring.
type charge struct {
	ticket int
	addr   netip.Addr
	rate   float64
}

func newValve(cfg Bandwidth) (*valve, error) {
	control, err := bandwidth.NewControl(cfg.Control)
	if err != nil {
		return nil, err
	}
	if cfg.Rate < 0 {
		return nil, fmt.Errorf("a limit of %d bytes a second", cfg.Rate)
	}
	if cfg.Holidays != "" {
		if cfg.Predictor.Holidays, err = bandwidth.ParseHolidays(cfg.Holidays); err != nil {
			return nil, err
		}
	}
	if err := cfg.Predictor.Check(); err != nil {
		return nil, fmt.Errorf("set the predictor up: %w", err)
	}
	if cfg.Lookahead == 0 {
		cfg.Lookahead = defaultLookahead
	}
	return &valve{
		cfg: cfg, control: control, predictor: bandwidth.NewPredictor(cfg.Predictor), stale: true,
		charges: map[string]charge{}, trips: map[netip.Addr]time.Duration{},
	}, nil
}

// bind lets the valve decide from now on what starts, by what is known.
func (e *Engine) bind(v *valve) {
	e.valve = v
	v.clock = e.clock
	e.recall(e.kept)
	e.kept = nil
	e.f.Admit(v, v.cfg.Lookahead)
}

// Open implements frontier.Gate. What is urgent need not wait for others to end, since its bytes come before
// theirs; but the baselines, which have no cap, hold the limit by what they start.
func (v *valve) Open(ahead int, urgent bool) bool {
	return urgent && v.capped() && v.limit > 0 || v.control.Open(&v.book, ahead)
}

func (v *valve) capped() bool { return cmp.Or(v.cfg.Control, "weir") == "weir" }

// Fits implements frontier.Gate.
func (v *valve) Fits(host string, addr netip.Addr) bool {
	v.predict(host, addr)
	return v.control.Fits(&v.book, v.last.rate)
}

func (v *valve) predict(host string, addr netip.Addr) {
	est := v.predictor.Rate(v.clock.Time(v.now), addr, page.Domain(host))
	v.host, v.last = host, charge{addr: addr, rate: est.Rate}
}

// open enters a connection in the book.
func (v *valve) open(host string, addr netip.Addr) {
	if v.host != host || v.last.addr != addr {
		v.predict(host, addr)
	}
	c := v.last
	c.ticket = v.book.Start(bandwidth.Load{Rate: c.rate, RTT: v.trips[addr]})
	v.charges[host] = c
}

// expected is the rate at which the open connection to a host should bring bytes;
// 0 = nobody knows.
func (e *Engine) expected(host string) float64 {
	if e.valve == nil {
		return 0
	}
	return e.valve.charges[host].rate
}

// close strikes it out. One from before there was a limit is not there.
func (v *valve) close(host string) {
	if c, ok := v.charges[host]; ok {
		v.book.End(c.ticket)
		delete(v.charges, host)
	}
}

// command sets new limits or deadlines, or ends the crawl.
func (e *Engine) command(now page.Time, ev Command) {
	if e.finished {
		return
	}
	for _, d := range ev.Demands {
		e.demand(d)
	}
	if len(ev.Demands) > 0 && e.started {
		e.f.Sites(e.meet)
	}
	if ev.Limits == nil && len(ev.Demands) == 0 || ev.Stop != "" || ev.Now {
		e.end(ev.Stop)
	}
	if ev.Now && e.started && !e.finished {
		e.finish(now, e.stop)
		return
	}
	if ev.Limits == nil || ev.Limits.Rate < 0 {
		return
	}
	if e.valve == nil {
		cfg := e.cfg.Bandwidth
		cfg.Limits = *ev.Limits
		v, err := newValve(cfg)
		if err != nil {
			return // it would have failed in NewEngine
		}
		e.bind(v)
	}
	e.valve.cfg.Limits, e.valve.stale = *ev.Limits, true
	e.promises.stale = true
}

// tell sets the clock.
func (e *Engine) tell(now page.Time, ev Wall) {
	e.clock = bandwidth.Clock{Unix: ev.Unix, Offset: ev.Offset, At: now}
	if e.valve != nil {
		e.valve.clock, e.valve.stale = e.clock, true
	}
	e.promises.stale, e.promises.eager = true, true
}

// recall takes what earlier runs learned, and holds it for as long as there is no
// limit: what they used of a quota counts also for one that is set later. Rows
// that do not read are no loss: they are learned anew.
func (e *Engine) recall(rows []Keep) {
	if e.valve == nil {
		e.kept = rows
		return
	}
	for _, r := range rows {
		if string(r.Key) == usageKey {
			e.valve.usage, _ = bandwidth.LoadUsage(r.Value)
			continue
		}
		_ = e.valve.predictor.Load(bandwidth.Row{Key: string(r.Key), Value: r.Value})
	}
}

// measured takes what the wire did.
func (e *Engine) measured(now page.Time, ev Wire) {
	v := e.valve
	if v == nil || e.finished {
		return
	}
	v.now, v.wire = now, ev.Wire
	// The limiter may not have heard of the last limit when it reported.
	v.wire.Limit = min(v.wire.Limit, float64(v.limit))
	v.control.Measured(now, &v.book, v.wire)
	if n := ev.Bytes - v.used; n > 0 && v.cfg.Quota.Set() {
		v.usage = v.usage.Add(v.cfg.Quota, v.clock.Time(now), n)
		v.unsaved = true
	}
	v.used = ev.Bytes
	if v.unsaved && now.Sub(v.saved) >= usagePause {
		e.saveUsage(now)
		v.stale = true
	}
}

func (e *Engine) saveUsage(now page.Time) {
	v := e.valve
	v.saved, v.unsaved = now, false
	e.out = append(e.out, Keep{[]byte(usageKey), v.usage.Save()})
}

// limit works out how much may flow now, and orders it when it has changed.
func (e *Engine) limit(now page.Time) {
	v := e.valve
	if v == nil {
		return
	}
	v.now = now
	if !v.stale && (v.until == 0 || now < v.until) {
		return
	}
	rate, good := v.cfg.at(v.clock.Time(now), v.usage)
	v.stale, v.until = false, 0
	if good > 0 {
		v.until = now.Add(max(good, time.Millisecond))
	}
	if v.ordered && rate == v.limit {
		return
	}
	v.ordered, v.limit = true, rate
	e.promises.stale = true
	v.wire.Limit, v.wire.Idle, v.wire.Backlog = float64(rate), 0, 0 // nothing is known of the new one yet
	v.control.Measured(now, &v.book, v.wire)
	e.out = append(e.out, Limit{Rate: rate})
}

// steady returns the limit at a time of day, whatever a quota leaves of it, and for
// how long it is good; 0 = for as long as the limits are the same.
func (l Limits) steady(t time.Time) (rate int64, good time.Duration) {
	rate = cmp.Or(l.Rate, bandwidth.Unlimited)
	if l.Timetable.Set() {
		r, until := l.Timetable.At(t)
		rate, good = min(rate, r), until.Sub(t)
	}
	return rate, good
}

// at returns the limit at a time of day, and for how long it is good; 0 = for as
// long as the limits are the same.
func (l Limits) at(t time.Time, usage bandwidth.Usage) (rate int64, good time.Duration) {
	rate, good = l.steady(t)
	if l.Quota.Set() {
		r, until := l.Quota.At(t, usage.Used(l.Quota, t), l.Timetable)
		d := until.Sub(t)
		if good > 0 {
			d = min(d, good)
		}
		rate, good = min(rate, r), d
	}
	return rate, good
}

// learn takes what a download showed of its server, and ends its entry in the
// book when its connection is closed.
func (e *Engine) learn(now page.Time, fl *flight, ev Done) {
	v := e.valve
	if v == nil {
		return
	}
	v.now = now
	c, known := v.charges[fl.host]
	if !ev.KeepAlive {
		v.close(fl.host)
	}
	bytes := max(ev.Wire, ev.Bytes)
	if !known || !c.addr.IsValid() || !ev.Outcome.Row().Answer || bytes <= 0 || ev.Elapsed <= 0 {
		return
	}
	if ev.RTT > 0 {
		if len(v.trips) >= maxTrips {
			clear(v.trips)
		}
		v.trips[c.addr] = ev.RTT
	}
	if !ev.Throttled {
		miss := math.Abs(math.Log(float64(bytes) / ev.Elapsed.Seconds() / c.rate))
		if v.miss == 0 {
			v.miss = miss
		}
		v.miss += float64(missGain * (miss - v.miss))
	}
	v.predictor.Learn(v.clock.Time(now), c.addr, page.Domain(fl.host), bandwidth.Measure{
		Bytes: bytes, Elapsed: ev.Elapsed, First: ev.First, Throttled: ev.Throttled,
	})
	e.keep(v.predictor.Dirty(maxKeeps))
}

func (e *Engine) keep(rows []bandwidth.Row) {
	for _, r := range rows {
		e.out = append(e.out, Keep{[]byte(r.Key), r.Value})
	}
}

// settleValve keeps all that was learned, at the end.
func (e *Engine) settleValve() {
	if e.valve == nil {
		return
	}
	e.keep(e.valve.predictor.Unsaved())
	if e.valve.unsaved {
		e.saveUsage(e.valve.now)
	}
}

const (
	fullShare = 0.85 // of the limit: who uses so much could use more
	spare     = 1.25 // what others leave alone, over what is used
	growth    = 4    // what is asked for in place of a share that is full: who fills a small one need not want all
)

// wanted returns how many bytes a second could be used, as far as is known since it
// was asked last: about as many as were, if the limit is not in the way.
func (v *valve) wanted(now page.Time) float64 {
	used := float64(v.wire.Bytes-v.counted) / max(now.Sub(v.asked).Seconds(), 1e-3)
	v.counted, v.asked = v.wire.Bytes, now
	limit := float64(v.limit)
	if used >= fullShare*limit || float64(v.wire.Backlog) >= limit/2 && v.wire.Backlog > 0 {
		return min(growth*limit, noLimit)
	}
	return spare * used
}

// LinkStatus is the link in numbers.
type LinkStatus struct {
	Control  string
	Limit    int64   // bytes a second that may flow now
	Rate     float64 // that do
	Expected float64 // that the downloads under way should bring, as the control counts
	Running  int     // downloads under way
	Servers  int     // of which something is known
	Miss     float64 // how far off predictions are, on the mean: as a natural logarithm, 0.7 is twice or half
	Used     int64   // of the quota, in its period
}

func (e *Engine) linkStatus() LinkStatus {
	v := e.valve
	if v == nil {
		return LinkStatus{}
	}
	s := LinkStatus{
		Control: cmp.Or(v.cfg.Control, "weir"), Limit: v.limit, Rate: v.wire.Rate, Expected: v.control.Expected(&v.book), Running: v.book.Len(),
		Servers: v.predictor.Len(), Miss: v.miss,
	}
	if v.cfg.Quota.Set() {
		s.Used = v.usage.Used(v.cfg.Quota, v.clock.Time(v.now))
	}
	return s
}
