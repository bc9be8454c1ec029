package store

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
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
// for the only processor. Once in a while the runtime gives it back at once, so it is
// measured several times, which take microseconds.
func TestCompactionsGiveWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler()
	s.commit.Store(true)
	var ran atomic.Bool
	done := make(chan struct{})
	go func() { ran.Store(true); close(done) }()
	for range 100 {
		s.MeasureCPU(pebble.CompactionGoroutinePrimary)
	}
	if !ran.Load() {
		t.Error("a commit is under way, and the compaction keeps the processor")
	}
	<-done
}

// TestCommitIsNoted asks whether compactions know of a commit, in the middle of
// it and after.
func TestCommitIsNoted(t *testing.T) {
	fs := &watched{FS: vfs.NewMem()}
	s, err := Create("crawl", Options{FS: fs, Form: None})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fs.sched.Store(s.sched)
	g := s.Begin()
	g.Set([]byte("u1"), []byte("x"))
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	if !fs.noted.Load() {
		t.Error("nothing was written under a commit")
	}
	if s.sched.commit.Load() {
		t.Error("the commit is over, and compactions give way")
	}
}

// watched is a file system that looks, when a file is written, whether a commit is
// under way.
type watched struct {
	vfs.FS
	sched atomic.Pointer[scheduler]
	noted atomic.Bool
}

func (w *watched) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := w.FS.Create(name, c)
	return watchedFile{f, w}, err
}

type watchedFile struct {
	vfs.File
	w *watched
}

func (f watchedFile) Write(p []byte) (int, error) {
	if s := f.w.sched.Load(); s != nil && s.commit.Load() {
		f.w.noted.Store(true)
	}
	return f.File.Write(p)
}
