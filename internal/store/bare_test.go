package store

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The archive of a crawl that goes on can be read, whoever has its folder.
func TestArchiveInUse(t *testing.T) {
	for _, form := range []Form{Gzip, Zstd} {
		fs := vfs.NewMem()
		o := Options{FS: fs, Form: form, MaxFile: 2000, Info: info}
		s, err := Create("crawl", o)
		must(t, err)
		enc := NewEncoder(form, 0)
		var places []Place
		for i := range 20 {
			g := s.Begin()
			p, again := put(t, g, enc, exchange(fmt.Sprintf("http://example.org/%d", i), fmt.Sprint("page ", i%15)))
			if again != (i >= 15) {
				t.Errorf("page %d: revisit is %v", i, again)
			}
			places = append(places, p)
			must(t, g.Commit())
		}
		a, err := OpenArchive("crawl", Options{FS: fs})
		must(t, err)
		for i, p := range places {
			e, err := a.ReadRecord(p)
			must(t, err)
			r, err := e.Decoded(1000)
			must(t, err)
			b, err := io.ReadAll(r)
			must(t, err)
			if want := fmt.Sprint("page ", i%15); string(b) != want || e.URI != fmt.Sprintf("http://example.org/%d", i) {
				t.Errorf("%s: %q, want %q", e.URI, b, want)
			}
			must(t, e.Close())
		}
		if a.FileName(1) != s.FileName(1) {
			t.Errorf("file 1 is %s", a.FileName(1))
		}
		must(t, s.Close())
	}
	if _, err := OpenArchive("nowhere", Options{FS: vfs.NewMem()}); !errors.Is(err, ErrNotCrawl) {
		t.Error(err)
	}
}
