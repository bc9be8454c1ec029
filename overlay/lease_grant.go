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
	PerCDN    int           // the same to an address that serves many domains
	Domains   int           // how many it serves at most without being such an address
}

// Granter grants leases of the hosts and addresses whose partitions its node owns.
//
// A host has at most one holder. Who held it may send requests until its lease has
// run out by the granter's clock, if it does not give it back before; the next one
// may send some when the host has rested from then. Those who ask meanwhile stand in
// line, and have it in the order in which they came. Who would wait for long is sent
// away, and keeps its place if it is back in time.
//
// An address has as many holders as it may have connections. Like a frontier.Frontier
// the granter takes one for a CDN that many domains were asked for at, here by all
// nodes; and it believes a node that says so.
//
// Not safe for concurrent use; the Member's driver owns it.
type Granter struct {
	cfg   LeaseConfig
	keys  Keys
	since []page.Time // by partition: since when it is granted here; never: not at all
	hosts shelf[string, tenure]
	addrs shelf[netip.Addr, crowd]
	calls []Called
}

// Called is a Call for a node.
type Called struct {
	To string
	Call
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
	wait   time.Duration // between requests: the longest of those below
	delay  time.Duration // the least, whoever asks
	habits []habit       // of those who wait for longer
	rest   page.Time     // it is not asked before
	last   page.Time     // nobody has sent it a request after
	holder party
	id     uint64    // of the holder's last Ask
	until  page.Time // 0: nobody holds it
	line   line
	away   line // who was sent away to come back later, in the order in which they came
}

// habit is how long a node waits between requests to a host, as it has said last. What
// a host's last answer took is in it, so that it may be less the next time.
type habit struct {
	who  party
	wait time.Duration
	said page.Time
}

// crowd is who is connected to an address.
type crowd struct {
	since   page.Time
	slots   []slot
	line    line
	domains []string // that it was asked for of late, until they are many
	many    bool
	asked   page.Time // the last time
	waited  page.Time // the last time that somebody had to wait; 0 = nobody has
}

type slot struct {
	holder party
	host   string
	id     uint64
	until  page.Time
	keeps  bool // it may
}

// line is who waits for something, the first in front. It is short: who would wait
// for long is sent away.
type line []waiter

type waiter struct {
	who    party
	host   string    // of an address: for which
	until  page.Time // it is taken to wait
	called bool
}

const maxLine = 16

// others drops those who have gone, and returns how many stand before somebody.
func (l *line) others(now page.Time, p party, host string) int {
	*l = slices.DeleteFunc(*l, func(w waiter) bool { return w.until <= now })
	if i := l.find(p, host); i >= 0 {
		return i
	}
	return len(*l)
}

func (l line) find(p party, host string) int {
	return slices.IndexFunc(l, func(w waiter) bool { return w.who == p && w.host == host })
}

// stand lets somebody wait, behind the others if it is new.
func (l *line) stand(now page.Time, p party, host string) {
	if i := l.find(p, host); i >= 0 {
		(*l)[i].until, (*l)[i].called = now.Add(Patience), false
	} else if len(*l) < maxLine {
		*l = append(*l, waiter{who: p, host: host, until: now.Add(Patience)})
	}
}

// expect lets somebody have its place who will come back at a time.
func (l *line) expect(p party, at page.Time) {
	if i := l.find(p, ""); i >= 0 {
		(*l)[i].until = at.Add(askAgain)
	} else if len(*l) < maxLine {
		*l = append(*l, waiter{who: p, until: at.Add(askAgain)})
	}
}

// before says whether somebody who came before p is expected now.
func (l *line) before(now page.Time, p party) bool {
	n := l.others(now, p, "")
	return slices.ContainsFunc((*l)[:n], func(w waiter) bool { return w.until <= now.Add(leaseEarly/2+askAgain) })
}

// leave lets somebody wait no longer.
func (l *line) leave(p party, host string) {
	*l = slices.DeleteFunc(*l, func(w waiter) bool { return w.who == p && w.host == host })
}

// call has the first n asked to come after a while. Who was called does, or is taken
// to have gone.
func (g *Granter) call(now page.Time, l *line, n int, in time.Duration, subject func(*waiter) Subject) {
	l.others(now, party{}, "")
	for i := range min(n, len(*l)) {
		if w := &(*l)[i]; !w.called {
			w.called, w.until = true, now.Add(in+askAgain)
			g.calls = append(g.calls, Called{w.who.name, Call{w.who.session, in, subject(w)}})
		}
	}
}

// Calls returns whom to call since Ask or Return were called last.
func (g *Granter) Calls() []Called {
	calls := g.calls
	g.calls = nil
	return calls
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

// Learn tells what a host of a partition that is granted here needs besides: how long
// it waits between requests at least, and rests from now on. What a former owner has
// learned is in the partition's log.
func (g *Granter) Learn(now page.Time, host string, delay, rest time.Duration) {
	part := g.keys.HostPart(host)
	if g.since[part] == notHere {
		return
	}
	t := g.tenure(host, g.since[part])
	t.delay = max(t.delay, min(delay, maxSpan))
	t.wait = max(t.wait, t.delay)
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
func (g *Granter) tenure(host string, since page.Time) *tenure {
	t := g.hosts.get(host)
	if t.last == 0 {
		t.wait, t.delay = g.cfg.Wait, g.cfg.Wait
	}
	if t.last == 0 || t.since != since {
		*t = tenure{since: since, wait: t.wait, delay: t.delay, habits: t.habits, rest: t.rest, last: since.Add(MaxLease)}
		for i := range t.habits { // they may have said it to the former owner
			t.habits[i].said = max(t.habits[i].said, t.last)
		}
	}
	return t
}

// heed takes how long a node waits between requests from now on. Who has not said it for
// a minute longer than that is not reckoned with, however often others visit the host: it
// has no pages of the host any more, or has gone, and may have had one slow answer. It
// says it with each Ask, and so until its last visit is over; others know of a
// crawl-delay themselves, or the partition's log does.
func (t *tenure) heed(now page.Time, p party, wait time.Duration) {
	t.habits = slices.DeleteFunc(t.habits, func(h habit) bool { return h.who == p || h.said.Add(h.wait+keptFor) <= now })
	if wait = min(wait, maxSpan); wait > t.delay {
		t.habits = append(t.habits, habit{p, wait, now})
	}
	t.wait = t.delay
	for _, h := range t.habits {
		t.wait = max(t.wait, h.wait)
	}
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

func (t *tenure) free() { t.until, t.holder = 0, party{} }

func (g *Granter) host(now, since page.Time, p party, id uint64, w *Want) Lease {
	t := g.tenure(w.Host, since)
	t.lapse(now)
	t.heed(now, p, w.Wait)
	ahead := t.line.others(now, p, "")
	wait := max(t.ready().Sub(now), 0)
	switch {
	case t.until != 0 && t.holder == p:
		if len(t.line) > 0 && !w.Busy {
			return Lease{Wait: t.until.Sub(now), Others: true}
		}
		t.id, t.until = max(t.id, id), now.Add(MaxLease)
		return Lease{For: MaxLease, Wait: wait, Others: len(t.line) > 0}
	case t.until != 0 || ahead > 0:
		if t.until != 0 {
			ahead++
		}
		// Whoever is before it, the host rests after each.
		if turn := time.Duration(ahead)*t.wait - leaseEarly/2; turn > Patience {
			t.line.leave(p, "")
			t.away.expect(p, now.Add(turn))
			return Lease{Wait: turn}
		}
		t.line.stand(now, p, "")
		t.away.leave(p, "")
		g.callHost(now, w.Host, t)
		return Lease{Wait: callAgain}
	case wait > leaseEarly:
		t.line.leave(p, "")
		t.away.expect(p, now.Add(wait-leaseEarly/2))
		return Lease{Wait: wait - leaseEarly/2}
	case len(t.line) == 0 && t.away.before(now, p):
		// All who were sent away come back at the same time, and the nearest would always
		// be the first: the others would never have it, nor find out that it is fast again.
		t.away.expect(p, now.Add(leaseEarly/2))
		return Lease{Wait: leaseEarly / 2}
	}
	t.holder, t.id, t.until = p, id, now.Add(MaxLease)
	t.line.leave(p, "")
	t.away.leave(p, "")
	return Lease{For: MaxLease, Wait: wait}
}

// callHost calls who is first in line for a host that nobody holds. If it rests for
// long all are called, to ask one after the other.
func (g *Granter) callHost(now page.Time, host string, t *tenure) {
	if t.until != 0 {
		return
	}
	n, in := 1, max(t.ready().Sub(now)-leaseEarly/2, 0)
	if in > Patience {
		n = len(t.line)
	}
	g.call(now, &t.line, n, in, func(*waiter) Subject { return Subject{Host: host} })
	if in > Patience {
		t.line = nil
	}
}

func (g *Granter) slot(now, since page.Time, p party, id uint64, w *Want) Lease {
	addr := w.Addr.Unmap()
	c := g.addrs.get(addr)
	if c.since != since {
		*c = crowd{since: since, domains: c.domains, many: c.many}
	}
	c.asked = now
	g.serves(c, w)
	c.lapse(now)
	ahead := c.line.others(now, p, w.Host)
	if i := c.find(p, w.Host); i >= 0 {
		if len(c.line) > 0 && !w.Busy {
			return Lease{Wait: c.slots[i].until.Sub(now), Others: true, Many: c.many}
		}
		c.slots[i].id, c.slots[i].until, c.slots[i].keeps = max(c.slots[i].id, id), now.Add(MaxLease), !c.shared(now)
		return Lease{For: MaxLease, Others: len(c.line) > 0, Many: c.many, Shared: c.shared(now)}
	}
	if begin := since.Add(MaxLease); now < begin {
		return Lease{Wait: begin.Sub(now), Many: c.many}
	}
	if len(c.slots)+ahead >= g.room(c) {
		c.line.stand(now, p, w.Host)
		g.callAddr(now, addr, c)
		g.callBack(now, addr, c)
		return Lease{Wait: callAgain, Many: c.many}
	}
	c.slots = append(c.slots, slot{p, w.Host, id, now.Add(MaxLease), !c.shared(now)})
	c.line.leave(p, w.Host)
	return Lease{For: MaxLease, Many: c.many, Shared: c.shared(now)}
}

// sharedFor is how long after somebody had to wait for an address nobody keeps it.
const sharedFor = time.Minute

// shared reports whether others may want an address: it is asked for hosts of several
// domains, or somebody had to wait for it.
func (c *crowd) shared(now page.Time) bool {
	return c.many || len(c.domains) > 1 || c.waited != 0 && now < c.waited.Add(sharedFor)
}

// callBack tells those who were let keep an address that others want it.
func (g *Granter) callBack(now page.Time, addr netip.Addr, c *crowd) {
	for i := range c.slots {
		if s := &c.slots[i]; s.keeps {
			s.keeps = false
			g.calls = append(g.calls, Called{s.holder.name, Call{Session: s.holder.session, Subject: Subject{s.host, addr}}})
		}
	}
	c.waited = now
}

// callAddr calls as many of those in line for an address as it has room for.
func (g *Granter) callAddr(now page.Time, addr netip.Addr, c *crowd) {
	g.call(now, &c.line, g.room(c)-len(c.slots), 0, func(w *waiter) Subject { return Subject{w.host, addr} })
}

// room is how many connections an address may have.
func (g *Granter) room(c *crowd) int {
	if c.many {
		return max(g.cfg.PerCDN, g.cfg.PerServer)
	}
	return g.cfg.PerServer
}

// serves notes what an address is asked for.
func (g *Granter) serves(c *crowd, w *Want) {
	if c.many {
		return
	}
	if domain := page.Domain(w.Host); !slices.Contains(c.domains, domain) {
		c.domains = append(c.domains, domain)
	}
	if w.Many || g.cfg.Domains > 0 && len(c.domains) > g.cfg.Domains {
		c.many, c.domains = true, nil
	}
}

func (c *crowd) find(p party, host string) int {
	return slices.IndexFunc(c.slots, func(s slot) bool { return s.holder == p && s.host == host })
}

func (c *crowd) lapse(now page.Time) {
	c.slots = slices.DeleteFunc(c.slots, func(s slot) bool { return s.until <= now })
}

// Return takes leases back. One that was asked for again since stays. It says whether
// the Return is to be answered.
func (g *Granter) Return(now page.Time, from string, x *Return) (sure bool) {
	p := party{from, x.Session}
	for i := range x.Gives {
		v := &x.Gives[i]
		since := g.since[g.keys.SubjectPart(v.Subject)]
		switch {
		case since == notHere:
		case v.Addr.IsValid():
			g.leave(now, p, x.ID, v)
		default:
			t := g.tenure(v.Host, since)
			t.lapse(now)
			t.rest = max(t.rest, now.Add(v.Rest))
			if v.Used {
				t.last = max(t.last, now.Add(-v.Ago))
			}
			if t.until != 0 && t.holder == p && t.id < x.ID {
				t.free()
			}
			t.line.leave(p, "")
			t.away.leave(p, "")
			g.callHost(now, v.Host, t)
			sure = sure || v.Sure
		}
	}
	return sure
}

// leave takes a node's connection to an address back.
func (g *Granter) leave(now page.Time, p party, id uint64, v *Give) {
	addr := v.Addr.Unmap()
	c, ok := g.addrs.find(addr)
	if !ok {
		return
	}
	if i := c.find(p, v.Host); i >= 0 && c.slots[i].id < id {
		c.slots = slices.Delete(c.slots, i, i+1)
	}
	c.lapse(now)
	c.line.leave(p, v.Host)
	g.callAddr(now, addr, c)
}

const (
	// keptFor is how long a host is remembered after it has rested: who asks next may
	// know of a longer wait.
	keptFor = time.Minute

	// domainsFor is how long is remembered which domains an address serves beside one.
	// That they are many is not forgotten.
	domainsFor = 10 * time.Minute
)

// forget drops a few of what nobody holds and nothing is to be remembered of.
func (g *Granter) forget(now page.Time, n int) {
	g.hosts.sweep(n, func(t *tenure) bool { t.lapse(now); return t.until == 0 && t.ready().Add(keptFor) <= now })
	g.addrs.sweep(n, func(c *crowd) bool {
		c.lapse(now)
		return len(c.slots) == 0 && !c.many && (len(c.domains) < 2 && !c.shared(now) || c.asked.Add(domainsFor) <= now)
	})
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
