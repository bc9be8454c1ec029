package fetch

import (
	"io"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// still is a connection whose packets wake nobody. Under a limit its bytes are
// taken when a tick of the Wire allows, so it is enough that the tick asks which
// sockets hold any. The Go runtime would wake, and with it a thread or two, for
// every packet, which costs more than all the rest of keeping to a limit.
//
// Reads and writes that cannot go on look again every tick. It is safe for
// concurrent use.
type still struct {
	local, remote net.Addr
	began         time.Time    // deadlines are counted from then
	until         atomic.Int64 // the deadline, in nanoseconds

	mu sync.Mutex
	fd int // -1 when closed
}

// newStill takes a connection from the runtime, which must not have been used by
// anybody; or returns it as it is if that fails.
func newStill(conn net.Conn) net.Conn {
	raw := rawConn(conn)
	if raw == nil {
		return conn
	}
	fd, err := -1, error(nil)
	if ctl := raw.Control(func(old uintptr) {
		fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	}); ctl != nil || err != nil {
		return conn
	}
	s := &still{local: conn.LocalAddr(), remote: conn.RemoteAddr(), began: time.Now(), fd: fd}
	s.until.Store(math.MaxInt64)
	conn.Close() // the runtime forgets it; fd keeps the connection open
	return s
}

// try calls do until it is done, the deadline has passed or the connection is
// closed.
func (s *still) try(do func(fd uintptr) bool) error {
	for {
		if s.late(time.Now()) {
			return os.ErrDeadlineExceeded
		}
		done := false
		if err := s.Control(func(fd uintptr) { done = do(fd) }); err != nil || done {
			return err
		}
		time.Sleep(tick)
	}
}

// late says that the deadline has passed.
func (s *still) late(now time.Time) bool { return int64(now.Sub(s.began)) >= s.until.Load() }

// Control implements syscall.RawConn. The connection is not closed meanwhile.
func (s *still) Control(do func(fd uintptr)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	do(uintptr(s.fd))
	return nil
}

func (s *still) Read(p []byte) (n int, err error) {
	wait := s.try(func(fd uintptr) bool {
		n, err = take(fd, p)
		return err != unix.EAGAIN
	})
	switch {
	case wait != nil:
		return 0, wait
	case err == nil && n == 0 && len(p) > 0:
		err = io.EOF
	}
	return n, err
}

// take reads what lies in a socket, without waiting for more.
func take(fd uintptr, p []byte) (int, error) {
	for {
		if n, err := unix.Read(int(fd), p); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (s *still) Write(p []byte) (written int, err error) {
	wait := s.try(func(fd uintptr) bool {
		for written < len(p) {
			var n int
			switch n, err = unix.SendmsgN(int(fd), p[written:], nil, nil, unix.MSG_NOSIGNAL); {
			case err == unix.EINTR:
			case err != nil:
				return err != unix.EAGAIN
			default:
				written += n
			}
		}
		return true
	})
	if wait != nil {
		return written, wait
	}
	return written, err
}

func (s *still) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	err := unix.Close(s.fd)
	s.fd = -1
	return err
}

// SetDeadline sets until when reads and writes may wait, also those that do.
func (s *still) SetDeadline(t time.Time) error {
	until := time.Duration(math.MaxInt64)
	if !t.IsZero() {
		until = t.Sub(s.began)
	}
	s.until.Store(int64(until))
	return nil
}

// SetReadDeadline and SetWriteDeadline are SetDeadline: there is but one.
func (s *still) SetReadDeadline(t time.Time) error  { return s.SetDeadline(t) }
func (s *still) SetWriteDeadline(t time.Time) error { return s.SetDeadline(t) }

func (s *still) LocalAddr() net.Addr  { return s.local }
func (s *still) RemoteAddr() net.Addr { return s.remote }

// SetLinger sets how many seconds the kernel goes on after Close; less than 0: as
// it likes.
func (s *still) SetLinger(sec int) error {
	l := unix.Linger{}
	if sec >= 0 {
		l = unix.Linger{Onoff: 1, Linger: int32(sec)}
	}
	var err error
	if ctl := s.Control(func(fd uintptr) {
		err = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &l)
	}); ctl != nil {
		return ctl
	}
	return err
}

// SyscallConn returns the connection itself, whose Control waits for nobody.
func (s *still) SyscallConn() (syscall.RawConn, error) { return stillRaw{s}, nil }

// stillRaw is a still connection as a syscall.RawConn.
type stillRaw struct{ *still }

func (s stillRaw) Read(do func(fd uintptr) bool) error  { return s.try(do) }
func (s stillRaw) Write(do func(fd uintptr) bool) error { return s.try(do) }

// poller knows which of the sockets it watches have changed.
type poller struct {
	file   *os.File // closes it when nobody needs it any more
	fd     int
	events [128]unix.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &poller{file: os.NewFile(uintptr(fd), "epoll"), fd: fd}, nil
}

// watch begins to watch a connection, until it is closed. Its changes are told
// with the number.
func (p *poller) watch(s *still, number int32) error {
	var err error
	if ctl := s.Control(func(fd uintptr) {
		err = unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: number,
		})
	}); ctl != nil {
		return ctl
	}
	return err
}

// changed calls each with the numbers of those to which something came since it
// was called last, and whether that was their end. It waits for nothing.
func (p *poller) changed(each func(number int32, ended bool)) {
	for {
		n, err := unix.EpollWait(p.fd, p.events[:], 0)
		if err != nil {
			return // the next tick asks again
		}
		for _, e := range p.events[:n] {
			each(e.Fd, e.Events != unix.EPOLLIN)
		}
		if n < len(p.events) {
			return
		}
	}
}
