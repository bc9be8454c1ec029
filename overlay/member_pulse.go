package overlay

import (
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
const (
	pulseSoon = 2 * time.Second // from one Mark to the next, where something goes to the log anyway
	pulseLate = 4 * time.Second // where nothing does
)

// pulse is how a Member stands with a log.
type pulse struct {
	parts int       // of the log, that are adopted or just were
	felt  page.Time // when that was appended which came back last
	sent  page.Time // when the Mark that is awaited was, or the last one
	mark  uint64    // its ID; 0 = none is awaited
	part  int       // where
	lost  bool
}

// live reports whether the node asks for pages of a partition, or did a moment ago.
func (ph phase) live() bool { return ph == owned || ph == leaving || ph == emptied }

// feel looks after the logs.
func (m *Member) feel() {
	m.pulseAt = never
	for log := range m.pulses {
		x := &m.pulses[log]
		switch {
		case x.parts == 0:
			continue
		case !x.lost && m.idle():
			x.felt = m.now // it has nothing to order, and nothing to tell
			continue
		case x.mark != 0 && (!m.parts[x.part].phase.live() || m.now >= x.sent.Add(Hold)):
			m.posts.recall(x.part, Mark{ID: x.mark, Node: m.cfg.Name})
			x.mark = 0 // it is not read there any more, or the log may have lost it
		}
		if m.now >= x.sent.Add(pulseLate) {
			m.beat(log)
		}
		if m.now >= x.felt.Add(Hold) {
			m.lost(log, true)
		} else {
			m.pulseAt = min(m.pulseAt, x.felt.Add(Hold))
		}
		if x.mark == 0 {
			m.pulseAt = min(m.pulseAt, x.sent.Add(pulseLate))
		} else {
			m.pulseAt = min(m.pulseAt, x.sent.Add(Hold))
		}
	}
}

// beat appends a Mark to a log, unless one is awaited. The outbox calls it when
// something goes there.
func (m *Member) beat(log int) {
	x := &m.pulses[log]
	if x.mark != 0 || x.parts == 0 || m.now < x.sent.Add(pulseSoon) {
		return
	}
	for i, n := 0, (len(m.parts)-log+Logs-1)/Logs; i < n && !m.parts[x.part].phase.live(); i++ {
		x.part = log + Logs*i
	}
	x.sent, x.mark = m.now, m.nextMark()
	m.posts.urgent(m.now, x.part, Mark{ID: x.mark, Node: m.cfg.Name})
}

// felt says that what was appended to a log at a time was read back.
func (m *Member) felt(log int, at page.Time) {
	x := &m.pulses[log]
	x.felt = max(x.felt, at)
	if x.mark == 0 {
		x.sent = max(x.sent, at)
	}
	if m.now < x.felt.Add(Hold) {
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
