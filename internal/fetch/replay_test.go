package fetch

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/page"
)

// TestReplay: what was had before is read as it was then, and costs no bytes.
func TestReplay(t *testing.T) {
	c := newClient(t, Config{Agent: "a", Limits: Limits{MaxBody: 1000}})
	u := parse(t, "http://site.test/x")
	past := Past{At: time.Unix(1e9, 0), Elapsed: 3 * time.Second, Addr: netip.MustParseAddr("192.0.2.1")}
	for said, want := range map[string]page.Outcome{
		ok + "Content-Length: 5\r\n\r\nhello":                            page.OK,
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n": page.OK,
		ok + "\r\nhello": page.OK,
		"HTTP/1.1 302 M\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n":      page.Redirected,
		"HTTP/1.1 404 N\r\nContent-Length: 5\r\n\r\nhello":                 page.ClientError,
		ok + "Content-Length: 50\r\n\r\nhello":                             page.Truncated,
		ok + "Content-Length: 2000\r\n\r\n" + strings.Repeat("hello", 400): page.TooLarge,
		"": page.BadResponse,
	} {
		a := c.Replay(context.Background(), u, io.NopCloser(strings.NewReader(said)), past)
		if a.Outcome != want {
			t.Errorf("%.40q ends as %v (%s), not %v", said, a.Outcome, a.Err, want)
		}
		if a.Outcome == page.OK {
			body, _ := a.Decoded(100)
			if string(body) != "hello" || a.PayloadSize != 5 {
				t.Errorf("%.40q has the body %q", said, body)
			}
		}
		if !a.At.Equal(past.At) || a.Elapsed != past.Elapsed || a.Addr != past.Addr || a.Request != nil || a.Wire != 0 || a.KeepAlive {
			t.Errorf("%.40q came %v in %v from %v, with the request %q and %d bytes", said, a.At, a.Elapsed, a.Addr, a.Request, a.Wire)
		}
		a.Release()
	}
	if n := c.Meter().Bytes(); n != 0 {
		t.Errorf("%d bytes were counted", n)
	}
}
