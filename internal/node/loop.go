package node

import (
	"context"
	"sync"
	"time"

	"weir/crawl"
	"weir/overlay"
)

// pace is how often Progress hears of the crawl.
const pace = 250 * time.Millisecond

// loop owns the Engine: it brings events in, one at a time and each with the
// time it came, and sends orders out. It ends when the Engine finishes, the
// context does, or the committer fails.
func (n *node) loop(ctx context.Context, stop <-chan struct{}, start crawl.Start) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	tell := time.NewTicker(pace)
	defer tell.Stop()
	meter := newSpeed(n)

	n.tellWall(ctx, timer)
	if n.peer != nil && n.peer.full() {
		n.step(ctx, timer, crawl.Hold{Enough: true})
	}
	finished := n.step(ctx, timer, start)
	for !finished {
		select {
		case ev := <-n.events:
			finished = n.step(ctx, timer, ev)
		case <-timer.C:
			finished = n.step(ctx, timer, crawl.Tick{})
		case a := <-n.asks:
			finished = n.steer(ctx, timer, a)
		case ev := <-n.awaits:
			finished = n.step(ctx, timer, ev)
		case <-stop:
			stop = nil
			finished = n.step(ctx, timer, crawl.Command{Stop: crawl.StopByUser})
		case <-n.peer.fence():
			finished = n.peer.fenced(ctx, timer)
		case <-tell.C:
			n.tellWall(ctx, timer)
			if n.cfg.Progress != nil {
				n.cfg.Progress(meter.status())
			}
		case err := <-n.failed:
			return err
		case <-ctx.Done():
			n.end(ctx, timer)
			n.reason = crawl.StopByUser
			return nil
		}
		if !finished && n.stuck() {
			n.end(ctx, timer)
			return nil
		}
	}
	if n.cfg.Progress != nil {
		n.cfg.Progress(meter.status())
	}
	return nil
}

// stuck says that the crawl should end and cannot: nothing may flow, and all that
// is not over are requests under way. They stay queued.
func (n *node) stuck() bool {
	if !n.paused {
		return false
	}
	s := n.engine.Status()
	return s.Stop != crawl.StopByNobody && s.Flying <= len(n.flying)
}

// end cuts the crawl short. What the Engine has learned is still saved.
func (n *node) end(ctx context.Context, timer *time.Timer) {
	n.cut = true
	n.step(ctx, timer, crawl.Command{Stop: crawl.StopByUser, Now: true})
}

// step gives the Engine one event and carries its orders out. It says whether
// that was the end.
func (n *node) step(ctx context.Context, timer *time.Timer, ev crawl.Event) bool {
	now := clock()
	if d, ok := ev.(crawl.Done); ok {
		if !d.KeepAlive {
			delete(n.visits, n.flying[d.ID])
		}
		delete(n.flying, d.ID)
	}
	orders := n.engine.Step(now, ev)
	if n.tracer != nil {
		n.tracer.Step(now, ev, orders)
	}
	for _, o := range orders {
		switch o := o.(type) {
		case crawl.Fetch:
			n.fetch(ctx, o)
		case crawl.Close:
			n.visits[o.Host].hangUp()
			delete(n.visits, o.Host)
		case crawl.Resolve:
			n.work.Go(func() { n.resolve(ctx, o.Host) })
		case crawl.Rank:
			n.work.Go(func() { n.rank(ctx, o) })
		case crawl.Limit:
			n.flow(o.Rate)
		case crawl.Share:
			n.share(o)
		case crawl.Plan:
			n.work.Go(func() { n.reserve(ctx, o) })
		case crawl.News:
			n.tellNews(o)
		case crawl.Load, crawl.Settle, crawl.Give, crawl.Save, crawl.Keep, crawl.Redeliver:
			n.mail.put(o)
		case crawl.Lease, crawl.Return, crawl.Overdue:
			n.peer.post(o)
		case crawl.Released:
			n.peer.post(overlay.Empty{Part: int(o.Part)})
		case crawl.Counted:
			n.peer.post(n.load(o))
			n.mail.put(o)
		case crawl.Wake:
			timer.Reset(max(o.At.Sub(now), 0))
		case crawl.Finish:
			n.reason = o.Reason
			return true
		}
	}
	return false
}

// fetch hands a request to the visit that holds the host's connection, or
// begins one. There is room for the order that may come while the page before
// is still being read.
func (n *node) fetch(ctx context.Context, o crawl.Fetch) {
	if o.Open {
		v := &visit{n: n, orders: make(chan crawl.Fetch, 1)}
		n.visits[o.Host] = v
		during := n.peer.during(ctx)
		n.work.Go(func() { v.run(ctx, during) })
	}
	n.visits[o.Host].orders <- o
	n.flying[o.ID] = o.Host
}

func (n *node) resolve(ctx context.Context, host string) {
	addrs, ttl, o := n.client.Load().Lookup(ctx, host)
	n.send(ctx, crawl.Resolved{Host: host, Addrs: addrs, TTL: ttl, Outcome: o})
}

// send brings an event to the loop, unless the run has ended.
func (n *node) send(ctx context.Context, ev crawl.Event) {
	select {
	case n.events <- ev:
	case <-ctx.Done():
	}
}

// mailbox holds the loop's orders to the committer. It never blocks the loop;
// the Engine's credits bound it.
type mailbox struct {
	mu    sync.Mutex
	items []crawl.Order
	ring  chan struct{}
}

func (m *mailbox) put(o crawl.Order) {
	m.mu.Lock()
	m.items = append(m.items, o)
	m.mu.Unlock()
	select {
	case m.ring <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []crawl.Order {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}

// speed measures rates over the last few seconds.
type speed struct {
	n     *node
	marks [16]mark // a ring, one a pace
	at    int
}

type mark struct {
	t     time.Time
	wire  int64
	pages int64
}

func newSpeed(n *node) *speed { return &speed{n: n} }

func (s *speed) status() Status {
	now := time.Now()
	engine := s.n.engine.Status()
	st := Status{
		Status: engine, Run: now.Sub(s.n.began), Started: s.n.fresh,
		Wire: s.n.carried().total, Bound: s.n.bound(engine.Link.Used), Commits: s.n.commits.commits(), Resumed: s.n.resumed, Lent: s.n.lender.count() + s.n.peer.count(),
	}
	if p := s.n.peer; p != nil {
		st.Enough, st.Rule, st.Rules = p.enough(), p.why(), p.whys()
	}
	if st.Rest.Host != "" {
		st.Pause = max(st.Rest.Until.Sub(clock()), 0)
	}
	m := mark{now, st.Wire, st.Totals.Fetched}
	old := s.marks[s.at]
	if old.t.IsZero() {
		old = mark{t: s.n.began, pages: s.n.fresh.Fetched}
	}
	s.marks[s.at] = m
	s.at = (s.at + 1) % len(s.marks)
	if dt := now.Sub(old.t).Seconds(); dt > 0 {
		st.Rate = float64(m.wire-old.wire) / dt
		st.Pages = float64(m.pages-old.pages) / dt
	}
	return st
}
