package bandwidth

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// instant is a time so many seconds into the crawl.
func instant(seconds float64) page.Time { return page.Time(seconds * 1e9) }

func TestNewControl(t *testing.T) {
	for _, name := range append([]string{""}, controls...) {
		if c, err := NewControl(name); err != nil || c == nil {
			t.Errorf("%q: %v, %v", name, c, err)
		}
	}
	if _, err := NewControl("fast"); err == nil || !strings.Contains(err.Error(), "weir, paper, reactive") {
		t.Errorf("%v, want the names that there are", err)
	}
}

// Every control: off lets nothing start, no limit lets everything.
func TestControlBounds(t *testing.T) {
	for _, name := range controls {
		c, _ := NewControl(name)
		var b Book
		c.Measured(0, &b, Wire{Limit: float64(Off)})
		if c.Open(&b, 0) {
			t.Errorf("%s: open while nothing may flow", name)
		}
		c.Measured(0, &b, Wire{Limit: float64(Unlimited)})
		for range 1000 {
			if !c.Open(&b, 3) || !c.Fits(&b, 1e9) {
				t.Fatalf("%s: shut after %d downloads without a limit", name, b.Len())
			}
			b.Start(Load{Rate: 1e9})
		}
	}
}

// TestBook: the book's sums are those of the downloads that were started and not
// ended, whatever came between.
func TestBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Book
		running := map[int]Load{}
		var tickets []int
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(tickets) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(tickets)-1).Draw(t, "which")
				b.End(tickets[i])
				delete(running, tickets[i])
				tickets = slices.Delete(tickets, i, i+1)
			} else {
				l := Load{Rate: float64(rapid.IntRange(0, 1000).Draw(t, "rate")), RTT: time.Duration(rapid.IntRange(0, 3).Draw(t, "rtt")) * 100 * time.Millisecond}
				ticket := b.Start(l)
				if _, twice := running[ticket]; twice {
					t.Fatalf("ticket %d was given out twice", ticket)
				}
				running[ticket], tickets = l, append(tickets, ticket)
			}
			var sum, supply float64
			for _, l := range running {
				sum += max(l.Rate, 1)
				rate := min(max(l.Rate, 1), 300)
				if l.RTT > 0 {
					rate = min(rate, 20/l.RTT.Seconds())
				}
				supply += rate
			}
			if b.Len() != len(running) || math.Abs(b.Sum()-sum) > 1e-6 || math.Abs(b.Supply(300, 20)-supply) > 1e-6 {
				t.Fatalf("%d loads, sum %v, supply %v; want %d, %v, %v", b.Len(), b.Sum(), b.Supply(300, 20), len(running), sum, supply)
			}
		}
	})
}

// opened starts downloads of this rate while the control lets them, as far as
// there are hosts.
func opened(c Control, b *Book, rate float64, hosts int) int {
	for b.Len() < hosts && c.Open(b, 0) && c.Fits(b, rate) {
		b.Start(Load{Rate: rate})
	}
	return b.Len()
}

// busyLink is a report of a full link, idleLink of one that wants more.
func busyLink(limit float64) Wire { return Wire{Limit: limit, Rate: limit, Backlog: 5000} }
func idleLink(limit float64) Wire {
	return Wire{Limit: limit, Rate: limit / 2, Idle: 50 * time.Millisecond}
}

// The supply rule: downloads start until 1.8 times the limit is on offer, none
// counted for more than half of the limit, nor for more than its window brings.
func TestWeirSupply(t *testing.T) {
	for _, c := range []struct {
		rate float64
		rtt  time.Duration
		want int
	}{{10e3, 0, 18}, {50e3, 0, 4}, {1e9, 0, 4}, {1e9, 200 * time.Millisecond, 9}} {
		w := newWeir()
		var b Book
		w.Measured(0, &b, busyLink(100e3))
		wire := busyLink(100e3)
		wire.Window = 4000
		w.Measured(0, &b, wire)
		for w.Open(&b, 0) {
			b.Start(Load{Rate: c.rate, RTT: c.rtt})
		}
		if b.Len() != c.want {
			t.Errorf("%v bytes a second, %v away: %d downloads, want %d", c.rate, c.rtt, b.Len(), c.want)
		}
	}
}

// Downloads that are being made ready count as if they ran.
func TestWeirAhead(t *testing.T) {
	w := newWeir()
	var b Book
	w.Measured(0, &b, busyLink(100e3))
	for range 10 {
		b.Start(Load{Rate: 10e3})
	}
	if !w.Open(&b, 7) || w.Open(&b, 8) {
		t.Errorf("10 running of 18: open with 7 ahead %v, with 8 %v", w.Open(&b, 7), w.Open(&b, 8))
	}
}

// Predictions that promise ten times what comes leave the link idle; each report
// of that lets one more run, that many go on running when downloads end and
// others take their place, and they grow fewer while the link is busy.
func TestWeirLearnsWhatIsNeeded(t *testing.T) {
	w := newWeir()
	var b Book
	w.Measured(0, &b, busyLink(100e3))
	n := opened(w, &b, 50e3, 1000)
	for i := range 30 {
		w.Measured(instant(float64(i+1)/10), &b, idleLink(100e3))
		if got := opened(w, &b, 50e3, 1000); got != n+1 {
			t.Fatalf("%d downloads after an idle report, before it %d", got, n)
		}
		n++
	}
	now := 3.1
	for range 10 {
		b.End(b.Len() - 1)
		now += 0.1
		w.Measured(instant(now), &b, busyLink(100e3))
		if got := opened(w, &b, 50e3, 1000); got != n {
			t.Fatalf("%d downloads after one ended, before it %d", got, n)
		}
	}
	for b.Len() > 0 {
		b.End(b.Len() - 1)
	}
	// At a tenth of the limit a tenth of them does.
	w.Measured(instant(now), &b, busyLink(10e3))
	if got := opened(w, &b, 50e3, 1000); got < 4 || got > 5 {
		t.Errorf("%d downloads at a tenth of the limit, %d before", got, n)
	}
	for range 600 {
		now += 0.1
		w.Measured(instant(now), &b, busyLink(100e3))
	}
	b = Book{}
	if got := opened(w, &b, 50e3, 1000); got >= n || got < 4 {
		t.Errorf("%d downloads after a busy minute, %d before", got, n)
	}
}

// A crawl that has no free hosts leaves the link idle for hours. What is let run
// then does not pile up.
func TestWeirIdleDoesNotPileUp(t *testing.T) {
	w := newWeir()
	var b Book
	for i := range 10_000 {
		w.Measured(instant(float64(i+1)/10), &b, idleLink(100e3))
		opened(w, &b, 50e3, 2)
	}
	if got := opened(w, &b, 50e3, 1000); got > 5 {
		t.Errorf("%d downloads when hosts are free again", got)
	}
}
