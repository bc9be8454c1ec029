package overlay

import (
	"slices"
	"time"

	"weir/page"
)

// A node with connections free asks those whose hosts wait for one, as their loads say,
// to leave it some: it alone knows how many it can take, so nobody is left more than
// that. What was asked for is counted as taken for a while; then it has come, or will
// not.

const (
	handsFor = 2 * time.Second
	maxHands = 1 << 16
)

// reach is connections that were offered.
type reach struct {
	until page.Time
	hosts int64
}

// hands returns how many connections no host waits for, here or on its way.
func (m *Member) hands() int64 {
	t := &m.talk
	t.hands = slices.DeleteFunc(t.hands, func(r reach) bool { return r.until <= m.now })
	free := t.load.Free
	for _, r := range t.hands {
		free -= r.hosts
	}
	return free
}

// seek looks for hosts that wait elsewhere.
func (m *Member) seek() {
	if m.hands() <= 0 || len(m.peers) == 0 {
		return
	}
	from := page.Place(page.Sum(m.cfg.Name), len(m.peers)) // not all ask the same first
	for i := range m.peers {
		m.ask(m.peers[(from+i)%len(m.peers)].Name)
	}
}

// ask asks a node for hosts, if it has any to leave and this one has connections.
func (m *Member) ask(node string) {
	l, ok := m.talk.loads[node]
	if !ok || l.spare == 0 || node == m.cfg.Name || m.draining || !m.held {
		return
	}
	n := min(m.hands(), int64(min(l.spare, maxHands)))
	part := m.any()
	if at, ok := seat(m.peers, node); n <= 0 || part < 0 || !ok || m.peers[at].Session != l.session {
		return
	}
	l.spare -= uint64(n)
	m.talk.loads[node] = l
	m.talk.hands = append(m.talk.hands, reach{m.now.Add(handsFor), n})
	m.do(Send{To: node, Data: writeWord(&hands{session: l.session, part: uint64(part), hosts: uint64(n)})})
}

// any returns a partition that the node owns, not always the same; -1 if there is none.
func (m *Member) any() int {
	from := int(uint64(m.now) % uint64(len(m.parts)))
	for i := range m.parts {
		if p := (from + i) % len(m.parts); m.Mine(p) {
			return p
		}
	}
	return -1
}
