package fetch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

var errHeader = errors.New("the header is too large")

// tape keeps the bytes of one answer as they come: in one buffer while they are
// few, in a spool file beyond maxBuffer or when memory is short. It belongs to
// one answer, and is not safe for concurrent use until the answer is complete.
type tape struct {
	link *link
	src  io.Reader // the link, or the TLS on it

	buf     []byte // what is in memory; after spooling, what is not in the file yet
	file    *os.File
	flushed int64 // bytes in the file
	size    int64 // bytes in all
	expect  int64 // how large it will get, 0 when that is not known
	fault   error // our own failure: the spool file
}

// Read reads from the connection and keeps a copy. It is how net/http reads a
// header, so it ends at the limit on headers.
func (t *tape) Read(p []byte) (int, error) {
	limit, err := t.headRoom()
	if err != nil {
		return 0, err
	}
	b, err := t.fill(min(limit, int64(len(p))))
	return copy(p, b), err
}

// fillHead reads more of a header. It ends at the limit on headers.
func (t *tape) fillHead() error {
	limit, err := t.headRoom()
	if err != nil {
		return err
	}
	b, err := t.fill(limit)
	if len(b) > 0 {
		return nil // an error will come again
	}
	return err
}

// headRoom is how many more bytes may be read while there is no header yet: up
// to the limit on headers, or one buffer beyond it.
func (t *tape) headRoom() (int64, error) {
	most := int64(t.link.client.limits.MaxHeader)
	if t.size >= most {
		t.link.cause = errHeader
		return 0, errHeader
	}
	return max(most-t.size, minBuffer), nil
}

// fill reads at most limit bytes and returns them. They are valid until the
// next call.
func (t *tape) fill(limit int64) ([]byte, error) {
	if err := t.room(); err != nil {
		return nil, err
	}
	at := len(t.buf)
	end := at + int(min(limit, int64(cap(t.buf)-at)))
	n, err := t.src.Read(t.buf[at:end])
	if n > 0 && !t.link.flowing {
		t.link.flow()
	}
	t.buf = t.buf[:at+n]
	t.size += int64(n)
	return t.buf[at:], err
}

// room makes space for at least one byte.
func (t *tape) room() error {
	switch {
	case t.fault != nil:
		return t.fault
	case len(t.buf) < cap(t.buf):
		return nil
	case cap(t.buf) == 0:
		return t.first()
	case t.file != nil:
		return t.flush()
	case cap(t.buf) < maxBuffer && t.grow():
		return nil
	}
	return t.spool()
}

// first takes the first buffer: the smallest, which is waited for, or one for
// what is expected if it is to be had at once.
func (t *tape) first() error {
	c := t.link.client
	if _, size := class(int(t.expect)); t.expect > minBuffer && c.memory.try(int64(size)) {
		t.buf = getBuffer(size)
		return nil
	}
	start := time.Now()
	if err := c.memory.take(t.link.ctx, minBuffer); err != nil {
		t.link.cause = errAborted
		return errAborted
	}
	t.link.pause(time.Since(start))
	t.buf = getBuffer(minBuffer)
	return nil
}

// grow takes a larger buffer: large enough for what is expected, but never more
// than eight times what came, so that a promise alone holds no memory. A slow
// answer's grows by half: there may be thousands of them, and little is gained
// by room for more.
func (t *tape) grow() bool {
	want := 4 * cap(t.buf)
	if t.expect > int64(cap(t.buf)) {
		want = int(min(t.expect, int64(8*cap(t.buf))))
	}
	if t.link.slow() {
		want = min(want, cap(t.buf)*3/2)
	}
	_, size := class(want)
	if !t.link.client.memory.try(int64(size - cap(t.buf))) {
		return false
	}
	larger := append(getBuffer(size), t.buf...)
	putBuffer(t.buf)
	t.buf = larger
	return true
}

func (t *tape) spool() error {
	f, err := os.CreateTemp(t.link.client.cfg.TempDir, "weir-body-*")
	if err != nil {
		t.fault = fmt.Errorf("spool a body: %w", err)
		return t.fault
	}
	// Where the system allows it the file has no name from here on, and is gone
	// with the process. Elsewhere release removes it.
	os.Remove(f.Name())
	t.file = f
	return t.flush()
}

func (t *tape) flush() error {
	n, err := t.file.Write(t.buf)
	t.flushed += int64(n)
	if err != nil {
		t.fault = fmt.Errorf("spool a body: %w", err)
		return t.fault
	}
	t.buf = t.buf[:0]
	return nil
}

// finish ends the recording. What was spooled is then all in the file.
func (t *tape) finish() {
	if t.file != nil && t.fault == nil && t.flush() == nil {
		t.drop()
	}
}

// drop gives the buffer back.
func (t *tape) drop() {
	if t.buf == nil {
		return
	}
	t.link.client.memory.give(int64(cap(t.buf)))
	putBuffer(t.buf)
	t.buf = nil
}

// release gives everything back.
func (t *tape) release() {
	t.drop()
	if t.file != nil {
		t.file.Close()
		os.Remove(t.file.Name())
		t.file = nil
	}
}

// memory returns the bytes from start to end when they are in memory.
func (t *tape) memory(start, end int64) ([]byte, bool) {
	if t.file != nil {
		return nil, false
	}
	return t.buf[start:end:end], true
}

// ReadAt implements io.ReaderAt on a finished tape.
func (t *tape) ReadAt(p []byte, off int64) (int, error) {
	if t.file != nil {
		return t.file.ReadAt(p, off)
	}
	if off >= int64(len(t.buf)) {
		return 0, io.EOF
	}
	n := copy(p, t.buf[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
