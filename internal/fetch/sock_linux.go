package fetch

import (
	"io"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/bandwidth"
)

// setLowWater makes whoever waits for bytes of a socket wait for n of them, or
// for the end. Reads that do not wait take what there is. It says whether the
// system does so.
func setLowWater(raw syscall.RawConn, n int) bool {
	var err error
	ctl := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, n)
	})
	return ctl == nil && err == nil
}

// bindSending has the kernel give up what it cannot deliver for so long, and all of
// it when the process dies: it would send a request on for minutes, to a host that
// another node visits by then.
func bindSending(raw syscall.RawConn, unheard time.Duration) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unheard.Milliseconds()))
		unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
}

// socketsTell says whether a socket tells what it has seen: Linux 4.6 and later.
func socketsTell() bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var info unix.TCPInfo
	n, err := getsockopt(uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO, unsafe.Pointer(&info), unsafe.Sizeof(info))
	return err == nil && n >= unsafe.Offsetof(info.Data_segs_in)+4
}

// offer makes a socket that is not connected yet tell its server of so small a
// window. The kernel thinks half of the buffer goes into bookkeeping.
func offer(raw syscall.RawConn, window int) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bufferFor(window))
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP, window)
	})
}

// bufferFor is the receive buffer that holds a window.
func bufferFor(window int) int { return window }

// socket is a connection that is looked into often: nothing is allocated for it.
// ready is its reader's; the rest is for whoever holds the Wire's lock.
type socket struct {
	raw    syscall.RawConn
	still  *still // nil: the runtime watches it
	header int64  // bytes of a packet without payload

	n       int    // that can be read, or were
	readErr error  // of looking for them, or of reading
	into    []byte // that they are read into
	one     [1]byte

	info   unix.TCPInfo
	told   uintptr // bytes of info that the kernel knows of
	err    error
	window int

	getInfo func(uintptr)
	doLook  func(uintptr)
	doTake  func(uintptr)
	getSize func(uintptr) bool
	doClamp func(uintptr)
	doWiden func(uintptr)
}

func newSocket(raw syscall.RawConn, header int) *socket {
	s := &socket{raw: raw, header: int64(header)}
	if r, ok := raw.(stillRaw); ok {
		s.still = r.still
	}
	s.getInfo = func(fd uintptr) {
		s.told, s.err = getsockopt(fd, unix.IPPROTO_TCP, unix.TCP_INFO, unsafe.Pointer(&s.info), unsafe.Sizeof(s.info))
	}
	s.getSize = func(fd uintptr) bool {
		if s.n, s.readErr = peek(fd, s.one[:]); s.readErr == unix.EAGAIN {
			return false
		}
		if s.readErr == nil && s.n > 0 {
			s.n, s.readErr = unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		}
		return true
	}
	s.doLook = func(fd uintptr) {
		if s.n, s.readErr = unix.IoctlGetInt(int(fd), unix.SIOCINQ); s.readErr == nil && s.n == 0 {
			s.n, s.readErr = peek(fd, s.one[:])
		}
	}
	s.doTake = func(fd uintptr) { s.n, s.readErr = take(fd, s.into) }
	s.doClamp = func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP, s.window)
		// A server that has filled so small a window waits for word that it
		// arrived, and sends the last packet again when that is delayed.
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1)
	}
	s.doWiden = func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bufferFor(s.window))
	}
	return s
}

// ready waits until there is something to read, and returns how much.
func (s *socket) ready() (int, error) {
	return s.result(s.raw.Read(s.getSize))
}

// holds says how much there is to read, or the error or end that is.
func (s *socket) holds() (int, error) {
	return s.result(s.raw.Control(s.doLook))
}

// take reads what there is, without waiting for more.
func (s *socket) take(p []byte) (n int, err error) {
	s.into = p
	err = s.raw.Control(s.doTake)
	s.into = nil
	return s.result(err)
}

// result is what looking into a socket or reading from it came to.
func (s *socket) result(err error) (int, error) {
	switch {
	case err != nil:
		return 0, err
	case s.readErr != nil:
		return 0, s.readErr
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// sample reads what the socket has seen, and how many packets it took and sent.
func (s *socket) sample() (seen bandwidth.Sample, n packets, ok bool) {
	if s.raw.Control(s.getInfo) != nil || s.err != nil {
		return bandwidth.Sample{}, packets{}, false
	}
	i := &s.info
	window := -1 // before Linux 6.2 the kernel does not tell it
	if s.told >= unsafe.Offsetof(i.Rcv_wnd)+4 {
		window = int(i.Rcv_wnd)
	}
	// What the last requests took includes how long the server put their
	// acknowledgement off, which is up to 40 ms on a connection that is used again.
	trip := i.Rtt
	if i.Min_rtt > 0 {
		trip = min(trip, i.Min_rtt)
	}
	const established = 1
	return bandwidth.Sample{
		Payload: int64(i.Bytes_received), Wire: int64(i.Bytes_received) + s.header*int64(i.Segs_in),
		Window: window, RTT: time.Duration(trip) * time.Microsecond, Segment: int(i.Rcv_mss), Ended: i.State != established,
	}, packets{int64(i.Data_segs_in), int64(i.Rcv_ooopack), int64(i.Segs_out)}, true
}

// clamp keeps the window small, and says at once what has come.
func (s *socket) clamp(window int) {
	s.window = window
	s.raw.Control(s.doClamp)
}

// widen makes room for a larger window.
func (s *socket) widen(window int) {
	s.window = window
	s.raw.Control(s.doWiden)
	s.raw.Control(s.doClamp)
}

// shut ends the connection for whoever reads from it.
func (s *socket) shut() {
	s.raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_RDWR) })
}

// getsockopt reads an option into memory that the caller has, and returns how
// much of it the kernel knows.
func getsockopt(fd uintptr, level, option int, to unsafe.Pointer, size uintptr) (uintptr, error) {
	n := uint32(size)
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, fd, uintptr(level), uintptr(option), uintptr(to), uintptr(unsafe.Pointer(&n)), 0)
	if e != 0 {
		return 0, e
	}
	return uintptr(n), nil
}
