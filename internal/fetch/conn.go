package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
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
	Err string // why Open failed

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
	sum    hash.Hash
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

// heads are the readers that headers are parsed from. A connection has one only
// while it waits for an answer.
var heads = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// getRequest stands for our requests where net/http wants to know the method.
var getRequest = &http.Request{Method: http.MethodGet}

// max1xx is how many interim answers may come before the real one.
const max1xx = 8

// Get asks for u and reads the whole answer. With last it tells the server that
// nothing more will be asked. The answer is never nil, and is the caller's to
// Release. When it does not say KeepAlive the connection is closed.
func (cn *Conn) Get(ctx context.Context, u page.URL, last bool) *Answer {
	a := &Answer{At: time.Now(), Addr: cn.addr, url: u, conn: cn}
	switch {
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
	if cn.used == 0 || cn.link.raw == nil {
		return false
	}
	open, bytes := idle(cn.link.raw)
	_, plain := cn.stream.(*link)
	return !open || bytes && plain
}

func (cn *Conn) exchange(ctx context.Context, a *Answer, last bool) {
	reused := cn.used > 0
	cn.used++
	end := cn.link.begin(ctx, cn.client.limits.FirstByte)

	t := &tape{link: cn.link, src: cn.stream}
	a.tape = t
	var sent []byte
	sent, a.Request = cn.client.request(a.url, last, a.At)
	_, err := cn.stream.Write(sent)

	br := heads.Get().(*bufio.Reader)
	br.Reset(t)
	defer func() {
		br.Reset(nil)
		heads.Put(br)
	}()
	var resp *http.Response
	if err == nil {
		a.FirstByte, err = awaitAnswer(br, a.At)
	}
	if err == nil {
		resp, err = a.readHead(br)
	}
	if err == nil {
		cn.readBody(a, resp, br)
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
	}
	a.seal()
	if !end() || last {
		a.KeepAlive = false
	}
}

// awaitAnswer waits for the first bytes and refuses at once what is not HTTP/1.
func awaitAnswer(br *bufio.Reader, since time.Time) (time.Duration, error) {
	const magic = "HTTP/1."
	var first time.Duration
	for n := 1; n <= len(magic); n++ {
		b, err := br.Peek(n)
		if err != nil {
			return first, err
		}
		if n == 1 {
			first = time.Since(since)
		}
		if b[n-1] != magic[n-1] {
			said, _ := br.Peek(min(br.Buffered(), 40))
			return first, fmt.Errorf("%w: it begins %q", errNotHTTP, said)
		}
	}
	return first, nil
}

var (
	errNotHTTP  = errors.New("the answer is not HTTP/1")
	errUpgrade  = errors.New("the server changed the protocol unasked")
	errInterims = errors.New("too many interim answers")
	errStatus   = errors.New("the status is not a number of HTTP")
)

// readHead reads headers up to that of the real answer, and says where it is
// on the tape.
func (a *Answer) readHead(br *bufio.Reader) (*http.Response, error) {
	for range max1xx {
		resp, err := http.ReadResponse(br, getRequest)
		if err != nil {
			return nil, err
		}
		a.headEnd = a.tape.size - int64(br.Buffered())
		switch {
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errUpgrade
		case resp.StatusCode < 100:
			return nil, errStatus
		case resp.StatusCode >= 200:
			return resp, nil
		}
		a.start = a.headEnd
	}
	return nil, errInterims
}

// failHead names the outcome of an answer that has no header.
func (cn *Conn) failHead(a *Answer, err error, reused bool) {
	silent := a.tape.size == 0
	switch cause := cn.link.cause; {
	case errors.Is(cause, errAborted):
		a.fail(page.Aborted, "the visit was cut short")
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
func (cn *Conn) readBody(a *Answer, resp *http.Response, br *bufio.Reader) {
	a.Status, a.Header = resp.StatusCode, resp.Header
	a.chunked = len(resp.TransferEncoding) > 0
	cut := cn.copyBody(a, resp, br)
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
// digest, and KeepAlive.
func (cn *Conn) copyBody(a *Answer, resp *http.Response, br *bufio.Reader) error {
	a.end = a.headEnd
	if cn.sum == nil {
		cn.sum = sha1.New()
	}
	cn.sum.Reset()
	defer func() { cn.sum.Sum(a.Digest[:0]) }()
	bodiless := resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	if bodiless || resp.ContentLength == 0 {
		a.KeepAlive = !bodiless && !resp.Close && br.Buffered() == 0
		return nil
	}

	var f frame
	switch {
	case a.chunked:
		f = new(chunkFrame)
	case resp.ContentLength > 0:
		f = &lengthFrame{left: resp.ContentLength}
		a.tape.expect = a.headEnd + resp.ContentLength
	default:
		f = closeFrame{}
	}
	twoLengths := a.chunked && a.twoLengths()
	sink := func(p []byte) {
		cn.sum.Write(p)
		a.PayloadSize += int64(len(p))
	}
	left := cn.client.limits.MaxBody
	piece, err := br.Peek(br.Buffered())
	for {
		over := int64(len(piece)) > left
		used, done, bad := f.feed(piece[:min(int64(len(piece)), left)], sink)
		a.end += int64(used)
		left -= int64(used)
		switch {
		case bad != nil:
			a.end = a.tape.size
			return bad
		case done:
			a.KeepAlive = !resp.Close && !twoLengths && used == len(piece) && !doubtful(f)
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
		if left == 0 && resp.ContentLength > 0 {
			return errLarge
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

// twoLengths says that a chunked answer has a Content-Length too, which the
// parsed header no longer shows.
func (a *Answer) twoLengths() bool {
	head, ok := a.tape.memory(a.start, a.headEnd)
	return !ok || bytes.Contains(bytes.ToLower(head), []byte("\ncontent-length"))
}
