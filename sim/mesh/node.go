package mesh

import (
	"fmt"
	"slices"
	"time"

	"weir/overlay"
	"weir/page"
)

const (
	workers = 3                      // requests that a node has under way at once
	commit  = 100 * time.Millisecond // from a page's end until it is durable
)

// Machine is an overlay.Member, or one that was spoilt to see whether that shows.
type Machine interface {
	Step(page.Time, overlay.Event) []overlay.Action
	Mine(part int) bool
	Until() page.Time
}

// disk is what is left of a node when it crashes.
type disk struct {
	known, ended []bool // by page: what the Ledger knows
	offsets      []uint64
	stamps       []uint64
	seq          uint64
	outbox       []overlay.Parcel
	full         bool // all have fetched enough
}

// node crawls, as a node does that has a Ledger, an Engine and a Member.
type node struct {
	w    *World
	name string
	id   int
	disk *disk

	life    uint64 // each start is one
	m       Machine
	port    *Port
	born    page.Time
	rate    float64 // of its clock
	paused  bool
	waiting []func() // what happened while it was paused
	events  []overlay.Event
	inside  bool

	epochs   []uint64 // by partition: under which it is adopted; 0 = it is not
	pending  [][]int  // by partition: pages that wait
	queued   int      // all of these
	applied  uint64   // batches in this life
	active   []bool   // by page: it is under way
	flying   []int    // by partition
	total    int
	fences   int // those before mean nothing to what is under way
	group    []fetched
	ended    int64         // pages in this life that had not ended before
	twice    int64         // pages that another node had ended meanwhile
	allowed  overlay.Allow // of both, those under way included
	bytes    int64         // of those that have come
	leaving  []bool        // by partition: an Empty is owed
	wake     page.Time
	throttle bool
	idle     bool // said so
	quiet    bool
	left     bool
	share    int64
	last     int // the partition that was served last
}

type fetched struct {
	page  int
	epoch uint64
}

func (w *World) newDisk() *disk {
	return &disk{known: make([]bool, w.Pages), ended: make([]bool, w.Pages), offsets: make([]uint64, w.Parts+1), stamps: make([]uint64, w.Parts+1)}
}

// start begins a life.
func (n *node) start() {
	w := n.w
	w.lives++
	n.life = w.lives
	n.born = w.Net.now
	n.rate = 1 + w.Skew*(2*w.random.Float64()-1)
	n.m = w.New(overlay.Config{
		Name: n.name, Session: n.life << 32, Origin: uint64(n.id) + 1, Parts: w.Parts, Limit: w.Limit, Rounds: w.Rounds, Pages: int64(w.Enough), Bytes: w.Heavy,
		Offsets: slices.Clone(n.disk.offsets), Stamps: slices.Clone(n.disk.stamps), Homes: w.homes,
	})
	n.epochs = make([]uint64, w.Parts)
	n.pending = make([][]int, w.Parts)
	n.active = make([]bool, w.Pages)
	n.flying = make([]int, w.Parts)
	n.leaving = make([]bool, w.Parts)
	n.applied = 0
	n.total, n.queued, n.group, n.events, n.waiting = 0, 0, nil, nil, nil
	n.ended, n.twice, n.bytes, n.allowed = 0, 0, 0, overlay.Allow{}
	n.paused, n.throttle, n.idle, n.quiet, n.left = false, false, false, false, false
	n.share, n.wake = 0, -1
	life := n.life
	n.port = w.Net.Open(n.name, n.clock, func(ev overlay.Event) { n.when(life, func() { n.step(ev) }) })
	for _, p := range n.disk.outbox {
		n.step(p)
	}
	n.step(overlay.Tick{})
	n.beat()
}

func (n *node) alive() bool { return n.port != nil && n.port.open }

// crash ends it. The disk stays.
func (n *node) crash() {
	n.port.Close()
	n.life = 0
}

// draining asks it to leave.
func (n *node) draining() {
	n.when(n.life, func() { n.step(overlay.Drain{}) })
}

// clock is the node's own time; it begins at a minute and runs a little wrong.
func (n *node) clock() page.Time {
	return page.Time(time.Minute) + page.Time(float64(n.w.Net.now-n.born)*n.rate)
}

// after plans something by the node's clock, for this life.
func (n *node) after(d time.Duration, do func()) {
	life := n.life
	n.w.Net.After(time.Duration(float64(d)/n.rate)+1, func() { n.when(life, do) })
}

// when does something unless the life is over; if the node is paused it waits.
func (n *node) when(life uint64, do func()) {
	switch {
	case n.life != life:
	case n.paused:
		n.waiting = append(n.waiting, do)
	default:
		do()
	}
}

// resume ends a pause. All that has happened meanwhile happens now.
func (n *node) resume() {
	n.paused = false
	for len(n.waiting) > 0 && !n.paused && n.life != 0 {
		do := n.waiting[0]
		n.waiting = n.waiting[1:]
		do()
	}
}

// step tells the Member what happened, and does what it says.
func (n *node) step(ev overlay.Event) {
	n.events = append(n.events, ev)
	if n.inside {
		return
	}
	n.inside = true
	for len(n.events) > 0 {
		ev := n.events[0]
		n.events = n.events[1:]
		for _, a := range n.m.Step(n.clock(), ev) {
			n.do(a)
		}
	}
	n.inside = false
	n.order()
	n.tellIdle()
}

func (n *node) do(a overlay.Action) {
	switch a := a.(type) {
	case overlay.Apply:
		n.apply(a)
	case overlay.Rewind:
		n.disk.offsets[a.Part], n.disk.stamps[a.Part] = a.Offset, 0
	case overlay.Adopt:
		n.adopt(a)
	case overlay.Disown:
		n.epochs[a.Part] = 0
		n.queued -= len(n.pending[a.Part])
		n.pending[a.Part] = nil
		n.leaving[a.Part] = true
		n.empty(a.Part)
	case overlay.Fence:
		n.fences++
		for p := range n.epochs {
			n.epochs[p], n.pending[p], n.flying[p], n.leaving[p] = 0, nil, 0, false
		}
		clear(n.active)
		for _, f := range n.group {
			n.active[f.page] = true
		}
		n.total, n.queued = 0, 0
	case overlay.Posted:
		for len(n.disk.outbox) > 0 && n.disk.outbox[0].Seq <= a.Seq {
			n.disk.outbox = n.disk.outbox[1:]
		}
	case overlay.Throttle:
		n.throttle = a.On
	case overlay.Share:
		n.share = a.Rate
		n.w.checkShares()
	case overlay.Allow:
		n.allowed = a
	case overlay.Enough:
		n.disk.full = true
		n.w.checkEnough(n)
	case overlay.Quiet:
		n.quiet = a.Is
		if a.Is {
			n.w.checkQuiet(n)
		}
	case overlay.Left:
		n.left = true
		n.w.checkLeft(n)
	case overlay.Wake:
		if a.At == n.wake {
			return
		}
		n.wake = a.At
		n.after(a.At.Sub(n.clock()), func() {
			if n.wake == a.At {
				n.wake = -1
				n.step(overlay.Tick{})
			}
		})
	default:
		n.port.Do(a)
	}
}

// apply is what the Ledger does with a batch. Rows of its own it has already.
func (n *node) apply(a overlay.Apply) {
	d := n.disk
	if a.Offset <= d.offsets[a.Part] {
		n.w.fail("%s applied %d of partition %d after %d", n.name, a.Offset, a.Part, d.offsets[a.Part])
	}
	d.offsets[a.Part], d.stamps[a.Part] = a.Offset, a.Batch.Stamp
	n.applied++
	if a.Batch.Origin == uint64(n.id)+1 {
		return
	}
	for _, r := range a.Batch.Records {
		switch r := r.(type) {
		case overlay.Shipped:
			for _, s := range r.Rows {
				n.learn(int(s.Input))
			}
		case overlay.Done:
			for _, e := range r.Pages {
				d.known[e.Hash], d.ended[e.Hash] = true, true
			}
		}
	}
}

func (n *node) learn(id int) {
	if n.disk.known[id] {
		return
	}
	n.disk.known[id] = true
	if p := n.w.part(id); n.epochs[p] != 0 && !n.active[id] {
		n.pending[p] = append(n.pending[p], id)
		n.queued++
	}
}

func (n *node) adopt(a overlay.Adopt) {
	n.epochs[a.Part] = a.Epoch
	n.applied++
	n.w.adopted(n, a.Part, n.born+page.Time(float64(a.Since-page.Time(time.Minute))/n.rate))
	for _, id := range n.w.pagesOf[a.Part] {
		if n.disk.known[id] && !n.disk.ended[id] && !n.active[id] {
			n.pending[a.Part] = append(n.pending[a.Part], id)
			n.queued++
		}
	}
}

// order sends requests, as long as it may.
func (n *node) order() {
	for tries := 0; tries < len(n.pending) && n.queued > 0 && n.total < workers && !n.throttle && !n.left && n.may(); tries++ {
		n.last = (n.last + 1) % len(n.pending)
		p := n.last
		if len(n.pending[p]) == 0 || n.clock() >= n.m.Until() {
			continue
		}
		id := n.pending[p][0]
		n.pending[p] = n.pending[p][1:]
		n.queued--
		tries = -1
		if n.disk.ended[id] || n.active[id] {
			continue
		}
		n.active[id] = true
		n.flying[p]++
		n.total++
		n.w.checkOrder(n, p, id)
		fences, epoch := n.fences, n.epochs[p]
		n.after(n.w.Fetch/4+time.Duration(n.w.random.Int64N(int64(n.w.Fetch)*3/2)), func() {
			if n.fences == fences {
				n.flying[p]--
				n.total--
				if n.clock() < n.m.Until() { // else it came to an end while the node stood still
					n.w.visits[p] = visit{n, n.w.Net.now}
				}
				n.group = append(n.group, fetched{id, epoch})
				n.bytes += size(id)
				if len(n.group) == 1 {
					n.after(commit, n.commit)
				}
				n.order()
			}
		})
	}
}

// commit makes what was fetched durable, and hands it in.
func (n *node) commit() {
	d := n.disk
	d.seq++
	parcel := overlay.Parcel{Seq: d.seq}
	rows := make([][]overlay.Ship, n.w.Parts+1)
	for _, f := range n.group {
		if d.ended[f.page] {
			n.twice++
		} else {
			n.ended++
		}
		d.ended[f.page] = true
		n.active[f.page] = false
		for _, c := range n.w.children(f.page) {
			to := n.w.log(c)
			rows[to] = append(rows[to], overlay.Ship{Input: uint32(c)})
			n.learn(c)
		}
		p := n.w.part(f.page)
		parcel.Ended = append(parcel.Ended, overlay.Post{Part: p, Records: []overlay.Record{
			overlay.Done{Epoch: f.epoch, Node: n.name, Pages: []overlay.Ended{{Hash: uint64(f.page)}}},
		}})
	}
	for p, list := range rows {
		if len(list) > 0 {
			parcel.Rows = append(parcel.Rows, overlay.Post{Part: p, Records: []overlay.Record{overlay.Shipped{Rows: list}}})
		}
	}
	n.group = nil
	d.outbox = append(d.outbox, parcel)
	n.step(parcel)
	for p := range n.leaving {
		n.empty(p)
	}
}

// seed hands in pages to begin with.
func (n *node) seed(ids ...int) {
	d := n.disk
	d.seq++
	parcel := overlay.Parcel{Seq: d.seq}
	for _, id := range ids {
		n.learn(id)
		parcel.Rows = append(parcel.Rows, overlay.Post{Part: n.w.part(id), Records: []overlay.Record{overlay.Shipped{Rows: []overlay.Ship{{Input: uint32(id)}}}}})
	}
	d.outbox = append(d.outbox, parcel)
	n.step(parcel)
}

// empty answers a Disown, if all is over.
func (n *node) empty(p int) {
	if !n.leaving[p] || n.flying[p] > 0 {
		return
	}
	for _, f := range n.group {
		if n.w.part(f.page) == p {
			return
		}
	}
	n.leaving[p] = false
	n.step(overlay.Empty{Part: p})
}

func (n *node) load() overlay.Load {
	wanted := n.w.Wanted(n.id, n.w.Net.now)
	l := overlay.Load{
		Applied: n.applied, Queued: int64(n.queued), Flying: int64(n.total), Unsent: int64(len(n.group)), Wanted: wanted, Pages: wanted / 1e4,
	}
	if n.w.Enough == 0 && n.w.Heavy == 0 {
		return l
	}
	if n.disk.full {
		l.Queued = 0
	}
	for p, epoch := range n.epochs {
		if epoch == 0 {
			continue
		}
		l.Print += overlay.Print(p, epoch)
		for _, id := range n.w.pagesOf[p] {
			if n.disk.ended[id] {
				l.Fetched++
				l.Bytes.Fetched += size(id)
			}
		}
	}
	l.Allowed = n.allowed.Pages
	l.Begun, l.Under = n.begun(), n.under()
	l.Bytes.Allowed, l.Bytes.Begun = n.allowed.Bytes, n.bytes
	for _, f := range n.group {
		l.Bytes.Under += size(f.page)
	}
	return l
}

// begun is how many pages it has fetched in this life, or begun to.
func (n *node) begun() int64 { return n.ended + n.twice + n.under() }

// under is how many of them are not durable.
func (n *node) under() int64 { return int64(n.total + len(n.group)) }

// may reports whether another page may be begun.
func (n *node) may() bool {
	return (n.w.Enough == 0 || n.begun() < n.allowed.Pages) && (n.w.Heavy == 0 || n.bytes < n.allowed.Bytes) && !n.disk.full
}

// size is how many bytes a page has.
func size(id int) int64 { return int64(100 + 37*id%maxSize) }

const maxSize = 900

// tellIdle tells the Member when it falls idle, or has work again.
func (n *node) tellIdle() {
	l := n.load()
	if idle := l.Queued+l.Flying+l.Unsent == 0; idle != n.idle {
		n.idle = idle
		n.step(l)
	}
}

// beat tells how busy it is, every second.
func (n *node) beat() {
	n.step(n.load())
	n.after(time.Second, n.beat)
}

func (n *node) String() string { return fmt.Sprintf("%s (life %d)", n.name, n.life) }
