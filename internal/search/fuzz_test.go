package search

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A segment may hold anything, also with the right checksums: reading it ends,
// and says that it is damaged if it cannot be read.
func FuzzSegment(f *testing.F) {
	s := library(f)
	fs := vfs.NewMem()
	s.index(f, fs, 0).Close()
	_, whole := segmentOf(f, fs)
	f.Add(whole)
	fs = vfs.NewMem()
	many(f, 80).index(f, fs, 0).Close()
	_, whole = segmentOf(f, fs)
	f.Add(whole)
	q, err := Parse("solar panel -wind host:example.org")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := openSegment("x", bytes.NewReader(b), int64(len(b)), true)
		if err == nil {
			err = g.check()
		}
		if err == nil {
			x := &Index{segs: []*segment{g}}
			_, err = x.Search(t.Context(), q, 3, nil)
			if err == nil {
				_, err = x.Suggest("sloar")
			}
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	})
}
