package draw

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"

	"weir/query/flow"
)

// Sizes of a picture.
const (
	letter    = 7  // width of a character of what a box does
	lineTall  = 15 // a line of it
	boxPad    = 10
	boxWords  = 38 // characters of its longest line
	boxLeast  = 22
	margin    = 24
	backLane  = 26 // between the boxes and what leads back to the top
	headTall  = 40
	titleTall = 16
)

// Colours are attributes, which every viewer knows; a style sheet replaces them on
// dark paper.
var svgStyle = `@media (prefers-color-scheme: dark) {
 .paper { fill: #16181d } .ink { fill: #e8e9eb } .quiet { fill: #a4aab3 }
 .box { fill: #1e2127; stroke: #59616e } .move { stroke: #f2813a } .head { fill: #a4aab3 } .movehead { fill: #f2813a } .way { stroke: #a4aab3 }
}`

// SVG draws a plan as a picture: layers from top to bottom, Exchanges thick.
func SVG(g *flow.Graph, title string) string {
	words := make([][]string, len(g.Operators)+1)
	l := lay(g, func(o flow.Operator) (int, int) {
		lines := wrap(tame(o.Detail), boxWords)
		if lines[0] == "" {
			lines = nil
		}
		words[o.ID] = lines
		widest := max(boxLeast, min(boxWords, utf8.RuneCountInString(note(o))))
		for _, line := range lines {
			widest = max(widest, utf8.RuneCountInString(line))
		}
		height := 2*boxPad + titleTall + lineTall*len(lines)
		if note(o) != "" {
			height += lineTall * len(wrap(note(o), boxWords))
		}
		return widest*letter + 2*boxPad, height
	})
	p := &picture{l: l, dx: margin + backLane, dy: margin + headTall}
	width, height := l.width+p.dx+margin, l.height+p.dy+margin
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif">`+"\n", width, height, escape(title))
	p.printf("<title>%s</title>\n<style>%s</style>\n", escape(title), svgStyle)
	p.printf(`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="head" fill="#5f6672" d="M0 0L8 4L0 8z"/></marker>` +
		`<marker id="bold" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="12" markerHeight="12" markerUnits="userSpaceOnUse" orient="auto"><path class="movehead" fill="#c2410c" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	p.printf(`<rect class="paper" fill="#ffffff" width="%d" height="%d"/>`+"\n", width, height)
	p.printf(`<text class="ink" fill="#1b1e24" x="%d" y="%d" font-size="16" font-weight="600">%s</text>`+"\n", margin, margin+4, escape(title))
	p.printf(`<text class="quiet" fill="#5f6672" x="%d" y="%d" font-size="12">by %s; thick: an Exchange, where rows may change partitions</text>`+"\n", margin, margin+22, g.Scheme)
	for _, way := range l.legs {
		p.leg(way)
	}
	for _, s := range l.spots {
		if s.op > 0 {
			p.box(g.Operators[s.op-1], s, words[s.op])
		}
	}
	p.printf("</svg>\n")
	return p.String()
}

// picture writes SVG.
type picture struct {
	strings.Builder
	l      *layout
	dx, dy int // where the layout's corner is
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// leg draws an edge, past the boxes of the layers in between.
func (p *picture) leg(way leg) {
	first, last := p.l.spots[way.spots[0]], p.l.spots[way.spots[len(way.spots)-1]]
	class, colour, wide, tip, dash := "way", "#5f6672", "1.3", "tip", ""
	if way.Exchange {
		class, colour, wide, tip = "move", "#c2410c", "3.5", "bold"
	}
	var d strings.Builder
	if way.Back {
		dash = ` stroke-dasharray="5 4"`
		left := p.dx - backLane/2
		x1, y1 := first.x-first.width/2+p.dx, first.y+first.height/2+p.dy
		x2, y2 := last.x-last.width/2+p.dx, last.y+last.height/2+p.dy
		fmt.Fprintf(&d, "M%d %dL%d %dQ%d %d %d %dL%d %dQ%d %d %d %dL%d %d", x1, y1, left+10, y1, left, y1, left, y1-10, left, y2+10, left, y2, left+10, y2, x2-2, y2)
	} else {
		x, y := first.x+p.dx, first.y+first.height+p.dy
		fmt.Fprintf(&d, "M%d %d", x, y)
		for _, i := range way.spots[1:] {
			s := p.l.spots[i]
			sx, sy := s.x+p.dx, s.y+p.dy
			if sx == x {
				fmt.Fprintf(&d, "L%d %d", sx, sy-1)
			} else {
				fmt.Fprintf(&d, "C%d %d %d %d %d %d", x, (y+sy)/2, sx, (y+sy)/2, sx, sy-1)
			}
			if s.op == 0 {
				fmt.Fprintf(&d, "L%d %d", sx, sy+s.height)
			}
			x, y = sx, sy+s.height
		}
	}
	p.printf(`<path class="%s" d="%s" fill="none" stroke="%s" stroke-width="%s"%s marker-end="url(#%s)"/>`+"\n", class, &d, colour, wide, dash, tip)
}

func (p *picture) box(o flow.Operator, s spot, lines []string) {
	x, y := s.x-s.width/2+p.dx, s.y+p.dy
	shape := ""
	if o.Final {
		shape = ` stroke-dasharray="6 3"`
	}
	p.printf("<g><title>%s</title>\n", escape(o.Kind+" "+o.Detail))
	p.printf(`<rect class="box" fill="#f6f7f9" stroke="#9aa1ac"%s x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", shape, x, y, s.width, s.height)
	y += boxPad + 12
	p.printf(`<text class="ink" fill="#1b1e24" x="%d" y="%d" font-size="13" font-weight="600">%d %s</text>`+"\n", x+boxPad, y, o.ID, o.Kind)
	y += titleTall
	for _, line := range lines {
		p.printf(`<text class="ink" fill="#1b1e24" x="%d" y="%d" font-size="11" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" xml:space="preserve">%s</text>`+"\n", x+boxPad, y, escape(line))
		y += lineTall
	}
	if n := note(o); n != "" {
		for _, line := range wrap(n, boxWords) {
			p.printf(`<text class="quiet" fill="#5f6672" x="%d" y="%d" font-size="11">%s</text>`+"\n", x+boxPad, y, escape(line))
			y += lineTall
		}
	}
	p.printf("</g>\n")
}

// escape makes a text safe in XML, also in an attribute.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(tame(s))) // a Builder takes everything
	return b.String()
}
