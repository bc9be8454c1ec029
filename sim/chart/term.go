package chart

import (
	"bytes"
	"io"
	"math"
	"strings"
)

// marks draw the lines of a chart in a terminal.
const marks = "*o+x#@%&"

const (
	textWidth  = 80 // of paragraphs, and of terminals if nothing else is known
	termWidth  = 62 // of the area inside the axes, in characters
	leastWidth = 16
	termHeight = 15
	barLength  = 40
)

// WriteText draws the chart with letters, for a terminal of 80 columns.
func (c *Chart) WriteText(w io.Writer) error { return c.WriteTextIn(w, textWidth) }

// WriteTextIn draws the chart with letters, for a terminal of so many columns.
func (c *Chart) WriteTextIn(w io.Writer, room int) error {
	if err := c.check(); err != nil {
		return err
	}
	var b strings.Builder
	c.text(&b, min(room, textWidth))
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Chart) text(b *strings.Builder, room int) {
	if c.Title != "" {
		fold(b, clean(c.Title), room)
		b.WriteString("\n")
	}
	xlo, xhi, ylo, yhi := c.extent()
	if xlo > xhi {
		b.WriteString("(no data)\n")
		return
	}
	ys := newScale(c.Y, ylo, yhi, 5, false)
	if c.Y.Label != "" {
		fold(b, clean(c.Y.Label), room)
	}
	label := make([]string, termHeight)
	inset := 0
	for _, t := range ys.ticks {
		row := termHeight - 1 - int(math.Round(ys.pos(t.at)*(termHeight-1)))
		if row >= 0 && row < termHeight {
			label[row] = t.label
			inset = max(inset, columns(t.label))
		}
	}
	wide := max(min(termWidth, room-inset-2), leastWidth)
	xs := newScale(c.X, xlo, xhi, max(7*wide/termWidth, 2), true)
	var cells [termHeight][]byte
	for y := range cells {
		cells[y] = bytes.Repeat([]byte(" "), wide)
	}
	for i, l := range c.Lines {
		plotText(&cells, l, &xs, &ys, marks[i%len(marks)])
	}
	for y := range cells {
		edge := " |"
		if label[y] != "" {
			edge = " +"
		}
		line := strings.Repeat(" ", inset-columns(label[y])) + label[y] + edge + string(cells[y])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	rule := []byte(strings.Repeat("-", wide))
	below := strings.Builder{}
	used := 0
	for _, t := range xs.ticks {
		at := int(math.Round(xs.pos(t.at) * float64(wide-1)))
		if at < 0 || at >= wide {
			continue
		}
		rule[at] = '+'
		from := max(min(at-columns(t.label)/2, room-inset-2-columns(t.label)), 0)
		if t.label != "" && (from > used || used == 0) {
			below.WriteString(strings.Repeat(" ", from-used) + t.label)
			used = from + columns(t.label)
		}
	}
	pad := strings.Repeat(" ", inset+1)
	b.WriteString(pad + "+" + string(rule) + "\n" + pad + " " + below.String() + "\n")
	if l := clean(c.X.Label); l != "" {
		b.WriteString(pad + " " + strings.Repeat(" ", max(0, (wide-columns(l))/2)) + l + "\n")
	}
	used = 0
	for i, l := range c.Lines {
		if l.Name == "" {
			continue
		}
		entry := string(marks[i%len(marks)]) + " " + clean(l.Name)
		switch {
		case used == 0:
			b.WriteString("\n")
		case used+3+columns(entry) > room:
			b.WriteString("\n")
			used = 0
		default:
			b.WriteString("   ")
			used += 3
		}
		b.WriteString(entry)
		used += columns(entry)
	}
	if used > 0 {
		b.WriteString("\n")
	}
}

// plotText draws one line into the cells.
func plotText(cells *[termHeight][]byte, l Line, xs, ys *scale, mark byte) {
	wide := len(cells[0])
	put := func(x, y float64) {
		column, row := int(math.Round(x)), termHeight-1-int(math.Round(y))
		if column >= 0 && column < wide && row >= 0 && row < termHeight {
			cells[row][column] = mark
		}
	}
	drawn := false
	var px, py float64
	for i := range l.X {
		if !xs.shows(l.X[i]) || !ys.shows(l.Y[i]) {
			drawn = false
			continue
		}
		x, y := xs.pos(l.X[i])*float64(wide-1), ys.pos(l.Y[i])*(termHeight-1)
		// Between two points every column is marked, as far as it is in sight.
		if drawn && !l.Bare {
			from, to := max(0, math.Ceil(min(px, x))), min(float64(wide-1), math.Floor(max(px, x)))
			for at := from; at <= to && px != x; at++ {
				if l.Step {
					put(at, py)
				} else {
					put(at, py+(y-py)*(at-px)/(x-px))
				}
			}
		}
		put(x, y)
		px, py, drawn = x, y, true
	}
}

// WriteText draws the bars with letters.
func (b *Bars) WriteText(w io.Writer) error {
	if err := b.check(); err != nil {
		return err
	}
	var s strings.Builder
	b.text(&s)
	_, err := io.WriteString(w, s.String())
	return err
}

func (b *Bars) text(s *strings.Builder) {
	if b.Title != "" {
		fold(s, clean(b.Title), textWidth)
		s.WriteString("\n")
	}
	most, inset := 0.0, 0
	for _, n := range b.Names {
		inset = max(inset, columns(clean(n)))
	}
	second := 0
	for _, series := range b.Series {
		if len(b.Series) > 1 {
			second = max(second, columns(clean(series.Name)))
		}
		for _, v := range series.Values {
			if finite(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	for i, name := range b.Names {
		name = clean(name)
		for _, series := range b.Series {
			s.WriteString(name + strings.Repeat(" ", inset-columns(name)) + "  ")
			name = ""
			if second > 0 {
				n := clean(series.Name)
				s.WriteString(n + strings.Repeat(" ", second-columns(n)) + "  ")
			}
			v := series.Values[i]
			if finite(v) && v != 0 {
				s.WriteString(strings.Repeat("#", max(1, int(math.Round(math.Abs(v)/most*barLength)))) + " ")
			}
			s.WriteString(b.Value.Unit.Format(v) + "\n")
		}
	}
	if b.Value.Label != "" {
		s.WriteString("\n")
		fold(s, clean(b.Value.Label), textWidth)
	}
}

// Spark draws values as a line of n small bars, each the mean of its part, as
// high as it is between 0 and the largest.
func Spark(values []float64, n int) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	n = min(n, len(values))
	means := make([]float64, max(n, 0))
	most := 0.0
	for i := range means {
		part := values[i*len(values)/n : (i+1)*len(values)/n]
		for _, v := range part {
			means[i] += v / float64(len(part))
		}
		if finite(means[i]) {
			most = max(most, means[i])
		}
	}
	var b strings.Builder
	for _, v := range means {
		switch {
		case !finite(v):
			b.WriteByte(' ')
		case most == 0:
			b.WriteRune(bars[0])
		default:
			b.WriteRune(bars[int(max(0, v/most)*float64(len(bars)-1)+0.5)])
		}
	}
	return b.String()
}
