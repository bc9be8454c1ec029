package bandwidth

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// contest is a model of downloads without end, one from every host, the first few
// of which may be urgent.
type contest struct {
	*model
	limit float64
	flows []*modelConn // in the order of the hosts
}

func newContest(limit float64, hosts ...[]modelHost) *contest {
	var all []modelHost
	for _, hs := range hosts {
		all = append(all, hs...)
	}
	c := &contest{model: newModel(1, limit, len(all), false, all), limit: limit, flows: make([]*modelConn, len(all))}
	c.size = func(*rand.Rand) int64 { return 1e12 }
	c.run(time.Millisecond) // lets all begin
	for i := range c.hosts {
		for _, k := range c.conns {
			if k.host == &c.hosts[i] {
				c.flows[i] = k
			}
		}
	}
	return c
}

func (c *contest) urge(urges ...float64) *contest {
	for i, u := range urges {
		c.flows[i].flow.Urge(u)
	}
	return c
}

// rates is what came from each host, in bytes a second, while time passes.
func (c *contest) rates(d time.Duration) []float64 {
	rates := make([]float64, len(c.flows))
	for i, k := range c.flows {
		rates[i] = -float64(k.got)
	}
	c.run(d)
	for i, k := range c.flows {
		rates[i] = (rates[i] + float64(k.got)) / d.Seconds()
	}
	return rates
}

func alike(n int, rate float64, rtt time.Duration) []modelHost {
	hs := make([]modelHost, n)
	for i := range hs {
		hs[i] = modelHost{rate: rate, rtt: rtt, think: 10 * time.Millisecond}
	}
	return hs
}

// Urgent servers send as fast as they do alone, or nearly, wherever they and the
// others are; the others fill the limit, and no second holds more.
func TestUrgentAtTheirOwnSpeed(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		limit  float64
		urgent []modelHost
		others []modelHost
		share  float64 // of what they have alone
		use    float64 // of the limit
	}{
		{"near among near", 1e6, alike(3, 200e3, ms), alike(12, 5e6, ms), 0.97, 0.95},
		{"near among distant", 140e3, alike(1, 50e3, 5*ms), alike(20, 1e6, 450*ms), 0.7, 0.8},
		{"distant among near", 140e3, alike(1, 50e3, 300*ms), alike(20, 1e6, 5*ms), 0.97, 0.95},
		{"one among uneven", 140e3, alike(1, 50e3, 60*ms), unevenHosts(1, 40, 1), 0.95, 0.93},
		{"faster than the limit", 140e3, alike(1, 1e6, 60*ms), unevenHosts(1, 40, 1), 0.95, 0.93},
		{"near and faster than the limit", 1e6, alike(1, 5e6, 2*ms), unevenHosts(1, 80, 4), 0.6, 0.95},
		{"several", 1e6, alike(3, 200e3, 100*ms), unevenHosts(1, 80, 4), 0.97, 0.93},
		{"many", 10e6, alike(12, 500e3, 200*ms), unevenHosts(1, 120, 16), 0.95, 0.95},
	} {
		t.Run(c.name, func(t *testing.T) {
			urges := make([]float64, len(c.urgent))
			for i := range urges {
				urges[i] = 1
			}
			alone := newContest(c.limit, c.urgent)
			alone.run(10 * time.Second)
			want := alone.rates(15 * time.Second)
			among := newContest(c.limit, c.urgent, c.others).urge(urges...)
			among.run(10 * time.Second)
			got := among.rates(15 * time.Second)
			for i := range c.urgent {
				if got[i] < c.share*want[i] {
					t.Errorf("%.0f bytes a second came from urgent server %d, alone %.0f", got[i], i, want[i])
				}
			}
			mean, worst := among.use(c.limit, 10*time.Second)
			if mean < c.use || worst > 1.06 {
				t.Errorf("%.3f of the limit was used, %.3f in the worst second", mean, worst)
			}
		})
	}
}

// Where the limit is too small for all who are urgent, the more urgent come first
// and equals have as much. The servers pace themselves: where lines take their time
// for each packet, a window that was widened earlier brings more than another.
func TestUrgentInOrder(t *testing.T) {
	hosts, others := alike(5, 150e3, 40*time.Millisecond), alike(10, 1e6, 80*time.Millisecond)
	for _, hs := range [][]modelHost{hosts, others} {
		for i := range hs {
			hs[i].paced = true
		}
	}
	c := newContest(300e3, hosts, others).urge(1, 3, 1, 2, 0)
	c.run(10 * time.Second)
	r := c.rates(20 * time.Second)
	if r[1] < 140e3 || r[3] < 90e3 || r[0]+r[2] > 50e3 {
		t.Errorf("bytes a second of urges 3, 2, 1 and 1: %.0f, %.0f, %.0f, %.0f", r[1], r[3], r[0], r[2])
	}
	c.urge(1, 1, 1, 1)
	c.run(5 * time.Second)
	r = c.rates(20 * time.Second)
	for _, v := range r[:4] {
		if math.Abs(v/r[0]-1) > 0.15 {
			t.Errorf("bytes a second of four equals: %.0f", r[:4])
			break
		}
	}
}

// A server that is urgent and sends nothing, or little, leaves the link to others.
func TestUrgentWaitsForItsServer(t *testing.T) {
	const ms = time.Millisecond
	for name, slow := range map[string]modelHost{
		"it drips":           {rate: 1e3, rtt: 50 * ms, think: 10 * ms},
		"it thinks for long": {rate: 1e6, rtt: 50 * ms, think: time.Hour},
	} {
		for _, rtt := range []time.Duration{5 * ms, 100 * ms, 300 * ms} {
			use := func(urge float64) float64 {
				c := newContest(1e6, []modelHost{slow}, alike(40, 400e3, rtt)).urge(urge)
				c.run(25 * time.Second)
				mean, _ := c.use(1e6, 10*time.Second)
				return mean
			}
			if with, without := use(1), use(0); with < without-0.02 {
				t.Errorf("%s, others %v away: %.3f of the limit was used, %.3f were it not urgent", name, rtt, with, without)
			}
		}
	}
	// One that falls silent in the middle of its answer, too.
	c := newContest(1e6, alike(1, 300e3, 50*ms), alike(40, 400e3, 100*ms)).urge(1)
	c.run(10 * time.Second)
	c.hosts[0].rate = 1e-3
	c.run(15 * time.Second)
	if mean, _ := c.use(1e6, 11*time.Second); mean < 0.95 {
		t.Errorf("%.3f of the limit was used after an urgent server fell silent", mean)
	}
}

// One that was urgent is afterwards one of many: it neither waits until the others
// have had as much as it had, nor do they.
func TestUrgentNoLonger(t *testing.T) {
	const limit, n = 300e3, 6
	c := newContest(limit, alike(n, 1e6, 40*time.Millisecond)).urge(1)
	c.run(5 * time.Second)
	if r := c.rates(10 * time.Second); r[0] < limit/2 {
		t.Fatalf("%.0f bytes a second while it was urgent", r[0])
	}
	c.urge(0)
	fair := limit / n
	for range 4 {
		for i, v := range c.rates(3 * time.Second) {
			if v < fair/2 || v > fair*3/2 {
				t.Errorf("flow %d has %.0f bytes a second where %.0f are its part", i, v, fair)
			}
		}
	}
	// The same for those who come to be urgent after others were for long.
	c.urge(1)
	c.run(10 * time.Second)
	c.urge(1, 1)
	c.run(2 * time.Second)
	if r := c.rates(4 * time.Second); r[0] < r[1]/2 || r[1] < r[0]/2 {
		t.Errorf("one that has been urgent for long has %.0f bytes a second, a new one %.0f", r[0], r[1])
	}
}

// The limit holds, and is used, when many are urgent and when who is so changes all
// the time.
func TestUrgentHolds(t *testing.T) {
	for _, c := range []struct {
		limit float64
		conns int
		hosts int
		scale float64
	}{{140e3, 16, 40, 1}, {140e3, 40, 40, 1}, {1e6, 40, 80, 4}} {
		for _, flip := range []bool{false, true} {
			for seed := uint64(1); seed <= 2; seed++ {
				m := newModel(seed, c.limit, c.conns, false, unevenHosts(seed, c.hosts, c.scale))
				urges := map[*modelHost]float64{}
				for range 30 * 20 {
					m.run(50 * time.Millisecond)
					for i := range m.hosts {
						switch {
						case flip && m.rnd.IntN(3) == 0:
							urges[&m.hosts[i]] = m.rnd.Float64()
						case flip:
							urges[&m.hosts[i]] = 0
						case i%5 == 0:
							urges[&m.hosts[i]] = float64(1 + i)
						}
					}
					for _, k := range m.conns {
						if k.flow != nil {
							k.flow.Urge(urges[k.host])
						}
					}
				}
				if mean, worst := m.use(c.limit, 10*time.Second); mean < 0.88 || worst > 1.06 {
					t.Errorf("%d connections at %s, changing %v, seed %d: %.3f used, %.3f in the worst second",
						c.conns, FormatRate(int64(c.limit)), flip, seed, mean, worst)
				}
			}
		}
	}
}

// Those who are not urgent stay even among themselves.
func TestOthersStayEven(t *testing.T) {
	c := newContest(300e3, alike(1, 100e3, 40*time.Millisecond), alike(8, 1e6, 40*time.Millisecond)).urge(1)
	c.run(5 * time.Second)
	r := c.rates(20 * time.Second)
	for _, v := range r[1:] {
		if math.Abs(v/(190e3/8)-1) > 0.3 {
			t.Errorf("bytes a second of the urgent one and eight others: %.0f", r)
			break
		}
	}
}

// An urge is more than nothing or it is none.
func TestUrgeIsPositive(t *testing.T) {
	_, flows, _ := waiting(140e3, 1)
	for _, lag := range []float64{-1, 0, math.NaN(), math.Inf(-1)} {
		if flows[0].Urge(lag); flows[0].urge != 0 {
			t.Errorf("an urge of %v counts as %v", lag, flows[0].urge)
		}
	}
}

// An urgent flow is given as many packets as there is room for, found without
// trying them all.
func TestMostPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCredit(CreditConfig{Limit: rapid.Int64Range(20e3, 50e6).Draw(t, "limit")})
		c.advance(1)
		c.bound = rapid.Float64Range(0, 1).Draw(t, "bound") * c.room
		for i := range c.level {
			c.level[i] = rapid.Float64Range(0.9, 1).Draw(t, "level") * c.bound
		}
		f := c.Open(1, 2*segment, 78, Habit{})
		f.received = rapid.Int64Range(0, 1<<20).Draw(t, "received")
		f.read = rapid.Int64Range(0, f.received).Draw(t, "read")
		f.wants = rapid.IntRange(1, 1<<20).Draw(t, "wants")
		f.kept = rapid.IntRange(0, mss).Draw(t, "kept")
		f.window = rapid.IntRange(2, 41).Draw(t, "window") * segment
		f.shrunk, f.wide = rapid.Bool().Draw(t, "shrunk"), rapid.Bool().Draw(t, "wide")
		before := *f
		want := 0
		for n := f.packetsIn(f.wants); n > 0 && want == 0; n-- {
			if _, _, brings := f.reads(n); c.bears(f, brings) {
				want = n
			}
		}
		if got := c.most(f); got != want || f.shrunk != before.shrunk || f.wide != before.wide {
			t.Errorf("%d packets, there is room for %d", got, want)
		}
	})
}
