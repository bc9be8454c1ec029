package fetch

import (
	"context"
	"math/bits"
	"sync"
)

// budget is a number of bytes that answers share. An answer waits for its first
// buffer only, while it holds none; a buffer grows if it can at once and else
// is spooled to disk. So whoever holds memory never waits for more of it, and
// the bound cannot lock up.
type budget struct {
	mu      sync.Mutex
	free    int64
	waiting []*claim // in order of asking
}

type claim struct {
	n     int64
	ready chan struct{}
}

func newBudget(n int64) *budget { return &budget{free: n} }

// try takes n bytes if they are free.
func (b *budget) try(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free < n {
		return false
	}
	b.free -= n
	return true
}

// take waits until n bytes are free and nobody waits before us, and takes them.
func (b *budget) take(ctx context.Context, n int64) error {
	b.mu.Lock()
	if len(b.waiting) == 0 && b.free >= n {
		b.free -= n
		b.mu.Unlock()
		return nil
	}
	c := &claim{n: n, ready: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.waiting {
		if b.waiting[i] == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.serve()
			return ctx.Err()
		}
	}
	b.free += n // it was granted while we gave up
	b.serve()
	return ctx.Err()
}

// give returns n bytes.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	b.serve()
}

// serve grants claims in order while they fit.
func (b *budget) serve() {
	for len(b.waiting) > 0 && b.waiting[0].n <= b.free {
		b.free -= b.waiting[0].n
		close(b.waiting[0].ready)
		b.waiting = b.waiting[1:]
	}
}

// Buffers come in powers of two from minBuffer to maxBuffer, and halfway between
// them.
const (
	minBuffer = 4 << 10
	maxBuffer = 1 << 20
)

var pools [17]sync.Pool // of *[]byte, by class

// class returns the number and size of the smallest buffer for n bytes.
func class(n int) (int, int) {
	n = min(max(n, minBuffer), maxBuffer)
	i := bits.Len(uint(n-1)) - bits.Len(uint(minBuffer-1))
	size := minBuffer << i
	if half := size / 4 * 3; i > 0 && n <= half {
		return 2*i - 1, half
	}
	return 2 * i, size
}

// getBuffer returns an empty buffer for n bytes.
func getBuffer(n int) []byte {
	i, size := class(n)
	if b, ok := pools[i].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

// putBuffer takes a buffer of getBuffer back.
func putBuffer(b []byte) {
	if i, size := class(cap(b)); cap(b) == size {
		pools[i].Put(&b)
	}
}
