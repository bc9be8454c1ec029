package testweb

import (
	"errors"

	"golang.org/x/sys/unix"
)

// checkHole sees that a connection to the hole is still asking. On loopback a live listener, or the lack of one, would have
// answered before connect returned.
func checkHole(v *visit) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		v.t.Fatal(err)
	}
	defer unix.Close(fd)
	at := &unix.SockaddrInet4{Port: v.w.Port(), Addr: v.w.Addr(v.w.Find(v.host)).As4()}
	if err := unix.Connect(fd, at); !errors.Is(err, unix.EINPROGRESS) {
		v.t.Fatalf("connect: %v", err)
	}
	const synSent = 2
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.State != synSent {
		v.t.Errorf("state %d, %v: the connection was answered", info.State, err)
	}
}
