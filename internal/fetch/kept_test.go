package fetch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"weir/page"
)

// An answer that was kept says what it said when it came: whole, broken off, in
// chunks, under encodings true and false, with a header plain or odd.
func TestKept(t *testing.T) {
	text := bytes.Repeat([]byte("<p>All work and no play. "), 400)
	gz := squeeze(t, "gzip", text)
	var k Kept
	for name, script := range map[string]func(*scene){
		"plain":         encoded("identity", text, false),
		"chunked":       encoded("identity", text, true),
		"gzip":          encoded("gzip", gz, false),
		"gzip, cut":     encoded("gzip", gz[:len(gz)/2], true),
		"no gzip":       encoded("gzip", text, false),
		"unknown":       encoded("rot13", text, true),
		"layers":        encoded("gzip, gzip, gzip", gz, true),
		"twice":         encoded("gzip, br", squeeze(t, "br", gz), true),
		"short":         says(ok + "Content-Length: 5000\r\n\r\n" + string(text[:99])),
		"chunk, cut":    says(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\nwor"),
		"chunk, bad":    says(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nworld\r\n"),
		"until the end": says("HTTP/1.0 200 OK\nX-A: 1\n folded\nContent-Type: text/html\n\nhello"),
		"empty":         says(ok + "Content-Length: 0\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			a := get(t, local(), serve(t, script), "/")
			want, outcome := a.Decoded(1 << 20)
			block, err := io.ReadAll(a.Block())
			if err != nil {
				t.Fatal(err)
			}
			k.Open(a.Head, nil, iotest.OneByteReader(bytes.NewReader(block[len(a.Head):])))
			got, again := k.Decoded(1 << 20)
			if !bytes.Equal(got, want) || again != outcome || k.Err() != nil {
				t.Errorf("%d bytes, %v, %v; when it came: %d bytes, %v", len(got), again, k.Err(), len(want), outcome)
			}
			if k.Header != a.Header {
				t.Errorf("header %q; when it came %q", k.Header, a.Header)
			}
		})
	}
}

// The payload may lie behind the header of another answer, framed otherwise; the
// encoding is the answer's own.
func TestKeptElsewhere(t *testing.T) {
	gz := squeeze(t, "gzip", []byte("hello"))
	var k Kept
	k.Open([]byte(ok+"Content-Encoding: gzip\r\nContent-Length: 99\r\n\r\n"), []byte(ok+"Transfer-Encoding: chunked\r\n\r\n"),
		strings.NewReader(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(gz), gz)))
	if b, o := k.Decoded(0); string(b) != "hello" || o != page.OK {
		t.Errorf("%q, %v", b, o)
	}
}

// An archive that cannot be read is not taken for a server that broke off.
func TestKeptDamaged(t *testing.T) {
	var k Kept
	k.Open([]byte(ok+"Transfer-Encoding: chunked\r\n\r\n"), nil, iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("5\r\nhello"))))
	if k.Decoded(0); k.Err() != iotest.ErrTimeout {
		t.Error(k.Err())
	}
	k.Open([]byte(ok+"Content-Length: 5\r\n\r\n"), nil, strings.NewReader("hello"))
	if b, o := k.Decoded(4); string(b) != "hell" || o != page.TooLarge || k.Err() != nil {
		t.Errorf("%q, %v, %v", b, o, k.Err())
	}
}

func FuzzKept(f *testing.F) {
	f.Add([]byte(ok+"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"), []byte("5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\nA: b\n c\n\n"), []byte("x"))
	var k Kept
	f.Fuzz(func(t *testing.T, head, body []byte) {
		k.Open(head, nil, bytes.NewReader(body))
		if b, _ := k.Decoded(1 << 16); len(b) > 1<<16 {
			t.Errorf("%d bytes", len(b))
		}
		for range k.Header.All() {
		}
	})
}
