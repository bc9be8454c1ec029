package frontier

import (
	"net/netip"

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
)

// needs are the kinds of picks that the caller must have room for.
const needs = 4

// Room is how many picks of a kind the caller can take now; Robots counts as
// Fetch, Close needs none.
type Room struct{ Fetch, Load, Resolve, Settle int }

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
	Entry   Entry      // Fetch, Settle
	URL     page.URL   // Fetch, Robots
	Addr    netip.Addr // Fetch, Robots: where to; zero behind a proxy
	Open    bool       // a new connection
	Last    bool       // the last request on it
	Hops    int        // Robots: redirects so far
	From    Place      // Load
	N       int        // Load: so many entries
	Outcome page.Outcome
}

// Next returns the next thing to do, or false when there is none for now: then
// something under way must answer first, or Wake's time must come.
func (f *Frontier) Next(now page.Time, room Room) (Pick, bool) {
	for f.timers.len() > 0 && f.timers.top().next <= now {
		h := f.timers.pop()
		if h.conn != nil {
			h.state = holding
			f.open.push(h)
			continue
		}
		h.state = ready
		f.ready.push(h)
	}
	for {
		if f.closes.len() > 0 {
			return Pick{Kind: Close, Host: f.closes.pop()}, true
		}
		h := f.turnOf(now, room)
		if h == nil {
			return Pick{}, false
		}
		if p, ok := f.step(now, h, room); ok {
			return p, true
		}
	}
}

// turnOf takes the host whose turn it is: open connections first, since they
// hold a slot; then those that waited for room; then the best of the ready.
func (f *Frontier) turnOf(now page.Time, room Room) *host {
	if f.open.len() > 0 && (room.Fetch > 0 || f.stopping) {
		return f.open.pop()
	}
	if f.stopping {
		return nil
	}
	for n := range needs {
		if f.stall[n].len() > 0 && room.of(n) > 0 && (n != needFetch || f.active < f.cfg.Conns) {
			h := f.stall[n].pop()
			if h.conn == nil && h.next > now && f.asks(h) {
				f.rest(now, h)
				continue
			}
			return h
		}
	}
	if f.ready.len() > 0 && room.Fetch > 0 && f.active < f.cfg.Conns {
		h := f.ready.pop()
		h.state = busy // it is in no heap while step decides
		return h
	}
	return nil
}

// stallOn parks a host until the caller has room for what it needs.
func (f *Frontier) stallOn(h *host, n int) (Pick, bool) {
	h.state = stalled
	f.stall[n].push(h)
	return Pick{}, false
}

// step does the next thing for a host: the sentence of the package doc, from
// the end backwards. It returns false when the host turned out to need nothing
// that can be picked now; the host is then where it belongs.
func (f *Frontier) step(now page.Time, h *host, room Room) (Pick, bool) {
	if h.conn != nil && (f.stopping || h.dead != page.None || h.conn.placed == 0 || h.conn.over != page.None) {
		f.hangUp(now, h, true)
		return Pick{}, false
	}
	if h.conn == nil && len(h.errand) > 0 {
		if h.dead != page.None {
			return f.fruitless(now, h)
		}
		return f.request(now, h, h.errand[0].site, room)
	}
	if !h.wanted() {
		f.rest(now, h)
		return Pick{}, false
	}
	s := h.conn
	if s == nil {
		s = h.sites.top()
	}
	if len(s.live()) == 0 && !s.complete {
		if room.Load == 0 {
			return f.stallOn(h, needLoad)
		}
		h.state, s.loading = loading, true
		return Pick{Kind: Load, Site: s.id, From: s.low, N: f.cfg.Window + s.taken}, true
	}
	if o := f.ending(now, h, s); o != page.None {
		if room.Settle == 0 {
			return f.stallOn(h, needSettle)
		}
		p := Pick{Kind: Settle, Site: s.id, Host: h.name, Entry: f.take(s), Outcome: o}
		if h.conn != nil {
			h.state = holding
			f.open.push(h)
		} else {
			f.rest(now, h)
		}
		return p, true
	}
	return f.request(now, h, s, room)
}

// ending returns how the site's next page ends without a request, or None.
func (f *Frontier) ending(now page.Time, h *host, s *site) page.Outcome {
	e := &s.live()[0]
	first := e.Attempt == 0
	switch {
	case h.dead != page.None:
		return h.dead
	case s.over != page.None:
		return s.over
	case first && s.budget > 0 && s.used >= s.budget:
		return page.SiteBudget
	case first && f.cfg.DomainPages > 0 && h.domain.used >= f.cfg.DomainPages:
		return page.DomainBudget
	case s.rules != nil && now < s.until && !s.rules.Allowed(page.RestPath(e.Rest)):
		return page.Denied
	}
	return page.None
}

// request sends the host what comes next: an errand, the site's robots.txt, or
// its first page. The name must be resolved and the address have room.
func (f *Frontier) request(now page.Time, h *host, s *site, room Room) (Pick, bool) {
	if h.conn == nil {
		if p, ok, sent := f.reach(now, h, room); sent {
			return p, ok
		}
	}
	if room.Fetch == 0 {
		return f.stallOn(h, needFetch)
	}
	p := Pick{Host: h.name, Site: s.id, Open: h.conn == nil}
	switch {
	case h.conn == nil && len(h.errand) > 0:
		e := h.errand[0]
		h.errand = append(h.errand[:0], h.errand[1:]...)
		p.Kind, p.URL, p.Hops = Robots, e.url, e.hops
		s = nil
	case !f.cfg.NoRobots && (s.rules == nil || now >= s.until):
		p.Kind, p.URL = Robots, page.Join(s.name, "/robots.txt")
		s.away = true
		f.work++
		f.rerank(s)
	default:
		p.Kind, p.Entry = Fetch, f.take(s)
		p.URL = page.Join(s.name, p.Entry.Rest)
		if p.Entry.Attempt == 0 {
			s.used++
			h.domain.used++
		}
	}
	if p.Open {
		f.active++
		h.server.active++
		h.conn, h.pages = s, 0
		if s == nil {
			h.conn = errandSite // its connection serves nothing else
		}
	}
	if len(h.addrs) > 0 {
		p.Addr = h.addrs[h.try]
	}
	h.pages++
	p.Last = h.conn == errandSite || h.pages >= f.cfg.PerConn || h.delay > f.cfg.Holdable
	h.state = busy
	return p, true
}

// errandSite stands for the connection of an errand.
var errandSite = &site{}

// reach sees to it that the host has an address with room. sent is true when
// the host cannot go on now: ok then says whether p is to be done for it.
func (f *Frontier) reach(now page.Time, h *host, room Room) (p Pick, ok, sent bool) {
	key := h.name
	if !f.cfg.Proxy {
		if len(h.addrs) == 0 || now >= h.expires {
			if room.Resolve == 0 {
				_, _ = f.stallOn(h, needResolve)
				return Pick{}, false, true
			}
			h.state = resolving
			return Pick{Kind: Resolve, Host: h.name}, true, true
		}
		key = h.addrs[h.try].String()
	}
	srv := f.servers[key]
	if srv == nil {
		srv = &server{waiting: heap[*host]{less: f.earlier, place: hostPlace}}
		f.servers[key] = srv
	}
	srv.serves(h.domain, f.cfg.CDNDomains)
	h.server = srv
	if srv.active >= f.roomOf(srv) {
		h.state = crowded
		srv.waiting.push(h)
		return Pick{}, false, true
	}
	return Pick{}, false, false
}

func (f *Frontier) roomOf(srv *server) int {
	if srv.cdn {
		return max(f.cfg.PerCDN, f.cfg.PerServer)
	}
	return f.cfg.PerServer
}

// serves notes that the address serves a domain.
func (srv *server) serves(d *domain, many int) {
	if srv.cdn {
		return
	}
	for _, x := range srv.domains {
		if x == d {
			return
		}
	}
	srv.domains = append(srv.domains, d)
	if len(srv.domains) > many {
		srv.cdn, srv.domains = true, nil
	}
}

// take hands out the site's first entry.
func (f *Frontier) take(s *site) Entry {
	e := s.pop()
	s.queued--
	f.work--
	s.taken++
	f.taken[page.Key{Site: s.id, Hash: e.Hash}] = struct{}{}
	f.heat(s)
	f.rerank(s)
	return e
}

// fruitless gives up a dead host's errands: their sites cannot be had.
func (f *Frontier) fruitless(now page.Time, h *host) (Pick, bool) {
	for _, e := range h.errand {
		f.robotsFailed(now, e.site, page.DeadHost)
	}
	h.errand = nil
	f.rest(now, h)
	return Pick{}, false
}

// Wake returns when Next may have something again that no answer brings.
func (f *Frontier) Wake() (page.Time, bool) {
	if f.timers.len() == 0 {
		return 0, false
	}
	return f.timers.top().next, true
}

// Stop lets nothing new start. Open connections are closed as they fall free.
func (f *Frontier) Stop() { f.stopping = true }
