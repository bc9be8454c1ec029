package node

import (
	"context"
	"time"

	"weir/crawl"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
)

// A group holds at most so many pages, and so many bytes that follow from them but
// for what the last one adds: two thousand new URLs or so, which take milliseconds to
// write. Groups are at least so far apart unless they are full: a lone page does not
// wait, a flood shares its syncs.
const (
	groupPages = 100
	groupBytes = 1 << 20
	groupPause = 50 * time.Millisecond
)

// commitAll is the committer: the only one who asks the Ledger and writes to
// the store. It takes results and the loop's mail in the order they come, and
// makes them durable group by group. It ends with the context, or with the
// first failure of the store.
func (n *node) commitAll(ctx context.Context) error {
	c := committer{n: n, timer: time.NewTimer(time.Hour)}
	defer c.timer.Stop()
	for {
		select {
		case r := <-n.results:
			err := c.take(r)
			for more := true; more && err == nil && !c.full(); {
				select {
				case r := <-n.results:
					err = c.take(r)
				default:
					more = false
				}
			}
			if err != nil {
				return err
			}
		case <-n.mail.ring:
			for _, o := range n.mail.take() {
				if err := c.order(ctx, o); err != nil {
					return err
				}
			}
		case k := <-n.known:
			n.ledger.Recall(k.prints, k.last)
		case s := <-n.scores:
			if err := c.rescore(ctx, s); err != nil {
				return err
			}
		case d := <-n.again:
			if err := c.deliver(ctx, d); err != nil {
				return err
			}
		case t := <-n.turns:
			if err := c.turn(ctx, t); err != nil {
				return err
			}
		case a := <-c.orders():
			err := c.share(ctx, a)
			for more := true; more && err == nil && !c.full(); {
				select {
				case a := <-c.orders():
					err = c.share(ctx, a)
				default:
					more = false
				}
			}
			if err != nil {
				return err
			}
		case <-n.peer.census():
			if err := c.census(ctx); err != nil {
				return err
			}
		case <-c.timer.C:
			c.armed = false
		case <-ctx.Done():
			return c.finish(ctx)
		}
		if err := c.settle(ctx); err != nil {
			return err
		}
	}
}

type committer struct {
	n       *node
	group   *store.Group // open when something was taken
	pages   int
	last    time.Time      // of the last commit
	applied uint64         // batches of others
	armed   bool           // the timer rings for the open group
	moved   int64          // pages that the ranking under way has moved
	landed  []page.URL     // of the open group, while pages are lent
	held    overlay.Action // of the peer: it needs a program that the Ledger has not heard of
	timer   *time.Timer
}

// orders are what the peer has for the committer: none while one waits, since all
// come in their order.
func (c *committer) orders() <-chan overlay.Action {
	if c.n.peer == nil || c.held != nil {
		return nil
	}
	return c.n.peer.works
}

func (c *committer) open() *store.Group {
	if c.group == nil {
		c.group = c.n.store.Begin()
		c.n.ledger.Clock(time.Now().UnixNano())
	}
	return c.group
}

func (c *committer) full() bool {
	return c.pages >= groupPages || c.n.ledger.Bytes() >= groupBytes
}

func (c *committer) take(r *result) error {
	defer r.release()
	g := c.open()
	c.pages++
	if c.n.lender != nil && !r.facts.Robots {
		c.landed = append(c.landed, r.facts.URL)
	}
	var place store.Place
	var repeat bool
	if r.record != nil {
		var err error
		if place, repeat, err = g.Append(r.record); err != nil {
			return err
		}
	}
	if !r.facts.Robots || r.facts.Outcome.Row().Dead == 0 { // without one nothing is fetched, however near
		if err := c.n.ledger.Trip(r.facts.URL.Host(), r.trip); err != nil {
			return err
		}
	}
	if r.facts.Robots {
		return c.n.ledger.Robots(r.id, r.facts, r.rules)
	}
	c.n.index.Add(r.facts, place)
	return c.n.ledger.Page(r.id, r.facts, crawl.Archived(place), repeat)
}

func (c *committer) order(ctx context.Context, o crawl.Order) error {
	switch o := o.(type) {
	case crawl.Load:
		c.n.ledger.Clock(time.Now().UnixNano())
		ev, err := c.n.ledger.Load(o)
		if err != nil {
			return err
		}
		c.n.send(ctx, ev)
	case crawl.Settle:
		c.open()
		c.pages++
		return c.n.ledger.Settle(o.ID, o.Site, o.Entry, o.Outcome)
	case crawl.Give:
		c.open()
		c.pages++
		return c.n.ledger.Give(o)
	case crawl.Save:
		c.open()
		c.n.ledger.Host(o.Host, o.State)
	case crawl.Keep:
		c.open()
		c.n.ledger.Keep(o)
	case crawl.Counted:
		c.n.ledger.Pressed(o)
	case crawl.Redeliver:
		return c.redeliver(ctx, o)
	}
	return nil
}

// rescore takes scores, in a group of their own: there can be many of them. When
// the last are durable, the ranking is over.
func (c *committer) rescore(ctx context.Context, s scored) error {
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	c.open()
	moved, err := c.n.ledger.Rescore(s.version, s.scores)
	if err != nil {
		return err
	}
	c.moved += moved
	if err := c.commit(ctx); err != nil || !s.last {
		return err
	}
	c.n.send(ctx, crawl.Ranked{Version: s.version, Pages: c.moved})
	c.moved = 0
	return nil
}

// settle commits the open group when it is full or its time has come; else it
// sets the timer.
func (c *committer) settle(ctx context.Context) error {
	if c.group == nil {
		return nil
	}
	if wait := groupPause - time.Since(c.last); !c.full() && wait > 0 {
		if !c.armed {
			c.armed = true
			c.timer.Reset(wait)
		}
		return nil
	}
	return c.commit(ctx)
}

func (c *committer) commit(ctx context.Context) error {
	ev, err := c.n.ledger.Flush(c.group)
	if err != nil {
		return err
	}
	if c.n.peer != nil && c.n.ledger.Doubtful() {
		c.n.peer.doubtful.Store(true) // before visits can read why
	}
	begin := time.Now()
	if err := c.group.Commit(); err != nil {
		return err
	}
	c.n.commits.add(time.Since(begin))
	c.n.lender.land(c.landed)
	c.landed = c.landed[:0]
	c.n.index.Commit(c.n.indexEnd())
	c.group, c.pages, c.last, c.armed = nil, 0, time.Now(), false
	c.timer.Stop()
	if c.n.peer != nil {
		c.n.peer.note(c.n.several)
	}
	if ev.Parcel != nil {
		c.n.peer.post(*ev.Parcel) // before the Engine can release a partition that it is about
	}
	if ev.Stop != "" && c.n.peer != nil {
		c.n.peer.halt(ev.Stop)
		ev.Stop = ""
	}
	if len(ev.Hosts) > 0 {
		c.n.peer.post(ev.Hosts)
	}
	c.n.send(ctx, ev)
	return nil
}

// finish saves what was handed in before the run ended.
func (c *committer) finish(ctx context.Context) error {
	for more := true; more; {
		select {
		case r := <-c.n.results:
			if err := c.take(r); err != nil {
				return err
			}
			if c.full() {
				if err := c.commit(ctx); err != nil {
					return err
				}
			}
		default:
			more = false
		}
	}
	for _, o := range c.n.mail.take() {
		switch o.(type) {
		case crawl.Load, crawl.Redeliver:
			continue
		}
		if err := c.order(ctx, o); err != nil {
			return err
		}
	}
	if c.group == nil {
		return nil
	}
	return c.commit(ctx)
}
