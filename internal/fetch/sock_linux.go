package fetch

import (
	"syscall"

	"golang.org/x/sys/unix"
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
