package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"weir/overlay"
	"weir/sim/chart"
	"weir/sim/mesh"
)

// growths are the experiments with more nodes than any paper had.
func growths() []Experiment {
	all := []Experiment{
		{
			Name: "scale-members", Title: "Up to 10,000 nodes: agreeing on who owns what", Live: true,
			Paper: "Loo et al. have 80 nodes and a DHT, which is meant for millions and balances no better than chance.",
			Setup: "overlay.Member alone, as live, in virtual time: sim/mesh carries what they say, 5 ms a message on the mean; nobody crawls, and all say that they are busy. They start at once; one that owns something goes without a word, and is missed after " + overlay.TTL.String() +
				"; one more joins. Words are loads to all, reports to the one who counts, and rounds; renewals of sessions, which the carrier takes to all, are not among them. With --scale below 0.1 up to 300 nodes only.",
			judge: judgeGrowth,
		},
		{
			Name: "scale-spread", Title: "Up to 10,000 nodes: how even shares are",
			Paper: "Loo et al., section 4.2.1: some nodes are responsible for a larger fraction of URLs than others.", Live: true,
			Setup: "Arithmetic: overlay.Owners share out partitions, overlay.Keys put hosts into them. 100 hosts a node, whose numbers of pages are drawn from a power law (exponent 1.8, at most 25,000 as in chile; assumed). With --scale below 0.1 up to 1,000 nodes only.",
			judge: judgeSpread,
		},
	}
	for _, x := range crowds {
		all = append(all, Experiment{
			Name: fmt.Sprintf("scale-crawl-%.0fs", x.lasts.Seconds()), Title: fmt.Sprintf("Up to %s nodes: what a URL costs in %.0f s", thousands(int64(slices.Max(x.nodes))), x.lasts.Seconds()), Live: true,
			Paper: "Loo et al. measure up to 80 nodes; nothing is said of more.",
			Setup: asBefore + "weir alone, adaptive, the exhaustive crawl from one page on. 4,096 partitions from 500 nodes on, 8,192 with 5,000, 10,240 with 10,000. From 2,500 nodes on they have joined before. Copies of logs and renewals of sessions are not simulated. 2,500 nodes need --scale 0.1, and more --scale 1: 5,000 take 10 GB, 10,000 take 19 (with GOGC=40; GOMEMLIMIT=20GiB).",
			judge: func(r *record, f *Finding) { judgeCrowd(r, f, x.teams()) }, teams: x.teams(),
		})
	}
	return all
}

// sizesOf are the clusters of Members that are tried: nodes, partitions.
func sizesOf(scale float64) [][2]int {
	all := [][2]int{{3, 256}, {10, 256}, {100, 256}, {300, 1024}}
	if scale >= 0.1 {
		all = append(all, [2]int{1000, 256}, [2]int{1000, 4096}, [2]int{10_000, 256})
	}
	return all
}

func judgeGrowth(r *record, f *Finding) {
	t := &chart.Table{Columns: []string{"nodes", "partitions", "start, s", "after a death, s", "after a join, s", "partitions moved by the join", "words a second to a node", "bytes a second", "words a second to the teller"}}
	worst, words := 0.0, 0.0
	for _, x := range sizesOf(r.scale) {
		g, err := mesh.Grow(r.seed, x[0], x[1], r.on)
		if err != nil {
			f.Gaps = append(f.Gaps, fmt.Sprintf("%d nodes: %v", x[0], err))
			break
		}
		t.Add(g.Nodes, g.Parts, tenths(g.Start.Seconds()), tenths(g.Crash.Seconds()), tenths(g.Join.Seconds()), g.Moved, tenths(g.Words), round(g.Bytes), tenths(g.Teller))
		worst, words = max(worst, g.Crash.Seconds(), g.Join.Seconds()), max(words, g.Words)
	}
	f.table("", t)
	all := len(f.Gaps) == 0
	f.target("partitions where they belong again", "30 s after a death and after a join at most", all, worst <= 30, "%.1f s", worst)
	f.target("gossip is bounded", "12 words a second to a node at most, however many there are", all, words <= 12, "%.1f", words)
	f.Comment = "A node tells all others of its load ten times less often when there are ten times as many, so that nobody hears more: with 10,000 nodes what one knows of another's load is a quarter of an hour old. Only who is patient with whom hangs on it (how long rows are gathered). " +
		"What must be exact, shares and quiet, goes to one node, the teller, which is the one that hears more."
}

// judgeSpread works out how much more than its share the busiest node has.
func judgeSpread(r *record, f *Finding) {
	t := &chart.Table{
		Title:   "the busiest node, of the mean",
		Columns: []string{"nodes", "partitions", "partitions a node", "partitions", "hosts", "pages", "nodes without any"},
	}
	nodes := []int{80, 1000}
	if r.scale >= 0.1 {
		nodes = append(nodes, 10_000)
	}
	enough := 0.0
	for _, n := range nodes {
		for _, parts := range []int{overlay.Parts, 4096, 16 * 1024} {
			if !r.on() {
				f.Gaps = append(f.Gaps, fmt.Sprintf("%d nodes, %d partitions", n, parts))
				continue
			}
			s := spread(r.seed, n, parts)
			t.Add(thousands(int64(n)), thousands(int64(parts)), tenths(float64(parts)/float64(n)), round(s.parts), round(s.hosts), round(s.pages), percent(s.none))
			if n == 1000 && parts == 16*1024 {
				enough = s.parts
			}
		}
	}
	f.table("", t)
	f.target("1,000 nodes, 16,384 partitions", "nobody has more than 1.1 times its share of partitions", enough > 0, enough <= 1.1, "%.2f times", enough)
	f.Comment = "Shares differ by one partition at most, so ten partitions a node make the busiest one 1.1 times the mean, and 256 are enough for 25 nodes. Hosts are put into partitions by chance, and sizes of hosts are what they are: more partitions do not help against a host that is large, spreading it does (adaptive)."
}

// shares is what the busiest node has, as a multiple of the mean.
type shares struct{ parts, hosts, pages, none float64 }

func spread(seed uint64, nodes, parts int) shares {
	peers := make([]overlay.Peer, nodes)
	for i := range peers {
		peers[i] = overlay.Peer{Name: fmt.Sprintf("node%05d", i), Session: 1}
	}
	owners, keys := overlay.NewOwners(parts), overlay.NewKeys(overlay.Scheme{}, parts)
	owners.Set(peers)
	seat := map[string]int{}
	for i, p := range peers {
		seat[p.Name] = i
	}
	has := make([][3]float64, nodes)
	at := make([]int, parts)
	for p := range at {
		at[p] = seat[owners.Of(p)]
		has[at[p]][0]++
	}
	random := rand.New(rand.NewPCG(seed, 13))
	const perNode, most, exponent = 100, 25_000, 1.8
	for h := range perNode * nodes {
		i := at[keys.HostPart(fmt.Sprintf("h%d.example", h))]
		has[i][1]++
		has[i][2] += math.Min(math.Pow(1-random.Float64(), -1/(exponent-1)), most)
	}
	var s shares
	for k, to := range []*float64{&s.parts, &s.hosts, &s.pages} {
		var all []float64
		for i := range has {
			all = append(all, has[i][k])
		}
		*to = slices.Max(all) / mean(all)
	}
	for i := range has {
		if has[i][0] == 0 {
			s.none += 1 / float64(nodes)
		}
	}
	return s
}

// crowds are the clusters that crawl, and for how long. With thousands of nodes a second of
// theirs takes many of ours, and all are busy soon.
var crowds = []multitude{
	{2 * time.Minute, []int{80, 250, 500, 1000}},
	{40 * time.Second, []int{1000, 2500, 5000}},
	{20 * time.Second, []int{1000, 10_000}},
}

// multitude are clusters that crawl for equally long.
type multitude struct {
	lasts time.Duration
	nodes []int
}

func (m multitude) teams() (all []team) {
	for _, n := range m.nodes {
		all = append(all, team{web: world, scheme: adaptive, nodes: n, brief: m.lasts})
	}
	return all
}

func judgeCrowd(r *record, f *Finding, all []team) {
	kinds := []overlay.Traffic{overlay.Rows, overlay.Ends, overlay.Epochs, overlay.HostNews, overlay.Leases, overlay.Gossip}
	t := &chart.Table{Title: "bytes for a page asked for", Columns: []string{"nodes", "crawl, s", "pages", "asked for", "rows for one", "rows a batch"}}
	for _, k := range kinds {
		t.Columns = append(t.Columns, k.String())
	}
	t.Columns = append(t.Columns, "all", "busiest crawl load, of the mean", "idle nodes")
	for _, x := range all {
		res, ok := r.teams[x]
		if !ok {
			continue
		}
		row := []any{x.nodes, x.lasts(r.scale).Seconds(), thousands(res.Pages), thousands(res.Seen), round(float64(res.Rows) / float64(res.Seen)), tenths(float64(res.Rows) / float64(res.Batches))}
		for _, k := range kinds {
			row = append(row, tenths(float64(res.Account.Received[k])/float64(res.Seen)))
		}
		loads := r.nodes(x, crawlLoad)
		t.Add(append(row, tenths(res.Account.PerURL(res.Seen)), round(peak(loads)/mean(loads)), percent(r.idle(x)))...)
	}
	f.table("", t)
	f.Comment = "Rows are what grows with a crawl; gossip and leases grow with its time, and two minutes from one page on are little to share them among. Within 40 seconds thousands of nodes have hardly begun to tell their loads. " +
		"With more nodes each knows less of what others have sent, so a URL is sent more often, and a batch has fewer rows to share what comes with a message."
}
