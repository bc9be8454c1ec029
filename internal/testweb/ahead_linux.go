package testweb

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const canHold = true

// hold keeps the kernel from taking bytes that the visitor's window has no room for: what is written then has left.
func hold(c net.Conn) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return
	}
	rc.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, 1) // without it the rate is that of the writing
	})
}
