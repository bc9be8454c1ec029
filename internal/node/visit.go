package node

import (
	"cmp"
	"context"
	"time"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/page"
	"weir/robots"
)

// visit holds one connection to a host and asks over it for one page after
// another, until the Engine or the server ends it. Between the answer and the
// next request it reads the page: the connection may wait, the engine does not.
type visit struct {
	n      *node
	orders chan crawl.Fetch
	conn   *fetch.Conn // set before the first Done is sent; the loop may close it after
}

// hangUp ends a visit between two requests. The loop does it, at once: while
// the visit still reads its last page, the host may be visited anew, and must
// not see two connections.
func (v *visit) hangUp() {
	v.conn.Close()
	close(v.orders)
}

// run serves until the run ends, ctx, or what it does is not this node's to do any
// more, during.
func (v *visit) run(ctx, during context.Context) {
	n := v.n
	asking, end := n.peer.asking(during)
	defer end()
	for {
		var o crawl.Fetch
		var ok bool
		select {
		case o, ok = <-v.orders:
			if !ok {
				return
			}
		case <-ctx.Done():
			if v.conn != nil {
				v.conn.Close()
			}
			return
		}
		a, ok := v.ask(ctx, asking, end, o)
		if !ok {
			return
		}
		if a.Fault != nil {
			n.fail(a.Fault)
		}
		more := a.KeepAlive && !o.Last && during.Err() == nil && ctx.Err() == nil
		if !more && v.conn != nil {
			v.conn.Close() // before the Engine hears that the host is free
		}
		if ctx.Err() != nil {
			a.Release()
			return
		}
		var trip time.Duration
		if v.conn != nil { // else it was borrowed
			trip = v.conn.Trip
		}
		n.answered(ctx, o, a, trip, more)
		if !more {
			return
		}
	}
}

// ask sends one request, over a new connection if there is none, and reads the
// answer; asking, which end ends, is how long it may. It returns false when there is
// no answer, which is told then.
func (v *visit) ask(ctx, asking context.Context, end context.CancelFunc, o crawl.Fetch) (*fetch.Answer, bool) {
	n := v.n
	if a := n.lender.borrow(asking, o); a != nil {
		return a, true
	}
	a, over := n.peer.spare(asking, o)
	switch {
	case over:
		v.end(ctx, o, "another node has ended it")
		return nil, false
	case a != nil:
		return a, true
	}
	if asking.Err() != nil || !n.peer.may(o.Host, o.Addr, end) {
		v.end(ctx, o, outOfLease)
		return nil, false
	}
	defer n.peer.over(o.Host, o.Addr)
	if v.conn == nil {
		c, outcome := n.client.Load().Open(asking, o.URL, o.Addr)
		if outcome != page.OK {
			c.Close()
			if c.Fault != nil {
				n.fail(c.Fault)
			}
			n.unreached(ctx, o, outcome, c.Err)
			return nil, false
		}
		v.conn = c
		if asking.Err() != nil || !n.peer.may(o.Host, o.Addr, end) { // to connect may have taken long
			v.end(ctx, o, outOfLease)
			return nil, false
		}
	}
	return v.conn.Get(asking, o.URL, o.Last), true
}

const outOfLease = "the right to visit the host has run out"

// end gives a visit up that is not this node's to make any more.
func (v *visit) end(ctx context.Context, o crawl.Fetch, why string) {
	if v.conn != nil {
		v.conn.Close()
	}
	v.n.unreached(ctx, o, page.Aborted, why)
}

// fail ends the run for a failure of our own. The first one counts.
func (n *node) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// unreached reports a request that could not be sent.
func (n *node) unreached(ctx context.Context, o crawl.Fetch, outcome page.Outcome, why string) {
	if ctx.Err() != nil {
		return
	}
	f := n.facts(o)
	f.Outcome = outcome
	n.log.page(f, why)
	n.send(ctx, crawl.Done{ID: o.ID, Outcome: outcome})
	n.hand(ctx, &result{id: o.ID, facts: f})
}

// answered tells the Engine at once that the answer is in, then reads the page
// and hands what it says to the committer. trip is how far the server is.
func (n *node) answered(ctx context.Context, o crawl.Fetch, a *fetch.Answer, trip time.Duration, more bool) {
	defer a.Release()
	done := crawl.Done{
		ID: o.ID, Outcome: a.Outcome, Status: a.Status, Bytes: a.BodyWire,
		Elapsed: a.Elapsed, Waited: a.Waited, Asked: a.RetryAfter, KeepAlive: more, Left: a.KeepAliveMax, Idle: a.KeepAliveTimeout,
		Wire: a.Wire, First: a.FirstByte, RTT: a.RTT, Throttled: a.Waited > a.Elapsed/10,
	}
	var target page.URL
	if a.Outcome == page.Redirected {
		t, err := o.URL.Resolve(a.Location)
		if err != nil {
			done.Outcome = page.BadRedirect
			a.Err = "redirected to " + a.Location + ": " + err.Error()
		} else {
			target = n.cfg.Strip.Apply(t)
		}
	}
	if o.Robots {
		done.Redirect = target
		if a.Outcome.Row().Kept {
			if body, got := a.Decoded(8 * robots.MaxSize); got.Row().Kept {
				done.Rules = robots.Parse(body, n.cfg.Agent)
			} else {
				done.Outcome = got // it cannot be read: as if the server had failed
			}
		}
	}
	n.send(ctx, done)

	var t *tool
	select {
	case t = <-n.tools:
	case <-ctx.Done():
		return
	}
	r, err := t.read(o, a, done)
	n.tools <- t
	if err != nil {
		n.fail(err)
		return
	}
	r.trip = cmp.Or(done.RTT, trip)
	if !r.facts.Outcome.Row().Kept && r.facts.Outcome != page.Redirected {
		n.log.page(r.facts, a.Err)
	}
	n.hand(ctx, r)
}

// hand gives a result to the committer; it waits while that one is busy.
func (n *node) hand(ctx context.Context, r *result) {
	select {
	case n.results <- r:
	case <-ctx.Done():
		r.release()
	}
}

// facts begins the facts of an order.
func (n *node) facts(o crawl.Fetch) *page.Facts {
	f := &page.Facts{
		Key: page.Key{Site: o.Site, Hash: o.Entry.Hash}, URL: o.URL, Depth: o.Entry.Depth, Hops: o.Entry.Hops,
		Root: o.Entry.Root, Attempt: o.Entry.Attempt, Counted: o.Entry.Counted, Score: o.Entry.Score, Robots: o.Robots, At: time.Now().UnixNano(),
	}
	if o.Robots {
		f.Hops = uint8(o.Hops)
	}
	return f
}
