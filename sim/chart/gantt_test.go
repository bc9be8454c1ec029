package chart

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// shared is a link of 10 that three use, one of them too late.
func shared() *Gantt {
	return &Gantt{
		Title: "Three sites", Unit: Speed, Total: "link", Mark: "deadline", Miss: "missed",
		Rows: []Row{
			{Name: "a.example.org", Note: "10 min", Spans: []Span{{0, 600, 5000}}, Mark: 900},
			{Name: "b.example.org", Note: "20 min", Spans: []Span{{0, 600, 5000}, {600, 1200, 10000}}, Mark: 1000, Miss: true},
			{Name: "日本.example.org", Note: "30 min", Spans: []Span{{1200, 1500, 1000}, {1500, 1800, 10}}, Mark: 90000},
		},
		Room: []Span{{0, 1200, 10000}, {1200, math.Inf(1), 2000}},
	}
}

func TestGanttText(t *testing.T) {
	var got string
	for _, room := range []int{80, 50} {
		for _, blocks := range []bool{false, true} {
			text := write(t, func(w io.Writer) error { return shared().WriteTextIn(w, room, blocks) })
			for line := range strings.Lines(text) {
				if n := columns(strings.TrimSuffix(line, "\n")); n > room {
					t.Errorf("%d columns in a terminal of %d: %q", n, room, line)
				}
			}
			got += text + "\n"
		}
	}
	clock := shared()
	clock.Zero = time.Date(2026, 11, 15, 23, 50, 0, 0, time.UTC)
	got += write(t, func(w io.Writer) error { return clock.WriteTextIn(w, 80, false) })
	name := filepath.Join("testdata", "gantt.txt")
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
		t.Errorf("the chart reads otherwise than %s:\n%s", name, got)
	}
}

func TestGanttSVG(t *testing.T) {
	text, elements := parseXML(t, write(t, shared().WriteSVG))
	all := strings.Join(text, "|")
	for _, want := range []string{"Three sites", "a.example.org", "20 min", "link", "10 KB/s when full", "deadline", "missed"} {
		if !strings.Contains(all, want) {
			t.Errorf("the chart does not say %q", want)
		}
	}
	if elements["rect"] < 3+5+3 {
		t.Errorf("%d rectangles", elements["rect"])
	}
	page, _ := parseHTML(t, write(t, (&Report{Parts: []Part{{Gantt: shared()}}}).WriteHTML))
	if page["svg"] != 2 {
		t.Errorf("%d pictures in the page, want a wide and a narrow one", page["svg"])
	}
}

// Thousands of rows and spans make a file that a browser can open.
func TestGanttLarge(t *testing.T) {
	g := &Gantt{Total: "link"}
	for i := range 10_000 {
		r := Row{Name: fmt.Sprintf("site %d", i)}
		for k := range 50 {
			r.Spans = append(r.Spans, Span{float64(i*50 + k), float64(i*50 + k + 1), float64(k)})
		}
		g.Rows = append(g.Rows, r)
	}
	if s := write(t, g.WriteSVG); len(s) > 2e6 || !strings.Contains(s, "and 8000 more") {
		t.Errorf("%d bytes", len(s))
	}
}

// What cannot be drawn is told, and nothing to draw is fine.
func TestGanttBad(t *testing.T) {
	for _, spans := range [][]Span{{{1, 0, 1}}, {{0, math.Inf(1), 1}}, {{0, 1, math.NaN()}}, {{0, 2, 1}, {1, 3, 1}}} {
		g := &Gantt{Rows: []Row{{Spans: spans}}}
		if g.WriteSVG(io.Discard) == nil || g.WriteTextIn(io.Discard, 80, false) == nil || (&Report{Parts: []Part{{Gantt: g}}}).WriteHTML(io.Discard) == nil {
			t.Errorf("%v is drawn", spans)
		}
	}
	for _, g := range []*Gantt{{}, {Rows: []Row{{Name: "idle"}}}, {Total: "all", Rows: []Row{{Spans: []Span{{0, 0, 0}}, Mark: 5}}}} {
		parseXML(t, write(t, g.WriteSVG))
		write(t, func(w io.Writer) error { return g.WriteTextIn(w, 20, true) })
	}
}

func TestClockTicks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		zero time.Time
		end  float64
		want string
	}{
		{time.Date(2026, 11, 15, 22, 10, 0, 0, time.UTC), 8 * 3600, "Mon 16|02:00|04:00|06:00"},
		{time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC), 40, "22:00:00|22:00:10|22:00:20|22:00:30|22:00:40"},
		{time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC), 5 * day, "Mon 16|Tue 17|Wed 18|Thu 19|Fri 20"},
		{time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC), 30 * day, "22 Nov|29 Nov|6 Dec|13 Dec"},
		{time.Date(2026, 10, 24, 22, 0, 0, 0, berlin), 12 * 3600, "Sun 25|03:00|06:00|09:00"}, // the clock goes back an hour
	} {
		var labels []string
		for _, tick := range clockTicks(c.zero, c.end, 5) {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, "|"); got != c.want {
			t.Errorf("%g seconds from %v: %s, want %s", c.end, c.zero, got, c.want)
		}
	}
	for end := 1.0; end < 1e11; end *= 3 {
		if n := len(clockTicks(time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC), end, 8)); n > 9 || end > 10 && n < 1 {
			t.Errorf("%d ticks in %g seconds", n, end)
		}
	}
}
