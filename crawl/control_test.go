package crawl

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/frontier"
	"weir/page"
	"weir/robots"
)

// watch counts priority inversions as a user would: pages that were started
// while a better one waited at a host that was free.
type watch struct {
	s      *sim
	hosts  []*watchHost // in the order of the world's
	byName map[string]*watchHost
	starts int
	wrong  int
}

type watchHost struct {
	scores []float32 // of pages not yet asked for, the best last
	busy   bool
	away   int // lookups and loads under way for it
	free   time.Duration
}

func (w *watch) fetch(f Fetch) {
	if w == nil {
		return
	}
	mine := w.byName[f.Host]
	mine.busy = true
	if f.Open {
		w.starts++
		for _, h := range w.hosts {
			if h != mine && !h.busy && h.away == 0 && h.free <= w.s.now && len(h.scores) > 0 && h.scores[len(h.scores)-1] > f.Entry.Score {
				w.wrong++
				break
			}
		}
	}
	i := slices.Index(mine.scores, f.Entry.Score)
	mine.scores = slices.Delete(mine.scores, i, i+1)
}

func (w *watch) done(f Fetch, d Done) {
	if w != nil {
		h := w.byName[f.Host]
		h.busy, h.free = false, w.s.now+max(w.s.cfg.Frontier.Wait, d.Elapsed)
	}
}

// ready notes that a host is made ready for its visit, or is.
func (w *watch) ready(site page.SiteID, host string, is bool) {
	if w == nil {
		return
	}
	for i, h := range w.hosts {
		if site == page.SiteID(i+1) || site == 0 && w.byName[host] == h {
			if h.away++; is {
				h.away -= 2
			}
		}
	}
}

// uneven is the laboratory of algorithms: forty servers of 5 to 200 KB/s, four
// of them faster than the limit, 10 to 300 ms away, pages of 5 to 300 KB in one
// fixed queue, each with its score.
func uneven(t testing.TB, seed uint64, pages int, cfg Bandwidth) *sim {
	const limit = 140_000
	r := rand.New(rand.NewPCG(seed, 7))
	w := &world{rng: r, hosts: map[string]*wHost{}, names: map[string]*wSite{}}
	s := &sim{t: t, seed: seed, rng: r, w: w, kv: &memory{}}
	s.watch = &watch{s: s, byName: map[string]*watchHost{}}
	s.scores = map[string]float32{}
	for i := range 40 {
		h := &wHost{name: fmt.Sprintf("h%02d.d%d.org", i, i), addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 1, byte(i), 1})}, ttl: 24 * time.Hour}
		h.speed = 5e3 * math.Pow(40, r.Float64())
		if i%10 == 9 {
			h.speed = limit * (1.2 + 2*r.Float64())
		}
		h.slow = time.Duration(20+r.IntN(580)) * time.Millisecond
		site := &wSite{name: "http://" + h.name, host: h, robots: page.OK, rules: robots.AllowAll()}
		w.hosts[h.name] = h
		w.sites, w.names[site.name] = append(w.sites, site), site
		seen := &watchHost{}
		for k := range pages {
			p := &wPage{url: page.Join(site.name, fmt.Sprintf("/p%d", k)), site: site, outcome: page.OK}
			p.size = int64(5e3 * math.Pow(60, r.Float64()))
			site.pages = append(site.pages, p)
			w.seeds = append(w.seeds, p.url)
			score := float32(r.IntN(1 << 20))
			s.scores[p.url.String()] = score
			seen.scores = append(seen.scores, score)
		}
		slices.Sort(seen.scores)
		s.watch.hosts, s.watch.byName[h.name] = append(s.watch.hosts, seen), seen
	}
	s.cfg = EngineConfig{
		Order: "score", Open: 500, Loads: 8, Resolves: 8,
		Frontier: frontier.Config{
			Wait: time.Second, PerConn: 1, Conns: 64, PerServer: 4, PerCDN: 32, CDNDomains: 50, Window: 64, Hot: 1000, NoRobots: true,
		},
		Bandwidth: cfg,
	}
	s.cfg.Bandwidth.Rate = limit
	s.pipe = &pipe{s: s}
	if cfg.Control != "weir" {
		s.pipe.line = 8 * limit // only the control holds it back
	}
	s.audit = newAudit(s)
	return s
}

// usage is what a run made of the limit, second by second.
type usage struct {
	mean, std, worst float64 // parts of the limit
	inversions       float64 // part of the starts
	full             int     // the first second at nine tenths of the limit
}

func (s *sim) usage(seconds int) usage {
	u := usage{inversions: float64(s.watch.wrong) / float64(s.watch.starts), full: -1}
	all := s.pipe.each
	for i, b := range all {
		if b >= 0.9*float64(s.cfg.Bandwidth.Rate) {
			u.full = i
			break
		}
	}
	all = all[10:seconds]
	for _, b := range all {
		u.mean += b / float64(s.cfg.Bandwidth.Rate) / float64(len(all))
	}
	for _, b := range all {
		x := b / float64(s.cfg.Bandwidth.Rate)
		u.std += (x - u.mean) * (x - u.mean) / float64(len(all))
		u.worst = max(u.worst, x)
	}
	u.std = math.Sqrt(u.std)
	return u
}

// TestControls: under one queue, weir's control fills the limit with the best
// pages first; the paper's uses more of it when it searches deeper, at the price
// of worse pages first; the reactive one swings more than either. That is what
// Diligenti et al. report in section 3 (figures 2 and 3).
func TestControls(t *testing.T) {
	const seeds = 4
	var swings [4]float64 // of weir, paper with max_d 6 and 2, reactive: the mean of the seeds
	for seed := uint64(1); seed <= seeds; seed++ {
		run := func(control string, lookahead int) usage {
			s := uneven(t, seed, 40, Bandwidth{Control: control, Lookahead: lookahead, Predictor: bandwidth.PredictorConfig{Exact: control == "paper"}})
			s.crawl(0)
			s.check()
			u := s.usage(300)
			t.Logf("seed %d %-8s max_d %2d: mean %5.1f%% std %5.1f%% worst %5.1f%% inversions %4.1f%% full after %d s, %d s in all", seed, control, lookahead,
				100*u.mean, 100*u.std, 100*u.worst, 100*u.inversions, u.full, len(s.pipe.each))
			return u
		}
		weir, deep, shallow, reactive := run("weir", 64), run("paper", 6), run("paper", 2), run("reactive", 64)
		if weir.mean < 0.9 || weir.inversions != 0 || weir.full > 4 || weir.full < 0 {
			t.Errorf("seed %d: weir %+v, want more than 90%% used within a few seconds and no inversions", seed, weir)
		}
		if deep.mean <= shallow.mean || deep.inversions == 0 {
			t.Errorf("seed %d: paper %+v with max_d 6, %+v with 2", seed, deep, shallow)
		}
		for i, u := range []usage{weir, deep, shallow, reactive} {
			swings[i] += u.std / seeds
		}
	}
	if s := swings; s[3] <= s[0] || s[3] <= s[1] || s[3] <= s[2] {
		t.Errorf("the rate's deviations are %.3f; want that of the reactive control, the last, the largest", s)
	}
}

// TestControlTrace: the same seed gives the same trace under every control, and
// it can be played again.
func TestControlTrace(t *testing.T) {
	for _, control := range []string{"weir", "paper", "reactive"} {
		var traces [2]bytes.Buffer
		for i := range traces {
			s := uneven(t, 5, 6, Bandwidth{Control: control, Lookahead: 6})
			s.trace = &traces[i]
			s.crawl(0)
		}
		if !bytes.Equal(traces[0].Bytes(), traces[1].Bytes()) {
			t.Fatalf("%s: two runs gave different traces", control)
		}
		if n, err := Replay(&traces[0]); err != nil {
			t.Fatalf("%s: after %d events: %v", control, n.Events, err)
		}
	}
}
