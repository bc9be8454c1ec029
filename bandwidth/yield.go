package bandwidth

import (
	"math"
	"slices"
	"time"

	"weir/page"
)

// YieldConfig sets a Yield. The zero value of each field takes the default.
type YieldConfig struct {
	Target time.Duration // queueing delay beyond which others are taken to suffer; 25 ms
	Floor  float64       // least part of the limit that is kept, 0.01
	Memory time.Duration // how long a least round trip is believed at most, and half of it at least; 10 min
}

// Yield steps aside for other users of the link. It is told the round trips of a
// small probe, about ten a second, and answers which part of the limit to use.
//
// A link whose queue is empty answers in its least round trip; what a probe takes
// beyond that, and beyond what it wavers anyway, is the queue. Probes that are
// still out tell of it before they are back: a long queue is seen when it has
// become long, not when they have come through. Above Target the
// part is cut, and cut again as long as the queue does not drain, down to Floor.
// When the queue has been gone for a second the part doubles every half second
// to where it was, and after two seconds, when whoever made it does not just draw
// breath, twice as fast.
//
// A queue that comes while the whole limit is ours to use, and was without one, is
// somebody else's. Any other that drains soon after a cut was our own: the link is
// slower than the limit. Then the part is not taken back to where it was, but led from below to
// where a short queue stands, and stays there.
//
// Not seen are users who were there, without a pause, before the first probe or
// for as long as Memory, and links that keep their queues shorter than Target by
// themselves. A way that becomes longer is taken for a queue until Memory ends.
//
// Not safe for concurrent use.
type Yield struct {
	cfg    YieldConfig
	target float64 // seconds

	base   [2]float64 // least round trip of this half of the memory and of the one before, seconds
	half   page.Time  // when this half began
	recent trips      // the last ones
	quiet  quiet      // what they were while nobody was in the way
	answer bool       // there was one, ever
	last   page.Time  // the last probe, answered or not
	heard  page.Time  // the last answer

	mode    mode
	part    float64   // of the limit
	lead    float64   // part before damping, while steady
	knee    float64   // part to go back to
	held    float64   // part that was kept for a while, before anything happened
	wall    float64   // part where our own queue began last, 0 unknown
	begun   page.Time // of being steady
	whole   page.Time // when less than the whole limit was used last
	onset   float64   // part when the cutting began
	since   page.Time // when it began
	foreign bool      // the queue was somebody else's
	cut     page.Time // the last cut
	tall    float64   // queue at the last cut, seconds
	short   page.Time // when the queue was beyond the target last
	empty   page.Time // when there was one at all last, or the growing began anew

	stats YieldStats
}

// trips are round trips of probes one after another, in seconds.
type trips [4]float64

// push takes one more, in place of the first.
func push(t trips, trip float64) trips { return trips{t[1], t[2], t[3], trip} }

// YieldStats is what a Yield did so far.
type YieldStats struct {
	Times  int           // how often it stepped aside
	Total  time.Duration // for how long in all
	Last   page.Time     // when it did last
	Base   time.Duration // round trip of the empty link, 0 unknown
	Noise  time.Duration // how much that wavers
	Delay  time.Duration // in the queue now
	Active bool          // stepping aside now
	Blind  bool          // no probe was answered for a while: nothing can be said
}

type mode uint8

const (
	steady mode = iota // led by the length of our own queue, which is mostly none
	aside              // cut, until the queue has been short for a while
	back               // doubling, to where it was
)

const (
	yieldEase    = 0.6                    // of the target: where our own queue is led to
	yieldTrace   = 0.2                    // of the target: less is no queue
	yieldExcuse  = 2.0                    // targets: the most that wavering excuses
	yieldWait    = 250 * time.Millisecond // for a cut to show
	yieldPause   = time.Second            // without a queue before the part is raised again
	yieldOwn     = 3 * time.Second        // a queue gone by then was our own
	yieldHeld    = 5 * time.Second        // steady, before its part is one to go back to
	yieldQuiet   = 3 * time.Second        // with the whole limit in use, before what is seen is noise
	yieldDouble  = 500 * time.Millisecond // while the part is raised again
	yieldGone    = 2 * time.Second        // without a queue: it is raised faster
	yieldFaster  = 2
	yieldBlind   = 10 * time.Second // without an answer
	yieldLongest = 10 * time.Second // no round trip is taken for longer

	// The queue integrates what we send beyond the link's rate. Led by both its
	// length and its growth, with yieldStiff = yieldDamp^2/4, it settles without a swing.
	yieldDamp  = 3.0  // per second of queue
	yieldStiff = 2.25 // per second of queue and second
)

// NewYield returns a Yield that uses the whole limit and has seen no probe.
func NewYield(cfg YieldConfig) *Yield {
	if cfg.Target <= 0 {
		cfg.Target = 25 * time.Millisecond
	}
	if !(cfg.Floor > 0 && cfg.Floor <= 1) {
		cfg.Floor = 0.01
	}
	if cfg.Memory <= 0 {
		cfg.Memory = 10 * time.Minute
	}
	return &Yield{cfg: cfg, target: cfg.Target.Seconds(), part: 1, lead: 1, knee: 1, held: 1}
}

// Sample tells that a probe was answered at now, after rtt.
func (y *Yield) Sample(now page.Time, rtt time.Duration) {
	trip := min(max(rtt, 0), yieldLongest).Seconds()
	if !y.answer || now.Sub(y.heard) > yieldBlind {
		y.wake(now, trip)
	}
	y.heard = now
	if now.Sub(y.half) > y.cfg.Memory/2 {
		y.base = [2]float64{trip, y.base[0]}
		y.half = now
	}
	y.base[0] = min(y.base[0], trip)
	y.step(now, trip)
}

// Waiting tells how long the probes sent after the last one that was answered have
// been out, the oldest first. One that is out for longer than it would be without
// a queue counts as if it had come back now.
func (y *Yield) Waiting(now page.Time, out []time.Duration) {
	if !y.answer || y.mode == aside {
		return
	}
	late := y.least() + y.noise() + y.target
	trips, n := y.recent, 0
	for _, age := range out {
		if age.Seconds() <= late {
			break
		}
		trips = push(trips, age.Seconds())
		n++
	}
	if y.behind(trips) > y.target {
		y.yield(now, trips, n < len(trips))
	}
}

// Lost tells that a probe sent some time before now stayed without an answer.
// One says little; several in a row are a queue that overflows, and is no shorter
// than it was.
func (y *Yield) Lost(now page.Time) {
	if y.answer {
		y.step(now, max(y.least()+float64(4*y.target), y.recent[len(y.recent)-1]))
	}
}

// wake begins with the first answer, or the first after a long silence.
func (y *Yield) wake(now page.Time, trip float64) {
	if !y.answer {
		y.base = [2]float64{trip, trip}
		y.half = now
	}
	y.answer = true
	y.recent = trips{trip, trip, trip, trip}
	y.last, y.empty, y.whole = now, now, now
	y.mode, y.part, y.lead, y.knee, y.held, y.wall = steady, 1, 1, 1, 1, 0
	y.begun = now
}

// Rate is the part of the rate full to use now.
func (y *Yield) Rate(now page.Time, full float64) float64 { return full * y.Part(now) }

// Part is which part of the limit to use now, from Floor to 1. It is 1 when no
// probe was answered for ten seconds: nothing is known then.
func (y *Yield) Part(now page.Time) float64 {
	if y.isBlind(now) {
		return 1
	}
	return y.part
}

func (y *Yield) isBlind(now page.Time) bool { return !y.answer || now.Sub(y.heard) > yieldBlind }

// Stats is what happened until now.
func (y *Yield) Stats(now page.Time) YieldStats {
	s := y.stats
	s.Blind = y.isBlind(now)
	s.Active = y.mode != steady && !s.Blind
	if y.answer {
		s.Base = toDuration(y.least())
		s.Noise = toDuration(y.noise())
		s.Delay = toDuration(y.delay())
	}
	return s
}

func toDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// least is the round trip of the empty link.
func (y *Yield) least() float64 { return min(y.base[0], y.base[1]) }

// noise is how much longer than that a quiet link takes now and then. Until that
// is known it is taken to be the target.
func (y *Yield) noise() float64 {
	most, known := y.quiet.high()
	n := max(most-y.least(), 0)
	if !known {
		n = max(n, y.target)
	}
	return min(n, yieldExcuse*y.target)
}

// delay is the queue now.
func (y *Yield) delay() float64 { return y.behind(y.recent) }

// behind is the queue that probes have seen: what all of them took beyond an empty
// link and its noise. A single late answer is no queue.
func (y *Yield) behind(t trips) float64 {
	return max(slices.Min(t[:])-y.least()-y.noise(), 0)
}

func (y *Yield) step(now page.Time, trip float64) {
	dt := min(max(now.Sub(y.last), 0), time.Second).Seconds()
	y.last = max(y.last, now)
	y.recent = push(y.recent, trip)
	queue := y.delay()
	if queue > yieldTrace*y.target {
		y.empty = now
	}
	if queue > y.target {
		y.short = now
	}
	if y.mode != steady {
		y.stats.Total += toDuration(dt)
	}
	switch {
	case y.mode == aside:
		y.stepAside(now, queue)
	case queue > y.target:
		y.yield(now, y.recent, now == y.heard)
	case y.mode == back:
		if now.Sub(y.short) > yieldGone && y.part < y.knee/2 {
			dt *= yieldFaster
		}
		y.part *= math.Exp2(dt / yieldDouble.Seconds())
		if y.part >= 0.95*y.knee {
			y.part = 0.95 * y.knee
			y.lead, y.mode = y.part, steady
			y.empty, y.begun, y.whole = now, now, now
		}
	default:
		y.stepSteady(now, queue, dt)
	}
	y.part = min(max(y.part, y.cfg.Floor), 1)
}

// yield makes the first cut. A queue that comes when the whole limit might be used
// for a while without one is taken for somebody else's, and all is left to him; but
// not when no answer was late, and there was only silence. Else the cut is by how far
// the queue is beyond the target: in the mean, since the last probe may have met
// only its end.
func (y *Yield) yield(now page.Time, t trips, answered bool) {
	queue := float64((t[0]+t[1]+t[2]+t[3])/float64(len(t))) - y.least() - y.noise()
	if y.mode == steady {
		y.stats.Times++
		y.stats.Last = now
	}
	y.onset = y.part
	_, known := y.quiet.high()
	if y.foreign = known && answered && y.mode == steady && now.Sub(y.whole) > yieldQuiet; y.foreign {
		y.part = y.cfg.Floor
	} else {
		y.part = max(y.part*min(max(1+float64(0.5*(1-queue/y.target)), 0.5), 0.85), y.cfg.Floor)
	}
	y.mode, y.since = aside, now
	y.cut, y.short, y.tall = now, now, queue
}

// stepAside halves the part until the queue drains, and goes back when it has
// been short for a while.
func (y *Yield) stepAside(now page.Time, queue float64) {
	if queue > y.target {
		if now.Sub(y.cut) >= yieldWait {
			if queue > 0.7*y.tall {
				y.part *= 0.5
			}
			y.cut, y.tall = now, queue
		}
		return
	}
	// Whoever was cut less waits as long as the doubling from the floor takes.
	climb := math.Log2(y.part/y.cfg.Floor) * float64(yieldDouble)
	if now.Sub(y.short) < yieldPause+time.Duration(climb) {
		return
	}
	if y.foreign || y.short.Sub(y.since) >= yieldOwn {
		y.knee, y.wall = y.held, 0
	} else {
		switch {
		// It was met early on the way back: the link may be much slower, or the
		// other one only drew breath.
		case y.onset < y.knee/2:
			y.knee = max(y.knee/2, y.onset)
		case y.onset < 1.1*y.wall:
			y.knee = 0.9 * y.onset
		default:
			y.knee = 0.7 * y.onset
		}
		y.wall = y.onset
		y.knee = max(y.knee, y.cfg.Floor)
	}
	y.mode = back
}

// stepSteady leads our own queue to an easy length. Without one the part grows,
// faster the longer there is none.
func (y *Yield) stepSteady(now page.Time, queue, dt float64) {
	// Where our queue began last it is approached slowly, and seen before it is long.
	near := y.part > 0.8*y.wall && y.part < 1.1*y.wall
	switch {
	case queue > yieldTrace*y.target:
		y.lead *= math.Exp(yieldStiff * (float64(yieldEase*y.target) - queue) * dt)
		y.wall = y.part
	case near:
		y.lead *= math.Exp(0.02 * dt)
		y.empty = now
	default:
		y.lead *= math.Exp(min(0.1+float64(0.3*now.Sub(y.empty).Seconds()), 1.4) * dt)
	}
	y.lead = min(max(y.lead, y.cfg.Floor), math.Exp(yieldDamp*yieldEase*y.target))
	y.part = min(y.lead*math.Exp(-yieldDamp*queue), 1)
	y.knee = max(y.part, y.cfg.Floor)
	if now.Sub(y.begun) > yieldHeld {
		y.held = y.knee
	}
	if y.part <= 0.99 {
		y.whole = now
	}
	if now.Sub(y.whole) > yieldQuiet || y.part < 0.9*y.wall {
		// In between a queue may be our own, which is no noise.
		y.quiet.add(slices.Min(y.recent[:]))
	}
}

// quiet keeps the last round trips of a quiet link, about half a minute of them.
type quiet struct {
	trips [300]float64
	n     int // ever added
	top   float64
}

const (
	quietLeast = 50 // before anything is said
	quietEach  = 10 // so many make the sorting worth it
)

func (q *quiet) add(trip float64) {
	q.trips[q.n%len(q.trips)] = trip
	q.n++
	if q.n%quietEach != 0 {
		return
	}
	sorted := q.trips
	kept := sorted[:min(q.n, len(sorted))]
	slices.Sort(kept)
	q.top = kept[len(kept)*97/100]
}

// high is what all but three in a hundred stay below.
func (q *quiet) high() (trip float64, known bool) { return q.top, q.n >= quietLeast }
