package paper

import (
	"math"
	"testing"

	"weir/sim"
)

func TestRoundTripsFollowTheGround(t *testing.T) {
	sf, ny := places[0], places[9]
	if d := sf.km(&ny); math.Abs(d-4130) > 50 {
		t.Errorf("San Francisco and New York are %.0f km apart", d)
	}
	nodes, hosts := 0, 0.0
	for _, p := range places {
		nodes += p.nodes
		hosts += p.hosts
	}
	if nodes != pingNodes || hosts != 100 {
		t.Errorf("%d crawlers and %v%% of the hosts", nodes, hosts)
	}
	p := ping(1)
	for h, trips := range p.trips {
		for n, ms := range trips {
			if !(ms > 0 && ms < 5000) {
				t.Fatalf("%v ms from %s to %s", ms, p.nodes[n].Name, p.names[h])
			}
		}
	}
}

// More crawlers to choose from can only bring hosts nearer.
func TestMoreToChooseFromIsNearer(t *testing.T) {
	p := ping(2)
	if !ordered(p.bestOf(70, 1), p.bestOf(5, 1), p.bestOf(3, 1), p.bestOf(1, 1)) || !ordered(p.owned(5), p.owned(3), p.owned(1)) {
		t.Error("a larger choice is farther away")
	}
}

func TestKneeIsWhereTripsBecomeLong(t *testing.T) {
	var trips []float64
	for i := range 1000 {
		ms := 20 + float64(i)/100
		if i >= 400 {
			ms += 200
		}
		trips = append(trips, ms)
	}
	if at := knee(trips); math.Abs(at-0.4) > 0.051 {
		t.Errorf("the knee is at %v", at)
	}
	if d := apart([]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}); d != 0 {
		t.Errorf("a distribution is %v from itself", d)
	}
	if d := apart([]float64{1, 2, 3, 4}, []float64{11, 12, 13, 14}); d != 0.75 {
		t.Errorf("distributions without a common value are %v apart", d)
	}
}

// crew is a cluster of so many nodes that fetched alike, made up.
func crew(nodes int, bytes float64, received int64, busy ...float64) sim.ClusterResult {
	r := sim.ClusterResult{Seconds: 900, Seen: 1000}
	for i := range nodes {
		s := sim.Share{Bytes: bytes, Received: received, Busy: busy[i%len(busy)]}
		if s.Busy == 0 {
			s.Bytes = 0
		}
		r.Nodes = append(r.Nodes, s)
		r.Bytes += s.Bytes
	}
	return r
}

func TestSpeedUpsOfClustersAreHeldAgainstThePaper(t *testing.T) {
	r := newRecord(1, 1)
	for _, s := range schemes {
		r.teams[team{web: world, scheme: s, nodes: 1}], r.teams[team{web: world, scheme: s, nodes: most}] = crew(1, 1e6, 0, 1), crew(most, 0.91e6, 100, 1)
	}
	r.teams[team{web: world, scheme: byHost, nodes: most}] = crew(most, 0.88e6, 100, 1)
	delete(r.teams, team{web: world, scheme: byURL, nodes: 1})
	var f Finding
	judgeThroughputA(&r, &f)
	got := verdicts(&f)
	for what, v := range map[string]Verdict{
		"Hostname-8: throughput grows with the nodes": Met, "Hostname: throughput grows with the nodes": NotMet, "URL: throughput grows with the nodes": NotRun,
		"similar for all schemes": Met,
	} {
		if got[what] != v {
			t.Errorf("%s: %q, want %q", what, got[what], v)
		}
	}
}

func TestNodesThatIdleThoughThereIsWorkAreCounted(t *testing.T) {
	r := newRecord(1, 1)
	for _, n := range sizes {
		r.teams[team{web: domain, scheme: adaptive, nodes: n}] = sim.ClusterResult{Seconds: 900, Idled: 0.1 / float64(n)}
	}
	var f Finding
	f.idled(&r, fixed)
	got := verdicts(&f)
	for what, v := range map[string]Verdict{"weir idles no node that politeness leaves work for": Met, "the same with fewer nodes": NotMet, "weir against Hostname, both polite": NotRun} {
		if got[what] != v {
			t.Errorf("%s: %q, want %q", what, got[what], v)
		}
	}
}

func TestIdleNodesAreHeldAgainstThePaper(t *testing.T) {
	r := newRecord(1, 1)
	r.teams[team{web: domain, scheme: byHost, nodes: most}] = crew(most, 1e6, 100, 1, 0, 0, 0) // three of four idle
	r.teams[team{web: domain, scheme: byHost8, nodes: most}] = crew(most, 1e6, 100, 1, 0)
	r.teams[team{web: domain, scheme: byURL, nodes: most}] = crew(most, 1e6, 500, 1)
	var f Finding
	judgeLoadsB(&r, &f)
	got := verdicts(&f)
	for what, v := range map[string]Verdict{"Hostname: idle nodes": Met, "Hostname-8: idle nodes": NotMet, "URL: idle nodes": Met, "Redirect: idle nodes": NotRun} {
		if got[what] != v {
			t.Errorf("%s: %q, want %q", what, got[what], v)
		}
	}
	if d := r.overhead(team{web: domain, scheme: byURL, nodes: most}); d != 40 {
		t.Errorf("%v bytes for a page", d)
	}
}

// A crawl that has fetched nothing yet has no round trips, and meets no target by them.
func TestNearWithoutPages(t *testing.T) {
	r := newRecord(1, 1)
	for _, x := range nearTeams() {
		r.teams[x] = sim.ClusterResult{}
	}
	var f Finding
	judgeNear(&r, &f)
	if len(f.Targets) == 0 || f.Targets[0].Verdict == Met {
		t.Errorf("the targets: %+v", f.Targets)
	}
}
