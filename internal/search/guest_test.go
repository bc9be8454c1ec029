package search

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A crawl that was killed, and goes on, does not index what it had not by then: a guest
// does so beside it, and neither takes anything from the other.
func TestGuestFillsHoles(t *testing.T) {
	s := many(t, 60)
	want := answers(t, s.index(t, vfs.NewMem(), 0), s)
	fs := vfs.NewMem()
	l := live(t, fs, 8000, Point{})
	s.feed(l, 0, 20)
	if err := l.Close(); err != nil { // what came then until it was killed is lost
		t.Fatal(err)
	}
	began := End(s.pages[29].Place)
	l = live(t, fs, 8000, began)
	s.feed(l, 30, 50)
	guest := func(end Point) {
		x, err := Open("crawl", Options{FS: fs, Crawl: crawlID, Memory: 8000, Guest: true})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		missing, err := x.Missing(end)
		if err != nil {
			t.Fatal(err)
		}
		s.reads = 0
		if err := x.Fill(t.Context(), s, Holes(missing, end, began, end)); err != nil {
			t.Fatal(err)
		}
	}
	half := fs.PathJoin("crawl", Folder, "half"+openSuffix) // that the crawl is writing
	if f, err := fs.Create(half, vfs.WriteCategoryUnspecified); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if guest(End(s.pages[49].Place)); s.reads != 10 {
		t.Errorf("the guest has read %d pages", s.reads)
	}
	if guest(End(s.pages[49].Place)); s.reads != 0 {
		t.Errorf("the guest has read %d pages once more", s.reads)
	}
	if _, err := fs.Stat(half); err != nil {
		t.Errorf("the guest has taken what is being written: %v", err)
	}
	s.feed(l, 50, len(s.pages))
	s.whole(t, l, fs, want)
}

func TestHoles(t *testing.T) {
	at := func(n int64) Point { return Point{1, n} }
	gap := func(from, to int64) Range { return Range{at(from), at(to)} }
	for _, c := range []struct {
		what              string
		gaps              []Range
		end, began, known int64
		want              []Range
	}{
		{"all is there", nil, 9, 5, 9, nil},
		{"it has the end in memory", []Range{gap(7, 9)}, 9, 5, 9, nil},
		{"it was killed", []Range{gap(3, 9)}, 9, 5, 9, []Range{gap(3, 5)}},
		{"it was killed, and has crawled nothing since", []Range{gap(3, 9)}, 9, 9, 9, []Range{gap(3, 9)}},
		{"it was killed before what it has now", []Range{gap(3, 5), gap(8, 9)}, 9, 5, 9, []Range{gap(3, 5)}},
		{"it had no room", []Range{gap(6, 7), gap(8, 9)}, 9, 5, 9, []Range{gap(6, 7)}},
		{"who asks does not know of all that yet", []Range{gap(6, 8), gap(8, 9)}, 9, 5, 7, []Range{gap(6, 7)}},
		{"nor of anything", []Range{gap(6, 8)}, 9, 5, 6, nil},
	} {
		if got := Holes(c.gaps, at(c.end), at(c.began), at(c.known)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
