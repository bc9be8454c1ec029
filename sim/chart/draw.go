package chart

import (
	"math"
	"sort"
	"strings"
)

// canvas is what a chart is drawn on; pixels from the upper left corner.
type canvas interface {
	rect(x, y, w, h float64, p paint)
	path(xy []float64, p paint, width float64, dashed bool)
	dot(x, y, radius float64, p paint)
	text(x, y float64, s string, f face, a anchor, p paint)
}

// paint is a colour by its role; from series on, the colour of a line.
type paint int

const (
	paper paint = iota
	ink
	quiet // labels
	axis
	grid
	series
)

// shade is the colour of a paint on light and on dark paper.
type shade struct{ light, dark uint32 }

// The colours of series are those of Okabe and Ito, without their yellow that
// vanishes on white; on dark paper they are lighter.
var shades = []shade{
	paper:      {0xffffff, 0x16181d},
	ink:        {0x1c1e21, 0xe8e9eb},
	quiet:      {0x5b6068, 0xa4aab3},
	axis:       {0x8a9099, 0x6b727c},
	grid:       {0xe4e6e9, 0x2c3038},
	series:     {0x0072b2, 0x4aa8e0},
	series + 1: {0xd55e00, 0xf2813a},
	series + 2: {0x009e73, 0x2cc295},
	series + 3: {0xcc79a7, 0xdf95bd},
	series + 4: {0xe69f00, 0xf0b53c},
	series + 5: {0x56b4e9, 0x8fd0f5},
	series + 6: {0x4d4d4d, 0xc4c4c4},
}

const colours = 7

// colour returns the paint of the i-th series, and whether it has been round
// once and must differ by something else.
func colour(i int) (p paint, again bool) { return series + paint(i%colours), i/colours%2 == 1 }

// face is a size and weight of letters, anchor what of a text lies at its x.
type face struct {
	size float64
	bold bool
}

type anchor uint8

const (
	left anchor = iota
	middle
	right
)

var (
	titleFace = face{16, true}
	textFace  = face{12.5, false}
)

const (
	margin   = 14.0
	lineGap  = 19.0 // between lines of text
	titleGap = 22.0
	wide     = 760.0
	narrow   = 380.0
)

// frame is the part of a picture that every chart shares.
type frame struct {
	width       float64
	y           float64 // down to here it is used
	left, right float64
}

// head draws title and legend and returns what is left; with a nil canvas it
// only measures.
func head(c canvas, width float64, title string, names []string, key func(i int, x, y float64)) frame {
	y := margin
	for _, line := range wrap(title, titleFace, width-2*margin) {
		y += titleGap
		if c != nil {
			c.text(margin, y-6, line, titleFace, left, ink)
		}
	}
	const swatch, gap = 24.0, 18.0
	x := margin
	some := false
	for i, name := range names {
		if name == "" {
			continue
		}
		name = shorten(name, textFace, width-2*margin-swatch-6)
		w := swatch + 6 + measure(name, textFace)
		if x > margin && x+w > width-margin {
			x, y = margin, y+lineGap
		}
		if !some {
			some, y = true, y+4
		}
		if c != nil {
			key(i, x, y+10)
			c.text(x+swatch+6, y+14, name, textFace, left, ink)
		}
		x += w + gap
	}
	if some {
		y += lineGap
	}
	return frame{width: width, y: y + 4, left: margin, right: width - margin}
}

// wrap breaks a text into lines at its spaces.
func wrap(s string, f face, width float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		word = shorten(word, f, width)
		switch {
		case line == "":
			line = word
		case measure(line+" "+word, f) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// shorten cuts a text that is too long.
func shorten(s string, f face, width float64) string {
	const most = 500 // letters; no line holds as many
	letters := []rune(s)
	if len(letters) <= most && measure(s, f) <= width {
		return s
	}
	cut := sort.Search(min(len(letters), most), func(n int) bool {
		return measure(string(letters[:n+1])+"…", f) > width
	})
	return string(letters[:cut]) + "…"
}

// height returns the height of the chart at a width.
func (c *Chart) height(width float64) float64 {
	names := make([]string, len(c.Lines))
	for i, l := range c.Lines {
		names[i] = l.Name
	}
	return math.Ceil(head(nil, width, c.Title, names, nil).y + max(300, min(width*0.45, 340)))
}

// draw lays the chart out.
func (c *Chart) draw(to canvas, width, height float64) {
	to.rect(0, 0, width, height, paper)
	names := make([]string, len(c.Lines))
	for i, l := range c.Lines {
		names[i] = l.Name
	}
	f := head(to, width, c.Title, names, func(i int, x, y float64) {
		p, dashed := c.look(i)
		if !c.Lines[i].Bare {
			to.path([]float64{x, y, x + 24, y}, p, 2.2, dashed)
		}
		if c.Lines[i].Points || c.Lines[i].Bare {
			to.dot(x+12, y, 3.2, p)
		}
	})
	top := f.y + 6
	if c.Y.Label != "" {
		top += lineGap + 4
		to.text(margin, top-14, shorten(c.Y.Label, textFace, width-2*margin), textFace, left, quiet)
	}
	bottom := height - margin - lineGap
	if c.X.Label != "" {
		bottom -= lineGap
	}

	xlo, xhi, ylo, yhi := c.extent()
	ys := newScale(c.Y, ylo, yhi, max(3, int((bottom-top)/40)), false)
	inset := 0.0
	for _, t := range ys.ticks {
		inset = max(inset, measure(t.label, textFace))
	}
	plot := box{margin + inset + 8, top, width - margin - 12, bottom}
	xs := newScale(c.X, xlo, xhi, max(3, int((plot.right-plot.left)/70)), true)
	if n := len(xs.ticks); n > 0 {
		plot.right = min(plot.right, width-6-measure(xs.ticks[n-1].label, textFace)/2)
	}

	for _, t := range ys.ticks {
		y := crisp(plot.y(&ys, t.at))
		to.path([]float64{plot.left, y, plot.right, y}, grid, 1, false)
		to.text(plot.left-8, y+4.5, t.label, textFace, right, quiet)
	}
	base := crisp(plot.bottom)
	to.path([]float64{plot.left, base, plot.right, base}, axis, 1, false)
	free := math.Inf(-1) // labels end here
	for _, t := range xs.ticks {
		x := crisp(plot.x(&xs, t.at))
		to.path([]float64{x, base, x, base + 5}, axis, 1, false)
		if half := measure(t.label, textFace) / 2; t.label != "" && x-half > free+6 {
			to.text(x, plot.bottom+lineGap, t.label, textFace, middle, quiet)
			free = x + half
		}
	}
	if c.X.Label != "" {
		to.text((plot.left+plot.right)/2, height-margin, shorten(c.X.Label, textFace, width-2*margin), textFace, middle, quiet)
	}
	if xlo > xhi || ylo > yhi {
		to.text((plot.left+plot.right)/2, (plot.top+plot.bottom)/2, "no data", textFace, middle, quiet)
	}
	for i, l := range c.Lines {
		p, dashed := c.look(i)
		plot.line(to, l, &xs, &ys, p, dashed)
	}
}

func (c *Chart) look(i int) (p paint, dashed bool) {
	p, again := colour(i)
	return p, c.Lines[i].Dashed != again
}

// extent returns the range of the points that can be drawn; lo > hi if none.
func (c *Chart) extent() (xlo, xhi, ylo, yhi float64) {
	xlo, xhi = math.Inf(1), math.Inf(-1)
	ylo, yhi = xlo, xhi
	xs, ys := scale{log: c.X.Log}, scale{log: c.Y.Log}
	for _, l := range c.Lines {
		for i, x := range l.X {
			if y := l.Y[i]; xs.shows(x) && ys.shows(y) {
				xlo, xhi = min(xlo, x), max(xhi, x)
				ylo, yhi = min(ylo, y), max(yhi, y)
			}
		}
	}
	return
}
