package crawl

import (
	"testing"
	"time"

	"weir/page"
)

// A host rests as long as its answer took, and our own limit is no part of that.
func TestRestDoesNotCountOurOwnLimit(t *testing.T) {
	for _, c := range []struct{ waited, least, most time.Duration }{
		{0, 40 * time.Second, 40 * time.Second},
		{30 * time.Second, 10 * time.Second, 10 * time.Second},
		{50 * time.Second, 0, 9 * time.Second}, // clocks may differ a little
	} {
		p := newPlay(t, "http://a.org/1", "http://a.org/2")
		p.cfg.Bandwidth.Limits.Rate, p.cfg.Frontier.NoRobots = 1_000_000, true
		p.lookup = ownAddr
		h := &hand{play: p}
		h.start(monday)
		if len(h.flying) != 1 {
			t.Fatalf("%d requests", len(h.flying))
		}
		orders := h.step(Done{ID: h.flying[0].ID, Outcome: page.OK, Status: 200, Bytes: 1000, Elapsed: 40 * time.Second, Waited: c.waited})
		wakes := pull[Wake](orders)
		if len(wakes) != 1 {
			t.Fatalf("%d wakes", len(wakes))
		}
		if rest := wakes[0].At.Sub(h.now); rest < c.least || rest > c.most {
			t.Errorf("after 40s, %v of them our own, the host rests %v", c.waited, rest)
		}
	}
}
