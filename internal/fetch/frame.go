package fetch

import (
	"errors"
	"io"
	"math"
)

// frame finds the end of a body. It is fed the body's bytes in order, in pieces
// of any size, and hands what they carry to sink.
type frame interface {
	// feed returns how many bytes of p belong to the body, and whether the body
	// is complete. After an error or completion it is not called again.
	feed(p []byte, sink func([]byte)) (used int, done bool, err error)
	// room returns how many more bytes may be read without the risk of taking
	// some that belong to something else.
	room() int64
	// eof says whether the body may end here.
	eof() bool
}

// lengthFrame is a body of a known length.
type lengthFrame struct{ left int64 }

func (f *lengthFrame) feed(p []byte, sink func([]byte)) (int, bool, error) {
	n := int(min(f.left, int64(len(p))))
	sink(p[:n])
	f.left -= int64(n)
	return n, f.left == 0, nil
}

func (f *lengthFrame) room() int64 { return f.left }
func (f *lengthFrame) eof() bool   { return false }

// closeFrame is a body that the end of the connection ends.
type closeFrame struct{}

func (closeFrame) feed(p []byte, sink func([]byte)) (int, bool, error) {
	sink(p)
	return len(p), false, nil
}

func (closeFrame) room() int64 { return math.MaxInt64 }
func (closeFrame) eof() bool   { return true }

// chunkFrame is a chunked body (RFC 9112, section 7.1). Extensions and trailers
// are passed over. Lines may end with a bare LF, as browsers accept; sloppy
// tells of it.
type chunkFrame struct {
	state  chunkState
	left   int64 // bytes of the chunk to come; its size while that is read
	digits int
	line   int  // bytes of an extension or of the trailers
	cr     bool // the last byte of the size line was a CR
	last   bool // the chunk of size 0 was seen
	sloppy bool
}

type chunkState uint8

const (
	chunkSize    chunkState = iota // before or in the hex digits
	chunkExt                       // after them, before the LF
	chunkData                      // in the data
	chunkCR                        // after the data
	chunkLF                        // after the CR that follows the data
	trailerStart                   // at the start of a trailer line
	trailerLine                    // in one
	trailerEnd                     // after the CR of an empty line
)

var (
	errChunkSize = errors.New("a chunk has no valid size")
	errChunkEnd  = errors.New("a chunk does not end where it said")
	errChunkLine = errors.New("a chunk extension or trailer is too long")
)

const (
	maxChunkDigits = 15 // no size overflows
	maxChunkLine   = 16 << 10
)

func (f *chunkFrame) feed(p []byte, sink func([]byte)) (int, bool, error) {
	for i := 0; i < len(p); {
		if f.state == chunkData {
			n := int(min(f.left, int64(len(p)-i)))
			sink(p[i : i+n])
			f.left -= int64(n)
			i += n
			if f.left == 0 {
				f.state = chunkCR
			}
			continue
		}
		done, err := f.step(p[i])
		i++
		if done || err != nil {
			return i, done, err
		}
	}
	return len(p), false, nil
}

// step takes one byte of the framing.
func (f *chunkFrame) step(b byte) (done bool, err error) {
	switch f.state {
	case chunkSize:
		if d, ok := hexDigit(b); ok {
			f.left = f.left<<4 | int64(d)
			f.digits++
			if f.digits > maxChunkDigits {
				return false, errChunkSize
			}
			return false, nil
		}
		if f.digits == 0 || b != '\r' && b != '\n' && b != ';' && b != ' ' && b != '\t' {
			return false, errChunkSize
		}
		f.state, f.line = chunkExt, 0
		return f.ext(b)
	case chunkExt:
		return f.ext(b)
	case chunkCR:
		if b == '\r' {
			f.state = chunkLF
			return false, nil
		}
		f.sloppy = true
		return false, f.endChunk(b)
	case chunkLF:
		return false, f.endChunk(b)
	case trailerStart:
		switch b {
		case '\r':
			f.state = trailerEnd
		case '\n':
			f.sloppy = true
			return true, nil
		default:
			f.state = trailerLine
		}
		return false, f.count()
	case trailerLine:
		if b == '\n' {
			f.state = trailerStart
		}
		return false, f.count()
	default: // trailerEnd
		if b != '\n' {
			return false, errChunkEnd
		}
		return true, nil
	}
}

// ext takes one byte of a size line after its digits.
func (f *chunkFrame) ext(b byte) (bool, error) {
	cr := f.cr
	f.cr = b == '\r'
	if b != '\n' {
		f.sloppy = f.sloppy || cr
		return false, f.count()
	}
	f.sloppy = f.sloppy || !cr
	f.digits, f.line = 0, 0
	f.state = chunkData
	if f.left == 0 {
		f.last = true
		f.state = trailerStart
	}
	return false, nil
}

func (f *chunkFrame) count() error {
	if f.line++; f.line > maxChunkLine {
		return errChunkLine
	}
	return nil
}

func (f *chunkFrame) endChunk(b byte) error {
	if b != '\n' {
		return errChunkEnd
	}
	f.state = chunkSize
	return nil
}

func (f *chunkFrame) room() int64 { return math.MaxInt64 }

// eof allows a body to end after its last chunk even if the empty line that
// should follow is missing: nothing of the page can be.
func (f *chunkFrame) eof() bool { return f.last }

func hexDigit(b byte) (byte, bool) {
	switch {
	case b >= '0' && b <= '9':
		return b - '0', true
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10, true
	case b >= 'A' && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

// unchunker reads the data of a chunked body that was checked before.
type unchunker struct {
	src   io.Reader
	frame chunkFrame
	err   error
}

func (u *unchunker) Read(p []byte) (int, error) {
	for u.err == nil && len(p) > 0 {
		n, err := u.src.Read(p)
		w := 0
		_, done, bad := u.frame.feed(p[:n], func(d []byte) { w += copy(p[w:], d) })
		switch {
		case done:
			u.err = io.EOF
		case bad != nil:
			u.err = io.ErrUnexpectedEOF
		default:
			u.err = err
		}
		if w > 0 {
			return w, nil
		}
	}
	return 0, u.err
}
