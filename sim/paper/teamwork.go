package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/sim"
	"weir/sim/chart"
)

const (
	teamSetup = "weir's own nodes in virtual time: an Engine, a Ledger and a Member each, 256 partitions, messages of 80 ms on the mean between them, three fetchers each, breadth first, 15 minutes from when every partition has an owner. " +
		"A page takes a fetcher 5.0 s on the mean, as in the paper (43,404 pages by 240 fetchers in 900 s); how that divides, sizes of pages and links are assumed or fitted (sim/web/cluster.go). As in the paper nobody waits between two requests to a server, " +
		"and its four schemes ask for no leases; but a weir node asks a host on one connection at a time, where the paper's could have three at it. weir is weir's own scheme, adaptive: as Hostname, but hosts that wait for a connection of their owner are left to nodes that have one free; " +
		"every host is asked under leases, as live, by one node at a time. DHT load is what others write to the logs that a node owns, 100 bytes of envelope a batch included; gossip, leases, renewals and the copies that are kept for safety are left out, as the paper has none. "
	asBefore = "As loo-3. " // what needs not be read nine times
)

// workload is one of the three of section 4.1, with the figures that show it.
type workload struct {
	web, letter, title string
	first              int // of its figures: loads, throughput, overhead
}

var (
	exhaustive = workload{world, "A", "exhaustive crawl", 3}
	fixed      = workload{domain, "B", "45 servers", 6}
	one        = workload{single, "C", "one server", 9}
)

// figure names a figure of the workload: 0 its loads, 1 its throughput, 2 its overhead.
func (w *workload) figure(i int) int { return w.first + i }

// share is a measure of a node.
type share func(s *sim.Share, seconds float64) float64

func crawlLoad(s *sim.Share, seconds float64) float64 { return s.Bytes / seconds / 1000 }
func dhtLoad(s *sim.Share, seconds float64) float64   { return float64(s.Received) / seconds / 1000 }
func busyShare(s *sim.Share, _ float64) float64       { return s.Busy }

// nodes are the values of a measure over the nodes of a team, sorted; nil: it was not
// played.
func (r *record) nodes(t team, of share) []float64 {
	res, ok := r.teams[t]
	if !ok {
		return nil
	}
	var all []float64
	for i := range res.Nodes {
		all = append(all, of(&res.Nodes[i], res.Seconds))
	}
	slices.Sort(all)
	return all
}

// idle is the share of nodes that fetched next to nothing.
func (r *record) idle(t team) float64 {
	all := r.nodes(t, busyShare)
	n, _ := slices.BinarySearch(all, 0.01)
	return float64(n) / float64(len(all))
}

// above is the share of nodes whose DHT load is above a value.
func (r *record) above(t team, load float64) float64 {
	n := 0
	all := r.nodes(t, dhtLoad)
	for _, v := range all {
		if v > load {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

// throughput is kilobytes of pages a second over all nodes.
func (r *record) throughput(t team) float64 {
	res, ok := r.teams[t]
	if !ok {
		return nan
	}
	return res.Bytes / res.Seconds / 1000
}

// overhead is bytes of DHT load for every page asked for.
func (r *record) overhead(t team) float64 {
	res, ok := r.teams[t]
	if !ok {
		return nan
	}
	sum := 0.0
	for i := range res.Nodes {
		sum += float64(res.Nodes[i].Received)
	}
	return sum / float64(res.Seen)
}

// last of sorted values.
func peak(sorted []float64) float64 {
	if len(sorted) == 0 {
		return nan
	}
	return sorted[len(sorted)-1]
}

func mean(all []float64) float64 { return total(all) / float64(len(all)) }

// unevenness is the deviation of values as a part of their mean.
func unevenness(all []float64) float64 {
	m, sum := mean(all), 0.0
	for _, v := range all {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum/float64(len(all))) / m
}

// full are the teams of all schemes with all nodes.
func (w *workload) full() []team {
	var all []team
	for _, s := range schemes {
		all = append(all, team{web: w.web, scheme: s, nodes: most})
	}
	return all
}

func (w *workload) of(scheme string, nodes int) team {
	return team{web: w.web, scheme: scheme, nodes: nodes}
}

// loads shows how loads are spread over 80 nodes: figures 3, 6 and 9.
func (f *Finding) loads(r *record, w workload) {
	t := &chart.Table{
		Title:   "80 nodes, KB/s",
		Columns: []string{"scheme", "idle nodes", "crawl load: mean", "median", "busiest", "uneven", "DHT load: mean", "median", "busiest", "uneven", "pages", "asked for"},
		Notes:   []string{"uneven: standard deviation over nodes as a part of the mean. idle: a node whose fetchers were busy for less than 1% of the time."},
	}
	crawl := &chart.Chart{Title: fmt.Sprintf("Loo et al., figure %d(a): crawling load, %s", w.figure(0), w.title), X: chart.Axis{Label: "KB/s"}, Y: chart.Axis{Label: "nodes", Unit: chart.Percent, To: 1}}
	dht := &chart.Chart{Title: fmt.Sprintf("Loo et al., figure %d(b): DHT load, %s", w.figure(0), w.title), X: chart.Axis{Label: "KB/s"}, Y: chart.Axis{Label: "nodes", Unit: chart.Percent, To: 1}}
	for _, x := range w.full() {
		res, ok := r.teams[x]
		if !ok {
			continue
		}
		a, b := r.nodes(x, crawlLoad), r.nodes(x, dhtLoad)
		t.Add(schemeName(x.scheme), percent(r.idle(x)), round(mean(a)), round(middle(a)), round(peak(a)), round(unevenness(a)),
			round(mean(b)), round(middle(b)), round(peak(b)), round(unevenness(b)), thousands(res.Pages), thousands(res.Seen))
		crawl.Lines, dht.Lines = append(crawl.Lines, distribution(schemeName(x.scheme), a)), append(dht.Lines, distribution(schemeName(x.scheme), b))
	}
	f.table("", t)
	f.chart("crawl", crawl)
	f.chart("dht", dht)
}

// grown shows a measure over the number of nodes: figures 4, 5, 7, 8, 10 and 11.
func (f *Finding) grown(title, axis string, w workload, of func(team) float64) {
	t := &chart.Table{Title: axis, Columns: []string{"nodes"}}
	c := &chart.Chart{Title: title, X: chart.Axis{Label: "nodes", From: 0, To: most}, Y: chart.Axis{Label: axis}}
	for _, s := range schemes {
		t.Columns = append(t.Columns, schemeName(s))
		line := chart.Line{Name: schemeName(s), Points: true}
		for _, n := range sizes {
			line.X, line.Y = append(line.X, float64(n)), append(line.Y, of(w.of(s, n)))
			c.Y.To = max(c.Y.To, 1.05*of(w.of(s, n)))
		}
		c.Lines = append(c.Lines, line)
	}
	for _, n := range sizes {
		row := []any{n}
		for _, s := range schemes {
			row = append(row, tenths(of(w.of(s, n))))
		}
		t.Add(row...)
	}
	f.table("", t)
	f.chart("chart", c)
}

// have says that all teams were played.
func (r *record) have(all ...team) bool {
	for _, t := range all {
		if _, ok := r.teams[t]; !ok {
			return false
		}
	}
	return true
}

// linear adds a target: the speed-up of a scheme at 80 nodes. One node alone fetches a
// few hundred pages, so that the luck of their sizes is in what it has in bytes; the
// speed-up in pages is told beside it.
func (f *Finding) linear(r *record, w workload, scheme string, least float64) {
	many, single := w.of(scheme, most), w.of(scheme, 1)
	up, pages := r.throughput(many)/r.throughput(single), float64(r.teams[many].Pages)/float64(r.teams[single].Pages)
	f.target(schemeName(scheme)+": throughput grows with the nodes", fmt.Sprintf("at 80 nodes at least %.0f%% of 80 times that of one", 100*least), r.have(many, single),
		up >= least*most, "%.1f times; in pages %.1f times", up, pages)
}

// ranked adds a target: measures of schemes at 80 nodes rise in an order.
func (f *Finding) ranked(what string, r *record, w workload, of func(team) float64, order ...string) {
	have, met := true, true
	var names, values []string
	for i, s := range order {
		t := w.of(s, most)
		have = have && r.have(t)
		met = met && (i == 0 || of(w.of(order[i-1], most)) < of(t))
		names, values = append(names, schemeName(s)), append(values, fmt.Sprintf("%.3g", of(t)))
	}
	f.target(what, strings.Join(names, " < ")+" at 80 nodes", have, met, "%s", strings.Join(values, ", "))
}

// bounced adds a target: what Redirect costs beside URL.
func (f *Finding) bounced(r *record, w workload) {
	url, bounce := w.of(byURL, most), w.of(redirect, most)
	times := r.overhead(bounce) / r.overhead(url)
	f.target("Redirect against URL", "more, up to 3 times", r.have(url, bounce), times > 1 && times <= 3.3, "%.2f times", times)
}

// idled shows, for the schemes that ask a server once at a time, how much of their
// time nodes idle though there is a host that could be asked.
func (f *Finding) idled(r *record, w workload) {
	t := &chart.Table{Title: "nodes' time that they idle though a host could be asked", Columns: []string{"nodes", schemeName(byHost), schemeName(adaptive)}}
	have, worst := true, 0.0
	for _, n := range sizes {
		host, ours := w.of(byHost, n), w.of(adaptive, n)
		t.Add(n, percent(r.teams[host].Idled), percent(r.teams[ours].Idled))
		have = have && r.have(ours)
		worst = max(worst, r.teams[ours].Idled)
	}
	f.table("idled", t)
	last := w.of(adaptive, most)
	f.target("weir idles no node that politeness leaves work for", "1% of the nodes' time at most, with 80 nodes", r.have(last), r.teams[last].Idled <= 0.01, "%s", percent(r.teams[last].Idled))
	f.target("the same with fewer nodes", "1% of the nodes' time at most, however many", have, worst <= 0.01, "%s", percent(worst))
	a, b := r.throughput(w.of(adaptive, most)), r.throughput(w.of(byHost, most))
	f.target("weir against Hostname, both polite", "at least 95% of the throughput at 80 nodes", r.have(w.of(adaptive, most), w.of(byHost, most)), a >= 0.95*b, "%s", percent(a/b))
}
