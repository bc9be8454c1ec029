package store

import (
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// waiting is a Pebble that has so many compactions to do.
type waiting struct {
	n       int
	running int
	during  func() // in the middle of an offer
}

func (w *waiting) GetAllowedWithoutPermission() int { return 1 }

func (w *waiting) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	more := w.n > 0
	if w.during != nil {
		w.during()
		w.during = nil
	}
	return more, pebble.WaitingCompaction{}
}

func (w *waiting) Schedule(pebble.CompactionGrantHandle) bool {
	w.n--
	w.running++
	return true
}

func TestCompactionsWaitForTheStore(t *testing.T) {
	s := newScheduler()
	w := &waiting{n: 3}
	s.Register(2, w)
	if ok, _ := s.TrySchedule(); ok {
		t.Error("a compaction began before the store was open")
	}
	s.begin()
	if w.running != 1 {
		t.Errorf("%d run at the start", w.running)
	}
	if ok, _ := s.TrySchedule(); ok {
		t.Error("two at a time")
	}
	for range 2 {
		s.Done()
	}
	if w.running != 3 || w.n != 0 {
		t.Errorf("%d ran, %d wait", w.running, w.n)
	}
	s.Done()
	if ok, h := s.TrySchedule(); !ok || h == nil {
		t.Error("a free place was refused")
	}
	s.Unregister()
	w.n = 1
	s.Done()
	if ok, _ := s.TrySchedule(); ok || w.running != 3 {
		t.Error("a compaction began after the end")
	}
}

// TestCompactionsAreNotForgotten: one that is refused while the place is offered
// to nobody gets it.
func TestCompactionsAreNotForgotten(t *testing.T) {
	s := newScheduler()
	w := &waiting{}
	w.during = func() {
		if ok, _ := s.TrySchedule(); ok {
			t.Error("two at a time")
		}
		w.n = 1
	}
	s.Register(2, w)
	s.begin()
	if w.running != 1 {
		t.Error("it waits for ever")
	}
}

// TestCompactionsGiveWay has a compaction measured while another goroutine waits
// for the only processor.
func TestCompactionsGiveWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler()
	gives := func() (way bool) {
		done := make(chan struct{})
		ran := false
		go func() { ran = true; close(done) }()
		s.MeasureCPU(pebble.CompactionGoroutinePrimary)
		way = ran
		<-done
		return way
	}
	end := s.committing()
	also := s.committing()
	also()
	if !gives() {
		t.Error("a commit is under way, and the compaction keeps the processor")
	}
	end()
	if n := s.commits.Load(); n != 0 {
		t.Errorf("%d commits are under way", n)
	}
}
