package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"weir/overlay"
)

// place is a town with crawlers and with hosts that are crawled.
type place struct {
	name     string
	lat, lon float64
	nodes    int     // of the paper's 70 crawlers
	hosts    float64 // share of the hosts, percent
}

// places are assumed: crawlers as PlanetLab's nodes of 2004 stood, four in five at
// North American universities, and hosts of which six in ten are in North America.
var places = []place{
	{"San Francisco", 37.8, -122.3, 9, 10}, {"Seattle", 47.6, -122.3, 4, 4}, {"Los Angeles", 34.0, -118.2, 6, 6},
	{"Salt Lake City", 40.8, -111.9, 2, 1}, {"Dallas", 32.8, -96.8, 4, 6}, {"Chicago", 41.9, -87.6, 6, 5},
	{"Ann Arbor", 42.3, -83.7, 3, 3}, {"Pittsburgh", 40.4, -80.0, 3, 2}, {"Boston", 42.4, -71.1, 7, 5},
	{"New York", 40.7, -74.0, 6, 8}, {"Washington", 38.9, -77.0, 4, 7}, {"Atlanta", 33.7, -84.4, 3, 3},
	{"London", 51.5, -0.1, 3, 9}, {"Paris", 48.9, 2.4, 1, 4}, {"Frankfurt", 50.1, 8.7, 2, 8},
	{"Stockholm", 59.3, 18.1, 1, 3}, {"Bologna", 44.5, 11.3, 1, 3}, {"Tel Aviv", 32.1, 34.8, 1, 1},
	{"Tokyo", 35.7, 139.7, 1, 5}, {"Taipei", 25.0, 121.5, 1, 4}, {"Sydney", -33.9, 151.2, 1, 2}, {"São Paulo", -23.5, -46.6, 1, 1},
}

// A round trip is the way there and back, and what the networks at both ends add.
// Light in a fibre takes 10 us for a kilometre of both ways; the four other numbers
// are fitted, to the four medians that the paper prints and to nothing else.
const (
	perKm      = 0.0105 // ms
	hostEnd    = 8.0    // ms at the median, log-normal
	hostSigma  = 1.4
	nodeEnd    = 9.0
	nodeSigma  = 1.2
	pingHosts  = 4000 // hosts sampled. The paper does not say how many it had
	pingNodes  = 70   // ping worked from these
	earthRound = 6371 // km, radius
)

// km is the distance of two places over the ground.
func (a *place) km(b *place) float64 {
	const r = math.Pi / 180
	x, y := math.Sin((b.lat-a.lat)*r/2), math.Sin((b.lon-a.lon)*r/2)
	h := float64(x*x) + float64(math.Cos(a.lat*r)*math.Cos(b.lat*r)*y*y)
	return 2 * earthRound * math.Asin(math.Sqrt(h))
}

// pings are the round trips from every crawler to every host, in ms: trips[host][node].
type pings struct {
	trips [][]float64
	names []string // of hosts
	nodes []overlay.Peer
}

// ping measures a world that is made up.
func ping(seed uint64) *pings {
	r := rand.New(rand.NewPCG(seed, 12))
	p := &pings{}
	var at []*place
	var end []float64
	total := 0.0
	for i := range places {
		x := &places[i]
		total += x.hosts
		for range x.nodes {
			at, end = append(at, x), append(end, nodeEnd*math.Exp(nodeSigma*r.NormFloat64()))
			p.nodes = append(p.nodes, overlay.Peer{Name: fmt.Sprintf("node%02d", len(at)), Session: 1})
		}
	}
	for h := range pingHosts {
		u, i := r.Float64()*total, 0
		for u >= places[i].hosts && i < len(places)-1 {
			u -= places[i].hosts
			i++
		}
		own := hostEnd * math.Exp(hostSigma*r.NormFloat64())
		trips := make([]float64, len(at))
		for n, x := range at {
			trips[n] = own + end[n] + float64(perKm*x.km(&places[i]))
		}
		p.trips, p.names = append(p.trips, trips), append(p.names, fmt.Sprintf("s%d.example", h))
	}
	return p
}

// between is how long it takes from a node of a cluster to a site and back: nodes are
// some of the crawlers.
func (p *pings) between(seed uint64) func(node, site int) time.Duration {
	who := rand.New(rand.NewPCG(seed, 99)).Perm(len(p.nodes))
	return func(node, site int) time.Duration {
		return time.Duration(p.trips[site%len(p.trips)][who[node]] * float64(time.Millisecond))
	}
}

// choose gives every host its trip by a rule.
func (p *pings) choose(rule func(host int, trips []float64) float64) []float64 {
	var all []float64
	for h, trips := range p.trips {
		all = append(all, rule(h, trips))
	}
	slices.Sort(all)
	return all
}

// bestOf is the nearest of k random crawlers.
func (p *pings) bestOf(k int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, uint64(k)))
	return p.choose(func(_ int, trips []float64) float64 {
		least := math.Inf(1)
		for _, n := range r.Perm(len(trips))[:k] {
			least = min(least, trips[n])
		}
		return least
	})
}

// owned is the nearest of the k nodes that are first in line for the host's
// partition, by weir's own keys; with k = 1 its owner.
func (p *pings) owned(k int) []float64 {
	keys, owners := overlay.NewKeys(overlay.Scheme{}, overlay.Parts), overlay.NewOwners(overlay.Parts)
	owners.Set(p.nodes)
	number := map[string]int{}
	for i, n := range p.nodes {
		number[n.Name] = i
	}
	return p.choose(func(h int, trips []float64) float64 {
		least := math.Inf(1)
		for _, name := range owners.Candidates(keys.HostPart(p.names[h]), k) {
			least = min(least, trips[number[name]])
		}
		return least
	})
}

// alone are the trips of single crawlers: the best, the median and the worst by the
// mean over all hosts.
func (p *pings) alone() (best, median, worst []float64) {
	type one struct {
		node int
		mean float64
	}
	var all []one
	for n := range p.nodes {
		sum := 0.0
		for _, trips := range p.trips {
			sum += trips[n]
		}
		all = append(all, one{n, sum / float64(len(p.trips))})
	}
	slices.SortFunc(all, func(a, b one) int {
		if a.mean != b.mean {
			return int(math.Copysign(1, a.mean-b.mean))
		}
		return a.node - b.node
	})
	of := func(i int) []float64 {
		return p.choose(func(_ int, trips []float64) float64 { return trips[all[i].node] })
	}
	return of(0), of(len(all) / 2), of(len(all) - 1)
}

// middle is the median of sorted values.
func middle(sorted []float64) float64 { return quantile(sorted, 0.5) }

// quantile is the value below which a share of the sorted values lies.
func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return nan
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
