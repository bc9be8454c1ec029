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

	"github.com/klauspost/compress/zstd"
)

// dictionary is what the frames of a zstd archive file may refer to beside
// themselves: pages of this crawl, seen before the file was begun. It is the
// first frame of the file, as "Zstandard Compression for WARC Files 1.0" has it,
// and every other frame of that file uses it. Never changed once made.
//
//	0x5D 0x2A 0x4D 0x18 | length (4 bytes) | the dictionary, itself a zstd frame
type dictionary struct {
	id   uint32
	body []byte // in zstd's own format (RFC 8878, section 5)
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
	info, err := zstd.InspectDictionary(b)
	if err != nil {
		return nil, fmt.Errorf("%w: dictionary: %w", ErrSyntax, err)
	}
	return &dictionary{id: info.ID(), body: b}, nil
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
	opts := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1 << 20), zstd.WithEncoderLevel(e.level)}
	if d != nil {
		opts = append(opts, zstd.WithEncoderDict(d.body))
	}
	w, err := zstd.NewWriter(nil, opts...)
	if err != nil {
		panic(err) // options out of range or a dictionary that train would not have returned
	}
	e.zs, e.dict = w, d
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
	if int64(len(text)) < r.response*3/2 {
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
	var all [][]byte
	for _, p := range t.pages {
		all = append(all, p.text)
	}
	history, used := t.history()
	d, err := build(all, history)
	if err != nil {
		return nil
	}
	// All pages must survive it; those that are not in it tell what it is worth.
	without, with := NewEncoder(Zstd, 0), NewEncoder(Zstd, 0)
	with.use(d)
	z, err := d.decoder()
	if err != nil {
		return nil
	}
	defer z.Close()
	before, after := 0, 0
	whole := !slices.Contains(used, false)
	for i, text := range all {
		packed := with.zs.EncodeAll(text, nil)
		if got, err := z.DecodeAll(packed, nil); err != nil || !bytes.Equal(got, text) {
			return nil
		}
		if whole || !used[i] {
			before += len(without.zs.EncodeAll(text, nil))
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

// build makes a dictionary. The pages are strangers' bytes; should the library
// stumble over them the crawl goes on without one.
func build(pages [][]byte, history []byte) (d *dictionary, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("dictionary: %v", r)
		}
	}()
	id := 1<<15 + rand.Uint32N(1<<31-1<<15) // the range that is free for all
	body, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID: id, Contents: pages, History: history, Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest, CompatV155: true,
	})
	if err != nil {
		return nil, err
	}
	if _, err := zstd.InspectDictionary(body); err != nil {
		return nil, err
	}
	return &dictionary{id: id, body: body}, nil
}

var errDictionary = errors.New("zstd with a dictionary that the file does not begin with")
