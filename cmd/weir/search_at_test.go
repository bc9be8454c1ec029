package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/internal/ask"
	"weir/page"
	"weir/query/flow"
)

// sameHits compares two answers of weir search --json: the same pages with the same
// scores, titles and snippets, in the same order but for those that rank alike. With
// bare, titles and snippets may be missing.
func sameHits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: samehits FILE FILE [bare]")
	}
	var both [2][]hitLine
	for i, name := range args[:2] {
		for d := json.NewDecoder(strings.NewReader(ts.ReadFile(name))); ; {
			var h hitLine
			err := d.Decode(&h)
			if errors.Is(err, io.EOF) {
				break
			}
			ts.Check(err)
			if n := len(both[i]); h.Rank != n+1 || n > 0 && h.Score > both[i][n-1].Score {
				ts.Fatalf("%s: %+v does not rank where it stands", name, h)
			}
			both[i] = append(both[i], h)
		}
		slices.SortStableFunc(both[i], func(a, b hitLine) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.URL, b.URL))
		})
		for j := range both[i] {
			both[i][j].Rank = 0
			if len(args) > 2 {
				both[i][j].Title, both[i][j].Snippet = "", ""
			}
		}
	}
	if len(both[0]) == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
	if !slices.Equal(both[0], both[1]) {
		ts.Fatalf("%s has %d hits and %s %d, or others:\n%+v\n%+v", args[0], len(both[0]), args[1], len(both[1]), both[0], both[1])
	}
}

// TestFactsTravel: what one node tells another of a page is what the page says.
func TestFactsTravel(t *testing.T) {
	u := page.Canonical("http://a.example/x?y=1")
	f := &page.Facts{
		URL: u, Mime: "text/html", Title: "Dam", Depth: 3, Score: 1.5, Root: true, NoIndex: true, NoFollow: true, Outcome: page.OK, Status: 200, Bytes: 9, At: 7e9, Elapsed: 5,
		Links: []page.Link{{URL: page.Canonical("https://b.example/"), Kind: page.Nav, Rel: "next", Text: "b", NoFollow: true}},
		Words: []page.Word{{Term: "dam", N: 2}}, Said: 2, Headers: []page.Field{{Name: "via", Value: "x"}}, Metas: []page.Field{{Name: "k", Value: "v"}},
		Translations: []page.Translation{{Lang: "de", URL: page.Canonical("http://a.example/de")}},
	}
	all := &ask.Need{Want: page.Want{Words: true, Headers: true, Metas: true, Translations: true}, Links: true}
	in := batch{Rows: []flow.Row{{{S: "dam"}, {N: 2}}}, Facts: []saidPage{newSaidPage(f, all)}, Count: 1, Sum: 2}
	data, err := in.pack()
	if err != nil {
		t.Fatal(err)
	}
	out, err := unpackBatch(data)
	if err != nil {
		t.Fatal(err)
	}
	got, want := asJSON(t, out.Facts[0].facts()), asJSON(t, f)
	if !bytes.Equal(got, want) || out.Facts[0].facts().Links[0].URL != f.Links[0].URL || out.Facts[0].facts().URL != u || out.Sum != 2 || out.Rows[0][0].S != "dam" {
		t.Errorf("the facts became\n%s, they were\n%s", got, want)
	}
	if bare := newSaidPage(f, &ask.Need{}); bare.Links != nil || bare.Words != nil || bare.Headers != nil {
		t.Errorf("what nobody needs is sent: %+v", bare)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzBatch: whatever comes instead of rows is an error.
func FuzzBatch(f *testing.F) {
	data, err := (&batch{Count: 1}).pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("nothing"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := unpackBatch(data); err == nil {
			for i := range b.Facts {
				b.Facts[i].facts()
			}
		}
	})
}
