package testweb

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The life of a connection: the server of its address accepts it and counts it, conn.run reads requests one at a time, finds the
// host that each names, notes the arrival with the audit and lets the site answer through an exchange.

// Limits on what a visitor may send.
const (
	maxLine   = 16 << 10 // request line or one header
	maxHeader = 64 << 10 // all of them
)

// server is one address. Its hosts are fixed before it accepts.
type server struct {
	web   *Web
	ln    net.Listener
	addr  netip.Addr
	hosts map[string]*host
	wild  []*site
	tls   bool // some site here speaks TLS: look at the first byte of each connection
	tally tally
}

func newServer(w *Web, l net.Listener) *server {
	addr := l.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	return &server{web: w, ln: l, addr: addr, hosts: make(map[string]*host)}
}

func (v *server) add(s *site) error {
	s.addr = v.addr
	if s.name == "" {
		s.name = v.addr.String()
	}
	if v.hosts[s.name] != nil {
		return fmt.Errorf("testweb: two sites are called %s at %s", s.name, v.addr)
	}
	s.host = newHost(s.name, s)
	v.hosts[s.name] = s.host
	v.tls = v.tls || s.TLS
	if s.Wildcard {
		v.wild = append(v.wild, s)
	}
	return nil
}

// find is the host that a request names, nil when it is not served here.
func (v *server) find(name []byte) *host {
	if h := v.hosts[string(name)]; h != nil {
		return h
	}
	for _, s := range v.wild {
		if bytes.HasSuffix(name, []byte("."+s.name)) {
			return s.host.below(string(name))
		}
	}
	return nil
}

func (v *server) accept() {
	w := v.web
	for {
		nc, err := v.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of file descriptors, most likely: some will be free again.
			if !w.wait(10 * time.Millisecond) {
				return
			}
			continue
		}
		select {
		case w.slots <- struct{}{}:
		case <-w.closing:
			nc.Close()
			return
		}
		if !w.track(nc) {
			nc.Close()
			return
		}
		c := &conn{v: v, raw: nc, Conn: nc, opened: time.Now()}
		v.tally.join(c)
		w.tasks.Go(func() {
			defer func() { <-w.slots }()
			c.run()
		})
	}
}

// conn is one connection. Its goroutine owns it, but for the fields that the audit guards.
type conn struct {
	net.Conn          // what is spoken through: raw, or TLS over it
	raw      net.Conn // the socket
	v        *server
	opened   time.Time
	in       *bufio.Reader
	host     *host // the one it was last used for
	answers  int
	left     bool
	held     bool // see hold

	busy bool // an answer is under way; guarded by host.mu
}

var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLine) }}
	buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, headRoom, 32<<10)} }}
)

// buffer holds an answer: the head is put in front of the body, so that both leave in one write.
type buffer struct{ b []byte }

const headRoom = 1 << 10

// borrow and lend keep readers for connections to come.
func borrow(from net.Conn) *bufio.Reader {
	r := readers.Get().(*bufio.Reader)
	r.Reset(from)
	return r
}

func lend(r *bufio.Reader) {
	r.Reset(nil)
	readers.Put(r)
}

func (c *conn) run() {
	defer c.close()
	socket := borrow(c.raw)
	defer lend(socket)
	c.in = socket
	x := &exchange{conn: c}
	if c.v.tls {
		first, err := c.in.Peek(1)
		if err != nil {
			return
		}
		if x.secure = first[0] == 0x16; x.secure {
			t := tls.Server(&peeked{c.raw, socket}, c.v.web.tlsConfig())
			c.raw.SetDeadline(time.Now().Add(30 * time.Second))
			if t.Handshake() != nil {
				return
			}
			c.raw.SetDeadline(time.Time{})
			inner := borrow(t)
			defer lend(inner)
			c.Conn, c.in = t, inner
		}
	}
	for x.read() && x.serve() {
	}
}

// peeked gives TLS the bytes that were read to recognise it.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// close ends a connection. The audit hears of it first: a visitor who sees the end may at once come back on another.
func (c *conn) close() {
	c.leave()
	c.Conn.Close()
	c.raw.Close()
	c.v.web.untrack(c.raw)
}

// gone says whether the visitor has hung up, or would have if it could.
func (c *conn) gone() bool {
	if peerGone(c.raw) {
		return true
	}
	gone := c.v.web.gone
	return gone != nil && gone(c.raw.RemoteAddr().(*net.TCPAddr).AddrPort().Addr(), c.opened)
}

func (c *conn) leave() {
	if c.left {
		return
	}
	c.left = true
	if c.host != nil {
		c.host.leave(c)
	}
	c.v.tally.leave(c)
}

// exchange is one request and its answer. It is used again for the next request of its connection.
type exchange struct {
	*conn
	secure bool

	line    []byte // the request line, whose parts the next three are
	method  []byte
	path    []byte // the target: path and query
	name    []byte // host, lower case, without port
	gzip    bool
	last    bool // the visitor asked for the connection to be closed, or speaks HTTP/1.0
	arrived time.Time
	agent   []byte
	secrets []string

	page     int // the page asked for, -1 when it is none
	head     []byte
	out      *buffer
	html     []byte
	finished bool
	status   int
	ended    time.Time
	sent     int64
	note     note
}

// read takes in one request; it says false when there is none that can be answered.
func (x *exchange) read() bool {
	x.method, x.path, x.name = nil, nil, x.name[:0]
	x.gzip, x.last, x.secrets, x.agent = false, false, nil, x.agent[:0]
	line, err := x.in.ReadSlice('\n')
	x.arrived = time.Now()
	if err != nil {
		return x.refuse(err)
	}
	x.line = append(x.line[:0], bytes.TrimRight(line, "\r\n")...)
	method, rest, _ := bytes.Cut(x.line, []byte(" "))
	i := bytes.LastIndexByte(rest, ' ')
	if i < 0 || !bytes.HasPrefix(rest[i+1:], []byte("HTTP/1.")) || len(method) == 0 {
		return x.refuse(errRequest)
	}
	x.method, x.path = method, rest[:i]
	x.last = rest[len(rest)-1] == '0'
	for left := maxHeader - len(line); ; {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return x.refuse(err)
		}
		if left -= len(line); left < 0 {
			return x.refuse(bufio.ErrBufferFull)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return true
		}
		if !x.header(line) {
			return x.refuse(errRequest)
		}
	}
}

// header notes what matters of a header line; it says false for one that announces a body.
func (x *exchange) header(line []byte) bool {
	key, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	is := func(name string) bool { return len(key) == len(name) && strings.EqualFold(string(key), name) }
	switch {
	case is("Host"):
		if i := bytes.LastIndexByte(value, ':'); i >= 0 {
			value = value[:i]
		}
		for _, c := range value {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			x.name = append(x.name, c)
		}
	case is("User-Agent"):
		x.agent = append(x.agent, value...)
	case is("Accept-Encoding"):
		x.gzip = bytes.Contains(value, []byte("gzip"))
	case is("Connection"):
		x.last = x.last || strings.EqualFold(string(value), "close")
	case is("Cookie"), is("Authorization"), is("Proxy-Authorization"):
		x.secrets = append(x.secrets, http.CanonicalHeaderKey(string(key))+": "+string(value))
	case is("Transfer-Encoding"):
		return false
	case is("Content-Length"):
		return string(value) == "0"
	}
	return true
}

// refuse ends a connection whose next request makes no sense, or never came because the peer is gone.
func (x *exchange) refuse(err error) bool {
	var status int
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		status = 431
	case errors.Is(err, errRequest):
		status = 400
	default:
		return false
	}
	x.raw.SetWriteDeadline(time.Now().Add(time.Second))
	x.Conn.Write(appendHead(nil, status, "text/plain", "", 0, true, false))
	return false
}

// errRequest is a request that is not a plain HTTP/1 question.
var errRequest = errors.New("bad request")

// serve answers the request that was read.
func (x *exchange) serve() bool {
	h := x.v.find(x.name)
	if h == nil || h.site.TLS != x.secure {
		x.v.web.stray.add(string(x.name), x.v.addr)
		x.Conn.Write(appendHead(nil, 421, "text/plain", "", 0, true, false))
		return false
	}
	x.page, x.finished, x.html, x.sent = -1, false, nil, 0
	h.arrive(x)
	if heard := x.v.web.heard; heard != nil {
		heard(h.name, string(x.path))
	}
	x.answers++
	if s := h.site; s.PerConn > 0 && x.answers >= s.PerConn && !s.Silent {
		x.last = true
	}
	defer x.release()
	if string(x.method) != "GET" && string(x.method) != "HEAD" {
		return x.reply(405, "text/plain", "Allow: GET, HEAD\r\n", nil)
	}
	keep := h.site.answer(x)
	if !x.finished {
		h.finish(x, 0)
	}
	if visited := x.v.web.visited; visited != nil {
		from := x.raw.RemoteAddr().(*net.TCPAddr).AddrPort()
		visited(Visit{Host: h.name, Path: string(x.path), From: from, Agent: string(x.agent), Arrived: x.arrived, Ended: x.ended, Status: x.status, Sent: x.sent})
	}
	if s := h.site; s.PerConn > 0 && x.answers >= s.PerConn {
		return false
	}
	return keep
}

// buffer is room for a body, empty.
func (x *exchange) buffer() []byte {
	if x.out == nil {
		x.out = buffers.Get().(*buffer)
	}
	return x.out.b[headRoom:headRoom]
}

// inRoom says whether a body lies in the room that buffer gave, with space for a head before it.
func (x *exchange) inRoom(body []byte) bool {
	return x.out != nil && len(body) > 0 && cap(x.out.b) > headRoom && &body[0] == &x.out.b[:headRoom+1][headRoom]
}

// release gives the room back, for the next time as large as it should have been.
func (x *exchange) release() {
	if x.out == nil {
		return
	}
	if n := cap(x.html); n > cap(x.out.b)-headRoom && n < 1<<20 {
		x.out.b = make([]byte, headRoom, headRoom+n)
	}
	buffers.Put(x.out)
	x.out = nil
}

// reply sends a whole answer. It says whether the connection lives on.
func (x *exchange) reply(status int, kind, extra string, body []byte) bool {
	x.head = appendHead(x.head[:0], status, kind, extra, len(body), x.last, false)
	head := x.head
	if string(x.method) == "HEAD" {
		body = nil
	}
	if rate := x.host.site.pace(); rate > 0 {
		return x.trickle(status, head, body, rate)
	}
	x.finish(status)
	if x.inRoom(body) && len(head) <= headRoom {
		at := headRoom - len(head)
		copy(x.out.b[at:headRoom], head)
		return x.send(x.out.b[at:headRoom+len(body)]) && !x.last
	}
	return x.send(slices.Concat(head, body)) && !x.last
}

// trickle sends an answer at a rate, piece by piece. A visitor who lets bytes wait does not find all of them there afterwards: as on a
// slow line, they come at the rate from then on, where the system can be told so.
func (x *exchange) trickle(status int, head, body []byte, rate int64) bool {
	if !x.held {
		x.held = true
		hold(x.raw)
	}
	if !x.send(head) {
		return false
	}
	step := max(1, cmp.Or(x.host.site.Piece, int(rate/20)))
	pause := time.Second * time.Duration(step) / time.Duration(rate)
	for len(body) > step {
		if !x.send(body[:step]) || !x.v.web.wait(pause) {
			return false
		}
		body = body[step:]
	}
	x.finish(status)
	return x.send(body) && !x.last
}

// chunks sends an answer in pieces of at most 4000 bytes.
func (x *exchange) chunks(status int, kind string, body []byte) bool {
	if string(x.method) == "HEAD" {
		return x.reply(status, kind, "", nil)
	}
	b := appendHead(nil, status, kind, "", -1, x.last, true)
	for len(body) > 0 {
		n := min(len(body), 4000)
		b = fmt.Appendf(b, "%x\r\n", n)
		b = append(append(b, body[:n]...), "\r\n"...)
		body = body[n:]
	}
	x.finish(status)
	return x.send(append(b, "0\r\n\r\n"...)) && !x.last
}

// finish tells the audit that the answer is complete. It comes before the last write: afterwards the visitor might act
// on the answer before the audit has heard of it.
func (x *exchange) finish(status int) {
	x.finished = true
	x.host.finish(x, status)
	if x.last {
		x.leave()
	}
}

// send writes bytes; it says whether they went out. An answer that did not go out was not given.
func (x *exchange) send(b []byte) bool {
	x.host.sent.Add(int64(len(b)))
	n, err := x.Conn.Write(b)
	x.sent += int64(n)
	if err != nil {
		x.host.sent.Add(int64(n - len(b)))
		if x.finished {
			x.host.retract(x)
		}
		return false
	}
	return true
}

// wait lets time pass; it says false when the web closes.
func (w *Web) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.closing:
		return false
	}
}

// appendHead appends the head of an answer; length -1 sends none.
func appendHead(b []byte, status int, kind, extra string, length int, last, chunked bool) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	b = append(b, "\r\nServer: testweb\r\n"...)
	if kind != "" {
		b = append(append(append(b, "Content-Type: "...), kind...), "\r\n"...)
	}
	if length >= 0 {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(length), 10)
		b = append(b, "\r\n"...)
	}
	if chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, extra...)
	return append(b, "\r\n"...)
}
