package node

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"weir/crawl"
	"weir/overlay"
	"weir/page"
)

// leases are what a node may ask of which host, and what it has promised others
// that they may: the two sides of overlay's leases. The peer's goroutine owns it
// but for may and busy, which visits call right before and after they ask.
type leases struct {
	p       *peer
	granter *overlay.Granter
	waiting []lent // asked for, in order

	mu     sync.Mutex // of holder
	holder *overlay.Holder
	lent   map[string]netip.Addr // by host: what is held, or asked for
	busy   map[string]request    // by host: what is under way
}

// request is one that is under way.
type request struct {
	addr netip.Addr
	end  context.CancelFunc
}

// lent is leave that was asked for.
type lent struct {
	crawl.Lease
	since page.Time
}

// leasePatience is how long leave is waited for before others have their turn.
const leasePatience = 3 * time.Second

func newLeases(p *peer, session uint64) *leases {
	keys := overlay.NewKeys(p.cfg.Scheme, overlay.Parts)
	cfg := overlay.LeaseConfig{Wait: p.n.cfg.Wait, PerServer: max(p.n.cfg.PerServer, 1)}
	return &leases{p: p, granter: overlay.NewGranter(keys, cfg), holder: overlay.NewHolder(keys, session), lent: map[string]netip.Addr{}, busy: map[string]request{}}
}

// want asks for leave.
func (l *leases) want(now page.Time, o crawl.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder.Want(now, overlay.Subject{Host: o.Host}, o.Wait)
	if o.Addr.IsValid() {
		l.holder.Want(now, overlay.Subject{Host: o.Host, Addr: o.Addr}, o.Wait)
	}
	l.lent[o.Host] = o.Addr
	l.waiting = append(l.waiting, lent{o, now})
}

// give gives leave back.
func (l *leases) give(now page.Time, o crawl.Return) {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, ok := l.lent[o.Host]
	if !ok {
		return
	}
	delete(l.lent, o.Host)
	l.holder.Drop(now, overlay.Subject{Host: o.Host}, o.Used, now, o.Rest)
	if addr.IsValid() {
		l.holder.Drop(now, overlay.Subject{Host: o.Host, Addr: addr}, o.Used, now, o.Rest)
	}
}

// hear takes a message about leases from another node, or from this one.
func (l *leases) hear(now page.Time, from string, data []byte) {
	x, err := overlay.ReadLease(data)
	if err != nil {
		return // of another version, or damaged: whoever asks will ask again
	}
	switch x := x.(type) {
	case *overlay.Ask:
		answer := l.granter.Ask(now, from, x)
		l.send(now, from, overlay.AppendAnswer(nil, &answer))
	case *overlay.Return:
		l.granter.Return(now, from, x)
	case *overlay.Answer:
		l.mu.Lock()
		l.holder.Answer(now, x)
		l.mu.Unlock()
	}
}

// send takes a message to a node, which may be this one.
func (l *leases) send(now page.Time, to string, data []byte) {
	if to == l.p.cfg.Name {
		l.hear(now, to, data)
		return
	}
	l.p.carrier.Do(overlay.Send{To: to, Data: data})
}

// step says what there is to say, and tells the Engine what it was given. It
// returns when it wants to be called again.
func (l *leases) step(ctx context.Context, now page.Time) page.Time {
	l.mu.Lock()
	letters := l.holder.Letters(now)
	l.mu.Unlock()
	for _, x := range letters {
		to := l.p.member.Owner(x.Part)
		switch {
		case to == "":
		case x.Ask != nil:
			l.send(now, to, overlay.AppendAsk(nil, x.Ask))
		case x.Return != nil:
			l.send(now, to, overlay.AppendReturn(nil, x.Return))
		}
	}
	waiting := l.waiting[:0]
	next := page.Time(1<<63 - 1)
	for _, w := range l.waiting {
		l.mu.Lock()
		from, until := l.holder.Span(w.Host, w.Addr)
		l.mu.Unlock()
		switch {
		case until > now && from < until:
			l.p.n.send(ctx, crawl.Leased{Host: w.Host, Given: true, In: max(from.Sub(now), 0)})
		case now.Sub(w.since) >= leasePatience:
			l.give(now, crawl.Return{Host: w.Host})
			l.p.n.send(ctx, crawl.Leased{Host: w.Host, In: time.Second})
		default:
			waiting = append(waiting, w)
			next = min(next, w.since.Add(leasePatience))
		}
	}
	clear(l.waiting[len(waiting):])
	l.waiting = waiting
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(next, l.holder.Next())
}

// lapse ends requests whose leases have run out: by now somebody else may visit the
// host. It returns when the next one would.
func (l *leases) lapse(now page.Time) page.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := page.Time(1<<63 - 1)
	for host, r := range l.busy {
		if _, until := l.holder.Span(host, r.addr); until <= now {
			r.end()
		} else {
			next = min(next, until)
		}
	}
	return next
}

// learn tells the granter what hosts need that other nodes have visited.
func (l *leases) learn(now page.Time, hosts []crawl.Care) {
	for _, h := range hosts {
		l.granter.Learn(now, h.Host, max(h.Delay, h.State.Last), h.State.Rest)
	}
}

// may says whether a request may be sent to a host now, and notes that one is
// under way then, that end ends; over must follow.
func (l *leases) may(now page.Time, host string, addr netip.Addr, end context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holder.May(now, host, addr) {
		return false
	}
	l.holder.Busy(host, addr, true)
	l.busy[host] = request{addr, end}
	return true
}

func (l *leases) over(host string, addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, host)
	l.holder.Busy(host, addr, false)
}
