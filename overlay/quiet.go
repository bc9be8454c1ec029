package overlay

import (
	"encoding/binary"
	"time"

	"weir/page"
)

const (
	talkSoon = time.Second     // between two words while something changes
	talkSlow = 5 * time.Second // while nothing does
	maxLoads = 4096            // nodes whose loads are kept
)

// talk is what a Member says to the others beside the logs, and what it makes of
// what they say.
//
// The owner of partition 0 is the teller: it counts for all whether there is
// anything left to do, and deals out the common limit. There is one at most, as of
// any partition, and its epoch numbers its term; who has reported to one term
// heeds no earlier one. The next owner begins with what all report to it.
type talk struct {
	due   page.Time
	moves uint64 // rises with whatever the node does that others might have to know
	load  Load
	since uint64 // so many Apply and Adopt actions there were up to the last that means work
	heard int    // Loads since then
	fresh bool   // one of them counts it

	term   uint64 // of the teller it reports to
	round  uint64 // the last one that the teller has asked for
	reach  uint64 // where the common log was then
	done   uint64 // the last one that the node went through
	begun  uint64 // the round that its probes are for
	from   uint64 // moves when they were sent
	probes int    // not read back
	mark   uint64 // ID of the last probe
	quiet  bool   // the teller says that nothing is left
	still  uint64 // moves when it said so

	room     [measures]int64 // up to where the node may begin pages
	peak     [measures]int64 // the most that it was since the Load
	enough   bool            // the teller says that nothing more is to be fetched
	have     int64           // share of the limit
	hurry    bool            // the teller waits for what has changed
	sent     report          // the last one
	sentAt   page.Time
	said     load // the last one
	saidAt   page.Time
	stretch  uint64          // so many thousandths of the usual time pass before the next: not all speak at once
	loads    map[string]load // of peers
	hands    []reach         // connections that hosts of others were asked for
	desk     desk
	deskOpen bool
}

func newTalk(name string) talk {
	// The moves begin at 1: in no report are they those of a Member that never moved.
	return talk{moves: 1, stretch: 500 + page.Sum(name)%1000, due: never, sentAt: -never, loads: map[string]load{}}
}

// worked notes that there is more to do than the last Load can tell.
func (m *Member) worked() {
	m.talk.moves++
	m.talk.fresh, m.talk.heard, m.talk.since = false, 0, m.applied
}

func (m *Member) onLoad(ev Load) {
	t := &m.talk
	if t.heard++; ev.Applied >= t.since || ev.Applied == 0 && t.heard > 1 {
		t.fresh = true
	}
	if ev.Queued+ev.Flying+ev.Unsent != 0 {
		t.moves++
	}
	t.load = ev
	for k, allowed := range [measures]int64{ev.Allowed, ev.Bytes.Allowed} {
		if allowed == t.room[k] {
			t.peak[k] = t.room[k]
		}
	}
	m.seek()
}

// idle reports whether the node has nothing to do and nothing to say.
func (m *Member) idle() bool {
	l := &m.talk.load
	return m.talk.fresh && l.Queued == 0 && l.Flying == 0 && l.Unsent == 0 && m.posts.quiet()
}

// forget drops what a session has agreed on with others.
func (m *Member) forget() {
	t := &m.talk
	t.moves++
	t.term, t.round, t.done, t.begun = 0, 0, 0, 0
	m.setQuiet(false)
	m.setShare(0)
	m.setRoom([measures]int64{})
}

// missed drops what was heard of nodes that are not there any more.
func (m *Member) missed(peers []Peer) {
	if len(m.talk.loads) == 0 {
		return
	}
	for _, p := range m.peers {
		if _, ok := seat(peers, p.Name); !ok {
			delete(m.talk.loads, p.Name)
		}
	}
}

// onHeard takes what another node said. What cannot be read is of another version.
func (m *Member) onHeard(ev Heard) {
	w, err := readWord(ev.Data)
	if err != nil {
		return
	}
	m.hear(ev.From, w)
}

func (m *Member) hear(from string, w word) {
	t := &m.talk
	switch w := w.(type) {
	case *load:
		_, known := t.loads[from]
		if _, ok := seat(m.peers, from); ok && (known || len(t.loads) < maxLoads) {
			t.loads[from] = *w
			if w.early == 1 && from != m.cfg.Name {
				m.waryTill = m.now.Add(max(waryFor, m.scale(3*talkSlow, 10))) // it will say so again by then
			}
			m.ask(from)
		}
	case *hands:
		if p := int(min(w.part, uint64(len(m.parts)))); w.session == m.session && m.held && p < len(m.parts) && m.parts[p].node == from {
			m.do(Relieve{Part: p, Hosts: int(min(w.hosts, maxHands))})
		}
	case *report:
		if t.deskOpen && w.term == m.parts[0].epoch {
			t.desk.hear(m.now, from, w)
		}
	case *grant:
		if w.term == t.term && w.session == m.session && w.count == t.sent.count && m.held {
			t.hurry = true // and so no other grant answers this report
			m.setShare(int64(min(w.rate, maxRate)))
		}
	case *room:
		if w.term == t.term && w.session == m.session && w.count == t.sent.count && m.held {
			t.hurry = true
			m.setRoom([measures]int64{int64(min(w.upTo[ofPages], maxRate)), int64(min(w.upTo[ofBytes], maxRate))})
		}
	case *enough:
		if w.term == t.term && m.held && !t.enough {
			t.enough = true
			m.do(Enough{Bytes: w.of == ofBytes})
		}
	case *round:
		if w.term == t.term && w.number >= t.round && m.held {
			t.round, t.reach = w.number, w.reach
			m.setQuiet(w.quiet == 1 && t.done == w.number && t.from == t.moves)
		}
	}
}

func (m *Member) setQuiet(is bool) {
	t := &m.talk
	t.still = t.moves
	if t.quiet != is {
		t.quiet = is
		m.do(Quiet{is})
	}
}

func (m *Member) setShare(rate int64) {
	if m.cfg.Limit > 0 && m.talk.have != rate {
		m.talk.have = rate
		m.do(Share{rate})
	}
}

func (m *Member) setRoom(upTo [measures]int64) {
	t := &m.talk
	if t.room == upTo {
		return
	}
	for k := range upTo {
		t.room[k], t.peak[k] = upTo[k], max(t.peak[k], upTo[k])
	}
	m.do(Allow{Pages: upTo[ofPages], Bytes: upTo[ofBytes]})
}

// chat says what is due to be said.
func (m *Member) chat() {
	t := &m.talk
	t.due = never
	if t.quiet && t.still != t.moves {
		m.setQuiet(false)
	}
	if term := m.parts[0].epoch; term != t.term {
		t.term, t.round, t.done, t.begun = term, 0, 0, 0
		t.hurry = true
	}
	if !m.held {
		t.deskOpen = false
		t.saidAt = m.now
		return
	}
	m.tell()
	m.probe()
	m.report()
	m.say()
}

// probe goes through a round: while the node stays idle, each of its logs is read
// up to a mark that was appended after the round began, and the common one up to
// that of the teller.
func (m *Member) probe() {
	t := &m.talk
	if t.done >= t.round || !m.idle() {
		return
	}
	if t.begun != t.round || t.from != t.moves {
		t.begun, t.from, t.probes = t.round, t.moves, 0
		for p := range m.parts {
			s := &m.parts[p]
			s.probe = 0
			if s.phase != owned {
				continue
			}
			s.probe = m.nextMark()
			t.probes++
			m.posts.urgent(m.now, p, Mark{ID: s.probe, Node: m.cfg.Name})
		}
		m.out = m.posts.run(m.now, m.out)
	}
	if t.probes == 0 && m.common.offset >= t.reach {
		t.done = t.round
		t.hurry = true
	}
}

// scale stretches the time between words, so that nobody hears more of them in large
// clusters than in small ones.
func (m *Member) scale(d time.Duration, nodes int) time.Duration {
	return d * time.Duration(max(1, len(m.peers)/nodes))
}

// report tells the teller how the node is.
func (m *Member) report() {
	t := &m.talk
	if t.term == 0 {
		return
	}
	r := report{
		term: t.term, session: m.session, count: t.sent.count, moves: t.moves, round: t.done, owned: uint64(m.owned),
		wanted: whole(t.load.Wanted), owed: whole(t.load.Owed), asked: whole(t.load.Asked), have: uint64(t.have),
	}
	if m.cfg.Pages > 0 || m.cfg.Bytes > 0 {
		r.print = t.load.Print
		for k, s := range [measures]Sum{t.load.Sum, t.load.Bytes} {
			r.sums[k] = sum{whole(float64(s.Fetched)), whole(float64(s.Begun)), whole(float64(s.Under)), uint64(t.peak[k])}
		}
	}
	if m.idle() {
		r.idle = 1
	}
	wait := talkSlow
	if r != t.sent {
		wait = talkSoon
	}
	at := t.sentAt.Add(m.scale(wait, 1000))
	if m.now < at && !t.hurry {
		t.due = min(t.due, at)
		return
	}
	r.count++
	t.sent, t.sentAt, t.hurry = r, m.now, false
	t.due = min(t.due, m.now.Add(m.scale(talkSlow, 1000)))
	if m.parts[0].node == m.cfg.Name {
		m.hear(m.cfg.Name, &r)
	} else {
		m.do(Send{To: m.parts[0].node, Data: writeWord(&r)})
	}
}

// say tells all how busy the node is.
func (m *Member) say() {
	t := &m.talk
	l := load{
		session: m.session, owned: uint64(m.owned), queued: whole(float64(t.load.Queued)), flying: whole(float64(t.load.Flying)),
		unsent: whole(float64(t.load.Unsent)), pages: whole(1000 * t.load.Pages), unacked: uint64(m.posts.unacked), share: uint64(t.have), free: whole(float64(t.load.Free)), spare: whole(float64(t.load.Spare)),
	}
	if m.posts.told() < m.posts.early {
		l.early = 1
	}
	wait := talkSlow
	if l != t.said {
		wait = talkSoon
	}
	pause := func(d time.Duration) time.Duration { return m.scale(d, 10) / 1000 * time.Duration(t.stretch) }
	if at := t.saidAt.Add(pause(wait)); m.now < at {
		t.due = min(t.due, at)
		return
	}
	t.said, t.saidAt = l, m.now
	t.stretch = 500 + page.Sum(m.cfg.Name+string(binary.AppendUvarint(nil, uint64(m.now))))%1000
	t.due = min(t.due, m.now.Add(pause(talkSlow)))
	m.do(Say{writeWord(&l)})
}
