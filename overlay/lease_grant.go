package overlay

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"weir/page"
)

// LeaseConfig says how polite all nodes are together.
type LeaseConfig struct {
	Wait      time.Duration // at least between two requests to a host
	PerServer int           // most connections to one address
}

// Granter grants leases of the hosts and addresses whose partitions its node owns.
//
// A host has at most one holder. Who held it may send requests until its lease has
// run out by the granter's clock, if it does not give it back before; the next one
// may send some when the host has rested from then.
//
// Not safe for concurrent use; the Member's driver owns it.
type Granter struct {
	cfg   LeaseConfig
	keys  Keys
	since []page.Time // by partition: since when it is granted here; never: not at all
	hosts shelf[string, tenure]
	addrs shelf[netip.Addr, crowd]
}

const notHere = page.Time(math.MaxInt64)

// party is a node, in one of its sessions.
type party struct {
	name    string
	session uint64
}

// tenure is who holds a host.
type tenure struct {
	since  page.Time     // of the partition, when this was made
	wait   time.Duration // between requests: the longest that was asked for
	rest   page.Time     // it is not asked before
	last   page.Time     // nobody has sent it a request after
	holder party
	former party     // who held it before
	id     uint64    // of the holder's last Ask
	until  page.Time // 0: nobody holds it
	others page.Time // until then, others are taken to wait
}

// crowd is who is connected to an address.
type crowd struct {
	since  page.Time
	slots  []slot
	others page.Time // until then, some are taken to wait
}

type slot struct {
	holder party
	host   string
	id     uint64
	until  page.Time
}

// NewGranter returns a granter that owns no partition.
func NewGranter(keys Keys, cfg LeaseConfig) *Granter {
	g := &Granter{cfg: cfg, keys: keys, since: make([]page.Time, keys.parts)}
	for p := range g.since {
		g.since[p] = notHere
	}
	return g
}

// Start says that the node owns a partition, and no other has granted anything since
// then; Stop that it does not.
func (g *Granter) Start(since page.Time, part int) { g.since[part] = since }
func (g *Granter) Stop(part int)                   { g.since[part] = notHere }

// Learn tells what a host needs besides: how long it waits between requests, and
// rests from now on. What a former owner has learned is in the partition's log.
func (g *Granter) Learn(now page.Time, host string, wait, rest time.Duration) {
	part := g.keys.HostPart(host)
	if g.since[part] == notHere {
		return
	}
	t := g.tenure(host, g.since[part], wait)
	t.rest = max(t.rest, now.Add(min(rest, maxSpan)))
}

// Ask answers what a node asks for.
func (g *Granter) Ask(now page.Time, from string, x *Ask) Answer {
	a := Answer{Session: x.Session, ID: x.ID, Leases: make([]Lease, len(x.Wants))}
	p := party{from, x.Session}
	for i := range x.Wants {
		w := &x.Wants[i]
		since := g.since[g.keys.SubjectPart(w.Subject)]
		switch {
		case since == notHere:
			a.Leases[i] = Lease{Wait: askAgain}
		case w.Addr.IsValid():
			a.Leases[i] = g.slot(now, since, p, x.ID, w)
		default:
			a.Leases[i] = g.host(now, since, p, x.ID, w)
		}
	}
	g.forget(now, 2*len(x.Wants)+2)
	return a
}

// tenure returns what is known of a host, not before the leases of a former owner
// have run out.
func (g *Granter) tenure(host string, since page.Time, wait time.Duration) *tenure {
	t := g.hosts.get(host)
	t.wait = max(t.wait, min(wait, maxSpan), g.cfg.Wait)
	if t.last == 0 || t.since != since {
		*t = tenure{since: since, wait: t.wait, rest: t.rest, last: since.Add(MaxLease)}
	}
	return t
}

// ready returns from when on the host may be asked.
func (t *tenure) ready() page.Time { return max(t.rest, t.last.Add(t.wait)) }

// lapse ends a lease that has run out.
func (t *tenure) lapse(now page.Time) {
	if t.until != 0 && t.until <= now {
		t.last = max(t.last, t.until)
		t.free()
	}
}

func (t *tenure) free() { t.until, t.former, t.holder = 0, t.holder, party{} }

func (g *Granter) host(now, since page.Time, p party, id uint64, w *Want) Lease {
	t := g.tenure(w.Host, since, w.Wait)
	t.lapse(now)
	if t.until != 0 && t.holder != p {
		t.others = now.Add(2 * askAgain)
		return Lease{Wait: min(t.until.Sub(now), askAgain)}
	}
	others := t.others > now
	wait := max(t.ready().Sub(now), 0)
	if t.until != 0 {
		if others && !w.Busy {
			return Lease{Wait: t.until.Sub(now), Others: true}
		}
		t.id, t.until = max(t.id, id), now.Add(MaxLease)
		return Lease{For: MaxLease, Wait: wait, Others: others}
	}
	if others && t.former == p {
		return Lease{Wait: t.others.Sub(now), Others: true}
	}
	// A lease may begin while the host still rests, so that nothing is lost on the way.
	if wait > MaxLease/2 {
		return Lease{Wait: wait - MaxLease/2}
	}
	t.holder, t.id, t.until, t.others = p, id, now.Add(MaxLease), 0
	return Lease{For: MaxLease, Wait: wait}
}

func (g *Granter) slot(now, since page.Time, p party, id uint64, w *Want) Lease {
	addr := w.Addr.Unmap()
	c := g.addrs.get(addr)
	if c.since != since {
		*c = crowd{since: since}
	}
	c.lapse(now)
	others := c.others > now
	if i := c.find(p, w.Host); i >= 0 {
		if others && !w.Busy {
			return Lease{Wait: c.slots[i].until.Sub(now), Others: true}
		}
		c.slots[i].id, c.slots[i].until = max(c.slots[i].id, id), now.Add(MaxLease)
		return Lease{For: MaxLease, Others: others}
	}
	if begin := since.Add(MaxLease); now < begin {
		return Lease{Wait: begin.Sub(now)}
	}
	if len(c.slots) >= g.cfg.PerServer {
		first := c.slots[0].until
		for _, s := range c.slots {
			first = min(first, s.until)
		}
		c.others = now.Add(2 * askAgain)
		return Lease{Wait: min(first.Sub(now), askAgain)}
	}
	c.slots = append(c.slots, slot{p, w.Host, id, now.Add(MaxLease)})
	return Lease{For: MaxLease}
}

func (c *crowd) find(p party, host string) int {
	return slices.IndexFunc(c.slots, func(s slot) bool { return s.holder == p && s.host == host })
}

func (c *crowd) lapse(now page.Time) {
	c.slots = slices.DeleteFunc(c.slots, func(s slot) bool { return s.until <= now })
}

// Return takes leases back. One that was asked for again since stays.
func (g *Granter) Return(now page.Time, from string, x *Return) {
	p := party{from, x.Session}
	for i := range x.Gives {
		v := &x.Gives[i]
		since := g.since[g.keys.SubjectPart(v.Subject)]
		switch {
		case since == notHere:
		case v.Addr.IsValid():
			if c, ok := g.addrs.find(v.Addr.Unmap()); ok {
				if i := c.find(p, v.Host); i >= 0 && c.slots[i].id < x.ID {
					c.slots = slices.Delete(c.slots, i, i+1)
				}
			}
		default:
			t := g.tenure(v.Host, since, 0)
			t.lapse(now)
			t.rest = max(t.rest, now.Add(v.Rest))
			if v.Used {
				t.last = max(t.last, now.Add(-v.Ago))
			}
			if t.until != 0 && t.holder == p && t.id < x.ID {
				t.free()
			}
		}
	}
}

// keptFor is how long a host is remembered after it has rested: who asks next may
// know of a longer wait.
const keptFor = time.Minute

// forget drops a few of what nobody holds and nothing is to be remembered of.
func (g *Granter) forget(now page.Time, n int) {
	g.hosts.sweep(n, func(t *tenure) bool { t.lapse(now); return t.until == 0 && t.ready().Add(keptFor) <= now })
	g.addrs.sweep(n, func(c *crowd) bool { c.lapse(now); return len(c.slots) == 0 })
}

// shelf is a map that can be walked through bit by bit, in an order that does not
// hang on chance.
type shelf[K comparable, V any] struct {
	items map[K]*V
	keys  []K
	next  int
}

func (s *shelf[K, V]) find(k K) (*V, bool) {
	v, ok := s.items[k]
	return v, ok
}

// get returns what is kept under k, and keeps a new one if there is nothing.
func (s *shelf[K, V]) get(k K) *V {
	if v, ok := s.items[k]; ok {
		return v
	}
	if s.items == nil {
		s.items = make(map[K]*V)
	}
	v := new(V)
	s.items[k] = v
	s.keys = append(s.keys, k)
	return v
}

// sweep looks at the next n, and drops those that drop says.
func (s *shelf[K, V]) sweep(n int, drop func(*V) bool) {
	for ; n > 0 && len(s.keys) > 0; n-- {
		if s.next >= len(s.keys) {
			s.next = 0
		}
		k := s.keys[s.next]
		if !drop(s.items[k]) {
			s.next++
			continue
		}
		delete(s.items, k)
		last := len(s.keys) - 1
		s.keys[s.next] = s.keys[last]
		s.keys = s.keys[:last]
	}
}
