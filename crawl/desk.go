package crawl

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"weir/overlay"
	"weir/page"
)

// Desk is where a node asks others for leave to visit hosts, and gives it: it stands
// between an Engine, which orders Lease and Return, and the desks of all nodes. What
// may be granted, and for how long it holds, are the overlay.Granter's and Holder's
// to say; the Desk takes their letters to whoever owns the partitions, and tells the
// Engine what came of what it wanted.
//
// Everything but Over and Until may give it something to do: Step does it, and
// says when it wants to be called again. Like the Engine it is a pure machine. Not
// safe for concurrent use; the node's driver owns it.
type Desk struct {
	cfg      DeskConfig
	granter  *overlay.Granter
	holder   *overlay.Holder
	lent     map[string]netip.Addr // by host: where leave is held or asked for
	waiting  []wanted              // asked for, in order
	standing int                   // of these, the Engine knows that it may take a while
	stirred  bool                  // something has changed for those that wait
	check    page.Time             // when to see to them although nothing has
	sends    []overlay.Send

	owners []string  // by partition: who was told of what rests for long; nil: nothing has so far
	look   page.Time // when to see whether they are others
}

// DeskConfig is whose desk it is.
type DeskConfig struct {
	Name    string // of the node
	Session uint64 // never used twice by one node
	Keys    overlay.Keys
	Manners overlay.LeaseConfig
	Owner   func(part int) string // the node that owns a partition; "": none is known
}

// wanted is leave that was asked for.
//
// The host comes first, and its address when the host may be visited: nodes that each
// had one of the two would wait for each other. The host is not given up meanwhile, as
// if it were asked already; who uses the address always has a host, too, and who only
// keeps it gives it back when it is called, so that this ends.
type wanted struct {
	Lease
	since  page.Time
	both   bool // the address was asked for, too
	stands bool // the Engine knows that it may take a while
	sought bool // others wait for the host: the Engine is told when it has it
}

// patience is how long leave is waited for. Who stands in line keeps nobody from a
// connection, and has time.
func (w *wanted) patience() time.Duration {
	if w.stands {
		return linePatience
	}
	return overlay.Patience
}

const (
	// linePatience is how long a host stands in line for leave that other nodes have, and
	// maxStanding how many do at a time: each is asked for every other second.
	linePatience = 30 * time.Second
	maxStanding  = 64

	// addrEarly is how long before a host may be visited its address is asked for.
	addrEarly = 100 * time.Millisecond

	// leaseAgain is when leave is asked for again that was waited for in vain.
	leaseAgain = time.Second

	// ownersLook is how often the desk looks whether partitions have other owners.
	ownersLook = time.Second
)

// NewDesk returns the desk of a node that owns no partition.
func NewDesk(cfg DeskConfig) *Desk {
	return &Desk{
		cfg: cfg, granter: overlay.NewGranter(cfg.Keys, cfg.Manners), holder: overlay.NewHolder(cfg.Keys, cfg.Session),
		lent: map[string]netip.Addr{},
	}
}

// Start says that the node owns a partition, and no other has granted anything since
// then; Stop that it does not.
func (d *Desk) Start(since page.Time, part int) { d.granter.Start(since, part) }
func (d *Desk) Stop(part int)                   { d.granter.Stop(part) }

// Learn takes what is known of hosts that other nodes have visited, in partitions that
// the node owns. As long as its last answer took a host rests once.
func (d *Desk) Learn(now page.Time, hosts []Care) {
	for _, h := range hosts {
		d.granter.Learn(now, h.Host, h.Delay, max(h.State.Rest, h.State.Last))
	}
}

// Want asks for leave. Leased answers it, from a later Step.
func (d *Desk) Want(now page.Time, o Lease) {
	d.holder.Want(now, overlay.Subject{Host: o.Host}, o.Wait, false)
	d.lent[o.Host] = o.Addr
	d.waiting = append(d.waiting, wanted{Lease: o, since: now, both: !o.Addr.IsValid()})
	d.stirred = true
}

// reach asks for the addresses of hosts that may be visited, and returns when to do so
// for the next.
func (d *Desk) reach(now page.Time) (next page.Time) {
	next = math.MaxInt64
	for i := range d.waiting {
		w := &d.waiting[i]
		if w.both {
			continue
		}
		from, until := d.holder.Span(w.Host, netip.Addr{})
		switch {
		case until <= now:
		case from > now.Add(addrEarly):
			next = min(next, from.Add(-addrEarly))
		default:
			w.both, w.since = true, now
			d.holder.Want(now, overlay.Subject{Host: w.Host, Addr: w.Addr}, w.Wait, w.CDN)
			d.holder.Busy(w.Host, netip.Addr{}, true)
		}
	}
	return next
}

// Give gives leave back.
func (d *Desk) Give(now page.Time, o Return) {
	addr, ok := d.lent[o.Host]
	if !ok {
		return
	}
	delete(d.lent, o.Host)
	d.stirred = true
	d.holder.Drop(now, overlay.Subject{Host: o.Host}, o.Used, now, o.Rest)
	if !addr.IsValid() {
		return
	}
	conn := overlay.Subject{Host: o.Host, Addr: addr}
	if o.Used && o.Rest <= overlay.MaxLease/2 && d.cfg.Owner(d.cfg.Keys.HostPart(o.Host)) == d.cfg.Name { // others have no pages of the host, or few
		d.holder.Keep(now, conn)
	} else {
		d.holder.Drop(now, conn, o.Used, now, o.Rest)
	}
}

// Hear takes a message about leases from another node. One that cannot be read is of
// another version, or damaged: whoever asks will ask again.
func (d *Desk) Hear(now page.Time, from string, data []byte) error {
	x, err := overlay.ReadLease(data)
	if err != nil {
		return fmt.Errorf("a message of %s: %w", from, err)
	}
	switch x := x.(type) {
	case *overlay.Ask:
		answer := d.granter.Ask(now, from, x)
		d.send(from, overlay.AppendAnswer(nil, &answer))
	case *overlay.Return:
		if d.granter.Return(now, from, x) {
			d.send(from, overlay.AppendAnswer(nil, &overlay.Answer{Session: x.Session, ID: x.ID}))
		}
	case *overlay.Answer:
		d.answered(now, x)
	case *overlay.Call:
		d.called(now, x)
	}
	return nil
}

func (d *Desk) answered(now page.Time, x *overlay.Answer) {
	d.holder.Answer(now, x)
	d.stirred = true
}

// called waits on for what is about to be free, or lets go of what is kept.
func (d *Desk) called(now page.Time, x *overlay.Call) {
	d.stirred = true
	d.holder.Call(now, x)
	for i := range d.waiting {
		if w := &d.waiting[i]; w.Host == x.Subject.Host {
			w.since = now
		}
	}
}

func (d *Desk) send(to string, data []byte) {
	d.sends = append(d.sends, overlay.Send{To: to, Data: data})
}

// Step returns what there is to say to other nodes and what the Engine was given,
// and when it wants to be called again.
func (d *Desk) Step(now page.Time) (sends []overlay.Send, told []Leased, next page.Time) {
	d.moved(now)
	d.write(now)
	for d.stirred || now >= d.check { // what is given back may be another's of this node at once
		told = append(told, d.attend(now)...)
		for _, host := range d.holder.Sought() {
			told = append(told, d.sought(host)...)
		}
		d.write(now)
	}
	next = d.check
	if d.holder.Resting() {
		next = min(next, d.look)
	}
	sends, d.sends = d.sends, nil
	return sends, told, min(next, d.holder.Next())
}

// sought tells the Engine that others wait for a host, or remembers it until the Engine
// has the host.
func (d *Desk) sought(host string) []Leased {
	for i := range d.waiting {
		if w := &d.waiting[i]; w.Host == host {
			w.sought = true
			return nil
		}
	}
	return []Leased{{Host: host, Given: true, Others: true}}
}

// attend sees what has come of what is waited for, and says when to look again although
// nothing has changed.
func (d *Desk) attend(now page.Time) (told []Leased) {
	next := d.reach(now)
	d.write(now)
	d.stirred = false
	waiting := d.waiting[:0]
	for _, w := range d.waiting {
		from, until := d.holder.Span(w.Host, w.Addr)
		again := d.holder.Again(w.Host, w.Addr)
		ev := Leased{Host: w.Host, CDN: d.holder.Many(w.Host, w.Addr)}
		switch {
		case until > now && from < until:
			ev.Given, ev.In = true, max(from.Sub(now), 0)
			d.holder.Busy(w.Host, netip.Addr{}, false)
		case again.Sub(now) > overlay.Patience:
			ev.In = again.Sub(now)
		case now.Sub(w.since) >= w.patience():
			ev.In = leaseAgain
		default:
			if again > now && !w.stands && d.standing < maxStanding {
				d.standing++
				w.stands, ev.Waits = true, true
				told = append(told, ev)
			}
			waiting = append(waiting, w)
			next = min(next, w.since.Add(w.patience()))
			continue
		}
		if w.stands {
			d.standing--
			d.stirred = true // there is room for another one
		}
		if !ev.Given {
			d.Give(now, Return{Host: w.Host})
		}
		if told = append(told, ev); ev.Given && w.sought {
			told = append(told, Leased{Host: w.Host, Given: true, Others: true})
		}
	}
	clear(d.waiting[len(waiting):])
	d.waiting, d.check = waiting, next
	return told
}

// moved has new owners told of hosts that rest for long.
func (d *Desk) moved(now page.Time) {
	if now < d.look {
		return
	}
	d.look = now.Add(ownersLook)
	if d.owners == nil {
		if !d.holder.Resting() {
			return
		}
		d.owners = make([]string, d.cfg.Keys.Parts())
	}
	for part, was := range d.owners {
		if is := d.cfg.Owner(part); is != was {
			d.owners[part] = is
			d.holder.Moved(now, part)
		}
	}
}

// write takes what the holder has to say to where it belongs, and calls those whose
// turn has come.
func (d *Desk) write(now page.Time) {
	for {
		for _, c := range d.granter.Calls() {
			if c.To == d.cfg.Name {
				d.called(now, &c.Call)
			} else {
				d.send(c.To, overlay.AppendCall(nil, &c.Call))
			}
		}
		if d.holder.Next() > now {
			return
		}
		for _, x := range d.holder.Letters(now) {
			d.post(now, x)
		}
	}
}

// post takes a letter to the owner of its partition, which may be this node. While
// nobody owns it the letter is lost: what is wanted is asked for again.
func (d *Desk) post(now page.Time, x overlay.Letter) {
	to := d.cfg.Owner(x.Part)
	switch {
	case to == "":
	case x.Ask != nil && to == d.cfg.Name:
		answer := d.granter.Ask(now, to, x.Ask)
		d.answered(now, &answer)
	case x.Ask != nil:
		d.send(to, overlay.AppendAsk(nil, x.Ask))
	case to == d.cfg.Name:
		if d.granter.Return(now, to, x.Return) {
			d.answered(now, &overlay.Answer{Session: x.Return.Session, ID: x.Return.ID})
		}
	default:
		d.send(to, overlay.AppendReturn(nil, x.Return))
	}
}

// May says whether a request may be sent to a host now, right before its first byte
// leaves, and notes that one is under way then; Over must follow, and a Step if there
// is something Due.
func (d *Desk) May(now page.Time, host string, addr netip.Addr) bool {
	if !d.holder.May(now, host, addr) {
		return false
	}
	d.holder.Busy(host, addr, true)
	return true
}

// Due says whether there is something to ask for now.
func (d *Desk) Due(now page.Time) bool { return d.holder.Next() <= now }

// Over says that the answer is in, or that there will be none.
func (d *Desk) Over(host string, addr netip.Addr) { d.holder.Busy(host, addr, false) }

// Until returns when a request that is under way must end, unless leave is renewed
// before: by then somebody else may visit the host.
func (d *Desk) Until(host string, addr netip.Addr) page.Time {
	_, until := d.holder.Span(host, addr)
	return until
}
