package web

import (
	"slices"
	"strings"
	"testing"
)

func TestBuilder(t *testing.T) {
	var b Builder
	for _, p := range []string{"https://a.example/", "https://b.example/", "https://a.example/x?y"} {
		if err := b.Page(p, 1000, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Page("https://b.example/gone", 0, 3); err != nil {
		t.Fatal(err)
	}
	if !b.Link("https://a.example/", "https://a.example/x?y") || !b.Link("https://A.example", "https://b.example/gone") {
		t.Error("links between pages that are there are not taken")
	}
	if b.Link("https://a.example/", "https://c.example/") || b.Link("ftp://x", "https://a.example/") || b.Seed("https://c.example/") {
		t.Error("a page that is not there is linked or a seed")
	}
	if !b.Seed("https://b.example/") {
		t.Error("a page that is there is no seed")
	}
	if err := b.Site(Site{"https://b.example", 5000, 0.2, 0.1, 3}); err != nil {
		t.Fatal(err)
	}
	w, err := b.Web("mine", fill)
	if err != nil {
		t.Fatal(err)
	}
	if w.Name != "mine" || !slices.Equal(w.Adj, []uint32{1, 3}) || !slices.Equal(w.Seeds, []uint32{2}) || !slices.Equal(w.End, []uint8{0, 0, 0, 3}) {
		t.Errorf("built %+v", w)
	}
	if w.Sites[1].Speed != 5000 || w.Sites[1].Delay != 3 || w.Sites[0].Speed == 5000 {
		t.Errorf("built the sites %+v", w.Sites)
	}
}

func TestBuilderRefuses(t *testing.T) {
	var b Builder
	if _, err := b.Web("", fill); err == nil {
		t.Error("a web without pages is built")
	}
	if err := b.Page("http://a.example/", 1, 0); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"here twice":    b.Page("http://A.example", 1, 0),
		"neither":       b.Page("mailto://x", 1, 0),
		"has no pages":  b.Site(Site{Name: "http://b.example", Speed: 1}),
		"its speed is":  b.Site(Site{Name: "http://a.example"}),
		"its latency i": b.Site(Site{Name: "http://a.example", Speed: 1, Latency: -1}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
}
