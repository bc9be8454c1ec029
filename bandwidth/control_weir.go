package bandwidth

import (
	"time"

	"weir/page"
)

// weir starts the best page whose host is free for as long as the downloads
// under way should bring less than surplus times the limit. More than the limit
// must be on offer, because predictions err and downloads pause; the credit
// accounting holds what arrives down to the limit. Since it never asks which
// page fits, no page waits for a lower-scored one.
//
// Where predictions promise too much, the link falls idle although the sum says
// it is full. Each report of that lets one more download run, and how many the
// limit was found to need is remembered, per byte of the limit, so that it
// holds for other limits too; it melts while the link is busy. The same is done
// when hardly any bytes wait for their grant.
//
// At first nothing is known of any server. Then few downloads start, and half
// as many again with every report, until the link has been full once.
type weir struct {
	wire   Wire
	idle   bool      // the last report was of an idle link, and nothing has been let start for it
	need   float64   // downloads per byte a second of the limit that were found to be needed
	cold   float64   // the most downloads while the link was never full; 0 = it was
	melted page.Time // when need was last made less, or had to stay
	grown  page.Time // when cold was last made more
	raised page.Time // when it was last made more
}

const (
	surplus  = 1.8                   // rho: what is on offer over what may flow
	idleness = 20 * time.Millisecond // credit unused for longer says that too little is on offer
	full     = 0.9                   // of the limit: the link counts as full

	coldStarts = 4   // downloads that start at once when nothing is known
	coldGrowth = 1.5 // by how much they grow with each report
	coldPause  = 250 * time.Millisecond
	melting    = 2 * time.Second

	// Bytes that wait in sockets let the credit accounting choose whose come
	// next, and so keep the rate even: so much time's worth of the limit should,
	// or so many windows full.
	backlogTime    = 0.1
	backlogWindows = 12

	// Whether one download more was enough shows after a round trip or so.
	raising = 60 * time.Millisecond
)

func newWeir() *weir { return &weir{cold: coldStarts} }

func (c *weir) Open(b *Book, ahead int) bool {
	switch {
	case none(c.wire.Limit):
		return true
	case c.wire.Limit <= 0:
		return false
	}
	n := b.Len() + ahead
	if c.idle {
		c.idle = false
		c.need = max(c.need, float64(n+1)/c.wire.Limit)
	}
	if float64(n) < float64(c.need*c.wire.Limit)-0.5 {
		return true
	}
	if c.cold > 0 && float64(n) >= c.cold {
		return false
	}
	supply := c.Expected(b)
	if run := b.Len(); run > 0 {
		supply += float64(supply / float64(run) * float64(ahead)) // those will be like these
	}
	return supply < surplus*c.wire.Limit
}

func (c *weir) Fits(*Book, float64) bool { return true }

func (c *weir) Measured(now page.Time, b *Book, w Wire) {
	was := c.wire
	c.wire = w
	wanted := min(backlogTime*w.Limit, backlogWindows*float64(w.Window))
	c.idle = false
	if now.Sub(c.raised) >= raising && (w.Idle > idleness && w.Backlog == 0 || float64(w.Backlog) < wanted/2) {
		c.idle, c.raised = true, now
	}
	switch {
	case w.Idle > 0 || w.Backlog == 0 || float64(w.Backlog) < wanted:
		c.melted = now
	case now.Sub(c.melted) >= melting:
		c.melted = now
		c.need = max(c.need-1/max(w.Limit, 1), 0)
	}
	switch {
	case c.cold > 0 && w.Rate >= full*w.Limit:
		c.cold = 0
	case was.Limit > 0 && now.Sub(c.grown) >= coldPause: // not when the limit is told for the first time
		c.cold *= coldGrowth
		c.grown = now
	}
}

// Expected is the supply: no download counts for more than half of the limit,
// or one that errs could hold all others back.
func (c *weir) Expected(b *Book) float64 {
	if c.wire.Limit <= 0 {
		return 0
	}
	return b.Supply(c.wire.Limit/2, c.wire.Window)
}
