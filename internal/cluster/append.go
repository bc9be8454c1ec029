package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"weir/overlay"
)

const (
	appendTime = 5 * time.Second // an election takes longer: the Member tries again
	maxFlying  = 4096            // appends that are not answered yet
	sweepEvery = 250 * time.Millisecond
	linger     = 5 * time.Millisecond // appends that come within this time go together
)

// appender writes batches to logs. What comes at about the same time for one log
// goes in one message. Batches of a partition are sent in the order they came; the
// servers' answers are matched by the subject of the reply.
type appender struct {
	n      *Node
	prefix string
	queue  chan overlay.Append
	origin atomic.Uint64 // of the last batch: the node's own

	mu     sync.Mutex
	serial uint64
	flying map[uint64]flight // messages
	count  int               // appends in them
	turned []uint64          // turned away, and not told yet: Do must not call Tell
}

type flight struct {
	log     int
	ids     []uint64
	until   time.Time
	awaited bool // see load
}

// load is a message that is being put together.
type load struct {
	ids     []uint64
	slices  []slice
	size    int
	awaited bool // the node waits until it reads it back
}

func (l *load) has(part int) bool {
	return slices.ContainsFunc(l.slices, func(s slice) bool { return s.part == part })
}

func newAppender(n *Node) *appender {
	return &appender{n: n, prefix: "a." + n.host.id.Node + draw(4) + ".", queue: make(chan overlay.Append, maxFlying), flying: map[uint64]flight{}}
}

// add queues an append; when too many wait it fails.
func (p *appender) add(a overlay.Append) {
	select {
	case p.queue <- a:
	default:
		p.mu.Lock()
		p.turned = append(p.turned, a.ID)
		p.mu.Unlock()
	}
}

func (p *appender) send(ctx context.Context) {
	var loads [overlay.Logs]load
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-p.queue:
			p.load(&loads, a)
		}
		timer.Reset(linger)
		for more := true; more; {
			select {
			case <-ctx.Done():
				return
			case a := <-p.queue:
				p.load(&loads, a)
			case <-timer.C:
				more = false
			}
		}
		for i := range loads {
			p.publish(i, &loads[i])
		}
	}
}

// load puts an append into the message for its log.
func (p *appender) load(loads *[overlay.Logs]load, a overlay.Append) {
	raw := overlay.AppendBatch(nil, &a.Batch)
	if len(raw) > maxSlice {
		p.n.warn(tooLong(a.Part, len(raw)))
		p.n.answer(overlay.Failed{ID: a.ID})
		return
	}
	p.origin.Store(a.Batch.Origin)
	log := overlay.LogOf(a.Part)
	l := &loads[log]
	if l.has(a.Part) || l.size+len(raw) > fullBundle {
		p.publish(log, l)
	}
	l.ids = append(l.ids, a.ID)
	l.slices = append(l.slices, slice{a.Part, raw})
	l.size += len(raw)
	l.awaited = l.awaited || slices.ContainsFunc(a.Batch.Records, awaited)
}

// awaited reports whether the node that appends a record goes on when it has read it
// back. Rows and ends of pages it knows; they come with what others have written.
func awaited(r overlay.Record) bool {
	switch r.(type) {
	case overlay.Tuples, overlay.Done, overlay.Hosts, overlay.Trips:
		return false
	}
	return true
}

// publish sends a message, if there is anything in it, and begins another.
func (p *appender) publish(log int, l *load) {
	if len(l.ids) == 0 {
		return
	}
	raw := appendBundle(make([]byte, 0, l.size+8*len(l.slices)+8), l.slices)
	m := &nats.Msg{Subject: logSubject(log), Data: pack(nil, raw)}
	for _, s := range l.slices {
		p.n.count.sentBatch(s.data, len(s.data)*len(m.Data)/len(raw))
	}
	f := flight{log: log, ids: l.ids, awaited: l.awaited}
	*l = load{}
	serial, ok := p.enter(f)
	if !ok {
		for _, id := range f.ids {
			p.n.answer(overlay.Failed{ID: id})
		}
		return
	}
	m.Reply = p.prefix + strconv.FormatUint(serial, 36)
	if err := p.n.nc.PublishMsg(m); err != nil {
		p.leave(serial, 0)
	}
}

func (p *appender) enter(f flight) (serial uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count+len(f.ids) > maxFlying {
		return 0, false
	}
	p.count += len(f.ids)
	p.serial++
	f.until = time.Now().Add(appendTime)
	p.flying[p.serial] = f
	return p.serial, true
}

// leave answers the appends of a message, unless that was done: they are in the log
// at an offset, or (0) nobody knows.
func (p *appender) leave(serial, offset uint64) {
	p.mu.Lock()
	f, was := p.flying[serial]
	delete(p.flying, serial)
	p.count -= len(f.ids)
	p.mu.Unlock()
	if was && offset > 0 && f.awaited {
		p.n.readers[f.log].hint(offset)
	}
	for _, id := range f.ids {
		if offset > 0 {
			p.n.answer(overlay.Acked{ID: id})
		} else {
			p.n.answer(overlay.Failed{ID: id})
		}
	}
}

// acked takes a server's answer.
func (p *appender) acked(m *nats.Msg) {
	serial, err := strconv.ParseUint(m.Subject[len(p.prefix):], 36, 64)
	if err != nil {
		return
	}
	var a struct {
		Seq   uint64 `json:"seq"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	err = json.Unmarshal(m.Data, &a) // empty when nobody leads the log
	if a.Error != nil {
		p.n.warn(fmt.Errorf("an append was refused: %s", a.Error.Description))
	}
	if err != nil || a.Error != nil {
		a.Seq = 0
	}
	p.leave(serial, a.Seq)
}

// sweep fails what was not answered in time.
func (p *appender) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			var late []uint64
			p.mu.Lock()
			turned := p.turned
			p.turned = nil
			for serial, f := range p.flying {
				if now.After(f.until) {
					late = append(late, serial)
				}
			}
			p.mu.Unlock()
			for _, id := range turned {
				p.n.answer(overlay.Failed{ID: id})
			}
			for _, serial := range late {
				p.leave(serial, 0)
			}
		}
	}
}
