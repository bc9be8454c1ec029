package overlay

import (
	"slices"
	"time"

	"weir/page"
)

// A session shows that a node reaches those who keep the sessions. The logs are kept by
// others, and each may be out of reach on its own. An owner that went on without one
// would fetch for long what it can tell nobody of, and what others had fetched before it
// and told of late. So each log has a pulse: while a node has something to do it appends
// a Mark to each log that it owns partitions of, every few seconds, and reads it back.
// When none that was appended in the last Hold came back the log is lost: the node
// orders nothing more in its partitions, and remains their owner. It goes on when one
// comes back in time.
//
// Where much is said the Marks go with what is said anyway.
//
// A node that comes back tells what it had fetched before it was cut off, of partitions
// that others have meanwhile. Whoever read that as late as an owner may would fetch it
// again long after it was told. So for a while its peers are wary: they look more often,
// and order nothing as long as they read one of their logs late. It is all or nothing: an
// election that falls into this time stops them for as long as it takes.
const (
	pulseSoon = 2 * time.Second // from one Mark to the next, where something goes to the log anyway
	pulseLate = 4 * time.Second // where nothing does
	pulseWary = time.Second     // in both cases, while the node is wary
	waryFor   = TTL             // from when a peer is back, and from when it says that it has not told all yet
	waryLag   = 4 * time.Second // so long ago the last Mark that came back may have been appended then

	pulses = int(Hold/pulseWary) + 1 // Marks that are awaited at most: of older ones nothing follows
)

// pulse is how a Member stands with a log.
type pulse struct {
	parts int       // of the log, that are adopted or just were
	felt  page.Time // when that was appended which came back last
	sent  page.Time // when the last Mark was
	part  int       // where
	marks []beat    // that are awaited there, the oldest first
	lost  bool
	late  bool // the node is wary, and waits for it
}

// beat is a Mark in a log.
type beat struct {
	mark uint64
	sent page.Time
}

// live reports whether the node asks for pages of a partition, or did a moment ago.
func (ph phase) live() bool { return ph == owned || ph == leaving || ph == emptied }

// heedful sees whether a peer is back, which may have something to tell of earlier: it
// has another session, or had none for a while. A node that was started again does not
// know who is.
func (m *Member) heedful(peers []Peer) {
	back := m.peers == nil && m.past
	for _, p := range peers {
		at, ok := seat(m.peers, p.Name)
		switch {
		case p.Name == m.cfg.Name:
		case ok:
			back = back || m.peers[at].Session < p.Session
		case m.gone[p.Name]:
			delete(m.gone, p.Name)
			back = true
		}
	}
	for _, p := range m.peers {
		if _, ok := seat(peers, p.Name); !ok && len(m.gone) < maxLoads {
			m.gone[p.Name] = true
		}
	}
	if back {
		m.waryTill = m.now.Add(waryFor)
	}
}

// feel looks after the logs.
func (m *Member) feel() {
	m.pulseAt, m.behind = never, false
	wary, often := m.now < m.waryTill, pulseLate
	if wary {
		often = pulseWary
	}
	for log := range m.pulses {
		x := &m.pulses[log]
		was := x.late
		x.late = false
		switch {
		case x.parts == 0:
			continue
		case !x.lost && m.idle():
			x.felt = m.now // it has nothing to order, and nothing to tell
			continue
		case m.now >= x.sent.Add(often):
			m.beat(log)
		}
		if m.now >= x.felt.Add(Hold) {
			m.lost(log, true)
		} else {
			m.pulseAt = min(m.pulseAt, x.felt.Add(Hold))
		}
		m.pulseAt = min(m.pulseAt, x.sent.Add(often))
		if !wary || x.lost {
			continue
		}
		by := x.felt.Add(waryLag)
		if was { // so that it does not come and go with every Mark
			by = by.Add(-pulseWary)
		}
		if x.late = m.now >= by; x.late {
			m.behind = true
			by = m.waryTill
		}
		m.pulseAt = min(m.pulseAt, by)
	}
}

// throttle has the driver order nothing for a while, or lets it go on.
func (m *Member) throttle() {
	if on := m.posts.full || m.behind; on != m.throttled {
		m.throttled = on
		m.do(Throttle{on})
	}
}

// beat appends a Mark to a log, in place of one that could not be yet. The outbox calls
// it when something goes there.
func (m *Member) beat(log int) {
	x := &m.pulses[log]
	soon := pulseSoon
	if m.now < m.waryTill {
		soon = pulseWary
	}
	if x.parts == 0 || m.now < x.sent.Add(soon) {
		return
	}
	x.marks = slices.DeleteFunc(x.marks, func(b beat) bool {
		return m.posts.recall(x.part, Mark{ID: b.mark, Node: m.cfg.Name}) || !m.parts[x.part].phase.live()
	})
	x.marks = slices.Delete(x.marks, 0, max(0, len(x.marks)+1-pulses))
	for i, n := 0, (len(m.parts)-log+Logs-1)/Logs; i < n && !m.parts[x.part].phase.live(); i++ {
		x.part = log + Logs*i
	}
	x.sent = m.now
	x.marks = append(x.marks, beat{m.nextMark(), m.now})
	m.posts.urgent(m.now, x.part, Mark{ID: m.talk.mark, Node: m.cfg.Name})
}

// back says that a Mark of the node's own was read, if that is awaited.
func (m *Member) back(log int, mark uint64) bool {
	x := &m.pulses[log]
	at := slices.IndexFunc(x.marks, func(b beat) bool { return b.mark == mark })
	if at < 0 {
		return false
	}
	sent := x.marks[at].sent
	x.marks = slices.Delete(x.marks, 0, at+1)
	m.felt(log, sent)
	return true
}

// felt says that what was appended to a log at a time was read back.
func (m *Member) felt(log int, at page.Time) {
	x := &m.pulses[log]
	x.felt, x.sent = max(x.felt, at), max(x.sent, at)
	if m.now < x.felt.Add(Hold-pulseLate) { // the next one comes in time, if it takes no longer
		m.lost(log, false)
	}
}

// lost stops what is done in the partitions of a log, or lets it go on.
func (m *Member) lost(log int, is bool) {
	if x := &m.pulses[log]; x.lost != is {
		x.lost = is
		for p := log; p < len(m.parts); p += Logs {
			m.settle(p)
		}
	}
}
