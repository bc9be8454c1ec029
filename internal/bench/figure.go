package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// figure is a drawing of rates over time: lines above one another, and a limit.
type figure struct {
	title string
	note  string
	unit  string
	limit float64
	lines []line
}

// line has a value for every second.
type line struct {
	name   string
	dotted bool
	ys     []float64
}

const (
	figureWidth, figureHeight    = 720.0, 330.0
	marginLeft, marginRight      = 60.0, 20.0
	marginTop, marginBottom      = 44.0, 56.0
	plotWidth                    = figureWidth - marginLeft - marginRight
	plotHeight                   = figureHeight - marginTop - marginBottom
	ink, faint, strong, boundary = "#222", "#ddd", "#1b5e9e", "#b3261e"
)

// svg draws the figure.
func (f figure) svg() string {
	top, n := f.limit, 0
	for _, l := range f.lines {
		n = max(n, len(l.ys))
		for _, y := range l.ys {
			top = max(top, y)
		}
	}
	step := tick(top)
	top = math.Ceil(top*1.02/step) * step
	x := func(i float64) float64 { return marginLeft + plotWidth*i/float64(max(1, n-1)) }
	y := func(v float64) float64 { return marginTop + plotHeight*(1-v/top) }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12" fill="%s">`+"\n", figureWidth, figureHeight, ink)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", figureWidth, figureHeight)
	text(&b, marginLeft, 18, "start", `font-size="14" font-weight="bold"`, f.title)
	text(&b, marginLeft, 34, "start", `fill="#555"`, f.note)
	for v := 0.0; v <= top+step/2; v += step {
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="%s"/>`+"\n", marginLeft, marginLeft+plotWidth, y(v), y(v), faint)
		text(&b, marginLeft-6, y(v)+4, "end", "", fmt.Sprintf("%g", v))
	}
	for i := 0; i < n; i += 5 {
		text(&b, x(float64(i)), marginTop+plotHeight+16, "middle", "", fmt.Sprint(i))
	}
	text(&b, marginLeft+plotWidth, marginTop+plotHeight+32, "end", "", "seconds")
	text(&b, 8, marginTop-4, "start", "", f.unit)
	fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="8 4"/>`+"\n", marginLeft, marginLeft+plotWidth, y(f.limit), y(f.limit), boundary)
	at := marginLeft
	for _, l := range f.lines {
		style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, strong)
		if l.dotted {
			style = fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2" stroke-dasharray="2 4"`, ink)
		}
		b.WriteString(`<polyline points="`)
		for i, v := range l.ys {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(float64(i)), y(v))
		}
		fmt.Fprintf(&b, `" %s/>`+"\n", style)
		fmt.Fprintf(&b, `<path d="M%g %gh24" %s/>`+"\n", at, figureHeight-14, style)
		text(&b, at+30, figureHeight-10, "start", "", l.name)
		at += 60 + 7*float64(len(l.name))
	}
	fmt.Fprintf(&b, `<path d="M%g %gh24" stroke="%s" stroke-dasharray="8 4"/>`+"\n", at, figureHeight-14, boundary)
	text(&b, at+30, figureHeight-10, "start", "", "limit")
	b.WriteString("</svg>\n")
	return b.String()
}

func text(b *strings.Builder, x, y float64, anchor, style, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>`, x, y, anchor, style)
	_ = xml.EscapeText(b, []byte(s)) // a strings.Builder does not fail
	b.WriteString("</text>\n")
}

// tick is a round distance between the marks of an axis.
func tick(top float64) float64 {
	if !(top > 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(top)))
	for _, n := range []float64{0.2, 0.5, 1, 2} {
		if top/(unit*n) <= 6 {
			return unit * n
		}
	}
	return unit * 2
}

// draw writes the figure into a folder.
func (f figure) draw(dir, name string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(f.svg()), 0o644)
}
