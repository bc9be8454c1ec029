package fetch

import (
	"sync"
	"time"
)

// Meter measures bytes as they pass: how many, and the most in any second. A
// second begins at any multiple of 50 ms, so a burst shorter than that is never
// split. It is safe for concurrent use; the zero Meter is ready.
type Meter struct {
	mu     sync.Mutex
	first  time.Time // of the first byte
	total  int64
	slots  [slots]int64 // a ring: the bytes of the last second, the newest at slot
	slot   int64        // number of the newest slot, counted from first
	second int64        // sum of slots
	most   int64
}

const (
	slots     = 20
	slotWidth = time.Second / slots
)

// Add counts n bytes that passed at now. Times may come slightly out of order.
func (m *Meter) Add(now time.Time, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first.IsZero() {
		m.first = now
	}
	at := max(int64(now.Sub(m.first)/slotWidth), m.slot)
	if at-m.slot >= slots {
		m.slots, m.second = [slots]int64{}, 0
		m.slot = at
	}
	for m.slot < at {
		m.slot++
		i := m.slot % slots
		m.second -= m.slots[i]
		m.slots[i] = 0
	}
	m.slots[at%slots] += int64(n)
	m.second += int64(n)
	m.total += int64(n)
	m.most = max(m.most, m.second)
}

// Bytes returns how many bytes have passed.
func (m *Meter) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// Max1s returns the most bytes that passed within one second.
func (m *Meter) Max1s() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}
