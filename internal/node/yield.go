package node

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"weir/bandwidth"
	"weir/internal/fetch"
	"weir/page"
)

// yielding steps aside for others on the link: it is told the round trips of
// probes by one goroutine and the limit by the loop, and sets the cap of the
// wire to the part that is left to us. It is safe for concurrent use.
type yielding struct {
	wire  *fetch.Wire
	began page.Time
	blind func() // called once each time probes have stayed without an answer for long

	mu     sync.Mutex
	yield  *bandwidth.Yield
	full   int64   // as the Engine ordered it
	part   float64 // of it that the wire was told
	warned bool
}

// leastYielded is what is left to a crawl that steps aside, in bytes a second: a
// page still arrives before its server gives up.
const leastYielded = 4e3

// patience is how long a target may be silent at first before the user hears.
const patience = 10 * time.Second

func newYielding(w *fetch.Wire, now page.Time, blind func()) *yielding {
	return &yielding{wire: w, began: now, blind: blind, yield: bandwidth.NewYield(bandwidth.YieldConfig{}), part: 1}
}

// limit takes a new limit.
func (y *yielding) limit(rate int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.full = rate
	y.set()
}

// trip takes what became of a probe, or of those that are out.
func (y *yielding) trip(now page.Time, t fetch.Trip) {
	y.mu.Lock()
	switch {
	case t.Lost:
		y.yield.Lost(now)
	case t.Out != nil:
		y.yield.Waiting(now, t.Out)
	default:
		y.yield.Sample(now, t.RTT)
	}
	s := y.yield.Stats(now)
	part := y.yield.Part(now)
	if part != y.part && (s.Active || part == 1) || math.Abs(part-y.part) >= 0.01*y.part {
		y.part = part
		y.set()
	}
	warn := s.Blind && now.Sub(y.began) > patience && !y.warned
	y.warned = s.Blind && (y.warned || warn)
	y.mu.Unlock()
	if warn {
		y.blind()
	}
}

// set tells the wire. A pause stays one, and of no limit there is no part. The
// lock is held.
func (y *yielding) set() {
	rate := y.full
	if rate != bandwidth.Off && rate != bandwidth.Unlimited {
		rate = max(int64(float64(rate)*y.part), min(rate, leastYielded))
	}
	y.wire.SetLimit(rate)
}

func (y *yielding) describe(b *Bound) {
	y.mu.Lock()
	defer y.mu.Unlock()
	now := clock()
	s := y.yield.Stats(now)
	b.Yielding, b.Part, b.Yields, b.Yielded = s.Active, y.part, s.Times, s.Total
	b.Blind = s.Blind && now.Sub(y.began) > patience
}

// openYield finds whom to probe.
func (n *node) openYield() error {
	target := n.cfg.Probe
	if target == "" {
		near, err := n.client.Load().NearTarget()
		if err != nil {
			return fmt.Errorf("find a target to probe: %w", err)
		}
		target = near.String()
		n.notice("yielding to others on the link, which " + target + " is asked about; --yield-probe names another")
	}
	t, err := fetch.ParseTarget(target)
	if err != nil {
		return err
	}
	n.probe = t
	n.yield = newYielding(n.wire, clock(), func() {
		n.notice(fmt.Sprintf("%s answers no probe: weir cannot see others on the link and uses the full limit; name another with --yield-probe", t))
	})
	n.log.event("yield", map[string]any{"probe": t.String()})
	return nil
}

// watchLink probes until the run ends.
func (n *node) watchLink(ctx context.Context) {
	err := n.client.Load().Probe(ctx, n.probe, func(t fetch.Trip) { n.yield.trip(clock(), t) })
	if err != nil && ctx.Err() == nil {
		n.notice(fmt.Sprintf("cannot probe %s: %v; weir uses the full limit", n.probe, err))
	}
}
