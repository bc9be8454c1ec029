package store

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress"
	"github.com/klauspost/compress/gzip"
)

// tail ends every record.
const tail = "\r\n\r\n"

// member writes the header in e.hdr and a block as one member. The last packed
// bytes of the block are compressed already and not worth another try.
func (e *Encoder) member(w io.Writer, block []byte, packed int) error {
	plain := block[:len(block)-packed]
	switch {
	case e.form == Zstd:
		e.in = append(append(append(e.in[:0], e.hdr...), block...), tail...)
		if len(e.in) >= rawMin && len(e.in) <= rawMax {
			e.out = appendRaw(e.out[:0], e.in, e.dict)
		} else {
			e.out = e.zs.EncodeAll(e.in, e.out[:0])
		}
	case packed > 0 && len(e.hdr)+len(plain) <= shortMax:
		e.in = append(append(e.in[:0], e.hdr...), plain...)
		e.out = e.short.deflate(append(e.out[:0], gzipHeader...), e.in, false)
		sum := crc32.ChecksumIEEE(e.in)
		body := block[len(plain):]
		e.out = appendStored(e.out, body)
		sum = crc32.Update(crc32.Update(sum, crc32.IEEETable, body), crc32.IEEETable, []byte(tail))
		e.out = appendTrailer(e.out, sum, len(e.in)+packed+len(tail))
	case len(e.hdr)+len(block)+len(tail) <= briefMax:
		e.in = append(append(append(e.in[:0], e.hdr...), block...), tail...)
		e.out = e.short.deflate(append(e.out[:0], gzipHeader...), e.in, true)
		e.out = appendTrailer(e.out, crc32.ChecksumIEEE(e.in), len(e.in))
	default:
		e.gz.Reset(w)
		for _, p := range [...][]byte{e.hdr, block, []byte(tail)} {
			if _, err := e.gz.Write(p); err != nil {
				return err
			}
		}
		return e.gz.Close()
	}
	_, err := w.Write(e.out)
	return err
}

// long is member for an answer that is not in memory.
func (e *Encoder) long(w io.Writer, head []byte, x *Exchange, size int64, packed bool) error {
	var c io.WriteCloser
	switch {
	case e.form == Zstd:
		e.zs.Reset(w)
		c = e.zs
	case packed:
		if e.flat == nil {
			e.flat, _ = gzip.NewWriterLevel(io.Discard, gzip.NoCompression)
		}
		e.flat.Reset(w)
		c = e.flat
	default:
		e.gz.Reset(w)
		c = e.gz
	}
	for _, p := range [...][]byte{e.hdr, head} {
		if _, err := c.Write(p); err != nil {
			return err
		}
	}
	if err := e.stream(c, x, size); err != nil {
		return err
	}
	if _, err := io.WriteString(c, tail); err != nil {
		return err
	}
	return c.Close()
}

// dense says whether a body that claims to be compressed looks like it.
func dense(body []byte) bool {
	const sample = 2 << 10
	if n := len(body); n > sample {
		body = body[(n-sample)/2:][:sample]
	}
	return compress.Estimate(body) < 0.1
}

// The frame of a gzip member (RFC 1952) around deflate blocks: no name, no
// time, unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

func appendTrailer(b []byte, sum uint32, size int) []byte {
	b = binary.LittleEndian.AppendUint32(b, sum)
	return binary.LittleEndian.AppendUint32(b, uint32(size))
}

// appendStored adds a body and the record's tail as stored blocks (RFC 1951,
// section 3.2.4), the last of the stream. The first three bits of the first are
// there already.
func appendStored(b, body []byte) []byte {
	for {
		n := min(len(body), 1<<16-1)
		b = append(b, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		b = append(b, body[:n]...)
		if body = body[n:]; len(body) == 0 {
			break
		}
		b = append(b, 0)
	}
	const n = byte(len(tail))
	b = append(b, 1, n, 0, ^n, 0xff)
	return append(b, tail...)
}

// Frames of so many bytes are not compressed: making the encoder forget the page
// before takes it as long for a request as for a page, a quarter of the time of
// both.
const (
	rawMin = 256 // from here on a frame states its size in two bytes
	rawMax = 1 << 10
)

// appendRaw adds p as a zstd frame of one raw block (RFC 8878, section 3.1.1)
// that names the dictionary, if there is one: window of 1 KiB, size, checksum.
func appendRaw(b, p []byte, d *dictionary) []byte {
	b = append(b, zstdMagic...)
	if d == nil {
		b = append(b, 0x44, 0)
	} else {
		b = binary.LittleEndian.AppendUint32(append(b, 0x47, 0), d.id)
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p)-rawMin))
	n := len(p)<<3 | 1 // the last block, raw
	b = append(b, byte(n), byte(n>>8), byte(n>>16))
	b = append(b, p...)
	return binary.LittleEndian.AppendUint32(b, uint32(xxhash.Sum64(p)))
}
