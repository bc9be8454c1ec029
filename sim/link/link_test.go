package link

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const s = 1_000_000_000

func TestSharing(t *testing.T) {
	type flow struct{ speed, bytes float64 }
	for _, c := range []struct {
		name     string
		sharing  Sharing
		capacity float64
		waiting  int // connections that wait for their first byte
		flows    []flow
		rates    []float64
		ends     []int64
	}{
		{"alone at its own speed", MaxMin, 1000, 0, []flow{{100, 200}}, []float64{100}, []int64{2 * s}},
		{"alone at the link's", MaxMin, 100, 0, []flow{{1000, 200}}, []float64{100}, []int64{2 * s}},
		{"no bound", MaxMin, 0, 0, []flow{{1000, 2000}, {10, 10}}, []float64{1000, 10}, []int64{2 * s, 1 * s}},
		{"no bound, written otherwise", Even, math.Inf(1), 5, []flow{{1000, 2000}, {10, 10}}, []float64{1000, 10}, []int64{2 * s, 1 * s}},
		{"what the slow one leaves, the others take", MaxMin, 100, 3, []flow{{10, 100}, {1000, 450}, {1000, 450}}, []float64{10, 45, 45}, []int64{10 * s, 10 * s, 10 * s}},
		{"what the slow one leaves is lost", Even, 90, 0, []flow{{10, 100}, {1000, 300}, {1000, 300}}, []float64{10, 30, 30}, []int64{10 * s, 10 * s, 10 * s}},
		{"waiting connections take a share", Even, 100, 3, []flow{{1000, 100}, {1000, 100}}, []float64{20, 20}, []int64{5 * s, 5 * s}},
		{"one ends, the other speeds up", MaxMin, 100, 0, []flow{{80, 50}, {80, 90}}, []float64{50, 50}, []int64{1 * s, 1.5 * s}},
		{"one ends but stays open", Even, 100, 0, []flow{{80, 50}, {80, 100}}, []float64{50, 50}, []int64{1 * s, 2 * s}},
		{"nothing to send", MaxMin, 100, 0, []flow{{80, 0}}, []float64{80}, []int64{0}},
		{"as fast as can be", MaxMin, 100, 0, []flow{{math.Inf(1), 100}}, []float64{100}, []int64{1 * s}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := len(c.flows)
			l := New(c.capacity, n+c.waiting, c.sharing)
			for i := range n + c.waiting {
				l.Open(0, i)
			}
			sum := 0.0
			for i, f := range c.flows {
				l.Add(0, i, f.speed, f.bytes)
				sum += f.bytes
			}
			for i, want := range c.rates {
				if got := l.rateOf(i); !near(got, want, 1e-9) {
					t.Errorf("flow %d sends at %v, want %v", i, got, want)
				}
			}
			var last int64
			for range n {
				at, flow, ok := l.Next()
				if !ok || at != c.ends[flow] {
					t.Fatalf("flow %d ends at %d, want %d", flow, at, c.ends[flow])
				}
				l.End(at, flow)
				last = at
			}
			if _, _, ok := l.Next(); ok {
				t.Error("somebody sends after all have ended")
			}
			if got := l.Sent(last); !near(got, sum, 1e-6) {
				t.Errorf("carried %v bytes, want %v", got, sum)
			}
		})
	}
}

// Flows that end together end in the order of their numbers, whatever the
// order they began in.
func TestTies(t *testing.T) {
	const n = 50
	for _, sharing := range []Sharing{MaxMin, Even} {
		l := New(1000, n, sharing)
		for i := range n {
			flow := (i*7 + 3) % n
			l.Open(0, flow)
			l.Add(0, flow, 100, 10)
		}
		for want := range n {
			at, flow, _ := l.Next()
			if flow != want {
				t.Fatalf("%v: flow %d ends where %d should", sharing, flow, want)
			}
			l.End(at, flow)
		}
	}
}

func TestCapacityChanges(t *testing.T) {
	l := New(100, 2, MaxMin)
	l.Open(0, 0)
	l.Open(0, 1)
	l.Add(0, 0, 1000, 1000)
	l.Add(0, 1, 20, 1000)
	l.Set(5*s, 520) // 400 and 100 bytes sent; from now on 500 a second for flow 0
	if at, flow, _ := l.Next(); flow != 0 || at != 6.2*s {
		t.Errorf("flow %d ends at %d, want 0 at 6.2 s", flow, at)
	}
	if got := l.leftOf(6*s, 0); !near(got, 100, 1e-9) {
		t.Errorf("flow 0 has %v bytes left at 6 s, want 100", got)
	}
	if got := l.Sent(6 * s); !near(got, 1020, 1e-9) {
		t.Errorf("carried %v at 6 s, want 1020", got)
	}
	l.End(6.2*s, 0)
	if got := l.Rate(); got != 20 {
		t.Errorf("rate %v when only flow 1 sends, want 20", got)
	}
}

// A flow too slow to end before the end of time does not wrap around.
func TestForever(t *testing.T) {
	l := New(0, 1, MaxMin)
	l.Open(0, 0)
	l.Add(0, 0, 1e-9, 1e9)
	if at, _, ok := l.Next(); !ok || at != math.MaxInt64 {
		t.Errorf("ends at %d, want never", at)
	}
}

func TestFaults(t *testing.T) {
	sending := func() *Link {
		l := New(100, 2, MaxMin)
		l.Open(s, 0)
		l.Add(s, 0, 10, 10)
		return l
	}
	for name, fault := range map[string]func(){
		"negative capacity":     func() { New(-1, 1, MaxMin) },
		"capacity not a number": func() { sending().Set(s, math.NaN()) },
		"unknown rule":          func() { New(1, 1, 7) },
		"time runs back":        func() { sending().Open(0, 1) },
		"open twice":            func() { sending().Open(s, 0) },
		"begins while closed":   func() { sending().Add(s, 1, 10, 10) },
		"begins twice":          func() { sending().Add(s, 0, 10, 10) },
		"no speed":              func() { l := sending(); l.Open(s, 1); l.Add(s, 1, 0, 10) },
		"negative bytes":        func() { l := sending(); l.Open(s, 1); l.Add(s, 1, 10, -1) },
		"endless bytes":         func() { l := sending(); l.Open(s, 1); l.Add(s, 1, 10, math.Inf(1)) },
		"ends too early":        func() { sending().End(s, 0) },
		"ends twice":            func() { l := sending(); l.End(2*s, 0); l.End(2*s, 0) },
		"ends while silent":     func() { sending().End(s, 1) },
		"closes while sending":  func() { sending().Close(s, 0) },
		"closes twice":          func() { sending().Close(s, 1) },
		"urgent while closed":   func() { sending().Urge(s, 1, 1) },
		"negative urge":         func() { sending().Urge(s, 0, -1) },
		"urge not a number":     func() { sending().Urge(s, 0, math.NaN()) },
		"changes while silent":  func() { l := sending(); l.Open(s, 1); l.Speed(s, 1, 10) },
		"changes to no speed":   func() { sending().Speed(s, 0, 0) },
		"urgent ends too early": func() { l := sending(); l.Urge(s, 0, 1); l.End(s, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("went unnoticed")
				}
			}()
			fault()
		})
	}
}

// A fast flow ends well after years: times of more than 53 bits are rounded.
func TestYears(t *testing.T) {
	for _, speed := range []float64{1, 20e3, 1e9, 1e12} {
		for _, now := range []int64{3e7 * s, 6e9 * s} {
			for i, sharing := range []Sharing{MaxMin, MaxMin, Even} {
				urge := float64(i % 2)
				l := New(1e12, 2, sharing)
				l.Open(0, 0)
				l.Add(0, 0, 1, float64(now/s)+1e6) // keeps the clocks going
				l.Open(now, 1)
				l.Urge(now, 1, urge)
				l.Add(now, 1, speed, 31_774)
				at, flow, ok := l.Next()
				if !ok || flow != 1 {
					t.Fatalf("flow %d ends first", flow)
				}
				l.End(at, flow)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, want := range []Sharing{MaxMin, Even} {
		if got, err := ParseSharing(want.String()); err != nil || got != want {
			t.Errorf("%v read back as %v, %v", want, got, err)
		}
	}
	if _, err := ParseSharing("fair"); err == nil {
		t.Error("an unknown rule was accepted")
	}
}

// naive fills the link anew at every step, flow by flow.
type naive struct {
	sharing  Sharing
	capacity float64
	now      int64
	open     []bool
	urge     []float64
	speed    []float64 // 0: not sending
	fastest  []float64 // that it was since it began
	left     []float64
	sent     float64
}

func (n *naive) rates() []float64 {
	rates := make([]float64, len(n.speed))
	var order []int
	open := 0
	for i, v := range n.speed {
		if n.open[i] {
			open++
		}
		if v > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(n.urge[b], n.urge[a]), cmp.Compare(n.speed[a], n.speed[b]))
	})
	room := n.capacity
	if room == 0 {
		room = math.Inf(1)
	}
	for k, i := range order {
		if n.sharing == Even {
			rates[i] = min(n.speed[i], room/float64(open))
			continue
		}
		equals := 0
		for _, j := range order[k:] {
			if n.urge[j] == n.urge[i] {
				equals++
			}
		}
		rates[i] = min(n.speed[i], room/float64(equals))
		room -= rates[i]
	}
	return rates
}

func (n *naive) advance(now int64) {
	dt := float64(now-n.now) / s
	for i, r := range n.rates() {
		n.left[i] -= r * dt
		n.sent += r * dt
	}
	n.now = now
}

// slack is how many bytes a flow may be off: times are whole nanoseconds.
func (n *naive) slack(flow int) float64 { return 1e-3 + 2e-9*n.fastest[flow] }

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// Whatever happens on the link, every flow has the rate and the bytes left
// that filling the link flow by flow gives it, ends come in the right order,
// and no byte is lost.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flows := rapid.IntRange(1, 12).Draw(t, "flows")
		capacity := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 1e4), rapid.SampledFrom([]float64{300, 1000, 1e6}))
		// A few equal speeds, some that add up to the capacity, and any.
		speed := rapid.OneOf(rapid.SampledFrom([]float64{100, 200, 100.0 / 3, 1e9}), rapid.Float64Range(1, 5000))
		urge := rapid.OneOf(rapid.SampledFrom([]float64{0, 0, 1, 2}), rapid.Float64Range(0, 10))
		size := rapid.OneOf(rapid.SampledFrom([]float64{0, 100, 200, 1e5}), rapid.Float64Range(0, 1e4))
		n := &naive{
			sharing:  rapid.SampledFrom([]Sharing{MaxMin, Even}).Draw(t, "sharing"),
			capacity: capacity.Draw(t, "capacity"),
			open:     make([]bool, flows),
			urge:     make([]float64, flows),
			speed:    make([]float64, flows),
			fastest:  make([]float64, flows),
			left:     make([]float64, flows),
		}
		l := New(n.capacity, flows, n.sharing)
		given := 0.0
		pick := func(t *rapid.T, ok func(i int) bool) int {
			var from []int
			for i := range flows {
				if ok(i) {
					from = append(from, i)
				}
			}
			if len(from) == 0 {
				t.Skip("no such flow")
			}
			return rapid.SampledFrom(from).Draw(t, "flow")
		}
		end := func(t *rapid.T) {
			at, flow, ok := l.Next()
			if !ok {
				t.Skip("nobody sends")
			}
			n.advance(at)
			for i, left := range n.left {
				if n.speed[i] > 0 && left < -n.slack(i) {
					t.Fatalf("flow %d ends first at %d, but flow %d was done %v bytes before", flow, at, i, -left)
				}
			}
			if n.left[flow] > n.slack(flow) {
				t.Fatalf("flow %d ends with %v bytes left", flow, n.left[flow])
			}
			n.sent += n.left[flow]
			n.speed[flow], n.fastest[flow], n.left[flow] = 0, 0, 0
			l.End(at, flow)
		}
		add := func(t *rapid.T) {
			i := pick(t, func(i int) bool { return n.speed[i] == 0 })
			if !n.open[i] {
				l.Open(n.now, i)
				n.open[i] = true
			}
			n.speed[i], n.left[i] = speed.Draw(t, "speed"), size.Draw(t, "bytes")
			n.fastest[i] = n.speed[i]
			given += n.left[i]
			l.Add(n.now, i, n.speed[i], n.left[i])
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				i := pick(t, func(i int) bool { return !n.open[i] })
				l.Open(n.now, i)
				n.open[i] = true
			},
			"add": add, "add another": add,
			"end": end,
			"close": func(t *rapid.T) {
				i := pick(t, func(i int) bool { return n.open[i] && n.speed[i] == 0 })
				l.Close(n.now, i)
				n.open[i], n.urge[i] = false, 0
			},
			"urge": func(t *rapid.T) {
				i := pick(t, func(i int) bool { return n.open[i] })
				n.urge[i] = urge.Draw(t, "urge")
				l.Urge(n.now, i, n.urge[i])
			},
			"speed": func(t *rapid.T) {
				i := pick(t, func(i int) bool { return n.speed[i] > 0 })
				n.speed[i] = speed.Draw(t, "speed")
				n.fastest[i] = max(n.fastest[i], n.speed[i])
				if left := l.Speed(n.now, i, n.speed[i]); math.Abs(left-max(n.left[i], 0)) > n.slack(i) {
					t.Fatalf("flow %d has %v left as its speed changes, want %v", i, left, n.left[i])
				}
			},
			"wait": func(t *rapid.T) {
				until := n.now + rapid.Int64Range(0, 10*s).Draw(t, "wait")
				if at, _, ok := l.Next(); ok {
					until = min(until, at)
				}
				n.advance(until)
				l.Set(until, n.capacity)
			},
			"set": func(t *rapid.T) {
				n.capacity = capacity.Draw(t, "capacity")
				l.Set(n.now, n.capacity)
			},
			"": func(t *rapid.T) {
				sum, left, slack := 0.0, 0.0, 0.1
				for i, want := range n.rates() {
					if got := l.rateOf(i); !near(got, want, 1e-9) {
						t.Fatalf("flow %d sends at %v, want %v", i, got, want)
					}
					if got := l.leftOf(n.now, i); math.Abs(got-max(n.left[i], 0)) > n.slack(i) {
						t.Fatalf("flow %d has %v left, want %v", i, got, n.left[i])
					}
					sum += want
					left += n.left[i]
					slack += n.slack(i)
				}
				if got := l.Rate(); !near(got, sum, 1e-9) {
					t.Fatalf("the link carries %v a second, its flows %v", got, sum)
				}
				if n.capacity > 0 && l.Rate() > n.capacity*(1+1e-12) {
					t.Fatalf("the link carries %v a second, it has %v", l.Rate(), n.capacity)
				}
				if got := l.Sent(n.now); !near(got, n.sent, 1e-6) || math.Abs(got+left-given) > slack {
					t.Fatalf("carried %v bytes, %v left, of %v", got, left, given)
				}
			},
		})
		for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
			end(t)
		}
		if got := l.Sent(n.now); math.Abs(got-given) > 0.1 {
			t.Fatalf("carried %v bytes of %v", got, given)
		}
	})
}

// leftOf returns how many bytes a flow has still to send at now, if nothing
// happens until then; 0 if it is not sending.
func (l *Link) leftOf(now int64, flow int) float64 {
	g := l.tierOf[flow]
	switch g {
	case none:
		return 0
	case ahead:
		left := l.rush.flows[l.rush.find(flow)].leftAt(now, l.rush.since)
		return min(max(left, 0), l.bytes[flow])
	}
	t := &l.tiers[g]
	left := l.mark[flow] - l.clock(t) - l.product(min(t.speed, l.share), now)
	return min(max(left, 0), l.bytes[flow])
}

// rateOf returns the bytes per second of one flow, 0 if it is not sending.
func (l *Link) rateOf(flow int) float64 {
	g := l.tierOf[flow]
	switch g {
	case none:
		return 0
	case ahead:
		return l.rush.flows[l.rush.find(flow)].rate
	}
	if t := &l.tiers[g]; !t.atLevel {
		return t.speed
	}
	return l.share
}
