package sim

import (
	"testing"
	"time"

	"weir/overlay"
	"weir/sim/web"
)

// shared is a web of 45 servers with one seed, small enough to be crawled to its end.
func shared(t *testing.T) *web.Web {
	t.Helper()
	shape, err := web.Preset("domain", 0.002)
	if err != nil {
		t.Fatal(err)
	}
	w, err := web.Generate(shape)
	if err != nil {
		t.Fatal(err)
	}
	w.Seeds = []uint32{0}
	for i := range w.Sites {
		w.Sites[i].Latency, w.Sites[i].Again, w.Sites[i].Speed = 0.5, 0.5, 100_000
	}
	return w
}

// reachable counts the pages that a crawl can find.
func reachable(w *web.Web) (n int) {
	for _, d := range w.Depths() {
		if d != web.Unreached {
			n++
		}
	}
	return n
}

func share(t *testing.T, w *web.Web, order, scheme string, nodes int, leases bool, d time.Duration, fetched func(uint32)) ClusterResult {
	t.Helper()
	s, err := overlay.ParseScheme(scheme)
	if err != nil {
		t.Fatal(err)
	}
	wait := time.Duration(-1)
	if leases {
		wait = time.Second
	}
	c, err := NewCluster(w, ClusterConfig{
		Config: Config{Order: order, Conns: 3, Wait: wait, MaxTime: d, Fetched: fetched}, Nodes: nodes, Scheme: s, Parts: 64, Leases: leases,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(nil); err != nil {
		t.Fatal(err)
	}
	r, stopped := c.Result()
	if stopped {
		t.Fatal("the crawl was stopped")
	}
	return r
}

// Whatever the scheme and however many share the work, every page that can be reached is
// fetched, and none twice; under leases a host is asked by one node at a time, which the
// Cluster itself looks after.
func TestClusterFetchesEveryPageOnce(t *testing.T) {
	w := shared(t)
	reached := reachable(w)
	for i, scheme := range []string{"host", "url", "host-8", "redirect:over=20", "redirect:over=1,max=6,n=3", "adaptive:over=20"} {
		for j, nodes := range []int{1, 7} {
			order := []string{"depth", "siteopic"}[(i+j)%2]
			leases := nodes > 1
			times := make([]int, w.Pages())
			r := share(t, w, order, scheme, nodes, leases, time.Hour, func(p uint32) { times[p]++ })
			for p, n := range times {
				if n > 1 {
					t.Fatalf("%s, %d nodes: page %d was fetched %d times", scheme, nodes, p, n)
				}
			}
			if int(r.Pages) != reached || int(r.Seen) != reached {
				t.Errorf("%s, %d nodes: fetched %d and knew %d of %d pages", scheme, nodes, r.Pages, r.Seen, reached)
			}
			parts, queued := 0, int64(0)
			for _, n := range r.Nodes {
				parts += n.Parts
				queued += n.Queued
			}
			if parts != 64 || queued != 0 {
				t.Errorf("%s, %d nodes: %d partitions have owners, %d pages wait in the end", scheme, nodes, parts, queued)
			}
		}
	}
}

// A node by itself has nobody to hear of; where pages of a host lie together, less
// has to be told than where each lies by itself.
func TestClusterCountsWhatOthersTell(t *testing.T) {
	w := shared(t)
	received := func(scheme string, nodes int) (sum int64) {
		for _, n := range share(t, w, "depth", scheme, nodes, false, 2*time.Minute, nil).Nodes {
			sum += n.Received
		}
		return sum
	}
	if n := received("url", 1); n != 0 {
		t.Errorf("one node received %d bytes", n)
	}
	if host, url := received("host", 5), received("url", 5); host == 0 || host >= url {
		t.Errorf("received %d bytes by host, %d by url", host, url)
	}
}

func TestClusterIsTheSameEveryTime(t *testing.T) {
	w := shared(t)
	a, b := share(t, w, "siteopic", "host-8", 5, true, 2*time.Minute, nil), share(t, w, "siteopic", "host-8", 5, true, 2*time.Minute, nil)
	if a.Trace != b.Trace || a.Logged != b.Logged || a.Pages != b.Pages {
		t.Errorf("%d pages, %d bytes, %x; then %d, %d, %x", a.Pages, a.Logged, a.Trace, b.Pages, b.Logged, b.Trace)
	}
}

func TestClustersThatMakeNoSenseAreRefused(t *testing.T) {
	w := shared(t)
	for _, cfg := range []ClusterConfig{
		{Config: Config{MaxTime: time.Minute}},
		{Config: Config{MaxTime: time.Minute}, Nodes: 1 << 20},
		{Nodes: 3},
		{Config: Config{MaxTime: time.Minute, Limit: 1000}, Nodes: 3},
		{Config: Config{MaxTime: time.Minute, Order: "no such"}, Nodes: 3},
	} {
		if _, err := NewCluster(w, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

// Nodes that learn of one another one after the other take what belongs to others, and
// hand it over before the crawl begins.
func TestClusterGathersThoughNodesComeInTurn(t *testing.T) {
	s, err := overlay.ParseScheme("host")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCluster(shared(t), ClusterConfig{Config: Config{Order: "depth", Conns: 3, Wait: -1, MaxTime: time.Second}, Nodes: 100, Scheme: s, Parts: 1024, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(nil); err != nil {
		t.Fatal(err)
	}
	r, _ := c.Result()
	for i, n := range r.Nodes {
		if n.Parts < 1024/100 || n.Parts > 1024/100+1 {
			t.Errorf("node %d has %d of 1024 partitions, shared by 100", i, n.Parts)
		}
	}
}

// Nodes may come back to a view that they had before: partitions are where that wants
// them, whichever view is the newest.
func TestSettledAfterAnOlderView(t *testing.T) {
	all := []overlay.Peer{{Name: "a", Session: 1}, {Name: "b", Session: 2}}
	one := []overlay.Peer{{Name: "a", Session: 1}, {Name: "b", Session: 2, Draining: true}}
	s := &swarm{World: &World{live: 2}, parts: overlay.Parts, owner: make([]*peer, overlay.Parts)}
	owners := s.homes(all)
	for part := range s.owner {
		s.owner[part] = &peer{name: owners.Of(part)}
	}
	s.homes(one)
	s.homes(all)
	if !s.settled() {
		t.Error("every partition is where it belongs")
	}
	s.owner[0] = &peer{name: "c"}
	if s.settled() {
		t.Error("one partition is not where it belongs")
	}
}

// domain is a twentieth of the web with 45 servers, crawled from its first page on.
func domain(t *testing.T) *web.Web {
	t.Helper()
	shape, err := web.Preset("domain", 0.05)
	if err != nil {
		t.Fatal(err)
	}
	w, err := web.Generate(shape)
	if err != nil {
		t.Fatal(err)
	}
	w.Seeds = []uint32{0}
	return w
}

// Under adaptive no node idles for long while a host could be asked whose pages wait at
// another one: what is left is that nodes count what they have, and tell it, once a second.
// How long messages take makes no difference.
func TestNodesAreLeftHostsThatWait(t *testing.T) {
	w := domain(t)
	idled := func(scheme string, delay time.Duration) ClusterResult {
		s, err := overlay.ParseScheme(scheme)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCluster(w, ClusterConfig{Config: Config{Order: "depth", Conns: 3, Wait: -1, MaxTime: 5 * time.Minute}, Nodes: 12, Scheme: s, Leases: true, Delay: delay})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(nil); err != nil {
			t.Fatal(err)
		}
		r, _ := c.Result()
		t.Logf("%s, %v a message: nodes idle %.2f%% of their time, connections %.2f%%; %d pages, %d handed on", scheme, delay, 100*r.Idled, 100*r.Unused, r.Pages, r.Moved)
		return r
	}
	host, far, near := idled("host", 80*time.Millisecond), idled("adaptive", 80*time.Millisecond), idled("adaptive", time.Millisecond)
	if host.Idled < 0.05 || far.Idled > 0.01 || near.Idled > 0.01 {
		t.Errorf("nodes idle for %v of their time by host, %v if adaptive, and %v if messages take no time", host.Idled, far.Idled, near.Idled)
	}
	if host.Unused > host.Idled || far.Unused > far.Idled || far.Moved == 0 {
		t.Errorf("connections are unused for %v and %v of the time; %d pages were handed on", host.Unused, far.Unused, far.Moved)
	}
}

// A host that overloads its owner is spread over more partitions, and gathered when it does
// no more. All its pages are fetched once; and as always under leases the Cluster fails if
// two nodes ask a host at once, or one that rests.
func TestHostsAreSpreadAndGathered(t *testing.T) {
	w := shared(t)
	for _, nodes := range []int{3, 7} {
		times := make([]int, w.Pages())
		r := share(t, w, "siteopic", "adaptive:over=10", nodes, true, time.Hour, func(p uint32) { times[p]++ })
		t.Logf("%d nodes: %d times spread, %d times gathered, %d of %d pages handed on", nodes, r.Spread, r.Gathered, r.Moved, r.Pages)
		if r.Spread == 0 || r.Gathered == 0 || r.Moved == 0 {
			t.Errorf("%d nodes: hosts were %d times spread and %d times gathered, %d pages handed on", nodes, r.Spread, r.Gathered, r.Moved)
		}
		for p, n := range times {
			if n != 1 {
				t.Fatalf("%d nodes: page %d was fetched %d times", nodes, p, n)
			}
		}
	}
	if r := share(t, w, "siteopic", "host", 7, true, 2*time.Minute, nil); r.Spread != 0 || r.Gathered != 0 {
		t.Errorf("by host: %d times spread, %d times gathered", r.Spread, r.Gathered)
	}
}

// The same where pages are handed on by round trips, again and again: every partition
// is far from most hosts.
func TestClusterFetchesPagesThatGoFar(t *testing.T) {
	w := shared(t)
	reached := reachable(w)
	for _, name := range []string{"redirect:over=20ms,max=5", "redirect:url,over=20ms,max=5"} {
		s, err := overlay.ParseScheme(name)
		if err != nil {
			t.Fatal(err)
		}
		times := make([]int, w.Pages())
		c, err := NewCluster(w, ClusterConfig{
			Config: Config{Order: "depth", Conns: 3, Wait: -1, MaxTime: time.Hour, Fetched: func(p uint32) { times[p]++ }},
			Nodes:  7, Scheme: s, Parts: 64, Leases: true, Seed: 1,
			Trip: func(node, site int) time.Duration {
				return time.Duration(15+(node*31+site*17)%7*20) * time.Millisecond
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(nil); err != nil {
			t.Fatal(err)
		}
		r, _ := c.Result()
		for p, n := range times {
			if n > 1 {
				t.Fatalf("%s: page %d was fetched %d times", name, p, n)
			}
		}
		if int(r.Pages) != reached || r.Moved == 0 {
			t.Errorf("%s: fetched %d of %d pages, %d handed on", name, r.Pages, reached, r.Moved)
		}
	}
}
