package search

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/internal/store"
)

var magic = [8]byte{'w', 'e', 'i', 'r', 's', 'e', 'g', '1'}

// footer stands at the end of a segment.
type footer struct {
	lengths, tables span
	docs            int   // documents
	terms           int   // hosts among them
	words           int64 // of all documents
	postings        int64
	crawl           uint64 // whose pages these are
	covers          Range
}

// span is a block of a segment, without its checksum.
type span struct{ off, len int64 }

const footerSize = 9*8 + 2*12 + 4 + 8

func (f *footer) appendTo(b []byte) []byte {
	from := len(b)
	for _, v := range []int64{
		f.lengths.off, f.lengths.len, f.tables.off, f.tables.len, int64(f.docs), int64(f.terms), f.words, f.postings, int64(f.crawl),
	} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	for _, p := range []Point{f.covers.From, f.covers.To} {
		b = binary.LittleEndian.AppendUint32(b, p.File)
		b = binary.LittleEndian.AppendUint64(b, uint64(p.Offset))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
	return append(b, magic[:]...)
}

// document is a page in a segment.
type document struct {
	url, title string
	words      int
	print      uint64 // of what it says: equal for pages that say the same
	place      store.Place
}

// writer writes a segment: first all documents, then all terms in order.
type writer struct {
	fs   vfs.FS
	file vfs.File
	buf  *bufio.Writer
	at   int64
	err  error

	foot    footer
	docs    []byte // of the block under way
	url     string // of the document before
	lengths []byte
	doc     []span // blocks of documents
	terms   []byte // of the block under way
	term    string // before
	first   string // of the block
	count   int    // in the block
	dict    []byte // table of the blocks of terms
	blocks  int
}

// create begins a segment under a temporary name.
func create(fs vfs.FS, name string) (*writer, error) {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	w := &writer{fs: fs, file: f, buf: bufio.NewWriterSize(f, 128<<10)}
	w.write(magic[:])
	return w, nil
}

func (w *writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.buf.Write(b)
	w.at += int64(n)
	w.err = err
}

// block writes b and its checksum.
func (w *writer) block(b []byte) span {
	s := span{w.at, int64(len(b))}
	w.write(b)
	w.write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli)))
	return s
}

func (w *writer) addDoc(d *document) {
	if w.foot.docs%docBlock == 0 {
		w.endDocs()
	}
	w.docs = appendShared(w.docs, w.url, d.url)
	w.docs = binary.AppendUvarint(w.docs, uint64(len(d.title)))
	w.docs = append(w.docs, d.title...)
	w.docs = binary.AppendUvarint(w.docs, uint64(d.place.File))
	w.docs = binary.AppendUvarint(w.docs, uint64(d.place.Offset))
	w.docs = binary.AppendUvarint(w.docs, uint64(d.place.Length))
	w.lengths = binary.AppendUvarint(w.lengths, uint64(d.words))
	w.lengths = binary.LittleEndian.AppendUint64(w.lengths, d.print)
	w.url = d.url
	w.foot.words += int64(d.words)
	w.foot.docs++
}

func (w *writer) endDocs() {
	if len(w.docs) > 0 {
		w.doc = append(w.doc, w.block(w.docs))
	}
	w.docs, w.url = w.docs[:0], ""
}

// addTerm takes the postings of a term: of n documents.
func (w *writer) addTerm(term string, n int, postings []byte) {
	w.endDocs()
	if w.count == 0 {
		w.first = term
	}
	w.terms = appendShared(w.terms, w.term, term)
	w.terms = binary.AppendUvarint(w.terms, uint64(n))
	if len(postings) <= shortList {
		w.terms = binary.AppendUvarint(w.terms, uint64(len(postings))<<1)
		w.terms = append(w.terms, postings...)
	} else {
		s := w.block(postings)
		w.terms = binary.AppendUvarint(w.terms, uint64(s.len)<<1|1)
		w.terms = binary.AppendUvarint(w.terms, uint64(s.off))
	}
	w.term = term
	w.count++
	w.foot.terms++
	w.foot.postings += int64(n)
	if len(w.terms) >= termBlock {
		w.endTerms()
	}
}

func (w *writer) endTerms() {
	if w.count == 0 {
		return
	}
	s := w.block(w.terms)
	w.dict = binary.AppendUvarint(w.dict, uint64(len(w.first)))
	w.dict = append(w.dict, w.first...)
	w.dict = binary.AppendUvarint(w.dict, uint64(s.off))
	w.dict = binary.AppendUvarint(w.dict, uint64(s.len))
	w.blocks++
	w.terms, w.term, w.count = w.terms[:0], "", 0
}

// finish makes the segment durable under its name.
func (w *writer) finish(crawl uint64, covers Range, temporary, name string) error {
	w.endDocs()
	w.endTerms()
	w.foot.crawl, w.foot.covers = crawl, covers
	w.foot.lengths = w.block(w.lengths)
	tables := binary.AppendUvarint(nil, uint64(len(w.doc)))
	for _, s := range w.doc {
		tables = binary.AppendUvarint(tables, uint64(s.off))
		tables = binary.AppendUvarint(tables, uint64(s.len))
	}
	tables = binary.AppendUvarint(tables, uint64(w.blocks))
	w.foot.tables = w.block(append(tables, w.dict...))
	w.write(w.foot.appendTo(nil))
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err == nil {
		w.err = w.file.Sync()
	}
	err := errors.Join(w.err, w.file.Close())
	if err == nil {
		err = w.fs.Rename(temporary, name)
	}
	if err == nil {
		err = syncDir(w.fs, w.fs.PathDir(name))
	}
	if err != nil {
		w.fs.Remove(temporary)
		return fmt.Errorf("write %s: %w", w.fs.PathBase(name), err)
	}
	return nil
}

// abandon removes a segment that did not come about.
func (w *writer) abandon(temporary string) {
	w.file.Close()
	w.fs.Remove(temporary)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
