package clustertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that systems give to whoever asks for any begin above these.
const (
	firstPort = 20_000
	ports     = 12_000
)

// Address returns an address of loopback to listen on, now and again later: it is
// nobody else's until release, neither by chance nor for another test's node. A
// port that a system picked would be free to be picked again whenever its node is
// down.
func Address() (addr string, release func(), err error) {
	start := rand.IntN(ports)
	for i := range ports {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+(start+i)%ports)
		mark, err := net.ListenPacket("udp", addr) // says to other processes that the port is taken
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			mark.Close()
			continue
		}
		l.Close()
		return addr, func() { mark.Close() }, nil
	}
	return "", nil, errors.New("no port of loopback is free")
}
