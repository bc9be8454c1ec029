package crawl

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/page"
)

const ms = time.Millisecond

// spaced is a fleet whose nodes are at different distances from h.test: the first has
// its home, the next two the partitions behind that.
type spaced struct {
	*fleet
	home  int
	pages int
}

func newSpaced(t *rapid.T, scheme string) *spaced {
	s := mustScheme(scheme)
	f := &spaced{fleet: newFleet(t, sharedPlan(t, fmt.Sprintf(boundedPrograms["a depth"], 2), s), true)}
	f.keys = overlay.NewKeys(s, fleetParts)
	f.home = f.keys.HostPart("h.test")
	f.crew(3)
	for part := range fleetParts {
		f.nodes[f.first(part)].adopt(part)
	}
	return f
}

// first returns the node that a partition belongs to at first.
func (f *spaced) first(part int) int {
	if i := (part - f.home + fleetParts) % fleetParts; i < 3 {
		return i
	}
	return 0
}

func (f *spaced) settle() {
	for range 3 { // from one to the other and back
		for _, s := range f.nodes {
			s.settle()
		}
	}
}

// trip lets a node measure.
func (f *spaced) trip(node int, rtt time.Duration) {
	f.nodes[node].must(f.nodes[node].l.Trip("h.test", rtt))
	f.settle()
}

// next finds one more page of the host. It returns which partition, from home on, has it
// to fetch, and which node and page that is.
func (f *spaced) next() (part int, s *ship, k page.Key) {
	f.pages++
	u := fmt.Sprintf("http://h.test/%d", f.pages)
	f.append(f.nodes[1], overlay.Post{Part: f.home, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Depth: 1}}}}})
	f.settle()
	for _, s := range f.nodes {
		for k, at := range s.queued {
			if at == u {
				return (int(s.site[k.Site].Part) - f.home + fleetParts) % fleetParts, s, k
			}
		}
	}
	f.t.Fatalf("nobody fetches %s", u)
	return 0, nil, page.Key{}
}

// want fails if the next page goes elsewhere.
func (f *spaced) want(want int, when string) {
	if got, _, _ := f.next(); got != want {
		f.t.Fatalf("%s: the page goes to partition %d from home on, want %d", when, got, want)
	}
}

func (f *spaced) restart(node int) {
	s := f.nodes[node]
	s.open()
	for part := range fleetParts {
		if f.owner[part] == node {
			s.adopt(part)
		}
	}
}

// told is what a node has told of the host.
func (f *spaced) told(node int) (all []overlay.Trip) {
	for _, b := range f.logs[f.home] {
		for _, r := range b.Records {
			if x, ok := r.(overlay.Trips); ok && b.Origin == f.nodes[node].origin {
				all = append(all, x.Hosts...)
			}
		}
	}
	return all
}

var tripSchemes = []string{"redirect:over=50ms", "adaptive:rtt=50ms"}

// The pages of a host that is far from its owner go to the nearest of the next, each of
// which is tried once. How far those are is known after a restart; home measures anew.
func TestPagesGoToTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newSpaced(t, rapid.SampledFrom(tripSchemes).Draw(t, "scheme"))
		f.want(0, "before anything is measured")
		var home time.Duration
		for _, step := range []struct {
			of   int
			rtt  time.Duration
			want int
		}{{0, 40 * ms, 0}, {0, 200 * ms, 1}, {1, 90 * ms, 2}, {2, 100 * ms, 1}, {2, 30 * ms, 2}, {0, 210 * ms, 2}, {0, 20 * ms, 0}} {
			if f.trip(step.of, step.rtt); step.of == 0 {
				home = step.rtt
			}
			f.want(step.want, fmt.Sprintf("%v from node %d", step.rtt, step.of))
			if rapid.Bool().Draw(t, "restart") {
				f.restart(0)
				f.want(0, "after a restart")
				f.trip(0, home)
				f.want(step.want, "after a restart, when home has measured")
			}
		}
	})
}

// A node tells how far a host is if that is news, and what is none costs nothing.
func TestTripsAreToldIfNews(t *testing.T) {
	once(t, func(t *rapid.T) {
		f := newSpaced(t, "adaptive:rtt=50ms")
		for _, rtt := range []time.Duration{20, 30, 20, 11, 29, 50, 49, 80, 100, 20} {
			f.trip(1, rtt*ms)
		}
		want := []overlay.Trip{{Host: "h.test", Near: 2, RTT: 20 * ms}, {Host: "h.test", Near: 2, RTT: 50 * ms}, {Host: "h.test", Near: 2, RTT: 80 * ms}, {Host: "h.test", Near: 2, RTT: 20 * ms}}
		if got := f.told(1); !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
		l := f.nodes[1].l
		if n := testing.AllocsPerRun(100, func() { f.nodes[1].must(l.Trip("h.test", 25*ms)) }); n > 0 {
			t.Errorf("what is no news takes %v allocations", n)
		}
		written := len(l.extra)
		f.nodes[1].must(l.applyTrip(overlay.Trip{Host: "h.test", RTT: 7 * ms}))
		if len(l.extra) != written {
			t.Error("a measure of nobody's is kept")
		}
	})
}

// A node that cannot ask the host gets no more of its pages until it can. Home, if it
// fails, keeps them.
func TestPagesGoToWhoReachesTheHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newSpaced(t, rapid.SampledFrom(tripSchemes).Draw(t, "scheme"))
		asked := func(o page.Outcome) func(s *ship, k page.Key) {
			return func(s *ship, k page.Key) {
				s.must(s.l.Page(s.id, &page.Facts{Key: k, URL: mustURL(s.queued[k]), Outcome: o}, Archived{}, false))
			}
		}
		robots := func(o page.Outcome) func(s *ship, k page.Key) {
			return func(s *ship, k page.Key) {
				s.must(s.l.Robots(s.id, &page.Facts{Key: page.Key{Site: k.Site}, URL: mustURL("http://h.test/robots.txt"), Outcome: o, Robots: true}, nil))
			}
		}
		fails := map[string]func(s *ship, k page.Key){
			"refused": asked(page.ConnectFailed), "no TLS": asked(page.TLSFailed), "no such name": asked(page.DNSFailed),
			"robots.txt refused": robots(page.ConnectTimeout), "robots.txt fails": robots(page.ServerError),
			"dead": func(s *ship, k page.Key) {
				got, err := s.l.Load(Load{Site: k.Site, N: 1})
				s.must(err)
				s.must(s.l.Settle(s.id, k.Site, got.Entries[0], page.DeadHost))
				delete(s.queued, k)
			},
		}
		f.trip(0, 150*ms)
		for i := 1; i < 3; i++ {
			how := rapid.SampledFrom(slices.Sorted(maps.Keys(fails))).Draw(t, "how")
			got, s, k := f.next()
			if got != i {
				t.Fatalf("the page goes to partition %d from home on, want %d", got, i)
			}
			s.id++
			fails[how](s, k)
			f.settle()
			f.want((i+1)%3, how)
		}
		f.trip(1, 20*ms)
		f.want(1, "it can be reached again")
		f.trip(0, unreachable)
		f.want(0, "home does not reach it")
	})
}

// Measures are those of the owners of now.
func TestTripsFollowOwners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newSpaced(t, rapid.SampledFrom(tripSchemes).Draw(t, "scheme"))
		next := (f.home + 1) % fleetParts
		move := func(part, from, to int) {
			f.nodes[from].tell()
			f.nodes[from].disown(part)
			f.nodes[to].adopt(part)
			f.settle()
		}
		f.trip(0, 150*ms)
		f.trip(1, 20*ms)
		f.trip(2, 200*ms)
		f.want(1, "at first")
		move(next, 1, 2)
		f.trip(2, 200*ms)
		f.want(0, "another node has it that is farther")
		move(next, 2, 1)
		f.trip(1, 20*ms)
		f.want(1, "the first one has it again")

		f.nodes = append(f.nodes, f.board(&ship{name: "n3", origin: 4}))
		move(f.home, 0, 3)
		f.want(0, "home has moved")
		f.trip(3, 10*ms)
		f.want(0, "home has moved, and is near")
		move(f.home, 3, 0)
		f.trip(0, 150*ms)
		f.want(1, "home is back where it was")
	})
}

// Of more hosts than are kept in memory, what others have told is in the store, also what
// they told in the same group.
func TestTripsOfManyHosts(t *testing.T) {
	once(t, func(t *rapid.T) {
		f := newSpaced(t, "adaptive:rtt=50ms")
		a := f.nodes[0]
		flood := func() {
			for i := range tripsKept + 1 {
				host := fmt.Sprintf("%d.test", i)
				a.must(a.l.Trip(host, 150*ms))
				a.must(a.l.applyTrip(overlay.Trip{Host: host, Near: 2, RTT: ms}))
			}
		}
		f.trip(0, 150*ms)
		f.trip(1, 120*ms)
		f.trip(2, 200*ms)
		flood()
		a.must(a.l.applyTrip(overlay.Trip{Host: "h.test", Near: 4, RTT: 30 * ms}))
		a.commit()
		if x := &a.l.share.trips; len(x.own) > tripsKept || len(x.told) > tripsKept {
			t.Fatalf("%d and %d hosts are kept", len(x.own), len(x.told))
		}
		f.want(0, "home has forgotten how far it is")
		f.trip(0, 150*ms)
		f.want(2, "home has measured again")
		f.trip(1, 20*ms)
		f.want(1, "another one is nearer")
		f.restart(0)
		f.trip(0, 150*ms)
		f.want(1, "after a restart")
	})
}
