package fetch

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"weir/page"
)

// Name is who asks: what servers may answer by, but for secrets.
func (c Config) Name() string { return strings.Join([]string{c.Agent, c.From, c.Accept}, "\n") }

// Past is when and how an answer came that is read again.
type Past struct {
	At      time.Time
	Elapsed time.Duration
	Addr    netip.Addr
}

// Replay reads an answer that somebody had before, byte for byte as it came then,
// under this Client's limits. Nobody is asked for anything, so the answer has no
// Request, and took no bytes on the wire. It closes from.
func (c *Client) Replay(ctx context.Context, u page.URL, from io.ReadCloser, past Past) *Answer {
	l := c.newLink(&playback{from}, u.Host())
	l.caps, l.near = nil, true
	cn := &Conn{client: c, site: u.Site(), host: u.Host(), addr: past.Addr, link: l, stream: deaf{l}}
	a := cn.Get(ctx, u, true)
	a.Request, a.Wire, a.Waited, a.FirstByte = nil, 0, 0, 0
	a.At, a.Elapsed = past.At, past.Elapsed
	return a
}

// deaf is a stream that does not hear what is said to it.
type deaf struct{ *link }

func (deaf) Write(p []byte) (int, error) { return len(p), nil }

// playback is a connection that bytes come from. A deadline that has passed ends it.
type playback struct{ io.ReadCloser }

func (p *playback) SetDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		return p.Close()
	}
	return nil
}

func (p *playback) SetReadDeadline(t time.Time) error { return p.SetDeadline(t) }
func (*playback) SetWriteDeadline(time.Time) error    { return nil }
func (*playback) Write(b []byte) (int, error)         { return len(b), nil }
func (*playback) LocalAddr() net.Addr                 { return &net.TCPAddr{} }
func (*playback) RemoteAddr() net.Addr                { return &net.TCPAddr{} }
