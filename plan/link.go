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
		l.done[i] = l.done[i-1] + steps[i-1].Rate*(steps[i].From-steps[i-1].From)
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
	return l.done[i] + l.steps[i].Rate*(t-l.steps[i].From)
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
		bytes -= rate * (end - a)
	}
}
