package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"weir/internal/pack"
	"weir/page"
)

var errBomb = errors.New("the body grows too much")

// Decoded returns the payload without its content encodings, at most max bytes
// of it; 0 means as much as the limits allow. The bytes are valid until the
// next call or Release; they are not the caller's to change.
//
// The outcome is OK; Bomb, with no bytes, when a compressed body would pass max
// or the limits, or more than two encodings lie over each other; TooLarge when
// a plain body was cut at max. An encoding that the body turns out not to have,
// or that nobody knows, is not believed: the payload is returned as it came. A
// stream that breaks off gives what came before.
//
// It waits for no memory: what it returns is bounded by max alone, so callers
// bound how many they are.
func (a *Answer) Decoded(max int64) ([]byte, page.Outcome) {
	d := decoding{source: a, header: a.Header, size: a.PayloadSize, limits: &a.conn.client.limits, scratch: a.scratch}
	b, outcome := d.run(max)
	a.scratch = d.scratch
	return b, outcome
}

// decoding undoes the content encodings of a payload.
type decoding struct {
	source
	header  Header
	size    int64 // of the payload
	limits  *Limits
	scratch []byte // what was decoded may lie there; nil until it is needed
}

// source is where a payload lies: on a tape, or in an archive.
type source interface {
	Payload() io.Reader
	PayloadBytes() ([]byte, bool) // false: it is not in memory in one piece
}

func (d *decoding) run(max int64) ([]byte, page.Outcome) {
	if max <= 0 || max > d.limits.MaxDecoded {
		max = d.limits.MaxDecoded
	}
	codings, known := d.codings()
	if len(codings) > maxLayers {
		return nil, page.Bomb
	}
	if len(codings) > 0 && known && d.size > 0 {
		b, err := d.decode(codings, max)
		switch {
		case errors.Is(err, errBomb):
			return nil, page.Bomb
		case err == nil || len(b) > 0:
			return b, page.OK
		}
	}
	if b, ok := d.PayloadBytes(); ok {
		if int64(len(b)) > max {
			return b[:max], page.TooLarge
		}
		return b, page.OK
	}
	b, _ := d.collect(io.LimitReader(d.Payload(), max))
	if d.size > max {
		return b, page.TooLarge
	}
	return b, page.OK
}

// codings returns the content codings in the order they were applied.
func (d *decoding) codings() (codings []string, known bool) {
	known = true
	for _, line := range d.header.Values("Content-Encoding") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-")
			if name == "" || name == "identity" {
				continue
			}
			if decoders[name] == nil {
				known = false
			}
			codings = append(codings, name)
			if len(codings) > maxLayers {
				return codings, known
			}
		}
	}
	return codings, known
}

// decode undoes the codings, last first.
func (d *decoding) decode(codings []string, max int64) ([]byte, error) {
	most := d.limits.decoded(d.size, max)
	if unpack := inflaters[codings[0]]; unpack != nil && len(codings) == 1 && d.size <= maxBuffer {
		return d.unpack(unpack, most)
	}
	r := d.Payload()
	if b, ok := d.PayloadBytes(); ok {
		r = bytes.NewReader(b) // which decoders read without a buffer of their own
	}
	for i := len(codings) - 1; i >= 0; i-- {
		z, done, err := decoders[codings[i]](r)
		if err != nil {
			return nil, err
		}
		defer done()
		r = &bounded{src: z, left: most}
	}
	return d.collect(r)
}

// decoded is how many bytes may come of so many on the wire when the caller
// wants at most the given number: out/MaxRatio must not pass the wire.
func (l Limits) decoded(wire, most int64) int64 {
	if wire >= most/l.MaxRatio {
		return most
	}
	return min(most, max(ratioFloor, (wire+1)*l.MaxRatio-1))
}

// bounded ends a decoder's output with errBomb when it grows too much. Every
// layer has one, or a bomb could be hidden under a layer that shrinks it again.
type bounded struct {
	src  io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errBomb
	}
	return n, err
}

// unpack undoes the one coding of a payload in one go: most pages come gzipped
// and are short, and it takes half the time that a stream would.
func (d *decoding) unpack(unpack inflater, most int64) ([]byte, error) {
	src, ok := d.PayloadBytes()
	if !ok {
		b := bytes.NewBuffer(getScratch())
		b.ReadFrom(d.Payload()) // what cannot be read is missing in src, and found so
		src = b.Bytes()
		defer putScratch(src)
	}
	if d.scratch == nil {
		d.scratch = getScratch()
	}
	z, ok := unpackers.Get().(*pack.Inflater)
	if !ok {
		z = new(pack.Inflater)
	}
	defer unpackers.Put(z)
	var err error
	d.scratch, err = unpack(z, d.scratch[:0], src, int(min(most, math.MaxInt)))
	if err == pack.ErrTooLong {
		err = errBomb
	}
	return d.scratch, err
}

// inflater reads a coding of deflate that lies in memory.
type inflater func(z *pack.Inflater, dst, src []byte, most int) ([]byte, error)

var inflaters = map[string]inflater{
	"gzip": (*pack.Inflater).Gunzip,
	"deflate": func(z *pack.Inflater, dst, src []byte, most int) ([]byte, error) {
		if pack.IsZlib(src) {
			return z.Zlib(dst, src, most)
		}
		return z.Deflate(dst, src, most)
	},
}

var unpackers sync.Pool // of *pack.Inflater

// collect reads r to its end into the scratch.
func (d *decoding) collect(r io.Reader) ([]byte, error) {
	if d.scratch == nil {
		d.scratch = getScratch()
	}
	buf := bytes.NewBuffer(d.scratch[:0])
	_, err := buf.ReadFrom(r)
	d.scratch = buf.Bytes()
	return d.scratch, err
}

// maxScratch is the largest buffer that is kept for another page.
const maxScratch = 4 << 20

var scratches sync.Pool

func getScratch() []byte {
	if b, ok := scratches.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 64<<10)
}

func putScratch(b []byte) {
	if cap(b) <= maxScratch {
		scratches.Put(&b)
	}
}

// decoders open a stream of each coding, for payloads that are long or lie under
// two. The function they return gives the decoder back.
var decoders = map[string]func(io.Reader) (io.Reader, func(), error){
	"gzip":    gunzip,
	"deflate": inflate,
	"br":      unbrotli,
	"zstd":    unzstd,
}

var gzips, brotlis, zstds sync.Pool

func gunzip(r io.Reader) (io.Reader, func(), error) {
	z, ok := gzips.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	if err := z.Reset(r); err != nil {
		return nil, nil, err
	}
	return z, func() { gzips.Put(z) }, nil
}

// inflate reads zlib, which the standard means by deflate, and bare deflate,
// which some servers send.
func inflate(r io.Reader) (io.Reader, func(), error) {
	br := bufio.NewReader(r)
	head, err := br.Peek(2)
	if err == nil && pack.IsZlib(head) {
		z, err := zlib.NewReader(br)
		return z, func() {}, err
	}
	return flate.NewReader(br), func() {}, nil
}

func unbrotli(r io.Reader) (io.Reader, func(), error) {
	z, ok := brotlis.Get().(*brotli.Reader)
	if !ok {
		z = new(brotli.Reader)
	}
	if err := z.Reset(r); err != nil {
		return nil, nil, err
	}
	return z, func() { brotlis.Put(z) }, nil
}

// zstdWindow is what RFC 9659 lets a server ask of a client.
const zstdWindow = 8 << 20

func unzstd(r io.Reader) (io.Reader, func(), error) {
	z, ok := zstds.Get().(*zstd.Decoder)
	if !ok {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, nil, err
		}
	}
	if err := z.Reset(r); err != nil {
		return nil, nil, err
	}
	return z, func() {
		z.Reset(nil)
		zstds.Put(z)
	}, nil
}
