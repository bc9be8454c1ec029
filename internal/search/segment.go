package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"weir/internal/store"
)

// segment is one segment, open for reading. It believes nothing that it has not
// checked, so whatever a file holds it gives what was written or ErrDamaged. It
// may be read from several goroutines once lengths are loaded.
type segment struct {
	name string
	file io.ReaderAt
	io.Closer
	size  int64
	foot  footer
	doc   []span
	dict  []termSpan
	loose bool // checksums do not count: for tests that make files up

	words  []uint32 // of each document, once loaded
	prints []uint64
}

// termSpan is a block of terms.
type termSpan struct {
	first string
	span
}

// openSegment reads what must be known of a segment at all times.
func openSegment(name string, file io.ReaderAt, size int64, loose bool) (*segment, error) {
	s := &segment{name: name, file: file, size: size, loose: loose}
	err := s.readFooter()
	if err == nil {
		err = s.readTables()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *segment) damaged(what string) error {
	return fmt.Errorf("%w: %s", ErrDamaged, what)
}

// read returns size bytes of the file.
func (s *segment) read(off, size int64) ([]byte, error) {
	b := make([]byte, size)
	if n, err := s.file.ReadAt(b, off); int64(n) < size {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, s.damaged("it is cut short")
		}
		return nil, err
	}
	return b, nil
}

// block returns what stands in a block, if its checksum is right.
func (s *segment) block(at span) ([]byte, error) {
	end := s.size - footerSize - 4
	if at.off < int64(len(magic)) || at.len < 0 || at.off > end || at.len > end-at.off {
		return nil, s.damaged("a block lies outside of it")
	}
	b, err := s.read(at.off, at.len+4)
	if err != nil {
		return nil, err
	}
	b, sum := b[:at.len:at.len], b[at.len:]
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(sum) && !s.loose {
		return nil, s.damaged("a checksum is wrong")
	}
	return b, nil
}

func (s *segment) readFooter() error {
	if s.size < int64(len(magic)+footerSize) {
		return s.damaged("it is too short")
	}
	head, err := s.read(0, int64(len(magic)))
	if err != nil {
		return err
	}
	b, err := s.read(s.size-footerSize, footerSize)
	if err != nil {
		return err
	}
	sum := footerSize - len(magic) - 4
	if string(head) != string(magic[:]) || string(b[sum+4:]) != string(magic[:]) {
		return s.damaged("it is no segment")
	}
	if crc32.Checksum(b[:sum], castagnoli) != binary.LittleEndian.Uint32(b[sum:]) && !s.loose {
		return s.damaged("a checksum is wrong")
	}
	number := func() int64 {
		v := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return int64(v)
	}
	point := func() Point {
		file := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return Point{file, number()}
	}
	f := &s.foot
	f.lengths = span{number(), number()}
	f.tables = span{number(), number()}
	f.docs, f.terms, f.words, f.postings = int(number()), int(number()), number(), number()
	f.crawl = uint64(number())
	f.covers = Range{point(), point()}
	// A document or a term takes more than one byte.
	if f.docs < 0 || int64(f.docs) > s.size || f.terms < 0 || int64(f.terms) > s.size || f.words < 0 || f.postings < 0 || f.covers.empty() {
		return s.damaged("its footer cannot be")
	}
	return nil
}

func (s *segment) readTables() error {
	b, err := s.block(s.foot.tables)
	if err != nil {
		return err
	}
	c := cursor{b: b}
	place := func() span { return span{int64(c.count(int(s.size))), int64(c.count(int(s.size)))} }
	s.doc = make([]span, c.count(len(b)))
	for i := range s.doc {
		s.doc[i] = place()
	}
	s.dict = make([]termSpan, c.count(len(b)))
	for i := range s.dict {
		s.dict[i].first = string(c.bytes(c.count(maxTerm)))
		s.dict[i].span = place()
		if i > 0 && s.dict[i].first <= s.dict[i-1].first {
			c.fail()
		}
	}
	if c.bad || len(c.b) > 0 || len(s.doc) != (s.foot.docs+docBlock-1)/docBlock {
		return s.damaged("its tables cannot be read")
	}
	return nil
}

// load reads the lengths and prints of all documents.
func (s *segment) load() error {
	if s.words != nil || s.foot.docs == 0 {
		return nil
	}
	b, err := s.block(s.foot.lengths)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	c := cursor{b: b}
	words, prints := make([]uint32, s.foot.docs), make([]uint64, s.foot.docs)
	for i := range words {
		words[i] = uint32(c.count(1<<32 - 1))
		if p := c.bytes(8); len(p) == 8 {
			prints[i] = binary.LittleEndian.Uint64(p)
		}
	}
	if c.bad || len(c.b) > 0 {
		return fmt.Errorf("%s: %w", s.name, s.damaged("its lengths cannot be read"))
	}
	s.words, s.prints = words, prints
	return nil
}

// document reads the n-th document.
func (s *segment) document(n int) (*document, error) {
	if n < 0 || n >= s.foot.docs {
		return nil, fmt.Errorf("%s: %w", s.name, s.damaged("there is no such document"))
	}
	var d *document
	err := s.documents(n/docBlock, func(i int, at *document) bool {
		d = at
		return i < n
	})
	if err == nil && d == nil {
		err = fmt.Errorf("%s: %w", s.name, s.damaged("a document is missing"))
	}
	return d, err
}

// documents calls fn with the documents of a block until it returns false.
func (s *segment) documents(block int, fn func(n int, d *document) bool) error {
	b, err := s.block(s.doc[block])
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	c := cursor{b: b}
	var url []byte
	last := min((block+1)*docBlock, s.foot.docs)
	for n := block * docBlock; n < last; n++ {
		url = c.shared(url, maxURL)
		d := &document{url: string(url), title: string(c.bytes(c.count(maxTitle)))}
		d.place = store.Place{File: uint32(c.count(1<<32 - 1)), Offset: int64(c.count(1<<62 - 1)), Length: int64(c.count(1<<62 - 1))}
		if n < len(s.words) {
			d.words, d.print = int(s.words[n]), s.prints[n]
		}
		if c.bad {
			return fmt.Errorf("%s: %w", s.name, s.damaged("a document cannot be read"))
		}
		if !fn(n, d) {
			return nil
		}
	}
	if len(c.b) > 0 {
		return fmt.Errorf("%s: %w", s.name, s.damaged("a block of documents is too long"))
	}
	return nil
}

// entry is a term of a segment.
type entry struct {
	term  []byte // valid until the next
	n     int    // documents
	short []byte // its postings, or
	long  span   // where they are
}

// postings returns the list of an entry, at its first document.
func (s *segment) postings(e *entry) (*postings, error) {
	b := e.short
	if e.long.len > 0 {
		var err error
		if b, err = s.block(e.long); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	p := &postings{c: cursor{b: b}, left: e.n, docs: s.foot.docs, doc: -1}
	if err := p.step(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return p, nil
}

// find returns the entry of a term, nil when no document has it.
func (s *segment) find(term string) (*entry, error) {
	i, ok := slices.BinarySearchFunc(s.dict, term, func(b termSpan, t string) int { return strings.Compare(b.first, t) })
	if !ok {
		i--
	}
	if i < 0 {
		return nil, nil
	}
	var found *entry
	err := s.terms(i, func(e *entry) bool {
		if string(e.term) < term {
			return true
		}
		if string(e.term) == term {
			found = e
		}
		return false
	})
	return found, err
}

// terms calls fn with the entries of a block until it returns false.
func (s *segment) terms(block int, fn func(*entry) bool) error {
	r, err := s.openTerms(block)
	for err == nil {
		var e *entry
		if e, err = r.next(); e == nil || err != nil || !fn(e) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// termReader reads the entries of one block.
type termReader struct {
	s    *segment
	c    cursor
	term []byte
	some bool // an entry was read
}

func (s *segment) openTerms(block int) (*termReader, error) {
	b, err := s.block(s.dict[block].span)
	return &termReader{s: s, c: cursor{b: b}}, err
}

// next returns the next entry, nil at the end of the block.
func (r *termReader) next() (*entry, error) {
	c := &r.c
	if len(c.b) == 0 {
		return nil, nil
	}
	before := string(r.term)
	r.term = c.shared(r.term, maxTerm)
	if r.some && string(r.term) <= before {
		c.fail()
	}
	r.some = true
	e := &entry{term: r.term, n: c.count(r.s.foot.docs)}
	size := c.count(int(2*r.s.size + 1))
	if size&1 == 0 {
		e.short = c.bytes(size >> 1)
	} else {
		e.long = span{int64(c.count(int(r.s.size))), int64(size >> 1)}
	}
	if c.bad || e.n == 0 || e.long.len == 0 && len(e.short) == 0 {
		return nil, r.s.damaged("a term cannot be read")
	}
	return e, nil
}

// check reads all of the segment.
func (s *segment) check() error {
	if err := s.load(); err != nil {
		return err
	}
	for block := range s.doc {
		if err := s.documents(block, func(int, *document) bool { return true }); err != nil {
			return err
		}
	}
	r := dictReader{s: s}
	for {
		if err := r.next(); err != nil || r.cur == nil {
			return err
		}
		p, err := s.postings(r.cur)
		for err == nil && p.doc < s.foot.docs {
			err = p.step()
		}
		if err != nil {
			return err
		}
	}
}
