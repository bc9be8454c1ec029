package bandwidth

import (
	"math/rand/v2"
	"testing"
	"time"

	"weir/page"
)

// Moments in which the network stands still, or the receiver, or both, bring no second
// far over the limit: nobody is taken for slow because of them, and servers that send
// packets again are foreseen.
func TestCreditStill(t *testing.T) {
	t.Parallel()
	const limit, lasts = 140e3, 250 * time.Millisecond
	for _, who := range []struct {
		name              string
		network, receiver bool
	}{{"the network", true, false}, {"the receiver", false, true}, {"all", true, true}} {
		above, used := 0, 0.0
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 77))
			m := newModel(seed+1, limit, 40, false, unevenHosts(seed+1, 40, 1))
			var begin page.Time
			m.still = func(now page.Time) (network, receiver bool) {
				if now > begin.Add(time.Second) {
					begin = now.Add(time.Duration(300+r.IntN(2500)) * time.Millisecond)
				}
				in := now >= begin && now < begin.Add(lasts)
				return in && who.network, in && who.receiver
			}
			mean, worst := m.run(100*time.Second).use(limit, 20*time.Second)
			if used += mean / 6; worst > 1.02 {
				above++
				t.Logf("%s, seed %d: %.3f in the worst second", who.name, seed, worst)
			}
		}
		if above > 1 || used < 0.92 { // a tenth of the time is lost
			t.Errorf("%s: %d of 6 runs have a second above 1.02 of the limit, %.4f used", who.name, above, used)
		}
	}
}

// calmly is a Credit with a few flows whose servers send a packet every 100 ms, and what
// tells them of another one.
func calmly(t *testing.T, flows int) (c *Credit, now page.Time, all []*Flow, packet func(*Flow, page.Time)) {
	t.Helper()
	c, now = NewCredit(CreditConfig{Limit: 140e3}), page.Time(time.Hour)
	samples := map[*Flow]*Sample{}
	packet = func(f *Flow, now page.Time) {
		s := samples[f]
		s.Payload += mss
		s.Wire += Packet
		f.Seen(now, *s)
	}
	for range flows {
		f := c.Open(now, 2*segment, modelHeader, Habit{})
		samples[f] = &Sample{RTT: 20 * time.Millisecond, Window: -1}
		f.Seen(now, *samples[f])
		f.Ask()
		all = append(all, f)
	}
	for i := range 600 {
		if i%20 == 19 {
			for _, f := range all {
				packet(f, now)
				f.Want(mss)
			}
		}
		for _, g := range c.Tick(now) {
			if g.Bytes > 0 {
				g.Flow.Took(g.Bytes)
			}
		}
		now = now.Add(5 * time.Millisecond)
	}
	for _, f := range all {
		if f.speed < 10e3 || f.speed > 20e3 {
			t.Fatalf("a server of 14.5 KB/s is thought to send %.0f bytes a second", f.speed)
		}
	}
	return c, now, all, packet
}

// A time in which nobody looked tells nothing about servers, nor does one in which nothing
// came from anybody; one in which others were heard does.
func TestFlowStill(t *testing.T) {
	const pause = 400 * time.Millisecond
	for _, c := range []struct {
		name   string
		ticks  bool
		others bool // are heard meanwhile
		slower bool
	}{
		{"nobody looks", false, false, false},
		{"nothing comes", true, false, false},
		{"others are heard", true, true, true},
	} {
		credit, now, all, packet := calmly(t, 8)
		f, had := all[0], all[0].speed
		for end := now.Add(pause); now < end; now = now.Add(5 * time.Millisecond) {
			if c.others && end.Sub(now)%(50*time.Millisecond) == 0 {
				for _, g := range all[1:] {
					packet(g, now)
				}
			}
			if c.ticks {
				credit.Tick(now)
			}
		}
		packet(f, now)
		if slower := f.speed < had; slower != c.slower {
			t.Errorf("%s: a server of %.0f bytes a second is thought to send %.0f", c.name, had, f.speed)
		}
		if lost := now < f.lost; lost != (c.ticks && !c.others) {
			t.Errorf("%s: a packet that comes again is foreseen: %v", c.name, lost)
		}
		if f.lost > now.Add(f.rtt+lostWithin) {
			t.Errorf("%s: it is foreseen for %v", c.name, f.lost.Sub(now))
		}
		f.Seen(now, Sample{Payload: f.received, Wire: f.wire + Packet, Vain: mss, RTT: f.rtt, Window: -1})
		if now < f.lost {
			t.Errorf("%s: it has come, and is foreseen nevertheless", c.name)
		}
	}
}

// Nor does the speed of a server that nobody knows become known by such a time.
func TestFlowStillUnknown(t *testing.T) {
	const ms = time.Millisecond
	for _, looked := range []bool{false, true} {
		c, now := NewCredit(CreditConfig{Limit: 140e3}), page.Time(time.Hour)
		f := c.Open(now, 2*segment, modelHeader, Habit{})
		s := Sample{RTT: 20 * ms, Window: -1}
		f.Seen(now, s)
		f.Ask()
		wait := func(d time.Duration, looked bool) {
			for end := now.Add(d); now < end; now = now.Add(5 * ms) {
				if looked {
					c.Tick(now)
				}
			}
			s.Payload += mss
			s.Wire += Packet
			f.Seen(now, s)
		}
		wait(40*ms, true)
		wait(280*ms, looked)
		if known := f.speed > 0; known != looked {
			t.Errorf("looked at: %v, %.0f bytes a second", looked, f.speed)
		}
	}
}

// A moment in which the network stands still costs no more than itself, however many
// servers have fallen silent for good: what they may send again is not what makes the link
// silent, and nothing is expected of them any more.
func TestCreditStillHung(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	hung := alike(150, 1e6, 100*ms)
	for i := range hung {
		hung[i].think = time.Hour
	}
	c := newContest(140e3, alike(20, 1e6, 40*ms), hung)
	var from page.Time
	c.still = func(now page.Time) (network, receiver bool) {
		return from > 0 && now >= from && now < from.Add(150*ms), false
	}
	c.run(60 * time.Second)
	from = c.now
	c.run(4 * time.Second)
	if before, after := c.came(56*time.Second, 60*time.Second), c.came(60*time.Second, 64*time.Second); after < 0.9*before {
		t.Errorf("%.0f bytes in 4 s, and %.0f in those that begin with a moment of 150 ms", before, after)
	}
}

// Under a limit of a few packets a second it is nothing unusual that none comes for a
// while: servers that have fallen silent are given up as they are under another one.
func TestCreditTinyHung(t *testing.T) {
	t.Parallel()
	const limit = 5e3
	hung := alike(6, 1e6, 100*time.Millisecond)
	for i := range hung {
		hung[i].think = time.Hour
	}
	c := newContest(limit, alike(4, 1e6, 40*time.Millisecond), hung)
	c.run(90 * time.Second)
	if used := c.came(30*time.Second, 90*time.Second) / (60 * limit); used < 0.9 {
		t.Errorf("%.3f used", used)
	}
	if n := len(c.c.still.lately); n > 0 || c.c.still.silent {
		t.Errorf("the link stood still %d times", n)
	}
}

// How long a server thinks is not learned from a time in which nobody looked, unless it is
// quicker than was known.
func TestFlowThinksWhileStill(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ known, takes, want time.Duration }{{30 * ms, 300 * ms, 30 * ms}, {500 * ms, 300 * ms, 300 * ms}} {
		credit, now := NewCredit(CreditConfig{Limit: 140e3}), page.Time(time.Hour)
		f := credit.Open(now, 2*segment, modelHeader, Habit{Think: c.known})
		f.Seen(now, Sample{RTT: 20 * ms, Window: -1})
		f.Ask()
		credit.Tick(now)
		f.Seen(now.Add(20*ms+c.takes), Sample{Payload: 500, Wire: 552, RTT: 20 * ms, Window: -1})
		if h, _ := f.Habit(); h.Think != c.want {
			t.Errorf("known %v, took %v: %v", c.known, c.takes, h.Think)
		}
	}
}

// Pauses that touch are one, and of the time that is asked about only what they have of it
// counts.
func TestCreditStood(t *testing.T) {
	const ms = time.Millisecond
	c, at := NewCredit(CreditConfig{Limit: 140e3}), func(d time.Duration) page.Time { return page.Time(time.Hour + d) }
	for _, d := range []time.Duration{0, 5 * ms, 105 * ms, 110 * ms, 115 * ms, 215 * ms, 300 * ms, 305 * ms} { // unseen: 5 to 105, 115 to 215 and to 300
		c.Tick(at(d))
	}
	for from, want := range map[time.Duration]time.Duration{0: 285 * ms, 50 * ms: 240 * ms, 110 * ms: 185 * ms, 250 * ms: 50 * ms, 300 * ms: 0, 305 * ms: 0} {
		if d := c.stood(at(from)); d != want {
			t.Errorf("since %v it stood still for %v, not %v", from, d, want)
		}
	}
	c.still.note(at(50*ms), at(305*ms)) // a silence, and these were in it
	if d := c.stood(at(0)); d != 300*ms || len(c.still.lately) != 1 {
		t.Errorf("%v, in %v", d, c.still.lately)
	}
	c.advance(at(405 * ms)) // and nobody has looked since
	if d := c.stood(at(250 * ms)); d != 155*ms {
		t.Errorf("%v", d)
	}
	if d := c.stood(at(400 * ms)); d != 5*ms {
		t.Errorf("%v", d)
	}
}
