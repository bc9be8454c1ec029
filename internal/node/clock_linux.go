package node

import (
	"time"

	"golang.org/x/sys/unix"
	"weir/page"
)

// clock reads CLOCK_BOOTTIME: it never goes back and counts sleep, so a host's
// rest is real time also on a laptop whose lid was closed.
func clock() page.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return page.Time(time.Since(began))
	}
	return page.Time(ts.Nano())
}

var began = time.Now()
