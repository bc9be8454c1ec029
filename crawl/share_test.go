package crawl

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
	"weir/robots"
)

// fleet are the Ledgers of several nodes, and the logs between them. Who owns a
// partition is the test's to say; package overlay has its own tests.
type fleet struct {
	t     *rapid.T
	keys  overlay.Keys
	logs  [][]overlay.Batch // by partition, and the common one
	nodes []*ship
	owner []int // by partition; -1 = nobody
	epoch uint64
	plan  *flow.Plan
	more  []*flow.Plan // of other programs that share the crawl
	later []*flow.Plan // of those that come to share it
	since []int64      // by program: see Member
	left  []bool       // by program
	own   bool
	seeds []string
	web   map[string][]string
	moved map[string]string // where pages redirect to
	lost  map[string]bool   // pages that cannot be had
	now   int64             // a moment for each fetch
	turn  int64             // when the web became another one than it was
	was   *fleet            // with that one
	asked map[string]int
	ended map[string]overlay.Ended // as the logs say
	size  int64                    // of pages, if bytes are counted
	order frontier.Ranking
	ahead bool // rows of a parcel come before the ends of the one before it

	crashes int
	said    int // batches in the logs
}

type ship struct {
	fl     *fleet
	name   string
	kv     *memory
	origin uint64
	alone  bool // it shares with nobody
	l      *Ledger
	rules  *Program
	others []*Program
	stop   string              // why the crawl shall end, if it is to
	held   map[page.Key]string // pages whose records it has
	outbox []overlay.Parcel
	queued map[page.Key]string // pages that the Engine would know of
	site   map[page.SiteID]frontier.Known
	id     uint64
	books  books
}

const fleetParts = 5

func (s *ship) open() {
	var err error
	s.rules, err = NewProgram(ProgramConfig{Plan: s.fl.plan, Own: s.fl.own, Secret: worldSecret}, s.kv)
	s.must(err)
	cfg := LedgerConfig{Order: s.fl.order, Trap: frontier.DefaultTrap(), Rules: s.rules, Traits: s.rules.Traits(), Secret: worldSecret, Memory: ample, Again: true}
	if s.others = nil; len(s.fl.more) > 0 {
		members := []Member{{Name: "0", Rules: s.rules}}
		for i, plan := range s.fl.more {
			p, err := NewProgram(ProgramConfig{Plan: plan, Own: true, Secret: worldSecret, Version: uint8(i + 1)}, s.kv)
			s.must(err)
			s.others = append(s.others, p)
			members = append(members, Member{Name: fmt.Sprint(i + 1), Rules: p})
		}
		several := NewSeveral(s.kv, members)
		cfg.Rules, cfg.Traits = several, several.Traits()
	}
	if several := s.enrolled(); several != nil {
		cfg.Rules, cfg.Traits = several, several.Traits()
	}
	if !s.alone {
		cfg.Share = &Sharing{Keys: s.fl.keys, Parts: fleetParts, Node: s.name, Origin: s.origin, Bytes: s.fl.size > 0}
	}
	s.l, err = NewLedger(s.kv, cfg)
	s.must(err)
	s.l.Clock(1e18)
	start, err := s.l.Start(false)
	s.must(err)
	s.stop = start.Stop
	if s.held == nil {
		s.held = map[page.Key]string{}
	}
	s.outbox, err = s.l.Outbox()
	s.must(err)
	s.queued, s.site, s.books = map[page.Key]string{}, map[page.SiteID]frontier.Known{}, newBooks()
}

func (s *ship) must(err error) {
	if err != nil {
		s.fl.t.Fatal(err)
	}
}

func (s *ship) commit() {
	w := &batch{}
	ev, err := s.l.Flush(w)
	s.must(err)
	s.kv.commit(w)
	s.heard(&ev)
	if ev.Parcel != nil {
		s.outbox = append(s.outbox, *ev.Parcel)
	}
	for _, k := range ev.Sites {
		s.site[k.ID] = k
	}
	if s.stop == "" {
		s.stop = ev.Stop
	}
	for _, q := range ev.Queued {
		if !s.alone && s.fl.owner[s.site[q.Site].Part] != s.fl.index(s) {
			s.fl.t.Fatalf("%s heard of a page in partition %d, which is not its own", s.name, s.site[q.Site].Part)
		}
		s.queued[page.Key{Site: q.Site, Hash: q.Entry.Hash}] = s.site[q.Site].Name + q.Entry.Rest
	}
}

func (f *fleet) index(s *ship) int { return slices.Index(f.nodes, s) }

// post appends the first parcel of the outbox to the logs: rows first. It may be
// cut short, and begins anew then.
func (s *ship) post(cut bool) {
	p := s.outbox[0]
	for i, post := range p.Rows {
		if cut && i == len(p.Rows)/2 {
			return
		}
		s.fl.append(s, post)
	}
	if cut {
		return
	}
	if s.fl.ahead && len(s.outbox) > 1 {
		for _, post := range s.outbox[1].Rows {
			s.fl.append(s, post)
		}
	}
	for _, post := range p.Ended {
		s.fl.append(s, post)
	}
	s.outbox = s.outbox[1:]
	s.l.Posted(p.Seq)
}

func (f *fleet) append(s *ship, p overlay.Post) {
	b, err := overlay.ReadBatch(overlay.AppendBatch(nil, &overlay.Batch{Origin: s.origin, Records: p.Records}))
	s.must(err)
	f.logs[p.Part] = append(f.logs[p.Part], b)
	f.said++
	for _, r := range p.Records {
		if d, ok := r.(overlay.Done); ok {
			for _, e := range d.Pages {
				f.ended[fmt.Sprint(p.Part, e.Site, e.Hash)] = e
			}
		}
	}
}

// read applies what is new in the log of a partition.
func (s *ship) read(part int) {
	for i, b := range s.fl.logs[part] {
		for s.fl.later != nil && !s.l.Knows(&b) {
			s.commit()
			s.enrol()
		}
		s.must(s.l.Apply(part, uint64(i+1), b))
	}
	s.commit()
}

func (s *ship) adopt(part int) {
	s.fl.epoch++
	s.fl.append(s, overlay.Post{Part: part, Records: []overlay.Record{overlay.Taken{Epoch: s.fl.epoch, Node: s.name}}})
	s.read(part)
	s.fl.owner[part] = s.fl.index(s)
	ev, err := s.l.Adopt(part, s.fl.epoch)
	s.must(err)
	s.commit()
	for _, k := range ev.Sites {
		s.books.used[k.ID] = k.Used + s.books.under(k.ID)
	}
	landed := false
	for s.land(func(v *voyage) bool { return int(s.site[v.key.Site].Part) == part }) { // before these nothing new is ordered
		landed = true
		s.commit()
	}
	for _, k := range ev.Sites {
		s.site[k.ID] = k
		got, err := s.l.Load(Load{Site: k.ID, N: 1 << 20})
		s.must(err)
		if len(got.Entries) != int(k.Queued) && !landed {
			s.fl.t.Fatalf("%s: %d pages of %s, %d are said to wait", s.name, len(got.Entries), k.Name, k.Queued)
		}
		for _, e := range got.Entries {
			if end, ok := s.fl.ended[fmt.Sprint(part, k.Name, e.Hash)]; ok && s.others == nil && s.fl.later == nil && !(s.l.cfg.Traits.Depth && e.Depth < end.Depth || s.l.cfg.Traits.Score && e.Score > end.Score) {
				s.fl.t.Fatalf("%s: %s%s has ended, and waits", s.name, k.Name, e.Rest)
			}
			key := page.Key{Site: k.ID, Hash: e.Hash}
			s.queued[key], s.books.counted[key] = k.Name+e.Rest, e.Counted
		}
	}
}

func (s *ship) disown(part int) {
	s.l.Disown(part)
	s.fl.owner[part] = -1
	for k := range s.queued {
		if int(s.site[k.Site].Part) == part {
			delete(s.queued, k)
		}
	}
	for id := range s.books.used {
		if int(s.site[id].Part) == part {
			delete(s.books.used, id)
		}
	}
	s.books.stale = slices.DeleteFunc(s.books.stale, func(v voyage) bool { return int(s.site[v.key.Site].Part) == part })
}

// fetch takes one page that waits, and ends it.
func (s *ship) fetch() {
	if v := s.order(); v != nil {
		s.answer(v)
	}
}

// row is what a node's store says of a page.
func (s *ship) row(k page.Key) (r urlRow) {
	b, ok, err := s.kv.Get(pageKey(keyURL, k))
	s.must(err)
	if ok {
		s.must(r.read(b))
	}
	return r
}

// lent says when a page was fetched that another node lends, the oldest that will do.
func (f *fleet) lent(to *ship, u string, since int64) (at int64, ok bool) {
	for _, s := range f.nodes {
		for k, have := range s.held {
			if r := s.row(k); s != to && have == u && r.state == stateEnded && r.archive.File == 1 && r.at >= since && (!ok || r.at < at) {
				at, ok = r.at, true
			}
		}
	}
	return at, ok
}

// give leaves pages of a host that wait to a later partition than theirs, all of a site.
func (s *ship) give(to int) {
	ids := slices.Sorted(maps.Keys(s.site))
	if s.fl.keys.Scheme().Second != overlay.Adapt || len(ids) == 0 {
		return
	}
	s.giveSite(s.site[rapid.SampledFrom(ids).Draw(s.fl.t, "given")], to)
}

// giveSite leaves what waits of one site, if it may go there.
func (s *ship) giveSite(site frontier.Known, to int) {
	home := s.fl.keys.HostPart(page.SiteHost(site.Name))
	if (int(site.Part)-home+fleetParts)%fleetParts >= (to-home+fleetParts)%fleetParts {
		return
	}
	got, err := s.l.Load(Load{Site: site.ID, N: 1 << 20})
	s.must(err)
	for _, e := range got.Entries {
		k := page.Key{Site: site.ID, Hash: e.Hash}
		if _, waits := s.queued[k]; waits {
			delete(s.queued, k)
			s.id++
			v := &voyage{id: s.id, key: k, answered: true}
			s.books.flights[v.id] = v
			s.books.add(v, frontier.Declined(e.Counted))
			s.must(s.l.Give(Give{ID: s.id, Site: site.ID, Entry: e, To: uint16(to)}))
		}
	}
}

// shown holds what people see of a page to where it was fetched: there it is
// listed, and who only read of it in the logs says so.
func (f *fleet) shown(reader *ship, u string) {
	listed := 0
	for _, s := range append(f.nodes, reader) {
		v := &View{kv: s.kv, secret: worldSecret, sites: map[page.SiteID]siteRow{}}
		s.must(v.Pages(func(p *PageInfo) bool {
			if p.URL.String() == u {
				listed++
				if s == reader || p.Record.File != 1 {
					f.t.Fatalf("%s lists %s with its record at %v", s.name, u, p.Record)
				}
			}
			return true
		}))
		if f.keys.Scheme().Leased() { // its sites have a number in each partition
			continue
		}
		p, err := v.Page(mustURL(u))
		s.must(err)
		if s == reader && (p == nil || p.State != "elsewhere" || p.URL.String() != u || p.Record.File != 0) {
			f.t.Fatalf("the reader says of %s: %+v", u, p)
		}
	}
	if listed == 0 {
		f.t.Fatalf("no node lists %s", u)
	}
}

// facts are those of a page.
func (f *fleet) facts(k page.Key, u string) *page.Facts { return f.factsAt(k, u, f.now) }

// factsAt are those that it had at a time.
func (f *fleet) factsAt(k page.Key, u string, at int64) *page.Facts {
	if at < f.turn {
		return f.was.factsAt(k, u, at)
	}
	if f.lost[u] {
		return &page.Facts{Key: k, URL: mustURL(u), Outcome: page.HeaderTooLarge, At: at}
	}
	if to := f.moved[u]; to != "" {
		l := link(to)
		l.Kind = page.Redirect
		return &page.Facts{Key: k, URL: mustURL(u), Outcome: page.Redirected, Status: 301, Redirect: l, At: at}
	}
	x := &page.Facts{Key: k, URL: mustURL(u), Outcome: page.OK, Status: 200, Bytes: f.size, At: at}
	for _, to := range f.web[u] {
		x.Links = append(x.Links, link(to))
	}
	return x
}

// again delivers pages again that are due; those of others are theirs to deliver.
func (s *ship) again() {
	for s.commit(); s.l.totals.Due > 0 || s.l.totals.Stale || s.l.totals.Steered; s.commit() {
		keys, err := s.l.Due(8)
		s.must(err)
		for _, k := range keys {
			if u, ok := s.held[k]; ok {
				s.must(s.l.Again(s.fl.factsAt(k, u, s.row(k).at)))
			} else {
				s.must(s.l.Skip(k))
			}
		}
		s.l.Delivered()
	}
}

// board adds a node.
func (f *fleet) board(s *ship) *ship {
	s.fl, s.kv = f, &memory{}
	w := &batch{}
	WritePrograms(w, Programs{Next: 1})
	s.kv.commit(w)
	s.open()
	s.must(s.l.Begin())
	for _, u := range f.seeds {
		s.must(s.l.Seed(mustURL(u), 0))
	}
	s.commit()
	return s
}

func newFleet(t *rapid.T, plan *flow.Plan, own bool) *fleet {
	f := &fleet{t: t, logs: make([][]overlay.Batch, fleetParts+1), plan: plan, own: own, web: map[string][]string{}, moved: map[string]string{}, asked: map[string]int{}, ended: map[string]overlay.Ended{}, order: frontier.Length{}}
	f.owner = slices.Repeat([]int{-1}, fleetParts)
	return f
}

// fleetPages are names for so many pages of a few hosts.
func fleetPages(n, hosts int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("http://h%d.test/p%d", i%hosts, i))
	}
	return all
}

func mustScheme(text string) overlay.Scheme {
	s, err := overlay.ParseScheme(text)
	if err != nil {
		panic(err)
	}
	return s
}

// link draws so many links for every page, or where it redirects to.
func (f *fleet) link(all []string, n int) {
	for _, u := range all {
		if rapid.IntRange(0, 5).Draw(f.t, "redirects") == 0 {
			f.moved[u] = rapid.SampledFrom(all).Draw(f.t, "target")
			continue
		}
		for range n {
			f.web[u] = append(f.web[u], rapid.SampledFrom(all).Draw(f.t, "link"))
		}
	}
}

// crew makes n nodes ready.
func (f *fleet) crew(n int) {
	for i := range n {
		f.nodes = append(f.nodes, f.board(&ship{name: fmt.Sprintf("n%d", i), origin: uint64(i + 1)}))
	}
}

// tell makes durable what the node has, and posts it.
func (s *ship) tell() {
	for s.commit(); len(s.outbox) > 0; {
		s.post(false)
	}
}

// scored says that a program gives priorities, which are no cash.
func (f *fleet) scored() bool {
	return slices.ContainsFunc(append(append([]*flow.Plan{f.plan}, f.more...), f.later...), func(plan *flow.Plan) bool {
		p, err := NewProgram(ProgramConfig{Plan: plan, Own: true, Secret: worldSecret}, &memory{})
		if err != nil {
			f.t.Fatal(err)
		}
		return p.Traits().Priority
	})
}

// sail lets three nodes crawl, crash, and hand partitions over, until nothing is
// left to do.
func (f *fleet) sail() {
	t := f.t
	if !f.scored() && rapid.Bool().Draw(t, "cash") {
		f.order = frontier.SiteOPIC{}
	}
	f.ahead = rapid.Bool().Draw(t, "ahead")
	f.crew(3)
	n := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	for range n("steps", 200) {
		s := f.nodes[n("node", 2)]
		part := n("part", fleetParts-1)
		switch n("act", 15+min(len(f.later), 2)) {
		case 0, 1, 2:
			s.fetch()
		case 3:
			s.commit()
			s.l.Pressed(Counted{Ready: n("ready", 1)})
		case 4:
			if len(s.outbox) > 0 {
				s.post(n("cut", 3) == 0)
			}
		case 5:
			if f.owner[part] == f.index(s) {
				s.read(part)
			}
		case 6:
			if f.owner[part] < 0 {
				s.commit()
				s.adopt(part)
			}
		case 7: // a hand-over: everything is told first
			if f.owner[part] == f.index(s) {
				s.tell()
				s.disown(part)
			}
		case 8: // a crash
			for p, o := range f.owner {
				if o == f.index(s) {
					f.owner[p] = -1
				}
			}
			f.crashes++
			s.open()
		case 9:
			s.read(fleetParts)
		case 10:
			s.again()
		case 11: // a fence: what it has to say comes late
			s.commit()
			for p, o := range f.owner {
				if o == f.index(s) {
					s.disown(p)
				}
			}
			f.crashes++
		case 12: // a standby reads what others do
			s.commit()
			s.read(part)
		case 13:
			s.give(part)
		case 14:
			s.order()
		case 15:
			s.land(func(*voyage) bool { return n("lands", 1) == 0 })
		case 16: // one has others meet with what it means to them
			s.commit()
			s.enrol()
			s.again()
			s.tell()
		case 17:
			f.leave(n("leaver", len(f.later)-1))
		}
	}
	f.enrol()
	f.finish(3)
}

// finish lets the first n nodes work until nothing is left to do.
func (f *fleet) finish(n int) {
	for still := 0; still < 3; {
		before := f.said
		for i, s := range f.nodes[:n] {
			s.commit()
			for part := range fleetParts {
				if f.owner[part] < 0 && part%n == i {
					s.adopt(part)
				}
			}
			for len(s.outbox) > 0 {
				s.post(false)
			}
			for part, o := range f.owner {
				if o == i {
					s.read(part)
				}
			}
			s.read(fleetParts)
			s.again()
			for len(s.queued)+len(s.books.stale) > 0 {
				s.fetch()
			}
			for s.land(func(*voyage) bool { return true }) {
				s.commit()
			}
		}
		if still++; f.said != before {
			still = 0
		}
	}
	for _, s := range f.nodes {
		s.audit()
	}
}

var fleetSchemes = rapid.SampledFrom([]string{"host", "url", "host-2", "redirect:over=2", "redirect:url,over=1,max=2", "adaptive:over=1"})

// TestSharing moves partitions between nodes that crash and are late: in the end
// every page was fetched, none twice unless its end had not been posted, and all
// who read the logs agree.
func TestSharing(t *testing.T) {
	plan, err := ScopeConfig{Scope: "any", Depth: -1}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(t, plan, false)
		f.keys = overlay.NewKeys(mustScheme(fleetSchemes.Draw(t, "scheme")), fleetParts)
		all := fleetPages(40, 7)
		for i, u := range all {
			if i+1 < len(all) {
				f.web[u] = append(f.web[u], all[i+1])
			}
			for range 3 {
				f.web[u] = append(f.web[u], rapid.SampledFrom(all).Draw(t, "link"))
			}
		}
		f.seeds = all[:1]
		f.sail()
		for _, u := range all {
			if n := f.asked[u]; n == 0 || n > 1+f.crashes {
				t.Fatalf("%s was asked for %d times, after %d crashes", u, n, f.crashes)
			}
		}
		f.rightful()
		reader := &ship{fl: f, name: "reader", kv: &memory{}, origin: 9}
		reader.open()
		for part := range fleetParts {
			reader.adopt(part)
		}
		if len(reader.queued) > 0 {
			t.Fatalf("the logs say that these wait: %v", reader.queued)
		}
		for _, s := range append(f.nodes, reader) {
			s.commit()
		}
		for _, u := range all {
			f.shown(reader, u)
		}
		for _, s := range append(f.nodes, reader) {
			if n := s.l.Waiting(); n != 0 {
				t.Fatalf("%s: %d pages wait", s.name, n)
			}
		}
	})
}

// TestCrawlDelayIsInherited: who gets a host heeds the crawl-delay that the owner
// before has read, before it asks for anything.
func TestCrawlDelayIsInherited(t *testing.T) {
	plan, err := ScopeConfig{Scope: "any", Depth: -1}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	once(t, func(t *rapid.T) {
		f := &fleet{t: t, keys: overlay.NewKeys(overlay.Scheme{}, fleetParts), logs: make([][]overlay.Batch, fleetParts), plan: plan, asked: map[string]int{}, ended: map[string]overlay.Ended{}, order: frontier.Length{}}
		f.owner = slices.Repeat([]int{-1}, fleetParts)
		for i := range 2 {
			s := &ship{fl: f, name: fmt.Sprintf("n%d", i), kv: &memory{}, origin: uint64(i + 1)}
			f.nodes = append(f.nodes, s)
			s.open()
		}
		a, b := f.nodes[0], f.nodes[1]
		u := mustURL("http://slow.test/p")
		part := f.keys.Home(u)
		a.adopt(part)
		a.must(a.l.Seed(u, 0))
		a.commit()
		id, err := a.l.siteIn(u.Site(), part)
		a.must(err)
		rules := robots.Parse([]byte("User-agent: *\nCrawl-delay: 30"), "weir")
		a.must(a.l.Robots(1, &page.Facts{Key: page.Key{Site: id}, URL: page.Join(u.Site(), "/robots.txt"), Outcome: page.OK, Robots: true}, rules))
		a.tell()
		a.disown(part)
		b.read(part)
		ev, err := b.l.Adopt(part, 2)
		b.must(err)
		if len(ev.Hosts) != 1 || ev.Hosts[0].Delay != 30*time.Second {
			t.Fatalf("the new owner knows of its hosts: %+v", ev.Hosts)
		}

		// Also of a host that has nothing to do: its pages may come yet.
		b.queued[page.Key{Site: ev.Sites[0].ID, Hash: hashOf(u)}] = u.String()
		f.owner[part] = 1
		b.fetch()
		b.tell()
		b.disown(part)
		a.read(part)
		if ev, err = a.l.Adopt(part, 3); err != nil || len(ev.Sites) != 0 || len(ev.Hosts) != 1 || ev.Hosts[0].Delay != 30*time.Second {
			t.Fatalf("the new owner of a host that waits for pages knows %+v, %v", ev, err)
		}
		a.must(a.l.Seed(mustURL("http://slow.test/q"), 0))
		w := &batch{}
		got, err := a.l.Flush(w)
		a.must(err)
		if len(got.Sites) != 1 || !got.Sites[0].Met {
			t.Fatalf("the Engine hears of a site that another node has visited: %+v", got.Sites)
		}
	})
}

// TestLateArrival: what becomes durable of a partition while pages from before are
// still under way is crawled when they are over.
func TestLateArrival(t *testing.T) {
	e, err := NewEngine(EngineConfig{
		Order: "length", Shared: true, Open: 8, Loads: 8, Resolves: 8,
		Frontier: frontier.Config{PerConn: 1, Conns: 4, PerServer: 4, Hot: 100, NoRobots: true, Proxy: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	fetched := func(orders []Order) (ids []uint64) {
		for _, o := range orders {
			if f, ok := o.(Fetch); ok {
				ids = append(ids, f.ID)
			}
		}
		return ids
	}
	known := func(id page.SiteID, name string) frontier.Known { return frontier.Known{ID: id, Name: name, Part: 1} }
	entry := func(hash uint64) frontier.Entry {
		return frontier.Entry{Hash: hash, Rest: fmt.Sprintf("/%d", hash), Place: frontier.Length{}.Place(0, 0, hash)}
	}
	e.Step(1, Start{})
	e.Step(2, Adopted{Part: 1})
	first := fetched(e.Step(3, Committed{Sites: []frontier.Known{known(1, "http://a.test")}, Queued: []Queued{{Site: 1, Entry: entry(1)}}}))
	if len(first) != 1 {
		t.Fatalf("%d pages were ordered", len(first))
	}
	e.Step(4, Disowned{Parts: []uint16{1}, Fence: true})
	e.Step(5, Adopted{Part: 1})
	if got := fetched(e.Step(6, Committed{Sites: []frontier.Known{known(2, "http://b.test")}, Queued: []Queued{{Site: 2, Entry: entry(2)}}})); len(got) != 0 {
		t.Fatalf("a page was ordered while one from before the fence is under way")
	}
	e.Step(7, Done{ID: first[0], Outcome: page.Aborted})
	if got := fetched(e.Step(8, Committed{IDs: first})); len(got) != 1 {
		t.Fatalf("%d pages were ordered when it was over, want the one that came meanwhile", len(got))
	}
}
