package plan

import "testing"

func TestTimeText(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{-1, "0s"}, {0.25, "0.25s"}, {1, "1.0s"}, {9.94, "9.9s"}, {9.96, "10s"}, {10.5, "10.5s"}, {59.96, "1m00s"}, {61, "1m01s"}, {3600, "1h00m"}, {7500, "2h05m"},
		{90000, "25h00m"}, {86400 * 400, "400d00h"}, {1e300, "for ever"},
	} {
		if got := timeText(c.seconds); got != c.want {
			t.Errorf("%v seconds are %q, want %q", c.seconds, got, c.want)
		}
	}
}
