package node

import (
	"context"
	"math"
	"net/netip"
	"sync"

	"weir/crawl"
	"weir/overlay"
	"weir/page"
)

// leases lets visits use the node's crawl.Desk: they ask it right before a request
// and tell it right after, whatever the peer's goroutine, which does all the rest, is
// at.
type leases struct {
	p *peer

	mu   sync.Mutex
	desk *crawl.Desk
	busy map[string]request // by host: what is under way
	ends page.Time          // no lease of these ends before
}

// request is one that is under way.
type request struct {
	addr netip.Addr
	end  context.CancelFunc
}

func newLeases(p *peer, session uint64) *leases {
	return &leases{p: p, busy: map[string]request{}, ends: math.MaxInt64, desk: crawl.NewDesk(crawl.DeskConfig{
		Name: p.cfg.Name, Session: session, Keys: overlay.NewKeys(p.cfg.Scheme, overlay.Parts),
		Manners: overlay.LeaseConfig{Wait: p.n.cfg.Wait, PerServer: max(p.n.cfg.PerServer, 1), PerCDN: perCDN, Domains: cdnDomains},
		Owner:   func(part int) string { return p.member.Owner(part) },
	})}
}

// do uses the desk.
func (l *leases) do(f func(d *crawl.Desk)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.desk)
}

// step does what the desk has to do, and ends requests whose leases have run out. It
// returns when it wants to be called again.
func (l *leases) step(ctx context.Context, now page.Time) page.Time {
	l.mu.Lock()
	sends, told, next := l.desk.Step(now)
	if now >= l.ends { // most were renewed since, or are over
		l.ends = math.MaxInt64
		for host, r := range l.busy {
			if until := l.desk.Until(host, r.addr); until <= now {
				r.end()
			} else {
				l.ends = min(l.ends, until)
			}
		}
	}
	next = min(next, l.ends)
	l.mu.Unlock()
	for _, x := range sends {
		l.p.carrier.Do(x)
	}
	for _, ev := range told {
		l.p.n.send(ctx, ev)
	}
	return next
}

// may says whether a request may be sent to a host now, and notes that one is
// under way then, that end ends; over must follow.
func (l *leases) may(now page.Time, host string, addr netip.Addr, end context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.desk.May(now, host, addr) {
		return false
	}
	l.busy[host] = request{addr, end}
	until := l.desk.Until(host, addr)
	if until < l.ends || l.desk.Due(now) { // else the peer wakes up in time as it is
		l.ends = min(l.ends, until)
		l.p.ring()
	}
	return true
}

// give gives leave back, and ends what is still under way under it.
func (l *leases) give(now page.Time, x crawl.Return) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.desk.Give(now, x)
	if r, ok := l.busy[x.Host]; ok && l.desk.Until(x.Host, r.addr) <= now {
		r.end()
	}
}

func (l *leases) over(host string, addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, host)
	l.desk.Over(host, addr)
}
