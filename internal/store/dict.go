package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"weir/internal/pack"
)

// dictionary is what the frames of a zstd archive file may refer to beside
// themselves: pages of this crawl, seen before the file was begun. It is the
// first frame of the file, as "Zstandard Compression for WARC Files 1.0" has it,
// and every other frame of that file uses it. Never changed once made.
//
//	0x5D 0x2A 0x4D 0x18 | length (4 bytes) | the dictionary, itself a zstd frame
type dictionary struct {
	id   uint32
	body []byte                  // in zstd's own format (RFC 8878, section 5)
	near func() *pack.Dictionary // the same for pack, made when it is first needed; nil if that cannot use it
}

// newDictionary returns the dictionary in b.
func newDictionary(b []byte) (*dictionary, error) {
	info, err := zstd.InspectDictionary(b)
	if err != nil {
		return nil, err
	}
	return &dictionary{info.ID(), b, sync.OnceValue(func() *pack.Dictionary {
		d, _ := pack.ReadDictionary(b)
		return d
	})}, nil
}

const (
	maxDict    = 4 << 20   // bytes of a dictionary, when one is read
	dictSize   = 112 << 10 // of pages in one that is made
	samplePart = 16 << 10  // of one page
)

// sampleCount is how many pages a dictionary is made from.
var sampleCount = 128

// frame returns the skippable frame that opens a file.
func (d *dictionary) frame() ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	body := w.EncodeAll(d.body, nil)
	b := append([]byte{0x5d}, skippableMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...), w.Close()
}

// readDictionary reads the frame at the start of r, or returns nil when r
// begins with something else.
func readDictionary(r io.Reader) (*dictionary, error) {
	var h [8]byte
	if n, err := io.ReadFull(r, h[:]); err != nil {
		if n == 0 || h[0] != 0x5d {
			return nil, nil // not for us to say what is wrong with it
		}
		return nil, noEOF(err)
	}
	if h[0] != 0x5d || !bytes.Equal(h[1:4], skippableMagic) {
		return nil, nil
	}
	n := binary.LittleEndian.Uint32(h[4:])
	if n > maxDict {
		return nil, fmt.Errorf("%w: a dictionary of %d bytes", ErrSyntax, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, noEOF(err)
	}
	if bytes.HasPrefix(b, zstdMagic) {
		var err error
		if b, err = unzstd(b); err != nil {
			return nil, fmt.Errorf("%w: dictionary: %w", ErrSyntax, err)
		}
	}
	d, err := newDictionary(b)
	if err != nil {
		return nil, fmt.Errorf("%w: dictionary: %w", ErrSyntax, err)
	}
	return d, nil
}

func unzstd(b []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDict))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(b, nil)
}

// decoder returns a decoder of frames that may use d, which may be nil.
func (d *dictionary) decoder() (*zstd.Decoder, error) {
	opts := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)}
	if d != nil {
		opts = append(opts, zstd.WithDecoderDicts(d.body))
	}
	return zstd.NewReader(nil, opts...)
}

// use makes the Encoder compress with d, which may be nil.
func (e *Encoder) use(d *dictionary) {
	e.dict, e.near, e.zs = d, nil, nil
	if d != nil {
		e.near = d.near()
	}
}

// library returns the encoder for all that pack does not do.
func (e *Encoder) library() *zstd.Encoder {
	if e.zs == nil {
		opts := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1 << 20), zstd.WithEncoderLevel(e.level)}
		if e.dict != nil {
			opts = append(opts, zstd.WithEncoderDict(e.dict.body))
		}
		w, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			panic(err) // options out of range or a dictionary that was found good before
		}
		e.zs = w
	}
	return e.zs
}

// trainer gathers the first pages of a crawl and makes a dictionary of them.
type trainer struct {
	zs      *zstd.Decoder
	pages   []specimen
	request []byte
	over    bool // made, or not worth making
}

type specimen struct {
	host string
	text []byte // the start of an uncompressed response record
}

// add takes a record that was compressed without a dictionary. Pages that
// compress badly teach nothing.
func (t *trainer) add(r *Record) error {
	if t.over || r.dict != nil || r.out.file != nil || r.response > 64<<10 {
		return nil
	}
	if t.zs == nil {
		z, err := (*dictionary)(nil).decoder()
		if err != nil {
			return err
		}
		t.zs = z
	}
	text, err := t.zs.DecodeAll(r.out.buf[r.request:r.request+r.response], nil)
	if err != nil {
		return err
	}
	if int64(len(text)) < r.response*5/4 {
		return nil
	}
	host := ""
	if u, err := url.Parse(r.url); err == nil {
		host = u.Host
	}
	t.pages = append(t.pages, specimen{host, bytes.Clone(text[:min(len(text), samplePart)])})
	if t.request == nil && r.request > 0 {
		t.request, err = t.zs.DecodeAll(r.out.buf[:r.request], nil)
	}
	return err
}

func (t *trainer) full() bool { return !t.over && len(t.pages) >= sampleCount }

// close ends the training.
func (t *trainer) close() {
	if t.zs != nil {
		t.zs.Close()
	}
	*t = trainer{over: true}
}

// train returns a dictionary, or nil when none would help.
func (t *trainer) train() *dictionary {
	// Pages that are in it find themselves there: the others tell what it is
	// worth, and which codes suit it.
	history, used := t.history()
	whole := !slices.Contains(used, false)
	var others [][]byte
	for i, p := range t.pages {
		if whole || !used[i] {
			others = append(others, p.text)
		}
	}
	d, err := build(others, history)
	if err != nil {
		return nil
	}
	z, err := d.decoder()
	if err != nil || d.near() == nil {
		return nil
	}
	defer z.Close()
	var with, without pack.Zstd
	before, after := 0, 0
	for i, p := range t.pages {
		packed := with.Frame(nil, p.text, d.near())
		if got, err := z.DecodeAll(packed, nil); err != nil || !bytes.Equal(got, p.text) {
			return nil
		}
		if whole || !used[i] {
			before += len(without.Frame(nil, p.text, nil))
			after += len(packed)
		}
	}
	if after > before*9/10 {
		return nil
	}
	return d
}

// history is what the dictionary holds: pages of as many hosts as there are, and
// at the end, where references are shortest, a request. used are the pages.
func (t *trainer) history() (out []byte, used []bool) {
	taken := map[string]int{}
	used = make([]bool, len(t.pages))
	for round := 1; ; round++ {
		found := false
		for i, p := range t.pages {
			if used[i] || taken[p.host] >= round || len(out)+len(p.text)+len(t.request) > dictSize {
				continue
			}
			out = append(out, p.text...)
			taken[p.host]++
			used[i], found = true, true
		}
		if !found {
			return append(out, t.request...), used
		}
	}
}

func build(pages [][]byte, history []byte) (*dictionary, error) {
	id := 1<<15 + rand.Uint32N(1<<31-1<<15) // the range that is free for all
	body, err := pack.MakeDictionary(id, history, pages)
	if err != nil {
		return nil, err
	}
	return newDictionary(body)
}

var errDictionary = errors.New("zstd with a dictionary that the file does not begin with")
