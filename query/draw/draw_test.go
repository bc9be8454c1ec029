package draw_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/query/draw"
	"weir/query/flow"
)

// broken is a crawl that reports broken links.
func broken() *flow.Graph {
	return &flow.Graph{
		Operators: []flow.Operator{
			{ID: 1, Kind: flow.OpScan, Detail: "pages that wait", Key: "U"},
			{ID: 2, Kind: flow.OpFetch, Key: "U"},
			{ID: 3, Kind: flow.OpExtract, Detail: "link, fetched", Key: "U"},
			{ID: 4, Kind: flow.OpSelect, Detail: `D < 3, host(V) = "docs.example.org", !matches(V, "(?i)<i>&\b")`, Key: "U"},
			{ID: 5, Kind: flow.OpExchange, Detail: "to V", Key: "V"},
			{ID: 6, Kind: flow.OpPublish, Detail: "crawl(V, D+1)", Key: "V", Table: "crawl"},
			{ID: 7, Kind: flow.OpExchange, Detail: "link to V", Key: "V"},
			{ID: 8, Kind: flow.OpJoin, Detail: "link(U, V), fetched(V, S)", Key: "V", Stores: []string{"link by V", "fetched"}},
			{ID: 9, Kind: flow.OpAggregate, Detail: "indegree(V, count<U>)", Key: "V", Final: true, Table: "indegree"},
		},
		Edges: []flow.Edge{
			{From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 4, To: 5}, {From: 5, To: 6, Exchange: true}, {From: 6, To: 1, Back: true},
			{From: 3, To: 7}, {From: 3, To: 8}, {From: 7, To: 8, Exchange: true}, {From: 7, To: 9, Exchange: true},
		},
	}
}

func TestText(t *testing.T) {
	want := strings.TrimPrefix(`
                  box                           home  keeps               when
●    1 Scan       pages that wait               U                         live
●    2 Fetch                                    U                         live
●    3 Extract    link, fetched                 U                         live
├─●  4 Select     D < 3, host(V) =              U                         live
│ │               "docs.example.org",
│ │               !matches(V, "(?i)<i>&\b")
│ ◆  5 Exchange   to V                          V                         live
│ ●  6 Publish    crawl(V, D+1); back to 1      V                         live
├─◆  7 Exchange   link to V                     V                         live
●═╣  8 Join       link(U, V), fetched(V, S)     V     link by V, fetched  live
  ●  9 Aggregate  indegree(V, count<U>)         V                         final
`, "\n")
	if got := draw.Text(broken()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDOTMarksExchanges(t *testing.T) {
	got := draw.DOT(broken())
	for _, want := range []string{
		"n5 -> n6 [penwidth=3];", "n6 -> n1 [style=dashed, constraint=false];", "n3 -> n8;",
		`\"(?i)<i>&\\b\"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := draw.JSON(broken(), "crawl(U) :- seed(U).\n")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Program   string
		Operators []struct {
			ID           int
			Kind, Detail string
		}
		Edges [][2]int
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Program != "crawl(U) :- seed(U).\n" || len(got.Operators) != 9 || got.Operators[7].Kind != "Join" || !slices.Contains(got.Edges, [2]int{6, 1}) {
		t.Errorf("got %+v", got)
	}
}

// Whatever a program says, a picture stays well-formed XML, a line of text holds
// no control character, and every box is drawn.
func TestHostileTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := random(t)
		svg := draw.SVG(g, rapid.String().Draw(t, "title"))
		boxes := 0
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, svg)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "g" {
				boxes++
			}
		}
		text := draw.Text(g)
		if strings.ContainsAny(text, "\x00\x1b\r\t\u202e") || !utf8.ValidString(text) {
			t.Fatalf("%q would reach the terminal", text)
		}
		marks := strings.Count(text, "●") + strings.Count(text, "◆")
		if n := len(g.Operators); boxes != n || marks < n {
			t.Fatalf("%d boxes and %d marks of %d", boxes, marks, n)
		}
	})
}

func random(t *rapid.T) *flow.Graph {
	g := &flow.Graph{}
	kinds := []string{flow.OpScan, flow.OpJoin, flow.OpExchange, flow.OpAggregate}
	n := rapid.IntRange(1, 20).Draw(t, "n")
	for i := 1; i <= n; i++ {
		o := flow.Operator{ID: i, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Final: rapid.Bool().Draw(t, "final")}
		o.Detail = rapid.String().Draw(t, "detail")
		o.Key = rapid.StringN(0, 5, -1).Draw(t, "key")
		o.Stores = rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "stores")
		g.Operators = append(g.Operators, o)
		for range rapid.IntRange(0, 3).Draw(t, "edges") {
			from := rapid.IntRange(1, n).Draw(t, "from")
			g.Edges = append(g.Edges, flow.Edge{From: from, To: i, Back: from >= i})
		}
	}
	return g
}
