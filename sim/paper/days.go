package paper

import (
	"fmt"
	"math"

	"weir/sim"
	"weir/sim/chart"
)

// realCrawl stands for the crawl of section 6.5.
var realCrawl = trial{web: chile, rate: 200e3, order: "length", conns: 1000, perConn: 1, fine: true}

const realSetup = "chile, length, r = 1000, c = 1, w = 15 s, a line of 200 KB/s shared max-min (assumed: 57 GB in 8 days are 82 KB/s on average), sites of 20 kB/s and 0.8 s latency at the median (assumed, log-normal, sigma 1). " +
	"How chile's links lie was fitted to the PageRanks of Figure 6.10: that those come near is no evidence. A day lasts 24 hours times the scale."

// byDay is Figure 6.10.
func byDay() Experiment {
	return Experiment{
		Name: "figure-6.10", Title: "Pages and PageRank by day of the crawl",
		Paper: "End of day 2: 50% of the pages, about 80% of the PageRank; end of day 4: 80% of the pages, more than 95% of the PageRank; the crawl took 8 days.",
		Setup: realSetup, trials: []trial{realCrawl},
		judge: func(r *record, f *Finding) {
			res, ok := r.of(realCrawl)
			pages := float64(r.webs[chile].pages)
			day := 86400 * r.scale
			t := &chart.Table{Columns: []string{"day", "pages, paper", "pages", "PageRank, paper", "PageRank", "connections busy"}}
			c := &chart.Chart{Title: "Figure 6.10: pages and PageRank by day, length, r = 1000, chile", X: chart.Axis{Label: "day"}, Y: chart.Axis{Label: "share", Unit: chart.Percent, From: 0, To: 1}}
			c.Lines = []chart.Line{
				{Name: "PageRank"}, {Name: "pages"},
				{Name: "PageRank, paper", X: []float64{2, 4}, Y: []float64{0.80, 0.95}, Bare: true, Points: true},
				{Name: "pages, paper", X: []float64{2, 4, 8}, Y: []float64{0.50, 0.80, 1}, Bare: true, Points: true},
			}
			for _, s := range thin(res.Samples, 300) {
				c.Lines[0].X, c.Lines[0].Y = append(c.Lines[0].X, s.Seconds/day), append(c.Lines[0].Y, s.Rank)
				c.Lines[1].X, c.Lines[1].Y = append(c.Lines[1].X, s.Seconds/day), append(c.Lines[1].Y, float64(s.Pages)/pages)
			}
			at := func(d float64, y func(sim.Sample) float64) float64 { return along(res.Samples, secondsOf, y, d*day) }
			for d := 1.0; ok && d < res.Seconds/day+1; d++ {
				paperPages, paperRank := "", ""
				switch d {
				case 2:
					paperPages, paperRank = "50%", "80%"
				case 4:
					paperPages, paperRank = "80%", "> 95%"
				case 8:
					paperPages = "100%"
				}
				t.Add(fmt.Sprintf("%.0f", d), paperPages, percent(at(d, pagesOf)/pages), paperRank, percent(at(d, rankOf)), round(busy(res.Samples, (d-1)*day, d*day)))
			}
			f.table("", t)
			f.chart("chart", c)
			for _, w := range []struct{ day, pages, rank float64 }{{2, 0.50, 0.80}, {4, 0.80, 0.95}} {
				p, k := at(w.day, pagesOf)/pages, at(w.day, rankOf)
				f.target(fmt.Sprintf("pages after day %.0f", w.day), fmt.Sprintf("within 8 points of %s", percent(w.pages)), ok, math.Abs(p-w.pages) <= 0.08, "%s", percent(p))
				f.target(fmt.Sprintf("PageRank after day %.0f", w.day), fmt.Sprintf("within 5 points of %s", percent(w.rank)), ok, math.Abs(k-w.rank) <= 0.05, "%s", percent(k))
			}
			end := res.Seconds / day
			f.target("end of the crawl", "within 1 day of 8 days", ok, math.Abs(end-8) <= 1,
				"%.1f days; T* is %.1f, the slowest site alone takes %.1f", end, r.floor(realCrawl)/day, r.webs[chile].slowest/day)

			f.Comment = commentDays
		},
	}
}

const commentDays = "At scale 1 with seed 1: the line is full for the first two days, so their pages follow from its speed; at the end the few sites with most pages are left, one page every 15 s and an answer each, and the line is nearly idle. " +
	"The speed of the paper's line and of its sites is not told: at 200 KB/s the first days and the last fit together. The end is the end of one site, the one that takes longest by itself: at most a few dozen " +
	"sites hold 25,000 pages, and how slow the slowest of them is, is the luck of the draw (other values of --seed end days earlier or later). weir adds to it: it rests as long as the last answer took, if that is above 15 s."

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

// rankByDay is Figure 6.11.
func rankByDay() Experiment {
	return Experiment{
		Name: "figure-6.11", Title: "Average PageRank per day",
		Paper: "A picture: the average PageRank of the pages of a day decreases dramatically after a few days. No numbers.",
		Setup: realSetup + " PageRank in units of the mean page's.", trials: []trial{realCrawl},
		judge: func(r *record, f *Finding) {
			res, ok := r.of(realCrawl)
			if !ok {
				return
			}
			pages, day := float64(r.webs[chile].pages), 86400*r.scale
			t := &chart.Table{Columns: []string{"day", "pages", "average PageRank", "of day 1"}}
			b := &chart.Bars{Title: "Figure 6.11: average PageRank of the pages of each day", Value: chart.Axis{Label: "PageRank, mean page = 1"}, Series: []chart.Series{{Name: "length, r = 1000"}}}
			first, last := nan, nan
			for d := 0.0; d < res.Seconds/day; d++ {
				n := along(res.Samples, secondsOf, pagesOf, (d+1)*day) - along(res.Samples, secondsOf, pagesOf, d*day)
				k := along(res.Samples, secondsOf, rankOf, (d+1)*day) - along(res.Samples, secondsOf, rankOf, d*day)
				mean := k / n * pages
				if d == 0 {
					first = mean
				}
				last = mean
				t.Add(fmt.Sprintf("%.0f", d+1), thousands(int64(n)), round(mean), percent(mean/first))
				b.Names = append(b.Names, fmt.Sprintf("day %.0f", d+1))
				b.Series[0].Values = append(b.Series[0].Values, mean)
			}
			f.table("", t)
			f.Plates = append(f.Plates, Plate{Name: "chart", Bars: b})
			f.Comment = fallen(last / first)
		},
	}
}

// fallen says how the last day's average compares with the first's.
func fallen(share float64) string {
	switch {
	case share <= 0.5:
		return fmt.Sprintf("As in the paper: the first days bring the pages that matter. A page of the last day has %s of the PageRank of one of the first.", percent(share))
	case math.IsNaN(share) || share == 1:
		return "The crawl is over within a day: there is nothing to compare."
	}
	return fmt.Sprintf("Not as in the paper: a page of the last day still has %s of the PageRank of one of the first.", percent(share))
}
