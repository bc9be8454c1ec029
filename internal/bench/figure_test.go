package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A figure is XML that a browser takes, has a line for each series, and keeps
// them inside the frame.
func TestFigure(t *testing.T) {
	f := figure{title: "a < b", unit: "KB/s", limit: 140, lines: []line{{"one", false, []float64{0, 100, 280}}, {"two", true, []float64{1, 2}}}}
	dir := filepath.Join(t.TempDir(), "results")
	if err := f.draw(dir, "f.svg"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "f.svg"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("%d lines", lines)
	}
	if strings.Contains(string(b), "NaN") || strings.Contains(string(b), ",-") {
		t.Error("a line leaves the frame")
	}
	if (figure{}).svg() == "" {
		t.Error("an empty figure is drawn, too")
	}
}

func TestTick(t *testing.T) {
	for top, want := range map[float64]float64{0: 1, 140: 50, 280: 50, 1000: 200, 9.9: 2} {
		if got := tick(top); got != want {
			t.Errorf("tick(%v) = %v, want %v", top, got, want)
		}
	}
}
