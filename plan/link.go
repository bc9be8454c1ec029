package plan

import (
	"math"
	"sort"
)

// link is what a Problem's link carries over time, and its inverse: when so much
// of it is done. Times before 0 carry nothing.
type link struct {
	steps []Step
	done  []float64 // bytes carried before each step
}

func newLink(steps []Step) link {
	l := link{steps: steps, done: make([]float64, len(steps))}
	for i := 1; i < len(steps); i++ {
		a, b := steps[i-1], steps[i]
		l.done[i] = l.done[i-1] + float64(a.Rate*(b.From-a.From))
	}
	return l
}

// at returns the step that holds at t >= 0.
func (l *link) at(t float64) int {
	return sort.Search(len(l.steps), func(i int) bool { return l.steps[i].From > t }) - 1
}

// end returns when step i ends, infinite for the last.
func (l *link) end(i int) float64 {
	if i+1 < len(l.steps) {
		return l.steps[i+1].From
	}
	return math.Inf(1)
}

// most returns the highest rate of the link.
func (l *link) most() float64 {
	most := 0.0
	for _, s := range l.steps {
		most = max(most, s.Rate)
	}
	return most
}

// work returns the bytes that the link carries by t.
func (l *link) work(t float64) float64 {
	i := l.at(t)
	if i < 0 || l.steps[i].Rate == 0 {
		return l.done[max(i, 0)]
	}
	return l.done[i] + float64(l.steps[i].Rate*(t-l.steps[i].From))
}

// time returns the first time by which the link has carried so many bytes,
// infinite if it never does.
func (l *link) time(bytes float64) float64 {
	if bytes <= 0 {
		return 0
	}
	i := sort.Search(len(l.done), func(i int) bool { return l.done[i] >= bytes }) - 1
	return l.steps[i].From + (bytes-l.done[i])/l.steps[i].Rate
}

// finish returns when so many bytes are done that come from a time on, at the
// link's rate or most, whichever is less.
func (l *link) finish(from, bytes, most float64) float64 {
	if bytes <= 0 {
		return from
	}
	for i := l.at(from); ; i++ {
		rate, end := min(l.steps[i].Rate, most), l.end(i)
		a := max(from, l.steps[i].From)
		if rate > 0 && a+bytes/rate <= end {
			return a + bytes/rate
		}
		if math.IsInf(end, 1) {
			return end
		}
		bytes -= float64(rate * (end - a))
	}
}

// back returns when the link next has a rate, from t on; infinite if it never does.
func (l *link) back(t, rate float64) float64 {
	for i := l.at(t); i < len(l.steps); i++ {
		if l.steps[i].Rate >= rate {
			return max(t, l.steps[i].From)
		}
	}
	return math.Inf(1)
}

// mean returns the mean of the times at which the bytes between two come.
func (l *link) mean(from, to float64) float64 {
	i := max(sort.Search(len(l.done), func(i int) bool { return l.done[i] > from })-1, 0)
	if i+1 == len(l.done) || to <= l.done[i+1] {
		return l.steps[i].From + ((from-l.done[i])+(to-l.done[i]))/2/l.steps[i].Rate
	}
	sum := 0.0
	for ; i < len(l.done); i++ {
		a, b := max(from, l.done[i]), to
		if i+1 < len(l.done) {
			b = min(to, l.done[i+1])
		}
		if b > a {
			sum += float64((b - a) * (l.steps[i].From + ((a-l.done[i])+(b-l.done[i]))/2/l.steps[i].Rate))
		}
	}
	return sum / (to - from)
}

// carries returns the bytes that come from one time to another, at the link's
// rate or most, whichever is less.
func (l *link) carries(from, to, most float64) (bytes float64) {
	for i := l.at(from); i < len(l.steps) && l.steps[i].From < to; i++ {
		bytes += float64(min(l.steps[i].Rate, most) * (min(to, l.end(i)) - max(from, l.steps[i].From)))
	}
	return bytes
}
