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

// story is a crawl without contention, in which everything is answered at once:
// when a page is asked for depends on its host alone.
type story struct {
	Config
	sites  []string
	found  []found          // pages, in the order of their times
	ends   [][]page.Outcome // of the requests to each site, in order
	rules  *robots.Rules
	resume bool
}

type found struct {
	site page.SiteID
	at   page.Time
}

func drawStory(t *rapid.T) *story {
	n := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	s := &story{resume: n("resume", 0, 1) == 1, rules: rapid.SampledFrom(dRules).Draw(t, "rules")}
	s.Config = Config{
		Order: Length{}, Wait: time.Second, PerConn: n("c", 1, 2), Conns: 1000, PerServer: 1, Hot: n("hot", 0, 4), Proxy: true,
		Holdable: time.Minute, SitePages: int64(n("site budget", 0, 4)), DomainPages: int64(n("domain budget", 0, 1) * 9), NoRobots: n("no robots", 0, 1) == 1,
	}
	for _, name := range []string{"http://a.d.org", "https://a.d.org", "http://b.d.org", "http://c.e.org"} {
		s.sites = append(s.sites, name)
		outcomes := rapid.SampledFrom(append([]page.Outcome{page.TLSFailed, page.TLSFailed, page.TLSFailed}, dOutcomes...))
		s.ends = append(s.ends, rapid.SliceOfN(outcomes, 0, 12).Draw(t, "outcomes"))
	}
	at := page.Time(1)
	for range n("pages", 1, 40) {
		at = at.Add(time.Duration(n("pause", 0, 4)*n("pause", 0, 10)) * time.Second)
		s.found = append(s.found, found{page.SiteID(n("site", 1, len(s.sites))), at})
	}
	return s
}

// play returns what is asked for and what ends without being asked for, each
// with its time, and how often a site came back that had been forgotten.
func (s *story) play(t fataler, linger time.Duration) (log []string, back int) {
	s.Linger = linger
	f := New(s.Config)
	if s.resume {
		f.Resume(1)
	}
	f.Recall(1, "c.e.org", HostState{Failures: 2, Rest: time.Minute}, 3*time.Second)
	type kept struct {
		disk  []Entry
		seq   uint64
		used  int64
		asked int
		old   bool
		rules *robots.Rules
		had   page.Time
	}
	sites := make([]kept, len(s.sites)+1)
	now := page.Time(1)
	push := func(id page.SiteID, e Entry) {
		k := &sites[id]
		k.seq++
		e.Place = Place{0, k.seq}
		k.disk = append(k.disk, e)
		if k.old && f.sites.find(id) == nil {
			back++
		}
		f.Add(now, Known{ID: id, Name: s.sites[id-1], Used: k.used, Old: k.old})
		f.Push(now, id, e)
	}
	end := func(id page.SiteID, e Entry) {
		k := &sites[id]
		k.disk = slices.DeleteFunc(k.disk, func(x Entry) bool { return x.Hash == e.Hash })
		k.old = true
		f.Settled(page.Key{Site: id, Hash: e.Hash})
	}
	answer := func(p Pick) {
		k := &sites[p.Site]
		v := Visit{Host: p.Host, Site: p.Site, Attempt: p.Entry.Attempt, Robots: p.Kind == Robots, Outcome: page.OK}
		if outcomes := s.ends[p.Site-1]; k.asked < len(outcomes) {
			v.Outcome = outcomes[k.asked]
		}
		k.asked++
		row := v.Outcome.Row()
		v.Elapsed = time.Duration(k.asked%4) * time.Second
		v.KeepAlive = row.Answer && !p.Last
		if v.Robots {
			if row.Kept {
				v.Rules = s.rules
			}
			if rules, _ := RobotsVerdict(v.Outcome, v.Rules, page.URL{}, 0); rules != nil {
				k.rules, k.had = rules, now
			}
			f.Done(now, v)
			f.RobotsSaved(p.Site)
			return
		}
		f.Done(now, v)
		if final := v.Outcome.Final(p.Entry.Attempt); final && row.Answer {
			k.used++
		}
		end(p.Site, p.Entry)
		if !v.Outcome.Final(p.Entry.Attempt) {
			e := p.Entry
			e.Attempt++
			push(p.Site, e)
		}
	}
	for i := 0; ; {
		p, ok := f.Next(now, Room{Fetch: 99, Load: 99, Resolve: 99, Settle: 99})
		f.check(t)
		if !ok {
			at, wakes := f.Wake()
			for range 3 { // time to forget, while hosts rest
				now++
				if p, ok := f.Next(now, Room{}); ok && p.Kind != Close {
					t.Fatalf("%+v without room", p)
				}
			}
			if i < len(s.found) && (!wakes || s.found[i].at <= at) {
				now = max(now, s.found[i].at)
				push(s.found[i].site, Entry{Hash: uint64(i), Rest: fmt.Sprintf("/%d", i)})
				i++
				continue
			}
			if !wakes {
				f.Reload() // whoever is forgotten has nothing to load again
				return log, back
			}
			now = max(now, at)
			continue
		}
		switch p.Kind {
		case Load:
			k := &sites[p.Site]
			b := Batch{Site: p.Site, From: p.From, Entries: slices.Clone(k.disk)}
			if k.rules != nil {
				b.Rules, b.Age = k.rules, now.Sub(k.had)
			}
			f.Loaded(now, b)
		case Settle:
			log = append(log, fmt.Sprintf("%v: %s%s is %v", time.Duration(now), s.sites[p.Site-1], p.Entry.Rest, p.Outcome))
			end(p.Site, p.Entry)
		case Fetch, Robots:
			log = append(log, fmt.Sprintf("%v: %s", time.Duration(now), p.URL))
			answer(p)
		}
	}
}

// A host that was forgotten is asked when it would have been asked, had it been
// remembered: its rest, its crawl-delay, its failures, its budget and that it is
// dead still hold, and its robots.txt is not asked for again.
func TestForgettingChangesNothing(t *testing.T) {
	forgot := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t)
		want, _ := s.play(t, 1<<62)
		got, back := s.play(t, 1)
		forgot += back
		slices.Sort(want) // hosts that go at the same time may do so in another order
		slices.Sort(got)
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i] != got[i] {
				t.Fatalf("forgotten:\n%v\nremembered:\n%v", got[i:], want[i:])
			}
		}
	})
	if forgot == 0 {
		t.Error("no site that was forgotten came back")
	}
}

// A site with nothing queued is not forgotten while something of it is not over.
func TestForgettingWaits(t *testing.T) {
	key := page.Key{Site: 1, Hash: 0}
	for _, c := range []struct {
		name string
		do   func(s *scene, robots Pick) (over func())
	}{
		{"until its last page is durable", func(s *scene, robots Pick) func() {
			s.done(robots, Visit{Outcome: page.ClientError})
			p, _ := s.next()
			s.f.Done(s.now, Visit{Host: p.Host, Site: 1, Outcome: page.OK})
			return func() { s.f.Settled(key) }
		}},
		{"until its last page is answered", func(s *scene, robots Pick) func() {
			s.done(robots, Visit{Outcome: page.ClientError})
			p, _ := s.next()
			s.f.Settled(key)
			return func() { s.f.Done(s.now, Visit{Host: p.Host, Site: 1, Outcome: page.ConnectFailed}) }
		}},
		{"until its robots.txt is durable", func(s *scene, robots Pick) func() {
			s.f.Done(s.now, Visit{Host: robots.Host, Site: 1, Robots: true, Outcome: page.ClientError})
			p, _ := s.next()
			s.done(p, Visit{Outcome: page.OK})
			return func() { s.f.RobotsSaved(1) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, nil)
			s.site(1, "http://a.example", 1)
			robots, _ := s.next()
			over := c.do(s, robots)
			for range 3 {
				s.now = s.now.Add(time.Hour)
				s.next()
			}
			if s.f.sites.find(1) == nil {
				t.Error("the site is forgotten")
			}
			over()
			for range 3 {
				s.now = s.now.Add(time.Hour)
				s.next()
			}
			if s.f.sites.find(1) != nil || len(s.f.hosts) > 0 || len(s.f.servers) > 0 {
				t.Errorf("not forgotten: %+v, %d servers", s.f.Count(), len(s.f.servers))
			}
		})
	}
}

// Of servers only those are remembered that a host leads to, or that are CDNs.
func TestServersAreForgotten(t *testing.T) {
	s := newStage(t, func(c *Config) { c.CDNDomains, c.NoRobots = 2, true })
	for id := range page.SiteID(9) {
		s.site(id+1, 0)
	}
	own := s.addr
	s.addr = func(host string) ([]netip.Addr, time.Duration) {
		if host < "h4" {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, time.Hour
		}
		return own(host)
	}
	for {
		if p, ok := s.next(); ok {
			s.done(p)
			s.f.Settled(page.Key{Site: p.Site, Hash: p.Entry.Hash})
		} else if !s.wait() {
			break
		}
	}
	if n := len(s.f.servers); n != 7 {
		t.Fatalf("%d servers, want the CDN and 6 others", n)
	}
	for range 9 {
		s.now = s.now.Add(time.Hour)
		s.next()
	}
	s.f.check(t)
	if n := len(s.f.servers); n != 1 || s.f.Count().Hosts != 0 {
		t.Errorf("%d servers are remembered, want the CDN; %+v", n, s.f.Count())
	}
}

// TestPagesComeBack: pages that are to be fetched again keep their place under the
// budgets, whether their site is known or was forgotten. They lose it if they cannot be
// had, and not while they may be tried again.
func TestPagesComeBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		counted bool
		more    int64
		then    page.Outcome // of the first page; None: it is not asked for
		want    Kind         // of another one, that was not fetched before
	}{
		{"new", false, 0, page.None, Settle},
		{"fetched again", true, 0, page.OK, Settle},
		{"gone", true, 0, page.ClientError, Settle},
		{"not to be had", true, 0, page.HeaderTooLarge, Fetch},
		{"to be tried again", true, 0, page.EarlyClose, Settle},
		{"others have lost one", false, -1, page.OK, Settle},
	} {
		for _, forgotten := range []bool{false, true} {
			f := New(Config{Order: Length{}, PerConn: 1, Conns: 4, PerServer: 1, Hot: 8, Proxy: true, NoRobots: true, SitePages: 2, DomainPages: 2})
			f.Used("d.org", 2)
			k := Known{ID: 1, Name: "http://a.d.org", Used: 2}
			if !forgotten {
				f.Add(1, k)
			}
			k.Used, k.More = k.Used+c.more, c.more
			f.Add(2, k)
			f.Push(2, 1, Entry{Hash: 7, Rest: "/7", Counted: c.counted, Place: Length{}.Place(0, 0, 1)})
			p, ok := f.Next(3, ample)
			if asked := ok && p.Kind == Fetch; asked != (c.then != page.None) {
				t.Fatalf("%s: %+v, %v", c.name, p, ok)
			}
			if c.then != page.None {
				f.Done(4, Visit{Host: "a.d.org", Site: 1, Counted: c.counted, Outcome: c.then})
				f.Settled(page.Key{Site: 1, Hash: 7})
			}
			f.Push(5, 1, Entry{Hash: 8, Rest: "/8", Place: Length{}.Place(0, 0, 2)})
			if p, ok := f.Next(1<<62, ample); !ok || p.Kind != c.want {
				t.Errorf("%s: another page: %+v, %v", c.name, p, ok)
			}
		}
	}
}

// TestDroppedSitesAreCountedAnew: others may have fetched pages of a site while it was
// theirs.
func TestDroppedSitesAreCountedAnew(t *testing.T) {
	f := New(Config{Order: Length{}, PerConn: 1, Conns: 4, PerServer: 1, Hot: 8, Proxy: true, NoRobots: true, SitePages: 9, DomainPages: 9})
	f.Add(1, Known{ID: 1, Name: "http://a.d.org", Queued: 1, Used: 3})
	f.Used("d.org", 3)
	f.Drop([]uint16{0})
	f.Add(2, Known{ID: 1, Name: "http://a.d.org", Queued: 1, Used: 5, More: 1})
	if n := f.Backlog(1).Used; n != 5 || f.domains["d.org"] != 5 {
		t.Errorf("%d pages, and %d of the domain, want 5", n, f.domains["d.org"])
	}
	f.Add(3, Known{ID: 1, Name: "http://a.d.org", Used: 6, More: 1})
	if n := f.Backlog(1).Used; n != 6 {
		t.Errorf("%d pages, want 6", n)
	}
}
