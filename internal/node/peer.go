package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"weir/crawl"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
)

// Peer makes a crawl one of several nodes that share it; see package overlay. The
// nodes must agree on everything but their names.
type Peer struct {
	Name   string
	Scheme overlay.Scheme
	Secret page.Secret // of the cluster: what pages are named by
	Limit  int64       // bytes a second that all nodes have together; 0: no such limit
	Weight uint16      // this node's share of the work beside the others'; 0: as theirs
	Ends   time.Time   // when no more pages are ordered, by each node's clock; zero: never

	// Roll says which programs the crawl has, and Rolls brings what the nodes agree on
	// later; nil: those of Config.Programs, for good. Took is told of each roll that the
	// node goes by from then on.
	Roll  *Roll
	Rolls <-chan Roll
	Took  func(number int)

	// Borrow asks the other nodes for a page, see Lend, and returns the first answer
	// that is not empty, and whose it is; nil: pages are always fetched.
	Borrow func(ctx context.Context, question []byte) (answer []byte, from string)

	// Open joins the others. What they say comes to tell, which may block while the
	// node is busy. If it fails, whoever reads the store has ended before.
	Open func(tell func(overlay.Event)) (Carrier, error)

	// Ready is told of the crawl's store before Open, and may refuse it: then nobody may
	// read it. Whoever does must have ended when the carrier is closed.
	Ready func(*store.Store) error

	// Watch is told now and then how things stand. It must return soon.
	Watch func(overlay.Status)

	// Quiet is told when nothing is left to do on any node, and when there is again.
	Quiet func(bool)

	// Fail is told why the node cannot go on, while the others can still be told.
	Fail func(error)
}

// Now is the clock of a crawl: a carrier's times are by it.
func Now() page.Time { return clock() }

// Carrier is an overlay.Carrier that can be closed. Nothing is told after that.
type Carrier interface {
	overlay.Carrier
	Close() error
}

// peer drives the overlay.Member of a node: a goroutine that steps it, takes what
// it says to the others by the carrier, and what it wants of the crawl to the
// committer, which hands it on to the loop.
//
// Neither waits for the other. The committer's parcels and the loop's answers come
// by a mailbox that takes all; what bounds that is the Member, which asks for a rest
// when too much is not acknowledged. What the committer is too busy to take waits
// here, and no more is read of any log meanwhile; but sessions are renewed and leases
// given as ever.
type peer struct {
	n        *node
	cfg      Peer
	member   *overlay.Member
	carrier  Carrier
	leases   *leases
	alarm    page.Time // when the Member wants to be woken
	origin   uint64
	tells    chan overlay.Event  // of the carrier
	batches  chan overlay.Event  // of logs, of the carrier too
	works    chan overlay.Action // for the committer
	counts   chan struct{}       // for the committer: see how much there is to do
	queue    []overlay.Action    // that works has no room for
	fences   chan struct{}
	doubtful atomic.Bool  // pages that were ordered may have ended, or be another node's: see crawl.Ledger.Doubtful
	until    atomic.Int64 // no request may be sent from then on, by the crawl's clock

	loans     chan struct{} // that are asked for
	borrowed  atomic.Int64  // pages that other nodes had
	throttled bool          // see overlay.Throttle

	mu    sync.Mutex
	ended string   // why nothing more is to be fetched, for good: crawl.StopPages, crawl.StopBytes, crawl.StopTime
	stop  string   // why the rules have ended the crawl
	stops []string // and each of its programs, if they are several
	mail  []any    // of the committer and the loop: events of the Member, orders about leases
	rings chan struct{}

	owned   [overlay.Parts]uint64 // epochs of the partitions that are this node's; 0: it is not
	tenure  context.Context       // ends with a fence, and everything under way with it
	dismiss context.CancelFunc
}

// maxWorks is how many batches and orders may wait for the committer, maxBatches how
// many before the Member has seen them.
const (
	maxWorks   = 64
	maxBatches = 16
)

// mailPause is how long mail waits for more, but for the first: visits begin and end one
// by one, and to look at all leases for each costs more than what they ask for.
const mailPause = 5 * time.Millisecond

// census is how often the Member hears how much there is to do.
const census = time.Second

func newPeer(n *node, cfg Peer) *peer {
	p := &peer{
		n: n, cfg: cfg, tells: make(chan overlay.Event, maxWorks), batches: make(chan overlay.Event, maxBatches), works: make(chan overlay.Action, maxWorks),
		counts: make(chan struct{}, 1), fences: make(chan struct{}, 1), rings: make(chan struct{}, 1),
		loans: make(chan struct{}, maxAsked),
	}
	return p
}

// sharing is the Ledger's part of it.
func (p *peer) sharing() (*crawl.Sharing, error) {
	origin, ok, err := crawl.ReadOrigin(p.n.store)
	if err != nil {
		return nil, err
	}
	if !ok {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, fmt.Errorf("draw a number for the node's store: %w", err)
		}
		origin = binary.BigEndian.Uint64(b[:])
		g := p.n.store.Begin()
		crawl.WriteOrigin(g, origin)
		if err := g.Commit(); err != nil {
			return nil, err
		}
	}
	p.origin = origin
	return &crawl.Sharing{Keys: overlay.NewKeys(p.cfg.Scheme, overlay.Parts), Parts: overlay.Parts, Node: p.cfg.Name, Origin: origin, Bytes: p.n.cfg.MaxBytes > 0}, nil
}

// open joins the others. The committer does not run yet.
func (p *peer) open() (err error) {
	session := uint64(time.Now().UnixNano())
	p.leases = newLeases(p, session)
	p.member = overlay.NewMember(overlay.Config{
		Name: p.cfg.Name, Session: session, Origin: p.origin, Parts: overlay.Parts, Weight: p.cfg.Weight,
		Offsets: p.n.ledger.Offsets(), Stamps: p.n.ledger.Stamps(), Limit: p.cfg.Limit, Pages: p.n.cfg.MaxPages, Bytes: p.n.cfg.MaxBytes,
	})
	parcels, err := p.n.ledger.Outbox()
	if err != nil {
		return err
	}
	for _, x := range parcels {
		p.post(x)
	}
	if p.ended, err = crawl.ReadEnough(p.n.store); err != nil {
		return err
	}
	p.doubtful.Store(p.n.ledger.Doubtful())
	if p.cfg.Ready != nil {
		if err := p.cfg.Ready(p.n.store); err != nil {
			return err
		}
	}
	p.carrier, err = p.cfg.Open(func(ev overlay.Event) {
		switch ev.(type) {
		case overlay.Delivered, overlay.Rewound: // in their order
			p.batches <- ev
		default:
			p.tells <- ev
		}
	})
	if err == nil && p.cfg.Roll != nil && p.cfg.Took != nil {
		p.cfg.Took(p.cfg.Roll.Number)
	}
	return err
}

// run steps the Member until the run ends. stop asks it to leave.
func (p *peer) run(ctx context.Context, stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	count := time.NewTicker(census)
	defer count.Stop()
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	rings := p.rings // nil while mail waits for more
	defer func() {
		closed := make(chan struct{})
		go func() { // whoever tells must not be left hanging
			if why := context.Cause(ctx); p.cfg.Fail != nil && !errors.Is(why, context.Canceled) {
				p.cfg.Fail(why)
			}
			_ = p.carrier.Close()
			close(closed)
		}()
		for {
			select {
			case <-p.tells:
			case <-p.batches:
			case <-closed:
				return
			}
		}
	}()
	for {
		batches, works, first := p.batches, p.works, overlay.Action(nil)
		if len(p.queue) == 0 {
			works = nil
		} else {
			batches, first = nil, p.queue[0]
		}
		select {
		case works <- first:
			p.queue[0] = nil
			p.queue = p.queue[1:]
		case ev := <-batches:
			p.step(ctx, ev)
		case ev := <-p.tells:
			n, now := len(p.tells), clock() // what is said later must not be taken for earlier
			p.heed(ctx, now, ev)
			for range n { // they come in bursts: a letter has many words
				p.heed(ctx, now, <-p.tells)
			}
		case <-pause.C:
			rings = p.rings
			continue
		case <-rings:
			rings = nil
			pause.Reset(mailPause)
			mail := p.take()
			now := clock()
			for _, x := range mail {
				switch x := x.(type) {
				case overlay.Event:
					p.step(ctx, x)
				case crawl.Lease:
					p.leases.do(func(d *crawl.Desk) { d.Want(now, x) })
				case crawl.Return:
					p.leases.give(now, x)
				case []crawl.Care:
					p.leases.do(func(d *crawl.Desk) { d.Learn(now, x) })
				case granting:
					p.grant(x)
				case halting:
					p.hold(ctx)
				case crawl.Overdue:
					p.satisfied(ctx, crawl.StopTime)
				case took:
					p.took(ctx, x)
				}
			}
		case <-timer.C:
			if clock() >= p.alarm {
				p.step(ctx, overlay.Tick{})
			}
		case <-count.C:
			select {
			case p.counts <- struct{}{}:
			default: // it has not come to the last one
			}
			if p.cfg.Watch != nil {
				p.cfg.Watch(p.member.Status())
			}
		case <-stop:
			stop = nil
			p.step(ctx, overlay.Drain{})
		case <-ctx.Done():
			return
		}
		next := min(p.leases.step(ctx, clock()), p.alarm)
		timer.Reset(min(max(next.Sub(clock()), 0), time.Hour))
	}
}

// granting says that the Ledger has adopted a partition, and what it knows of its hosts.
type granting struct {
	overlay.Adopt
	hosts []crawl.Care
}

// grant lets leases be given of a partition's hosts, now that it is known how long
// these rest; unless it was disowned meanwhile.
func (p *peer) grant(x granting) {
	p.leases.do(func(d *crawl.Desk) {
		if p.owned[x.Part] == x.Epoch {
			d.Start(x.Since, x.Part)
			d.Learn(clock(), x.hosts)
		}
	})
}

// heed takes what the carrier tells: words about leases are not for the Member.
func (p *peer) heed(ctx context.Context, now page.Time, ev overlay.Event) {
	h, ok := ev.(overlay.Heard)
	if !ok || overlay.TrafficOfWord(h.Data) != overlay.Leases {
		p.step(ctx, ev)
		return
	}
	if int64(now) < p.until.Load() { // else nothing is this node's to grant
		p.leases.do(func(d *crawl.Desk) { _ = d.Hear(now, h.From, h.Data) })
	}
}

// step gives the Member one event and carries its actions out.
func (p *peer) step(ctx context.Context, ev overlay.Event) {
	actions := p.member.Step(clock(), ev)
	p.until.Store(int64(p.member.Until()))
	for _, a := range actions {
		switch a := a.(type) {
		case overlay.Renew, overlay.Claim, overlay.Follow, overlay.Unfollow, overlay.Append, overlay.Say, overlay.Send:
			p.carrier.Do(a)
		case overlay.Fence:
			p.leases.do(func(d *crawl.Desk) {
				for part := range overlay.Parts {
					d.Stop(part)
				}
			})
			p.owned = [overlay.Parts]uint64{}
			p.cut()
			select {
			case p.fences <- struct{}{}:
			default: // the loop has not come to the last one
			}
			p.work(a)
			p.n.log.event("fenced", map[string]any{"why": "no session could be renewed"})
		case overlay.Adopt:
			p.owned[a.Part] = a.Epoch
			p.work(a)
		case overlay.Disown:
			p.owned[a.Part] = 0
			p.leases.do(func(d *crawl.Desk) { d.Stop(a.Part) })
			p.work(a)
		case overlay.Apply, overlay.Posted, overlay.Rewind:
			p.work(a)
		case overlay.Throttle:
			p.throttled = a.On
			p.hold(ctx)
		case overlay.Allow:
			p.n.send(ctx, crawl.Allow{Pages: a.Pages, Bytes: a.Bytes})
		case overlay.Relieve:
			p.n.send(ctx, crawl.Relief{Part: uint16(a.Part), Hosts: a.Hosts})
		case overlay.Enough:
			why := crawl.StopPages
			if a.Bytes {
				why = crawl.StopBytes
			}
			p.satisfied(ctx, why)
		case overlay.Share:
			p.limit(ctx, a.Rate)
		case overlay.Quiet:
			p.n.log.event("quiet", map[string]any{"is": a.Is})
			if p.cfg.Quiet != nil {
				p.cfg.Quiet(a.Is)
			}
		case overlay.Left:
			if p.cfg.Watch != nil { // there may be no other time
				p.cfg.Watch(p.member.Status())
			}
			by := cmp.Or(p.enough(), crawl.StopByUser)
			if why := p.why(); why != "" {
				by = crawl.StopRule + why
			}
			p.n.send(ctx, crawl.Command{Stop: by})
		case overlay.Wake:
			p.alarm = a.At
		}
	}
}

// work hands the committer something, behind what waits.
func (p *peer) work(a overlay.Action) {
	if len(p.queue) == 0 {
		select {
		case p.works <- a:
			return
		default:
		}
	}
	p.queue = append(p.queue, a)
}

// census asks the committer how much there is to do, whatever else waits for it.
func (p *peer) census() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.counts
}

// fence is told the loop when everything under way must end.
func (p *peer) fence() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.fences
}

// post brings the Member an event from the committer or the loop. It never blocks.
func (p *peer) post(x any) {
	p.mu.Lock()
	p.mail = append(p.mail, x)
	p.mu.Unlock()
	p.ring()
}

// ring wakes the peer's goroutine.
func (p *peer) ring() {
	select {
	case p.rings <- struct{}{}:
	default:
	}
}

// satisfied takes note, for good, that nothing more is to be fetched. The first reason
// counts.
func (p *peer) satisfied(ctx context.Context, why string) {
	if p.enough() != "" {
		return
	}
	p.mu.Lock()
	p.ended = why
	p.mu.Unlock()
	p.n.log.event("enough", map[string]any{"by": why})
	p.hold(ctx)
	p.work(overlay.Enough{})
}

// enough says why nothing more is to be fetched, whatever the rules say; "": it is.
func (p *peer) enough() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// halting says that a halt has come, or is over.
type halting struct{}

// halt says why the rules of the crawl say stop, so that nothing more is fetched, or ""
// if they do not any more. The node stays: others may not have heard of it yet, and need
// a majority to.
func (p *peer) halt(why string) {
	p.mu.Lock()
	news := p.stop != why
	p.stop = why
	p.mu.Unlock()
	if !news {
		return
	}
	if why != "" {
		p.n.log.event("halted", map[string]any{"why": why})
	}
	p.post(halting{})
}

// note keeps why programs have ended, for those who ask.
func (p *peer) note(s *crawl.Several) {
	if s == nil {
		return
	}
	list := s.Stopped()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = list
}

// full says whether nothing more is to be fetched.
func (p *peer) full() bool { return p.enough() != "" || p.why() != "" }

// hold tells the Engine what it may do. Only the peer's goroutine does, so that the last
// word is by how things are.
func (p *peer) hold(ctx context.Context) {
	p.n.send(ctx, crawl.Hold{On: p.throttled, Enough: p.full()})
}

// why the rules have ended the crawl; "" if they have not.
func (p *peer) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop
}

// whys is the same by program.
func (p *peer) whys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stops
}

func (p *peer) take() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	mail := p.mail
	p.mail = nil
	return mail
}

// may says whether a request may be sent to a host now; over must follow. It is
// asked right before the bytes leave: the process may have stood still since they
// were ordered.
func (p *peer) may(host string, addr netip.Addr, end context.CancelFunc) bool {
	if p == nil {
		return true
	}
	now := clock()
	return int64(now) < p.until.Load() && p.leases.may(now, host, addr, end)
}

// asking returns the context of a visit's requests, which ends when the right to make
// one does that is under way.
func (p *peer) asking(during context.Context) (context.Context, context.CancelFunc) {
	if p == nil {
		return during, func() {}
	}
	return context.WithCancel(during)
}

// over says that the answer is in, or that there will be none.
func (p *peer) over(host string, addr netip.Addr) {
	if p != nil {
		p.leases.over(host, addr)
	}
}

// begin lets visits last until the next fence.
func (p *peer) begin(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tenure, p.dismiss = context.WithCancel(ctx)
}

// cut ends everything under way, at once. What the loop orders before it has heard
// of that ends as well.
func (p *peer) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismiss()
}

// during returns the context of what a visit does: it ends with the fence.
func (p *peer) during(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tenure
}

// fenced is the loop's side of a fence: everything under way ends, and nothing is
// this node's any more. The committer hears of it too, and says it once more when
// it has.
func (p *peer) fenced(ctx context.Context, timer *time.Timer) (finished bool) {
	p.begin(ctx)
	return p.n.step(ctx, timer, crawl.Disowned{Parts: allParts(), Fence: true})
}

func allParts() []uint16 {
	parts := make([]uint16, overlay.Parts)
	for i := range parts {
		parts[i] = uint16(i)
	}
	return parts
}

// share carries out what the Member wants of the Ledger.
func (c *committer) share(ctx context.Context, a overlay.Action) error {
	n := c.n
	switch a := a.(type) {
	case overlay.Apply:
		if !n.ledger.Knows(&a.Batch) {
			c.held = a // its programs come by another way, and soon
			return nil
		}
		c.open()
		c.pages++
		c.applied++
		return n.ledger.Apply(a.Part, a.Offset, a.Batch)
	case overlay.Rewind:
		c.open()
		n.log.event("log-cut", map[string]any{"partition": a.Part, "offset": a.Offset})
		n.ledger.Rewind(a.Part, a.Offset)
		return nil
	case overlay.Enough:
		c.open()
		crawl.WriteEnough(c.group, n.peer.enough())
		return nil
	case overlay.Posted:
		n.ledger.Posted(a.Seq)
		return nil
	}
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	switch a := a.(type) {
	case overlay.Adopt:
		n.ledger.Clock(time.Now().UnixNano())
		ev, err := n.ledger.Adopt(a.Part, a.Epoch)
		if err != nil {
			return err
		}
		if n.ledger.Pending() > 0 {
			c.open()
		}
		c.applied++
		ev.Ago = clock().Sub(a.Since)
		n.peer.post(granting{a, ev.Hosts})
		n.send(ctx, ev)
	case overlay.Disown:
		n.ledger.Disown(a.Part)
		n.send(ctx, crawl.Disowned{Parts: []uint16{uint16(a.Part)}})
	case overlay.Fence:
		for _, part := range allParts() {
			n.ledger.Disown(int(part))
		}
		n.send(ctx, crawl.Disowned{Parts: allParts(), Fence: true})
	}
	return nil
}

// census has the Engine count what there is to do, with all that was taken so far.
func (c *committer) census(ctx context.Context) error {
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	c.n.send(ctx, c.n.ledger.Census(c.applied))
	return nil
}
