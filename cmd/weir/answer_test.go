package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"weir/query"
	"weir/query/flow"
)

var (
	oddNames = []string{"url", "n", "", "n", "at"}
	oddTypes = []query.Type{query.URL, query.Int, query.Float, query.Text, query.Time}
	oddRows  = []flow.Row{
		{{S: "https://example.org/"}, {N: -7}, query.FloatValue(1e-9), {S: "a \"quoted\", line\n\x1b[31m"}, {N: 1_800_000_000}},
		{{S: "https://example.org/long"}, {N: 12}, query.FloatValue(0.5), {S: ""}, {N: 0}},
	}
)

func TestAnswerForms(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{"csv", "url,n,column3,n_2,at\n" +
			"https://example.org/,-7,1e-09,\"a \"\"quoted\"\", line\n\x1b[31m\",2027-01-15T08:00:00.000Z\n" +
			"https://example.org/long,12,0.5,,1970-01-01T00:00:00.000Z\n"},
		{"jsonl", `{"url":"https://example.org/","n":-7,"column3":1e-09,"n_2":"a \"quoted\", line\n\u001b[31m","at":"2027-01-15T08:00:00.000Z"}` + "\n" +
			`{"url":"https://example.org/long","n":12,"column3":0.5,"n_2":"","at":"1970-01-01T00:00:00.000Z"}` + "\n"},
		{"table", "" + // numbers on the right, and nothing that acts on the terminal
			"url                        n  column3  n_2                     at\n" +
			"https://example.org/      -7    1e-09  a \"quoted\", line??[31m  2027-01-15T08:00:00.000Z\n" +
			"https://example.org/long  12      0.5                          1970-01-01T00:00:00.000Z\n"},
	} {
		var b bytes.Buffer
		write(t, newAnswer(&b, c.format, oddNames, oddTypes), oddRows)
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.format, b.String(), c.want)
		}
	}
}

// What goes into parquet comes out of it, in columns that are called as elsewhere.
func TestAnswerParquet(t *testing.T) {
	var b bytes.Buffer
	write(t, newAnswer(&b, "parquet", oddNames, oddTypes), oddRows)
	type line struct {
		URL string    `parquet:"url"`
		N   int64     `parquet:"n"`
		F   float64   `parquet:"column3"`
		S   string    `parquet:"n_2"`
		At  time.Time `parquet:"at,timestamp"`
	}
	got, err := parquet.Read[line](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(oddRows) {
		t.Fatalf("%d rows, want %d", len(got), len(oddRows))
	}
	for i, g := range got {
		w := oddRows[i]
		if g.URL != w[0].S || g.N != w[1].N || g.F != w[2].Float() || g.S != w[3].S || g.At.Unix() != w[4].N {
			t.Errorf("row %d is %+v", i, g)
		}
	}
}

// Answers without a row still have their columns, and long ones do not wait.
func TestAnswerStreams(t *testing.T) {
	for _, format := range []string{"csv", "table"} {
		var b bytes.Buffer
		write(t, newAnswer(&b, format, []string{"url"}, []query.Type{query.URL}), nil)
		if b.String() != "url\n" {
			t.Errorf("%s: no rows are %q", format, b.String())
		}
	}
	var b bytes.Buffer
	a := newAnswer(&b, "table", []string{"n"}, []query.Type{query.Int})
	for i := range 2 * tableRows {
		if err := a.write(flow.Row{{N: int64(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 2*tableRows+1 {
		t.Errorf("%d lines are out before the end", n)
	}
}

func write(t *testing.T, a answer, rows []flow.Row) {
	t.Helper()
	for _, r := range rows {
		if err := a.write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
}

func TestReading(t *testing.T) {
	for _, c := range []struct {
		n, all int64
		took   time.Duration
		want   string
	}{
		{9600, 20000, 3 * time.Second, "reading 20,000 pages, 3,200/s, 3.2s left"},
		{64, 64, time.Second, "reading 64 pages, 64/s"},
		{64, 1_000_000, 2 * time.Second, "reading 1,000,000 pages, 32/s, 8h40m left"},
	} {
		if got := progressOf("reading", c.n, c.all, c.took); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
