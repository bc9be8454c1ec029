package node

import (
	"context"
	"fmt"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/store"
)

// wirePace is how often the Engine hears of the wire.
const wirePace = 100 * time.Millisecond

// newWire makes the cap. Nothing comes before the Engine has ordered how much
// may. The baselines, paper and reactive, hold the limit by what they start.
func (n *node) newWire() *fetch.Wire {
	return fetch.NewWire(fetch.WireConfig{
		Limit: bandwidth.Off, Strict: n.cfg.Strict, Clock: clock, Loose: n.cfg.Bandwidth.Control == "paper" || n.cfg.Bandwidth.Control == "reactive",
	})
}

// runWire lets the cap work until the run ends.
func (n *node) runWire(ctx context.Context) {
	if !n.wire.Exact() {
		n.notice("this system does not tell what arrives on the wire: bytes are counted as they are read, and short bursts above the limit are possible")
	}
	wire := n.wire
	n.work.Go(func() { wire.Run(ctx, wirePace, n.tellWire) })
}

// cap puts a limit on a crawl that ran without. Connections that are open stay
// as they are until their visit ends; all others are made under it. After an
// error all is as it was.
func (n *node) cap(ctx context.Context, timer *time.Timer) error {
	cfg := n.cfg.Fetch
	cfg.Wire = n.newWire()
	cfg.Wire.Share(n.urges)
	client, err := fetch.New(cfg)
	if err != nil {
		return err
	}
	n.cfg.Fetch, n.wire = cfg, cfg.Wire
	n.before = n.client.Swap(client)
	n.runWire(ctx)
	n.tellWall(ctx, timer)
	return nil
}

// share tells the cap whose bytes come first, and remembers it for one to come.
func (n *node) share(o crawl.Share) {
	n.urges = make(map[string]float64, len(o.Hosts))
	for _, h := range o.Hosts {
		n.urges[h.Host] = h.Urge
	}
	n.wire.Share(n.urges)
}

// carriage is what passed over the link in this run.
type carriage struct {
	total, most int64 // bytes in all, and in a second at most
	mean        float64
}

func (n *node) carried() carriage {
	m := n.client.Load().Meter()
	c := carriage{total: m.Bytes(), most: m.Max1s()}
	if n.before != nil {
		old := n.before.Meter()
		c.total += old.Bytes()
		c.most = max(c.most, old.Max1s())
	}
	c.mean = float64(c.total) / max(time.Since(n.began).Seconds(), 1)
	return c
}

// tellWire brings the loop word of the wire. The next word is not far, so this
// one is dropped when the loop has no time for it: the wire must not wait.
func (n *node) tellWire(w bandwidth.Wire) {
	select {
	case n.events <- crawl.Wire{Wire: w}:
	default:
	}
}

// tellWall tells the Engine the time of day, at first and when the clock or its
// zone has jumped.
func (n *node) tellWall(ctx context.Context, timer *time.Timer) {
	if n.wire == nil && !n.due && n.ecfg.Ends == 0 {
		return
	}
	now, wall := clock(), time.Now()
	_, offset := wall.Zone()
	ahead := wall.UnixNano() - int64(now)
	jump := time.Duration(ahead - n.wallAhead)
	if n.wallAhead != 0 && offset == n.wallOffset && jump.Abs() < time.Second {
		return
	}
	n.wallAhead, n.wallOffset = ahead, offset
	n.step(ctx, timer, crawl.Wall{Unix: wall.UnixNano(), Offset: offset})
}

// maxKept is how many rows about servers are read at the start, also without a
// limit: one may come.
const maxKept = 1 << 16

// learn takes over what another crawl knows of servers. What this crawl knows
// itself goes before.
func (n *node) learn(start *crawl.Start) error {
	if n.cfg.LearnFrom == "" {
		return nil
	}
	rows, err := learned(n.cfg.LearnFrom)
	if err != nil {
		return fmt.Errorf("learn from %s: %w", n.cfg.LearnFrom, err)
	}
	own := map[string]bool{}
	for _, r := range start.Kept {
		own[string(r.Key)] = true
	}
	for _, r := range rows {
		if !own[string(r.Key)] {
			start.Kept = append(start.Kept, r)
			n.mail.put(r) // it is this crawl's own from now on
		}
	}
	return nil
}

func learned(dir string) ([]crawl.Keep, error) {
	other, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer other.Close()
	view, err := crawl.NewView(other)
	if err != nil {
		return nil, err
	}
	return view.Learned(maxKept)
}
