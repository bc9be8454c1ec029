package web

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// parse reads a web as text.
func parse(t testing.TB, text string) *Web {
	t.Helper()
	w, err := ReadEdges(strings.NewReader(text), fill)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDepthsAndReach(t *testing.T) {
	w := parse(t, `
		page a.example/   10
		page a.example/1  20
		page a.example/2  30
		page a.example/x  40
		page b.example/   50
		seed a.example/
		a.example/  a.example/1
		a.example/1 a.example/2
		a.example/2 a.example/
		a.example/x a.example/
		a.example/1 b.example/
	`)
	if got, want := w.Depths(), []uint32{0, 1, 2, Unreached, 2}; !slices.Equal(got, want) {
		t.Errorf("depths %v, want %v", got, want)
	}
	f := w.Measure()
	if f.Pages != 5 || f.Sites != 2 || f.Links != 5 || f.Away != 0.2 || f.Dangling != 0.2 || f.Reached != 0.8 || f.MaxDepth != 2 || f.Isolated != 0 {
		t.Errorf("measured %+v", f)
	}
	if got := w.Sizes(); !slices.Equal(got, []SizeCount{{1, 1}, {4, 1}}) {
		t.Errorf("sizes %v", got)
	}
	var sum float64
	ranks := w.Ranks()
	for _, r := range ranks {
		sum += float64(r)
	}
	if math.Abs(sum-1) > 1e-5 || ranks[0] <= ranks[3] {
		t.Errorf("ranks %v sum to %v", ranks, sum)
	}
}

func TestExponent(t *testing.T) {
	// A power law dealt out by its quantiles.
	var values []uint32
	for i := range 100_000 {
		u := (float64(i) + 0.5) / 100_000
		values = append(values, uint32(math.Floor(9.5*math.Pow(1-u, -1/1.2)+0.5)))
	}
	if a := Exponent(values, 10); math.Abs(a-2.2) > 0.02 {
		t.Errorf("an exponent of 2.2 is estimated as %.3f", a)
	}
	if a := Exponent(values, math.MaxUint32); !math.IsNaN(a) {
		t.Errorf("no values have the exponent %v", a)
	}
}

func TestChileIsAsAskedFor(t *testing.T) {
	s, err := Preset("chile", 0.1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	f := w.Measure()
	near := func(what string, got, want, within float64) {
		t.Helper()
		t.Logf("%-15s asked for %.3f, got %.3f", what, want, got)
		if math.Abs(got-want) > within {
			t.Errorf("%s: asked for %.3f, got %.3f", what, want, got)
		}
	}
	near("site exponent", f.SiteExponent, s.Exponent(), 0.05)
	near("mean links", f.Out, s.Links, 1)
	near("in-degree", f.InExponent, s.In, 0.25)
	near("links away", f.Away, s.Away, 0.02)
	near("dangling", f.Dangling, s.Dangling, 0.03)
	near("isolated", f.Isolated, s.Isolated, 0.02)
	near("isolated pages", f.IsolatedPages, s.IsolatedPages, 0.05)
	if f.Largest != s.Cap {
		t.Errorf("the largest site has %d pages, the cap is %d", f.Largest, s.Cap)
	}
}

func ExampleWeb_Measure() {
	s, err := Preset("chile", 0.01)
	if err != nil {
		panic(err)
	}
	w, err := Generate(s)
	if err != nil {
		panic(err)
	}
	fmt.Printf("asked for sites with exponent %.2f\n", s.Exponent())
	fmt.Print(w.Measure())
	// Output:
	// asked for sites with exponent 1.65
	// pages            35000 on 2684 sites, 0.8 GB
	// largest site     250 pages (49 sites)
	// site exponent    1.66
	// links            292097, 8.35 a page, exponent 2.93
	// in-degree        exponent 2.18, at most 1164
	// dangling pages   15.6%
	// links away       14.2%
	// isolated         48.0% of sites, 14.4% of pages
	// reached          100.0% of pages, depth 1.88 on average, at most 5
}
