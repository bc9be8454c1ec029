package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Get returns a copy of the committed value of key.
func (s *Store) Get(key []byte) (value []byte, ok bool, err error) {
	if err := s.Err(); err != nil {
		return nil, false, err
	}
	return get(s.db, key)
}

// Find calls fn with the committed values of those of the keys that are there,
// and their place among them. Keys must be in order: neighbours then share what
// is read. The value is valid during the call only.
func (s *Store) Find(keys [][]byte, fn func(i int, value []byte)) error {
	if err := s.Err(); err != nil {
		return err
	}
	return seek(s.db, keys, fn)
}

// Scan calls fn with the committed rows from lower up to but not including
// upper, in order, until fn returns false. A nil bound is none. It sees the rows
// as they were when it began; key and value are valid during the call only.
func (s *Store) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	if err := s.Err(); err != nil {
		return err
	}
	return scan(s.db, lower, upper, fn)
}

// Snapshot is the state as it was at one moment, while the store goes on. It is
// safe for concurrent use, and closed before the store is.
type Snapshot struct {
	store *Store
	state *pebble.Snapshot
}

// Snapshot returns the state as it is committed now.
func (s *Store) Snapshot() (*Snapshot, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	return &Snapshot{s, s.db.NewSnapshot()}, nil
}

// Get is that of the Store.
func (s *Snapshot) Get(key []byte) (value []byte, ok bool, err error) {
	if err := s.store.Err(); err != nil {
		return nil, false, err
	}
	return get(s.state, key)
}

// Find is that of the Store.
func (s *Snapshot) Find(keys [][]byte, fn func(i int, value []byte)) error {
	if err := s.store.Err(); err != nil {
		return err
	}
	return seek(s.state, keys, fn)
}

// Scan is that of the Store.
func (s *Snapshot) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	if err := s.store.Err(); err != nil {
		return err
	}
	return scan(s.state, lower, upper, fn)
}

// Close lets the store forget what only the snapshot sees.
func (s *Snapshot) Close() error { return s.state.Close() }

func get(r pebble.Reader, key []byte) (value []byte, ok bool, err error) {
	v, c, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("state: read: %w", err)
	}
	value = slices.Clone(v)
	if value == nil {
		value = []byte{}
	}
	return value, true, c.Close()
}

func seek(r pebble.Reader, keys [][]byte, fn func(i int, value []byte)) error {
	it, err := r.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return fmt.Errorf("state: find: %w", err)
	}
	for i, key := range keys {
		var v []byte
		found := it.SeekPrefixGE(key)
		err := it.Error() // the next seek would forget it
		if found && err == nil {
			v, err = it.ValueAndErr()
		}
		if err != nil {
			return fmt.Errorf("state: find: %w", errors.Join(err, it.Close()))
		}
		if found {
			fn(i, v)
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("state: find: %w", err)
	}
	return nil
}

func scan(r pebble.Reader, lower, upper []byte, fn func(key, value []byte) bool) error {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("state: scan: %w", err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			it.Close()
			return fmt.Errorf("state: scan: %w", err)
		}
		if !fn(it.Key(), v) {
			break
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return fmt.Errorf("state: scan: %w", err)
	}
	return nil
}
