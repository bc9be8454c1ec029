package crawl

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"weir/page"
)

// never are the outcomes of pages that are not asked for, each with a crawl of
// one page, http://a.example/p, that ends so.
var never = map[page.Outcome]func(p *play){
	page.Denied: func(p *play) {
		p.robots = func(Fetch) Done { return Done{Outcome: page.OK, Rules: rulesText("Disallow: /p")} }
	},
	page.TooManyRedirects: func(p *play) {
		p.seeds = []string{"http://a.example/0"}
		p.answer = func(f Fetch) Done { return Done{Outcome: page.Redirected} }
		p.facts = func(f *page.Facts) {
			next := fmt.Sprintf("http://a.example/%d", f.Hops+1)
			if f.Hops == 10 {
				next = "http://a.example/p"
			}
			f.Redirect = link(next)
		}
	},
	page.SiteBudget: func(p *play) {
		p.seeds = []string{"http://a.example/first", "http://a.example/p"}
		p.cfg.Frontier.SitePages = 1
	},
	page.DomainBudget: func(p *play) {
		p.seeds = []string{"http://b.a.example/first", "http://a.example/p"}
		p.cfg.Frontier.DomainPages = 1
		p.cfg.Frontier.Conns = 1
	},
	page.SteeredAway: func(p *play) {
		p.seeds = []string{"http://a.example/first"}
		p.facts = func(f *page.Facts) { f.Links = []page.Link{link("http://a.example/p"), link("http://a.example/q")} }
		p.steer = func(f Fetch) *ScopeConfig {
			return &ScopeConfig{Scope: "any", Depth: -1, Exclude: []string{"/p"}}
		}
	},
	page.DeadHost: func(p *play) { // it asks to be left alone for longer than anybody waits
		p.seeds = []string{"http://a.example/first", "http://a.example/p"}
		p.answer = func(f Fetch) Done { return Done{Outcome: page.RateLimited, Asked: page.MaxAsked + 1} }
	},
}

// TestOutcomes: for every outcome the crawl does what its row says. A host on
// which every visit ends so is asked for 20 pages: the rests are the row's, a
// page is tried as often as the row says, and the host dies when it says.
func TestOutcomes(t *testing.T) {
	for _, o := range page.Outcomes() {
		t.Run(o.String(), func(t *testing.T) {
			switch row := o.Row(); {
			case never[o] != nil:
				testNever(t, o)
			case o == page.RobotsUnreachable:
				testUnreachable(t)
			case o == page.Trap:
				testTrapped(t)
			case o == page.Aborted:
				testAborted(t)
			case row.Pause == page.NoPause && row.Dead == 0:
				t.Fatal("no crawl here ends so")
			default:
				testVisited(t, o)
			}
		})
	}
}

func testNever(t *testing.T, o page.Outcome) {
	p := newPlay(t, "http://a.example/p")
	never[o](p)
	if why := p.run(); why != StopDone {
		t.Errorf("the crawl ended by %q", why)
	}
	if got := p.page("http://a.example/p"); got.State != "ended" || got.Outcome != o {
		t.Errorf("the page is %s as %v", got.State, got.Outcome)
	}
	for _, v := range p.fetched {
		if v.url == "http://a.example/p" {
			t.Error("the page was asked for")
		}
	}
	if n := p.totals().Outcomes[o]; n == 0 {
		t.Error("the totals do not count it")
	}
}

// testUnreachable: a page behind a robots.txt that cannot be had ends in no run.
// It stays queued, the crawl is done without it, and the next run asks again.
func testUnreachable(t *testing.T) {
	for _, o := range []page.Outcome{page.ServerError, page.RateLimited, page.FirstByteTimeout, page.BadResponse, page.TooSlow} {
		p := newPlay(t, "http://a.example/p", "http://a.example/q", "https://a.example/", "http://b.example/")
		ill := true
		p.robots = func(f Fetch) Done {
			if ill && f.URL.Site() == "http://a.example" {
				return Done{Outcome: o}
			}
			return Done{Outcome: page.ClientError}
		}
		if why := p.run(); why != StopDone || len(p.fetched) != 2 {
			t.Errorf("%v: the crawl ended by %q after %d pages", o, why, len(p.fetched))
		}
		if s := p.engine.Status(); s.Unreachable != 2 || s.Waiting != 0 || s.Totals.Queued != 2 {
			t.Errorf("%v: %+v", o, s)
		}
		if got := p.page("http://a.example/p"); got.State != "queued" {
			t.Errorf("%v: the page is %s as %v", o, got.State, got.Outcome)
		}
		var tries []page.Time
		for _, v := range p.asked {
			if v.url == "http://a.example/robots.txt" {
				tries = append(tries, v.at)
			}
		}
		if len(tries) != 5 || tries[4].Sub(tries[0]) < 15*time.Minute {
			t.Errorf("%v: robots.txt was asked for at %v", o, tries)
		}
		for i := 2; i < len(tries); i++ {
			if before, gap := tries[i-1].Sub(tries[i-2]), tries[i].Sub(tries[i-1]); gap < before*3/2 {
				t.Errorf("%v: asked for again after %v, before that after %v", o, gap, before)
			}
		}
		p.resume, ill = true, false
		if why := p.run(); why != StopDone || len(p.fetched) != 4 || p.engine.Status().Unreachable != 0 {
			t.Errorf("%v: the next run ended by %q after %d pages", o, why, len(p.fetched))
		}
	}
}

func testTrapped(t *testing.T) {
	p := newPlay(t, "http://a.example/")
	p.facts = func(f *page.Facts) { f.Links = []page.Link{link("http://a.example/x/x/x")} }
	p.run()
	if got := p.page("http://a.example/x/x/x"); got.State != "parked" || got.Why == "" || len(p.fetched) != 1 {
		t.Errorf("the page is %s (%s), %d fetched", got.State, got.Why, len(p.fetched))
	}
}

func testAborted(t *testing.T) {
	p := newPlay(t, "http://a.example/p")
	p.answer = func(f Fetch) Done {
		if f.Entry.Attempt != 0 {
			t.Error("being cut short by us counts against the page")
		}
		if len(p.fetched) <= 300 {
			return Done{Outcome: page.Aborted}
		}
		return Done{Outcome: page.OK}
	}
	p.run()
	if got := p.page("http://a.example/p"); got.Outcome != page.OK || len(p.fetched) != 301 {
		t.Errorf("%v after %d visits", got.Outcome, len(p.fetched))
	}
}

func testVisited(t *testing.T, o page.Outcome) {
	const pages = 20
	p, row := newPlay(t), o.Row()
	for i := range pages {
		p.seeds = append(p.seeds, fmt.Sprintf("http://a.example/%d", i))
	}
	p.answer = func(Fetch) Done { return Done{Outcome: o} }
	p.facts = func(f *page.Facts) {
		if o == page.Redirected {
			f.Redirect = link("http://a.example/0")
		}
	}
	visits := &p.fetched
	if o == page.DNSFailed || o == page.DNSTimeout {
		p.lookup = func(string) Resolved { return Resolved{Outcome: o} }
		visits = &p.looked
	}
	if why := p.run(); why != StopDone {
		t.Errorf("the crawl ended by %q", why)
	}
	want := pages * (int(row.Retries) + 1)
	if row.Dead > 0 {
		want = min(want, int(row.Dead))
		if o.HostFault() {
			want = int(row.Dead)
		}
	}
	if len(*visits) != want {
		t.Errorf("%d visits, want %d", len(*visits), want)
	}
	wait, failures := time.Second, 0
	for i := 1; i < len(*visits); i++ {
		if failures++; row.Pause == page.Polite {
			failures = 0
		}
		gap := (*visits)[i].at.Sub((*visits)[i-1].at)
		if rest := o.Rest(wait, 0, failures); gap != rest {
			t.Fatalf("rest %d was %v, want %v", i, gap, rest)
		}
	}
	var as, dead int64
	p.must(p.view().Pages(func(i *PageInfo) bool {
		switch i.Outcome {
		case o:
			as++
		case page.DeadHost:
			dead++
		}
		return true
	}))
	if as+dead != pages || dead > 0 && (row.Dead == 0 || o.HostFault()) {
		t.Errorf("%d pages ended as %v, %d as %v", as, o, dead, page.DeadHost)
	}
	if got, want := p.totals().Fetched, as; row.Answer && got != want || !row.Answer && got != 0 {
		t.Errorf("%d count as fetched", got)
	}
}

// A host with two addresses is tried at the other one before it has failed.
func TestAddressesTakeTurns(t *testing.T) {
	p := newPlay(t, "http://a.example/p")
	bad, good := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	p.lookup = func(string) Resolved {
		return Resolved{Outcome: page.OK, Addrs: []netip.Addr{bad, good}, TTL: 0}
	}
	p.robots = func(f Fetch) Done {
		if f.Addr == bad {
			return Done{Outcome: page.ConnectFailed}
		}
		return Done{Outcome: page.ClientError}
	}
	p.run()
	if got := p.page("http://a.example/p"); got.Outcome != page.OK || len(p.asked) != 2 {
		t.Errorf("%v after asking %v", got.Outcome, p.asked)
	}
}
