package fetch

import (
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"weir/page"
)

// Answer is what came of one request. It belongs to the caller until Release;
// all readers and slices it returned are void then. It is not safe for
// concurrent use.
type Answer struct {
	Outcome page.Outcome
	Err     string // a person's reason when Outcome is not OK
	Fault   error  // our own failure, when there was one; Outcome is Aborted then

	Status int
	Header Header // fields that only framed the answer may be missing

	Request []byte // as sent, less everything secret
	Head    []byte // the header verbatim, up to and with its empty line; nil when none came whole

	Digest      [20]byte // SHA-1 of the payload, zero when Config.Digest did not want it
	PayloadSize int64

	Truncated string // why the body is not whole, as WARC-Truncated says it: "disconnect", "length", "time", or ""

	Wire     int64 // bytes read from the socket since the answer before, TLS included
	BodyWire int64 // bytes of the body as they came, chunk framing included

	At        time.Time     // when it was asked for
	FirstByte time.Duration // from then to the first byte
	Elapsed   time.Duration // from then to the last
	Waited    time.Duration // of that, for our own Wire
	RTT       time.Duration // to the server; 0: not known

	RetryAfter       time.Duration // of a 429 or 503, at most 30 days
	Location         string        // of a 3xx, as it came
	KeepAlive        bool          // the connection can be used again
	KeepAliveMax     int           // how many more requests the server takes on it; -1: none, 0: it did not say
	KeepAliveTimeout time.Duration // how long it stays open; 0: it did not say
	Addr             netip.Addr    // where the connection led; zero behind a proxy
	Lender           string        // who had it before, of an answer that was replayed; the caller sets it
	Lent             bool          // that was a node of the same crawl; likewise

	url     page.URL
	conn    *Conn
	tape    *tape // nil: nothing was asked, or all is given back
	reel    tape  // what tape points to
	start   int64 // on the tape: where the answer begins, after any 1xx
	headEnd int64 // where its header ends
	end     int64 // where its body ends
	chunked bool
	scratch []byte // what Decoded returned
}

func (a *Answer) fail(o page.Outcome, why string) {
	a.Outcome, a.Err = o, why
	if o != page.OK && !o.Row().Answer {
		a.KeepAlive = false
	}
}

func (a *Answer) fault(err error) {
	a.Fault = err
	a.KeepAlive = false
	a.fail(page.Aborted, err.Error())
}

// seal sets what can only be said when the tape has stopped moving.
func (a *Answer) seal() {
	if a.Truncated != "" {
		a.KeepAlive = false
	}
	a.BodyWire = a.end - a.headEnd
	if a.Status == 0 || a.tape.fault != nil {
		return
	}
	if head, ok := a.tape.memory(a.start, a.headEnd); ok {
		a.Head = head
		return
	}
	a.Head = make([]byte, a.headEnd-a.start)
	if _, err := a.tape.ReadAt(a.Head, a.start); err != nil {
		a.Head = nil
		a.fault(err)
	}
}

// Block returns the verbatim answer, header and body: the block of a WARC
// response record. It is empty when nothing came.
func (a *Answer) Block() *io.SectionReader {
	if a.tape == nil {
		return io.NewSectionReader(strings.NewReader(""), 0, 0)
	}
	return io.NewSectionReader(a.tape, a.start, a.end-a.start)
}

// Bytes returns the verbatim answer when it is in memory; else it is in a file
// and Block reads it.
func (a *Answer) Bytes() ([]byte, bool) {
	if a.tape == nil {
		return nil, true
	}
	return a.tape.memory(a.start, a.end)
}

// Payload returns the body without its transfer coding, still content-encoded:
// what Digest and PayloadSize speak of.
func (a *Answer) Payload() io.Reader {
	if a.tape == nil {
		return strings.NewReader("")
	}
	body := io.NewSectionReader(a.tape, a.headEnd, a.end-a.headEnd)
	if !a.chunked {
		return body
	}
	return io.LimitReader(&unchunker{src: body}, a.PayloadSize)
}

// PayloadBytes returns the payload when it lies in memory in one piece.
func (a *Answer) PayloadBytes() ([]byte, bool) {
	if a.tape == nil {
		return nil, true
	}
	if a.chunked {
		return nil, false
	}
	return a.tape.memory(a.headEnd, a.end)
}

// Release gives the buffers and the spool file back. It may be called twice.
func (a *Answer) Release() {
	if a.tape != nil {
		a.tape.release()
		a.tape = nil
	}
	if a.scratch != nil {
		putScratch(a.scratch)
		a.scratch = nil
	}
	a.Head = nil
}

// judge says what the header alone makes of the answer, and reads the hints it
// gives.
func (a *Answer) judge() (page.Outcome, string) {
	a.KeepAliveTimeout, a.KeepAliveMax = keepAliveHints(a.Header)
	asked := false
	if a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable {
		now := a.At
		if date, err := http.ParseTime(a.Header.Get("Date")); err == nil {
			now = date // the server's own clock, which its Retry-After was written by
		}
		a.RetryAfter, asked = retryAfter(a.Header.Get("Retry-After"), now)
	}
	switch {
	case a.Status < 300:
		return page.OK, ""
	case a.Status < 400:
		a.Location = a.Header.Get("Location")
		switch a.Status {
		case 300, 301, 302, 303, 307, 308:
		default:
			return page.BadRedirect, a.status() + " to a plain request"
		}
		if a.Location == "" {
			return page.BadRedirect, a.status() + " without a Location"
		}
		if _, err := a.url.Resolve(a.Location); err != nil {
			return page.BadRedirect, a.status() + ": " + err.Error()
		}
		return page.Redirected, a.status()
	case a.Status == http.StatusTooManyRequests || asked:
		return page.RateLimited, a.status()
	case a.Status < 500:
		return page.ClientError, a.status()
	}
	return page.ServerError, a.status()
}

// status is the status in words.
func (a *Answer) status() string {
	return strings.TrimSpace(strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))
}

// maxRetryAfter bounds what is believed; a host that asks for more than
// page.MaxAsked is left alone anyway.
const maxRetryAfter = 30 * 24 * time.Hour

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(s string, now time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	if strings.Trim(s, "0123456789") == "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter, true
		}
		return time.Duration(n) * time.Second, true
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return 0, false
	}
	return min(max(t.Sub(now), 0), maxRetryAfter), true
}

// keepAliveHints reads "Keep-Alive: timeout=5, max=100". Of what is said more
// than once the least counts; what is no whole number of seconds or requests
// is as if it were not said. A server that keeps no time or takes no request
// says that this one was the last: most is -1 then.
func keepAliveHints(h Header) (timeout time.Duration, most int) {
	seconds, requests := int64(-1), int64(-1)
	for value, rest, ok := h.next("Keep-Alive"); ok; value, rest, ok = rest.next("Keep-Alive") {
		for part := range strings.SplitSeq(value, ",") {
			name, text, _ := strings.Cut(part, "=")
			n, err := strconv.ParseUint(strings.Trim(text, " \t\""), 10, 31)
			if err != nil {
				continue
			}
			switch name = strings.TrimSpace(name); {
			case strings.EqualFold(name, "timeout"):
				seconds = least(seconds, int64(n))
			case strings.EqualFold(name, "max"):
				requests = least(requests, int64(n))
			}
		}
	}
	if seconds == 0 || requests == 0 {
		return 0, -1
	}
	return time.Duration(max(seconds, 0)) * time.Second, int(max(requests, 0))
}

// least is the smaller of two numbers, the first of which may be unknown, -1.
func least(known, n int64) int64 {
	if known < 0 {
		return n
	}
	return min(known, n)
}
