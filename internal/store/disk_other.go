//go:build !unix

package store

import (
	"errors"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func isFull(err error) bool { return vfs.IsNoSpaceError(err) }

func isReadOnly(err error) bool { return isPathError(err) && errors.Is(err, fs.ErrPermission) }

func holder(string) int { return 0 }

const sharing = false

func lockShared(string) (io.Closer, error) { return nil, errors.ErrUnsupported }
