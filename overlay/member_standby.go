package overlay

import (
	"time"

	"weir/page"
)

// A node also follows the logs of partitions that it would have to take if their
// owners died (Owners.Next): it is their standby. What its Ledger has of them is a copy
// of the log, so that a takeover reads its end and not all of it. It is the standby's
// own affair: nobody waits for it, and it counts neither as work nor as load.
//
// A log that is long takes a while to read, and whatever else the node reads takes
// longer meanwhile. So a node begins with all partitions that share a log at once, which
// are read together, and with more of that log when it has come to the end of these. It
// begins with none while it has partitions to take; those that it has not come to the
// end of then are left until it has taken them.
const warmAfter = 3 * time.Second // from the last change of owners until it begins

// standby is what a Member does about the partitions of others.
type standby struct {
	due     page.Time // when to begin with more; never = there are none, or enough
	warming [Logs]int // partitions whose end it has not seen yet
}

// stands reports whether the node is to be the standby of a partition.
func (m *Member) stands(p int) bool {
	return m.held && m.here && !m.draining && !m.cfg.Cold && m.homes.Next(p) == m.cfg.Name
}

// attend sees to it that the log of a partition is followed if it should be, after
// whatever has changed. A standby waits for its turn.
func (m *Member) attend(p int) {
	s := &m.parts[p]
	switch {
	case s.phase >= taking && s.phase <= emptied:
		m.warmed(p)
		m.follow(p)
	case m.stands(p):
		if !s.followed {
			m.standby.due = min(m.standby.due, m.now.Add(warmAfter))
		}
	case m.cfg.Cold || !m.held || m.homes.Of(p) != m.cfg.Name: // else its owner has gone, and it is about to be taken
		m.unfollow(p)
	}
}

func (m *Member) follow(p int) {
	if s := &m.parts[p]; !s.followed {
		s.followed = true
		m.do(Follow{Part: p, After: s.offset, Stamp: s.stamp})
	}
}

func (m *Member) unfollow(p int) {
	if s := &m.parts[p]; s.followed {
		m.warmed(p)
		s.followed = false
		m.do(Unfollow{p})
	}
}

// warmed ends a standby's first reading of a log.
func (m *Member) warmed(p int) {
	s, left := &m.parts[p], &m.standby.warming[LogOf(p)]
	if s.warm == 0 {
		return
	}
	s.warm = 0
	if *left--; *left == 0 {
		m.standby.due = min(m.standby.due, m.now)
	}
}

// warm begins to follow logs as a standby. It has come to the end of one when it has
// read a Mark of its own there.
func (m *Member) warm() {
	st := &m.standby
	st.due = never
	if m.taking > 0 || m.claims > 0 {
		st.due = m.now.Add(warmAfter)
		return
	}
	busy := st.warming
	for p := range m.parts {
		s, log := &m.parts[p], LogOf(p)
		if busy[log] > 0 || s.followed || s.phase != idle && s.phase != giving || !m.stands(p) {
			continue
		}
		st.warming[log]++
		s.warm = m.nextMark()
		m.follow(p)
		m.posts.urgent(m.now, p, Mark{ID: s.warm, Node: m.cfg.Name})
	}
}

// cool leaves the logs alone that a standby has begun with and not come to the end of.
func (m *Member) cool() {
	if m.standby.warming == [Logs]int{} {
		return
	}
	for p := range m.parts {
		if m.parts[p].warm != 0 {
			m.unfollow(p)
		}
	}
	m.standby.due = m.now.Add(warmAfter)
}

// nextMark returns an ID for a Mark that no earlier life of the node has used.
func (m *Member) nextMark() uint64 {
	t := &m.talk
	t.mark = max(t.mark, m.session) + 1
	return t.mark
}
