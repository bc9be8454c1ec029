package overlay

import (
	"net/netip"
	"slices"
	"time"

	"weir/page"
)

// Holder keeps the leases of a node that fetches: it asks for those that are wanted,
// renews them while they are, and says whether a request may be sent now. It is about
// other nodes: how long the node itself waits between its own requests to a host is
// not its business.
//
// Not safe for concurrent use; the Member's driver owns it.
type Holder struct {
	keys    Keys
	session uint64
	id      uint64 // of the last Ask or Return
	holds   map[Subject]*hold
	list    []*hold // in the order in which they were wanted
	flights []flight
	back    []returned
	past    shelf[string, past]
	index   []int // by partition: its letter, while some are written
}

// hold is a lease that is wanted.
type hold struct {
	Subject
	wait   time.Duration
	busy   bool
	others bool
	asked  bool      // once, at least
	next   page.Time // when to ask again
	from   page.Time // no request is sent before
	until  page.Time // nor from here on
}

// flight is an Ask that was not answered yet.
type flight struct {
	id    uint64
	sent  page.Time
	wants []*hold
}

// past is what the node has to tell of a host. It tells it with every Return, for the
// one before may have been lost, or may come later.
type past struct {
	used bool
	last page.Time     // when the last answer ended
	rest page.Time     // until when the host rests
	wait time.Duration // between requests
}

// returned is a lease that was given back, at a time.
type returned struct {
	Give
	at page.Time
}

// Letter is what a holder has to say to the owner of a partition: an Ask or a Return.
type Letter struct {
	Part   int
	Ask    *Ask
	Return *Return
}

// NewHolder returns a holder that wants nothing. A session is never used twice by one
// node.
func NewHolder(keys Keys, session uint64) *Holder {
	return &Holder{keys: keys, session: session, holds: make(map[Subject]*hold), index: make([]int, keys.parts)}
}

// Want asks for a lease, and keeps it until Drop. wait is how long the node waits
// between two requests to the host.
func (h *Holder) Want(now page.Time, s Subject, wait time.Duration) {
	s.Addr = s.Addr.Unmap()
	if x, ok := h.holds[s]; ok {
		x.wait = wait
		return
	}
	x := &hold{Subject: s, wait: wait, next: now}
	h.holds[s] = x
	h.list = append(h.list, x)
}

// Busy says that a request to a host is under way, or over. While one is, others do
// not get the lease.
func (h *Holder) Busy(host string, addr netip.Addr, is bool) {
	for _, s := range []Subject{{Host: host}, {host, addr.Unmap()}} {
		if x, ok := h.holds[s]; ok {
			x.busy = is
		}
	}
}

// May says whether a request to a host may be sent to an address now. It is asked
// immediately before the first byte leaves.
func (h *Holder) May(now page.Time, host string, addr netip.Addr) bool {
	from, until := h.Span(host, addr)
	return from <= now && now < until
}

// Span returns from when until when requests to a host may be sent to an address, as
// far as is known; until is 0 if there is no lease. A connection that is in use then
// is closed, unless both were renewed.
func (h *Holder) Span(host string, addr netip.Addr) (from, until page.Time) {
	a, ok := h.holds[Subject{Host: host}]
	if !ok {
		return 0, 0
	}
	b, ok := h.holds[Subject{host, addr.Unmap()}]
	if !ok {
		return 0, 0
	}
	return max(a.from, b.from), min(a.until, b.until)
}

// Asked says whether others wait for a lease: it is dropped when the request that is
// under way is over.
func (h *Holder) Asked(s Subject) bool {
	s.Addr = s.Addr.Unmap()
	x, ok := h.holds[s]
	return ok && x.others
}

// Drop gives a lease back when no request is under way. used says that one was sent
// under it; last is when its last answer ended, and rest how long the host must rest
// from now on.
func (h *Holder) Drop(now page.Time, s Subject, used bool, last page.Time, rest time.Duration) {
	s.Addr = s.Addr.Unmap()
	x, ok := h.holds[s]
	if !ok {
		return
	}
	delete(h.holds, s)
	h.list = slices.DeleteFunc(h.list, func(y *hold) bool { return y == x })
	if !x.asked {
		return
	}
	g := Give{Subject: s}
	if !s.Addr.IsValid() {
		p := h.past.get(s.Host)
		p.wait, p.rest = x.wait, max(p.rest, now.Add(rest))
		if used {
			p.used, p.last = true, max(p.last, last)
		}
		g.Used, g.Rest = p.used, max(p.rest.Sub(now), 0)
		if p.used {
			g.Ago = max(now.Sub(p.last), 0)
		}
	}
	h.back = append(h.back, returned{g, now})
}

// Answer reads the answer to an Ask.
func (h *Holder) Answer(now page.Time, x *Answer) {
	i := slices.IndexFunc(h.flights, func(f flight) bool { return f.id == x.ID })
	if i < 0 || x.Session != h.session || len(x.Leases) != len(h.flights[i].wants) {
		return
	}
	f := h.flights[i]
	h.flights = slices.Delete(h.flights, i, i+1)
	for i, l := range x.Leases {
		y := f.wants[i] // nobody looks at it any more if it was given back
		y.others = l.Others
		if l.For <= 0 {
			y.next = now.Add(max(l.Wait, 50*time.Millisecond))
			continue
		}
		length := min(l.For, MaxLease)
		y.from = max(y.from, now.Add(l.Wait))
		y.until = max(y.until, f.sent.Add(length-length/leaseSlack))
		y.next = max(f.sent.Add(length/2), now.Add(50*time.Millisecond))
	}
}

// Next returns when Letters has something to say; never if it has not.
func (h *Holder) Next() page.Time {
	if len(h.back) > 0 {
		return 0
	}
	next := notHere
	for _, x := range h.list {
		next = min(next, x.next)
	}
	return next
}

// Letters returns what is to be said now, for the partitions' owners.
func (h *Holder) Letters(now page.Time) []Letter {
	h.flights = slices.DeleteFunc(h.flights, func(f flight) bool { return now.Sub(f.sent) > MaxLease })
	letters := h.returns(now, nil)
	h.past.sweep(2*len(letters)+2, func(p *past) bool { return max(p.rest, p.last.Add(p.wait)).Add(keptFor) <= now })
	clear(h.index)
	for _, x := range h.list {
		if x.next > now {
			continue
		}
		part := h.keys.SubjectPart(x.Subject)
		at := h.index[part]
		if at == 0 || len(letters[at-1].Ask.Wants) == maxWants {
			h.id++
			letters = append(letters, Letter{Part: part, Ask: &Ask{Session: h.session, ID: h.id}})
			h.flights = append(h.flights, flight{id: h.id, sent: now})
			at = len(letters)
			h.index[part] = at
		}
		ask := letters[at-1].Ask
		f := &h.flights[len(h.flights)-1-int(h.id-ask.ID)]
		ask.Wants = append(ask.Wants, Want{Subject: x.Subject, Wait: x.wait, Busy: x.busy})
		f.wants = append(f.wants, x)
		x.asked, x.next = true, now.Add(askAgain)
	}
	return letters
}

// returns writes what was given back. It goes before what is asked for, so that a
// lease that is given back and wanted again has a later number.
func (h *Holder) returns(now page.Time, letters []Letter) []Letter {
	clear(h.index)
	for _, b := range h.back {
		part := h.keys.SubjectPart(b.Subject)
		at := h.index[part]
		if at == 0 || len(letters[at-1].Return.Gives) == maxWants {
			h.id++
			letters = append(letters, Letter{Part: part, Return: &Return{Session: h.session, ID: h.id}})
			at = len(letters)
			h.index[part] = at
		}
		g, passed := b.Give, now.Sub(b.at)
		g.Rest = max(g.Rest-passed, 0)
		if g.Used {
			g.Ago += passed
		}
		r := letters[at-1].Return
		r.Gives = append(r.Gives, g)
	}
	h.back = h.back[:0]
	return letters
}
