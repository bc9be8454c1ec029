package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Why a link stopped, beyond what the network says itself.
var (
	errAborted = errors.New("the visit was cut short")
	errSilent  = errors.New("nothing came in time")
	errSlow    = errors.New("the bytes came too slowly")
	errFoul    = errors.New("the server sends what nobody has asked for")
)

// link is a connection at the level of the socket, under any TLS: it counts
// bytes, waits for the caps and keeps the deadlines of one task after
// another. A task begins with begin; until flow the task has one deadline, from
// then on it must keep up the rate. A link is not safe for concurrent use, apart
// from Close.
//
// Deadlines are set on the socket coarsely: the one that is set is never later
// than the one that holds, and may be earlier, left from a task before. When it
// passes, judge says what that means, most often nothing. So quick tasks on one
// connection seldom touch a timer.
type link struct {
	net.Conn
	client *Client
	raw    syscall.RawConn // nil where sockets cannot be looked into
	idle   *glance         // nil with raw
	caps   []Limiter       // the site's own before the one for all
	tap    *flow           // under the client's Wire; nil: there is none
	near   bool            // its bytes do not come over the network
	read   int64           // bytes read so far
	credit int             // granted by the caps, not yet read; only without raw
	tls    *records        // nil: there is no TLS right over it
	sure   int64           // bytes that will come before anything else is asked for

	ctx     context.Context
	cause   error     // why the task failed, once it has
	flowing bool      // bytes of the answer have come
	began   time.Time // when the task did, then when the answer did
	silence time.Time // the deadline while they have not
	window  time.Time // when the rate is judged next
	whole   time.Time // when all must be there
	got     int64     // bytes in this window
	last    time.Time // when bytes came last
	low     int       // bytes that a read waits for in the socket, 0 for any; see gather
	portion int       // bytes worth waiting for, 0 before that was measured
	looking bool      // the last look into the socket before the rate is judged
	armed   time.Time // the deadline that is set, zero when none is
	end     func() bool

	// The watch over the context outlasts a task, since the next most often has
	// the same context; but it breaks in only on a task of its own.
	mu     sync.Mutex
	done   <-chan struct{} // of the context that is watched
	unwind func() bool     // ends the watch
	busy   bool            // a task runs
	broken bool            // the context broke into it

	recalled bool // Close is to take back what is not delivered
}

func (c *Client) newLink(conn net.Conn, host string) *link {
	l := &link{Conn: conn, client: c, raw: rawConn(conn), caps: c.caps(host)}
	l.idle = newGlance(l.raw)
	l.end = l.finish
	return l
}

// begin starts a task that must show a first result within silence. The caller
// calls end when the task is over; it returns false when the link can serve no
// other task, since the context broke into it.
func (l *link) begin(ctx context.Context, silence time.Duration) (end func() bool) {
	now := time.Now()
	l.ctx, l.cause, l.flowing, l.looking, l.got, l.portion = ctx, nil, false, false, 0, 0
	l.began, l.last = now, now
	l.silence = now.Add(silence)
	l.whole = now.Add(l.client.limits.Whole)

	if l.low > 0 {
		l.setLow(0)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = true
	if done := ctx.Done(); done != l.done {
		l.unwatch()
		l.done = done
		if done != nil {
			l.unwind = context.AfterFunc(ctx, func() { l.breakIn(done) })
		}
	}
	return l.end
}

// breakIn ends all waiting of the task whose context is done.
func (l *link) breakIn(done <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && l.done == done {
		l.broken = true
		l.Conn.SetDeadline(time.Unix(1, 0))
	}
}

func (l *link) finish() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	return !l.broken && l.ctx.Err() == nil
}

// unwatch lets go of the context. The lock is held.
func (l *link) unwatch() {
	if l.unwind != nil {
		l.unwind()
	}
	l.unwind, l.done = nil, nil
}

// recall has Close take back what the kernel has not delivered yet. It would go on
// sending a request for minutes, while the line is down or the server does not
// listen, and nobody waits for the answer any more: it must not come to a host that
// is visited anew by then, perhaps by another node.
func (l *link) recall() {
	l.mu.Lock()
	l.recalled = true
	l.mu.Unlock()
	l.linger(0)
}

// linger sets how many seconds the kernel goes on after Close; less than 0: as it likes.
func (l *link) linger(sec int) {
	if c, ok := l.Conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(sec) // fails on what is closed
	}
}

// Close ends the connection. It may be called at any time, and twice.
func (l *link) Close() error {
	l.mu.Lock()
	l.unwatch()
	said := !l.busy && !l.recalled
	l.mu.Unlock()
	if said && l.client.cfg.Unheard > 0 {
		l.linger(-1) // see bindSending: all was heard, and the connection may end in peace
	}
	if l.tap != nil {
		l.tap.close()
	}
	return l.Conn.Close()
}

// flow notes that the answer has begun.
func (l *link) flow() {
	l.flowing = true
	l.got = 0
	l.began = l.last
	l.window = l.last.Add(l.client.limits.Window)
}

// pause moves all deadlines by time that the other side is not to blame for.
func (l *link) pause(d time.Duration) {
	l.silence = l.silence.Add(d)
	l.window = l.window.Add(d)
	l.whole = l.whole.Add(d)
}

// slow is how long an answer may take before its buffer grows in small steps only.
const slow = time.Second

func (l *link) slow() bool { return l.last.Sub(l.began) > l.client.slow }

// The bytes of an answer are gathered when it takes longer than gatherAfter. How
// many: what has come in a quarter of a Window so far, or would have, but no more than
// the kernel should keep for each of thousands of connections.
const (
	gatherAfter = slow / 5
	minGather   = 4 << 10
	maxGather   = 16 << 10
)

// gather makes reads wait, in the socket, until several bytes are there, once
// the answer takes its time. A server that drips a few bytes at a time would
// else wake us for each drop, and thousands of them all the time. At least left
// bytes must be to come: a read might wait for ever for more than that. What is
// in the socket when a deadline passes is not lost; see judge.
func (l *link) gather(left int64) {
	want := 0
	if l.raw != nil && len(l.caps) == 0 && l.tap == nil && !l.looking && l.last.Sub(l.began) > min(gatherAfter, l.client.slow) {
		if l.portion == 0 {
			l.measure(l.last)
		}
		want = int(min(left, int64(l.portion)))
	}
	if want != l.low {
		l.setLow(want)
	}
}

// measure says how many bytes to gather from now on, by what came in this window.
func (l *link) measure(now time.Time) {
	window := l.client.limits.Window
	took := max(now.Sub(l.window.Add(-window)), gatherAfter)
	l.portion = int(min(max(float64(l.got)*float64(window/4)/float64(took), minGather), maxGather))
}

func (l *link) setLow(n int) {
	if setLowWater(l.raw, max(n, 1)) || n == 0 {
		l.low = n
	}
}

// Read implements io.Reader. Every error that is ours is in l.cause too, since
// readers above may wrap it beyond recognition.
func (l *link) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := l.readOnce(p)
		if n > 0 || err == nil {
			l.last = time.Now()
			l.read += int64(n)
			l.got += int64(n)
			if l.sure = max(l.sure-int64(n), 0); l.tls != nil {
				l.tls.feed(p[:n])
				l.sure = l.tls.need
			}
			l.tally(n)
			return n, nil
		}
		if errors.Is(err, errAborted) || errors.Is(err, errFoul) {
			l.cause = err
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		if l.cause = l.judge(time.Now()); l.cause != nil {
			return 0, l.cause
		}
	}
}

func (l *link) readOnce(p []byte) (int, error) {
	if err := l.arm(); err != nil {
		return 0, err
	}
	switch {
	case l.tap == nil:
	case l.tap.sock.still != nil:
		n, paused, err := l.tap.take(l.ctx, p, l.sure)
		l.pause(paused)
		return n, err
	default:
		return l.readGranted(p)
	}
	if len(l.caps) == 0 {
		return l.Conn.Read(p)
	}
	p = p[:min(len(p), grant(l.caps))]
	if l.raw != nil {
		n, err := ready(l.raw, p)
		if err != nil {
			return 0, err
		}
		if err := l.await(n); err != nil {
			return 0, err
		}
		if err := l.arm(); err != nil {
			return 0, err
		}
		return l.Conn.Read(p[:n])
	}
	if l.credit == 0 {
		if err := l.await(len(p)); err != nil {
			return 0, err
		}
		if err := l.arm(); err != nil {
			return 0, err
		}
		l.credit = len(p)
	}
	n, err := l.Conn.Read(p[:min(len(p), l.credit)])
	l.credit -= n
	return n, err
}

// settled tells the Wire that all that was asked for has come: so many bytes, above
// any TLS.
func (l *link) settled(bytes int64) {
	if l.tap == nil {
		return
	}
	aside, known := int64(0), false
	if l.tls != nil {
		aside, known = l.tls.aside(bytes)
	}
	l.tap.rest(aside, known)
}

// tally counts bytes that were read, unless the Wire has seen them come.
func (l *link) tally(n int) {
	switch w := l.client.cfg.Wire; {
	case l.tap != nil || l.near:
	case w != nil:
		w.Charge(n)
	default:
		l.client.meter.Add(l.last, n)
	}
}

// readGranted reads what the Wire, and the site's own cap, let it.
func (l *link) readGranted(p []byte) (int, error) {
	n, err := l.tap.sock.ready()
	switch {
	case err != nil && l.tap.foul():
		return 0, errFoul
	case err != nil:
		return 0, err
	}
	n = min(n, len(p))
	if len(l.caps) > 0 {
		n = min(n, grant(l.caps))
		if err := l.await(n); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	n, err = l.tap.want(l.ctx, n)
	l.pause(time.Since(start))
	if err != nil {
		return 0, err
	}
	if err := l.arm(); err != nil {
		return 0, err
	}
	n, err = l.Conn.Read(p[:n])
	l.tap.took(n)
	return n, err
}

// ask waits until the Wire has room for what a request brings, or a greeting.
func (l *link) ask(greeting bool) error {
	if l.tap == nil {
		return nil
	}
	if l.sure = 0; l.tls != nil && !greeting {
		l.tls.ask()
	}
	start := time.Now()
	err := l.tap.ask(l.ctx, greeting)
	l.pause(time.Since(start))
	if err != nil {
		l.cause = err
	}
	return err
}

// met says that a greeting of TLS was answered, by so many bytes, and which
// version was agreed on.
func (l *link) met(bytes int64, version uint16) {
	l.tap.met(bytes)
	if l.tls.cost = 16 + 1; version < tls.VersionTLS13 { // a digest and its type
		l.tls.cost = 8 + 16 // a number and a digest, with the ciphers that are used most
	}
}

// spare is by how much a guess is too high, rather than too low.
const spare = 32

// left tells the Wire how much is still to come of an answer of so many bytes, of
// which a reader above has still to take so many.
func (l *link) left(bytes, answer int64) {
	switch {
	case l.tap == nil:
		return
	case l.tls != nil:
		if l.tls.asked == 1 {
			answer += l.tap.aside
		}
		l.tap.left(l.tls.left(answer)+spare, true)
	default:
		l.sure = bytes
		l.tap.left(bytes, false)
	}
}

// await waits for the caps.
func (l *link) await(n int) error {
	start := time.Now()
	for _, c := range l.caps {
		if err := c.Wait(l.ctx, n); err != nil {
			return errAborted
		}
	}
	l.pause(time.Since(start))
	return nil
}

// arm sets the read deadline that holds now.
func (l *link) arm() error {
	deadline := l.silence
	if l.flowing {
		deadline = l.window
		if l.whole.Before(deadline) {
			deadline = l.whole
		}
	}
	return l.set(deadline)
}

// set makes sure of a deadline no later than the given. The context is asked
// after, never before: its own deadline may just have been overwritten.
func (l *link) set(deadline time.Time) error {
	if l.armed.IsZero() || deadline.Before(l.armed) {
		if err := l.Conn.SetDeadline(deadline); err != nil {
			return err
		}
		l.armed = deadline
	}
	if l.ctx.Err() != nil {
		return errAborted
	}
	return nil
}

// lookTime is enough for reads that find their bytes in the socket, on a machine
// that is busy with others.
const lookTime = 250 * time.Millisecond

// judge says what a deadline that passed means: nil when the rate was kept and
// the next window has begun, or the deadline has moved since. Bytes that were
// being gathered are read first.
func (l *link) judge(now time.Time) error {
	l.armed = time.Time{}
	switch {
	case l.ctx.Err() != nil:
		return errAborted
	case !l.flowing && now.Before(l.silence):
		return nil
	case !l.flowing:
		return errSilent
	case now.Before(l.window) && now.Before(l.whole):
		return nil
	case l.low > 0:
		l.setLow(0)
		l.looking = true
		l.window = later(l.window, now.Add(lookTime))
		l.whole = later(l.whole, now.Add(lookTime))
		return nil
	case !now.Before(l.whole):
		return errSlow
	}
	lim := l.client.limits
	if float64(l.got) < float64(lim.MinRate)*lim.Window.Seconds() {
		return errSlow
	}
	l.measure(now)
	l.got, l.looking = 0, false
	l.window = now.Add(lim.Window)
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// judgeWrite is judge for a write, which only silence and the context can end.
func (l *link) judgeWrite(now time.Time) error {
	l.armed = time.Time{}
	switch {
	case l.ctx.Err() != nil:
		return errAborted
	case !now.Before(l.silence):
		return errSilent
	}
	return nil
}

// Write implements io.Writer and asks the Limiter like Read.
func (l *link) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		piece := p
		if len(l.caps) > 0 {
			piece = p[:min(len(p), grant(l.caps))]
			if err := l.await(len(piece)); err != nil {
				l.cause = errAborted
				return written, err
			}
		}
		n, err := l.writeAll(piece)
		if l.tap != nil {
			l.tap.sent()
		}
		written += n
		if l.client.cfg.Wire == nil {
			l.client.meter.Add(time.Now(), n)
		}
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// writeAll writes what the caps have granted.
func (l *link) writeAll(p []byte) (int, error) {
	written := 0
	for {
		if err := l.set(l.silence); err != nil {
			if errors.Is(err, errAborted) {
				l.cause = errAborted
			}
			return written, err
		}
		n, err := l.Conn.Write(p[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		if l.cause = l.judgeWrite(time.Now()); l.cause != nil {
			return written, l.cause
		}
	}
}

// ended says that err is the other side's end of a stream, orderly or, under
// TLS, without its farewell.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
