package paper

import (
	"math"
	"sort"

	"weir/sim"
	"weir/sim/chart"
)

var nan = math.NaN()

// Columns of samples.
func pagesOf(s sim.Sample) float64   { return float64(s.Pages) }
func secondsOf(s sim.Sample) float64 { return s.Seconds }
func rankOf(s sim.Sample) float64    { return s.Rank }

// along reads y where x reaches a value, straight between samples; before the
// first and after the last it is theirs. x must not fall.
func along(all []sim.Sample, x, y func(sim.Sample) float64, at float64) float64 {
	i := sort.Search(len(all), func(i int) bool { return x(all[i]) >= at })
	switch {
	case len(all) == 0:
		return nan
	case i == 0:
		return y(all[0])
	case i == len(all):
		return y(all[i-1])
	}
	a, b := all[i-1], all[i]
	part := (at - x(a)) / (x(b) - x(a))
	return y(a) + part*(y(b)-y(a))
}

// reaches returns x where y first comes to a value, or NaN if it never does.
func reaches(all []sim.Sample, x, y func(sim.Sample) float64, at float64) float64 {
	if len(all) == 0 || y(all[len(all)-1]) < at {
		return nan
	}
	return along(all, y, x, at)
}

// area is the mean of the rank gathered, over the pages of the crawl: 0.5 is
// what a random order comes to, and 1 would have all of it at once.
func area(all []sim.Sample) float64 {
	if len(all) < 2 {
		return nan
	}
	sum := 0.0
	for i := 1; i < len(all); i++ {
		sum += (all[i].Rank + all[i-1].Rank) / 2 * float64(all[i].Pages-all[i-1].Pages)
	}
	last := all[len(all)-1]
	if last.Pages == 0 || last.Rank == 0 {
		return nan
	}
	return sum / float64(last.Pages) / last.Rank
}

// overtaken returns the first share of pages, from half on, at which curve a lies
// below curve b by more than a thousandth; NaN if nowhere.
func overtaken(a, b []sim.Sample, pages int) float64 {
	for i := 500; i < 1000; i++ {
		at := float64(pages) * float64(i) / 1000
		if along(a, pagesOf, rankOf, at) < along(b, pagesOf, rankOf, at)-0.001 {
			return float64(i) / 1000
		}
	}
	return nan
}

// gathered is the line of a crawl: the share of the rank over the share of pages.
func gathered(name string, res sim.Result, pages int) chart.Line {
	l := chart.Line{Name: name}
	for _, s := range thin(res.Samples, 200) {
		l.X = append(l.X, float64(s.Pages)/float64(pages))
		l.Y = append(l.Y, s.Rank)
	}
	return l
}

// thin keeps about n of the samples, the last one among them.
func thin(all []sim.Sample, n int) []sim.Sample {
	step := max(len(all)/n, 1)
	var kept []sim.Sample
	for i := 0; i < len(all); i += step {
		kept = append(kept, all[i])
	}
	if len(all) > 0 && (len(all)-1)%step != 0 {
		kept = append(kept, all[len(all)-1])
	}
	return kept
}

// busy returns the mean of the connections in use between two times, in seconds.
func busy(all []sim.Sample, from, to float64) float64 {
	sum, dt := 0.0, 0.0
	for i := 1; i < len(all); i++ {
		a, b := max(all[i-1].Seconds, from), min(all[i].Seconds, to)
		if b > a {
			sum += all[i].Busy * (b - a)
			dt += b - a
		}
	}
	if dt == 0 {
		return nan
	}
	return sum / dt
}
