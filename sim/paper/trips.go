package paper

import (
	"fmt"
	"math"
	"slices"

	"weir/sim/chart"
)

const locality = "Arithmetic on a world that is made up, since the paper's measurements are not published: 70 crawlers in 22 towns, four in five of them in North America, 4,000 hosts, of which six in ten are there (assumed). " +
	"A round trip is the way over the ground at nearly the speed of light in a fibre, and what the networks at the two ends add, log-normal: their medians and spreads, and the time of a kilometre, are fitted to the four medians that the paper prints. "

// roundTrips is figure 12.
func roundTrips() []Experiment {
	return []Experiment{
		{
			Name: "loo-12a", Title: "Round trips to hosts by how their crawlers are chosen",
			Paper: "At the median over hosts 12.19 ms from the best of all 70 crawlers, 39.18 from the best of 5 random ones, 49.13 from the best of 3, 79.1 from the one that Hostname chose. Hostname shadows random very closely; a simple heuristic like the best of 3 is a significant improvement. A picture besides.",
			Setup: locality + "Hostname is weir's own: overlay's keys and owners. weir is the nearest of the 3 nodes that are first in line for the host's partition.",
			judge: judgeTrips,
		},
		{
			Name: "loo-12b", Title: "Round trips to hosts from a single crawler",
			Paper: "A picture: the best, the median and the worst single crawler by their mean over all hosts. The worst has a knee: 60% of the hosts are very far away.",
			Setup: locality + "The knee is where the distribution of the logarithm of round trips is flattest, between a twentieth and 19 twentieths of the hosts.",
			judge: judgeAloneTrips,
		},
		{
			Name: "loo-near", Title: "Round trips in a crawl of weir's own",
			Paper: "Loo et al. measured round trips with ping, beside the crawl, for figure 12(a). No crawl went by them.",
			Setup: asBefore + "The 45 servers, 15 minutes. Nodes and servers stand where those of figure 12 do, nodes at places that are drawn; there is a round trip before every answer and another one before the first of a connection.",
			judge: judgeNear, teams: nearTeams(),
		},
	}
}

var nearSizes = []int{8, 16}

// nearTeams crawl with nodes at a distance from servers, by a scheme that goes by round
// trips and by the one that does not.
func nearTeams() (all []team) {
	for _, n := range nearSizes {
		for _, scheme := range []string{adaptive, adaptive + ":rtt"} {
			all = append(all, team{web: domain, scheme: scheme, nodes: n, apart: true})
		}
	}
	return all
}

func judgeNear(r *record, f *Finding) {
	t := &chart.Table{Columns: []string{"nodes", "scheme", "round trip of a page, mean, ms", "median", "KB/s", "pages", "idles", "DHT load of a page, B", "all bytes of a URL"}}
	all, nearer, idled := true, 0, 0.0
	means := map[team]float64{}
	for _, x := range nearTeams() {
		res, ok := r.teams[x]
		if !ok {
			all = false
			continue
		}
		var trips []float64
		for _, d := range res.Trips {
			trips = append(trips, d.Seconds()*1000)
			means[x] += d.Seconds() * 1000 / float64(len(res.Trips))
		}
		rows, every := int64(0), int64(0)
		for _, s := range res.Nodes {
			rows, every = rows+s.Received, every+s.Received+s.Gossip+s.Leases
		}
		t.Add(x.nodes, x.scheme, tenths(means[x]), tenths(middle(trips)), tenths(res.Bytes/res.Seconds/1000), thousands(res.Pages), percent(res.Idled),
			round(float64(rows)/float64(res.Seen)), round(float64(every)/float64(res.Seen)))
		plain := x
		plain.scheme = adaptive
		if x != plain {
			idled = max(idled, res.Idled)
			if means[x] < means[plain] {
				nearer++
			}
		}
	}
	f.table("", t)
	f.target("hosts are asked from nearby", "shorter round trips on the mean than without, with any number of nodes", all, nearer == len(nearSizes), "%d of %d", nearer, len(nearSizes))
	f.target("nodes that could ask do", "1% of the nodes' time idle at most", all, idled <= 0.01, "%s", percent(idled))
	f.Comment = "Whichever node has pages of a host waiting fetches them, and most pages of so short a crawl were found before three nodes had measured; with 8 nodes all fetchers are busy, the far ones too."
}

// chosen is how round trips come out under a rule, sorted.
type chosen struct {
	name  string
	trips []float64
	paper float64 // its median; NaN: not told
}

func judgeTrips(r *record, f *Finding) {
	p := ping(r.seed)
	optimal := p.choose(func(_ int, trips []float64) float64 { return slices.Min(trips) })
	worst := p.choose(func(_ int, trips []float64) float64 { return slices.Max(trips) })
	random, hostname, ours := p.bestOf(1, r.seed), p.owned(1), p.owned(3)
	five, three := p.bestOf(5, r.seed), p.bestOf(3, r.seed)
	f.trips("Loo et al., figure 12(a): round trips by the choice of the crawler", []chosen{
		{"optimal", optimal, 12.19}, {"best of 5", five, 39.18}, {"best of 3", three, 49.13}, {"random", random, nan},
		{"Hostname", hostname, 79.1}, {"worst", worst, nan}, {"weir", ours, nan},
	})
	for _, c := range []chosen{{"optimal", optimal, 12.19}, {"best of 5", five, 39.18}, {"best of 3", three, 49.13}, {"Hostname", hostname, 79.1}} {
		m := middle(c.trips)
		f.target(c.name+", median", fmt.Sprintf("within 15%% of %g ms (fitted)", c.paper), true, math.Abs(m/c.paper-1) <= 0.15, "%.1f ms", m)
	}
	apart := apart(hostname, random)
	f.target("Hostname shadows random", "their distributions at most 5 points apart", true, apart <= 0.05, "%.1f points", 100*apart)
	f.target("best of 3 is a significant improvement", fmt.Sprintf("its median at most %.0f%% of Hostname's, as in the paper, give or take 5 points", 100*49.13/79.1), true,
		middle(three)/middle(hostname) <= 49.13/79.1+0.05, "%.0f%%", 100*middle(three)/middle(hostname))
	f.target("weir, nearest of 3 in line", "no farther than the best of 3 random, within 5%", true, middle(ours) <= 1.05*middle(three), "%.1f ms against %.1f", middle(ours), middle(three))
	f.Comment = "The medians are fitted, so that they come out is no evidence. What follows from them is: the owners that hashing finds are random ones as far as distance goes, and three of them to choose from are enough for most of what five would give. " +
		"The nodes first in line for a partition are as good as random ones, so a host can have a near owner without anyone being asked: who they are, every node knows."
}

func judgeAloneTrips(r *record, f *Finding) {
	p := ping(r.seed)
	best, median, worst := p.alone()
	f.trips("Loo et al., figure 12(b): round trips from one crawler", []chosen{{"best", best, nan}, {"median", median, nan}, {"worst", worst, nan}})
	knee := knee(worst)
	far := 1 - knee
	f.target("worst crawler: hosts beyond the knee", "60%, give or take 15 points", true, math.Abs(far-0.60) <= 0.15, "%.0f%%, beyond %.0f ms", 100*far, quantile(worst, knee))
	f.target("order", "best, median, worst at every quartile", true, ordered(best, median, worst), "medians %.0f, %.0f and %.0f ms", middle(best), middle(median), middle(worst))
	f.Comment = "Where the paper's worst crawler stood is not told. Forty hosts in a hundred were near it, so it was on a continent with many: in Europe, likely. The worst one here is by itself, across an ocean from nearly all hosts; the knee is there, and more hosts are beyond it."
}

// trips shows distributions.
func (f *Finding) trips(title string, all []chosen) {
	t := &chart.Table{Title: "Round trips in ms", Columns: []string{"crawler", "paper, median", "median", "10%", "25%", "75%", "90%"}}
	c := &chart.Chart{Title: title, X: chart.Axis{Label: "round trip, ms", Log: true, From: 2, To: 2000}, Y: chart.Axis{Label: "hosts", Unit: chart.Percent, To: 1}}
	for _, x := range all {
		at := func(share float64) float64 { return tenths(quantile(x.trips, share)) }
		told := any(x.paper)
		if math.IsNaN(x.paper) {
			told = ""
		}
		t.Add(x.name, told, at(0.5), at(0.1), at(0.25), at(0.75), at(0.9))
		c.Lines = append(c.Lines, distribution(x.name, x.trips))
	}
	f.table("", t)
	f.chart("chart", c)
}

// distribution is the line of the share of values up to each.
func distribution(name string, sorted []float64) chart.Line {
	l := chart.Line{Name: name}
	const points = 200
	n := len(sorted)
	for i := range min(points, n) {
		k := i * max(n-1, 1) / max(min(points, n)-1, 1)
		l.X, l.Y = append(l.X, sorted[min(k, n-1)]), append(l.Y, float64(min(k, n-1)+1)/float64(n))
	}
	return l
}

// apart is how far two distributions are from each other where they are farthest.
func apart(a, b []float64) (most float64) {
	for i, v := range a {
		j, _ := slices.BinarySearch(b, v)
		most = max(most, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}

// knee is the share of values below the place where the sorted values rise most steeply.
func knee(sorted []float64) (at float64) {
	const step = 0.05
	most := 0.0
	for share := step; share < 1-2*step; share += step / 5 {
		if rise := math.Log(quantile(sorted, share+step) / quantile(sorted, share)); rise > most {
			most, at = rise, share+step
		}
	}
	return at
}

// ordered says that each distribution lies at or above the one before it.
func ordered(all ...[]float64) bool {
	for i := 1; i < len(all); i++ {
		for _, share := range []float64{0.25, 0.5, 0.75} {
			if quantile(all[i], share) < quantile(all[i-1], share) {
				return false
			}
		}
	}
	return true
}
