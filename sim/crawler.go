package sim

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/page"
	"weir/robots"
)

// crawler is one simulated crawl: an Engine, a Ledger, and what the Engine has
// ordered and not had yet.
type crawler struct {
	w      *World
	who    uint16
	base   int // its first flow
	cfg    Config
	engine *crawl.Engine
	ledger *crawl.Ledger
	tracer *crawl.Tracer // nil: none
	rows   *rows
	rules  *links
	sites  []int32 // the web's number of each site the Ledger knows; -1 = not looked up yet
	ranker *ranker // nil: the order does not go by ranks

	trips   []trip   // what every connection is about, by flow
	free    []uint32 // connections that are not open
	kept    map[string]uint32
	inbox   []crawl.Event // answers that need no time
	tickArg uint32
	group   bool // a flush is planned
	over    bool
	reason  string
	pipe    pipe
	open    []string // hosts of connections, by flow; "" = not open
	urges   map[string]float64
	plans   crawl.Plan // that is being made
	log     log
	facts   page.Facts
	sum     uint32 // of what soon and near saw
	peer    *peer  // nil: no other crawler shares this crawl
}

// trip is one request and its answer.
type trip struct {
	id      uint64
	page    uint32
	site    uint32
	entry   frontier.Entry
	url     page.URL
	addr    netip.Addr
	at      page.SiteID
	asked   page.Time
	first   time.Duration
	ideal   time.Duration // had the line been ours alone
	far     time.Duration // to the server and back; 0: nobody counts it
	bytes   int64
	outcome page.Outcome
	robots  bool
	last    bool
	sends   bool // its bytes are on the line
}

const (
	robotsBytes = 300 // a robots.txt with its headers, assumed
	maxAsks     = 64  // Loads and Resolves under way, as in a live crawl
	perServer   = 4   // connections to an address, and to one that serves more than so many domains
	perCDN      = 32
	cdnDomains  = 50
	epoch       = int64(1_000_000_000) * int64(time.Second)
)

func newCrawler(w *World, who uint16, base int, cfg Config, share *crawl.Sharing, leased bool) (*crawler, error) {
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	if cfg.Ranks != nil && len(cfg.Ranks) != w.web.Pages() {
		return nil, fmt.Errorf("%d ranks for %d pages", len(cfg.Ranks), w.web.Pages())
	}
	order, err := frontier.Order(cfg.Order)
	if err != nil {
		return nil, err
	}
	c := &crawler{
		w: w, who: who, base: base, cfg: cfg, rules: &links{n: w.names, all: order.Traits().Splits},
		trips: make([]trip, cfg.Conns), open: make([]string, cfg.Conns), kept: map[string]uint32{},
	}
	if share == nil {
		c.rows = newRows(w.web.Pages(), len(w.web.Sites))
		c.rules.least, c.rules.ids = make([]uint8, w.web.Pages()), make([]page.SiteID, len(w.web.Sites))
	} else {
		c.rows = newRows(0, 0)
	}
	c.rules.store = c.rows
	if cfg.Order == (frontier.Optimal{}).Name() {
		if cfg.Ranks == nil {
			return nil, fmt.Errorf("the order %s needs the ranks of all pages", cfg.Order)
		}
		c.rules.ranks = cfg.Ranks
	}
	if c.cfg.Ranking == 0 {
		c.cfg.Ranking = time.Duration(w.web.Pages()) * 2 * time.Microsecond
	}
	if order.Traits().Ranked {
		c.ranker = newRanker(w.web, order)
	}
	for i := cfg.Conns - 1; i >= 0; i-- {
		c.free = append(c.free, uint32(i))
	}
	c.log.begin(w.web, cfg)
	engine := crawl.EngineConfig{
		Order: cfg.Order, Batch: cfg.Batch, Busy: cfg.Busy, StopGain: cfg.StopGain, MaxPages: cfg.MaxPages, MaxTime: cfg.MaxTime, Open: 4*cfg.Conns + 512, Loads: maxAsks, Resolves: maxAsks,
		Frontier: frontier.Config{
			Wait: cfg.Wait, PerConn: cfg.PerConn, Auto: cfg.Auto, Conns: cfg.Conns, PerServer: perServer, PerCDN: perCDN, CDNDomains: cdnDomains,
			Window: max(16, cfg.PerConn+1), Hot: len(w.web.Sites), Proxy: cfg.Limit == 0, NoRobots: !cfg.Robots, Holdable: cfg.Hold, Leased: leased,
		},
		Bandwidth: crawl.Bandwidth{Limits: crawl.Limits{Rate: cfg.Limit}, Control: cfg.Control, Lookahead: cfg.Lookahead},
		Demands:   cfg.Demands,
		Shared:    share != nil,
	}
	if leased {
		engine.Homes, engine.Leave = share.Leaves()
	}
	if c.engine, err = crawl.NewEngine(engine); err != nil {
		return nil, err
	}
	if cfg.Trace != nil {
		c.tracer = crawl.NewTracer(cfg.Trace, engine)
	}
	book := crawl.LedgerConfig{Order: order, Trap: frontier.Trap{}, Rules: c.rules, Secret: secret, Kept: 1, Share: share}
	if share != nil {
		book.Memory = min(4<<20, 1<<30/int64(w.live)) // there are many
	}
	c.ledger, err = crawl.NewLedger(c.rows, book)
	return c, err
}

// start plants the seeds and lets the Engine begin.
func (c *crawler) start() error {
	if err := c.seed(); err != nil {
		return err
	}
	return c.begin()
}

// seed plants the seeds.
func (c *crawler) seed() error {
	c.ledger.Clock(c.wall())
	seed := func(p uint32) error {
		u, err := c.w.names.url(p)
		if err != nil {
			return err
		}
		c.rules.page, c.rules.seed = p, true
		if c.ranker != nil {
			c.ranker.tally.Know(p)
		}
		return c.ledger.Seed(u, c.rules.score(p, 0))
	}
	for _, p := range c.w.web.Starts() {
		if err := seed(p); err != nil {
			return err
		}
	}
	c.rules.seed = false
	return nil
}

// begin makes them durable and lets the Engine begin.
func (c *crawler) begin() error {
	if _, err := c.ledger.Flush(c.rows); err != nil {
		return err
	}
	st, err := c.ledger.Start(false)
	if err != nil {
		return err
	}
	c.meet(st.Sites)
	c.step(crawl.Wall{Unix: c.wall()})
	c.step(st)
	if c.cfg.Limit > 0 {
		c.pipe.begin(c)
	}
	return c.w.err
}

func (c *crawler) wall() int64 { return epoch + int64(c.w.now) }

// step tells the Engine, does what it orders, and goes on with the answers that
// are there at once.
func (c *crawler) step(ev crawl.Event) {
	c.tell(ev)
	for len(c.inbox) > 0 {
		ev := c.inbox[0]
		c.inbox = c.inbox[1:]
		c.tell(ev)
	}
	c.inbox = nil
}

func (c *crawler) tell(ev crawl.Event) {
	orders := c.engine.Step(c.w.now, ev)
	c.log.step(c.w.now, ev, orders)
	if c.tracer != nil {
		c.tracer.Step(c.w.now, ev, orders)
		c.fail(c.tracer.Err())
	}
	for _, o := range orders {
		c.do(o)
	}
}

func (c *crawler) do(o crawl.Order) {
	switch o := o.(type) {
	case crawl.Fetch:
		c.fetch(&o)
	case crawl.Load:
		ev, err := c.ledger.Load(o)
		c.fail(err)
		c.inbox = append(c.inbox, ev)
	case crawl.Resolve:
		c.inbox = append(c.inbox, crawl.Resolved{Host: o.Host, Outcome: page.OK, Addrs: []netip.Addr{c.w.names.address(o.Host)}, TTL: math.MaxInt64})
	case crawl.Settle:
		c.fail(c.ledger.Settle(o.ID, o.Site, o.Entry, o.Outcome))
		c.learned()
	case crawl.Give:
		c.fail(c.ledger.Give(o))
		c.learned()
	case crawl.Close:
		if slot, ok := c.kept[o.Host]; ok {
			delete(c.kept, o.Host)
			c.close(slot)
		}
	case crawl.Save:
		c.ledger.Host(o.Host, o.State)
	case crawl.Keep:
		c.ledger.Keep(o)
	case crawl.Limit:
		c.pipe.limit(c, o.Rate)
	case crawl.Rank:
		c.ranker.asked = o
		c.w.plan.Add(c.w.now.Add(c.cfg.Ranking), thing{who: c.who, what: ranked})
	case crawl.Share:
		c.share(o)
	case crawl.Plan:
		c.plans = o
		c.w.plan.Add(c.w.now.Add(c.cfg.Planning), thing{who: c.who, what: planned})
	case crawl.News:
		c.log.news = append(c.log.news, News{Seconds: seconds(c.w.now.Sub(1)), News: o})
	case crawl.Wake:
		c.tickArg++
		c.w.plan.Add(max(o.At, c.w.now), thing{who: c.who, what: tick, arg: c.tickArg})
	case crawl.Released, crawl.Counted, crawl.Lease, crawl.Return:
		c.peer.answer(o)
	case crawl.Finish:
		c.end(o.Reason)
	}
}

func (c *crawler) fail(err error) {
	if err != nil && c.w.err == nil {
		c.w.err = err
	}
}

// end takes the Engine's word that the crawl is over.
func (c *crawler) end(reason string) {
	if !c.over {
		c.over, c.reason = true, reason
		c.w.live--
		if n := c.engine.Status().Drift; n != 0 {
			c.fail(fmt.Errorf("%d pages more or less than were counted: a fault in the engine or the simulator", n))
		}
		c.log.finish(c)
	}
}

// cut ends the crawl where it is.
func (c *crawler) cut() { c.end(Interrupted) }

// happen does what was planned for now.
func (c *crawler) happen(t thing) {
	if c.over {
		return
	}
	switch t.what {
	case firstByte:
		tr := &c.trips[t.arg]
		tr.first = c.w.now.Sub(tr.asked)
		if tr.bytes == 0 {
			c.answer(t.arg)
			return
		}
		c.near(tr)
		speed := c.w.speed(tr.site)
		tr.sends = true
		tr.ideal += time.Duration(float64(tr.bytes) / speed * 1e9)
		c.w.link.Add(int64(c.w.now), c.base+int(t.arg), speed, float64(tr.bytes))
	case tick:
		if t.arg == c.tickArg {
			c.step(crawl.Tick{})
		}
	case flush:
		c.group = false
		c.flush()
	case wire:
		c.pipe.look(c)
	case ranked:
		c.fail(c.ranker.rank(c))
	case planned:
		c.reserve()
	}
}

// learned plans the end of the group.
func (c *crawler) learned() {
	if !c.group {
		c.group = true
		c.w.plan.Add(c.w.now.Add(c.cfg.Commit), thing{who: c.who, what: flush})
	}
}

func (c *crawler) flush() {
	c.ledger.Clock(c.wall())
	ev, err := c.ledger.Flush(c.rows)
	c.fail(err)
	c.meet(ev.Sites)
	c.step(ev)
	if r := c.ranker; r != nil && r.answer != nil && !c.over {
		ev := *r.answer
		r.answer = nil
		c.step(ev)
	}
	if c.peer != nil {
		c.peer.committed(ev.Parcel)
	}
}

// meet notes the Ledger's numbers of sites, unless they have several.
func (c *crawler) meet(sites []frontier.Known) {
	if c.rules.ids == nil {
		return
	}
	for _, k := range sites {
		c.rules.ids[c.siteOf(k.ID, k.Name)] = k.ID
	}
}

// siteOf returns the web's number of a site.
func (c *crawler) siteOf(id page.SiteID, name string) uint32 {
	for int(id) >= len(c.sites) {
		c.sites = append(c.sites, -1)
	}
	if c.sites[id] < 0 {
		c.sites[id] = int32(c.w.names.findSite(name))
	}
	return uint32(c.sites[id])
}

// fetch sends a request.
func (c *crawler) fetch(o *crawl.Fetch) {
	slot, open := c.kept[o.Host]
	switch {
	case o.Open:
		slot = c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		c.log.busy(c.w.now, +1)
		c.w.link.Open(int64(c.w.now), c.base+int(slot))
		c.open[slot] = o.Host
		if u := c.urges[o.Host]; u > 0 {
			c.w.link.Urge(int64(c.w.now), c.base+int(slot), u)
		}
	case !open:
		c.fail(fmt.Errorf("%s was asked for on a connection that is not open", o.URL))
		return
	}
	if !o.Last {
		c.kept[o.Host] = slot
	}
	s := c.siteOf(o.Site, o.URL.Site())
	site := &c.w.web.Sites[s]
	t := &c.trips[slot]
	*t = trip{id: o.ID, site: s, at: o.Site, entry: o.Entry, url: o.URL, asked: c.w.now, robots: o.Robots, last: o.Last, outcome: page.OK, addr: o.Addr}
	if o.Robots {
		t.bytes = robotsBytes
	} else {
		var ok bool
		if t.page, ok = c.w.names.findPage(s, o.Entry.Rest, o.Entry.Hash); !ok {
			c.fail(fmt.Errorf("%s was asked for, and is not in the web: a fault in the simulator", o.URL))
		}
		c.soon(t.page)
		t.bytes = int64(c.w.web.Size[t.page])
		if end := c.w.web.End; end != nil && end[t.page] != 0 {
			t.outcome = page.Outcome(end[t.page])
		}
		if !t.outcome.Row().Answer {
			t.bytes = 0
		}
	}
	late := site.Again
	if o.Open {
		late = site.Latency
	}
	t.ideal = time.Duration(late * 1e9)
	if c.peer != nil && c.peer.s.trip != nil {
		t.far = c.peer.s.trip(int(c.who), int(s))
		if t.ideal += t.far; o.Open {
			t.ideal += t.far
		}
	}
	if !c.may(o) {
		t.outcome, t.bytes, t.ideal = page.Aborted, 0, 0
	} else if c.peer != nil {
		c.peer.s.asks(c, o.Host)
	}
	c.w.plan.Add(c.w.now.Add(t.ideal), thing{who: c.who, what: firstByte, arg: slot})
}

// soon and near look where the facts of a page are before they are asked for one by
// one: they lie far apart, and the memory finds many as fast as one while nothing
// depends on what it finds.
func (c *crawler) soon(p uint32) {
	c.sum += c.w.web.Off[p]
	if c.cfg.Ranks != nil {
		c.sum += uint32(c.cfg.Ranks[p])
	}
}

// near is for a page that was asked for, and will be answered next.
func (c *crawler) near(t *trip) {
	c.rows.near(t.at, t.entry.Hash)
	if off := c.w.web.Off[t.page]; int(off) < len(c.w.web.Adj) {
		c.sum += c.w.web.Adj[off]
	}
}

// may says whether the request may be sent, as far as other nodes are concerned.
func (c *crawler) may(o *crawl.Fetch) bool {
	return c.peer == nil || c.peer.leases == nil || c.peer.leases.may(o)
}

// answer ends a request.
func (c *crawler) answer(slot uint32) {
	t := &c.trips[slot]
	if c.peer != nil {
		if c.peer.leases != nil {
			c.peer.leases.Over(t.url.Host(), t.addr)
		}
		if t.outcome != page.Aborted {
			c.peer.s.answered(t.url.Host(), c.cfg.Wait, c.w.now.Sub(t.asked))
		}
	}
	t.sends = false
	took := c.w.now.Sub(t.asked)
	held := max(took-t.ideal, 0)
	done := crawl.Done{
		ID: t.id, Outcome: t.outcome, Bytes: t.bytes, Elapsed: took, Waited: held, First: t.first, RTT: t.far, Throttled: held > t.ideal/20,
		KeepAlive: !t.last && t.outcome.Row().Answer,
	}
	c.facts = page.Facts{
		Key: page.Key{Site: t.at, Hash: t.entry.Hash}, URL: t.url, Depth: t.entry.Depth, Hops: t.entry.Hops, Root: t.entry.Root,
		Attempt: t.entry.Attempt, Counted: t.entry.Counted, Score: t.entry.Score, Robots: t.robots, Outcome: t.outcome, Bytes: t.bytes, Wire: t.bytes, At: c.wall(), Elapsed: took,
	}
	if t.outcome.Row().Answer {
		c.fail(c.ledger.Trip(t.url.Host(), t.far))
	}
	if t.robots {
		done.Rules = rulesOf(c.w.web.Sites[t.site].Delay)
		c.fail(c.ledger.Robots(t.id, &c.facts, done.Rules))
	} else {
		c.rules.page = t.page
		c.fail(c.ledger.Page(t.id, &c.facts, crawl.Archived{}, false))
		final := t.outcome.Final(t.entry.Attempt)
		if c.ranker != nil {
			c.ranker.ended(t, final)
		}
		if final {
			c.log.fetched(c, t)
			if t.far > 0 {
				c.peer.s.trips = append(c.peer.s.trips, t.far)
			}
		}
	}
	if !done.KeepAlive {
		if !t.last {
			delete(c.kept, t.url.Host())
		}
		c.close(slot)
	}
	c.learned()
	c.step(done)
}

func (c *crawler) close(slot uint32) {
	c.w.link.Close(int64(c.w.now), c.base+int(slot))
	c.open[slot] = ""
	c.free = append(c.free, slot)
	c.log.busy(c.w.now, -1)
}

// rulesOf is a robots.txt that asks for nothing but a pause.
func rulesOf(delay float64) *robots.Rules {
	if delay <= 0 {
		return robots.AllowAll()
	}
	return robots.Parse([]byte(fmt.Sprintf("User-agent: *\nCrawl-delay: %f\n", delay)), "weir")
}
