package bandwidth

import (
	"cmp"
	"math"
	"slices"
)

// Urge says how urgent the flow is: what its server can send comes before what is
// less urgent. Zero, or less, is what most are. Its window may grow meanwhile, also
// while others wait; afterwards it is what it was.
func (f *Flow) Urge(lag float64) {
	was := f.urge
	if f.urge = 0; lag > 0 {
		f.urge = lag
	}
	switch {
	case was == 0 && f.urge > 0:
		f.calm = f.window
	case was > 0 && f.urge == 0:
		w := f.calm
		if w == 0 { // there was no limit then
			w = f.c.Window()
		}
		if f.window > w {
			f.window, f.wide = w, true
		}
	}
}

// class tells urgent flows from others. What they were given is counted apart, so
// that one which is urgent no longer has not to wait until others have had as much.
func (f *Flow) class() int {
	if f.urge > 0 {
		return 1
	}
	return 0
}

// rushing finds the urgent flows that have an answer under way, the most urgent
// first.
func (c *Credit) rushing() {
	c.rush, c.yielded = c.rush[:0], 0
	c.kept = [aheadSlots]float64{}
	for _, f := range c.flows {
		if f.urge > 0 && f.busy && !f.asks && f.due() > 0 {
			c.rush = append(c.rush, f)
		}
	}
	slices.SortFunc(c.rush, func(f, g *Flow) int {
		return cmp.Or(cmp.Compare(g.urge, f.urge), cmp.Compare(f.id, g.id))
	})
}

// yieldTo keeps room for all that are more urgent than urge, before anybody who is
// not is served.
func (c *Credit) yieldTo(urge float64) {
	for ; c.yielded < len(c.rush) && c.rush[c.yielded].urge > urge; c.yielded++ {
		c.reserve(c.rush[c.yielded])
	}
}

// reserve books what a flow will ask for in the slots ahead, on top of what it was
// promised: whoever is served after it in this tick leaves room for that. Without
// it there would never be any, since those who are further away, and are served
// when it has nothing to ask for, book the same time earlier. Together the urgent
// are kept no more than the limit, so that what one does not use after all is left
// for others when its time comes.
func (c *Credit) reserve(f *Flow) {
	supply := f.supply()
	if supply == 0 {
		return
	}
	left := float64(f.due()) * f.factor
	pace := supply * f.factor * c.slot.Seconds()
	most := c.bound / spanSlots
	promised := f.turn().Add(toDuration(min(float64(f.open())/supply, minSpan.Seconds()))) // comes before it
	sum := 0.0
	for i := max(f.slotsAhead(), f.slotAt(max(promised.Sub(c.now), 0))); i < aheadSlots; i++ {
		n := max(min(pace, left, most-c.kept[i]), 0)
		left -= n
		sum += n
		c.kept[i] += n
		c.level[i] += sum
	}
	for i := aheadSlots - 2; i >= 0; i-- {
		c.level[i] = max(c.level[i], c.level[i+1])
	}
}

// supply is how many bytes a second may be expected of the flow: what its server
// sends, and a little more since it may have been held back, as far as its window
// lets it, which may grow. Nothing is kept for a server that has not begun.
func (f *Flow) supply() float64 {
	if f.first {
		return 0
	}
	supply := float64(f.window+f.growth()) / max(f.rtt, f.c.slot).Seconds()
	speed := f.speed
	if f.open() >= f.mss { // less may be no packet of its own
		gap, expected := f.pace(f.c)
		if !expected {
			return 0
		}
		speed = float64(f.mss) / gap.Seconds()
	}
	if speed > 0 {
		supply = min(supply, quicker*speed)
	}
	return supply
}

// quicker is how much faster than it was a server may be.
const quicker = 1.25

// beyond is how much a read opens at most: nothing before what its server was
// told when the window was wider.
func (f *Flow) beyond(bytes int) int {
	if !f.wide {
		return math.MaxInt32
	}
	return max(f.excess(bytes), 0) / f.mss * f.mss
}

// excess is how far a read lets the window go beyond what the server was told.
func (f *Flow) excess(bytes int) int {
	return int(f.read + int64(bytes+f.window) - f.received - int64(f.open()))
}
