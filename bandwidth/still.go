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
	heard  page.Time // when payload came last, of whatever flow
	silent bool      // since then more was due than can be chance
	lately [8]pause  // the newest last
}

type pause struct{ from, to page.Time }

const (
	leastUnseen = 40 * time.Millisecond  // between two Ticks
	leastStill  = 100 * time.Millisecond // in which nothing came
	stillDue    = 0.5                    // of what the limit would have brought: what was due
	stillLeast  = 4 * Packet             // likewise
	stoodMuch   = 4                      // if this part of a time is lost, the time tells nothing

	leastLost  = 200 * time.Millisecond // beyond a round trip: what servers wait before they take a packet for lost
	lostWithin = 100 * time.Millisecond // beyond a round trip: what it takes until such a one is here
)

// note adds a pause. One that touches the last is part of it.
func (s *still) note(from, to page.Time) {
	last := &s.lately[len(s.lately)-1]
	if from <= last.to {
		last.from, last.to = min(last.from, from), max(last.to, to)
		return
	}
	copy(s.lately[:], s.lately[1:])
	*last = pause{from, to}
}

// listen looks whether nothing has come for a while though much is due.
func (c *Credit) listen() {
	quiet := c.now.Sub(c.still.heard)
	c.still.silent = quiet >= leastStill && c.overdue >= max(stillLeast, float64(stillDue*c.limit*quiet.Seconds()))
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
		return c.now.Sub(from)
	}
	d = c.now.Sub(begin)
	for i := len(c.still.lately) - 1; i >= 0 && c.still.lately[i].to > from; i-- {
		p := c.still.lately[i]
		d += max(min(p.to, begin).Sub(max(p.from, from)), 0)
	}
	return d
}

// unheard notes that the server may take what it sent for lost, and send a packet again:
// it has not heard for twice a round trip that it came, or for one and leastLost.
func (f *Flow) unheard(c *Credit) {
	if !f.busy || len(f.ahead) == 0 || !c.still.silent {
		return
	}
	due := page.Time(f.ahead[0].slot * int64(c.slot))
	if c.now.Sub(due) >= min(3*f.rtt, f.rtt+2*leastLost)/2 {
		f.lost = c.now.Add(f.rtt + lostWithin)
	}
}
