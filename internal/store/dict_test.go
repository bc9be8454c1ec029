package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/klauspost/compress/zstd"
	"github.com/nlnwa/gowarc/v2"
)

// early has a dictionary made from so few pages that a short test sees it.
func early(t testing.TB, n int) {
	old := sampleCount
	sampleCount = n
	t.Cleanup(func() { sampleCount = old })
}

// article is a page that has much in common with the others.
func article(i int) *Exchange {
	rng := rand.New(rand.NewPCG(uint64(i), 0))
	var b strings.Builder
	b.WriteString("<!doctype html><html><head><link rel=stylesheet href=/style.css></head><body><nav><a href=/>Home</a> <a href=/about>About us</a></nav>")
	for range 200 {
		fmt.Fprintf(&b, "word%d ", rng.IntN(3000))
	}
	fmt.Fprintf(&b, "<footer>Article %d. All rights reserved by those who wrote it.</footer></body></html>", i)
	return exchange(fmt.Sprintf("http://host%d.example/%d", i%5, i), b.String())
}

func TestDictionary(t *testing.T) {
	early(t, 20)
	fs := vfs.NewMem()
	o := Options{FS: fs, Form: Zstd, Info: info, MaxFile: 200_000}
	s, err := Create("crawl", o)
	must(t, err)
	enc, stale := s.NewEncoder(0), NewEncoder(Zstd, 0)
	places := map[int]Place{}
	large := exchange("http://example.org/large", randomText(3<<20))
	large.Meta = [][2]string{{"via", "http://example.org/"}}
	var largeAt, repeatAt Place
	for group := range 8 {
		// Records on their way while the dictionary is decided.
		var flying []*Record
		g := s.Begin()
		for j := range 10 {
			i := group*10 + j
			e := enc
			if j == 7 {
				e = stale
			}
			flying = append(flying, encode(t, e, article(i)))
		}
		for j, r := range flying {
			p, again, err := g.Append(r)
			must(t, err)
			if again {
				t.Errorf("page %d/%d was taken for a revisit", group, j)
			}
			places[group*10+j] = p
			r.Release()
		}
		if group == 4 {
			largeAt, _ = put(t, g, stale, large)
			repeatAt, _ = put(t, g, enc, article(3))
		}
		must(t, g.Commit())
		if group == 5 {
			must(t, s.Close())
			s, err = Open("crawl", o)
			must(t, err)
			if s.arch.dict == nil {
				t.Error("a crawl that goes on has lost its dictionary")
			}
			enc = s.NewEncoder(0)
		}
	}
	check := func() {
		t.Helper()
		for i, p := range places {
			x := article(i)
			want := make([]byte, x.PayloadSize)
			x.Response.ReadAt(want, int64(x.HeadLen))
			if got := body(t, s, p); got != string(want) {
				t.Errorf("page %d reads %.60q", i, got)
			}
		}
		if got := body(t, s, largeAt); got != randomText(3<<20) {
			t.Errorf("large page reads as %d bytes", len(got))
		}
		if got := body(t, s, repeatAt); !strings.Contains(got, "Article 3.") {
			t.Errorf("repeated page reads %.60q", got)
		}
		kinds := map[string]int{}
		must(t, s.Walk(func(e *Entry) error { kinds[e.Type]++; return nil }))
		delete(kinds, "warcinfo")
		if fmt.Sprint(kinds) != "map[metadata:1 request:82 response:81 revisit:1]" {
			t.Errorf("the archive holds %v", kinds)
		}
	}
	check()
	checkIndex(t, s)
	files := s.committed()
	if len(files) < 3 {
		t.Fatalf("%d files", len(files))
	}
	for i, f := range files {
		checkFrames(t, s, f, i > 0)
	}
	if early, late := places[5].Length, places[45].Length; late > early*9/10 {
		t.Errorf("a page takes %d bytes without and %d with the dictionary", early, late)
	}

	// An index that is lost is made again from the middle of a file on.
	mark := s.index.mark
	must(t, s.Close())
	whole, err := readAll(fs, "crawl/index.cdxj")
	must(t, err)
	must(t, writeFile(fs, "crawl/index.cdxj", writer(bytes.Clone(whole[:mark.length/2]))))
	s, err = Open("crawl", o)
	must(t, err)
	if got := readIndex(t, s); !bytes.Equal(got, whole) {
		t.Errorf("index of %d bytes, want %d", len(got), len(whole))
	}
	must(t, s.Close())
	s, err = Open("crawl", Options{FS: fs, ReadOnly: true})
	must(t, err)
	check()
	must(t, s.Close())
}

// checkFrames looks at a file as a stranger would: the dictionary comes first,
// all frames name it, and gowarc finds nothing wrong with what is in them.
func checkFrames(t *testing.T, s *Store, f warcFile, with bool) {
	t.Helper()
	b, err := readAll(s.fs, s.arch.path(f.name))
	must(t, err)
	d, err := readDictionary(bytes.NewReader(b))
	must(t, err)
	if (d != nil) != with {
		t.Fatalf("%s: dictionary %v, want %v", f.name, d != nil, with)
	}
	if d == nil {
		d = &dictionary{}
	}
	for _, p := range places(t, b) {
		var h zstd.Header
		must(t, h.Decode(b[p:]))
		if !h.Skippable && h.DictionaryID != d.id {
			t.Fatalf("%s: the frame at %d uses dictionary %d, want %d", f.name, p, h.DictionaryID, d.id)
		}
	}
	var opts []zstd.DOption
	if with {
		opts = append(opts, zstd.WithDecoderDicts(d.body))
	}
	z, err := zstd.NewReader(bytes.NewReader(b), append(opts, zstd.WithDecoderConcurrency(1))...)
	must(t, err)
	defer z.Close()
	plain, err := io.ReadAll(z)
	must(t, err)
	w, err := gowarc.NewWarcFileReaderFromStream(bytes.NewReader(plain), 0, gowarc.WithStrictValidation(), gowarc.WithFixDigest(false))
	must(t, err)
	defer w.Close()
	for {
		rec, off, val, err := w.Next()
		if err == io.EOF {
			return
		}
		if err != nil || !val.Valid() {
			t.Fatalf("gowarc: %s at %d: %v %v", f.name, off, err, val)
		}
		must(t, rec.Close())
	}
}

// places are the offsets of a file's records.
func places(t testing.TB, b []byte) (out []int64) {
	r := NewReader(bytes.NewReader(b))
	for {
		e, err := r.Next()
		if err == io.EOF {
			return out
		}
		must(t, err)
		out = append(out, e.Place.Offset)
	}
}

// TestDictionaryUseless goes without one when pages have nothing in common.
func TestDictionaryUseless(t *testing.T) {
	early(t, 12)
	s, err := Create("crawl", Options{FS: vfs.NewMem(), Form: Zstd, Info: info})
	must(t, err)
	enc := s.NewEncoder(0)
	rng := rand.NewChaCha8([32]byte{})
	g := s.Begin()
	for i := range 20 {
		// Each page repeats itself and nothing else.
		noise := make([]byte, 8<<10)
		rng.Read(noise)
		put(t, g, enc, exchange(fmt.Sprintf("http://example.org/%d", i), strings.Repeat(string(noise), 2)))
	}
	must(t, g.Commit())
	if n := len(s.committed()); n != 1 || s.arch.dict != nil {
		t.Errorf("%d files, dictionary %v", n, s.arch.dict != nil)
	}
	must(t, s.Close())
}

func TestBadDictionary(t *testing.T) {
	frame := func(b string) string { return fmt.Sprintf("\x5d\x2a\x4d\x18%c\x00\x00\x00%s", len(b), b) }
	for name, c := range map[string]struct{ in, want string }{
		"empty":      {frame(""), "dictionary"},
		"junk":       {frame("hello"), "dictionary"},
		"broken":     {frame("\x28\xb5\x2f\xfd\xff"), "dictionary"},
		"cut":        {"\x5d\x2a\x4d\x18\x08\x00\x00\x00abc", "unexpected EOF"},
		"huge":       {"\x5d\x2a\x4d\x18\x00\x00\x00\x7f", "dictionary of"},
		"not at all": {"\x5d\x2a\x4d\x18", "unexpected EOF"},
		"late":       {"\x50\x2a\x4d\x18\x00\x00\x00\x00" + frame("hello"), "after the start"},
		"unknown":    {"\x28\xb5\x2f\xfd\x23\x05\x00\x80\x00\x05", "dictionary that the file"},
	} {
		if _, err := NewReader(strings.NewReader(c.in)).Next(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestPowerCutDictionary cuts the power around the moment when a dictionary is
// decided and files with it are begun.
func TestPowerCutDictionary(t *testing.T) {
	small(t)
	early(t, 3)
	total, found := 0, 0
	for seed := range uint64(4) {
		mem := vfs.NewCrashableMem()
		cam := &camera{fs: mem, rng: rand.New(rand.NewPCG(seed, 1)), acked: -1, chance: 0.06}
		o := Options{FS: errorfs.Wrap(mem, cam), Form: Zstd, MaxFile: 9000, Info: info, Cache: 1 << 20}
		s, err := Create("crawl", o)
		must(t, err)
		cam.set(-1)
		enc := s.NewEncoder(0)
		for i := range 30 {
			must(t, commit(s, enc, i))
			cam.set(i)
			if i == 22 {
				must(t, s.Close())
				s, err = Open("crawl", o)
				must(t, err)
				enc = s.NewEncoder(0)
			}
		}
		must(t, s.Close())
		for _, im := range cam.images {
			total++
			t.Logf("seed %d: %d acknowledged, before %s", seed, im.acked, im.op)
			o := Options{FS: im.fs, Form: Zstd, MaxFile: 9000, Info: info, Cache: 1 << 20}
			s, err := Open("crawl", o)
			if !im.made && errors.Is(err, ErrNotCrawl) {
				s, err = Create("crawl", o)
			}
			must(t, err)
			if s.arch.dict != nil {
				found++
			}
			last := verify(t, s, im.acked)
			must(t, commit(s, s.NewEncoder(0), last+1))
			must(t, s.Close())
			s, err = Open("crawl", o)
			must(t, err)
			verify(t, s, last+1)
			must(t, s.Close())
		}
	}
	t.Logf("%d power cuts, %d with a dictionary", total, found)
	if found < 20 {
		t.Errorf("only %d power cuts of %d met a dictionary", found, total)
	}
}

// TestSmallPagesTeach: pages of some hundred bytes, most of them head, are what
// a dictionary helps most.
func TestSmallPagesTeach(t *testing.T) {
	early(t, 20)
	s, err := Create("crawl", Options{FS: vfs.NewMem(), Form: Zstd, Info: info})
	must(t, err)
	enc := s.NewEncoder(0)
	for group := range 4 {
		g := s.Begin()
		for j := range 10 {
			put(t, g, enc, exchange(fmt.Sprintf("http://example.org/%d/%d", group, j), fmt.Sprintf("<title>%d</title>page %d", group, j)))
		}
		must(t, g.Commit())
	}
	if s.arch.dict == nil {
		t.Error("there is no dictionary")
	}
	must(t, s.Close())
}
