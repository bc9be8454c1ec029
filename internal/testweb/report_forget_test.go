package testweb

import (
	"testing"
	"time"
)

// Who may have forgotten the robots.txt may ask for it after its own wait, and for nothing
// else before the crawl-delay is over.
func TestForgetfulVisitors(t *testing.T) {
	gap := func(d time.Duration) Gap { return Gap{N: 1, Start: d, End: d} }
	for _, c := range []struct {
		between, before time.Duration
		forgets         bool
		problems        int
	}{
		{50, 100, false, 1},
		{50, 100, true, 0},
		{100, 100, false, 0},
		{50, 50, true, 1},
		{10, 100, true, 1},
	} {
		r := Report{Hosts: []Host{{Host: "a.test", Delay: 100, Between: gap(c.between), Before: gap(c.before)}}}
		if got := r.Problems(Manners{Wait: 20, Forgets: c.forgets}); len(got) != c.problems {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
