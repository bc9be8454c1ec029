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
	speed    float64 // payload bytes a second that come while they may, averaged over speedTime
	seen     page.Time
	asked    page.Time
	grown    page.Time

	late    int // promised, and due for a while
	ahead   []promised
	had     int64 // bytes promised so far, for the sake of fairness
	granted int   // bytes that a reader may take and has not
	wants   int   // bytes in the socket that a reader waits for
	asks    bool  // a request waits to be sent
	busy    bool  // an answer is under way
	first   bool  // nothing of it has come
	ended   bool  // the other side has closed
	passed  bool
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

// Open begins a flow whose window is so large, and whose packets carry so many
// bytes of header.
func (c *Credit) Open(now page.Time, window, header int) *Flow {
	c.advance(now)
	f := &Flow{
		c: c, place: len(c.flows), factor: 1 + float64(header)/mss, header: header, window: window,
		whole: -1, rtt: firstRTT, seen: now,
	}
	c.flows = append(c.flows, f)
	return f
}

// Close ends a flow: nothing more is expected of it but the other side's
// farewell.
func (f *Flow) Close(now page.Time) {
	if f.place < 0 {
		return
	}
	c := f.c
	f.Rest()
	f.asks, f.wants = false, 0
	c.arrive(now, float64(f.header))
	last := len(c.flows) - 1
	c.flows[f.place] = c.flows[last]
	c.flows[f.place].place = f.place
	c.flows[last] = nil
	c.flows = c.flows[:last]
	f.place = -1
}

// Ask says that a request waits to be sent: the answer may fill the window at
// once. The Grant has no bytes.
func (f *Flow) Ask() {
	f.asks, f.busy, f.first, f.whole = true, true, true, -1
}

// Want says that a reader waits for bytes, and so many lie in the socket.
func (f *Flow) Want(bytes int) { f.wants = bytes }

// Took says that a reader took so many bytes.
func (f *Flow) Took(bytes int) {
	f.read += int64(bytes)
	f.granted = 0
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
	f.busy = false
}

// Urge says how urgent the flow is: grants go first to the most urgent. Zero is
// what most are.
func (f *Flow) Urge(lag float64) { f.urge = lag }

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
	came := s.Payload - f.received
	f.received = s.Payload
	if f.open() > 0 {
		// While nothing may come, nothing is learned from that nothing comes.
		f.speed *= math.Exp(-now.Sub(f.seen).Seconds() / speedTime.Seconds())
	}
	f.seen = now
	if came > 0 {
		f.speed += float64(came) / speedTime.Seconds()
		if f.first {
			f.first = false
			c.think += (min(max(now.Sub(f.asked)-f.rtt, 0), time.Second) - c.think) / 16
		}
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
	n := min(bytes, f.late)
	f.late -= n
	bytes -= n
	for i := 0; bytes > 0 && i < len(f.ahead); i++ {
		n := min(bytes, f.ahead[i].bytes)
		f.ahead[i].bytes -= n
		bytes -= n
	}
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
		f.ahead[i].bytes -= n
		bytes -= n
	}
	f.late -= min(bytes, f.late)
}

// open is what is promised and has not come.
func (f *Flow) open() int {
	n := f.late
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

// slotsAhead is when bytes that are promised now will come.
func (f *Flow) slotsAhead() int {
	d := f.rtt
	if f.asks {
		d += f.c.think
	}
	return min(int(d/f.c.slot), aheadSlots-1)
}

// promise adds bytes that may come.
func (f *Flow) promise(c *Credit, bytes int) {
	slot := c.slotNo + int64(f.slotsAhead())
	if n := len(f.ahead); n > 0 && f.ahead[n-1].slot >= slot {
		f.ahead[n-1].bytes += bytes
		return
	}
	f.ahead = append(f.ahead, promised{slot, bytes})
}

// foresee adds what is expected to the level of the slots ahead.
func (f *Flow) foresee(c *Credit) {
	gone := 0
	for _, p := range f.ahead {
		if p.slot+graceSlots > c.slotNo {
			break
		}
		f.late += p.bytes
		gone++
	}
	if gone > 0 {
		f.ahead = append(f.ahead[:0], f.ahead[gone:]...)
	}
	for _, p := range f.ahead {
		c.level[min(max(p.slot-c.slotNo, 0), aheadSlots-1)] += float64(p.bytes) * f.factor
	}
	if f.late == 0 || !f.busy {
		return
	}
	late := float64(f.late) * f.factor
	if f.first {
		if c.now.Sub(f.asked) < longSilence {
			c.level[0] += late
		}
		return
	}
	each := f.speed * c.slot.Seconds() * f.factor
	for i := 0; i < aheadSlots && late > 0 && each > 1; i++ {
		n := min(late, each)
		c.level[i] += n
		late -= n
	}
}

// reslot keeps promises over a change of the slots' length.
func (f *Flow) reslot() {
	f.late = f.open()
	f.ahead = f.ahead[:0]
}
