package testweb

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerGone asks the kernel whether the other end has closed or reset a connection that may still be open at this end.
func peerGone(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	gone := true
	rc.Control(func(fd uintptr) {
		const established, synReceived = 1, 3
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		gone = err != nil || info.State != established && info.State != synReceived
	})
	return gone
}
