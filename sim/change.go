package sim

import (
	"fmt"
	"time"

	"weir/sim/web"
)

// Change is a site that becomes slower or faster while it is crawled: downloads
// under way go on at the new speed, later ones begin with it. How long it takes to
// begin stays as it was.
type Change struct {
	At     time.Duration // since the beginning
	Site   uint32        // its number in the web
	Factor float64       // of the speed that the web gives it
}

// Change plans changes of sites. Call it before Run.
func (w *World) Change(changes ...Change) error {
	for _, c := range changes {
		if int(c.Site) >= len(w.web.Sites) {
			return fmt.Errorf("site %d is to change, and the web has %d", c.Site, len(w.web.Sites))
		}
		if c.At < 0 || c.At > time.Duration(lastDay) {
			return fmt.Errorf("site %d (%s) is to change after %v; choose between 0 and %v", c.Site, w.web.SiteName(c.Site), c.At, time.Duration(lastDay))
		}
		if v := w.web.Sites[c.Site].Speed * c.Factor; !(v >= web.MinSpeed && v <= web.MaxSpeed) {
			return fmt.Errorf("site %d (%s) is to send %v bytes a second; choose between %v and %v", c.Site, w.web.SiteName(c.Site), v, web.MinSpeed, web.MaxSpeed)
		}
		if w.factor == nil {
			w.factor = make([]float64, len(w.web.Sites))
			for i := range w.factor {
				w.factor[i] = 1
			}
		}
		w.plan.Add(w.now.Add(c.At), thing{what: changed, arg: uint32(len(w.changes))})
		w.changes = append(w.changes, c)
	}
	return nil
}

// speed is how fast a site sends now.
func (w *World) speed(site uint32) float64 {
	v := w.web.Sites[site].Speed
	if w.factor != nil {
		v *= w.factor[site]
	}
	return v
}

// change lets a change happen.
func (w *World) change(c Change) {
	before := w.speed(c.Site)
	w.factor[c.Site] = c.Factor
	for _, does := range w.does {
		does.change(c.Site, before, w.speed(c.Site))
	}
}

// change moves the downloads from a site to its new speed. What they would have
// taken on a line of their own changes for the bytes that are still to come: the
// site is to blame for those, not the line.
func (c *crawler) change(site uint32, before, speed float64) {
	for slot := range c.trips {
		if t := &c.trips[slot]; t.sends && t.site == site {
			left := c.w.link.Speed(int64(c.w.now), c.base+slot, speed)
			t.ideal += time.Duration((left/speed - left/before) * 1e9)
		}
	}
}
