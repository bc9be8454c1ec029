package store

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// TestSamples reads warcio's collection. Each line of want is one record: type,
// status, block size, body size; the last one is how the file ends.
func TestSamples(t *testing.T) {
	twoInOne := "more than one record in a member"
	for name, want := range map[string][]string{
		"example.warc": {"warcinfo 0 249 249", "warcinfo 0 470 470", "response 200 975 606", "request 0 493 0",
			"revisit 200 369 not at hand", "request 0 493 0", "EOF"},
		"example.warc.gz": {"warcinfo 0 249 249", "warcinfo 0 470 470", "response 200 975 606", "request 0 493 0",
			"revisit 200 369 not at hand", "request 0 493 0", "EOF"},
		"example-digest.warc":                 {"request 0 493 0", "request 0 493 0", "request 0 493 0", "request 0 493 0", "EOF"},
		"example-iana.org-chunked.warc":       {"warcinfo 0 137 137", "response 200 7566 7223", "request 0 76 0", "EOF"},
		"example-resource.warc.gz":            {"warcinfo 0 249 249", "warcinfo 0 399 399", "resource 0 1303 1303", "EOF"},
		"example-space-in-target-uri.warc.gz": {"warcinfo 0 73 73", "resource 0 70 70", "EOF"},
		"example-wget-bad-target-uri.warc.gz": {"warcinfo 0 232 232", "request 0 141 0", "response 200 1598 1270",
			"metadata 0 48 48", "resource 0 49 49", "resource 0 471 471", "EOF"},
		"post-test.warc.gz": {"response 200 733 545", "request 0 227 16", "response 200 740 552", "request 0 223 12",
			"response 200 739 551", "request 0 224 6", "EOF"},
		// The bad ones.
		"example-bad-non-chunked.warc.gz": {"warcinfo 0 249 249", twoInOne},
		"example-bad.warc.gz.bad":         {"warcinfo 0 196 196", twoInOne},
		"example-trunc.warc": {"warcinfo 0 249 249", "warcinfo 0 470 470", "response 200 973 604",
			"record at 2560: not a valid WARC record"},
		"example-wrong-chunks.warc.gz": {"response 200 1613 unexpected EOF", "record at 0: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join("testdata", "warcio", name))
			must(t, err)
			defer f.Close()
			r := NewReader(f)
			for _, want := range want {
				e, err := r.Next()
				if err != nil {
					if !strings.Contains(err.Error(), want) {
						t.Fatalf("error %v, want %q", err, want)
					}
					if _, again := r.Next(); again != err {
						t.Errorf("after an error Next says %v", again)
					}
					continue
				}
				got := fmt.Sprint(e.Type, " ", e.Status, " ", e.Size, " ")
				if b, err := e.Body(); err != nil {
					got += err.Error()
				} else if n, err := io.Copy(io.Discard, b); err != nil {
					got += err.Error()
				} else {
					got += fmt.Sprint(n)
				}
				i := strings.LastIndex(want, " not")
				if i < 0 && got != want || i >= 0 && !(strings.HasPrefix(got, want[:i]) && strings.HasSuffix(got, want[i:])) {
					t.Errorf("record reads %q, want %q", got, want)
				}
				if strings.ContainsAny(e.URI, "<>") {
					t.Errorf("target URI %q", e.URI)
				}
			}
		})
	}
}

func TestBadRecords(t *testing.T) {
	good := "WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	io.WriteString(w, good)
	w.Close()
	broken := bytes.Clone(gz.Bytes())
	broken[len(broken)-5] ^= 1
	for name, c := range map[string]struct{ in, want string }{
		"junk":             {"hello world", "expected WARC/"},
		"version":          {"WARC/9.9\r\n\r\n", "version line"},
		"no type":          {"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n", "no WARC-Type"},
		"no length":        {"WARC/1.1\r\nWARC-Type: resource\r\n\r\n", "Content-Length"},
		"negative length":  {"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: -1\r\n\r\n", "Content-Length"},
		"absurd length":    {"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 99999999999999\r\n\r\n", "Content-Length"},
		"no colon":         {"WARC/1.1\r\nWARC-Type resource\r\n\r\n", "no colon"},
		"endless header":   {"WARC/1.1\r\n" + strings.Repeat("A: b\r\n", 20000), "header over"},
		"endless line":     {"WARC/1.1\r\nA: " + strings.Repeat("b", 1<<20), "header over"},
		"endless HTTP":     {"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: 3000000\r\n\r\nHTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 500000), "HTTP head over"},
		"short block":      {"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 10\r\n\r\nok", "unexpected EOF"},
		"short header":     {"WARC/1.1\r\nWARC-Type: reso", "unexpected EOF"},
		"gzip cut":         {gz.String()[:gz.Len()-9], "unexpected EOF"},
		"gzip checksum":    {string(broken), "checksum"},
		"dictionary frame": {"\x5d\x2a\x4d\x18\x00\x00\x00\x00", "dictionary"},
		"zstd cut":         {"\x28\xb5\x2f\xfd", "unexpected EOF"},
	} {
		r := NewReader(strings.NewReader(c.in))
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	folded := "WARC/1.0\nWARC-Type: resource\nA: one\n two\nContent-Length: 2\n\nok\n\n\n"
	r := NewReader(strings.NewReader(folded + good))
	e, err := r.Next()
	must(t, err)
	if e.Field("a") != "one two" {
		t.Errorf("folded field %q", e.Field("a"))
	}
	e, err = r.Next()
	must(t, err)
	if e.Place.Offset != int64(len(folded)) {
		t.Errorf("second record at %d, want %d", e.Place.Offset, len(folded))
	}
}

// TestZstdFrames reads frames as other encoders may write them.
func TestZstdFrames(t *testing.T) {
	rec := func(n int) string {
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, strings.Repeat("a", n))
	}
	skip := "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
	var in bytes.Buffer
	var want []int64
	for i, o := range [][]zstd.EOption{
		nil,
		{zstd.WithEncoderCRC(false)},
		{zstd.WithSingleSegment(true)},
		{zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(1 << 23)},
		{zstd.WithNoEntropyCompression(true), zstd.WithAllLitEntropyCompression(false)},
	} {
		in.WriteString(skip)
		want = append(want, int64(in.Len()))
		z, err := zstd.NewWriter(&in, append(o, zstd.WithEncoderConcurrency(1))...)
		must(t, err)
		io.WriteString(z, rec(10+i*400_000))
		must(t, z.Close())
	}
	r := NewReader(&in)
	for i, off := range want {
		e, err := r.Next()
		must(t, err)
		if e.Size != int64(10+i*400_000) || e.Place.Offset != off {
			t.Errorf("record %d: %d bytes at %d, want %d", i, e.Size, e.Place.Offset, off)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}

func TestDecode(t *testing.T) {
	const text = "the same text, however it was packed"
	pack := func(w func(io.Writer) io.WriteCloser) string {
		var b bytes.Buffer
		c := w(&b)
		io.WriteString(c, text)
		must(t, c.Close())
		return b.String()
	}
	gz := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	for _, c := range []struct{ coding, in string }{
		{"", text},
		{"identity", text},
		{"gzip", pack(gz)},
		{"X-GZIP", pack(gz)},
		{"deflate", pack(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })},
		{"deflate", pack(func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 6); return f })},
		{"br", pack(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })},
		{"zstd", pack(func(w io.Writer) io.WriteCloser {
			z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			return z
		})},
	} {
		r, err := Decode(strings.NewReader(c.in), c.coding, int64(len(text)))
		must(t, err)
		b, err := io.ReadAll(r)
		if err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", c.coding, b, err)
		}
		r, err = Decode(strings.NewReader(c.in), c.coding, 10)
		must(t, err)
		if b, err = io.ReadAll(r); !errors.Is(err, ErrTooLarge) || len(b) != 10 {
			t.Errorf("%s beyond its limit: %d bytes, %v", c.coding, len(b), err)
		}
	}
	for _, coding := range []string{"rot13", "gzip, gzip, gzip, gzip"} {
		if _, err := Decode(strings.NewReader(""), coding, 10); err == nil {
			t.Errorf("%s: no error", coding)
		}
	}
}

// TestBodies stores answers as servers really send them.
func TestBodies(t *testing.T) {
	s, err := Create(filepath.Join(t.TempDir(), "crawl"), Options{Info: info})
	must(t, err)
	defer s.Close()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "hello")
	z.Close()
	enc := NewEncoder(Gzip, 1)
	for i, c := range []struct{ head, body, want string }{
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", "hello"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "hello", "hello"},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n", packed.String(), "hello"},
		{"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nTRANSFER-ENCODING: Chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", packed.Len(), packed.String()), "hello"},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\n", "hello", "hello"},
	} {
		head := c.head + "\r\n"
		x := &Exchange{URL: fmt.Sprintf("http://example.org/%d", i), At: t0, Status: 200, HeadLen: len(head), Mime: "text/x-found",
			Response: strings.NewReader(head + c.body), Size: int64(len(head + c.body)), PayloadDigest: [20]byte{1, byte(i)}, PayloadSize: 5}
		g := s.Begin()
		p, _ := put(t, g, enc, x)
		x.Response, x.URL = strings.NewReader(head+c.body), x.URL+"/again"
		again, revisit := put(t, g, enc, x)
		must(t, g.Commit())
		if !revisit {
			t.Error("the second copy is no revisit")
		}
		for _, p := range []Place{p, again} {
			e, err := s.ReadRecord(p)
			must(t, err)
			if e.Status != 200 || e.Field("WARC-Identified-Payload-Type") != "text/x-found" {
				t.Errorf("%d: status %d, %v", i, e.Status, e.Header)
			}
			r, err := e.Decoded(100)
			must(t, err)
			b, err := io.ReadAll(r)
			must(t, err)
			if string(b) != c.want {
				t.Errorf("%d: body %q", i, b)
			}
			must(t, e.Close())
		}
	}
	checkIndex(t, s)
}

func TestEncodeRefuses(t *testing.T) {
	enc := NewEncoder(Gzip, 0)
	for name, change := range map[string]func(*Exchange){
		"head too long":  func(x *Exchange) { x.HeadLen = int(x.Size) + 1 },
		"no head":        func(x *Exchange) { x.HeadLen = 0 },
		"wrong size":     func(x *Exchange) { x.Size += 10 },
		"another status": func(x *Exchange) { x.Status = 404 },
	} {
		x := exchange("http://example.org/", "hello")
		change(x)
		if r, err := enc.Encode(x); err == nil {
			r.Release()
			t.Errorf("%s: no error", name)
		}
	}
	if r := encode(t, enc, exchange("http://example.org/", "hello")); r.Size() == 0 {
		t.Error("an encoder is of no use after an error")
	}
}

func FuzzReader(f *testing.F) {
	names, err := filepath.Glob("testdata/warcio/*warc*")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(f, err)
		f.Add(b)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	must(f, err)
	f.Add(z.EncodeAll([]byte("WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		end := int64(0)
		for {
			e, err := r.Next()
			if err != nil {
				return
			}
			if e.Place.Offset < end {
				t.Fatalf("record at %d after one that ended at %d", e.Place.Offset, end)
			}
			end = e.Place.Offset + 1
			if _, ok := lineOf(e, "f"); ok {
				l, _ := lineOf(e, "f")
				if line := l.appendTo(nil); bytes.Count(line, []byte("\n")) != 1 {
					t.Fatalf("index line %q", line)
				}
			}
			if body, err := e.Decoded(1 << 20); err == nil {
				io.Copy(io.Discard, body)
			}
		}
	})
}
