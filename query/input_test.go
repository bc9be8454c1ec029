package query

import (
	"strings"
	"testing"
)

func TestReadInput(t *testing.T) {
	in := &Input{Table: "known", Types: []Type{URL, Text, Int, Float, Time}}
	rows, diags := in.Read("\ufeff# what is known\r\n\r\nHTTP://Example.org:80/a\t two words \t10KB\t3\t2026-01-01\r\n" +
		"https://b.org/\t\t-1\t0.5\t2026-01-01T12:00:00+01:00")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	want := [][]Value{
		{{S: "http://example.org/a"}, {S: "two words"}, {N: 10_000}, FloatValue(3), {N: 1767225600}},
		{{S: "https://b.org/"}, {}, {N: -1}, FloatValue(0.5), {N: 1767225600 + 11*3600}},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for i := range want {
		for j := range want[i] {
			if rows[i][j] != want[i][j] {
				t.Errorf("row %d column %d: %+v, want %+v", i, j, rows[i][j], want[i][j])
			}
		}
	}
}

// TestReadInputFaults points at the line and the column of the file.
func TestReadInputFaults(t *testing.T) {
	in := &Input{Table: "known", Types: []Type{URL, Int}}
	file := "https://a.org/\t1\nnowhere\t1\nhttps://a.org/\tone\nhttps://a.org/\nhttps://a.org/\t1\t2\nhttps://a.org/\t1.5\n"
	rows, diags := in.Read(file)
	if len(rows) != 1 {
		t.Errorf("%d rows, want the good one", len(rows))
	}
	want := `known.txt:2:1: error: column 1 of known: not a valid URL: it does not start with http:// or https://
  nowhere	1
  ^
known.txt:3:16: error: column 2 of known: "one" is no number
  https://a.org/	one
                	^
known.txt:4:1: error: known has 2 columns, this line has 1
  https://a.org/
  ^
  hint: a tab stands between two columns
known.txt:5:1: error: known has 2 columns, this line has 3
  https://a.org/	1	2
  ^
  hint: a tab stands between two columns
known.txt:6:16: error: column 2 of known: "1.5" is not a whole number
  https://a.org/	1.5
                	^
`
	if got := format(&Program{Name: "known.txt", Text: file}, diags); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReadInputBounds(t *testing.T) {
	in := &Input{Table: "n", Types: []Type{Text}}
	if _, diags := in.Read(strings.Repeat("x", MaxInput+1)); len(diags) != 1 || diags[0].Message != "the file has more than 67108864 bytes" {
		t.Errorf("%+v", diags)
	}
	if rows, diags := in.Read(strings.Repeat("x\n", MaxRows+1)); len(rows) != MaxRows || len(diags) != 1 || diags[0].Message != "more than 5000000 rows" {
		t.Errorf("%d rows, %+v", len(rows), diags)
	}
	if _, diags := in.Read(strings.Repeat("\xff\n", 1000)); len(diags) != MaxErrors+1 {
		t.Errorf("%d errors", len(diags))
	}
	if _, diags := in.Read(strings.Repeat("x", MaxText+1)); len(diags) != 1 {
		t.Errorf("%+v", diags)
	}
}

func TestParseTime(t *testing.T) {
	for s, want := range map[string]int64{
		"1970-01-01": 0, "1970-01-02T00:00:01Z": 86401, "1970-01-01 01:00": 3600, "1971": 31536000, "1970-02": 2678400, "1970-01-01T00:00:00+01:00": -3600,
	} {
		if got, err := ParseTime(s); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "now", "2026-13-01", "01.02.2026"} {
		if _, err := ParseTime(s); err == nil {
			t.Errorf("%q is no time", s)
		}
	}
}

func FuzzInput(f *testing.F) {
	f.Add("https://a.org/\tx\t1\t1.5\t2026\n")
	f.Add("# x\n\n\t\t\t\t")
	f.Fuzz(func(t *testing.T, s string) {
		in := &Input{Table: "n", Types: []Type{URL, Text, Int, Float, Time}}
		rows, diags := in.Read(s)
		for _, r := range rows {
			if len(r) != len(in.Types) || r[0].S == "" {
				t.Fatalf("%+v", r)
			}
		}
		for _, d := range diags {
			d.Format(&Program{Name: "n", Text: s})
		}
	})
}
