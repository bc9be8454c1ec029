package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ReadRecord opens the record at a place that Append returned, once its group
// is committed. The caller closes the entry.
func (s *Store) ReadRecord(p Place) (*Entry, error) {
	e, err := s.readRecord(p)
	if err != nil {
		return nil, fmt.Errorf("archive record %s:%d: %w", s.FileName(p.File), p.Offset, err)
	}
	return e, nil
}

func (s *Store) readRecord(p Place) (*Entry, error) {
	files := s.committed()
	if p.File == 0 || int(p.File) > len(files) {
		return nil, errors.New("not in the archive")
	}
	f := files[p.File-1]
	if p.Offset < 0 || p.Length <= 0 || p.Offset+p.Length > f.length {
		return nil, fmt.Errorf("outside the file's %d bytes", f.length)
	}
	v, err := s.fs.Open(s.arch.path(f.name))
	if err != nil {
		return nil, err
	}
	dict, err := s.dictionary(p.File, f)
	if err != nil {
		v.Close()
		return nil, err
	}
	r, ok := s.readers.Get().(*Reader)
	if !ok {
		r = NewReader(nil)
	}
	r.reset(io.NewSectionReader(v, p.Offset, p.Length), dict)
	r.file, r.base = p.File, p.Offset
	e, err := r.Next()
	if err != nil {
		v.Close()
		return nil, err
	}
	e.Place = p
	e.close = func() error {
		e.block = closedBlock{} // r is for the next record now
		s.readers.Put(r)
		return v.Close()
	}
	s.link(e)
	return e, nil
}

// closedBlock is the block of an entry that was closed.
type closedBlock struct{}

func (closedBlock) Read([]byte) (int, error) { return 0, ErrClosed }

// link lets a revisit find the record it refers to.
func (s *Store) link(e *Entry) {
	if e.Type != "revisit" {
		return
	}
	e.origin = func() (*Entry, error) {
		o, err := s.referred(e)
		if err != nil {
			return nil, fmt.Errorf("%s: the record this revisit refers to: %w", e.URI, err)
		}
		return o, nil
	}
}

// referred opens the original. Its file and offset stand in the revisit's
// header: the archive needs no state to be read.
func (s *Store) referred(e *Entry) (*Entry, error) {
	name := e.Field("WARC-Refers-To-Filename")
	off, err := strconv.ParseInt(e.Field("WARC-Refers-To-File-Offset"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("offset: %w", err)
	}
	for i, f := range s.committed() {
		if f.name != name {
			continue
		}
		o, err := s.readRecord(Place{File: uint32(i + 1), Offset: off, Length: f.length - off})
		if err == nil && (o.Type != "response" || o.ID != e.Field("WARC-Refers-To")) {
			o.Close()
			err = fmt.Errorf("%s:%d is another record: %w", name, off, ErrDamaged)
		}
		return o, err
	}
	return nil, fmt.Errorf("no file %.80q in the archive", name)
}

// Walk calls fn with every committed record, in the order of commits. The entry
// is valid during the call.
func (s *Store) Walk(fn func(*Entry) error) error {
	return s.walk(Place{}, func(_ *Reader, e *Entry, _ string) error {
		defer e.Close()
		s.link(e)
		return fn(e)
	})
}

// walk reads the committed archive from a place on.
func (s *Store) walk(from Place, fn func(*Reader, *Entry, string) error) error {
	for i, f := range s.committed() {
		n := uint32(i + 1)
		if n < from.File {
			continue
		}
		start := int64(0)
		if n == from.File {
			start = from.Offset
		}
		if err := s.walkFile(n, f, start, fn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) walkFile(n uint32, f warcFile, start int64, fn func(*Reader, *Entry, string) error) error {
	v, err := s.fs.Open(s.arch.path(f.name))
	if err != nil {
		return err
	}
	defer v.Close()
	r := NewReader(io.NewSectionReader(v, start, f.length-start))
	r.file, r.base = n, start
	if r.dict, err = s.dictionary(n, f); err != nil {
		return fmt.Errorf("archive file %s: %w", f.name, err)
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("archive file %s: %w", f.name, err)
		}
		if err := fn(r, e, f.name); err != nil {
			return err
		}
	}
}

// dictionary returns what the frames of a file need beside themselves, or nil.
// Files of one run share theirs, so few are kept however many files there are.
func (s *Store) dictionary(n uint32, f warcFile) (*dictionary, error) {
	if s.arch.form != Zstd {
		return nil, nil
	}
	s.mu.RLock()
	d, ok := s.dicts[n]
	s.mu.RUnlock()
	if ok {
		return d, nil
	}
	d, err := s.arch.readDict(f)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dicts == nil {
		s.dicts = make(map[uint32]*dictionary)
	}
	for _, o := range s.dicts {
		if o != nil && d != nil && bytes.Equal(o.body, d.body) {
			d = o
			break
		}
	}
	s.dicts[n] = d
	return d, nil
}
