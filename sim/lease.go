package sim

import (
	"fmt"
	"net/netip"
	"time"

	"weir/crawl"
	"weir/overlay"
	"weir/page"
)

// leases are the two sides of overlay's leases at a node: what it may ask of which
// host, and what it lets others. It does what the driver of a live node does.
type leases struct {
	p       *peer
	granter *overlay.Granter
	holder  *overlay.Holder
	lent    map[string]netip.Addr // by host: what is held, or asked for
	waiting []lent                // asked for, in order
	wake    page.Time             // when a step is planned; -1 = none is
}

// lent is leave that was asked for.
type lent struct {
	crawl.Lease
	since page.Time
}

// leasePatience is how long leave is waited for before others have their turn.
const leasePatience = 3 * time.Second

func newLeases(p *peer, keys overlay.Keys, wait time.Duration) *leases {
	return &leases{
		p: p, granter: overlay.NewGranter(keys, overlay.LeaseConfig{Wait: wait, PerServer: 4}), holder: overlay.NewHolder(keys, 1),
		lent: map[string]netip.Addr{}, wake: -1,
	}
}

// order takes what the Engine orders about leases.
func (l *leases) order(o crawl.Order) {
	now := l.p.s.now
	switch o := o.(type) {
	case crawl.Lease:
		l.holder.Want(now, overlay.Subject{Host: o.Host}, o.Wait)
		if o.Addr.IsValid() {
			l.holder.Want(now, overlay.Subject{Host: o.Host, Addr: o.Addr}, o.Wait)
		}
		l.lent[o.Host] = o.Addr
		l.waiting = append(l.waiting, lent{o, now})
	case crawl.Return:
		l.give(now, o)
	}
	l.soon()
}

// give gives leave back.
func (l *leases) give(now page.Time, o crawl.Return) {
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
func (l *leases) hear(from string, data []byte) {
	now := l.p.s.now
	x, err := overlay.ReadLease(data)
	if err != nil {
		l.p.c.fail(fmt.Errorf("read a message about leases: %w", err))
		return
	}
	switch x := x.(type) {
	case *overlay.Ask:
		answer := l.granter.Ask(now, from, x)
		l.send(from, overlay.AppendAnswer(nil, &answer))
	case *overlay.Return:
		l.granter.Return(now, from, x)
	case *overlay.Answer:
		l.holder.Answer(now, x)
		l.soon()
	}
}

// send takes a message to a node, which may be this one.
func (l *leases) send(to string, data []byte) {
	if to == l.p.name {
		l.hear(to, data)
		return
	}
	l.p.port.Do(overlay.Send{To: to, Data: data})
}

// soon plans a step for this moment, when whatever happens now is over.
func (l *leases) soon() { l.at(l.p.s.now) }

func (l *leases) at(t page.Time) {
	now := l.p.s.now
	if t = max(t, now); l.wake >= 0 && l.wake <= t {
		return
	}
	l.wake = t
	l.p.s.net.After(t.Sub(now), func() {
		if l.wake == t {
			l.wake = -1
			l.p.s.now = l.p.s.net.Now()
			l.step()
		}
	})
}

// step says what there is to say, and tells the Engine what it was given.
func (l *leases) step() {
	now := l.p.s.now
	for _, x := range l.holder.Letters(now) {
		to := l.p.member.Owner(x.Part)
		switch {
		case to == "":
		case x.Ask != nil:
			l.send(to, overlay.AppendAsk(nil, x.Ask))
		case x.Return != nil:
			l.send(to, overlay.AppendReturn(nil, x.Return))
		}
	}
	var given []crawl.Leased
	waiting := l.waiting[:0]
	next := page.Time(1<<63 - 1)
	for _, w := range l.waiting {
		from, until := l.holder.Span(w.Host, w.Addr)
		switch {
		case until > now && from < until:
			given = append(given, crawl.Leased{Host: w.Host, Given: true, In: max(from.Sub(now), 0)})
		case now.Sub(w.since) >= leasePatience:
			l.give(now, crawl.Return{Host: w.Host})
			given = append(given, crawl.Leased{Host: w.Host, In: time.Second})
		default:
			waiting = append(waiting, w)
			next = min(next, w.since.Add(leasePatience))
		}
	}
	clear(l.waiting[len(waiting):])
	l.waiting = waiting
	for _, ev := range given {
		l.p.c.step(ev)
	}
	if next = min(next, l.holder.Next()); next < page.Time(1<<62) {
		l.at(next)
	}
}

// may says whether a request may be sent to a host now, and notes that one is under
// way then.
func (l *leases) may(host string, addr netip.Addr) bool {
	if !l.holder.May(l.p.s.now, host, addr) {
		return false
	}
	l.holder.Busy(host, addr, true)
	return true
}

// over says that the answer is in.
func (l *leases) over(host string, addr netip.Addr) { l.holder.Busy(host, addr, false) }
