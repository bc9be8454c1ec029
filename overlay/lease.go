package overlay

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"weir/page"
)

// Where several nodes may fetch the pages of a host, a request is sent only under
// two leases: one of the host, that only one node has at a time, and one of the
// connections that the server's address may have. The owner of the host's partition
// grants the one (a [Granter]), that of the address's the other; nodes that fetch are
// [Holder]s.
//
//	Holder                                  Granter
//	   | Ask: example.org, waits of 2 s        |
//	   |-------------------------------------->|  grants 5 s, counted from here
//	   |         Answer: for 5 s, not before 1 s from when you read this
//	   |<--------------------------------------|
//	   | counts the 5 s from when it asked,    |
//	   | and the 1 s from now                  |
//	   | Return: last answer 300 ms ago        |
//	   |-------------------------------------->|  rests 1.7 s, counted from here
//
// Who asks for what another one has is told to wait, and is called when its turn has
// come: it asks again then, or after a while if the Call is lost. A host may have said
// to be left alone for longer than the granter would let it rest by itself, such as
// for an hour: a Return that tells so is repeated until it is answered.
//
// Most addresses serve one host, which one node visits again and again. So a holder may
// keep the lease of a connection for the next visit until it would have to renew it. Who
// wants an address that is full then has it called back, and for a while nobody is let
// keep one there.
//
// Clocks need not agree, only run about equally fast: whoever must not be late counts
// from the earlier of two moments, whoever must not be early from the later one. A
// message that is lost or late costs time and breaks nothing. A lease that is not
// returned runs out; its holder may have sent a request until then, so that the host
// rests from there. A new owner knows of no leases of the old one: it grants nothing
// until the longest of them has run out and the host has rested.
const (
	// MaxLease is how long a lease lasts, unless it is renewed.
	MaxLease = 5 * time.Second

	// leaseSlack is the part of a lease that its holder leaves unused, since its clock
	// may run slower than the granter's.
	leaseSlack = 10

	// Patience is how long a holder should wait for a lease before it turns to others.
	// If a granter knows that it takes longer, it lets nobody wait.
	Patience = 3 * time.Second

	// leaseEarly is how long before a host has rested it is granted at the most. Who asks
	// earlier is told to come back at half of that, so that nothing is lost on the way.
	leaseEarly = time.Second

	askAgain  = time.Second     // an Ask without an Answer is lost
	callAgain = 2 * time.Second // the same of a Call, for which is waited
	maxWants  = 1024            // of an Ask, an Answer and a Return
)

// Subject is what a lease is about: a host, or, with an address, the host's
// connection to it.
type Subject struct {
	Host string
	Addr netip.Addr
}

// SubjectPart returns the partition whose owner grants leases of a subject.
func (k Keys) SubjectPart(s Subject) int {
	if s.Addr.IsValid() {
		return k.AddrPart(s.Addr)
	}
	return k.HostPart(s.Host)
}

// Ask asks the owner of a partition for leases, or for more time.
type Ask struct {
	Session uint64 // of the holder
	ID      uint64 // rises with each Ask and Return of a session
	Wants   []Want
}

// Want is a lease that is asked for.
type Want struct {
	Subject
	Wait time.Duration // between two requests to the host, as far as the holder knows
	Busy bool          // a request is under way
	Many bool          // of an address: it serves many domains
}

// Answer answers an Ask, want by want. That to a Return has no leases: it says that
// the Return was heard.
type Answer struct {
	Session uint64
	ID      uint64
	Leases  []Lease
}

// Lease is what was granted: the right to send requests for a time, counted from
// when it was asked for, but not before Wait has passed, counted from when this is
// read. If For is 0, nothing was; ask again after Wait.
type Lease struct {
	For    time.Duration
	Wait   time.Duration
	Others bool // others wait for it: return it when the request is over
	Many   bool // of an address: it serves many domains
	Shared bool // the same: others may want it, so it is not to be kept
}

// Return gives leases back.
type Return struct {
	Session uint64
	ID      uint64
	Gives   []Give
}

// Give is a lease that is given back, with what was learned.
type Give struct {
	Subject
	Used bool          // a request was sent
	Ago  time.Duration // how long before this was sent its last answer ended
	Rest time.Duration // how long the host must rest, from when this was sent
	Sure bool          // the Return is repeated until it is answered
}

// Call tells a node that it had better ask for something again after a while; if it has
// that, that others want it.
type Call struct {
	Session uint64
	In      time.Duration
	Subject Subject
}

// The second byte of a message, after its version.
const (
	askKind    = 'a'
	answerKind = 'w'
	returnKind = 'b'
	callKind   = 'c'
)

// AppendAsk writes a message behind b.
func AppendAsk(b []byte, x *Ask) []byte {
	w := leaseWriter(b, askKind, x.Session, x.ID, len(x.Wants))
	for i := range x.Wants {
		want := &x.Wants[i]
		w.subject(want.Subject, want.Busy, want.Many)
		w.span(want.Wait)
	}
	return w.b
}

// AppendAnswer writes a message behind b.
func AppendAnswer(b []byte, x *Answer) []byte {
	w := leaseWriter(b, answerKind, x.Session, x.ID, len(x.Leases))
	for _, l := range x.Leases {
		w.b = append(w.b, bit(l.Others, isMarked)|bit(l.Many, isMore)|bit(l.Shared, isShared))
		w.span(l.For)
		w.span(l.Wait)
	}
	return w.b
}

// AppendReturn writes a message behind b.
func AppendReturn(b []byte, x *Return) []byte {
	w := leaseWriter(b, returnKind, x.Session, x.ID, len(x.Gives))
	for i := range x.Gives {
		g := &x.Gives[i]
		w.subject(g.Subject, g.Used, g.Sure)
		w.span(g.Ago)
		w.span(g.Rest)
	}
	return w.b
}

// AppendCall writes a message behind b.
func AppendCall(b []byte, x *Call) []byte {
	w := leaseWriter(b, callKind, x.Session, 0, 1)
	w.subject(x.Subject, false, false)
	w.span(x.In)
	return w.b
}

// ReadLease reads an Ask, an Answer, a Return or a Call. It takes any bytes.
func ReadLease(b []byte) (any, error) {
	r, err := newReader(b)
	if err != nil {
		return nil, fmt.Errorf("read what was said of leases: %w", err)
	}
	kind := r.byte()
	session, id := r.uint(math.MaxUint64), r.uint(math.MaxUint64)
	n := int(r.uint(maxWants))
	var x any
	switch kind {
	case askKind:
		m := &Ask{Session: session, ID: id, Wants: make([]Want, 0, min(n, r.atLeast(3)))}
		for i := 0; i < n && r.err == nil; i++ {
			var want Want
			want.Subject, want.Busy, want.Many = r.subject()
			want.Wait = r.span()
			m.Wants = append(m.Wants, want)
		}
		x = m
	case answerKind:
		m := &Answer{Session: session, ID: id, Leases: make([]Lease, 0, min(n, r.atLeast(3)))}
		for i := 0; i < n && r.err == nil; i++ {
			head := r.byte()
			m.Leases = append(m.Leases, Lease{Others: head&isMarked != 0, Many: head&isMore != 0, Shared: head&isShared != 0, For: r.span(), Wait: r.span()})
		}
		x = m
	case returnKind:
		m := &Return{Session: session, ID: id, Gives: make([]Give, 0, min(n, r.atLeast(4)))}
		for i := 0; i < n && r.err == nil; i++ {
			var g Give
			g.Subject, g.Used, g.Sure = r.subject()
			g.Ago, g.Rest = r.span(), r.span()
			m.Gives = append(m.Gives, g)
		}
		x = m
	case callKind:
		m := &Call{Session: session}
		m.Subject, _, _ = r.subject()
		m.In = r.span()
		x = m
	default:
		r.fail("no message is of kind %q", kind)
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes are left over", len(r.b))
	}
	if r.err != nil {
		return nil, fmt.Errorf("read what was said of leases: %w", r.err)
	}
	return x, nil
}

func leaseWriter(b []byte, kind byte, session, id uint64, n int) *writer {
	w := &writer{b: append(b, codecVersion, kind)}
	w.uint(session)
	w.uint(id)
	w.uint(uint64(n))
	return w
}

// What comes before a subject, and before a lease.
const (
	isMarked byte = 1 << iota // Busy, Used or Others
	isFour
	isSix
	isMore // Many or Sure
	isShared
)

func bit(is bool, b byte) byte {
	if is {
		return b
	}
	return 0
}

func (w *writer) subject(s Subject, marked, more bool) {
	head := bit(marked, isMarked) | bit(more, isMore)
	addr := s.Addr.Unmap().AsSlice()
	switch len(addr) {
	case 4:
		head |= isFour
	case 16:
		head |= isSix
	}
	w.b = append(append(w.b, head), addr...)
	w.text(s.Host)
}

func (r *reader) subject() (s Subject, marked, more bool) {
	head := r.byte()
	size := 0
	switch {
	case head&isFour != 0:
		size = 4
	case head&isSix != 0:
		size = 16
	}
	if size > 0 {
		s.Addr, _ = netip.AddrFromSlice(r.bytes(size))
		s.Addr = s.Addr.Unmap()
	}
	s.Host = r.text(page.MaxParts)
	return s, head&isMarked != 0, head&isMore != 0
}
