package chart

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/width"
)

// Table is rows of cells. Columns of numbers stand at the right; in HTML a
// cell that says "met" or "not met" has its colour.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
	Notes   []string // below it
}

// Add adds a row. Floats are written with four digits, other values as fmt
// does.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case string:
			row[i] = c
		case float64:
			row[i] = digits(c)
		default:
			row[i] = fmt.Sprint(c)
		}
	}
	t.Rows = append(t.Rows, row)
}

// digits writes a number with four digits, and all of those before the point.
func digits(v float64) string {
	switch size := math.Abs(v); {
	case !finite(v):
		return "–"
	case size >= 1000 && size < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func (t *Table) check() error {
	for i, row := range t.Rows {
		if len(row) > len(t.Columns) {
			return fmt.Errorf("table %q: row %d has %d cells for %d columns", t.Title, i+1, len(row), len(t.Columns))
		}
	}
	return nil
}

// cell returns a cell; a row may end early.
func cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// numbers reports whether a column holds numbers and nothing else.
func (t *Table) numbers(column int) bool {
	some := false
	for _, row := range t.Rows {
		switch c := strings.TrimSpace(cell(row, column)); {
		case numeric(c):
			some = true
		case c != "" && c != "-" && c != "–" && c != "—":
			return false
		}
	}
	return some
}

// numeric reports whether a cell is a number, perhaps with a short unit, a
// sign or a comparison: 12, -0.5, 1e-3, ≤ 30, 40%, 1.5 MB/s.
func numeric(c string) bool {
	c = strings.TrimLeft(c, "<>≤≥~≈ ")
	c = strings.TrimLeft(c, "-+−")
	if c == "" || c[0] < '0' || c[0] > '9' {
		return false
	}
	rest := strings.TrimLeft(c, "0123456789.,_")
	if strings.Count(c, ".") > 1 {
		return false // an address
	}
	if n := len(rest); n > 1 && (rest[0] == 'e' || rest[0] == 'E') {
		exponent := strings.TrimLeft(rest[1:], "+-")
		if tail := strings.TrimLeft(exponent, "0123456789"); len(tail) < len(exponent) {
			rest = tail
		}
	}
	return len(rest) <= 6 && !strings.ContainsAny(rest, "0123456789:")
}

// WriteText writes the table with aligned columns.
func (t *Table) WriteText(w io.Writer) error { return t.WriteTextIn(w, 0) }

// WriteTextIn writes the table for a terminal of so many columns; 0: as wide as
// it is. One that does not fit is written in parts, one below the other, each
// with the first column.
func (t *Table) WriteTextIn(w io.Writer, room int) error {
	if err := t.check(); err != nil {
		return err
	}
	var b strings.Builder
	t.text(&b, room)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) text(b *strings.Builder, room int) {
	switch {
	case t.Title == "":
	case room > 0:
		fold(b, clean(t.Title), room)
		b.WriteString("\n")
	default:
		b.WriteString(clean(t.Title) + "\n\n")
	}
	widths := make([]int, len(t.Columns))
	toRight := make([]bool, len(t.Columns))
	for i, name := range t.Columns {
		toRight[i] = t.numbers(i)
		widths[i] = columns(clean(name))
		for _, row := range t.Rows {
			widths[i] = max(widths[i], columns(clean(cell(row, i))))
		}
	}
	line := func(row []string, part []int) {
		var l strings.Builder
		for k, i := range part {
			c := clean(cell(row, i))
			space := strings.Repeat(" ", widths[i]-columns(c))
			if k > 0 {
				l.WriteString("  ")
			}
			if toRight[i] {
				l.WriteString(space + c)
			} else {
				l.WriteString(c + space)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	for k, part := range parts(widths, room) {
		if k > 0 {
			b.WriteString("\n")
		}
		line(t.Columns, part)
		rule := make([]string, len(part))
		for k, i := range part {
			rule[k] = strings.Repeat("-", widths[i])
		}
		b.WriteString(strings.Join(rule, "  ") + "\n")
		for _, row := range t.Rows {
			line(row, part)
		}
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		fold(b, clean(n), within(room))
	}
}

// parts shares out the columns of a table so that each part fits, as far as two
// columns do. The first column is in all of them.
func parts(widths []int, room int) [][]int {
	var all [][]int
	used := 0
	for i, n := range widths {
		last := len(all) - 1
		switch {
		case last < 0:
			all, used = append(all, []int{i}), n
		case room <= 0 || used+2+n <= room || len(all[last]) < 2:
			all[last], used = append(all[last], i), used+2+n
		default:
			all, used = append(all, []int{0, i}), widths[0]+2+n
		}
	}
	return all
}

// within is the width of paragraphs where there is so much room; 0: any.
func within(room int) int {
	if room <= 0 {
		return textWidth
	}
	return min(room, textWidth)
}

// columns returns how many columns of a terminal a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// fold writes a paragraph in lines of at most so many columns.
func fold(b *strings.Builder, s string, room int) {
	n := 0
	for word := range strings.FieldsSeq(s) {
		size := columns(word)
		switch {
		case n == 0:
		case n+1+size > room:
			b.WriteString("\n")
			n = 0
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += size
	}
	if n > 0 {
		b.WriteString("\n")
	}
}

// WriteCSV writes the table's columns and rows.
func (t *Table) WriteCSV(w io.Writer) error {
	if err := t.check(); err != nil {
		return err
	}
	rows := [][]string{t.Columns}
	for _, row := range t.Rows {
		full := make([]string, len(t.Columns))
		copy(full, row)
		rows = append(rows, full)
	}
	return writeCSV(w, rows)
}

// WriteCSV writes a row for every point: its line, x and y.
func (c *Chart) WriteCSV(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	rows := [][]string{{"line", named(c.X.Label, "x"), named(c.Y.Label, "y")}}
	for _, l := range c.Lines {
		for i := range l.X {
			rows = append(rows, []string{l.Name, exact(l.X[i]), exact(l.Y[i])})
		}
	}
	return writeCSV(w, rows)
}

// WriteCSV writes a row for every name, with a column for every series.
func (b *Bars) WriteCSV(w io.Writer) error {
	if err := b.check(); err != nil {
		return err
	}
	header := []string{"name"}
	for _, s := range b.Series {
		header = append(header, named(s.Name, named(b.Value.Label, "value")))
	}
	rows := [][]string{header}
	for i, name := range b.Names {
		row := []string{name}
		for _, s := range b.Series {
			row = append(row, exact(s.Values[i]))
		}
		rows = append(rows, row)
	}
	return writeCSV(w, rows)
}

func named(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// exact writes a number so that it reads back the same; nothing if it is none.
func exact(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func writeCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	for _, row := range rows {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
