package cluster

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"weir/overlay"
)

// Status is what a node can say about the cluster.
type Status struct {
	Cluster string
	Name    string
	Leader  string // the node whose server leads the cluster; "" when there is none
	Storing bool   // this node's server keeps logs
	Peers   []PeerStatus
	Account overlay.Account

	Lasting []error // what is amiss until somebody does something about it; warned of now and then

	Logs     []LogStatus // that this node's server leads; each log has one that does
	Headless []string    // logs that nobody leads, as far as this node knows: what goes there waits
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
	CertEnds  time.Time     // when its certificate does; zero: its server was not met
	Version   int           // of the protocol; of one without a session, as it was last heard of; 0: not known
}

// LogStatus is one of the streams that hold the partitions' logs.
type LogStatus struct {
	Name   string
	Log    int // its number: partition p is in log p mod overlay.Logs
	Leader string
	Count  uint64 // batches
	Bytes  uint64
	Lag    uint64 // of the copy that is farthest behind
	Copies int    // that are up to date

	Missing []string // nodes whose copies have not been heard of for a while
}

// Status says what the node knows, and asks nobody: every second, and for each node
// that is asked, that would be a good part of all that nodes say to one another.
func (n *Node) Status() Status {
	s := Status{Cluster: n.Cluster(), Name: n.cfg.Name, Leader: n.leader(), Storing: n.cfg.Storage && n.srv.JetStreamEnabled()}
	s.Peers = n.Peers()
	s.Account = n.Account()
	s.Lasting = n.health.lasting()
	for _, l := range n.logs() {
		switch l.Leader {
		case n.cfg.Name:
			l.Missing = n.health.missing(l)
			s.Logs = append(s.Logs, l)
		case "":
			s.Headless = append(s.Headless, l.Name)
		}
	}
	return s
}

// logs lists the logs that the node's server has copies of. How the others' are, only
// who leads knows.
func (n *Node) logs() (list []LogStatus) {
	d, err := n.srv.JszAccount(&server.JSzOptions{Account: account, Streams: true})
	if err != nil {
		return nil // it keeps none
	}
	for _, st := range d.Streams {
		number, err := strconv.Atoi(strings.TrimPrefix(st.Name, "log"))
		if err != nil || st.Cluster == nil {
			continue
		}
		l := LogStatus{Name: st.Name, Log: number, Leader: st.Cluster.Leader, Count: st.State.Msgs, Bytes: st.State.Bytes, Copies: 1}
		for _, r := range st.Cluster.Replicas {
			l.Lag = max(l.Lag, r.Lag)
			switch {
			case r.Current:
				l.Copies++
			case r.Offline || r.Active == 0 || r.Active > heardTime: // who leads since a moment has heard nobody
				name := n.host.named(r)
				if name == "" { // the server has not heard of it since it was started
					name = "a node that has not come back"
				}
				l.Missing = append(l.Missing, name)
			}
		}
		list = append(list, l)
	}
	return list
}

// Peers lists this node, and those of the cluster that were met; not those that
// were removed.
func (n *Node) Peers() []PeerStatus {
	connected := n.routes()
	n.host.settle(connected)
	connected[n.cfg.Name] = true
	known := n.known()
	out := make([]PeerStatus, 0, len(known))
	for _, p := range known {
		s := PeerStatus{Name: p.Name, Addr: p.Lobby, Storage: p.Storage, Connected: connected[p.Name], Seen: time.Unix(p.Seen, 0), CertEnds: n.host.certs.until(p.Name), Version: p.Protocol}
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

// known lists where this node is, and where those of the cluster are that were met and
// not removed.
func (n *Node) known() []place {
	n.host.mu.Lock()
	list := append([]place{n.host.self}, n.host.id.Peers...)
	n.host.mu.Unlock()
	return slices.DeleteFunc(list, func(p place) bool { return p.Node != n.host.self.Node && n.owners.banned(p.Node) })
}
