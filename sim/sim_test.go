package sim

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/rank"
	"weir/sim/link"
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
	ranks := make([]float32, w.Pages())
	rank.PageRank(rank.Graph{Off: w.Off, Adj: w.Adj}, nil, nil, ranks, rank.Options{})
	for _, order := range frontier.Orders() {
		for _, cfg := range []Config{
			{Conns: 1}, {Conns: 20}, {Conns: 20, PerConn: 5}, {Conns: 20, Auto: true}, {Conns: 100, Wait: time.Second, Robots: true}, {Conns: 20, Limit: 50_000},
		} {
			cfg.Order, cfg.Ranks, cfg.Batch = order, ranks, 300
			r := play(t, w, Line{Rate: 200_000}, cfg)
			if r.Pages != int64(w.Pages()) || r.Stopped != "done" {
				t.Errorf("%s, %+v: %d of %d pages, %s", order, cfg, r.Pages, w.Pages(), r.Stopped)
			}
			t.Logf("%s r=%d c=%d: %.0f s, busy %.2f", order, cfg.Conns, cfg.PerConn, r.Seconds, r.Busy)
		}
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	w := plain(30, 30)
	cfg := Config{Conns: 10, Auto: true}
	a, b := play(t, w, Line{Rate: 100_000}, cfg), play(t, w, Line{Rate: 100_000}, cfg)
	if a.Trace != b.Trace || a.Trace == 0 || a.Seconds != b.Seconds {
		t.Errorf("two runs of one configuration: traces %x and %x, %v and %v seconds", a.Trace, b.Trace, a.Seconds, b.Seconds)
	}
	cfg.Conns = 11
	if c := play(t, w, Line{Rate: 100_000}, cfg); c.Trace == a.Trace {
		t.Error("another configuration has the same trace")
	}
}

func TestCrawlsShareTheLine(t *testing.T) {
	w := plain(20, 20)
	alone := play(t, w, Line{Rate: 20_000}, Config{Conns: 10})
	world, err := New(w, Line{Rate: 20_000}, Config{Name: "a", Conns: 10}, Config{Name: "b", Conns: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := world.Run(nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range world.Results() {
		if r.Pages != alone.Pages || r.Seconds < 1.5*alone.Seconds {
			t.Errorf("%s: %d pages in %.0f s beside another; alone %d in %.0f s", r.Name, r.Pages, r.Seconds, alone.Pages, alone.Seconds)
		}
	}
}

// No byte comes faster than the line carries it.
func TestConservation(t *testing.T) {
	w := plain(40, 20)
	for _, rate := range []float64{500, 20_000, 1e6} {
		for _, s := range []link.Sharing{link.MaxMin, link.Even} {
			r := play(t, w, Line{Rate: rate, Sharing: s}, Config{Conns: 30})
			if floor := w.Bytes() / rate; r.Seconds < floor || r.Bytes != w.Bytes() {
				t.Errorf("%v at %v B/s: %.0f bytes in %.1f s, the line needs %.1f s for %.0f", s, rate, r.Bytes, r.Seconds, floor, w.Bytes())
			}
			for _, x := range r.Samples {
				if x.Bytes > rate*x.Seconds*(1+1e-9) {
					t.Errorf("%v at %v B/s: %.0f bytes after %.1f s", s, rate, x.Bytes, x.Seconds)
				}
			}
		}
	}
}

// A crawl waits between two connections to a site, and asks it for one page at a
// time: a site of n pages takes n-1 waits.
func TestPolite(t *testing.T) {
	w := plain(1, 10)
	r := play(t, w, Line{}, Config{Conns: 10, Wait: 7 * time.Second})
	if r.Seconds < 9*7 {
		t.Errorf("ten pages of one site in %.1f s, with 7 s between two", r.Seconds)
	}
	w.Sites[0].Delay = 20
	r = play(t, w, Line{}, Config{Conns: 10, Wait: time.Second, Robots: true, Auto: true})
	if r.Seconds < 10*20 {
		t.Errorf("ten pages of one site in %.1f s, robots.txt asks for 20 s between two", r.Seconds)
	}
}

func TestPagesThatFail(t *testing.T) {
	w := plain(10, 10)
	w.End = make([]uint8, w.Pages())
	for p := 5; p < w.Pages(); p += 10 { // pages without which others are not found stay
		w.End[p] = uint8(page.ClientError)
	}
	r := play(t, w, Line{}, Config{Conns: 10})
	if r.Stopped != "done" || r.Pages == 0 {
		t.Errorf("%d pages, %s", r.Pages, r.Stopped)
	}
}

func TestBadInput(t *testing.T) {
	w := plain(2, 2)
	named := plain(2, 2)
	named.Sites[0].Name, named.Sites[1].Name = "http://a.example", "http://a.example"
	rude := plain(2, 2)
	rude.Sites[0].Name = "not a site"
	for _, c := range []struct {
		w    *web.Web
		line Line
		cfg  Config
		want string
	}{
		{&web.Web{}, Line{}, Config{}, "no pages"},
		{w, Line{Rate: -1}, Config{}, "carries nothing"},
		{w, Line{}, Config{Conns: -1}, "connections"},
		{w, Line{}, Config{PerConn: -1}, "pages on a connection"},
		{w, Line{}, Config{Commit: -1}, "not negative"},
		{w, Line{}, Config{MaxTime: -time.Hour}, "not negative"},
		{w, Line{}, Config{Limit: -5}, "negative"},
		{w, Line{}, Config{Order: "best"}, "no order is called"},
		{w, Line{}, Config{Limit: 1000, Control: "none"}, "none"},
		{w, Line{}, Config{Order: "optimal"}, "needs the ranks"},
		{w, Line{}, Config{Batch: -1}, "batches"},
		{w, Line{}, Config{StopGain: 2}, "shares"},
		{w, Line{}, Config{Ranks: make([]float32, 3)}, "3 ranks"},
		{named, Line{}, Config{}, "two sites"},
		{rude, Line{}, Config{}, "not the beginning of a URL"},
	} {
		if _, err := New(c.w, c.line, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one about %q", c.cfg, err, c.want)
		}
	}
	if _, err := New(w, Line{}); err == nil {
		t.Error("a world without crawls was made")
	}
}

func TestInterrupted(t *testing.T) {
	w := plain(100, 100)
	world, err := New(w, Line{}, Config{Conns: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := world.Run(func() bool { return world.Progress().Pages < 1000 }); err != nil {
		t.Fatal(err)
	}
	r := world.Results()[0]
	if r.Stopped != "interrupted" || r.Pages < 1000 || r.Pages > int64(w.Pages())/2 || r.Samples[len(r.Samples)-1].Pages != r.Pages {
		t.Errorf("interrupted after 1,000 pages: %d pages, %s", r.Pages, r.Stopped)
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
