package chart

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Gantt shows who has how much of something, and when: a row for each, as high
// as its level at the time, and below them all together under what there is.
type Gantt struct {
	Title string
	Zero  time.Time // of 0 on the axis, which then has times of day; the zero Time: times since then
	Unit  Unit      // of levels
	Rows  []Row
	Total string // the name of all together; "": they are not shown
	Room  []Span // what there is for all; the last span may be endless
	Mark  string // what marks mean, for the legend
	Miss  string // what rows mean that missed theirs
}

// Row is one of those who have something.
type Row struct {
	Name  string
	Note  string // at the end of the row
	Spans []Span // in the order of time
	Mark  float64
	Miss  bool // the mark is missed
}

// Span is a level over a time.
type Span struct{ From, To, Level float64 }

// farMark is how far beyond everything else a mark may lie to be shown, as a
// multiple; further ones would leave no room for the rest.
const farMark = 1.6

// check returns the first fault of a Gantt chart.
func (g *Gantt) check() error {
	for _, r := range g.Rows {
		at := math.Inf(-1)
		for _, s := range r.Spans {
			if !finite(s.From) || !finite(s.To) || !finite(s.Level) || s.From < at || s.To < s.From {
				return fmt.Errorf("chart %q: row %q has a span from %g to %g of %g after %g", g.Title, r.Name, s.From, s.To, s.Level, at)
			}
			at = s.To
		}
	}
	return nil
}

// extent returns the time that is shown, from 0 on, and the highest level of a row.
func (g *Gantt) extent() (end, top float64) {
	for _, r := range g.Rows {
		for _, s := range r.Spans {
			end, top = max(end, s.To), max(top, s.Level)
		}
	}
	shown := end
	for _, r := range g.Rows {
		if finite(r.Mark) && (r.Mark <= farMark*end || end == 0) {
			shown = max(shown, r.Mark)
		}
	}
	if shown == 0 {
		shown = 1
	}
	return shown, top
}

// total adds up the rows: spans in the order of time, without those of nothing.
func (g *Gantt) total() []Span {
	type change struct{ at, by float64 }
	var changes []change
	for _, r := range g.Rows {
		for _, s := range r.Spans {
			changes = append(changes, change{s.From, s.Level}, change{s.To, -s.Level})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	var spans []Span
	level := 0.0
	for i, c := range changes {
		level += c.by
		if i+1 < len(changes) && changes[i+1].at > c.at && level > 0 {
			spans = append(spans, Span{c.at, changes[i+1].at, level})
		}
	}
	return spans
}

// scale is the axis of time with about n ticks.
func (g *Gantt) scale(end float64, n int) scale {
	if g.Zero.IsZero() {
		return newScale(Axis{Unit: Seconds, From: 0, To: end}, 0, end, n, true)
	}
	return scale{from: 0, to: end, ticks: clockTicks(g.Zero, end, n)}
}

// clockSteps are the distances that ticks of the clock may have, in seconds.
var clockSteps = []int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600,
	day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 364 * day, 3640 * day, 36400 * day}

const day = 24 * 3600

// clockTicks are round times of day in the seconds from zero to end.
func clockTicks(zero time.Time, end float64, n int) []tick {
	step := clockSteps[len(clockSteps)-1]
	for _, s := range clockSteps {
		if end/float64(s) <= float64(n) {
			step = s
			break
		}
	}
	form := "15:04"
	switch {
	case step < 60:
		form = "15:04:05"
	case step >= 91*day:
		form = "2006-01-02"
	case step >= 7*day:
		form = "2 Jan"
	case step >= day:
		form = "Mon 2"
	}
	y, m, d := zero.Date()
	var ticks []tick
	for k := 0; k <= 2*n+2+day/step; k++ {
		t := time.Date(y, m, d+k*step/day, 0, 0, k*step%day, 0, zero.Location())
		at := t.Sub(zero).Seconds()
		switch {
		case at > end:
			return ticks
		case at < 0 || len(ticks) > 0 && at <= ticks[len(ticks)-1].at:
			continue
		case step >= 60 && step < day && t.Hour() == 0 && t.Minute() == 0:
			ticks = append(ticks, tick{at, t.Format("Mon 2")})
		default:
			ticks = append(ticks, tick{at, t.Format(form)})
		}
	}
	return ticks
}

// WriteSVG writes the chart as an SVG file.
func (g *Gantt) WriteSVG(w io.Writer) error { return writeSVG(w, g, g.Title) }

const (
	ganttRow   = 24.0  // of a row, with the space between two
	ganttLeast = 4.0   // of a row among very many
	ganttMost  = 1400  // of all rows, before they get lower
	namedRow   = 13.0  // of a row that has room for its name
	totalRow   = 64.0  // of all rows together
	mostRows   = 2_000 // that are drawn
)

// rows returns how many rows are drawn, and how high each is.
func (g *Gantt) rows() (n int, high float64) {
	n = min(len(g.Rows), mostRows)
	return n, min(max(ganttMost/float64(max(n, 1)), ganttLeast), ganttRow)
}

func (g *Gantt) legend() []string {
	names := []string{g.Unit.Format(g.top()) + " when full", g.Mark, ""}
	for _, r := range g.Rows {
		if r.Miss {
			names[2] = g.Miss
		}
	}
	return names
}

func (g *Gantt) top() float64 {
	_, top := g.extent()
	return top
}

func (g *Gantt) height(width float64) float64 {
	n, high := g.rows()
	h := head(nil, width, g.Title, g.legend(), nil).y + float64(n)*high + 2*lineGap + margin
	if n < len(g.Rows) {
		h += lineGap
	}
	if g.Total != "" {
		h += totalRow + 14
	}
	return math.Ceil(h)
}

func (g *Gantt) draw(to canvas, width, height float64) {
	to.rect(0, 0, width, height, paper)
	const good, bad, faint = series, series + 1, grid
	f := head(to, width, g.Title, g.legend(), func(i int, x, y float64) {
		switch i {
		case 0:
			to.rect(x, y-6, 24, 12, good)
		case 1:
			to.path([]float64{x + 12, y - 8, x + 12, y + 8}, ink, 2, false)
		case 2:
			to.rect(x, y-6, 24, 12, bad)
		}
	})
	n, high := g.rows()
	rows := g.Rows[:n]
	inset, notes := 0.0, 0.0
	if g.Total != "" {
		inset = measure(g.Total, textFace)
	}
	if high >= namedRow {
		for _, r := range rows {
			inset, notes = max(inset, measure(r.Name, textFace)), max(notes, measure(r.Note, textFace))
		}
	}
	inset = min(inset, width*0.3)
	if width <= narrow {
		notes = 0
	}
	end, top := g.extent()
	plot := box{margin + inset + 8, f.y + 6, width - margin - 8 - min(notes, width*0.2), f.y + 6 + float64(n)*high}
	bottom := plot.bottom
	if n < len(g.Rows) {
		to.text(plot.left, bottom+lineGap-4, fmt.Sprintf("and %d more", len(g.Rows)-n), textFace, left, quiet)
		bottom += lineGap
	}
	totalTop := bottom + 14
	if g.Total != "" {
		bottom = totalTop + totalRow
	}
	xs := g.scale(end, max(2, int((plot.right-plot.left)/80)))
	at := func(v float64) float64 { return plot.x(&xs, v) }
	free := math.Inf(-1)
	for _, t := range xs.ticks {
		x := crisp(at(t.at))
		to.path([]float64{x, plot.top, x, bottom}, grid, 1, false)
		half := measure(t.label, textFace) / 2
		if x-half > free+6 && x+half <= width {
			to.text(x, bottom+lineGap-2, t.label, textFace, middle, quiet)
			free = x + half
		}
	}
	y := plot.top
	for _, r := range rows {
		gap := min(4, high/4)
		full := high - gap
		p := good
		if r.Miss {
			p = bad
		}
		if k := len(r.Spans); k > 0 {
			from := at(r.Spans[0].From)
			to.rect(from, y+gap/2, max(at(r.Spans[k-1].To)-from, 1), full, faint)
		}
		g.area(to, r.Spans, at, y+gap/2, full, top, p)
		if high >= namedRow {
			to.text(margin+inset, y+high/2+4.5, shorten(r.Name, textFace, inset), textFace, right, ink)
			if notes > 0 {
				to.text(plot.right+8, y+high/2+4.5, shorten(r.Note, textFace, width-margin-plot.right-8), textFace, left, quiet)
			}
		}
		if r.Mark > 0 && r.Mark <= end {
			x := crisp(at(r.Mark))
			to.path([]float64{x, y, x, y + high}, ink, min(2, high/4), false)
		}
		y += high
	}
	base := crisp(bottom)
	if g.Total != "" {
		g.drawTotal(to, at, box{plot.left, totalTop, plot.right, bottom}, end)
		to.text(margin+inset, totalTop+totalRow/2+4.5, shorten(g.Total, textFace, inset), textFace, right, ink)
	}
	to.path([]float64{plot.left, base, plot.right, base}, axis, 1, false)
}

// drawTotal draws all rows together, under the line of what there is.
func (g *Gantt) drawTotal(to canvas, at func(float64) float64, b box, end float64) {
	spans := g.total()
	top := 0.0
	for _, s := range spans {
		top = max(top, s.Level)
	}
	var line []float64
	for _, s := range g.Room {
		if s.From < end {
			top = max(top, s.Level)
		}
	}
	if top == 0 {
		return
	}
	g.area(to, spans, at, b.top, b.bottom-b.top, top, series+5)
	for _, s := range g.Room {
		if s.From >= end {
			break
		}
		y := b.bottom - (b.bottom-b.top)*s.Level/top
		line = append(line, at(s.From), y, at(min(s.To, end)), y)
	}
	if len(line) > 0 {
		to.path(line, ink, 1.5, false)
	}
	to.text(b.right, b.top-3, g.Unit.Format(top), textFace, right, quiet)
}

// area draws levels as rectangles on a common base. Those that would be narrower
// than a pixel are drawn together, with their mean.
func (g *Gantt) area(to canvas, spans []Span, at func(float64) float64, y, high, top float64, p paint) {
	if !(top > 0) {
		return
	}
	rect := func(from, till, level float64) {
		if level > 0 {
			h := max(high*min(level/top, 1), 1)
			to.rect(from, y+high-h, max(till-from, 0.6), h, p)
		}
	}
	var from, till, sum float64 // of what is gathered: its sum is level times width
	pending := false
	for _, s := range spans {
		a, b := at(s.From), at(s.To)
		if pending && (a > till+0.5 || b-from > 1) {
			rect(from, till, sum/max(till-from, 1e-9))
			pending = false
		}
		if !pending && b-a > 1 {
			rect(a, b, s.Level)
			continue
		}
		if !pending {
			from, sum, pending = a, 0, true
		}
		till, sum = b, sum+s.Level*(b-a)
	}
	if pending {
		rect(from, till, sum/max(till-from, 1e-9))
	}
}
