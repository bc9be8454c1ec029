package sim

import (
	"errors"
	"math"
	"strings"
	"testing"

	"weir/page"
	"weir/sim/link"
	"weir/sim/web"
)

// Ends of pages are outcomes of visits: all of those, and none that is no end.
func TestEndsAreOutcomesOfVisits(t *testing.T) {
	for o := page.Outcome(0); o < 64; o++ {
		visit := o < page.Denied
		if fits := o <= web.MaxEnd; fits != visit {
			t.Errorf("%v may be the end of a page: %v; it is one of a visit: %v", o, fits, visit)
		}
		if recorded := o.Row().Pause != page.NoPause && o != page.None && o != page.Aborted; recorded && o > web.MaxEnd && o.Row().Name != page.None.Row().Name {
			t.Errorf("weir sim record meets %v, and no web may hold it", o)
		}
	}
}

// Whatever Check lets pass can be crawled, to the end of it or of time.
func TestExtremeWebs(t *testing.T) {
	edge := []web.Site{
		{Speed: web.MinSpeed, Latency: web.MaxTime, Again: web.MaxTime, Delay: web.MaxTime},
		{Speed: web.MaxSpeed},
		{Speed: web.MaxSpeed, Latency: web.MaxTime},
		{Speed: 20_000, Latency: 0.8, Again: 0.3},
	}
	for end := range uint8(web.MaxEnd + 1) {
		for _, s := range []link.Sharing{link.MaxMin, link.Even} {
			w := plain(8, 3)
			w.End = make([]uint8, w.Pages())
			for p := range w.End {
				if p%2 == 1 {
					w.End[p] = end
				}
			}
			for i := range w.Sites {
				w.Sites[i] = edge[i%len(edge)]
			}
			world, err := New(w, Line{Rate: 1e12, Sharing: s}, Config{Conns: 4, PerConn: 2, Robots: end%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			err = world.Run(nil)
			if r := world.Results()[0]; err == nil && r.Stopped != "done" || err != nil && !errors.Is(err, errLate) || r.Pages == 0 {
				t.Errorf("%v, %v: %d pages, %s, %v", page.Outcome(end), s, r.Pages, r.Stopped, err)
			}
		}
	}
}

// A crawl that lasts longer than the clock counts ends with an error that says so.
func TestTimeEnds(t *testing.T) {
	w := plain(1, 3)
	for p := range w.Size {
		w.Size[p] = math.MaxUint32
	}
	w.Sites[0].Speed = web.MinSpeed
	world, err := New(w, Line{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := world.Run(nil); err == nil || !strings.Contains(err.Error(), "200 years") {
		t.Errorf("three pages of 136 years each: %v", err)
	}
	if r := world.Results()[0]; r.Pages != 1 || r.Stopped != Interrupted {
		t.Errorf("%d pages, %q", r.Pages, r.Stopped)
	}
}
