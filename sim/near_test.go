package sim

import (
	"testing"
	"time"

	"weir/overlay"
)

// Hosts that are far from their owner are left to the nearest of three: most pages are
// fetched from nearer, none twice, and nodes idle no more. Every host is asked by one node
// at a time, as in all crawls with leases, or this fails.
func TestPagesAreFetchedFromNearby(t *testing.T) {
	w := domain(t)
	crawl := func(scheme string) (r ClusterResult, mean time.Duration) {
		s, err := overlay.ParseScheme(scheme)
		if err != nil {
			t.Fatal(err)
		}
		fetched := map[uint32]bool{}
		c, err := NewCluster(w, ClusterConfig{
			Config: Config{Order: "depth", Conns: 3, Wait: -1, MaxTime: 20 * time.Minute, Fetched: func(p uint32) {
				if fetched[p] {
					t.Errorf("%s: page %d was fetched twice", scheme, p)
				}
				fetched[p] = true
			}},
			Nodes: 12, Scheme: s, Leases: true,
			Trip: func(node, site int) time.Duration {
				return time.Duration(10+97*(31*site+node)%12*25) * time.Millisecond
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(nil); err != nil {
			t.Fatal(err)
		}
		r, _ = c.Result()
		for _, d := range r.Trips {
			mean += d / time.Duration(len(r.Trips))
		}
		t.Logf("%s: %v to the server and back on the mean, %v at the median; %d pages, %d handed on, nodes idle %.2f%%", scheme, mean, r.Trips[len(r.Trips)/2], r.Pages, r.Moved, 100*r.Idled)
		return r, mean
	}
	without, far := crawl("adaptive")
	with, near := crawl("adaptive:rtt")
	if near > far*17/20 {
		t.Errorf("servers are %v away, and were %v", near, far)
	}
	if with.Idled > 0.01 || with.Pages < without.Pages*9/10 {
		t.Errorf("nodes idle for %v of their time; they have fetched %d pages, and %d without", with.Idled, with.Pages, without.Pages)
	}
}
