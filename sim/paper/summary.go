package paper

import (
	"weir/sim/chart"
)

// summary is table 1.
func summary() Experiment {
	e := Experiment{
		Name: "loo-table-1", Title: "Which scheme has which virtue",
		Paper: "A table of signs, + where a feature is supported: crawl load, DHT load, crawlee load, network locality, communication overheads. URL + + - - -; Hostname - - + ? +; Redirect + ? + + -.",
		Setup: asBefore + "A load is balanced (+) if with 80 nodes on 45 servers no node is idle, or the DHT load deviates by less than half of its mean; a crawlee is spared if one node decides when it is asked; overheads are low if 80 nodes on 45 servers need less than half of URL's.",
		judge: judgeSummary,
	}
	for _, s := range schemes {
		e.teams = append(e.teams, team{web: domain, scheme: s, nodes: most})
	}
	return e
}

// signs of table 1: crawl load, DHT load, crawlee load, network locality, overheads.
var signs = map[string][5]string{byURL: {"+", "+", "-", "-", "-"}, byHost: {"-", "-", "+", "?", "+"}, redirect: {"+", "?", "+", "+", "-"}}

func judgeSummary(r *record, f *Finding) {
	t := &chart.Table{Columns: []string{"scheme", "crawl load", "paper", "DHT load", "paper", "crawlee load", "paper", "communication overheads", "paper"}}
	sign := func(is bool) string {
		if is {
			return "+"
		}
		return "-"
	}
	url := team{web: domain, scheme: byURL, nodes: most}
	for _, s := range schemes {
		x := team{web: domain, scheme: s, nodes: most}
		if !r.have(x, url) {
			continue
		}
		ours := [5]string{
			sign(r.idle(x) == 0), sign(unevenness(r.nodes(x, dhtLoad)) < 0.5), sign(s == byHost || s == redirect || s == adaptive), "", sign(r.overhead(x) < r.overhead(url)/2),
		}
		paper, told := signs[s]
		t.Add(schemeName(s), ours[0], paper[0], ours[1], paper[1], ours[2], paper[2], ours[4], paper[4])
		if told {
			met := true
			for i := range ours {
				met = met && (i == 3 || paper[i] == "?" || ours[i] == paper[i])
			}
			f.target(schemeName(s), "the paper's signs", true, met, "%s %s %s %s", ours[0], ours[1], ours[2], ours[4])
		}
	}
	f.table("", t)
	f.Comment = "Network locality is figure 12's: a host has one owner under Hostname, by chance near or far, unless the nearest of those first in line is taken (loo-12a). Here a crawlee is spared under Hostname by construction; the other schemes spare it live, where their nodes ask its owner for a lease."
}
