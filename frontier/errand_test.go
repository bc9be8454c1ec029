package frontier

import (
	"fmt"
	"testing"
	"time"

	"weir/page"
	"weir/robots"
)

// sent is a request that a scene has seen.
type sent struct {
	Pick
	at page.Time
}

// scene is a frontier behind a proxy whose pages are all in memory: nothing is
// looked up or loaded, requests are answered at once.
type scene struct {
	t    *testing.T
	f    *Frontier
	now  page.Time
	sent []sent
	over []Pick // pages that ended without a request
}

func newScene(t *testing.T, change func(c *Config)) *scene {
	cfg := Config{Order: Length{}, Wait: time.Second, PerConn: 1, Conns: 1000, PerServer: 4, Window: 64, Hot: 10_000, Proxy: true, Holdable: time.Minute}
	if change != nil {
		change(&cfg)
	}
	return &scene{t: t, f: New(cfg), now: 1}
}

// site makes a site known, with so many pages.
func (s *scene) site(id page.SiteID, name string, pages int) {
	s.f.Add(s.now, Known{ID: id, Name: name})
	for n := range uint64(pages) {
		s.f.Push(s.now, id, Entry{Hash: n, Place: Place{0, n}, Rest: fmt.Sprintf("/%d", n)})
	}
}

// next returns the next request, waiting for it if need be.
func (s *scene) next() (Pick, bool) {
	for {
		p, ok := s.f.Next(s.now, Room{Fetch: 99, Load: 99, Resolve: 99, Settle: 99})
		s.f.check(s.t)
		switch {
		case !ok:
			at, some := s.f.Wake()
			if !some {
				return p, false
			}
			s.now = max(s.now, at)
		case p.Kind == Settle:
			s.over = append(s.over, p)
			s.f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
		case p.Kind == Fetch || p.Kind == Robots:
			s.sent = append(s.sent, sent{p, s.now})
			return p, true
		}
	}
}

// done answers a request. A page that must be tried again is queued again.
func (s *scene) done(p Pick, v Visit) {
	v.Host, v.Site, v.Robots, v.Hops, v.Attempt = p.Host, p.Site, p.Kind == Robots, p.Hops, p.Entry.Attempt
	s.f.Done(s.now, v)
	if v.Robots {
		s.f.RobotsSaved(p.Site)
	} else {
		s.f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
		if !v.Outcome.Final(p.Entry.Attempt) {
			s.f.Push(s.now, p.Site, p.Entry)
		}
	}
	s.f.check(s.t)
}

// play answers everything until nothing is left.
func (s *scene) play(answer func(p Pick) Visit) {
	s.t.Helper()
	for p, ok := s.next(); ok; p, ok = s.next() {
		if len(s.sent) > 100_000 {
			s.t.Fatalf("no end: %+v", s.f.Count())
		}
		s.done(p, answer(p))
	}
}

func readRules(text string) *robots.Rules {
	return robots.Parse([]byte("User-agent: *\n"+text), "weir")
}

func mustURL(text string) page.URL {
	u, err := page.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// However the robots.txt that a stranger points to ends, the pages of the host
// it lies on are fetched; the host rests after every contact.
func TestErrandsCostTheirHostNothing(t *testing.T) {
	for _, o := range page.Outcomes() {
		if o.Row().Pause == page.NoPause && o != page.PrivateAddress || o == page.Aborted {
			continue
		}
		t.Run(o.String(), func(t *testing.T) {
			s := newScene(t, nil)
			s.site(1, "http://victim.example", 5)
			for id := range page.SiteID(3) {
				s.site(2+id, fmt.Sprintf("http://evil%d.example", id), 1)
			}
			pages := 0
			s.play(func(p Pick) Visit {
				switch {
				case p.Kind == Fetch && p.Site == 1:
					pages++
				case p.Kind == Robots && p.Site != 1 && p.Hops == 0:
					return Visit{Outcome: page.Redirected, Redirect: mustURL("http://victim.example:81/robots.txt")}
				case p.Kind == Robots && p.Site != 1:
					return Visit{Outcome: o, Asked: 90 * 24 * time.Hour}
				case p.Kind == Robots:
					return Visit{Outcome: page.ClientError}
				}
				return Visit{Outcome: page.OK}
			})
			if pages != 5 {
				t.Errorf("%d of 5 pages of the victim were fetched, %+v", pages, s.over)
			}
			for i, v := range s.sent {
				for _, w := range s.sent[i+1:] {
					if w.Host != v.Host || v.Host != "victim.example" {
						continue
					}
					least := time.Second
					if v.Hops > 0 {
						least = o.Rest(time.Second, 90*24*time.Hour, 1)
					}
					if gap := w.at.Sub(v.at); gap < min(least, page.MaxAsked) {
						t.Errorf("the victim had %v of rest after %s", gap, v.URL)
					}
					break
				}
			}
		})
	}
}

// A host to which hundreds are sent goes on with its own pages: errands and
// pages take turns, and only so many errands wait.
func TestErrandsTakeTurns(t *testing.T) {
	s := newScene(t, nil)
	const pages, strangers = 30, 200
	s.site(1, "http://victim.example", pages)
	for id := range page.SiteID(strangers) {
		s.site(2+id, fmt.Sprintf("http://evil%d.example", id), 1)
	}
	most, left, row := 0, pages, 0
	s.play(func(p Pick) Visit {
		if h := s.f.hosts["victim.example"]; h != nil {
			most = max(most, h.line.errands.len())
		}
		switch {
		case p.Kind == Fetch && p.Site == 1:
			left, row = left-1, 0
		case p.Kind == Robots && p.Site != 1 && p.Hops == 0:
			return Visit{Outcome: page.Redirected, Redirect: mustURL("http://victim.example/robots.txt")}
		case p.Kind == Robots && p.Site != 1:
			if row++; row > 1 && left > 0 {
				t.Errorf("%d errands in a row while %d pages wait", row, left)
			}
			return Visit{Outcome: page.ClientError}
		case p.Kind == Robots:
			row = 0
			return Visit{Outcome: page.ClientError}
		}
		return Visit{Outcome: page.OK}
	})
	if left > 0 {
		t.Errorf("%d pages of the victim were not fetched", left)
	}
	if most != maxErrands {
		t.Errorf("%d errands waited at once, the bound is %d", most, maxErrands)
	}
}

// When the host a robots.txt was redirected to turns out not to exist, the site
// that sent us there does not wait for it for ever.
func TestErrandToAHostThatDoesNotExist(t *testing.T) {
	s := newScene(t, func(c *Config) { c.Proxy, c.NoRobots = false, false })
	s.site(1, "http://a.example", 3)
	looked := 0
	for {
		p, ok := s.f.Next(s.now, ample)
		s.f.check(t)
		if !ok {
			at, some := s.f.Wake()
			if !some {
				break
			}
			s.now = max(s.now, at)
			continue
		}
		switch p.Kind {
		case Resolve:
			if p.Host == "none.example" {
				looked++
				s.f.Resolved(s.now, p.Host, nil, 0, page.DNSFailed)
			} else {
				s.f.Resolved(s.now, p.Host, stageAddr(p.Host), time.Hour, page.OK)
			}
		case Robots:
			s.f.Done(s.now, Visit{Host: p.Host, Site: p.Site, Robots: true, Outcome: page.Redirected, Redirect: mustURL("http://none.example/robots.txt")})
		case Fetch:
			t.Fatalf("%s was asked for without a robots.txt", p.URL)
		}
	}
	if c := s.f.Count(); c.Waiting != 0 || looked != int(page.DNSFailed.Row().Dead) {
		t.Errorf("%d lookups, %+v", looked, c)
	}
}

// After a restart every host waits first, also one that is met by an errand.
func TestErrandAfterARestartWaits(t *testing.T) {
	s := newScene(t, nil)
	s.f.Resume(s.now)
	s.site(1, "http://a.example", 1)
	robots, ok := s.next()
	if !ok || s.now != page.Time(1).Add(time.Second) {
		t.Fatalf("%+v at %v", robots, s.now)
	}
	s.f.start = s.now // as if the host had waited for an earlier restart
	s.done(robots, Visit{Outcome: page.Redirected, Redirect: mustURL("http://b.example/robots.txt")})
	if p, ok := s.next(); !ok || p.Host != "b.example" || s.now.Sub(s.f.start) != time.Second {
		t.Errorf("%s was asked %v after the restart", p.Host, s.now.Sub(s.f.start))
	}
}
