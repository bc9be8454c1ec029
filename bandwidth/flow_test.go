package bandwidth

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// A ward is a flow as its driver knows it.
type ward struct {
	*Flow
	sample  Sample
	allowed int64 // the most that can be promised: granted or seen as window or kept of it, and not come
	bytes   int   // wanted
	asks    bool
	closed  bool
}

// Whatever a driver says and whenever: nobody is granted more than he waits for,
// promises are no more than was granted and has not come, and the account stays
// sound.
func TestCreditAnySequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SampledFrom([]int64{Off, 1, 100, Packet, 3000, 140e3, 1e6, 10e6, 1e10, Unlimited})
		c := NewCredit(CreditConfig{Limit: limits.Draw(t, "limit"), Strict: rapid.Bool().Draw(t, "strict")})
		now := page.Time(rapid.SampledFrom([]int64{0, 1, 1e9, 1e15}).Draw(t, "start"))
		var all []*ward
		pick := func(t *rapid.T) *ward {
			if len(all) == 0 {
				t.Skip("no flow yet")
			}
			return rapid.SampledFrom(all).Draw(t, "flow")
		}
		actions := map[string]func(*rapid.T){
			"Open": func(t *rapid.T) {
				h := Habit{Think: time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "think")), Speed: rapid.Float64Range(0, 1e9).Draw(t, "speed"), Echo: rapid.Int64Range(-1, 6000).Draw(t, "echo")}
				all = append(all, &ward{Flow: c.Open(now, c.Window(), rapid.SampledFrom([]int{52, 72}).Draw(t, "header"), h)})
			},
			"Ask": func(t *rapid.T) {
				w := pick(t)
				w.Ask()
				w.asks = w.Flow.asks
			},
			"Greet": func(t *rapid.T) {
				w := pick(t)
				w.Greet(rapid.SampledFrom([]int64{0, 1, 700, 5000, 1 << 40}).Draw(t, "hello"))
				w.asks = w.Flow.asks
			},
			"Want": func(t *rapid.T) {
				w := pick(t)
				w.bytes = rapid.IntRange(0, 1<<16).Draw(t, "bytes")
				w.Want(w.bytes)
			},
			"Took":  func(t *rapid.T) { pick(t).Took(rapid.IntRange(0, 1<<16).Draw(t, "bytes")) },
			"Guess": func(t *rapid.T) { pick(t).Guess(rapid.Int64Range(0, 1<<20).Draw(t, "bytes")) },
			"Left":  func(t *rapid.T) { pick(t).Left(rapid.Int64Range(0, 1<<20).Draw(t, "bytes")) },
			"Rest":  func(t *rapid.T) { pick(t).Rest() },
			"Urge":  func(t *rapid.T) { pick(t).Urge(rapid.SampledFrom([]float64{0, 0, 1, 7.5}).Draw(t, "lag")) },
			"Seen": func(t *rapid.T) {
				w := pick(t)
				came := rapid.SampledFrom([]int64{0, 0, 1, 700, mss, 3 * mss, 1 << 16}).Draw(t, "came")
				w.sample.Payload += came
				w.sample.Wire += came + rapid.Int64Range(0, 200).Draw(t, "headers")
				w.sample.Window = rapid.SampledFrom([]int{-1, -1, 0, mss, 4 * mss, maxWindow}).Draw(t, "window")
				w.sample.RTT = time.Duration(rapid.SampledFrom([]int64{0, 1, 1e6, 1e8, 1e10}).Draw(t, "rtt"))
				w.sample.Ended = w.sample.Ended || rapid.IntRange(0, 9).Draw(t, "ended") == 0
				w.Seen(now, w.sample)
				w.allowed = max(w.allowed-came, int64(w.sample.Window+w.kept), 0)
			},
			"Close": func(t *rapid.T) {
				w := pick(t)
				w.Close(now)
				w.closed, w.allowed = true, 0
			},
			"Charge":   func(t *rapid.T) { c.Charge(now, rapid.IntRange(0, 5000).Draw(t, "bytes")) },
			"SetLimit": func(t *rapid.T) { c.SetLimit(now, limits.Draw(t, "limit")) },
			"Pass": func(t *rapid.T) {
				now = max(now.Add(time.Duration(rapid.OneOf(
					rapid.Int64Range(0, 5e6), rapid.Int64Range(0, 2e9), rapid.SampledFrom([]int64{0, -1e6, -1e9, 1e12}),
				).Draw(t, "passed"))), 0)
			},
			"Tick": func(t *rapid.T) { tickChecked(t, c, now, all) },
		}
		actions[""] = func(t *rapid.T) {
			state := c.Wire(now)
			for _, v := range []float64{state.Limit, state.Rate, c.sum} {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < -1 {
					t.Fatalf("%v in %+v", v, state)
				}
			}
			if state.Bytes < 0 || state.Backlog < 0 || state.Idle < 0 {
				t.Fatalf("%+v", state)
			}
			sum := 0.0
			for _, b := range c.past {
				sum += b
			}
			if math.Abs(sum-c.sum) > 1+sum*1e-9 {
				t.Fatalf("the slots hold %v, their sum is said to be %v", sum, c.sum)
			}
			for _, w := range all {
				if open := int64(w.open()); open < 0 || open > w.allowed {
					t.Fatalf("%d bytes are promised, %d were granted and have not come", open, w.allowed)
				}
				if w.due() < 0 || len(w.ahead) > maxPromises+1 || w.closed && w.open() > 0 {
					t.Fatalf("%d due, %d promises, closed %v", w.due(), len(w.ahead), w.closed)
				}
			}
		}
		t.Repeat(actions)
		allComeBack(t, c, now, all)
	})
}

// tickChecked is a Tick whose grants are looked at.
func tickChecked(t *rapid.T, c *Credit, now page.Time, all []*ward) {
	due := make([]int, len(all))
	for i, w := range all {
		due[i] = w.due()
	}
	grown := false
	for _, g := range c.Tick(now) {
		at := -1
		for i, w := range all {
			if w.Flow == g.Flow {
				at = i
			}
		}
		w := all[at]
		switch {
		case w.closed:
			t.Fatal("a closed flow got a grant")
		case g.Window > 0:
			if g.Window > maxWindow || grown || g.Bytes > 0 {
				t.Fatalf("%+v, grown before: %v", g, grown)
			}
			grown = true
			w.allowed += maxWindow
			continue
		case !w.asks && w.bytes == 0:
			t.Fatalf("%d bytes for a flow that does not wait", g.Bytes)
		case g.Bytes < 0 || g.Bytes > w.bytes:
			t.Fatalf("%d bytes granted of %d", g.Bytes, w.bytes)
		case c.Limit() == Off && (w.asks || due[at] > 0):
			t.Fatalf("%d bytes granted though nothing may come", g.Bytes)
		}
		if w.asks {
			w.allowed += int64(w.window)
		}
		w.allowed += int64(g.Bytes)
		w.asks, w.bytes = false, 0
	}
}

// allComeBack closes all flows and sees that no credit was lost: a span later
// there is room for a new one at once.
func allComeBack(t *rapid.T, c *Credit, now page.Time, all []*ward) {
	if c.Limit() == Off {
		return
	}
	for _, w := range all {
		w.Close(now)
	}
	now = max(now, c.now).Add(c.slot * (spanSlots + 1))
	f := c.Open(now, c.Window(), 52, Habit{})
	f.Ask()
	if g := c.Tick(now); !f.Free() && (len(g) != 1 || g[0].Flow != f) {
		t.Fatalf("a span of rest later there is no room: %+v", g)
	}
}

// However flows behave whose servers are punctual, over any time no more is
// promised than the limit brings in that time, one span's room, and what is due
// later: up to aheadSlots of a span. Besides, the first packet of each answer is
// free.
func TestCreditGrantsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{Packet, 3000, 20e3, 140e3, 1e6}).Draw(t, "limit")
		c := NewCredit(CreditConfig{Limit: limit})
		type server struct {
			*Flow
			rtt     time.Duration
			left    int64
			sample  Sample
			coming  []modelPacket
			started bool
		}
		now := page.Time(0)
		flows := make([]*server, rapid.IntRange(1, 12).Draw(t, "flows"))
		for i := range flows {
			s := &server{rtt: time.Duration(rapid.Int64Range(1e6, 5e8).Draw(t, "rtt"))}
			s.Flow = c.Open(now, c.Window(), 52, Habit{Think: time.Millisecond})
			s.Seen(now, Sample{RTT: s.rtt, Window: -1})
			flows[i] = s
		}
		step := c.slot / 2
		type granted struct {
			at   page.Time
			cost float64
		}
		var all []granted
		for range 400 {
			now = now.Add(step)
			for _, s := range flows {
				for len(s.coming) > 0 && s.coming[0].at <= now {
					s.sample.Payload += s.coming[0].n
					s.sample.Wire += s.coming[0].n * 1500 / mss
					s.coming = s.coming[1:]
				}
				s.sample.Window, s.sample.RTT = -1, s.rtt
				s.Seen(now, s.sample)
				switch inside := s.sample.Payload - s.read; {
				case s.asks || s.wants > 0:
				case !s.started:
					s.left = rapid.Int64Range(1, 100_000).Draw(t, "size")
					s.started = true
					s.Ask()
				case inside > 0:
					s.Want(int(inside))
				}
			}
			for _, g := range c.Tick(now) {
				for _, s := range flows {
					if s.Flow != g.Flow {
						continue
					}
					brings, free := int64(g.Bytes), s.fresh && g.Bytes > 0
					if g.Bytes == 0 {
						brings = int64(s.window / segment * mss)
					}
					if g.Window > 0 {
						brings = 0
					}
					if s.Took(g.Bytes); g.Bytes == 0 {
						s.fresh = true
					}
					brings = min(brings, s.left)
					s.left -= brings
					s.coming = append(s.coming, modelPacket{at: now.Add(s.rtt), n: brings})
					if s.left == 0 {
						s.Left(s.sample.Payload + sum(s.coming) - s.read)
					}
					if !free {
						all = append(all, granted{now, float64(brings) * s.factor})
					}
				}
			}
			for _, s := range flows {
				if s.started && s.left == 0 && len(s.coming) == 0 && s.read == s.sample.Payload {
					s.Rest()
					s.started = false
				}
			}
		}
		span := (c.slot * spanSlots).Seconds()
		for i := range all {
			total := 0.0
			for _, g := range all[i:] {
				total += g.cost
				most := float64(limit) * (g.at.Sub(all[i].at).Seconds() + span + aheadSlots*span/spanSlots)
				if total > most*1.02+Packet {
					t.Fatalf("%.0f bytes were promised within %v, at most %.0f could be", total, g.at.Sub(all[i].at), most)
				}
			}
		}
	})
}

func sum(ps []modelPacket) (n int64) {
	for _, p := range ps {
		n += p.n
	}
	return n
}

// Time that goes backwards or stands still changes nothing.
func TestCreditTimeStands(t *testing.T) {
	c, flows, now := waiting(140e3, 4)
	total := 0
	for i := range 1000 {
		at := now.Add(-time.Duration(i%7) * time.Second)
		for _, g := range c.Tick(at) {
			total += g.Bytes
			g.Flow.Took(g.Bytes)
		}
		for _, f := range flows {
			f.Want(1 << 20)
		}
	}
	if most := int(c.room); total > most {
		t.Errorf("%d bytes were granted at one moment, of %d for the span", total, most)
	}
	if w := c.Wire(now); w.Idle < 0 {
		t.Errorf("idle for %v", w.Idle)
	}
	before := c.Bytes()
	c.Charge(0, 100)
	c.Charge(now.Add(-time.Hour), 100)
	if c.Bytes() != before+200 {
		t.Error("bytes of the past were not counted")
	}
}

// A link is idle as long as it has room and nobody waits, also while bytes come.
func TestCreditIdle(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 1e6})
	now := page.Time(time.Hour)
	f := c.Open(now, c.Window(), 52, Habit{})
	f.Ask()
	c.Tick(now)
	var s Sample
	for range 50 {
		now = now.Add(4 * time.Millisecond)
		s.Payload, s.Wire, s.Window = s.Payload+100, s.Wire+152, -1
		f.Seen(now, s)
		c.Tick(now)
	}
	if idle := c.Wire(now).Idle; idle < 190*time.Millisecond || idle > 210*time.Millisecond {
		t.Errorf("idle for %v after 200 ms with nobody waiting", idle)
	}
	for range 20 {
		f.Want(1 << 20)
		now = now.Add(4 * time.Millisecond)
		c.Charge(now, 100e3)
		c.Tick(now)
	}
	if idle := c.Wire(now).Idle; idle != 0 {
		t.Errorf("idle for %v while somebody waits", idle)
	}
}

// The pause between two answers of a connection says nothing of how fast its
// server is.
func TestFlowPauseIsNotSlowness(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 1e6})
	now := page.Time(time.Hour)
	const speed = 1e6
	f := c.Open(now, c.Window(), 52, Habit{Think: time.Millisecond, Speed: speed})
	s := Sample{RTT: 5 * time.Millisecond, Window: -1}
	for range 20 {
		f.Ask()
		for c.Tick(now); f.asks; c.Tick(now) {
			now = now.Add(4 * time.Millisecond)
		}
		now = now.Add(30 * time.Millisecond) // the answer is late
		s.Payload, s.Wire = s.Payload+500, s.Wire+552
		f.Took(100)
		f.Left(400)
		f.Seen(now, s)
		f.Took(400)
		f.Rest()
		now = now.Add(3 * time.Second)
	}
	if h, known := f.Habit(); !known || h.Speed < speed/10 {
		t.Errorf("a server of %.0f bytes a second is remembered with %.0f", speed, h.Speed)
	}
}

// slowFlow is a flow of a server of 20,000 bytes a second, 50 ms away, with nothing
// under way.
func slowFlow(c *Credit, now page.Time) *Flow {
	f := c.Open(now, 2*segment, modelHeader, Habit{Think: time.Millisecond, Speed: 20e3, Echo: -1})
	f.Seen(now, Sample{RTT: 50 * time.Millisecond, Window: -1})
	return f
}

// Room for a packet is asked for when it will be here: after those before it, and
// after its server's line has taken it.
func TestFlowArrival(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		promised []int // bytes before it
		speed    float64
		want     time.Duration
	}{
		{"alone", nil, 20e3, 50*ms + 58*ms},
		{"behind a packet", []int{mss}, 20e3, 50*ms + 72*ms + 58*ms},
		{"behind two", []int{mss, mss}, 20e3, 50*ms + 2*72*ms + 58*ms},
		{"behind a small one", []int{24}, 20e3, 50*ms + ms + 58*ms},
		{"at a speed not known", []int{mss}, 0, 50 * ms},
		{"too late to be foreseen", nil, 1e3, 50 * ms},
	} {
		credit := NewCredit(CreditConfig{Limit: 140e3})
		f := slowFlow(credit, page.Time(time.Hour))
		f.busy, f.speed = true, c.speed
		for _, bytes := range c.promised {
			f.promise(credit, bytes)
		}
		if got := time.Duration(f.arrival()) * credit.slot; (got - c.want).Abs() > credit.slot {
			t.Errorf("%s: %v ahead, want %v", c.name, got, c.want)
		}
	}
}

// A packet comes as long after the one before it as its bytes take, however they
// were promised: bytes that never come, a few in front of it, do not put it off.
func TestFlowExpectsByBytes(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Hour)
	expected := func(bytes ...int) (at int) {
		f := slowFlow(c, now)
		defer f.Close(now)
		f.busy = true
		for _, n := range bytes {
			f.ahead = append(f.ahead, promised{c.slotNo, n})
		}
		c.level = [aheadSlots]float64{}
		f.foresee(c)
		for i, wire := range c.level {
			if wire > Packet/2 {
				at = i
			}
		}
		return at
	}
	if whole, behind := expected(mss), expected(24, mss); whole == 0 || behind-whole > 1 {
		t.Errorf("expected in slot %d, and behind 24 bytes in slot %d", whole, behind)
	}
	if one, two := expected(mss), expected(mss, mss); two-one < 10 {
		t.Errorf("expected in slot %d, and behind another packet in slot %d", one, two)
	}
}

// How long a packet of a few bytes took says nothing of the server's speed.
func TestFlowSmallPackets(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Hour)
	f := slowFlow(c, now)
	f.busy = true
	f.promise(c, 4*mss)
	came := func(bytes int64, after time.Duration) float64 {
		now = now.Add(after)
		f.Seen(now, Sample{Payload: f.received + bytes, Wire: f.wire + bytes + modelHeader, Window: -1})
		return f.speed
	}
	was := came(mss, 122*time.Millisecond)
	if got := came(24, 4*time.Millisecond); got != was {
		t.Errorf("24 bytes made %.0f bytes a second of %.0f", got, was)
	}
	if got := came(mss, 30*time.Millisecond); got <= was {
		t.Errorf("a packet in 30 ms made %.0f bytes a second of %.0f", got, was)
	}
}

// The size of full packets is learned from the largest: short ones tell nothing, and
// none is larger than there can be.
func TestFlowSegment(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	f := slowFlow(c, page.Time(time.Hour))
	for _, step := range []struct{ seen, want int }{{0, mss}, {536, mss}, {1300, 1300}, {1200, 1300}, {1428, 1428}, {9000, mss}} {
		f.Seen(page.Time(time.Hour), Sample{Window: -1, Segment: step.seen})
		if f.mss != step.want || f.factor != 1+float64(modelHeader)/float64(step.want) {
			t.Errorf("with packets of %d bytes a full one holds %d, factor %v; want %d", step.seen, f.mss, f.factor, step.want)
		}
	}
}

// A slow server's next packet need not be looked for yet, but the first of an answer
// may come any moment.
func TestFlowQuiet(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	f := slowFlow(c, page.Time(time.Hour))
	f.busy = true
	f.ahead = []promised{{c.slotNo, mss}}
	if !f.Quiet() {
		t.Error("a packet that takes 72 ms is looked for at once")
	}
	if f.first = true; f.Quiet() {
		t.Error("the first packet is not looked for")
	}
}

// What is left of a promise and is less than a packet is not late: it counts as
// part of what is promised next.
func TestFlowJoin(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Hour)
	f := slowFlow(c, now)
	f.busy = true
	f.promise(c, mss+40)
	now = now.Add(60 * time.Millisecond)
	f.Seen(now, Sample{Payload: mss, Wire: mss + modelHeader, Window: -1})
	now = now.Add(2 * time.Second)
	c.advance(now)
	if at := time.Duration(f.arrival()) * c.slot; at > 120*time.Millisecond {
		t.Errorf("with 40 bytes left that never come, the next packet is expected after %v", at)
	}
	f.promise(c, mss)
	if len(f.ahead) != 1 || f.open() != mss+40 || f.turn() < now {
		t.Errorf("promised %v at %v", f.ahead, now)
	}
}

// When the kernel has opened the window further than the account thought, that is
// promised, though a few bytes stay open of a promise before.
func TestFlowWindowTold(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Hour)
	f := slowFlow(c, now)
	f.busy = true
	f.promise(c, 24)
	f.Seen(now, Sample{Window: mss})
	if got := f.open(); got != mss {
		t.Errorf("%d bytes are open, the window is %d", got, mss)
	}
	f.Seen(now, Sample{Window: mss + 24})
	if got := f.open(); got != mss {
		t.Errorf("%d bytes are open: 24 more make no packet", got)
	}
}

// Without a limit a request need not wait, and what its server takes is known
// all the same.
func TestFlowUnlimited(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: Unlimited})
	now := page.Time(time.Hour)
	f := c.Open(now, c.Window(), 52, Habit{})
	s := Sample{RTT: 20 * time.Millisecond, Window: -1}
	f.Seen(now, s)
	if f.Ask(); !f.Free() {
		t.Error("a request waits")
	}
	s.Payload, s.Wire = 500, 552
	f.Seen(now.Add(50*time.Millisecond), s)
	if h, _ := f.Habit(); h.Think != 30*time.Millisecond {
		t.Errorf("a server that took 30 ms is thought to take %v", h.Think)
	}
}

// A lookup is charged before its answer comes, and that is taken back: the rate
// is none below zero.
func TestChargeTakenBack(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Hour)
	c.Charge(now, 120)
	now = now.Add(2 * time.Second)
	c.Charge(now, 80)
	c.Charge(now, -120)
	if w := c.Wire(now); w.Rate < 0 || w.Bytes != 80 {
		t.Errorf("%+v", w)
	}
}

// A packet that is read in parts brings another one when it is read to its end,
// and nothing before.
func TestFlowReadInParts(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Minute)
	c.Charge(0, 1)
	f := c.Open(now, c.Window(), 52, Habit{Think: time.Millisecond, Speed: 1e6})
	f.Seen(now, Sample{Payload: 2 * mss, Wire: 3000, RTT: 20 * time.Millisecond, Window: -1})
	f.Took(0)
	f.busy = true
	for _, step := range []struct{ wants, bytes, open int }{
		{700, 700, 0},
		{mss, mss - 700, mss}, // to the end of the packet, though more could be taken
		{1000, 1000, mss},
		{mss - 1000, mss - 1000, 2 * mss},
	} {
		f.Want(step.wants)
		f.grown = now // no window grows so soon after
		g := c.Tick(now)
		if len(g) != 1 || g[0].Bytes != step.bytes {
			t.Fatalf("%+v for one who could take %d", g, step.wants)
		}
		f.Took(g[0].Bytes)
		if f.open() != step.open {
			t.Errorf("%d bytes are expected after a read of %d, want %d", f.open(), step.bytes, step.open)
		}
	}
}

// A server that was seen to send its first packets twice is expected to do so
// again, and one that was not is not.
func TestFlowEcho(t *testing.T) {
	for _, vain := range []int64{0, 2 * mss} {
		c := NewCredit(CreditConfig{Limit: 140e3})
		now := page.Time(time.Minute)
		c.Charge(0, 1)
		var h Habit
		for visit := range 3 {
			f := c.Open(now, c.Window(), 52, h)
			f.Seen(now, Sample{RTT: 20 * time.Millisecond, Window: -1})
			f.Ask()
			c.Tick(now)
			want := float64(vain)
			if visit == 0 {
				want = float64(c.Window() / doubtful)
			}
			if f.asks || f.twice != want {
				t.Errorf("visit %d, %d bytes twice: asks %v, %.0f are expected twice, want %.0f", visit, vain, f.asks, f.twice, want)
			}
			now = now.Add(100 * time.Millisecond)
			f.Seen(now, Sample{Payload: 5 * mss, Vain: vain, Wire: 5*1500 + vain, Window: -1})
			if f.twice != 0 {
				t.Errorf("visit %d: %.0f are still expected", visit, f.twice)
			}
			h, _ = f.Habit()
			f.Close(now)
			now = now.Add(2 * time.Second)
		}
	}
}

// A greeting brings what it brought before, and no window's worth; and it says
// nothing of how long the server thinks about a request, and neither does what is
// said after it.
func TestFlowGreet(t *testing.T) {
	const ms = time.Millisecond
	greeted := func(hello int64) (c *Credit, f *Flow) {
		c = NewCredit(CreditConfig{Limit: 140e3})
		c.Charge(0, 1)
		now := page.Time(time.Minute)
		f = c.Open(now, 2*segment, modelHeader, Habit{Think: 200 * ms, Speed: 20e3, Echo: -1})
		f.Seen(now, Sample{RTT: 50 * ms, Window: -1})
		f.Greet(hello)
		if g := c.Tick(now); len(g) != 1 || f.asks {
			t.Fatalf("%d grants, asks %v", len(g), f.asks)
		}
		return c, f
	}
	for hello, want := range map[int64]int{0: 2 * mss, 700: 700, 2000: 2000, 1e6: 2 * mss} {
		c, f := greeted(hello)
		if f.open() != want {
			t.Errorf("a hello of %d: %d bytes are promised, want %d", hello, f.open(), want)
		}
		if due := time.Duration(f.ahead[0].slot-c.slotNo) * c.slot; due > 60*ms {
			t.Errorf("a hello of %d is due in %v", hello, due)
		}
		// All that is foreseen is the promise, and the packet that reading the first
		// brings, if more is to come.
		foreseen := float64(want) * f.factor
		if hello == 0 || hello > 2*mss {
			foreseen += float64(mss) * f.factor
		}
		for _, when := range []string{"at once", "a moment later"} {
			if got := c.level[aheadSlots-1]; math.Abs(got-foreseen) > 1 {
				t.Errorf("a hello of %d: %.0f wire bytes are foreseen %s, want %.0f", hello, got, when, foreseen)
			}
			c.Tick(c.now.Add(ms))
		}
		// The kernel may say that the server may send more: it will not.
		f.Seen(c.now.Add(ms), Sample{RTT: 50 * ms, Window: 2 * segment})
		if known := hello > 0 && hello < 2*mss; known && f.open() != want {
			t.Errorf("a hello of %d: %d bytes are promised once the window is told, want %d", hello, f.open(), want)
		}
	}

	c, f := greeted(700)
	now := c.now.Add(55 * ms)
	s := Sample{Payload: 700, Wire: 752, Window: -1, RTT: 50 * ms}
	f.Seen(now, s)
	f.Took(700)
	f.Rest()
	f.Ask()
	c.Tick(now)
	if f.asks || f.open() != 2*mss || f.think != 200*ms {
		t.Errorf("the request: asks %v, %d bytes promised, %v of thinking", f.asks, f.open(), f.think)
	}
	now = now.Add(50 * ms)
	s.Payload += 250
	f.Seen(now, s)
	if !f.first || f.think != 200*ms {
		t.Errorf("an afterword is taken for the answer: %v of thinking", f.think)
	}
	now = now.Add(80 * ms)
	s.Payload += mss
	f.Seen(now, s)
	if f.first || (f.think-80*ms).Abs() > 5*ms {
		t.Errorf("the answer: %v of thinking", f.think)
	}
}

// What a server takes for a greeting is remembered of it, apart from what it takes for
// a request; one that nobody knows is expected to take as long as others.
func TestFlowGreetsAgain(t *testing.T) {
	const ms = time.Millisecond
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Minute)
	visit := func(h Habit, takes time.Duration) (due time.Duration, after Habit) {
		f := c.Open(now, 2*segment, modelHeader, h)
		f.Seen(now, Sample{RTT: 50 * ms, Window: -1})
		f.Greet(700)
		c.Tick(now)
		due = time.Duration(f.ahead[0].slot-c.slotNo) * c.slot
		for end := now.Add(50*ms + takes); now < end; now = now.Add(5 * ms) {
			c.Tick(now)
		}
		f.Seen(now, Sample{Payload: 700, Wire: 752, Window: -1, RTT: 50 * ms})
		after, _ = f.Habit()
		f.Close(now)
		now = now.Add(2 * time.Second)
		return due, after
	}
	first, h := visit(Habit{Think: 300 * ms}, 120*ms)
	again, _ := visit(h, 120*ms)
	other, _ := visit(Habit{Think: 300 * ms}, 120*ms)
	if first > 60*ms || (again-170*ms).Abs() > 10*ms || other > 75*ms {
		t.Errorf("due after %v, %v the next time, %v of another server", first, again, other)
	}
	if h.Think != 300*ms {
		t.Errorf("%v of thinking", h.Think)
	}
}

// A guess is no more than that: once more has come, room is asked for again, and
// nothing is guessed until the next answer.
func TestFlowGuess(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 140e3})
	now := page.Time(time.Minute)
	f := slowFlow(c, now)
	f.Ask()
	c.Tick(now)
	s := Sample{Payload: mss, Wire: Packet, Window: -1}
	f.Seen(now, s)
	f.Took(mss)
	if f.Guess(700); f.due() != 0 || f.open() != 700 || !f.Free() {
		t.Errorf("guessed: %d due, %d promised, free %v", f.due(), f.open(), f.Free())
	}
	s.Payload += 700
	if f.Seen(now, s); f.due() != 0 || !f.Free() {
		t.Errorf("as guessed: %d due, free %v", f.due(), f.Free())
	}
	s.Payload++
	if f.Seen(now, s); f.due() == 0 || f.Free() {
		t.Errorf("more than guessed: %d due, free %v", f.due(), f.Free())
	}
	if f.Guess(10_000); f.due() < 1e6 {
		t.Errorf("guessed again: %d due", f.due())
	}
	f.Took(701)
	if f.Left(3000); f.due() != 3000 {
		t.Errorf("known: %d due", f.due())
	}
	f.Rest()
	f.Ask()
	if f.Guess(3000); f.due() != 3000 {
		t.Errorf("of the next answer: %d due", f.due())
	}
	f.Took(-1)
	f.Ask()
	if f.Guess(0); f.Free() || f.due() == 0 {
		t.Errorf("less than has come: %d due", f.due())
	}
}

// Nothing is sent while nothing may come, not even to a server that has ended.
func TestFlowOffAsks(t *testing.T) {
	c := NewCredit(CreditConfig{Limit: 100e3})
	now := page.Time(time.Minute)
	f := slowFlow(c, now)
	f.Seen(now, Sample{Payload: 100, Wire: 152, Window: -1, Ended: true})
	c.SetLimit(now, Off)
	f.Ask()
	if g := c.Tick(now.Add(2 * time.Second)); len(g) > 0 || !f.asks {
		t.Errorf("%d grants though nothing may come", len(g))
	}
}

// What lies in a socket beyond a window that was made smaller is read without
// bringing anything. But as long as the window is what it was, a read is never
// free, however much lies there: the kernel may have had room for it.
func TestFlowShrunk(t *testing.T) {
	for _, shrunk := range []bool{false, true} {
		c := NewCredit(CreditConfig{Limit: 1e6})
		now := page.Time(time.Minute)
		c.Charge(0, 1)
		f := c.Open(now, c.Window(), 52, Habit{Think: time.Millisecond, Speed: 1e6})
		f.Seen(now, Sample{Payload: 8 * mss, Wire: 8 * 1500, RTT: 20 * time.Millisecond, Window: -1})
		f.Took(0)
		f.busy = true
		limit := int64(1e6)
		if shrunk {
			limit = 140e3
		}
		c.SetLimit(now, limit)
		for left := 7; left >= 0; left-- {
			before := f.open()
			f.grown = now
			f.Want(mss)
			for c.Tick(now); f.wants > 0; c.Tick(now) {
				now = now.Add(5 * time.Millisecond)
				f.grown = now
			}
			f.Took(mss)
			want := mss
			if shrunk && left >= f.window/segment {
				want = 0
			}
			if got := f.open() - before; got != want {
				t.Errorf("made smaller: %v, %d packets left: a read brings %d bytes, want %d", shrunk, left, got, want)
			}
		}
	}
}
