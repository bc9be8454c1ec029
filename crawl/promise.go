package crawl

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/plan"
)

// Demand is what somebody wants of a host: all of its pages by a time.
type Demand struct {
	Host     string // with or without www: both are meant
	Deadline int64  // nanoseconds since 1970; 0 takes back what was wanted
	Size     int64  `json:",omitempty"` // bytes of its pages, about; 0 = nobody knows
	Pages    int64  `json:",omitempty"` // the same of their number
}

// Standing is how it stands with a Demand.
type Standing string

const (
	Wished  Standing = ""        // no plan has answered yet
	Held    Standing = "held"    // it is promised, and a share of the link is reserved for it
	Refused Standing = "refused" // it cannot be promised; it is crawled as everything else is
	Broken  Standing = "broken"  // it was promised, and cannot be kept any more
	Kept    Standing = "kept"    // its last page came in time
	Missed  Standing = "missed"  // its deadline is over, and pages are left, or could not be had
)

// ended says that nothing is to be done for it any more, unless pages come up.
func (s Standing) ended() bool { return s == Kept }

const (
	lookPause   = 100 * time.Millisecond // between two looks at the promises
	idleLook    = time.Second            // the same while nothing happens
	planPause   = time.Second            // between two plans, at least
	planTimer   = 30 * time.Second       // and at most
	rowPause    = 30 * time.Second       // between two rows of a promise
	planChange  = 0.1                    // an estimate that changes by this share asks for a new plan
	linkShare   = 0.95                   // of the link may be promised
	maxSteps    = 256                    // of the link, as far as a plan looks ahead
	aimShare    = 0.6                    // of the time to its deadline is what a promise should take
	regain      = 0.05                   // of the time left must be to spare before a broken promise counts as held again
	promiseKey  = "p"                    // how the keys of promises begin, among the rows about the link
	someLimit   = 1e12                   // bytes a second: a link without a limit
	exploration = 20                     // pages after which the size of a site is no mere guess
)

// promises are the deadlines of a crawl: what was wanted, what was promised, and
// how far it is.
//
// A promise that is held has a curve: how many bytes should have come by when.
// Behind it the site is urgent: its pages start before all others, as soon as its
// host has rested, and its bytes come first. At or before it the site takes part
// in the crawl as all others do.
type promises struct {
	all     []*promise
	by      map[string]*promise // by the bare name of the host
	version uint32
	busy    bool // a plan is being made
	stale   bool // something has changed that the plan does not know
	asked   []asked
	planned page.Time // when the last plan was asked for
	looked  page.Time
	urged   []string
	sample  // of all pages
}

// asked is a promise that a plan is being made for.
type asked struct {
	p    *promise
	work float64
	wire float64
	most float64
}

// promise is one of them.
type promise struct {
	promiseRow
	hosts  []string
	sites  []page.SiteID
	left   int64   // pages that are known and not fetched
	most   float64 // bytes a second that its site can bring
	work   float64 // bytes that are left, with caution
	reason string
	done   int64 // when its last page came, nanoseconds since 1970; 0 = it has not

	curve []plan.Rate // in seconds since begun
	begun page.Time
	base  float64 // bytes that had come then
	ends  float64 // of the curve
	at    asked   // when that plan was asked for
	saved page.Time
	fresh bool // something is not saved
}

// promiseRow is what of a promise survives a restart.
type promiseRow struct {
	Demand
	Standing Standing `json:",omitempty"`
	Aim      int64    `json:",omitempty"` // when it should be done, before its deadline
	Lost     int64    `json:",omitempty"` // pages that could not be had since the host is dead
	sample
}

// bare is the name that demands go by.
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// demand takes what somebody wants. A new deadline of a host takes the place of
// the old one.
func (e *Engine) demand(d Demand) {
	ps := &e.promises
	if ps.by == nil {
		ps.by = map[string]*promise{}
	}
	p := ps.by[bare(d.Host)]
	if p == nil {
		if d.Deadline == 0 {
			return
		}
		p = &promise{}
		ps.by[bare(d.Host)] = p
		ps.all = append(ps.all, p)
	}
	if p.Deadline != d.Deadline {
		p.Standing, p.Aim, p.reason, p.done, p.curve = Wished, 0, "", 0, nil
	}
	p.Demand = d
	p.fresh, ps.stale = true, true
}

// promised returns the promise that a host is part of, or nil.
func (e *Engine) promised(host string) *promise {
	if len(e.promises.all) == 0 {
		return nil
	}
	return e.promises.by[bare(host)]
}

// acquaint notes which sites a promise is about.
func (e *Engine) acquaint(sites []frontier.Known) {
	if len(e.promises.all) == 0 {
		return
	}
	for i := range sites {
		host := page.SiteHost(sites[i].Name)
		p := e.promises.by[bare(host)]
		if p == nil {
			continue
		}
		if !slices.Contains(p.sites, sites[i].ID) {
			p.sites = append(p.sites, sites[i].ID)
		}
		if !slices.Contains(p.hosts, host) {
			p.hosts = append(p.hosts, host)
		}
	}
}

// delivered counts an answer towards the promise of its host, and towards what is
// expected of others.
func (e *Engine) delivered(now page.Time, fl *flight, ev Done) {
	ps := &e.promises
	if len(ps.all) == 0 {
		return
	}
	cycle := max(ev.Elapsed-ev.Waited, 0) + e.f.Pause(now, fl.host, fl.key.Site)
	final := ev.Outcome.Final(fl.attempt) && ev.Outcome.Row().Answer
	ps.add(ev, cycle, fl.robots, final)
	if p := ps.by[bare(fl.host)]; p != nil {
		p.add(ev, cycle, fl.robots, final)
		p.fresh = true
	}
}

// lost counts a page of a host that has been given up.
func (e *Engine) lost(host string, o page.Outcome) {
	if p := e.promised(host); p != nil && (o == page.DeadHost || o.HostFault()) {
		p.Lost++
		p.fresh = true
	}
}

// attend looks at the promises, now and then.
func (e *Engine) attend(now page.Time) {
	ps := &e.promises
	if len(ps.all) == 0 || e.clock.Unix == 0 || e.stop != StopByNobody {
		return
	}
	if now < ps.looked.Add(lookPause) && !ps.stale {
		return
	}
	ps.looked = now
	wall := e.clock.Time(now).UnixNano()
	for _, p := range ps.all {
		if p.Deadline != 0 {
			e.look(now, wall, p)
		}
	}
	if !ps.busy && (ps.stale && (ps.version == 0 || now >= ps.planned.Add(planPause)) || now >= ps.planned.Add(planTimer)) {
		e.plan(now, wall)
	}
	e.urge(now, wall)
}

// look works out what is left of a promise, and whether it has ended.
func (e *Engine) look(now page.Time, wall int64, p *promise) {
	over, asleep := len(p.sites) > 0 || e.resumed, false // a site that was done in an earlier run is not told
	p.left = 0
	for _, id := range p.sites {
		b := e.f.Backlog(id)
		p.left += b.Queued + b.Taken
		over = over && b.Over
		asleep = asleep || b.Asleep
	}
	p.most = p.speed(e.pace(p))
	p.work = p.remains(p.left, p.Demand, doubt, &e.promises.sample)
	switch {
	case over && p.Had+p.Lost > 0:
		p.work = 0
		if p.done == 0 {
			p.done = wall
			e.promises.stale = true
			e.conclude(now, p)
		}
	case p.done != 0: // pages of it came up again
		if p.done = 0; p.Standing == Kept {
			p.Standing = Wished
			if p.Aim != 0 {
				p.Standing = Held
			}
		}
		e.promises.stale = true
	case wall > p.Deadline && p.Standing != Missed:
		why := fmt.Sprintf("its deadline is over, and %d pages are left", p.left)
		if asleep {
			why = "its robots.txt could not be had, and nothing may be fetched without"
		}
		e.stand(now, p, Missed, why)
	}
	if p.changed() {
		e.promises.stale = true
	}
	if p.fresh && now >= p.saved.Add(rowPause) {
		e.savePromise(now, p)
	}
}

// conclude ends a promise whose last page has come.
func (e *Engine) conclude(now page.Time, p *promise) {
	switch {
	case p.Standing == Missed:
		e.savePromise(now, p)
	case p.Had == 0 || p.Lost > p.Had/100:
		e.stand(now, p, Missed, fmt.Sprintf("%d of its pages could not be had: the host does not answer", p.Lost))
	case p.done > p.Deadline:
		e.stand(now, p, Missed, "its last page came after the deadline")
	default:
		e.stand(now, p, Kept, "")
	}
}

// changed says that a plan was made for another promise than this is now.
func (p *promise) changed() bool {
	if p.at.p == nil {
		return false
	}
	expected := max(p.at.work-(p.Wire-p.at.wire), 0)
	size := max(expected, p.bytes())
	return math.Abs(p.work-expected) > planChange*size+p.bytes() || math.Abs(p.most-p.at.most) > planChange*p.at.most
}

// plan asks for a plan of all promises that have not ended.
func (e *Engine) plan(now page.Time, wall int64) {
	ps := &e.promises
	ps.stale, ps.planned = false, now
	ps.asked = ps.asked[:0]
	o := Plan{}
	far := 0.0
	for _, p := range ps.all {
		if p.Deadline == 0 || p.Standing.ended() || p.done != 0 || p.Standing == Wished && p.unexplored() {
			continue
		}
		due := float64(p.Deadline-wall) / 1e9
		if due <= 0 {
			due = -1
		}
		far = max(far, due)
		aim := p.Aim
		if aim == 0 {
			aim = wall + int64(aimShare*float64(p.Deadline-wall))
		}
		pr := plan.Promise{
			Site: plan.Site{Name: p.Host, Size: p.work, Deadline: due, Cap: p.most}, Likely: p.remains(p.left, p.Demand, 1, &ps.sample), Aim: float64(aim-wall) / 1e9,
			Held: p.Standing == Held || p.Standing == Broken || p.Standing == Missed, Waits: true,
		}
		o.Promises = append(o.Promises, pr)
		ps.asked = append(ps.asked, asked{p, p.work, p.Wire, p.most})
	}
	if len(o.Promises) == 0 {
		return
	}
	ps.version++
	ps.busy = true
	o.Version, o.Link = ps.version, e.ahead(now, far)
	e.out = append(e.out, o)
}

// ahead is the link as far as a plan must know it, in seconds from now.
func (e *Engine) ahead(now page.Time, far float64) []plan.Step {
	v := e.valve
	if v == nil {
		return []plan.Step{{Rate: someLimit}}
	}
	var steps []plan.Step
	for t := now; len(steps) < maxSteps; {
		rate, good := v.cfg.at(v.clock.Time(t), v.usage)
		steps = append(steps, plan.Step{From: t.Sub(now).Seconds(), Rate: min(linkShare*float64(rate), someLimit)})
		if good <= 0 || t.Sub(now).Seconds() > far {
			break
		}
		t = t.Add(max(good, time.Millisecond))
	}
	if last := &steps[len(steps)-1]; last.Rate <= 0 {
		// A plan needs a link that is open in the end.
		steps = append(steps, plan.Step{From: max(last.From, far) + 1, Rate: 1})
	}
	return steps
}

// reserved takes a plan.
func (e *Engine) reserved(now page.Time, ev Planned) {
	ps := &e.promises
	if !ps.busy || ev.Version != ps.version || len(ev.Reserved) != len(ps.asked) {
		return
	}
	ps.busy = false
	wall := e.clock.Time(now).UnixNano()
	for i, r := range ev.Reserved {
		a := ps.asked[i]
		p := a.p
		if p.Deadline == 0 || p.done != 0 {
			continue
		}
		p.curve, p.begun, p.base, p.ends, p.at = r.Rates, ps.planned, a.wire, r.Done, a
		spare := float64(p.Deadline-wall)/1e9*(1-regain) - r.Done
		switch {
		case p.Standing == Missed:
		case r.Kept && p.Standing == Wished, r.Kept && p.Standing == Refused:
			p.Aim = wall + int64(aimShare*float64(p.Deadline-wall))
			e.stand(now, p, Held, "")
		case r.Kept && p.Standing == Broken && spare > 0:
			e.stand(now, p, Held, "")
		case !r.Kept && p.Standing == Wished:
			e.stand(now, p, Refused, r.Why)
		case !r.Kept && p.Standing == Held:
			e.stand(now, p, Broken, r.Why)
		case !r.Kept:
			p.reason = r.Why
		}
	}
}

// stand announces how it stands with a promise from now on.
func (e *Engine) stand(now page.Time, p *promise, s Standing, why string) {
	p.Standing, p.reason = s, why
	e.out = append(e.out, News{Host: p.Host, Standing: s, Deadline: p.Deadline, Why: why})
	e.savePromise(now, p)
}

// due returns how many bytes should have come by then.
func (p *promise) due(at page.Time) float64 {
	t := at.Sub(p.begun).Seconds()
	sum := p.base
	for _, r := range p.curve {
		if t <= r.From {
			break
		}
		sum += (min(t, r.To) - r.From) * r.Rate
	}
	return sum
}

// lag returns how many bytes a promise is behind, when its next page is counted
// that would come too late otherwise.
func (p *promise) lag(now page.Time) float64 {
	if p.done != 0 || p.Deadline == 0 || p.Standing == Refused {
		return 0
	}
	if p.Standing == Wished || p.unexplored() {
		return p.bytes() // how much there is must be found out first
	}
	next := time.Duration(p.cycle()*float64(time.Second)) + lookPause
	return p.due(now.Add(next)) - p.Wire
}

// unexplored says that too few of its pages have come to promise anything.
func (p *promise) unexplored() bool { return p.Had < exploration && p.done == 0 }

// urge tells whose promises are behind.
func (e *Engine) urge(now page.Time, wall int64) {
	ps := &e.promises
	type behind struct {
		p    *promise
		rate float64
	}
	var late []behind
	for _, p := range ps.all {
		if lag := p.lag(now); lag > 0 {
			late = append(late, behind{p, lag / max(float64(p.Deadline-wall)/1e9, 1)})
		}
	}
	slices.SortStableFunc(late, func(a, b behind) int {
		switch {
		case a.rate > b.rate:
			return -1
		case a.rate < b.rate:
			return 1
		}
		return 0
	})
	var hosts []string
	for _, b := range late {
		hosts = append(hosts, b.p.hosts...)
	}
	if slices.Equal(hosts, ps.urged) {
		return
	}
	ps.urged = hosts
	e.f.Urge(hosts)
	share := Share{}
	for i, h := range hosts {
		share.Hosts = append(share.Hosts, Urgency{Host: h, Urge: float64(len(hosts) - i)})
	}
	e.out = append(e.out, share)
}

// savePromise makes a promise durable.
func (e *Engine) savePromise(now page.Time, p *promise) {
	p.fresh, p.saved = false, now
	key := []byte(promiseKey + bare(p.Host))
	if p.Deadline == 0 {
		e.out = append(e.out, Keep{Key: key})
		return
	}
	value, err := json.Marshal(p.promiseRow)
	if err != nil {
		return // it holds no numbers that could not be written
	}
	e.out = append(e.out, Keep{Key: key, Value: value})
}

// settlePromises keeps all that was learned, at the end.
func (e *Engine) settlePromises(now page.Time) {
	for _, p := range e.promises.all {
		if p.fresh {
			e.savePromise(now, p)
		}
	}
}

// recallPromises takes what an earlier run knew. What the user wants now goes
// before. Rows that do not read are no loss: they are learned anew.
func (e *Engine) recallPromises(rows []Keep) {
	for _, r := range rows {
		var row promiseRow
		if json.Unmarshal(r.Value, &row) == nil && row.Deadline != 0 && row.sane() {
			e.recallPromise(row)
		}
	}
}

func (e *Engine) recallPromise(row promiseRow) {
	p := e.promised(row.Host)
	if p == nil {
		e.demand(row.Demand)
		p = e.promised(row.Host)
	}
	p.sample = row.sample
	if p.Deadline == row.Deadline {
		p.Standing, p.Aim, p.Lost = row.Standing, row.Aim, row.Lost
	}
}

// PromiseStatus is how it stands with a promise, for people and reports.
type PromiseStatus struct {
	Demand
	Standing Standing
	Why      string  // it is not held, or was missed
	ETA      int64   // when its last page should come, or came, nanoseconds since 1970; 0 = nobody knows
	Had      int64   // pages
	Left     int64   // pages that are known
	Bytes    int64   // that came for it
	Expected int64   // and are still to come, with caution
	Rate     float64 // bytes a second that its site can bring
	Risk     Risk
	Xi       float64 // bytes on the wire for a byte of its pages
}

// Risk says how likely it is that a promise breaks.
type Risk string

const (
	NoRisk   Risk = "none" // it is kept
	LowRisk  Risk = "low"
	SomeRisk Risk = "some"
	HighRisk Risk = "high"
	Lost     Risk = "lost" // it is broken, missed or was never given
)

func (e *Engine) promiseStatus() []PromiseStatus {
	ps := &e.promises
	var all []PromiseStatus
	wall := e.clock.Time(ps.looked).UnixNano()
	for _, p := range ps.all {
		if p.Deadline == 0 {
			continue
		}
		s := PromiseStatus{
			Demand: p.Demand, Standing: p.Standing, Why: p.reason, Had: p.Had, Left: p.left, Bytes: int64(p.Wire), Expected: int64(p.work), Rate: p.most,
			Xi: p.xi(&ps.sample), Risk: Lost, ETA: p.done,
		}
		need := p.work / max(p.most, 1)
		if p.done == 0 && p.Standing != Wished && p.Standing != Refused {
			behind := max(p.due(ps.looked)-p.Wire, 0) / max(p.most, 1)
			s.ETA = max(wall+int64((p.ends-ps.looked.Sub(p.begun).Seconds()+behind)*1e9), wall+int64(need*1e9))
		}
		switch share := need / max(float64(p.Deadline-wall)/1e9, 1e-9); {
		case p.Standing == Kept:
			s.Risk = NoRisk
		case p.Standing != Held && p.Standing != Wished:
		case share < 0.5:
			s.Risk = LowRisk
		case share < 0.8:
			s.Risk = SomeRisk
		default:
			s.Risk = HighRisk
		}
		all = append(all, s)
	}
	return all
}

// nextLook returns when the promises must be looked at although nothing happens.
func (e *Engine) nextLook() (page.Time, bool) {
	for _, p := range e.promises.all {
		if p.Deadline != 0 && !p.Standing.ended() && e.clock.Unix != 0 {
			return e.promises.looked.Add(idleLook), true
		}
	}
	return 0, false
}
