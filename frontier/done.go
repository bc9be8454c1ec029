package frontier

import (
	"time"

	"weir/page"
	"weir/robots"
)

// Visit is how a request that Next asked for ended.
type Visit struct {
	Host      string
	Site      page.SiteID
	Outcome   page.Outcome
	Elapsed   time.Duration // from the request to the end of the answer
	Asked     time.Duration // Retry-After
	KeepAlive bool          // the connection is still open
	Robots    bool
	Rules     *robots.Rules // of a robots.txt that was read
	Redirect  page.URL      // of a robots.txt
	Hops      int
}

// Done takes the answer to a Fetch or Robots pick: the host rests, or goes on
// with the next page on the same connection.
func (f *Frontier) Done(now page.Time, v Visit) {
	h := f.hosts[v.Host]
	on := h.conn
	switch v.Outcome.Row().Pause {
	case page.Polite, page.NoPause:
		if v.Outcome != page.Aborted && v.Outcome != page.EarlyClose {
			h.failures, h.tried, h.last = 0, 0, v.Elapsed
		}
		h.next = now.Add(v.Outcome.Rest(f.wait(h), 0, 0))
		if v.Outcome.Row().Dead > 0 {
			f.fail(now, h, v.Outcome, 0)
		}
	default:
		h.last = max(v.Elapsed, 0)
		f.fail(now, h, v.Outcome, v.Asked)
	}
	if v.Robots {
		f.robotsDone(now, f.sites[v.Site], v)
	}
	more := v.KeepAlive && on != errandSite && !f.stopping && h.dead == page.None && h.pages < f.cfg.PerConn &&
		on.placed > 0 && h.delay <= f.cfg.Holdable && h.failures == 0
	if !more {
		f.hangUp(now, h, v.KeepAlive)
		return
	}
	if h.delay > 0 {
		h.next = now.Add(h.delay)
		h.state = resting
		f.turn++
		h.turn = f.turn
		f.timers.push(h)
		return
	}
	h.state = holding
	f.open.push(h)
}

// fail counts a failure against the host and lets it rest for it.
func (f *Frontier) fail(now page.Time, h *host, o page.Outcome, asked time.Duration) {
	if (o == page.ConnectFailed || o == page.ConnectTimeout) && h.tried+1 < len(h.addrs) {
		// Another address may answer; the name has not failed yet.
		h.tried++
		h.try = (h.try + 1) % len(h.addrs)
		h.next = now.Add(f.wait(h))
		return
	}
	h.failures++
	h.tried = 0
	h.next = max(h.next, now.Add(o.Rest(f.wait(h), asked, h.failures)))
	if dead := o.Row().Dead; dead > 0 && h.failures >= int(dead) || asked > page.MaxAsked {
		h.dead = page.DeadHost
		if o.HostFault() {
			h.dead = o // it never answered: say why
		}
	}
}

// hangUp ends a visit: the slot and the address are free again. open says that
// the other side of the order still holds the connection.
func (f *Frontier) hangUp(now page.Time, h *host, open bool) {
	if open {
		f.closes.push(h.name)
	}
	on := h.conn
	h.conn = nil
	f.active--
	srv := h.server
	srv.active--
	if srv.waiting.len() > 0 && srv.active < f.roomOf(srv) {
		w := srv.waiting.pop()
		w.state = ready
		f.ready.push(w)
	}
	if f.warm > f.cfg.Hot && on != errandSite && on.taken == 0 && !on.unsaved && !on.loading {
		on.chill()
		f.heat(on)
		f.rerank(on)
	}
	f.rest(now, h)
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

// robotsDone takes a robots.txt, or its absence, for a site.
func (f *Frontier) robotsDone(now page.Time, s *site, v Visit) {
	rules, follow := RobotsVerdict(v.Outcome, v.Rules, v.Redirect, v.Hops)
	switch {
	case follow:
		h := f.host(v.Redirect.Host())
		h.errand = append(h.errand, errand{site: s, url: v.Redirect, hops: v.Hops + 1})
		if h.state == ready {
			f.ready.fix(h)
		}
		f.wake(now, h)
	case rules != nil:
		f.learn(now, s, rules)
		f.back(now, s)
	default:
		f.robotsFailed(now, s, v.Outcome)
	}
}

func (f *Frontier) learn(now page.Time, s *site, r *robots.Rules) {
	s.rules, s.until, s.asked, s.unsaved = r, now.Add(RobotsAge), 0, true
	s.host.delay = max(s.host.delay, r.CrawlDelay())
	f.heat(s)
}

// robotsFailed notes that a robots.txt could not be had: nothing of the site
// may be fetched, and it is asked for again after the host's rest (RFC 9309,
// section 2.3.1.4).
func (f *Frontier) robotsFailed(now page.Time, s *site, o page.Outcome) {
	s.rules = nil
	f.heat(s)
	if o != page.Aborted {
		s.asked++
	}
	if s.asked >= robotsTries || o == page.DeadHost {
		s.over = page.RobotsUnreachable
	}
	h := s.host
	// After an errand it was another host that failed: this one rests too,
	// longer every time, before the way there is tried again.
	h.next = max(h.next, now.Add(page.ServerError.Rest(max(f.wait(h), time.Second), 0, s.asked)))
	if h.state == resting {
		f.timers.fix(h)
	}
	f.back(now, s)
}

// back returns a site whose robots.txt was away to its host's queue.
func (f *Frontier) back(now page.Time, s *site) {
	s.away = false
	f.work--
	f.rerank(s)
	f.wake(now, s.host)
}

// Changed returns what of a host should survive a restart, and whether it
// differs enough from what it returned before to be worth a write.
func (f *Frontier) Changed(now page.Time, name string) (HostState, bool) {
	h := f.hosts[name]
	w := f.wait(h)
	state := HostState{Failures: h.failures, Last: h.last, Rest: max(h.next.Sub(now), 0)}
	if state.Rest <= w {
		state.Rest = 0 // every host waits that long after a restart
	}
	if state.Last < 2*f.cfg.Wait {
		state.Last = 0
	}
	was := h.saved
	if state.Failures == was.Failures && state.Rest == 0 && was.Rest == 0 && state.Last <= was.Last*3/2 {
		return state, false
	}
	h.saved = state
	return state, true
}

// Wait returns the rest that a host takes after a visit that goes well.
func (f *Frontier) Wait(name string) time.Duration { return f.wait(f.hosts[name]) }

// Count is the frontier in numbers.
type Count struct {
	Sites   int   // known
	Hosts   int   // known
	Waiting int64 // entries, errands and robots.txt not yet handed out
	Ready   int   // hosts whose turn it could be
	Resting int   // hosts that wait
	Active  int   // open connections
	Idle    int   // connections that could be open and are not
	Drift   int64 // must be 0: see Loaded
}

// Count returns the numbers.
func (f *Frontier) Count() Count {
	return Count{
		Sites: len(f.sites), Hosts: len(f.hosts), Waiting: f.work, Ready: f.ready.len(), Resting: f.timers.len(),
		Active: f.active, Idle: f.cfg.Conns - f.active, Drift: f.drift,
	}
}
