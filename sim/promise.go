package sim

import (
	"time"

	"weir/crawl"
	"weir/plan"
)

// News is how it stands with a promise from a time on.
type News struct {
	Seconds float64 // since the beginning
	crawl.News
}

// Epoch is when simulated crawls begin, in nanoseconds since 1970: deadlines are
// times of day.
const Epoch = epoch

// share tells the line whose bytes come first.
func (c *crawler) share(o crawl.Share) {
	c.urges = map[string]float64{}
	for _, u := range o.Hosts {
		c.urges[u.Host] = u.Urge
	}
	for slot, host := range c.open {
		if host != "" {
			c.w.link.Urge(int64(c.w.now), c.base+slot, c.urges[host])
		}
	}
}

// reserve makes the plan that was asked for last.
func (c *crawler) reserve() {
	o := c.plans
	c.step(crawl.Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)})
}

// planning is how long a plan takes when nothing else is said.
const planning = 10 * time.Millisecond
