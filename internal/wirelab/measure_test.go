package wirelab

import (
	"math"
	"testing"
	"time"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// seconds of equal bins each.
func level(rates ...float64) []float64 {
	var b []float64
	for _, r := range rates {
		for range perSecond {
			b = append(b, r/float64(perSecond))
		}
	}
	return b
}

func TestJudge(t *testing.T) {
	// Two seconds of ramp are left out, whatever they hold.
	u := Judge(level(100, 800, 900, 1000, 1010, 1030), 1000)
	if !u.Reached || u.Begin != 2*perSecond || u.Windows != 4 {
		t.Fatalf("%+v", u)
	}
	if !near(u.Mean, 0.985) || !near(u.Std, math.Sqrt((0.085*0.085+0.015*0.015+0.025*0.025+0.045*0.045)/4)) {
		t.Errorf("mean %v, std %v", u.Mean, u.Std)
	}
	if !near(u.Above, 0.5) || !near(u.Above1, 0.25) || !near(u.Above2, 0.25) {
		t.Errorf("%+v: a window of exactly 1.01 is not above it", u)
	}
	if !near(u.Worst, 0.03) || !near(u.Sliding, 1.03) {
		t.Errorf("worst %v, sliding %v", u.Worst, u.Sliding)
	}
}

// Two halves that are each fine as aligned windows make a bad second between them.
func TestJudgeSliding(t *testing.T) {
	b := make([]float64, 2*perSecond)
	for i := range b {
		if i >= perSecond/2 && i < perSecond+perSecond/2 {
			b[i] = 20
		}
	}
	u := Judge(b, 100)
	if !near(u.Mean, 1) || !near(u.Worst, 0) || !near(u.Sliding, 2) {
		t.Errorf("%+v", u)
	}
}

func TestJudgeNeverReached(t *testing.T) {
	u := Judge(level(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 50), 100)
	if u.Reached || u.Windows != 2 || !near(u.Mean, 0.5) || !near(u.Worst, -0.5) {
		t.Errorf("%+v", u)
	}
	if u := Judge(nil, 100); u.Windows != 0 || u.Reached {
		t.Errorf("%+v", u)
	}
}

func TestBin(t *testing.T) {
	packets := []Packet{{At: 950 * time.Millisecond, Bytes: 9}, {At: time.Second, Bytes: 1}, {At: 1099 * time.Millisecond, Bytes: 2}, {At: 1100 * time.Millisecond, Bytes: 4}, {At: 1250 * time.Millisecond, Bytes: 8}}
	got := Bin(packets, time.Second, 1250*time.Millisecond)
	if len(got) != 2 || got[0] != 3 || got[1] != 4 {
		t.Errorf("%v", got)
	}
	if Bin(packets, time.Second, 0) != nil {
		t.Error("no time has bins")
	}
	packets[3].Late, packets[4].Late = 1001, 51_000 // microseconds
	if got := BinDue(packets, time.Second, 1250*time.Millisecond); got[0] != 7 || got[1] != 8 {
		t.Errorf("by when they were due %v", got)
	}
}

// Readings that come late are still put where they belong.
func TestBinSamples(t *testing.T) {
	s := []Sample{{At: 0}, {At: 130 * time.Millisecond, Received: 130}, {At: 200 * time.Millisecond, Received: 200}, {At: 310 * time.Millisecond, Received: 420}}
	got := BinSamples(s, 0, 300*time.Millisecond)
	for i, want := range []float64{100, 100, 200} {
		if !near(got[i], want) {
			t.Errorf("bin %d is %v, want %v", i, got[i], want)
		}
	}
}

// visit makes a connection of its own for one page.
func visit(server, page int, from, to time.Duration) (Request, Flow) {
	port := uint16(1000 + page)
	return Request{At: from + 10*time.Millisecond, Server: server, Page: page, Port: port},
		Flow{Server: server, Port: port, Began: from, Last: to, Ended: to}
}

func TestInversions(t *testing.T) {
	const s = time.Second
	web := Web{Servers: []Server{{}, {}}, Pages: []Page{{Server: 0}, {Server: 0}, {Server: 1}, {Server: 1}}}
	for _, c := range []struct {
		name   string
		times  map[int][2]time.Duration
		began  int
		wanted int
	}{
		// The better page 1 waits for its host, which is busy with page 0.
		{"busy", map[int][2]time.Duration{0: {0, 5 * s}, 2: {1 * s, 2 * s}, 1: {5 * s, 6 * s}, 3: {6 * s, 7 * s}}, 4, 0},
		// Page 2 begins two seconds before page 1, whose host is free.
		{"free", map[int][2]time.Duration{0: {0, 1 * s}, 2: {2 * s, 3 * s}, 1: {4 * s, 5 * s}, 3: {6 * s, 7 * s}}, 4, 1},
		// The order of one decision does not matter.
		{"same moment", map[int][2]time.Duration{2: {0, 1 * s}, 0: {s / 20, 1 * s}, 1: {2 * s, 3 * s}, 3: {2 * s, 3 * s}}, 4, 0},
		// What never begins waits as well.
		{"never", map[int][2]time.Duration{0: {0, 1 * s}, 2: {2 * s, 3 * s}, 3: {4 * s, 5 * s}}, 3, 2},
		// A worse page of the same host.
		{"own host", map[int][2]time.Duration{1: {0, 1 * s}, 0: {2 * s, 3 * s}}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var requests []Request
			var flows []Flow
			for now := time.Duration(0); now < 8*s; now += s / 20 {
				for page := range web.Pages {
					if at, ok := c.times[page]; ok && at[0] == now {
						r, f := visit(web.Pages[page].Server, page, at[0], at[1])
						requests, flows = append(requests, r), append(flows, f)
					}
				}
			}
			began, inverted := Inversions(web, requests, flows, 0, 10*s)
			if began != c.began || inverted != c.wanted {
				t.Errorf("%d began and %d inverted, want %d and %d", began, inverted, c.began, c.wanted)
			}
		})
	}
}

func TestExhausted(t *testing.T) {
	web := Web{Servers: []Server{{}}, Pages: make([]Page, 5)}
	var requests []Request
	var flows []Flow
	for page := range 5 {
		r, f := visit(0, page, time.Duration(page)*time.Second, time.Duration(page+1)*time.Second)
		requests, flows = append(requests, r), append(flows, f)
	}
	// With the fourth of five begun one page waits, fewer than two connections.
	if got := Exhausted(web, requests, flows, 2); got != 3*time.Second {
		t.Errorf("with two connections at %v", got)
	}
	if got := Exhausted(web, requests[:2], flows[:2], 2); got != time.Second {
		t.Errorf("when never: at %v", got)
	}
}

func TestSinkAndRise(t *testing.T) {
	b := level(100, 100, 20, 20, 90, 100)
	if d, ok := Sink(b, 2*perSecond, 50); !ok || d != 0 {
		t.Errorf("sank after %v, %v", d, ok)
	}
	if d, ok := Sink(b, 0, 50); !ok || d != 1900*time.Millisecond {
		t.Errorf("sank after %v, %v", d, ok)
	}
	if d, ok := Rise(b, 2*perSecond, 90); !ok || d != 2*time.Second {
		t.Errorf("rose after %v, %v", d, ok)
	}
	if _, ok := Rise(b, 0, 200); ok {
		t.Error("rose to what was never there")
	}
}

// The web is the same for the same seed, uneven, and can keep the limit busy.
func TestNewWeb(t *testing.T) {
	for _, limit := range []float64{140e3, 1e6, 10e6} {
		cfg := WebConfig{Limit: limit, Length: 5 * time.Minute, Seed: 3}
		w, again := NewWeb(cfg), NewWeb(cfg)
		if len(w.Pages) != len(again.Pages) || w.Pages[7] != again.Pages[7] || w.Servers[5] != again.Servers[5] {
			t.Fatal("two webs of one seed differ")
		}
		var bytes, offer float64
		quicker := 0
		per := make([]int, len(w.Servers))
		for _, p := range w.Pages {
			bytes += float64(p.Size)
			per[p.Server]++
			if p.Size < smallest || p.Size > largest {
				t.Fatalf("a page of %d bytes", p.Size)
			}
		}
		for i, s := range w.Servers {
			offer += s.visit()
			if s.Rate > limit {
				quicker++
			}
			if s.RTT < 10*time.Millisecond || s.RTT > 300*time.Millisecond {
				t.Errorf("round trip of %v", s.RTT)
			}
			if per[i] == 0 {
				t.Logf("%s has no page", s.Name)
			}
		}
		if quicker < quick {
			t.Errorf("%v: %d servers are faster than the limit", limit, quicker)
		}
		if offer < supply*limit {
			t.Errorf("%v: all servers offer %.1f times the limit", limit, offer/limit)
		}
		if bytes < 1.5*limit*300 {
			t.Errorf("%v: pages of %.0f MB", limit, bytes/1e6)
		}
		t.Logf("%v: %d servers offer %.1f times the limit, %d pages of %.0f KB", limit, len(w.Servers), offer/limit, len(w.Pages), bytes/1e3/float64(len(w.Pages)))
	}
}
