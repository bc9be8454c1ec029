package sim

import (
	"weir/crawl"
	"weir/page"
)

// leases drives the crawl.Desk of a node: it plans when the desk is stepped, and
// takes what comes of that where it belongs.
type leases struct {
	*crawl.Desk
	p    *peer
	wake page.Time // when a step is planned; -1 = none is
}

func newLeases(p *peer, cfg crawl.DeskConfig) *leases {
	cfg.Name, cfg.Session, cfg.Owner = p.name, 1, func(part int) string { return p.member.Owner(part) }
	return &leases{Desk: crawl.NewDesk(cfg), p: p, wake: -1}
}

// order takes what the Engine orders about leases.
func (l *leases) order(o crawl.Order) {
	switch o := o.(type) {
	case crawl.Lease:
		l.Want(l.p.s.now, o)
	case crawl.Return:
		l.Give(l.p.s.now, o)
	}
	l.at(l.p.s.now)
}

// may says whether a request may be sent now.
func (l *leases) may(o *crawl.Fetch) bool {
	defer l.at(l.p.s.now)
	return l.May(l.p.s.now, o.Host, o.Addr)
}

// hear takes a message about leases from another node.
func (l *leases) hear(from string, data []byte) {
	l.p.c.fail(l.Hear(l.p.s.now, from, data))
	l.at(l.p.s.now)
}

// at plans a step; that of this moment comes when whatever happens now is over.
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

func (l *leases) step() {
	sends, told, next := l.Step(l.p.s.now)
	for _, x := range sends {
		l.p.port.Do(x)
	}
	for _, ev := range told {
		l.p.c.step(ev)
	}
	if next < page.Time(1<<62) {
		l.at(next)
	}
}
