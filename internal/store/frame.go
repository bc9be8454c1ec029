package store

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

var (
	zstdMagic      = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skippableMagic = []byte{0x2a, 0x4d, 0x18}
)

// frameReader hands out the bytes of exactly one zstd frame (RFC 8878, section
// 3.1.1). The decoder alone would read on into the next frame, and with it past
// the end of the record.
//
//	magic, header | block header (3 bytes), block | ... | checksum (4 bytes, optional)
type frameReader struct {
	src      *bufio.Reader
	dict     *dictionary // that the frame may use, or nil
	left     int64       // bytes of the current piece still to hand out
	started  bool
	last     bool // the current block is the last one
	checksum bool
	done     bool
}

func (f *frameReader) Read(p []byte) (int, error) {
	for f.left == 0 {
		if f.done {
			return 0, io.EOF
		}
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if int64(len(p)) > f.left {
		p = p[:f.left]
	}
	n, err := f.src.Read(p)
	f.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next looks at the piece that follows and sets its length.
func (f *frameReader) next() error {
	switch {
	case !f.started:
		f.started = true
		b, err := f.src.Peek(zstd.HeaderMaxSize)
		if len(b) == 0 {
			return noEOF(err)
		}
		var h zstd.Header
		if err := h.Decode(b); err != nil {
			return noEOF(err)
		}
		if h.DictionaryID != 0 && (f.dict == nil || h.DictionaryID != f.dict.id) {
			return fmt.Errorf("%w: %w", ErrSyntax, errDictionary)
		}
		f.checksum = h.HasCheckSum
		f.left = int64(h.HeaderSize)
	case f.last:
		f.done = true
		if f.checksum {
			f.left = 4
		}
	default:
		b, err := f.src.Peek(3)
		if err != nil {
			return noEOF(err)
		}
		v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		f.last = v&1 != 0
		f.left = 3 + int64(v>>3)
		if v>>1&3 == 1 { // a run: one byte stands for all
			f.left = 4
		}
	}
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func skipFrame(r *bufio.Reader) error {
	b, err := r.Peek(8)
	if err != nil {
		return noEOF(err)
	}
	_, err = io.CopyN(io.Discard, r, 8+int64(binary.LittleEndian.Uint32(b[4:])))
	return noEOF(err)
}
