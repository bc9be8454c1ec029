package plan

import "testing"

func TestTimeText(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{-1, "0 ms"}, {0.25, "250 ms"}, {1, "1.0 s"}, {9.94, "9.9 s"}, {9.96, "10 s"}, {59.6, "1 min"}, {61, "1 min 1 s"}, {3600, "1 h"}, {7500, "2 h 5 min"},
		{90000, "1 d 1 h"}, {86400 * 400, "400 d"}, {1e300, "for ever"},
	} {
		if got := timeText(c.seconds); got != c.want {
			t.Errorf("%v seconds are %q, want %q", c.seconds, got, c.want)
		}
	}
}
