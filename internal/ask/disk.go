package ask

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is a flow.Writer in a folder that is gone when it is closed. Nothing in it need
// outlive the question, so nothing is synced. It is not safe for concurrent use.
//
// Pebble tries a flush that fails again and again, and has whoever writes wait for
// it. So rows are handed over to it no faster than it gets rid of them, and the
// waiting is done here, where it ends when something has failed.
type disk struct {
	db      *pebble.DB
	dir     string
	fail    failure
	room    int             // bytes until the next flush
	table   int             // bytes between flushes
	flushed <-chan struct{} // closed when the last flush is over; nil: there was none
}

// prefix begins the names of folders, behind a dot in the folder of a crawl.
const prefix = "weir-query-"

// rowCost is about what a row takes in memory besides its bytes.
const rowCost = 64

// newDisk makes the folder, in another one or, if that cannot be written to, where
// the system keeps such. Those that questions have left behind that were killed are
// removed.
func newDisk(fs vfs.FS, in string, memory int64) (*disk, error) {
	dir, err := "", error(nil)
	if in, err = filepath.Abs(cmp.Or(in, os.TempDir())); err == nil { // a process knows its own locks by their names
		sweep(fs, in, "."+prefix)
		dir, err = os.MkdirTemp(in, "."+prefix)
	}
	if err != nil {
		sweep(fs, os.TempDir(), prefix)
		dir, err = os.MkdirTemp("", prefix)
	}
	if err != nil {
		return nil, full(fmt.Errorf("work on disk: %w", err))
	}
	table := max(1<<20, min(64<<20, int(memory/8)))
	d := &disk{dir: dir, table: table / 2, room: table / 2}
	d.fail.ch = make(chan struct{})
	cache := pebble.NewCache(memory / 2)
	defer cache.Unref()
	d.db, err = pebble.Open(dir, &pebble.Options{
		FS: fs, Cache: cache, DisableWAL: true, MemTableSize: uint64(table), Logger: &d.fail,
		MemTableStopWritesThreshold: 1 << 20, L0StopWritesThreshold: 1 << 20, // see disk
		EventListener: &pebble.EventListener{BackgroundError: d.fail.set},
	})
	if err != nil {
		return nil, errors.Join(full(fmt.Errorf("work on disk: %w", err)), os.RemoveAll(dir))
	}
	return d, nil
}

// sweep removes the folders of questions that were killed: those whose lock nobody
// holds. One that was only just made has no lock yet.
func sweep(fs vfs.FS, in, prefix string) {
	names, _ := os.ReadDir(in) // a folder that cannot be read is not swept
	for _, n := range names {
		dir := filepath.Join(in, n.Name())
		lock := filepath.Join(dir, "LOCK")
		if _, err := os.Lstat(lock); err != nil || !strings.HasPrefix(n.Name(), prefix) {
			continue
		}
		if held, err := fs.Lock(lock); err == nil {
			held.Close()
			os.RemoveAll(dir) // what stays is met again
		}
	}
}

// Get implements flow.State.
func (d *disk) Get(key []byte) ([]byte, bool, error) {
	v, c, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	v = append([]byte{}, v...)
	return v, true, c.Close()
}

// Scan implements flow.State.
func (d *disk) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !fn(it.Key(), v) {
			break
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// Set implements flow.Writer.
func (d *disk) Set(key, value []byte) error {
	if err := d.pace(len(key) + len(value)); err != nil {
		return err
	}
	return d.db.Set(key, value, pebble.NoSync)
}

// Delete implements flow.Writer.
func (d *disk) Delete(key []byte) error {
	if err := d.pace(len(key)); err != nil {
		return err
	}
	return d.db.Delete(key, pebble.NoSync)
}

// pace makes room for a row. One flush may be under way while rows are collected
// for the next.
func (d *disk) pace(size int) error {
	if d.room -= size + rowCost; d.room > 0 {
		return d.fail.get()
	}
	d.room = d.table
	if d.flushed != nil {
		select {
		case <-d.flushed:
		case <-d.fail.ch:
		}
	}
	if err := d.fail.get(); err != nil {
		return err
	}
	var err error
	d.flushed, err = d.db.AsyncFlush()
	return err
}

func (d *disk) close() error {
	err := d.db.Close()
	if d.fail.get() != nil {
		err = nil // it follows from what was told
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// failure is the first thing that went wrong where Pebble writes, and its logger.
// It is safe for concurrent use.
type failure struct {
	once sync.Once
	ch   chan struct{} // closed once err is set
	err  error
}

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = full(fmt.Errorf("work on disk: %w", err))
		close(f.ch)
	})
}

// get returns nil as long as all is well.
func (f *failure) get() error {
	select {
	case <-f.ch:
		return f.err
	default:
		return nil
	}
}

// Infof implements pebble.Logger. It tells of Pebble's own upkeep.
func (*failure) Infof(string, ...any) {}

// Errorf implements pebble.Logger. What fails for good is an event too.
func (*failure) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger. It returns: Pebble then hands the error on, and
// nothing that it holds is asked for again.
func (f *failure) Fatalf(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			f.set(err)
		}
	}
	f.set(fmt.Errorf(format, args...))
}

// full tells the user what to do about a full disk.
func full(err error) error {
	if vfs.IsNoSpaceError(err) {
		return fmt.Errorf("%w: free space, or give the question more memory with --memory", err)
	}
	return err
}
