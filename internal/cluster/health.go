package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/overlay"
)

const (
	healthEvery = time.Second
	skewEvery   = 10 * time.Second
	forgetEvery = time.Minute
	maxSkew     = 2 * time.Second
	clockTopic  = "clock"
	heardTime   = 5 * time.Second  // within which each copy of a log is heard of, several times
	copyTime    = 10 * time.Second // for which one may be missing before people are told
)

// StorageError says that the node's server no longer stores anything: its disk is
// full or broken. The other nodes go on, one copy short, which they tell of too
// (ShortError); this one takes part without storage until it is started again.
type StorageError struct{ Text string }

func (e *StorageError) Error() string {
	return "the node's server has stopped storing (" + e.Text + "): make room on its disk and start the node again"
}

// ShortError says that a node keeps no copies of logs that it should: it is gone, or has
// stopped storing.
type ShortError struct {
	Node string
	Logs []int
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("one copy is missing of the logs of %s: that of %s", partsOf(e.Logs), e.Node)
}

// partsOf names the partitions of logs.
func partsOf(logs []int) string {
	if len(logs) == overlay.Logs {
		return "all partitions"
	}
	var list []string
	for _, i := range logs {
		list = append(list, fmt.Sprintf("%d, %d, %d, ...", i, i+overlay.Logs, i+2*overlay.Logs))
	}
	return "the partitions " + strings.Join(list, " and ")
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

// health looks after what nobody reports: a server that stopped storing, clocks
// that differ, certificates that end, nodes that stay away.
type health struct {
	n *Node

	mu     sync.Mutex
	missed map[string]time.Time // since when nodes are, of a leader; see forget
	seen   map[string]reach
	short  map[copyAt]time.Time // since when copies are missing of the logs that this node leads
}

// copyAt is a node's copy of a log.
type copyAt struct{ log, node string }

// reach is how far another node is, in time.
type reach struct{ rtt, skew time.Duration }

func newHealth(n *Node) *health {
	h := &health{n: n, seen: map[string]reach{}, short: map[copyAt]time.Time{}}
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
		for _, err := range h.lasting() {
			h.n.warn(err)
		}
		h.copies(now)
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

// lasting is what is amiss until somebody does something about it.
func (h *health) lasting() (list []error) {
	if err := h.storage(); err != nil {
		list = append(list, err)
	}
	now := h.n.cfg.clock()
	if err := ending("", h.n.host.certs.old, now); err != nil {
		list = append(list, err)
	}
	for _, p := range h.n.known() {
		if err := ending(p.Name, h.n.host.certs.until(p.Name), now); err != nil {
			list = append(list, err)
		}
	}
	return list
}

// storage says what is wrong with the node's own server.
func (h *health) storage() error {
	if !h.n.cfg.Storage || h.n.srv.JetStreamEnabled() {
		return nil
	}
	return &StorageError{h.n.log.worst()}
}

// copies notes since when some are missing, and tells people.
func (h *health) copies(now time.Time) {
	short := map[copyAt]time.Time{}
	logs := map[string][]int{}
	for _, l := range h.n.logs() {
		if l.Leader != h.n.cfg.Name {
			continue
		}
		for _, node := range l.Missing {
			at := copyAt{l.Name, node}
			since, ok := h.short[at]
			if !ok {
				since = now
			}
			if short[at] = since; now.Sub(since) >= copyTime {
				logs[node] = append(logs[node], l.Log)
			}
		}
	}
	h.mu.Lock()
	h.short = short
	h.mu.Unlock()
	for _, node := range slices.Sorted(maps.Keys(logs)) {
		h.n.warn(&ShortError{node, slices.Sorted(slices.Values(logs[node]))})
	}
}

// missing are the nodes whose copies of a log have been missing for a while.
func (h *health) missing(l LogStatus) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(l.Missing), func(node string) bool {
		since, ok := h.short[copyAt{l.Name, node}]
		return !ok || now.Sub(since) < copyTime
	})
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
