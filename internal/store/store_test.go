package store

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/klauspost/compress/zstd"
	"github.com/nlnwa/gowarc/v2"
	"go.uber.org/goleak"

	"weir/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if task := os.Getenv("STORE_TEST_CHILD"); task != "" {
		os.Exit(child(task))
	}
	goleak.VerifyTestMain(m)
}

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// exchange makes an answer whose body is the given text.
func exchange(url, body string) *Exchange {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(body))
	return &Exchange{
		URL: url, At: t0, Addr: "127.0.0.1:80",
		Request:  []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		Response: strings.NewReader(head + body), Size: int64(len(head) + len(body)), HeadLen: len(head),
		Status: 200, PayloadDigest: sha1.Sum([]byte(body)), PayloadSize: int64(len(body)),
	}
}

func encode(t testing.TB, e *Encoder, x *Exchange) *Record {
	t.Helper()
	r, err := e.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, g *Group, e *Encoder, x *Exchange) (Place, bool) {
	t.Helper()
	r := encode(t, e, x)
	defer r.Release()
	p, revisit, err := g.Append(r)
	must(t, err)
	return p, revisit
}

func body(t testing.TB, s *Store, p Place) string {
	t.Helper()
	e, err := s.ReadRecord(p)
	must(t, err)
	defer e.Close()
	r, err := e.Body()
	must(t, err)
	b, err := io.ReadAll(r)
	must(t, err)
	return string(b)
}

var info = [][2]string{{"software", "weir/test"}, {"format", "WARC File Format 1.1"}, {"robots", "classic"}}

func TestConformance(t *testing.T) {
	open := func(t testing.TB, fs vfs.FS, dir string) storetest.KV {
		var kv func(s *Store) storetest.KV
		var cur *Store
		kv = func(s *Store) storetest.KV {
			cur = s
			return storetest.KV{Reader: s, Begin: func() storetest.Writer { return s.Begin() }, Reopen: func() storetest.KV {
				must(t, s.Close())
				s, err := Open(dir, Options{FS: fs})
				must(t, err)
				return kv(s)
			}}
		}
		s, err := Create(dir, Options{FS: fs})
		must(t, err)
		t.Cleanup(func() { must(t, cur.Close()) })
		return kv(s)
	}
	t.Run("memory", func(t *testing.T) {
		storetest.Run(t, func(testing.TB) storetest.KV {
			m := NewMemory()
			return storetest.KV{Reader: m, Begin: func() storetest.Writer { return m.Begin() }}
		})
	})
	t.Run("pebble in memory", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB) storetest.KV { return open(t, vfs.NewMem(), "crawl") })
	})
	t.Run("pebble on disk", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB) storetest.KV {
			dir, err := os.MkdirTemp(t.TempDir(), "crawl")
			must(t, err)
			return open(t, vfs.Default, dir)
		})
	})
}

func TestArchiveReadsBack(t *testing.T) {
	for _, form := range []Form{Gzip, Zstd} {
		t.Run(form.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "crawl")
			s, err := Create(dir, Options{Form: form, Info: info})
			must(t, err)
			defer s.Close()
			enc := NewEncoder(form, 0)

			plain := exchange("https://example.org/", "<p>hello")
			plain.Meta = [][2]string{{"outlink", "https://example.org/a L a/@href"}, {"fetchTimeMs", "12\r\nevil: yes"}}
			large := exchange("https://example.org/large", randomText(3<<20))
			g := s.Begin()
			p1, again := put(t, g, enc, plain)
			if again {
				t.Error("the first page was taken for a revisit")
			}
			p2, _ := put(t, g, enc, large)
			p3, again := put(t, g, enc, exchange("https://example.org/same", "<p>hello"))
			if !again {
				t.Error("the same payload in one group was stored twice")
			}
			must(t, g.Commit())
			g = s.Begin()
			p4, again := put(t, g, enc, exchange("https://example.org/same-later", "<p>hello"))
			if !again {
				t.Error("the same payload in a later group was stored twice")
			}
			cut := exchange("https://example.org/cut", "<p>hello")
			cut.Truncated = "length"
			p5, again := put(t, g, enc, cut)
			if again {
				t.Error("a truncated page was taken for a revisit")
			}
			_, again = put(t, g, enc, exchange("https://example.org/empty", ""))
			put(t, g, enc, exchange("https://example.org/empty2", ""))
			must(t, g.Commit())
			if again {
				t.Error("an empty page was taken for a revisit")
			}

			for _, p := range []Place{p1, p3, p4, p5} {
				if got := body(t, s, p); got != "<p>hello" {
					t.Errorf("body at %v is %.40q", p, got)
				}
			}
			if got := body(t, s, p2); got != randomText(3<<20) {
				t.Errorf("large body differs: %d bytes", len(got))
			}
			e, err := s.ReadRecord(p4)
			must(t, err)
			defer e.Close()
			if e.Type != "revisit" || e.Status != 200 || e.Mime != "text/html" || !e.Date.Equal(t0) || e.URI != "https://example.org/same-later" {
				t.Errorf("revisit reads as %+v", e)
			}
			for _, want := range []string{"WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-IP-Address"} {
				if e.Field(want) == "" {
					t.Errorf("revisit has no %s", want)
				}
			}
			kinds := map[string]int{}
			must(t, s.Walk(func(e *Entry) error { kinds[e.Type]++; return nil }))
			if fmt.Sprint(kinds) != "map[metadata:1 request:7 response:5 revisit:2 warcinfo:1]" {
				t.Errorf("the archive holds %v", kinds)
			}
			validate(t, s)
			checkIndex(t, s)
		})
	}
}

func randomText(n int) string {
	var b strings.Builder
	x := uint32(1)
	for b.Len() < n {
		x = x*1664525 + 1013904223
		b.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ<>"[x>>26])
	}
	return b.String()
}

// validate has gowarc read the whole archive and complain about anything. It
// knows no zstd; such files it gets unpacked.
func validate(t testing.TB, s *Store) (records int) {
	t.Helper()
	for _, f := range s.committed() {
		v, err := s.fs.Open(s.arch.path(f.name))
		must(t, err)
		var r io.Reader = io.NewSectionReader(v, 0, f.length)
		if s.Form() == Zstd {
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			must(t, err)
			b, err := io.ReadAll(z)
			must(t, err)
			z.Close()
			r = bytes.NewReader(b)
		}
		w, err := gowarc.NewWarcFileReaderFromStream(r, 0, gowarc.WithStrictValidation(), gowarc.WithBlockErrorPolicy(gowarc.ErrFail), gowarc.WithFixContentLength(false), gowarc.WithFixDigest(false), gowarc.WithFixSyntaxErrors(false))
		must(t, err)
		for {
			rec, off, val, err := w.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("gowarc: %s at %d: %v", f.name, off, err)
			}
			if !val.Valid() {
				t.Fatalf("gowarc: %s at %d: %v", f.name, off, val)
			}
			records++
			must(t, rec.Close())
		}
		must(t, w.Close())
		must(t, v.Close())
	}
	return records
}

// checkIndex compares index.cdxj with one made from the archive.
func checkIndex(t testing.TB, s *Store) {
	t.Helper()
	var fresh []byte
	must(t, s.lines(Place{}, func(b []byte) error { fresh = append(fresh, b...); return nil }))
	got := readIndex(t, s)
	if !bytes.Equal(got, fresh) {
		t.Fatalf("index.cdxj differs from the archive:\n%s\nwant\n%s", got, fresh)
	}
}

func readIndex(t testing.TB, s *Store) []byte {
	t.Helper()
	f, err := s.fs.Open(s.index.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	must(t, err)
	return b
}

func TestReopenGoesOn(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, MaxFile: 2000, Info: info}
	s, err := Create("a/b/crawl", o)
	must(t, err)
	enc := NewEncoder(Gzip, 0)
	var places []Place
	for i := range 20 {
		g := s.Begin()
		p, _ := put(t, g, enc, exchange(fmt.Sprintf("http://example.org/%d", i), fmt.Sprint("page ", i)))
		places = append(places, p)
		g.Set([]byte("pages"), fmt.Append(nil, i))
		must(t, g.Commit())
		if i%7 == 6 {
			must(t, s.Close())
			s, err = Open("a/b/crawl", o)
			must(t, err)
		}
	}
	for i, p := range places {
		if got := body(t, s, p); got != fmt.Sprint("page ", i) {
			t.Errorf("page %d reads %q", i, got)
		}
	}
	if len(s.committed()) < 4 {
		t.Errorf("20 pages in %d files: no rotation", len(s.committed()))
	}
	validate(t, s)
	checkIndex(t, s)
	must(t, s.Close())
	if _, _, err := s.Get([]byte("pages")); !errors.Is(err, ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}

func TestWithoutArchive(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Create("crawl", Options{FS: fs, Form: None})
	must(t, err)
	enc := NewEncoder(None, 0)
	for i, want := range []bool{false, true} {
		g := s.Begin()
		p, again := put(t, g, enc, exchange("http://example.org/", "same"))
		if p != (Place{}) || again != want {
			t.Errorf("page %d: %v, revisit %v", i, p, again)
		}
		must(t, g.Commit())
	}
	must(t, s.Finish())
	must(t, s.Close())
	if names, _ := fs.List("crawl/warc"); len(names) != 0 {
		t.Errorf("files without an archive: %v", names)
	}
}

func TestWrongFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "missing"), Options{}); !errors.Is(err, ErrNotCrawl) {
		t.Errorf("missing folder: %v", err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "other"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "other", "letter.txt"), []byte("dear"), 0o644))
	if _, err := Open(filepath.Join(dir, "other"), Options{}); !errors.Is(err, ErrNotCrawl) {
		t.Errorf("some other folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "other", "letter.txt"), Options{}); !errors.Is(err, ErrNotCrawl) {
		t.Errorf("a file: %v", err)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "half", "state"), 0o755))
	if _, err := Open(filepath.Join(dir, "half"), Options{}); !errors.Is(err, ErrNotCrawl) {
		t.Errorf("an empty state folder: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "other", "letter.txt", "x"), Options{}); err == nil {
		t.Error("a folder below a file was made")
	}

	crawl := filepath.Join(dir, "crawl")
	s, err := Create(crawl, Options{})
	must(t, err)
	for _, try := range []func(string, Options) (*Store, error){Open, Create} {
		if _, err := try(crawl, Options{}); !errors.Is(err, ErrInUse) {
			t.Errorf("a folder in use: %v", err)
		}
	}
	if _, err := Open(crawl, Options{ReadOnly: true}); !errors.Is(err, ErrInUse) {
		t.Errorf("a folder in use, to read: %v", err)
	}
	if err := Free(crawl); !errors.Is(err, ErrInUse) {
		t.Errorf("a folder in use is free: %v", err)
	}
	must(t, s.Close())
	must(t, Free(crawl))
	must(t, Free(filepath.Join(dir, "other")))
	if _, err := Create(crawl, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("a crawl to be created again: %v", err)
	}
	if _, err := Open(crawl, Options{Form: Zstd}); err == nil || !strings.Contains(err.Error(), "archive is gzip, not zstd") {
		t.Errorf("another archive form: %v", err)
	}
	s, err = Open(crawl, Options{})
	must(t, err)
	must(t, s.Close())
}

func TestReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	s, err := Create(dir, Options{Form: Zstd, Info: info})
	must(t, err)
	g := s.Begin()
	p, _ := put(t, g, NewEncoder(Zstd, 0), exchange("http://example.org/", "hello"))
	g.Set([]byte("a"), []byte("1"))
	must(t, g.Commit())
	must(t, s.Close())
	warc := filepath.Join(dir, "warc", s.FileName(1))
	f, err := os.OpenFile(warc, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	f.WriteString("torn tail")
	must(t, f.Close())
	before, err := os.ReadFile(warc)
	must(t, err)

	s, err = Open(dir, Options{ReadOnly: true})
	must(t, err)
	if v, ok, err := s.Get([]byte("a")); !ok || string(v) != "1" || err != nil {
		t.Errorf("Get = %q, %v, %v", v, ok, err)
	}
	if got := body(t, s, p); got != "hello" {
		t.Errorf("body %q", got)
	}
	n := 0
	must(t, s.Walk(func(*Entry) error { n++; return nil }))
	if n != 3 {
		t.Errorf("Walk saw %d records, want 3", n)
	}
	must(t, s.Close())
	after, err := os.ReadFile(warc)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("a read-only store changed the archive")
	}
	s, err = Open(dir, Options{Form: Zstd, Info: info})
	must(t, err)
	checkFiles(t, s)
	must(t, s.Close())
}

// TestForeignArchive keeps files of another crawl: they are never ours to cut
// or remove.
func TestForeignArchive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	o := Options{Info: info}
	s, err := Create(dir, o)
	must(t, err)
	g := s.Begin()
	put(t, g, NewEncoder(Gzip, 0), exchange("http://example.org/", "hello"))
	must(t, g.Commit())
	must(t, s.Close())
	for _, name := range []string{"mine.warc.gz", "weir-1-2-3.warc.gz", "weir-20200101000000-00001.warc.gz"} {
		must(t, os.WriteFile(filepath.Join(dir, "warc", name), []byte("keep"), 0o644))
	}
	left := filepath.Join(dir, "warc", "weir-20260101000000-00002.warc.gz.open")
	must(t, os.WriteFile(left, []byte("half a file"), 0o644))
	s, err = Open(dir, o)
	must(t, err)
	must(t, s.Close())
	names, err := os.ReadDir(filepath.Join(dir, "warc"))
	must(t, err)
	if len(names) != 4 {
		t.Errorf("the folder holds %v, want ours and the three foreign ones", names)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "state")))
	if _, err := Create(dir, o); !errors.Is(err, ErrExists) {
		t.Errorf("a new crawl over an old archive: %v", err)
	}
	if after, _ := os.ReadDir(filepath.Join(dir, "warc")); len(after) != 4 {
		t.Errorf("files of the old archive are gone: %v", after)
	}
}

func TestDamagedArchive(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"cut":     func(f string) error { return os.Truncate(f, 100) },
		"removed": os.Remove,
	} {
		dir := filepath.Join(t.TempDir(), "crawl")
		s, err := Create(dir, Options{Info: info})
		must(t, err)
		g := s.Begin()
		put(t, g, NewEncoder(Gzip, 0), exchange("http://example.org/", "hello"))
		must(t, g.Commit())
		must(t, s.Close())
		must(t, damage(filepath.Join(dir, "warc", s.FileName(1))))
		if _, err := Open(dir, Options{Info: info}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), s.FileName(1)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadersBesideCommitter reads from other goroutines while groups are
// committed.
func TestReadersBesideCommitter(t *testing.T) {
	s, err := Create("crawl", Options{FS: vfs.NewMem(), MaxFile: 4000, Info: info})
	must(t, err)
	done := make(chan struct{})
	errs := make(chan error, 2)
	read := func(fn func() error) {
		for {
			select {
			case <-done:
				errs <- nil
				return
			default:
			}
			if err := fn(); err != nil {
				errs <- err
				return
			}
		}
	}
	go read(func() error {
		var bad error
		err := s.Scan([]byte("p"), []byte("q"), func(_, v []byte) bool {
			var p Place
			fmt.Sscan(string(v), &p.File, &p.Offset, &p.Length)
			e, err := s.ReadRecord(p)
			if err == nil {
				err = e.Close()
			}
			bad = errors.Join(bad, err)
			return bad == nil
		})
		return errors.Join(err, bad)
	})
	go read(func() error { return s.Walk(func(*Entry) error { return nil }) })
	enc := NewEncoder(Gzip, 0)
	for i := range 60 {
		must(t, commit(s, enc, i))
	}
	close(done)
	must(t, errors.Join(<-errs, <-errs))
	must(t, s.Close())
}

func TestLargeRecordLeavesNoFile(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TEMP", tmp)
	r := encode(t, NewEncoder(Gzip, 1), exchange("http://example.org/", randomText(3<<20)))
	if r.out.file == nil {
		t.Error("a record of 3 MB is all in memory")
	}
	r.Release()
	if names, _ := os.ReadDir(tmp); len(names) != 0 {
		t.Errorf("a released record left %v", names)
	}
}

// frozen is a file system on read-only media.
type frozen struct{ vfs.FS }

func (f frozen) refuse(name string) error {
	return &os.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

func (f frozen) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse(name)
}

func (f frozen) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, f.refuse(name)
}

func (f frozen) Lock(name string) (io.Closer, error)       { return nil, f.refuse(name) }
func (f frozen) MkdirAll(name string, _ os.FileMode) error { return f.refuse(name) }
func (f frozen) Remove(name string) error                  { return f.refuse(name) }

func TestReadOnlyMedia(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Create("crawl", Options{FS: mem, Info: info})
	must(t, err)
	g := s.Begin()
	p, _ := put(t, g, NewEncoder(Gzip, 0), exchange("http://example.org/", "hello"))
	must(t, g.Commit())
	must(t, s.Close())
	for _, try := range []func(string, Options) (*Store, error){Open, Create} {
		if _, err := try("crawl", Options{FS: frozen{mem}}); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "crawl") {
			t.Errorf("read-only media: %v", err)
		}
	}
	s, err = Open("crawl", Options{FS: frozen{mem}, ReadOnly: true})
	must(t, err)
	if got := body(t, s, p); got != "hello" {
		t.Errorf("body %q", got)
	}
	must(t, s.Close())
}

// failing makes reads of tables fail when it is told to.
type failing struct {
	left atomic.Int64 // reads until one fails; 0 = none does
}

func (f *failing) String() string { return "failing" }

func (f *failing) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") && f.left.Add(-1) == 0 {
		return errors.New("the disk is bad")
	}
	return nil
}

// TestFindTellsOfFailedReads: a row that cannot be read is not one that is not
// there.
func TestFindTellsOfFailedReads(t *testing.T) {
	var bad failing
	fsys := errorfs.Wrap(vfs.NewMem(), &bad)
	var keys [][]byte
	for i := range 40 {
		keys = append(keys, fmt.Appendf(nil, "u%04d", i))
	}
	s, err := Create("crawl", Options{FS: fsys, Form: None})
	must(t, err)
	g := s.Begin()
	for _, k := range keys {
		g.Set(k, bytes.Repeat(k, 2000))
	}
	must(t, g.Commit())
	must(t, s.Close())
	told := 0
	for n := int64(1); ; n++ {
		s, err := Open("crawl", Options{FS: fsys, Form: None})
		must(t, err)
		bad.left.Store(n)
		found := 0
		err = s.Find(keys, func(int, []byte) { found++ })
		over := bad.left.Swap(0) > 0 // fewer reads than that
		if err == nil && found != len(keys) {
			t.Fatalf("read %d failed: %d of %d rows, and no error", n, found, len(keys))
		}
		if err != nil {
			told++
		}
		s.Close()
		if over {
			break
		}
	}
	if told < 5 {
		t.Errorf("only %d reads failed", told)
	}
}
