package chart

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"flag"
	"image/color"
	stdpng "image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// sample is a report with one of everything.
func sample() *Report {
	gathered := &Chart{
		Title: "PageRank gathered",
		X:     Axis{Label: "pages fetched"},
		Y:     Axis{Label: "share of PageRank", Unit: Percent, From: 0, To: 1},
	}
	for k, name := range []string{"siteopic", "length", "depth"} {
		l := Line{Name: name}
		for i := range 1001 {
			f := float64(i) / 1000
			l.X = append(l.X, f*350e3)
			l.Y = append(l.Y, math.Pow(f, 0.3+0.25*float64(k)))
		}
		gathered.Lines = append(gathered.Lines, l)
	}
	speedup := &Chart{
		Title: "Speed-up",
		X:     Axis{Label: "connections", Log: true},
		Y:     Axis{Label: "times as fast as one", Log: true},
		Lines: []Line{
			{Name: "ours", X: []float64{1, 16, 256, 1000}, Y: []float64{1, 14, 160, 210}, Points: true},
			{Name: "bound", X: []float64{1, 1000}, Y: []float64{300, 300}, Dashed: true},
			{Name: "paper", X: []float64{1, 64, 256}, Y: []float64{1, 54.6, 220}, Bare: true},
			{Name: "busy", X: []float64{1, 16, 256, 1000}, Y: []float64{1, 10, 60, 90}, Step: true},
		},
	}
	finish := &Bars{
		Title: "Time to finish",
		Value: Axis{Label: "virtual time", Unit: Seconds},
		Names: []string{"length", "siteopic, c = auto"},
		Series: []Series{
			{"r = 64", []float64{863000, 407000}},
			{"r = 256", []float64{792000, math.NaN()}},
		},
	}
	table := &Table{
		Title:   "Table 6.1",
		Columns: []string{"bandwidth", "r = 1", "r = 16", "target", "result"},
		Notes:   []string{"No cell may break conservation of bytes."},
	}
	table.Add("20 KB/s", 1.0, 16.25, "≤ 30", "met")
	table.Add("200 KB/s", 0.97, 12345.6, "≤ 5%", "not met")
	table.Add("日本", 1, "–")
	return &Report{
		Title: "Laboratory",
		Intro: "What was run.\n\nAnd why, in a paragraph long enough to be folded where a terminal of eighty columns ends.",
		Parts: []Part{
			{Heading: "Order", Text: "Which pages come first.", Chart: gathered},
			{Heading: "Connections", Chart: speedup},
			{Heading: "Time", Bars: finish, Table: table},
		},
	}
}

func write(t testing.TB, f func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	got := write(t, sample().WriteText)
	name := filepath.Join("testdata", "report.txt")
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("the report reads otherwise than %s:\n%s", name, got)
	}
}

// A narrow terminal gets the whole table in parts, and a smaller chart.
func TestNarrowText(t *testing.T) {
	table := &Table{
		Title:   "seed 1, per-conn 1, wait 15s, line 200KB/s, sharing maxmin, batch 1000, lookahead 64",
		Columns: []string{"configuration", "seconds", "of T*", "rank time", "busy", "50% pages", "90% pages", "99% pages"},
		Notes:   []string{"seconds: virtual time to the end. of T*: in units of the time that the line needs for the bytes."},
	}
	for _, name := range []string{"length", "siteopic"} {
		table.Add(name, 8349.0, 2.11, 1200.0, "40%", 1234567.0, 2345678.0, 3456789.0)
	}
	drawn := &Chart{
		Title: "PageRank gathered over time, with a title that is longer than the terminal is wide", X: Axis{Label: "virtual time", Unit: Seconds}, Y: Axis{Label: "share", Unit: Percent, To: 1},
		Lines: []Line{{Name: "length", X: []float64{0, 5000, 9000}, Y: []float64{0, 0.5, 1}}, {Name: "siteopic", X: []float64{0, 8000}, Y: []float64{0, 1}}},
	}
	for _, room := range []int{40, 60, 70} {
		text := write(t, func(w io.Writer) error { return table.WriteTextIn(w, room) })
		if n := strings.Count(text, "siteopic"); n < 2 || strings.Count(text, "1234567") != 2 || strings.Count(text, "3456789") != 2 {
			t.Errorf("in %d columns:\n%s", room, text)
		}
		text += write(t, func(w io.Writer) error { return drawn.WriteTextIn(w, room) })
		for line := range strings.Lines(text) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > room {
				t.Errorf("%d columns in a terminal of %d: %q", n, room, line)
			}
		}
	}
	if wide := write(t, func(w io.Writer) error { return table.WriteTextIn(w, 200) }); strings.Count(wide, "siteopic") != 1 {
		t.Errorf("a table that fits is parted:\n%s", wide)
	}
}

// The same numbers give the same bytes.
func TestSameBytes(t *testing.T) {
	for name, f := range map[string]func(*Report) func(io.Writer) error{
		"html": func(r *Report) func(io.Writer) error { return r.WriteHTML },
		"svg":  func(r *Report) func(io.Writer) error { return r.Parts[1].Chart.WriteSVG },
		"png":  func(r *Report) func(io.Writer) error { return r.Parts[1].Chart.WritePNG },
		"bars": func(r *Report) func(io.Writer) error { return r.Parts[2].Bars.WritePNG },
		"csv":  func(r *Report) func(io.Writer) error { return r.Parts[0].Chart.WriteCSV },
	} {
		first, second := write(t, f(sample())), write(t, f(sample()))
		if first != second {
			t.Errorf("%s differs from one time to the next", name)
		}
	}
}

// parseXML reads an SVG file and returns its text and elements.
func parseXML(t testing.TB, s string) (text []string, elements map[string]int) {
	t.Helper()
	elements = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text, elements
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, s)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s has %s=%q", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			text = append(text, string(token))
		}
	}
}

func TestSVG(t *testing.T) {
	r := sample()
	text, elements := parseXML(t, write(t, r.Parts[1].Chart.WriteSVG))
	all := strings.Join(text, "|")
	for _, want := range []string{"Speed-up", "connections", "times as fast as one", "ours", "bound", "1k", "100"} {
		if !strings.Contains(all, want) {
			t.Errorf("the chart does not say %q", want)
		}
	}
	// Points of ours and of the paper, each once more in the legend.
	if got := elements["circle"]; got != 4+1+3+1 {
		t.Errorf("%d points, want 9", got)
	}
	text, _ = parseXML(t, write(t, r.Parts[2].Bars.WriteSVG))
	all = strings.Join(text, "|")
	for _, want := range []string{"9.99 d", "4.71 d", "–", "siteopic, c = auto"} {
		if !strings.Contains(all, want) {
			t.Errorf("the bars do not say %q", want)
		}
	}
}

// A line of a million points makes no file of a million points, and keeps its
// one peak.
func TestLongLine(t *testing.T) {
	l := Line{Name: "load"}
	for i := range 1_000_000 {
		l.X = append(l.X, float64(i))
		l.Y = append(l.Y, math.Sin(float64(i)/50)*10)
	}
	l.Y[777_777] = 100
	c := &Chart{Lines: []Line{l}, Y: Axis{From: -20, To: 120}}
	s := write(t, c.WriteSVG)
	if len(s) > 100_000 {
		t.Errorf("%d bytes", len(s))
	}
	// The top of the range is 20 above the peak, its foot 120 below.
	box := box{0, 0, 100, 140}
	kept := false
	xy := make([]float64, 0, 2*len(l.X))
	for i := range l.X {
		xy = append(xy, l.X[i]/1e4, 120-l.Y[i])
	}
	for _, part := range box.clip(thin(xy)) {
		part = simplify(nil, part)
		for i := 1; i < len(part); i += 2 {
			kept = kept || part[i] == 20
		}
	}
	if !kept {
		t.Error("the peak is gone")
	}
}

func TestPNG(t *testing.T) {
	for _, f := range []func(io.Writer) error{sample().Parts[0].Chart.WritePNG, sample().Parts[2].Bars.WritePNG} {
		img, err := stdpng.Decode(strings.NewReader(write(t, f)))
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Bounds().Dx(); got != 2*wide {
			t.Errorf("%d pixels wide, want %v", got, 2*wide)
		}
		want := shades[series].light
		seen := 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
				if uint32(c.R)<<16|uint32(c.G)<<8|uint32(c.B) == want {
					seen++
				}
			}
		}
		if seen < 1000 {
			t.Errorf("the first series shows on %d pixels", seen)
		}
	}
}

// parseHTML reads a page and returns how often each element is in it, and its
// attributes as name=value.
func parseHTML(t testing.TB, s string) (elements map[string]int, attributes []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	elements = map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			elements[n.Data]++
			for _, a := range n.Attr {
				attributes = append(attributes, a.Key+"="+a.Val)
			}
		}
	}
	return elements, attributes
}

func TestHTML(t *testing.T) {
	s := write(t, sample().WriteHTML)
	elements, attributes := parseHTML(t, s)
	for name, want := range map[string]int{"h1": 1, "h2": 3, "svg": 6, "table": 1, "td": 15, "nav": 1, "script": 0, "link": 0, "img": 0, "iframe": 0} {
		if got := elements[name]; got != want {
			t.Errorf("%d %s, want %d", got, name, want)
		}
	}
	for _, a := range attributes {
		key, value, _ := strings.Cut(a, "=")
		if (key == "href" || key == "src") && !strings.HasPrefix(value, "#") {
			t.Errorf("the page needs %s", a)
		}
	}
	for _, want := range []string{`<td class="good">met</td>`, `<td class="bad">not met</td>`, `<td class="n">12346</td>`, "prefers-color-scheme: dark", "max-width: 600px"} {
		if !strings.Contains(s, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(s, "url(") || strings.Contains(s, "@import") {
		t.Error("the page's style needs something else")
	}
}

// Whatever a name holds, it stays a name.
func FuzzNames(f *testing.F) {
	f.Add("<script>alert(1)</script>")
	f.Add(`" onload="x`)
	f.Add("a\x00b\x1b[31m\xff\u202e]]>")
	clean, _ := parseHTML(f, write(f, sample().WriteHTML))
	f.Fuzz(func(t *testing.T, name string) {
		r := sample()
		r.Parts[0].Chart = nil
		r.Title, r.Parts[0].Heading, r.Parts[0].Text = name, name, name
		c, b, table := r.Parts[1].Chart, r.Parts[2].Bars, r.Parts[2].Table
		c.Title, c.X.Label, c.Lines[0].Name = name, name, name
		b.Title, b.Names[0], b.Series[0].Name, b.Value.Label = name, name, name, name
		table.Title, table.Columns[0], table.Rows[0][0], table.Notes[0] = name, name, name, name
		parseXML(t, write(t, c.WriteSVG))
		parseXML(t, write(t, b.WriteSVG))
		page, attributes := parseHTML(t, write(t, r.WriteHTML))
		for element, n := range page {
			if clean[element] == 0 {
				t.Errorf("%q made %d %s", name, n, element)
			}
		}
		for _, a := range attributes {
			if strings.HasPrefix(a, "on") {
				t.Errorf("%q made %s", name, a)
			}
		}
		text := write(t, r.WriteText)
		if strings.ContainsAny(text, "\x00\x1b\r\u009b") {
			t.Errorf("%q reaches the terminal", name)
		}
	})
}

func TestCSV(t *testing.T) {
	r := sample()
	rows, err := csv.NewReader(strings.NewReader(write(t, r.Parts[1].Chart.WriteCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+4+2+3+4 || strings.Join(rows[0], "|") != "line|connections|times as fast as one" || strings.Join(rows[2], "|") != "ours|16|14" {
		t.Errorf("rows %v", rows)
	}
	want := "name,r = 64,r = 256\nlength,863000,792000\n\"siteopic, c = auto\",407000,\n"
	if got := write(t, r.Parts[2].Bars.WriteCSV); got != want {
		t.Errorf("bars:\n%s", got)
	}
	want = "bandwidth,r = 1,r = 16,target,result\n20 KB/s,1,16.25,≤ 30,met\n200 KB/s,0.97,12346,≤ 5%,not met\n日本,1,–,,\n"
	if got := write(t, r.Parts[2].Table.WriteCSV); got != want {
		t.Errorf("table:\n%s", got)
	}
}

func TestFaults(t *testing.T) {
	crooked := &Chart{Title: "a", Lines: []Line{{Name: "b", X: []float64{1}}}}
	short := &Bars{Title: "a", Names: []string{"x"}, Series: []Series{{Name: "b"}}}
	long := &Table{Title: "a", Columns: []string{"x"}, Rows: [][]string{{"1", "2"}}}
	for name, f := range map[string]func(io.Writer) error{
		"chart svg":  crooked.WriteSVG,
		"chart png":  crooked.WritePNG,
		"chart text": crooked.WriteText,
		"chart csv":  crooked.WriteCSV,
		"bars svg":   short.WriteSVG,
		"bars text":  short.WriteText,
		"bars csv":   short.WriteCSV,
		"table text": long.WriteText,
		"table csv":  long.WriteCSV,
		"page":       (&Report{Parts: []Part{{Chart: crooked}}}).WriteHTML,
		"report":     (&Report{Parts: []Part{{Bars: short}}}).WriteText,
		"table page": (&Report{Parts: []Part{{Table: long}}}).WriteHTML,
	} {
		if err := f(io.Discard); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: error %v does not name the chart", name, err)
		}
	}
}

// Empty and odd charts are drawn as far as they go.
func TestOdd(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, c := range map[string]*Chart{
		"empty":           {},
		"no points":       {Lines: []Line{{Name: "a"}}},
		"no numbers":      {Lines: []Line{{X: []float64{nan, 1}, Y: []float64{1, inf}}}},
		"one point":       {Lines: []Line{{X: []float64{5}, Y: []float64{5}}}},
		"zero on log":     {Lines: []Line{{X: []float64{0, 1}, Y: []float64{1, -1}}}, X: Axis{Log: true}, Y: Axis{Log: true}},
		"all equal":       {Lines: []Line{{X: []float64{3, 3, 3}, Y: []float64{7, 7, 7}}}, X: Axis{Log: true}},
		"huge":            {Lines: []Line{{X: []float64{-math.MaxFloat64, math.MaxFloat64}, Y: []float64{-math.MaxFloat64, math.MaxFloat64}}}},
		"huge on log":     {Lines: []Line{{X: []float64{5e-324, math.MaxFloat64}, Y: []float64{5e-324, math.MaxFloat64}}}, X: Axis{Log: true}, Y: Axis{Log: true}},
		"tiny":            {Lines: []Line{{X: []float64{0, 5e-324}, Y: []float64{5e-324, 5e-324}}}},
		"large and close": {Lines: []Line{{X: []float64{1e17, 1e17 + 16}, Y: []float64{1e17, 1e17 + 32}}}},
		"far outside":     {Lines: []Line{{X: []float64{-1e300, 1e300}, Y: []float64{1e300, -1e300}}}, X: Axis{From: 0, To: 1}, Y: Axis{From: 0, To: 1}},
		"bad range":       {Lines: []Line{{X: []float64{1, 2}, Y: []float64{1, 2}}}, X: Axis{From: nan, To: 1}, Y: Axis{From: -1, To: inf, Log: true}},
		"long names":      {Title: strings.Repeat("long ", 100), Lines: []Line{{Name: strings.Repeat("x", 1000), X: []float64{1}, Y: []float64{1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			parseXML(t, write(t, c.WriteSVG))
			write(t, c.WritePNG)
			write(t, c.WriteText)
		})
	}
	for name, b := range map[string]*Bars{
		"empty":     {},
		"no series": {Names: []string{"a"}},
		"negative":  {Names: []string{"a", "b"}, Series: []Series{{Values: []float64{-5, 3}}}},
		"nothing":   {Names: []string{"a"}, Series: []Series{{Values: []float64{nan}}}},
		"zero":      {Names: []string{"a"}, Series: []Series{{Values: []float64{0}}}},
		"huge":      {Names: []string{"a", "b"}, Series: []Series{{Values: []float64{math.MaxFloat64, -math.MaxFloat64}}}},
		"long name": {Names: []string{strings.Repeat("x", 1000)}, Series: []Series{{Values: []float64{1}}}},
	} {
		t.Run("bars "+name, func(t *testing.T) {
			parseXML(t, write(t, b.WriteSVG))
			write(t, b.WritePNG)
			write(t, b.WriteText)
		})
	}
	write(t, (&Report{}).WriteHTML)
	write(t, (&Table{}).WriteText)
}

func TestSpark(t *testing.T) {
	for _, c := range []struct {
		values []float64
		n      int
		want   string
	}{
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, "▁▂▃▄▅▆▇█"},
		{[]float64{0, 0, 7, 7}, 2, "▁█"},
		{[]float64{0, 0}, 5, "▁▁"},
		{[]float64{1, math.NaN(), 1}, 3, "█ █"},
		{[]float64{-1, 1}, 2, "▁█"},
		{nil, 5, ""},
		{[]float64{1}, 0, ""},
		{[]float64{1}, -3, ""},
	} {
		if got := Spark(c.values, c.n); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
