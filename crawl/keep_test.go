package crawl

import (
	"testing"
	"time"

	"weir/bandwidth"
)

// What earlier runs used of a quota counts for one that is set while the crawl
// runs, though it began without a limit.
func TestQuotaByCommandIsUsedAlready(t *testing.T) {
	limits := Limits{Quota: quota(t, "36MB/hour")}
	h := newHand(t, 3, Bandwidth{Limits: limits})
	h.start(monday)
	h.now = h.now.Add(20 * time.Second)
	h.wire(bandwidth.Wire{Limit: 1e4, Bytes: 30e6})
	h.flush()

	again := newHand(t, 3, Bandwidth{})
	again.kv, again.resume = h.kv, true
	soon := monday
	soon.Unix += int64(time.Minute)
	again.start()
	again.step(soon) // as a driver tells it: with the first limit
	again.step(Command{Limits: &limits})
	if used := again.engine.Status().Link.Used; used != 30e6 {
		t.Fatalf("%d bytes used, want those of the run before", used)
	}
	again.now = again.now.Add(20 * time.Second)
	again.wire(bandwidth.Wire{Limit: 1e4, Bytes: 6e6})
	if s := again.engine.Status().Link; s.Used != 36e6 || s.Limit != bandwidth.Off {
		t.Errorf("%+v after all of the quota", s)
	}
}

// A crawl that is cut short gives what it has learned, and then nothing more.
func TestCutKeeps(t *testing.T) {
	limits := Limits{Quota: quota(t, "36MB/hour")}
	h := newHand(t, 3, Bandwidth{Limits: limits})
	h.start(monday)
	h.now = h.now.Add(20 * time.Second)
	h.wire(bandwidth.Wire{Limit: 1e4, Bytes: 1e6}) // saved
	h.wire(bandwidth.Wire{Limit: 1e4, Bytes: 2e6})
	if len(h.flying) == 0 {
		t.Fatal("nothing is under way")
	}
	orders := h.step(Command{Stop: StopByUser, Now: true})
	if f, last := orders[len(orders)-1].(Finish); !last || f.Reason != StopByUser {
		t.Errorf("%v, want the end", orders)
	}
	if more := h.step(Command{Now: true}); len(more) > 0 {
		t.Errorf("%v after the end", more)
	}
	h.flush()

	again := newHand(t, 3, Bandwidth{Limits: limits})
	again.kv, again.resume = h.kv, true
	if again.start(monday); again.engine.Status().Link.Used != 3e6 {
		t.Errorf("%+v after a restart, want 3 MB used", again.engine.Status().Link)
	}
}
