package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/page"
	"weir/sim/web"
)

// written reads a web from its text.
func written(t *testing.T, format string, args ...any) *web.Web {
	t.Helper()
	fill, err := web.Preset("chile", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	w, err := web.ReadEdges(strings.NewReader(fmt.Sprintf(format, args...)), fill)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A robots.txt is no page, whatever comes first.
func TestRobotsAreNoPages(t *testing.T) {
	w := written(t, "http://a.example/ http://a.example/x\nhttp://a.example/ http://b.example/y\n")
	for _, order := range []string{"length", "siteopic", "batch"} {
		if r := play(t, w, Line{}, Config{Order: order, Robots: true}); r.Pages != 3 {
			t.Errorf("%s: %d of 3 pages", order, r.Pages)
		}
	}
}

// A page with a long address is as good as any other.
func TestLongPaths(t *testing.T) {
	var b strings.Builder
	long := strings.Repeat("x", 300)
	for i := range 100 {
		fmt.Fprintf(&b, "http://a.example/ http://a.example/%s%d\n", long, i)
	}
	w := written(t, "%s", b.String())
	if r := play(t, w, Line{}, Config{Conns: 4}); r.Pages != 101 {
		t.Errorf("%d of 101 pages, %s", r.Pages, r.Stopped)
	}
}

// A page that fails for now comes into a batch again.
func TestBatchesRetry(t *testing.T) {
	w := plain(10, 20)
	w.End = make([]uint8, w.Pages())
	w.End[25] = uint8(page.ServerError)
	r := play(t, w, Line{Rate: 200_000}, Config{Conns: 10, Order: "batch", Batch: 30})
	if r.Stopped != "done" {
		t.Errorf("%d pages, %s", r.Pages, r.Stopped)
	}
}

// A batch that waits for one slow page is cut short.
func TestStraggler(t *testing.T) {
	w := plain(200, 2)
	w.Size[0] = 100_000_000 // 5,000 s
	r := play(t, w, Line{}, Config{Conns: 50, Order: "batch", Batch: 50})
	if half := r.Samples[len(r.Samples)/2]; half.Seconds > 1000 {
		t.Errorf("half of the pages took %.0f s, while one of 5,000 s was under way", half.Seconds)
	}
}

// A crawl-delay of more than a day is waited for, and pages are fetched after it.
func TestLongDelay(t *testing.T) {
	w := plain(1, 3)
	w.Sites[0].Delay = 100_000
	r := play(t, w, Line{}, Config{Robots: true, Wait: time.Second})
	if r.Pages != 3 || r.Seconds < 3*100_000 {
		t.Errorf("%d of 3 pages in %.0f s, with a crawl-delay of 100,000 s", r.Pages, r.Seconds)
	}
}
