package bandwidth

import (
	"testing"
	"time"

	"weir/page"
)

// The core is told the time once and keeps it by its own clock.
func TestClock(t *testing.T) {
	told := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		offset int
		want   string
	}{
		{0, "Mon 00:15"},
		{3600, "Mon 01:15"},
		{5*3600 + 1800, "Mon 05:45"},
		{-9*3600 - 1800, "Sun 14:45"},
	} {
		clock := Clock{Unix: told.UnixNano(), Offset: c.offset, At: page.Time(time.Hour)}
		got := clock.Time(page.Time(time.Hour + 45*time.Minute))
		if s := got.Format("Mon 15:04"); s != c.want {
			t.Errorf("45 minutes after 23:30 UTC on a Sunday, %d s east: %s, want %s", c.offset, s, c.want)
		}
		if before := clock.Time(0); !before.Equal(told.Add(-time.Hour)) {
			t.Errorf("an hour before it was told: %v", before)
		}
	}
	if (Clock{}).Set() || !(Clock{Unix: 1}).Set() {
		t.Error("a clock is set once told")
	}
}
