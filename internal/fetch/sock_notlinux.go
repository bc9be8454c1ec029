//go:build !linux

package fetch

import (
	"errors"
	"io"
	"net"
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

type socket struct {
	still *still // nil
}

func newSocket(syscall.RawConn, int) *socket { return nil }

func (*socket) ready() (int, error)      { return 0, io.EOF }
func (*socket) holds() (int, error)      { return 0, io.EOF }
func (*socket) take([]byte) (int, error) { return 0, io.EOF }
func (*socket) sample() (bandwidth.Sample, packets, bool) {
	return bandwidth.Sample{}, packets{}, false
}
func (*socket) clamp(int) {}
func (*socket) widen(int) {}
func (*socket) shut()     {}

// still is a connection whose packets wake nobody: there are none here.
type still struct{}

func newStill(conn net.Conn) net.Conn { return conn }

func (*still) late(time.Time) bool { return false }

type poller struct{}

func newPoller() (*poller, error) { return nil, errors.ErrUnsupported }

func (*poller) watch(*still, int32) error { return errors.ErrUnsupported }
func (*poller) changed(func(int32, bool)) {}
