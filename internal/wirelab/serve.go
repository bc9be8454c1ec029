package wirelab

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	stdlog "log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// host answers for every server of a web, on one listener for each scheme: the
// address that a connection came to says which server it is.
type host struct {
	web    Web
	begin  time.Time
	index  map[netip.Addr]int
	names  map[string]netip.Addr
	filler []byte
	http   *http.Server
	tasks  sync.WaitGroup

	mu       sync.Mutex
	requests []Request
	closing  []io.Closer
}

// sockets are what a host listens on.
type sockets struct {
	plain, secure, bulk net.Listener
	dns, echo           *net.UDPConn
}

func newHost(web Web, begin time.Time) *host {
	h := &host{web: web, begin: begin, index: make(map[netip.Addr]int), names: make(map[string]netip.Addr)}
	for i, s := range web.Servers {
		h.index[s.Addr] = i
		h.names[s.Name+"."] = s.Addr
	}
	h.filler = filler(int(2 * largest))
	return h
}

// filler is text without links that does not repeat.
func filler(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString("<p>")
		for range 12 {
			for range 2 + rng.IntN(8) {
				b.WriteByte(byte('a' + rng.IntN(26)))
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// start serves until close.
func (h *host) start(s sockets, cert tls.Certificate) {
	h.http = &http.Server{
		Handler:           http.HandlerFunc(h.page),
		ReadHeaderTimeout: time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          stdlog.New(io.Discard, "", 0),
	}
	secure := tls.NewListener(s.secure, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}})
	h.closing = []io.Closer{s.bulk, s.dns, s.echo}
	h.tasks.Go(func() { _ = h.http.Serve(s.plain) })
	h.tasks.Go(func() { _ = h.http.Serve(secure) })
	h.tasks.Go(func() { h.pour(s.bulk) })
	h.tasks.Go(func() { answer(s.dns, h.lookup) })
	h.tasks.Go(func() { answer(s.echo, func(b []byte) []byte { return b }) })
}

func (h *host) close() {
	h.http.Close()
	h.mu.Lock()
	for _, c := range h.closing {
		c.Close()
	}
	h.closing = nil
	h.mu.Unlock()
	h.tasks.Wait()
}

// page answers one request. robots.txt allows everything.
func (h *host) page(w http.ResponseWriter, r *http.Request) {
	at := time.Since(h.begin)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	to, err := netip.ParseAddrPort(local.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	server, ok := h.index[to.Addr().Unmap()]
	if !ok {
		http.NotFound(w, r)
		return
	}
	page := -1
	if n, found := strings.CutPrefix(r.URL.Path, "/p/"); found {
		if i, err := strconv.Atoi(n); err == nil && i >= 0 && i < len(h.web.Pages) && h.web.Pages[i].Server == server {
			page = i
		}
	}
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	h.mu.Lock()
	h.requests = append(h.requests, Request{At: at, Server: server, Page: page, Port: from.Port()})
	h.mu.Unlock()

	if think := h.web.Servers[server].Think; think > 0 {
		t := time.NewTimer(think)
		select {
		case <-t.C:
		case <-r.Context().Done():
			t.Stop()
			return
		}
	}
	switch {
	case page >= 0:
		h.write(w, r, page)
	case r.URL.Path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "User-agent: *\nAllow: /\n")
	default:
		http.NotFound(w, r)
	}
}

// write sends a page of exactly its size, or as short as its opening allows.
func (h *host) write(w http.ResponseWriter, r *http.Request, page int) {
	head := fmt.Sprintf("<!doctype html><title>Page %d of %s</title>\n", page, h.web.Servers[h.web.Pages[page].Server].Name)
	rest := max(0, h.web.Pages[page].Size-len(head))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+rest))
	if r.Method == http.MethodHead {
		return
	}
	io.WriteString(w, head)
	for from := page * 7919 % len(h.filler); rest > 0; from = 0 {
		n, err := w.Write(h.filler[from:min(len(h.filler), from+rest)])
		if err != nil {
			return
		}
		rest -= n
	}
}

// pour sends to whoever connects, without end.
func (h *host) pour(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		if h.closing == nil {
			c.Close()
		} else {
			h.closing = append(h.closing, c)
		}
		h.mu.Unlock()
		h.tasks.Go(func() {
			defer c.Close()
			for {
				if _, err := c.Write(h.filler); err != nil {
					return
				}
			}
		})
	}
}

// answer replies to datagrams until the socket is closed.
func answer(c *net.UDPConn, reply func([]byte) []byte) {
	b := make([]byte, 1500)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		if out := reply(b[:n]); out != nil {
			c.WriteToUDPAddrPort(out, from)
		}
	}
}

// lookup answers a DNS message: names of servers have one address, others do not exist.
func (h *host) lookup(msg []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(msg)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	addr, known := h.names[strings.ToLower(q.Name.String())]
	reply := dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true}
	if !known {
		reply.RCode = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, reply)
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	if known && q.Type == dnsmessage.TypeA {
		rr := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 3600}
		if b.AResource(rr, dnsmessage.AResource{A: addr.As4()}) != nil {
			return nil
		}
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

// visited copies the requests so far.
func (h *host) visited() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Request(nil), h.requests...)
}
