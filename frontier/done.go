package frontier

import (
	"strings"
	"time"

	"weir/page"
	"weir/robots"
)

// Visit is how a request that Next asked for ended.
type Visit struct {
	Host      string
	Site      page.SiteID
	Attempt   uint8 // of the page
	Counted   bool  // the page's, see Entry
	Vain      bool  // it changed nothing: the page had ended already, or waits on as it was
	Outcome   page.Outcome
	Elapsed   time.Duration // from the request to the end of the answer
	Waited    time.Duration // for our own limit, beyond Elapsed: the server had rest then
	Asked     time.Duration // Retry-After
	KeepAlive bool          // the connection is still open
	Left      int           // requests that the server still takes on it; -1 = none, 0 = it did not say
	Idle      time.Duration // how long the server keeps it open without a request; 0 = it did not say
	Robots    bool
	Rules     *robots.Rules // of a robots.txt that was read
	Redirect  page.URL      // of a robots.txt
	Hops      int
}

// Done takes the answer to a Fetch or Robots pick: the host rests, or goes on
// with the next page on the same connection.
func (f *Frontier) Done(now page.Time, v Visit) {
	h := f.visited(v.Host, v.Site)
	l := h.line
	on, errand := l.conn, l.errand
	l.end = now
	row := v.Outcome.Row()
	if row.Answer {
		f.took(h, min(v.Elapsed, page.MaxPause))
	}
	if f.cfg.Auto {
		if row.Answer && !v.Robots {
			f.measure(h, v.Elapsed+v.Waited)
		}
		l.heed(v)
	}
	switch {
	case errand:
		f.stranger(now, h, v.Outcome, v.Asked)
	case row.Dead > 0 || row.Pause != page.Polite && row.Pause != page.NoPause:
		f.fail(now, h, on, v.Outcome, v.Asked)
	case v.Outcome != page.Aborted && v.Outcome != page.EarlyClose: // those say nothing about the host
		on.lost = streak{}
		if c := h.care; c.failures > 0 || c.tried > 0 {
			c.failures, c.tried = 0, 0
		}
	}
	had := true
	s := f.sites.find(v.Site)
	switch {
	case v.Robots:
		had = f.robotsDone(now, s, v, errand)
	case !v.Vain:
		f.use(s, Ended(v.Counted, v.Outcome, v.Attempt))
	}
	c := h.care
	gap, held := f.spacing(h, v.Elapsed)
	more := v.KeepAlive && had && !errand && !f.stopping && c.dead == page.None && on.over == page.None && int(l.pages) < l.most &&
		on.placed > 0 && held && c.failures == 0 && !l.sought
	switch {
	case !more:
		f.hangUp(now, h, v.KeepAlive)
	case gap > 0:
		f.postpone(h, now.Add(gap))
		f.queue(h)
		f.sleep(h)
	default:
		f.hold(h)
	}
}

// took notes how long an answer took. Within the wait it makes no difference.
func (f *Frontier) took(h *host, last time.Duration) {
	if last <= f.cfg.Wait || f.wait(h) == 0 {
		last = 0
	}
	if h.care.last != last {
		f.mind(h).last = last
	}
}

// stranger lets a host rest after an errand. How that ended says something of
// the site that sent us here and nothing of the host's own pages, whoever the
// fault is: else one robots.txt could end another host's crawl.
func (f *Frontier) stranger(now page.Time, h *host, o page.Outcome, asked time.Duration) {
	if l := h.line; (o == page.ConnectFailed || o == page.ConnectTimeout) && len(l.addrs) > 0 {
		f.mind(h).turn(l)
	}
	f.postpone(h, now.Add(o.Rest(f.wait(h), min(asked, page.MaxAsked), 1)))
}

// fail counts a failure against the host and lets it rest for it. When there
// were too many in a row, the site that was visited is given up; without one,
// when the name failed, the host is. A closed port must not cost the pages of
// another.
func (f *Frontier) fail(now page.Time, h *host, on *site, o page.Outcome, asked time.Duration) {
	c, l := f.mind(h), h.line
	if (o == page.ConnectFailed || o == page.ConnectTimeout) && int(c.tried)+1 < min(len(l.addrs), maxTries) {
		// Another address may answer; the name has not failed yet.
		c.tried++
		c.turn(l)
		f.postpone(h, now.Add(f.wait(h)))
		return
	}
	c.failures++
	c.tried = 0
	f.postpone(h, now.Add(o.Rest(f.wait(h), asked, int(c.failures))))
	why := page.DeadHost
	if o.HostFault() {
		why = o // it never answered: say why
	}
	switch {
	case on != nil && on.lost.fatal(o):
		on.over = why
	case on == nil && c.lost.fatal(o):
		c.dead = why
	}
	if asked > page.MaxAsked {
		c.dead = page.DeadHost
	}
}

// hangUp ends a visit: the slot and the address are free again, and the host
// rests. open says that the other side of the order still holds the connection.
func (f *Frontier) hangUp(now page.Time, h *host, open bool) {
	if open {
		f.closes.push(h.name)
	}
	l := h.line
	on := l.conn
	l.conn, l.errand = nil, false
	f.active--
	if h.urge > 0 {
		f.hurried--
	}
	if l.server != nil {
		l.server.active--
		f.call(l.server)
	}
	if on != nil {
		f.cool(on)
	}
	f.postpone(h, l.end.Add(f.wait(h)))
	if !f.keep(now, h) {
		f.unlease(now, h)
	}
	f.queue(h)
	f.rest(now, h)
}

// cool lets a site give back its memory when too many hold some.
func (f *Frontier) cool(s *site) {
	if (f.warm > f.cfg.Hot || f.rules > f.cfg.RulesBytes) && s.warm && s.unsaved == 0 {
		s.chill()
		f.heat(s)
		f.rerank(s)
	}
}

// RobotsVerdict says what the end of a visit to a robots.txt means: follow its
// redirect, or obey the rules, or, when there are none, that it could not be
// had and nothing may be fetched for now (RFC 9309, section 2.3.1).
func RobotsVerdict(o page.Outcome, read *robots.Rules, redirect page.URL, hops int) (rules *robots.Rules, follow bool) {
	switch {
	case o == page.Redirected && !redirect.IsZero() && hops < RobotsHops:
		return nil, true
	case read != nil:
		return read, false
	case o == page.ClientError, o == page.Redirected, o == page.BadRedirect:
		return robots.AllowAll(), false // "unavailable"
	}
	return nil, false // "unreachable"
}

// robotsDone takes a robots.txt, or its absence, for a site. It returns false
// when it could not be had.
func (f *Frontier) robotsDone(now page.Time, s *site, v Visit, abroad bool) bool {
	rules, follow := RobotsVerdict(v.Outcome, v.Rules, v.Redirect, v.Hops)
	if follow {
		h := f.host(strings.Clone(v.Redirect.Host()))
		if h.line.errands.len() >= maxErrands {
			f.robotsFailed(now, s, true, page.RobotsUnreachable)
			return false
		}
		f.dial(h).errands.push(errand{site: s, url: v.Redirect, hops: v.Hops + 1})
		f.refile(h)
		f.wake(now, h)
		return true
	}
	if rules == nil {
		f.robotsFailed(now, s, abroad, v.Outcome)
		return false
	}
	s.asked = 0
	f.obey(now, s, rules, 0)
	f.back(now, s)
	return true
}

// robotsFailed notes that a robots.txt could not be had: nothing of the site
// may be fetched, and it is asked for again later, a few times (RFC 9309,
// section 2.3.1.4). A site whose own host cannot be reached is not given up
// here: the host's failures are counted and say why.
func (f *Frontier) robotsFailed(now page.Time, s *site, abroad bool, o page.Outcome) {
	if s.hot != nil {
		s.hot.rules = nil
	}
	f.heat(s)
	if o == page.Aborted || !abroad && o.HostFault() || s.over != page.None || s.host.care.dead != page.None {
		f.postpone(s.host, now.Add(max(f.wait(s.host), time.Second)))
		f.back(now, s)
		return
	}
	if s.asked++; s.asked >= robotsTries || o == page.DeadHost {
		f.bed(s)
		return
	}
	f.naps.push(&nap{site: s, until: now.Add(min(f.robotsRest()<<(s.asked-1), maxRobotsRest))})
}

// robotsRest is the first rest before a robots.txt is asked for again. It
// shrinks with the wait: servers that one may ask often are one's own.
func (f *Frontier) robotsRest() time.Duration {
	return min(max(time.Second, 60*f.cfg.Wait), robotsRest)
}

// bed leaves a site whose robots.txt was away alone for this run.
func (f *Frontier) bed(s *site) {
	s.asked, s.away = robotsTries, false
	f.work -= s.queued + 1
	f.asleep += s.queued
	s.chill()
	f.heat(s)
}

// back returns a site whose robots.txt was away to its host's queue.
func (f *Frontier) back(now page.Time, s *site) {
	s.away = false
	f.work--
	f.rerank(s)
	f.wake(now, s.host)
}

// visited returns the host of a visit. It is that of the site, as a rule; the
// robots.txt of a site may lie elsewhere.
func (f *Frontier) visited(name string, id page.SiteID) *host {
	if s := f.sites.find(id); s != nil && s.host.name == name {
		return s.host
	}
	return f.hosts[name]
}

// Changed returns what of a host that was visited for a site should survive a
// restart, and whether it differs enough from what it returned before to be
// worth a write.
func (f *Frontier) Changed(now page.Time, name string, id page.SiteID) (HostState, bool) {
	h := f.visited(name, id)
	w := f.wait(h)
	state := HostState{Failures: int(h.care.failures), Last: f.lasting(h.care.last), Rest: max(h.next.Sub(now), 0), Pace: f.keepPace(h)}
	if state.Rest <= w {
		state.Rest = 0 // every host waits that long after a restart
	}
	was := h.care.saved
	if state.Failures == was.Failures && state.Rest == 0 && was.Rest == 0 && state.Last <= was.Last && state.Pace == was.Pace {
		return state, false
	}
	f.mind(h).saved = state
	return state, true
}

// lasting rounds the time of an answer up, so that answers that take about as
// long every time need no new write. One within the wait need not be kept.
func (f *Frontier) lasting(last time.Duration) time.Duration {
	step := f.cfg.Wait
	if step == 0 || last <= step {
		return 0
	}
	for step < last {
		step += step/2 + 1
	}
	return step
}

// Count is the frontier in numbers.
type Count struct {
	Sites   int   // in memory
	Hosts   int   // in memory
	Waiting int64 // entries, errands and robots.txt not yet handed out
	Asleep  int64 // entries that wait for a later run: their robots.txt could not be had
	Ready   int   // hosts whose turn it could be
	Resting int   // hosts that wait
	Active  int   // open connections
	Idle    int   // connections that could be open and are not
	Lent    int   // of these, those of hosts that have leave to be visited, or ask for it
	Drift   int64 // must be 0: see Loaded
}

// Count returns the numbers.
func (f *Frontier) Count() Count {
	return Count{
		Sites: f.sites.n, Hosts: len(f.hosts), Waiting: f.work, Asleep: f.asleep, Ready: f.ready.len(), Resting: f.timers.len(),
		Active: f.active, Idle: f.cfg.Conns - f.active, Lent: f.lent, Drift: f.drift,
	}
}
