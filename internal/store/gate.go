package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// failure is the first thing that went wrong for good. It is safe for
// concurrent use.
type failure struct {
	once sync.Once
	ch   chan struct{} // closed once err is set
	err  error
}

func newFailure() *failure { return &failure{ch: make(chan struct{})} }

func (f *failure) set(err error) error {
	f.once.Do(func() {
		f.err = full(err)
		close(f.ch)
	})
	<-f.ch
	return f.err
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

// full tells the user what to do about a full disk.
func full(err error) error {
	if err == nil || !isFull(err) || errors.Is(err, ErrFull) {
		return err
	}
	return fmt.Errorf("%w: %w", err, ErrFull)
}

// gate is the file system as Pebble sees it: one that never fails to write.
//
// Pebble cannot live with failing writes. A failed WAL sync ends in its
// Logger's Fatalf; a failed WAL rotation panics while a mutex is unlocked that
// a deferred call unlocks again, which no recover can catch; a failed flush is
// tried again without pause, and commits wait for it for ever. So the gate does
// not hand such an error on. It records it as the store's failure and parks the
// goroutine that met it, and from then on every goroutine that wants to write.
// Calls into Pebble that may write are made through [Store.call], which stops
// waiting when the failure is set.
//
// A parked Pebble is never closed: its goroutines, files and memory live until the
// process ends, which after a failed disk is soon. Its locks are released by
// unlock, so that the folder can be opened again even in the same process; what
// is parked will never write there.
type gate struct {
	vfs.FS
	fail     *failure
	readOnly bool

	mu    sync.Mutex
	locks []*held
}

func (g *gate) park() { select {} }

// enter is called before every write.
func (g *gate) enter() {
	if g.fail.get() != nil {
		g.park()
	}
}

// leave is called after every write with its error.
func (g *gate) leave(op, name string, err error) {
	if err != nil {
		g.fail.set(fmt.Errorf("%s %s: %w", op, name, cause(err)))
		g.park()
	}
}

// cause drops the repetition of operation and path in an os error.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (g *gate) file(f vfs.File, name string) vfs.File {
	return &gateFile{File: f, g: g, name: name}
}

// settle makes the folder durable before a marker in it is made or removed.
// Pebble points to its manifest with the name of an empty marker file, and
// syncs the folder only after it has made the new marker and removed the old
// one. A power cut in between may keep the marker and lose the file it names.
func (g *gate) settle(name string) {
	if strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		dir := g.FS.PathDir(name)
		g.leave("sync", dir, syncDir(g.FS, dir))
	}
}

func (g *gate) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	g.enter()
	g.settle(name)
	f, err := g.FS.Create(name, c)
	g.leave("create", name, err)
	return g.file(f, name), nil
}

func (g *gate) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	g.enter()
	f, err := g.FS.OpenReadWrite(name, c, o...)
	g.leave("open", name, err)
	return g.file(f, name), nil
}

func (g *gate) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return g.file(f, name), nil
}

func (g *gate) Link(from, to string) error {
	g.enter()
	g.leave("link", to, g.FS.Link(from, to))
	return nil
}

func (g *gate) Rename(from, to string) error {
	g.enter()
	g.leave("rename", to, g.FS.Rename(from, to))
	return nil
}

func (g *gate) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	g.enter()
	f, err := g.FS.ReuseForWrite(from, to, c)
	g.leave("reuse", to, err)
	return g.file(f, to), nil
}

func (g *gate) MkdirAll(name string, mode os.FileMode) error {
	g.enter()
	g.leave("mkdir", name, g.FS.MkdirAll(name, mode))
	return nil
}

// Remove and RemoveAll hand their errors on: Pebble expects files to be missing
// and tries again later.
func (g *gate) Remove(name string) error {
	g.enter()
	g.settle(name)
	return g.FS.Remove(name)
}

func (g *gate) RemoveAll(name string) error {
	g.enter()
	return g.FS.RemoveAll(name)
}

// Lock remembers the lock for unlock. To read, the folder's own lock is enough:
// Pebble knows none that readers could share.
func (g *gate) Lock(name string) (io.Closer, error) {
	if g.readOnly {
		return io.NopCloser(nil), nil
	}
	c, err := g.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	l := &held{end: c.Close}
	g.mu.Lock()
	g.locks = append(g.locks, l)
	g.mu.Unlock()
	return l, nil
}

// unlock releases every lock that is still held.
func (g *gate) unlock() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, l := range g.locks {
		errs = append(errs, l.Close())
	}
	g.locks = nil
	return errors.Join(errs...)
}

func (g *gate) Unwrap() vfs.FS { return g.FS }

type gateFile struct {
	vfs.File
	g    *gate
	name string
}

func (f *gateFile) Write(p []byte) (int, error) {
	f.g.enter()
	want := len(p)
	n, err := f.File.Write(p)
	f.g.leave("write", f.name, whole(n, want, err))
	return n, nil
}

func (f *gateFile) WriteAt(p []byte, off int64) (int, error) {
	f.g.enter()
	want := len(p)
	n, err := f.File.WriteAt(p, off)
	f.g.leave("write", f.name, whole(n, want, err))
	return n, nil
}

func (f *gateFile) Sync() error {
	f.g.enter()
	f.g.leave("sync", f.name, f.File.Sync())
	return nil
}

func (f *gateFile) SyncData() error {
	f.g.enter()
	f.g.leave("sync", f.name, f.File.SyncData())
	return nil
}

func (f *gateFile) SyncTo(n int64) (bool, error) {
	f.g.enter()
	full, err := f.File.SyncTo(n)
	f.g.leave("sync", f.name, err)
	return full, nil
}

func (f *gateFile) Close() error {
	f.g.leave("close", f.name, f.File.Close())
	return nil
}

// whole turns a short write that claims success into an error.
func whole(n, want int, err error) error {
	if err == nil && n < want {
		return io.ErrShortWrite
	}
	return err
}

// logger makes Pebble's fatal errors the store's failure. Pebble's other
// messages are about its own upkeep and go nowhere.
type logger struct{ g *gate }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

func (l logger) Fatalf(format string, args ...any) {
	l.g.fail.set(fmt.Errorf("state: "+format, args...))
	l.g.park()
}
