package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const example = `
# two sites, four pages
site http://a.example speed=20000 latency=0.8 again=0.3 delay=10
page http://a.example/ 23000
page http://a.example/news 5100
page http://b.example/ 812
page http://b.example/gone 300 end=3
seed http://a.example/
http://a.example/ http://a.example/news
http://a.example/news http://b.example/
http://b.example/ http://b.example/gone
`

func ExampleReadEdges() {
	fill, err := Preset("chile", 0.01)
	if err != nil {
		panic(err)
	}
	w, err := ReadEdges(strings.NewReader(example), fill)
	if err != nil {
		panic(err)
	}
	for p := range uint32(w.Pages()) {
		fmt.Print(w.URL(p), " ", w.Size[p], " bytes, ends ", w.End[p])
		for _, t := range w.Out(p) {
			fmt.Print(", links to ", w.URL(t))
		}
		fmt.Println()
	}
	// Output:
	// http://a.example/ 23000 bytes, ends 0, links to http://a.example/news
	// http://a.example/news 5100 bytes, ends 0, links to http://b.example/
	// http://b.example/ 812 bytes, ends 0, links to http://b.example/gone
	// http://b.example/gone 300 bytes, ends 3
}

func TestReadEdges(t *testing.T) {
	w := parse(t, example)
	if got, want := w.Sites[0], (Site{"http://a.example", 20000, 0.8, 0.3, 10}); got != want {
		t.Errorf("site a is %+v, want %+v", got, want)
	}
	if b := w.Sites[1]; b.Name != "http://b.example" || b.Speed <= 0 || b.Latency <= 0 || b.Delay != 0 {
		t.Errorf("site b is drawn as %+v", b)
	}
	if !slices.Equal(w.Seeds, []uint32{0}) {
		t.Errorf("seeds %v", w.Seeds)
	}
}

func TestReadPlainEdges(t *testing.T) {
	var z bytes.Buffer
	g := gzip.NewWriter(&z)
	// Interleaved sites, a link twice, one in capitals, a cycle, a self-link.
	fmt.Fprint(g, "https://B.example/x a.example?q\na.example?q https://b.example/y\r\nhttps://b.example/x a.example/?q\n"+
		"https://b.example/y https://b.example/x\nhttps://b.example/y https://b.example/y\n")
	g.Close()
	w, err := ReadEdges(&z, fill)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for p := range uint32(w.Pages()) {
		urls = append(urls, w.URL(p))
	}
	if want := []string{"https://b.example/x", "https://b.example/y", "http://a.example/?q"}; !slices.Equal(urls, want) {
		t.Errorf("pages %v, want %v", urls, want)
	}
	if want := []uint32{2, 0, 1, 1}; !slices.Equal(w.Adj, want) {
		t.Errorf("links %v, want %v", w.Adj, want)
	}
	if slices.Contains(w.Size, 0) {
		t.Errorf("sizes %v are not filled in", w.Size)
	}
}

func TestReadEdgesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "empty",
		"# nothing\n":                "empty",
		"page a/\na/ b/":             "http://b/, which no page line does",
		"a/ b/\npage b/":             "http://a/, which no page line does",
		"page a/\nseed b/":           "seed http://b/",
		"page a/ 1\npage a/ 2":       "line 2: page a/ is here twice",
		"page a/ x":                  "not a number of bytes",
		"page a/ -5":                 "not a number of bytes",
		"page a/ 4294967296":         "not a number of bytes",
		"page a/ 1 end=300":          "not the number of an outcome",
		"page a/ 1 2":                "only end=N",
		"site a speed=0\npage a/":    "speed is 0",
		"site a speed=-1\npage a/":   "speed is -1",
		"site a latency=-1\npage a/": "latency is -1",
		"site a delay=-1\npage a/":   "crawl-delay is -1",
		"site a speed=NaN\npage a/":  "not a number",
		"site a again=Inf\npage a/":  "open connection is +Inf",
		"site a color=1\npage a/":    "known are speed",
		"site a/x speed=1\npage a/":  "has a path",
		"site a speed=1\npage b/":    "site http://a has no pages",
		"a/":                         "line 1: a line is",
		"a/ b/ c/":                   "this one has 3 fields",
		"ftp://a/ b/":                "neither http:// nor https://",
		"http:/// b/":                "has no host",
	} {
		if _, err := ReadEdges(strings.NewReader(text), fill); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error about %q, got %v", text, want, err)
		}
	}
	if _, err := ReadEdges(strings.NewReader("a/ b/"), Shape{}); err == nil || !strings.Contains(err.Error(), "Speed has median 0") {
		t.Errorf("a shape that fills no gaps gives %v", err)
	}
}

// fill is enough of a shape to fill gaps.
var fill = Shape{Bytes: Spread{8000, 1.4}, MaxBytes: 1 << 20, Speed: Spread{20_000, 1}, Latency: Spread{0.8, 1}, AgainShare: 0.5}

func TestReadAdjacency(t *testing.T) {
	// Two triangles, joined by one link.
	w, err := ReadAdjacency(strings.NewReader("1 2\n0 2\n0 1 3\n4 5\n3 5\n3 4\n"), fill)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Sizes(); !slices.Equal(got, []SizeCount{{3, 2}}) {
		t.Errorf("sizes %v, want two sites of three pages", got)
	}
	if f := w.Measure(); f.Links != 13 || f.Away != 1.0/13 {
		t.Errorf("%d links, %v of them away", f.Links, f.Away)
	}
	for text, want := range map[string]string{
		"":                          "empty",
		"1\n2\n":                    "line 2: link to page 2 of 2: unknown page",
		"1\n-1\n":                   "line 2: '-' is not a digit",
		"99999999999999999999999\n": "page 99999999999999999999999: numbers are below",
	} {
		if _, err := ReadAdjacency(strings.NewReader(text), fill); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error about %q, got %v", text, want, err)
		}
	}
	small := fill
	small.Cap = 2
	if w, err = ReadAdjacency(strings.NewReader("1 2\n0 2\n0 1 3\n4 5\n3 5\n3 4\n"), small); err != nil {
		t.Fatal(err)
	}
	if n := w.Sizes(); n[len(n)-1].Pages > 2 {
		t.Errorf("sizes %v with at most two pages a site", n)
	}
}

// Links between numbers are what they say, and not the lines of an adjacency
// list; the same two triangles, with the head that SNAP gives its files.
func TestReadPairs(t *testing.T) {
	text := "# Nodes: 6 Edges: 13\n# From\tTo\n"
	for _, l := range [][2]int{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}, {2, 9}, {9, 70}, {9, 800}, {70, 9}, {70, 800}, {800, 9}, {800, 70}} {
		text += fmt.Sprintf("%d\t%d\n", l[0], l[1])
	}
	w, err := ReadPairs(strings.NewReader(text), fill)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Sizes(); !slices.Equal(got, []SizeCount{{3, 2}}) || w.Links() != 13 {
		t.Errorf("sizes %v and %d links, want two sites of three pages, and 13", got, w.Links())
	}
	for text, want := range map[string]string{
		"":             "empty",
		"# only\n":     "empty",
		"0 1\n1\n":     "line 2: 1 field; a link is",
		"0 1 2\n":      "line 1: 3 fields",
		"0 a\n":        "line 1: 'a' is not a digit",
		"0 99999999\n": "line 1: page 99999999: numbers are below 67108864",
	} {
		if _, err := ReadPairs(strings.NewReader(text), fill); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error about %q, got %v", text, want, err)
		}
	}
}

// cnr opens the real graph.
func cnr(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Open("testdata/cnr-2000.adj.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestReadCNR(t *testing.T) {
	shape := fill
	shape.Cap = 25_000
	w, err := ReadAdjacency(cnr(t), shape)
	if err != nil {
		t.Fatal(err)
	}
	f := w.Measure()
	t.Logf("cnr-2000\n%v", f)
	if f.Pages != 325_557 || f.Links != 3_216_152 || f.InMost != 18_235 {
		t.Errorf("%d pages, %d links, %d to one page; published are 325,557, 3,216,152 and 18,235", f.Pages, f.Links, f.InMost)
	}
	if f.Largest > 25_000 || f.Away > 0.12 {
		t.Errorf("the largest site has %d pages, %.2f of the links lead away", f.Largest, f.Away)
	}
}

func TestLoadTellsFormsApart(t *testing.T) {
	var file bytes.Buffer
	if err := parse(t, example).Write(&file); err != nil {
		t.Fatal(err)
	}
	for form, pages := range map[string]int{example: 4, file.String(): 4} {
		w, err := Load(strings.NewReader(form), fill)
		if err != nil || w.Pages() != pages {
			t.Errorf("%.20q is read as %v, %v", form, w, err)
		}
	}
	for _, bare := range []string{"0 1\n0 2\n1 2\n2 0\n", "1\n\n", "\n0\n", "# Nodes: 2\n0\t1\n", "1 2 3\n0\n"} {
		if _, err := Load(strings.NewReader(bare), fill); !errors.Is(err, ErrNumbers) {
			t.Errorf("%q can be read in two ways, and is read in one: %v", bare, err)
		}
	}
	if _, err := Load(strings.NewReader(""), fill); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing is read as %v", err)
	}
}

func FuzzReadEdges(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("a/ b/\nb/ a/\nsite a speed=1e300\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		valid(t, b, func() (*Web, error) { return ReadEdges(bytes.NewReader(b), fill) })
	})
}

func FuzzReadAdjacency(f *testing.F) {
	f.Add([]byte("1 2\n0\n1 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		valid(t, b, func() (*Web, error) { return ReadAdjacency(bytes.NewReader(b), fill) })
	})
}

func FuzzReadPairs(f *testing.F) {
	f.Add([]byte("# a\n1 2\n0\t7\n1 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		valid(t, b, func() (*Web, error) { return ReadPairs(bytes.NewReader(b), fill) })
	})
}

// valid checks that what is read is a web or an error, and a web survives a
// file.
func valid(t *testing.T, b []byte, read func() (*Web, error)) {
	w, err := read()
	if err != nil {
		return
	}
	if err := w.Check(); err != nil {
		t.Fatalf("%q is read as a broken web: %v", b, err)
	}
	w.Measure()
	var file bytes.Buffer
	if err := w.Write(&file); err != nil {
		return // a name too long for a file
	}
	again, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if sum(again) != sum(w) {
		t.Fatalf("%q is another web after writing and reading", b)
	}
}
