package fetch

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"weir/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a scripted server on loopback: it does what the test says, byte by
// byte, and remembers what it was asked.
type peer struct {
	addr netip.AddrPort

	mu       sync.Mutex
	requests []string
}

// scene is one connection to a peer.
type scene struct {
	net.Conn
	br   *bufio.Reader
	peer *peer
	n    int // how many connections came before
}

// listen starts a peer at an address of loopback.
func listen(t testing.TB, at string, act func(*scene)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return attend(t, l, act)
}

// attend is a peer behind a listener.
func attend(t testing.TB, l net.Listener, act func(*scene)) *peer {
	p := &peer{addr: netip.MustParseAddrPort(l.Addr().String())}
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				act(&scene{Conn: conn, br: bufio.NewReader(conn), peer: p, n: n})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return p
}

func serve(t testing.TB, act func(*scene)) *peer { return listen(t, "127.0.0.1:0", act) }

// hear reads one request; it is "" when the client has gone.
func (s *scene) hear() string {
	var b strings.Builder
	for {
		line, err := s.br.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			return ""
		}
		if line == "\r\n" {
			s.peer.mu.Lock()
			defer s.peer.mu.Unlock()
			s.peer.requests = append(s.peer.requests, b.String())
			return b.String()
		}
	}
}

// say writes and does not care whether anyone listens.
func (s *scene) say(text string) { io.WriteString(s.Conn, text) }

// wait holds the connection until the client closes it.
func (s *scene) wait() { io.Copy(io.Discard, s.br) }

// asked returns all requests so far.
func (p *peer) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

func (p *peer) url(t testing.TB, path string) page.URL {
	return parse(t, "http://"+p.addr.String()+path)
}

func parse(t testing.TB, s string) page.URL {
	t.Helper()
	u, err := page.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// says is a script: answer the first request with text, then close.
func says(text string) func(*scene) {
	return func(s *scene) {
		s.hear()
		s.say(text)
	}
}

// keeps is a script: answer requests with one text after the other, then wait.
func keeps(texts ...string) func(*scene) {
	return func(s *scene) {
		for _, text := range texts {
			if s.hear() == "" {
				return
			}
			s.say(text)
		}
		s.wait()
	}
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.TempDir == "" {
		cfg.TempDir = t.TempDir()
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if c.memory.free != c.cfg.Memory {
			t.Errorf("%d bytes of memory were not given back", c.cfg.Memory-c.memory.free)
		}
	})
	return c
}

// local is a Config for servers on loopback.
func local() Config { return Config{AllowPrivate: true, Memory: 16 << 20} }

func open(t testing.TB, c *Client, u page.URL, addr netip.Addr) *Conn {
	t.Helper()
	cn, o := c.Open(t.Context(), u, addr)
	if o != page.OK {
		t.Fatalf("open %s: %v: %s", u, o, cn.Err)
	}
	t.Cleanup(cn.Close)
	return cn
}

// get fetches one path of p on a connection of its own.
func get(t testing.TB, cfg Config, p *peer, path string) *Answer {
	t.Helper()
	u := p.url(t, path)
	a := open(t, newClient(t, cfg), u, p.addr.Addr()).Get(t.Context(), u, false)
	t.Cleanup(a.Release)
	return a
}

func block(t testing.TB, a *Answer) string {
	t.Helper()
	b, err := io.ReadAll(a.Block())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func payload(t testing.TB, a *Answer) string {
	t.Helper()
	b, err := io.ReadAll(a.Payload())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
