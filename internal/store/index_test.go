package store

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestSurt(t *testing.T) {
	for in, want := range map[string]string{
		"https://www.Example.org/Some/Path/?b=2&A=1": "org,example)/some/path?a=1&b=2",
		"http://example.org":                         "org,example)/",
		"http://example.org:80/":                     "org,example)/",
		"https://example.org:8443/x":                 "org,example:8443)/x",
		"http://www2.example.org/%20x":               "org,example)/%20x",
		"http://www.org/":                            "org,www)/",
		"http://127.0.0.1:8080/a":                    "127.0.0.1:8080)/a",
		"http://user:pw@example.org/":                "org,example)/",
		"dns:example.org x":                          "dns:example.org%20x",
	} {
		if got := surt(in); got != want {
			t.Errorf("surt(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestIndexLine(t *testing.T) {
	l := line{uri: "http://example.org/a?x=<1>", at: t0, kind: "response", status: 404, mime: "text/html", digest: "sha1:AB",
		place: Place{1, 10, 20}, file: "f.warc.gz"}
	want := `org,example)/a?x=<1> 20260102030405 {"url":"http://example.org/a?x=<1>","mime":"text/html","status":"404","digest":"sha1:AB","length":"20","offset":"10","filename":"f.warc.gz"}` + "\n"
	if got := string(l.appendTo(nil)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestIndexRepair damages the index in every way a crash or a hand can, and
// sees it whole after the next start.
func TestIndexRepair(t *testing.T) {
	small(t)
	for name, damage := range map[string]func(whole []byte, synced int64) []byte{
		"untouched":        func(b []byte, _ int64) []byte { return b },
		"last line lost":   func(b []byte, _ int64) []byte { return b[:len(b)-20] },
		"all since sync":   func(b []byte, synced int64) []byte { return b[:synced] },
		"more than synced": func(b []byte, synced int64) []byte { return b[:synced-1] },
		"empty":            func([]byte, int64) []byte { return []byte{} },
		"longer":           func(b []byte, _ int64) []byte { return append(bytes.Clone(b), "more"...) },
		"other bytes":      func(b []byte, _ int64) []byte { return append(bytes.Clone(b[:len(b)-100]), make([]byte, 100)...) },
		"zeros":            func(b []byte, synced int64) []byte { return append(bytes.Clone(b[:synced]), make([]byte, 9000)...) },
		"missing":          func([]byte, int64) []byte { return nil },
	} {
		fs := vfs.NewMem()
		o := Options{FS: fs, MaxFile: 4000, Info: info}
		s, err := Create("crawl", o)
		must(t, err)
		enc := NewEncoder(Gzip, 0)
		for i := range 30 {
			must(t, commit(s, enc, i))
		}
		synced := s.index.mark.synced
		if synced == 0 || synced == s.index.mark.length {
			t.Fatalf("the test wants an index synced in part: %+v", s.index.mark)
		}
		s.abandon() // without Close, as a crash would
		whole, err := readAll(fs, "crawl/index.cdxj")
		must(t, err)
		if b := damage(whole, synced); b == nil {
			must(t, fs.Remove("crawl/index.cdxj"))
		} else {
			must(t, writeFile(fs, "crawl/index.cdxj", writer(b)))
		}
		s, err = Open("crawl", o)
		must(t, err)
		if got := readIndex(t, s); !bytes.Equal(got, whole) {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(whole))
		}
		verify(t, s, 29)
		must(t, s.Close())
	}
}

func TestFinishSorts(t *testing.T) {
	small(t)
	fs := vfs.NewMem()
	o := Options{FS: fs, Info: info}
	s, err := Create("crawl", o)
	must(t, err)
	must(t, s.Finish())
	enc := NewEncoder(Gzip, 0)
	check := func() {
		t.Helper()
		lines := slices.Collect(bytes.Lines(readIndex(t, s)))
		if len(lines) == 0 || !slices.IsSortedFunc(lines, bytes.Compare) {
			t.Errorf("%d lines, not in order", len(lines))
		}
		checkIndexSet(t, s)
		names, err := fs.List("crawl")
		must(t, err)
		for _, n := range names {
			if strings.HasPrefix(n, "index.cdxj.") {
				t.Errorf("%s was left behind", n)
			}
		}
	}
	for i := range 12 {
		must(t, commit(s, enc, i))
	}
	must(t, s.Finish())
	check()
	must(t, s.Finish())
	must(t, s.Close())
	s, err = Open("crawl", o)
	must(t, err)
	check()
	for i := range 5 {
		must(t, commit(s, enc, 12+i))
	}
	checkIndexSet(t, s)
	must(t, s.Finish())
	check()
	verify(t, s, 16)
	must(t, s.Close())
}

func writer(p []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(p); return err }
}

func readAll(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
