package overlay

import (
	"slices"
	"time"

	"weir/page"
)

// How long things last.
const (
	TTL     = 20 * time.Second        // of a session, from its last renewal
	Renewal = 1500 * time.Millisecond // between two renewals
	Hold    = TTL * 3 / 4             // how long after a renewal was sent a node may order requests
)

const never = page.Time(1<<63 - 1)

// Config says who a Member is.
type Config struct {
	Name string
	// Session must be higher than any the node had before: the nanoseconds since
	// 1970 do. The Member counts on from there when it was fenced.
	Session uint64
	Origin  uint64   // of the node's store
	Parts   int      // 0 = Parts
	Weight  uint16   // see Peer
	Offsets []uint64 // by partition, then of the common log: what the Ledger has applied; nil = nothing
	Stamps  []uint64 // of the last batches that it has; nil = they are not known
	Limit   int64    // bytes a second that all nodes have together; 0 = no limit
	Pages   int64    // that all nodes together should fetch; 0 = all there are
	Bytes   int64    // of bodies, likewise
	Unacked int      // bytes that may wait for acknowledgement; 0 = 64 MB
	Rounds  int      // equal rounds in which all are idle before they are Quiet; 0 = 2
	Cold    bool     // it stands by for nobody: simulations in which nobody dies need not read twice

	// Homes tells who should own which partition; nil = a table of the Member's own.
	// Many Members in one simulation share theirs.
	Homes func([]Peer) *Owners
}

// Member is what one node knows of the others, and decides about them: whether it
// has a session, which partitions it owns, what it has told and who has heard it.
//
// At no time do two Members own a partition. One that owns it has renewed its
// session within Hold, reckoned from when the renewal was sent, and nobody takes a
// partition from a session before TTL has passed since then. As Step cannot be
// called while a process is stopped, its driver must look at Until right before it
// sends a request.
//
// Not safe for concurrent use; its driver owns it.
type Member struct {
	cfg Config
	now page.Time
	out []Action

	session  uint64
	held     bool      // a renewal of this session was answered
	renewed  page.Time // when the last one that was answered was sent
	renewAt  page.Time // when the next is due
	draining bool
	left     bool

	peers  []Peer
	lapsed []Peer
	homes  *Owners
	here   bool      // the session is among peers
	metAt  page.Time // when the last of them came
	heldAt page.Time // when the session began

	common    common
	parts     []part
	claims    int       // under way
	wanting   []int32   // partitions that wait for their turn to claim
	doubtAt   page.Time // when to look again at claims, and at owners that are missing or have never been
	settling  int       // partitions that wait for acknowledgements
	owned     int       // partitions that are adopted
	taking    int       // partitions that it is about to adopt
	standby   standby
	applied   uint64 // Apply and Adopt actions, and Turned events
	pulses    [Logs]pulse
	pulseAt   page.Time       // when to look after them
	past      bool            // the node has read logs before it was started
	gone      map[string]bool // peers that were there, and are not
	waryTill  page.Time       // see member_pulse.go
	behind    bool            // the node is wary, and reads a log too late
	posts     outbox
	throttled bool
	talk      talk
	woken     page.Time // the last Wake
}

// NewMember returns a Member that has not joined yet. It begins with its first Step.
func NewMember(cfg Config) *Member {
	if cfg.Parts == 0 {
		cfg.Parts = Parts
	}
	if cfg.Unacked == 0 {
		cfg.Unacked = 64 << 20
	}
	if cfg.Rounds == 0 {
		cfg.Rounds = 2
	}
	m := &Member{cfg: cfg, session: cfg.Session, parts: make([]part, cfg.Parts), gone: map[string]bool{}, doubtAt: never, woken: never, pulseAt: never, standby: standby{due: never}}
	if cfg.Homes != nil {
		m.homes = cfg.Homes(nil)
	} else {
		m.homes = NewOwners(cfg.Parts)
	}
	for p := range m.parts {
		if p < len(cfg.Offsets) {
			m.parts[p].offset = cfg.Offsets[p]
			m.past = m.past || cfg.Offsets[p] > 0
		}
		if p < len(cfg.Stamps) {
			m.parts[p].stamp = cfg.Stamps[p]
		}
		m.parts[p].asked = never
		m.parts[p].missing = never
	}
	if len(cfg.Offsets) > cfg.Parts {
		m.common.offset = cfg.Offsets[cfg.Parts]
	}
	if len(cfg.Stamps) > cfg.Parts {
		m.common.stamp = cfg.Stamps[cfg.Parts]
	}
	m.posts = newOutbox(cfg.Origin, cfg.Parts+1, cfg.Unacked)
	m.posts.patient, m.posts.beat = m.patient, m.beat
	for log := range m.pulses {
		m.pulses[log].part = log % cfg.Parts
	}
	m.talk = newTalk(cfg.Name)
	return m
}

// Step takes what happened at a time and returns what is to be done, in order. The
// slice is the Member's until the next Step.
func (m *Member) Step(now page.Time, ev Event) []Action {
	m.now = max(m.now, now)
	m.out = m.out[:0]
	// Whatever the event is, it may have waited while the process was stopped.
	if m.held && m.now >= m.Until() {
		m.fence()
	}
	switch ev := ev.(type) {
	case Renewed:
		m.onRenewed(ev)
	case Members:
		m.onMembers(ev)
	case Owner:
		m.onOwner(ev)
	case Delivered:
		m.onDelivered(ev)
	case Rewound:
		m.onRewound(ev)
	case Parcel:
		m.talk.moves++
		m.posts.add(m.now, ev)
	case Acked:
		m.posts.acked(m.now, ev.ID)
	case Failed:
		m.posts.failed(m.now, ev.ID)
	case Empty:
		m.onEmpty(ev.Part)
	case Load:
		m.onLoad(ev)
	case Turned:
		m.applied++
		m.worked()
	case Heard:
		m.onHeard(ev)
	case Drain:
		m.draining = true
		if m.held {
			m.renewAt = m.now // so that the others know
		}
	case Tick:
		m.woken = never
	}
	m.run()
	return m.out
}

// Mine reports whether the node may send requests for the pages of a partition,
// until Until.
func (m *Member) Mine(part int) bool { return m.held && m.parts[part].phase == owned }

// patient reports whether nobody waits for what is said in a partition: its rows are
// known where they matter, or its owner has enough to do.
func (m *Member) patient(part int) bool {
	if part >= m.cfg.Parts || m.Mine(part) {
		return part < m.cfg.Parts
	}
	l, ok := m.talk.loads[m.parts[part].node]
	return ok && l.queued >= plenty
}

// Owner returns who owns a partition, as far as is known; "" if nobody does.
func (m *Member) Owner(part int) string { return m.parts[part].node }

// Until is the time from which nothing may be ordered, unless a later Step moves it.
func (m *Member) Until() page.Time {
	if !m.held {
		return 0
	}
	return m.renewed.Add(Hold)
}

func (m *Member) do(a Action) { m.out = append(m.out, a) }

// run does what is due, and asks for a Tick when something will be.
func (m *Member) run() {
	if !m.common.followed && m.held {
		m.common.followed = true
		m.do(Follow{Part: m.cfg.Parts, After: m.common.offset, Stamp: m.common.stamp})
	}
	if m.now >= m.renewAt {
		m.renew()
	}
	if m.now >= m.doubtAt {
		m.review()
	}
	if m.now >= m.standby.due {
		m.warm()
	}
	m.posts.hurry(m.now, m.draining || m.settling > 0 || m.talk.load.Queued+m.talk.load.Flying == 0)
	if m.held { // else the logs may be others when it is again
		m.feel()
		m.out = m.posts.run(m.now, m.out)
		m.throttle()
	}
	if m.settling > 0 && m.posts.moved {
		m.settleAll()
	}
	m.posts.moved = false
	m.chat()
	if m.draining && !m.left && m.owned == 0 && m.posts.empty() && m.idle() && m.resigned() {
		m.left = true
		m.do(Left{})
	}
	at := min(m.renewAt, m.doubtAt, m.standby.due, m.talk.due)
	if m.held {
		at = min(at, m.posts.due, m.pulseAt, m.Until())
	}
	if at != m.woken {
		m.woken = at
		m.do(Wake{at})
	}
}

// renew asks for the session to last longer. Until it knows that it hears answers a
// node wants to own nothing: one that can only speak would be waited for in vain.
func (m *Member) renew() {
	m.renewAt = m.now.Add(Renewal)
	m.do(Renew{m.self()})
}

func (m *Member) self() Peer {
	return Peer{Name: m.cfg.Name, Session: m.session, Draining: m.draining || !m.held, Weight: m.cfg.Weight}
}

func (m *Member) onRenewed(ev Renewed) {
	if ev.Session != m.session || m.now >= ev.Sent.Add(Hold) {
		return
	}
	m.renewed = max(m.renewed, ev.Sent)
	m.posts.live(m.now, m.renewed)
	if !m.held {
		m.held, m.heldAt = true, m.now
		m.posts.early = m.posts.last
		m.posts.again(m.now) // meanwhile they may have lost power, and the ends of their logs
		m.renewAt = m.now
		m.settleAll()
	}
}

// fence gives up all that the session stood for, and begins another: not at once, so
// that the driver has come to the end of the old one by then.
func (m *Member) fence() {
	m.do(Fence{})
	for p := range m.parts {
		s := &m.parts[p]
		m.unfollow(p)
		s.phase, s.ready, s.again, s.emptying = idle, false, 0, false
		s.asked, s.waits = never, false
	}
	if m.common.followed { // it may lose its end meanwhile, which shows when it is followed again
		m.common.followed = false
		m.do(Unfollow{len(m.parts)})
	}
	m.claims, m.settling, m.owned, m.taking = 0, 0, 0, 0
	m.standby.due = never
	for log := range m.pulses {
		m.pulses[log] = pulse{part: m.pulses[log].part}
	}
	m.wanting = m.wanting[:0]
	m.held, m.here = false, false
	m.session++
	m.renewAt = m.now.Add(Renewal)
	m.forget()
}

// onMembers learns who is there.
func (m *Member) onMembers(ev Members) {
	m.missed(ev.Peers)
	m.heedful(ev.Peers)
	if slices.ContainsFunc(ev.Peers, func(p Peer) bool { at, ok := seat(m.peers, p.Name); return !ok || m.peers[at].Session != p.Session }) {
		m.metAt = m.now
	}
	m.peers, m.lapsed = ev.Peers, ev.Lapsed
	if m.cfg.Homes != nil {
		m.homes = m.cfg.Homes(ev.Peers)
	} else {
		m.homes.Set(ev.Peers)
	}
	at, ok := seat(m.peers, m.cfg.Name)
	m.here = ok && m.peers[at].Session == m.session
	m.settleAll()
}
