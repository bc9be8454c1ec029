package bandwidth

import (
	"time"

	"weir/page"
)

// still remembers when the link stood still: when nothing came of all that was due, or
// when nobody looked, since the machine had other work. What takes long then says
// nothing about a server; taken for slowness, it would have the next packets of all
// servers come sooner than expected, together.
type still struct {
	heard  page.Time // when payload came last, of whatever flow, or nothing was due
	silent bool      // since then more was due than can be chance
	late   int       // flows of which something is overdue
	again  float64   // wire bytes of c.overdue that may come a second time; see unheard
	lately []pause   // the newest last, apart from one another
}

type pause struct{ from, to page.Time }

const (
	maxPauses   = 8
	leastUnseen = 40 * time.Millisecond  // between two Ticks
	leastStill  = 100 * time.Millisecond // in which nothing came; longer than longSilence it is another matter
	stillDue    = 0.5                    // of what the limit would have brought: what was due
	stillLeast  = 4 * Packet             // which must be so much; a small limit brings less in any time that counts
	stillFlows  = 3                      // of which something was due: fewer may be slow together

	leastLost  = 200 * time.Millisecond // beyond a round trip: what servers wait before they take a packet for lost
	lostWithin = 100 * time.Millisecond // beyond a round trip: what it takes until such a one is here
	lostTrip   = 300 * time.Millisecond // the longest round trip that is waited for
)

// note adds a pause that ends now. Those that touch are one.
func (s *still) note(from, to page.Time) {
	n := len(s.lately)
	for ; n > 0 && s.lately[n-1].to >= from; n-- {
		from, to = min(from, s.lately[n-1].from), max(to, s.lately[n-1].to)
	}
	if s.lately = s.lately[:n]; n == maxPauses {
		s.lately = append(s.lately[:0], s.lately[1:]...)
	}
	s.lately = append(s.lately, pause{from, to})
}

// listen looks whether nothing has come for a while though much is due.
func (c *Credit) listen() {
	s := &c.still
	quiet := c.now.Sub(s.heard)
	due := float64(stillDue * c.limit * quiet.Seconds())
	silent := quiet >= leastStill && quiet <= longSilence && due >= stillLeast && c.overdue-s.again >= due && s.late >= stillFlows
	if s.silent && !silent {
		s.note(s.heard, c.now)
	}
	if s.silent = silent; c.overdue == 0 {
		s.heard = c.now
	}
}

// hear notes that payload has come.
func (c *Credit) hear() {
	if c.still.silent {
		c.still.note(c.still.heard, c.now)
	}
	c.still.heard, c.still.silent = c.now, false
}

// stood is how much of the time from one moment until now the link stood still.
func (c *Credit) stood(from page.Time) (d time.Duration) {
	begin := c.now
	if c.ticked > 0 && c.now.Sub(c.ticked) >= leastUnseen {
		begin = c.ticked
	}
	if c.still.silent {
		begin = min(begin, c.still.heard)
	}
	if begin <= from {
		return max(c.now.Sub(from), 0)
	}
	d = c.now.Sub(begin)
	for i := len(c.still.lately) - 1; i >= 0 && c.still.lately[i].to > from; i-- {
		p := c.still.lately[i]
		d += max(min(p.to, begin).Sub(max(p.from, from)), 0)
	}
	return d
}

// unheard notes that the server may take what it sent for lost, and send a packet again:
// it has not heard for twice a round trip that it came, or for one and leastLost. That
// packet is expected any moment, until it has come or would have.
func (f *Flow) unheard(c *Credit) {
	if c.still.silent && len(f.ahead) > 0 {
		due := page.Time(f.ahead[0].slot * int64(c.slot))
		if c.now.Sub(due) >= min(3*f.rtt, f.rtt+2*leastLost)/2 {
			f.lost = c.now.Add(min(f.rtt, lostTrip) + lostWithin)
		}
	}
	if c.now < f.lost {
		c.level[0] += Packet
		c.overdue += Packet
		c.still.again += Packet
	}
}
