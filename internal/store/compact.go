package store

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler lets Pebble compact, one compaction at a time, once the store is
// open. Pebble's own begins while it opens and then waits for what it began:
// seconds, in a large crawl, before its first request.
//
// A compaction gives way to a commit: it would else have a processor for ten
// milliseconds each time, and a commit goes through three goroutines that may each
// have to wait for one.
type scheduler struct {
	commit atomic.Bool // one is under way

	mu       sync.Mutex
	over     sync.Cond // a grant is over
	db       pebble.DBForCompaction
	open     bool
	gone     bool
	running  bool // a compaction has, or is offered, the one place
	granting bool
	refused  bool // somebody waits since the place was taken
}

func newScheduler() *scheduler {
	s := &scheduler{}
	s.over.L = &s.mu
	return s
}

// begin lets the first compaction start.
func (s *scheduler) begin() {
	s.mu.Lock()
	s.open = true
	s.mu.Unlock()
	s.grant()
}

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) { s.db = db }

// Unregister implements pebble.CompactionScheduler: after it nothing starts.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for s.granting {
		s.over.Wait()
	}
}

// TrySchedule implements pebble.CompactionScheduler. Pebble holds its lock.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.gone || s.running {
		s.refused = true
		return false, nil
	}
	s.running = true
	return true, s
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler: it is
// always one.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {}

// grant offers the place to the compaction that waits. Pebble's lock comes
// before ours, so it is asked without ours.
func (s *scheduler) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.granting {
		s.over.Wait()
	}
	for s.open && !s.gone && !s.running {
		s.running, s.granting, s.refused = true, true, false
		s.mu.Unlock()
		waits, _ := s.db.GetWaitingCompaction()
		took := waits && s.db.Schedule(s)
		s.mu.Lock()
		s.granting = false
		s.over.Broadcast()
		if took {
			return
		}
		s.running = false
		if !s.refused {
			return
		}
	}
}

// Done implements pebble.CompactionGrantHandle.
func (s *scheduler) Done() {
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
	s.grant()
}

// Started implements pebble.CompactionGrantHandle.
func (s *scheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle. A compaction calls it again
// and again, every hundred rows or so.
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {
	if s.commit.Load() {
		runtime.Gosched()
	}
}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}
