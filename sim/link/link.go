// Package link decides how fast every flow on a shared link sends, and which
// one ends next.
//
// A link carries a number of flows. Each has a speed of its own, which is what
// its site can send, and a number of bytes to carry. The link has a capacity.
// [MaxMin] gives every flow the smaller of its speed and one level, chosen so
// that the capacity is used up or nobody wants more; [Even] gives every open
// connection the same share and hands on nothing that a slow one leaves.
//
// Either way a flow sends at min(speed, level): it is held back by its own
// speed (capped) or by the level. What makes events cheap is that neither kind
// needs touching as time passes:
//
//	capped   ends at a moment of real time, whatever the level does
//	level    ends when a common clock, bytes sent per flow at the level,
//	         reaches a mark set when it began
//
// so two heaps know who ends next, two more know whom a moving level meets
// first, and an event costs O(log flows) for every flow that changes kind. The
// flows of one speed always change together. They form a tier with a clock and
// a heap of its own, so that a thousand equal sites change kind in one step.
//
// Under MaxMin some flows may be urgent ([Link.Urge]). They are served before all
// that, by a simpler way that suits a few, and the level divides what they leave.
//
// Times are nanoseconds since any beginning; bytes and rates are float64.
// Products are rounded before they are added, so that machines which fuse the
// two find the same times as those which do not.
package link

import (
	"fmt"
	"math"
)

// Sharing is the rule by which flows share the link.
type Sharing uint8

const (
	// MaxMin is max-min fair: what a slow flow leaves goes to the others.
	MaxMin Sharing = iota
	// Even splits the capacity evenly over the open connections, those
	// waiting for their first byte included. What a connection does not use
	// is lost: the rule that fits Castillo, table 6.1.
	Even
)

// String names the rule as --sharing does.
func (s Sharing) String() string {
	switch s {
	case MaxMin:
		return "maxmin"
	case Even:
		return "even"
	}
	return fmt.Sprintf("Sharing(%d)", uint8(s))
}

// ParseSharing reads the name of a rule.
func ParseSharing(name string) (Sharing, error) {
	for _, s := range []Sharing{MaxMin, Even} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("sharing %q: want maxmin or even", name)
}

const (
	second = 1e9 // in nanoseconds
	// top bounds speeds, so that no product is infinite.
	top = 1e15
	// none marks a flow that is not sending, ahead one that is urgent and
	// has no tier.
	none  = -1
	ahead = -2
)

// Link is a link shared by flows, numbered from 0. A flow is closed at first;
// Open, Add, End and Close take it around as often as its owner likes.
//
// Calls come in order of time, and whoever ends next, by [Link.Next], is ended
// before time passes that moment. Breaking this, or the order of a flow's
// calls, is a fault of the caller and panics. Among flows that end in the same
// nanosecond the order depends on nothing but the calls made.
//
// Not safe for concurrent use.
type Link struct {
	sharing  Sharing
	capacity float64 // +Inf: no bound
	now      int64
	sent     float64 // up to now

	room  float64 // what the urgent leave of the capacity
	share float64 // the level; +Inf while it holds nobody back
	level float64 // bytes sent by a flow at the level, since there is one

	open  int // connections
	slow  sum // of the speeds of the capped flows
	held  int // flows at the level
	tiers []tier
	free  []int32 // unused tiers
	find  speeds

	isOpen []bool
	urge   []float64
	bytes  []float64 // what a flow was to carry
	tierOf []int32   // none while not sending, ahead while urgent
	mark   []float64 // the tier's clock when the flow ends
	place  []int32   // in its tier's heap

	// The first to end of every tier, by real time and by the level's clock.
	cappedEnd, levelEnd heap
	// Tiers by speed: the fastest capped, the slowest at the level.
	cappedFast, levelSlow heap

	rush rush // the urgent flows
}

// tier is the flows of one speed. Its clock counts the bytes that a member
// sending all along would have sent.
type tier struct {
	speed   float64
	atLevel bool
	base    float64 // the clock at since; at the level, what it is ahead of the level's
	since   int64
	flows   heap // by mark
}

// New returns a link of capacity bytes per second for flows 0 to flows-1, none
// of them open. A capacity of 0 or +Inf is no bound.
func New(capacity float64, flows int, s Sharing) *Link {
	if s > Even {
		panic(fmt.Sprintf("link: unknown sharing %d", s))
	}
	l := &Link{
		sharing:    s,
		capacity:   bound(capacity),
		rush:       rush{first: none},
		room:       bound(capacity),
		share:      math.Inf(1),
		tiers:      make([]tier, flows),
		free:       make([]int32, flows),
		find:       newSpeeds(flows),
		isOpen:     make([]bool, flows),
		urge:       make([]float64, flows),
		bytes:      make([]float64, flows),
		tierOf:     make([]int32, flows),
		mark:       make([]float64, flows),
		place:      make([]int32, flows),
		cappedEnd:  newHeap(flows),
		levelEnd:   newHeap(flows),
		cappedFast: newHeap(flows),
		levelSlow:  newHeap(flows),
	}
	for i := range flows {
		l.tierOf[i] = none
		l.free[i] = int32(flows - 1 - i)
		l.tiers[i].flows = heap{key: l.mark, place: l.place}
	}
	return l
}

func bound(capacity float64) float64 {
	if capacity == 0 {
		return math.Inf(1)
	}
	if !(capacity > 0) {
		panic(fmt.Sprintf("link: capacity %v", capacity))
	}
	return capacity
}

// Set changes the capacity; 0 or +Inf is no bound.
func (l *Link) Set(now int64, capacity float64) {
	l.advance(now)
	l.capacity = bound(capacity)
	l.room = l.rush.share(now, l.capacity)
	l.settle()
}

// Open opens a connection: from now on it counts for an even split.
func (l *Link) Open(now int64, flow int) {
	if l.isOpen[flow] {
		panic(fmt.Sprintf("link: flow %d is open already", flow))
	}
	l.advance(now)
	l.isOpen[flow] = true
	l.open++
	if l.sharing == Even {
		l.settle()
	}
}

// Close closes a connection that is not sending.
func (l *Link) Close(now int64, flow int) {
	if !l.isOpen[flow] || l.tierOf[flow] != none {
		panic(fmt.Sprintf("link: flow %d closes while it is not open or still sends", flow))
	}
	l.advance(now)
	l.isOpen[flow] = false
	l.urge[flow] = 0
	l.open--
	if l.sharing == Even {
		l.settle()
	}
}

// Add makes an open flow send bytes, at most at speed bytes per second.
func (l *Link) Add(now int64, flow int, speed, bytes float64) {
	if !l.isOpen[flow] || l.tierOf[flow] != none {
		panic(fmt.Sprintf("link: flow %d begins while it is not open or sends already", flow))
	}
	if !(speed > 0) || !(bytes >= 0) || math.IsInf(bytes, 1) {
		panic(fmt.Sprintf("link: flow %d would send %v bytes at %v a second", flow, bytes, speed))
	}
	l.advance(now)
	l.bytes[flow] = bytes
	l.enter(flow, min(speed, top), bytes)
	l.settle()
}

// enter puts a flow among those of its urgency and speed.
func (l *Link) enter(flow int, speed, bytes float64) {
	if l.urge[flow] > 0 {
		l.join(flow, speed, bytes)
		return
	}
	g := l.tierAt(speed)
	t := &l.tiers[g]
	l.tierOf[flow] = g
	l.unlist(t)
	t.flows.set(int32(flow), l.clock(t)+bytes)
	l.list(t)
	if t.atLevel {
		l.held++
	} else {
		l.slow.add(t.speed)
	}
}

// Next returns who ends next, and when: the first whole nanosecond at which
// all its bytes are sent. It reports false if nobody sends.
func (l *Link) Next() (at int64, flow int, ok bool) {
	at, flow = math.MaxInt64, none
	if l.cappedEnd.len() > 0 {
		i := l.cappedEnd.first()
		at, flow = whole(l.cappedEnd.key[i]), int(i)
	}
	if l.levelEnd.len() > 0 {
		i := l.levelEnd.first()
		when := l.now
		if left := l.levelEnd.key[i] - l.level; left > 0 || l.share > 0 {
			when = whole(float64(l.now) + float64(left/l.share*second))
		}
		if flow == none || when < at || when == at && int(i) < flow {
			at, flow = when, int(i)
		}
	}
	if i := int(l.rush.first); i != none && (flow == none || l.rush.end < at || l.rush.end == at && i < flow) {
		at, flow = l.rush.end, i
	}
	return max(at, l.now), flow, flow != none
}

// whole rounds a moment up to a nanosecond; the far future is MaxInt64.
func whole(ns float64) int64 {
	if ns = math.Ceil(ns); ns < math.MaxInt64 {
		return int64(ns)
	}
	return math.MaxInt64
}

// End ends a flow that has sent all its bytes. Its connection stays open.
func (l *Link) End(now int64, flow int) {
	l.sending(flow)
	l.advance(now)
	slack := l.slack(flow)
	left := l.leave(flow)
	if left > slack {
		panic(fmt.Sprintf("link: flow %d ends with %v bytes left", flow, left))
	}
	// Times are whole: it sent for a fraction of a nanosecond too long.
	l.sent += left
	l.settle()
}

// Sent returns the bytes carried since the beginning, at now if nothing
// happens until then.
func (l *Link) Sent(now int64) float64 { return l.sent + l.product(l.Rate(), now) }

// Rate returns the bytes per second the link carries.
func (l *Link) Rate() float64 {
	if l.held == 0 {
		return l.slow.value() + l.rush.rate
	}
	return l.slow.value() + float64(float64(l.held)*l.share) + l.rush.rate
}

// slack is how many bytes rounding may leave of a flow that ends now: one, and
// what it sends or counts in the last digit of the time and of the clocks. Fast
// flows of a crawl that has lasted for years have many.
func (l *Link) slack(flow int) float64 {
	const digit = 1.0 / (1 << 51)
	if l.tierOf[flow] == ahead {
		return 1 + digit*(l.speedOf(flow)*float64(l.now)/second+l.bytes[flow])
	}
	t := &l.tiers[l.tierOf[flow]]
	return 1 + digit*(t.speed*float64(l.now)/second+math.Abs(l.mark[flow])+math.Abs(t.base)+l.level)
}

func (l *Link) sending(flow int) {
	if l.tierOf[flow] == none {
		panic(fmt.Sprintf("link: flow %d is not sending", flow))
	}
}

// product returns the bytes sent from the link's time to now at a rate.
func (l *Link) product(rate float64, now int64) float64 {
	if now == l.now {
		return 0
	}
	return float64(rate * float64(now-l.now) / second)
}

func (l *Link) advance(now int64) {
	if now < l.now {
		panic(fmt.Sprintf("link: time runs back from %d to %d", l.now, now))
	}
	l.sent += l.product(l.Rate(), now)
	if l.held > 0 {
		l.level += l.product(l.share, now)
	}
	l.now = now
}

// settle finds the level and moves the tiers it passed. Moving a tier never
// lowers the level: one held back instead of capped leaves room, one capped
// takes no more than its part. So each loop runs one way and one round of both
// is enough, and rounding cannot make them chase each other.
func (l *Link) settle() {
	share := l.fair()
	for l.cappedFast.len() > 0 {
		t := &l.tiers[l.cappedFast.first()]
		if t.speed <= share {
			break
		}
		l.move(t)
		share = l.fair()
	}
	for l.levelSlow.len() > 0 {
		t := &l.tiers[l.levelSlow.first()]
		if t.speed > share {
			break
		}
		l.move(t)
		share = l.fair()
	}
	if l.held == 0 {
		share = math.Inf(1)
		l.level = 0
	}
	if share < 0 {
		share = 0 // by rounding, where the urgent leave nothing
	}
	l.share = share
}

// fair returns the level for the flows as they are divided now.
func (l *Link) fair() float64 {
	switch {
	case l.sharing == Even && l.open > 0:
		return l.capacity / float64(l.open)
	case l.sharing == MaxMin && l.held > 0:
		return (l.room - l.slow.value()) / float64(l.held)
	case l.slow.value() > l.room:
		return 0 // the fastest must give way
	}
	return math.Inf(1)
}

// clock returns a tier's clock at the link's time.
func (l *Link) clock(t *tier) float64 {
	if t.atLevel {
		return t.base + l.level
	}
	return t.base + float64(t.speed*float64(l.now-t.since)/second)
}

// move takes a tier from capped to the level or back.
func (l *Link) move(t *tier) {
	clock := l.clock(t)
	n := t.flows.len()
	l.unlist(t)
	if t.atLevel {
		g := l.levelSlow.pop()
		l.held -= n
		l.slow.addTimes(t.speed, n)
		l.cappedFast.set(g, -t.speed)
		t.base, t.since = clock, l.now
	} else {
		g := l.cappedFast.pop()
		l.held += n
		l.slow.addTimes(t.speed, -n)
		l.levelSlow.set(g, t.speed)
		t.base = clock - l.level
	}
	t.atLevel = !t.atLevel
	l.list(t)
}

// unlist takes a tier's first flow from the order of ends, list puts it there;
// the tier may change in between.
func (l *Link) unlist(t *tier) {
	if t.flows.len() == 0 {
		return
	}
	if t.atLevel {
		l.levelEnd.remove(t.flows.first())
	} else {
		l.cappedEnd.remove(t.flows.first())
	}
}

func (l *Link) list(t *tier) {
	if t.flows.len() == 0 {
		return
	}
	i := t.flows.first()
	if t.atLevel {
		l.levelEnd.set(i, l.mark[i]-t.base)
	} else {
		l.cappedEnd.set(i, float64(t.since)+float64((l.mark[i]-t.base)/t.speed*second))
	}
}

// tierAt returns the tier of a speed, a new one where the speed puts it.
func (l *Link) tierAt(speed float64) int32 {
	if g := l.find.tier(speed); g != none {
		return g
	}
	g := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.find.add(speed, g)
	t := &l.tiers[g]
	t.speed, t.atLevel, t.since = speed, speed > l.share, l.now
	if t.atLevel {
		t.base = -l.level
		l.levelSlow.set(g, speed)
	} else {
		t.base = 0
		l.cappedFast.set(g, -speed)
	}
	return g
}

// leave takes a flow from its tier and returns what it has not sent, less than
// nothing if it sent for too long.
func (l *Link) leave(flow int) (left float64) {
	g := l.tierOf[flow]
	if g == ahead {
		return l.part(flow)
	}
	t := &l.tiers[g]
	left = l.mark[flow] - l.clock(t)
	l.unlist(t)
	t.flows.remove(int32(flow))
	l.list(t)
	l.tierOf[flow] = none
	empty := t.flows.len() == 0
	if empty {
		l.find.remove(t.speed, g)
		l.free = append(l.free, g)
	}
	if t.atLevel {
		l.held--
		if empty {
			l.levelSlow.remove(g)
		}
		return left
	}
	if empty {
		l.cappedFast.remove(g)
	}
	l.slow.add(-t.speed)
	return left
}
