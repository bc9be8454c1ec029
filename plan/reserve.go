package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Promise is a deadline in a crawl that runs.
type Promise struct {
	Site           // what is left of it, by the caution that the caller finds right
	Likely float64 // bytes that are left if nothing goes wrong, no more than Size; 0 = as Size
	Aim    float64 // when it should be done so that something may go wrong; 0 = at the deadline
	Held   bool    // it was promised before: it goes before those that were not
	Broken bool    `json:",omitempty"` // and could not be kept: it goes after those that can
	Waits  bool    `json:",omitempty"` // its speed is what its own waits leave
}

// Reservation is what Reserve keeps for a Promise.
type Reservation struct {
	Rates []Rate  // level, so that as little of the link as can be is taken at a time
	Kept  bool    // the deadline will be kept
	Done  float64 // when Rates are over, if anything is left to do; about the earliest that can be had when the deadline cannot be kept
	Why   string  `json:",omitempty"` // it will not be
}

// Reserve shares a link among promises while a crawl runs, so that all of them
// are kept if that can be; what they leave is for everybody else.
//
// Promises that are held come first. Where they do not fit with all caution, it is
// given up: first that of their aims, then that of their sizes. Then the largest
// is, so that as many as can be are kept; it costs the others nothing, not even
// their caution. Next come those that were broken before: whoever cannot be kept
// is given the earliest end that leaves all this alone. The others are admitted one
// by one, in the order of their deadlines, where nothing that was admitted before
// has to give way; those that are not have no Rates.
//
// Estimates go wrong in all ways, so Reserve takes all numbers: what is none counts
// as nothing, and what is beyond all links and times as the largest that is not.
// All numbers that it returns are finite.
func Reserve(link []Step, promises []Promise) []Reservation {
	r := newReserving(link, promises)
	var held, lost, wishes []int // by deadline
	for _, i := range r.order() {
		switch p := &r.all[i]; {
		case p.Size == 0:
			r.out[i].Kept = true
		case p.Deadline == 0:
		case !p.Held:
			wishes = append(wishes, i)
		case p.Deadline < 0, p.Broken:
			lost = append(lost, i)
		default:
			held = append(held, i)
		}
	}
	r.careful(held)
	if broken := r.settle(); len(broken) > 0 {
		// What could not be kept has cost the others their caution.
		held = slices.DeleteFunc(held, func(i int) bool { return slices.Contains(broken, i) })
		r.careful(held)
		lost = append(append(lost, broken...), r.settle()...)
		slices.SortStableFunc(lost, func(a, b int) int { return cmp.Compare(r.all[a].Deadline, r.all[b].Deadline) })
	}
	lost = slices.DeleteFunc(lost, r.again)
	for n, i := range lost {
		r.postpone(i, n < maxEarly)
	}
	for _, i := range wishes {
		r.wish(i)
	}
	r.finish()
	return r.out
}

// reserving is a run of Reserve.
type reserving struct {
	link link
	all  []Promise
	due  []float64 // what is reserved for now; 0 = nothing
	size []float64 // the same of bytes
	book book      // all that is reserved
	out  []Reservation
}

const (
	maxSize = 1e18 // bytes
	maxRate = 1e15 // bytes a second
	maxTime = 1e12 // seconds
)

func newReserving(steps []Step, promises []Promise) *reserving {
	n := len(promises)
	r := &reserving{
		link: newLink(soundLink(steps)), all: slices.Clone(promises), due: make([]float64, n), size: make([]float64, n), out: make([]Reservation, n),
	}
	r.book.link = &r.link
	for i := range r.all {
		r.all[i].sound()
		r.size[i] = r.all[i].Size
	}
	return r
}

// sound returns a number from 0 to most.
func sound(x, most float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, most)
}

func (p *Promise) sound() {
	p.Size = sound(p.Size, maxSize)
	if p.Likely = sound(p.Likely, p.Size); p.Likely == 0 {
		p.Likely = p.Size
	}
	p.Cap = sound(p.Cap, maxRate)
	p.NotBefore = sound(p.NotBefore, maxTime)
	if p.Deadline = min(p.Deadline, maxTime); math.IsNaN(p.Deadline) {
		p.Deadline = 0
	}
	if p.Aim = sound(p.Aim, maxTime); p.Aim == 0 || p.Aim > p.Deadline {
		p.Aim = p.Deadline
	}
	m := &p.Manners
	m.Wait, m.Delay, m.PageTime = sound(m.Wait, maxTime), sound(m.Delay, maxTime), sound(m.PageTime, maxTime)
	m.Pages = max(m.Pages, 0)
}

// soundLink leaves out steps that go back in time.
func soundLink(steps []Step) []Step {
	out := []Step{{}}
	for _, s := range steps {
		s = Step{sound(s.From, maxTime), sound(s.Rate, maxRate)}
		switch last := &out[len(out)-1]; {
		case s.From == last.From:
			last.Rate = s.Rate
		case s.From > last.From && s.Rate != last.Rate:
			out = append(out, s)
		}
	}
	return out
}

// order returns the promises by deadline.
func (r *reserving) order() []int {
	order := make([]int, len(r.all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.all[a].Deadline, r.all[b].Deadline) })
	return order
}

// careful reserves for promises with all caution, and for nobody else.
func (r *reserving) careful(held []int) {
	clear(r.due)
	r.book = book{link: &r.link}
	for _, i := range held {
		r.reserve(i, r.all[i].Size, r.all[i].Aim)
	}
}

// reserve changes what is reserved for a promise; by 0 it is nothing.
func (r *reserving) reserve(i int, size, due float64) {
	if r.due[i] != 0 {
		r.book.drop(r.job(i))
	}
	if r.size[i], r.due[i] = size, due; due != 0 {
		r.book.put(r.job(i))
	}
}

func (r *reserving) job(i int) job {
	return job{i, r.size[i], r.most(i), r.all[i].NotBefore, r.due[i]}
}

// most is the highest rate of a promise.
func (r *reserving) most(i int) float64 {
	s := r.all[i].Site
	s.Size = r.size[i]
	return s.Most()
}

// fits says that everything does, with a promise of this size by this time.
func (r *reserving) fits(i int, size, due float64) bool {
	r.reserve(i, size, due)
	return r.book.fails() < 0
}

// settle makes what is reserved fit: by giving up the room for what may go wrong,
// then promises. It returns those.
func (r *reserving) settle() (broken []int) {
	last, times := -1, 0
	for {
		fails := r.book.fails()
		if fails < 0 {
			return broken
		}
		// The longer one stands in the way, the more is given up at a time.
		if times++; fails != last {
			last, times = fails, 0
		}
		if !r.tighten(fails, 1<<(times/8)) {
			broken = append(broken, r.give(fails))
		}
	}
}

// give gives up the promise that does not fit, or the largest of those due before
// it if that makes it fit, and returns which.
func (r *reserving) give(fails int) int {
	largest := fails
	for _, j := range r.book.jobs {
		if j.due <= r.due[fails] && j.size > r.size[largest] {
			largest = j.site
		}
	}
	if largest != fails && r.size[fails] <= r.link.carries(r.all[fails].NotBefore, r.due[fails], r.most(fails)) {
		due := r.due[largest]
		if r.reserve(largest, r.size[largest], 0); r.book.fails() != fails {
			return largest
		}
		r.reserve(largest, r.size[largest], due)
	}
	r.reserve(fails, r.size[fails], 0)
	return fails
}

// tighten gives up some caution: of the promise that does not fit, then of the
// last ones due before it that have some. It returns false when there is none.
func (r *reserving) tighten(fails, some int) bool {
	due := r.due[fails]
	early := func(i int) bool { return r.due[i] < r.all[i].Deadline }
	large := func(i int) bool { return r.size[i] > r.all[i].Likely }
	for _, careful := range []func(i int) bool{early, large} {
		var those []int
		for i := range r.all {
			if r.due[i] != 0 && r.due[i] <= due && careful(i) {
				those = append(those, i)
			}
		}
		if len(those) == 0 {
			continue
		}
		slices.SortStableFunc(those, func(a, b int) int { return cmp.Compare(r.due[b], r.due[a]) })
		if k := slices.Index(those, fails); k > 0 {
			those = slices.Insert(slices.Delete(those, k, k+1), 0, fails)
		}
		for _, i := range those[:min(some, len(those))] {
			if early(i) {
				r.reserve(i, r.size[i], r.later(i))
			} else {
				r.reserve(i, r.all[i].Likely, r.due[i])
			}
		}
		return true
	}
	return false
}

// later is the next aim of a promise that cannot be done by the one it has: half
// way to its deadline, so that one that has fallen behind is still done as early
// as can be, about.
func (r *reserving) later(i int) float64 {
	end := r.all[i].Deadline
	if left := float64((end - r.due[i]) / 2); left > 0.05*end {
		return end - left
	}
	return end
}

// maxEarly is how many promises that cannot be kept are fitted in between others.
// Those beyond it come last.
const maxEarly = 64

// postpone finds about the earliest end of a promise that cannot be kept, when
// all that is reserved stays.
func (r *reserving) postpone(i int, early bool) {
	p := &r.all[i]
	size := p.Likely
	r.size[i] = size
	lo := max(r.link.finish(p.NotBefore, size, r.most(i)), r.free(size), p.Deadline)
	if n := len(r.book.jobs); n > 0 && !early {
		lo = max(lo, r.book.jobs[n-1].due)
	}
	hi := lo
	for step := 1e-2; ; step *= 4 {
		if hi = float64(lo*(1+step)) + 1e-3; !(hi <= maxTime) {
			r.reserve(i, size, 0) // the link is closed for good
			return
		}
		if r.fits(i, size, hi) {
			break
		}
		lo = hi
	}
	for hi-lo > float64(0.05*hi)+2e-3 {
		if mid := (lo + hi) / 2; r.fits(i, size, mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	r.reserve(i, size, hi)
}

// slack is what the link brings by a deadline beyond what is reserved until then.
type slack struct{ due, spare, sum float64 }

// slacks returns those of all that is reserved, by deadline.
func (r *reserving) slacks() []slack {
	all := make([]slack, len(r.book.jobs))
	sum := 0.0
	for k, j := range r.book.jobs {
		sum += j.size
		all[k] = slack{j.due, r.link.work(j.due) - sum, sum}
	}
	return all
}

// free returns when the link has so many bytes to spare at the earliest: sooner
// nobody can be done, whatever the speed of sites.
func (r *reserving) free(size float64) float64 {
	at, sum := 0.0, 0.0
	for _, s := range r.slacks() {
		if s.spare < size {
			at, sum = s.due, s.sum
		}
	}
	return max(at, r.link.time(size+sum))
}

// spare returns how many bytes the link has to spare until a time at the most.
func (r *reserving) spare(due float64) float64 {
	spare, sum := math.Inf(1), 0.0
	for _, s := range r.slacks() {
		if s.due >= due {
			spare = min(spare, s.spare)
		} else {
			sum = s.sum
		}
	}
	return max(min(spare, r.link.work(due)-sum), 0)
}

// wish admits a promise beside those that are, if it can.
func (r *reserving) wish(i int) bool {
	p := &r.all[i]
	if p.Deadline > 0 && (r.fits(i, p.Size, p.Aim) || r.fits(i, p.Size, p.Deadline)) {
		return true
	}
	r.reserve(i, p.Size, 0)
	r.out[i].Why = r.why(i)
	return false
}

// again keeps a promise that was given up, if there is room after all. One that
// was broken before needs room for all caution.
func (r *reserving) again(i int) bool {
	p := &r.all[i]
	if r.wish(i) || p.Broken || p.Deadline < 0 {
		return r.due[i] != 0
	}
	r.out[i].Why = ""
	if r.fits(i, p.Likely, p.Deadline) {
		return true
	}
	r.reserve(i, p.Likely, 0)
	r.out[i].Why = r.why(i)
	return false
}

// finish gives out what is reserved.
func (r *reserving) finish() {
	jobs := r.book.jobs
	_, _, rates := admit(&r.link, jobs, true)
	for k, j := range jobs {
		o := &r.out[j.site]
		o.Kept = j.due <= r.all[j.site].Deadline
		if o.Rates = rates[k]; len(o.Rates) > 0 {
			o.Done = o.Rates[len(o.Rates)-1].To
		}
	}
}

// why says what keeps a promise that is not reserved for from being kept: its own
// site, or the others.
func (r *reserving) why(i int) string {
	p := &r.all[i]
	left := p.Deadline - p.NotBefore
	size, most := r.size[i], r.most(i)
	switch {
	case p.Deadline <= 0:
		return "its deadline is over"
	case left <= 0:
		return "it may not begin before its deadline"
	case size > most*left:
		by := "the site brings no more than"
		if p.Waits {
			by = "with its waits the site brings no more than"
		}
		return fmt.Sprintf("%s %s, and %s in %s need %s", by, rateText(most), sizeText(size), timeText(left), rateText(size/left))
	}
	alone := r.link.carries(p.NotBefore, p.Deadline, most)
	if alone < size {
		return fmt.Sprintf("the link brings %s of its %s until then", sizeText(alone), sizeText(size))
	}
	return fmt.Sprintf("beside the promises that are held the link brings %s of its %s until then", sizeText(r.rest(i)), sizeText(size))
}

// rest returns about how many bytes of a promise can be had by its deadline,
// beside what is reserved for others.
func (r *reserving) rest(i int) float64 {
	size := r.size[i]
	defer r.reserve(i, size, 0)
	hi := min(size, r.spare(r.all[i].Deadline))
	if hi == 0 || r.fits(i, hi, r.all[i].Deadline) {
		return hi
	}
	lo := 0.0
	for range 8 {
		if mid := (lo + hi) / 2; r.fits(i, mid, r.all[i].Deadline) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
