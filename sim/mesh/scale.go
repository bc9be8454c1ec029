package mesh

import (
	"errors"
	"fmt"
	"time"

	"weir/page"
)

// Growth is how many Members by themselves do, without a crawl: how long it takes until
// every partition is owned where it belongs, and what they say meanwhile.
type Growth struct {
	Nodes, Parts int
	Start        time.Duration // from when all begin at once
	Crash        time.Duration // from when one that owns something is gone, TTL included
	Join         time.Duration // from when one more begins
	Moved        int           // partitions that changed hands for it
	Words        float64       // that a node hears a second, of loads, shares and rounds
	Bytes        float64       // of these
	Teller       float64       // words that the one hears a second who counts for all
	Busiest      int           // most partitions that a node owns
}

// ErrStopped says that Grow was told to stop.
var ErrStopped = errors.New("stopped")

// Grow measures so many Members in virtual time, as long as on says so. All of them are
// busy.
func Grow(seed uint64, nodes, parts int, on func() bool) (g Growth, err error) {
	g = Growth{Nodes: nodes, Parts: parts}
	w := NewWorld(Setting{
		Seed: seed, Parts: parts, Skew: 0.01,
		Wanted: func(node int, now page.Time) float64 { return float64(mix(uint64(node)^uint64(now)) % 1e6) },
	}, nodes)
	w.on = on
	if g.Start, err = w.until("the start", w.placed); err != nil {
		return g, err
	}
	owned := map[string]int{}
	for _, o := range w.Net.owners {
		owned[o.Node]++
		g.Busiest = max(g.Busiest, owned[o.Node])
	}

	// A node tells all others of its load once in a tenth of a second for each.
	teller := w.byName(w.Net.owners[0].Node).port
	before, heard, span := w.Net.Traffic, teller.heard, time.Duration(min(max(2*nodes/10, 20), 200))*time.Second
	if w.Net.Run(w.Net.Now().Add(span), func() bool { return !on() }) {
		return g, ErrStopped
	}
	per := 1 / span.Seconds() / float64(nodes)
	g.Words, g.Bytes = float64(w.Net.Traffic.Messages-before.Messages)*per, float64(w.Net.Traffic.Bytes-before.Bytes)*per
	g.Teller = float64(teller.heard-heard) / span.Seconds()

	w.byName(w.Net.owners[parts/2].Node).crash()
	if g.Crash, err = w.until("a crash", w.placed); err != nil {
		return g, err
	}
	moves := w.Moves
	n := w.join()
	g.Join, err = w.until("a join", func() bool { return n.m.Until() > 0 && len(w.sharing) == nodes && w.placed() })
	g.Moved = w.Moves - moves
	return g, err
}

// until lets time pass until something is true, and tells how long it took.
func (w *World) until(what string, done func() bool) (time.Duration, error) {
	from := w.Net.Now()
	for at := from; !done(); {
		if at = at.Add(50 * time.Millisecond); at.Sub(from) > 5*time.Minute {
			return 0, fmt.Errorf("%d nodes: %s takes more than five minutes", len(w.nodes), what)
		}
		if w.Net.Run(at, func() bool { return w.on != nil && !w.on() }) {
			return 0, ErrStopped
		}
	}
	return w.Net.Now().Sub(from), nil
}

// placed reports whether all partitions are where they belong.
func (w *World) placed() bool {
	for _, p := range w.sharing {
		if p.Draining {
			return false // it has not heard an answer yet
		}
	}
	if !w.settled() {
		return false
	}
	for p, o := range w.Net.owners {
		if w.shared.Of(p) != o.Node {
			return false
		}
	}
	return true
}
