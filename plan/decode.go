package plan

import (
	"math"
	"slices"
)

// decoder turns an order of sites into a plan: one by one, each gets whatever is
// left as soon as it can. It is used over and over, so it owns its memory.
type decoder struct {
	t      *task
	q      profile
	finish []float64
	keep   bool      // note courses, too
	rates  [][]Rate  // when kept
	booked [][]Rate  // what is held back for each site until its turn, or nil
	around profile   // the empty profile, without what is booked
	brief  []float64 // no run of a job from here on in the order is shorter
	spans  []span    // of a run: while it counts as a site
	pieces []Rate    // of a run
}

func newDecoder(t *task) *decoder {
	return &decoder{t: t, finish: make([]float64, len(t.jobs))}
}

// decode fills in finish.
func (d *decoder) decode(order []int) {
	t := d.t
	if d.booked != nil {
		d.q.copy(&d.around)
	} else {
		d.q.reset(t.steps, t.slots)
	}
	if d.keep {
		d.rates = make([][]Rate, len(t.jobs))
	}
	d.q.work += len(order)
	if t.startup > 0 {
		d.brief = slices.Grow(d.brief[:0], len(order))[:len(order)]
		brief := math.Inf(1)
		for i := len(order) - 1; i >= 0; i-- {
			w := &t.jobs[order[i]]
			brief = min(brief, w.size/w.most)
			d.brief[i] = brief
		}
	}
	for i, j := range order {
		if d.booked == nil {
			brief := 0.0
			if t.startup > 0 {
				brief = d.brief[i]
			}
			d.q.trim(&t.link, t.least, brief, t.startup)
		} else {
			for _, r := range d.booked[j] {
				d.q.give(r.From, r.To, r.Rate)
			}
		}
		if t.startup > 0 {
			d.finish[j] = d.run(j)
		} else {
			d.finish[j] = d.soon(j)
		}
	}
}

// soon gives job j what is left from its begin on, with pauses where nothing is,
// and returns when it is done.
func (d *decoder) soon(j int) float64 {
	q, job := &d.q, &d.t.jobs[j]
	need := job.size
	first := 0
	if job.from > q.segs[0].from {
		first = q.split(job.from)
	}
	for q.head < len(q.segs)-1 && !q.usable(q.head, d.t.least) {
		q.head++
		q.work++
	}
	k := max(first, q.head)
	first = k
	for ; ; k++ {
		s := &q.segs[k]
		rate, end := min(job.most, s.rest), q.end(k)
		if s.free < 1 || rate < job.least {
			if math.IsInf(end, 1) {
				q.work += k - first
				return end
			}
			continue
		}
		from := s.from
		done := from + need/rate
		last := done <= end || need-float64(rate*(end-from)) <= crumb(job, rate, end)
		if last && past(end, done) {
			q.cut(k, done)
			s = &q.segs[k]
			end = done
		}
		s.rest -= rate
		s.free--
		if d.keep {
			if last {
				rate = min(rate, need/(end-from))
			}
			d.rates[j] = extend(d.rates[j], Rate{from, end, rate})
		}
		if last {
			q.work += k - first
			return end
		}
		need -= float64(rate * (end - from))
	}
}

// crumb returns the bytes of a job that are lost to rounding by a time, and may be.
func crumb(j *load, rate, t float64) float64 { return float64(1e-12*j.size) + float64(1e-15*rate*t) }

// run gives job j what is left in one go, after its start-up, and returns when it is
// done. It pauses only while the link itself is too slow.
func (d *decoder) run(j int) float64 {
	q, t, job := &d.q, d.t, &d.t.jobs[j]
	begin := max(job.from, q.segs[0].from) + t.startup
	for {
		begin = d.likely(j, begin)
		done, again := d.attempt(j, begin)
		if again < 0 {
			if math.IsInf(done, 1) {
				return done
			}
			break
		}
		begin = again
	}
	for _, s := range d.spans {
		for x, y := q.split(s.from), q.split(s.to); x < y; x++ {
			q.segs[x].free--
		}
	}
	done := 0.0
	for _, r := range d.pieces {
		x, y := q.split(r.From), q.split(r.To)
		for ; x < y; x++ {
			q.segs[x].rest = max(q.segs[x].rest-r.Rate, 0)
		}
		done = r.To
	}
	if d.keep {
		for _, r := range d.pieces {
			d.rates[j] = extend(d.rates[j], r)
		}
	}
	return done
}

// likely returns the first time from begin on at which job j has enough of the
// link, and a site, for as long as it takes, or until the link itself pauses.
func (d *decoder) likely(j int, begin float64) float64 {
	q, job := &d.q, &d.t.jobs[j]
	first, need := q.find(begin), job.size
	for k := first; ; k++ {
		q.work++
		s := &q.segs[k]
		rate := min(job.most, s.rest)
		if s.free > 0 && rate >= job.least {
			if need -= float64(rate * (q.end(k) - max(s.from, begin))); need > 0 {
				continue
			}
		} else if k < len(q.segs)-1 && (k == first || d.t.link.steps[d.t.link.at(s.from)].Rate >= job.least) {
			first, need = k+1, job.size
			continue
		}
		return max(begin, q.segs[first].from)
	}
}

// attempt tries to begin job j's bytes at a time. It notes spans and pieces and
// returns when the job is done, or, if it cannot begin then, when to try again.
func (d *decoder) attempt(j int, begin float64) (done, again float64) {
	q, t, job := &d.q, d.t, &d.t.jobs[j]
	d.spans, d.pieces = d.spans[:0], d.pieces[:0]
	if busy, ok := d.busy(begin-t.startup, begin); ok {
		return 0, q.end(busy) + t.startup
	}
	d.spans = append(d.spans, span{begin - t.startup, begin})
	need := job.size
	at := begin
	k := q.find(at)
	if !past(q.end(k), at) {
		k++
	}
	for ; ; k++ {
		q.work++
		s, end := &q.segs[k], q.end(k)
		from := max(at, s.from)
		rate := min(job.most, s.rest)
		switch {
		case s.free < 1:
			return 0, end + t.startup
		case rate >= job.least:
			stop := from + need/rate
			if stop <= end || need-float64(rate*(end-from)) <= crumb(job, rate, end) {
				stop = min(stop, end)
				d.pieces = append(d.pieces, Rate{from, stop, rate})
				d.spans[len(d.spans)-1].to = stop
				return stop, -1
			}
			d.pieces = append(d.pieces, Rate{from, end, rate})
			need -= float64(rate * (end - from))
		case t.link.steps[t.link.at(from)].Rate >= job.least:
			return 0, end // others have the link until then
		default:
			back := t.link.back(from, job.least)
			if math.IsInf(back, 1) {
				return back, -1
			}
			if len(d.pieces) == 0 {
				return 0, back
			}
			d.spans[len(d.spans)-1].to = from
			if t.floor > 0 || back-from >= t.startup {
				back = max(back, from+t.startup)
				from = back - t.startup
				d.spans = append(d.spans, span{from, back})
			}
			if busy, ok := d.busy(from, back); ok {
				return 0, q.end(busy) + t.startup
			}
			at = back
			k = q.find(at)
			if past(q.end(k), at) {
				k--
			}
		}
	}
}

// busy returns the last stretch between two times that has room for no site.
func (d *decoder) busy(from, to float64) (k int, ok bool) {
	q := &d.q
	x := q.find(from)
	if !past(q.end(x), from) {
		x++
	}
	y := q.find(to)
	if !past(to, q.segs[y].from) {
		y--
	}
	q.work += y - x + 1
	for ; y >= x; y-- {
		if q.segs[y].free < 1 {
			return y, true
		}
	}
	return 0, false
}
