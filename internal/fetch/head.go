package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

var (
	errNotHTTP  = errors.New("the answer is not HTTP/1")
	errUpgrade  = errors.New("the server changed the protocol unasked")
	errInterims = errors.New("too many interim answers")
	errStatus   = errors.New("the status is not a number of HTTP")
)

// readHead reads headers up to that of the real answer, and says where it is on
// the tape. It returns the bytes of the body that came with it, valid until the
// tape moves. A header that does not fit the first buffer is not plain: so what
// was read by hand is in memory when net/http has to read it again.
func (a *Answer) readHead() (head, []byte, error) {
	if err := a.awaitAnswer(); err != nil {
		return head{}, nil, err
	}
	t := a.tape
	var r headReader
	for {
		switch r.read(t.buf) {
		case whole:
			a.headEnd = int64(r.n)
			return r.head, t.buf[r.n:], nil
		case odd:
			return a.readOddHead()
		}
		if len(t.buf) == cap(t.buf) {
			return a.readOddHead()
		}
		if err := t.fillHead(); err != nil {
			return head{}, nil, err
		}
	}
}

// awaitAnswer waits for the first bytes and refuses at once what is not HTTP/1.
func (a *Answer) awaitAnswer() error {
	const magic = "HTTP/1."
	t := a.tape
	for t.size < int64(len(magic)) {
		err := t.fillHead()
		if t.size > 0 && a.FirstByte == 0 {
			a.FirstByte = time.Since(a.At)
		}
		if n := min(len(t.buf), len(magic)); string(t.buf[:n]) != magic[:n] {
			return fmt.Errorf("%w: it begins %q", errNotHTTP, t.buf[:min(len(t.buf), 40)])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// oddHeads are the readers that net/http reads headers from.
var oddHeads = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, minBuffer) }}

// getRequest stands for our requests where net/http wants to know the method.
var getRequest = &http.Request{Method: http.MethodGet}

// max1xx is how many interim answers may come before the real one.
const max1xx = 8

// readOddHead has net/http read what is on the tape, and more as it comes.
func (a *Answer) readOddHead() (head, []byte, error) {
	again := &replay{tape: a.tape}
	br := oddHeads.Get().(*bufio.Reader)
	br.Reset(again)
	defer func() {
		br.Reset(nil)
		oddHeads.Put(br)
	}()
	for range max1xx {
		resp, err := http.ReadResponse(br, getRequest)
		if err != nil {
			return head{}, nil, err
		}
		a.headEnd = again.at - int64(br.Buffered())
		switch {
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return head{}, nil, errUpgrade
		case resp.StatusCode < 100:
			return head{}, nil, errStatus
		case resp.StatusCode >= 200:
			h := head{
				status: resp.StatusCode, length: resp.ContentLength, chunked: len(resp.TransferEncoding) > 0,
				close: resp.Close, header: headerOf(resp.Header),
			}
			h.doubt = h.chunked && a.twoLengths()
			return h, a.early(br), nil
		}
		a.start = a.headEnd
	}
	return head{}, nil, errInterims
}

// parseHead reads a header again that was read before. One that cannot be read
// says nothing.
func parseHead(b []byte) head {
	var r headReader
	if r.read(b) == whole {
		return r.head
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), getRequest)
	if err != nil {
		return head{}
	}
	return head{status: resp.StatusCode, chunked: len(resp.TransferEncoding) > 0, header: headerOf(resp.Header)}
}

// early returns what came behind the header that br has read.
func (a *Answer) early(br *bufio.Reader) []byte {
	if body, ok := a.tape.memory(a.headEnd, a.tape.size); ok {
		return body
	}
	// The tape has gone to a file, which it does only in reading on: so all
	// that came has passed through br.
	body, _ := br.Peek(br.Buffered())
	return bytes.Clone(body)
}

// twoLengths says that a chunked answer has a Content-Length too, which the
// parsed header no longer shows.
func (a *Answer) twoLengths() bool {
	head, ok := a.tape.memory(a.start, a.headEnd)
	return !ok || bytes.Contains(bytes.ToLower(head), []byte("\ncontent-length"))
}

// replay reads a tape from its beginning, and goes on recording behind its end.
// The tape is in memory at first; once it moves, it has been read to its end.
type replay struct {
	tape *tape
	at   int64
}

func (r *replay) Read(p []byte) (n int, err error) {
	if r.at < r.tape.size {
		n = copy(p, r.tape.buf[r.at:])
	} else {
		n, err = r.tape.Read(p)
	}
	r.at += int64(n)
	return n, err
}
