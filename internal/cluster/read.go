package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"weir/overlay"
)

const (
	readEvery = 250 * time.Millisecond // whether others have written
	readFar   = 500 * time.Millisecond // the same where another node must be asked
	readSoon  = 10 * time.Millisecond  // whether what is known to be there has come
)

// reader reads one log for all of its partitions that the node follows. Where the log
// is kept by the node itself, following it costs nobody a byte (source); else a node
// that keeps it is asked.
//
// Most partitions are read at the head. One that is followed from farther back is
// behind until it has come there: those that are behind are read together, in turns
// with the head, so that a long way of one does not keep the others waiting.
type reader struct {
	n    *Node
	log  int
	near *source
	far  atomic.Bool   // another node was asked last
	wake chan struct{} // holds one when there is something to look for
	said time.Time     // that it cannot be read

	failed time.Time // until then nothing is checked, as that has failed

	mu    sync.Mutex
	parts map[int]*following
	head  uint64 // all partitions that are not behind were given what is up to here
	end   uint64 // the log is known to have been so long
}

// following is a partition that is followed. It is given what comes after.
type following struct {
	after uint64
	stamp uint64 // of the batch there, when it began; 0 = not known
	spot  spot
	sound bool // the log is known to be what was read of it before
}

// spot is where a partition is read.
type spot uint8

const (
	fresh  spot = iota // nowhere yet
	behind             // before the head
	ahead              // at the head
)

func newReader(n *Node, log int) (*reader, error) {
	near, err := newSource(n, log)
	return &reader{n: n, log: log, near: near, wake: make(chan struct{}, 1), parts: map[int]*following{}}, err
}

// follow begins to give a partition, or begins again.
func (r *reader) follow(a overlay.Follow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts[a.Part] = &following{after: a.After, stamp: a.Stamp, sound: a.After == 0}
	r.look()
}

func (r *reader) unfollow(part int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.parts, part)
}

// hint says that the log is so long.
func (r *reader) hint(end uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = max(r.end, end)
	r.look()
}

func (r *reader) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run reads for as long as ctx lasts.
func (r *reader) run(ctx context.Context) {
	timer := time.NewTimer(readEvery)
	defer timer.Stop()
	for soon := readSoon; ; {
		checking, failed := r.check(ctx)
		more := checking
		if from, any := r.front(); any {
			more = r.read(ctx, from, ahead) || more
		}
		if from, any := r.rear(); any && !checking { // others may begin before these
			more = r.read(ctx, from, behind) || more
		}
		wait := readEvery
		if r.far.Load() {
			wait = readFar
		}
		r.mu.Lock()
		switch {
		case more:
			wait, soon = 0, readSoon
		case failed:
			wait = tailPause
		case len(r.parts) > 0 && r.head < r.end:
			wait = min(wait, soon)
			soon = min(2*soon, readFar)
		default:
			soon = readSoon
		}
		r.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
		}
	}
}

// check makes sure, for one partition, that the log is what was read of it before. Where
// it was cut since then, the partition is read again from there. It asks whoever leads
// the log, which may be far: the others are read between two such questions. more says
// that it is another one's turn.
func (r *reader) check(ctx context.Context) (more, failed bool) {
	part, f := r.doubtful()
	if f == nil {
		return false, false
	}
	if time.Now().Before(r.failed) {
		return false, true
	}
	to, err := r.n.agreed(ctx, part, f.after, f.stamp)
	if err != nil {
		r.complain(ctx, err.Error())
		r.failed = time.Now().Add(tailPause)
		return false, true
	}
	r.mu.Lock()
	f.sound = true
	cut := to < f.after && r.parts[part] == f
	read := f.after
	if cut {
		f.after = to
	}
	r.mu.Unlock()
	if cut {
		r.n.warn(&CutError{Part: part, Read: read, Left: to})
		r.n.answer(overlay.Rewound{Part: part, Offset: to})
	}
	return true, false
}

// complain says why the log cannot be read, now and then.
func (r *reader) complain(ctx context.Context, text string) {
	if now := time.Now(); ctx.Err() == nil && now.Sub(r.said) >= sayEvery {
		r.said = now
		r.n.cfg.Log(text)
	}
}

// doubtful finds a partition that was not checked yet.
func (r *reader) doubtful() (part int, f *following) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, f := range r.parts {
		if !f.sound {
			return p, f
		}
	}
	return 0, nil
}

// front finds a spot for those that are new, and says after what to read at the head,
// if anybody is there.
func (r *reader) front() (after uint64, any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	least, placed := ^uint64(0), false
	for _, f := range r.parts {
		if f.sound {
			least = min(least, f.after)
			placed = placed || f.spot != fresh
		}
	}
	if !placed && least != ^uint64(0) {
		r.head = least
	}
	for _, f := range r.parts {
		switch {
		case !f.sound:
			continue
		case f.spot == fresh && f.after < r.head:
			f.spot = behind
		case f.spot == fresh:
			f.spot = ahead
		}
		any = any || f.spot == ahead
	}
	return r.head, any
}

// rear says after what to read for those that are behind, if any are.
func (r *reader) rear() (after uint64, any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	after = ^uint64(0)
	for _, f := range r.parts {
		if f.spot == behind && f.after >= r.head {
			f.spot = ahead
		}
		if f.spot == behind {
			after, any = min(after, f.after), true
		}
	}
	return after, any
}

// read reads what comes after a message, once, and gives it to those at a spot. It
// reports whether there is more.
func (r *reader) read(ctx context.Context, after uint64, at spot) (more bool) {
	more, err := r.near.after(ctx, after, func(seq uint64, message []byte) bool {
		list, err := unbundle(message)
		return r.bears(seq, err) && r.give(ctx, seq, list, len(message), at)
	})
	far := errors.Is(err, errNoCopy)
	if r.far.Store(far); !far {
		return more
	}
	q := &query{after: after}
	r.mu.Lock()
	for p, f := range r.parts {
		if f.spot == at {
			q.parts = append(q.parts, p)
		}
	}
	r.mu.Unlock()
	slices.Sort(q.parts)
	x, err := r.n.borrow(ctx, r.log, q)
	if err != nil {
		if !errors.Is(err, nats.ErrNoResponders) {
			r.complain(ctx, fmt.Sprintf("read log %d: %v", r.log, err))
		}
		return false
	}
	for _, m := range x.messages {
		if !r.give(ctx, m.seq, m.slices, m.size, at) {
			return false
		}
	}
	return r.give(ctx, x.upto, nil, 0, at) && x.more
}

// bears reports whether reading can go on after a message that could not be read.
func (r *reader) bears(seq uint64, err error) bool {
	if errors.Is(err, errPacking) {
		// Going on would leave it out for good.
		r.n.warn(fmt.Errorf("stopped to follow log %d at %d: %w", r.log, seq, err))
		return false
	}
	if err != nil {
		r.n.warn(fmt.Errorf("log %d at %d: %w", r.log, seq, err))
	}
	return true
}

// give passes on what a message has for the partitions at a spot; all that comes
// before it they were given. It reports whether what follows can be given, too.
func (r *reader) give(ctx context.Context, seq uint64, list []slice, size int, at spot) bool {
	whole := 1
	for _, s := range list {
		whole += len(s.data)
	}
	for _, s := range list {
		if r.takes(s.part, seq, at) && !r.deliver(s, seq, size*len(s.data)/whole) {
			r.unfollow(s.part)
		}
		if ctx.Err() != nil {
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = max(r.end, seq)
	if at == ahead {
		r.head = max(r.head, seq)
	}
	for _, f := range r.parts {
		if f.spot == at {
			f.after = max(f.after, seq)
		}
	}
	return true
}

// takes reports whether a partition wants what a message has for it.
func (r *reader) takes(part int, seq uint64, at spot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.parts[part]
	if f == nil || f.spot != at || seq <= f.after {
		return false
	}
	f.after = seq
	return true
}

// deliver gives a partition its batch of a message. It reports whether what follows
// can be given, too.
func (r *reader) deliver(s slice, seq uint64, size int) bool {
	n := r.n
	b, err := overlay.ReadBatch(s.data)
	switch {
	case errors.Is(err, overlay.ErrVersion):
		n.warn(fmt.Errorf("stopped to follow partition %d at %d: %w", s.part, seq, err))
		return false
	case err != nil:
		n.warn(fmt.Errorf("partition %d at %d: %w", s.part, seq, err))
		b = overlay.Batch{}
	case b.Origin != n.append.origin.Load():
		n.count.receivedBatch(s.data, size)
	}
	b.Stamp = stampOf(n.cfg.clock(), s.data)
	n.answer(overlay.Delivered{Part: s.part, Offset: seq, Batch: b})
	return true
}
