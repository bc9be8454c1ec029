package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncEvery is how much of the index may have to be made again after a crash.
var syncEvery = int64(1 << 20)

// mark is what a batch says about the index file.
//
// Bytes up to synced are on disk for sure and belong to the records before
// (file, offset) of the archive. The bytes from there to length have the given
// checksum, if they are all there.
type mark struct {
	length int64
	sum    uint64
	synced int64
	file   uint32
	offset int64
	sorted int64 // bytes at the front that Finish put in order
	stale  bool  // the file is being replaced: trust none of it
}

func (m *mark) encode() []byte {
	var b []byte
	for _, v := range []uint64{uint64(m.length), m.sum, uint64(m.synced), uint64(m.file), uint64(m.offset), uint64(m.sorted)} {
		b = binary.AppendUvarint(b, v)
	}
	if m.stale {
		return append(b, 1)
	}
	return append(b, 0)
}

func (m *mark) decode(b []byte) error {
	d := decoder{b: b}
	m.length, m.sum = int64(d.uvarint()), d.uvarint()
	m.synced, m.file, m.offset, m.sorted = int64(d.uvarint()), uint32(d.uvarint()), int64(d.uvarint()), int64(d.uvarint())
	m.stale = d.byte() != 0
	return d.err("index mark")
}

// index appends to index.cdxj. Only the committer uses it.
type index struct {
	fs   vfs.FS
	path string
	f    vfs.File
	mark mark
	hash *xxhash.Digest // of the bytes since mark.synced
}

// plan returns the mark as it will be once lines are appended.
func (x *index) plan(lines []byte) mark {
	x.hash.Write(lines)
	x.mark.length += int64(len(lines))
	x.mark.sum = x.hash.Sum64()
	return x.mark
}

// write appends the lines that plan announced, after the batch. at is the end
// of the archive.
func (x *index) write(lines []byte, at Place) error {
	if err := x.open(); err != nil {
		return err
	}
	if err := writeAt(x.f, lines, x.mark.length-int64(len(lines))); err != nil {
		return err
	}
	if x.mark.length-x.mark.synced >= syncEvery {
		return x.sync(at)
	}
	return nil
}

// sync makes the whole file durable; the next batch will say so.
func (x *index) sync(at Place) error {
	if err := x.open(); err != nil {
		return err
	}
	if err := x.f.Sync(); err != nil {
		return err
	}
	x.hash.Reset()
	x.mark.synced, x.mark.sum = x.mark.length, x.hash.Sum64()
	x.mark.file, x.mark.offset = at.File, at.Offset
	return nil
}

func (x *index) open() (err error) {
	if x.f == nil {
		x.f, err = x.fs.OpenReadWrite(x.path, vfs.WriteCategoryUnspecified)
	}
	return err
}

func (x *index) close() error {
	if x.f == nil {
		return nil
	}
	err := x.f.Close()
	x.f = nil
	return err
}

// check says whether the file is what the mark describes, and its size.
func (x *index) check() (size int64, ok bool, err error) {
	x.hash = xxhash.New()
	f, err := x.fs.Open(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, x.mark.length == 0 && !x.mark.stale, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	size = info.Size()
	if x.mark.stale || size != x.mark.length {
		return size, false, nil
	}
	if _, err := io.Copy(x.hash, io.NewSectionReader(f, x.mark.synced, x.mark.length-x.mark.synced)); err != nil {
		return size, false, err
	}
	return size, x.hash.Sum64() == x.mark.sum, nil
}

// repair makes the index equal to the archive again. It reports whether it had
// to do anything, in which case the mark must be committed.
func (s *Store) repair() (bool, error) {
	x := &s.index
	size, ok, err := x.check()
	if err != nil || ok {
		return false, err
	}
	from := Place{File: x.mark.file, Offset: x.mark.offset}
	if x.mark.stale || size < x.mark.synced {
		from, x.mark = Place{}, mark{}
	}
	if size > x.mark.synced {
		if err := cut(x.fs, x.path, x.mark.synced); err != nil {
			return false, err
		}
	}
	x.mark.length = x.mark.synced
	if err := x.open(); err != nil {
		return false, err
	}
	var buf []byte
	err = s.lines(from, func(b []byte) error {
		buf = append(buf, b...)
		if len(buf) < bufferSize {
			return nil
		}
		err := writeAt(x.f, buf, x.mark.length)
		x.mark.length += int64(len(buf))
		buf = buf[:0]
		return err
	})
	if err != nil {
		return false, err
	}
	n := int64(len(buf))
	if err := writeAt(x.f, buf, x.mark.length); err != nil {
		return false, err
	}
	x.mark.length += n
	x.mark.stale = false
	if err := x.sync(s.End()); err != nil {
		return false, err
	}
	// The file itself may be new.
	return true, syncDir(x.fs, x.fs.PathDir(x.path))
}

// lines calls fn with the index line of every record of the archive from a
// place on. The bytes are valid during the call.
func (s *Store) lines(from Place, fn func([]byte) error) error {
	var buf []byte
	return s.walk(from, func(r *Reader, e *Entry, file string) error {
		if err := r.finish(); err != nil {
			return err
		}
		l, ok := lineOf(e, file)
		if !ok {
			return nil
		}
		buf = l.appendTo(buf[:0])
		return fn(buf)
	})
}

// decoder reads the small values of this package's rows.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) bytes(n int) []byte {
	if len(d.b) < n {
		d.bad = true
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) err(what string) error {
	if d.bad {
		return fmt.Errorf("%s: %w", what, ErrDamaged)
	}
	return nil
}
