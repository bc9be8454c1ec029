package bandwidth

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

var update = flag.Bool("update", false, "write the golden files again")

// link is a bottleneck in virtual time: one queue, which our crawl, one other
// download and the probe go through. The other one is greedy as TCP is: it
// doubles until the queue overflows, then adds a packet each round trip and
// gives up three tenths when it overflows again.
type link struct {
	rate   float64       // bytes a second
	trip   time.Duration // when empty
	buffer time.Duration // of queue at most
	limit  float64       // ours
	jitter func(r *rand.Rand) time.Duration
	loss   float64 // of probes, besides those that meet a full queue

	from, to time.Duration // the other one runs
	moved    func(at time.Duration) time.Duration

	rand   *rand.Rand
	yield  *Yield
	probes []probe       // without an answer, the oldest first
	heard  time.Duration // when the last one that was answered had been sent
	queue  float64       // bytes
	window float64       // of the other one
	doubly bool          // it is still doubling
	lost   time.Duration
	ours   []float64 // rates by tick
	others []float64
	delays []float64 // of the queue, seconds
}

// probe is one that is on its way.
type probe struct {
	sent, back time.Duration
	lost       bool
}

const tick = 5 * time.Millisecond

func (l *link) run(span time.Duration) *link {
	l.rand = rand.New(rand.NewPCG(4, 25))
	if l.yield == nil {
		l.yield = NewYield(YieldConfig{})
	}
	var told []float64 // our part by tick: servers hear of it a round trip later
	for at := time.Duration(0); at < span; at += tick {
		now := page.Time(at)
		told = append(told, l.yield.Rate(now, l.limit))
		ours := told[max(len(told)-1-int(l.trip/tick), 0)]
		trip := l.trip.Seconds() + l.queue/l.rate
		other := l.other(at, trip)
		l.queue += (ours + other - l.rate) * tick.Seconds()
		// What does not fit is lost, and everybody gets a share of the link.
		share := 1.0
		if l.queue > 0 {
			share = l.rate / max(ours+other, l.rate)
		}
		l.queue = max(l.queue, 0)
		if most := l.buffer.Seconds() * l.rate; l.queue > most {
			l.queue = most
			if at-l.lost > time.Duration(trip*float64(time.Second)) {
				l.lost, l.doubly = at, false
				l.window *= 0.7
			}
		}
		l.ours = append(l.ours, ours*share)
		l.others = append(l.others, other*share)
		l.delays = append(l.delays, l.queue/l.rate)
		l.hear(at)
		if at%(100*time.Millisecond) == 0 {
			l.ask(at)
		}
	}
	return l
}

func (l *link) other(at time.Duration, trip float64) float64 {
	const packet = 1460
	if at < l.from || at >= l.to {
		return 0
	}
	if at == l.from {
		l.window, l.doubly = 10*packet, true
	}
	rate := l.window / trip
	if l.doubly {
		l.window *= math.Exp2(tick.Seconds() / trip)
	} else {
		l.window += packet * tick.Seconds() / trip
	}
	return rate
}

// ask sends a probe.
func (l *link) ask(at time.Duration) {
	p := probe{sent: at, lost: l.queue >= l.buffer.Seconds()*l.rate || l.rand.Float64() < l.loss}
	trip := l.trip + toDuration(l.queue/l.rate)
	if l.jitter != nil {
		trip += l.jitter(l.rand)
	}
	if l.moved != nil {
		trip += l.moved(at)
	}
	p.back = at + trip
	if p.lost {
		p.back = at + time.Second
	}
	l.probes = append(l.probes, p)
}

// hear tells which probes are back, and which are still out.
func (l *link) hear(at time.Duration) {
	now := page.Time(at)
	kept := l.probes[:0]
	for _, p := range l.probes {
		switch {
		case p.back > at:
			kept = append(kept, p)
		case p.lost:
			l.yield.Lost(now)
		default:
			l.yield.Sample(now, p.back-p.sent)
			l.heard = max(l.heard, p.sent)
		}
	}
	l.probes = kept
	if at%(25*time.Millisecond) == 0 {
		var out []time.Duration
		for _, p := range l.probes {
			if p.sent > l.heard { // what was sent before the last that was heard says nothing more
				out = append(out, at-p.sent)
			}
		}
		l.yield.Waiting(now, out)
	}
}

// mean of a series from one time to another.
func mean(series []float64, from, to time.Duration) float64 {
	var sum float64
	part := series[from/tick : to/tick]
	for _, v := range part {
		sum += v
	}
	return sum / float64(len(part))
}

// spreadOf is the least and the most of a series.
func spreadOf(series []float64, from, to time.Duration) (least, most float64) {
	least = math.Inf(1)
	for _, v := range series[from/tick : to/tick] {
		least, most = min(least, v), max(most, v)
	}
	return least, most
}

// reach is how long after from the series is first so that ok, and stays it for a second.
func reach(series []float64, from time.Duration, ok func(float64) bool) time.Duration {
	stay := 0
	for i := int(from / tick); i < len(series); i++ {
		if stay++; !ok(series[i]) {
			stay = 0
		}
		if stay == int(time.Second/tick) {
			return time.Duration(i-stay+1)*tick - from
		}
	}
	return math.MaxInt64
}

func gauss(mean, sigma float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return toDuration(max(mean+sigma*r.NormFloat64(), 0) / 1000) }
}

var jitters = []struct {
	name   string
	jitter func(*rand.Rand) time.Duration
	loss   float64
	wild   bool // it wavers by about the target: own queues are hard to see
}{
	{"still", nil, 0, false},
	{"1 ms", gauss(3, 1), 0, false},
	{"8 ms", gauss(25, 8), 0, true},
	{"exponential, 10 ms", func(r *rand.Rand) time.Duration { return toDuration(0.01 * r.ExpFloat64()) }, 0.01, true},
	{"even up to 40 ms", func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(40 * time.Millisecond))) }, 0.02, true},
	{"one in twenty 200 ms late", func(r *rand.Rand) time.Duration {
		if r.IntN(20) == 0 {
			return 200 * time.Millisecond
		}
		return time.Duration(r.Int64N(int64(3 * time.Millisecond)))
	}, 0.03, false},
}

// The other user has the link, soon after he comes; we have ours, soon after he
// leaves; and he gets nearly what he would without us.
func TestYieldStepsAside(t *testing.T) {
	const from, to = 30 * time.Second, 90 * time.Second
	for _, j := range jitters {
		for _, trip := range []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 80 * time.Millisecond} {
			for _, buffer := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, time.Second} {
				for _, limit := range []float64{0.4e6, 1e6, 1.2e6} {
					name := fmt.Sprintf("%s, %s trip, %s queue, limit %.1f MB of 1.25", j.name, trip, buffer, limit/1e6)
					set := link{rate: 1.25e6, trip: trip, buffer: buffer, limit: limit, jitter: j.jitter, loss: j.loss, from: from, to: to}
					alone := set
					alone.limit = 0
					alone.run(2 * time.Minute)
					l := &set
					l.run(2 * time.Minute)
					soon := time.Second
					if j.wild {
						soon += 100 * time.Millisecond
					}
					if down := reach(l.ours, from, func(r float64) bool { return r <= limit/2 }); down > soon {
						t.Errorf("%s: stepped aside after %s", name, down)
					}
					if up := reach(l.ours, to, func(r float64) bool { return r >= 0.9*limit }); up > 5*time.Second {
						t.Errorf("%s: back after %s", name, up)
					}
					kept := mean(l.others, from, to) / mean(alone.others, from, to)
					least := 0.95
					if j.wild || limit > 0.9*l.rate {
						least = 0.92 // he is hard to see, or his first packets find the link full
					}
					if kept < least {
						t.Errorf("%s: the other one keeps %.1f%%", name, 100*kept)
					}
					if s := l.yield.Stats(page.Time(2 * time.Minute)); s.Times < 1 || s.Times > 4 || s.Active || s.Blind || s.Total < to-from || s.Total > to-from+5*time.Second {
						t.Errorf("%s: %+v, want to have stepped aside for that minute", name, s)
					}
				}
			}
		}
	}
}

// A quiet link that wavers is no reason to step aside.
func TestYieldQuiet(t *testing.T) {
	for _, j := range jitters {
		l := (&link{rate: 1.25e6, trip: 30 * time.Millisecond, buffer: time.Second, limit: 1e6, jitter: j.jitter, loss: j.loss}).run(5 * time.Minute)
		least, _ := spreadOf(l.ours, time.Second, 5*time.Minute)
		if s := l.yield.Stats(page.Time(5 * time.Minute)); s.Times != 0 || least < 0.9e6 {
			t.Errorf("%s: stepped aside %d times, least rate %.0f; %+v", j.name, s.Times, least, s)
		}
	}
}

// On a link slower than the limit our own queue settles near the target, with the
// link in full use and without swings.
func TestYieldOwnQueue(t *testing.T) {
	for _, j := range jitters {
		for _, trip := range []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 80 * time.Millisecond} {
			for _, buffer := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, time.Second} {
				for _, rate := range []float64{0.95e6, 0.8e6, 0.5e6, 0.2e6, 0.1e6} {
					name := fmt.Sprintf("%s, %s trip, %s queue, link %.2f of the limit", j.name, trip, buffer, rate/1e6)
					l := (&link{rate: rate, trip: trip, buffer: buffer, limit: 1e6, jitter: j.jitter, loss: j.loss}).run(3 * time.Minute)
					use := mean(l.ours, time.Minute, 3*time.Minute) / rate
					least, most := spreadOf(l.ours, time.Minute, 3*time.Minute)
					delay := mean(l.delays, time.Minute, 3*time.Minute)
					_, worst := spreadOf(l.delays, time.Minute, 3*time.Minute)
					enough := 0.9
					if j.wild {
						enough = 0.8
					}
					if use < enough || delay > 0.05 {
						t.Errorf("%s: %.0f%% of the link used (%.0f%% to %.0f%%), queue of %.0f ms, %.0f at worst, %d times",
							name, 100*use, 100*least/rate, 100*most/rate, 1000*delay, 1000*worst, l.yield.Stats(0).Times)
					}
				}
			}
		}
	}
}

// plot draws the rates and the queue over time.
func (l *link) plot(span, step time.Duration) string {
	const width = 60
	var b strings.Builder
	fmt.Fprintf(&b, "link %.2f MB/s, limit %.2f MB/s", l.rate/1e6, l.limit/1e6)
	if l.to > 0 {
		fmt.Fprintf(&b, ", other user from %s to %s", l.from, l.to)
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "seconds  queue  0 %s link\n", strings.Repeat(" ", width-5))
	for at := time.Duration(0); at < span; at += step {
		row := []byte(strings.Repeat(" ", width+1))
		mark := func(rate float64, c byte) {
			if i := min(int(rate/l.rate*width+0.5), width); row[i] == ' ' {
				row[i] = c
			} else {
				row[i] = '*'
			}
		}
		if other := mean(l.others, at, at+step); other > 0 {
			mark(other, 'o')
		}
		mark(mean(l.ours, at, at+step), 'w')
		fmt.Fprintf(&b, "%7.1f %3.0f ms  |%s\n", at.Seconds(), 1000*mean(l.delays, at, at+step), strings.TrimRight(string(row), " "))
	}
	return b.String()
}

func TestYieldPlot(t *testing.T) {
	for _, c := range []struct {
		name string
		link link
	}{
		{"other", link{rate: 1.25e6, limit: 1e6, from: 10 * time.Second, to: 25 * time.Second}},
		{"own", link{rate: 0.6e6, limit: 1e6}},
		{"both", link{rate: 0.6e6, limit: 1e6, from: 15 * time.Second, to: 25 * time.Second}},
	} {
		l := c.link
		l.trip, l.buffer, l.jitter = 30*time.Millisecond, 150*time.Millisecond, gauss(3, 1)
		got := "w weir, o the other user, * both\n" + l.run(35*time.Second).plot(35*time.Second, 500*time.Millisecond)
		golden(t, "yield_"+c.name, got)
	}
}

// A longer way is learned within the memory, a shorter one at once.
func TestYieldNewRoute(t *testing.T) {
	l := &link{rate: 1.25e6, trip: 30 * time.Millisecond, buffer: time.Second, limit: 1e6, jitter: gauss(3, 1),
		moved: func(at time.Duration) time.Duration {
			if at > time.Minute {
				return 100 * time.Millisecond
			}
			return 0
		}}
	l.run(12 * time.Minute)
	if s := l.yield.Stats(page.Time(12 * time.Minute)); s.Active || s.Base < 130*time.Millisecond {
		t.Errorf("eleven minutes after the way became longer: %+v", s)
	}
}

// Without answers nothing is known, and the whole limit is used.
func TestYieldBlind(t *testing.T) {
	y := NewYield(YieldConfig{})
	if got := y.Rate(0, 100); got != 100 {
		t.Errorf("rate %v before the first probe, want 100", got)
	}
	if !y.Stats(0).Blind {
		t.Error("sees before the first probe")
	}
	var now page.Time
	next := func() page.Time { now = now.Add(100 * time.Millisecond); return now }
	for range 100 {
		y.Sample(next(), 20*time.Millisecond)
	}
	for range 20 {
		y.Lost(next())
	}
	if got := y.Rate(now, 100); got > 50 {
		t.Errorf("rate %v after two seconds of lost probes, want 50 at most", got)
	}
	for range 100 {
		y.Lost(next())
	}
	if s := y.Stats(now); y.Rate(now, 100) != 100 || !s.Blind || s.Active {
		t.Errorf("rate %v after twelve seconds of lost probes, want 100; %+v", y.Rate(now, 100), s)
	}
	y.Sample(next(), 20*time.Millisecond)
	if s := y.Stats(now); s.Blind {
		t.Errorf("still blind after an answer: %+v", s)
	}
}

// Probes that are out too long are a queue before they are back, but one alone is
// none, and a wait that a quiet link may have says nothing.
func TestYieldWaiting(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		out  []time.Duration
		want bool
	}{
		{"none", nil, false},
		{"one, for long", []time.Duration{900 * ms}, false},
		{"three late ones", []time.Duration{390 * ms, 290 * ms, 190 * ms}, false},
		{"four late ones", []time.Duration{390 * ms, 290 * ms, 190 * ms, 90 * ms}, true},
		{"the fourth is not late yet", []time.Duration{330 * ms, 230 * ms, 130 * ms, 30 * ms}, false},
		{"the fourth is late, a fifth just sent", []time.Duration{401 * ms, 301 * ms, 201 * ms, 101 * ms, ms}, true},
	} {
		y := NewYield(YieldConfig{})
		var now page.Time
		for range 200 {
			now = now.Add(100 * ms)
			y.Sample(now, 20*ms)
		}
		y.Waiting(now, c.out)
		if s := y.Stats(now); s.Active != c.want || (y.Part(now) < 1) != c.want {
			t.Errorf("%s: part %v, %+v", c.name, y.Part(now), s)
		}
		if s := y.Stats(now); s.Delay != 0 {
			t.Errorf("%s: a queue of %v before any is back", c.name, s.Delay)
		}
	}
}

// Silence may be the target's own: half of the limit is kept at first. A late answer
// among the silent ones is a queue, and not ours.
func TestYieldSilence(t *testing.T) {
	const ms = time.Millisecond
	for late, want := range map[bool]float64{false: 0.5, true: 0.01} {
		y := NewYield(YieldConfig{})
		var now page.Time
		for range 200 {
			now = now.Add(100 * ms)
			y.Sample(now, 20*ms)
		}
		if late {
			now = now.Add(100 * ms)
			y.Sample(now, 120*ms)
		}
		out := []time.Duration{390 * ms, 290 * ms, 190 * ms, 90 * ms}
		if late {
			out = out[1:]
		}
		y.Waiting(now.Add(100*ms), out)
		if got := y.Part(now); got != want {
			t.Errorf("a late answer %v: part %v, want %v", late, got, want)
		}
	}
}

// Who stays for two seconds only is not taken for a link slower than the limit: all
// of it is used again soon.
func TestYieldShortVisit(t *testing.T) {
	const from, to = 30 * time.Second, 32 * time.Second
	l := (&link{rate: 1.25e6, trip: 30 * time.Millisecond, buffer: 250 * time.Millisecond, limit: 1e6, jitter: gauss(3, 1), from: from, to: to}).run(time.Minute)
	if up := reach(l.ours, to, func(r float64) bool { return r >= 0.9e6 }); up > 5*time.Second {
		t.Errorf("back after %s", up)
	}
	if s := l.yield.Stats(page.Time(time.Minute)); s.Times != 1 || s.Active {
		t.Errorf("%+v", s)
	}
}

// Whatever the probes say and whenever, the part is one.
func TestYieldPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor := rapid.SampledFrom([]float64{0, 0.01, 0.05, 0.5, 1, -1, math.NaN(), math.Inf(1)}).Draw(t, "floor")
		y := NewYield(YieldConfig{Floor: floor, Target: time.Duration(rapid.Int64Range(-1, 1e9).Draw(t, "target"))})
		var now page.Time
		for range rapid.IntRange(0, 500).Draw(t, "probes") {
			now += page.Time(rapid.OneOf(rapid.Int64Range(-1e9, 1e9), rapid.Just(int64(1e8)), rapid.Just(int64(1e12))).Draw(t, "later"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				y.Lost(now)
			case 1:
				ages := rapid.SliceOfN(rapid.Int64(), 0, 6).Draw(t, "out")
				var out []time.Duration
				for _, age := range ages {
					out = append(out, time.Duration(age))
				}
				y.Waiting(now, out)
			default:
				y.Sample(now, time.Duration(rapid.OneOf(rapid.Int64Range(0, 1e9), rapid.Int64()).Draw(t, "rtt")))
			}
			if p := y.Part(now); !(p >= y.cfg.Floor && p <= 1) {
				t.Fatalf("part %v with a floor of %v", p, y.cfg.Floor)
			}
			if s := y.Stats(now); s.Total < 0 || s.Delay < 0 || s.Noise < 0 || s.Base < 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// golden compares with a file of testdata, or rewrites it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}
