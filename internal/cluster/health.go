package cluster

import (
	"context"
	"time"
)

// health looks after what nobody reports: a server that stopped to store, clocks
// that differ, nodes that stay away.
type health struct {
	n *Node
}

func newHealth(n *Node) *health { return &health{n: n} }

func (h *health) watch(ctx context.Context) {
	for pause(ctx, time.Second) {
		h.n.members.revive(time.Now())
	}
}
