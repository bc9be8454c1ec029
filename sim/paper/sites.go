package paper

import (
	"fmt"
	"math"

	"weir/sim/chart"
)

// downloaded is Table 6.2.
func downloaded() Experiment {
	return Experiment{
		Name: "table-6.2", Title: "Downloaded pages",
		Paper: "Pages visited: 3 M; successful downloads: 2.4 M (80%); bytes downloaded: 57 GB; Web sites: 53,196. The sample that the simulator used: 3.5 million pages of over 50,000 sites, at most 25,000 from each.",
		Setup: "The presets as they are generated. chile stands for the sample, so its pages all end well; the others show webs of other kinds. Sizes of pages are measured elsewhere (31 sites of documentation), " +
			"and happen to have the paper's mean; the exponent of the sizes of sites follows from the paper's totals.",
		webs: []string{chile, core, isolated},
		judge: func(r *record, f *Finding) {
			t := &chart.Table{Columns: []string{"", "paper", "chile", "core", "isolated"}}
			row := func(name, paper string, of func(facts) string) {
				cells := []any{name, paper}
				for _, w := range []string{chile, core, isolated} {
					if x, ok := r.webs[w]; ok {
						cells = append(cells, of(x))
					} else {
						cells = append(cells, "–")
					}
				}
				t.Add(cells...)
			}
			row("pages", "3 M; sample 3.5 M", func(x facts) string { return thousands(int64(x.pages)) })
			row("successful", "80%", func(facts) string { return "100%" })
			row("bytes", "57 GB", func(x facts) string { return fmt.Sprintf("%.3g GB", x.bytes/1e9) })
			row("bytes a page", "23,800", func(x facts) string { return thousands(int64(x.bytes / float64(x.pages))) })
			row("sites", "53,196", func(x facts) string { return thousands(int64(x.sites)) })
			row("pages a site", "56; sample 70", func(x facts) string { return fmt.Sprintf("%.1f", float64(x.pages)/float64(x.sites)) })
			row("largest site", "25,000 (cap)", func(x facts) string { return thousands(int64(x.sizes[0])) })
			row("links a page", "–", func(x facts) string { return fmt.Sprintf("%.1f", float64(x.links)/float64(x.pages)) })
			f.table("", t)
			f.Comment = "The paper's crawl visited 3 M pages and failed on a fifth of them; its simulator, and ours, know only pages that were downloaded. " +
				"At scales below 1 sites are smaller as well as fewer, for the largest one keeps its share of the web."
		},
	}
}

// siteSizes is Figure 6.3.
func siteSizes() Experiment {
	return Experiment{
		Name: "figure-6.3", Title: "Distribution of site sizes",
		Paper: "A picture: most pages lie on few sites, “very bad in terms of crawler scalability”. No numbers.",
		Setup: "Sites of the generated webs, as the share of sites that have at least so many pages. The exponent, 1.65, is solved from 3.5 M pages on 50,000 sites with a cap of 25,000, not chosen; " +
			"the same was measured on British hosts of 1996. All three presets draw sizes alike.",
		webs: []string{chile, core, isolated},
		judge: func(r *record, f *Finding) {
			f.sizes(r, "Figure 6.3: sites with at least so many pages", chile, core, isolated)
			f.Comment = "Skewed as in the paper: half of the sites have a page or two, and one site in a hundred holds more than half of all pages. A crawl ends when its largest site ends."
		},
	}
}

// typicalBatch is Figure 6.7.
func typicalBatch() Experiment {
	return Experiment{
		Name: "figure-6.7", Title: "A typical batch: pages over sites",
		Paper: "A picture: in a batch from the middle of the crawl the distribution differs slightly from that of the whole Web, as sites with very few pages are completed early; it is still very skewed. No numbers.",
		Setup: "chile, crawled by length (r = 256, c = 1, 200 KB/s) to half of its pages; of what waits then, every n-th page, 100,000 in all (times the scale). How the paper's batch was chosen is not told.",
		webs:  []string{chile, batch},
		judge: func(r *record, f *Finding) {
			f.sizes(r, "Figure 6.7: sites with at least so many pages, whole web and batch", chile, batch)
			f.Comment = "As in the paper: most sites are completed, and the rest is skewed. Length has worn the largest queues down to one level by the middle of the crawl, so " +
				"the curve is flat, then falls steeply: a few hundred sites have about as many pages each. Sites with one page in the batch are those with short queues."
		},
	}
}

// sizes draws the sizes of the sites of webs and puts them in a table.
func (f *Finding) sizes(r *record, title string, webs ...string) {
	c := &chart.Chart{Title: title, X: chart.Axis{Label: "pages", Log: true}, Y: chart.Axis{Label: "share of sites", Log: true}}
	t := &chart.Table{Columns: []string{"web", "pages", "sites", "median", "90%", "99%", "largest", "pages on the largest 1% of sites"}}
	for _, name := range webs {
		x, ok := r.webs[name]
		if !ok {
			continue
		}
		n := len(x.sizes)
		c.Lines = append(c.Lines, tailLine(name, x.sizes))
		top := 0
		for _, size := range x.sizes[:max(n/100, 1)] {
			top += size
		}
		t.Add(name, thousands(int64(x.pages)), thousands(int64(n)), x.sizes[n/2], x.sizes[n/10], x.sizes[n/100], x.sizes[0], fmt.Sprintf("%.0f%%", 100*float64(top)/float64(x.pages)))
	}
	f.table("", t)
	f.chart("chart", c)
}

// tailLine is the share of sites with at least so many pages, at sizes that grow
// by a fifth.
func tailLine(name string, sizes []int) chart.Line {
	l := chart.Line{Name: name}
	at := len(sizes) // sites with at least x pages
	for x := 1; at > 0; x = max(x+1, int(math.Round(float64(x)*1.2))) {
		for at > 0 && sizes[at-1] < x {
			at--
		}
		if at > 0 {
			l.X, l.Y = append(l.X, float64(x)), append(l.Y, float64(at)/float64(len(sizes)))
		}
	}
	return l
}

// rankByDepth is Figure 6.12.
func rankByDepth() Experiment {
	const deepest = 15
	return Experiment{
		Name: "figure-6.12", Title: "Average PageRank versus page depth",
		Paper: "A picture: an inverse relation in the first few levels, very low correlation 3-4 clicks from the home page; home pages have a low PageRank on average, since many are known only from the registry and have few or no in-links.",
		Setup: "Depth is the distance from the nearest home page over links of the whole web; PageRank with damping 0.85, in units of the mean over all pages.",
		webs:  []string{chile, core, isolated},
		judge: func(r *record, f *Finding) {
			t := &chart.Table{Columns: []string{"depth", "chile, pages", "PageRank", "core, pages", "PageRank", "isolated, pages", "PageRank"}}
			c := &chart.Chart{Title: "Figure 6.12: average PageRank by depth", X: chart.Axis{Label: "clicks from a home page"}, Y: chart.Axis{Label: "PageRank, mean page = 1", Log: true}}
			for _, w := range []string{chile, core, isolated} {
				x := r.webs[w]
				l := chart.Line{Name: w, Points: true}
				for d := range min(len(x.levels), deepest) {
					l.X, l.Y = append(l.X, float64(d)), append(l.Y, x.meanRank(d))
				}
				c.Lines = append(c.Lines, l)
			}
			for d := range deepest {
				cells := []any{d}
				some := false
				for _, w := range []string{chile, core, isolated} {
					if x := r.webs[w]; d < len(x.levels) {
						some = true
						cells = append(cells, thousands(int64(x.levels[d])), round(x.meanRank(d)))
					} else {
						cells = append(cells, "–", "–")
					}
				}
				if some {
					t.Add(cells...)
				}
			}
			f.table("", t)
			f.chart("chart", c)
			f.Comment = "The fall over the first levels and the flat rest are there. That home pages are low on average is not, but for core: in chile and isolated menus lead back to the home page of every site, also of one " +
				"that nobody else links to, so a home page collects its site's rank. How menus link is fitted or assumed, not measured."
		},
	}
}

// meanRank is the mean rank of the pages of a level, in units of that of all.
func (x facts) meanRank(level int) float64 {
	return x.levelRank[level] / float64(x.levels[level]) * float64(x.pages)
}
