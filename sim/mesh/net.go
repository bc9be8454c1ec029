package mesh

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"weir/overlay"
	"weir/page"
	"weir/sim/agenda"
)

const (
	giveUp   = 5 * time.Second        // after which an Append that nothing answered has failed
	debounce = 100 * time.Millisecond // between two news of who is there
	late     = 5 * time.Second        // at most, for a delivery
)

// Net is the service that carries what nodes say. Its time is the true one.
// Not safe for concurrent use.
type Net struct {
	Latency time.Duration // of a message, on average
	Loss    float64       // of messages that nothing answers, and of requests
	Late    float64       // of requests: they come up to ten seconds late
	Slow    float64       // of deliveries: they come late

	now    page.Time
	agenda agenda.Agenda[func()]
	random *rand.Rand
	ports  []*Port // all that are open, in the order of their opening
	named  map[string]*Port
	stall  page.Time

	logs     [][]entry
	readers  [][]*Port // who follows a log
	owners   []overlay.Owner
	revision uint64
	stamp    uint64
	sessions []session      // in the order of names
	lapsed   []overlay.Peer // likewise; the slice is never changed
	view     []overlay.Peer
	stale    bool            // view is to be made anew
	settled  []overlay.Event // what those hear first that were there when nobody looked; nil: none were

	// Appended is called for each batch as it enters a log.
	Appended func(part int, offset uint64, b overlay.Batch)
	// Lost is called for each log that has lost its end, with what was the offset of the
	// first batch of that.
	Lost    func(part int, offset uint64)
	Traffic Traffic
}

// Traffic counts what was received.
type Traffic struct {
	Messages, Bytes int64 // of gossip
	Claims          int64
	Batches         int64
}

type entry struct {
	offset uint64
	at     page.Time
	batch  overlay.Batch
}

type session struct {
	peer overlay.Peer
	ends page.Time
}

// NewNet returns a service with so many empty logs, and the common one.
func NewNet(seed uint64, parts int) *Net {
	return &Net{
		Latency: 5 * time.Millisecond, random: rand.New(rand.NewPCG(seed, 1)),
		named: map[string]*Port{}, logs: make([][]entry, parts+1), readers: make([][]*Port, parts+1), owners: make([]overlay.Owner, parts),
	}
}

// Now is the true time.
func (n *Net) Now() page.Time { return n.now }

// After plans something.
func (n *Net) After(d time.Duration, do func()) { n.agenda.Add(n.now.Add(max(d, 0)), do) }

// Run lets time pass, until a moment or until done says so; it reports whether it did.
func (n *Net) Run(until page.Time, done func() bool) bool {
	for !done() {
		if at, ok := n.agenda.Next(); !ok || at > until {
			n.now = until
			return done()
		}
		n.Step()
	}
	return true
}

// Stall lets the service answer nothing for a while.
func (n *Net) Stall(d time.Duration) { n.stall = max(n.stall, n.now.Add(d)) }

// travel is how long a message takes.
func (n *Net) travel() time.Duration {
	return n.Latency/2 + time.Duration(n.random.Int64N(int64(n.Latency)+1))
}

func (n *Net) chance(p float64) bool { return p > 0 && n.random.Float64() < p }

// Port is one node's way to the others. It is an overlay.Carrier.
type Port struct {
	net   *Net
	name  string
	clock func() page.Time
	hear  func(overlay.Event)
	open  bool

	// Up and Down cut what the node says and what it hears. Nodes of different Sides
	// do not hear each other; the service is on side 0.
	up, down bool
	side     int
	lag      page.Time               // news come no earlier
	blocked  [overlay.Logs]page.Time // until then a log can neither be read nor written

	news    []overlay.Event // of owners and peers, on their way
	pending bool            // their arrival is planned
	follows []follow        // in no order
	heard   int64           // words of others
}

type follow struct {
	part    int
	after   uint64
	rewound bool // the log has lost its end since the node read it, which it does not know
	pending bool
	gone    *bool
}

var _ overlay.Carrier = (*Port)(nil)

// Open gives a node a port. The clock is the node's own; hear takes what comes.
// What is known already comes first.
func (n *Net) Open(name string, clock func() page.Time, hear func(overlay.Event)) *Port {
	p := &Port{net: n, name: name, clock: clock, hear: hear, open: true}
	n.ports = append(n.ports, p)
	n.named[name] = p
	if n.settled != nil && n.revision == uint64(len(n.owners)) {
		p.news = n.settled
		p.flush()
		return p
	}
	for _, o := range n.owners {
		if o.Epoch != 0 {
			p.news = append(p.news, o)
		}
	}
	p.tell(overlay.Members{Peers: n.peers(), Lapsed: n.lapsed})
	return p
}

// Settle makes a cluster of nodes that have all had their sessions for a while, and own
// what they should: it takes thousands of them long to find that out, one claim after the
// other. It comes before they open their ports.
func (n *Net) Settle(peers []overlay.Peer, owners *overlay.Owners) {
	for _, p := range peers {
		n.renew(p)
	}
	for part := range n.owners {
		n.revision++
		n.owners[part] = overlay.Owner{Part: part, Node: owners.Of(part), Session: 1, Epoch: n.revision}
		n.settled = append(n.settled, n.owners[part])
	}
	n.settled = slices.Clip(append(n.settled, overlay.Members{Peers: n.peers()}))
}

// Close ends it. What was said on it may still arrive; nothing comes back.
func (p *Port) Close() {
	p.open = false
	n := p.net
	for len(p.follows) > 0 {
		p.unfollow(p.follows[0].part)
	}
	if n.named[p.name] == p {
		delete(n.named, p.name)
	}
	n.ports = slices.DeleteFunc(n.ports, func(q *Port) bool { return q == p })
}

// Cut sets which ways are cut.
func (p *Port) Cut(up, down bool) {
	p.up, p.down = up, down
	p.resume()
}

// Side puts the node on one side of a cut between nodes. The service is on side 0.
func (p *Port) Side(side int) {
	p.side = side
	p.resume()
}

// Lag lets news of owners and peers be late for a while.
func (p *Port) Lag(d time.Duration) { p.lag = max(p.lag, p.net.now.Add(d)) }

// Block keeps a node from the partitions of a log for a while, and from nothing else.
func (p *Port) Block(log int, d time.Duration) {
	p.blocked[log] = max(p.blocked[log], p.net.now.Add(d))
	p.net.After(d, p.resume)
}

// reaches reports whether a partition's log can be read and written.
func (p *Port) reaches(part int) bool {
	return part == len(p.net.owners) || p.net.now >= p.blocked[overlay.LogOf(part)]
}

// speaks and hears report whether messages to and from the service pass.
func (p *Port) speaks() bool { return p.open && !p.up && p.side == 0 }
func (p *Port) hears() bool  { return p.open && !p.down && p.side == 0 }

// resume goes on after a cut.
func (p *Port) resume() {
	if !p.hears() {
		return
	}
	p.flush()
	for i := range p.follows {
		p.pump(&p.follows[i])
	}
}

// Do carries out an action of the first group.
func (p *Port) Do(a overlay.Action) {
	n := p.net
	switch a := a.(type) {
	case overlay.Renew:
		sent := p.clock()
		p.request(func() {
			n.renew(a.Peer)
			p.answer(overlay.Renewed{Session: a.Peer.Session, Sent: sent})
		})
	case overlay.Claim:
		n.Traffic.Claims++
		p.request(func() {
			n.claim(a)
			p.answer(n.owners[a.Part])
		})
	case overlay.Append:
		answered := new(bool)
		n.After(giveUp, func() {
			if !*answered && p.open {
				*answered = true
				p.hear(overlay.Failed{ID: a.ID})
			}
		})
		p.request(func() {
			if !p.reaches(a.Part) {
				return
			}
			n.push(a.Part, a.Batch)
			if !p.hears() || n.chance(n.Loss) {
				return
			}
			n.After(n.travel(), func() {
				if !*answered && p.hears() {
					*answered = true
					p.hear(overlay.Acked{ID: a.ID})
				}
			})
		})
	case overlay.Follow:
		p.unfollow(a.Part)
		after := n.agreed(a)
		p.follows = append(p.follows, follow{part: a.Part, after: after, rewound: after < a.After, gone: new(bool)})
		n.readers[a.Part] = append(n.readers[a.Part], p)
		p.pump(&p.follows[len(p.follows)-1])
	case overlay.Unfollow:
		p.unfollow(a.Part)
	case overlay.Say:
		for _, q := range n.ports {
			if q != p {
				p.whisper(q, a.Data)
			}
		}
	case overlay.Send:
		if q := n.named[a.To]; q != nil {
			p.whisper(q, a.Data)
		}
	}
}

func (p *Port) unfollow(part int) {
	if f := p.following(part); f != nil {
		*f.gone = true
		p.follows = slices.DeleteFunc(p.follows, func(f follow) bool { return f.part == part })
		readers := p.net.readers
		readers[part] = slices.DeleteFunc(readers[part], func(q *Port) bool { return q == p })
	}
}

// request takes something to the service, if it gets there.
func (p *Port) request(do func()) {
	n := p.net
	if !p.speaks() || n.chance(n.Loss) {
		return
	}
	wait := n.travel()
	if n.chance(n.Late) {
		wait += time.Duration(n.random.Int64N(int64(10 * time.Second)))
	}
	n.After(wait, func() { n.serve(do) })
}

// serve does what was requested, now or when the service moves again.
func (n *Net) serve(do func()) {
	switch {
	case n.now >= n.stall:
		do()
	case n.chance(0.5):
		n.agenda.Add(n.stall, func() { n.serve(do) })
	}
}

// answer brings an event back.
func (p *Port) answer(ev overlay.Event) {
	n := p.net
	if !p.hears() || n.chance(n.Loss) {
		return
	}
	n.After(n.travel(), func() {
		if p.hears() {
			p.hear(ev)
		}
	})
}

// whisper takes gossip to another node.
func (p *Port) whisper(q *Port, data []byte) {
	n := p.net
	if p.up || q.down || p.side != q.side || n.chance(n.Loss) {
		return
	}
	n.After(n.travel(), func() {
		if q.open {
			n.Traffic.Messages++
			q.heard++
			n.Traffic.Bytes += int64(len(data))
			q.hear(overlay.Heard{From: p.name, Data: data})
		}
	})
}

// tell lets a node know what has changed, after what it is told before.
func (p *Port) tell(ev overlay.Event) {
	p.news = append(p.news, ev)
	p.flush()
}

func (p *Port) flush() {
	if p.pending || len(p.news) == 0 || !p.hears() {
		return
	}
	p.pending = true
	n := p.net
	n.agenda.Add(max(n.now.Add(n.travel()), p.lag), func() {
		p.pending = false
		if !p.hears() || n.now < p.lag {
			p.flush()
			return
		}
		news := p.news
		p.news = nil
		for _, ev := range news {
			if p.open {
				p.hear(ev)
			}
		}
	})
}

// pump brings the next batches of a log, if there are any. Those that are on their
// way come, whether the log is still followed then or not.
func (p *Port) pump(f *follow) {
	n := p.net
	log := n.logs[f.part]
	if f.pending || !p.hears() || !p.reaches(f.part) || !f.rewound && (len(log) == 0 || log[len(log)-1].offset <= f.after) {
		return
	}
	f.pending = true
	wait := n.travel()
	if n.chance(n.Slow) {
		wait += time.Duration(n.random.Int64N(int64(late)))
	}
	part, after, gone := f.part, f.after, f.gone
	n.After(wait, func() {
		f := p.following(part)
		if *gone {
			f = nil
		}
		if f != nil {
			f.pending = false
		}
		if !p.hears() || !p.reaches(part) {
			return
		}
		log := n.logs[part]
		at, _ := slices.BinarySearchFunc(log, after+1, func(e entry, offset uint64) int {
			if e.offset < offset {
				return -1
			}
			return int(min(e.offset-offset, 1))
		})
		batch := log[at:min(at+64, len(log))]
		if f != nil && f.rewound {
			f.rewound = false
			p.hear(overlay.Rewound{Part: part, Offset: after})
			f = p.following(part)
		}
		if f != nil && len(batch) > 0 {
			f.after = batch[len(batch)-1].offset
		}
		for _, e := range batch {
			if !p.open {
				return
			}
			n.Traffic.Batches++
			p.hear(overlay.Delivered{Part: part, Offset: e.offset, Batch: e.batch})
		}
		if f := p.following(part); f != nil {
			p.pump(f)
		}
	})
}

func (p *Port) following(part int) *follow {
	for i := range p.follows {
		if p.follows[i].part == part {
			return &p.follows[i]
		}
	}
	return nil
}

// renew keeps a session, or begins it.
func (n *Net) renew(peer overlay.Peer) {
	if n.settled != nil {
		peer.Draining = false // it says so as long as it does not know that it has long been here
	}
	at, ok := slices.BinarySearchFunc(n.sessions, peer.Name, func(s session, name string) int { return strings.Compare(s.peer.Name, name) })
	if !ok {
		n.sessions = slices.Insert(n.sessions, at, session{})
		n.lapse(peer, false)
	}
	s := &n.sessions[at]
	if s.peer != peer {
		s.peer = peer
		n.changed()
	}
	s.ends = n.now.Add(overlay.TTL)
	n.agenda.Add(s.ends, func() { n.expire(peer.Name) })
}

// expire ends a session that was not renewed.
func (n *Net) expire(name string) {
	at, ok := slices.BinarySearchFunc(n.sessions, name, func(s session, name string) int { return strings.Compare(s.peer.Name, name) })
	switch {
	case !ok || n.now < n.sessions[at].ends:
	case n.now < n.stall:
		n.agenda.Add(n.stall, func() { n.expire(name) })
	default:
		n.lapse(n.sessions[at].peer, true)
		n.sessions = slices.Delete(n.sessions, at, at+1)
		n.changed()
	}
}

// lapse notes whether the session that a node had was not renewed in time.
func (n *Net) lapse(peer overlay.Peer, is bool) {
	at, ok := slices.BinarySearchFunc(n.lapsed, peer.Name, func(p overlay.Peer, name string) int { return strings.Compare(p.Name, name) })
	list := slices.Clone(n.lapsed)
	if ok {
		list = slices.Delete(list, at, at+1)
	}
	if is {
		list = slices.Insert(list, at, peer)
	}
	n.lapsed = list
}

// changed lets all know who is there, soon.
func (n *Net) changed() {
	n.view = nil
	if n.stale {
		return
	}
	n.stale = true
	n.After(debounce, func() {
		n.stale = false
		view := overlay.Members{Peers: n.peers(), Lapsed: n.lapsed}
		for _, p := range n.ports {
			p.tell(view)
		}
	})
}

// peers lists the sessions. The slice is never changed.
func (n *Net) peers() []overlay.Peer {
	if n.view == nil {
		n.view = make([]overlay.Peer, 0, len(n.sessions))
		for i := range n.sessions {
			n.view = append(n.view, n.sessions[i].peer)
		}
	}
	return n.view
}

// claim changes an owner by compare-and-swap.
func (n *Net) claim(c overlay.Claim) {
	if n.owners[c.Part].Epoch != c.Before {
		return
	}
	n.revision++
	n.owners[c.Part] = overlay.Owner{Part: c.Part, Node: c.Node, Session: c.Session, Epoch: n.revision, Before: c.Before, New: c.New}
	news := overlay.Event(n.owners[c.Part]) // one for all
	for _, p := range n.ports {
		p.tell(news)
	}
}

// Lose cuts from the logs what was appended in the last moments, as when all disks lose
// power. Nobody must be following them.
func (n *Net) Lose(last time.Duration) {
	for part, log := range n.logs {
		for len(log) > 0 && log[len(log)-1].at.Add(last) > n.now {
			log = log[:len(log)-1]
		}
		if cut := len(log) < len(n.logs[part]); cut && n.Lost != nil {
			n.Lost(part, n.logs[part][len(log)].offset)
		}
		n.logs[part] = slices.Clip(log)
	}
}

// agreed is how far what a node has read of a log is still in it. Without a stamp
// that is all, if the log is long enough.
func (n *Net) agreed(f overlay.Follow) uint64 {
	log := n.logs[f.Part]
	at := len(log)
	for at > 0 && (log[at-1].offset > f.After || f.Stamp != 0 && log[at-1].batch.Stamp > f.Stamp) {
		at--
	}
	switch {
	case f.After == 0 || f.Stamp == 0 && at < len(log) || at > 0 && log[at-1].offset == f.After:
		return f.After
	case at == 0:
		return 0
	}
	return log[at-1].offset
}

// push adds a batch to a log.
func (n *Net) push(part int, b overlay.Batch) {
	log := n.logs[part]
	offset := uint64(1 + n.random.IntN(3))
	if len(log) > 0 {
		offset += log[len(log)-1].offset
	}
	n.stamp++
	b.Stamp = n.stamp
	n.logs[part] = append(log, entry{offset, n.now, b})
	if n.Appended != nil {
		n.Appended(part, offset, b)
	}
	for _, p := range n.readers[part] {
		p.pump(p.following(part))
	}
}
