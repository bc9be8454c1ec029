//go:build !linux

package fetch

import (
	"io"
	"syscall"
	"time"

	"weir/bandwidth"
)

// setLowWater does nothing: here a reader is woken by every byte.
func setLowWater(syscall.RawConn, int) bool { return false }

// bindSending does nothing: a request that cannot be delivered may arrive late.
func bindSending(syscall.RawConn, time.Duration) {}

// socketsTell says that a socket does not tell what it has seen: a Wire has no
// flows here.
func socketsTell() bool { return false }

func offer(syscall.RawConn, int) {}

type socket struct{}

func newSocket(syscall.RawConn, int) *socket { return nil }

func (*socket) ready() (int, error) { return 0, io.EOF }
func (*socket) sample() (bandwidth.Sample, packets, bool) {
	return bandwidth.Sample{}, packets{}, false
}
func (*socket) clamp(int) {}
func (*socket) widen(int) {}
func (*socket) shut()     {}
