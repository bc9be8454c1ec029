package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A crawl folder has one process that writes, or any number that read: its LOCK
// file carries an exclusive or a shared lock of the system. Such locks belong to
// the process, and closing the file anywhere in it ends them all, so the process
// keeps one file for all its readers of a folder, and an account of who has what.
// Where there are no shared locks readers exclude one another.
var desk = struct {
	sync.Mutex
	writers map[string]bool
	readers map[string]*shared
}{writers: map[string]bool{}, readers: map[string]*shared{}}

// shared is the lock that all readers of a folder in this process have together.
type shared struct {
	n int
	c io.Closer
}

// held is a lock on a folder, until it is closed.
type held struct {
	once sync.Once
	end  func() error
}

func (h *held) Close() (err error) {
	h.once.Do(func() { err = h.end() })
	return err
}

// takeLock takes the folder for this process, to write alone or to read together
// with others. A folder that cannot be written to needs no lock to be read.
func (s *Store) takeLock() error {
	name := s.path(lockName)
	err := s.seize(name)
	switch {
	case err == nil, errors.Is(err, ErrInUse):
		return err
	case s.readOnly && isReadOnly(err):
		return nil
	case isPathError(err):
		return err
	}
	if vfs.Root(s.fs) == vfs.Default {
		if pid := holder(name); pid != 0 {
			return fmt.Errorf("%w (pid %d): wait for it to end or stop it", ErrInUse, pid)
		}
	}
	return fmt.Errorf("%w: wait for it to end or stop it", ErrInUse)
}

var errOwn = fmt.Errorf("%w: this process has it open", ErrInUse)

func (s *Store) seize(name string) error {
	if vfs.Root(s.fs) != vfs.Default {
		l, err := s.fs.Lock(name)
		if err != nil && strings.Contains(err.Error(), "current process") {
			return errOwn
		}
		s.lock = l
		return err
	}
	key := name
	if abs, err := filepath.Abs(name); err == nil {
		key = abs
	}
	desk.Lock()
	defer desk.Unlock()
	if desk.writers[key] {
		return errOwn
	}
	r := desk.readers[key]
	if !s.readOnly || !sharing {
		if r != nil {
			return errOwn
		}
		l, err := s.fs.Lock(name)
		if err != nil {
			return err
		}
		desk.writers[key] = true
		s.lock = &held{end: func() error {
			desk.Lock()
			defer desk.Unlock()
			delete(desk.writers, key)
			return l.Close()
		}}
		return nil
	}
	if r == nil {
		c, err := lockShared(name)
		if err != nil {
			return err
		}
		r = &shared{c: c}
		desk.readers[key] = r
	}
	r.n++
	s.lock = &held{end: func() error {
		desk.Lock()
		defer desk.Unlock()
		if r.n--; r.n > 0 {
			return nil
		}
		delete(desk.readers, key)
		return r.c.Close()
	}}
	return nil
}

func isPathError(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe)
}
