package fetch

import (
	"context"
	"crypto/sha1"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/page"
)

const ok = "HTTP/1.1 200 OK\r\n"

// TestOutcomes lets a server do one thing in each case. Ids are those of the
// catalogue of hostile servers that weir is tested against.
func TestOutcomes(t *testing.T) {
	big := strings.Repeat("x", 5000)
	tests := []struct {
		name      string
		answer    string // then the server closes
		want      page.Outcome
		truncated string
		payload   string
	}{
		{name: "a page", answer: ok + "Content-Length: 5\r\n\r\nhello", want: page.OK, payload: "hello"},
		{name: "ended by the close", answer: ok + "\r\nhello", want: page.OK, payload: "hello"},
		{name: "chunked", answer: ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n", want: page.OK, payload: "hello"},
		{name: "HTTP/1.0", answer: "HTTP/1.0 200 OK\r\n\r\nhello", want: page.OK, payload: "hello"},
		{name: "no reason phrase", answer: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", want: page.OK},
		{name: "206 unasked", answer: "HTTP/1.1 206 Partial\r\nContent-Length: 1\r\n\r\nx", want: page.OK, payload: "x"},
		{name: "interim answers", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", want: page.OK, payload: "hi"},

		{name: "http-01 body shorter than promised", answer: ok + "Content-Length: 10\r\n\r\nhello", want: page.Truncated, truncated: "disconnect", payload: "hello"},
		{name: "http-03 two lengths", answer: ok + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello", want: page.BadResponse},
		{name: "negative length", answer: ok + "Content-Length: -1\r\n\r\nhello", want: page.BadResponse},
		{name: "length with a sign", answer: ok + "Content-Length: +5\r\n\r\nhello", want: page.BadResponse},
		{name: "http-05 chunk size is not hex", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n", want: page.Truncated, truncated: "disconnect", payload: "hello"},
		{name: "chunk size overflows", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nfffffffffffffffff\r\n", want: page.Truncated, truncated: "disconnect", payload: "hello"},
		{name: "chunk longer than its size", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!!\r\n0\r\n\r\n", want: page.Truncated, truncated: "disconnect", payload: "hello"},
		{name: "http-07 chunked without an end", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", want: page.Truncated, truncated: "disconnect", payload: "hello"},
		{name: "only the empty line after the last chunk is missing", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", want: page.OK, payload: "hello"},
		{name: "unknown transfer coding", answer: ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", want: page.BadResponse},
		{name: "http-09 chunked and a length", answer: ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", want: page.OK, payload: "hello"},
		{name: "http-11 HTTP/0.9", answer: "<html>hello</html>", want: page.BadResponse},
		{name: "http-13 endless header", answer: ok + strings.Repeat("X-Filler: "+big+"\r\n", 60) + "\r\n", want: page.HeaderTooLarge},
		{name: "http-13 endless line", answer: ok + "X: " + strings.Repeat("x", 300<<10), want: page.HeaderTooLarge},
		{name: "http-15 NUL in a header", answer: ok + "X: a\x00b\r\nContent-Length: 2\r\n\r\nhi", want: page.BadResponse},
		{name: "http-15 lone CR in a header", answer: ok + "X: a\rb\r\nContent-Length: 2\r\n\r\nhi", want: page.BadResponse},
		{name: "http-15 folded header", answer: ok + "X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi", want: page.OK, payload: "hi"},
		{name: "space before a colon: not a length, so read to the end", answer: ok + "Content-Length : 2\r\n\r\nhi!", want: page.OK, payload: "hi!"},
		{name: "http-17 204 with a body", answer: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", want: page.OK},
		{name: "http-17 304 with a body", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", want: page.BadRedirect},
		{name: "closed without a word", answer: "", want: page.BadResponse},
		{name: "closed inside the header", answer: "HTTP/1.1 200 OK\r\nContent-", want: page.BadResponse},
		{name: "closed inside the first word", answer: "HTT", want: page.BadResponse},
		{name: "switches protocols", answer: "HTTP/1.1 101 Switching Protocols\r\n\r\n", want: page.BadResponse},
		{name: "interim answers without end", answer: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), want: page.BadResponse},
		{name: "status 099", answer: "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", want: page.BadResponse},
		{name: "status 999", answer: "HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n", want: page.ServerError},
		{name: "proto-01 HTTP/2 frames", answer: "\x00\x00\x12\x04\x00\x00\x00\x00\x00" + big, want: page.BadResponse},
		{name: "proto-01 claims HTTP/2", answer: "HTTP/2 200\r\n\r\n", want: page.BadResponse},
		{name: "proto-05 SSH", answer: "SSH-2.0-OpenSSH_9.9\r\n", want: page.BadResponse},
		{name: "proto-05 SMTP", answer: "220 mail.example.org ESMTP\r\n", want: page.BadResponse},

		{name: "redirect", answer: "HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", want: page.Redirected},
		{name: "redirect-09 307", answer: "HTTP/1.1 307 X\r\nLocation: //other.test/\r\nContent-Length: 0\r\n\r\n", want: page.Redirected},
		{name: "redirect-09 308", answer: "HTTP/1.1 308 X\r\nLocation: b c\r\nContent-Length: 0\r\n\r\n", want: page.Redirected},
		{name: "redirect-09 300 with a Location", answer: "HTTP/1.1 300 X\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", want: page.Redirected},
		{name: "300 without", answer: "HTTP/1.1 300 X\r\nContent-Length: 0\r\n\r\n", want: page.BadRedirect},
		{name: "redirect-05 no Location", answer: "HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n", want: page.BadRedirect},
		{name: "redirect-05 empty Location", answer: "HTTP/1.1 302 X\r\nLocation:\r\nContent-Length: 0\r\n\r\n", want: page.BadRedirect},
		{name: "redirect-05 javascript", answer: "HTTP/1.1 302 X\r\nLocation: javascript:alert(1)\r\nContent-Length: 0\r\n\r\n", want: page.BadRedirect},
		{name: "redirect-05 file", answer: "HTTP/1.1 302 X\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", want: page.BadRedirect},
		{name: "305", answer: "HTTP/1.1 305 Use Proxy\r\nLocation: http://p.test/\r\nContent-Length: 0\r\n\r\n", want: page.BadRedirect},
		{name: "redirect whose body breaks off", answer: "HTTP/1.1 302 X\r\nLocation: /b\r\nContent-Length: 9\r\n\r\nhi", want: page.Redirected, truncated: "disconnect", payload: "hi"},

		{name: "404", answer: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope", want: page.ClientError, payload: "nope"},
		{name: "429", answer: "HTTP/1.1 429 Slow Down\r\nContent-Length: 0\r\n\r\n", want: page.RateLimited},
		{name: "503", answer: "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", want: page.ServerError},
		{name: "503 with Retry-After", answer: "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", want: page.RateLimited},
		{name: "500", answer: "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", want: page.ServerError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := get(t, local(), serve(t, says(tt.answer)), "/")
			if a.Outcome != tt.want {
				t.Fatalf("outcome %v (%s), want %v", a.Outcome, a.Err, tt.want)
			}
			if a.Truncated != tt.truncated {
				t.Errorf("truncated %q, want %q", a.Truncated, tt.truncated)
			}
			if got := payload(t, a); got != tt.payload {
				t.Errorf("payload %q, want %q", got, tt.payload)
			}
			if int64(len(tt.payload)) != a.PayloadSize {
				t.Errorf("payload size %d", a.PayloadSize)
			}
			if a.Status != 0 && a.Digest != sha1.Sum([]byte(tt.payload)) {
				t.Error("the digest is not the payload's")
			}
			if (a.Outcome != page.OK) != (a.Err != "") {
				t.Errorf("outcome %v has reason %q", a.Outcome, a.Err)
			}
			if a.KeepAlive && a.Truncated != "" {
				t.Error("a broken connection would be used again")
			}
		})
	}
}

// The archive must hold what the server sent, byte for byte.
func TestVerbatim(t *testing.T) {
	head := "HTTP/1.1 200 So it is\r\nX-Odd:   spaces  \r\nx-odd: again\r\n"
	large := strings.Repeat("0123456789abcdef", 200<<10/16)
	for name, tt := range map[string]struct{ body, payload string }{
		"length":        {"Content-Length: 5\r\n\r\nhello", "hello"},
		"close":         {"\r\nhello", "hello"},
		"chunked":       {"Transfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nhel\r\n002 \r\nlo\r\n0\r\nX-T: v\r\n\r\n", "hello"},
		"larger":        {"\r\n" + large, large},
		"spooled":       {"\r\n" + strings.Repeat(large, 10), strings.Repeat(large, 10)},
		"spooled known": {"Content-Length: 2048000\r\n\r\n" + strings.Repeat(large, 10), strings.Repeat(large, 10)},
		"spooled chunked": {"Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("32000\r\n"+large+"\r\n", 10) + "0\r\n\r\n",
			strings.Repeat(large, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			a := get(t, local(), serve(t, says(head+tt.body)), "/")
			if a.Outcome != page.OK {
				t.Fatal(a.Outcome, a.Err)
			}
			if block(t, a) != head+tt.body {
				t.Error("the block differs from what was sent")
			}
			headEnd := strings.Index(head+tt.body, "\r\n\r\n") + 4
			if string(a.Head) != (head + tt.body)[:headEnd] {
				t.Errorf("head %q", a.Head)
			}
			if payload(t, a) != tt.payload || a.Digest != sha1.Sum([]byte(tt.payload)) {
				t.Error("the payload differs from what was sent")
			}
			if d, o := a.Decoded(0); string(d) != tt.payload || o != page.OK {
				t.Error("the decoded body differs from what was sent", o)
			}
			if a.BodyWire != int64(len(head+tt.body)-headEnd) || a.Wire != int64(len(head+tt.body)) {
				t.Errorf("wire %d, body %d", a.Wire, a.BodyWire)
			}
			if b, ok := a.Bytes(); ok != (len(tt.body) < maxBuffer) || ok && string(b) != head+tt.body {
				t.Error("a small answer is in memory, a large one is not")
			}
		})
	}
}

func TestInterimAnswersAreNotArchived(t *testing.T) {
	real := ok + "Content-Length: 2\r\n\r\nhi"
	a := get(t, local(), serve(t, says("HTTP/1.1 103 Early Hints\r\n\r\n"+real)), "/")
	if block(t, a) != real {
		t.Errorf("block %q", block(t, a))
	}
}

func TestRequest(t *testing.T) {
	p := serve(t, keeps(ok+"Content-Length: 0\r\n\r\n", ok+"Content-Length: 0\r\n\r\n"))
	cfg := local()
	cfg.Agent, cfg.From, cfg.Accept = "weir/1 (+https://example.org)", "me@example.org", "*/*"
	u := p.url(t, "/a?b=c")
	cn := open(t, newClient(t, cfg), u, p.addr.Addr())
	for _, last := range []bool{false, true} {
		a := cn.Get(t.Context(), u, last)
		defer a.Release()
		want := "GET /a?b=c HTTP/1.1\r\nHost: " + p.addr.String() + "\r\nUser-Agent: weir/1 (+https://example.org)\r\n" +
			"From: me@example.org\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: "
		if last {
			want += "close\r\n\r\n"
		} else {
			want += "keep-alive\r\n\r\n"
		}
		asked := p.asked()
		if string(a.Request) != want || asked[len(asked)-1] != want {
			t.Errorf("kept %q\nsent %q\nwant %q", a.Request, asked[len(asked)-1], want)
		}
		if a.KeepAlive == last {
			t.Errorf("KeepAlive %v after last=%v", a.KeepAlive, last)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	texts := []string{
		ok + "Content-Length: 3\r\nKeep-Alive: timeout=5, max=99\r\n\r\none",
		ok + "Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n",
		"HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nthree",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nfour",
	}
	p := serve(t, keeps(texts...))
	u := p.url(t, "/")
	cn := open(t, newClient(t, local()), u, p.addr.Addr())
	for i, text := range texts {
		a := cn.Get(t.Context(), u, false)
		if block(t, a) != text || !a.KeepAlive {
			t.Fatalf("answer %d: %v %q, keep-alive %v", i, a.Outcome, a.Err, a.KeepAlive)
		}
		if i == 0 && (a.KeepAliveTimeout != 5*time.Second || a.KeepAliveMax != 99) {
			t.Errorf("hints %v, %d", a.KeepAliveTimeout, a.KeepAliveMax)
		}
		a.Release()
	}
}

// What a server says of its connection bounds it; what makes no sense does not.
func TestKeepAliveHints(t *testing.T) {
	for _, c := range []struct {
		lines   string
		timeout time.Duration
		most    int
	}{
		{"", 0, 0},
		{"Keep-Alive: timeout=5, max=100\n", 5 * time.Second, 100},
		{"keep-alive: MAX = 7 ,\tTimeout=\"15\"\n", 15 * time.Second, 7},
		{"Keep-Alive: timeout=5\n", 5 * time.Second, 0},
		{"Keep-Alive: 300\n", 0, 0},
		{"Keep-Alive: max=100, max=3, max=50\n", 0, 3},
		{"Keep-Alive: timeout=9\nServer: x\nKeep-Alive: timeout=4, max=2\n", 4 * time.Second, 2},
		{"Keep-Alive: max=0\n", 0, -1},
		{"Keep-Alive: timeout=0, max=100\n", 0, -1},
		{"Keep-Alive: timeout=-5, max=1e3\n", 0, 0},
		{"Keep-Alive: timeout=2147483647, max=2147483648\n", (1<<31 - 1) * time.Second, 0},
		{"Keep-Alive: timeout=99999999999999999999, max=\n", 0, 0},
		{"Keep-Alive: timeouts=5, xmax=5, =5,,\n", 0, 0},
	} {
		if timeout, most := keepAliveHints(Header{c.lines}); timeout != c.timeout || most != c.most {
			t.Errorf("%q: %v and %d, want %v and %d", c.lines, timeout, most, c.timeout, c.most)
		}
	}
}

// Bytes of one answer must never be taken for another's.
func TestNoReuse(t *testing.T) {
	for name, text := range map[string]string{
		"bytes after the body":     ok + "Content-Length: 2\r\n\r\nhi" + ok,
		"bytes after chunks":       ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nmore",
		"bytes after an empty one": ok + "Content-Length: 0\r\n\r\nmore",
		"chunked and a length":     ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"bare LF in chunks":        ok + "Transfer-Encoding: chunked\r\n\r\n2\nhi\n0\n\n",
		"Connection: close":        ok + "Connection: close\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.0":                 "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"204":                      "HTTP/1.1 204 No Content\r\n\r\n",
		"304":                      "HTTP/1.1 304 Not Modified\r\n\r\n",
		"two lengths":              ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, keeps(text))
			u := p.url(t, "/")
			cn := open(t, newClient(t, local()), u, p.addr.Addr())
			a := cn.Get(t.Context(), u, false)
			defer a.Release()
			if a.KeepAlive {
				t.Fatal("the connection would be used again")
			}
			b := cn.Get(t.Context(), u, false)
			defer b.Release()
			if b.Outcome != page.EarlyClose || len(p.asked()) != 1 {
				t.Errorf("a second request went out: %v", b.Outcome)
			}
		})
	}
}

// http-19: the server promises to keep the connection and then drops it.
func TestEarlyClose(t *testing.T) {
	for name, drop := range map[string]func(*scene){
		"reset at the second request": func(s *scene) {
			s.hear()
			s.Conn.(*net.TCPConn).SetLinger(0)
		},
		"closed at the second request": func(s *scene) { s.hear() },
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, func(s *scene) {
				s.hear()
				s.say(ok + "Content-Length: 2\r\n\r\nhi")
				drop(s)
			})
			u := p.url(t, "/")
			cn := open(t, newClient(t, local()), u, p.addr.Addr())
			cn.Get(t.Context(), u, false).Release()
			a := cn.Get(t.Context(), u, false)
			defer a.Release()
			if a.Outcome != page.EarlyClose {
				t.Errorf("outcome %v (%s)", a.Outcome, a.Err)
			}
		})
	}
}

// An idle connection that the server closed is noticed before a request is
// wasted on it.
func TestStale(t *testing.T) {
	closed := make(chan struct{})
	p := serve(t, func(s *scene) {
		s.hear()
		s.say(ok + "Content-Length: 2\r\n\r\nhi")
		s.Conn.(*net.TCPConn).CloseWrite()
		close(closed)
		s.wait()
	})
	u := p.url(t, "/")
	cn := open(t, newClient(t, local()), u, p.addr.Addr())
	cn.Get(t.Context(), u, false).Release()
	<-closed
	a := cn.Get(t.Context(), u, false)
	defer a.Release()
	if a.Outcome != page.EarlyClose {
		t.Errorf("outcome %v (%s)", a.Outcome, a.Err)
	}
}

func TestSlow(t *testing.T) {
	drip := func(s *scene) {
		for {
			if _, err := io.WriteString(s.Conn, "x"); err != nil {
				return
			}
			if !pace(s.Conn) {
				return
			}
		}
	}
	tests := []struct {
		name   string
		act    func(*scene)
		want   page.Outcome
		status int
	}{
		{"slow-01 never answers", func(s *scene) { s.wait() }, page.FirstByteTimeout, 0},
		{"stops inside the header", keeps(ok + "X:"), page.TooSlow, 0},
		{"stops inside the body", keeps(ok + "Content-Length: 10\r\n\r\nhi"), page.TooSlow, 200},
		{"slow-03 one byte at a time for ever", func(s *scene) { s.hear(); s.say(ok + "\r\n"); drip(s) }, page.TooSlow, 200},
		{"header byte by byte for ever", func(s *scene) { s.hear(); s.say(ok + "X:"); drip(s) }, page.TooSlow, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := local()
			cfg.Limits.Window, cfg.Limits.MinRate = 20*time.Millisecond, 1<<30
			if tt.want == page.FirstByteTimeout {
				cfg.Limits.FirstByte = 20 * time.Millisecond
			}
			a := get(t, cfg, serve(t, tt.act), "/")
			if a.Outcome != tt.want || a.Status != tt.status || a.KeepAlive {
				t.Errorf("outcome %v (%s), status %d", a.Outcome, a.Err, a.Status)
			}
			if tt.status != 0 && a.Truncated != "time" {
				t.Errorf("truncated %q", a.Truncated)
			}
		})
	}
}

// pace waits a moment, or until the client is gone.
func pace(c net.Conn) bool {
	var b [1]byte
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(b[:])
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// An answer that keeps up the rate but never ends is stopped all the same.
func TestWhole(t *testing.T) {
	cfg := local()
	cfg.Limits = Limits{Whole: 50 * time.Millisecond, MinRate: 1, MaxBody: 1 << 60}
	cfg.Limits.Window = 10 * time.Millisecond
	a := get(t, cfg, serve(t, func(s *scene) {
		s.hear()
		s.say(ok + "\r\n")
		for {
			if _, err := io.WriteString(s.Conn, "some bytes"); err != nil || !pace(s.Conn) {
				return
			}
		}
	}), "/")
	if a.Outcome != page.TooSlow {
		t.Errorf("outcome %v (%s)", a.Outcome, a.Err)
	}
}

// size-01: bodies without an end are cut, and the cut is exact.
func TestMaxBody(t *testing.T) {
	body := strings.Repeat("0123456789", 1000)
	tests := []struct {
		name, answer, payload string
		want                  page.Outcome
	}{
		{"by close, fits", ok + "\r\n" + body[:1000], body[:1000], page.OK},
		{"by close", ok + "\r\n" + body, body[:1000], page.TooLarge},
		{"length, fits", ok + "Content-Length: 1000\r\n\r\n" + body[:1000], body[:1000], page.OK},
		{"length", ok + "Content-Length: 1001\r\n\r\n" + body[:1001], body[:1000], page.TooLarge},
		{"length that lies", ok + "Content-Length: 9223372036854775807\r\n\r\n" + body, body[:1000], page.TooLarge},
		{"chunked", ok + "Transfer-Encoding: chunked\r\n\r\nfff\r\n" + body, body[:995], page.TooLarge},
		{"an error page", "HTTP/1.1 404 No\r\n\r\n" + body, body[:1000], page.ClientError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := local()
			cfg.Limits.MaxBody = 1000
			a := get(t, cfg, serve(t, says(tt.answer)), "/")
			if a.Outcome != tt.want || payload(t, a) != tt.payload {
				t.Fatalf("outcome %v (%s), %d bytes", a.Outcome, a.Err, a.PayloadSize)
			}
			if a.Outcome != page.OK && (a.Truncated != "length" || a.KeepAlive || a.BodyWire != 1000) {
				t.Errorf("truncated %q, %d bytes of body", a.Truncated, a.BodyWire)
			}
			if a.Digest != sha1.Sum([]byte(tt.payload)) {
				t.Error("the digest is not the payload's")
			}
		})
	}
}

func TestAbort(t *testing.T) {
	for name, text := range map[string]string{
		"before the answer": "",
		"inside the body":   ok + "Content-Length: 10\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := serve(t, func(s *scene) {
				s.hear()
				s.say(text)
				cancel()
				s.wait()
			})
			u := p.url(t, "/")
			a := open(t, newClient(t, local()), u, p.addr.Addr()).Get(ctx, u, false)
			defer a.Release()
			if a.Outcome != page.Aborted || a.KeepAlive {
				t.Errorf("outcome %v (%s)", a.Outcome, a.Err)
			}
		})
	}
	t.Run("before connecting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cn, o := newClient(t, local()).Open(ctx, parse(t, "http://127.0.0.1/"), netip.MustParseAddr("127.0.0.1"))
		defer cn.Close()
		if o != page.Aborted {
			t.Errorf("outcome %v (%s)", o, cn.Err)
		}
	})
}

// A request that was given up is taken back: it does not reach the server later, when the line is up again and the host
// perhaps visited by another node. What the server sees of that is a reset instead of an end.
func TestRecall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	p := serve(t, func(s *scene) {
		s.hear()
		cancel()
		_, err := s.Read(make([]byte, 1))
		end <- err
	})
	u := p.url(t, "/")
	a := open(t, newClient(t, local()), u, p.addr.Addr()).Get(ctx, u, false)
	defer a.Release()
	if err := <-end; a.Outcome != page.Aborted || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("outcome %v (%s); the server saw %v", a.Outcome, a.Err, err)
	}
}

func TestConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there now
	u := parse(t, "http://"+l.Addr().String()+"/")
	addr := netip.MustParseAddr("127.0.0.1")

	c := newClient(t, local())
	cn, o := c.Open(t.Context(), u, addr)
	if o != page.ConnectFailed || cn.Err == "" {
		t.Errorf("refused: %v (%s)", o, cn.Err)
	}
	a := cn.Get(t.Context(), u, false)
	if a.Outcome != page.ConnectFailed || a.Err != cn.Err {
		t.Errorf("a request on it: %v (%s)", a.Outcome, a.Err)
	}

	cfg := local()
	cfg.Limits.Connect = 1 // slow-05: whatever answers, it is too late
	if cn, o := newClient(t, cfg).Open(t.Context(), u, addr); o != page.ConnectTimeout {
		t.Errorf("too late: %v (%s)", o, cn.Err)
	}
	if cn, o := c.Open(t.Context(), u, netip.Addr{}); o != page.ConnectFailed {
		t.Errorf("no address: %v (%s)", o, cn.Err)
	}
	c.Close()
	if cn, o := c.Open(t.Context(), u, addr); o != page.Aborted {
		t.Errorf("closed client: %v (%s)", o, cn.Err)
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no ::1")
	}
	l.Close()
	p := listen(t, "[::1]:0", says(ok+"Content-Length: 2\r\n\r\nhi"))
	a := get(t, local(), p, "/")
	if a.Outcome != page.OK || a.Addr != netip.IPv6Loopback() {
		t.Errorf("outcome %v (%s) from %v", a.Outcome, a.Err, a.Addr)
	}
	if want := "Host: " + p.addr.String() + "\r\n"; !strings.Contains(string(a.Request), want) {
		t.Errorf("request %q", a.Request)
	}
}

// A connection serves one site; asking it for another is our own mistake and
// must not reach the wrong server.
func TestWrongSite(t *testing.T) {
	p := serve(t, keeps())
	u := p.url(t, "/")
	a := open(t, newClient(t, local()), u, p.addr.Addr()).Get(t.Context(), parse(t, "http://other.test/"), false)
	if a.Outcome != page.Aborted || a.Fault == nil || len(p.asked()) != 0 {
		t.Errorf("outcome %v, fault %v", a.Outcome, a.Fault)
	}
}

// A spool folder that cannot be written is our failure, not the site's.
func TestSpoolFails(t *testing.T) {
	cfg := local()
	cfg.TempDir = t.TempDir() + "/missing"
	a := get(t, cfg, serve(t, says(ok+"\r\n"+strings.Repeat("x", 2<<20))), "/")
	if a.Outcome != page.Aborted || a.Fault == nil {
		t.Errorf("outcome %v, fault %v", a.Outcome, a.Fault)
	}
}

func TestLocationIsRaw(t *testing.T) {
	for _, location := range []string{"../x y", "//host.test/ü", "https://h.test/#frag"} {
		a := get(t, local(), serve(t, says("HTTP/1.1 302 X\r\nLocation: "+location+"\r\nContent-Length: 0\r\n\r\n")), "/a/b")
		if a.Outcome != page.Redirected || a.Location != location {
			t.Errorf("%v %q, want %q", a.Outcome, a.Location, location)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"", 0, false},
		{"0", 0, true},
		{" 120 ", 2 * time.Minute, true},
		{"-5", 0, false},
		{"1.5", 0, false},
		{"soon", 0, false},
		{"99999999999999999999999", maxRetryAfter, true},
		{"9223372036854775807", maxRetryAfter, true},
		{now.Add(time.Hour).Format(http.TimeFormat), time.Hour, true},
		{now.Add(-time.Hour).Format(http.TimeFormat), 0, true},
		{now.AddDate(50, 0, 0).Format(http.TimeFormat), maxRetryAfter, true},
		{now.Add(time.Hour).Format(time.RFC850), time.Hour, true},
		{now.Add(time.Hour).Format(time.ANSIC), time.Hour, true},
	}
	for _, tt := range tests {
		got, ok := retryAfter(tt.in, now)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v, %v; want %v, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	a := get(t, local(), serve(t, says("HTTP/1.1 429 X\r\nDate: Sun, 01 Mar 2026 12:00:00 GMT\r\nRetry-After: Sun, 01 Mar 2026 12:05:00 GMT\r\nContent-Length: 0\r\n\r\n")), "/")
	if a.RetryAfter != 5*time.Minute {
		t.Errorf("a date is measured from the server's own clock: %v", a.RetryAfter)
	}
	if b := get(t, local(), serve(t, says(ok+"Retry-After: 9\r\nContent-Length: 0\r\n\r\n")), "/"); b.RetryAfter != 0 {
		t.Errorf("a 200 asks for %v of rest", b.RetryAfter)
	}
}

// An answer that nobody asked for must not be taken for the next one.
func TestPlantedAnswer(t *testing.T) {
	first := make(chan struct{})
	p := serve(t, func(s *scene) {
		s.hear()
		s.say(ok + "Content-Length: 2\r\n\r\nhi")
		<-first
		s.say(ok + "Content-Length: 7\r\n\r\nplanted")
		s.wait()
	})
	u := p.url(t, "/")
	cn := open(t, newClient(t, local()), u, p.addr.Addr())
	a := cn.Get(t.Context(), u, false)
	keep := a.KeepAlive
	a.Release()
	close(first)
	if cn.link.raw == nil {
		t.Skip("this system cannot look into sockets")
	}
	var b [1]byte
	if _, err := ready(cn.link.raw, b[:]); err != nil || !keep {
		t.Fatal(err, keep)
	}
	a = cn.Get(t.Context(), u, false)
	defer a.Release()
	if a.Outcome != page.EarlyClose || len(p.asked()) != 1 {
		t.Errorf("outcome %v, %d requests", a.Outcome, len(p.asked()))
	}
}

// TestDigestWhereWanted leaves out the digests that nobody asked for.
func TestDigestWhereWanted(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		s := serve(t, says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
		cfg := local()
		cfg.Digest = func(page.URL) bool { return wanted }
		a := get(t, cfg, s, "/")
		if got := a.Digest == sha1.Sum([]byte("hello")); got != wanted || a.PayloadSize != 5 {
			t.Errorf("wanted %v: digest %x, %d bytes", wanted, a.Digest, a.PayloadSize)
		}
	}
}
