package paper

import (
	"fmt"

	"weir/sim/chart"
)

// rider is an order in the contest at the end, with c = 1 or auto.
type rider struct {
	order string
	every int
	auto  bool
}

// finalists are held against each other by targets, others ride along.
var (
	length1      = rider{order: "length"}
	siteopicAuto = rider{order: "siteopic", auto: true}
	finalists    = []rider{length1, {order: "siteopic"}, siteopicAuto}
	others       = []rider{length1, {order: "length", auto: true}, {order: "depth"}, {order: "depth-flat"}, {order: "partial", every: 10_000}, {order: "optimal"}}

	contestRobots = []int{64, 256, 1000}
)

func (c rider) trial(conns int) trial {
	t := trial{web: chile, rate: 200e3, order: c.order, every: c.every, conns: conns, perConn: 1, auto: c.auto}
	if c.auto {
		t.perConn = 100
	}
	if c == length1 && conns == realCrawl.conns {
		t = realCrawl // the same crawl
	}
	return t
}

func (c rider) perConn() string {
	if c.auto {
		return "auto"
	}
	return "1"
}

const contestSetup = "chile, 200 KB/s shared max-min, w = 15 s, r = 64, 256, 1000. c = auto lets a connection carry as many pages, 100 at most, as let its site end with the others; " +
	"between two of them the site rests as long as its last answer took. The time of a page is weighted by its PageRank for the mean. T* is the time the line needs for all bytes. " +
	"Times in units of 100,000 s, divided by the scale."

func contest(e Experiment, riders []rider) Experiment {
	e.Paper = "Length is good enough, fast and simple; retrieving many pages of a site at once (c well above 1) amortizes the wait. Nothing is said of adapting c."
	for _, c := range riders {
		for _, n := range contestRobots {
			e.trials = append(e.trials, c.trial(n))
		}
	}
	return e
}

// beyond compares an order of ours with the paper's best.
func beyond() Experiment {
	return contest(Experiment{
		Name: "beyond-siteopic", Title: "siteopic and pages per connection that follow the backlog, against length",
		Setup: contestSetup + " siteopic orders sites by the cash of their queued pages (OPIC: a page's cash goes to its links in equal parts), pages by theirs.",
		judge: judgeBeyond,
	}, finalists)
}

// field compares the other orders under the same conditions.
func field() Experiment {
	return contest(Experiment{
		Name: "beyond-orders", Title: "the other orders under the same conditions",
		Setup: contestSetup + " optimal knows the PageRank of every page; partial ranks every 10,000 pages, times the scale.",
		judge: func(r *record, f *Finding) {
			f.contest(r, others)
			f.Comment = "At scale 0.1 with seed 1: with c = 1 the orders differ in what they bring early, not in when they end. optimal shows what is left to gain."
		},
	}, others)
}

func (f *Finding) contest(r *record, riders []rider) {
	const unit = 1e5
	x := r.webs[chile]
	t := &chart.Table{Columns: []string{"order", "c"}}
	for _, what := range []string{"end", "99% of pages", "mean time by rank", "busy"} {
		for _, n := range contestRobots {
			t.Columns = append(t.Columns, fmt.Sprintf("%s, r = %d", what, n))
		}
	}
	b := &chart.Bars{Title: "Time to finish at 200 KB/s, chile", Value: chart.Axis{Label: "time", Unit: chart.Seconds}}
	for _, n := range contestRobots {
		b.Series = append(b.Series, chart.Series{Name: fmt.Sprintf("r = %d", n)})
	}
	for _, c := range riders {
		row := make([]any, 2+4*len(contestRobots))
		row[0], row[1] = c.trial(64).label(), c.perConn()
		some := false
		for k, n := range contestRobots {
			res, ok := r.of(c.trial(n))
			end, cells := nan, []float64{nan, nan, nan, nan}
			if ok {
				some, end = true, res.Seconds/r.scale
				most := reaches(res.Samples, secondsOf, pagesOf, 0.99*float64(x.pages))
				cells = []float64{end / unit, most / r.scale / unit, res.RankTime / r.scale / unit, res.Busy}
			}
			for j, v := range cells {
				row[2+j*len(contestRobots)+k] = round(v)
			}
			if b.Series[k].Values = append(b.Series[k].Values, end); k == 0 {
				b.Names = append(b.Names, fmt.Sprintf("%s, c = %s", row[0], row[1]))
			}
		}
		if some {
			t.Add(row...)
			continue
		}
		b.Names = b.Names[:len(b.Names)-1]
		for k := range b.Series {
			b.Series[k].Values = b.Series[k].Values[:len(b.Names)]
		}
	}
	t.Notes = append(t.Notes, fmt.Sprintf("T* = %.3g. The site that takes longest would take %.3g on a line of its own with c = 1, and %.3g on connections that stay open.",
		r.floor(length1.trial(64))/r.scale/unit, x.slowest/r.scale/unit, x.kept/r.scale/unit))
	f.table("", t)
	f.Plates = append(f.Plates, Plate{Name: "chart", Bars: b})
}

func judgeBeyond(r *record, f *Finding) {
	f.contest(r, finalists)
	for _, n := range contestRobots {
		length, have := r.of(length1.trial(n))
		ours, too := r.of(siteopicAuto.trial(n))
		f.target(fmt.Sprintf("siteopic, c = auto, r = %d: end", n), "at most 0.60 of length's", have && too, ours.Seconds <= 0.60*length.Seconds,
			"%.2f; T* would be %.2f, the slowest site on open connections %.2f", ours.Seconds/length.Seconds, r.floor(length1.trial(n))/length.Seconds, r.webs[chile].kept/length.Seconds)
		f.target(fmt.Sprintf("siteopic, c = auto, r = %d: mean time by rank", n), "at most 0.90 of length's", have && too, ours.RankTime <= 0.90*length.RankTime, "%.2f", ours.RankTime/length.RankTime)
	}
	f.Comment = "At scale 1 with seed 1: the time to finish is won by c more than by the order; with c = 1 both orders end within a hundredth of each other at r = 256 and 1000, where the site that takes longest decides, and " +
		"siteopic after 0.82 of length's time at r = 64. The mean time by rank is won by the order, and by c once more, which keeps the line full. Where one slow site takes longer than T* even on connections that stay open, nobody who rests as long as an answer takes can finish earlier."
}
