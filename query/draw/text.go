package draw

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/query/flow"
)

// textWidth is how many columns a drawing has, if its rails leave it a choice.
const textWidth = 80

// Most that columns may take before their cells are broken into lines, and the
// least that is left for what a box does.
const (
	mostKey    = 10
	mostStores = 18
	leastWords = 24
)

// Text draws a plan for a terminal, a line a box.
func Text(g *flow.Graph) string {
	lines := []line{{cells: [4]string{"box", "home", "keeps", "when"}}}
	rails := newRails(g)
	for _, o := range g.Operators {
		lines = append(lines, line{id: o.ID, kind: o.Kind, cells: cells(g, o)})
		last := &lines[len(lines)-1]
		last.first, last.more = rails.step(o)
	}
	var w widths
	w.rails = 2 * len(rails.lanes)
	for i := range lines {
		w.fit(&lines[i])
	}
	w.cells[0] = max(leastWords, textWidth-w.rails-w.id-w.kind-w.cells[1]-w.cells[2]-w.cells[3]-11)
	var b strings.Builder
	for i := range lines {
		lines[i].write(&b, &w)
	}
	return b.String()
}

// cells are the columns of a box.
func cells(g *flow.Graph, o flow.Operator) [4]string {
	detail := tame(o.Detail)
	for _, e := range g.Edges {
		if e.Back && e.From == o.ID {
			detail += fmt.Sprintf("; back to %d", e.To)
		}
	}
	when := "live"
	if o.Final {
		when = "final"
	}
	return [4]string{detail, tame(o.Key), tame(strings.Join(o.Stores, ", ")), when}
}

// line is a box, or the head.
type line struct {
	first, more string // rails beside its first line and those after it
	id          int
	kind        string
	cells       [4]string
}

// widths are those of the columns.
type widths struct {
	rails, id, kind int
	cells           [4]int
}

func (w *widths) fit(l *line) {
	if l.id > 0 {
		w.id = max(w.id, len(fmt.Sprint(l.id)))
	}
	w.kind = max(w.kind, len(l.kind))
	for i, most := range [4]int{0, mostKey, mostStores, len("final")} {
		w.cells[i] = max(w.cells[i], min(most, utf8.RuneCountInString(l.cells[i])))
	}
}

func (l *line) write(b *strings.Builder, w *widths) {
	var parts [4][]string
	height := 0
	for i, c := range l.cells {
		parts[i] = wrap(c, w.cells[i])
		height = max(height, len(parts[i]))
	}
	for row := range height {
		rails, id, kind := l.more, "", ""
		if row == 0 {
			rails, kind = l.first, l.kind
			if l.id > 0 {
				id = fmt.Sprint(l.id)
			}
		}
		out := pad(rails, w.rails) + " " + strings.Repeat(" ", w.id-len(id)) + id + " " + pad(kind, w.kind) + "  "
		for i, p := range parts {
			text := ""
			if row < len(p) {
				text = p[row]
			}
			out += pad(text, w.cells[i]) + "  "
		}
		b.WriteString(strings.TrimRight(out, " ") + "\n")
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// rails leads lanes down a drawing: a lane from each box to those that take its
// rows, until the last of them has them.
type rails struct {
	from  [][]int // by operator: whose rows it takes
	taken []int   // by operator: by how many its rows are still to be taken
	kind  []string
	lanes []int // the operator whose lane it is, 0: free
}

func newRails(g *flow.Graph) *rails {
	n := len(g.Operators) + 1
	r := &rails{from: make([][]int, n), taken: make([]int, n), kind: make([]string, n)}
	for _, o := range g.Operators {
		r.kind[o.ID] = o.Kind
	}
	for _, e := range g.Edges {
		if !e.Back && !slices.Contains(r.from[e.To], e.From) {
			r.from[e.To] = append(r.from[e.To], e.From)
			r.taken[e.From]++
		}
	}
	return r
}

// step draws the rails beside a box, and those below it.
func (r *rails) step(o flow.Operator) (first, more string) {
	ins := make([]bool, len(r.lanes)+1)
	own := -1
	for i, id := range r.lanes {
		if id != 0 && slices.Contains(r.from[o.ID], id) {
			ins[i] = true
			if r.taken[id]--; r.taken[id] == 0 && own < 0 {
				own = i
			}
		}
	}
	if own < 0 {
		own = r.free(slices.Index(ins, true))
	}
	first = r.draw(o, own, ins)
	for i, id := range r.lanes {
		if id != 0 && r.taken[id] == 0 {
			r.lanes[i] = 0
		}
	}
	if r.taken[o.ID] > 0 {
		r.lanes[own] = o.ID
	}
	for _, id := range r.lanes {
		more += r.glyph(id, " ", "│", "║") + " "
	}
	return first, more
}

// free finds a lane for a box, best on the right of the one that leads to it.
func (r *rails) free(beside int) int {
	for i := beside + 1; i < len(r.lanes); i++ {
		if r.lanes[i] == 0 {
			return i
		}
	}
	r.lanes = append(r.lanes, 0)
	return len(r.lanes) - 1
}

// glyph chooses by what a lane carries: nothing, rows, or rows that may change
// partitions.
func (r *rails) glyph(id int, none, single, double string) string {
	switch {
	case id == 0:
		return none
	case r.kind[id] == flow.OpExchange:
		return double
	}
	return single
}

// draw draws one line: the box in its own lane, and what leads to it from others.
func (r *rails) draw(o flow.Operator, own int, ins []bool) string {
	left, right, double := own, own, false
	for i, id := range r.lanes {
		if ins[i] && i != own {
			left, right = min(left, i), max(right, i)
			double = double || r.kind[id] == flow.OpExchange
		}
	}
	across := "─"
	if double {
		across = "═"
	}
	var b strings.Builder
	for i, id := range r.lanes {
		inside := i >= left && i <= right
		switch {
		case i == own && o.Kind == flow.OpExchange:
			b.WriteString("◆")
		case i == own:
			b.WriteString("●")
		case ins[i]:
			b.WriteString(r.bend(id, r.taken[id] == 0, i == left, i == right))
		case inside && id == 0:
			b.WriteString(across)
		default:
			b.WriteString(r.glyph(id, " ", "│", "║"))
		}
		if i >= left && i < right {
			b.WriteString(across)
		} else {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// bend is where a lane leaves to the side: for good, or not.
func (r *rails) bend(id int, ends, first, last bool) string {
	switch {
	case first && ends:
		return r.glyph(id, "", "└", "╚")
	case first:
		return r.glyph(id, "", "├", "╠")
	case last && ends:
		return r.glyph(id, "", "┘", "╝")
	case last:
		return r.glyph(id, "", "┤", "╣")
	case ends:
		return r.glyph(id, "", "┴", "╩")
	}
	return r.glyph(id, "", "┼", "╬")
}
