package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxHead bounds the answer to a HEAD.
const maxHead = 16 << 10

// headAsker asks a web server for the head of a page, over one connection for as
// long as the server keeps it. One request is under way at a time.
type headAsker struct {
	addr    netip.AddrPort
	request []byte
	wire    *Wire

	mu     sync.Mutex // close comes from another goroutine
	conn   net.Conn
	closed bool

	in    *bufio.Reader
	asked bool
	at    time.Time
	seq   uint16
}

func headRequest(t Target, agent string) []byte {
	host := t.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.port != 80 {
		host += ":" + strconv.Itoa(int(t.port))
	}
	return fmt.Appendf(nil, "HEAD %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n", t.path, host, agent)
}

func (a *headAsker) ask(seq uint16) error {
	if a.asked && time.Since(a.at) < probeLate {
		return errUnasked
	}
	if a.asked {
		a.hangUp() // what comes now would be taken for the answer to the next one
	}
	if a.in == nil {
		if err := a.dial(); err != nil {
			return err
		}
	}
	a.conn.SetWriteDeadline(time.Now().Add(probeLate))
	if _, err := a.conn.Write(a.request); err != nil {
		a.hangUp()
		return err
	}
	a.asked, a.at, a.seq = true, time.Now(), seq
	return nil
}

func (a *headAsker) dial() error {
	conn, err := net.DialTimeout("tcp", a.addr.String(), probeLate)
	if err != nil {
		return err
	}
	a.wire.Charge(tcpTalk)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		conn.Close()
		return errAborted
	}
	a.conn, a.in = conn, bufio.NewReader(conn)
	return nil
}

var errNoHead = errors.New("it is no answer to HEAD")

func (a *headAsker) hear(until time.Time) (seq uint16, wire int, err error) {
	if a.in == nil {
		return 0, 0, errDeaf
	}
	// A wait that ends before the first byte loses nothing.
	a.conn.SetReadDeadline(until)
	if _, err := a.in.Peek(1); err != nil {
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() {
			a.hangUp()
		}
		return 0, 0, err
	}
	a.conn.SetReadDeadline(time.Now().Add(probeLate))
	size := 0
	for size < maxHead {
		line, err := a.in.ReadSlice('\n')
		if err != nil || size == 0 && !bytes.HasPrefix(line, []byte("HTTP/1.")) || !a.asked {
			break
		}
		size += len(line)
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			a.asked = false
			return a.seq, size + ipHeader(a.addr.Addr()) + 32, nil
		}
	}
	a.hangUp()
	return 0, size, errNoHead
}

func (a *headAsker) hangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		a.conn.Close()
	}
	a.in, a.asked = nil, false
}

func (a *headAsker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.conn != nil {
		a.conn.Close()
	}
}
