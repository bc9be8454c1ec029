package paper

import (
	"math"
	"testing"
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
