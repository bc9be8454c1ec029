package frontier

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"weir/page"
	"weir/robots"
)

// Config are the settings of a frontier.
type Config struct {
	Order       Ranking       `json:"-"`
	Wait        time.Duration // w: least rest between two connections to a host
	PerConn     int           // c: most pages on one connection
	Auto        bool          `json:",omitempty"` // how many up to PerConn follows the backlog: see auto.go
	Conns       int           // r: most connections
	PerServer   int           // most connections to one address
	PerCDN      int           // the same for an address shared by many domains
	CDNDomains  int           // how many make it such an address
	SitePages   int64         // budget of a site, 0 = none
	DomainPages int64         // budget of a registered domain, 0 = none
	Window      int           // entries of a queue in memory, more than PerConn
	Hot         int           // sites that may hold a window and rules while they rest
	RulesBytes  int64         // memory for the rules of sites that rest, 0 = 64 MiB
	Proxy       bool          // nothing is resolved; the host's name stands for the server
	Holdable    time.Duration // the longest pause between two requests that a connection is held open for; see Holdable
	NoRobots    bool          // --ignore-robots
	Leased      bool          `json:",omitempty"` // other nodes visit the same servers: see lease.go
	Linger      time.Duration // how long sites and hosts without work are remembered, 0 = a minute
	// Sites are settings of single hosts, by name; a longer wait only.
	Sites map[string]Setting
}

// Setting overrides the common settings for one host.
type Setting struct {
	Wait     time.Duration
	MaxPages int64
}

// RobotsAge is how long a robots.txt is believed (RFC 9309, section 2.4), unless
// a crawl-delay lets nothing be fetched for longer than that.
const RobotsAge = 24 * time.Hour

// maxErrands is how many errands wait at a host; a robots.txt that is redirected
// there beyond that could not be had for now.
const maxErrands = 64

// A robots.txt that the server fails to give is asked for again after
// robotsRest, which doubles each time up to maxRobotsRest. After robotsTries the
// site is left alone for this run; its pages stay queued for the next.
const (
	robotsTries   = 5
	robotsRest    = time.Minute
	maxRobotsRest = 30 * time.Minute
)

// maxTries is how many addresses of a host are tried before that counts as one
// failure of the host.
const maxTries = 4

// RobotsHops is how many redirects of a robots.txt are followed (RFC 9309,
// section 2.3.1.2).
const RobotsHops = 5

// Frontier is the two-level queue. See the package doc.
type Frontier struct {
	cfg     Config
	start   page.Time // hosts met before a restart rest from here
	resumed bool

	sites   index
	hosts   map[string]*host
	servers map[netip.Addr]*server
	taken   taken
	domains map[string]int64     // pages of registered domains, when they have a budget
	cares   map[string]*care     // of hosts that are forgotten
	fates   map[page.SiteID]fate // of sites that are forgotten
	noCare  care                 // of hosts that need none
	noLine  line                 // of hosts that have none

	ready   roster
	timers  roster
	naps    heap[*nap]
	gifts   map[page.SiteID]giving // sites that are being given away
	open    fifo[*host]            // holding, in turn
	stall   [needs]fifo[*host]
	closes  fifo[string] // connections to close, not yet told
	granted fifo[*host]  // that may be visited, in turn
	returns fifo[back]   // leases to give back, not yet told

	gate    Gate // nil: no visit needs to be admitted
	depth   int
	begun   int     // visits since all that could be picked was
	refused []*host // by the gate since then, in turn

	urged   []string // hosts that are urgent, the most urgent first
	hurried int      // of them, that have a connection
	soon    int      // of them, that will want one soon

	emptySites fifo[left[*site]]
	emptyHosts fifo[left[*host]]

	parts    []uint16             // of sites, by their number; none unless there are several
	loads    map[page.SiteID]bool // sites that are being loaded; true: dropped meanwhile, what comes is of no use
	siteLess func(a, b *site) bool
	batched  bool     // the order holds pages back
	byCash   bool     // the order looks at nothing but the cash of sites
	wealth   []wealth // of sites, by their number; none unless the order splits scores

	now      page.Time // of the last call of Next
	turn     uint64
	tempo    tempo // of all pages
	active   int   // connections
	lent     int   // hosts without one that may be visited, or leave for it is asked for
	ahead    int   // hosts without a connection that are made ready for one: looked up, loaded, or stalled for it
	lines    int   // hosts that hold a line
	warm     int   // sites that hold a window or rules
	rules    int64 // bytes of the rules they hold
	work     int64 // entries waiting, robots.txt on their way
	asleep   int64 // entries of sites that are asleep
	drift    int64 // entries that a site's count and its queue disagreed about
	stopping bool
	resting  bool // see Room.Rest
	useless  bool // an open connection may be over, see over
}

// New returns an empty frontier.
func New(cfg Config) *Frontier {
	f := &Frontier{
		cfg:     cfg,
		hosts:   map[string]*host{},
		servers: map[netip.Addr]*server{},
		domains: map[string]int64{},
		cares:   map[string]*care{},
		fates:   map[page.SiteID]fate{},
		loads:   map[page.SiteID]bool{},
	}
	traits := cfg.Order.Traits()
	f.batched, f.byCash = traits.Batched, traits.ByCash
	if traits.Splits {
		f.wealth = make([]wealth, 1)
	}
	f.cfg.Window = max(cfg.Window, 16, cfg.PerConn+16)
	f.cfg.RulesBytes = cmp.Or(cfg.RulesBytes, 64<<20)
	f.cfg.Linger = cmp.Or(cfg.Linger, linger)
	f.siteLess = func(a, b *site) bool {
		ka, kb := cfg.Order.Site(f.view(a)), cfg.Order.Site(f.view(b))
		return ka < kb || ka == kb && a.id < b.id
	}
	f.ready = f.roster()
	f.timers = newRoster(func(h *host) int64 { return int64(h.next) }, nil) // times are never coarse
	f.naps = heap[*nap]{less: func(a, b *nap) bool {
		return a.until < b.until || a.until == b.until && a.site.id < b.site.id
	}, place: func(n *nap) *int32 { return &n.placed }}
	return f
}

func sitePlace(s *site) *int32 { return &s.placed }

// roster is one of hosts whose turn it could be: the most urgent first, then by
// key, then who came first. Those that are urgent, or go before every page of
// the ranking, share a few keys at the lower end.
func (f *Frontier) roster() roster {
	return newRoster(func(h *host) int64 {
		if h.urge > 0 {
			return math.MinInt64 + maxUrge - int64(h.urge)
		}
		return max(f.key(h), coarse-1)
	}, func(a, b *host) int { return cmp.Compare(f.key(a), f.key(b)) })
}

// key says how early a host goes, whatever the Gate: errands first, since a
// whole site waits for each; then by the Ranking's key of the best site. What is
// to go before every page of the ranking gets its key here.
func (f *Frontier) key(h *host) int64 {
	if h.runs() || h.sites.len() == 0 {
		return math.MinInt64
	}
	return f.cfg.Order.Site(f.view(h.sites.top()))
}

// Resume says that this crawl has run before: every host first waits its full
// wait, since its last access may be unknown.
func (f *Frontier) Resume(now page.Time) { f.start, f.resumed = now, true }

// Known describes a site to the frontier.
type Known struct {
	ID     page.SiteID
	Name   string
	Queued int64         `json:",omitempty"` // entries on disk
	Used   int64         `json:",omitempty"` // pages of it that were fetched
	More   int64         `json:",omitempty"` // pages that are among them since it was described last, or (less than 0) no more, and not by what was handed out here
	Old    bool          `json:",omitempty"` // pages of it have ended: its rules may be on disk
	Cash   float64       `json:",omitempty"` // the sum of the scores of its entries
	Part   uint16        `json:",omitempty"` // the partition it belongs to, see Drop
	Met    bool          `json:",omitempty"` // others may have visited it a moment ago: it first waits its full wait
	Ago    time.Duration `json:",omitempty"` // how long a moment ago is at least
}

// HostState is what of a host survives a restart.
type HostState struct {
	Failures int           `json:",omitempty"` // visits in a row that failed; its rests grow by them
	Last     time.Duration `json:",omitempty"` // how long the last answer took, or a little more
	Rest     time.Duration `json:",omitempty"` // what is left of its rest
	Pace     time.Duration `json:",omitempty"` // how long one of its pages takes, about; 0 = not known
}

// Add makes a site known, or known again after it was forgotten. For a site
// that is not forgotten it does nothing but to raise the number of its entries,
// and to count its pages.
func (f *Frontier) Add(now page.Time, k Known) {
	s := f.sites.find(k.ID)
	if s == nil {
		s = &site{id: k.ID, name: k.Name, used: k.Used, complete: !k.Old, fate: f.fates[k.ID]}
		delete(f.fates, k.ID)
		s.host = f.host(hostPart(k.Name))
		s.host.known++
		f.sites.add(s)
		f.place(k)
		if k.Queued == 0 {
			f.empty(s)
		}
		f.Used(page.Domain(s.host.name), k.More)
	} else if s.dropped {
		f.Recount(k.ID, k.Used)
	} else {
		f.use(s, k.More)
	}
	if k.Met {
		f.met(now.Add(-k.Ago), s.host)
	}
	if k.Queued > s.queued {
		s.complete = false
		f.grow(now, s, k.Queued-s.queued, max(k.Cash-f.rich(s).cash, 0))
	}
}

// hostPart returns the host in a site's name, as a part of the same string.
func hostPart(site string) string {
	host := page.SiteHost(site)
	if i := strings.Index(site, host); i >= 0 {
		return site[i : i+len(host)]
	}
	return host
}

// Used adds to the pages that a registered domain has had.
func (f *Frontier) Used(domain string, pages int64) {
	if f.cfg.DomainPages > 0 {
		f.domains[domain] += pages
	}
}

// host returns the host of this name, making it known if it is not.
func (f *Frontier) host(name string) *host {
	if h := f.hosts[name]; h != nil {
		return h
	}
	h := &host{name: name, care: &f.noCare, line: &f.noLine, urge: f.urgency(name)}
	if c := f.cares[name]; c != nil {
		delete(f.cares, name)
		h.care, h.next, c.until = c, c.until, 0
		h.pace = pace(c.saved.Pace)
	}
	if f.resumed {
		h.next = max(h.next, f.start.Add(f.wait(h)))
	}
	f.hosts[name] = h
	return h
}

// wait is the host's rest after a visit that went well.
func (f *Frontier) wait(h *host) time.Duration {
	w := max(f.cfg.Wait, f.cfg.Sites[h.name].Wait)
	if w > 0 {
		w = max(w, h.care.last)
	}
	return max(w, h.care.delay)
}

// Push adds an entry that is durably queued.
func (f *Frontier) Push(now page.Time, id page.SiteID, e Entry) {
	s := f.sites.find(id)
	if !s.warm && f.warm >= f.cfg.Hot {
		s.complete = false // too many windows already: it stays on disk
	}
	s.insert(e, f.cfg.Window)
	f.heat(s)
	f.grow(now, s, 1, float64(e.Score))
}

// heat keeps the counts of what sites hold in memory.
func (f *Frontier) heat(s *site) {
	if w := s.hot; w != nil && w.rules == nil {
		f.rules -= w.size
		if w.size = 0; len(s.live()) == 0 {
			s.hot = nil
		}
	}
	switch {
	case s.hot != nil && !s.warm:
		f.warm++
	case s.hot == nil && s.warm:
		f.warm--
	}
	s.warm = s.hot != nil
}

// obey gives a site its rules, which are so old already.
func (f *Frontier) obey(now page.Time, s *site, rules *robots.Rules, age time.Duration) {
	w, size := s.heated(), int64(rules.Size())
	f.rules += size - w.size
	w.rules, w.until, w.size = rules, now.Add(f.believed(s.host, rules)-age), size
	f.slow(s.host, rules.CrawlDelay())
	f.heat(s)
}

// believed is how long a site's rules are. After a longer crawl-delay they must
// still hold for one page, or nothing but robots.txt would ever be fetched.
func (f *Frontier) believed(h *host, rules *robots.Rules) time.Duration {
	return max(RobotsAge, max(h.care.delay, rules.CrawlDelay())+time.Hour)
}

// Move gives a queued entry another place; gain is what its score has grown by.
// An entry that was handed out already goes on as it is.
func (f *Frontier) Move(now page.Time, id page.SiteID, old Place, gain float64, e Entry) {
	s := f.sites.find(id)
	if f.out(s, e.Hash) {
		return
	}
	s.drop(old, e.Hash)
	s.insert(e, f.cfg.Window)
	f.earn(s, gain)
	f.heat(s)
	f.rerank(s)
	f.wake(now, s.host)
}

// out says that an entry was handed out and is not settled.
func (f *Frontier) out(s *site, hash uint64) bool {
	return s.taken > 0 && f.taken.has(page.Key{Site: s.id, Hash: hash})
}

func (f *Frontier) grow(now page.Time, s *site, n int64, cash float64) {
	s.queued += n
	f.earn(s, cash)
	if s.asleep() {
		f.asleep += n
		return
	}
	f.work += n
	f.rerank(s)
	f.wake(now, s.host)
}

// rerank puts a site, and its host, where its changed key belongs.
func (f *Frontier) rerank(s *site) {
	h := s.host
	want := s.queued > 0 && !s.away && !s.asleep() && !f.holds(s)
	switch {
	case want && s.placed == 0:
		h.sites.push(s, f.siteLess)
	case want:
		h.sites.fix(s)
	case s.placed > 0:
		h.sites.remove(s)
	}
	if s.queued == 0 {
		f.gave(s)
		f.empty(s)
	}
	f.refile(h)
}

// holds says that the order lets none of the site's pages be taken, as far as is
// known.
func (f *Frontier) holds(s *site) bool { return f.batched && s.first().Class >= Outside }

// refile puts a host whose key has changed where it belongs.
func (f *Frontier) refile(h *host) {
	switch h.state {
	case ready:
		f.ready.fix(h)
	case crowded:
		h.line.server.waiting.fix(h)
	}
}

// postpone lets a host rest at least until t. A host that is ready or holds a
// connection finds out when its turn comes.
func (f *Frontier) postpone(h *host, t page.Time) {
	if t <= h.next {
		return
	}
	h.next = t
	if h.state == resting {
		f.timers.fix(h)
	}
}

// wake gives an idle host that has work its turn, or its rest.
func (f *Frontier) wake(now page.Time, h *host) {
	if h.state == idle && h.wanted() {
		f.queue(h)
		f.rest(now, h)
	}
}

// queue puts a host behind those that came before it and are its equals.
func (f *Frontier) queue(h *host) {
	f.turn++
	h.turn = f.turn
}

// rest puts a host that has no connection where it belongs: asleep, in turn,
// or nowhere. One that comes back from a lookup or a load keeps its turn, or
// all hosts would be loaded before the first page is fetched.
func (f *Frontier) rest(now page.Time, h *host) {
	switch {
	case !h.wanted():
		h.state = idle
		f.decline(h)
		f.unlease(now, h)
		f.spare(h)
		f.desert(h)
	case h.next > now && h.asks():
		if h.next.Sub(now) > leaseKeep {
			f.unlease(now, h)
		}
		f.sleep(h)
		f.spare(h)
	default:
		f.line(h)
		if !h.asks() {
			f.decline(h)
		}
	}
}

// line puts a host in turn. One that has leave to be visited has had its turn.
func (f *Frontier) line(h *host) {
	if h.line.leased {
		h.state = granted
		f.granted.push(h)
		return
	}
	if len(f.gifts) > 0 && h.sites.len() > 0 && h.sites.top().over == given {
		_, _ = f.stallOn(h, needSettle) // for that it needs no connection
		return
	}
	h.state = ready
	f.ready.push(h)
}

// sleep puts a host among the timers until its next request may be sent.
func (f *Frontier) sleep(h *host) {
	h.state = resting
	f.timers.push(h)
	if h.line.conn == nil {
		f.decline(h)
	}
}

// spare gives up a host's line when too many hold one.
func (f *Frontier) spare(h *host) {
	if f.tight() {
		f.part(h)
	}
}

// Settled says that what became of an entry that Next handed out is durable.
func (f *Frontier) Settled(k page.Key) {
	if f.taken.remove(k) {
		f.sites.find(k.Site).taken--
	}
}

// RobotsSaved says that what came of one Robots pick for the site is durable.
func (f *Frontier) RobotsSaved(id page.SiteID) {
	s := f.sites.find(id)
	if s == nil || s.unsaved == 0 {
		return
	}
	if s.unsaved--; s.host.line.conn != s && s.host.state != loading {
		f.cool(s) // it could not be when its visit ended
	}
}

// Batch answers a Load: the first entries on disk from From on, whether there
// are more, and the stored rules with their age, if there are any.
type Batch struct {
	Site    page.SiteID
	From    Place
	Entries []Entry
	More    bool
	Rules   *robots.Rules `json:",omitempty"`
	Age     time.Duration `json:",omitempty"`
}

// Loaded fills a site's window. Batches must come in order with Push, Move and
// Settled: what they show is what those calls have told so far.
func (f *Frontier) Loaded(now page.Time, b Batch) {
	s := f.sites.find(b.Site)
	if s == nil || s.host.state != loading {
		return
	}
	dropped := f.loads[s.id]
	delete(f.loads, s.id)
	if !dropped && !s.low().Before(b.From) { // else an earlier entry came meanwhile: load again from there
		w := s.heated()
		w.window = slices.Grow(w.window, min(len(b.Entries), f.cfg.Window))
		for _, e := range b.Entries {
			if len(w.window) < f.cfg.Window && !f.out(s, e.Hash) {
				w.window = append(w.window, e)
			}
		}
		n := int64(len(w.window))
		s.complete = !b.More && n < int64(f.cfg.Window)
		if s.complete && n != s.queued {
			// What is on disk decides, or the crawl would wait for pages
			// that do not exist.
			f.drift += max(n-s.queued, s.queued-n)
			f.work += n - s.queued
			s.queued = n
			f.earn(s, 0)
		} else if n == 0 && !s.complete {
			s.setLow(b.Entries[len(b.Entries)-1].Place.After()) // all of them are taken
		}
	}
	if b.Rules != nil && s.rules(now) == nil && b.Age < f.believed(s.host, b.Rules) {
		f.obey(now, s, b.Rules, b.Age)
	}
	f.heat(s)
	f.rerank(s)
	h := s.host
	if h.line.conn != nil {
		f.hold(h)
		return
	}
	f.ahead--
	f.rest(now, h)
	// Behind a gate the first in turn may not be the first to pass: to give its
	// window up again would be to load it for ever.
	if h.state != granted && s.over != given && (h.state != ready || f.gate == nil && f.ready.top() != h) {
		f.cool(s) // it is not its turn after all
		f.spare(h)
	}
}

// hold keeps a connection open for its next request.
func (f *Frontier) hold(h *host) {
	h.state = holding
	f.open.push(h)
	f.useless = f.useless || f.over(f.now, h)
}

// slow makes a host obey a crawl-delay, from its last answer on.
func (f *Frontier) slow(h *host, delay time.Duration) {
	if delay <= h.care.delay {
		return
	}
	f.mind(h).delay = delay
	f.postpone(h, f.dial(h).end.Add(delay))
}

// Resolved answers a Resolve.
func (f *Frontier) Resolved(now page.Time, name string, addrs []netip.Addr, ttl time.Duration, o page.Outcome) {
	h := f.hosts[name]
	if h == nil || h.state != resolving {
		return
	}
	h.state = turning
	f.ahead--
	switch {
	case o != page.None && o != page.OK:
		f.fail(now, h, nil, o, 0)
	case len(addrs) == 0:
		f.fail(now, h, nil, page.DNSFailed, 0)
	default:
		if h.care.lost != (streak{}) {
			h.care.lost = streak{}
		}
		l := f.dial(h)
		l.addrs, l.expires, l.resolved = addrs, now.Add(ttl), true
	}
	f.rest(now, h)
}
