package fetch

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"
)

// Limiter is a cap on what is read and written. Wait returns when n more bytes may be read
// from a socket or written to one, or with the context's error. It is asked for
// a few kilobytes at a time and only for bytes that are there, so that a
// connection that waits for its server holds no grant.
type Limiter interface {
	Wait(ctx context.Context, n int) error
}

// rated is a Limiter that can say how fast it runs now, in bytes per second;
// grants and socket buffers then follow the rate.
type rated interface{ Rate() int64 }

// maxGrant is the most bytes a Limiter is asked for at once.
const maxGrant = 4 << 10

// caps returns the Limiters of a host: its own, then the one for all, so that
// nothing is taken from the others while it waits for its own.
func (c *Client) caps(host string) []Limiter {
	var all []Limiter
	if own := c.cfg.SiteLimiter[strings.ToLower(host)]; own != nil {
		all = append(all, own)
	}
	if w := c.cfg.Wire; w != nil && w.rough != nil {
		all = append(all, w.rough)
	}
	return all
}

// slowest returns the lowest rate of caps, in bytes per second.
func slowest(caps []Limiter) int64 {
	rate := int64(math.MaxInt64)
	for _, l := range caps {
		if r, ok := l.(rated); ok {
			rate = min(rate, r.Rate())
		}
	}
	return rate
}

// grant is how much to ask of caps at once: 20 ms of their rate.
func grant(caps []Limiter) int {
	return int(min(max(slowest(caps)/50, 64), maxGrant))
}

// receiveBuffer is the size of a socket's buffer under caps: small, so that the
// kernel does not run ahead of them with bytes nobody has granted.
func receiveBuffer(caps []Limiter) int {
	return int(min(max(slowest(caps)/20, 16<<10), 64<<10))
}

// Bucket is a Limiter that all connections share: a token bucket that fills at
// the rate and holds at most 50 ms of it. Grants are given in the order of
// asking. In any time t it grants at most rate*t bytes, plus the 50 ms, plus
// one grant. It is safe for concurrent use.
type Bucket struct {
	turn chan struct{} // held by the one at the head of the queue

	mu      sync.Mutex
	rate    float64 // bytes per second
	tokens  float64
	at      time.Time     // when tokens was true
	changed chan struct{} // closed when the rate changes
}

// burst is how much time's worth of tokens a Bucket holds.
const burst = 50 * time.Millisecond

// NewBucket returns a Bucket that is empty now. The rate is at least 1 byte per
// second.
func NewBucket(bytesPerSecond int64) *Bucket {
	return &Bucket{
		turn:    make(chan struct{}, 1),
		rate:    float64(max(bytesPerSecond, 1)),
		at:      time.Now(),
		changed: make(chan struct{}),
	}
}

// Rate returns the rate in bytes per second.
func (b *Bucket) Rate() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.rate)
}

// SetRate changes the rate, also for those who wait already.
func (b *Bucket) SetRate(bytesPerSecond int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(time.Now())
	b.rate = float64(max(bytesPerSecond, 1))
	close(b.changed)
	b.changed = make(chan struct{})
}

// Wait implements Limiter.
func (b *Bucket) Wait(ctx context.Context, n int) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.turn }()
	for left := float64(n); ; {
		var wait time.Duration
		var changed chan struct{}
		left, wait, changed = b.take(left)
		if wait == 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// take pays what it can of n bytes. It returns what is left to pay and how long
// it takes until more can be paid, zero when all is.
func (b *Bucket) take(n float64) (left float64, wait time.Duration, changed chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(time.Now())
	paid := min(n, b.tokens)
	b.tokens -= paid
	left = n - paid
	if left <= 0 {
		return 0, 0, nil
	}
	next := min(left, b.rate*burst.Seconds())
	return left, max(time.Duration(next/b.rate*float64(time.Second)), time.Microsecond), b.changed
}

func (b *Bucket) fill(now time.Time) {
	b.tokens = min(b.tokens+b.rate*now.Sub(b.at).Seconds(), b.rate*burst.Seconds())
	b.at = now
}
