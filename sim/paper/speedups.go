package paper

import (
	"fmt"
	"math"
	"strings"

	"weir/sim/chart"
	"weir/sim/link"
)

// speeds are the rows of Table 6.1 and robots its columns.
var (
	speeds = []float64{20e6, 2e6, 200e3, 20e3, 2e3, 200}
	robots = []int{1, 64, 256}
	table  = [][]float64{{1, 54.6, 220.1}, {1, 54.3, 204.3}, {1, 43.0, 114.1}, {1, 27.0, 83.3}, {0.7, 3.8, 16.0}, {0.2, 1.6, 3.0}}

	// alone is the column r = 1 to two digits, as the times assumed here give it.
	alone = []float64{1, 1, 1, 0.97, 0.72, 0.20}
)

// onePage is t1, the time of a page when nothing else is fetched.
const onePage = latency + float64(pageBytes)/siteSpeed

// impliedBytes is the least number of bytes a second that one robot of the paper
// moves at full speed: its 0.7 at 2,000 bytes a second is 0.75 at most before
// rounding, so t1/0.75 >= t1 + S/2000 - S/v, and S/t1 >= 2000/3.
const impliedBytes = 2000.0 / 3

func cell61(rate float64, r int, s link.Sharing) trial {
	t := trial{web: uniform, rate: rate, order: "length", conns: r, perConn: 1, sharing: s, share: 0.5}
	if r == 1 {
		t.sharing, t.most = link.MaxMin, 4000 // alone, sharing makes no difference
	}
	return t
}

// speedUps is Table 6.1.
func speedUps() Experiment {
	e := Experiment{
		Name: "table-6.1", Title: "Speed-ups for parallelism, length",
		Paper: lines("r = 1, 64, 256 at 20,000,000 B/s: 1.0, 54.6, 220.1; at 2,000,000: 1.0, 54.3, 204.3; at 200,000: 1.0, 43.0, 114.1; "+
			"at 20,000: 1.0, 27.0, 83.3; at 2,000: 0.7, 3.8, 16.0; at 200: 0.2, 1.6, 3.0.",
			"The last three rows break the conservation of bytes. One robot that falls to 0.7 at 2,000 B/s moves at least 667 B/s at full speed, so no number of robots can "+
				"go faster than B/667: 30 at 20,000 B/s, 3.0 at 2,000 and 0.30 at 200. The paper prints 83.3, 3.8, 16.0, 1.6 and 3.0."),
		Setup: fmt.Sprintf("Order length, w = 15 s, c = 1, chile's graph with pages of %d bytes on average and every site of %d B/s and %.2f s latency: assumed, so that one page "+
			"takes t1 = %.1f s and the column r = 1 comes out. Sizes are log-normal with sigma %.1f: with equal ones, connections that began together end together, and the line idles while all wait. Speed-up is pages per second until half of the pages are fetched (r = 1: 4,000 pages), relative to r = 1 at 20 MB/s. "+
			"Two ways to share the line: even gives each open connection B/n, waiting ones included, and redistributes nothing; max-min redistributes. "+
			"weir rests a site for max(w, the last answer's time), the paper for w.", pageBytes, siteSpeed, latency, onePage, pageSpread),
		judge: judgeSpeedUps,
	}
	for _, b := range speeds {
		for _, r := range robots {
			for _, s := range []link.Sharing{link.Even, link.MaxMin} {
				e.trials = append(e.trials, cell61(b, r, s))
			}
		}
	}
	return e
}

// perSecond is the pages a second of a trial, NaN if it was not played.
func (r *record) perSecond(t trial) float64 {
	res, ok := r.of(t)
	if !ok || res.Seconds == 0 {
		return nan
	}
	return float64(res.Pages) / res.Seconds
}

func judgeSpeedUps(r *record, f *Finding) {
	base := r.perSecond(cell61(speeds[0], 1, link.Even))
	up := func(rate float64, conns int, s link.Sharing) float64 {
		return r.perSecond(cell61(rate, conns, s)) / base
	}
	t := &chart.Table{Columns: []string{"B, B/s", "r", "paper", "even", "max-min", "most: B/667", "most here: B t1/S"}}
	c := &chart.Chart{Title: "Table 6.1: speed-up over one robot", X: chart.Axis{Label: "bandwidth", Unit: chart.Speed, Log: true}, Y: chart.Axis{Label: "speed-up", Log: true}}
	for k, conns := range robots {
		paper, even, maxmin := chart.Line{Name: fmt.Sprintf("paper, r = %d", conns), Dashed: true, Points: true}, chart.Line{Name: fmt.Sprintf("even, r = %d", conns), Points: true}, chart.Line{}
		for i, b := range speeds {
			e, m := up(b, conns, link.Even), up(b, conns, link.MaxMin)
			t.Add(thousands(int64(b)), conns, table[i][k], round(e), round(m), round(min(b/impliedBytes, float64(conns))), round(most61(b, conns)))
			for _, l := range []struct {
				to *chart.Line
				y  float64
			}{{&paper, table[i][k]}, {&even, e}, {&maxmin, m}} {
				l.to.X, l.to.Y = append(l.to.X, b), append(l.to.Y, l.y)
			}
		}
		if maxmin.Name = fmt.Sprintf("max-min, r = %d", conns); conns > 1 {
			c.Lines = append(c.Lines, paper, even, maxmin)
		}
	}
	f.table("", t)
	f.chart("chart", c)
	f.judgeAlone(up)
	for i, b := range speeds {
		for k, conns := range robots[1:] {
			want := table[i][k+1]
			e, m := up(b, conns, link.Even), up(b, conns, link.MaxMin)
			what := fmt.Sprintf("%s, r = %d", rateText(b), conns)
			if b >= 200e3 {
				f.target(what+", even", fmt.Sprintf("within 20%% of %g", want), !math.IsNaN(e), math.Abs(e/want-1) <= 0.2, "%.1f (%+.0f%%)", e, 100*(e/want-1))
				continue
			}
			share, bound := 0.95, most61(b, conns)
			if b == 20e3 {
				share = 0.80
			}
			f.target(what+", max-min", fmt.Sprintf("at least %.0f%% of the bound, %.3g", 100*share, bound), !math.IsNaN(m), m >= share*bound,
				"%.3g (%.0f%%; even: %.3g, %.0f%%)", m, 100*m/bound, e, 100*e/bound)
		}
	}
	f.Comment = lines(
		"r = 1 is a calculation, and comes out as calculated. In the rows from 200 KB/s on, even sharing is what resembles the paper: at 200 KB/s connections that wait for their first byte hold "+
			"shares of the line that nobody uses, and r = 256 falls well behind 220. Under max-min the line is used better and that row comes out higher.",
		"Below, no simulator that conserves bytes can print the paper's numbers. Ours reach what the line can carry; under even sharing the 20 KB/s row stays below it, since there the waiting connections are a "+
			"good part of all.")
}

// most61 is the bound on the speed-up in the model here: what the line carries,
// over what one robot needs, and never above one a robot.
func most61(rate float64, conns int) float64 {
	return min(rate*onePage/pageBytes, float64(conns))
}

func (f *Finding) judgeAlone(up func(float64, int, link.Sharing) float64) {
	have, met := true, true
	var got, want []string
	for i, b := range speeds {
		v := up(b, 1, link.Even)
		have = have && !math.IsNaN(v)
		met = met && math.Abs(v-alone[i]) <= 0.05
		got, want = append(got, fmt.Sprintf("%.2f", v)), append(want, fmt.Sprintf("%.2f", alone[i]))
	}
	f.target("column r = 1", "within 0.05 of "+strings.Join(want, ", "), have, met, "%s", strings.Join(got, ", "))
}

// round leaves three digits.
func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*unit) / unit
}
