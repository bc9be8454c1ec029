package fetch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"weir/page"
)

// taker is what a flow over a still connection has of its own: its Wire reads for
// whoever waits, in the tick that allows it. So a reader is woken once for a
// body, or for as much of it as it has room for, and not for every packet.
type taker struct {
	number int32 // by which it is watched
	blind  bool  // it is not
	holds  bool  // there may be something to read
	fresh  bool  // and nobody has looked since it came
	over   bool  // nothing comes after it

	into   []byte // nil: nobody waits for bytes
	filled int    // of it
	found  int    // bytes that lie in the socket, at most
	failed error  // what ends the connection, once it is known
	err    error  // why a reader was woken
	least  int    // bytes that it is not woken for less than

	wanted page.Time     // when it found bytes
	paused time.Duration // that they had to wait since take was called
}

// watch makes a flow one over a still connection. The lock is held.
func (w *Wire) watch(f *flow) {
	f.blind = true
	if w.poller == nil {
		var err error
		if w.poller, err = newPoller(); err != nil {
			return // every tick looks at it instead
		}
	}
	if w.opened++; w.opened == 0 {
		w.opened++ // stands for those that are not watched
	}
	if w.poller.watch(f.sock.still, w.opened) == nil {
		f.number, f.blind = w.opened, false
		w.stills[f.number] = f
	}
}

// take waits until bytes have come and may be read, and reads them: at least so
// many, if p holds them, which must be sure to come. It also returns how long they
// lay there since nobody might read them.
func (f *flow) take(ctx context.Context, p []byte, least int64) (n int, paused time.Duration, err error) {
	w := f.wire
	w.mu.Lock()
	if err := f.fault(); err != nil {
		w.mu.Unlock()
		return 0, 0, err
	}
	f.into, f.filled, f.err, f.paused = p, 0, nil, 0
	f.least = int(min(least, int64(len(p))))
	w.mu.Unlock()

	select {
	case _, open := <-f.grant:
		if !open {
			return 0, 0, errAborted
		}
	case <-ctx.Done():
		f.desist()
		return 0, 0, errAborted
	}
	f.waited += f.paused
	return f.filled, f.paused, f.err
}

// find looks for bytes that a reader waits for, and whether it may wait any
// longer. It returns whether it looked at the socket's counters. The lock is held.
func (f *flow) find(now page.Time, wall time.Time) (looked bool) {
	if f.sock.still.late(wall) {
		f.finish(os.ErrDeadlineExceeded)
		return false
	}
	if !f.holds && !f.blind {
		return false
	}
	n, err := f.sock.holds()
	switch {
	case errors.Is(err, syscall.EAGAIN):
		f.holds = false
		return false
	case err != nil:
		f.finish(err)
		return false
	}
	if f.look(now); f.into == nil {
		return true // it was cut off
	}
	f.wanted, f.found = now, n
	if n = min(n, len(f.into)-f.filled); f.flow.Free() {
		f.fill(now, n)
		return true
	}
	f.flow.Want(n)
	f.waits = true
	return true
}

// fill reads what may be read for the one who waits. The lock is held.
func (f *flow) fill(now page.Time, bytes int) {
	n, err := f.sock.take(f.into[f.filled : f.filled+bytes])
	f.waits = false
	f.paused += now.Sub(f.wanted)
	f.spoke++
	f.flow.Took(n)
	f.filled += n
	f.holds = n < f.found || f.over
	switch {
	case err != nil && !errors.Is(err, syscall.EAGAIN):
		f.finish(err)
	case n > 0 && f.filled >= f.least:
		f.finish(nil)
	}
}

// finish wakes the one who waits. What was read comes before an error. The lock
// is held.
func (f *flow) finish(err error) {
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		f.failed = err
	}
	if f.filled == 0 {
		f.err = err
	}
	f.into = nil
	f.flow.Desist()
	f.wake(0)
}
