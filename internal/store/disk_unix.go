//go:build unix

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// isFull says whether the disk, or the user's share of it, is used up.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// isReadOnly says whether a file could not be made for want of permission.
func isReadOnly(err error) bool {
	return errors.Is(err, unix.EROFS) || isPathError(err) && errors.Is(err, fs.ErrPermission)
}

// holder returns the process that holds the lock file, or 0. It must not be
// called by that process: closing the file would end its lock.
func holder(name string) int {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l) != nil || l.Type == unix.F_UNLCK {
		return 0
	}
	return int(l.Pid)
}

// sharing says that readers of a folder can share its lock.
const sharing = true

// lockShared locks a file against writers in other processes, and makes it if it
// is not there. The process must have no other lock on it.
func lockShared(name string) (io.Closer, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, err
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return f, nil
}
