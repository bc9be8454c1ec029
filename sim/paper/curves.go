package paper

import (
	"fmt"
	"math"

	"weir/sim/chart"
)

// rankings are the values of K in section 6.3.
var rankings = []int{10_000, 50_000, 100_000}

// strategies are those of Figure 6.5, for one robot on a web.
func strategies(web string) []trial {
	one := trial{web: web, conns: 1, perConn: 1}
	var all []trial
	for _, o := range []string{"optimal", "depth", "depth-flat", "length"} {
		t := one
		t.order = o
		all = append(all, t)
	}
	for _, o := range []string{"batch", "partial"} {
		for _, k := range rankings {
			t := one
			t.order, t.every = o, k
			all = append(all, t)
		}
	}
	return all
}

// oneRobot is Figure 6.5.
func oneRobot() Experiment {
	e := Experiment{
		Name: "figure-6.5", Title: "PageRank gathered by pages, one robot",
		Paper: "A picture: length is more efficient than depth, batch and partial; optimal downloads the good pages early and is surpassed by others at high coverage; all but length have the same performance in the last 20% of pages. No numbers.",
		Setup: lines("r = 1, c = 1, w = 15 s, a line faster than any site. PageRank of the whole web is the measure (damping 0.85). K = 10,000, 50,000, 100,000 times the scale; ranking takes no time. A batch is also cut when the robot finds no rested site in it (section 6.4). The sample is not published, so three webs: "+
			"chile, its likeness; core, made for length to beat depth: it shows that there are such webs, not that real ones are; isolated, where most sites are linked from nowhere. Two readings of depth: depth orders sites by their best page's depth, depth-flat "+
			"takes sites as they come.", "Area is the mean of the PageRank gathered over the whole crawl by pages: 0.5 for a random order."),
		judge: judgeOneRobot,
	}
	for _, w := range []string{chile, core, isolated} {
		e.trials = append(e.trials, strategies(w)...)
	}
	return e
}

// stops are the shares of pages at which tables show the rank.
var stops = []float64{0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.98}

// gatherTable compares trials by the rank they gather.
func (r *record) gatherTable(title string, all []trial, name func(trial) string) (*chart.Table, *chart.Chart) {
	t := &chart.Table{Title: title, Columns: []string{"crawl", "area"}}
	for _, s := range stops {
		t.Columns = append(t.Columns, fmt.Sprintf("at %.0f%%", 100*s))
	}
	t.Columns = append(t.Columns, "time, days")
	c := &chart.Chart{Title: title, X: chart.Axis{Label: "share of pages", Unit: chart.Percent, From: 0, To: 1}, Y: chart.Axis{Label: "share of PageRank", Unit: chart.Percent, From: 0, To: 1}}
	for _, x := range all {
		res, ok := r.of(x)
		if !ok {
			continue
		}
		pages := r.webs[x.web].pages
		row := []any{name(x), fmt.Sprintf("%.3f", area(res.Samples))}
		for _, s := range stops {
			row = append(row, fmt.Sprintf("%.3f", along(res.Samples, pagesOf, rankOf, s*float64(pages))))
		}
		t.Add(append(row, round(res.Seconds/86400/r.scale))...)
		c.Lines = append(c.Lines, gathered(name(x), res, pages))
	}
	if r.scale != 1 {
		t.Notes = append(t.Notes, fmt.Sprintf("Days are of the full web: times divided by the scale, %g.", r.scale))
	}
	return t, c
}

func judgeOneRobot(r *record, f *Finding) {
	for _, w := range []string{chile, core, isolated} {
		t, c := r.gatherTable("Figure 6.5: one robot on "+w, strategies(w), trial.label)
		if len(t.Rows) == 0 {
			continue
		}
		f.table(w, t)
		f.chart(w, c)
	}
	find := func(web, order string, k int) (float64, bool) {
		res, ok := r.of(trial{web: web, order: order, every: k, conns: 1, perConn: 1})
		return area(res.Samples), ok
	}
	beats := func(what, web, a string, ka int, b string) {
		x, have := find(web, a, ka)
		y, too := find(web, b, 0)
		f.target(what, fmt.Sprintf("larger area than %s", b), have && too, x > y, "%.3f against %.3f", x, y)
	}
	beats("length on core", core, "length", 0, "depth")
	for _, w := range []string{chile, core, isolated} {
		beats("partial, K = 10,000, on "+w, w, "partial", 10_000, "length")
	}
	for _, w := range []string{chile, core, isolated} {
		at, by, have := r.overtakes(w)
		f.target("optimal on "+w, "overtaken at the end", have, !math.IsNaN(at), "%s", orNever(at, by))
	}
	f.Comment = commentOneRobot
}

const commentOneRobot = "Which order is best depends on the web; the paper's ranking is that of one web, which is not published. That length beats depth is seen on core alone, which was made for it. " +
	"On chile and isolated one robot that follows length is no better than chance: it stays with the largest sites, and thousands of home pages wait until the end. " +
	"partial beats length everywhere and depends little on K; batch keeps up with it on core and lies behind it elsewhere, the more so the less the links between sites say: on isolated the next K pages by rank are all of a few sites. " +
	"optimal is best to the end: one robot always finds a rested site, so the restriction that lets others surpass it in the paper does not bind with r = 1, and at the very end all curves are the same."

// overtakes tells when a practical strategy has first gathered more than optimal.
func (r *record) overtakes(web string) (at float64, by string, have bool) {
	at = nan
	all := strategies(web)
	best, ok := r.of(all[0])
	if !ok {
		return nan, "", false
	}
	for _, t := range all[1:] {
		res, ok := r.of(t)
		if !ok {
			continue
		}
		have = true
		if x := overtaken(best.Samples, res.Samples, r.webs[web].pages); math.IsNaN(at) || x < at {
			at, by = x, t.label()
		}
	}
	return at, by, have
}

func orNever(at float64, by string) string {
	if math.IsNaN(at) {
		return "never"
	}
	return fmt.Sprintf("at %.1f%% of the pages, by %s", 100*at, by)
}

// robotTrials are those of Figure 6.6.
func robotTrials() []trial {
	var all []trial
	for _, o := range []string{"length", "depth", "depth-flat"} {
		for _, n := range robots {
			all = append(all, trial{web: chile, order: o, conns: n, perConn: 1})
		}
	}
	return all
}

// moreRobots is Figure 6.6.
func moreRobots() Experiment {
	return Experiment{
		Name: "figure-6.6", Title: "PageRank gathered by pages, more robots",
		Paper:  "A picture: length is not affected by the number of robots; depth improves with it, since the crawler gathers information from many sources at once. No numbers.",
		Setup:  "As Figure 6.5, on chile, r = 1, 64, 256, both readings of depth.",
		trials: robotTrials(),
		judge: func(r *record, f *Finding) {
			t, c := r.gatherTable("Figure 6.6: length and depth with more robots, chile", robotTrials(), trial.name)
			f.table("", t)
			f.chart("chart", c)
			claims := &chart.Table{Title: "The paper's claims", Columns: []string{"claim", "area at r = 1", "r = 64", "r = 256", "seen here"}}
			for _, o := range []struct{ order, claim string }{
				{"length", "length: unaffected by r"}, {"depth", "depth (sites by best page): improves with r"}, {"depth-flat", "depth (sites as they come): improves with r"},
			} {
				var a []float64
				for _, n := range robots {
					if res, ok := r.of(trial{web: chile, order: o.order, conns: n, perConn: 1}); ok {
						a = append(a, area(res.Samples))
					}
				}
				if len(a) < len(robots) {
					continue
				}
				seen := a[2] > a[0]+0.001
				if o.order == "length" {
					seen = math.Abs(a[1]-a[0]) < 0.005 && math.Abs(a[2]-a[0]) < 0.005
				}
				claims.Add(o.claim, fmt.Sprintf("%.3f", a[0]), fmt.Sprintf("%.3f", a[1]), fmt.Sprintf("%.3f", a[2]), yes(seen))
			}
			if len(claims.Rows) > 0 {
				f.table("claims", claims)
			}
			f.Comment = commentMoreRobots
		},
	}
}

const commentMoreRobots = "With many robots nearly every rested site is taken, whatever its queue, so the order of sites matters less and all orders drift to the same curve. Length, which began far below, rises most: " +
	"the opposite of “not affected”. Depth loses a little, in both readings."

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// actual is Figure 6.13.
func actual() Experiment {
	one := trial{web: chile, order: "length", conns: 1, perConn: 1}
	return Experiment{
		Name: "figure-6.13", Title: "Actual and simulated crawl, PageRank gathered by pages",
		Paper:  "A picture: the results are similar, but the actual crawl (r = 1000) performed slightly better than the simulated one. No numbers.",
		Setup:  "There is no second Chile: the crawl of Figure 6.10 (r = 1000, 200 KB/s), as simulated, stands for the actual one beside the simulated crawl with one robot of Figure 6.5.",
		trials: []trial{one, realCrawl},
		judge: func(r *record, f *Finding) {
			t, c := r.gatherTable("Figure 6.13: one robot and the crawl of a thousand, length, chile", []trial{one, realCrawl}, trial.name)
			f.table("", t)
			f.chart("chart", c)
			f.Comment = commentActual
		},
	}
}

const commentActual = "The crawl of a thousand is much better, not slightly: with one robot length stays with the largest sites (see Figure 6.5). Both are simulated here, so this shows what a thousand robots and a full line change, not how true the simulator is; for that a live crawl of a test web is compared with its simulation."
