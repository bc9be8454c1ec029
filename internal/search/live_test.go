package search

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"weir/page"
)

// feed lets an Indexer see the pages from i to j as a crawl would, in one group.
func (s *shelf) feed(l *Indexer, i, j int) {
	for _, p := range s.pages[i:j] {
		l.Add(&page.Facts{URL: p.URL, Title: p.Title, Words: p.Words, Outcome: page.OK}, p.Place)
	}
	if j > 0 {
		l.Commit(End(s.pages[j-1].Place))
	}
}

// live begins to index the first n pages as if they were just crawled.
func live(t testing.TB, fs vfs.FS, memory int, at Point) *Indexer {
	t.Helper()
	x, err := Open("crawl", Options{FS: fs, Crawl: crawlID, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	l, err := x.Live(at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What a crawl has indexed is not read again, and the answers are those of an
// index that was made afterwards.
func TestLive(t *testing.T) {
	s := many(t, 60)
	want := answers(t, s.index(t, vfs.NewMem(), 0), s)
	fs := vfs.NewMem()
	l := live(t, fs, 8000, Point{})
	s.feed(l, 0, len(s.pages))
	s.whole(t, l, fs, want)
}

// whole ends a crawl, and wants all its pages to be indexed by then.
func (s *shelf) whole(t *testing.T, l *Indexer, fs vfs.FS, want string) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.reads = 0
	x := s.index(t, fs, 8000)
	if got := answers(t, x, s); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if s.reads != 0 {
		t.Errorf("%d pages were read again", s.reads)
	}
}

// Who watches a crawl begin finds its first pages soon, and none waits for more
// than half a minute.
func TestLiveIsFresh(t *testing.T) {
	s := many(t, 60)
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		l := live(t, fs, 1<<20, Point{})
		for i := range s.pages {
			wait := fresh
			if i == 0 {
				wait = soon
			}
			s.feed(l, i, i+1)
			time.Sleep(wait) // virtual
			synctest.Wait()
			x, err := Open("crawl", Options{FS: fs, Crawl: crawlID, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := x.Stats().Pages; n != i+1 {
				t.Errorf("%d of %d pages can be found after %v", n, i+1, wait)
			}
			x.Close()
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Pages that are not kept, not archived, or not to be indexed are not found.
func TestLiveLeavesOut(t *testing.T) {
	s := &shelf{}
	p := s.put(t, "http://a.test/1", "one", "solar")
	fs := vfs.NewMem()
	l := live(t, fs, 0, Point{})
	facts := page.Facts{URL: p.URL, Words: p.Words, Outcome: page.OK}
	for _, change := range []func(*page.Facts){
		func(f *page.Facts) { f.NoIndex = true },
		func(f *page.Facts) { f.Robots = true },
		func(f *page.Facts) { f.Outcome = page.ClientError },
	} {
		f := facts
		change(&f)
		l.Add(&f, p.Place)
	}
	noPlace := p.Place
	noPlace.File = 0
	l.Add(&facts, noPlace)
	l.Commit(s.end)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := Open("crawl", Options{FS: fs, Crawl: crawlID})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n := x.Stats().Pages; n != 0 {
		t.Errorf("%d pages", n)
	}
	if missing, err := x.Missing(s.end); err != nil || len(missing) != 0 {
		t.Errorf("%v, %v: they would be looked at again", missing, err)
	}
}

// Whatever is crawled with and without an index, lost and killed, the index ends
// up the same.
func TestAnyHistory(t *testing.T) {
	s := many(t, 60)
	want := answers(t, s.index(t, vfs.NewMem(), 0), s)
	rapid.Check(t, func(r *rapid.T) {
		fs := vfs.FS(vfs.NewCrashableMem())
		done := 0
		for done < len(s.pages) {
			next := done + rapid.IntRange(1, 30).Draw(r, "pages")
			next = min(next, len(s.pages))
			at := Point{}
			if done > 0 {
				at = End(s.pages[done-1].Place)
			}
			switch rapid.SampledFrom([]string{"live", "plain", "killed", "update", "lost"}).Draw(r, "what") {
			case "live":
				l := live(t, fs, 5000, at)
				for i := done; i < next; i += 5 {
					s.feed(l, i, min(i+5, next))
				}
				if err := l.Close(); err != nil {
					r.Fatal(err)
				}
			case "plain":
			case "killed":
				l := live(t, fs, 5000, at)
				s.feed(l, done, next)
				image := fs.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{})
				if err := l.Close(); err != nil {
					r.Fatal(err)
				}
				fs = image
			case "update":
				half := &shelf{pages: s.pages[:next], texts: s.texts, end: End(s.pages[next-1].Place)}
				half.index(t, fs, 5000).Close()
			case "lost":
				names, err := fs.List("crawl/words")
				if err == nil && len(names) > 0 {
					fs.Remove("crawl/words/" + rapid.SampledFrom(names).Draw(r, "name"))
				}
			}
			done = next
		}
		x := s.index(t, fs, 5000)
		defer x.Close()
		if got := answers(t, x, s); got != want {
			r.Fatalf("%s\nwant\n%s", got, want)
		}
		if n := x.Stats().Pages; n != len(s.pages) {
			r.Fatalf("%d pages of %d", n, len(s.pages))
		}
	})
}

// A crawl that is faster than the index leaves gaps, and never waits, whether there
// is no room for another group or for its pages.
func TestLiveFallsBehind(t *testing.T) {
	const room = 16
	for name, wait := range map[string]struct {
		groups int
		pages  int64 // that wait already
	}{"groups": {room, 0}, "pages": {queued, queuedPages - room}} {
		t.Run(name, func(t *testing.T) {
			s := many(t, 300)
			want := answers(t, s.index(t, vfs.NewMem(), 0), s)
			fs := vfs.NewMem()
			x, err := Open("crawl", Options{FS: fs, Crawl: crawlID})
			if err != nil {
				t.Fatal(err)
			}
			// Nobody takes from the queue while it fills up.
			l := &Indexer{x: x, queue: make(chan group, wait.groups), done: make(chan struct{})}
			l.waits.Store(wait.pages)
			for i := range s.pages {
				s.feed(l, i, i+1)
			}
			go func() {
				defer close(l.done)
				l.err = l.run()
			}()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if n := l.waits.Load(); n != wait.pages {
				t.Errorf("%d pages wait in an empty queue", n-wait.pages)
			}
			s.reads = 0
			if got := answers(t, s.index(t, fs, 0), s); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			if s.reads != len(s.pages)-room {
				t.Errorf("%d pages were read again", s.reads)
			}
		})
	}
}

// A reader that comes while segments are merged sees all pages, once.
func TestReadWhileMerging(t *testing.T) {
	s := many(t, 40)
	fs := vfs.NewMem()
	x, err := Open("crawl", Options{FS: fs, Crawl: crawlID, Memory: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	f := filler{x: x, missing: []Range{{Point{}, s.end}}, build: newBuilder()}
	for i := range 7 { // one less than are merged
		if err := f.add(&s.pages[i]); err != nil {
			t.Fatal(err)
		}
	}
	merging := &mover{FS: fs, then: func() {
		if err := f.add(&s.pages[7]); err != nil {
			t.Error(err)
		}
		if n := x.Stats().Segments; n != 1 {
			t.Errorf("%d segments after merging", n)
		}
	}}
	y, err := Open("crawl", Options{FS: merging, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if n := y.Stats().Pages; n != 8 {
		t.Errorf("%d pages of 8", n)
	}
}

// mover lets something happen after a folder was listed for the first time.
type mover struct {
	vfs.FS
	then func()
}

func (m *mover) List(dir string) ([]string, error) {
	names, err := m.FS.List(dir)
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return names, err
}
