package store

import (
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// lookups is a Bloom filter of the keys that are looked up one by one. Rows that
// are only read in their order are left out: queues and texts are more than half
// of all, and filters that do not fit the cache cost more than they spare.
type lookups struct {
	pebble.FilterPolicy
	ordered string // first bytes of the keys that are left out
}

func newLookups(ordered string) lookups {
	return lookups{bloom.FilterPolicy(10), ordered}
}

// Name implements pebble.FilterPolicy. A table that was written with other rows
// left out has another filter, which is then not used.
func (l lookups) Name() string { return "weir.lookups." + l.ordered }

func (l lookups) left(key []byte) bool {
	return len(key) > 0 && strings.IndexByte(l.ordered, key[0]) >= 0
}

// MayContain implements pebble.FilterPolicy.
func (l lookups) MayContain(t pebble.FilterType, filter, key []byte) bool {
	return l.left(key) || l.FilterPolicy.MayContain(t, filter, key)
}

// NewWriter implements pebble.FilterPolicy.
func (l lookups) NewWriter(t pebble.FilterType) pebble.FilterWriter {
	return lookupWriter{l.FilterPolicy.NewWriter(t), l}
}

type lookupWriter struct {
	pebble.FilterWriter
	l lookups
}

// AddKey implements pebble.FilterWriter.
func (w lookupWriter) AddKey(key []byte) {
	if !w.l.left(key) {
		w.FilterWriter.AddKey(key)
	}
}
