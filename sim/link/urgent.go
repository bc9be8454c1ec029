package link

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// rush is the flows that go before all others. There are few of them at a time,
// so their rates are found flow by flow, whenever one of them or the capacity
// changes; what happens to the others does not touch them.
type rush struct {
	flows []urgent // the most urgent first, the slowest first among equals
	since int64    // when the rates were set
	rate  float64  // of all together
	end   int64    // when the first ends
	first int32    // which one that is, none if there are none
}

// urgent is a flow of a rush.
type urgent struct {
	flow  int32
	urge  float64
	speed float64
	left  float64 // bytes, when the rates were set
	rate  float64
}

func (u urgent) compare(v urgent) int {
	return cmp.Or(cmp.Compare(v.urge, u.urge), cmp.Compare(u.speed, v.speed), cmp.Compare(u.flow, v.flow))
}

// find returns where a flow is that is there.
func (r *rush) find(flow int) int {
	return slices.IndexFunc(r.flows, func(u urgent) bool { return int(u.flow) == flow })
}

// share gives the flows their rates from now on and returns what they leave of
// the capacity. The most urgent get all they can take; those of one urgency share
// max-min fair.
func (r *rush) share(now int64, capacity float64) (room float64) {
	r.advance(now)
	room = capacity
	r.rate, r.end, r.first = 0, math.MaxInt64, none
	equals := 0 // that have not had their part
	for i := range r.flows {
		u := &r.flows[i]
		if equals == 0 {
			for i+equals < len(r.flows) && r.flows[i+equals].urge == u.urge {
				equals++
			}
		}
		u.rate = min(u.speed, room/float64(equals))
		room -= u.rate
		r.rate += u.rate
		equals--
		if at := u.end(now); r.first == none || at < r.end || at == r.end && u.flow < r.first {
			r.end, r.first = at, u.flow
		}
	}
	return room
}

// advance takes off what was sent since the rates were set.
func (r *rush) advance(now int64) {
	for i := range r.flows {
		u := &r.flows[i]
		u.left = u.leftAt(now, r.since)
	}
	r.since = now
}

func (u *urgent) leftAt(now, since int64) float64 {
	return u.left - float64(u.rate*float64(now-since)/second)
}

// end is when a flow ends whose rate is set now.
func (u *urgent) end(now int64) int64 {
	if u.left <= 0 {
		return now
	}
	return whole(float64(now) + float64(u.left/u.rate*second))
}

// join takes a flow into the rush.
func (l *Link) join(flow int, speed, bytes float64) {
	u := urgent{flow: int32(flow), urge: l.urge[flow], speed: speed, left: bytes}
	l.rush.advance(l.now)
	at, _ := slices.BinarySearchFunc(l.rush.flows, u, urgent.compare)
	l.rush.flows = slices.Insert(l.rush.flows, at, u)
	l.tierOf[flow] = ahead
	l.room = l.rush.share(l.now, l.capacity)
}

// part takes a flow out of the rush and returns what it has not sent.
func (l *Link) part(flow int) (left float64) {
	l.rush.advance(l.now)
	i := l.rush.find(flow)
	left = l.rush.flows[i].left
	l.rush.flows = slices.Delete(l.rush.flows, i, i+1)
	l.tierOf[flow] = none
	l.room = l.rush.share(l.now, l.capacity)
	return left
}

// Urge says how urgent an open flow is, until it is told otherwise or closes. At
// first it is 0. Flows with more share the link before all others, the most
// urgent first, each up to its speed; the others share what they leave. An even
// split goes by nothing but the number of connections: under it an urge changes
// nothing.
func (l *Link) Urge(now int64, flow int, urge float64) {
	if !l.isOpen[flow] {
		panic(fmt.Sprintf("link: flow %d is urgent while it is not open", flow))
	}
	if !(urge >= 0) {
		panic(fmt.Sprintf("link: flow %d would have an urge of %v", flow, urge))
	}
	if l.urge[flow] == urge || l.sharing == Even {
		return
	}
	if l.tierOf[flow] == none {
		l.urge[flow] = urge
		return
	}
	l.advance(now)
	speed, left := l.speedOf(flow), l.leave(flow)
	l.urge[flow] = urge
	l.enter(flow, speed, left)
	l.settle()
}

// Speed changes the speed of a flow that sends, and returns how many bytes it has
// still to send.
func (l *Link) Speed(now int64, flow int, speed float64) (left float64) {
	l.sending(flow)
	if !(speed > 0) {
		panic(fmt.Sprintf("link: flow %d would send at %v bytes a second", flow, speed))
	}
	l.advance(now)
	left = l.leave(flow)
	l.enter(flow, min(speed, top), left)
	l.settle()
	return max(left, 0)
}

// speedOf returns the speed of a flow that sends.
func (l *Link) speedOf(flow int) float64 {
	if l.tierOf[flow] == ahead {
		return l.rush.flows[l.rush.find(flow)].speed
	}
	return l.tiers[l.tierOf[flow]].speed
}
