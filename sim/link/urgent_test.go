package link

import (
	"math"
	"testing"
)

func TestUrgentFirst(t *testing.T) {
	type flow struct{ urge, speed, bytes float64 }
	for _, c := range []struct {
		name     string
		sharing  Sharing
		capacity float64
		flows    []flow
		rates    []float64
		ends     []int64
	}{
		{"at its own speed, the others have the rest", MaxMin, 100,
			[]flow{{1, 60, 120}, {0, 1000, 90}, {0, 1000, 110}}, []float64{60, 20, 20}, []int64{2 * s, 3 * s, 3.2 * s}},
		{"all of the link, the others wait", MaxMin, 100,
			[]flow{{0, 1000, 100}, {1, 1000, 200}, {0, 10, 5}}, []float64{0, 100, 0}, []int64{3.05 * s, 2 * s, 2.5 * s}},
		{"the most urgent before the others", MaxMin, 100,
			[]flow{{1, 1000, 100}, {3, 60, 60}, {2, 30, 30}, {0, 1000, 100}}, []float64{10, 60, 30, 0}, []int64{1.9 * s, 1 * s, 1 * s, 2.9 * s}},
		{"equals share, a slow one leaves its part", MaxMin, 100,
			[]flow{{1, 10, 10}, {1, 1000, 45}, {1, 1000, 90}, {0, 5, 5}}, []float64{10, 45, 45, 0}, []int64{1 * s, 1 * s, 1.45 * s, 2.45 * s}},
		{"no bound, no difference", MaxMin, 0,
			[]flow{{1, 100, 100}, {0, 100, 200}}, []float64{100, 100}, []int64{1 * s, 2 * s}},
		{"an even split stays even", Even, 100,
			[]flow{{1, 1000, 50}, {0, 1000, 100}}, []float64{50, 50}, []int64{1 * s, 2 * s}},
		{"nothing to send waits for nobody", MaxMin, 100,
			[]flow{{1, 1000, 100}, {0, 1000, 0}}, []float64{100, 0}, []int64{1 * s, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := New(c.capacity, len(c.flows), c.sharing)
			sum := 0.0
			for i, f := range c.flows {
				l.Open(0, i)
				l.Urge(0, i, f.urge)
				l.Add(0, i, f.speed, f.bytes)
				sum += f.bytes
			}
			for i, want := range c.rates {
				if got := l.rateOf(i); !near(got, want, 1e-9) {
					t.Errorf("flow %d sends at %v, want %v", i, got, want)
				}
			}
			for range c.flows {
				at, flow, ok := l.Next()
				if !ok || at != c.ends[flow] {
					t.Fatalf("flow %d ends at %d, want %d", flow, at, c.ends[flow])
				}
				l.End(at, flow)
			}
			if got := l.Sent(l.now); !near(got, sum, 1e-6) {
				t.Errorf("carried %v bytes, want %v", got, sum)
			}
		})
	}
}

// A flow may become urgent while it sends, and be so no longer; a new connection
// is not.
func TestUrgentForAWhile(t *testing.T) {
	l := New(100, 2, MaxMin)
	for i := range 2 {
		l.Open(0, i)
		l.Add(0, i, 80, 200)
	}
	l.Urge(1*s, 0, 7) // 50 each were sent
	l.Urge(2*s, 0, 0) // 130 and 70
	for i, want := range []float64{70, 130} {
		if got := l.leftOf(2*s, i); !near(got, want, 1e-9) {
			t.Errorf("flow %d has %v left after 2 s, want %v", i, got, want)
		}
	}
	if at, flow, _ := l.Next(); at != 3.4*s || flow != 0 {
		t.Errorf("flow %d ends at %d, want 0 at 3.4 s", flow, at)
	}
	l.Urge(2*s, 0, 7)
	at, flow, _ := l.Next()
	l.End(at, flow)
	l.Close(at, flow)
	l.Open(at, flow)
	l.Add(at, flow, 80, 200)
	if got := l.rateOf(flow); got != 50 {
		t.Errorf("a new connection sends at %v, want 50 as the other", got)
	}
}

// A server slows down midway, urgent or not.
func TestSpeedChanges(t *testing.T) {
	for _, urge := range []float64{0, 1} {
		l := New(100, 2, MaxMin)
		for i := range 2 {
			l.Open(0, i)
			l.Urge(0, i, urge)
			l.Add(0, i, 90, 200)
		}
		if left := l.Speed(2*s, 0, 30); !near(left, 100, 1e-9) {
			t.Errorf("urge %v: %v bytes left after 2 s, want 100", urge, left)
		}
		if a, b := l.rateOf(0), l.rateOf(1); a != 30 || b != 70 {
			t.Errorf("urge %v: %v and %v bytes a second, want 30 and 70", urge, a, b)
		}
		for _, want := range []struct {
			flow int
			at   int64
		}{{1, 2*s + whole(100.0/70*s)}, {0, 2*s + whole(100.0/30*s)}} {
			at, flow, _ := l.Next()
			if flow != want.flow || at != want.at {
				t.Errorf("urge %v: flow %d ends at %d, want %d at %d", urge, flow, at, want.flow, want.at)
			}
			l.End(at, flow)
		}
	}
}

// Over a quarter of a million pages, of which a varying part is urgent and whose
// servers change their speed, no byte is lost or made, and the link is full.
func TestMillionUrgentPages(t *testing.T) {
	const flows, capacity = 256, 2e6
	b := newBusy(capacity, flows, MaxMin, 0)
	b.anew = true
	var now int64
	for i := range 250_000 {
		now = b.step()
		if flow := b.random.IntN(flows); i%4 == 0 {
			b.link.Urge(now, flow, float64(b.random.IntN(4)))
		} else if i%4 == 2 && b.link.tierOf[flow] != none {
			b.link.Speed(now, flow, 20e3*math.Exp(b.random.NormFloat64()))
		}
	}
	sent, left, total := b.link.Sent(now), 0.0, 0.0
	for i := range flows {
		left += b.link.leftOf(now, i)
		total += b.link.rateOf(i)
	}
	if math.Abs(sent+left-b.given) > 1 {
		t.Errorf("sent %.3f, left %.3f, of %.3f", sent, left, b.given)
	}
	if full := capacity * float64(now) / second; math.Abs(sent/full-1) > 1e-9 {
		t.Errorf("carried %.3f where %.3f fit", sent, full)
	}
	if !near(total, b.link.Rate(), 1e-9) {
		t.Errorf("rates add up to %v, the link says %v", total, b.link.Rate())
	}
}

// A completion among urgent flows costs what their number asks for; the others
// pay nothing for it.
func BenchmarkUrgent(b *testing.B) {
	for _, c := range []struct {
		name   string
		urgent int
	}{{"none", 0}, {"8", 8}, {"100", 100}, {"all", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			busy := newBusy(1000*20e3, 1000, MaxMin, 0)
			for i := range c.urgent {
				busy.link.Urge(0, i, 1+float64(i%5))
			}
			b.ReportAllocs()
			for b.Loop() {
				busy.step()
			}
		})
	}
}
