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

// leaseKeep is how long a host that rests keeps leave that it has not used.
const leaseKeep = time.Second

// back is leave that is given back.
type back struct {
	host string
	rest time.Duration
	used bool
}

// lease asks for leave to visit a host.
func (f *Frontier) lease(h *host) (Pick, bool) {
	h.state = leasing
	f.ahead++
	f.lent++
	h.line.lent = f.where(h)
	return Pick{Kind: Lease, Host: h.name, Addr: h.line.lent, Rest: f.wait(h)}, true
}

// where is the address that a host is visited at; zero behind a proxy.
func (f *Frontier) where(h *host) netip.Addr {
	if len(h.line.addrs) == 0 {
		return netip.Addr{}
	}
	return h.addr()
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
			f.landed()
			f.postpone(h, now.Add(in))
		}
		return
	}
	l := f.dial(h)
	if l.leased, l.used = given, false; !given {
		f.landed()
	}
	f.postpone(h, now.Add(in))
	h.state = turning
	f.rest(now, h)
}

// unlease gives leave back.
func (f *Frontier) unlease(now page.Time, h *host) {
	if l := h.line; l.leased {
		l.leased = false
		if !l.used {
			f.landed()
		}
		f.returns.push(back{host: h.name, rest: max(h.next.Sub(now), 0), used: l.used})
	}
}

// landed counts a host out that has no leave any more, or uses it.
func (f *Frontier) landed() {
	f.ahead--
	f.lent--
}
