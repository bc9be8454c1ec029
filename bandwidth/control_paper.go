package bandwidth

import "weir/page"

// paper is the manager of Diligenti et al., section 2, to the letter: a
// document starts when the sum of the predicted rates stays within the limit
// with it (CB + B(u) <= L). The caller walks the queue from its top down to
// max_d and asks Fits of each. Documents that fit start before better ones that
// do not.
//
// A server faster than the limit would never fit; the paper has the manager
// check for that periodically. Here such a server's turn comes when nothing
// else runs.
type paper struct{ limit float64 }

// Open is step 5, with its slip mended: the search goes on while CB <= L. At
// CB = L nothing fits any more.
func (c *paper) Open(b *Book, _ int) bool {
	return none(c.limit) || c.limit > 0 && (b.Len() == 0 || b.Sum() < c.limit)
}

// Fits is step 3.
func (c *paper) Fits(b *Book, rate float64) bool {
	return none(c.limit) || c.limit > 0 && (b.Len() == 0 || b.Sum()+max(rate, 1) <= c.limit)
}

func (c *paper) Measured(_ page.Time, _ *Book, w Wire) { c.limit = w.Limit }

func (c *paper) Expected(b *Book) float64 { return b.Sum() }
