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
	header int     // bytes of a packet without payload
	mss    int     // bytes of payload that a full packet holds
	sized  bool    // its packets were seen to hold so many
	factor float64 // wire bytes for a byte of payload
	urge   float64 // how far its promise is behind; see Urge

	window   int
	calm     int   // what it was before the flow became urgent
	wide     bool  // it was larger while the flow was urgent; see beyond
	shrunk   bool  // it was made smaller; see full
	received int64 // payload
	wire     int64
	read     int64
	whole    int64 // received when the answer is whole, -1: not known
	guess    bool  // whole is no more than that
	wrong    bool  // more has come than was guessed
	rtt      time.Duration
	vain     int64
	think    time.Duration // what its server takes beyond that
	greet    time.Duration // the same for a greeting
	echo     int64         // see Habit
	speed    float64       // payload bytes a second that come when they are overdue, 0: not known
	came     page.Time     // when bytes came last
	asked    page.Time
	grown    page.Time

	ahead   []promised
	had     [2]int64  // bytes promised so far by class, for the sake of fairness
	granted int       // bytes that a reader may take and has not
	twice   float64   // wire bytes that may come a second time
	lost    page.Time // until when its server may send a packet again, since the link stood still; see unheard
	kept    int       // bytes taken of a packet that is not ended: see part
	wants   int       // bytes in the socket that a reader waits for
	asks    bool      // a request waits to be sent
	busy    bool      // an answer is under way
	first   bool      // nothing of it has come
	fresh   bool      // nothing of it was read
	greets  bool      // it is the answer to a greeting; see Greet
	greeted bool      // there was one before the request
	ended   bool      // the other side has closed
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
	Vain    int64         // of them in vain, since their bytes had come before
	Window  int           // what the server may send now, as told to it last; -1: not known
	RTT     time.Duration // 0: not known
	Segment int           // bytes that the largest packets held; few: not known
	Ended   bool          // the other side has closed
}

// Habit is how a server was seen to answer: how long it takes beyond the round
// trip, and for a greeting, how fast its bytes come when nothing else keeps them,
// and how many of the first on a connection come twice: a slow one takes them for
// lost, since nobody could tell it in time that they arrived. Zero is not known.
type Habit struct {
	Think time.Duration
	Greet time.Duration
	Speed float64 // bytes a second
	Echo  int64   // bytes, negative: none
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
		c: c, id: c.ids, place: len(c.flows), header: header, window: window,
		whole: -1, rtt: firstRTT, came: now, think: h.Think, greet: h.Greet, speed: h.Speed, echo: h.Echo,
	}
	f.hold(mss)
	c.flows = append(c.flows, f)
	return f
}

// hold says how many bytes a full packet holds.
func (f *Flow) hold(bytes int) {
	f.mss, f.factor = bytes, 1+float64(f.header)/float64(bytes)
}

// Close ends a flow. The other side's farewell is still to come, and when the
// answer was not whole, what it was allowed to send and may have sent, or sent again.
func (f *Flow) Close(now page.Time) {
	if f.place < 0 {
		return
	}
	c := f.c
	rest := float64(f.header) + float64(float64(f.open())*f.factor)
	if now < f.lost {
		rest += Packet
	}
	c.arrive(now, rest)
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
	f.greeted, f.greets = f.greets, false
	f.guess, f.wrong = false, false
}

// Greet is Ask for the greeting of a secure connection. A server answers it without
// looking anything up, and always with about as many bytes: so many if not 0.
func (f *Flow) Greet(bytes int64) {
	f.Ask()
	f.greets = true
	if bytes > 0 {
		f.Guess(bytes)
	}
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
	f.whole, f.guess = f.read+bytes, false
	f.trim()
}

// Guess is Left for what is likely. Once more has come than that, nothing is known
// of this answer any more: or a server that makes us guess too little would bring
// what nobody has asked room for.
func (f *Flow) Guess(bytes int64) {
	if f.wrong {
		return
	}
	f.whole, f.guess = f.read+bytes, true
	f.check()
	f.trim()
}

// check forgets a guess that was too small.
func (f *Flow) check() {
	if f.guess && f.received > f.whole {
		f.whole, f.guess, f.wrong = -1, false, true
	}
}

// Rest says that the answer is whole: the window stays open, but nothing is
// expected through it.
func (f *Flow) Rest() {
	f.forgo(f.open())
	f.busy, f.kept, f.twice, f.lost = false, 0, 0, 0
}

// Habit is what the flow has shown of its server, if it has shown anything.
func (f *Flow) Habit() (h Habit, known bool) {
	h = Habit{f.think, f.greet, f.speed, f.vain}
	switch {
	case f.early(): // it may not have come to it
		if h.Echo = f.echo; f.vain > f.echo && f.vain > 0 {
			h.Echo = f.vain
		}
	case f.vain == 0:
		h.Echo = -1
	}
	return h, f.received > 0
}

// early says that the first two windows of the connection have not come, so that
// the server may not know yet how long its packets take.
func (f *Flow) early() bool { return f.received <= int64(2*f.window) }

// Window is how much its server may send at a time, 0 for as much as it likes.
func (f *Flow) Window() int { return f.window }

// Desist says that nobody waits any more.
func (f *Flow) Desist() { f.asks, f.wants = false, 0 }

// Quiet says that nothing is expected of the flow just now: its counters can
// wait.
func (f *Flow) Quiet() bool {
	c := f.c
	if !f.busy || f.asks || len(f.ahead) == 0 || f.ahead[0].slot > c.slotNo+1 {
		return true
	}
	gap, expected := f.pace(c)
	if f.first {
		gap = 0 // it may have finished thinking any moment
	}
	return !expected || f.turn().Add(gap).Sub(c.now) > c.slot
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
	if n := min(s.Segment, mss); n >= leastSegment && (n > f.mss || !f.sized) {
		f.hold(n)
		f.sized = true
	}
	came := max(s.Payload-f.received, 0)
	f.received += came
	if s.Vain > f.vain {
		f.lost = 0
		f.twice = max(f.twice-float64(s.Vain-f.vain), 0)
		f.vain = s.Vain
	}
	// Packets stay in order: what comes twice comes before the next window.
	if !f.early() || f.vain == 0 && f.received > int64(f.window) {
		f.twice = 0
	}
	if came > 0 {
		c.hear()
		f.hasten(now, came)
		if f.first && !(f.greeted && came < afterword) {
			f.first = false
			f.thought(now.Sub(f.asked)-f.rtt, c.stood(f.asked))
		}
		f.kept = max(f.kept-max(int(came)-f.open(), 0), 0)
		f.settle(int(came))
		f.check()
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
	case -over >= f.mss/2:
		f.promise(c, min(-over, f.due()))
	}
}

// thought learns how long the server took beyond the round trip. When the link stood
// still meanwhile it may have taken less, by as much as that explains.
func (f *Flow) thought(d, stood time.Duration) {
	c := f.c
	d = min(max(d-stood, f.thinks()), d)
	d = min(max(d, time.Millisecond), maxThink)
	if f.greets {
		f.greet = d
		c.greet += (d - c.greet) / 16
		return
	}
	f.think = d
	c.think += (d - c.think) / 16
}

// thinks is how long the server will take beyond the round trip.
func (f *Flow) thinks() time.Duration {
	switch {
	case !f.greets:
		return f.think
	case f.greet == 0: // not known of this one
		return f.c.greet
	}
	return f.greet
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
	f.join()
}

// join puts what is left of a promise to the one behind it, if that is less than a
// packet: it comes with what follows, or never, and nobody should think it late.
func (f *Flow) join() {
	for len(f.ahead) > 1 && f.ahead[0].bytes < f.mss {
		f.ahead[1].bytes += f.ahead[0].bytes
		f.ahead = append(f.ahead[:0], f.ahead[1:]...)
	}
}

// hasten learns how fast the server sends: what came, over the time since it was
// due or since what came before it, whichever is later. Before that it is the
// window and the distance that keep it. A small packet is mostly header, and tells
// nothing: servers send one where a window is no multiple of what packets hold. When the
// link stood still meanwhile the server may be faster than that, by as much as that
// explains; one that is not known stays so.
func (f *Flow) hasten(now page.Time, came int64) {
	if !f.first && len(f.ahead) > 0 && came >= int64(f.mss) {
		from := max(f.came, page.Time(f.ahead[0].slot*int64(f.c.slot)))
		if d := now.Sub(from); d > 0 {
			stood := f.c.stood(from)
			least := float64(came) / max(d, 2*time.Millisecond).Seconds()
			most := float64(came) / max(d-stood, 2*time.Millisecond).Seconds()
			if f.speed == 0 && stood == 0 {
				f.speed = least
			}
			if f.speed > 0 {
				f.speed += float64((min(max(f.speed, least), most) - f.speed) / 4)
			}
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
	bytes = min(f.wants, (held-1)%f.mss+1+(packets-1)*f.mss)
	ended := f.packetsIn(held) - f.packetsIn(held-bytes)
	return bytes, min(f.kept+bytes, ended*f.mss)
}

// reads is part, and how many bytes that brings.
func (f *Flow) reads(packets int) (bytes, opens, brings int) {
	bytes, opens = f.part(packets)
	if f.full(bytes) {
		return bytes, opens, 0
	}
	return bytes, opens, min(opens, f.due(), f.beyond(bytes))
}

// narrow notes after which read a window has become as small as it should.
func (f *Flow) narrow(bytes int) {
	f.shrunk = f.full(bytes)
	f.wide = f.wide && f.excess(bytes) < bytes
}

// full says that a read of so many bytes opens nothing, since more lies in the
// socket than its window holds since it was made smaller. Otherwise the account's
// own idea of what lies there is no reason to take a read for free: the kernel may
// have room for a packet more.
func (f *Flow) full(bytes int) bool {
	return f.shrunk && f.packetsIn(int(f.received-f.read)-bytes) >= f.window/segment
}

// packetsIn is how many packets hold so many bytes.
func (f *Flow) packetsIn(bytes int) int { return (bytes + f.mss - 1) / f.mss }

// slotsAhead is when bytes that are promised now are due.
func (f *Flow) slotsAhead() int {
	d := f.rtt
	if f.asks {
		d += f.thinks()
	}
	return f.slotAt(d)
}

// arrival is when the first packet that is promised now will be here. Those that
// were promised before come first, and the server takes its time for each. Room for
// it is needed from then on: with room asked for when it is due, a slow server would
// leave as much unused until its packet comes. What would come too late to be
// foreseen needs its room when it is due.
func (f *Flow) arrival() int {
	if f.asks || f.speed == 0 {
		return f.slotsAhead()
	}
	gap, last := f.gap(f.speed), f.came
	if f.open() >= f.mss { // otherwise nothing is out, and it is not its server that is silent
		gap, _ = f.pace(f.c)
	}
	for _, p := range f.ahead {
		last = max(last, page.Time(p.slot*int64(f.c.slot))).Add(toDuration(gap.Seconds() * float64(p.bytes) / float64(f.mss)))
	}
	came := max(last, f.c.now.Add(f.rtt)).Add(toDuration(surely * gap.Seconds()))
	if at := f.slotAt(came.Sub(f.c.now)); at < aheadSlots-1 {
		return at
	}
	return f.slotsAhead()
}

// slotAt is the slot ahead that is running after a time.
func (f *Flow) slotAt(d time.Duration) int {
	return min(int(int64(f.c.now.Add(d))/int64(f.c.slot)-f.c.slotNo), aheadSlots-1)
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
	f.join()
}

// foresee adds what is expected to the level of the slots ahead, packet by
// packet: each as long after it is due, or after the one before it, as its server
// takes to send it. A server that has been silent for long is not waited for.
func (f *Flow) foresee(c *Credit) {
	if !f.busy || len(f.ahead) == 0 && f.twice == 0 && c.now >= f.lost {
		return
	}
	gap, expected := f.pace(c)
	if !expected {
		return
	}
	had := c.overdue
	if len(f.ahead) > 0 || f.twice > 0 {
		f.expect(c, gap)
	}
	if c.overdue > had {
		c.still.late++
	}
	f.unheard(c)
}

// expect is foresee for packets that come so long after one another.
func (f *Flow) expect(c *Credit, gap time.Duration) {
	next, first := f.came, f.came
	if f.first {
		gap = min(gap, surelyWithin) // it may be quicker than the last time
	}
	began := !f.first // thinking is all that the first packet takes
	expect := func(wire float64) {
		for ; wire > 0; wire -= Packet {
			if began {
				next = next.Add(toDuration(gap.Seconds() * min(wire/Packet, 1)))
			} else {
				next, began = max(next, c.now), true
				first = next
			}
			at := int64(max(next, c.now))/int64(c.slot) - c.slotNo
			if at >= aheadSlots {
				return
			}
			c.level[at] += min(wire, Packet)
			if next <= c.now {
				c.overdue += min(wire, Packet)
			}
		}
	}
	for _, p := range f.ahead {
		next = max(next, page.Time(p.slot*int64(c.slot)))
		expect(float64(p.bytes) * f.factor)
	}
	after := f.twice
	if f.fresh {
		after += float64(float64(min(f.mss, f.due())) * f.factor)
		if f.first {
			next = max(next, first.Add(f.rtt))
		}
	}
	expect(after)
}

// turn is when the next packet would come if its server sent it in no time.
func (f *Flow) turn() page.Time {
	if len(f.ahead) == 0 {
		return f.came
	}
	return max(f.came, page.Time(f.ahead[0].slot*int64(f.c.slot)))
}

// pace is how long the server takes from packet to packet when it sends, and whether any
// are to be expected. One that has paused for longer than its speed explains is
// as slow as that.
func (f *Flow) pace(c *Credit) (gap time.Duration, expected bool) {
	turn := f.turn()
	silence := max(c.now.Sub(turn)-min(c.stood(turn), longSilence), 0)
	if silence > longSilence {
		return 0, false
	}
	speed := f.speed
	if !f.first && speed > 0 && silence > pauseAllowed && silence.Seconds()*speed > float64(2*f.mss) {
		speed = float64(2*f.mss) / silence.Seconds()
	}
	return f.gap(speed), true
}

// gap is how long a packet takes at a speed, 0 if that is not known.
func (f *Flow) gap(speed float64) time.Duration {
	if speed == 0 {
		return 0
	}
	return toDuration(min(float64(f.mss)/speed, longSilence.Seconds()))
}

// doubt is how many wire bytes may come twice of the answer that is asked for.
func (f *Flow) doubt() float64 {
	switch {
	case f.received > 0:
		return 0
	case f.echo == 0:
		return float64(f.window) / doubtful
	}
	return float64(max(f.echo, 0))
}

// reslot keeps promises over a change of the slots' length.
func (f *Flow) reslot() {
	if n := f.open(); n > 0 {
		f.ahead = append(f.ahead[:0], promised{f.c.slotNo, n})
	}
}
