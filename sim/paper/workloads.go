package paper

import (
	"fmt"
	"math"
)

// workloads are figures 3 to 11 of Loo et al., and table 1.
func workloads() []Experiment {
	figure := func(w workload, i int, title, paper string, judge func(r *record, f *Finding)) Experiment {
		e := Experiment{Name: fmt.Sprintf("loo-%d", w.figure(i)), Title: title, Paper: paper, Setup: asBefore, judge: judge, teams: teams(w.web)}
		if w.figure(i) == 3 {
			e.Setup = teamSetup
		}
		if i == 0 {
			e.teams = w.full()
		}
		return e
	}
	return []Experiment{
		figure(exhaustive, 0, "Exhaustive crawl: loads of 80 nodes",
			"Pictures. No scheme has idle nodes. URL and Redirect are more balanced than Hostname; the busiest node of Hostname has a crawling load of 43 KB/s, that of URL 25, of Hostname-8 27. Hostname has the lowest DHT load.", judgeLoadsA),
		figure(exhaustive, 1, "Exhaustive crawl: throughput",
			"A picture: throughput is similar for all schemes and scales linearly with the nodes.", judgeThroughputA),
		figure(exhaustive, 2, "Exhaustive crawl: DHT load of a page",
			"A picture: 0 with one node, a sharp increase, level from 16 nodes on, since a put is remote with probability (n-1)/n. Hostname has the least, then Hostname-8, URL and Redirect.", judgeOverheadA),
		figure(fixed, 0, "45 servers: loads of 80 nodes",
			"Pictures. 70% of the nodes are idle with Hostname, 20% with Hostname-8, 1% with Redirect and none with URL. With Redirect 60% of the nodes have the DHT load of URL and 40% much more; with Hostname and Hostname-8 many have less than 1 KB/s.", judgeLoadsB),
		figure(fixed, 1, "45 servers: throughput",
			"A picture: Hostname has the worst throughput; Redirect and URL are good, Redirect 20% better than URL.", judgeThroughputB),
		figure(fixed, 2, "45 servers: DHT load of a page",
			"A picture whose axis ends at 2,500 bytes: Redirect incurs up to 3 times as much as URL, as 90% of page requests are redirected; Hostname little.", judgeOverheadB),
		figure(one, 0, "One server: loads of 80 nodes",
			"Pictures. With Hostname one node crawls; with Hostname-8 80% are idle. Only URL has a balanced DHT load; the redirector has 60 KB/s.", judgeLoadsC),
		figure(one, 1, "One server: throughput",
			"A picture: Hostname has the lowest throughput, then Hostname-8; only URL scales linearly; Redirect is poor, since the one redirector is saturated.", judgeThroughputC),
		figure(one, 2, "One server: DHT load of a page",
			"A picture: Hostname incurs no DHT load; Redirect up to 3 times as much as URL.", judgeOverheadC),
		summary(),
	}
}

func judgeLoadsA(r *record, f *Finding) {
	w := exhaustive
	f.loads(r, w)
	for _, t := range w.full() {
		f.target(schemeName(t.scheme)+": idle nodes", "none", r.have(t), r.idle(t) == 0, "%s", percent(r.idle(t)))
	}
	uneven := func(t team) float64 { return unevenness(r.nodes(t, crawlLoad)) }
	url, host, eight := w.of(byURL, most), w.of(byHost, most), w.of(byHost8, most)
	f.target("URL is more balanced than Hostname", "its crawling load less uneven", r.have(url, host), uneven(url) < uneven(host), "%.2f against %.2f", uneven(url), uneven(host))
	top := func(t team) float64 { return peak(r.nodes(t, crawlLoad)) }
	f.target("busiest node", "Hostname's at least 1.2 times URL's (43 and 25 KB/s)", r.have(url, host), top(host) >= 1.2*top(url), "%.1f and %.1f KB/s", top(host), top(url))
	bounce := w.of(redirect, most)
	f.target("Redirect is more balanced than Hostname", "its crawling load less uneven", r.have(bounce, host), uneven(bounce) < uneven(host), "%.2f against %.2f", uneven(bounce), uneven(host))
	f.target("Hostname-8 relieves the busiest node", "below Hostname's (27 and 43 KB/s)", r.have(eight, host), top(eight) < top(host), "%.1f and %.1f KB/s", top(eight), top(host))
	f.ranked("DHT load, mean", r, w, func(t team) float64 { return mean(r.nodes(t, dhtLoad)) }, byHost, byHost8, byURL, redirect)
	f.Comment = "Partitions are shared out evenly, and nodes take hosts in turn: a node's load is the mean over hundreds of hosts, whatever the scheme, so the busiest node is less busy than the paper's and the schemes lie closer together."
}

func judgeThroughputA(r *record, f *Finding) {
	w := exhaustive
	f.grown("Loo et al., figure 4: throughput, exhaustive crawl", "KB/s of pages", w, r.throughput)
	for _, s := range schemes {
		f.linear(r, w, s, 0.9)
	}
	low, high := math.Inf(1), 0.0
	for _, t := range w.full() {
		low, high = min(low, r.throughput(t)), max(high, r.throughput(t))
	}
	f.target("similar for all schemes", "the best at most 1.15 times the worst at 80 nodes", r.have(w.full()...), high <= 1.15*low, "%.2f times", high/low)
	f.Comment = "Fetchers are what there is too little of, and every scheme has work for all of them. What is missing to a straight line is the beginning: one seed has to be fetched before there is anything to share, and a link needs a commit, a gathering of rows and two messages to reach its owner. weir has more throughput than the others, with one node as with 80: under leases a fetcher stays with a host for a minute before it turns to another, where Hostname's goes on after each page; so more pages come from fast servers. That is a matter of order, and no merit."
}

func judgeOverheadA(r *record, f *Finding) {
	w := exhaustive
	f.grown("Loo et al., figure 5: DHT load of a page, exhaustive crawl", "bytes for a page asked for", w, r.overhead)
	alone := 0.0
	for _, s := range schemes {
		alone = max(alone, r.overhead(w.of(s, 1)))
	}
	f.target("one node", "no DHT load", r.have(w.of(byURL, 1), w.of(byHost, 1)), alone == 0, "%.1f bytes", alone)
	for _, s := range schemes {
		at := r.overhead(w.of(s, 16)) / r.overhead(w.of(s, most))
		f.target(schemeName(s)+": level from 16 nodes on", "at 16 nodes at least 75% of what it is at 80", r.have(w.of(s, 16), w.of(s, most)), at >= 0.75, "%.0f%%", 100*at)
	}
	f.ranked("overhead", r, w, r.overhead, byHost, byHost8, byURL, redirect)
	f.Comment = "Rows travel in batches, one for each partition that a commit has rows for: the more nodes and partitions, the fewer rows share a batch and its envelope. Fetchers are so slow here (a page every five seconds) that most batches of URL carry a single row; a live node commits a hundred pages at a time."
}

func judgeLoadsB(r *record, f *Finding) {
	w := fixed
	f.loads(r, w)
	url, host, eight := w.of(byURL, most), w.of(byHost, most), w.of(byHost8, most)
	f.target("Hostname: idle nodes", "70%, give or take 15 points", r.have(host), math.Abs(r.idle(host)-0.70) <= 0.15, "%s", percent(r.idle(host)))
	f.target("Hostname-8: idle nodes", "20%, give or take 15 points", r.have(eight), math.Abs(r.idle(eight)-0.20) <= 0.15, "%s", percent(r.idle(eight)))
	f.target("URL: idle nodes", "none", r.have(url), r.idle(url) == 0, "%s", percent(r.idle(url)))
	bounce := w.of(redirect, most)
	f.target("Redirect: idle nodes", "5% at most (1%)", r.have(bounce), r.idle(bounce) <= 0.05, "%s", percent(r.idle(bounce)))
	more := r.above(bounce, 1.5*mean(r.nodes(url, dhtLoad)))
	f.target("Redirect: nodes with much more DHT load than URL's", "40%, give or take 20 points, with 1.5 times URL's mean", r.have(bounce, url), math.Abs(more-0.4) <= 0.2, "%s", percent(more))
	uneven := func(t team) float64 { return unevenness(r.nodes(t, dhtLoad)) }
	f.target("DHT load of Hostname and Hostname-8", "less even than URL's", r.have(url, host, eight), uneven(host) > uneven(url) && uneven(eight) > uneven(url), "%.2f and %.2f against %.2f", uneven(host), uneven(eight), uneven(url))
	f.Comment = "45 servers have at most 45 owners. Half of them have so few pages that 15 minutes use them up, which the web was made for (70% of idle nodes cannot be had from 45 servers of equal size)."
}

func judgeThroughputB(r *record, f *Finding) {
	w := fixed
	f.grown("Loo et al., figure 7: throughput, 45 servers", "KB/s of pages", w, r.throughput)
	f.ranked("throughput", r, w, r.throughput, byHost, byHost8, byURL)
	f.linear(r, w, byURL, 0.8)
	url, bounce := w.of(byURL, most), w.of(redirect, most)
	f.target("Redirect", "1.2 times the throughput of URL, give or take 0.1", r.have(url, bounce), math.Abs(r.throughput(bounce)/r.throughput(url)-1.2) <= 0.1, "%.2f times", r.throughput(bounce)/r.throughput(url))
	f.idled(r, w)
	f.Comment = "With leases a host has one fetcher at work in the whole cluster, with Hostname and with weir: 45 servers, of which half have pages for 15 minutes, keep a few dozen of 240 fetchers busy, and nobody may ask more. Between 8 and 40 nodes some own more hosts than they have fetchers for while others idle: there weir, which leaves hosts to nodes with fetchers free, is ahead of Hostname. What idles still are the seconds until nodes have told one another what they have. " +
		"Without leases a server has one fetcher at work in each node that has pages of it: one with Hostname, up to eight with Hostname-8, and up to 80 with URL, which is what politeness would have to forbid."
}

func judgeOverheadB(r *record, f *Finding) {
	w := fixed
	f.grown("Loo et al., figure 8: DHT load of a page, 45 servers", "bytes for a page asked for", w, r.overhead)
	f.ranked("overhead", r, w, r.overhead, byHost, byHost8, byURL, redirect)
	f.bounced(r, w)
	moved := float64(r.teams[w.of(redirect, most)].Moved) / float64(r.teams[w.of(redirect, most)].Seen)
	f.target("Redirect: page requests that are redirected", "90%, give or take 10 points", r.have(w.of(redirect, most)), math.Abs(moved-0.9) <= 0.1, "%s", percent(moved))
	f.Comment = "Nine links in ten lead to the same server, and cost nothing with Hostname."
}

func judgeLoadsC(r *record, f *Finding) {
	w := one
	f.loads(r, w)
	url, host, eight := w.of(byURL, most), w.of(byHost, most), w.of(byHost8, most)
	working := func(t team) float64 { return math.Round((1 - r.idle(t)) * most) }
	f.target("Hostname: nodes that crawl", "one", r.have(host), working(host) == 1, "%.0f", working(host))
	f.target("Hostname-8: idle nodes", "80%, give or take 12 points", r.have(eight), math.Abs(r.idle(eight)-0.80) <= 0.12, "%s", percent(r.idle(eight)))
	f.target("URL: idle nodes", "none", r.have(url), r.idle(url) == 0, "%s", percent(r.idle(url)))
	uneven := func(t team) float64 { return unevenness(r.nodes(t, dhtLoad)) }
	loads := r.nodes(w.of(redirect, most), dhtLoad)
	f.target("the redirector", "at least 5 times the mean DHT load (60 KB/s)", r.have(w.of(redirect, most)), peak(loads) >= 5*mean(loads), "%.1f KB/s, %.0f times", peak(loads), peak(loads)/mean(loads))
	f.target("only URL has a balanced DHT load", "less uneven than Hostname-8's", r.have(url, eight), uneven(url) < uneven(eight), "%.2f against %.2f", uneven(url), uneven(eight))
	f.Comment = "Eight partitions have eight owners at most: 72 of 80 nodes have nothing to do, where the paper has 64. Its ID space was divided unevenly, so that eight keys cannot have had more owners either; a node that routes for others may have counted as busy."
}

func judgeThroughputC(r *record, f *Finding) {
	w := one
	f.grown("Loo et al., figure 10: throughput, one server", "KB/s of pages", w, r.throughput)
	f.ranked("throughput", r, w, r.throughput, byHost, byHost8, byURL)
	f.linear(r, w, byURL, 0.8)
	url, bounce := w.of(byURL, most), w.of(redirect, most)
	f.target("Redirect is poor", "at most half of URL's throughput", r.have(url, bounce), r.throughput(bounce) <= r.throughput(url)/2, "%s", percent(r.throughput(bounce)/r.throughput(url)))
	f.Comment = "Each node has one connection to the server at a time, so one of its three fetchers is busy, with one node as with 80."
}

func judgeOverheadC(r *record, f *Finding) {
	w := one
	f.grown("Loo et al., figure 11: DHT load of a page, one server", "bytes for a page asked for", w, r.overhead)
	host := w.of(byHost, most)
	bytes := r.overhead(host) * float64(r.teams[host].Seen)
	f.target("Hostname: DHT load", "none, but for the seed", r.have(host), bytes < 1000, "%.0f bytes in all", bytes)
	f.ranked("overhead", r, w, r.overhead, byHost, byHost8, byURL, redirect)
	f.bounced(r, w)
	f.Comment = "All links are to the same server: what is not with its owner anyway has to travel."
}
