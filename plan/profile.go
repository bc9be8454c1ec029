package plan

import (
	"math"
	"slices"
	"sort"
)

// profile is what is left of the link and of the sites at a time, by stretches of
// time. The last stretch has no end.
type profile struct {
	segs []segment
	head int // stretches before it serve nobody
	work int // stretches that were looked at, and some for those that were moved: the measure of effort
}

// segment is a stretch: it ends where the next begins.
type segment struct {
	from float64
	rest float64 // of the link
	free int     // sites that may still be added
}

// past says that a is later than b by more than rounding makes it. It is finer than
// after: small sites beside great ones are done in moments.
func past(a, b float64) bool { return a > b && (math.IsInf(a, 1) || a-b > 1e-13*a) }

// reset makes the profile that of an empty link.
func (q *profile) reset(steps []Step, free int) {
	q.segs, q.head = q.segs[:0], 0
	for _, s := range steps {
		q.segs = append(q.segs, segment{s.From, s.Rate, free})
	}
}

func (q *profile) copy(from *profile) { q.segs, q.head = append(q.segs[:0], from.segs...), 0 }

// usable says whether a site could get something in stretch k.
func (q *profile) usable(k int, least float64) bool {
	return q.segs[k].free > 0 && q.segs[k].rest >= least
}

func (q *profile) end(k int) float64 {
	if k+1 < len(q.segs) {
		return q.segs[k+1].from
	}
	return math.Inf(1)
}

// find returns the stretch that holds t.
func (q *profile) find(t float64) int {
	return max(sort.Search(len(q.segs), func(k int) bool { return q.segs[k].from > t })-1, 0)
}

// split makes t the begin of a stretch and returns it. Where t all but is one
// already, that one is taken.
func (q *profile) split(t float64) int {
	k := q.find(t)
	if !past(t, q.segs[k].from) {
		return k
	}
	if k+1 < len(q.segs) && !past(q.segs[k+1].from, t) {
		return k + 1
	}
	q.cut(k, t)
	return k + 1
}

// cut ends stretch k at t and begins another like it there.
func (q *profile) cut(k int, t float64) {
	s := q.segs[k]
	s.from = t
	q.segs = slices.Insert(q.segs, k+1, s)
	if k+1 <= q.head {
		q.head++
	}
	q.work += (len(q.segs) - k) / 8
}

// take uses up a rate and a site from stretch x until y.
func (q *profile) take(x, y int, rate float64) {
	for ; x < y; x++ {
		q.segs[x].rest = max(q.segs[x].rest-rate, 0)
		q.segs[x].free--
	}
}

// give gives them back.
func (q *profile) give(from, to, rate float64) {
	x, y := q.split(from), q.split(to)
	q.head = min(q.head, x)
	for ; x < y; x++ {
		q.segs[x].rest += rate
		q.segs[x].free++
	}
}

// trim forgets stretches before the first in which a site could begin: where it would
// get no less than least, and for as long as brief unless the link itself pauses then.
// Starting up, for lead before, needs no link.
func (q *profile) trim(l *link, least, brief, lead float64) {
	k, last := 0, len(q.segs)-1
	for k < last {
		if !q.usable(k, least) {
			k++
			continue
		}
		e := k
		for e < last && q.usable(e, least) && q.segs[e+1].from-q.segs[k].from < brief {
			e++
		}
		if q.usable(e, least) || l.steps[l.at(q.segs[e].from)].Rate < least {
			break
		}
		k = e
	}
	q.work += k
	if lead > 0 {
		k = q.find(q.segs[k].from - float64(lead*(1+tiny)))
	}
	// Moving what is left pays only now and then.
	if k > 16 {
		q.segs = q.segs[:copy(q.segs, q.segs[k:])]
		q.head = 0
	}
}
