package bandwidth

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"weir/page"
)

// Credit bounds the bytes that arrive at the network interface by what it lets
// readers take from their sockets.
//
// A receiver cannot stop bytes that are on their way; it can only not ask for
// more. It asks by opening its window, and with a small receive buffer it opens
// the window by reading: k bytes read now are k bytes allowed to come, about one
// round trip later. So the account is kept of arrivals, past and promised:
//
//   - past: the bytes that came in each of the last slots, together one span
//     (a second, longer for limits of a few packets a second);
//   - promised: for every Flow what its server may still send, and when that is
//     due. What is late is expected at the pace the flow has shown.
//
// A grant of k bytes is given when no span that ends after they will be here, at
// the pace of their server, would then hold more than the limit allows. So no
// second holds more than the limit, except by what comes earlier than expected;
// and since a span that holds less is filled up by the next grants, hardly less
// either. Short spans within it are bounded too, more loosely, so that the bytes
// come evenly.
//
// Not safe for concurrent use.
type Credit struct {
	cfg   CreditConfig
	limit float64       // bytes a second; infinite: none, 0: nothing may come
	slot  time.Duration // a two hundredth of the span
	room  float64       // wire bytes that a span may hold at the limit

	now     page.Time
	ticked  page.Time                        // the last Tick
	slotNo  int64                            // of now
	past    [spanSlots]float64               // wire bytes, by slot number
	sum     float64                          // of past
	level   [aheadSlots]float64              // the fullest of the spans that end in a slot ahead, or later
	brief   [aheadSlots + briefSlots]float64 // the short spans that end in each slot ahead
	overdue float64                          // wire bytes that are expected any moment
	bound   float64                          // of room: what may be foreseen of a span now
	dip     float64                          // wire bytes that a short span may hold

	still   still // see there
	flows   []*Flow
	floor   [2]int64            // what the one that had least of its class has had
	queue   []*Flow             // those who wait, in a Tick
	rush    []*Flow             // those who are urgent, in a Tick; see urgent.go
	yielded int                 // how many of them have room kept for them
	kept    [aheadSlots]float64 // wire bytes that are reserved for them in each slot ahead
	ids     uint64
	think   time.Duration // what servers take beyond the round trip, a running mean
	greet   time.Duration // the same for greetings
	bytes   float64       // wire bytes so far
	rate    float64       // of them, averaged over rateTime
	began   page.Time
	idle    time.Duration // how long there was room and nobody waited for it
	grants  []Grant
	started bool
}

// CreditConfig are the settings of a Credit.
type CreditConfig struct {
	Limit  int64 // bytes a second on the wire; Unlimited or Off are possible
	Strict bool  // rather use less than ever go over
}

// Grant lets a Flow go on.
type Grant struct {
	Flow   *Flow
	Bytes  int // that may be read now
	Window int // not 0: the window is this large from now on
}

// The span is divided into slots, the one that is running included.
const (
	spanSlots  = 200
	aheadSlots = 128 // how far ahead promises are looked at
	briefSlots = 16  // of a short span

	minSpan  = time.Second
	spanFull = 24  // packets that a span must have room for
	surge    = 1.4 // of the limit: what a short span may hold, and one packet
)

// Windows. They are told in units of the largest payload there is; with the time
// stamps in its header a packet holds a little less, and where addresses or lines take
// of it, less again, which its flow learns.
const (
	segment      = 1460
	mss          = 1448
	leastSegment = 1000                  // less is no full packet, but a short one
	windowTime   = 10 * time.Millisecond // of the limit: what a new connection offers
	minWindow    = 2 * segment           // half of it, which is what servers send at a time, is a packet
	startWindow  = 10 * segment          // servers send no more at first
	maxWindow    = 60 << 10              // 64 KiB can be told without a scale
	idleGrow     = 50 * time.Millisecond // of room that nobody wants before a window grows
	growth       = 2                     // it grows by this part of itself
	growTime     = 300 * time.Millisecond
)

// What is expected of servers.
const (
	youth        = 15 * time.Second       // of a Credit that has not seen much
	firstRTT     = 100 * time.Millisecond // until it is known
	maxThink     = time.Second
	doubtful     = 2                      // a server that nobody knows may send this part of a window twice
	pauseAllowed = 100 * time.Millisecond // before a server counts as slower than it was
	longSilence  = 3 * time.Second        // after which nothing is expected any more
	maxPromises  = 64                     // of a flow that are told apart
	afterword    = 512                    // bytes: less after a greeting is still part of that, and not of the answer
	surely       = 0.8                    // of the time that a server takes for a packet, since it may be quicker this time
	surelyWithin = 30 * time.Millisecond  // the packets of its first window come after one another, though it took longer before
)

const (
	smallLimit = 200e3                  // bytes a second
	rateTime   = 250 * time.Millisecond // that the rate is averaged over
	turnTime   = 5 * time.Millisecond   // of the limit: what all who wait are given in one turn
	leadMin    = 24 * mss               // that a flow may get ahead of one that waits
	leadTime   = 400 * time.Millisecond // or of its share of the limit
)

// share is how much of the limit a span may be filled with, as far as that can
// be foreseen. Servers do not keep time, so what a span holds in the end lies
// around it, by two or three packets. Under a small limit a span is seldom full to
// the last packet, and less has to be left. At first nothing is known of any server,
// and more room is kept.
func (c *Credit) share() float64 {
	share := 0.99 + float64(0.005*min(smallLimit/c.limit, 1))
	if young := 1 - c.now.Sub(c.began).Seconds()/youth.Seconds(); young > 0 {
		share -= float64(0.04 * young * young)
	}
	if c.cfg.Strict {
		share = min(share, 0.981)
	}
	return share
}

// NewCredit returns a Credit without flows.
func NewCredit(cfg CreditConfig) *Credit {
	c := &Credit{cfg: cfg, think: 20 * time.Millisecond, greet: 5 * time.Millisecond}
	c.SetLimit(0, cfg.Limit)
	return c
}

// SetLimit changes the limit, which may be Unlimited or Off. What came before
// counts: after a lower limit was set nothing is granted until the last span
// fits under it.
func (c *Credit) SetLimit(now page.Time, limit int64) {
	c.limit = float64(limit)
	span := minSpan
	switch limit {
	case Unlimited:
		c.limit = math.Inf(1)
	case Off:
	default:
		span = max(span, time.Duration(spanFull*Packet/c.limit*float64(time.Second)))
	}
	if slot := span / spanSlots; slot != c.slot {
		c.rebin(now, slot)
	}
	for _, f := range c.flows {
		if w := c.Window(); f.window == 0 || w == 0 || f.window > w {
			f.window, f.shrunk = w, true
		}
	}
	c.room = 0
	if limit != Off {
		c.room = c.limit * (c.slot * spanSlots).Seconds()
	}
	c.dip = float64(surge*c.limit*(c.slot*briefSlots).Seconds()) + Packet
}

// rebin divides the span anew. What came keeps its time.
func (c *Credit) rebin(now page.Time, slot time.Duration) {
	past, first, was := c.past, c.slotNo, c.slot
	c.past, c.sum = [spanSlots]float64{}, 0
	c.slot, c.slotNo = slot, int64(max(now, c.now))/int64(slot)
	for i := range int64(spanSlots) {
		no := (first - i) * int64(was) / int64(slot)
		if first >= i && no <= c.slotNo && no > c.slotNo-spanSlots {
			c.past[no%spanSlots] += past[(first-i)%spanSlots]
			c.sum += past[(first-i)%spanSlots]
		}
	}
	for _, f := range c.flows {
		f.reslot()
	}
}

// Limit returns the limit in bytes a second, Unlimited or Off.
func (c *Credit) Limit() int64 {
	if math.IsInf(c.limit, 1) {
		return Unlimited
	}
	return int64(c.limit)
}

// Window is what a new connection should offer its server: small, so that a
// server that falls silent holds little of the link, and large enough for the
// limit with a few dozen connections over ordinary distances. Without a limit it
// is 0, for whatever the system likes.
func (c *Credit) Window() int {
	if math.IsInf(c.limit, 1) {
		return 0
	}
	return int(min(max(math.Floor(c.limit*windowTime.Seconds()/segment)*segment, minWindow), startWindow))
}

// Charge counts wire bytes that no Flow carries: lookups, probes.
func (c *Credit) Charge(now page.Time, bytes int) { c.arrive(now, float64(bytes)) }

func (c *Credit) arrive(now page.Time, wire float64) {
	c.advance(now)
	c.past[c.slotNo%spanSlots] += wire
	c.sum += wire
	c.bytes += wire
	c.rate += float64(wire / rateTime.Seconds())
}

// advance moves the span to now.
func (c *Credit) advance(now page.Time) {
	if !c.started {
		c.started, c.now, c.began = true, now, now
		c.slotNo = int64(now) / int64(c.slot)
		if c.slot > minSpan/spanSlots {
			// A long span that is empty would let many seconds' worth in at once.
			for i := range c.past {
				c.past[i] = float64(c.limit * c.slot.Seconds())
				c.sum += c.past[i]
			}
		}
	}
	if now <= c.now {
		return
	}
	dt := now.Sub(c.now).Seconds()
	c.rate *= math.Exp(-dt / rateTime.Seconds())
	c.now = now
	to := int64(now) / int64(c.slot)
	if to-c.slotNo >= spanSlots {
		c.past = [spanSlots]float64{}
		c.sum = 0
		c.slotNo = to
	}
	for c.slotNo < to {
		c.slotNo++
		i := c.slotNo % spanSlots
		c.sum -= c.past[i]
		c.past[i] = 0
	}
}

// Tick looks at all promises and returns who may go on now. The slice is the
// Credit's and holds until the next Tick. It wants to be called every few
// milliseconds while anybody waits.
func (c *Credit) Tick(now page.Time) []Grant {
	c.advance(now)
	passed := c.now.Sub(max(c.ticked, c.began))
	if c.ticked > 0 && passed >= leastUnseen {
		c.still.note(c.ticked, c.now)
	}
	c.ticked = c.now
	c.grants = c.grants[:0]
	c.bound = c.share() * c.room
	c.foresee()
	c.queue = c.queue[:0]
	for _, f := range c.flows {
		switch {
		case !f.waits():
		case f.Free():
			c.grants = append(c.grants, Grant{Flow: f, Bytes: f.wants})
			f.asks, f.wants = false, 0
		case f.fresh && !f.asks && c.limit > 0:
			// How much is to come stands in the first bytes as a rule; as long as
			// that is not known, too much is expected.
			bytes, opens := f.part(1)
			brings := min(opens, f.due())
			f.promise(c, brings) // which was foreseen
			f.granted, f.wants = bytes, 0
			f.kept += bytes - opens
			c.grants = append(c.grants, Grant{Flow: f, Bytes: bytes})
		default:
			c.queue = append(c.queue, f)
		}
	}
	c.rushing()
	all := len(c.queue) == 0 || c.serve()
	if all && !math.IsInf(c.limit, 1) && c.fits(0, Packet) {
		if c.idle += passed; c.idle >= idleGrow {
			c.grow()
		}
	} else {
		c.idle = 0
	}
	return c.grants
}

// serve gives what may be given: first to those whose promises are behind, the
// furthest first and each as much as it can take, then to those who have had least.
// A request stands before the
// reads of its class, and what it needs is kept for it, or the reads would
// always be there first with less. A read that finds no room lets others go on,
// since theirs may bring bytes at another time; but nobody gets further ahead of
// it than lead, or distant servers, whose bytes are booked long before they
// come, would leave nothing to near ones. The same holds among those who
// are equally urgent. It returns whether all were served.
func (c *Credit) serve() bool {
	least := [2]int64{math.MaxInt64, math.MaxInt64}
	for _, f := range c.queue {
		if k := f.class(); !f.asks {
			f.had[k] = max(f.had[k], c.floor[k])
			least[k] = min(least[k], f.had[k])
		}
	}
	for k := range least {
		if least[k] < math.MaxInt64 {
			c.floor[k] = least[k]
		}
	}
	slices.SortFunc(c.queue, before)
	waiting := len(c.queue)
	lead := int64(max(leadMin, c.limit*leadTime.Seconds()/float64(waiting)))
	all := true
	var held *Flow // who has had least of the urgent whom nothing could be given
	for _, f := range c.queue {
		c.yieldTo(f.urge)
		if !f.asks && f.urge == 0 && f.had[0] > c.floor[0]+lead {
			return false
		}
		if held != nil && held.urge == f.urge && f.had[1] > held.had[1]+lead {
			continue
		}
		reads := !f.asks
		if g, ok := c.grant(f, waiting); ok {
			c.grants = append(c.grants, g)
			if reads && f.urge > 0 {
				c.widen(f)
			}
			continue
		}
		if all = false; f.asks {
			return false
		}
		if f.urge > 0 && (held == nil || held.urge != f.urge) {
			held = f
		}
	}
	return all
}

// before orders flows by whose turn it is.
func before(f, g *Flow) int {
	switch {
	case f.urge != g.urge:
		return cmp.Compare(g.urge, f.urge)
	case f.asks != g.asks && f.asks:
		return -1
	case f.asks != g.asks:
		return 1
	}
	k := f.class()
	return cmp.Or(cmp.Compare(f.had[k], g.had[k]), cmp.Compare(f.id, g.id))
}

// grant gives a flow its next bytes if there is room for what they bring: its part
// of a turn, or when it is urgent as much as possible.
func (c *Credit) grant(f *Flow, waiting int) (Grant, bool) {
	if f.asks || f.urge == 0 {
		return c.give(f, max(1, f.packetsIn(int(c.limit*turnTime.Seconds())/waiting)))
	}
	if n := c.most(f); n > 0 {
		return c.give(f, n)
	}
	return Grant{}, false
}

// most is how many packets a flow can be given at once. More bring no less, so that
// they need not all be tried.
func (c *Credit) most(f *Flow) int {
	return sort.Search(f.packetsIn(f.wants), func(n int) bool {
		_, _, brings := f.reads(n + 1)
		return !c.bears(f, brings)
	})
}

// bears says whether there is room for bytes that a flow would bring.
func (c *Credit) bears(f *Flow, brings int) bool {
	if c.bound == 0 {
		return false
	}
	return brings == 0 || c.fits(f.arrival(), float64(float64(brings)*f.factor))
}

// give gives a flow so many packets, or sends its request.
func (c *Credit) give(f *Flow, packets int) (Grant, bool) {
	var bytes, opens, brings int
	if f.asks {
		brings = min(f.window/segment*f.mss, f.due())
	} else {
		bytes, opens, brings = f.reads(packets)
		f.narrow(bytes)
	}
	if !c.bears(f, brings) {
		return Grant{}, false
	}
	at := f.arrival()
	cost := float64(float64(brings) * f.factor)
	if f.asks {
		// The first packet will be read at once, which brings another.
		later, more := f.slotAt(f.rtt+f.thinks()+f.rtt), float64(float64(min(f.mss, f.due()-brings))*f.factor)+f.doubt()
		if !c.fits(later, cost+more) {
			return Grant{}, false
		}
		c.take(later, more)
	}
	c.take(at, cost)
	f.promise(c, brings)
	if f.asks {
		f.asked, f.twice = c.now, f.doubt()
	} else {
		f.kept += bytes - opens
	}
	f.had[f.class()] += int64(brings)
	f.granted = bytes
	g := Grant{Flow: f, Bytes: bytes}
	f.asks, f.wants = false, 0
	return g, true
}

// fits says whether wire bytes that come in a slot ahead leave every span within
// its bounds.
func (c *Credit) fits(at int, cost float64) bool {
	if c.level[at]+cost > c.bound && (c.level[at] > 0 || c.bound == 0) {
		return false // more than a span holds may come alone
	}
	for _, b := range c.brief[at : at+briefSlots] {
		// More than a short span holds may come alone.
		if b+cost > c.dip && b > 0 {
			return false
		}
	}
	return true
}

// take books wire bytes that will come in a slot ahead.
func (c *Credit) take(at int, cost float64) {
	for i := at; i < aheadSlots; i++ {
		c.level[i] += cost
	}
	for i := range at {
		c.level[i] = max(c.level[i], c.level[at])
	}
	for i := at; i < at+briefSlots; i++ {
		c.brief[i] += cost
	}
}

// foresee works out what the spans hold that end in each of the next slots, as
// things stand.
func (c *Credit) foresee() {
	c.listen()
	c.level, c.overdue, c.still.late, c.still.again = [aheadSlots]float64{}, 0, 0, 0
	for _, f := range c.flows {
		f.foresee(c)
	}
	c.level[0] += c.past[c.slotNo%spanSlots]
	// What is overdue comes any moment, but hardly all of it in the same one.
	c.level[0] -= c.overdue
	brief := 0.0
	for i := 1; i < briefSlots; i++ {
		brief += c.past[(c.slotNo+spanSlots-int64(i))%spanSlots]
	}
	for i := range c.brief {
		if i < aheadSlots {
			brief += c.level[i]
		}
		c.brief[i] = brief
		switch old := i - briefSlots + 1; {
		case old < 0:
			brief -= c.past[(c.slotNo+spanSlots+int64(old))%spanSlots]
		case old < aheadSlots:
			brief -= c.level[old]
		}
	}
	c.level[0] += c.overdue
	sum := c.sum - c.past[c.slotNo%spanSlots]
	for i := range aheadSlots {
		if i > 0 {
			sum -= c.past[(c.slotNo+int64(i))%spanSlots]
		}
		sum += c.level[i]
		c.level[i] = sum
	}
	for i := aheadSlots - 2; i >= 0; i-- {
		c.level[i] = max(c.level[i], c.level[i+1])
	}
}

// grow opens the windows of flows that keep theirs full, when the link has room
// and nobody waits.
func (c *Credit) grow() {
	open := 0
	for _, f := range c.flows {
		open += f.open()
	}
	for _, f := range c.flows {
		if float64(open+f.growth()) > c.limit*growTime.Seconds() {
			return // more could come at once than can be borne
		}
		if c.widen(f) {
			return
		}
	}
}

// growth is by how much the window of a flow grows, if it does.
func (f *Flow) growth() int {
	return min(max(f.window/growth/segment*segment, segment), maxWindow-f.window)
}

// widen opens a flow's window further if its server fills it and there is room.
func (c *Credit) widen(f *Flow) bool {
	more := f.growth()
	trip := max(f.rtt, c.slot) // nearer servers are looked at no more often
	full := f.speed*trip.Seconds() > 0.6*float64(f.window)
	at := f.slotsAhead()
	cost := float64(float64(more) * f.factor)
	if more < segment || !f.busy || f.ended || !full || f.due() == 0 || c.now.Sub(f.grown) < trip || !c.fits(at, cost) {
		return false
	}
	c.take(at, cost)
	f.window += more
	f.grown = c.now
	f.promise(c, more/segment*f.mss) // no byte more than comes, or the flow seems to pause; see pace
	c.grants = append(c.grants, Grant{Flow: f, Window: f.window})
	return true
}

// Bytes returns how many wire bytes have come.
func (c *Credit) Bytes() int64 { return int64(c.bytes) }

// Wire is how the link is doing.
func (c *Credit) Wire(now page.Time) Wire {
	c.advance(now)
	w := Wire{Limit: float64(c.Limit()), Rate: max(c.rate, 0), Bytes: int64(c.bytes), Idle: c.idle, Window: int64(c.Window())}
	for _, f := range c.flows {
		w.Backlog += max(f.received-f.read, 0)
	}
	return w
}
