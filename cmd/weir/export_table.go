package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// The rows of the tables. A column is named by its parquet tag; names and order
// are for programs: add at the end, never rename.
type (
	pageRow struct {
		URL       string    `parquet:"url"`
		Status    int64     `parquet:"status"`
		Mime      string    `parquet:"mime,dict"`
		Bytes     int64     `parquet:"bytes"`
		Depth     int64     `parquet:"depth"`
		Outcome   string    `parquet:"outcome,dict"`
		Server    string    `parquet:"server,dict"`
		FetchedAt time.Time `parquet:"fetched_at,optional,timestamp(microsecond)"`
		Seconds   float64   `parquet:"seconds"`
		Via       string    `parquet:"via,dict"`
	}
	linkRow struct {
		From     string `parquet:"from,dict"`
		To       string `parquet:"to"`
		Kind     string `parquet:"kind,dict"`
		Rel      string `parquet:"rel,dict"`
		Text     string `parquet:"text"`
		NoFollow bool   `parquet:"nofollow"`
	}
	hostRow struct {
		Site     string    `parquet:"site"`
		Host     string    `parquet:"host"`
		Queued   int64     `parquet:"queued"`
		Ended    int64     `parquet:"ended"`
		Fetched  int64     `parquet:"fetched"`
		Parked   int64     `parquet:"parked"`
		Delay    float64   `parquet:"crawl_delay"`
		RobotsAt time.Time `parquet:"robots_at,optional,timestamp(microsecond)"`
		Failures int64     `parquet:"failures"`
	}
	textRow struct {
		URL   string `parquet:"url"`
		Title string `parquet:"title"`
		Text  string `parquet:"text"`
	}
	parkedRow struct {
		URL    string `parquet:"url"`
		Reason string `parquet:"reason,dict"`
		Depth  int64  `parquet:"depth"`
	}
	queueRow struct {
		URL     string  `parquet:"url"`
		Depth   int64   `parquet:"depth"`
		Attempt int64   `parquet:"attempt"`
		Score   float64 `parquet:"score"`
	}
)

// table writes rows of one kind. It holds at most a group of rows in memory.
type table[T any] interface {
	write(row *T) error
	close() error
}

func newTable[T any](w io.Writer, format string) table[T] {
	switch format {
	case "jsonl":
		return &jsonTable[T]{w: w, names: columns[T]()}
	case "parquet":
		return &parquetTable[T]{w: parquet.NewGenericWriter[T](w,
			parquet.Compression(&parquet.Zstd), parquet.CreatedBy("weir", version(), ""))}
	default:
		return &csvTable[T]{w: csv.NewWriter(w)}
	}
}

// columns returns the names of a row's fields.
func columns[T any]() []string {
	t := reflect.TypeFor[T]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("parquet"), ",")
	}
	return names
}

type csvTable[T any] struct {
	w     *csv.Writer
	begun bool
	cells []string
}

func (t *csvTable[T]) begin() error {
	if t.begun {
		return nil
	}
	t.begun = true
	return t.w.Write(columns[T]())
}

func (t *csvTable[T]) write(row *T) error {
	if err := t.begin(); err != nil {
		return err
	}
	t.cells = t.cells[:0]
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		t.cells = append(t.cells, cell(v.Field(i)))
	}
	return t.w.Write(t.cells)
}

func (t *csvTable[T]) close() error {
	if err := t.begin(); err != nil {
		return err
	}
	t.w.Flush()
	return t.w.Error()
}

func cell(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return decimal(x)
	case bool:
		return strconv.FormatBool(x)
	case time.Time:
		return stamp(x)
	}
	panic("a column of type " + v.Type().String())
}

// stamp writes a moment by RFC 3339 in UTC; no moment is nothing.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// decimal writes a number without an exponent, to the microsecond.
func decimal(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
}

type jsonTable[T any] struct {
	w     io.Writer
	names []string
	line  []byte
}

func (t *jsonTable[T]) write(row *T) error {
	b := append(t.line[:0], '{')
	v := reflect.ValueOf(row).Elem()
	for i, name := range t.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, '"', ':')
		switch x := v.Field(i).Interface().(type) {
		case string:
			b = appendString(b, x)
		case time.Time:
			if x.IsZero() {
				b = append(b, "null"...)
				break
			}
			b = appendString(b, stamp(x))
		default:
			b = append(b, cell(v.Field(i))...)
		}
	}
	t.line = append(b, '}', '\n')
	_, err := t.w.Write(t.line)
	return err
}

func (t *jsonTable[T]) close() error { return nil }

// appendString writes a JSON string. URLs and most words need no escapes.
func appendString(b []byte, s string) []byte {
	clean := utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029'
	})
	if clean {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string has always a form in JSON
	}
	return append(b, quoted...)
}

// groupRows and groupBytes bound what parquet keeps in memory before it writes
// a row group.
const (
	groupRows  = 100_000
	groupBytes = 32 << 20
)

type parquetTable[T any] struct {
	w     *parquet.GenericWriter[T]
	rows  int
	bytes int
	one   [1]T
}

func (t *parquetTable[T]) write(row *T) error {
	t.one[0] = *row
	if _, err := t.w.Write(t.one[:]); err != nil {
		return err
	}
	t.rows++
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String {
			t.bytes += f.Len()
		}
	}
	if t.rows < groupRows && t.bytes < groupBytes {
		return nil
	}
	t.rows, t.bytes = 0, 0
	return t.w.Flush()
}

func (t *parquetTable[T]) close() error { return t.w.Close() }
