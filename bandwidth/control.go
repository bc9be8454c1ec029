package bandwidth

import (
	"fmt"
	"strings"
	"time"

	"weir/page"
)

// Control decides how many downloads run side by side, and which may start, so
// that they fill the limit. It decides what starts and never how fast it runs:
// that is the credit accounting's part.
//
// Every Control is a pure function of what it was told. It belongs to one
// Engine and is not safe for concurrent use.
type Control interface {
	// Open says whether any download may start now, beside those of the book
	// and the ahead ones that are being made ready to start. While it says
	// no, nobody looks at the queue.
	Open(b *Book, ahead int) bool
	// Fits says whether a download may start that is expected to run at rate
	// bytes a second. It is asked of one candidate after the other, the best
	// page first, and only while Open.
	Fits(b *Book, rate float64) bool
	// Measured tells what the wire did of late: ten times a second, at once
	// when the link falls idle, and when the limit changes.
	Measured(now page.Time, b *Book, w Wire)
	// Expected returns what the downloads of the book should bring together,
	// as this Control counts them, in bytes a second.
	Expected(b *Book) float64
}

// controls are the names of --control, the default first.
var controls = []string{"weir", "paper", "reactive"}

// NewControl returns the Control of this name; "" is weir.
func NewControl(name string) (Control, error) {
	switch name {
	case "", "weir":
		return newWeir(), nil
	case "paper":
		return &paper{}, nil
	case "reactive":
		return &reactive{most: 1}, nil
	}
	return nil, fmt.Errorf("no control is called %q; there are %s", name, strings.Join(controls, ", "))
}

// Wire is what the limiter saw on the link.
type Wire struct {
	Limit   float64       // bytes a second that may flow now, after timetable, quota and yielding; from Off to Unlimited
	Rate    float64       // bytes a second received, averaged over 250 ms
	Bytes   int64         // received in this run
	Idle    time.Duration // how long credit has lain unused with nothing queued; 0 = the link is busy
	Backlog int64         // bytes in sockets that wait for a grant
	Window  int64         // bytes that a new connection's window holds; 0 = not known
}

// none says that the limit is no limit.
func none(limit float64) bool { return limit >= float64(Unlimited) }

// Load is what one download is expected to put on the link.
type Load struct {
	Rate float64       // bytes a second; B(u) in the paper
	RTT  time.Duration // to its server, 0 = not known
}

// Book holds the loads of the downloads under way (S in the paper). A download
// is under way while its connection is open: between two pages of one visit it
// still counts. The zero Book is empty.
type Book struct {
	loads []Load // by ticket; a rate of 0 is a free one
	free  []int
}

// Start enters a download and returns its ticket. A rate below one byte a
// second counts as one.
func (b *Book) Start(l Load) int {
	l.Rate = max(l.Rate, 1)
	if n := len(b.free); n > 0 {
		t := b.free[n-1]
		b.free = b.free[:n-1]
		b.loads[t] = l
		return t
	}
	b.loads = append(b.loads, l)
	return len(b.loads) - 1
}

// End strikes a download out. Its ticket goes to another.
func (b *Book) End(ticket int) {
	b.loads[ticket] = Load{}
	b.free = append(b.free, ticket)
}

// Len returns how many downloads are under way.
func (b *Book) Len() int { return len(b.loads) - len(b.free) }

// Sum returns the rates of all downloads together (CB in the paper). It is
// added up anew each time, so no error of rounding stays in it.
func (b *Book) Sum() float64 {
	sum := 0.0
	for i := range b.loads {
		sum += b.loads[i].Rate
	}
	return sum
}

// Supply returns the same, but of each download no more than most, and no more
// than a window of so many bytes brings in one round trip.
func (b *Book) Supply(most float64, window int64) float64 {
	sum := 0.0
	for i := range b.loads {
		l := &b.loads[i]
		rate := min(l.Rate, most)
		if l.RTT > 0 && window > 0 {
			rate = min(rate, float64(window)/l.RTT.Seconds())
		}
		sum += rate
	}
	return sum
}
