package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var questions = []string{"solar", "panel wind", `"solar panel"`, "solar -wind", "experts host:other.net", "w3", "common w1"}

// answers is what an index says to all of the questions.
func answers(t testing.TB, x *Index, s *shelf) string {
	t.Helper()
	all, err := tryAnswers(t, x, s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func tryAnswers(t testing.TB, x *Index, s *shelf) (string, error) {
	t.Helper()
	var b strings.Builder
	for _, question := range questions {
		q, err := Parse(question)
		if err != nil {
			t.Fatal(err)
		}
		a, err := x.Search(t.Context(), q, 5, s)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, question, *a)
	}
	return b.String(), nil
}

// segmentOf returns the one file of an index.
func segmentOf(t testing.TB, fs vfs.FS) (string, []byte) {
	t.Helper()
	names, err := fs.List("crawl/words")
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	f, err := fs.Open("crawl/words/" + names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return names[0], b
}

// with returns a file system that holds an index of one file.
func with(t testing.TB, name string, b []byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("crawl/words", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create("crawl/words/"+name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	f.Close()
	return fs
}

// A file that breaks off anywhere is made again.
func TestTruncated(t *testing.T) {
	s := library(t)
	fs := vfs.NewMem()
	want := answers(t, s.index(t, fs, 0), s)
	name, whole := segmentOf(t, fs)
	for n := range len(whole) {
		s.reads = 0
		if got := answers(t, s.index(t, with(t, name, whole[:n]), 0), s); got != want {
			t.Fatalf("cut at %d of %d:\n%s\nwant\n%s", n, len(whole), got, want)
		}
		if s.reads != len(s.pages) {
			t.Fatalf("cut at %d of %d: %d pages were read again", n, len(whole), s.reads)
		}
	}
}

// A byte that is not what it was is noticed, or does not matter: no answer is
// wrong, and after Repair all is well.
func TestFlipped(t *testing.T) {
	s := library(t)
	fs := vfs.NewMem()
	want := answers(t, s.index(t, fs, 0), s)
	name, whole := segmentOf(t, fs)
	noticed := 0
	for i := range whole {
		bad := []byte(string(whole))
		bad[i] ^= byte(1 << (i % 8))
		x := s.index(t, with(t, name, bad), 0)
		got, err := tryAnswers(t, x, s)
		switch {
		case errors.Is(err, ErrDamaged):
			noticed++
			if err := x.Repair(); err != nil {
				t.Fatal(err)
			}
			if err := x.Update(t.Context(), s, s.end); err != nil {
				t.Fatal(err)
			}
			got = answers(t, x, s)
		case err != nil:
			t.Fatalf("byte %d: %v", i, err)
		}
		if got != want {
			t.Fatalf("byte %d of %d:\n%s\nwant\n%s", i, len(whole), got, want)
		}
		x.Close()
	}
	if noticed == 0 {
		t.Error("no damage was met while searching")
	}
}

// An index of another crawl, or of another time, does not count.
func TestOfAnother(t *testing.T) {
	s := library(t)
	fs := vfs.NewMem()
	s.index(t, fs, 0).Close()
	x, err := Open("crawl", Options{FS: fs, Crawl: crawlID + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n := x.Stats().Pages; n != 0 {
		t.Errorf("%d pages of another crawl", n)
	}
	s.index(t, fs, 0).Close()
	y, err := Open("crawl", Options{FS: fs, Crawl: crawlID})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if _, err := y.Missing(Point{1, 10}); err != nil {
		t.Fatal(err)
	}
	if n := y.Stats().Pages; n != 0 {
		t.Errorf("%d pages that are not in the archive", n)
	}
}

// camera keeps an image of the disk at every write.
type camera struct {
	mu     sync.Mutex
	fs     *vfs.MemFS
	rng    *rand.Rand
	images []*vfs.MemFS
	told   []string
}

func (c *camera) String() string { return "camera" }

func (c *camera) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, percent := range []int{0, 50, 100} {
		c.images = append(c.images, c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.rng}))
		c.told = append(c.told, fmt.Sprintf("%v %s, %d%% unsynced", op.Kind, op.Path, percent))
	}
	return nil
}

// many is an archive whose index takes many segments, if they are small.
func many(t testing.TB, n int) *shelf {
	s := library(t)
	for i := range n {
		s.put(t, fmt.Sprintf("http://h%d.test/%d", i%5, i), fmt.Sprint("page ", i%20), fmt.Sprintf("w%d w%d common", i%11, i%13))
	}
	return s
}

// The power may be cut at every write: what is left is an index, and what it
// lacks is found.
func TestPowerCut(t *testing.T) {
	s := many(t, 40)
	want := answers(t, s.index(t, vfs.NewMem(), 0), s)
	mem := vfs.NewCrashableMem()
	cam := &camera{fs: mem, rng: rand.New(rand.NewPCG(1, 2))}
	s.index(t, errorfs.Wrap(mem, cam), 1500).Close()
	if len(cam.images) < 100 {
		t.Fatalf("only %d images", len(cam.images))
	}
	kept := 0
	for i, image := range cam.images {
		s.reads = 0
		x := s.index(t, image, 1500)
		if got := answers(t, x, s); got != want {
			t.Fatalf("%s:\n%s\nwant\n%s", cam.told[i], got, want)
		}
		if s.reads < len(s.pages) {
			kept++
		}
		x.Close()
		if names, err := image.List("crawl/words"); err != nil || strings.Contains(fmt.Sprint(names), openSuffix) {
			t.Fatalf("%s: %v, %v", cam.told[i], names, err)
		}
	}
	if kept == 0 {
		t.Error("nothing was ever kept")
	}
}

// A disk that fails at any write is an error, and what was indexed before stays.
func TestFailingDisk(t *testing.T) {
	s := many(t, 40)
	want := answers(t, s.index(t, vfs.NewMem(), 0), s)
	for n := 1; ; n++ {
		mem := vfs.NewMem()
		left := n
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				if left--; left <= 0 {
					return errors.New("the disk is broken")
				}
			}
			return nil
		}))
		x, err := Open("crawl", Options{FS: fs, Crawl: crawlID, Memory: 6000})
		if err == nil {
			err = x.Update(t.Context(), s, s.end)
			x.Close()
		}
		if err == nil {
			if n < 20 {
				t.Errorf("only %d writes", n)
			}
			return
		}
		y := s.index(t, mem, 6000)
		if got := answers(t, y, s); got != want {
			t.Fatalf("after a failure at write %d:\n%s\nwant\n%s", n, got, want)
		}
		y.Close()
	}
}

// Whoever stops an update does not lose what it has done.
func TestStopped(t *testing.T) {
	s := many(t, 40)
	fs := vfs.NewMem()
	x, err := Open("crawl", Options{FS: fs, Crawl: crawlID})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	ctx, stop := context.WithCancel(t.Context())
	half := sourceFunc(func(ctx context.Context, in []Range, fn func(*Page) error) error {
		for i := range s.pages[:20] {
			if err := fn(&s.pages[i]); err != nil {
				return err
			}
		}
		stop()
		return ctx.Err()
	})
	if err := x.Update(ctx, half, s.end); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.reads = 0
	if err := x.Update(t.Context(), s, s.end); err != nil {
		t.Fatal(err)
	}
	if want := len(s.pages) - 20; s.reads != want || x.Stats().Pages != len(s.pages) {
		t.Errorf("%d pages were read, want %d; %d are indexed", s.reads, want, x.Stats().Pages)
	}
}

type sourceFunc func(context.Context, []Range, func(*Page) error) error

func (f sourceFunc) Pages(ctx context.Context, in []Range, fn func(*Page) error) error {
	return f(ctx, in, fn)
}
