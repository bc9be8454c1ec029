package sim

import (
	"math"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/page"
)

// pipe stands for the limiter of a live crawl: it holds the Engine's limit on the
// line and tells it what it sees.
type pipe struct {
	rate  int64
	pause time.Duration // to the next look
	idle  page.Time     // since when more could flow; 0 = not
	past  [3]float64    // bytes at the last looks
}

const look = 100 * time.Millisecond

func (p *pipe) begin(c *crawler) {
	p.pause, p.idle = look, c.w.now
	p.look(c)
}

// limit takes the Engine's order.
func (p *pipe) limit(c *crawler, rate int64) {
	p.rate = rate
	most := capacity(c.w.line.Rate)
	if rate < bandwidth.Unlimited {
		most = min(most, float64(rate))
	}
	c.w.link.Set(int64(c.w.now), most)
}

// look tells the Engine what the line does. While nothing flows the looks become
// rarer, or days of rest would take long to play.
func (p *pipe) look(c *crawler) {
	now := c.w.now
	sent, rate := c.w.link.Sent(int64(now)), c.w.link.Rate()
	w := bandwidth.Wire{Limit: float64(p.rate), Bytes: int64(sent)}
	w.Rate = (sent - p.past[0]) / (float64(len(p.past)) * look.Seconds())
	p.past[0], p.past[1], p.past[2] = p.past[1], p.past[2], sent
	switch full := rate >= 0.999*math.Min(float64(p.rate), capacity(c.w.line.Rate)); {
	case full:
		p.idle = 0
		w.Backlog = 1
	case p.idle == 0:
		p.idle = now
	default:
		w.Idle = now.Sub(p.idle)
	}
	if rate > 0 {
		p.pause = look
	} else {
		p.pause = min(2*p.pause, time.Minute)
	}
	c.step(crawl.Wire{Wire: w})
	if !c.over {
		c.w.plan.Add(now.Add(p.pause), thing{who: c.who, what: wire})
	}
}
