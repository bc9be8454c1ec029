package bandwidth

import (
	"time"

	"weir/page"
)

// Clock is the local wall clock as the core knows it. The core cannot read the
// time of day; the driver tells it once at the start and again whenever the
// clock jumps or the zone's offset changes. The zero Clock was never told.
type Clock struct {
	Unix   int64     // nanoseconds since 1970 at the moment At
	Offset int       // seconds east of UTC
	At     page.Time // on the crawl's own clock
}

// Set reports whether anybody told the time.
func (c Clock) Set() bool { return c.Unix != 0 }

// Time returns the local time at now, in a zone with c's fixed offset.
func (c Clock) Time(now page.Time) time.Time {
	// Without a name, Go shares the zones of whole hours instead of making one.
	return time.Unix(0, c.Unix+int64(now.Sub(c.At))).In(time.FixedZone("", c.Offset))
}
