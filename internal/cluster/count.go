package cluster

import (
	"sync"

	"weir/overlay"
)

// envelope is about what a server writes around a message to another one: its
// subjects and lengths.
const envelope = 64

// counter adds up what this node has to do with, by what it is about.
type counter struct {
	mu      sync.Mutex
	a       overlay.Account
	in, out int64 // of the server
	routes  map[uint64]route
}

// route is what went over a connection between servers.
type route struct{ in, out int64 }

func (c *counter) sent(t overlay.Traffic, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.a.Sent[t] += int64(n)
}

func (c *counter) received(t overlay.Traffic, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.a.Received[t] += int64(n)
}

func (c *counter) sentBatch(raw []byte, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.a.SentBatch(raw, size)
}

func (c *counter) receivedBatch(raw []byte, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.a.ReceivedBatch(raw, size)
}

// Account tells what the node has sent and received since it was opened, by what
// it was about. What its server received beyond that are copies of logs, and what
// servers say among themselves: the total is all that came in, without TLS.
// Questions and their answers count as copies, too.
func (n *Node) Account() overlay.Account {
	n.count.mu.Lock()
	a := n.count.a
	n.count.mu.Unlock()
	in, out := n.wire()
	rest := func(of int64, known []int64) int64 {
		for _, x := range known {
			of -= x
		}
		return max(of, 0)
	}
	a.Received[overlay.Replication] = rest(in, a.Received[:])
	a.Sent[overlay.Replication] = rest(out, a.Sent[:])
	return a
}

// wire is what the node's server has received from other servers and sent to
// them. A connection's counts go with it, so this is asked every second.
func (n *Node) wire() (in, out int64) {
	rz, err := n.srv.Routez(nil)
	c := &n.count
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return c.in, c.out
	}
	routes := make(map[uint64]route, len(rz.Routes))
	for _, r := range rz.Routes {
		now := route{r.InBytes + r.InMsgs*envelope, r.OutBytes + r.OutMsgs*envelope}
		c.in += now.in - c.routes[r.Rid].in
		c.out += now.out - c.routes[r.Rid].out
		routes[r.Rid] = now
	}
	c.routes = routes
	return c.in, c.out
}
