package chart

import (
	"io"
	"math"
	"strings"
)

// The letters of levels, from the lowest. One that is not empty never looks so.
const (
	plainLevels = ".:-=+*#%@"
	blockLevels = "▁▂▃▄▅▆▇█"
)

// WriteTextIn draws the chart with letters, for a terminal of so many columns;
// with blocks, the letters are bars of eight heights instead of shades.
func (g *Gantt) WriteTextIn(w io.Writer, room int, blocks bool) error {
	if err := g.check(); err != nil {
		return err
	}
	levels := []rune(plainLevels)
	if blocks {
		levels = []rune(blockLevels)
	}
	var b strings.Builder
	g.text(&b, room, levels)
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Gantt) text(b *strings.Builder, room int, levels []rune) {
	if g.Title != "" {
		fold(b, clean(g.Title), room)
		b.WriteString("\n")
	}
	if len(g.Rows) == 0 {
		b.WriteString("(no data)\n")
		return
	}
	inset := columns(clean(g.Total))
	for _, r := range g.Rows {
		inset = max(inset, columns(clean(r.Name)))
	}
	inset = min(inset, max(room/3, 8))
	wide := max(room-inset-1, leastWidth)
	end, top := g.extent()
	line := func(name string, cells []rune) {
		name = cutColumns(clean(name), inset)
		b.WriteString(strings.TrimRight(name+strings.Repeat(" ", inset-columns(name))+" "+string(cells), " ") + "\n")
	}
	missed, marked, beyond := false, false, false
	for _, r := range g.Rows {
		cells := shaded(r.Spans, end, top, wide, levels)
		if r.Mark > 0 {
			missed, marked = missed || r.Miss, true
			sign := '|'
			if r.Miss {
				sign = '!'
			}
			if r.Mark <= end {
				cells[min(int(r.Mark/end*float64(wide)), wide-1)] = sign
			} else {
				cells[wide-1], beyond = '>', true
			}
		}
		line(r.Name, cells)
	}
	if g.Total != "" {
		spans := g.total()
		most := 0.0
		for _, s := range g.Room {
			if s.From < end {
				most = max(most, s.Level)
			}
		}
		for _, s := range spans {
			most = max(most, s.Level)
		}
		line(g.Total, shaded(spans, end, most, wide, levels))
	}
	pad := strings.Repeat(" ", inset+1)
	rule, below := ruled(g.scale(end, max(wide/10, 2)), wide)
	b.WriteString(pad + rule + "\n" + strings.TrimRight(pad+below, " ") + "\n")
	if top > 0 {
		key := string(levels[len(levels)-1]) + " " + g.Unit.Format(top)
		if marked && g.Mark != "" {
			key += "   | " + clean(g.Mark)
		}
		if missed && g.Miss != "" {
			key += "   ! " + clean(g.Miss)
		}
		if beyond {
			key += "   > further on"
		}
		if columns(pad+key) <= room {
			b.WriteString(pad + key + "\n")
		} else {
			fold(b, key, room)
		}
	}
}

// shaded makes a letter for the mean level in each of the columns.
func shaded(spans []Span, end, top float64, wide int, levels []rune) []rune {
	cells := []rune(strings.Repeat(" ", wide))
	each := end / float64(wide)
	means := make([]float64, wide)
	for _, s := range spans {
		for k := max(int(s.From/each), 0); k < wide && float64(k)*each < s.To; k++ {
			from, to := max(s.From, float64(k)*each), min(s.To, float64(k+1)*each)
			means[k] += s.Level * max(to-from, 0) / each
		}
	}
	for k, m := range means {
		if m > 0 && top > 0 {
			n := int(math.Ceil(m/top*float64(len(levels))*(1-1e-9))) - 1
			cells[k] = levels[min(max(n, 0), len(levels)-1)]
		}
	}
	return cells
}

// ruled draws an axis, and the labels below it.
func ruled(s scale, wide int) (rule, below string) {
	line := []byte(strings.Repeat("-", wide))
	var labels strings.Builder
	used := 0
	for _, t := range s.ticks {
		at := int(math.Round(s.pos(t.at) * float64(wide-1)))
		if at < 0 || at >= wide {
			continue
		}
		line[at] = '+'
		from := max(min(at-columns(t.label)/2, wide-columns(t.label)), 0)
		if t.label != "" && (from > used || used == 0) {
			labels.WriteString(strings.Repeat(" ", from-used) + t.label)
			used = from + columns(t.label)
		}
	}
	return string(line), labels.String()
}

// cutColumns shortens a text to so many columns.
func cutColumns(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	var b strings.Builder
	used := 0
	for _, r := range s {
		n := columns(string(r))
		if used+n > room-1 {
			break
		}
		b.WriteRune(r)
		used += n
	}
	return b.String() + "~"
}
