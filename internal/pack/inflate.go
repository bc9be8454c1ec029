package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"io"
	"math"
)

// ErrTooLong says that a stream holds more than the caller wanted.
var ErrTooLong = errors.New("pack: more than the most bytes that were asked for")

var (
	errDeflate     = errors.New("pack: not a deflate stream")
	errGzipHead    = errors.New("pack: not a gzip header")
	errZlibHead    = errors.New("pack: not a zlib header")
	errInflatedSum = errors.New("pack: the checksum is of something else")

	errSlack = errors.New("pack: near an end") // from fast to coded
	errRoom  = errors.New("pack: no room")     // from careful to coded
)

// Inflater uncompresses streams of deflate that lie in memory. Its zero value
// is ready; it keeps nothing but its tables from one stream to the next, and is
// not safe for concurrent use.
//
// All methods append what src holds to dst, at most so many bytes, and use what
// room there is behind the end of dst. With an error they return what came
// before it: ErrTooLong when there are more, io.ErrUnexpectedEOF when
// src is not whole.
type Inflater struct {
	in    inflateBits
	codes inflateCodes
	pre   [preEntries]uint32
	lens  [maxLitSyms + maxDistSyms]uint8
}

// Deflate reads a bare stream, RFC 1951. What follows it does not matter.
func (z *Inflater) Deflate(dst, src []byte, most int) ([]byte, error) {
	z.open(src, 0)
	dst, err := z.inflate(dst, lengthLimit(dst, most))
	z.close()
	return dst, err
}

// Zlib reads a stream of RFC 1950. What follows it does not matter.
func (z *Inflater) Zlib(dst, src []byte, most int) ([]byte, error) {
	if len(src) < 2 {
		return dst, io.ErrUnexpectedEOF
	}
	if !IsZlib(src) || src[0]>>4 > 7 {
		return dst, errZlibHead
	}
	head := 2
	if src[1]&0x20 != 0 { // wants a dictionary: only the empty one is known
		if len(src) < 6 {
			return dst, io.ErrUnexpectedEOF
		}
		if binary.BigEndian.Uint32(src[2:]) != 1 {
			return dst, errZlibHead
		}
		head = 6
	}
	z.open(src, head)
	start := len(dst)
	dst, err := z.inflate(dst, lengthLimit(dst, most))
	tail := src[z.in.at:]
	z.close()
	switch {
	case err != nil:
		return dst, err
	case len(tail) < 4:
		return dst, io.ErrUnexpectedEOF
	case binary.BigEndian.Uint32(tail) != adler32.Checksum(dst[start:]):
		return dst, errInflatedSum
	}
	return dst, nil
}

// IsZlib says whether src begins as a stream of RFC 1950 does.
func IsZlib(src []byte) bool {
	return len(src) >= 2 && src[0]&0x0f == 8 && binary.BigEndian.Uint16(src)%31 == 0
}

// Gunzip reads the members of a gzip file, RFC 1952, one after the other. What
// follows the last and is no member is an error, like all that is wrong after
// the first byte was written.
func (z *Inflater) Gunzip(dst, src []byte, most int) ([]byte, error) {
	limit := lengthLimit(dst, most)
	if len(src) >= 4 {
		// What the last member says of its size is a stranger's word: it is
		// believed as far as pages are usually packed.
		size := uint64(binary.LittleEndian.Uint32(src[len(src)-4:]))
		o := inflated{buf: dst[:min(cap(dst), limit)], at: len(dst), limit: limit}
		o.reserve(int(min(size+slackOut, 16*uint64(len(src)), math.MaxInt32)))
		dst = o.buf[:o.at]
	}
	for {
		head, err := readGzipHead(src)
		if err != nil {
			return dst, err
		}
		z.open(src, head)
		start := len(dst)
		dst, err = z.inflate(dst, limit)
		src = src[z.in.at:]
		z.close()
		if err != nil {
			return dst, err
		}
		if len(src) < 8 {
			return dst, io.ErrUnexpectedEOF
		}
		sum, size := binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint32(src[4:])
		if sum != crc32.ChecksumIEEE(dst[start:]) || size != uint32(len(dst)-start) {
			return dst, errInflatedSum
		}
		if src = src[8:]; len(src) == 0 {
			return dst, nil
		}
	}
}

func (z *Inflater) open(src []byte, at int) { z.in = inflateBits{src: src, at: at} }

// close lets go of the source.
func (z *Inflater) close() { z.in = inflateBits{} }

// lengthLimit is how long dst may become when most bytes are appended.
func lengthLimit(dst []byte, most int) int {
	return len(dst) + min(max(most, 0), math.MaxInt-len(dst))
}

// maxGzipName bounds the name and the comment of a gzip header, with the zero
// behind each.
const maxGzipName = 512

// readGzipHead returns how long the header is that src begins with.
func readGzipHead(src []byte) (int, error) {
	const (
		headSum = 1 << (iota + 1)
		headExtra
		headName
		headComment
		headReserved = 7 << 5
	)
	if len(src) < 10 {
		return 0, io.ErrUnexpectedEOF
	}
	flags := src[3]
	if src[0] != 0x1f || src[1] != 0x8b || src[2] != 8 || flags&headReserved != 0 {
		return 0, errGzipHead
	}
	at := 10
	if flags&headExtra != 0 {
		if len(src)-at < 2 {
			return 0, io.ErrUnexpectedEOF
		}
		at += 2 + int(binary.LittleEndian.Uint16(src[at:]))
	}
	for _, field := range [...]byte{headName, headComment} {
		if flags&field == 0 {
			continue
		}
		if at > len(src) {
			return 0, io.ErrUnexpectedEOF
		}
		text := src[at:min(len(src), at+maxGzipName)]
		end := bytes.IndexByte(text, 0)
		if end < 0 && len(text) == maxGzipName {
			return 0, errGzipHead
		} else if end < 0 {
			return 0, io.ErrUnexpectedEOF
		}
		at += end + 1
	}
	if flags&headSum != 0 {
		if len(src)-at < 2 {
			return 0, io.ErrUnexpectedEOF
		}
		if binary.LittleEndian.Uint16(src[at:]) != uint16(crc32.ChecksumIEEE(src[:at])) {
			return 0, errGzipHead
		}
		at += 2
	}
	if at > len(src) {
		return 0, io.ErrUnexpectedEOF
	}
	return at, nil
}
