package paper

import (
	"fmt"
	"strings"

	"weir/sim/chart"
)

// batchLines are the lines on which a batch is fetched: the one of Table 6.1 that is
// near the knee, and the paper's two.
var batchLines = []float64{200e3, 20e3, 2e3}

func batchTrial(rate float64, c int) trial {
	return trial{web: batch, rate: rate, order: "length", conns: 256, perConn: c, fine: true}
}

const batchSetup = "A batch of 100,000 pages (times the scale) from the middle of a crawl of chile, as in Figure 6.7; length, r = 256, w = 15 s, lines of 200 KB/s and the paper's 20 and 2 kB/s, max-min. "

// idleRobots is Figure 6.8.
func idleRobots() Experiment {
	e := Experiment{
		Name: "figure-6.8", Title: "Active robots over a batch, c = 1",
		Paper: "A picture, for 2 Kb/s and 20 Kb/s: in either case, most robots are idle most of the time. No numbers.",
		Setup: batchSetup + "c = 1.",
		judge: func(r *record, f *Finding) {
			f.robots(r, "Figure 6.8: robots at work over a batch, c = 1", 1)
			f.Comment = commentRobots
		},
	}
	for _, b := range batchLines {
		e.trials = append(e.trials, batchTrial(b, 1))
	}
	return e
}

const commentRobots = "At scale 1 with seed 1: at 200 KB/s the picture is the paper's: the robots have work for a small part of the time, then wait for the few sites with many pages. On the paper's lines the line itself is full: " +
	"256 robots share 20 or 2 kB a second, downloads take minutes or hours, and the wait of 15 s hardly counts; robots then look busy because the line is slow. The paper's robots were idle on those lines, " +
	"which fits its Table 6.1, where they carry more than they can."

// keptConnections is Figure 6.9.
func keptConnections() Experiment {
	e := Experiment{
		Name: "figure-6.9", Title: "Active robots over a batch, c = 100",
		Paper: "A picture: with up to 100 pages on a connection more robots stay active for a longer part of the crawl, and the total time is shorter. No numbers.",
		Setup: batchSetup + "c = 100; later pages of a connection come after half of the site's latency (assumed) and without a wait.",
		judge: func(r *record, f *Finding) {
			f.robots(r, "Figure 6.9: robots at work over a batch, c = 100", 100)
			for _, b := range batchLines[:1] {
				one, have := r.of(batchTrial(b, 1))
				many, too := r.of(batchTrial(b, 100))
				f.target("c = 100 at "+rateText(b), "cuts the time of the batch 1.8 times at least", have && too, one.Seconds >= 1.8*many.Seconds,
					"%s s against %s s: %.2f times", thousands(int64(one.Seconds)), thousands(int64(many.Seconds)), one.Seconds/many.Seconds)
			}
			f.Comment = nearFloor(r)
		},
	}
	for _, c := range []int{1, 100} {
		for _, b := range batchLines {
			e.trials = append(e.trials, batchTrial(b, c))
		}
	}
	return e
}

// nearFloor says how near a batch comes to the time the line needs.
func nearFloor(r *record) string {
	var parts []string
	for _, b := range batchLines {
		one, have := r.of(batchTrial(b, 1))
		many, too := r.of(batchTrial(b, 100))
		if floor := r.floor(batchTrial(b, 1)); have && too && floor > 0 {
			parts = append(parts, fmt.Sprintf("%.2f times T* with c = 1 and %.2f with c = 100 at %s", one.Seconds/floor, many.Seconds/floor, rateText(b)))
		}
	}
	if parts == nil {
		return "Too few results to compare."
	}
	return "T* is the time the line needs, and what c = 1 takes beyond it is all that can be gained. The batch takes " + strings.Join(parts, "; ") + "."
}

func (f *Finding) robots(r *record, title string, c int) {
	t := &chart.Table{Columns: []string{"line", "c", "time, s", "T*, s", "busy, mean of 256", "first tenth", "at a quarter", "at half", "at three quarters", "last tenth"}}
	p := &chart.Chart{Title: title, X: chart.Axis{Label: "share of the batch's time", Unit: chart.Percent, From: 0, To: 1}, Y: chart.Axis{Label: "robots at work", From: 0, To: 256}}
	for _, b := range batchLines {
		for _, per := range []int{1, 100} {
			if per > c {
				continue
			}
			x := batchTrial(b, per)
			res, ok := r.of(x)
			if !ok {
				continue
			}
			T := res.Seconds
			row := []any{rateText(b), per, T, r.floor(x), round(256 * res.Busy)}
			for _, at := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
				row = append(row, round(busy(res.Samples, (at-0.05)*T, (at+0.05)*T)))
			}
			t.Add(row...)
			if per != c {
				continue
			}
			l := chart.Line{Name: fmt.Sprintf("%s: %s s", rateText(b), thousands(int64(T))), Step: true}
			for i := range 100 {
				l.X = append(l.X, float64(i)/100)
				l.Y = append(l.Y, busy(res.Samples, float64(i)/100*T, float64(i+1)/100*T))
			}
			p.Lines = append(p.Lines, l)
		}
	}
	f.table("", t)
	f.chart("chart", p)
}
