package crawl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/page"
)

// New wishes are looked at after promises that are behind, however near their
// deadlines are.
func TestWishesComeAfterPromises(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(200 * time.Second)})
	k.seeds = append(k.seeds, "http://c.org/")
	k.start()
	k.explore()
	k.hears("a.org held.")
	k.wait(50 * time.Second)
	due := in(time.Duration(k.now) + 2*time.Second)
	k.step(Command{Demands: []Demand{{Host: "b.org", Deadline: due}, {Host: "c.org", Deadline: due}}})
	k.wait(lookPause)
	if fmt.Sprint(k.urged) != "[a.org b.org c.org]" {
		t.Errorf("%v are urgent, in this order", k.urged)
	}
}

// A site of which half could not be had is not done, however early it ended.
func TestLostPagesAreNotKept(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(100 * time.Hour)})
	k.start()
	k.serve("a.org", 10_000, 100*time.Millisecond, pages("a.org", 1, 41)...)
	for i := 0; i < 400 && !slices.ContainsFunc(k.news, func(n News) bool { return n.Standing == Missed || n.Standing == Kept }); i++ {
		at := slices.IndexFunc(k.flying, func(f Fetch) bool { return f.Host == "a.org" })
		if at < 0 {
			k.wait(30 * time.Second)
			continue
		}
		f := k.flying[at]
		k.flying = slices.Delete(k.flying, at, at+1)
		k.now = k.now.Add(100 * time.Millisecond)
		d := Done{Outcome: page.OK, Status: 200, Bytes: 10_000, Elapsed: 100 * time.Millisecond}
		if f.Entry.Hash%2 == 0 {
			d = Done{Outcome: page.TooSlow, Elapsed: 100 * time.Millisecond}
		}
		k.answered(f, d, nil)
	}
	if s := k.status("a.org"); s.Standing != Missed || !strings.Contains(s.Why, "pages could not be had") {
		t.Errorf("%+v", s)
	}
}

// A plan that answers after the deadline says nothing any more.
func TestPlanAfterDeadline(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(30 * time.Second)})
	k.slow = true
	k.start()
	k.explore()
	o := k.plans[len(k.plans)-1]
	k.now = page.Time(31 * time.Second)
	k.answer(o)
	k.hears("a.org missed.")
	if p := k.engine.promises.by["a.org"]; !p.sane() {
		t.Errorf("%+v would not be read again", p.promiseRow)
	}
}

// Under a quota a plan reckons with no more than it brings, in this period and in
// those to come.
func TestPlanUnderQuota(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(60 * time.Hour)})
	k.cfg.Bandwidth.Limits = Limits{Quota: bandwidth.Quota{Bytes: 2e9, Per: bandwidth.Day}, Timetable: timetable(t, "08:00-18:00 off, 1MB/s")}
	k.start()
	k.explore()
	for _, p := range k.plans {
		for day := range 2 {
			from, to := float64(day)*86400, float64(day+1)*86400
			sum := 0.0
			for i, s := range p.Link {
				end := math.Inf(1)
				if i+1 < len(p.Link) {
					end = p.Link[i+1].From
				}
				sum += s.Rate * max(min(end, to)-max(s.From, from), 0)
			}
			if sum > 2e9 || sum < 0.5e9 {
				t.Errorf("day %d is planned to bring %.0f MB of 2000: %v", day, sum/1e6, p.Link)
			}
		}
	}
}

// A server that our own limit holds back is not taken for a fast one.
func TestOwnTime(t *testing.T) {
	for _, c := range []struct {
		done Done
		rate float64
		want time.Duration
	}{
		{Done{Bytes: 20_000, Elapsed: 2 * time.Second, Waited: 1900 * time.Millisecond, Throttled: true}, 40_000, 500 * time.Millisecond},
		{Done{Bytes: 20_000, Elapsed: 2 * time.Second, Waited: 100 * time.Millisecond, Throttled: true}, 40_000, 1900 * time.Millisecond},
		{Done{Bytes: 20_000, Elapsed: 2 * time.Second, Waited: 1900 * time.Millisecond, Throttled: true}, 1, 2 * time.Second},
		{Done{Bytes: 20_000, Elapsed: 2 * time.Second, Waited: 1900 * time.Millisecond, Throttled: true}, 0, 100 * time.Millisecond},
		{Done{Bytes: 20_000, Elapsed: 2 * time.Second, Waited: time.Second}, 1, time.Second},
	} {
		if got := c.done.own(c.rate); got != c.want {
			t.Errorf("%+v at %g bytes a second took the server %v, want %v", c.done, c.rate, got, c.want)
		}
	}
}

// Nothing is promised of a site that has given nothing, and the reason is told.
func TestNoPromiseWithoutAPage(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Minute)})
	k.start()
	for i := 0; i < 200 && len(k.news) == 0; i++ {
		at := slices.IndexFunc(k.flying, func(f Fetch) bool { return f.Host == "a.org" })
		if at < 0 {
			k.wait(5 * time.Second)
			continue
		}
		f := k.flying[at]
		k.flying = slices.Delete(k.flying, at, at+1)
		k.answered(f, Done{Outcome: page.FirstByteTimeout}, nil)
	}
	if n := k.news[0]; n.Standing != Refused || !strings.Contains(n.Why, "first-byte-timeout") {
		t.Errorf("%+v", n)
	}
	if len(k.urged) > 0 {
		t.Errorf("%v is urgent, though nothing was promised", k.urged)
	}
}

// What was never promised is not urgent when its deadline is over.
func TestRefusedIsNotUrgentLater(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(40 * time.Second), Size: 1e12})
	k.start()
	k.explore()
	k.hears("a.org refused.")
	k.wait(time.Minute)
	k.hears("a.org missed.")
	if len(k.urged) > 0 {
		t.Errorf("%v is urgent, though it was refused", k.urged)
	}
}
