package store

import (
	"crypto/sha1"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func sumOf(i int) [16]byte {
	sum := sha1.Sum(fmt.Append(nil, i))
	return [16]byte(sum[:16])
}

func TestSieve(t *testing.T) {
	const n = 400_000 // three layers
	var s sieve
	if s.maybe(sumOf(0)) {
		t.Error("something is in an empty sieve")
	}
	for i := range n {
		s.add(sumOf(i))
	}
	for i := range n {
		if !s.maybe(sumOf(i)) {
			t.Fatalf("key %d is lost", i)
		}
	}
	wrong := 0
	for i := range n {
		if s.maybe(sumOf(-1 - i)) {
			wrong++
		}
	}
	if wrong > n/50 {
		t.Errorf("%d of %d keys pass that were never added", wrong, n)
	}
	if len(s.layers) != 3 {
		t.Errorf("%d layers", len(s.layers))
	}
}

// TestKnownAfterRestart sees repeated payloads recognised before, while and
// after the rows of an earlier run are read.
func TestKnownAfterRestart(t *testing.T) {
	o := Options{FS: vfs.NewMem(), Form: None}
	s, err := Create("crawl", o)
	must(t, err)
	enc := NewEncoder(None, 0)
	page := func(i int) *Exchange {
		return exchange(fmt.Sprintf("http://example.org/%d", i), fmt.Sprint("page ", i))
	}
	for run := range 3 {
		g := s.Begin()
		for i := range 3000 {
			if _, again := put(t, g, enc, page(i)); again != (run > 0) {
				t.Fatalf("run %d, page %d: revisit %v", run, i, again)
			}
			if run == 1 && i == 1500 {
				<-s.known.done
			}
		}
		_, again := put(t, g, enc, page(10_000+run))
		if again {
			t.Errorf("run %d: a new page was taken for a revisit", run)
		}
		must(t, g.Commit())
		g = s.Begin()
		if _, again := put(t, g, enc, page(10_000+run)); !again {
			t.Errorf("run %d: a page of the group before is not known", run)
		}
		must(t, g.Commit())
		<-s.known.done
		missed := 0
		for i := range 1000 {
			if s.known.maybe(sumOf(i)) {
				missed++
			}
		}
		if missed > 20 {
			t.Errorf("run %d: %d of 1000 new payloads would be looked up", run, missed)
		}
		must(t, s.Close())
		s, err = Open("crawl", o)
		must(t, err)
	}
	must(t, s.Close())
}
