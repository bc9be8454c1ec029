package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/page"
)

// stillPair returns a still connection and its other end.
func stillPair(t testing.TB) (*still, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s, ok := newStill(conn).(*still)
	if !ok {
		t.Fatal("the connection is not still")
	}
	t.Cleanup(func() {
		s.Close()
		other.Close()
	})
	if _, err := conn.Write(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the runtime still has the connection: %v", err)
	}
	return s, other.(*net.TCPConn)
}

// A still connection reads and writes as any other.
func TestStill(t *testing.T) {
	s, other := stillPair(t)
	if s.RemoteAddr().String() != other.LocalAddr().String() || s.LocalAddr().String() != other.RemoteAddr().String() {
		t.Errorf("from %v to %v", s.LocalAddr(), s.RemoteAddr())
	}
	long := strings.Repeat("0123456789", 1<<18)
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(other)
		got <- string(b)
		other.Write([]byte("well"))
		other.CloseWrite()
	}()
	if n, err := io.WriteString(s, long); n != len(long) || err != nil {
		t.Fatalf("%d written, %v", n, err)
	}
	if err := s.Control(func(fd uintptr) { syscall.Shutdown(int(fd), syscall.SHUT_WR) }); err != nil {
		t.Fatal(err)
	}
	if b := <-got; b != long {
		t.Errorf("%d of %d bytes arrived", len(b), len(long))
	}
	if b, err := io.ReadAll(s); string(b) != "well" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if s.SetLinger(0) != nil || s.SetLinger(-1) != nil || s.Close() != nil {
		t.Error("not open to the end")
	}
	for what, err := range map[string]error{"close": s.Close(), "linger": s.SetLinger(0), "look": s.Control(func(uintptr) { t.Error("it is closed") })} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s after closing: %v", what, err)
		}
	}
}

// Whoever waits goes on when the deadline passes, or the connection is closed.
func TestStillWaits(t *testing.T) {
	read := func(s *still) error {
		_, err := s.Read(make([]byte, 1))
		return err
	}
	write := func(s *still) error {
		_, err := s.Write(make([]byte, 64<<20))
		return err
	}
	for name, do := range map[string]func(*still) error{"read": read, "write": write} {
		s, _ := stillPair(t)
		s.SetDeadline(time.Now().Add(20 * time.Millisecond))
		if err := do(s); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s until a deadline: %v", name, err)
		}
		s.SetDeadline(time.Time{})
		ends := make(chan error)
		go func() { ends <- do(s) }()
		s.SetDeadline(time.Unix(-1, 0))
		if err := <-ends; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s whose deadline was moved: %v", name, err)
		}
		s.SetDeadline(time.Time{})
		go func() { ends <- do(s) }()
		s.Close()
		if err := <-ends; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s of what was closed: %v", name, err)
		}
	}
}

// A poller tells of what came, once, and of the end.
func TestPoller(t *testing.T) {
	s, other := stillPair(t)
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer p.file.Close()
	if err := p.watch(s, 7); err != nil {
		t.Fatal(err)
	}
	told := func() (n int, ended bool) {
		p.changed(func(number int32, end bool) {
			if number != 7 {
				t.Errorf("number %d", number)
			}
			n++
			ended = ended || end
		})
		return n, ended
	}
	await := func() bool {
		for {
			if n, ended := told(); n > 0 {
				return ended
			}
			time.Sleep(time.Millisecond)
		}
	}
	other.Write([]byte("a"))
	if await() {
		t.Error("bytes are taken for the end")
	}
	if n, _ := told(); n != 0 {
		t.Error("told twice")
	}
	other.Write([]byte("b"))
	if await() {
		t.Error("more bytes are taken for the end")
	}
	other.Close()
	if !await() {
		t.Error("the end is not told")
	}
	s.Close()
	if err := p.watch(s, 8); !errors.Is(err, net.ErrClosed) {
		t.Errorf("what is closed: %v", err)
	}
}

// taken is how a take ended.
type taken struct {
	n   int
	err error
}

// taking takes from a flow over a still connection whose Wire only looks when it
// is told to.
func taking(t *testing.T) (f *flow, other *net.TCPConn, look func(), take func(p []byte, least int64) <-chan taken) {
	t.Helper()
	s, other := stillPair(t)
	raw, _ := s.SyscallConn()
	w := stillWire(bandwidth.Unlimited)
	f = w.open(newSocket(raw, 52), 0, netip.MustParseAddr("127.0.0.1"), "site.test")
	t.Cleanup(f.close)
	look = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.look()
	}
	take = func(p []byte, least int64) <-chan taken {
		done := make(chan taken, 1)
		go func() {
			n, _, err := f.take(context.Background(), p, least)
			done <- taken{n, err}
		}()
		return done
	}
	return f, other, look, take
}

// until looks until a take has ended.
func until(look func(), done <-chan taken) taken {
	for {
		select {
		case e := <-done:
			return e
		default:
			look()
			time.Sleep(time.Millisecond)
		}
	}
}

// A take is ended by as many bytes as are sure to come, and as fit; not by fewer.
func TestTakeLeast(t *testing.T) {
	_, other, look, take := taking(t)
	p := make([]byte, 100)
	done := take(p, 0)
	other.Write([]byte("one"))
	if e := until(look, done); string(p[:e.n]) != "one" || e.err != nil {
		t.Errorf("nothing is sure: %q, %v", p[:e.n], e.err)
	}
	done = take(p, 6)
	for _, part := range []string{"ab", "cd"} {
		other.Write([]byte(part))
		for range 20 {
			look()
			time.Sleep(time.Millisecond)
		}
		select {
		case e := <-done:
			t.Fatalf("woken for %q", p[:e.n])
		default:
		}
	}
	other.Write([]byte("efgh"))
	if e := until(look, done); string(p[:e.n]) != "abcdefgh" && string(p[:e.n]) != "abcdef" || e.err != nil {
		t.Errorf("six are sure: %q, %v", p[:e.n], e.err)
	}
	other.Write([]byte(strings.Repeat("x", 500)))
	if e := until(look, take(p, 1<<40)); e.n != len(p) || e.err != nil {
		t.Errorf("a full buffer: %d, %v", e.n, e.err)
	}
}

// What came before the end, an error or a deadline is taken first.
func TestTakeEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*flow, *net.TCPConn)
		want error
	}{
		"end":      {func(_ *flow, other *net.TCPConn) { other.Close() }, io.EOF},
		"deadline": {func(f *flow, _ *net.TCPConn) { f.sock.still.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
	} {
		f, other, look, take := taking(t)
		p := make([]byte, 100)
		done := take(p, 50)
		other.Write([]byte("begun"))
		for f.filledNow() < 5 {
			look()
			time.Sleep(time.Millisecond)
		}
		c.end(f, other)
		if e := until(look, done); string(p[:e.n]) != "begun" || e.err != nil {
			t.Errorf("%s: %q, %v", name, p[:e.n], e.err)
		}
		for range 2 {
			if e := until(look, take(p, 50)); e.n != 0 || !errors.Is(e.err, c.want) {
				t.Errorf("%s: then %d, %v", name, e.n, e.err)
			}
		}
	}
}

// An error that the kernel tells but once is not forgotten.
func TestTakeReset(t *testing.T) {
	f, other, look, take := taking(t)
	done := take(make([]byte, 100), 50)
	other.Write([]byte("begun"))
	for f.filledNow() < 5 {
		look()
		time.Sleep(time.Millisecond)
	}
	other.SetLinger(0)
	other.Close()
	if e := until(look, done); e.n != 5 || e.err != nil {
		t.Errorf("%d, %v", e.n, e.err)
	}
	for range 2 {
		if e := until(look, take(make([]byte, 1), 0)); !errors.Is(e.err, syscall.ECONNRESET) {
			t.Errorf("then %d, %v", e.n, e.err)
		}
	}
}

// Bytes that come while others wait for a grant are found after them.
func TestTakeWhileWaiting(t *testing.T) {
	f, other, look, take := taking(t)
	w := f.wire
	w.SetLimit(bandwidth.Off)
	p := make([]byte, 100)
	done := take(p, 0)
	other.Write([]byte("one"))
	for !f.waitsNow() {
		look()
		time.Sleep(time.Millisecond)
	}
	other.Write([]byte("two"))
	for n, _ := f.sock.holds(); n < 6; n, _ = f.sock.holds() {
		time.Sleep(time.Millisecond)
	}
	if look(); f.seen.Payload != 6 {
		t.Errorf("%d bytes are seen to have come", f.seen.Payload)
	}
	start := time.Now()
	time.Sleep(20 * time.Millisecond)
	least := time.Since(start)
	w.SetLimit(bandwidth.Unlimited)
	if look(); !f.holds || f.spoke != 0 {
		t.Errorf("more is there: %v, %d reads since the last look, which comes after them", f.holds, f.spoke)
	}
	if e := <-done; string(p[:e.n]) != "one" || e.err != nil {
		t.Errorf("%q, %v", p[:e.n], e.err)
	}
	if f.paused < least || f.waited != f.paused {
		t.Errorf("paused for %v and %v, at least %v", f.paused, f.waited, least)
	}
	if e := until(look, take(p, 0)); string(p[:e.n]) != "two" || e.err != nil {
		t.Errorf("then %q, %v", p[:e.n], e.err)
	}
}

// Bytes that the kernel does not count, behind one that is out of band, are found
// all the same, if later.
func TestTakeUrgent(t *testing.T) {
	_, other, look, take := taking(t)
	raw, err := other.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	other.Write([]byte("abc"))
	raw.Control(func(fd uintptr) { syscall.Sendto(int(fd), []byte("!"), syscall.MSG_OOB, nil) })
	other.Write([]byte("defgh"))
	for all := ""; all != "abcdefgh"; {
		p := make([]byte, 100)
		e := until(look, take(p, 0))
		if e.err != nil || e.n == 0 {
			t.Fatalf("%v after %q", e.err, all)
		}
		all += string(p[:e.n])
	}
}

// A connection holds on to no buffer between answers, and nobody waits for one that
// was closed.
func TestStillIdle(t *testing.T) {
	w := newWire(t, generous, nil)
	p := serveSmall(t, keeps(long))
	u := p.url(t, "/")
	cn := open(t, newClient(t, under(w)), u, p.addr.Addr())
	a := cn.Get(t.Context(), u, false)
	if a.Outcome != page.OK {
		t.Fatalf("%v (%s)", a.Outcome, a.Err)
	}
	a.Release()
	f := cn.link.tap
	if n := locked(f, func() int { return cap(f.sock.into) + cap(f.into) }); n > 0 {
		t.Errorf("an idle connection holds on to a buffer of %d", n)
	}
	cn.Close()
	if a := cn.Get(t.Context(), u, false); a.Outcome == page.OK {
		t.Error("a page came over a connection that was closed")
	}
}

// A connection that nobody watches is looked at in every tick instead.
func TestTakeBlind(t *testing.T) {
	f, other, look, take := taking(t)
	f.wire.mu.Lock()
	delete(f.wire.stills, f.number)
	f.number, f.blind = 0, true
	f.wire.mu.Unlock()
	p := make([]byte, 100)
	done := take(p, 0)
	other.Write([]byte("seen"))
	if e := until(look, done); string(p[:e.n]) != "seen" || e.err != nil {
		t.Errorf("%q, %v", p[:e.n], e.err)
	}
	other.Close()
	if e := until(look, take(p, 0)); !errors.Is(e.err, io.EOF) {
		t.Errorf("%d, %v", e.n, e.err)
	}
}

// Closing, the context and being cut off end a take, and the buffer is left alone
// from then on.
func TestTakeIsLetGo(t *testing.T) {
	f, other, look, _ := taking(t)
	ctx, cancel := context.WithCancel(context.Background())
	ends := make(chan error)
	p := make([]byte, 10)
	go func() {
		_, _, err := f.take(ctx, p, 0)
		ends <- err
	}()
	cancel()
	if err := <-ends; !errors.Is(err, errAborted) {
		t.Errorf("by the context: %v", err)
	}
	other.Write([]byte("late"))
	for range 20 {
		look()
		time.Sleep(time.Millisecond)
	}
	if p[0] != 0 {
		t.Errorf("%q was read for nobody", p)
	}

	f, _, _, take := taking(t)
	done := take(p, 0)
	for !f.takesNow() {
		time.Sleep(time.Millisecond)
	}
	f.close()
	if e := <-done; !errors.Is(e.err, errAborted) {
		t.Errorf("by closing: %v", e.err)
	}
	if e := <-take(p, 0); !errors.Is(e.err, errAborted) {
		t.Errorf("after closing: %v", e.err)
	}

	f, _, look, take = taking(t)
	f.wire.mu.Lock()
	f.cut = true
	f.wire.mu.Unlock()
	if e := <-take(p, 0); !errors.Is(e.err, errFoul) {
		t.Errorf("after it was cut off: %v", e.err)
	}
	look()
}

// locked is what get returns under the Wire's lock.
func locked[T any](f *flow, get func() T) T {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	return get()
}

func (f *flow) filledNow() int { return locked(f, func() int { return f.filled }) }
func (f *flow) waitsNow() bool { return locked(f, func() bool { return f.waits }) }
func (f *flow) takesNow() bool { return locked(f, func() bool { return f.into != nil }) }
