// Package chart decides how results look: line charts, bar charts, Gantt charts
// and tables, alone or together in a report.
//
//	Chart, Bars   SVG, PNG, text for a terminal, CSV
//	Gantt         SVG, text for a terminal
//	Table         text with aligned columns, CSV
//	Report        all of them in one HTML file, or as text
//
// The HTML file needs nothing else: its charts are inline SVG, it has no
// scripts, it follows the reader's choice of light or dark, and it holds every
// chart twice, wide and narrow, so that a phone's reader can read the labels.
//
// A chart is laid out once, in pixels, on a canvas; SVG and PNG are two of
// these. Colours are told apart by readers who are colour-blind. Every output
// depends on its input alone: same numbers, same bytes. Names may come from
// anywhere and are escaped.
package chart

import (
	"fmt"
	"math"
)

// Unit is what the numbers on an axis mean.
type Unit uint8

const (
	Number  Unit = iota // 20k, 1.5M
	Percent             // the number 0.25 is 25%
	Seconds             // 30 s, 5 min, 2 h, 3 d
	Bytes               // 20 KB, 1.5 MB
	Speed               // bytes per second: 20 KB/s
)

// Axis describes one axis. Its range follows from the data unless From < To.
// A logarithmic axis leaves out what is not above 0.
type Axis struct {
	Label    string
	Unit     Unit
	Log      bool
	From, To float64
}

// Line is a series of points, joined in the order given. A point that is not a
// finite number interrupts the line.
type Line struct {
	Name   string
	X, Y   []float64
	Step   bool // holds its value until the next point
	Dashed bool
	Points bool // marks the points
	Bare   bool // draws no line, only points
}

// Chart is a line chart. It is not changed by drawing it.
type Chart struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// Bars is a bar chart: for every name a group with a bar of each series. Bars
// run from left to right, so that long names stay readable.
type Bars struct {
	Title  string
	Value  Axis // always begins at 0 and is never logarithmic
	Names  []string
	Series []Series
}

// Series is one bar for each name; what is not a finite number has no bar.
type Series struct {
	Name   string
	Values []float64
}

// Report is a document of parts.
type Report struct {
	Title string
	Intro string // paragraphs are divided by empty lines
	Parts []Part
}

// Part is a piece of a report. Everything in it is optional.
type Part struct {
	Heading string
	Text    string // paragraphs are divided by empty lines
	Table   *Table
	Chart   *Chart
	Bars    *Bars
	Gantt   *Gantt
}

// check returns the first fault of a chart.
func (c *Chart) check() error {
	for _, l := range c.Lines {
		if len(l.X) != len(l.Y) {
			return fmt.Errorf("chart %q: line %q has %d x and %d y", c.Title, l.Name, len(l.X), len(l.Y))
		}
	}
	return nil
}

func (b *Bars) check() error {
	for _, s := range b.Series {
		if len(s.Values) != len(b.Names) {
			return fmt.Errorf("chart %q: series %q has %d values for %d names", b.Title, s.Name, len(s.Values), len(b.Names))
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
