package crawl

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/query"
	"weir/query/flow"
	"weir/robots"
)

// play is a crawl on a virtual clock in which every answer is immediate and
// every page is committed at once. Tests say what servers answer.
type play struct {
	t      testing.TB
	cfg    EngineConfig
	scope  ScopeConfig
	own    string // a program instead of the scope
	shared []user // programs that share the crawl, instead of both
	trap   frontier.Trap
	kv     *memory
	seeds  []string
	scores map[string]float32 // of seeds
	answer func(f Fetch) Done // nil: OK
	robots func(f Fetch) Done // nil: 404
	lookup func(host string) Resolved
	facts  func(f *page.Facts) // what else is known of a page
	maps   func(f *page.Facts) // what a robots.txt names
	// steer says, after a page, what the crawl is about from then on; nil: as before.
	// It is asked until it says something.
	steer  func(f Fetch) *ScopeConfig
	idle   func()               // nothing is under way any more: the clock moves on
	join   func(f Fetch) []user // the same, for who shares the crawl
	resume bool
	deaf   bool    // pages cannot be delivered again
	bare   bool    // there is no archive: pages are delivered again as their rows have them
	before []Event // come before Start

	now     page.Time
	engine  *Engine
	ledger  *Ledger
	fetched []visit // pages
	asked   []visit // robots.txt
	looked  []visit
	loads   int
	orders  []Order
	stop    string
	past    map[page.Key]page.Facts // what was delivered, for when it is due again
	again   int
}

type visit struct {
	at  page.Time
	url string
}

func newPlay(t testing.TB, seeds ...string) *play {
	return &play{
		t: t, seeds: seeds, kv: &memory{}, trap: frontier.DefaultTrap(), scope: ScopeConfig{Scope: "any", Depth: -1},
		cfg: EngineConfig{Order: "length", Open: 100, Loads: 4, Resolves: 4, Frontier: frontier.Config{
			Wait: time.Second, PerConn: 1, Conns: 8, PerServer: 4, PerCDN: 32, CDNDomains: 50, Window: 64, Hot: 1000,
		}},
	}
}

func (p *play) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) wall() int64 { return 1e18 + int64(p.now) }

// open makes the machines and seeds the crawl.
func (p *play) open() Start {
	order, err := frontier.Order(p.cfg.Order)
	p.must(err)
	version, _, err := ReadProgram(p.kv)
	p.must(err)
	rules, traits := p.ruleset(version)
	p.ledger, err = NewLedger(p.kv, LedgerConfig{Order: order, Trap: p.trap, Rules: rules, Traits: traits, Secret: worldSecret, Memory: ample, Domains: p.cfg.Frontier.DomainPages > 0, Kept: 1000, Links: order.Traits().Ranked,
		Again: !p.deaf, Said: p.bare, Version: uint8(version)})
	p.must(err)
	p.ledger.Clock(p.wall())
	p.must(p.ledger.Begin())
	for _, s := range p.seeds {
		p.must(p.ledger.Seed(mustURL(s), p.scores[s]))
	}
	b := &batch{}
	WriteSecret(b, worldSecret)
	_, err = p.ledger.Flush(b)
	p.must(err)
	p.kv.commit(b)
	p.engine, err = NewEngine(p.cfg)
	p.must(err)
	st, err := p.ledger.Start(p.resume)
	p.must(err)
	return st
}

// ruleset are the rules of a version, with their traits.
func (p *play) ruleset(version int) (Rules, RuleTraits) {
	if len(p.shared) > 0 {
		s := p.several()
		return s, s.Traits()
	}
	rules := p.rules(version)
	return rules, rules.Traits()
}

// rules are those of a version of the program.
func (p *play) rules(version int) *Program {
	p.t.Helper()
	plan, err := p.scope.Compile()
	p.must(err)
	if p.own != "" {
		plan = compileOwn(p.t, p.own)
	}
	rules, err := NewProgram(ProgramConfig{Plan: plan, Own: p.own != "", Secret: worldSecret, Version: byte(version)}, p.kv)
	p.must(err)
	return rules
}

func compileOwn(t testing.TB, text string) *flow.Plan {
	t.Helper()
	_, checked, diags := query.Load("own", text, nil)
	var plan *flow.Plan
	if !query.Failed(diags) {
		plan, diags = flow.Compile(checked, flow.Options{Scheme: flow.ByHost, Crawl: true})
	}
	if query.Failed(diags) {
		t.Fatal(text, diags)
	}
	return plan
}

// run crawls until Finish and returns its reason.
func (p *play) run() string {
	p.t.Helper()
	events := append(slices.Clone(p.before), p.open())
	p.stop = ""
	wake, turns := page.Time(0), 0
	for p.stop == "" {
		if turns++; turns > 1_000_000 {
			p.t.Fatalf("the crawl does not end: %+v", p.engine.Status())
		}
		if len(events) == 0 {
			if wake == 0 {
				p.t.Fatalf("stuck: %+v", p.engine.Status())
			}
			if p.idle != nil {
				p.idle()
			}
			p.now, wake = max(p.now, wake), 0
			events = append(events, Tick{})
		}
		ev := events[0]
		events = events[1:]
		for _, o := range append([]Order(nil), p.engine.Step(p.now, ev)...) {
			p.orders = append(p.orders, o)
			switch o := o.(type) {
			case Wake:
				wake = o.At
			case Finish:
				if p.stop != "" {
					p.t.Fatal("Finish came twice")
				}
				p.stop = o.Reason
			default:
				events = append(events, p.order(o)...)
			}
		}
	}
	if d := p.engine.Status().Drift; d != 0 {
		p.t.Fatalf("drift %d", d)
	}
	return p.stop
}

func (p *play) order(o Order) []Event {
	p.ledger.Clock(p.wall())
	switch o := o.(type) {
	case Fetch:
		return p.fetch(o)
	case Settle:
		p.must(p.ledger.Settle(o.ID, o.Site, o.Entry, o.Outcome))
		return []Event{p.flush()}
	case Load:
		p.loads++
		ev, err := p.ledger.Load(o)
		p.must(err)
		return []Event{ev}
	case Resolve:
		p.looked = append(p.looked, visit{p.now, o.Host})
		ev := Resolved{Host: o.Host, Outcome: page.OK, Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, TTL: time.Hour}
		if p.lookup != nil {
			ev = p.lookup(o.Host)
			ev.Host = o.Host
		}
		return []Event{ev}
	case Save:
		p.ledger.Host(o.Host, o.State)
		return []Event{p.flush()}
	case Keep:
		p.ledger.Keep(o)
		return []Event{p.flush()}
	case Redeliver:
		keys, err := p.ledger.Due(o.Pages)
		p.must(err)
		for _, k := range keys {
			f, fetched := p.reread(k)
			if !fetched {
				p.must(p.ledger.Skip(k))
				continue
			}
			f.Depth, f.Hops, f.Root, f.Score = 0, 0, false, 0 // the archive does not know
			p.must(p.ledger.Again(f))
			p.again++
		}
		p.ledger.Delivered()
		return []Event{p.flush(), Redelivered{}}
	case Rank:
		n := int64(0)
		order, err := frontier.Order(p.cfg.Order)
		p.must(err)
		p.must(ReadScores(p.kv, order, int(o.Pages), links(p.t, p.kv), func() bool { return true }, func(s []Score) bool {
			moved, err := p.ledger.Rescore(o.Version, s)
			p.must(err)
			n += moved
			return true
		}))
		return []Event{p.flush(), Ranked{Version: o.Version, Pages: n}}
	}
	return nil
}

// reread are the facts of a page that was fetched before.
func (p *play) reread(k page.Key) (f *page.Facts, fetched bool) {
	if !p.bare || k.Hash == 0 {
		past, fetched := p.past[k]
		return &past, fetched
	}
	info, err := p.view().Key(k)
	p.must(err)
	f = info.Facts()
	p.must(ReadSaid(p.kv, worldSecret, f))
	return f, true
}

func (p *play) fetch(o Fetch) []Event {
	done := Done{Outcome: page.OK}
	facts := &page.Facts{Key: page.Key{Site: o.Site, Hash: o.Entry.Hash}, URL: o.URL, Depth: o.Entry.Depth, Hops: o.Entry.Hops,
		Root: o.Entry.Root, Attempt: o.Entry.Attempt, Score: o.Entry.Score, Robots: o.Robots, At: p.wall()}
	if o.Robots {
		p.asked = append(p.asked, visit{p.now, o.URL.String()})
		if done = (Done{Outcome: page.ClientError}); p.robots != nil {
			done = p.robots(o)
		}
		facts.Hops, facts.Redirect.URL = uint8(o.Hops), done.Redirect
	} else {
		p.fetched = append(p.fetched, visit{p.now, o.URL.String()})
		if p.answer != nil {
			done = p.answer(o)
		}
	}
	done.ID = o.ID
	facts.Outcome, facts.Bytes = done.Outcome, done.Bytes
	if p.facts != nil && !o.Robots {
		p.facts(facts)
	}
	key := facts.Key
	if o.Robots {
		key.Hash = 0
		if p.maps != nil {
			p.maps(facts)
		}
	}
	if p.past == nil {
		p.past = map[page.Key]page.Facts{}
	}
	p.past[key] = *facts
	if o.Robots {
		p.must(p.ledger.Robots(o.ID, facts, done.Rules))
	} else {
		p.must(p.ledger.Page(o.ID, facts, Archived{}, false))
		if p.steer != nil {
			if scope := p.steer(o); scope != nil {
				p.scope, p.steer = *scope, nil
				version := int(p.ledger.cfg.Version) + 1
				rules := p.rules(version)
				p.must(p.ledger.Steer(uint8(version), rules, rules.Traits()))
			}
		}
	}
	events := []Event{done, p.flush()}
	if p.join != nil && !o.Robots {
		if list := p.join(o); list != nil {
			p.shared, p.join = list, nil
			p.must(p.ledger.Change(p.several()))
			events = append(events, p.flush())
		}
	}
	return events
}

func (p *play) flush() Event {
	b := &batch{}
	ev, err := p.ledger.Flush(b)
	p.must(err)
	p.kv.commit(b)
	return ev
}

func (p *play) view() *View {
	v, err := NewView(p.kv)
	p.must(err)
	return v
}

// page returns what is durably known of a URL.
func (p *play) page(u string) PageInfo {
	p.t.Helper()
	info, err := p.view().Page(mustURL(u))
	p.must(err)
	if info == nil {
		return PageInfo{}
	}
	return *info
}

func (p *play) totals() Totals {
	t, err := ReadTotals(p.kv)
	p.must(err)
	return t
}

func link(u string) page.Link {
	to := mustURL(u)
	return page.Link{URL: to, Hash: hashOf(to)}
}

// rulesText reads a robots.txt for weir.
func rulesText(text string) *robots.Rules {
	return robots.Parse([]byte("User-agent: *\n"+text), "weir")
}
