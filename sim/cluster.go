package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/overlay"
	"weir/page"
	"weir/sim/link"
	"weir/sim/mesh"
	"weir/sim/web"
)

// ClusterConfig says how a crawl is shared by nodes.
type ClusterConfig struct {
	Config                // of every node; MaxTime is needed, Limit and Demands are not possible
	Nodes  int            //
	Scheme overlay.Scheme // who has which page
	Leases bool           // hosts are visited under leases, as live: one node at a time, whatever the scheme
	Parts  int            // partitions; 0 = overlay.Parts
	Joined bool           // nodes have found together before it begins; else that is played, too
	Delay  time.Duration  // that a message takes on the mean; 0 = 80 ms, as between nodes all over the world

	// Trip is how long it takes from a node to a site and back: one such more before an
	// answer, and two on a new connection. nil: servers are equally far from all nodes.
	Trip func(node, site int) time.Duration

	Seed uint64
}

// Share is what one node of a cluster did.
type Share struct {
	Pages    int64   // fetched
	Bytes    float64 // of them
	Busy     float64 // share of its connections in use
	Received int64   // bytes of rows and ends that others wrote to its logs
	Gossip   int64   // bytes
	Leases   int64   // bytes of messages about them
	Parts    int     // partitions that it owned
	Queued   int64   // pages that wait with it in the end
}

// ClusterResult is how the crawl of a cluster went.
type ClusterResult struct {
	Nodes   []Share
	Pages   int64
	Bytes   float64
	Seconds float64
	Seen    int64 // pages that were asked for, each once
	Rows    int64 // written to logs
	Moved   int64 // of these, handed on
	Logged  int64 // bytes written to logs, one copy
	Batches int64 // that they were written in

	// Spread is how often a host was spread over more partitions than before, and Gathered
	// how often over fewer (adaptive).
	Spread, Gathered int64

	// Account is what all nodes received of one another, by what it is about. Copies of
	// logs and sessions are not in it: the carrier here needs none.
	Account overlay.Account

	// Idled is the share of all nodes' time that they idled though politeness left them
	// work: at a moment, a node idles that has a connection free, and there is work for as
	// many nodes as there are hosts that nobody asks, that have had their rest, and of
	// which pages wait at some node; the lesser of the two idle. Unused is the same of
	// connections: the lesser of those that are free and of such hosts, of all. Pages that
	// are on their way from node to node are not counted. NaN where nobody counts, on webs
	// of more than fewSites.
	Idled, Unused float64

	Trips []time.Duration // from the nodes that fetched pages to their servers, sorted; none where these are equally far
	Trace uint64
}

// envelope is what comes with a message on the wire beside its contents, assumed:
// the headers of IP, TCP and NATS.
const envelope = 100

// Cluster is a World whose crawlers are nodes of one cluster: the same Engine and
// Ledger as in any other crawl, an overlay.Member each, and a mesh.Net between them.
type Cluster struct {
	World
	cfg   ClusterConfig
	swarm *swarm
	peers []*peer
	from  page.Time // when the crawl began
	stop  bool

	looks         int
	idled, unused float64 // of all looks
	waiting       []bool  // by site, while looking: pages of it wait somewhere
}

// swarm is what the nodes of a cluster have in common.
type swarm struct {
	*World
	net      *mesh.Net
	parts    int
	owner    []*peer
	views    []view // the last ones, the newest first
	gathered bool   // all nodes know of all, and every partition is where it belongs
	polite   map[string]manners

	trip  func(node, site int) time.Duration // nil: no node is nearer to a site than another
	trips []time.Duration                    // of pages that were fetched

	wide             map[string]uint16 // over how many partitions hosts are spread that ever were
	spreads, gathers int64

	rows, moved, logged, batches int64
	account                      overlay.Account
	text                         []byte
}

// NewCluster returns a cluster that is about to crawl a web.
func NewCluster(w *web.Web, cfg ClusterConfig) (*Cluster, error) {
	if cfg.Nodes < 1 || cfg.Nodes > math.MaxUint16 {
		return nil, fmt.Errorf("%d nodes; a cluster has at least one and at most %d", cfg.Nodes, math.MaxUint16)
	}
	if cfg.MaxTime <= 0 || cfg.Limit != 0 || len(cfg.Demands) > 0 || cfg.MaxPages != 0 {
		return nil, errors.New("a simulated cluster crawls for a time that is set, without a limit")
	}
	if cfg.Parts == 0 {
		cfg.Parts = overlay.Parts
	}
	if cfg.Delay == 0 {
		cfg.Delay = 80 * time.Millisecond
	}
	n, err := newNames(w)
	if err != nil {
		return nil, err
	}
	if w.Path == nil {
		n.tail = "-as-long-as-the-paths-of-pages.html"
	}
	c := &Cluster{World: World{web: w, names: n, live: cfg.Nodes, now: 1}, cfg: cfg}
	c.swarm = &swarm{
		World: &c.World, net: mesh.NewNet(cfg.Seed+1, cfg.Parts), parts: cfg.Parts,
		owner: make([]*peer, cfg.Parts), polite: map[string]manners{}, wide: map[string]uint16{}, trip: cfg.Trip,
	}
	c.swarm.net.Latency = cfg.Delay
	c.swarm.net.Wait(c.now)
	c.swarm.net.Appended = c.swarm.appended
	flows := 0
	node := cfg.Config
	node.MaxTime = 0
	for i := range cfg.Nodes {
		name, origin := fmt.Sprintf("node%05d", i), uint64(i)+1
		share := &crawl.Sharing{Keys: overlay.NewKeys(cfg.Scheme, cfg.Parts), Parts: cfg.Parts, Node: name, Origin: origin}
		x, err := newCrawler(&c.World, uint16(i), flows, node, share, cfg.Leases)
		if err != nil {
			return nil, err
		}
		x.peer = &peer{c: x, s: c.swarm, name: name}
		if cfg.Leases {
			x.peer.leases = newLeases(x.peer, crawl.DeskConfig{Keys: share.Keys, Manners: overlay.LeaseConfig{Wait: x.cfg.Wait, PerServer: perServer, PerCDN: perCDN, Domains: cdnDomains}})
		}
		for range x.cfg.Conns {
			c.owner = append(c.owner, uint16(i))
		}
		flows += x.cfg.Conns
		c.does, c.peers = append(c.does, x), append(c.peers, x.peer)
	}
	c.link = link.New(math.Inf(1), flows, link.MaxMin)
	return c, nil
}

// view is who should own which partition, to nodes that know of the same peers.
type view struct {
	peers  []overlay.Peer
	owners *overlay.Owners
}

// maxViews is how many are kept: news are on their way for a little longer than it
// takes until there are others.
const maxViews = 8

// homes works out who should own which partition, once for all nodes that know of the
// same peers. Others have a view of their own.
func (s *swarm) homes(peers []overlay.Peer) *overlay.Owners {
	for i := range s.views {
		if slices.Equal(s.views[i].peers, peers) {
			return s.views[i].owners
		}
	}
	v := view{peers, overlay.NewOwners(s.parts)}
	v.owners.Set(peers)
	s.views = slices.Insert(s.views, 0, v)
	s.views = s.views[:min(len(s.views), maxViews)]
	return v.owners
}

// appended counts what enters a log.
func (s *swarm) appended(part int, _ uint64, b overlay.Batch) {
	s.text = overlay.AppendBatch(s.text[:0], &b)
	size := int64(len(s.text)) + envelope
	s.logged += size
	s.batches++
	for _, r := range b.Records {
		switch r := r.(type) {
		case overlay.Tuples:
			s.rows += int64(len(r.Rows))
			for i := range r.Rows {
				if r.Rows[i].Moves > 0 {
					s.moved++
				}
			}
		case overlay.Spread:
			for _, w := range r.Hosts {
				if w.N > max(s.wide[w.Host], 1) {
					s.spreads++
				} else {
					s.gathers++
				}
				s.wide[w.Host] = w.N
			}
		}
	}
	if part == s.parts { // the common log, which all read: marks, in these crawls
		return
	}
	if to := s.owner[part]; to != nil && b.Origin != uint64(to.c.who)+1 {
		to.received += size
		s.account.ReceivedBatch(s.text, int(size))
	}
}

// manners are what all nodes together owe a host.
type manners struct {
	asked int       // requests under way; without leases there may be several
	rests page.Time // until then
}

// asks notes that a host is asked, and checks that under leases one node at a time
// does, when the host has had its rest.
func (s *swarm) asks(c *crawler, host string) {
	m := s.polite[host]
	if c.peer.leases != nil && (m.asked > 0 || s.now.Add(time.Microsecond) < m.rests) {
		c.fail(fmt.Errorf("%s asks %s, which is being asked (%d times) or rests for another %v: a fault in leases", c.peer.name, host, m.asked, m.rests.Sub(s.now)))
	}
	m.asked++
	s.polite[host] = m
}

// answered begins a host's rest: the wait, or as long as the answer took.
func (s *swarm) answered(host string, wait, took time.Duration) {
	if wait > 0 {
		wait = max(wait, took)
	}
	m := s.polite[host]
	s.polite[host] = manners{asked: m.asked - 1, rests: max(m.rests, s.now.Add(wait))}
}

// settled says that all nodes are there, and every partition is where it belongs then.
func (s *swarm) settled() bool {
	// The newest view may be older than one that nodes have come back to.
	all := slices.IndexFunc(s.views, func(v view) bool {
		return len(v.peers) >= s.live && !slices.ContainsFunc(v.peers, func(p overlay.Peer) bool { return p.Draining })
	})
	if all < 0 {
		return false
	}
	for part, p := range s.owner {
		if p == nil || p.name != s.views[all].owners.Of(part) {
			return false
		}
	}
	return true
}

// gathering is how long nodes may take to share out the partitions.
const gathering = 2 * time.Minute

// Run lets the nodes join, and crawl for the time that is set once every partition
// has an owner. It stops when on returns false.
func (c *Cluster) Run(on func() bool) error {
	if c.cfg.Joined {
		c.join()
	}
	for i, p := range c.peers {
		if err := p.c.begin(); err != nil {
			return err
		}
		p.open(uint64(i) + 1)
	}
	if err := c.pass(c.now.Add(gathering), on, c.swarm.settled); err != nil || c.stop {
		return err
	}
	if !c.swarm.settled() {
		return errors.New("not every partition has an owner: a fault in the simulator or the overlay")
	}
	c.swarm.gathered = true
	if c.cfg.Leases { // owners that are new grant none, for others may have
		if err := c.pass(c.now.Add(2*overlay.MaxLease), on, func() bool { return false }); err != nil || c.stop {
			return err
		}
	}
	c.from = c.now
	for _, p := range c.peers {
		p.received, p.gossip, p.lent = 0, 0, 0
	}
	c.swarm.logged, c.swarm.batches, c.swarm.account = 0, 0, overlay.Account{}
	first := c.peers[0].c
	if err := first.seed(); err != nil {
		return err
	}
	first.learned()
	if n := len(c.web.Sites); n <= fewSites {
		c.waiting = make([]bool, n)
		c.look()
	}
	err := c.pass(c.now.Add(c.cfg.MaxTime), on, func() bool { return false })
	for _, p := range c.peers {
		p.c.log.busy(c.now, 0)
	}
	return err
}

// join puts the nodes where they would find themselves.
func (c *Cluster) join() {
	peers := make([]overlay.Peer, len(c.peers))
	for i, p := range c.peers {
		peers[i] = overlay.Peer{Name: p.name, Session: 1}
	}
	c.swarm.net.Settle(peers, c.swarm.homes(peers))
}

const (
	fewSites  = 1000                   // on larger webs nobody looks for idle nodes
	lookEvery = 100 * time.Millisecond // of the nodes' time
)

// look counts nodes and connections that idle though there is work.
func (c *Cluster) look() {
	idle, free := 0, 0
	for _, x := range c.does {
		if n := x.cfg.Conns - x.log.active; n > 0 {
			idle++
			free += n
		}
	}
	if free > 0 {
		work := c.work()
		c.idled += float64(min(idle, work)) / float64(len(c.does))
		c.unused += float64(min(free, work)) / float64(len(c.does)*c.cfg.Conns)
	}
	c.looks++
	c.swarm.net.After(lookEvery, c.look)
}

// work is how many hosts could be asked now that nobody asks.
func (c *Cluster) work() (n int) {
	clear(c.waiting)
	for _, x := range c.does {
		x.engine.Backlogs(func(site string, b frontier.Backlog) {
			if b.Queued > 0 {
				c.waiting[c.names.findSite(site)] = true
			}
		})
	}
	for s, waits := range c.waiting {
		if m := c.swarm.polite[page.SiteHost(c.names.site(uint32(s)))]; waits && m.asked == 0 && m.rests <= c.now {
			n++
		}
	}
	return n
}

// pass lets time go on until a moment, or until it is enough.
func (c *Cluster) pass(until page.Time, on, enough func() bool) error {
	for n := 1; c.err == nil && !enough(); n++ {
		if n%pause == 0 && on != nil && !on() {
			c.stop = true
			return nil
		}
		sent, flow, flows := c.link.Next()
		said, talks := c.swarm.net.Next()
		next, what := until, 0
		if flows && page.Time(sent) < next {
			next, what = page.Time(sent), 1
		}
		if at, ok := c.plan.Next(); ok && at <= next {
			next, what = at, 2
		}
		if talks && said <= next {
			next, what = said, 3
		}
		if next >= until {
			c.now = until
			c.swarm.net.Wait(until)
			return nil
		}
		c.now = max(c.now, next)
		c.swarm.net.Wait(c.now)
		switch what {
		case 1:
			c.link.End(int64(c.now), flow)
			x := c.does[c.owner[flow]]
			x.answer(uint32(flow - x.base))
		case 2:
			_, t := c.plan.Pop()
			c.does[t.who].happen(t)
		case 3:
			c.swarm.net.Step()
		}
	}
	return c.err
}

// Result says how it went. Stopped is true if the time was not over.
func (c *Cluster) Result() (r ClusterResult, stopped bool) {
	r = ClusterResult{Seconds: seconds(c.now.Sub(c.from)), Idled: c.idled / float64(c.looks), Unused: c.unused / float64(c.looks), Rows: c.swarm.rows, Moved: c.swarm.moved, Spread: c.swarm.spreads, Gathered: c.swarm.gathers, Logged: c.swarm.logged, Batches: c.swarm.batches, Account: c.swarm.account, Trips: slices.Clone(c.swarm.trips)}
	slices.Sort(r.Trips)
	for _, p := range c.peers {
		l, t := &p.c.log, p.c.ledger.Totals()
		s := Share{
			Pages: l.pages, Bytes: l.bytes, Busy: l.area / r.Seconds / float64(p.c.cfg.Conns), Received: p.received, Gossip: p.gossip, Leases: p.lent,
			Parts: len(p.parts), Queued: t.Queued,
		}
		r.Pages += s.Pages
		r.Bytes += s.Bytes
		r.Seen += t.Seen
		r.Trace = r.Trace*0x9e3779b97f4a7c15 ^ l.trace
		r.Nodes = append(r.Nodes, s)
	}
	return r, c.stop
}

// Progress says how many pages the nodes have fetched.
func (c *Cluster) Progress() (pages int64) {
	for _, x := range c.does {
		pages += x.log.pages
	}
	return pages
}
