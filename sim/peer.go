package sim

import (
	"fmt"
	"slices"
	"time"

	"weir/crawl"
	"weir/overlay"
	"weir/page"
	"weir/sim/mesh"
)

// peer is what makes a crawler one node of a cluster: its Member, and its way to the
// others. It does for the Member what the driver of a live node does.
type peer struct {
	c      *crawler
	s      *swarm
	name   string
	member *overlay.Member
	leases *leases // nil: nobody asks for any
	port   *mesh.Port
	events []overlay.Event
	inside bool
	wake   page.Time
	parts  []int // that it owns

	applied, told uint64 // Apply actions, and those that the Engine has heard of

	received int64 // bytes of logs, from others
	gossip   int64 // bytes
	lent     int64 // bytes about leases
}

// open lets the node join.
func (p *peer) open(origin uint64) {
	p.member = overlay.NewMember(overlay.Config{Name: p.name, Session: 1, Origin: origin, Parts: p.s.parts, Homes: p.s.homes, Cold: true})
	p.port = p.s.net.Open(p.name, func() page.Time { return p.s.now }, func(ev overlay.Event) {
		p.s.now = p.s.net.Now()
		if h, ok := ev.(overlay.Heard); ok {
			if overlay.TrafficOfWord(h.Data) == overlay.Leases {
				p.lent += int64(len(h.Data)) + envelope
				p.s.account.Received[overlay.Leases] += int64(len(h.Data)) + envelope
				p.leases.hear(h.From, h.Data)
				return
			}
			p.gossip += int64(len(h.Data)) + envelope
			p.s.account.Received[overlay.Gossip] += int64(len(h.Data)) + envelope
		}
		p.step(ev)
	})
	p.step(overlay.Tick{})
	p.beat()
}

// beat tells the Member how busy the node is, every second.
func (p *peer) beat() {
	p.s.now = p.s.net.Now()
	p.c.step(crawl.Census{Applied: p.told})
	p.s.net.After(time.Second, p.beat)
}

// answer takes the Engine's orders that are for the Member.
func (p *peer) answer(o crawl.Order) {
	switch o := o.(type) {
	case crawl.Counted:
		p.c.ledger.Pressed(o)
		l := overlay.Load{Queued: o.Queued, Flying: o.Flying, Free: int64(o.Free), Spare: int64(o.Spare), Applied: o.Applied, Wanted: o.Wanted, Owed: o.Owed, Asked: o.Asked}
		if p.c.group {
			l.Unsent = 1
		}
		p.step(l)
	case crawl.Lease, crawl.Return:
		p.leases.order(o)
	case crawl.Released:
		p.step(overlay.Empty{Part: int(o.Part)})
	}
}

// committed hands in what a durable group has to say to the others.
func (p *peer) committed(parcel *overlay.Parcel) {
	p.told = p.applied
	if parcel != nil {
		p.step(*parcel)
	}
}

// step tells the Member what happened, and does what it says.
func (p *peer) step(ev overlay.Event) {
	p.events = append(p.events, ev)
	if p.inside {
		return
	}
	p.inside = true
	for len(p.events) > 0 {
		ev := p.events[0]
		p.events = p.events[1:]
		for _, a := range p.member.Step(p.s.now, ev) {
			p.do(a)
		}
	}
	p.events, p.inside = nil, false
}

func (p *peer) do(a overlay.Action) {
	c := p.c
	switch a := a.(type) {
	case overlay.Apply:
		p.applied++
		c.ledger.Clock(c.wall())
		c.fail(c.ledger.Apply(a.Part, a.Offset, a.Batch))
		c.learned()
	case overlay.Adopt:
		p.applied++
		c.flush()
		ev, err := c.ledger.Adopt(a.Part, a.Epoch)
		c.fail(err)
		if c.ledger.Pending() > 0 {
			c.learned()
		}
		p.parts = append(p.parts, a.Part)
		p.s.owner[a.Part] = p
		if p.leases != nil {
			p.leases.Start(a.Since, a.Part)
		}
		c.step(ev)
		p.told = p.applied
	case overlay.Disown:
		p.disown(a.Part)
	case overlay.Fence:
		c.fail(fmt.Errorf("%s lost its session while nothing went wrong", p.name))
	case overlay.Posted:
		c.ledger.Posted(a.Seq)
	case overlay.Throttle:
		c.step(crawl.Hold{On: a.On})
	case overlay.Relieve:
		c.step(crawl.Relief{Part: uint16(a.Part), Hosts: a.Hosts})
	case overlay.Share, overlay.Quiet, overlay.Left:
	case overlay.Wake:
		if a.At == p.wake {
			return
		}
		p.wake = a.At
		p.s.net.After(a.At.Sub(p.s.now), func() {
			if p.wake == a.At {
				p.wake = -1
				p.s.now = p.s.net.Now()
				p.step(overlay.Tick{})
			}
		})
	default:
		p.port.Do(a)
	}
}

// disown gives up a partition. While nodes still learn of one another, a few take what
// is for those that they have not heard of; later nobody comes or goes.
func (p *peer) disown(part int) {
	c := p.c
	if p.s.gathered {
		c.fail(fmt.Errorf("%s lost partition %d while nothing went wrong", p.name, part))
	}
	c.ledger.Disown(part)
	p.parts = slices.DeleteFunc(p.parts, func(x int) bool { return x == part })
	if p.s.owner[part] == p {
		p.s.owner[part] = nil
	}
	if p.leases != nil {
		p.leases.Stop(part)
	}
	c.step(crawl.Disowned{Parts: []uint16{uint16(part)}})
}
