package ask

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
)

// disk is a flow.Writer in a folder that is gone when it is closed. Nothing in it need
// outlive the question, so nothing is synced.
type disk struct {
	db  *pebble.DB
	dir string
}

// newDisk makes the folder, in another one or, if that cannot be written to, where
// the system keeps such.
func newDisk(in string, memory int64) (*disk, error) {
	dir, err := os.MkdirTemp(in, ".weir-query-")
	if err != nil {
		dir, err = os.MkdirTemp("", "weir-query-")
	}
	if err != nil {
		return nil, fmt.Errorf("work on disk: %w", err)
	}
	cache := pebble.NewCache(memory / 2)
	defer cache.Unref()
	db, err := pebble.Open(dir, &pebble.Options{
		Cache: cache, DisableWAL: true, MemTableSize: uint64(min(64<<20, memory/8)), Logger: silent{},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("work on disk: %w", err), os.RemoveAll(dir))
	}
	return &disk{db, dir}, nil
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
func (d *disk) Set(key, value []byte) error { return d.db.Set(key, value, pebble.NoSync) }

// Delete implements flow.Writer.
func (d *disk) Delete(key []byte) error { return d.db.Delete(key, pebble.NoSync) }

func (d *disk) close() error { return errors.Join(d.db.Close(), os.RemoveAll(d.dir)) }

// silent is a logger that a person never sees. What fails is returned; a full
// disk ends the process, as nothing here can be saved.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Errorf("work on disk: "+format, args...))
}
