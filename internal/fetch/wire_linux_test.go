package fetch

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"weir/bandwidth"
	"weir/page"
)

// serveSmall is serve with packets as they are on the Internet. Those of
// loopback carry 64 KB, and a server that finds no room for one waits a while.
func serveSmall(t testing.TB, act func(*scene)) *peer {
	t.Helper()
	small := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		return errors.Join(raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1448)
		}), err)
	}}
	l, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return attend(t, l, act)
}

// Whoever waits for a grant, for a request or for bytes, stops at once when the
// visit is cut short or the connection closed.
func TestWireAborts(t *testing.T) {
	for _, inside := range []bool{false, true} {
		for _, by := range []string{"context", "close"} {
			name := "request by " + by
			if inside {
				name = "answer by " + by
			}
			t.Run(name, func(t *testing.T) {
				heed, waiting := held(inside)
				w := newWire(t, bandwidth.Off, heed)
				p := serve(t, func(s *scene) {
					if s.hear() == "" {
						return
					}
					w.SetLimit(bandwidth.Off)
					s.say(long)
					s.wait()
				})
				if inside {
					w.SetLimit(generous)
				}
				u := p.url(t, "/")
				cn := open(t, newClient(t, under(w)), u, p.addr.Addr())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := fetching(ctx, cn, u)
				<-waiting
				if by == "close" {
					cn.Close()
				} else {
					cancel()
				}
				a := <-done
				defer a.Release()
				if a.Outcome != page.Aborted || a.KeepAlive {
					t.Errorf("%v (%s)", a.Outcome, a.Err)
				}
				if heard := len(p.asked()) > 0; heard != inside {
					t.Errorf("heard by the server: %v", heard)
				}
			})
		}
	}
}

// Off holds requests and readers until there is a limit again.
func TestWireOffAndOn(t *testing.T) {
	for _, inside := range []bool{false, true} {
		heed, waiting := held(inside)
		w := newWire(t, bandwidth.Off, heed)
		p := serveSmall(t, func(s *scene) {
			s.hear()
			if inside {
				w.SetLimit(bandwidth.Off)
			}
			s.say(long)
			s.wait()
		})
		if inside {
			w.SetLimit(generous)
		}
		u := p.url(t, "/")
		cn := open(t, newClient(t, under(w)), u, p.addr.Addr())
		done := fetching(t.Context(), cn, u)
		<-waiting
		select {
		case a := <-done:
			t.Fatalf("inside %v: %v (%s) though nothing may come", inside, a.Outcome, a.Err)
		default:
		}
		if n := w.State().Bytes; n > 64<<10 {
			t.Errorf("inside %v: %d bytes came though nothing may", inside, n)
		}
		w.SetLimit(generous)
		a := <-done
		if a.Outcome != page.OK || block(t, a) != long {
			t.Errorf("inside %v: %v (%s)", inside, a.Outcome, a.Err)
		}
		a.Release()
	}
}

// The limit may be lifted and set while an answer comes.
func TestWireLimitChanges(t *testing.T) {
	w := newWire(t, bandwidth.Unlimited, nil)
	p := serveSmall(t, func(s *scene) {
		for _, limits := range [][2]int64{{generous, 50e6}, {bandwidth.Unlimited, generous}, {50e6, bandwidth.Unlimited}} {
			s.hear()
			s.say(long[:100_000])
			w.SetLimit(limits[0])
			s.say(long[100_000:200_000])
			w.SetLimit(limits[1])
			s.say(long[200_000:])
		}
		s.wait()
	})
	u := p.url(t, "/")
	cn := open(t, newClient(t, under(w)), u, p.addr.Addr())
	for range 3 {
		a := cn.Get(t.Context(), u, false)
		if a.Outcome != page.OK || block(t, a) != long {
			t.Errorf("%v (%s)", a.Outcome, a.Err)
		}
		a.Release()
	}
}

// Every byte that a server wrote is counted, with the headers of its packets,
// whether or not it was read.
func TestWireCountsAll(t *testing.T) {
	for _, limit := range []int64{generous, bandwidth.Unlimited} {
		p := serveSmall(t, keeps(long, long))
		w := newWire(t, limit, nil)
		c := newClient(t, under(w))
		u := p.url(t, "/")
		cn := open(t, c, u, p.addr.Addr())
		for range 2 {
			a := cn.Get(t.Context(), u, false)
			if a.Outcome != page.OK {
				t.Fatal(a.Outcome, a.Err)
			}
			a.Release()
		}
		cn.Close()
		w.mu.Lock()
		w.count()
		w.mu.Unlock()
		written := int64(2 * len(long))
		if got := c.Meter().Bytes(); got < written+written/1460*20/64 || got > 2*written {
			t.Errorf("%s: %d bytes were counted of %d and their headers", bandwidth.FormatRate(limit), got, written)
		}
		if s := w.State(); s.Bytes < written || s.Backlog != 0 {
			t.Errorf("%s: %+v", bandwidth.FormatRate(limit), s)
		}
	}
}

// Once cut off, nothing more is read, and the outcome says why.
func TestCutOff(t *testing.T) {
	w := newWire(t, generous, nil)
	p := serve(t, keeps(ok+"Content-Length: 100\r\n\r\nhello"))
	u := p.url(t, "/")
	cn := open(t, newClient(t, under(w)), u, p.addr.Addr())
	w.mu.Lock()
	cn.link.tap.cut = true
	w.mu.Unlock()
	a := cn.Get(t.Context(), u, false)
	defer a.Release()
	if a.Outcome != page.BadResponse || a.Err != errFoul.Error() || a.KeepAlive {
		t.Errorf("%v (%s)", a.Outcome, a.Err)
	}
}

// What is remembered of servers does not grow without end, and closed
// connections leave nothing else.
func TestHabitsAreBounded(t *testing.T) {
	p := serve(t, func(s *scene) { s.wait() })
	conn, err := net.Dial("tcp", p.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sock := newSocket(rawConn(conn), 52)
	w := stillWire(140e3)
	for i := range uint32(maxHabits + 100) {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 1<<24+i)
		f := w.open(sock, w.window(), netip.AddrFrom4(a), "site.test")
		f.flow.Seen(w.clock(), bandwidth.Sample{Payload: 1, Wire: 53, Window: -1})
		f.close()
		f.close()
	}
	if len(w.habits) == 0 || len(w.habits) > maxHabits {
		t.Errorf("%d servers are remembered", len(w.habits))
	}
	if len(w.flows) != 0 || len(w.turn) != 0 {
		t.Errorf("%d and %d flows are left", len(w.flows), len(w.turn))
	}
}

// The window that the kernel tells counts only when it was told after the last
// bytes came.
func TestWindowIsFresh(t *testing.T) {
	type look struct {
		data, sent, spoke int64
		known             bool
	}
	for name, looks := range map[string][]look{
		"acknowledged at once":    {{1, 1, 0, true}, {2, 2, 0, true}},
		"acknowledged later":      {{1, 0, 0, false}, {1, 0, 0, false}, {1, 1, 0, true}, {1, 1, 0, true}},
		"a read may have said it": {{1, 1, 1, false}, {1, 2, 0, true}},
		"both":                    {{1, 2, 1, true}, {3, 3, 0, false}, {3, 4, 1, true}},
		"nothing came":            {{0, 0, 0, true}, {0, 1, 1, true}},
	} {
		f := &flow{}
		for i, l := range looks {
			s := bandwidth.Sample{Window: 2896}
			f.spoke = l.spoke
			n := packets{data: l.data, sent: l.sent}
			f.told(&s, n)
			f.count = n
			if known := s.Window == 2896; known != l.known {
				t.Errorf("%s, look %d: the window is known: %v", name, i, known)
			}
		}
	}
}

// A small packet that comes with a large one hides the window no more than by its
// own size: see told.
func TestWindowBesideSmallPacket(t *testing.T) {
	const large = 1448
	for name, c := range map[string]struct {
		bytes, data, sent, spoke int64
		window, want             int
	}{
		"one answer to both":       {large + 24, 2, 1, 0, 1472, 1448},
		"all but the small one":    {2*large + 24, 3, 2, 0, 1472, 1448},
		"both large":               {2 * large, 2, 1, 0, 1472, -1},
		"not so small":             {large + large/4, 2, 1, 0, 1472, -1},
		"none":                     {large + 24, 2, 0, 0, 1472, -1},
		"two of three not":         {2*large + 24, 3, 1, 0, 1472, -1},
		"a small one alone":        {24, 1, 0, 0, 1472, -1},
		"a read may have said it":  {large + 24, 2, 1, 1, 1472, -1},
		"a large one, twice":       {large, 2, 1, 0, 1472, -1},
		"both small":               {100, 2, 1, 0, 1472, -1},
		"smaller than what is off": {large + 24, 2, 1, 0, 10, -1},
		"not told by the kernel":   {large + 24, 2, 1, 0, -1, -1},
		"all of them":              {large + 24, 2, 2, 0, 1472, 1472},
	} {
		f := &flow{spoke: c.spoke}
		f.seen.Payload = 5000
		s := bandwidth.Sample{Payload: 5000 + c.bytes, Segment: large, Window: c.window}
		n := packets{data: c.data, sent: c.sent}
		if f.told(&s, n); s.Window != c.want {
			t.Errorf("%s: a window of %d, want %d", name, s.Window, c.want)
		}
		// It is as known, or not, when nothing happens.
		f.count, f.seen, f.spoke = n, s, 0
		s.Window = c.window
		if f.told(&s, n); s.Window >= 0 != (c.want >= 0) && c.window >= 100 {
			t.Errorf("%s: then a window of %d", name, s.Window)
		}
	}
}
