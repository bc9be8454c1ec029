package overlay

import "weir/page"

// Status is what a node knows of the cluster, for people to look at.
type Status struct {
	Name     string
	Session  uint64
	Held     bool // the session was renewed lately
	Until    page.Time
	Draining bool
	Left     bool
	Teller   string // who counts for all
	Quiet    bool
	Peers    []PeerStatus
	Parts    []PartStatus
	Owned    int
	Cut      int // partitions of its own in which it orders nothing, as their logs are out of reach
	Parcels  int // not forgotten yet
	Unacked  int // bytes that wait for acknowledgement
	Throttle bool
	Limit    int64 // of all together
	Share    int64 // of it
}

// PeerStatus is what a node knows of another. Loads are those it has heard of last.
type PeerStatus struct {
	Peer
	Heard   bool // it has told of its load
	Owned   int
	Queued  int64
	Flying  int64
	Pages   float64 // a second
	Unacked int64
	Share   int64
}

// PartStatus is what a node knows of a partition.
type PartStatus struct {
	Owner  string
	Epoch  uint64
	Alive  bool   // the owner has a session
	Phase  string // here: "", taking, owned, leaving, emptied, giving
	Offset uint64 // in its log, of what was applied here
}

var phases = [...]string{"", "taking", "owned", "leaving", "emptied", "giving"}

// Status tells how things stand.
func (m *Member) Status() Status {
	t := &m.talk
	st := Status{
		Name: m.cfg.Name, Session: m.session, Held: m.held, Until: m.Until(), Draining: m.draining, Left: m.left,
		Teller: m.parts[0].node, Quiet: t.quiet, Owned: m.owned, Parcels: len(m.posts.parcels), Unacked: m.posts.unacked,
		Throttle: m.throttled, Limit: m.cfg.Limit, Share: t.have,
	}
	for log := range m.pulses {
		if x := &m.pulses[log]; x.lost {
			st.Cut += x.parts
		}
	}
	for _, p := range m.peers {
		x := PeerStatus{Peer: p}
		l, ok := t.loads[p.Name]
		if p.Name == m.cfg.Name {
			l, ok = t.said, true
		}
		if ok && l.session == p.Session {
			x.Heard = true
			x.Owned, x.Queued, x.Flying, x.Pages = int(l.owned), int64(l.queued), int64(l.flying), float64(l.pages)/1000
			x.Unacked, x.Share = int64(l.unacked), int64(l.share)
		}
		st.Peers = append(st.Peers, x)
	}
	for p := range m.parts {
		s := &m.parts[p]
		at, ok := seat(m.peers, s.node)
		st.Parts = append(st.Parts, PartStatus{
			Owner: s.node, Epoch: s.epoch, Alive: ok && m.peers[at].Session == s.session, Phase: phases[s.phase], Offset: s.offset,
		})
	}
	return st
}
