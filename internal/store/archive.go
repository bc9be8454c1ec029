package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Place is where a record stands in the archive: its member's first byte and
// compressed length. The zero Place means not archived.
type Place struct {
	File   uint32 // from 1
	Offset int64
	Length int64
}

// archive appends to the WARC files of one crawl. Only the committer uses it.
// What it writes is durable after sync, and counts once a batch has recorded
// the new lengths.
type archive struct {
	fs    vfs.FS
	dir   string
	form  Form
	max   int64
	info  [][2]string
	enc   *Encoder                   // for warcinfo and revisit records
	dict  *dictionary                // of the current file
	next  *dictionary                // of the one that follows, when it is another
	train trainer                    // of next
	share atomic.Pointer[dictionary] // what Encoders use: dict, or next once it is decided

	files []warcFile // all that a batch has named, and those of this group
	cur   vfs.File   // the last of files, nil until it is needed
	pos   int64      // its length with what is still in buf
	buf   []byte
	old   []vfs.File // filled files of this group, written but not synced
	dirty []uint32   // files of this group
}

type warcFile struct {
	name   string
	length int64
}

const (
	openSuffix = ".open"
	bufferSize = 256 << 10
)

// name makes the name of the n-th file: weir-20260102030405-00001.warc.gz.
func (a *archive) name(n int, at time.Time) string {
	return fmt.Sprintf("weir-%s-%05d%s", at.UTC().Format("20060102150405"), n, a.form.suffix())
}

// serial returns the number in a name that this package made, temporary or not.
func serial(name string) (int, bool) {
	name = strings.TrimSuffix(name, openSuffix)
	for _, f := range []Form{Gzip, Zstd} {
		base, ok := strings.CutSuffix(name, f.suffix())
		if !ok {
			continue
		}
		parts := strings.Split(base, "-")
		if len(parts) != 3 || parts[0] != "weir" || len(parts[1]) != 14 {
			return 0, false
		}
		n, err := strconv.Atoi(parts[2])
		return n, err == nil && n > 0
	}
	return 0, false
}

func (a *archive) path(name string) string { return a.fs.PathJoin(a.dir, name) }

// vacant refuses a folder with archive files that no state knows: restore would
// take them for leftovers. A creation that was cut short has none.
func (a *archive) vacant() error {
	names, err := a.fs.List(a.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := serial(name); ok {
			return fmt.Errorf("%s of an earlier crawl is there, its state is not: move it away or use another folder: %w", name, ErrExists)
		}
	}
	return nil
}

// restore makes the folder equal to what the state says of it.
func (a *archive) restore() error {
	for _, f := range a.files {
		info, err := a.fs.Stat(a.path(f.name))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("archive file %s is missing: %w", f.name, ErrDamaged)
			}
			return fmt.Errorf("archive: %w", err)
		}
		switch {
		case info.Size() < f.length:
			return fmt.Errorf("archive file %s holds %d bytes of %d: %w", f.name, info.Size(), f.length, ErrDamaged)
		case info.Size() > f.length:
			if err := cut(a.fs, a.path(f.name), f.length); err != nil {
				return fmt.Errorf("archive: cut %s: %w", f.name, err)
			}
		}
	}
	names, err := a.fs.List(a.dir)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	removed := false
	for _, name := range names {
		// Only what a crash can have left behind: numbers not yet committed.
		if n, ok := serial(name); ok && (n > len(a.files) || strings.HasSuffix(name, openSuffix)) {
			if err := a.fs.Remove(a.path(name)); err != nil {
				return fmt.Errorf("archive: remove %s: %w", name, err)
			}
			removed = true
		}
	}
	if removed {
		return syncDir(a.fs, a.dir)
	}
	return nil
}

// start makes sure that there is a file with room.
func (a *archive) start(at time.Time) error {
	if a.next != a.dict {
		return a.rotate(at)
	}
	if n := len(a.files); a.cur == nil && n > 0 && a.files[n-1].length < a.max {
		f, err := a.fs.OpenReadWrite(a.path(a.files[n-1].name), vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		a.cur, a.pos = f, a.files[n-1].length
		a.dirty = append(a.dirty, uint32(n))
		return nil
	}
	if a.cur != nil && a.pos < a.max {
		if n := uint32(len(a.files)); len(a.dirty) == 0 || a.dirty[len(a.dirty)-1] != n {
			a.dirty = append(a.dirty, n)
		}
		return nil
	}
	return a.rotate(at)
}

// rotate begins a file: its warcinfo record is durable under the final name
// before anyone refers to it.
func (a *archive) rotate(at time.Time) error {
	if a.cur != nil {
		if err := a.flush(); err != nil {
			return err
		}
		a.files[len(a.files)-1].length = a.pos
		a.old = append(a.old, a.cur)
		a.cur = nil
	}
	name := a.name(len(a.files)+1, at)
	var s spool
	defer s.release()
	if a.next != nil {
		frame, err := a.next.frame()
		if err != nil {
			return err
		}
		if _, err := s.Write(frame); err != nil {
			return err
		}
	}
	a.useNext()
	if err := a.enc.warcinfo(&s, name, at, a.info); err != nil {
		return err
	}
	tmp := a.path(name + openSuffix)
	if err := writeFile(a.fs, tmp, func(w io.Writer) error { return s.copyTo(w, 0, s.size) }); err != nil {
		return err
	}
	if err := a.fs.Rename(tmp, a.path(name)); err != nil {
		return err
	}
	if err := syncDir(a.fs, a.dir); err != nil {
		return err
	}
	f, err := a.fs.OpenReadWrite(a.path(name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	a.files = append(a.files, warcFile{name: name, length: s.size})
	a.cur, a.pos = f, s.size
	a.dirty = append(a.dirty, uint32(len(a.files)))
	return nil
}

// append writes a record, its response as a revisit when o is not nil, and
// returns the place of that one.
func (a *archive) append(r *Record, o *origin) (Place, error) {
	if err := a.start(r.at); err != nil {
		return Place{}, err
	}
	if err := a.copy(r, 0, r.request); err != nil {
		return Place{}, err
	}
	p := Place{File: uint32(len(a.files)), Offset: a.pos}
	if o == nil {
		if err := a.copy(r, r.request, r.response); err != nil {
			return Place{}, err
		}
	} else if err := a.enc.revisit(a, r, o, a.files[o.place.File-1].name); err != nil {
		return Place{}, err
	}
	p.Length = a.pos - p.Offset
	return p, a.copy(r, r.request+r.response, r.metadata)
}

// copy writes a member of a record. One that was compressed before the current
// file's dictionary was decided is compressed again: all frames of a file use the
// same, for a decoder that was told of one uses it for all.
func (a *archive) copy(r *Record, off, n int64) error {
	if r.dict == a.dict || n == 0 {
		return r.out.copyTo(a, off, n)
	}
	z, err := r.dict.decoder()
	if err != nil {
		return err
	}
	defer z.Close()
	var member bytes.Buffer
	if err := r.out.copyTo(&member, off, n); err != nil {
		return err
	}
	if err := z.Reset(&member); err != nil {
		return err
	}
	w := a.enc.library()
	w.Reset(a)
	if _, err := io.Copy(w, z); err != nil {
		return err
	}
	return w.Close()
}

// useNext makes the file that is being begun, or was found, use a.next.
func (a *archive) useNext() {
	a.dict = a.next
	if a.enc.dict != a.dict {
		a.enc.use(a.dict)
	}
	a.share.Store(a.dict)
}

// teach lets a dictionary be made from the first records, once. The file after
// the current one, begun with the next record, has it.
func (a *archive) teach(r *Record) error {
	if a.form != Zstd || a.train.over {
		return nil
	}
	if err := a.train.add(r); err != nil {
		return err
	}
	if a.train.full() {
		a.next = a.train.train()
		a.train.close()
		a.share.Store(a.next)
	}
	return nil
}

// recallDict takes the dictionary over from the last file.
func (a *archive) recallDict() error {
	if a.form != Zstd || len(a.files) == 0 {
		return nil
	}
	last := a.files[len(a.files)-1]
	d, err := a.readDict(last)
	if err != nil {
		return fmt.Errorf("archive file %s: %w", last.name, err)
	}
	if d != nil {
		a.train.close()
	}
	a.next = d
	a.useNext()
	return nil
}

// readDict reads the dictionary of a file, nil when it has none.
func (a *archive) readDict(f warcFile) (*dictionary, error) {
	v, err := a.fs.Open(a.path(f.name))
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return readDictionary(io.NewSectionReader(v, 0, f.length))
}

// Write buffers p at the end of the current file.
func (a *archive) Write(p []byte) (int, error) {
	if len(a.buf)+len(p) > bufferSize {
		if err := a.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) > bufferSize {
		if err := writeAt(a.cur, p, a.pos); err != nil {
			return 0, err
		}
	} else {
		a.buf = append(a.buf, p...)
	}
	a.pos += int64(len(p))
	return len(p), nil
}

func (a *archive) flush() error {
	err := writeAt(a.cur, a.buf, a.pos-int64(len(a.buf)))
	a.buf = a.buf[:0]
	return err
}

// sync makes all that was appended durable and returns the files it is in.
func (a *archive) sync() ([]uint32, error) {
	if len(a.dirty) == 0 {
		return nil, nil
	}
	for len(a.old) > 0 {
		f := a.old[0]
		a.old = a.old[1:]
		if err := errors.Join(f.SyncData(), f.Close()); err != nil {
			return nil, err
		}
	}
	if err := a.flush(); err != nil {
		return nil, err
	}
	if err := a.cur.SyncData(); err != nil {
		return nil, err
	}
	a.files[len(a.files)-1].length = a.pos
	dirty := a.dirty
	a.dirty = nil
	return dirty, nil
}

func (a *archive) close() error {
	var errs []error
	for _, f := range a.old {
		errs = append(errs, f.Close())
	}
	if a.cur != nil {
		errs = append(errs, a.cur.Close())
	}
	a.old, a.cur = nil, nil
	a.train.close()
	return errors.Join(errs...)
}

// writeAt writes all of p. The file may change p, which is why callers hand
// over what they need no more.
func writeAt(f vfs.File, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	want := len(p)
	n, err := f.WriteAt(p, off)
	return whole(n, want, err)
}

// writeFile makes a file durable under a name that nothing refers to yet.
func writeFile(fsys vfs.FS, name string, fill func(io.Writer) error) error {
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Sync(), f.Close())
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// cut shortens a file. A vfs.FS cannot truncate; where it stands for the real
// file system that one is asked, elsewhere the file is copied.
func cut(fsys vfs.FS, name string, length int64) error {
	if vfs.Root(fsys) == vfs.Default {
		if err := os.Truncate(name, length); err != nil {
			return err
		}
		f, err := fsys.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	}
	from, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	tmp := name + openSuffix
	err = writeFile(fsys, tmp, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(from, 0, length))
		return err
	})
	if err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(name))
}
