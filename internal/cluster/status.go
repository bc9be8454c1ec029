package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"weir/overlay"
)

// Status is what a node can say about the cluster.
type Status struct {
	Cluster string
	Name    string
	Leader  string // the node whose server leads the cluster; "" when there is none
	Storing bool   // this node's server keeps logs
	Peers   []PeerStatus
	Logs    []LogStatus
	Account overlay.Account
}

// PeerStatus is another node, or this one.
type PeerStatus struct {
	Name      string
	Addr      string
	Storage   bool
	Alive     bool // it has a session
	Draining  bool
	Connected bool // to this node's server
	Seen      time.Time
	RTT       time.Duration
	Skew      time.Duration // its clock ahead of this one's
	Version   int
}

// LogStatus is one of the streams that hold the partitions' logs.
type LogStatus struct {
	Name   string
	Leader string
	Count  uint64 // batches
	Bytes  uint64
	Lag    uint64 // of the copy that is farthest behind
	Copies int    // that are up to date
}

// Status asks around. What is not known in time is left out, with the error.
func (n *Node) Status(ctx context.Context) (Status, error) {
	s := Status{Cluster: n.Cluster(), Name: n.cfg.Name, Leader: n.leader(), Storing: n.cfg.Storage && n.srv.JetStreamEnabled()}
	s.Peers = n.Peers()
	s.Account = n.Account()
	for i := range n.cfg.logs {
		l, err := n.logStatus(ctx, "log"+strconv.Itoa(i))
		if err != nil {
			return s, err
		}
		s.Logs = append(s.Logs, l)
	}
	return s, nil
}

func (n *Node) logStatus(ctx context.Context, name string) (LogStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	st, err := n.js.Stream(ctx, name) // not the one made by Open: its answers are kept there
	if errors.Is(err, context.DeadlineExceeded) {
		return LogStatus{Name: name}, fmt.Errorf("no node leads %s just now: what goes there waits", name)
	}
	if err != nil {
		return LogStatus{Name: name}, fmt.Errorf("ask about %s: %w", name, err)
	}
	info := st.CachedInfo()
	l := LogStatus{Name: name, Count: info.State.Msgs, Bytes: info.State.Bytes}
	if info.Cluster == nil {
		return l, nil
	}
	l.Leader, l.Copies = info.Cluster.Leader, 1
	for _, r := range info.Cluster.Replicas {
		l.Lag = max(l.Lag, r.Lag)
		if r.Current {
			l.Copies++
		}
	}
	return l, nil
}

// Peers lists the nodes of the cluster that were met, and this one; not those that
// were removed.
func (n *Node) Peers() []PeerStatus {
	connected := map[string]bool{n.cfg.Name: true}
	if rz, err := n.srv.Routez(nil); err == nil {
		for _, r := range rz.Routes {
			connected[r.RemoteName] = true
		}
	}
	n.host.mu.Lock()
	known := append([]place{n.host.self}, n.host.id.Peers...)
	n.host.mu.Unlock()
	out := make([]PeerStatus, 0, len(known))
	for _, p := range known {
		if n.owners.banned(p.Node) && p.Node != n.host.self.Node {
			continue
		}
		s := PeerStatus{Name: p.Name, Addr: p.Lobby, Storage: p.Storage, Connected: connected[p.Name], Seen: time.Unix(p.Seen, 0)}
		if r, ok := n.members.live(p.Name); ok {
			s.Alive, s.Draining, s.Version, s.Addr = true, r.Draining, r.Version, r.Lobby
			s.Seen = n.cfg.clock()
		}
		at := n.health.of(p.Name)
		s.RTT, s.Skew = at.rtt, at.skew
		out = append(out, s)
	}
	return out
}
