package fetch

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestUnheard closes connections whose bytes must not outlive the right to send
// them: one whose answer came ends in peace, one that is given up at once.
func TestUnheard(t *testing.T) {
	ends := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := serve(t, func(s *scene) {
		if s.hear(); s.n == 0 {
			s.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		} else {
			cancel()
		}
		_, err := io.Copy(io.Discard, s.br)
		ends <- err
	})
	cfg := local()
	cfg.Unheard = 5 * time.Second
	c := newClient(t, cfg)

	u := p.url(t, "/")
	cn := open(t, c, u, p.addr.Addr())
	var wait, on int
	cn.link.raw.Control(func(fd uintptr) {
		wait, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		on, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_LINGER) // the first of its two ints
	})
	if wait != 5000 || on != 1 {
		t.Errorf("what is not acknowledged is given up after %d ms, and with the process: %d", wait, on)
	}
	cn.Get(t.Context(), u, false).Release()
	cn.Close()
	if err := <-ends; err != nil {
		t.Errorf("after its answer a connection ends with %v", err)
	}

	cn = open(t, c, u, p.addr.Addr())
	cn.Get(ctx, u, true).Release()
	cn.Close()
	if err := <-ends; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("one that is given up ends with %v", err)
	}
}
