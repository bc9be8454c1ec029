package frontier

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
	"weir/robots"
)

// driver plays the crawler round a frontier: disk, name service and servers,
// with answers drawn at random and given in any order. What it holds, it holds
// from what an owner of a host could see.
type driver struct {
	gives uint16 // the partition that hosts are given to
	t     *rapid.T
	f     *Frontier
	cfg   Config
	now   page.Time
	calm  bool // nothing fails any more

	sites   []*dSite
	hosts   map[string]*dHost
	names   []string // of hosts
	addrs   map[netip.Addr]map[string]bool
	pending []func() // answers that may come now
	taken   []dTaken // pages whose end is not durable
	open    int
	room    Room
	resting int
	gate    *dGate // nil: none
	depth   int    // of the gate
	version uint32 // of the last batch
	away    [parts]bool
}

// parts is how many partitions the sites of a driver are in.
const parts = 3

func (s *dSite) part() uint16 { return uint16(s.id % parts) }

type dSite struct {
	id      page.SiteID
	name    string
	host    *dHost
	disk    []Entry // waiting or handed out, in order
	seq     uint64
	rules   *robots.Rules
	had     page.Time // when
	ruled   bool
	fetched int64
	flying  int64
	ended   bool    // a page of it has ended durably
	over    bool    // given up: its pages ended as the failures of its host
	asks    int     // robots.txt for it under way
	others  []Entry // what waits of it while it is dropped
}

type dHost struct {
	name  string
	open  bool
	busy  bool
	site  page.SiteID
	addr  netip.Addr
	count int
	end   page.Time
	any   bool
	last  time.Duration
	took  time.Duration // by the last answer, whatever it was
	left  int           // requests that it still takes on the connection, -1 = any number
	idle  time.Duration // how long it keeps the connection open, 0 = for ever
	delay time.Duration
	rest  page.Time // by failures
	ttl   time.Duration
	addrs []netip.Addr

	leased bool // it may be visited
	lent   netip.Addr
	from   page.Time // by then
	sought bool      // by others
}

type dTaken struct {
	s *dSite
	e Entry
	o page.Outcome
}

func (d *driver) n(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(d.t, label) }

func (d *driver) bool(label string) bool { return rapid.Bool().Draw(d.t, label) }

func newDriver(t *rapid.T) *driver {
	d := &driver{t: t, gives: 77, hosts: map[string]*dHost{}, addrs: map[netip.Addr]map[string]bool{}, now: 1}
	d.cfg = Config{
		Order: rapid.SampledFrom(rankings).Draw(t, "ranking"), Wait: time.Duration(d.n("wait", 0, 2)) * time.Second, PerConn: d.n("c", 1, 4),
		Conns: d.n("r", 1, 5), PerServer: d.n("per server", 1, 2), PerCDN: 3, CDNDomains: d.n("cdn", 1, 4), Window: 1, Hot: d.n("hot", 0, 4),
		Holdable: time.Duration(d.n("holdable", 0, 3)) * time.Second, Proxy: d.n("proxy", 0, 5) == 0,
		SitePages: int64(d.n("site budget", 0, 1) * 12), DomainPages: int64(d.n("domain budget", 0, 1) * 25),
		Linger: time.Duration(d.n("linger", 0, 2))*time.Second + 1, Auto: d.bool("auto"), Leased: d.bool("leased"),
	}
	if d.cfg.Auto {
		d.cfg.PerConn = d.n("auto", 1, 20)
	}
	d.f = New(d.cfg)
	if d.bool("gate") {
		d.gate = &dGate{limit: d.n("limit", 1, 12), picky: d.bool("picky"), loads: map[string]int{}}
		if d.cfg.Leased {
			d.gate.leased = map[string]bool{}
		}
		d.depth = d.n("depth", 1, 4)
		d.f.Admit(d.gate, d.depth)
	}
	if d.bool("resumed") {
		d.f.Resume(d.now)
		d.resting = 1
	}
	for i := range d.n("hosts", 1, 5) {
		h := &dHost{name: fmt.Sprintf("h%d.d%d.org", i, i%3), ttl: time.Duration(d.n("ttl", 0, 2)) * 10 * time.Second}
		h.addrs = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(d.n("addr", 1, 2))})}
		if d.bool("two addresses") {
			h.addrs = append(h.addrs, netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}))
		}
		d.hosts[h.name], d.names = h, append(d.names, h.name)
		for _, form := range []string{"http://%s", "https://%s"}[:d.n("sites", 1, 2)] {
			s := &dSite{id: page.SiteID(len(d.sites) + 1), name: fmt.Sprintf(form, h.name), host: h}
			d.sites = append(d.sites, s)
			for range d.n("queued", 0, 40) {
				s.disk = append(s.disk, d.entry(s))
			}
			slices.SortFunc(s.disk, byPlace)
			d.f.Add(d.now, Known{ID: s.id, Name: s.name, Queued: int64(len(s.disk)), Old: len(s.disk) > 0, Cash: s.cash(nil), Part: s.part()})
		}
	}
	return d
}

func byPlace(a, b Entry) int {
	if a.Place.Before(b.Place) {
		return -1
	}
	if b.Place.Before(a.Place) {
		return 1
	}
	return 0
}

func (d *driver) entry(s *dSite) Entry {
	s.seq++
	depth := uint16(d.n("depth", 0, 3))
	path := fmt.Sprintf("/p%d", s.seq)
	if d.n("denied", 0, 4) == 0 {
		path = fmt.Sprintf("/d/p%d", s.seq)
	}
	score := float32(d.n("score", 0, 9))
	return Entry{Hash: s.seq, Depth: depth, Rest: path, Score: score, Place: d.cfg.Order.Place(depth, score, s.seq)}
}

// cash is the sum of the scores of what waits, but for what is handed out.
func (s *dSite) cash(f *Frontier) (sum float64) {
	for _, e := range s.disk {
		if f != nil {
			if f.taken.has(page.Key{Site: s.id, Hash: e.Hash}) {
				continue
			}
		}
		sum += float64(e.Score)
	}
	return sum
}

// check holds the frontier's books, and that it counts the cash of sites as the
// disk does.
func (d *driver) check() {
	d.f.check(d.t)
	for _, s := range d.sites {
		if known := d.f.sites.find(s.id); known != nil {
			if got, want := d.f.rich(known), s.cash(d.f); d.f.wealth != nil && (got.cash != want || got.rated > want || want >= Step*got.rated && want > 0) {
				d.t.Fatalf("%s: its cash is %+v, want %v", s.name, got, want)
			}
		}
	}
}

func (s *dSite) insert(e Entry) {
	i, _ := slices.BinarySearchFunc(s.disk, e, byPlace)
	s.disk = slices.Insert(s.disk, i, e)
}

func (s *dSite) remove(e Entry) {
	s.disk = slices.DeleteFunc(s.disk, func(x Entry) bool { return x.Hash == e.Hash })
}

// pump asks for everything there is to do now.
func (d *driver) pump() {
	d.room = Room{Fetch: d.n("room", 0, 3), Load: d.n("loads", 0, 2), Resolve: d.n("resolves", 0, 2), Settle: d.n("settles", 0, 3)}
	if d.calm {
		d.room = Room{Fetch: 9, Load: 9, Resolve: 9, Settle: 9}
	}
	for i := 0; ; i++ {
		if i > 10_000 {
			d.t.Fatalf("Next does not end")
		}
		before := d.inTurn()
		p, ok := d.f.Next(d.now, d.room)
		d.check()
		if !ok {
			d.gate.drained(d)
			return
		}
		if p.Open {
			d.overtaken(p.Host, before)
		}
		d.pick(p)
	}
}

func (d *driver) spend(n *int, what string) {
	if *n--; *n < 0 {
		d.t.Fatalf("%s without room", what)
	}
}

func (d *driver) later(do func()) { d.pending = append(d.pending, do) }

func (d *driver) pick(p Pick) {
	switch p.Kind {
	case Close:
		h := d.hosts[p.Host]
		if !h.open || h.busy {
			d.t.Fatalf("Close of %s, which has no idle connection", p.Host)
		}
		h.open = false
		d.open--
		d.gate.end(p.Host)
	case Load:
		d.spend(&d.room.Load, "Load")
		d.later(func() { d.load(p) })
	case Resolve:
		d.spend(&d.room.Resolve, "Resolve")
		if d.cfg.Proxy {
			d.t.Fatalf("a name was looked up behind a proxy")
		}
		d.later(func() { d.resolve(p) })
	case Settle:
		d.spend(&d.room.Settle, "Settle")
		d.settle(p)
	case Give:
		d.spend(&d.room.Settle, "Give")
		if h := d.hosts[p.Host]; h.open || p.To != d.gives {
			d.t.Fatalf("a page of %s is given to %d, not %d; visited meanwhile: %v", p.Host, p.To, d.gives, h.open)
		}
		d.taken = append(d.taken, dTaken{d.sites[p.Site-1], p.Entry, page.Denied})
	case Fetch, Robots:
		d.spend(&d.room.Fetch, "Fetch")
		d.request(p)
	case Lease:
		h := d.hosts[p.Host]
		if h.leased {
			d.t.Fatalf("%s: leave is asked for twice", p.Host)
		}
		d.later(func() { d.lease(h, p.Addr) })
	case Return:
		h := d.hosts[p.Host]
		if !h.leased || h.open {
			d.t.Fatalf("%s: leave is given back that it does not have, or needs", p.Host)
		}
		h.leased = false
	}
}

// lease gives leave to visit a host, or refuses it for now.
func (d *driver) lease(h *dHost, at netip.Addr) {
	if !d.calm && d.bool("stands") {
		d.f.Stands(h.name)
		d.later(func() { d.lease(h, at) })
		return
	}
	in := time.Duration(d.n("in", 0, 2)) * time.Second
	if h.leased = d.calm || d.bool("given"); h.leased {
		h.lent, h.from, h.sought = at, d.now.Add(in), false
	}
	d.f.Leased(d.now, h.name, h.leased, in)
}

func (d *driver) load(p Pick) {
	s := d.sites[p.Site-1]
	b := Batch{Site: p.Site, From: p.From}
	for _, e := range s.disk {
		if e.Place.Before(p.From) {
			continue
		}
		if len(b.Entries) == p.N {
			b.More = true
			break
		}
		b.Entries = append(b.Entries, e)
	}
	if s.ruled && s.asks == 0 {
		b.Rules, b.Age = s.rules, d.now.Sub(s.had)
	}
	d.f.Loaded(d.now, b)
}

func (d *driver) resolve(p Pick) {
	h := d.hosts[p.Host]
	if !d.calm && d.n("dns", 0, 9) == 0 {
		d.f.Resolved(d.now, p.Host, nil, 0, page.DNSTimeout)
		h.rest = max(h.rest, d.now.Add(page.DNSTimeout.Rest(d.cfg.Wait, 0, 1)))
		return
	}
	d.f.Resolved(d.now, p.Host, h.addrs, h.ttl, page.OK)
}

func (d *driver) settle(p Pick) {
	s := d.sites[p.Site-1]
	switch p.Outcome {
	case page.Denied:
		if s.rules == nil || s.rules.Allowed(p.Entry.Rest) {
			d.t.Fatalf("%s%s was denied and is allowed", s.name, p.Entry.Rest)
		}
	case page.SiteBudget:
		if s.fetched+s.flying < d.cfg.SitePages {
			d.t.Fatalf("%s: over budget after %d + %d pages", s.name, s.fetched, s.flying)
		}
	case page.DomainBudget:
	default:
		s.over = true
	}
	d.taken = append(d.taken, dTaken{s, p.Entry, p.Outcome})
}

func (d *driver) request(p Pick) {
	h, s := d.hosts[p.Host], d.sites[p.Site-1]
	gap := d.now.Sub(h.end)
	wait := max(d.cfg.Wait, h.delay)
	if d.cfg.Wait > 0 {
		wait = max(wait, h.last)
	}
	switch {
	case h.busy:
		d.t.Fatalf("%s: two requests at once", h.name)
	case p.Open && h.open:
		d.t.Fatalf("%s: two connections", h.name)
	case !p.Open && (!h.open || h.site != p.Site):
		d.t.Fatalf("%s: no connection of this site is open", h.name)
	case p.Open && h.any && gap < wait:
		d.t.Fatalf("%s: connected again after %v, its wait is %v", h.name, gap, wait)
	case gap < h.delay && h.any:
		d.t.Fatalf("%s: asked again after %v, its crawl-delay is %v", h.name, gap, h.delay)
	case d.cfg.Leased && (!h.leased || h.lent != p.Addr || d.now < h.from):
		d.t.Fatalf("%s: asked without leave for %v", h.name, p.Addr)
	case !p.Open && h.sought:
		d.t.Fatalf("%s: asked again though others wait for it", h.name)
	case d.now < h.rest:
		d.t.Fatalf("%s: asked %v before its rest was over", h.name, h.rest.Sub(d.now))
	case d.resting > 0 && d.now < page.Time(1).Add(d.cfg.Wait):
		d.t.Fatalf("%s: asked %v after a restart", h.name, d.now)
	}
	if d.cfg.Auto && !p.Open {
		d.further(h, gap)
	}
	if p.Open {
		h.open, h.site, h.addr, h.count, h.left, h.idle = true, p.Site, p.Addr, 0, -1, 0
		d.open++
		d.opened(h)
		if d.gate != nil {
			d.gate.start(d.t, p.Host, p.Addr)
		}
	}
	if h.count++; h.count > d.cfg.PerConn {
		d.t.Fatalf("%s: %d pages on one connection", h.name, h.count)
	}
	h.busy, h.any = true, true
	if s.over && s.host == h {
		d.t.Fatalf("%s was given up and asked again", s.name)
	}
	if p.Kind == Robots {
		s.asks++
		if s.ruled && d.now.Sub(s.had) < RobotsAge && p.Hops == 0 {
			d.t.Fatalf("%s: its robots.txt was asked for again after %v", s.name, d.now.Sub(s.had))
		}
		if p.Hops > RobotsHops {
			d.t.Fatalf("%s: redirect %d of a robots.txt was followed", h.name, p.Hops)
		}
	} else {
		d.fetching(p, s)
	}
	d.later(func() { d.answer(p) })
}

// further holds the manners of a further request on a connection whose pages
// follow the backlog.
func (d *driver) further(h *dHost, gap time.Duration) {
	switch {
	case gap < h.took:
		d.t.Fatalf("%s: asked again after %v on one connection, its last answer took %v", h.name, gap, h.took)
	case h.delay > 0:
		d.t.Fatalf("%s: a second page on one connection, its crawl-delay is %v", h.name, h.delay)
	case h.left == 0:
		d.t.Fatalf("%s: one request more than it takes on a connection", h.name)
	case h.idle > 0 && gap >= h.idle:
		d.t.Fatalf("%s: asked again after %v, it closes connections after %v", h.name, gap, h.idle)
	}
	if h.left > 0 {
		h.left--
	}
}

func (d *driver) opened(h *dHost) {
	same := 0
	for _, name := range d.names {
		if x := d.hosts[name]; x.open && x.addr == h.addr {
			same++
		}
	}
	if d.addrs[h.addr] == nil {
		d.addrs[h.addr] = map[string]bool{}
	}
	d.addrs[h.addr][page.Domain(h.name)] = true
	limit := d.cfg.PerServer
	if d.cfg.CDNDomains < 3 { // it may count as a CDN by domains that only wait for it
		limit = max(limit, d.cfg.PerCDN)
	}
	if d.open > d.cfg.Conns || !d.cfg.Proxy && same > limit {
		d.t.Fatalf("%d connections, %d to %v", d.open, same, h.addr)
	}
}

func (d *driver) fetching(p Pick, s *dSite) {
	switch {
	case !s.ruled || d.now.Sub(s.had) >= RobotsAge:
		d.t.Fatalf("%s%s was asked for without a robots.txt", s.name, p.Entry.Rest)
	case d.cfg.Order.Traits().Batched && p.Entry.Place.Class >= Outside:
		d.t.Fatalf("%s%s was asked for and is in no batch", s.name, p.Entry.Rest)
	case !s.rules.Allowed(p.Entry.Rest):
		d.t.Fatalf("%s%s was asked for and is forbidden", s.name, p.Entry.Rest)
	}
	s.flying++
	if d.cfg.SitePages > 0 && s.fetched+s.flying > d.cfg.SitePages {
		d.t.Fatalf("%s: %d + %d pages, the budget is %d", s.name, s.fetched, s.flying, d.cfg.SitePages)
	}
}

var (
	dRules = []*robots.Rules{
		robots.AllowAll(),
		robots.Parse([]byte("User-agent: *\nDisallow: /d"), "weir"),
		robots.Parse([]byte("User-agent: *\nDisallow: /d\nCrawl-delay: 2"), "weir"),
		robots.Parse([]byte("User-agent: *\nCrawl-delay: 5"), "weir"),
	}
	dOutcomes = []page.Outcome{
		page.OK, page.OK, page.OK, page.Redirected, page.ClientError, page.RateLimited, page.ServerError, page.Truncated, page.EarlyClose,
		page.ConnectFailed, page.TooSlow, page.HeaderTooLarge, page.Aborted,
	}
)

func (d *driver) answer(p Pick) {
	h, s := d.hosts[p.Host], d.sites[p.Site-1]
	v := Visit{Host: p.Host, Site: p.Site, Attempt: p.Entry.Attempt, Robots: p.Kind == Robots, Hops: p.Hops, Outcome: page.OK}
	v.Elapsed = time.Duration(d.n("elapsed", 0, 3)) * time.Second
	if !d.calm {
		v.Outcome = rapid.SampledFrom(dOutcomes).Draw(d.t, "outcome")
	}
	row := v.Outcome.Row()
	if row.Pause == page.Asked && d.bool("asked") {
		v.Asked = time.Minute
	}
	v.KeepAlive = row.Answer && !p.Last && d.bool("keep alive")
	h.busy, h.end, h.took = false, d.now, v.Elapsed
	if d.n("hints", 0, 3) == 0 {
		if v.Left = d.n("left", -1, 3); v.Left != 0 {
			h.left = max(v.Left, 0)
		}
		if v.Idle = time.Duration(d.n("idle", 0, 5)) * time.Second; v.Idle > 0 {
			h.idle = v.Idle
		}
	}
	if !v.KeepAlive {
		h.open = false
		d.open--
		d.gate.end(p.Host)
	}
	if row.Answer {
		h.last = v.Elapsed
	}
	h.rest = 0
	switch rotates := v.Outcome == page.ConnectFailed && len(h.addrs) > 1 && !d.cfg.Proxy; {
	case row.Pause != page.Polite && !rotates:
		h.rest = d.now.Add(v.Outcome.Rest(d.cfg.Wait, v.Asked, 1))
	}
	if v.Robots {
		d.robots(&v, s)
	} else {
		s.flying--
		if row.Answer && v.Outcome.Final(p.Entry.Attempt) {
			s.fetched++
		}
		d.taken = append(d.taken, dTaken{s, p.Entry, v.Outcome})
	}
	d.f.Done(d.now, v)
}

func (d *driver) robots(v *Visit, s *dSite) {
	switch v.Outcome {
	case page.OK, page.Truncated:
		v.Rules = rapid.SampledFrom(dRules).Draw(d.t, "rules")
	case page.Redirected:
		to := rapid.SampledFrom(d.names).Draw(d.t, "to")
		v.Redirect = page.Join(rapid.SampledFrom([]string{"http://", "https://"}).Draw(d.t, "scheme")+to, "/robots.txt")
	}
	s.asks--
	d.later(func() { d.f.RobotsSaved(s.id) })
	rules, follow := RobotsVerdict(v.Outcome, v.Rules, v.Redirect, v.Hops)
	if follow {
		return
	}
	if s.ruled = rules != nil; s.ruled {
		s.rules, s.had = rules, d.now
		s.host.delay = max(s.host.delay, rules.CrawlDelay())
	}
}

// commit makes the end of one page durable, or queues it again.
func (d *driver) commit() {
	i := d.n("which", 0, len(d.taken)-1)
	x := d.taken[i]
	d.taken = slices.Delete(d.taken, i, i+1)
	x.s.remove(x.e)
	d.f.Settled(page.Key{Site: x.s.id, Hash: x.e.Hash})
	if x.o.Final(x.e.Attempt) || x.o.Row().Pause == page.NoPause || x.o.HostFault() && d.f.host(x.s.host.name).care.dead != page.None {
		x.s.ended = true
		return
	}
	e := x.e
	if !x.o.HostFault() && x.o != page.Aborted {
		e.Attempt++
	}
	x.s.seq++
	e.Place = d.cfg.Order.Place(e.Depth, e.Score, x.s.seq)
	d.queue(x.s, e)
}

// queue makes an entry durable and known, with its site: the frontier may have
// forgotten that.
func (d *driver) queue(s *dSite, e Entry) {
	if d.away[s.part()] {
		s.others = append(s.others, e)
		return
	}
	s.insert(e)
	d.f.Add(d.now, Known{ID: s.id, Name: s.name, Used: s.fetched, Old: s.ended, Part: s.part()})
	d.f.Push(d.now, s.id, e)
}

// push queues a new page.
func (d *driver) push() {
	s := rapid.SampledFrom(d.sites).Draw(d.t, "site")
	d.queue(s, d.entry(s))
}

// move gives a queued page a better place.
func (d *driver) move() {
	s := rapid.SampledFrom(d.sites).Draw(d.t, "site")
	if len(s.disk) == 0 || d.away[s.part()] {
		return
	}
	e := rapid.SampledFrom(s.disk).Draw(d.t, "entry")
	s.seq++
	place := d.cfg.Order.Place(0, e.Score+9, s.seq)
	if d.cfg.Order.Traits().Batched {
		d.version++
		place = InBatch(d.version, 0)
	}
	d.place(s, e, place)
}

// place moves an entry there, with a better score.
func (d *driver) place(s *dSite, e Entry, place Place) {
	old := e.Place
	s.remove(e)
	e.Depth, e.Score, e.Place = 0, e.Score+9, place
	s.insert(e)
	for i := range d.taken {
		if d.taken[i].s == s && d.taken[i].e.Hash == e.Hash {
			d.taken[i].e.Place = e.Place
		}
	}
	d.f.Add(d.now, Known{ID: s.id, Name: s.name, Used: s.fetched, Old: s.ended, Part: s.part()})
	d.f.Move(d.now, s.id, old, 9, e)
}

// batch puts every page into a batch that is in none. It says whether there was
// one.
func (d *driver) batch() (any bool) {
	for _, s := range d.sites {
		for _, e := range slices.Clone(s.disk) {
			if d.cfg.Order.Traits().Batched && e.Place.Class >= Outside {
				d.version++
				d.place(s, e, InBatch(d.version, 0))
				any = true
			}
		}
	}
	return any
}

func (d *driver) answerOne() {
	i := d.n("answer", 0, len(d.pending)-1)
	do := d.pending[i]
	d.pending = slices.Delete(d.pending, i, i+1)
	do()
}

func (d *driver) act() {
	switch n := d.n("act", 0, 14); {
	case n < 5 && len(d.pending) > 0:
		d.answerOne()
	case n < 7 && len(d.taken) > 0:
		d.commit()
	case n == 7:
		d.push()
	case n == 8:
		d.move()
	case n == 9:
		d.now = d.now.Add(time.Duration(d.n("ms", 1, 3000)) * time.Millisecond)
	case n == 10:
		if at, ok := d.f.Wake(); ok && at > d.now {
			d.now = at
		}
	case n == 11 && d.n("a day", 0, 9) == 0:
		d.now = d.now.Add(RobotsAge)
	case n == 12:
		d.f.Urge(rapid.SliceOfNDistinct(rapid.SampledFrom(d.names), 0, len(d.names), rapid.ID).Draw(d.t, "urgent"))
	case n == 13 && d.cfg.Leased && d.bool("lapse"):
		h := d.hosts[rapid.SampledFrom(d.names).Draw(d.t, "host")]
		if h.leased && !h.open { // it has run out unused
			h.leased = false
			d.f.Leased(d.now, h.name, false, 0)
		} else if h.leased {
			h.sought = true
			d.f.Sought(h.name)
		}
	case n == 14:
		stays := d.n("stays", 0, parts)
		d.f.Give(d.gives, Gift{Hosts: d.n("given", 1, 3), Pages: int64(d.n("pages", 0, 60)), May: func(_ string, part uint16) bool { return int(part) != stays }})
	case n == 13:
		if p := d.n("part", 0, parts-1); d.away[p] {
			d.adopt(uint16(p))
		} else {
			d.drop(uint16(p))
		}
	}
	d.check()
}

// drop gives the sites of a partition to others. What was handed out goes on.
func (d *driver) drop(part uint16) {
	d.away[part] = true
	d.f.Drop([]uint16{part})
	for _, s := range d.sites {
		if s.part() != part {
			continue
		}
		var out []Entry
		for _, e := range s.disk {
			if d.f.taken.has(page.Key{Site: s.id, Hash: e.Hash}) {
				out = append(out, e)
			} else {
				s.others = append(s.others, e)
			}
		}
		s.disk = out
	}
}

// adopt takes a partition back, once nothing of it is under way. The others have
// fetched some of its pages, just now.
func (d *driver) adopt(part uint16) {
	for _, s := range d.sites {
		if s.part() == part && (len(s.disk) > 0 || s.asks > 0 || s.flying > 0) {
			return
		}
	}
	d.away[part] = false
	for _, s := range d.sites {
		if s.part() != part {
			continue
		}
		slices.SortFunc(s.others, byPlace)
		s.disk, s.others = s.others[d.n("theirs", 0, len(s.others)):], nil
		if !s.host.open {
			s.host.end, s.host.any = d.now, true
		}
		s.ended = true // by the others
		d.f.Add(d.now, Known{ID: s.id, Name: s.name, Queued: int64(len(s.disk)), Used: s.fetched, Old: true, Cash: s.cash(nil), Part: part, Met: true})
	}
}

// gather takes all partitions back that can be.
func (d *driver) gather() {
	for p, away := range d.away {
		if away {
			d.adopt(uint16(p))
		}
	}
}

// finish answers everything well until nothing is left.
func (d *driver) finish() {
	d.calm = true
	for i := 0; ; i++ {
		d.gather()
		d.pump()
		at, ok := d.f.Wake()
		switch {
		case i > 20_000:
			d.t.Fatalf("the crawl does not end: %+v", d.f.Count())
		case len(d.pending) > 0:
			d.answerOne()
		case len(d.taken) > 0:
			d.commit()
		case ok:
			d.now = max(d.now, at)
		case d.batch():
		default:
			return
		}
	}
}

// forgotten lets time go by until nothing but sites that are left alone remain
// in memory.
func (d *driver) forgotten() {
	for i := 0; i < 1000; i++ {
		d.now = d.now.Add(time.Hour)
		d.pump()
	}
	for s := range d.f.sites.all() {
		if !s.asleep() {
			d.t.Fatalf("%s is not forgotten: %+v", s.name, s)
		}
	}
	for name, h := range d.f.hosts {
		if h.known == 0 {
			d.t.Fatalf("%s is not forgotten: %+v", name, h)
		}
	}
}

// TestPoliteness plays random crawls: the rules of the package doc hold at
// every step, and every page gets its turn in the end.
func TestPoliteness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		for range d.n("steps", 0, 120) {
			d.pump()
			d.act()
		}
		d.finish()
		if c := d.f.Count(); c.Waiting != 0 || c.Active != 0 || c.Drift != 0 {
			t.Fatalf("left over: %+v", c)
		}
		for _, s := range d.sites {
			if known := d.f.sites.find(s.id); len(s.disk) > 0 && (known == nil || !known.asleep()) {
				t.Fatalf("%s: %d pages never had their turn", s.name, len(s.disk))
			}
		}
		d.forgotten()
	})
}

// TestStop: whatever is under way when the crawl is stopped, nothing new starts
// and every connection is closed.
func TestStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		for range d.n("steps", 0, 80) {
			d.pump()
			d.act()
		}
		d.f.Stop()
		d.calm = true
		for {
			p, ok := d.f.Next(d.now, Room{Fetch: 9, Load: 9, Resolve: 9, Settle: 9})
			switch {
			case ok && p.Kind != Close && p.Kind != Return:
				t.Fatalf("%+v after Stop", p)
			case ok:
				d.pick(p)
			case len(d.pending) > 0:
				d.answerOne()
			default:
				if d.open > 0 || d.f.Count().Active > 0 {
					t.Fatalf("%d connections are open, %+v", d.open, d.f.Count())
				}
				return
			}
			d.f.check(t)
		}
	})
}
