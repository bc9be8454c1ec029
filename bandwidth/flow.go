package bandwidth

import (
	"math"
	"time"

	"weir/page"
)

// Flow is one connection in the account of a Credit, from Open to Close. The
// driver tells it what happens on the socket; grants come from Credit.Tick.
//
// What its server may send is promised: it was told of window for it. The
// promise is made by Ask for the first bytes of an answer and by reads for the
// rest, shrinks by what arrives, and ends with the answer.
type Flow struct {
	c      *Credit
	id     uint64  // in order of opening
	place  int     // in c.flows, -1 when closed
	factor float64 // wire bytes for a byte of payload
	header int     // bytes of a packet without payload
	urge   float64 // how far its promise is behind; see Urge

	window   int
	received int64 // payload
	wire     int64
	read     int64
	whole    int64 // received when the answer is whole, -1: not known
	rtt      time.Duration
	think    time.Duration // what its server takes beyond that
	speed    float64       // payload bytes a second that come when they are overdue, 0: not known
	came     page.Time     // when bytes came last
	asked    page.Time
	grown    page.Time

	ahead   []promised
	had     int64 // bytes promised so far, for the sake of fairness
	granted int   // bytes that a reader may take and has not
	kept    int   // bytes taken of a packet that is not ended: see part
	wants   int   // bytes in the socket that a reader waits for
	asks    bool  // a request waits to be sent
	busy    bool  // an answer is under way
	first   bool  // nothing of it has come
	fresh   bool  // nothing of it was read
	ended   bool  // the other side has closed
}

// promised are bytes that are due in a slot.
type promised struct {
	slot  int64
	bytes int
}

// Sample is what a socket has seen so far.
type Sample struct {
	Payload int64         // bytes of the stream
	Wire    int64         // the same in packets, and all other packets
	Window  int           // what the server may send now, as told to it last; -1: not known
	RTT     time.Duration // 0: not known
	Ended   bool          // the other side has closed
}

// Habit is how a server was seen to answer: how long it takes beyond the round
// trip, and how fast its bytes come when nothing else keeps them. Zero is not known.
type Habit struct {
	Think time.Duration
	Speed float64 // bytes a second
}

// Open begins a flow whose window is so large, and whose packets carry so many
// bytes of header.
func (c *Credit) Open(now page.Time, window, header int, h Habit) *Flow {
	c.advance(now)
	if h.Think == 0 {
		h.Think = c.think
	}
	c.ids++
	f := &Flow{
		c: c, id: c.ids, place: len(c.flows), factor: 1 + float64(header)/mss, header: header, window: window,
		whole: -1, rtt: firstRTT, came: now, think: h.Think, speed: h.Speed,
	}
	c.flows = append(c.flows, f)
	return f
}

// Close ends a flow. The other side's farewell is still to come, and when the
// answer was not whole, what it was allowed to send and may have sent.
func (f *Flow) Close(now page.Time) {
	if f.place < 0 {
		return
	}
	c := f.c
	c.arrive(now, float64(f.header)+float64(f.open())*f.factor)
	f.Rest()
	f.Desist()
	last := len(c.flows) - 1
	c.flows[f.place] = c.flows[last]
	c.flows[f.place].place = f.place
	c.flows[last] = nil
	c.flows = c.flows[:last]
	f.place = -1
}

// Ask says that a request waits to be sent: the answer may fill the window at
// once. The Grant has no bytes. Without a limit it is Free and need not wait.
func (f *Flow) Ask() {
	f.busy, f.first, f.fresh, f.whole = true, true, true, -1
	f.asks, f.asked = !math.IsInf(f.c.limit, 1), f.c.now
}

// Want says that a reader waits for bytes, and so many lie in the socket.
func (f *Flow) Want(bytes int) { f.wants = bytes }

// Took says that a reader took so many bytes.
func (f *Flow) Took(bytes int) {
	f.read += int64(bytes)
	f.granted, f.fresh = 0, false
}

// Left says how many bytes of the answer a reader has still to take, wherever
// they are.
func (f *Flow) Left(bytes int64) {
	f.whole = f.read + bytes
	f.trim()
}

// Rest says that the answer is whole: the window stays open, but nothing is
// expected through it.
func (f *Flow) Rest() {
	f.forgo(f.open())
	f.busy, f.kept = false, 0
}

// Habit is what the flow has shown of its server, if it has shown anything.
func (f *Flow) Habit() (h Habit, known bool) { return Habit{f.think, f.speed}, f.received > 0 }

// Window is how much its server may send at a time, 0 for as much as it likes.
func (f *Flow) Window() int { return f.window }

// Desist says that nobody waits any more.
func (f *Flow) Desist() { f.asks, f.wants = false, 0 }

// Urge says how urgent the flow is: grants go first to the most urgent. Zero is
// what most are.
func (f *Flow) Urge(lag float64) { f.urge = lag }

// Quiet says that nothing is expected of the flow just now: its counters can
// wait.
func (f *Flow) Quiet() bool {
	return !f.busy || f.asks || len(f.ahead) == 0 || f.ahead[0].slot > f.c.slotNo+1
}

// waits says that a reader or a request waits for a grant.
func (f *Flow) waits() bool { return f.asks || f.wants > 0 }

// Free says that a reader may take all it finds now, since that brings nothing
// onto the wire: all that may come of the answer has come or is promised, or
// there is no limit.
func (f *Flow) Free() bool {
	return math.IsInf(f.c.limit, 1) || !f.asks && f.due() == 0
}

// Seen takes the socket's counters.
func (f *Flow) Seen(now page.Time, s Sample) {
	if f.place < 0 {
		return
	}
	c := f.c
	c.advance(now)
	if s.RTT > 0 {
		f.rtt = s.RTT
	}
	if s.Wire > f.wire {
		c.arrive(now, float64(s.Wire-f.wire))
		f.wire = s.Wire
	}
	came := max(s.Payload-f.received, 0)
	f.received += came
	if came > 0 {
		f.hasten(now, came)
		if f.first {
			f.first = false
			f.think = min(max(now.Sub(f.asked)-f.rtt, time.Millisecond), maxThink)
			c.think += (f.think - c.think) / 16
		}
		f.kept = max(f.kept-max(int(came)-f.open(), 0), 0)
		f.settle(int(came))
		f.trim()
	}
	switch over := f.open() - s.Window; {
	case s.Ended && !f.ended:
		f.ended = true
		f.forgo(f.open())
	case s.Window < 0 || f.granted > 0 || !f.busy || f.asks:
		// Nobody knows, or the window is about to change.
	case over > 0:
		f.forgo(over)
	case -over >= mss:
		f.promise(c, min(-over, f.due()))
	}
}

// settle takes what has come from what was promised, the oldest first.
func (f *Flow) settle(bytes int) {
	done := 0
	for i := range f.ahead {
		n := min(bytes, f.ahead[i].bytes)
		f.ahead[i].bytes -= n
		if bytes -= n; f.ahead[i].bytes > 0 {
			break
		}
		done++
	}
	f.ahead = append(f.ahead[:0], f.ahead[done:]...)
}

// hasten learns how fast the server sends: what came, over the time since it was
// due or since what came before it, whichever is later. Before that it is the
// window and the distance that keep it.
func (f *Flow) hasten(now page.Time, came int64) {
	if !f.first && len(f.ahead) > 0 {
		from := max(f.came, page.Time(f.ahead[0].slot*int64(f.c.slot)))
		if d := now.Sub(from); d > 0 {
			speed := float64(came) / max(d, 2*time.Millisecond).Seconds()
			if f.speed == 0 {
				f.speed = speed
			}
			f.speed += (speed - f.speed) / 4
		}
	}
	f.came = now
}

// trim takes back promises beyond the end of the answer.
func (f *Flow) trim() {
	if f.whole >= 0 {
		f.forgo(f.open() - int(max(f.whole-f.received, 0)))
	}
}

// forgo takes back promises that will not be used, the youngest first.
func (f *Flow) forgo(bytes int) {
	if bytes <= 0 {
		return
	}
	for i := len(f.ahead) - 1; i >= 0 && bytes > 0; i-- {
		n := min(bytes, f.ahead[i].bytes)
		bytes -= n
		if f.ahead[i].bytes -= n; f.ahead[i].bytes == 0 {
			f.ahead = f.ahead[:i]
		}
	}
}

// open is what is promised and has not come.
func (f *Flow) open() int {
	n := 0
	for _, p := range f.ahead {
		n += p.bytes
	}
	return n
}

// due is how many bytes of the answer are not promised yet: reading opens the
// window for no more than that.
func (f *Flow) due() int {
	switch {
	case f.ended:
		return 0
	case f.whole < 0:
		return math.MaxInt32
	}
	return int(min(max(f.whole-f.received-int64(f.open()), 0), math.MaxInt32))
}

// part is a read of so many packets, or of what the reader can take, and how
// many bytes of window that opens. The kernel keeps the room of a packet that is
// left in part, so the read that ends it opens what those before it did not.
func (f *Flow) part(packets int) (bytes, opens int) {
	held := max(int(f.received-f.read), f.wants)
	bytes = min(f.wants, (held-1)%mss+1+(packets-1)*mss)
	ended := packetsIn(held) - packetsIn(held-bytes)
	return bytes, min(f.kept+bytes, ended*mss)
}

// packetsIn is how many packets hold so many bytes.
func packetsIn(bytes int) int { return (bytes + mss - 1) / mss }

// slotsAhead is when bytes that are promised now will come.
func (f *Flow) slotsAhead() int {
	d := f.rtt
	if f.asks {
		d += f.think
	}
	return min(int(d/f.c.slot), aheadSlots-1)
}

// promise adds bytes that may come.
func (f *Flow) promise(c *Credit, bytes int) {
	if bytes <= 0 {
		return
	}
	p := promised{c.slotNo + int64(f.slotsAhead()), bytes}
	if n := len(f.ahead); n > 0 && (f.ahead[n-1].slot >= p.slot || n >= maxPromises) {
		f.ahead[n-1].bytes += bytes
		return
	}
	f.ahead = append(f.ahead, p)
}

// foresee adds what is expected to the level of the slots ahead, packet by
// packet: each as long after it is due, or after the one before it, as its server
// takes to send it. A server that has been silent for long is not waited for.
func (f *Flow) foresee(c *Credit) {
	if !f.busy || len(f.ahead) == 0 {
		return
	}
	each, expected := f.pace(c)
	if !expected {
		return
	}
	gap := time.Duration(mss * f.factor / each * float64(c.slot))
	next := f.came
	for _, p := range f.ahead {
		next = max(next, page.Time(p.slot*int64(c.slot)))
		for left := p.bytes; left > 0; left -= mss {
			next = next.Add(gap)
			t := max(next, c.now)
			at := int64(t)/int64(c.slot) - c.slotNo
			if at >= aheadSlots {
				return
			}
			c.level[at] += float64(min(left, mss)) * f.factor * f.doubt()
		}
	}
}

// pace is how many wire bytes of the flow come in a slot when its server sends,
// and whether any are to be expected. One that has paused for longer than its
// speed explains is as slow as that.
func (f *Flow) pace(c *Credit) (each float64, expected bool) {
	silence := c.now.Sub(max(f.came, page.Time(f.ahead[0].slot*int64(c.slot))))
	if silence > longSilence {
		return 0, false
	}
	speed := f.speed
	switch {
	case f.first: // it may have finished thinking any moment
		speed = 0
	case speed > 0 && silence > pauseAllowed && silence.Seconds()*speed > 2*mss:
		speed = 2 * mss / silence.Seconds()
	}
	if speed == 0 {
		return math.Inf(1), true
	}
	return max(speed*c.slot.Seconds()*f.factor, 1), true
}

// doubt is by how much more is expected of a server that has not answered yet
// and is not known: a slow one may send its first packets twice, since nobody
// has told it in time that they arrived.
func (f *Flow) doubt() float64 {
	if (f.asks || f.first) && f.speed == 0 {
		return doubtful
	}
	return 1
}

// reslot keeps promises over a change of the slots' length.
func (f *Flow) reslot() {
	if n := f.open(); n > 0 {
		f.ahead = append(f.ahead[:0], promised{f.c.slotNo, n})
	}
}
