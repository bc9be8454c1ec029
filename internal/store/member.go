package store

import (
	"encoding/binary"
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
	case packed > 0:
		e.in = append(append(e.in[:0], e.hdr...), plain...)
		e.out = e.deflate.Gzip(e.out[:0], e.in, block[len(plain):], []byte(tail))
	default:
		e.in = append(append(append(e.in[:0], e.hdr...), block...), tail...)
		e.out = e.deflate.Gzip(e.out[:0], e.in)
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
		if e.gz == nil {
			e.gz, _ = gzip.NewWriterLevel(io.Discard, gzipLevel)
		}
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
