package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// Promise is a deadline in a crawl that runs.
type Promise struct {
	Site           // what is left of it, by the caution that the caller finds right
	Likely float64 // bytes that are left if nothing goes wrong, no more than Size; 0 = as Size
	Aim    float64 // when it should be done so that something may go wrong; 0 = at the deadline
	Held   bool    // it was promised before: it goes before those that were not
	Waits  bool    `json:",omitempty"` // its speed is what its own waits leave
}

// Reservation is what Reserve keeps for a Promise.
type Reservation struct {
	Rates []Rate  // level, so that as little of the link as can be is taken at a time
	Kept  bool    // the deadline will be kept
	Done  float64 // when Rates are over, if anything is left to do; the earliest that can be had when the deadline cannot be kept
	Why   string  `json:",omitempty"` // it will not be
}

// Reserve shares a link among promises while a crawl runs, so that all of them
// are kept if that can be; what they leave is for everybody else.
//
// Promises that are held come first. Where they do not fit with all caution, it is
// given up: first that of their aims, then that of their sizes. One that cannot be kept any more does not
// take others with it: it is given the earliest end that leaves theirs alone. The
// others are admitted one by one, in the order of their deadlines, where nothing
// that was admitted before has to give way; those that are not have no Rates.
func Reserve(link []Step, promises []Promise) []Reservation {
	r := &reserving{link: link, all: promises, due: make([]float64, len(promises)), size: make([]float64, len(promises)), out: make([]Reservation, len(promises))}
	order := make([]int, 0, len(promises))
	for i := range promises {
		r.size[i] = promises[i].Size
		switch p := &promises[i]; {
		case p.Size <= 0:
			r.out[i].Kept = true
		case p.Deadline == 0:
		default:
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(promises[a].Deadline, promises[b].Deadline) })
	for _, i := range order {
		if promises[i].Held {
			r.due[i] = r.aim(i)
		}
	}
	r.settle()
	for _, i := range order {
		if !promises[i].Held {
			r.wish(i)
		}
	}
	rates := r.admit().Rates
	for _, i := range order {
		o := &r.out[i]
		if r.due[i] == 0 {
			continue
		}
		o.Kept = r.due[i] <= promises[i].Deadline
		if o.Rates = rates[i]; len(o.Rates) > 0 {
			o.Done = o.Rates[len(o.Rates)-1].To
		}
	}
	return r.out
}

// reserving is a run of Reserve.
type reserving struct {
	link []Step
	all  []Promise
	due  []float64 // what is reserved for now; 0 = nothing
	size []float64 // the same of bytes
	out  []Reservation
}

func (r *reserving) aim(i int) float64 {
	p := &r.all[i]
	if p.Aim > 0 && p.Aim < p.Deadline {
		return p.Aim
	}
	return p.Deadline
}

func (r *reserving) admit() *Admission {
	p := &Problem{Link: r.link, Sites: make([]Site, len(r.all))}
	for i := range r.all {
		if r.due[i] != 0 {
			p.Sites[i] = r.all[i].Site
			p.Sites[i].Deadline, p.Sites[i].Size = r.due[i], r.size[i]
		}
	}
	return Admit(p)
}

// settle makes what is held fit: by giving up the room for what may go wrong,
// then promises, the latest of those that do not fit together first.
func (r *reserving) settle() {
	for {
		a := r.admit()
		if a.Fails < 0 {
			return
		}
		if !r.tighten(a.Fails) {
			r.postpone(a.Fails)
		}
	}
}

// tighten gives up some caution: of the promise that does not fit, or else of the
// last one due before it that has some. It returns false when there is none.
func (r *reserving) tighten(fails int) bool {
	due := r.due[fails]
	late := func(i int) bool { return r.due[i] < r.all[i].Deadline }
	large := func(i int) bool { return r.all[i].Likely > 0 && r.size[i] > r.all[i].Likely }
	for _, careful := range []func(i int) bool{late, large} {
		last := -1
		for i := range r.all {
			if r.due[i] == 0 || r.due[i] > due || !careful(i) {
				continue
			}
			if i == fails {
				last = i
				break
			}
			if last < 0 || r.due[i] >= r.due[last] {
				last = i
			}
		}
		if last < 0 {
			continue
		}
		if late(last) {
			r.due[last] = r.all[last].Deadline
		} else {
			r.size[last] = r.all[last].Likely
		}
		return true
	}
	return false
}

// postpone finds the earliest end of a promise that cannot be kept, when those
// that can be are.
func (r *reserving) postpone(i int) {
	p := &r.all[i]
	r.out[i].Why = r.why(i)
	r.due[i] = 0
	r.settle()
	fits := func(due float64) bool {
		r.due[i] = due
		return r.admit().Fails < 0
	}
	lo := max(p.Deadline, 0)
	hi := max(lo, p.NotBefore, 1e-3)
	for n := 0; !fits(hi); n++ {
		if n == 64 {
			r.due[i] = 0 // the link is closed for good
			return
		}
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-3*hi {
		if mid := (lo + hi) / 2; fits(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	r.due[i] = hi
}

// wish admits a promise that is not held, if it can.
func (r *reserving) wish(i int) {
	for _, due := range []float64{r.aim(i), r.all[i].Deadline} {
		r.due[i] = due
		if r.admit().Fails < 0 {
			return
		}
	}
	r.out[i].Why = r.why(i)
	r.due[i] = 0
}

// why says what keeps a promise from being kept: its own site, or the others.
func (r *reserving) why(i int) string {
	p := &r.all[i]
	left := p.Deadline - p.NotBefore
	most := p.Most()
	switch {
	case p.Deadline <= 0:
		return "its deadline is over"
	case left <= 0:
		return "it may not begin before its deadline"
	case r.size[i] > most*left:
		by := "the site brings no more than"
		if p.Waits {
			by = "with its waits the site brings no more than"
		}
		return fmt.Sprintf("%s %s, and %s in %s need %s", by, rateText(most), sizeText(r.size[i]), timeText(left), rateText(r.size[i]/left))
	}
	others := r.due
	r.due = make([]float64, len(others))
	alone := r.fits(i)
	if r.due = others; alone < r.size[i] {
		return fmt.Sprintf("the link brings %s of its %s until then", sizeText(alone), sizeText(r.size[i]))
	}
	return fmt.Sprintf("beside the promises that are held the link brings %s of its %s until then", sizeText(r.fits(i)), sizeText(r.size[i]))
}

// fits returns how many bytes of a promise can be had by its deadline, beside
// what is reserved for others.
func (r *reserving) fits(i int) float64 {
	due, size := r.due[i], r.size[i]
	defer func() { r.due[i], r.size[i] = due, size }()
	r.due[i] = r.all[i].Deadline
	lo, hi := 0.0, size
	if r.admit().Fails < 0 {
		return size
	}
	for range 30 {
		if r.size[i] = (lo + hi) / 2; r.admit().Fails < 0 {
			lo = r.size[i]
		} else {
			hi = r.size[i]
		}
	}
	return lo
}
