package chart

import "math"

const (
	barWidth = 15.0 // of one bar, across
	barGap   = 2.0
	groupGap = 13.0
)

func (b *Bars) names() []string {
	if len(b.Series) < 2 {
		return nil // the title says it all
	}
	names := make([]string, len(b.Series))
	for i, s := range b.Series {
		names[i] = s.Name
	}
	return names
}

func (b *Bars) group() float64 {
	return float64(max(1, len(b.Series)))*(barWidth+barGap) - barGap + groupGap
}

// above reports whether names stand above their bars since there is no room
// beside them.
func (b *Bars) above(width float64) (bool, float64) {
	inset := 0.0
	for _, n := range b.Names {
		inset = max(inset, measure(n, textFace))
	}
	return inset > width*0.35, inset
}

func (b *Bars) height(width float64) float64 {
	group := b.group()
	if above, _ := b.above(width); above {
		group += lineGap
	}
	h := head(nil, width, b.Title, b.names(), nil).y + group*float64(max(1, len(b.Names))) + groupGap + lineGap + margin
	if b.Value.Label != "" {
		h += lineGap
	}
	return math.Ceil(h)
}

func (b *Bars) draw(to canvas, width, height float64) {
	to.rect(0, 0, width, height, paper)
	f := head(to, width, b.Title, b.names(), func(i int, x, y float64) {
		p, _ := colour(i)
		to.rect(x, y-6, 24, 12, p)
	})
	lo, hi := 0.0, 0.0
	room := 0.0 // for the numbers
	for _, s := range b.Series {
		for _, v := range s.Values {
			if finite(v) {
				lo, hi = min(lo, v), max(hi, v)
				room = max(room, measure(b.Value.Unit.Format(v), textFace))
			}
		}
	}
	above, inset := b.above(width)
	plot := box{margin + inset + 10, f.y + 4, width - margin - room - 8, height - margin - lineGap}
	if above {
		plot.left = margin + 8 // half of the 0 below it
	}
	if lo < 0 {
		plot.left += room + 8
	}
	if b.Value.Label != "" {
		plot.bottom -= lineGap
	}
	value := b.Value
	value.Log = false
	value.From, value.To = min(lo, value.From, 0), max(hi, value.To)
	if value.From == value.To {
		value.To = 1
	}
	step := newScale(Axis{Unit: value.Unit}, value.From, value.To, max(2, int((plot.right-plot.left)/70)), false)
	xs := scale{from: value.From, to: value.To, ticks: step.ticks}
	at := func(v float64) float64 { return plot.left + xs.pos(v)*(plot.right-plot.left) }

	for _, t := range xs.ticks {
		if x := crisp(at(t.at)); x >= plot.left-1 && x <= plot.right+1 {
			to.path([]float64{x, plot.top, x, plot.bottom}, grid, 1, false)
			to.text(x, plot.bottom+lineGap-2, t.label, textFace, middle, quiet)
		}
	}
	if b.Value.Label != "" {
		to.text((plot.left+plot.right)/2, height-margin+2, shorten(b.Value.Label, textFace, width-2*margin), textFace, middle, quiet)
	}
	y := plot.top + groupGap/2
	for i, name := range b.Names {
		if above {
			to.text(plot.left+4, y+12, shorten(name, textFace, width-2*margin), textFace, left, ink)
			y += lineGap
		} else {
			to.text(margin+inset, y+(b.group()-groupGap)/2+4.5, name, textFace, right, ink)
		}
		for k, s := range b.Series {
			p, _ := colour(k)
			v := s.Values[i]
			number := b.Value.Unit.Format(v)
			switch {
			case !finite(v):
				to.text(at(0)+5, y+barWidth-3, number, textFace, left, quiet)
			case v < 0:
				to.rect(at(v), y, max(at(0)-at(v), 1), barWidth, p)
				to.text(at(v)-5, y+barWidth-3, number, textFace, right, quiet)
			default:
				to.rect(at(0), y, max(at(v)-at(0), 1), barWidth, p)
				to.text(at(v)+5, y+barWidth-3, number, textFace, left, quiet)
			}
			y += barWidth + barGap
		}
		y += groupGap - barGap
		if len(b.Series) == 0 {
			y += barWidth + barGap
		}
	}
	zero := crisp(at(0))
	to.path([]float64{zero, plot.top, zero, plot.bottom}, axis, 1, false)
}
