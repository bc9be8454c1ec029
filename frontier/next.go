package frontier

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"weir/page"
)

// Kind says what a Pick asks for.
type Kind uint8

const (
	Fetch   Kind = iota // a page
	Robots              // a robots.txt
	Load                // more of a site's queue
	Resolve             // a host's addresses
	Settle              // a page that ends without a request
	Close               // an open connection to a host
	Lease               // leave to visit a host at an address
	Return              // that leave, given back
	Give                // a page that another node is to ask for
)

// needs are the kinds of picks that the caller must have room for.
const needs = 4

// Room is how many picks of a kind the caller can take now; Robots counts as
// Fetch, Close needs none.
type Room struct {
	Fetch, Load, Resolve, Settle int

	Rest bool // there may be no room for a Fetch for long: open connections are not kept
}

// room of a need, in the order of the stall lists.
func (r Room) of(n int) int { return [needs]int{r.Fetch, r.Load, r.Resolve, r.Settle}[n] }

const (
	needFetch = iota
	needLoad
	needResolve
	needSettle
)

// Pick is one thing to do now.
type Pick struct {
	Kind    Kind
	Site    page.SiteID
	Host    string
	Entry   Entry      // Fetch, Settle, Give
	URL     page.URL   // Fetch, Robots
	Addr    netip.Addr // Fetch, Robots: where to; zero behind a proxy
	Open    bool       // a new connection
	Last    bool       // the last request on it
	Hops    int        // Robots: redirects so far
	From    Place      // Load
	N       int        // Load: so many entries
	Outcome page.Outcome
	Rest    time.Duration // Lease: between two visits; Return: how long the host rests from now on
	Used    bool          // Return: it was visited
	CDN     bool          // Lease: the address serves many domains
	To      uint16        // Give: the partition that it goes to
}

// Next returns the next thing to do, or false when there is none for now: then
// something under way must answer first, or Wake's time must come.
func (f *Frontier) Next(now page.Time, room Room) (Pick, bool) {
	f.now, f.resting = now, room.Rest && room.Fetch == 0
	f.sweep()
	if len(f.urged) > 0 {
		f.expect(now)
	}
	for f.timers.len() > 0 && f.timers.top().next <= now {
		h := f.timers.pop()
		if h.line.conn != nil {
			f.hold(h)
			continue
		}
		f.line(h)
	}
	for f.naps.len() > 0 && f.naps.top().until <= now {
		f.back(now, f.naps.pop().site)
	}
	for {
		if f.closes.len() > 0 {
			return Pick{Kind: Close, Host: f.closes.pop()}, true
		}
		if f.returns.len() > 0 {
			b := f.returns.pop()
			return Pick{Kind: Return, Host: b.host, Rest: b.rest, Used: b.used}, true
		}
		h := f.turnOf(room)
		if h == nil {
			f.readmit()
			return Pick{}, false
		}
		h.state = turning
		if p, ok := f.step(now, h, room); ok {
			return p, true
		}
	}
}

// turnOf takes the host whose turn it is: open connections first, since they
// hold a slot; then those that waited for room; then the best of the ready.
func (f *Frontier) turnOf(room Room) *host {
	if f.open.len() > 0 && (room.Fetch > 0 || f.resting || f.stopping) {
		return f.open.pop()
	}
	if f.useless {
		over := func(h *host) bool { return h.line.conn != nil && f.over(f.now, h) }
		for _, q := range []*fifo[*host]{&f.open, &f.stall[needLoad], &f.stall[needSettle]} {
			if h, ok := q.take(over); ok {
				return h
			}
		}
		f.useless = false
	}
	if f.stopping {
		return nil
	}
	if f.granted.len() > 0 && room.Fetch > 0 {
		return f.granted.pop()
	}
	urgent, other := f.opens()
	may := func(h *host) bool { return other || urgent && h.urge > 0 }
	for n := range needs {
		if f.stall[n].len() > 0 && room.of(n) > 0 && (n != needFetch || may(f.stall[n].first())) {
			h := f.stall[n].pop()
			if n == needLoad && h.line.conn == nil || n == needResolve {
				f.ahead--
			}
			return h
		}
	}
	if f.ready.len() > 0 && room.Fetch > 0 && may(f.ready.top()) {
		return f.ready.pop()
	}
	return nil
}

// stallOn parks a host until the caller has room for what it needs.
func (f *Frontier) stallOn(h *host, n int) (Pick, bool) {
	h.state = stalled
	f.stall[n].push(h)
	if n == needLoad && h.line.conn == nil || n == needResolve {
		f.ahead++
	}
	return Pick{}, false
}

// step does the next thing for a host whose turn it is: the sentence of the
// package doc. It returns false when the host turned out to need nothing that
// can be picked now; the host is then where it belongs.
func (f *Frontier) step(now page.Time, h *host, room Room) (Pick, bool) {
	s := h.line.conn
	switch {
	case s != nil && (f.stopping || f.resting || f.over(now, h)):
		f.hangUp(now, h, true)
		return Pick{}, false
	case s != nil && h.next > now: // postponed meanwhile
		f.sleep(h)
		return Pick{}, false
	case s == nil && (!h.wanted() || h.next > now && h.asks()):
		f.rest(now, h)
		return Pick{}, false
	case s == nil && h.runs():
		if h.care.dead != page.None {
			return f.fruitless(now, h)
		}
		if p, ok, sent := f.admit(now, h, room); sent {
			return p, ok
		}
		return f.request(now, h, nil, room)
	}
	if s == nil {
		s = h.sites.top()
	}
	if o := f.ending(now, h, s); o != page.None {
		return f.settle(now, h, s, o, room)
	}
	if h.line.conn == nil && h.asks() {
		if p, ok, sent := f.admit(now, h, room); sent {
			return p, ok
		}
	}
	if len(s.live()) == 0 && !s.complete {
		if room.Load == 0 {
			return f.stallOn(h, needLoad)
		}
		h.state, f.loads[s.id] = loading, false
		if h.line.conn == nil {
			f.ahead++
		}
		return Pick{Kind: Load, Site: s.id, From: s.low(), N: f.cfg.Window + int(s.taken)}, true
	}
	return f.request(now, h, s, room)
}

// over reports whether an open connection has no more use. It is closed then, whether or
// not there is room for anything else: another node may be about to open one.
func (f *Frontier) over(now page.Time, h *host) bool {
	s := h.line.conn
	return h.care.dead != page.None || s.placed == 0 || s.over != page.None || h.next.Sub(now) > f.cfg.Holdable || f.lapsed(now, h) || h.line.sought
}

// settle ends the site's first page without a request.
func (f *Frontier) settle(now page.Time, h *host, s *site, o page.Outcome, room Room) (Pick, bool) {
	if room.Settle == 0 {
		return f.stallOn(h, needSettle)
	}
	if o == given {
		return f.give(now, h, s), true
	}
	p := Pick{Kind: Settle, Site: s.id, Host: h.name, Entry: f.take(s), Outcome: o}
	f.use(s, Declined(p.Entry.Counted))
	if h.line.conn != nil {
		f.hold(h)
		return p, true
	}
	f.decline(h)
	f.queue(h)
	f.rest(now, h)
	return p, true
}

// ending returns how the site's next page ends without a request, or None.
func (f *Frontier) ending(now page.Time, h *host, s *site) page.Outcome {
	if len(s.live()) == 0 {
		return page.None
	}
	first := &s.live()[0]
	switch {
	case first.Away:
		return page.SteeredAway
	case h.care.dead != page.None:
		return h.care.dead
	case s.over != page.None:
		return s.over
	}
	if budget := cmp.Or(f.cfg.Sites[h.name].MaxPages, f.cfg.SitePages); budget > 0 && s.used >= budget && !first.Counted {
		return page.SiteBudget
	}
	if f.cfg.DomainPages > 0 && f.domains[page.Domain(h.name)] >= f.cfg.DomainPages && !first.Counted {
		return page.DomainBudget
	}
	if rules := s.rules(now); rules != nil && !rules.Allowed(page.RestPath(first.Rest)) {
		return page.Denied
	}
	return page.None
}

// request sends the host what comes next: an errand (no site), the site's
// robots.txt, or its first page.
func (f *Frontier) request(now page.Time, h *host, s *site, room Room) (Pick, bool) {
	switch {
	case h.line.conn != nil && room.Fetch == 0:
		f.hold(h)
		return Pick{}, false
	case room.Fetch == 0 && h.line.leased:
		f.line(h)
		return Pick{}, false
	case room.Fetch == 0:
		return f.stallOn(h, needFetch)
	case h.line.conn == nil && !h.line.leased && (f.active+f.lent >= f.cfg.Conns || h.urge == 0 && f.active+f.lent+f.kept() >= f.cfg.Conns):
		h.state = ready
		f.ready.push(h)
		return Pick{}, false
	}
	l := f.dial(h)
	if f.cfg.Leased && l.conn == nil {
		if l.leased && l.lent != f.where(h) { // its name means another server now
			f.unlease(now, h)
			f.line(h) // what is given back goes first
			return Pick{}, false
		}
		if !l.leased {
			return f.lease(h)
		}
		f.landed(h)
	}
	h.ran = false
	p := Pick{Host: h.name, Open: l.conn == nil}
	if p.Open {
		f.connect(h, s)
	}
	switch {
	case s == nil:
		e := l.errands.pop()
		l.errand, h.ran = true, true
		p.Kind, p.Site, p.URL, p.Hops = Robots, e.site.id, e.url, e.hops
		e.site.unsaved++
	case !f.cfg.NoRobots && s.rules(now) == nil:
		p.Kind, p.Site, p.URL = Robots, s.id, page.Join(s.name, "/robots.txt")
		s.away = true
		s.unsaved++
		f.work++
		f.rerank(s)
	default:
		p.Kind, p.Site, p.Entry = Fetch, s.id, f.take(s)
		p.URL = page.Join(s.name, p.Entry.Rest)
		f.use(s, Begun(p.Entry.Counted))
	}
	p.Addr = f.where(h)
	l.pages++
	l.used = l.leased
	p.Last = s == nil || int(l.pages) >= l.most || h.care.delay > f.cfg.Holdable
	h.state = busy
	return p, true
}

// connect takes a slot and room on the server for a connection of s, or of an
// errand when there is no site.
func (f *Frontier) connect(h *host, s *site) {
	l := h.line
	f.active++
	if h.urge > 0 {
		f.hurried++
		f.soon--
	}
	f.begun++
	if l.server != nil {
		l.server.active++
	}
	if l.called {
		l.called = false
		l.server.called--
	}
	l.resolved = false
	l.conn, l.pages, l.most, l.idle = s, 0, f.most(h), 0
}

// reach sees to it that the host has an address with room. sent is true when
// the host cannot go on now: ok then says whether p is to be done for it.
// Behind a proxy there is nothing to see to: a host has one connection anyway.
func (f *Frontier) reach(now page.Time, h *host, room Room) (p Pick, ok, sent bool) {
	if f.cfg.Proxy {
		return Pick{}, false, false
	}
	l := h.line
	if len(l.addrs) == 0 || now >= l.expires && !l.resolved {
		if room.Resolve == 0 {
			_, _ = f.stallOn(h, needResolve)
			return Pick{}, false, true
		}
		h.state = resolving
		f.ahead++
		return Pick{Kind: Resolve, Host: h.name}, true, true
	}
	addr := h.addr().Unmap()
	srv := f.servers[addr]
	if srv == nil {
		srv = &server{addr: addr, waiting: f.roster()}
		f.servers[addr] = srv
	}
	if l.server != srv {
		f.move(h, srv)
		if srv.serves(page.Domain(h.name), f.cfg.CDNDomains) {
			f.call(srv)
		}
	}
	if !l.called && srv.active+srv.called >= f.roomOf(srv) {
		h.state, l.resolved = crowded, false
		f.unlease(now, h)
		srv.waiting.push(h)
		if f.tight() {
			l.addrs = nil // by the time there is room they may be old
		}
		if h.sites.len() > 0 {
			f.cool(h.sites.top())
		}
		return Pick{}, false, true
	}
	return Pick{}, false, false
}

// call gives the room of a server to the hosts that wait for it.
func (f *Frontier) call(srv *server) {
	for srv.waiting.len() > 0 && srv.active+srv.called < f.roomOf(srv) {
		h := srv.waiting.pop()
		h.line.called = true
		srv.called++
		h.state = ready
		f.ready.push(h)
	}
}

// decline gives back the room that is kept for a host.
func (f *Frontier) decline(h *host) {
	if l := h.line; l.called {
		l.called = false
		l.server.called--
		f.call(l.server)
	}
}

func (f *Frontier) roomOf(srv *server) int {
	if srv.cdn {
		return max(f.cfg.PerCDN, f.cfg.PerServer)
	}
	return f.cfg.PerServer
}

// serves notes that the address serves a domain, and says whether that makes
// it a CDN.
func (srv *server) serves(domain string, many int) bool {
	if srv.cdn || slices.Contains(srv.domains, domain) {
		return false
	}
	srv.domains = append(srv.domains, domain)
	if len(srv.domains) > many {
		srv.cdn, srv.domains = true, nil
	}
	return srv.cdn
}

// take hands out the site's first entry.
func (f *Frontier) take(s *site) Entry {
	e := s.pop()
	s.queued--
	f.earn(s, -float64(e.Score))
	f.work--
	s.taken++
	f.taken.add(page.Key{Site: s.id, Hash: e.Hash})
	f.heat(s)
	f.rerank(s)
	return e
}

// fruitless gives up one of a dead host's errands: its site's robots.txt cannot
// be had.
func (f *Frontier) fruitless(now page.Time, h *host) (Pick, bool) {
	f.robotsFailed(now, h.line.errands.pop().site, true, page.DeadHost)
	f.rest(now, h)
	return Pick{}, false
}

// Wake returns when Next may have something again that no answer brings.
func (f *Frontier) Wake() (page.Time, bool) {
	switch timers, naps := f.timers.len() > 0, f.naps.len() > 0; {
	case timers && naps:
		return min(f.timers.top().next, f.naps.top().until), true
	case timers:
		return f.timers.top().next, true
	case naps:
		return f.naps.top().until, true
	}
	return 0, false
}

// Rests returns which of the hosts that rest is the first whose turn comes, and
// when.
func (f *Frontier) Rests() (name string, until page.Time, ok bool) {
	if f.timers.len() == 0 {
		return "", 0, false
	}
	h := f.timers.top()
	return h.name, h.next, true
}

// Stop lets nothing new start. Connections are closed, those in use as soon as
// they fall free.
func (f *Frontier) Stop() {
	f.stopping = true
	for _, x := range slices.Clone(f.timers.items) {
		if h := x.host; h.line.conn != nil {
			f.timers.remove(h)
			f.hold(h)
		}
	}
	for n := range f.stall {
		for range f.stall[n].len() {
			h := f.stall[n].pop()
			if h.line.conn != nil {
				f.hold(h)
			} else {
				f.stall[n].push(h)
			}
		}
	}
}
