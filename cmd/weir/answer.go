package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"weir/query"
	"weir/query/flow"
)

// answer writes the rows of a table whose columns only its program knows. It
// holds at most a group of rows in memory.
type answer interface {
	write(row flow.Row) error
	close() error
}

// newAnswer writes rows in a form: table for people, csv, jsonl or parquet.
func newAnswer(w io.Writer, format string, names []string, types []query.Type) answer {
	names = headings(names)
	switch format {
	case "jsonl":
		return &jsonAnswer{w: w, names: names, types: types}
	case "parquet":
		return newParquetAnswer(w, names, types)
	case "table":
		return &tableAnswer{w: w, names: names, types: types}
	default:
		return &csvAnswer{w: csv.NewWriter(w), names: names, types: types}
	}
}

// headings gives every column a name of its own: column3 where it has none.
func headings(names []string) []string {
	out := make([]string, len(names))
	used := map[string]bool{}
	for i, name := range names {
		if name == "" {
			name = "column" + strconv.Itoa(i+1)
		}
		out[i] = name
		for n := 2; used[out[i]]; n++ {
			out[i] = name + "_" + strconv.Itoa(n)
		}
		used[out[i]] = true
	}
	return out
}

// word writes a value as a person or a spreadsheet reads it.
func word(v query.Value, t query.Type) string {
	switch t {
	case query.Int:
		return strconv.FormatInt(v.N, 10)
	case query.Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case query.Time:
		return stamp(moment(v))
	}
	return v.S
}

// moment is the time that a value stands for.
func moment(v query.Value) time.Time { return time.Unix(v.N, 0).UTC() }

type csvAnswer struct {
	w     *csv.Writer
	names []string
	types []query.Type
	begun bool
	cells []string
}

func (a *csvAnswer) begin() error {
	if a.begun {
		return nil
	}
	a.begun = true
	return a.w.Write(a.names)
}

func (a *csvAnswer) write(row flow.Row) error {
	if err := a.begin(); err != nil {
		return err
	}
	a.cells = a.cells[:0]
	for i, v := range row {
		a.cells = append(a.cells, word(v, a.types[i]))
	}
	return a.w.Write(a.cells)
}

func (a *csvAnswer) close() error {
	if err := a.begin(); err != nil {
		return err
	}
	a.w.Flush()
	return a.w.Error()
}

type jsonAnswer struct {
	w     io.Writer
	names []string
	types []query.Type
	line  []byte
}

func (a *jsonAnswer) write(row flow.Row) error {
	b := append(a.line[:0], '{')
	for i, v := range row {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, a.names[i]), ':')
		if text := word(v, a.types[i]); a.types[i].Numeric() {
			b = append(b, text...)
		} else {
			b = appendString(b, text)
		}
	}
	a.line = append(b, '}', '\n')
	_, err := a.w.Write(a.line)
	return err
}

func (a *jsonAnswer) close() error { return nil }

// parquetAnswer hands rows to parquet. Its columns are in the order of their
// names, as parquet keeps them.
type parquetAnswer struct {
	w     *parquet.GenericWriter[any]
	types []query.Type
	place []int // of a column, in the file
	rows  int
	bytes int
}

func newParquetAnswer(w io.Writer, names []string, types []query.Type) *parquetAnswer {
	group := parquet.Group{}
	for i, name := range names {
		var node parquet.Node
		switch types[i] {
		case query.Int:
			node = parquet.Int(64)
		case query.Float:
			node = parquet.Leaf(parquet.DoubleType)
		case query.Time:
			node = parquet.Timestamp(parquet.Millisecond)
		default:
			node = parquet.String()
		}
		group[name] = parquet.Compressed(node, &parquet.Zstd)
	}
	schema := parquet.NewSchema("answer", group)
	a := &parquetAnswer{types: types, place: make([]int, len(names))}
	for at, path := range schema.Columns() {
		for i, name := range names {
			if path[0] == name {
				a.place[i] = at
			}
		}
	}
	a.w = parquet.NewGenericWriter[any](w, schema, parquet.CreatedBy("weir", version(), ""))
	return a
}

func (a *parquetAnswer) write(row flow.Row) error {
	line := make(parquet.Row, len(row))
	for i, v := range row {
		var cell parquet.Value
		switch a.types[i] {
		case query.Int:
			cell = parquet.Int64Value(v.N)
		case query.Float:
			cell = parquet.DoubleValue(v.Float())
		case query.Time:
			cell = parquet.Int64Value(moment(v).UnixMilli())
		default:
			cell = parquet.ByteArrayValue([]byte(v.S))
			a.bytes += len(v.S)
		}
		line[a.place[i]] = cell.Level(0, 0, a.place[i])
	}
	if _, err := a.w.WriteRows([]parquet.Row{line}); err != nil {
		return err
	}
	if a.rows++; a.rows < groupRows && a.bytes < groupBytes {
		return nil
	}
	a.rows, a.bytes = 0, 0
	return a.w.Flush()
}

func (a *parquetAnswer) close() error { return a.w.Close() }

// Rows that a table for people looks at to find its widths, and the widest that a
// column gets: what is longer stands out on the right.
const (
	tableRows = 500
	tableWide = 60
)

// tableAnswer aligns rows for people, numbers on the right. Widths are those of
// the first rows.
type tableAnswer struct {
	w     io.Writer
	names []string
	types []query.Type
	wait  [][]string // rows, until the widths are known
	wide  []int
}

func (a *tableAnswer) write(row flow.Row) error {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = tame(word(v, a.types[i]))
		if a.types[i] == query.Float {
			cells[i] = strconv.FormatFloat(v.Float(), 'g', 6, 64)
		}
	}
	if a.wide != nil {
		return a.print(cells)
	}
	if a.wait = append(a.wait, cells); len(a.wait) < tableRows {
		return nil
	}
	return a.settle()
}

// settle decides the widths and writes what has waited for them.
func (a *tableAnswer) settle() error {
	if a.wide != nil {
		return nil
	}
	a.wide = make([]int, len(a.names))
	rows := append([][]string{a.names}, a.wait...)
	for _, cells := range rows {
		for i, c := range cells {
			a.wide[i] = max(a.wide[i], min(tableWide, utf8.RuneCountInString(c)))
		}
	}
	a.wait = nil
	for _, cells := range rows {
		if err := a.print(cells); err != nil {
			return err
		}
	}
	return nil
}

func (a *tableAnswer) print(cells []string) error {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		gap := strings.Repeat(" ", max(0, a.wide[i]-utf8.RuneCountInString(c)))
		switch {
		case a.types[i].Numeric():
			b.WriteString(gap + c)
		case i == len(cells)-1:
			b.WriteString(c)
		default:
			b.WriteString(c + gap)
		}
	}
	_, err := fmt.Fprintln(a.w, b.String())
	return err
}

func (a *tableAnswer) close() error { return a.settle() }
