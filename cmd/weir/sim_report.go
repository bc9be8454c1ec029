package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"weir/sim"
	"weir/sim/chart"
)

// finding is what a trial brought.
type finding struct {
	sim.Result
	trial *trial
	place facts
	wall  time.Duration // of the simulation
	made  time.Duration // of the web
}

// facts are what a finding must know of its web, which need not stay for it.
type facts struct {
	name  string
	pages int
	rank  float64
}

func (p *place) facts() facts { return facts{p.Name, p.pages, p.rank} }

// shares are the parts of a web whose times are told.
var shares = []float64{0.5, 0.9, 0.99}

// times are when a part of the pages and of the rank was there, in seconds; NaN
// when it never was.
type times struct{ pages, rank float64 }

func (f *finding) reached(part float64) times {
	return times{
		f.when(part*float64(f.place.pages), func(s sim.Sample) float64 { return float64(s.Pages) }),
		f.when(part*f.place.rank, func(s sim.Sample) float64 { return s.Rank }),
	}
}

// when returns the time at which something that grows was at so much, between
// two samples on the straight line.
func (f *finding) when(goal float64, of func(sim.Sample) float64) float64 {
	for i, s := range f.Samples {
		at := of(s)
		if at < goal {
			continue
		}
		if i == 0 {
			return s.Seconds
		}
		before := f.Samples[i-1]
		from := of(before)
		return before.Seconds + (s.Seconds-before.Seconds)*(goal-from)/(at-from)
	}
	return math.NaN()
}

func (f *finding) idle() float64 { return max(1-f.Busy, 0) * float64(f.trial.cfg.Conns) }

// slow is the time in units of T*; NaN when nothing bounds the line.
func (f *finding) slow() float64 {
	if floor := f.trial.floor(f.Bytes); floor > 0 {
		return f.Seconds / floor
	}
	return math.NaN()
}

func (f *finding) speedup() float64 { return f.Seconds / max(f.wall.Seconds(), 1e-9) }
func (f *finding) trace() string    { return fmt.Sprintf("%016x", f.Trace) }

// findingJSON is a finding for programs. Names are never changed.
type findingJSON struct {
	Name    string            `json:"name"`
	Config  map[string]string `json:"config"`
	Pages   int64             `json:"pages"`
	Virtual float64           `json:"virtual_seconds"`
	Wall    float64           `json:"wall_seconds"`
	WebWall float64           `json:"web_seconds"`
	Trace   string            `json:"trace"`
	Speedup float64           `json:"speedup"`
	Stopped string            `json:"stopped_by"`
	Events  int64             `json:"events"`

	Bytes     float64  `json:"bytes"`
	Floor     *float64 `json:"floor_seconds"` // T*; null when nothing bounds the line
	Rank      float64  `json:"rank"`
	RankTime  float64  `json:"rank_time"`
	Busy      float64  `json:"busy"`
	Idle      float64  `json:"idle_connections"`
	Reachable int      `json:"reachable_pages"`

	Reached struct {
		Pages map[string]*float64 `json:"pages"`
		Rank  map[string]*float64 `json:"rank"`
	} `json:"reached"`
	Series *seriesJSON `json:"series,omitempty"`
}

// seriesJSON are the samples, one list for each column.
type seriesJSON struct {
	Seconds []float64 `json:"seconds"`
	Pages   []int64   `json:"pages"`
	Queued  []int64   `json:"queued"`
	Bytes   []float64 `json:"bytes"`
	Rank    []float64 `json:"rank"`
	Busy    []float64 `json:"busy"`
}

func (f *finding) json(series bool) *findingJSON {
	j := &findingJSON{
		Name: f.Name, Config: map[string]string{}, Pages: f.Pages, Virtual: f.Seconds, Wall: f.wall.Seconds(), WebWall: f.made.Seconds(),
		Trace: f.trace(), Speedup: f.speedup(), Stopped: f.Stopped, Events: f.Events, Bytes: f.Bytes, Floor: known64(f.trial.floor(f.Bytes)),
		Rank: within(f.Rank, 1), RankTime: f.RankTime, Busy: within(f.Busy, 1), Idle: f.idle(), Reachable: f.place.pages,
	}
	for _, k := range knobs {
		j.Config[k.name] = k.text(f.trial)
	}
	j.Reached.Pages, j.Reached.Rank = map[string]*float64{}, map[string]*float64{}
	for _, part := range shares {
		at, name := f.reached(part), strconv.FormatFloat(part, 'g', -1, 64)
		j.Reached.Pages[name], j.Reached.Rank[name] = known64(at.pages), known64(at.rank)
	}
	if series {
		j.Series = new(seriesJSON)
		for _, s := range f.Samples {
			j.Series.Seconds = append(j.Series.Seconds, s.Seconds)
			j.Series.Pages = append(j.Series.Pages, s.Pages)
			j.Series.Queued = append(j.Series.Queued, s.Queued)
			j.Series.Bytes = append(j.Series.Bytes, s.Bytes)
			j.Series.Rank = append(j.Series.Rank, within(s.Rank, 1))
			j.Series.Busy = append(j.Series.Busy, within(s.Busy, float64(f.trial.cfg.Conns)))
		}
	}
	return j
}

// within takes off what rounding has put on top of the most that can be.
func within(v, most float64) float64 {
	if v > most && v < most*(1+1e-6) {
		return most
	}
	return v
}

// known64 is null for what is not known.
func known64(v float64) *float64 {
	if v == 0 || math.IsNaN(v) {
		return nil
	}
	return &v
}

// series writes the samples as CSV.
func (f *finding) series(w io.Writer) error {
	fmt.Fprintln(w, "seconds,pages,queued,bytes,rank,busy")
	for _, s := range f.Samples {
		if _, err := fmt.Fprintf(w, "%.3f,%d,%d,%.0f,%.9g,%.4g\n", s.Seconds, s.Pages, s.Queued, s.Bytes, s.Rank, s.Busy); err != nil {
			return err
		}
	}
	return nil
}

// line makes a line of a chart from the samples.
func (f *finding) line(name string, x, y func(sim.Sample) float64) chart.Line {
	l := chart.Line{Name: name}
	for _, s := range f.Samples {
		l.X, l.Y = append(l.X, x(s)), append(l.Y, y(s))
	}
	return l
}

func virtual(s sim.Sample) float64 { return s.Seconds }
func pages(s sim.Sample) float64   { return float64(s.Pages) }

// ranked and fetched are the parts of what can be had.
func (f *finding) ranked(s sim.Sample) float64  { return s.Rank / f.place.rank }
func (f *finding) fetched(s sim.Sample) float64 { return float64(s.Pages) / float64(f.place.pages) }

var (
	timeAxis  = chart.Axis{Label: "virtual time", Unit: chart.Seconds}
	pagesAxis = chart.Axis{Label: "pages fetched"}
)

// charts of one finding: how it went, and how busy it was.
func (f *finding) charts() []*chart.Chart {
	at := f.place.name + ", " + f.trial.String()
	return []*chart.Chart{
		{
			Title: "Pages and PageRank over time: " + at, X: timeAxis, Y: chart.Axis{Label: "share of what can be had", Unit: chart.Percent, To: 1},
			Lines: []chart.Line{f.line("PageRank", virtual, f.ranked), f.line("pages", virtual, f.fetched)},
		},
		{
			Title: "Connections in use: " + at, X: timeAxis, Y: chart.Axis{Label: "connections", To: float64(f.trial.cfg.Conns)},
			Lines: []chart.Line{f.line("busy", virtual, func(s sim.Sample) float64 { return s.Busy })},
		},
	}
}

func (f *finding) report() *chart.Report {
	return report("Simulation", f.place.name+", "+f.trial.String()+".", tabulate([]*finding{f}), f.charts())
}

func report(title, intro string, t *chart.Table, charts []*chart.Chart) *chart.Report {
	r := &chart.Report{Title: title, Intro: intro, Parts: []chart.Part{{Table: t}}}
	for _, c := range charts {
		r.Parts = append(r.Parts, chart.Part{Chart: c})
	}
	return r
}

// tabulate makes a row for each finding.
func tabulate(all []*finding) *chart.Table {
	t := &chart.Table{
		Columns: []string{"configuration", "seconds", "of T*", "rank time", "busy"},
		Notes: []string{"seconds: virtual time to the end. of T*: in units of the time that the line, or the limit if it is less, needs for the bytes. " +
			"rank time: mean time of a page, weighted by its PageRank, in seconds. busy: connections in use. " +
			"Then the seconds until so much of the pages, and of the PageRank, was there."},
	}
	for _, of := range []string{" pages", " rank"} {
		for _, part := range shares {
			t.Columns = append(t.Columns, strconv.FormatFloat(100*part, 'f', -1, 64)+"%"+of)
		}
	}
	for _, f := range all {
		row := []any{f.Name, round(f.Seconds), digits(f.slow(), 2), round(f.RankTime), fmt.Sprintf("%.0f%%", 100*f.Busy)}
		for _, of := range []func(times) float64{func(t times) float64 { return t.pages }, func(t times) float64 { return t.rank }} {
			for _, part := range shares {
				row = append(row, round(of(f.reached(part))))
			}
		}
		t.Add(row...)
	}
	return t
}

// round writes whole seconds, and what is not known as a dash.
func round(v float64) string { return digits(v, 0) }

func digits(v float64, n int) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}
