package overlay

import (
	"slices"
	"strings"
	"time"

	"weir/page"
)

const (
	maxClaims   = 16              // under way at once
	claimAgain  = 3 * time.Second // after which a claim that nothing answered is made again
	company     = time.Second / 2 // how long nobody must have come before a partition is claimed that never had an owner
	patience    = 5 * time.Second // who comes after so long is not waited for
	confirmGone = time.Second     // how long a session must be missing before it counts as over
	freshTaken  = 5 * time.Second // so soon a new owner must read back what it has appended

	// lapsed is how long ago a node has stopped whose session was not renewed for TTL,
	// as clocks may run a little differently.
	lapsed = (TTL - Hold) * 9 / 10
)

// phase is how far the node has come with a partition.
//
//	idle -> taking -> owned -> leaving -> emptied -> giving -> idle
//	          ^                   '---------'---> owned, if it is to stay after all
//	          '---- a newer owner, or a fence: idle at once
type phase uint8

const (
	idle    phase = iota // not ours
	taking               // ours; Taken is on its way to the log and back
	owned                // adopted
	leaving              // disowned; what is under way ends
	emptied              // that is over; its parcels are not acknowledged yet
	giving               // somebody else's, as soon as the claim has come through
)

// part is what a Member knows of a partition.
type part struct {
	node    string // who owns it, as heard last
	session uint64 // 0: only its Taken was read
	epoch   uint64
	offset  uint64 // in its log, of what was applied
	stamp   uint64 // of the last batch of that

	phase    phase
	ready    bool // taking: its own Taken was read, and so was what came before
	unused   bool // it was claimed, not adopted yet, and nobody before has granted leases or asked hosts, for all that is known
	emptying bool // a Disown was not answered
	waits    bool // for its turn to claim
	seen     bool // the owner's session was among peers
	followed bool // its log is being read

	warm uint64 // ID of the Mark that a standby reads up to; 0 = it has, or is none

	since   page.Time // nobody but its owner has granted leases or asked hosts since then
	posted  page.Time // taking: when Taken was appended, or the Mark again
	again   uint64    // taking: ID of the Mark that is to be read back in place of a Taken that was read late; 0 = none
	mark    uint64    // emptied: the last parcel that may tell of it
	probe   uint64    // ID of the Mark that is on its way; 0 = none
	asked   page.Time // when the claim under way was sent; never = there is none
	missing page.Time // since when the owner's session is; never = it is not
	rested  page.Time // missing: after this the owner has granted no lease; never = nobody knows
}

// seat finds a peer.
func seat(peers []Peer, name string) (int, bool) {
	return slices.BinarySearchFunc(peers, name, func(p Peer, name string) int { return strings.Compare(p.Name, name) })
}

func (m *Member) settleAll() {
	for p := range m.parts {
		m.settle(p)
	}
}

// settle does what is next for a partition, as far as anything is.
func (m *Member) settle(p int) {
	s := &m.parts[p]
	if !m.ours(s) {
		if s.phase != idle {
			m.lose(p)
		}
		m.watch(s)
		if m.held && m.here && !m.draining && m.homes.Of(p) == m.cfg.Name && m.vacant(s) {
			m.claim(p, m.cfg.Name)
		}
		m.attend(p)
		return
	}
	home := m.homes.Of(p)
	stay := home == m.cfg.Name || home == "" && !m.draining
	switch {
	case stay && s.phase == idle:
		m.take(p)
	case stay && s.phase == emptied && !m.pulses[LogOf(p)].lost:
		s.since = m.now // this node itself has asked them a moment ago
		m.adopt(p)
	case s.phase == giving:
		// The claim may have come through, or may yet: only a newer one makes it ours.
		if stay {
			home = m.cfg.Name
		}
		m.claim(p, home)
	case !stay && (s.phase == idle || s.phase == taking):
		m.enter(p, giving)
		s.ready, s.again = false, 0
		m.attend(p)
		m.claim(p, home)
	case (!stay || m.pulses[LogOf(p)].lost) && s.phase == owned:
		m.enter(p, leaving)
		s.emptying = true
		m.do(Disown{p})
	case !stay && s.phase == emptied && home != "" && m.posts.told() >= s.mark:
		m.enter(p, giving)
		m.attend(p)
		m.claim(p, home)
	}
}

// enter changes the phase and keeps the counts.
func (m *Member) enter(p int, to phase) {
	s := &m.parts[p]
	m.count(p, s.phase, -1)
	s.phase = to
	m.count(p, to, 1)
	m.talk.moves++
}

func (m *Member) count(p int, ph phase, by int) {
	if ph.live() {
		m.pulses[LogOf(p)].parts += by
	}
	switch ph {
	case taking:
		m.taking += by
	case owned:
		m.owned += by
	case emptied:
		m.settling += by
	}
}

func (m *Member) ours(s *part) bool {
	return m.held && s.epoch != 0 && s.session == m.session && s.node == m.cfg.Name
}

// watch notes whether the owner of a partition has a session.
func (m *Member) watch(s *part) {
	at, here := seat(m.peers, s.node)
	switch {
	case here && m.peers[at].Session == s.session:
		s.seen, s.missing = true, never
	case here && m.peers[at].Session < s.session:
		if s.missing == never {
			s.missing = m.now
		}
		s.rested = never // a late renewal of an older one may hide it: it may be asking hosts still
	case s.missing == never:
		s.missing, s.rested = m.now, m.now
		if at, ok := seat(m.lapsed, s.node); ok && m.lapsed[at].Session == s.session {
			s.rested = m.now.Add(-lapsed)
		}
	}
}

// vacant reports whether a partition has no owner, or one whose session is over.
//
// News of owners and of sessions come on different ways. A session that was never
// seen may be younger than the news of peers, so it is waited for; so is one while
// an older one of its node is there, for a late renewal brings that back. One that
// was seen and is missing has ended, unless the carrier has begun anew with old
// news, which a moment tells. The same moment gives a node that was started again
// time to take what it had. Nodes that begin together wait for one another, or the first
// would take all, and the others could grant no leases before its own had run out.
func (m *Member) vacant(s *part) bool {
	switch {
	case s.epoch == 0:
		return m.over(min(m.metAt, m.heldAt.Add(patience)).Add(company))
	case s.missing == never:
		return false
	case s.node == m.cfg.Name && s.session != 0 && s.session < m.session:
		return true
	}
	wait, session := TTL, m.sessionOf(s.node)
	if s.session != 0 && s.session < session || s.seen && session == 0 {
		wait = confirmGone
	}
	return m.over(s.missing.Add(wait))
}

// over reports whether a time has come; if not, owners are looked at again then.
func (m *Member) over(at page.Time) bool {
	if m.now < at {
		m.doubtAt = min(m.doubtAt, at)
	}
	return m.now >= at
}

// sessionOf returns a node's last session, 0 if it has none.
func (m *Member) sessionOf(name string) uint64 {
	if name == m.cfg.Name {
		return m.session
	}
	if at, ok := seat(m.peers, name); ok {
		return m.peers[at].Session
	}
	return 0
}

// claim asks for a partition to be a node's. Nodes that drain name nobody when
// there is nobody else.
func (m *Member) claim(p int, name string) {
	s := &m.parts[p]
	at, ok := seat(m.peers, name)
	if !ok || s.asked != never {
		return
	}
	if m.claims >= maxClaims {
		if !s.waits {
			s.waits = true
			m.wanting = append(m.wanting, int32(p))
		}
		return
	}
	c := Claim{Part: p, Before: s.epoch, Node: name, Session: m.peers[at].Session, New: s.unused || s.epoch == 0 && s.offset == 0}
	if s.session == 0 {
		c.Before = 0 // it will fail and tell who the owner is
	}
	m.claims++
	s.asked = m.now
	m.doubtAt = min(m.doubtAt, m.now.Add(claimAgain))
	m.do(c)
}

// answered makes room for another claim.
func (m *Member) answered(s *part) {
	if s.asked == never {
		return
	}
	s.asked = never
	m.claims--
	for m.claims < maxClaims && len(m.wanting) > 0 {
		p := int(m.wanting[0])
		m.wanting = m.wanting[1:]
		m.parts[p].waits = false
		m.settle(p)
	}
}

// review makes claims again that nothing has answered, and looks for owners that
// were missing, or have never been.
func (m *Member) review() {
	m.doubtAt = never
	for p := range m.parts {
		s := &m.parts[p]
		if s.asked == never {
			continue
		}
		if again := s.asked.Add(claimAgain); m.now >= again {
			m.answered(s)
		} else {
			m.doubtAt = min(m.doubtAt, again)
		}
	}
	m.settleAll()
}

func (m *Member) onOwner(ev Owner) {
	if ev.Part < 0 || ev.Part >= len(m.parts) {
		return
	}
	s := &m.parts[ev.Part]
	if ev.Epoch < s.epoch || ev.Epoch == s.epoch && s.session != 0 {
		return
	}
	if s.phase != idle {
		m.lose(ev.Part)
	}
	if last := m.sessionOf(s.node); s.missing != never && s.rested != never && s.seen && ev.Before == s.epoch && (last == 0 || last > s.session) {
		s.since = max(s.since, s.rested) // the session of the last owner had ended, and is not hidden by a late renewal of an older one
	} else {
		s.since = m.now
	}
	s.unused = ev.New && s.offset == 0 && ev.Node == m.cfg.Name && ev.Session == m.session
	s.node, s.session, s.epoch = ev.Node, ev.Session, ev.Epoch
	s.seen, s.missing = false, never
	m.answered(s)
	m.settle(ev.Part)
}

// take begins to own a partition: others shall know, and the node what they know.
func (m *Member) take(p int) {
	s := &m.parts[p]
	m.enter(p, taking)
	s.ready, s.posted, s.again = false, m.now, 0
	m.attend(p)
	m.cool()
	m.posts.urgent(m.now, p, Taken{Epoch: s.epoch, Node: m.cfg.Name})
}

func (m *Member) adopt(p int) {
	s := &m.parts[p]
	m.enter(p, owned)
	s.ready = false
	m.applied++
	m.worked()    // all that waits in it
	if s.unused { // there are no leases to wait for
		s.unused, s.since = false, s.since.Add(-MaxLease)
	}
	m.do(Adopt{Part: p, Epoch: s.epoch, Since: s.since})
}

// lose gives up a partition that somebody else owns.
func (m *Member) lose(p int) {
	s := &m.parts[p]
	if s.phase == owned {
		s.emptying = true
		m.do(Disown{p})
	}
	s.ready, s.again = false, 0
	s.probe = 0
	m.enter(p, idle)
	m.attend(p)
}

// onDelivered has the next batch of a log applied. All that comes is applied, also
// what was on its way when the partition was lost: else the next to come might
// follow a gap.
func (m *Member) onDelivered(ev Delivered) {
	if ev.Part == len(m.parts) {
		m.onCommon(ev)
		return
	}
	if ev.Part < 0 || ev.Part >= len(m.parts) || ev.Offset <= m.parts[ev.Part].offset {
		return
	}
	s := &m.parts[ev.Part]
	s.offset, s.stamp = ev.Offset, ev.Batch.Stamp
	m.applied++
	m.do(Apply(ev))
	for _, r := range ev.Batch.Records {
		switch r := r.(type) {
		case Taken:
			m.onTaken(ev.Part, r)
		case Mark:
			switch {
			case r.Node != m.cfg.Name:
				s.unused = false
			case r.ID == s.probe:
				s.probe = 0
				m.talk.probes--
			case m.back(LogOf(ev.Part), r.ID):
			case r.ID == s.again && s.phase == taking:
				m.readBack(ev.Part)
			case r.ID == s.warm:
				m.warmed(ev.Part)
			}
		default:
			if _, done := r.(Done); done {
				s.unused = false
			}
			if s.phase != idle && s.phase != giving { // else it is the owner's work
				m.worked()
			}
		}
	}
}

func (m *Member) onTaken(p int, t Taken) {
	s := &m.parts[p]
	switch {
	case t.Epoch > s.epoch: // the news of its owner is still on the way
		if s.phase != idle {
			m.lose(p)
		}
		s.node, s.session, s.epoch, s.since = t.Node, 0, t.Epoch, m.now
		s.seen, s.unused, s.missing = false, false, never
		m.answered(s)
		m.settle(p)
	case t.Epoch < s.epoch || t.Node != m.cfg.Name:
		s.unused = false // of which the claims know nothing, if it is
	case t.Epoch == s.epoch && s.phase == taking && t.Node == m.cfg.Name && s.again == 0 && !s.ready:
		m.readBack(p)
	}
}

// readBack adopts a partition of which all was read that its last owner had said when
// Taken was appended. That owner may have said more since: what it had fetched while
// nobody heard it. So if that was a while ago, the node appends a Mark, and reads up to
// that first.
func (m *Member) readBack(p int) {
	s := &m.parts[p]
	if m.now.Sub(s.posted) > freshTaken {
		s.posted, s.again = m.now, m.nextMark()
		m.posts.urgent(m.now, p, Mark{ID: s.again, Node: m.cfg.Name})
		return
	}
	s.ready, s.again = true, 0
	m.felt(LogOf(p), s.posted)
	if !s.emptying {
		m.adopt(p)
	}
}

func (m *Member) onEmpty(p int) {
	if p < 0 || p >= len(m.parts) || !m.parts[p].emptying {
		return
	}
	s := &m.parts[p]
	s.emptying = false
	switch {
	case s.phase == taking && s.ready:
		s.ready = false
		m.readBack(p) // once more, if that was a while ago
	case s.phase == leaving:
		m.enter(p, emptied)
		s.mark = m.posts.last
		m.settle(p)
	}
}

// resigned reports whether a node that drains has given away what it owned, or
// nobody is there to take it.
func (m *Member) resigned() bool {
	if at, ok := seat(m.peers, m.cfg.Name); ok && !m.peers[at].Draining {
		return false // somebody may give it more
	}
	for p := range m.parts {
		if s := &m.parts[p]; s.emptying || s.phase == taking || m.ours(s) && m.homes.Of(p) != "" {
			return false
		}
	}
	return true
}
