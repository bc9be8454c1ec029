package fetch

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// readByHand reads a header, step bytes at a time.
func readByHand(raw []byte, step int) (*headReader, reading) {
	r := new(headReader)
	for n := 0; ; {
		n = min(n+step, len(raw))
		if got := r.read(raw[:n]); got != partial || n == len(raw) {
			return r, got
		}
	}
}

type failer interface{ Errorf(string, ...any) }

// agree checks that a header read by hand is what net/http makes of it, and
// says whether it was.
func agree(t failer, raw []byte, step int) bool {
	r, got := readByHand(raw, max(step, 1))
	if got != whole {
		return false
	}
	br := bufio.NewReaderSize(bytes.NewReader(raw), len(raw)+16)
	resp, err := http.ReadResponse(br, getRequest)
	if err != nil {
		t.Errorf("%q: %v", raw, err)
		return true
	}
	if n := len(raw) - br.Buffered(); r.n != n {
		t.Errorf("%q: ends at %d, not %d", raw, r.n, n)
	}
	if r.status != resp.StatusCode || r.length != resp.ContentLength || r.close != resp.Close ||
		r.chunked != slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
		t.Errorf("%q: %+v, but net/http says %d %d %v %v", raw, r.head, resp.StatusCode, resp.ContentLength, resp.Close, resp.TransferEncoding)
	}
	names := 0
	for name, values := range resp.Header {
		if name == "Cache-Control" && !strings.Contains(strings.ToLower(r.header.lines), "cache-control:") {
			continue // net/http adds it where there is a Pragma
		}
		names += len(values)
		if all := r.header.Values(name); !slices.Equal(all, values) || r.header.Get(name) != values[0] {
			t.Errorf("%q: %s is %q, not %q", raw, name, all, values)
		}
	}
	// net/http drops what framed the body and what ends the connection.
	if r.chunked {
		names++
	}
	if r.close {
		names += len(r.header.Values("Connection"))
	}
	if lines := strings.Count(r.header.lines, "\n"); lines != names {
		t.Errorf("%q: %d fields, not %d", raw, lines, names)
	}
	return true
}

// headSeeds are headers, and whether they are plain, and so read by hand.
var headSeeds = map[string]bool{
	ok + "Content-Length: 5\r\n\r\nhello":                                                    true,
	ok + "content-length:5\r\nX:\r\nX: \t a b\t \r\nx: c\r\nConnection: Close\r\n\r\n":       true,
	ok + "Transfer-Encoding: Chunked\r\nConnection: keep-alive\r\nPragma: no-cache\r\n\r\n0": true,
	"HTTP/1.1 404\r\nContent-Length: 00\r\n\r\n":                                             true,
	"HTTP/1.1 999 \xfc\t!\r\nContent-Length: 0\r\nA: \xff\r\n\r\n":                           true,

	ok + "\r\nhello": false,
	ok + "X-Y: a\r\n b\r\nContent-Length: 2\r\n\r\nhi":                      false,
	ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello":              false,
	ok + "Content-Length: 5, 5\r\n\r\nhello":                                false,
	ok + "Content-Length: +5\r\n\r\nhello":                                  false,
	ok + "Content-Length:\r\n\r\nhello":                                     false,
	ok + "Content-Length: 9999999999999999999\r\n\r\n":                      false,
	ok + "Content-Length : 2\r\n\r\nhi":                                     false,
	ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": false,
	ok + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n": false,
	ok + "Transfer-Encoding: gzip, chunked\r\n\r\n":                         false,
	ok + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\n\r\n":        false,
	ok + "Content-Length: 2\r\nConnection: x, close\r\n\r\nhi":              false,
	ok + "Content-Length: 2\nX: y\n\nhi":                                    false,
	ok + "Content-Length: 2\r\nX: a\rb\r\n\r\nhi":                           false,
	ok + "Content-Length: 2\r\nX: a\x00b\r\n\r\nhi":                         false,
	ok + "Content-Length: 2\r\n: y\r\n\r\nhi":                               false,
	ok + "Content-Length: 2\r\nno colon\r\n\r\nhi":                          false,
	ok + "Content-Length: 2\r\nX: closed inside":                            false,
	"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi":                        false,
	"HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nhi":                        false,
	"HTTP/1.1 304 No\r\nContent-Length: 2\r\n\r\nhi":                        false,
	"HTTP/1.1 100 Go on\r\nContent-Length: 0\r\n\r\n":                       false,
	"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nhi":                       false,
	"HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nhi":                       false,
	"HTTP/1.1 200\tOK\r\nContent-Length: 2\r\n\r\nhi":                       false,
}

// What is plain is read by hand, what is not never is.
func TestHeadByHand(t *testing.T) {
	for raw, want := range headSeeds {
		for step := 1; step <= len(raw); step++ {
			if got := agree(t, []byte(raw), step); got != want {
				t.Fatalf("%q in steps of %d: by hand %v", raw, step, got)
			}
		}
	}
}

// A header read by hand says what net/http would have said.
func TestHeadAgrees(t *testing.T) {
	pick := func(s ...string) *rapid.Generator[string] { return rapid.SampledFrom(s) }
	name := pick("Content-Length", "content-length", "Transfer-Encoding", "Connection", "X-Robots-Tag", "x-robots-tag",
		"Pragma", "Cache-Control", "Trailer", "Content-Type", "A", "", " A", "A ", "Ä", "A\x00", "Keep-Alive")
	value := rapid.OneOf(
		pick("0", "5", "05", "-1", "5, 5", "chunked", "Chunked", "identity", "close", "keep-alive", "close, x", "no-cache", "", " a", "a\t", "a b", "é", "\x7f", "a\rb"),
		rapid.StringMatching(`[ -~\t]{0,12}`))
	end := rapid.OneOf(rapid.Just("\r\n"), rapid.Just("\r\n"), rapid.Just("\r\n"), pick("\n", "\r\r\n", "\r\n "))
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(rapid.OneOf(rapid.Just("HTTP/1.1 200 OK"), pick("HTTP/1.1 404 No", "HTTP/1.1 301", "HTTP/1.0 200 OK", "HTTP/1.1 204 x", "HTTP/1.1 20 x", "HTTP/1.1 600 \t")).Draw(t, "status"))
		b.WriteString(end.Draw(t, "end"))
		if rapid.Bool().Draw(t, "framed") {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", rapid.IntRange(0, 1<<40).Draw(t, "length"))
		}
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			b.WriteString(name.Draw(t, "name") + pick(":", ": ", ":\t", "").Draw(t, "colon") + value.Draw(t, "value") + end.Draw(t, "end"))
		}
		b.WriteString("\r\nbody")
		if agree(t, []byte(b.String()), rapid.IntRange(1, 99).Draw(t, "step")) {
			plain++
		}
	})
	if plain == 0 && !testing.Short() { // few are drawn then
		t.Error("nothing was read by hand")
	}
}

func FuzzHead(f *testing.F) {
	for raw := range headSeeds {
		f.Add([]byte(raw), 3)
	}
	f.Fuzz(func(t *testing.T, raw []byte, step int) { agree(t, raw, step) })
}

func TestHeader(t *testing.T) {
	h := Header{"A: 1\r\nbb: 2 \r\na:3\r\nC:\r\n"}
	if h.Get("a") != "1" || h.Get("BB") != "2" || h.Get("c") != "" || h.Get("b") != "" || h.Get("") != "" {
		t.Error("a field is lost")
	}
	if got := h.Values("A"); !slices.Equal(got, []string{"1", "3"}) {
		t.Errorf("values %q", got)
	}
	if (Header{}).Get("A") != "" || (Header{}).Values("A") != nil {
		t.Error("an empty header has fields")
	}
}
