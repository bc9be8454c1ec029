package crawl

import (
	"net/netip"
	"time"

	"weir/frontier"
	"weir/page"
)

// audit watches what a simulated crawl does to its hosts, as their owners would
// see it.
type audit struct {
	s     *sim
	hosts map[string]*auditHost
	known map[page.SiteID]time.Duration // when the site's robots.txt was had, in this run or durably
	saved map[page.SiteID]time.Duration
	group []func() // takes effect with the next durable batch
}

type auditHost struct {
	open    bool
	addr    netip.Addr
	site    page.SiteID
	busy    bool
	count   int
	end     time.Duration // of the last request
	any     bool
	last    time.Duration // how long the last answer took
	took    time.Duration // the same, whatever it was, on the connection that is open
	left    int           // requests that it still takes on the connection, -1 = any number
	idle    time.Duration // how long it keeps the connection open, 0 = for ever
	delay   time.Duration // the crawl-delay that is known
	durable time.Duration // the part of it that survives a crash
	kept    time.Duration // the part of last that survives a crash, or a little more
	rest    time.Duration // no request before, by Retry-After and backoff
}

func newAudit(s *sim) *audit {
	return &audit{s: s, hosts: map[string]*auditHost{}, saved: map[page.SiteID]time.Duration{}}
}

func (a *audit) host(name string) *auditHost {
	if a.hosts[name] == nil {
		a.hosts[name] = &auditHost{}
	}
	return a.hosts[name]
}

// restart forgets what a crash takes away. Requests under way end with it.
func (a *audit) restart() {
	a.group = nil
	a.known = map[page.SiteID]time.Duration{}
	for id, at := range a.saved {
		a.known[id] = at
	}
	for _, h := range a.hosts {
		if h.busy {
			h.end = a.s.now
		}
		h.open, h.busy, h.last, h.rest, h.delay = false, false, h.kept, 0, h.durable
	}
}

func (a *audit) request(f Fetch) {
	s, h := a.s, a.host(f.Host)
	cfg := s.cfg.Frontier
	if h.busy {
		s.fatalf("%s: two requests at once", f.Host)
	}
	gap := s.now - h.end
	if f.Open {
		a.opened(f, h)
		wait := max(cfg.Wait, h.delay)
		if cfg.Wait > 0 {
			wait = max(wait, h.last)
		}
		if h.any && gap < wait {
			s.fatalf("%s: connected again after %v, its wait is %v", f.Host, gap, wait)
		}
	} else {
		switch {
		case !h.open:
			s.fatalf("%s: no connection is open", f.Host)
		case h.site != f.Site:
			s.fatalf("%s: a connection of site %d used for site %d", f.Host, h.site, f.Site)
		case gap < h.delay:
			s.fatalf("%s: asked again after %v, its crawl-delay is %v", f.Host, gap, h.delay)
		case cfg.Auto:
			a.further(f, h, gap)
		}
	}
	if s.now < h.rest {
		s.fatalf("%s: asked %v before its rest was over", f.Host, h.rest-s.now)
	}
	if h.count++; h.count > cfg.PerConn {
		s.fatalf("%s: %d pages on one connection", f.Host, h.count)
	}
	h.busy, h.any = true, true
	at, ok := a.known[f.Site]
	if f.Robots {
		if ok && s.now-at < frontier.RobotsAge && f.Hops == 0 {
			s.fatalf("%s was asked for again after %v", f.URL, s.now-at)
		}
		return
	}
	switch rules := s.w.rulesOf(s.w.names[f.URL.Site()]); {
	case (!ok || s.now-at > frontier.RobotsAge) && !cfg.NoRobots:
		s.fatalf("%s was asked for before its robots.txt", f.URL)
	case rules == nil || !rules.Allowed(f.URL.Path()):
		s.fatalf("%s was asked for and is forbidden", f.URL)
	}
	if s.kv.has(pageKey(keyText, page.Key{Site: f.Site, Hash: f.Entry.Hash})) {
		s.fatalf("%s was asked for after it had ended", f.URL)
	}
}

// further holds the manners of a further request on a connection whose pages
// follow the backlog. The Engine may hear of an answer a little later than it
// came.
func (a *audit) further(f Fetch, h *auditHost, gap time.Duration) {
	s := a.s
	s.further++
	switch {
	case gap < h.took:
		s.fatalf("%s: asked again after %v on one connection, its last answer took %v", f.Host, gap, h.took)
	case h.delay > 0:
		s.fatalf("%s: a second page on one connection, its crawl-delay is %v", f.Host, h.delay)
	case h.left == 0:
		s.fatalf("%s: one request more than it takes on a connection", f.Host)
	case h.idle > 0 && gap >= h.idle+simLate:
		s.fatalf("%s: asked again after %v, it closes connections after %v", f.Host, gap, h.idle)
	}
	if h.left > 0 {
		h.left--
	}
}

func (a *audit) opened(f Fetch, h *auditHost) {
	s := a.s
	if h.open {
		s.fatalf("%s: two connections", f.Host)
	}
	h.open, h.addr, h.site, h.count, h.left, h.idle = true, f.Addr, f.Site, 0, -1, 0
	open, same, domains := 0, 0, map[string]bool{}
	for name, x := range a.hosts {
		if x.addr == f.Addr {
			domains[page.Domain(name)] = true
		}
		if x.open {
			open++
			if x.addr == f.Addr {
				same++
			}
		}
	}
	if open > s.cfg.Frontier.Conns {
		s.fatalf("%d connections", open)
	}
	limit := s.cfg.Frontier.PerServer
	if s.cfg.Frontier.CDNDomains < 3 {
		limit = s.cfg.Frontier.PerCDN
	}
	if !s.cfg.Frontier.Proxy && same > limit {
		s.fatalf("%d connections to %v", same, f.Addr)
	}
}

func (a *audit) answer(f Fetch, d Done) {
	s, h := a.s, a.host(f.Host)
	h.busy, h.end, h.took = false, s.now, d.Elapsed
	if d.Left != 0 {
		h.left = max(d.Left, 0)
	}
	if d.Idle > 0 {
		h.idle = d.Idle
	}
	if !d.KeepAlive {
		h.open = false
	}
	if d.Outcome.Row().Answer {
		h.last = d.Elapsed
	}
	rotates := (d.Outcome == page.ConnectFailed || d.Outcome == page.ConnectTimeout) && len(s.w.hosts[f.Host].addrs) > 1
	if d.Outcome.Row().Pause != page.Polite && !rotates {
		h.rest = s.now + d.Outcome.Rest(s.cfg.Frontier.Wait, d.Asked, 1)
	}
	a.delays(f, d, false)
}

// heard says that the Engine knows of the answer. The robots.txt of a site may
// lie at another host, and the site's own may be asked for pages of other sites
// meanwhile: a crawl-delay that nobody has heard of cannot be kept there. At its
// own host it holds from the answer on.
func (a *audit) heard(f Fetch, d Done) { a.delays(f, d, true) }

// delays notes the crawl-delay of a robots.txt that lies at another host, or of
// one that lies at its own.
func (a *audit) delays(f Fetch, d Done, abroad bool) {
	if !f.Robots {
		return
	}
	a.learn(f, d, func(id page.SiteID, host *auditHost, delay time.Duration) {
		if (host != a.host(f.Host)) == abroad {
			a.known[id], host.delay = a.s.now, max(host.delay, delay)
		}
	})
}

func (a *audit) learn(f Fetch, d Done, do func(id page.SiteID, h *auditHost, delay time.Duration)) {
	rules, follow := frontier.RobotsVerdict(d.Outcome, d.Rules, d.Redirect, f.Hops)
	if rules == nil || follow {
		return
	}
	row, _, _ := a.s.kv.Get(siteKey(keySite, f.Site))
	var site siteRow
	a.s.must(site.read(row))
	do(f.Site, a.host(page.SiteHost(site.name)), rules.CrawlDelay())
}

// kept says that a robots.txt is in the open group.
func (a *audit) kept(f Fetch, d Done) {
	at := a.s.now
	a.learn(f, d, func(id page.SiteID, h *auditHost, delay time.Duration) {
		a.group = append(a.group, func() { a.saved[id], h.durable = at, max(h.durable, delay) })
	})
}

// keep says that a host's state is in the open group.
func (a *audit) keep(o Save) {
	h := a.host(o.Host)
	a.group = append(a.group, func() { h.kept = o.State.Last })
}

// durable says that everything up to the last flush is kept. It may be late by
// one group, never early.
func (a *audit) durable() {
	for _, do := range a.group {
		do()
	}
	a.group = nil
}

func (a *audit) close(host string) {
	h := a.host(host)
	if !h.open || h.busy {
		a.s.fatalf("%s: Close without an idle connection", host)
	}
	h.open = false
}

func (a *audit) finish() {
	for name, h := range a.hosts {
		if h.open {
			a.s.fatalf("%s: the connection is open at the end", name)
		}
	}
}
