package node

import (
	"math/bits"
	"sync"
	"time"
)

// latency counts durations by their size, so that quantiles of any number of
// them take the same two kilobytes. A quantile is at most an eighth too
// large. Safe for concurrent use.
type latency struct {
	mu    sync.Mutex
	count [64 * 8]uint32
	n     int64
	max   time.Duration
}

// slot numbers eight steps of each power of two, in microseconds.
func slot(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 1))
	e := bits.Len64(us) - 1
	return e*8 + int((us<<3>>e)&7)
}

func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[slot(d)]++
	l.n++
	l.max = max(l.max, d)
}

// quantile returns a duration that a part q of all do not pass.
func (l *latency) quantile(q float64) time.Duration {
	left := int64(q * float64(l.n))
	for i, c := range l.count {
		if left -= int64(c); left < 0 {
			e, step := i/8, i%8
			us := uint64(8+step+1) << e >> 3
			return min(time.Duration(us)*time.Microsecond, l.max)
		}
	}
	return l.max
}

// Commits says how many milliseconds it took to make groups durable: archive,
// state and index, with their syncs.
type Commits struct {
	Groups int64   `json:"groups"`
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

func (l *latency) commits() Commits {
	l.mu.Lock()
	defer l.mu.Unlock()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return Commits{Groups: l.n, P50: ms(l.quantile(0.5)), P99: ms(l.quantile(0.99)), Max: ms(l.max)}
}
