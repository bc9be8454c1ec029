package fetch

import (
	"bytes"
	"context"
	"crypto/sha1"
	"io"
	"math"
	"net"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// over returns a Conn on an existing connection.
func over(c *Client, conn net.Conn, u page.URL) *Conn {
	l := c.newLink(conn, u.Host())
	return &Conn{client: c, site: u.Site(), host: u.Host(), link: l, stream: l}
}

// FuzzAnswer lets a server say anything, twice on one connection: nothing may
// panic, pass the limits, or be archived that was not said.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		ok + "Content-Length: 5\r\n\r\nhello",
		ok + "Content-Length: 5\r\n\r\nhello" + ok + "Content-Length: 0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nT: u\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\nh\n0\n\n",
		"HTTP/1.1 103 Hints\r\n\r\n" + ok + "\r\nhello",
		"HTTP/1.1 301 M\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 503 M\r\nRetry-After: 3\r\nKeep-Alive: timeout=5, max=3\r\n\r\n",
		ok + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00",
		ok + "Content-Encoding: br, zstd\r\n\r\n\x28\xb5\x2f\xfd",
		"SSH-2.0-x\r\n", "HTTP/1.1 204 N\r\n\r\nx", "HTTP/1.0 200\n\nx", "",
	} {
		f.Add([]byte(s), uint8(7))
	}
	cfg := Config{AllowPrivate: true, Memory: 1 << 20, TempDir: f.TempDir()}
	cfg.Limits = Limits{MaxHeader: 2048, MaxBody: 4096, MaxDecoded: 1 << 20}
	c := newClient(f, cfg)
	u := parse(f, "http://site.test/")
	f.Fuzz(func(t *testing.T, said []byte, step uint8) {
		ours, theirs := net.Pipe()
		var wait sync.WaitGroup
		wait.Go(func() { io.Copy(io.Discard, theirs) })
		wait.Go(func() {
			defer theirs.Close()
			for rest := said; len(rest) > 0; {
				n := min(len(rest), int(step)+1)
				if _, err := theirs.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		})
		defer wait.Wait()
		cn := over(c, ours, u)
		defer cn.Close()
		before := int64(0)
		for range 2 {
			a := cn.Get(context.Background(), u, false)
			check(t, a, said, before)
			before = cn.link.read
			keep := a.KeepAlive
			a.Release()
			if !keep {
				break
			}
		}
	})
}

func check(t *testing.T, a *Answer, said []byte, from int64) {
	b, err := io.ReadAll(a.Block())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(said[from+a.start:], b) {
		t.Errorf("kept %q, said %q", b, said[from:])
	}
	if int64(len(b)) > 2048+4096+4096+4096 {
		t.Errorf("%d bytes pass the limits", len(b))
	}
	p, err := io.ReadAll(a.Payload())
	if err != nil || int64(len(p)) != a.PayloadSize {
		t.Errorf("payload of %d bytes, said to be %d: %v", len(p), a.PayloadSize, err)
	}
	if a.Status != 0 && (a.Digest != sha1.Sum(p) || !bytes.HasPrefix(b, a.Head)) {
		t.Error("digest or head is not the answer's")
	}
	if a.Outcome == page.None || a.Fault != nil {
		t.Errorf("outcome %v, fault %v", a.Outcome, a.Fault)
	}
	if a.Outcome.Row().Answer != (a.Status != 0) {
		t.Errorf("outcome %v with status %d", a.Outcome, a.Status)
	}
	if a.KeepAlive && from+a.end != int64(len(said)) && a.conn.link.read != from+a.end {
		t.Error("bytes of the next answer were swallowed")
	}
	a.Decoded(0)
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), 3)
	f.Add([]byte("A;n=v\r\n0123456789\r\n00\r\nX: y\r\n\r\nrest"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, step int) {
		step = max(step, 1)
		var frame chunkFrame
		var got []byte
		used, done := 0, false
		for rest := raw; len(rest) > 0 && !done; {
			n, end, err := frame.feed(rest[:min(step, len(rest))], func(p []byte) { got = append(got, p...) })
			used += n
			if err != nil {
				break
			}
			done, rest = end, rest[n:]
		}
		again, _ := io.ReadAll(io.LimitReader(&unchunker{src: bytes.NewReader(raw)}, int64(len(got))))
		if !bytes.Equal(again, got) {
			t.Errorf("read again it holds %q, not %q", again, got)
		}
		// What the standard library takes, we take in the same way.
		std, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw)))
		if err == nil && !bytes.Equal(std, got) {
			t.Errorf("%q, but net/http says %q", got, std)
		}
		if done && used > len(raw) {
			t.Errorf("%d of %d bytes", used, len(raw))
		}
	})
}

// However a body is cut into chunks and however those arrive, the same body
// comes out and the frame ends exactly at its end.
func TestChunksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raw, body bytes.Buffer
		w := httputil.NewChunkedWriter(&raw)
		for range rapid.IntRange(0, 5).Draw(t, "chunks") {
			p := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "chunk")
			body.Write(p)
			w.Write(p)
		}
		w.Close()
		raw.WriteString("\r\n")
		size := raw.Len()
		raw.WriteString("next")
		var frame chunkFrame
		var got []byte
		used := 0
		for done := false; !done; {
			n := min(rapid.IntRange(1, 64).Draw(t, "read"), raw.Len())
			u, end, err := frame.feed(raw.Next(n), func(p []byte) { got = append(got, p...) })
			if err != nil {
				t.Fatal(err)
			}
			used, done = used+u, end
		}
		if used != size || !bytes.Equal(got, body.Bytes()) || frame.sloppy {
			t.Fatalf("%d of %d bytes, %q", used, size, got)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT")
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := retryAfter(s, time.Unix(784111777, 0)); d < 0 || d > maxRetryAfter || !ok && d != 0 {
			t.Errorf("%q: %v, %v", s, d, ok)
		}
	})
}

func FuzzKeepAlive(f *testing.F) {
	f.Add("timeout=5, max=100")
	f.Add("max=0")
	f.Add("timeout=\"5\";max=-1,MAX=99999999999")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' { // no header has them
				return -1
			}
			return r
		}, s)
		once := Header{"Keep-Alive: " + s + "\r\n"}
		d, n := keepAliveHints(once)
		if d < 0 || d > math.MaxInt32*time.Second || n < -1 || n > math.MaxInt32 || n < 0 && d != 0 {
			t.Errorf("%q: %v, %v", s, d, n)
		}
		if again, m := keepAliveHints(Header{once.lines + "Date: x\r\n" + once.lines}); again != d || m != n {
			t.Errorf("%q: %v, %v; said twice: %v, %v", s, d, n, again, m)
		}
		if less, m := keepAliveHints(Header{once.lines + "keep-alive: max=1, timeout=1\r\n"}); m > 1 || less > time.Second || m == 0 {
			t.Errorf("%q: %v, %v though less was said too", s, less, m)
		}
	})
}

func FuzzDNS(f *testing.F) {
	q, err := newQuestion(7, "a.test", typeA)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(q.msg)
	answer := append([]byte(nil), q.msg...)
	answer[2] |= 0x80
	answer[7] = 1
	f.Add(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, msg []byte) {
		r, err := q.read(msg)
		if err != nil {
			return
		}
		if len(r.addrs) > maxRecords || r.ttl < 0 || r.hops > maxAliases || (r.alias != "") == (len(r.addrs) > 0) && r.alias != "" {
			t.Errorf("%+v", r)
		}
		for _, a := range r.addrs {
			if !a.Is4() {
				t.Errorf("%v is no A record", a)
			}
		}
	})
}

func FuzzSystemFiles(f *testing.F) {
	f.Add("127.0.0.1 localhost # x\nnameserver ::1\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, addrs := range readHosts(strings.NewReader(s)) {
			for _, a := range addrs {
				if !a.IsValid() {
					t.Error("a host without an address")
				}
			}
		}
		for _, server := range readServers(strings.NewReader(s)) {
			if _, err := netip.ParseAddrPort(server); err != nil {
				t.Error(err)
			}
		}
	})
}
