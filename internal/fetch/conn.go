package fetch

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"weir/page"
)

// stream is what HTTP is spoken on: a link, or TLS on it.
type stream interface {
	io.Reader
	io.Writer
}

// Conn is one connection to a site, or to the proxy for it. Requests go over it
// one after the other. It is not safe for concurrent use, apart from Close.
type Conn struct {
	Err   string // why Open failed
	Fault error  // our own failure, when that was why

	Trip time.Duration // that connecting took, about a round trip; 0 behind a proxy

	client *Client
	site   string
	host   string
	secure bool
	addr   netip.Addr
	link   *link
	stream stream
	failed page.Outcome // what Open ended with, None when it went well
	used   int          // answers so far
	spent  int64        // bytes read for them
	dead   bool         // not to be used again
	likely int64        // bytes that the next answer may well have; 0: nobody knows

	// The payload that is being read. They are here to be made only once.
	sum     hash.Hash
	digest  bool         // of the answer under way: sum it
	carried int64        // bytes in sum
	sink    func([]byte) // adds to both
	length  lengthFrame
	chunks  chunkFrame
}

// Close ends the connection. It may be called at any time, and twice.
func (cn *Conn) Close() {
	if cn.link != nil {
		cn.link.Close()
	}
}

// Addr returns the address that the connection leads to, the zero Addr behind
// a proxy.
func (cn *Conn) Addr() netip.Addr { return cn.addr }

// Get asks for u and reads the whole answer. With last it tells the server that
// nothing more will be asked. The answer is never nil, and is the caller's to
// Release. When it does not say KeepAlive the connection is closed.
func (cn *Conn) Get(ctx context.Context, u page.URL, last bool) *Answer {
	a := &Answer{At: time.Now(), Addr: cn.addr, url: u, conn: cn}
	switch {
	case cn.Fault != nil:
		a.fault(cn.Fault)
	case cn.failed != page.None:
		a.fail(cn.failed, cn.Err)
	case u.Site() != cn.site:
		a.fault(fmt.Errorf("%s was asked of a connection to %s", u, cn.site))
	case !clean(u):
		a.fault(fmt.Errorf("%q is not a canonical URL", u))
	case cn.dead || cn.stale():
		a.fail(page.EarlyClose, "the connection was closed before the request")
	default:
		cn.exchange(ctx, a, last)
	}
	a.Elapsed = time.Since(a.At)
	if l := cn.link; l != nil && l.tap != nil {
		a.Waited, a.RTT = l.tap.waited, l.tap.trip()
	}
	cn.likely = 0
	if a.Elapsed <= quick {
		cn.likely = min(a.end, maxLikely)
	}
	if !a.KeepAlive {
		cn.dead = true
		cn.Close()
	}
	return a
}

// stale says that an idle connection has ended, or holds bytes that would be
// taken for the next answer. Under TLS bytes may be a session ticket, so only
// the end counts there.
func (cn *Conn) stale() bool {
	if cn.used == 0 || cn.link.idle == nil {
		return false
	}
	open, bytes := cn.link.idle.holds()
	_, plain := cn.stream.(*link)
	return !open || bytes && plain
}

func (cn *Conn) exchange(ctx context.Context, a *Answer, last bool) {
	reused := cn.used > 0
	cn.used++
	end := cn.link.begin(ctx, cn.client.limits.FirstByte)

	a.reel = tape{link: cn.link, src: cn.stream, expect: cn.likely}
	t := &a.reel
	a.tape = t
	var sent []byte
	sent, a.Request = cn.client.request(a.url, last, a.At)
	err := cn.link.ask(false)
	if err == nil {
		a.At = time.Now()
		_, err = cn.stream.Write(sent)
	}
	if err == nil {
		var h head
		var early []byte
		if h, early, err = a.readHead(); err == nil {
			cn.readBody(a, h, early)
		}
	}
	if err == nil && a.Truncated == "" {
		cn.link.settled(t.size)
	}
	t.finish()
	a.Wire = cn.link.read - cn.spent
	cn.spent = cn.link.read
	switch {
	case t.fault != nil:
		a.fault(t.fault)
	case err != nil:
		a.end = t.size
		a.headEnd = t.size
		cn.failHead(a, err, reused)
		if t.size == 0 {
			cn.link.recall()
		}
	}
	a.seal()
	if !end() || last {
		a.KeepAlive = false
	}
}

// A connection whose last answer took at most quick is given a buffer for
// another like it, up to maxLikely, before that comes: it is then read at one
// stroke. Slower ones wait with the smallest buffer.
const (
	quick     = 50 * time.Millisecond
	maxLikely = 64 << 10
)

// failHead names the outcome of an answer that has no header.
func (cn *Conn) failHead(a *Answer, err error, reused bool) {
	silent := a.tape.size == 0
	switch cause := cn.link.cause; {
	case errors.Is(cause, errAborted):
		a.fail(page.Aborted, "the visit was cut short")
	case errors.Is(cause, errFoul):
		a.fail(page.BadResponse, errFoul.Error())
	case errors.Is(cause, errSilent):
		a.fail(page.FirstByteTimeout, fmt.Sprintf("no answer within %v", cn.client.limits.FirstByte))
	case errors.Is(cause, errSlow):
		a.fail(page.TooSlow, "the header came too slowly")
	case errors.Is(cause, errHeader):
		a.fail(page.HeaderTooLarge, fmt.Sprintf("the header has more than %d bytes", cn.client.limits.MaxHeader))
	case silent && reused:
		a.fail(page.EarlyClose, "the connection was closed before it answered")
	case silent:
		a.fail(page.BadResponse, "the connection was closed without an answer")
	case errors.Is(err, errNotHTTP), errors.Is(err, errUpgrade), errors.Is(err, errInterims), errors.Is(err, errStatus):
		a.fail(page.BadResponse, err.Error())
	case ended(err):
		a.fail(page.BadResponse, "the connection was closed inside the header")
	default:
		a.fail(page.BadResponse, "the header cannot be read: "+strings.TrimPrefix(err.Error(), "net/http: "))
	}
}

// readBody reads the body, digests what it carries and decides the outcome.
func (cn *Conn) readBody(a *Answer, h head, early []byte) {
	a.Status, a.Header, a.chunked = h.status, h.header, h.chunked
	cut := cn.copyBody(a, h, early)
	a.Outcome, a.Err = a.judge()
	switch {
	case cut == nil:
		return
	case errors.Is(cut, errAborted):
		a.Truncated = "time"
		a.fail(page.Aborted, "the visit was cut short")
	case errors.Is(cut, errSlow):
		a.Truncated = "time"
		a.fail(page.TooSlow, "the body came too slowly")
	case errors.Is(cut, errFoul):
		a.Truncated = "disconnect"
		a.fail(page.Truncated, errFoul.Error())
	case errors.Is(cut, errLarge):
		a.Truncated = "length"
		if a.Outcome == page.OK {
			a.fail(page.TooLarge, fmt.Sprintf("the body was cut at %d bytes", cn.client.limits.MaxBody))
		}
	default:
		a.Truncated = "disconnect"
		if a.Outcome == page.OK {
			a.fail(page.Truncated, "the body broke off: "+cut.Error())
		}
	}
}

var (
	errLarge = errors.New("the body is too large")
	errShort = errors.New("the connection was closed inside the body")
)

// copyBody reads the body to its end, or until an error says why it ended
// before. It sets where the body ends on the tape, the payload's size and
// digest, and KeepAlive. early is what came of it with the header.
func (cn *Conn) copyBody(a *Answer, h head, early []byte) error {
	a.end = a.headEnd
	if cn.sum == nil {
		cn.sum = sha1.New()
		cn.sink = func(p []byte) {
			if cn.digest {
				cn.sum.Write(p)
			}
			cn.carried += int64(len(p))
		}
	}
	cn.digest = cn.client.cfg.Digest == nil || cn.client.cfg.Digest(a.url)
	cn.sum.Reset()
	cn.carried = 0
	defer func() {
		if cn.digest {
			cn.sum.Sum(a.Digest[:0])
		}
		a.PayloadSize = cn.carried
	}()
	bodiless := h.status == http.StatusNoContent || h.status == http.StatusNotModified
	if bodiless || h.length == 0 {
		a.KeepAlive = !bodiless && !h.close && len(early) == 0
		return nil
	}

	var f frame
	switch {
	case a.chunked:
		cn.chunks = chunkFrame{}
		f = &cn.chunks
	case h.length > 0:
		cn.length = lengthFrame{left: h.length}
		f = &cn.length
		a.tape.expect = a.headEnd + h.length
	default:
		f = closeFrame{}
	}
	_, plain := cn.stream.(*link)
	left := cn.client.limits.MaxBody
	piece, err := early, error(nil)
	for {
		over := int64(len(piece)) > left
		used, done, bad := f.feed(piece[:min(int64(len(piece)), left)], cn.sink)
		a.end += int64(used)
		left -= int64(used)
		switch {
		case bad != nil:
			a.end = a.tape.size
			return bad
		case done:
			a.KeepAlive = !h.close && !h.doubt && used == len(piece) && !doubtful(f)
			return nil
		case over:
			return errLarge
		case err == nil:
		case cn.link.cause != nil:
			return cn.link.cause
		case a.tape.fault != nil:
			return a.tape.fault
		case ended(err) && f.eof():
			return nil
		case ended(err):
			return errShort
		default:
			return reasonOf(err)
		}
		if left == 0 && h.length > 0 {
			return errLarge
		}
		if h.length > 0 && plain {
			cn.link.gather(cn.length.left)
		}
		if h.length > 0 && (plain || cn.link.tls != nil) {
			cn.link.left(cn.length.left, a.headEnd+min(h.length, maxAnswer))
		}
		// One byte more than is allowed tells a body that is too large.
		piece, err = a.tape.fill(min(f.room(), left+1))
	}
}

// doubtful says that the framing was broken in a way that another reader might
// have understood differently, so the connection cannot be trusted.
func doubtful(f frame) bool {
	c, ok := f.(*chunkFrame)
	return ok && c.sloppy
}
