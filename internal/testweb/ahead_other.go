//go:build !linux

package testweb

import "net"

const canHold = false

// hold cannot be had here: a slow server's bytes may wait in the kernel.
func hold(net.Conn) {}
