package overlay

import (
	"time"

	"weir/page"
)

const (
	deskBeat = 500 * time.Millisecond
	deskWait = 2 * time.Second  // before a new teller deals anything out
	strange  = 10 * time.Second // the same after a report of a node that is not there
	deskSlow = 5 * time.Second  // between two calls while all is quiet
)

// desk is the work of a teller.
//
// All is quiet if two rounds in a row find every node idle, all partitions owned,
// and nothing done between them. A node ends the second round after the first has
// ended everywhere, and did nothing in between: so there was a moment, that
// between the rounds, when all were idle at once. What they had appended by then
// was acknowledged, for else they would not have been idle; and the owners of the
// logs have read it before they ended the second round, and it was nothing new. Of
// the common log all have read as much as the teller had before it began that round.
type desk struct {
	term  uint64
	seats []chair // in the order of peers
	peers []Peer
	at    page.Time       // of the next beat
	said  page.Time       // when it has called last
	deals page.Time       // when it may offer more to anyone
	full  page.Time       // when it has said last that it is enough; 0 = never
	had   [measures]int64 // that all have fetched, at least
	spent [measures]int64 // this, what is under way, and that of which it is not known
	known bool            // whether both were ever counted

	round uint64 // the last one called
	fresh bool   // the Mark for it is not sent yet
	open  bool
	equal int // rounds before this one that were equal
	quiet bool
}

// chair is what the teller knows of a node.
type chair struct {
	last   report        // zero = none in this term and session
	prev   uint64        // moves in the round before
	offer  grant         // the last one
	ration room          // the last one
	print  uint64        // its partitions when pages were counted last
	was    [measures]sum // what it had of them then, and had begun
	heard  bool
}

// tell opens the desk when partition 0 is ours, and does what is due.
func (m *Member) tell() {
	t := &m.talk
	d := &t.desk
	if t.deskOpen = m.Mine(0); !t.deskOpen {
		return
	}
	if d.term != m.parts[0].epoch {
		m.common.mark = 0
		*d = desk{term: m.parts[0].epoch, at: m.now.Add(m.scale(deskBeat, 500)), deals: m.now.Add(deskWait)}
		t.hurry = true
	}
	d.invite(m.peers)
	if m.now >= d.at {
		d.at = m.now.Add(m.scale(deskBeat, 500))
		d.count(m.cfg.Parts, m.cfg.Rounds)
		if d.fresh {
			d.fresh = false
			m.sound()
		}
		if wait := m.scale(talkSoon, 1000); d.open && m.common.mark == 0 && (!d.quiet && m.now >= d.said.Add(wait) || m.now >= d.said.Add(deskSlow)) {
			m.call()
		}
		if m.cfg.Limit > 0 {
			d.deal(m)
		}
		if m.cfg.Pages > 0 || m.cfg.Bytes > 0 {
			d.weigh(m)
		}
	}
	t.due = min(t.due, d.at)
}

// call tells all which round it is, and whether all is quiet.
func (m *Member) call() {
	d := &m.talk.desk
	d.said = m.now
	w := round{term: d.term, number: d.round, reach: m.common.reach}
	if d.quiet {
		w.quiet = 1
	}
	m.do(Say{writeWord(&w)})
	m.hear(m.cfg.Name, &w)
}

// invite sees to it that the chairs are those of the peers.
func (d *desk) invite(peers []Peer) {
	if len(peers) == len(d.peers) && (len(peers) == 0 || &peers[0] == &d.peers[0]) {
		return
	}
	seats := make([]chair, len(peers))
	for i, p := range d.peers {
		if at, ok := seat(peers, p.Name); ok && peers[at].Session == p.Session {
			seats[at] = d.seats[i]
		} else {
			for k := range d.spent {
				d.spent[k] += d.seats[i].unused(k)
			}
		}
	}
	d.peers, d.seats = peers, seats
}

// hear takes a report of this term.
func (d *desk) hear(now page.Time, from string, r *report) {
	at, ok := seat(d.peers, from)
	if !ok || d.peers[at].Session != r.session {
		d.deals = now.Add(strange) // who knows what it has
		return
	}
	if c := &d.seats[at]; r.count > c.last.count {
		c.last = *r
		c.last.wanted = min(r.wanted, maxRate)
		c.last.owed = min(r.owed, maxRate)
		c.last.asked = min(r.asked, maxRate)
		c.last.have = min(r.have, maxRate)
		for k, s := range r.sums {
			c.last.sums[k] = sum{min(s.fetched, maxRate), min(s.begun, maxRate), min(s.under, maxRate), min(s.room, maxRate)}
		}
	}
}

// count sees whether all are idle, and where the round stands.
func (d *desk) count(parts, rounds int) {
	idle, through, same, owned := true, true, true, 0
	for i := range d.seats {
		c := &d.seats[i]
		idle = idle && c.last.idle == 1
		through = through && c.last.round == d.round
		same = same && c.last.moves == c.prev
		owned += int(c.last.owned)
	}
	if !idle || owned != parts {
		d.open, d.quiet, d.equal = false, false, 0
		return
	}
	switch {
	case !d.open:
		d.open = true
		d.next()
	case d.quiet && !same:
		d.quiet, d.equal = false, 0
		d.next()
	case !d.quiet && through:
		if d.equal > 0 && !same {
			d.equal = 0
		}
		d.equal++
		for i := range d.seats {
			d.seats[i].prev = d.seats[i].last.moves
		}
		if d.equal >= rounds {
			d.quiet = true
			d.said = -never // all shall know at once
		} else {
			d.next()
		}
	}
}

// next begins a round.
func (d *desk) next() {
	d.round++
	d.fresh = true
	d.said = -never
}
