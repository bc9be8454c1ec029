package chart

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// drawing is a chart of any kind.
type drawing interface {
	check() error
	height(width float64) float64
	draw(to canvas, width, height float64)
}

// WriteSVG writes the chart as an SVG file.
func (c *Chart) WriteSVG(w io.Writer) error { return writeSVG(w, c, c.Title) }

// WriteSVG writes the chart as an SVG file.
func (b *Bars) WriteSVG(w io.Writer) error { return writeSVG(w, b, b.Title) }

func writeSVG(w io.Writer, d drawing, title string) error {
	if err := d.check(); err != nil {
		return err
	}
	s := svg{}
	s.begin(d, title, wide, "")
	_, err := w.Write(s.Bytes())
	return err
}

// svg is a canvas that writes SVG. Colours are attributes, which every viewer
// knows, and a style sheet replaces them on dark paper.
type svg struct{ bytes.Buffer }

// begin writes a whole picture. Without a class it is a file of its own, with
// the style sheet that a page otherwise has once.
func (s *svg) begin(d drawing, title string, width float64, class string) {
	height := d.height(width)
	title = html.EscapeString(clean(title))
	if title == "" {
		title = "chart"
	}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-label="%[3]s"`, short(width), short(height), title)
	if class != "" {
		fmt.Fprintf(s, ` class="%s"`, class)
	}
	s.WriteString(` font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif">` + "\n")
	if class == "" {
		fmt.Fprintf(s, "<title>%s</title>\n<style>%s</style>\n", title, darkStyle())
	}
	d.draw(s, width, height)
	s.WriteString("</svg>\n")
}

// darkStyle is the style sheet for dark paper.
func darkStyle() string {
	var b strings.Builder
	b.WriteString("@media (prefers-color-scheme: dark) {")
	for i, c := range shades {
		fmt.Fprintf(&b, " .f%d { fill: #%06x } .s%[1]d { stroke: #%06[2]x }", i, c.dark)
	}
	b.WriteString(" }")
	return b.String()
}

func (s *svg) rect(x, y, w, h float64, p paint) {
	fmt.Fprintf(s, `<rect x="%s" y="%s" width="%s" height="%s" class="f%d" fill="#%06x"/>`+"\n", short(x), short(y), short(w), short(h), p, shades[p].light)
}

func (s *svg) path(xy []float64, p paint, width float64, dashed bool) {
	s.WriteString(`<path d="`)
	for i := 0; i+1 < len(xy); i += 2 {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		s.WriteString(letter + short(xy[i]) + " " + short(xy[i+1]))
	}
	fmt.Fprintf(s, `" class="s%d" stroke="#%06x" stroke-width="%s" fill="none" stroke-linejoin="round"`, p, shades[p].light, short(width))
	if dashed {
		s.WriteString(` stroke-dasharray="6 4"`)
	}
	s.WriteString("/>\n")
}

func (s *svg) dot(x, y, radius float64, p paint) {
	fmt.Fprintf(s, `<circle cx="%s" cy="%s" r="%s" class="f%d" fill="#%06x"/>`+"\n", short(x), short(y), short(radius), p, shades[p].light)
}

func (s *svg) text(x, y float64, t string, f face, a anchor, p paint) {
	if t == "" {
		return
	}
	fmt.Fprintf(s, `<text x="%s" y="%s" font-size="%s" class="f%d" fill="#%06x"`, short(x), short(y), short(f.size), p, shades[p].light)
	if f.bold {
		s.WriteString(` font-weight="600"`)
	}
	switch a {
	case middle:
		s.WriteString(` text-anchor="middle"`)
	case right:
		s.WriteString(` text-anchor="end"`)
	}
	fmt.Fprintf(s, ">%s</text>\n", html.EscapeString(clean(t)))
}

// short writes a coordinate to a tenth of a pixel.
func short(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // not minus zero
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// clean makes a text one that XML may hold: control characters become spaces,
// what is not text a question mark.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r == 0xfffe || r == 0xffff || unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
