package web

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// small generates a preset at a scale.
func small(t testing.TB, name string, scale float64) *Web {
	t.Helper()
	s, err := Preset(name, scale)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sum is a hash of all numbers of a web.
func sum(w *Web) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, a := range [][]uint32{w.First, w.SiteOf, w.Off, w.Adj, w.Size} {
		for _, x := range a {
			binary.LittleEndian.PutUint32(b[:], x)
			h.Write(b[:4])
		}
	}
	for _, s := range w.Sites {
		for _, x := range [...]float64{s.Speed, s.Latency, s.Again, s.Delay} {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(x))
			h.Write(b[:])
		}
	}
	h.Write(w.End)
	return h.Sum64()
}

func TestPresetsHoldTheirPromises(t *testing.T) {
	for _, name := range Presets {
		for _, scale := range []float64{0.0001, 0.001, 0.01, 0.03} {
			s, err := Preset(name, scale)
			if err != nil {
				t.Fatal(err)
			}
			w, err := Generate(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Check(); err != nil {
				t.Errorf("%s at %v: %v", name, scale, err)
			}
			if w.Pages() != s.Pages || len(w.Sites) != s.Sites {
				t.Errorf("%s at %v: %d pages on %d sites, asked for %d on %d", name, scale, w.Pages(), len(w.Sites), s.Pages, s.Sites)
			}
			if reached := reached(w); reached != w.Pages() {
				t.Errorf("%s at %v: the home pages lead to %d of %d pages", name, scale, reached, w.Pages())
			}
		}
	}
}

// The hashes must be the same on every machine: a web is named by its shape in
// tables of results. They change when the generator does.
func TestSameWebOnEveryMachine(t *testing.T) {
	for name, want := range map[string]uint64{"chile": 0x594a14e0145e926d, "core": 0x2ae64cb5b4030d0b, "isolated": 0x1ba531ad1e907a9e} {
		if got := sum(small(t, name, 0.01)); got != want {
			t.Errorf("%s at a hundredth has the hash %#x, not %#x", name, got, want)
		}
	}
}

func TestSeedMakesAnotherWeb(t *testing.T) {
	s, err := Preset("chile", 0.001)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := Generate(s)
	s.Seed = 2
	b, _ := Generate(s)
	if sum(a) == sum(b) {
		t.Error("seeds 1 and 2 give the same web")
	}
	if !slices.Equal(a.Sizes(), b.Sizes()) {
		t.Error("another seed has sites of other sizes")
	}
}

func TestOtherServersSameGraph(t *testing.T) {
	s, err := Preset("chile", 0.001)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := Generate(s)
	s.Speed, s.Latency, s.AgainShare, s.Again = Spread{100_000, 0}, Spread{2, 0.5}, 0, Spread{0.25, 0}
	s.Delay, s.Delayed = Spread{10, 0}, 0.3
	b, _ := Generate(s)
	if !slices.Equal(a.Adj, b.Adj) || !slices.Equal(a.Size, b.Size) {
		t.Error("other speeds and latencies changed links or sizes")
	}
	delayed := 0
	for _, x := range b.Sites {
		if x.Speed != 100_000 || x.Again != 0.25 {
			t.Fatalf("sigma 0 gives a site of %+v", x)
		}
		if x.Delay != 0 {
			delayed++
		}
	}
	if share := float64(delayed) / float64(len(b.Sites)); math.Abs(share-0.3) > 0.06 {
		t.Errorf("a share of %.2f of the sites asks for a delay, not 0.3", share)
	}
}

func TestServersAreLogNormal(t *testing.T) {
	w := small(t, "chile", 0.1)
	median := func(f func(Site) float64) float64 {
		x := make([]float64, len(w.Sites))
		for i, s := range w.Sites {
			x[i] = f(s)
		}
		slices.Sort(x)
		return x[len(x)/2]
	}
	if m := median(func(s Site) float64 { return s.Speed }); math.Abs(m/20_000-1) > 0.05 {
		t.Errorf("the median speed is %.0f bytes per second, asked for 20,000", m)
	}
	if m := median(func(s Site) float64 { return s.Latency }); math.Abs(m/0.8-1) > 0.05 {
		t.Errorf("the median latency is %.2f s, asked for 0.8", m)
	}
	if mean := w.Bytes() / float64(w.Pages()); math.Abs(mean/22_800-1) > 0.02 {
		t.Errorf("pages have %.0f bytes on average; log-normal with mu 9.0, sigma 1.44 has 22,800", mean)
	}
}

func TestFailingPagesDangle(t *testing.T) {
	s, err := Preset("chile", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	s.Ends = []Ending{{Outcome: 3, Share: 0.15}, {Outcome: 16, Share: 0.05}}
	w, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	count := map[uint8]int{}
	for p, end := range w.End {
		count[end]++
		if end != 0 && len(w.Out(uint32(p))) > 0 {
			t.Fatalf("page %d ends in outcome %d and has links", p, end)
		}
	}
	// Home pages never fail, so the shares come out a little lower.
	if a, b := float64(count[3])/35_000, float64(count[16])/35_000; math.Abs(a-0.145) > 0.01 || math.Abs(b-0.048) > 0.005 {
		t.Errorf("shares of %.3f and %.3f fail, asked for 0.15 and 0.05", a, b)
	}
	if reached := reached(w); reached != w.Pages() {
		t.Errorf("%d of %d pages can be reached", reached, w.Pages())
	}
}

func TestAnyShapeIsGenerated(t *testing.T) {
	share := rapid.Float64Range(0, 1)
	chile, err := Preset("chile", 0.001)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := chile
		s.Sites = rapid.IntRange(1, 50).Draw(t, "sites")
		s.Cap = rapid.IntRange(1, 60).Draw(t, "cap")
		s.Pages = rapid.IntRange(s.Sites, s.Sites*s.Cap).Draw(t, "pages")
		s.Isolated, s.IsolatedPages = share.Draw(t, "isolated"), share.Draw(t, "isolated pages")
		s.Links, s.Dangling, s.Away, s.Home = rapid.Float64Range(0, 30).Draw(t, "links"), share.Draw(t, "dangling"), share.Draw(t, "away"), share.Draw(t, "home")
		s.Menu = share.Draw(t, "menu")
		s.Near = rapid.Float64Range(0, 1-s.Menu).Draw(t, "near")
		s.Size, s.Bush = 2*share.Draw(t, "size"), 10*share.Draw(t, "bush")
		w, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		if w.Pages() != s.Pages || len(w.Sites) != s.Sites {
			t.Fatalf("%d pages on %d sites, asked for %d on %d", w.Pages(), len(w.Sites), s.Pages, s.Sites)
		}
		if reached := reached(w); reached != s.Pages {
			t.Fatalf("%d of %d pages can be reached", reached, s.Pages)
		}
		if n := w.Sizes(); n[len(n)-1].Pages > s.Cap {
			t.Fatalf("a site has %d pages, above the cap of %d", n[len(n)-1].Pages, s.Cap)
		}
	})
}

func TestSenselessShapes(t *testing.T) {
	chile, err := Preset("chile", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Shape){
		"no pages":                 func(s *Shape) { s.Pages = 0 },
		"cannot hold":              func(s *Shape) { s.Cap = 2 },
		"too few for":              func(s *Shape) { s.Pages = s.Sites - 1 },
		"Isolated is 1.5":          func(s *Shape) { s.Isolated = 1.5 },
		"Links is NaN":             func(s *Shape) { s.Links = math.NaN() },
		"Speed has median 0":       func(s *Shape) { s.Speed.Median = 0 },
		"Latency has median -1":    func(s *Shape) { s.Latency.Median = -1 },
		"must be above 1 and 2":    func(s *Shape) { s.In = 2 },
		"bytes a page":             func(s *Shape) { s.MaxBytes = -1 },
		"ends of pages sum to 1.1": func(s *Shape) { s.Ends = []Ending{{3, 0.6}, {4, 0.5}} },
		"links are possible":       func(s *Shape) { s.Links = 1e6 },
		"Menu and Near":            func(s *Shape) { s.Menu, s.Near = 0.6, 0.6 },
	} {
		s := chile
		change(&s)
		if _, err := Generate(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	for _, scale := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-9, 1000} {
		if _, err := Preset("chile", scale); err == nil {
			t.Errorf("scale %v is taken", scale)
		}
	}
	if _, err := Preset("mars", 1); err == nil || !strings.Contains(err.Error(), "isolated") {
		t.Errorf("an unknown name gives %v", err)
	}
}

// Chile is to be generated within 6 s and 300 MB on one core:
// go test -run none -bench Generate -cpu 1 ./sim/web
func BenchmarkGenerate(b *testing.B) {
	s, err := Preset("chile", 1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Generate(s); err != nil {
			b.Fatal(err)
		}
	}
}

// reached is how many pages the seeds lead to.
func reached(w *Web) (pages int) {
	for _, d := range w.Depths() {
		if d != Unreached {
			pages++
		}
	}
	return pages
}
