package store

import (
	"bytes"
	stdgzip "compress/gzip"
	"crypto/sha1"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// unpack has the standard library read a member.
func unpack(t interface{ Fatalf(string, ...any) }, b []byte) []byte {
	r, err := stdgzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%v", err)
	}
	r.Multistream(false)
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// TestMembers reads every kind of member that Encode makes with another
// decoder, whether the answer came as one piece or through a reader.
func TestMembers(t *testing.T) {
	noise := make([]byte, 400<<10)
	rand.NewChaCha8([32]byte{}).Read(noise)
	packed := string(noise)
	s, err := Create("crawl", Options{FS: vfs.NewMem(), Info: info})
	must(t, err)
	enc := NewEncoder(Gzip, 0)
	g := s.Begin()
	wants := map[Place]string{}
	for _, c := range []struct {
		name, head, body string
		stored           bool // longer than its body
	}{
		{"plain", "Content-Type: text/html\r\n", strings.Repeat("some words ", 900), false},
		{"tiny", "Content-Type: text/html\r\n", "x", true},
		{"nothing", "Content-Type: text/html\r\n", "", true},
		{"coded", "Content-Encoding: gzip\r\n", packed[:5000], true},
		{"coded, many blocks", "Content-Encoding: gzip\r\n", packed, true},
		{"coded, chunked", "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(packed), packed), true},
		{"not coded at all", "Content-Encoding: gzip\r\n", strings.Repeat("some words ", 900), false},
		{"image", "Content-Type: image/png\r\n", packed[:3000], true},
		{"coded, long head", "Content-Encoding: gzip\r\nX: " + randomText(16<<10) + "\r\n", packed[3000:6000], true},
		{"coded, beyond memory", "Content-Encoding: gzip\r\n", strings.Repeat(packed, 5), true},
	} {
		head := "HTTP/1.1 200 OK\r\n" + c.head + "\r\n"
		for i, x := range []*Exchange{
			{Bytes: []byte(head + c.body)},
			{Response: strings.NewReader(head + c.body), Size: int64(len(head) + len(c.body))},
		} {
			x.URL, x.At, x.HeadLen, x.Status = fmt.Sprintf("http://example.org/%d/%s", i, c.name), t0, len(head), 200
			if !strings.Contains(c.head, "chunked") {
				x.PayloadDigest, x.PayloadSize = sha1.Sum([]byte(c.body)), int64(len(c.body))
			}
			x.Request = []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
			r := encode(t, enc, x)
			var out bytes.Buffer
			must(t, r.out.copyTo(&out, 0, r.out.size))
			b := unpack(t, out.Bytes()[:r.request])
			if !bytes.Contains(b, x.Request) {
				t.Errorf("%s: the request reads %q", c.name, b)
			}
			b = unpack(t, out.Bytes()[r.request:])
			if !bytes.HasSuffix(b, []byte("\r\n\r\n"+head+c.body+tail)) {
				t.Errorf("%s: the response of %d bytes ends %.60q", c.name, len(b), b[max(len(b)-60, 0):])
			}
			if stored := r.response > int64(len(c.body)); stored != c.stored {
				t.Errorf("%s: %d bytes became %d", c.name, len(c.body), r.response)
			}
			p, again, err := g.Append(r)
			must(t, err)
			if again != (i == 1 && x.PayloadSize > 0) && c.name != "not coded at all" {
				t.Errorf("%s: revisit %v", c.name, again)
			}
			wants[p] = c.body
			r.Release()
			r.Release() // a second time does no harm
		}
	}
	must(t, g.Commit())
	for p, want := range wants {
		e, err := s.ReadRecord(p)
		must(t, err)
		got, err := io.ReadAll(e.Raw())
		must(t, err)
		if e.Type == "response" && string(got) != want {
			t.Errorf("%s reads back as %d bytes, want %d", e.URI, len(got), len(want))
		}
		must(t, e.Close())
	}
	checkIndex(t, s)
	validate(t, s)
	must(t, s.Close())
}

// TestEncodeReuses keeps a page from making garbage.
func TestEncodeReuses(t *testing.T) {
	for _, form := range []Form{Gzip, Zstd, None} {
		enc := NewEncoder(form, 0)
		x := exchange("http://example.org/", strings.Repeat("some words ", 1800))
		encode(t, enc, x).Release()
		if n := testing.AllocsPerRun(50, func() { encode(t, enc, x).Release() }); n > 8 {
			t.Errorf("%s: %v allocations a page", form, n)
		}
	}
}

// TestSurtPaths compares the two ways to a key.
func TestSurtPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.StringMatching(`(http|https|ftp)://(www[0-9]?\.)?([a-zA-Z0-9-]{0,3}\.){0,3}[a-z0-9.]{0,3}(:(80|443|8080|x)?)?(/[a-zA-Z0-9._~%é -]{0,3}){0,3}(\?[ab=&]{0,4})?(#x)?`).Draw(t, "url")
		if got, want := string(appendSurt([]byte("+"), raw)), "+"+surt(raw); got != want {
			t.Fatalf("%s: %s, want %s", raw, got, want)
		}
	})
}
