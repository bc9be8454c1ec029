package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"weir/overlay"
)

const (
	appendTime = 5 * time.Second // an election takes longer: the Member tries again
	maxFlying  = 4096            // appends that are not answered yet
	sweepEvery = 250 * time.Millisecond
)

// appender writes batches to logs. It sends them in the order they came and
// matches the servers' answers by the subject of the reply.
type appender struct {
	n      *Node
	prefix string
	queue  chan overlay.Append

	mu     sync.Mutex
	serial uint64
	flying map[uint64]flight
	turned []uint64 // turned away, and not told yet: Do must not call Tell
}

type flight struct {
	id    uint64
	until time.Time
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
	var raw, buf []byte
	for {
		var a overlay.Append
		select {
		case <-ctx.Done():
			return
		case a = <-p.queue:
		}
		raw = overlay.AppendBatch(raw[:0], &a.Batch)
		if len(raw) > overlay.MaxBatch {
			p.n.warn(tooLong(a.Part, len(raw)))
			p.n.answer(overlay.Failed{ID: a.ID})
			continue
		}
		buf = pack(buf[:0], raw)
		serial, ok := p.enter(a.ID)
		if !ok {
			p.n.answer(overlay.Failed{ID: a.ID})
			continue
		}
		m := &nats.Msg{Subject: logSubject(a.Part, p.n.cfg.logs), Reply: p.prefix + strconv.FormatUint(serial, 36), Data: buf}
		if err := p.n.nc.PublishMsg(m); err != nil {
			p.leave(serial, false)
		}
		p.n.count.sentBatch(raw, len(buf))
	}
}

func (p *appender) enter(id uint64) (serial uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.flying) >= maxFlying {
		return 0, false
	}
	p.serial++
	p.flying[p.serial] = flight{id, time.Now().Add(appendTime)}
	return p.serial, true
}

// leave answers an append, unless that was done.
func (p *appender) leave(serial uint64, ok bool) {
	p.mu.Lock()
	f, was := p.flying[serial]
	delete(p.flying, serial)
	p.mu.Unlock()
	switch {
	case !was:
	case ok:
		p.n.answer(overlay.Acked{ID: f.id})
	default:
		p.n.answer(overlay.Failed{ID: f.id})
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
	p.leave(serial, err == nil && a.Error == nil && a.Seq > 0)
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
				p.leave(serial, false)
			}
		}
	}
}
