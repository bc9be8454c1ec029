package crawl

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/frontier"
	"weir/page"
)

func site(host string, pages int) (urls []string) {
	for i := range pages {
		urls = append(urls, fmt.Sprintf("http://%s/%d", host, i))
	}
	return urls
}

func TestEngineBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *EngineConfig)
		stop   string
		pages  int
	}{
		{"none", func(*EngineConfig) {}, StopDone, 20},
		{"pages", func(c *EngineConfig) { c.MaxPages = 7 }, StopPages, 7},
		{"bytes", func(c *EngineConfig) { c.MaxBytes = 1000 }, StopBytes, 10},
		{"time", func(c *EngineConfig) { c.MaxTime = 5500 * time.Millisecond }, StopTime, 5},
		{"open connections are closed first", func(c *EngineConfig) { c.MaxPages, c.Frontier.PerConn = 7, 100 }, StopPages, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(t, site("a.example", 20)...)
			c.change(&p.cfg)
			p.answer = func(f Fetch) Done { return Done{Outcome: page.OK, Bytes: 100, KeepAlive: !f.Last} }
			if why := p.run(); why != c.stop || len(p.fetched) != c.pages {
				t.Errorf("stopped by %q after %d pages, want %q after %d", why, len(p.fetched), c.stop, c.pages)
			}
			if _, last := p.orders[len(p.orders)-1].(Finish); !last {
				t.Errorf("%T is the last order", p.orders[len(p.orders)-1])
			}
			open := false
			for _, o := range p.orders {
				switch o := o.(type) {
				case Fetch:
					open = !o.Last
				case Close:
					open = false
				}
			}
			if open {
				t.Error("a connection is open at the end")
			}
			for _, ev := range []Event{Tick{}, Command{Stop: "again"}, Resolved{Host: "a.example", Outcome: page.OK}, Done{ID: 1}, Wall{Unix: 1}, Wire{}} {
				if more := p.engine.Step(p.now, ev); len(more) > 0 {
					t.Errorf("%T after Finish: %v", ev, more)
				}
			}
		})
	}
}

// --max-pages counts over all runs, and the next run goes on.
func TestEngineResumes(t *testing.T) {
	p := newPlay(t, site("a.example", 9)...)
	p.cfg.MaxPages = 4
	p.run()
	last := p.now
	p.resume, p.cfg.MaxPages = true, 0
	if why := p.run(); why != StopDone || len(p.fetched) != 9 {
		t.Errorf("%q after %d pages", why, len(p.fetched))
	}
	if gap := p.fetched[4].at.Sub(last); gap < time.Second {
		t.Errorf("the host was asked %v after the restart", gap)
	}
	if len(p.asked) != 1 {
		t.Errorf("robots.txt was asked for %d times within a day", len(p.asked))
	}
	seen := map[string]bool{}
	for _, v := range p.fetched {
		if seen[v.url] {
			t.Errorf("%s was fetched twice", v.url)
		}
		seen[v.url] = true
	}
	if why := p.run(); why != StopDone || len(p.fetched) != 9 {
		t.Errorf("a finished crawl: %q after %d pages", why, len(p.fetched))
	}
}

// A budget holds over restarts, and tries that brought no page cost none of it.
func TestEngineBudgetOverRestarts(t *testing.T) {
	p := newPlay(t, site("a.example", 12)...)
	p.cfg.Frontier.SitePages, p.cfg.MaxPages = 5, 2
	p.answer = func(f Fetch) Done {
		if f.Entry.Attempt == 0 {
			return Done{Outcome: page.ServerError}
		}
		return Done{Outcome: page.OK}
	}
	p.run()
	p.resume, p.cfg.MaxPages = true, 0
	p.run()
	if got := p.totals(); got.Fetched != 5 || got.Outcomes[page.SiteBudget] != 7 {
		t.Errorf("%d fetched, %d over budget", got.Fetched, got.Outcomes[page.SiteBudget])
	}
}

// The same holds for the budget of a domain, which its hosts share.
func TestEngineDomainBudget(t *testing.T) {
	p := newPlay(t, append(site("a.d.example", 12), site("b.d.example", 12)...)...)
	p.cfg.Frontier.DomainPages = 7
	p.answer = func(f Fetch) Done {
		if f.Entry.Attempt == 0 {
			return Done{Outcome: page.ServerError}
		}
		return Done{Outcome: page.OK}
	}
	p.run()
	if got := p.totals(); got.Outcomes[page.OK] != 7 || got.Outcomes[page.DomainBudget] != 17 {
		t.Errorf("%d fetched, %d over budget", got.Outcomes[page.OK], got.Outcomes[page.DomainBudget])
	}
}

// Pages that end without a request, as all of a site may, leave half of the
// credits to the others, however late they become durable.
func TestEngineSettlesOnHalfTheCredits(t *testing.T) {
	p := newPlay(t, append(site("a.example", 100), site("b.example", 3)...)...)
	p.cfg.Open = 10
	p.robots = func(f Fetch) Done {
		if f.Host == "a.example" {
			return Done{Outcome: page.OK, Rules: rulesText("Disallow: /")}
		}
		return Done{Outcome: page.ClientError}
	}
	settles, wake := 0, page.Time(0)
	for events := []Event{p.open()}; len(p.fetched) < 3; {
		if len(events) == 0 {
			if wake <= p.now {
				t.Fatalf("%d pages are being settled and %d of 3 were fetched: %+v", settles, len(p.fetched), p.engine.Status())
			}
			p.now = wake
			events = append(events, Tick{})
		}
		ev := events[0]
		events = events[1:]
		for _, o := range slices.Clone(p.engine.Step(p.now, ev)) {
			switch o := o.(type) {
			case Settle: // it never becomes durable
				settles++
			case Wake:
				wake = o.At
			default:
				events = append(events, p.order(o)...)
			}
		}
	}
	if settles != 5 {
		t.Errorf("%d of 10 credits went to pages that are not asked for", settles)
	}
}

func TestEngineWaitsForRetryAfter(t *testing.T) {
	p := newPlay(t, site("a.example", 2)...)
	p.answer = func(f Fetch) Done {
		if len(p.fetched) == 1 {
			return Done{Outcome: page.RateLimited, Asked: time.Hour}
		}
		return Done{Outcome: page.OK}
	}
	p.run()
	if gap := p.fetched[1].at.Sub(p.fetched[0].at); gap != time.Hour {
		t.Errorf("the server asked for an hour and got %v", gap)
	}
	// and over a restart
	p = newPlay(t, site("a.example", 2)...)
	p.cfg.MaxTime = 3 * time.Second
	p.answer = func(Fetch) Done { return Done{Outcome: page.RateLimited, Asked: time.Hour} }
	p.run()
	p.resume, p.cfg.MaxTime, p.answer = true, 0, nil
	p.run()
	if gap := p.fetched[1].at.Sub(p.fetched[0].at); gap != time.Hour {
		t.Errorf("over a restart the server got %v", gap)
	}
}

// A day later robots.txt is asked for again, and what it says then holds for
// everything that waits.
func TestEngineAsksRobotsAgain(t *testing.T) {
	p := newPlay(t, site("a.example", 30)...)
	p.cfg.Frontier.Wait = time.Hour
	p.robots = func(Fetch) Done {
		if len(p.asked) == 1 {
			return Done{Outcome: page.OK, Rules: rulesText("")}
		}
		return Done{Outcome: page.OK, Rules: rulesText("Disallow: /2")}
	}
	p.run()
	if len(p.asked) != 2 || p.asked[1].at.Sub(p.asked[0].at) != 24*time.Hour {
		t.Fatalf("robots.txt was asked for at %v", p.asked)
	}
	for _, v := range p.fetched {
		if v.at > p.asked[1].at && strings.Contains(v.url, "example/2") {
			t.Errorf("%s is forbidden since a day", v.url)
		}
	}
	if n := p.totals().Outcomes[page.Denied]; n == 0 {
		t.Error("nothing was denied")
	}
}

// Redirects of a robots.txt are fetched in the other hosts' turn; the sixth
// means that there are no rules (RFC 9309, section 2.3.1.2).
func TestEngineFollowsRobots(t *testing.T) {
	for hops := range 8 {
		p := newPlay(t, append(site("b0.example", 1), site("b1.example", 6)...)...)
		p.robots = func(f Fetch) Done {
			if f.Site == 2 {
				return Done{Outcome: page.OK, Rules: rulesText("Crawl-delay: 3")}
			}
			if n := f.Hops; n < hops {
				return Done{Outcome: page.Redirected, Redirect: mustURL(fmt.Sprintf("http://b1.example/r%d", n+1))}
			}
			return Done{Outcome: page.OK, Rules: rulesText("Disallow: /")}
		}
		p.run()
		want := page.Denied
		if hops > frontier.RobotsHops {
			want = page.OK
		}
		if got := p.page("http://b0.example/0").Outcome; got != want {
			t.Errorf("%d redirects: %v, want %v", hops, got, want)
		}
		if n := len(p.asked); n != min(hops, 5)+2 {
			t.Errorf("%d redirects: robots.txt was asked for %d times", hops, n)
		}
		var other []page.Time
		for _, v := range append(slices.Clone(p.asked), p.fetched...) {
			if strings.HasPrefix(v.url, "http://b1.") {
				other = append(other, v.at)
			}
		}
		slices.Sort(other)
		ruled := false
		for i := 1; i < len(other); i++ {
			least := time.Second
			if ruled {
				least = 3 * time.Second
			}
			ruled = ruled || slices.ContainsFunc(p.asked, func(v visit) bool { return v.url == "http://b1.example/robots.txt" && v.at <= other[i-1] })
			if gap := other[i].Sub(other[i-1]); gap < least {
				t.Errorf("%d redirects: b1.example was asked again after %v", hops, gap)
			}
		}
	}
}

// TestCredits resumes crawls with many sites, with queues that hold exactly the
// credits: none ever overflows, and pages come.
func TestCredits(t *testing.T) {
	for _, sites := range []int{3_000, 100_000} {
		t.Run(fmt.Sprint(sites), func(t *testing.T) {
			p := newPlay(t)
			p.cfg.Frontier.Conns, p.cfg.Frontier.Hot, p.cfg.MaxPages = 256, 500, 1500
			p.cfg.Open, p.cfg.Loads, p.cfg.Resolves = 300, 16, 8
			p.open()
			for i := range sites {
				p.must(p.ledger.Seed(mustURL(fmt.Sprintf("http://h%d.d%d.org/", i, i/3)), 0))
				if i%25_000 == 0 {
					p.flush()
				}
			}
			p.flush()
			p.resume = true
			creditRun(t, p)
			if n := p.totals().Fetched; n != 1500 {
				t.Errorf("%d pages", n)
			}
		})
	}
}

// creditRun is a driver with bounded queues; the committer takes 100 at a time.
func creditRun(t *testing.T, p *play) {
	fetches, settles := make(chan Fetch, p.cfg.Open), make(chan Settle, p.cfg.Open)
	loads, resolves := make(chan Load, p.cfg.Loads), make(chan Resolve, p.cfg.Resolves)
	var keep []Fetch // answered, not committed
	wake, finished := page.Time(0), false
	step := func(ev Event) {
		for _, o := range append([]Order(nil), p.engine.Step(p.now, ev)...) {
			full := false
			switch o := o.(type) {
			case Fetch:
				full = !offer(fetches, o)
			case Settle:
				full = !offer(settles, o)
			case Load:
				full = !offer(loads, o)
			case Resolve:
				full = !offer(resolves, o)
			case Wake:
				wake = o.At
			case Finish:
				finished = true
			}
			if full || len(keep)+len(fetches)+len(settles) > p.cfg.Open {
				t.Fatalf("no room for %T", o)
			}
		}
	}
	step(p.open())
	for turn := 0; !finished; turn++ {
		switch {
		case turn > 1_000_000:
			t.Fatalf("no end: %+v", p.engine.Status())
		case len(keep) >= 100 || len(keep) > 0 && len(fetches)+len(loads)+len(resolves) == 0:
			for _, f := range keep {
				facts := &page.Facts{Key: page.Key{Site: f.Site, Hash: f.Entry.Hash}, URL: f.URL, Outcome: page.OK}
				if f.Robots {
					facts.Outcome = page.ClientError
					p.must(p.ledger.Robots(f.ID, facts, nil))
				} else {
					p.must(p.ledger.Page(f.ID, facts, Archived{}, false))
				}
			}
			keep = nil
			step(p.flush())
		case len(fetches) > 0:
			f := <-fetches
			done := Done{ID: f.ID, Outcome: page.OK}
			if f.Robots {
				done.Outcome = page.ClientError
			}
			keep = append(keep, f)
			step(done)
		case len(resolves) > 0:
			r := <-resolves
			addr := netip.AddrFrom4([4]byte{10, byte(turn >> 16), byte(turn >> 8), byte(turn)})
			step(Resolved{Host: r.Host, Outcome: page.OK, Addrs: []netip.Addr{addr}, TTL: time.Hour})
		case len(loads) > 0:
			ev, err := p.ledger.Load(<-loads)
			p.must(err)
			step(ev)
		default:
			if wake <= p.now {
				t.Fatalf("stuck: %+v", p.engine.Status())
			}
			p.now = wake
			step(Tick{})
		}
	}
}

func offer[T any](c chan T, x T) bool {
	select {
	case c <- x:
		return true
	default:
		return false
	}
}

// A trace whose end was cut off by a crash plays up to there, also when the
// next run has written behind it; one that was changed is refused.
func TestReplay(t *testing.T) {
	var trace bytes.Buffer
	s := newSim(t, 3)
	s.trace = &trace
	s.crawl(0)
	whole := bytes.Clone(trace.Bytes())
	n, err := Replay(bytes.NewReader(whole))
	if err != nil || n.Events != s.steps || n.Runs != 1 || n.Orders == 0 || n.Cut {
		t.Fatalf("%+v, %v; want %d events", n, err, s.steps)
	}
	cut := whole[:len(whole)-5]
	if n, err := Replay(bytes.NewReader(cut)); err != nil || n.Events != s.steps-1 || !n.Cut {
		t.Errorf("cut: %+v, %v", n, err)
	}
	if n, err := Replay(bytes.NewReader(append(bytes.Clone(cut), whole...))); err != nil || n.Events != 2*s.steps-1 || n.Runs != 2 {
		t.Errorf("cut and gone on with: %+v, %v", n, err)
	}
	changed := bytes.Replace(whole, []byte(`"Outcome":"ok"`), []byte(`"Outcome":"server-error"`), 2)
	n, err = Replay(bytes.NewReader(changed))
	if d := new(Difference); !errors.As(err, &d) || n.Events == 0 || d.Line != n.Events+2 { // the head is a line, too
		t.Errorf("changed: after %d events: %v", n.Events, err)
	}
	for _, bad := range []string{"junk\n", `{"t":1,"ev":"tick"}` + "\n", `{"t":0,"ev":"config","data":{"Order":"best"}}` + "\n"} {
		if _, err := Replay(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken for a trace", bad)
		}
	}
}

// A trace that names what is not there is refused, with the line where it does.
func TestReplayDamaged(t *testing.T) {
	var trace bytes.Buffer
	s := newSim(t, 3)
	s.trace = &trace
	s.crawl(0)
	lines := bytes.SplitAfter(trace.Bytes(), []byte("\n"))
	head := string(lines[0]) + string(lines[1])
	for _, bad := range []string{
		`{"t":9000000000000000,"ev":"committed","data":{"Moved":[{"Site":9999,"Entry":{}}]},"orders":0,"hash":0}`,
		`{"t":9000000000000000,"ev":"committed","data":{"Queued":[{"Site":9999,"Entry":{}}]},"orders":0,"hash":0}`,
		`{"t":9000000000000000,"ev":"loaded","data":{"Site":9999},"orders":0,"hash":0}`,
		`{"t":9000000000000000,"ev":"done","data":{"ID":9999,"Outcome":"ok"},"orders":0,"hash":0}`,
		`{"t":9000000000000000,"ev":"resolved","data":{"Host":"nowhere.test"},"orders":0,"hash":0}`,
		`{"t":-5,"ev":"tick","data":{},"orders":0,"hash":0}`,
	} {
		if _, err := Replay(strings.NewReader(head + bad + "\n")); err == nil || !strings.Contains(err.Error(), "trace line 3: ") {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := Replay(strings.NewReader(string(lines[0]) + bad + "\n")); err == nil || !strings.Contains(err.Error(), "trace line 2: ") {
			t.Errorf("before the start, %s: %v", bad, err)
		}
	}
}

func FuzzReplay(f *testing.F) {
	var trace bytes.Buffer
	s := newSim(f, 3)
	s.trace = &trace
	s.crawl(0)
	lines := bytes.SplitAfter(trace.Bytes(), []byte("\n"))
	f.Add(bytes.Join(lines[:min(len(lines), 40)], nil))
	f.Add(append(bytes.Clone(lines[0]), `{"t":5,"ev":"committed","data":{"Moved":[{"Site":9,"Entry":{}}]},"orders":0,"hash":0}`+"\n"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := Replay(bytes.NewReader(b)); err == nil && n.Runs == 0 && n.Events > 0 {
			t.Errorf("%d events of no run", n.Events)
		}
	})
}

// A crawl that has nothing left, and to which another program is on its way, is not
// done.
func TestEngineAwaitsAProgram(t *testing.T) {
	e, err := NewEngine(newPlay(t).cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		ev   Event
		ends int
	}{
		{Await{More: 1}, 0}, {Start{}, 0}, {Await{More: 1}, 0}, {Await{More: -1}, 0}, {Tick{}, 0}, {Await{More: -1}, 1},
	} {
		if got := pull[Finish](e.Step(page.Time(i), c.ev)); len(got) != c.ends {
			t.Errorf("%d: %T, %+v", i, c.ev, got)
		}
	}
}
