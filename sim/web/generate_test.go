package web

import (
	"testing"
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

func TestPresetsHoldTheirPromises(t *testing.T) {
	for _, name := range Presets {
		for _, scale := range []float64{0.0001, 0.001, 0.01, 0.1} {
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
		}
	}
}

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
