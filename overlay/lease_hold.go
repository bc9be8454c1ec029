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
	id      uint64           // of the last Ask or Return
	holds   map[string]*hold // by host, the first of its leases; all others hang on it
	list    []*hold          // in the order in which they were wanted
	flights []flight
	back    []Subject // leases that were given back, not yet told
	kept    int       // leases that are kept
	past    shelf[string, past]
	untold  []untold
	long    int      // of past: hosts that rest for long
	sought  []string // by others, see Sought
	index   []int    // by partition: its letter, while some are written
}

// hold is a lease that is wanted.
type hold struct {
	Subject
	wait   time.Duration
	busy   bool
	others bool
	many   bool
	shared bool      // it is not to be kept, as others may want it
	kept   bool      // nobody uses it, until somebody does or it would have to be renewed
	asked  bool      // once, at least
	next   page.Time // when to ask again
	again  page.Time // the same, as the granter has said instead of granting it
	from   page.Time // no request is sent before
	until  page.Time // nor from here on
	beside *hold     // of the same host
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
	long bool          // it rests for longer than the granter would let it, had it not heard
}

// untold is a host that rests for longer than its granter would let it, until the
// granter is known to have heard of that.
type untold struct {
	host string
	id   uint64    // of the last Return that told so
	next page.Time // when to tell it again
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
	return &Holder{keys: keys, session: session, holds: make(map[string]*hold), index: make([]int, keys.parts)}
}

// of returns the leases that a request to a host at an address needs: the host's own
// and that of the connection, which is the same where there is no address. One that is
// not wanted is nil.
func (h *Holder) of(host string, addr netip.Addr) (own, conn *hold) {
	addr = addr.Unmap()
	for x := h.holds[host]; x != nil; x = x.beside {
		if !x.Addr.IsValid() {
			own = x
		}
		if x.Addr == addr {
			conn = x
		}
	}
	return own, conn
}

// Want asks for a lease, and keeps it until Drop. wait is how long the node waits
// between two requests to the host; many says that it takes the address for a CDN's.
func (h *Holder) Want(now page.Time, s Subject, wait time.Duration, many bool) {
	s.Addr = s.Addr.Unmap()
	if _, x := h.of(s.Host, s.Addr); x != nil {
		x.wait, x.many = wait, x.many || many
		h.keep(x, false)
		return
	}
	x := &hold{Subject: s, wait: wait, many: many, next: now, beside: h.holds[s.Host]}
	h.holds[s.Host] = x
	h.list = append(h.list, x)
}

// Busy says that a request to a host is under way, or over. While one is, others do
// not get the lease: one that was to end since others wait for it is asked for again
// at once.
func (h *Holder) Busy(host string, addr netip.Addr, is bool) {
	own, conn := h.of(host, addr)
	for _, x := range [...]*hold{own, conn} {
		if x == nil {
			continue
		}
		if x.busy = is; is && x.again != 0 {
			x.next = 0
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
// far as is known; until is 0 if there is no lease, or it is only kept. A connection that
// is in use then is closed, unless both were renewed.
func (h *Holder) Span(host string, addr netip.Addr) (from, until page.Time) {
	own, conn := h.of(host, addr)
	if own == nil || conn == nil || conn.kept {
		return 0, 0
	}
	return max(own.from, conn.from), min(own.until, conn.until)
}

// Sought returns the hosts that others have come to wait for since it was called last:
// their leases are to be dropped when the request that is under way is over.
func (h *Holder) Sought() []string {
	hosts := h.sought
	h.sought = nil
	return hosts
}

// Many says whether the address of a lease serves many domains, as far as is known.
func (h *Holder) Many(host string, addr netip.Addr) bool {
	_, x := h.of(host, addr)
	return x != nil && x.many
}

// Again returns when leases that were not granted will be asked for again; 0 if none
// was refused.
func (h *Holder) Again(host string, addr netip.Addr) (at page.Time) {
	own, conn := h.of(host, addr)
	for _, x := range [...]*hold{own, conn} {
		if x != nil {
			at = max(at, x.again)
		}
	}
	return at
}

// Call lets what is wanted be asked for when it is said to be free, and what is held not
// be kept.
func (h *Holder) Call(now page.Time, x *Call) {
	_, y := h.of(x.Subject.Host, x.Subject.Addr)
	if y == nil || x.Session != h.session {
		return
	}
	if y.until <= now {
		y.next = now.Add(x.In)
		y.again = y.next
		return
	}
	y.shared = true
}

// Moved says that a partition has another owner, who is told of the hosts in it that
// rest for long.
func (h *Holder) Moved(now page.Time, part int) {
	for _, host := range h.past.keys {
		if p := h.past.items[host]; !p.long || p.rest <= now || h.keys.HostPart(host) != part {
			continue
		}
		if own, _ := h.of(host, netip.Addr{}); own == nil { // else it is told when that is given back
			h.tell(now, host)
		}
	}
}

// Resting says whether there are hosts of which Moved would tell.
func (h *Holder) Resting() bool { return h.long > 0 }

// tell has it told how long a host rests, until that was heard.
func (h *Holder) tell(now page.Time, host string) {
	h.untold = slices.DeleteFunc(h.untold, func(u untold) bool { return u.host == host })
	h.untold = append(h.untold, untold{host: host, next: now})
}

// maxKept is how many leases are kept at a time: each is looked at when any is.
const maxKept = 256

// Keep is Drop of a connection that a request was sent over, and another one may soon.
func (h *Holder) Keep(now page.Time, s Subject) {
	_, x := h.of(s.Host, s.Addr)
	if x != nil && !x.shared && !x.many && now.Add(x.wait) < x.next && h.kept < maxKept {
		x.busy = false
		h.keep(x, true)
		return
	}
	h.Drop(now, s, true, now, 0)
}

func (h *Holder) keep(x *hold, is bool) {
	if x.kept != is {
		x.kept = is
		h.kept += 1 - 2*int(bit(!is, 1))
	}
}

// cease gives back what was kept and is to be renewed, or called back.
func (h *Holder) cease(now page.Time) {
	for i := len(h.list) - 1; i >= 0 && h.kept > 0; i-- {
		if x := h.list[i]; x.kept && (x.shared || x.next <= now) {
			h.Drop(now, x.Subject, true, now, 0)
		}
	}
}

// Drop gives a lease back when no request is under way. used says that one was sent
// under it; last is when its last answer ended, and rest how long the host must rest
// from now on.
func (h *Holder) Drop(now page.Time, s Subject, used bool, last page.Time, rest time.Duration) {
	s.Addr = s.Addr.Unmap()
	_, x := h.of(s.Host, s.Addr)
	if x == nil {
		return
	}
	h.unhang(x)
	h.keep(x, false)
	h.list = slices.DeleteFunc(h.list, func(y *hold) bool { return y == x })
	if !used && rest <= 0 && (!x.asked || x.again.Sub(now) > Patience && x.until <= now) {
		return // it is not waited for, and nothing was learned
	}
	if !s.Addr.IsValid() {
		p := h.past.get(s.Host)
		p.wait, p.rest = x.wait, max(p.rest, now.Add(rest))
		if used {
			p.used, p.last = true, max(p.last, last)
		}
		was := p.long
		if p.long = p.rest > max(x.until, now).Add(p.wait); p.long != was {
			h.long += 1 - 2*int(bit(was, 1))
		}
		if p.long {
			h.tell(now, s.Host)
			return
		}
	}
	h.back = append(h.back, s)
}

// unhang takes a lease from those of its host.
func (h *Holder) unhang(x *hold) {
	first := h.holds[x.Host]
	switch {
	case first != x:
		for first.beside != x {
			first = first.beside
		}
		first.beside = x.beside
	case x.beside != nil:
		h.holds[x.Host] = x.beside
	default:
		delete(h.holds, x.Host)
	}
	x.beside = nil
}

// give says what there is to tell of a host.
func (h *Holder) give(now page.Time, host string) Give {
	g := Give{Subject: Subject{Host: host}}
	if p, ok := h.past.find(host); ok {
		g.Used, g.Rest, g.Sure = p.used, max(p.rest.Sub(now), 0), p.long
		if p.used {
			g.Ago = max(now.Sub(p.last), 0)
		}
	}
	return g
}

// Answer reads the answer to an Ask, or to a Return.
func (h *Holder) Answer(now page.Time, x *Answer) {
	if x.Session == h.session && len(x.Leases) == 0 {
		h.untold = slices.DeleteFunc(h.untold, func(u untold) bool { return u.id == x.ID })
		return
	}
	i := slices.IndexFunc(h.flights, func(f flight) bool { return f.id == x.ID })
	if i < 0 || x.Session != h.session || len(x.Leases) != len(h.flights[i].wants) {
		return
	}
	f := h.flights[i]
	h.flights = slices.Delete(h.flights, i, i+1)
	for i, l := range x.Leases {
		y := f.wants[i] // nobody looks at it any more if it was given back
		if l.Others && !y.others && !y.kept && !slices.Contains(h.sought, y.Host) {
			h.sought = append(h.sought, y.Host)
		}
		y.others, y.many, y.shared = l.Others, y.many || l.Many, l.Shared || l.Others || l.For <= 0
		if l.For <= 0 {
			y.next = now.Add(max(l.Wait, 50*time.Millisecond))
			if y.again = y.next; l.Others && y.busy {
				y.next = now.Add(50 * time.Millisecond) // it was not when it was asked for
			}
			continue
		}
		y.again = 0
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
		if next = min(next, x.next); x.kept && x.shared {
			return 0
		}
	}
	for _, u := range h.untold {
		next = min(next, u.next)
	}
	return next
}

// Letters returns what is to be said now, for the partitions' owners.
func (h *Holder) Letters(now page.Time) []Letter {
	h.flights = slices.DeleteFunc(h.flights, func(f flight) bool { return now.Sub(f.sent) > MaxLease })
	h.cease(now)
	letters := h.returns(now, nil)
	h.past.sweep(2*len(letters)+2, func(p *past) bool {
		over := max(p.rest, p.last.Add(p.wait)).Add(keptFor) <= now
		if over && p.long {
			h.long--
		}
		return over
	})
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
		ask.Wants = append(ask.Wants, Want{Subject: x.Subject, Wait: x.wait, Busy: x.busy, Many: x.many && x.Addr.IsValid()})
		f.wants = append(f.wants, x)
		x.asked, x.again, x.next = true, 0, now.Add(askAgain)
	}
	return letters
}

// returns writes what was given back. It goes before what is asked for, so that a
// lease that is given back and wanted again has a later number.
func (h *Holder) returns(now page.Time, letters []Letter) []Letter {
	clear(h.index)
	give := func(g Give) (id uint64) {
		part := h.keys.SubjectPart(g.Subject)
		at := h.index[part]
		if at == 0 || len(letters[at-1].Return.Gives) == maxWants {
			h.id++
			letters = append(letters, Letter{Part: part, Return: &Return{Session: h.session, ID: h.id}})
			at = len(letters)
			h.index[part] = at
		}
		r := letters[at-1].Return
		r.Gives = append(r.Gives, g)
		return r.ID
	}
	for _, s := range h.back {
		if s.Addr.IsValid() {
			give(Give{Subject: s})
		} else {
			give(h.give(now, s.Host))
		}
	}
	h.back = h.back[:0]
	h.untold = slices.DeleteFunc(h.untold, func(u untold) bool {
		p, ok := h.past.find(u.host)
		own, _ := h.of(u.host, netip.Addr{}) // if there is one, it is told when that is given back
		return !ok || own != nil && u.id != 0 || u.id != 0 && p.rest <= now
	})
	for i := range h.untold {
		if u := &h.untold[i]; u.next <= now {
			u.id, u.next = give(h.give(now, u.host)), now.Add(askAgain)
		}
	}
	return letters
}
