package testweb

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

const canHole = true

// hole is a listener that never accepts and whose queue is full, so that the kernel drops every SYN sent to it.
type hole struct{ fds []int }

func (h *hole) Close() error {
	for _, fd := range h.fds {
		unix.Close(fd)
	}
	h.fds = nil
	return nil
}

// dig moves a site to an address that swallows connections.
func (s *site) dig(port int) error {
	h := &hole{}
	addr := netip.AddrFrom4([4]byte{127, 201, byte(s.index >> 8), byte(s.index)})
	at := &unix.SockaddrInet4{Port: port, Addr: addr.As4()}
	socket := func() (int, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			h.fds = append(h.fds, fd)
		}
		return fd, os.NewSyscallError("socket", err)
	}
	fd, err := socket()
	if err == nil {
		err = errors.Join(unix.Bind(fd, at), unix.Listen(fd, 0))
	}
	// A queue of length 0 holds one connection; the second is for kernels that count otherwise.
	for i := 0; i < 2 && err == nil; i++ {
		if fd, err = socket(); err == nil {
			if e := unix.Connect(fd, at); !errors.Is(e, unix.EINPROGRESS) {
				err = e
			}
		}
	}
	if err != nil {
		h.Close()
		return fmt.Errorf("a listener that is full: %w", err)
	}
	s.addr, s.hole = addr, h
	return nil
}
