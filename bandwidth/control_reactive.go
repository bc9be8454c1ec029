package bandwidth

import (
	"time"

	"weir/page"
)

// reactive is the control that Diligenti et al. compare theirs with (their
// reference [6], Shkapenyuk and Suel): once a second it looks at what arrived,
// and runs one fetcher more when that was below the limit, one less when it was
// above. A fetcher that is stopped finishes its download first. It predicts
// nothing.
type reactive struct {
	limit float64
	most  int // fetchers that may run
	since page.Time
	bytes int64
	begun bool
}

const judging = time.Second

func (c *reactive) Open(b *Book, ahead int) bool {
	return none(c.limit) || c.limit > 0 && b.Len()+ahead < c.most
}

func (c *reactive) Fits(*Book, float64) bool { return true }

func (c *reactive) Measured(now page.Time, b *Book, w Wire) {
	c.limit = w.Limit
	if !c.begun {
		c.begun, c.since, c.bytes = true, now, w.Bytes
		return
	}
	gone := now.Sub(c.since)
	if gone < judging {
		return
	}
	rate := float64(w.Bytes-c.bytes) / gone.Seconds()
	c.since, c.bytes = now, w.Bytes
	switch {
	case rate < c.limit && b.Len() >= c.most:
		// While some of them find no free host, one more would not help, and
		// their number would grow for as long as there is nothing to fetch.
		c.most++
	case rate > c.limit:
		c.most = max(c.most-1, 1)
	}
}

// Expected is what the predictor says; this Control does not look at it.
func (c *reactive) Expected(b *Book) float64 { return b.Sum() }
