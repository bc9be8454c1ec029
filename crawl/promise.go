package crawl

import (
	"fmt"
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
	Wished  Standing = "wished"  // no plan has answered yet
	Held    Standing = "held"    // it is promised, and a share of the link is reserved for it
	Refused Standing = "refused" // it cannot be promised; it is crawled as everything else is
	Broken  Standing = "broken"  // it was promised, and cannot be kept any more
	Kept    Standing = "kept"    // its last page came in time
	Missed  Standing = "missed"  // its deadline is over, and pages are left, or could not be had
)

// class says who goes first of those that are behind: promises that are held, then
// sites that are looked at, then what is lost anyway.
func (s Standing) class() int {
	switch s {
	case Held:
		return 0
	case Wished:
		return 1
	}
	return 2
}

// given says that it was promised, and is not done.
func (p *promise) given() bool {
	return p.Given && (p.Standing == Held || p.Standing == Broken || p.Standing == Missed)
}

const (
	lookPause    = 100 * time.Millisecond // between two looks at the promises
	idleLook     = time.Second            // the same while nothing happens
	planPause    = time.Second            // between two plans, at least
	planTimer    = 30 * time.Second       // and at most
	rowPause     = 30 * time.Second       // between two rows of a promise
	planChange   = 0.1                    // an estimate that changes by this share asks for a new plan
	linkShare    = 0.9                    // of the link may be promised
	maxSteps     = 256                    // of the link, as far as a plan looks ahead
	aimShare     = 0.6                    // of the time to its deadline is what a promise should take
	regain       = 0.05                   // of the time left must be to spare before a broken promise counts as held again
	promiseKey   = "p"                    // how the keys of promises begin, among the rows about the link
	noLimit      = 1e12                   // bytes a second: a link without a limit
	exploration  = 20                     // pages after which the size of a site is no mere guess
	exploring    = 8                      // or this part of the time to its deadline
	lostShare    = 20                     // one page in so many may be lost of a promise that is kept
	promiseSites = 256                    // with work that a promise is about, at most: a host has one for every port
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
	eager   bool // the next look must not wait
	asked   []asked
	planned page.Time // when the last plan was asked for
	looked  page.Time
	urged   []string
	sample  // of all pages
}

// asked is a promise that a plan is being made for.
type asked struct {
	p        *promise
	deadline int64
	work     float64
	wire     float64
	most     float64
}

// promise is one of them.
type promise struct {
	promiseRow
	met      bool // a site of it is, or was, in memory
	sites    []member
	crowded  bool         // there are more of them
	hosts    []string     // of its sites that have pages, two at most
	left     int64        // pages that are known and not fetched
	used     int64        // pages of its sites that were, also before it was wished for
	young    bool         // too few of its pages have come to promise anything
	stuck    string       // why some of them cannot be had in time, if nothing may be asked for
	most     float64      // bytes a second that its site can bring
	work     float64      // bytes that are left, with caution
	wrong    page.Outcome // how its last request failed; None: it did not
	recalled bool         // from an earlier run
	robots   bool         // that was one for robots.txt

	curve []plan.Rate // in seconds since begun
	begun page.Time
	base  float64 // bytes that had come then
	ends  float64 // of the curve
	at    asked   // when that plan was asked for; zero: there is none
	saved page.Time
	fresh bool // something is not saved
}

// member is a site that a promise is about.
type member struct {
	id   page.SiteID
	host string
}

// bare is the name that demands go by.
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// SameSite says that two hosts are one to a demand: with www and without.
func SameSite(a, b string) bool { return bare(a) == bare(b) }

// demand takes what somebody wants. A new deadline of a host takes the place of
// the old one; what was said of its size holds until something else is said.
func (e *Engine) demand(d Demand) {
	ps := &e.promises
	p := ps.by[bare(d.Host)]
	ps.stale, ps.eager = true, true
	switch {
	case d.Deadline == 0:
		if p != nil {
			e.withdraw(p)
		}
		return
	case p == nil:
		if ps.by == nil {
			ps.by = map[string]*promise{}
		}
		p = &promise{}
		ps.by[bare(d.Host)] = p
		ps.all = append(ps.all, p)
	}
	d.Deadline = max(d.Deadline, 1)
	if d.Size <= 0 && d.Pages <= 0 {
		d.Size, d.Pages = p.Size, p.Pages
	}
	if p.Deadline != d.Deadline {
		p.forget()
	}
	p.Demand = d
	p.fresh, p.saved = true, 0
}

// withdraw forgets a promise, durably.
func (e *Engine) withdraw(p *promise) {
	ps := &e.promises
	delete(ps.by, bare(p.Host))
	ps.all = slices.DeleteFunc(ps.all, func(q *promise) bool { return q == p })
	p.Deadline = 0 // for a plan that is being made
	e.dropPromise(p.Host)
}

// others says that a promise is other nodes' to give and to keep: none of its sites
// is this one's, or none that has had pages.
func (e *Engine) others(p *promise) bool { return e.cfg.Shared && !p.met }

// leave takes the sites of partitions, in order, out of promises. What others have
// to keep from now on they promise anew.
func (e *Engine) leave(now page.Time, parts []uint16) {
	for _, p := range e.promises.all {
		n := len(p.sites)
		p.sites = slices.DeleteFunc(p.sites, func(m member) bool {
			_, gone := slices.BinarySearch(parts, e.f.Part(m.id))
			return gone
		})
		if len(p.sites) == n {
			continue
		}
		e.promises.stale, e.promises.eager = true, true
		if p.met = len(p.sites) > 0; !p.met {
			p.left, p.hosts = 0, p.hosts[:0]
			if p.Standing != Kept && p.Standing != Missed {
				p.forget()
			}
			e.savePromise(now, p)
		}
	}
}

// forget begins anew with a promise, but for what was learned of its site.
func (p *promise) forget() {
	p.Standing, p.Given, p.Since, p.Aim, p.Why, p.Cause, p.Done, p.curve, p.at = Wished, false, 0, 0, "", "", 0, nil, asked{}
}

// promised returns the promise that a host is part of, or nil.
func (e *Engine) promised(host string) *promise {
	if len(e.promises.all) == 0 {
		return nil
	}
	return e.promises.by[bare(host)]
}

// acquaint notes which sites promises are about.
func (e *Engine) acquaint(sites []frontier.Known) {
	if len(e.promises.all) == 0 {
		return
	}
	for i := range sites {
		if e.owns(sites[i]) {
			e.meet(sites[i].ID, sites[i].Name)
		}
	}
}

// meet notes that a site has work, if a promise is about it. Those that are over
// make room for others: they are named again when there are pages.
func (e *Engine) meet(id page.SiteID, name string) {
	host := page.SiteHost(name)
	p := e.promises.by[bare(host)]
	if p == nil {
		return
	}
	p.met = true
	if slices.ContainsFunc(p.sites, func(m member) bool { return m.id == id }) {
		return
	}
	if len(p.sites) == promiseSites {
		p.sites = slices.DeleteFunc(p.sites, func(m member) bool { return e.f.Backlog(m.id).Pages() == 0 })
	}
	if len(p.sites) == promiseSites {
		p.crowded = true
		return
	}
	p.sites = append(p.sites, member{id, host})
}

// delivered counts an answer towards the promise of its host, and towards what is
// expected of others.
func (e *Engine) delivered(now page.Time, fl *flight, ev Done, rate float64) {
	ps := &e.promises
	if len(ps.all) == 0 {
		return
	}
	pause := e.f.Pause(now, fl.host, fl.key.Site)
	own := ev.own(rate)
	final := ev.Outcome.Final(fl.attempt) && ev.Outcome.Row().Answer
	ps.add(ev, own, pause, fl.robots, final)
	if p := ps.by[bare(fl.host)]; p != nil {
		p.add(ev, own, pause, fl.robots, final)
		p.fresh = true
		p.wrong, p.robots = page.None, fl.robots
		if row := ev.Outcome.Row(); !row.Answer || row.Retries > 0 && !row.Kept {
			p.wrong = ev.Outcome
		}
		if !fl.robots && ev.Outcome.Final(fl.attempt) {
			p.end(ev.Outcome)
		}
	}
}

// own returns how long the server itself took for an answer. While our own limit
// slows it, it sends when it may and waits when we do: what is left of the time
// without our waits is then less than it would take by itself, so it is what the
// rate that was expected of it says, if that is longer.
func (ev *Done) own(rate float64) time.Duration {
	net := max(ev.Elapsed-ev.Waited, 0)
	if !ev.Throttled || rate <= 0 {
		return net
	}
	alone := float64(max(ev.Wire, ev.Bytes)) / rate * float64(time.Second)
	return max(net, time.Duration(min(alone, float64(max(ev.Elapsed, 0)))))
}

// settled counts a page that ended without a request.
func (e *Engine) settled(host string, o page.Outcome) {
	p := e.promised(host)
	if p == nil {
		return
	}
	p.fresh = true
	p.end(o)
}

// end counts a page that ended. One that the server did not give, although it may
// have it, is lost.
func (p *promise) end(o page.Outcome) {
	p.Ended++
	row := o.Row()
	switch {
	case row.Kept, o == page.Redirected, o == page.ClientError, o == page.BadRedirect, o == page.Bomb:
	case row.Pause == page.NoPause && o != page.DeadHost && o != page.PrivateAddress: // we did not want it
	default:
		p.Lost++
	}
}

// over says that a request or a settlement is durable: the last of a promise is
// noticed at once.
func (e *Engine) over(fl *flight) {
	if e.promised(fl.host) != nil && e.f.Backlog(fl.key.Site).Pages() == 0 {
		e.promises.eager = true
	}
}

// attend looks at the promises, now and then.
func (e *Engine) attend(now page.Time) {
	ps := &e.promises
	if len(ps.all)+len(ps.urged) == 0 || e.clock.Unix == 0 || e.stop != StopByNobody || !ps.eager && now < ps.looked.Add(lookPause) {
		return
	}
	ps.looked, ps.eager = now, false
	wall := e.clock.Time(now).UnixNano()
	for _, p := range ps.all {
		e.look(now, wall, p)
	}
	if !ps.busy && (ps.stale && (ps.version == 0 || now >= ps.planned.Add(planPause)) || now >= ps.planned.Add(planTimer)) {
		e.plan(now, wall)
	}
	e.urge(now, wall)
}

// look works out what is left of a promise, and whether it has ended.
func (e *Engine) look(now page.Time, wall int64, p *promise) {
	if e.others(p) {
		return
	}
	if e.count(now, wall, p); p.left == 0 && p.crowded {
		p.sites, p.crowded = p.sites[:0], false
		e.f.Sites(e.meet)
		e.count(now, wall, p)
	}
	if p.Since == 0 {
		p.Since = wall
	}
	p.young = p.Had < exploration && !p.aged(wall)
	p.most = p.speed(e.pace(p))
	p.work = p.remains(p.left, p.Demand, doubt, &e.promises.sample)
	switch {
	case p.left == 0 && (p.met || p.Ended > 0):
		p.work = 0
		if p.Done == 0 {
			p.Done = wall
			e.promises.stale = true
			e.conclude(now, p)
		}
	case p.Done != 0 && (p.Standing != Kept || wall <= p.Deadline): // pages of it came up again
		if p.Done = 0; p.Standing == Kept {
			p.Standing = Wished
			if p.Aim != 0 {
				p.Standing = Held
			}
		}
		p.fresh, e.promises.stale = true, true
	}
	if p.Done == 0 {
		e.judge(now, wall, p)
	}
	if p.changed() || p.tight(wall) {
		e.promises.stale = true
	}
	if p.fresh && (p.saved == 0 || now >= p.saved.Add(rowPause)) {
		e.savePromise(now, p)
	}
}

// count adds up the pages of a promise's sites.
func (e *Engine) count(now page.Time, wall int64, p *promise) {
	p.left, p.used, p.stuck, p.hosts = 0, 0, "", p.hosts[:0]
	for _, m := range p.sites {
		b := e.f.Backlog(m.id)
		p.left += b.Pages()
		p.used += b.Used
		if b.Pages() == 0 {
			continue
		}
		if b.Asleep {
			p.stuck = "its robots.txt could not be had, and nothing may be fetched without"
		} else if rest := e.f.Pause(now, m.host, m.id); wall <= p.Deadline && wall+int64(rest) > p.Deadline && b.Queued > 0 {
			p.stuck = fmt.Sprintf("it is left alone for %v, as it asks or since it does not answer", rest.Round(time.Second))
		}
		if !slices.Contains(p.hosts, m.host) {
			p.hosts = append(p.hosts, m.host)
		}
	}
}

// judge says what can be said of a promise without a plan.
func (e *Engine) judge(now page.Time, wall int64, p *promise) {
	why := p.stuck
	switch {
	case why != "":
	case p.left == 0:
		why = "no page of it is known"
	case p.left == 1:
		why = "its deadline is over, and one page is left"
	default:
		why = fmt.Sprintf("its deadline is over, and %d pages are left", p.left)
	}
	switch {
	case wall > p.Deadline && p.Standing != Missed:
		e.stand(now, p, Missed, p.because(why))
	case p.stuck != "" || e.stop == StopDone: // it is left alone in this run
		e.fail(now, p, why)
	case p.left == 0 && p.aged(wall): // nobody has heard of it
		e.fail(now, p, why)
	case p.Had == 0 && p.aged(wall) && p.Standing == Wished:
		e.fail(now, p, "none of its pages has come so far")
	}
}

// because adds why it came to this, if that was known before.
func (p *promise) because(why string) string {
	if p.Cause == "" || p.Cause == why {
		return why
	}
	return why + ": " + p.Cause
}

// aged says that a site has been looked at for long enough.
func (p *promise) aged(wall int64) bool { return wall-p.Since >= (p.Deadline-p.Since)/exploring }

// fail says that a promise cannot be kept, or given.
func (e *Engine) fail(now page.Time, p *promise, why string) {
	if p.wrong != page.None && p.stuck == "" {
		what := ""
		if p.robots {
			what = " for its robots.txt"
		}
		why += fmt.Sprintf("; the last request%s ended as %s (%s)", what, p.wrong, p.wrong.Row().What)
	}
	p.Cause = why
	switch p.Standing {
	case Wished:
		e.stand(now, p, Refused, why)
	case Held:
		e.stand(now, p, Broken, why)
	case Refused, Broken:
		p.Why = why
	}
}

// conclude ends a promise whose last page has come.
func (e *Engine) conclude(now page.Time, p *promise) {
	switch {
	case p.Standing == Missed && (p.Done <= p.Deadline || p.Had+p.used == 0):
		e.savePromise(now, p) // all is said
	case p.Lost*lostShare > p.Ended:
		e.stand(now, p, Missed, fmt.Sprintf("%d of its %d pages could not be had", p.Lost, p.Ended))
	case p.Had+p.used == 0:
		e.stand(now, p, Missed, "none of its pages could be had")
	case p.Done > p.Deadline:
		late := max(time.Duration(p.Done-p.Deadline).Round(time.Second), time.Second)
		e.stand(now, p, Missed, p.because(fmt.Sprintf("its last page came %v after the deadline", late)))
	default:
		why := ""
		if p.Lost > 0 {
			why = fmt.Sprintf("%d of its %d pages could not be had", p.Lost, p.Ended)
		}
		e.stand(now, p, Kept, why)
	}
}

// stand announces how it stands with a promise from now on.
func (e *Engine) stand(now page.Time, p *promise, s Standing, why string) {
	p.Standing, p.Why = s, why
	if s == Held {
		p.Given, p.Cause = true, ""
	}
	e.out = append(e.out, News{Host: p.Host, Standing: s, Deadline: p.Deadline, Why: why})
	e.savePromise(now, p)
}

// nextLook returns when the promises must be looked at although nothing happens.
func (e *Engine) nextLook() (page.Time, bool) {
	if e.clock.Unix == 0 {
		return 0, false
	}
	for _, p := range e.promises.all {
		if p.Done == 0 && !e.others(p) {
			return e.promises.looked.Add(idleLook), true
		}
	}
	return 0, false
}
