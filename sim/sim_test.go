package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"weir/sim/web"
)

// plain makes a web of so many sites with so many pages each: every page links
// to some others of its site and to a home page elsewhere.
func plain(sites, pages int) *web.Web {
	r := rand.New(rand.NewPCG(1, 2))
	w := &web.Web{Name: "plain"}
	for s := range sites {
		w.Sites = append(w.Sites, web.Site{Speed: 20000, Latency: 0.8, Again: 0.3})
		w.First = append(w.First, uint32(s*pages))
	}
	w.First = append(w.First, uint32(sites*pages))
	for p := range sites * pages {
		s := p / pages
		w.SiteOf = append(w.SiteOf, uint32(s))
		w.Size = append(w.Size, uint32(1000+r.IntN(40000)))
		w.Off = append(w.Off, uint32(len(w.Adj)))
		if i := p % pages; 2*i+2 < pages {
			w.Adj = append(w.Adj, uint32(p-i+2*i+1), uint32(p-i+2*i+2))
		} else if 2*i+1 < pages {
			w.Adj = append(w.Adj, uint32(p-i+2*i+1))
		}
		for range 7 {
			if q := uint32(s*pages + r.IntN(pages)); int(q) != p {
				w.Adj = append(w.Adj, q)
			}
		}
		if t := r.IntN(sites); t != s {
			w.Adj = append(w.Adj, uint32(t*pages))
		}
	}
	w.Off = append(w.Off, uint32(len(w.Adj)))
	return w
}

func play(t testing.TB, w *web.Web, line Line, cfg Config) Result {
	t.Helper()
	world, err := New(w, line, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := world.Run(nil); err != nil {
		t.Fatal(err)
	}
	return world.Results()[0]
}

func TestEveryPageIsFetchedOnce(t *testing.T) {
	w := plain(50, 40)
	for _, order := range []string{"length", "depth", "score"} {
		for _, cfg := range []Config{
			{Conns: 1}, {Conns: 20}, {Conns: 20, PerConn: 5}, {Conns: 100, Wait: time.Second, Robots: true}, {Conns: 20, Limit: 50_000},
		} {
			cfg.Order = order
			r := play(t, w, Line{Rate: 200_000}, cfg)
			if r.Pages != int64(w.Pages()) || r.Stopped != "done" {
				t.Errorf("%s, %+v: %d of %d pages, %s", order, cfg, r.Pages, w.Pages(), r.Stopped)
			}
			t.Logf("%s r=%d c=%d: %.0f s, busy %.2f", order, cfg.Conns, cfg.PerConn, r.Seconds, r.Busy)
		}
	}
}

// BenchmarkChile crawls a tenth of the Chilean web.
func BenchmarkChile(b *testing.B) {
	shape, err := web.Preset("chile", 0.1)
	if err != nil {
		b.Fatal(err)
	}
	w, err := web.Generate(shape)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		play(b, w, Line{Rate: 200_000}, Config{Conns: 256})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(w.Pages()), "ns/page")
}
