package frontier

import (
	"net/netip"
	"time"

	"weir/page"
)

// Where other nodes visit the same servers, each visit needs leave: the caller
// asks for it when Next says so, and answers with Leased. It is given back after
// the visit, with how long the host rests, or when nothing comes of it. That it
// still holds when bytes are sent is the caller's to see.

const (
	// leaseKeep is how long a host that rests keeps leave that it has not used.
	leaseKeep = time.Second

	// leaseTurn is how long a host that need not rest keeps leave from visit to visit
	// while other hosts wait for a connection, or other nodes for the host: to ask for
	// each visit would leave the host and the connection unused meanwhile. Who needs to
	// rest loses nothing by asking.
	leaseTurn = time.Minute
)

// back is leave that is given back.
type back struct {
	host string
	rest time.Duration
	used bool
}

// lease asks for leave to visit a host.
func (f *Frontier) lease(h *host) (Pick, bool) {
	h.state = leasing
	f.lend(h)
	h.line.lent = f.where(h)
	srv := h.line.server
	return Pick{Kind: Lease, Host: h.name, Addr: h.line.lent, Rest: f.wait(h), CDN: srv != nil && srv.cdn}, true
}

// where is the address that a host is visited at; zero behind a proxy.
func (f *Frontier) where(h *host) netip.Addr {
	if len(h.line.addrs) == 0 {
		return netip.Addr{}
	}
	return h.addr()
}

// Crowd says that the address that a host is visited at serves many domains, as all
// nodes together know.
func (f *Frontier) Crowd(name string) {
	h := f.hosts[name]
	if h == nil || h.line.server == nil || h.line.server.cdn {
		return
	}
	h.line.server.cdn, h.line.server.domains = true, nil
	f.call(h.line.server)
}

// Leased answers a Lease: the host may be visited after a while, if given; else it
// is to be asked for again then. Leave that was given can be taken back so too.
func (f *Frontier) Leased(now page.Time, name string, given bool, in time.Duration) {
	h := f.hosts[name]
	if h == nil {
		return
	}
	if h.state != leasing {
		if !given && h.line.leased && h.line.conn == nil && !h.line.errand {
			h.line.leased = false
			f.landed(h)
			f.postpone(h, now.Add(in))
		}
		return
	}
	l := f.dial(h)
	l.leased, l.used, l.sought, l.since = given, false, false, now
	switch full := f.active+f.lent >= f.cfg.Conns; {
	case !given:
		f.landed(h)
	case l.stands && full: // while it stood in line its connection went to another
		f.unlease(now, h)
	case l.stands:
		f.lend(h)
	}
	l.stands = false
	f.postpone(h, now.Add(in))
	h.state = turning
	f.rest(now, h)
}

// Stands says that leave for a host may be a while, since other nodes have it: the
// connection that it would have is another's in the meantime.
func (f *Frontier) Stands(name string) {
	if h := f.hosts[name]; h != nil && h.state == leasing {
		h.line.stands = true
		f.landed(h)
	}
}

// Sought says that others wait for a host: its visit ends with the request that is
// under way.
func (f *Frontier) Sought(name string) {
	h := f.hosts[name]
	if h == nil || !h.line.leased {
		return
	}
	h.line.sought, f.useless = true, true
	if h.line.conn != nil && h.state == resting {
		f.timers.remove(h)
		f.hold(h)
	}
}

// unlease gives leave back.
func (f *Frontier) unlease(now page.Time, h *host) {
	if l := h.line; l.leased {
		l.leased = false
		f.landed(h)
		f.returns.push(back{host: h.name, rest: max(h.next.Sub(now), 0), used: l.used})
	}
}

// keep lets a host whose visit is over go on under the same leave, if it can go on at
// once: until its turn is over, or for as long as no other host waits.
func (f *Frontier) keep(now page.Time, h *host) bool {
	if l := h.line; !l.leased || h.next > now || !h.wanted() || !h.asks() || f.gate != nil || f.stopping || f.resting ||
		(l.sought || f.ready.len() > 0) && now.Sub(l.since) >= leaseTurn || len(f.urged) > 0 && h.urge == 0 {
		return false
	}
	f.lend(h)
	return true
}

// lend counts a host in that may be visited, or asks to be; landed counts it out when
// it may not any more, or is.
func (f *Frontier) lend(h *host) {
	h.line.counted = true
	f.ahead++
	f.lent++
}

func (f *Frontier) landed(h *host) {
	if h.line.counted {
		h.line.counted = false
		f.ahead--
		f.lent--
	}
}
