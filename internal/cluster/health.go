package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	healthEvery = time.Second
	skewEvery   = 10 * time.Second
	forgetEvery = time.Minute
	maxSkew     = 2 * time.Second
	clockTopic  = "clock"
)

// StorageError says that the node's server no longer stores anything: its disk is
// full or broken. The other nodes go on, one copy short; this one takes part
// without storage until it is started again.
type StorageError struct{ Text string }

func (e *StorageError) Error() string {
	return "the node's server has stopped to store (" + e.Text + "): make room on its disk and start the node again"
}

// SkewError says that another node's clock differs from this one's.
type SkewError struct {
	Node string
	By   time.Duration // that it is ahead
}

func (e *SkewError) Error() string {
	side := "ahead of"
	if e.By < 0 {
		side = "behind"
	}
	return fmt.Sprintf("the clock of %s is %v %s this node's: certificates depend on it, and the times of pages", e.Node, e.By.Abs().Round(100*time.Millisecond), side)
}

// health looks after what nobody reports: a server that stopped to store, clocks
// that differ, nodes that stay away.
type health struct {
	n *Node

	mu   sync.Mutex
	seen map[string]reach
}

// reach is how far another node is, in time.
type reach struct{ rtt, skew time.Duration }

func newHealth(n *Node) *health {
	h := &health{n: n, seen: map[string]reach{}}
	n.Answer(clockTopic, func(context.Context, []byte) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, uint64(n.cfg.clock().UnixNano())), nil
	})
	return h
}

func (h *health) watch(ctx context.Context) {
	var skewed, forgot time.Time
	for pause(ctx, healthEvery) {
		now := time.Now()
		h.n.members.revive(now)
		h.n.wire()
		h.n.host.settle(h.n.routes())
		if err := h.storage(); err != nil {
			h.n.warn(err)
		}
		if now.Sub(skewed) >= skewEvery {
			skewed = now
			h.clocks(ctx)
		}
		if now.Sub(forgot) >= forgetEvery && h.n.cfg.Forget > 0 {
			forgot = now
			h.forget(ctx)
		}
	}
}

// storage says what is wrong with the node's own server.
func (h *health) storage() error {
	if !h.n.cfg.Storage || h.n.srv.JetStreamEnabled() {
		return nil
	}
	return &StorageError{h.n.log.worst()}
}

// clocks asks every other node what time it is.
func (h *health) clocks(ctx context.Context) {
	for _, r := range h.n.members.all() {
		if r.Name == h.n.cfg.Name {
			continue
		}
		got, err := h.clock(ctx, r.Name)
		if err != nil {
			continue // whether it lives is found out elsewhere
		}
		h.mu.Lock()
		h.seen[r.Name] = got
		h.mu.Unlock()
		if got.skew.Abs() > maxSkew+got.rtt/2 {
			h.n.warn(&SkewError{r.Name, got.skew.Round(time.Second)})
		}
	}
}

func (h *health) clock(ctx context.Context, name string) (reach, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	start := time.Now()
	here := h.n.cfg.clock()
	b, err := h.n.Ask(ctx, name, clockTopic, nil)
	if err != nil {
		return reach{}, err
	}
	if len(b) != 8 {
		return reach{}, errors.New("that is no time")
	}
	rtt := time.Since(start)
	there := time.Unix(0, int64(binary.BigEndian.Uint64(b)))
	return reach{rtt, there.Sub(here.Add(rtt / 2))}, nil
}

func (h *health) of(name string) reach {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen[name]
}
