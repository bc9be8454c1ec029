package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Why a link stopped, beyond what the network says itself.
var (
	errAborted = errors.New("the visit was cut short")
	errSilent  = errors.New("nothing came in time")
	errSlow    = errors.New("the bytes came too slowly")
)

// link is a connection at the level of the socket, under any TLS: it counts
// bytes, waits for the caps and keeps the deadlines of one task after
// another. A task begins with begin; until flow the task has one deadline, from
// then on it must keep up the rate. A link is not safe for concurrent use, apart
// from Close.
type link struct {
	net.Conn
	client *Client
	raw    syscall.RawConn // nil where sockets cannot be looked into
	caps   []Limiter       // the site's own before the one for all
	read   int64           // bytes read so far
	credit int             // granted by the caps, not yet read; only without raw

	ctx     context.Context
	cause   error     // why the task failed, once it has
	flowing bool      // bytes of the answer have come
	silence time.Time // the deadline while they have not
	window  time.Time // when the rate is judged next
	whole   time.Time // when all must be there
	got     int64     // bytes in this window
	armed   time.Time // the read deadline that is set
}

func (c *Client) newLink(conn net.Conn, host string) *link {
	return &link{Conn: conn, client: c, raw: rawConn(conn), caps: c.caps(host)}
}

// begin starts a task that must show a first result within silence. The caller
// calls end when the task is over; it returns false when the link can serve no
// other task, since the context may yet break into it.
func (l *link) begin(ctx context.Context, silence time.Duration) (end func() bool) {
	now := time.Now()
	l.ctx, l.cause, l.flowing, l.got = ctx, nil, false, 0
	l.silence = now.Add(silence)
	l.whole = now.Add(l.client.limits.Whole)
	l.Conn.SetWriteDeadline(l.silence)
	return context.AfterFunc(ctx, func() { l.Conn.SetDeadline(time.Unix(1, 0)) })
}

// flow notes that the answer has begun.
func (l *link) flow() {
	l.flowing = true
	l.got = 0
	l.window = time.Now().Add(l.client.limits.Window)
}

// pause moves all deadlines by time that the other side is not to blame for.
func (l *link) pause(d time.Duration) {
	l.silence = l.silence.Add(d)
	l.window = l.window.Add(d)
	l.whole = l.whole.Add(d)
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
			now := time.Now()
			l.read += int64(n)
			l.got += int64(n)
			l.client.meter.Add(now, n)
			return n, nil
		}
		if errors.Is(err, errAborted) {
			l.cause = errAborted
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

// arm sets the read deadline that holds now. The context is asked after, never
// before: its own deadline may just have been overwritten.
func (l *link) arm() error {
	deadline := l.silence
	if l.flowing {
		deadline = l.window
		if l.whole.Before(deadline) {
			deadline = l.whole
		}
	}
	if deadline != l.armed {
		if err := l.Conn.SetReadDeadline(deadline); err != nil {
			return err
		}
		l.armed = deadline
	}
	if l.ctx.Err() != nil {
		return errAborted
	}
	return nil
}

// judge says what a deadline that passed means: nil when the rate was kept and
// the next window has begun, or the deadline has moved since.
func (l *link) judge(now time.Time) error {
	l.armed = time.Time{}
	switch {
	case l.ctx.Err() != nil:
		return errAborted
	case !l.flowing && now.Before(l.silence):
		return nil
	case !l.flowing:
		return errSilent
	case !now.Before(l.whole):
		return errSlow
	case now.Before(l.window):
		return nil
	}
	lim := l.client.limits
	if float64(l.got) < float64(lim.MinRate)*lim.Window.Seconds() {
		return errSlow
	}
	l.got = 0
	l.window = now.Add(lim.Window)
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
			l.Conn.SetWriteDeadline(l.silence)
		}
		if l.ctx.Err() != nil {
			l.cause = errAborted
			return written, errAborted
		}
		n, err := l.Conn.Write(piece)
		written += n
		l.client.meter.Add(time.Now(), n)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				l.cause = errSilent
				if l.ctx.Err() != nil {
					l.cause = errAborted
				}
				err = l.cause
			}
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// ended says that err is the other side's end of a stream, orderly or, under
// TLS, without its farewell.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
