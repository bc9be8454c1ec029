package link

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// busy keeps every flow of a link sending: each that ends begins anew, with a
// drawn size and, unless all sites are equal, a drawn speed.
type busy struct {
	link   *Link
	random *rand.Rand
	speed  float64 // of all; 0: log-normal, median 20 kB/s
	given  float64 // bytes
	anew   bool    // a connection for every page
}

func newBusy(capacity float64, flows int, sharing Sharing, speed float64) *busy {
	b := &busy{link: New(capacity, flows, sharing), random: rand.New(rand.NewPCG(1, 2)), speed: speed}
	for i := range flows {
		b.link.Open(0, i)
		b.begin(0, i)
	}
	return b
}

func (b *busy) begin(now int64, flow int) {
	speed := b.speed
	if speed == 0 {
		speed = 20e3 * math.Exp(b.random.NormFloat64())
	}
	bytes := math.Exp(9 + 1.44*b.random.NormFloat64())
	b.given += bytes
	b.link.Add(now, flow, speed, bytes)
}

func (b *busy) step() int64 {
	at, flow, _ := b.link.Next()
	b.link.End(at, flow)
	if b.anew {
		b.link.Close(at, flow)
		b.link.Open(at, flow)
	}
	b.begin(at, flow)
	return at
}

// Over a million pages, a quarter on each link, no byte is lost or made, and a link that is wanted in
// full is used in full.
func TestMillionPages(t *testing.T) {
	for _, c := range []struct {
		sharing  Sharing
		capacity float64
		speed    float64
	}{
		{MaxMin, 200e3, 0},
		{MaxMin, 5e6, 0},
		{MaxMin, 255.5 * 20e3, 20e3},
		{Even, 5e6, 0},
	} {
		b := newBusy(c.capacity, 256, c.sharing, c.speed)
		var now int64
		for range 250_000 {
			now = b.step()
		}
		sent, left := b.link.Sent(now), 0.0
		for i := range 256 {
			left += b.link.leftOf(now, i)
		}
		if math.Abs(sent+left-b.given) > 1 {
			t.Errorf("%v of %v: sent %.3f, left %.3f, of %.3f", c.sharing, c.capacity, sent, left, b.given)
		}
		if full := c.capacity * float64(now) / second; c.sharing == MaxMin && c.capacity == 200e3 && math.Abs(sent/full-1) > 1e-9 {
			t.Errorf("carried %.3f where %.3f fit", sent, full)
		}
		total := 0.0
		for i := range 256 {
			total += b.link.rateOf(i)
		}
		if !near(total, b.link.Rate(), 1e-9) {
			t.Errorf("%v of %v: rates add up to %v, the link says %v", c.sharing, c.capacity, total, b.link.Rate())
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, speed := range []float64{0, 20e3} {
		b := newBusy(3e6, 256, MaxMin, speed)
		step := func() {
			for range 1000 {
				b.step()
			}
		}
		for range 100 {
			step()
		}
		if n := testing.AllocsPerRun(100, step); n != 0 {
			t.Errorf("%v allocations in 1000 completions", n)
		}
	}
}

// A completion costs about as much for a thousand flows as for a few, with the
// level among the speeds and with all speeds equal and the level next to them.
func BenchmarkCompletion(b *testing.B) {
	for _, flows := range []int{64, 256, 1000} {
		n := float64(flows)
		for _, c := range []struct {
			name     string
			sharing  Sharing
			capacity float64
			speed    float64
		}{
			{"maxmin/scarce", MaxMin, 200e3, 0},
			{"maxmin/ample", MaxMin, n * 20e3, 0},
			{"maxmin/equal", MaxMin, (n - 0.5) * 20e3, 20e3},
			{"even/scarce", Even, 200e3, 0},
			{"even/ample", Even, n * 20e3, 0},
			{"even/anew", Even, n * 20e3, 0},
		} {
			b.Run(fmt.Sprintf("%s/r=%d", c.name, flows), func(b *testing.B) {
				busy := newBusy(c.capacity, flows, c.sharing, c.speed)
				busy.anew = c.name == "even/anew"
				b.ReportAllocs()
				for b.Loop() {
					busy.step()
				}
			})
		}
	}
}
