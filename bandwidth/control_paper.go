package bandwidth

import (
	"time"

	"weir/page"
)

// paper is the manager of Diligenti et al., section 2, to the letter: a
// document starts when the sum of the predicted rates stays within the limit
// with it (CB + B(u) <= L). The caller walks the queue from its top down to
// max_d and asks Fits of each. Documents that fit start before better ones that
// do not.
//
// A server faster than the limit never fits; the paper has the manager check for
// that periodically. Here such a server's turn comes when nothing else runs, and
// when it has waited for long, nothing else starts until then.
type paper struct {
	limit float64
	now   page.Time // of the last report
	since page.Time // when a server faster than the limit was first refused
	waits bool      // one was, and nothing has started alone since
}

// starving is how long a server faster than the limit waits while others start.
const starving = time.Minute

// Open is step 5, with its slip mended: the search goes on while CB <= L. At
// CB = L nothing fits any more.
func (c *paper) Open(b *Book, _ int) bool {
	return none(c.limit) || c.limit > 0 && (b.Len() == 0 || b.Sum() < c.limit)
}

// Fits is step 3.
func (c *paper) Fits(b *Book, rate float64) bool {
	switch {
	case none(c.limit):
		return true
	case c.limit <= 0:
		return false
	case b.Len() == 0:
		c.waits = false
		return true
	case rate > c.limit && !c.waits:
		c.waits, c.since = true, c.now
	}
	drain := c.waits && c.now.Sub(c.since) >= starving
	return !drain && b.Sum()+max(rate, 1) <= c.limit
}

func (c *paper) Measured(now page.Time, _ *Book, w Wire) { c.limit, c.now = w.Limit, now }

func (c *paper) Expected(b *Book) float64 { return b.Sum() }
