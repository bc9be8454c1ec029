package store

import (
	"io"

	"github.com/klauspost/compress"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"weir/internal/pack"
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
		if e.level > zstd.SpeedFastest || (e.dict == nil) != (e.near == nil) || len(e.in) > pack.ZstdMax {
			e.out = e.library().EncodeAll(e.in, e.out[:0])
			break
		}
		n := len(e.in)
		if packed > 0 {
			n = len(e.hdr) + len(plain)
		}
		e.out = e.frame.Frame(e.out[:0], e.in[:n], e.near, e.in[n:])
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
		e.library().Reset(w)
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
