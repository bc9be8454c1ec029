package paper

import (
	"fmt"
	"math"

	"weir/sim/chart"
)

// Visit is a crawl of one site for real: so many pages over a link of so many
// bytes a second. Equal visits are one.
type Visit struct {
	Pages int
	Rate  float64
}

func (v Visit) String() string {
	return fmt.Sprintf("live crawl of %d pages at %s", v.Pages, rateText(v.Rate))
}

// Visited is what a Visit came to.
type Visited struct {
	Bytes   float64 // of the pages themselves: D in Zhu et al.
	Wire    float64 // all that went over the link for them
	Seconds float64
}

// visit makes the visits that experiments ask for, each once and one at a time, so
// that nothing disturbs the measurement.
func (l *lab) visit(chosen []Experiment) error {
	for _, e := range chosen {
		for _, v := range e.visits {
			if _, done := l.rec.visits[v]; done || !l.on() || l.opt.Live == nil {
				continue
			}
			l.tell(v.String())
			got, err := l.opt.Live(l.ctx, v)
			switch {
			case l.ctx.Err() != nil:
				return nil
			case err != nil:
				return fmt.Errorf("%s: %w", v, err)
			}
			l.rec.visits[v] = got
			l.done.Add(1)
			l.pages.Add(int64(v.Pages))
			l.tell(v.String())
		}
	}
	return nil
}

// The visits of figures 2 and 3: one size at several speeds, one speed for several
// sizes. Together they take less than a minute.
var (
	atSpeeds = []Visit{{60, 150e3}, {60, 200e3}, {60, 300e3}, {60, 400e3}, {60, 600e3}}
	atSizes  = []Visit{{40, 200e3}, {60, 200e3}, {80, 200e3}, {100, 200e3}}
)

const liveSetup = "Live crawls of one site that is served on loopback, pages of 16 kB on the mean, each crawl with a limit of so many bytes a second on the wire and no waits. D counts the bytes of pages, so xi holds what comes with them: headers, " +
	"requests, robots.txt, and the time in which nothing flows; the last two columns tell them apart. Unlike all other numbers here these are measured, and differ a little from run to run; run only when --only asks for them."

// liveFigures are figures 2 and 3.
func liveFigures() []Experiment {
	return []Experiment{
		{
			Name: "zhu-2", Title: "Time against speed, live", Live: true,
			Paper:  "A picture, no numbers: the time of a crawl is inversely proportional to the net speed; t = xi D / v.",
			Setup:  liveSetup,
			visits: atSpeeds,
			judge: func(r *record, f *Finding) {
				fit := r.fit(atSpeeds)
				f.visited(r, atSpeeds, fit, "Zhu et al., figure 2: time against speed",
					chart.Axis{Label: "limit", Unit: chart.Speed}, func(v Visit, _ Visited) float64 { return v.Rate },
					func(x float64) float64 { return fit.xi * fit.bytes / x })
				f.straight("t = xi D / v", fit)
				f.Comment = "xi is what a byte of a page costs on the link. " + r.drift(atSpeeds)
			},
		},
		{
			Name: "zhu-3", Title: "Time against size, live", Live: true,
			Paper:  "A picture, no numbers: the time of a crawl is linearly related to its size; t = xi D / v, with a constant xi of each site.",
			Setup:  liveSetup,
			visits: append(append([]Visit{}, atSizes...), atSpeeds...),
			judge: func(r *record, f *Finding) {
				fit := r.fit(atSizes)
				f.visited(r, atSizes, fit, "Zhu et al., figure 3: time against size",
					chart.Axis{Label: "size of the pages", Unit: chart.Bytes}, func(_ Visit, got Visited) float64 { return got.Bytes },
					func(x float64) float64 { return fit.xi * x / fit.rate })
				f.straight("t = xi D / v", fit)
				other := r.fit(atSpeeds)
				f.target("xi", "constant: within 5% of that of figure 2", fit.n >= 3 && other.n >= 3, math.Abs(fit.xi/other.xi-1) <= 0.05, "%.3f against %.3f", fit.xi, other.xi)
				f.Comment = "The planner takes sizes times xi, so the sites of figures 4 to 11 stand for any xi. " + r.drift(atSizes)
			},
		},
	}
}

// fitted is the line t = xi D / v through the origin that lies nearest to visits.
type fitted struct {
	xi, r2      float64
	n           int
	bytes, rate float64 // on the mean: those that do not change are themselves
}

func (r *record) fit(all []Visit) (fit fitted) {
	var xx, xy, sum float64
	var x, y []float64
	for _, v := range all {
		got, ok := r.visits[v]
		if !ok {
			continue
		}
		x, y = append(x, got.Bytes/v.Rate), append(y, got.Seconds)
		xx += got.Bytes / v.Rate * got.Bytes / v.Rate
		xy += got.Bytes / v.Rate * got.Seconds
		sum += got.Seconds
		fit.bytes += got.Bytes
		fit.rate += v.Rate
		fit.n++
	}
	n := float64(fit.n)
	fit.xi, fit.bytes, fit.rate = xy/xx, fit.bytes/n, fit.rate/n
	var left, spread float64
	for i := range x {
		left += (y[i] - fit.xi*x[i]) * (y[i] - fit.xi*x[i])
		spread += (y[i] - sum/n) * (y[i] - sum/n)
	}
	fit.r2 = 1 - left/spread
	return fit
}

// drift says how constant xi is over visits.
func (r *record) drift(all []Visit) string {
	low, high := math.Inf(1), 0.0
	for _, v := range all {
		if got, ok := r.visits[v]; ok {
			xi := got.Seconds * v.Rate / got.Bytes
			low, high = min(low, xi), max(high, xi)
		}
	}
	return fmt.Sprintf("Taken one by one, these crawls have xi from %.2f to %.2f.", low, high)
}

// straight adds the target of a fit.
func (f *Finding) straight(what string, fit fitted) {
	f.target(what, "R² of 0.99 at least", fit.n >= 3, fit.r2 >= 0.99, "R² = %.4f, xi = %.3f", fit.r2, fit.xi)
}

// visited shows visits and the curve through them.
func (f *Finding) visited(r *record, all []Visit, fit fitted, title string, x chart.Axis, at func(Visit, Visited) float64, curve func(float64) float64) {
	t := &chart.Table{Columns: []string{"pages", "D, bytes", "v, bytes/s", "t, s", "xi D / v, s", "t v / D", "on the wire, of D", "link used"}}
	points := chart.Line{Name: "measured", Bare: true, Points: true}
	low, high := math.Inf(1), 0.0
	for _, v := range all {
		got, ok := r.visits[v]
		if !ok {
			continue
		}
		t.Add(v.Pages, thousands(int64(got.Bytes)), thousands(int64(v.Rate)), round(got.Seconds), round(fit.xi*got.Bytes/v.Rate), round(got.Seconds*v.Rate/got.Bytes), round(got.Wire/got.Bytes), fmt.Sprintf("%.0f%%", 100*got.Wire/got.Seconds/v.Rate))
		points.X, points.Y = append(points.X, at(v, got)), append(points.Y, got.Seconds)
		low, high = min(low, at(v, got)), max(high, at(v, got))
	}
	line := chart.Line{Name: fmt.Sprintf("t = %.3f D / v", fit.xi), Dashed: true}
	const steps = 60
	for i := 0; i <= steps && fit.n > 0; i++ {
		x := low + (high-low)*float64(i)/steps
		line.X, line.Y = append(line.X, x), append(line.Y, curve(x))
	}
	f.table("", t)
	f.chart("chart", &chart.Chart{Title: title, X: x, Y: chart.Axis{Label: "time of the crawl", Unit: chart.Seconds}, Lines: []chart.Line{points, line}})
}
