package node

import (
	"context"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/overlay"
)

const (
	LeastShare = 1  // bytes a second: of a common limit, as good as nothing
	footholds  = 64 // a node that has nothing to do keeps so small a part of the limit, to begin with when it has
)

// load tells the others how busy the node is. What it could use is never more than
// its own link.
func (n *node) load(o crawl.Counted) overlay.Load {
	l := overlay.Load{Queued: o.Queued, Flying: o.Flying, Free: int64(o.Free), Spare: int64(o.Spare), Applied: o.Applied, Owed: o.Owed, Asked: o.Asked, Print: o.Print, Sum: o.Pages, Bytes: o.Bytes}
	status := n.engine.Status()
	if o.Enough && n.peer.full() { // else the Engine has not heard yet, or has heard before it changed
		l.Queued = 0
	}
	now := mark{t: time.Now(), pages: status.Totals.Fetched}
	if dt := now.t.Sub(n.counted.t).Seconds(); !n.counted.t.IsZero() && dt > 0 {
		l.Pages = float64(now.pages-n.counted.pages) / dt
	}
	n.counted = now
	own := float64(bounded(n.link, now.t, status.Link.Used).Rate)
	l.Wanted = min(max(o.Wanted, float64(n.peer.cfg.Limit)/footholds), own)
	l.Owed = min(l.Owed, own)
	l.Asked = min(l.Asked, own-l.Owed)
	return l
}

// limit sets this node's part of the common limit, and its own if that is less.
func (p *peer) limit(ctx context.Context, rate int64) {
	if own := p.n.link.Rate; own > 0 {
		rate = min(rate, own)
	}
	text := bandwidth.FormatRate(max(rate, LeastShare))
	select {
	case p.n.asks <- ask{change: Steering{Limit: &text}, reply: make(chan Held, 1)}:
	case <-ctx.Done():
	}
}

// alone are the bounds at which this node ends by itself. Where there are others, these
// know together when they are through, and stay.
func (n *node) alone() (pages, bytes int64, time time.Duration) {
	if n.cfg.Peer != nil {
		return 0, 0, 0
	}
	return n.cfg.MaxPages, n.cfg.MaxBytes, n.cfg.MaxTime
}
