package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are the choices of one crawl folder. The zero value is a gzip archive
// on the real file system.
type Options struct {
	FS       vfs.FS      // nil: the real one. WARC, CDXJ and Pebble all go through it
	Form     Form        // must be the same every time
	MaxFile  int64       // a WARC file this long is followed by a new one; default 1 GB
	Info     [][2]string // fields of every warcinfo record: software, operator, robots, ...
	Cache    int64       // Pebble's block cache in bytes; default 64 MB
	Ordered  string      // first bytes of keys that are only scanned: a look-up of them may be slow
	ReadOnly bool        // change nothing, repair nothing; a folder on read-only media will do
}

// Store is one open crawl folder. Get, Scan, ReadRecord, Walk, End and FileName may
// be called from any goroutine; Begin, Finish and Close belong to the
// committer, and Close comes after all else.
type Store struct {
	fs       vfs.FS
	dir      string
	readOnly bool
	gate     *gate
	lock     io.Closer
	db       *pebble.DB
	sched    *scheduler
	fail     *failure // of the archive or the index; Pebble's is the gate's
	closed   bool

	arch  archive
	index index
	known known
	group *Group // the one begun and not yet committed
	notes notes  // of the one before

	mu    sync.RWMutex
	files []warcFile             // as committed
	dicts map[uint32]*dictionary // of files that were read

	readers sync.Pool // of *Reader, for the next record
}

// Rows of this package.
const (
	digestRow  = 'd'
	archiveRow = 'w'
)

var (
	metaKey  = []byte("wm")
	indexKey = []byte("wc")
)

func fileKey(n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte("wf"), n)
}

const (
	version    = 2
	stateDir   = "state"
	warcDir    = "warc"
	indexName  = "index.cdxj"
	lockName   = "lock"
	sortedName = indexName + ".sorted"
	runName    = indexName + ".run"
)

// Create makes a crawl folder and opens it. The folder may exist and hold other
// files. A folder whose making was cut short is made again; one that holds a
// crawl is ErrExists.
func Create(dir string, o Options) (*Store, error) {
	s := newStore(dir, o)
	if err := s.create(o); err != nil {
		s.abandon()
		return nil, fmt.Errorf("create crawl folder %s: %w", dir, full(err))
	}
	return s, nil
}

// Open opens a crawl folder and puts right what a crash may have left. It
// returns ErrNotCrawl for any other folder and ErrInUse for one that a process,
// this one included, has open.
func Open(dir string, o Options) (*Store, error) {
	s := newStore(dir, o)
	if err := s.open(o); err != nil {
		s.abandon()
		return nil, fmt.Errorf("crawl folder %s: %w", dir, full(err))
	}
	return s, nil
}

// Free returns ErrInUse for a crawl folder that a process has open, and nil for
// one that could be opened, as far as that goes.
func Free(dir string) error {
	s := newStore(dir, Options{})
	if _, err := s.fs.Stat(s.path(lockName)); err != nil {
		return nil
	}
	defer s.abandon()
	if err := s.takeLock(); errors.Is(err, ErrInUse) {
		return fmt.Errorf("crawl folder %s: %w", dir, err)
	}
	return nil
}

func newStore(dir string, o Options) *Store {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.MaxFile <= 0 {
		o.MaxFile = 1e9
	}
	s := &Store{fs: o.FS, dir: dir, readOnly: o.ReadOnly, fail: newFailure()}
	s.gate = &gate{FS: o.FS, fail: newFailure(), readOnly: o.ReadOnly}
	s.arch.fs, s.arch.dir, s.arch.max, s.arch.info = o.FS, s.path(warcDir), o.MaxFile, o.Info
	s.index = index{fs: o.FS, path: s.path(indexName)}
	return s
}

func (s *Store) path(name string) string { return s.fs.PathJoin(s.dir, name) }

func (s *Store) create(o Options) error {
	if o.ReadOnly {
		return errors.New("a new crawl cannot be read-only")
	}
	if err := mkdirs(s.fs, s.dir); err != nil {
		return err
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	if err := s.fs.MkdirAll(s.path(warcDir), 0o755); err != nil {
		return err
	}
	if err := s.fs.MkdirAll(s.path(stateDir), 0o755); err != nil {
		return err
	}
	if err := s.openState(o); err != nil {
		return err
	}
	if _, ok, err := s.Get(metaKey); err != nil || ok {
		if ok {
			err = ErrExists
		}
		return err
	}
	if err := s.arch.vacant(); err != nil {
		return err
	}
	if err := s.index.create(); err != nil {
		return err
	}
	if err := syncDir(s.fs, s.dir); err != nil {
		return err
	}
	err := s.call(func() error {
		return s.db.Set(metaKey, []byte{version, byte(o.Form)}, pebble.Sync)
	})
	if err != nil {
		return err
	}
	if err := s.load(o); err != nil {
		return err
	}
	s.known.start(s, true)
	return nil
}

func (s *Store) open(o Options) error {
	if _, err := s.fs.Stat(s.path(stateDir)); err != nil {
		if errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "not a directory") {
			return ErrNotCrawl
		}
		return err
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	desc, err := pebble.Peek(s.path(stateDir), s.fs)
	if err != nil {
		return err
	}
	if !desc.Exists {
		return ErrNotCrawl
	}
	if err := s.openState(o); err != nil {
		return err
	}
	if err := s.load(o); err != nil {
		return err
	}
	if !o.ReadOnly {
		s.known.start(s, false)
	}
	return nil
}

// mkdirs makes dir and its parents so that they stay.
func mkdirs(fsys vfs.FS, dir string) error {
	var made []string
	for d := dir; ; {
		_, err := fsys.Stat(d)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		up := fsys.PathDir(d)
		if up == d {
			break
		}
		made = append(made, up)
		d = up
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range slices.Backward(made) {
		if err := syncDir(fsys, d); err != nil {
			return err
		}
	}
	return nil
}

// openState opens Pebble.
func (s *Store) openState(o Options) error {
	if o.Cache <= 0 {
		o.Cache = 64 << 20
	}
	cache := pebble.NewCache(o.Cache)
	defer cache.Unref()
	opts := &pebble.Options{
		FS:                 s.gate,
		Cache:              cache,
		ReadOnly:           o.ReadOnly,
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       16 << 20,
		// Pebble's own is 4. Rows are written all over the key space, so every
		// compaction of the first level rewrites most of the second, and fewer of
		// them cost less: at six million URLs two fifths less was written to the
		// lower levels than with 8, and a page took 95 us of CPU instead of 100, for
		// less than 1 B a URL more. Filters keep the look-ups cheap.
		L0CompactionThreshold: 14,
		// With one compaction at a time beside a busy crawl these may wait a while;
		// a commit must not wait for them. So it lies well above the threshold.
		L0StopWritesThreshold:       40,
		MemTableStopWritesThreshold: 4,
		Logger:                      logger{s.gate},
		EventListener: &pebble.EventListener{
			// The read that found it returns an error of its own.
			DataCorruption: func(pebble.DataCorruptionInfo) {},
		},
	}
	// Queues are deleted from their heads and read from a cursor, so nobody walks
	// over the tombstones that these compactions would clear away early.
	opts.Experimental.TombstoneDenseCompactionThreshold = -1
	s.sched = newScheduler()
	opts.Experimental.CompactionScheduler = s.sched
	filter := newLookups(o.Ordered)
	// For the deep levels zstd of level 1: it takes a twelfth less of a commit's CPU
	// than level 3, for a byte a URL more. Pebble's own profile would give up on
	// rows that are mostly hashes, which costs two bytes.
	lower := *sstable.BalancedCompression
	lower.AdaptiveReductionCutoffPercent = 0
	for i := range opts.Levels {
		l := &opts.Levels[i]
		// A link whose row is not in the cache costs the reading of a block. With 32 KB
		// it cost a quarter more at three million URLs and a cache of 25 MB, for 0.9 B
		// a URL less; with 8 KB a fifth less, for 1.1 B more.
		l.BlockSize = 16 << 10
		l.FilterPolicy = filter
		profile := sstable.SnappyCompression
		if i >= len(opts.Levels)-2 {
			profile = &lower
		}
		l.Compression = func() *sstable.CompressionProfile { return profile }
	}
	// The closure must not touch s after a failure: call may have given up on it.
	opened := make(chan *pebble.DB, 1)
	err := s.call(func() error {
		db, err := pebble.Open(s.gate.PathJoin(s.dir, stateDir), opts)
		opened <- db
		return err
	})
	if err != nil {
		return err
	}
	s.db = <-opened
	s.sched.begin()
	return nil
}

// load reads this package's rows and makes archive and index equal to them.
func (s *Store) load(o Options) error {
	meta, ok, err := s.Get(metaKey)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: its making was cut short", ErrNotCrawl)
	}
	if len(meta) != 2 || meta[0] != version {
		return fmt.Errorf("made by another version of weir (format %x)", meta)
	}
	s.arch.form = Form(meta[1])
	if !o.ReadOnly {
		if o.Form != s.arch.form {
			return fmt.Errorf("its archive is %s, not %s", s.arch.form, o.Form)
		}
		s.arch.enc = NewEncoder(s.arch.form, 0)
	}
	var bad error
	err = s.Scan(fileKey(0), fileKey(1<<32-1), func(_, v []byte) bool {
		d := decoder{b: v}
		length := int64(d.uvarint())
		if bad = d.err("archive row"); bad != nil {
			return false
		}
		s.arch.files = append(s.arch.files, warcFile{name: string(d.b), length: length})
		return true
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	s.publish()
	if v, ok, err := s.Get(indexKey); err != nil {
		return err
	} else if ok {
		if err := s.index.mark.decode(v); err != nil {
			return err
		}
	}
	if o.ReadOnly || s.arch.form == None {
		return nil
	}
	if err := s.arch.restore(); err != nil {
		return err
	}
	if err := s.arch.recallDict(); err != nil {
		return err
	}
	if err := s.index.clean(); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	changed, err := s.repair()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if changed {
		return s.saveMark()
	}
	return nil
}

func (s *Store) saveMark() error {
	v := s.index.mark.encode()
	return s.call(func() error { return s.db.Set(indexKey, v, pebble.Sync) })
}

// call runs something that may make Pebble write, and stops waiting for it when
// the gate has shut.
func (s *Store) call(fn func() error) error {
	if err := s.gate.fail.get(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		if err == nil {
			err = s.gate.fail.get()
		}
		return err
	case <-s.gate.fail.ch:
		return s.gate.fail.err
	}
}

// Err returns what made the store unusable, or nil.
func (s *Store) Err() error {
	if err := s.fail.get(); err != nil {
		return err
	}
	if err := s.gate.fail.get(); err != nil {
		return err
	}
	if s.closed {
		return ErrClosed
	}
	return nil
}

// Form returns the form of the archive.
func (s *Store) Form() Form { return s.arch.form }

// Close saves everything and lets go of the folder. After a failure it only
// lets go, and returns the failure.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	s.known.close(s.gate.fail.ch)
	failed := s.Err()
	err := failed
	if err == nil && !s.readOnly {
		err = s.save()
	}
	s.closed = true
	return errors.Join(err, s.release(failed != nil))
}

func (s *Store) save() error {
	if s.arch.form != None && s.index.mark.synced != s.index.mark.length {
		if err := s.index.sync(s.End()); err != nil {
			return s.fail.set(fmt.Errorf("index: %w", err))
		}
		if err := s.saveMark(); err != nil {
			return err
		}
	}
	// Without this the next start would read the log again.
	return s.call(s.db.Flush)
}

// abandon is Close for a store that was never handed out.
func (s *Store) abandon() {
	s.known.close(s.gate.fail.ch)
	s.closed = true
	s.release(true)
}

// release lets go of all files and locks. Errors of a store that has failed say
// nothing new.
func (s *Store) release(failed bool) error {
	errs := []error{s.arch.close(), s.index.close()}
	if s.db != nil {
		errs = append(errs, s.call(s.db.Close))
	}
	errs = append(errs, s.gate.unlock())
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if failed {
		return nil
	}
	return full(errors.Join(errs...))
}

// publish shows readers the files as they are now committed.
func (s *Store) publish() {
	s.mu.Lock()
	s.files = append(s.files[:0:0], s.arch.files...)
	s.mu.Unlock()
}

// committed returns the files readers may look at.
func (s *Store) committed() []warcFile {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.files
}

// End returns the end of the committed archive; what is committed later comes
// after it.
func (s *Store) End() Place {
	files := s.committed()
	if len(files) == 0 {
		return Place{}
	}
	return Place{File: uint32(len(files)), Offset: files[len(files)-1].length}
}

// FileName returns the name of a WARC file in the folder warc, or nothing.
func (s *Store) FileName(file uint32) string {
	files := s.committed()
	if file == 0 || int(file) > len(files) {
		return ""
	}
	return files[file-1].name
}
