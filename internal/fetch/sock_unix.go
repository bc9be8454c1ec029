//go:build unix

package fetch

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setReceiveBuffer asks the kernel for a receive buffer of n bytes. It must be
// done before connecting: the window's scale is fixed then. A refusal costs
// only smoothness.
func setReceiveBuffer(raw syscall.RawConn, n int) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, n)
	})
}

// rawConn returns the socket under c, nil when there is none to look at.
func rawConn(c net.Conn) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// ready waits until bytes can be read and returns how many of len(p), leaving
// them in the socket. It ends with io.EOF or the error a Read would give, and
// keeps the read deadline.
func ready(raw syscall.RawConn, p []byte) (n int, err error) {
	waitErr := raw.Read(func(fd uintptr) bool {
		n, err = peek(fd, p)
		return err != unix.EAGAIN
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// glance looks into an idle connection. It is made once for each, so that
// looking allocates nothing.
type glance struct {
	raw  syscall.RawConn
	look func(fd uintptr)
	one  [1]byte
	n    int
	err  error
}

func newGlance(raw syscall.RawConn) *glance {
	if raw == nil {
		return nil
	}
	g := &glance{raw: raw}
	g.look = func(fd uintptr) { g.n, g.err = peek(fd, g.one[:]) }
	return g
}

// holds says what an idle connection holds: nothing (open), bytes that nobody
// asked for, or its end.
func (g *glance) holds() (open, bytes bool) {
	if g.raw.Control(g.look) != nil {
		return false, false
	}
	return g.err == unix.EAGAIN || g.n > 0, g.n > 0
}

func peek(fd uintptr, p []byte) (int, error) {
	for {
		n, _, err := unix.Recvfrom(int(fd), p, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return n, err
		}
	}
}
