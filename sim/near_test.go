package sim

import (
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
	"weir/sim/web"
)

// Hosts that are far from their owner are left to the nearest of three: most pages are
// fetched from nearer, none twice, and nodes idle no more. Every host is asked by one node
// at a time, as in all crawls with leases, or this fails.
//
// What could be gained is known: every page fetched by its host's owner, or by the nearest
// of three where that is too far. A quarter to a half of it is, over twelve webs: nodes
// of three connections have to leave hosts to whoever is free. One web more or less
// swings by as much, as most of its pages are of a few hosts.
func TestPagesAreFetchedFromNearby(t *testing.T) {
	const webs = 12
	var far, near, best, idled float64
	for seed := range uint64(webs) {
		without, mean, _ := nearby(t, "adaptive", seed+1)
		far += mean
		with, mean, ideal := nearby(t, "adaptive:rtt", seed+1)
		near, best = near+mean, best+ideal
		idled += with.Idled / webs
		if with.Pages < without.Pages*9/10 {
			t.Errorf("nodes have fetched %d pages, and %d without", with.Pages, without.Pages)
		}
	}
	if far-near < (far-best)/8 {
		t.Errorf("servers are %.1f ms away, were %.1f, and could be %.1f", near/webs, far/webs, best/webs)
	}
	if idled > 0.01 {
		t.Errorf("nodes idle for %v of their time", idled)
	}
}

// nearby crawls a web from 12 nodes. It returns how far servers were on the mean, in ms,
// and how far they would have been in the best case.
func nearby(t *testing.T, scheme string, seed uint64) (r ClusterResult, mean, ideal float64) {
	shape, err := web.Preset("domain", 0.05)
	if err != nil {
		t.Fatal(err)
	}
	shape.Seed = seed
	w, err := web.Generate(shape)
	if err != nil {
		t.Fatal(err)
	}
	w.Seeds = []uint32{0}
	s, err := overlay.ParseScheme(scheme)
	if err != nil {
		t.Fatal(err)
	}
	trip := func(node, site int) time.Duration {
		return time.Duration(10+97*(31*site+node+int(seed))%12*25) * time.Millisecond
	}
	var c *Cluster
	fetched := map[uint32]bool{}
	best := func(site int) time.Duration {
		home := overlay.NewKeys(s, c.swarm.parts).HostPart(page.SiteHost(c.names.site(uint32(site))))
		at := func(i int) time.Duration { return trip(int(c.swarm.owner[(home+i)%c.swarm.parts].c.who), site) }
		if at(0) <= 100*time.Millisecond {
			return at(0)
		}
		return min(at(0), at(1), at(2))
	}
	c, err = NewCluster(w, ClusterConfig{
		Config: Config{Order: "depth", Conns: 3, Wait: -1, MaxTime: 20 * time.Minute, Fetched: func(p uint32) {
			if fetched[p] {
				t.Errorf("%s: page %d was fetched twice", scheme, p)
			}
			fetched[p] = true
			ideal += best(int(w.SiteOf[p])).Seconds() * 1000
		}},
		Nodes: 12, Scheme: s, Leases: true, Trip: trip, Seed: seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(nil); err != nil {
		t.Fatal(err)
	}
	r, _ = c.Result()
	for _, d := range r.Trips {
		mean += d.Seconds() * 1000 / float64(len(r.Trips))
	}
	ideal /= float64(len(fetched))
	t.Logf("%s, web %d: %.1f ms to the server and back on the mean, %.1f at best; %d pages, %d handed on, nodes idle %.2f%%, %d bytes a page in logs", scheme, seed, mean, ideal, r.Pages, r.Moved, 100*r.Idled, r.Logged/max(r.Pages, 1))
	return r, mean, ideal
}
