package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	magic   = "weirweb\n"
	version = 1
	maxName = 1 << 16 // bytes of a name or a path

	hasEnds  = 1
	hasSeeds = 2
	hasPaths = 4
	allFlags = hasEnds | hasSeeds | hasPaths
)

// Write writes the web as a file (see the package's documentation). A web that
// does not pass Check is refused.
func (w *Web) Write(to io.Writer) error {
	if err := w.Check(); err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	e := encoder{bufio.NewWriterSize(z, 1<<16)}
	if err := e.web(w); err != nil {
		return err
	}
	if err := e.Flush(); err != nil {
		return err
	}
	return z.Close()
}

// encoder relies on bufio.Writer to keep the first error until Flush.
type encoder struct{ *bufio.Writer }

func (e encoder) number(n uint64) { e.Write(binary.AppendUvarint(e.AvailableBuffer(), n)) }
func (e encoder) signed(n int64)  { e.Write(binary.AppendVarint(e.AvailableBuffer(), n)) }
func (e encoder) float(x float64) {
	e.Write(binary.LittleEndian.AppendUint64(e.AvailableBuffer(), math.Float64bits(x)))
}
func (e encoder) text(s string) {
	e.number(uint64(len(s)))
	e.WriteString(s)
}

func (e encoder) web(w *Web) error {
	for _, s := range w.Sites {
		if len(s.Name) > maxName {
			return fmt.Errorf("the name of a site has %d bytes; at most %d are possible", len(s.Name), maxName)
		}
	}
	for _, s := range w.Path {
		if len(s) > maxName {
			return fmt.Errorf("a path has %d bytes; at most %d are possible", len(s), maxName)
		}
	}
	flags := uint64(0)
	if w.End != nil {
		flags |= hasEnds
	}
	if w.Seeds != nil {
		flags |= hasSeeds
	}
	if w.Path != nil {
		flags |= hasPaths
	}
	e.WriteString(magic)
	e.number(version)
	e.number(flags)
	e.text(w.Name[:min(len(w.Name), maxName)])
	e.number(uint64(len(w.Sites)))
	e.number(uint64(w.Pages()))
	e.number(uint64(w.Links()))
	for i, s := range w.Sites {
		e.text(s.Name)
		e.number(uint64(w.First[i+1] - w.First[i]))
		for _, x := range [...]float64{s.Speed, s.Latency, s.Again, s.Delay} {
			e.float(x)
		}
	}
	for p := range uint32(w.Pages()) {
		e.number(uint64(w.Size[p]))
		out := w.Out(p)
		e.number(uint64(len(out)))
		last := p
		for _, t := range out {
			e.signed(int64(t) - int64(last))
			last = t
		}
		if w.End != nil {
			e.WriteByte(w.End[p])
		}
		if w.Path != nil {
			e.text(w.Path[p])
		}
	}
	if w.Seeds != nil {
		e.number(uint64(len(w.Seeds)))
		last := uint32(0)
		for _, p := range w.Seeds {
			e.signed(int64(p) - int64(last))
			last = p
		}
	}
	return nil
}

// Read reads a web that Write wrote. Memory is only taken for what the file
// holds, whatever its counts say.
func Read(r io.Reader) (*Web, error) {
	r, err := unzip(r)
	if err != nil {
		return nil, err
	}
	return read(bufio.NewReaderSize(r, 1<<16))
}

func read(r *bufio.Reader) (*Web, error) {
	d := decoder{Reader: r}
	w := d.web()
	if d.err == nil {
		// Nothing may follow, and only at the end does gzip compare checksums.
		switch _, err := d.ReadByte(); {
		case err == nil:
			d.err = errors.New("there is more after the web's end")
		case !errors.Is(err, io.EOF):
			d.err = err
		}
	}
	if errors.Is(d.err, io.EOF) {
		d.err = io.ErrUnexpectedEOF
	}
	if d.err == nil {
		d.err = w.Check()
	}
	if d.err != nil {
		return nil, fmt.Errorf("reading a recorded web: %w", d.err)
	}
	return w, nil
}

// decoder keeps the first error; after it, all numbers are zero.
type decoder struct {
	*bufio.Reader
	err error
}

func (d *decoder) fail(format string, a ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, a...)
	}
}

// number reads a number of at most most.
func (d *decoder) number(what string, most uint64) uint64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(d.Reader)
	if err != nil {
		d.err = err
		return 0
	}
	if n > most {
		d.fail("%d %s: at most %d are possible", n, what, most)
		return 0
	}
	return n
}

// page reads a page's number as the difference from another's.
func (d *decoder) page(what string, last uint32, pages uint64) uint32 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadVarint(d.Reader)
	if err != nil {
		d.err = err
		return 0
	}
	// The last one is below MaxPages: within these bounds nothing overflows.
	if n < -MaxPages || n > MaxPages || int64(last)+n < 0 || uint64(int64(last)+n) >= pages {
		d.fail("a %s %+d pages from page %d: unknown page of %d", what, n, last, pages)
		return 0
	}
	return uint32(int64(last) + n)
}

func (d *decoder) float() float64 {
	var b [8]byte
	if d.err == nil {
		_, d.err = io.ReadFull(d.Reader, b[:])
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

func (d *decoder) text(what string) string {
	n := d.number("bytes of "+what, maxName)
	if d.err != nil || n == 0 {
		return ""
	}
	b := make([]byte, n)
	_, d.err = io.ReadFull(d.Reader, b)
	return string(b)
}

// room is how many elements to make room for at once when a file says it has n.
func room(n uint64) int { return int(min(n, 1<<16)) }

func (d *decoder) web() *Web {
	head := make([]byte, len(magic))
	if _, d.err = io.ReadFull(d.Reader, head); d.err != nil {
		return nil
	}
	if !bytes.Equal(head, []byte(magic)) {
		d.fail("it does not begin with %q", magic)
		return nil
	}
	if v := d.number("is the version", math.MaxUint64); d.err == nil && v != version {
		d.fail("it has version %d; this program knows version %d", v, version)
	}
	flags := d.number("is an unknown set of flags", allFlags)
	w := &Web{Name: d.text("a name")}
	sites := d.number("sites", MaxPages)
	pages := d.number("pages", MaxPages)
	links := d.number("links", MaxLinks)
	if d.err == nil && pages == 0 {
		d.err = ErrEmpty
	}
	d.sites(w, sites, pages)
	d.pages(w, flags, pages, links)
	if flags&hasSeeds != 0 {
		n := d.number("seeds", pages)
		w.Seeds = make([]uint32, 0, room(n))
		last := uint32(0)
		for ; n > 0 && d.err == nil; n-- {
			last = d.page("seed", last, pages)
			w.Seeds = append(w.Seeds, last)
		}
	}
	return w
}

func (d *decoder) sites(w *Web, sites, pages uint64) {
	w.Sites = make([]Site, 0, room(sites))
	w.First = make([]uint32, 1, room(sites)+1)
	w.SiteOf = make([]uint32, 0, room(pages))
	for s := uint32(0); uint64(s) < sites && d.err == nil; s++ {
		name := d.text("a site's name")
		n := d.number("pages on a site", pages-uint64(w.First[s]))
		w.Sites = append(w.Sites, Site{Name: name, Speed: d.float(), Latency: d.float(), Again: d.float(), Delay: d.float()})
		w.First = append(w.First, w.First[s]+uint32(n))
	}
	if d.err == nil && uint64(w.First[sites]) != pages {
		d.fail("the sites hold %d pages, not %d", w.First[sites], pages)
	}
}

func (d *decoder) pages(w *Web, flags, pages, links uint64) {
	w.Size = make([]uint32, 0, room(pages))
	w.Off = make([]uint32, 1, room(pages)+1)
	w.Adj = make([]uint32, 0, room(links))
	site := uint32(0)
	for p := uint32(0); uint64(p) < pages && d.err == nil; p++ {
		for p >= w.First[site+1] {
			site++
		}
		w.SiteOf = append(w.SiteOf, site)
		w.Size = append(w.Size, uint32(d.number("bytes of a page", math.MaxUint32)))
		last := p
		for n := d.number("links of a page", links-uint64(len(w.Adj))); n > 0 && d.err == nil; n-- {
			last = d.page("link", last, pages)
			w.Adj = append(w.Adj, last)
		}
		w.Off = append(w.Off, uint32(len(w.Adj)))
		if flags&hasEnds != 0 && d.err == nil {
			var end byte
			end, d.err = d.ReadByte()
			w.End = append(w.End, end)
		}
		if flags&hasPaths != 0 {
			w.Path = append(w.Path, d.text("a path"))
		}
	}
	if d.err == nil && uint64(len(w.Adj)) != links {
		d.fail("the pages have %d links, not %d", len(w.Adj), links)
	}
}
