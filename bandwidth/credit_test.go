package bandwidth

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/page"
)

// What arrives, drawn: the limit is full from about the first second on and is
// kept, a lower one holds within a second, off means off, and a single server's
// window grows until it fills the limit.
func TestCreditPlot(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		rate float64
		run  func() *model
	}{
		{"uneven", "sixteen connections to uneven servers, 140 KB/s", 140e3, func() *model {
			return newModel(1, 140e3, 16, false, unevenHosts(1, 40, 1)).run(15 * time.Second)
		}},
		{"cut", "forty connections, 1 MB/s, after 8 s a hundredth of it", 1e6, func() *model {
			m := newModel(1, 1e6, 40, false, unevenHosts(1, 80, 4)).run(8 * time.Second)
			m.c.SetLimit(m.now, 10e3)
			return m.run(8 * time.Second)
		}},
		{"single", "one fast server, 60 ms away, 1 MB/s", 1e6, func() *model {
			m := newModel(1, 1e6, 1, false, []modelHost{{rate: 5e6, rtt: 60 * time.Millisecond, think: 10 * time.Millisecond}})
			m.size = func(*rand.Rand) int64 { return 100e6 }
			return m.run(12 * time.Second)
		}},
		{"off", "sixteen connections, 140 KB/s, off from 5 s to 9 s", 140e3, func() *model {
			m := newModel(2, 140e3, 16, false, unevenHosts(2, 40, 1)).run(5 * time.Second)
			m.c.SetLimit(m.now, Off)
			m.run(4 * time.Second)
			m.c.SetLimit(m.now, 140e3)
			return m.run(6 * time.Second)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fmt.Sprintf("%s; # arrived, | the limit\n%s", c.text, c.run().plot(c.rate))
			golden(t, "credit_"+c.name, got)
		})
	}
}

// No second holds much more than the limit, and hardly less is used.
func TestCreditHolds(t *testing.T) {
	for _, c := range []struct {
		limit float64
		conns int
		hosts int
		scale float64
	}{{140e3, 16, 40, 1}, {140e3, 40, 40, 1}, {1e6, 40, 80, 4}, {10e6, 120, 200, 16}} {
		for _, strict := range []bool{false, true} {
			for seed := uint64(1); seed <= 4; seed++ {
				m := newModel(seed, c.limit, c.conns, strict, unevenHosts(seed, c.hosts, c.scale)).run(30 * time.Second)
				mean, worst := m.use(c.limit, 10*time.Second)
				least, most := 0.95, 1.02
				if strict {
					least, most = 0.94, 1.00
				}
				if worst > most || mean < least {
					t.Errorf("%d connections at %s, strict %v, seed %d: %.3f used, %.3f in the worst second",
						c.conns, FormatRate(int64(c.limit)), strict, seed, mean, worst)
				}
				if most := 2*time.Second + toDuration(2*leadMin*float64(c.conns)/c.limit); m.longest > most {
					t.Errorf("%d connections at %s, strict %v, seed %d: one waited for %v",
						c.conns, FormatRate(int64(c.limit)), strict, seed, m.longest)
				}
			}
		}
	}
}

// Lines that take their time leave no room unused: it is asked for when their
// packets will be here, not when they could be.
func TestCreditSlowLines(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		hosts := unevenHosts(seed, 40, 1)
		for i := range hosts {
			hosts[i].paced = false
		}
		m := newModel(seed, 140e3, 40, false, hosts).run(90 * time.Second)
		if mean, worst := m.use(140e3, 30*time.Second); mean < 0.975 || worst > 1.02 {
			t.Errorf("seed %d: %.4f used, %.4f in the worst second", seed, mean, worst)
		}
	}
}

// Packets that hold less, over IPv6 or a line that takes some of them, are learned,
// and the limit is kept as well as with others.
func TestCreditSmallerPackets(t *testing.T) {
	for _, c := range []struct {
		segment int64
		least   float64
	}{{1440, 0.96}, {1428, 0.96}, {1220, 0.85}} {
		for _, conns := range []int{16, 40} {
			m := newModel(1, 140e3, conns, false, unevenHosts(1, 40, 1))
			m.segment = c.segment
			m.run(90 * time.Second)
			if mean, worst := m.use(140e3, 30*time.Second); mean < c.least || worst > 1.02 {
				t.Errorf("packets of %d, %d connections: %.4f used, %.4f in the worst second", c.segment, conns, mean, worst)
			}
		}
	}
}

// A server that was slow the last time may be quick: the packets of its first window
// find room though they all come at once.
func TestCreditQuickerThanBefore(t *testing.T) {
	for _, limit := range []float64{140e3, 1e6} {
		hosts := make([]modelHost, 200)
		for i := range hosts {
			hosts[i] = modelHost{rate: 5e6, rtt: time.Duration(20+i) * time.Millisecond, think: 20 * time.Millisecond}
		}
		m := newModel(1, limit, 60, false, hosts)
		m.size = func(*rand.Rand) int64 { return 6000 }
		for range 600 {
			for i := range m.hosts {
				m.hosts[i].habit = Habit{Think: 20 * time.Millisecond, Speed: 2e3, Echo: -1}
			}
			m.run(100 * time.Millisecond)
		}
		if mean, worst := m.use(limit, 30*time.Second); worst > 1.15 || mean < 0.9 {
			t.Errorf("%s: %.3f used, %.3f in the worst second", FormatRate(int64(limit)), mean, worst)
		}
	}
}

// Packets of many servers that are overdue do not come all at once, and do not keep
// the link from others.
func TestCreditManyOverdue(t *testing.T) {
	hosts := make([]modelHost, 60)
	for i := range hosts {
		hosts[i] = modelHost{rate: 4e3, rtt: time.Duration(20+4*i) * time.Millisecond, think: 20 * time.Millisecond, paced: true}
	}
	m := newModel(1, 140e3, 60, false, hosts).run(90 * time.Second)
	if mean, worst := m.use(140e3, 30*time.Second); mean < 0.85 || worst > 1.02 {
		t.Errorf("%.3f used, %.3f in the worst second", mean, worst)
	}
}

// A limit of a few packets a second is kept over its longer spans, and pages
// come all the same.
func TestCreditTiny(t *testing.T) {
	for _, limit := range []float64{Packet, 3000} {
		span := time.Duration(spanFull * Packet / limit * float64(time.Second))
		for _, conns := range []int{1, 8} {
			for _, strict := range []bool{false, true} {
				m := newModel(1, limit, conns, strict, unevenHosts(1, 40, 1)).run(14 * span)
				for from := span; from+10*span <= 14*span; from += span {
					if part := m.came(from, from+10*span) / limit / (10 * span).Seconds(); part > 1.3 || part < 0.5 {
						t.Errorf("%s, %d connections, strict %v: %.2f of the limit in the ten spans after %v",
							FormatRate(int64(limit)), conns, strict, part, from)
					}
				}
				if m.longest > 3*span*time.Duration(conns) {
					t.Errorf("%s, %d connections, strict %v: one waited for %v", FormatRate(int64(limit)), conns, strict, m.longest)
				}
			}
		}
	}
}

// A lower limit holds within a second, whatever was promised before.
func TestCreditCut(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		for _, limit := range []float64{140e3, 1e6} {
			m := newModel(seed, limit, 40, false, unevenHosts(seed, 80, limit/250e3)).run(8 * time.Second)
			m.c.SetLimit(m.now, int64(limit/100))
			m.run(12 * time.Second)
			if first := m.came(8*time.Second, 9*time.Second); first > limit {
				t.Errorf("%s, seed %d: %.2f of the old limit in the first second", FormatRate(int64(limit)), seed, first/limit)
			}
			if rest := m.came(9*time.Second, 20*time.Second) / 11; rest > 1.5*limit/100 {
				t.Errorf("%s, seed %d: %.2f of the new limit after a second", FormatRate(int64(limit)), seed, rest/limit*100)
			}
		}
	}
}

// Near servers have their turn among distant ones, whose bytes are booked long
// before they come.
func TestCreditNearAmongDistant(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		var hosts []modelHost
		for range 6 {
			hosts = append(hosts, modelHost{rate: 1e6, rtt: 5 * time.Millisecond, think: time.Millisecond})
		}
		for range 30 {
			hosts = append(hosts, modelHost{rate: 1e6, rtt: 450 * time.Millisecond, think: 50 * time.Millisecond})
		}
		m := newModel(seed, 140e3, len(hosts), false, hosts)
		m.size = func(*rand.Rand) int64 { return 100e6 }
		m.run(40 * time.Second)
		if m.longest > 20*time.Second {
			t.Errorf("seed %d: one waited for %v", seed, m.longest)
		}
		near, far := 0.0, 0.0
		for _, k := range m.conns {
			if k.got == 0 {
				t.Errorf("seed %d: nothing came from a server %v away", seed, k.host.rtt)
			}
			if k.host.rtt < 100*time.Millisecond {
				near += float64(k.got) / 6
			} else {
				far += float64(k.got) / 30
			}
		}
		if near < far/3 || far < near/3 {
			t.Errorf("seed %d: near servers sent %.0f bytes each, distant ones %.0f", seed, near, far)
		}
	}
}

// plenty are many packets.
const plenty = 700 * mss

// waiting is a Credit after its first uncertain seconds with flows that each
// have read the beginning of a long answer and wait for more.
func waiting(limit int64, n int) (*Credit, []*Flow, page.Time) {
	c := NewCredit(CreditConfig{Limit: limit})
	now := page.Time(time.Minute)
	c.Charge(0, 1) // so that it is not young
	flows := make([]*Flow, n)
	for i := range flows {
		flows[i] = c.Open(now, c.Window(), 52, Habit{Think: time.Millisecond, Speed: 1e6})
		flows[i].Seen(now, Sample{RTT: 20 * time.Millisecond, Window: -1})
		flows[i].Took(1)
		flows[i].busy = true
		flows[i].Want(plenty)
	}
	return c, flows, now
}

func TestCreditOff(t *testing.T) {
	c, flows, now := waiting(Off, 8)
	flows[0].Ask()
	flows[1].Ask()
	flows[1].asks = false // granted before: nothing of its answer was read yet
	c.Charge(now, 1000)
	for range 5000 {
		now = now.Add(4 * time.Millisecond)
		if g := c.Tick(now); len(g) > 0 {
			t.Fatalf("%d bytes and a window of %d were granted", g[0].Bytes, g[0].Window)
		}
	}
	if w := c.Wire(now); w.Limit != 0 || w.Idle != 0 {
		t.Errorf("%+v", w)
	}
	c.SetLimit(now, 1e6)
	if len(c.Tick(now.Add(time.Millisecond))) == 0 {
		t.Error("nothing is granted after it was switched on")
	}
}

func TestCreditUnlimited(t *testing.T) {
	c, flows, now := waiting(Unlimited, 50)
	flows[0].Ask()
	for round := range 3 {
		if g := c.Tick(now); len(g) != len(flows) {
			t.Fatalf("round %d: %d of %d may go on", round, len(g), len(flows))
		}
		for _, f := range flows {
			if !f.Free() {
				t.Error("a flow is not free")
			}
			f.Took(plenty)
			f.Want(plenty)
		}
		c.Charge(now, 1e9) // what came before counts for nothing
	}
}

// The most urgent is served first, and before all others.
func TestCreditUrge(t *testing.T) {
	c, flows, now := waiting(140e3, 6)
	urges := []float64{0, 2, 0, 5, 0, 3}
	for i, f := range flows {
		f.Urge(urges[i])
	}
	order := map[float64]int{}
	served := map[*Flow]int{}
	for round := range 200 {
		last := -1.0
		for _, g := range c.Tick(now) {
			if last >= 0 && g.Flow.urge > last {
				t.Fatalf("round %d: urge %v was served after %v", round, g.Flow.urge, last)
			}
			last = g.Flow.urge
			served[g.Flow] += g.Bytes
			order[g.Flow.urge] += g.Bytes
			g.Flow.Took(g.Bytes)
			// What is granted comes at once, and more waits.
			g.Flow.Seen(now, Sample{Payload: g.Flow.received + int64(g.Bytes), Wire: g.Flow.wire + int64(g.Bytes) + 52, Window: -1})
		}
		for _, f := range flows {
			f.Want(plenty)
		}
		now = now.Add(4 * time.Millisecond)
	}
	if order[5] == 0 || order[5] < order[3] || order[3] < order[2] || order[2] < order[0]/3 {
		t.Errorf("bytes by urge: %v", order)
	}
}

// Flows of the same urgency have had about as much.
func TestCreditEven(t *testing.T) {
	for _, limit := range []int64{140e3, 1e6, 10e6} {
		c, flows, now := waiting(limit, 7)
		for i, f := range flows {
			f.Seen(now, Sample{RTT: time.Duration(1+i*70) * time.Millisecond, Window: -1})
		}
		bound := 2 * max(leadMin, int64(float64(limit)*leadTime.Seconds())/7)
		for round := range 2000 {
			for _, g := range c.Tick(now) {
				g.Flow.Took(g.Bytes)
			}
			least, most := flows[0].had[0], flows[0].had[0]
			for _, f := range flows {
				// It comes when it is due.
				if len(f.ahead) > 0 && f.ahead[0].slot <= c.slotNo {
					n := int64(f.ahead[0].bytes)
					f.Seen(now, Sample{Payload: f.received + n, Wire: f.wire + n*27/26, Window: -1})
				}
				f.Want(plenty)
				least, most = min(least, f.had[0]), max(most, f.had[0])
			}
			if most-least > bound {
				t.Fatalf("%s, round %d: one has had %d bytes, another %d", FormatRate(limit), round, most, least)
			}
			now = now.Add(4 * time.Millisecond)
		}
		if flows[0].had[0] < limit/20 {
			t.Errorf("%s: %d bytes in 8 s for each of seven", FormatRate(limit), flows[0].had[0])
		}
	}
}
