package fetch

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/page"
)

// pipe carries bytes both ways between a client and a server until both ends
// have closed.
func pipe(s *scene, to string) {
	conn, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { io.Copy(conn, s.br); conn.(*net.TCPConn).CloseWrite() })
	both.Go(func() { io.Copy(s.Conn, conn); s.Conn.Close() })
	both.Wait()
	conn.Close()
}

// connectProxy is a proxy that knows one way to everywhere.
func connectProxy(to string) func(*scene) {
	return func(s *scene) {
		if req := s.hear(); !strings.HasPrefix(req, "CONNECT ") {
			s.say("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
			return
		}
		s.say("HTTP/1.1 200 Connected\r\nX: y\r\n\r\n")
		pipe(s, to)
	}
}

// socksProxy is a SOCKS5 proxy that knows one way to everywhere. It notes what
// it was asked for; with a password it wants one.
func socksProxy(to, user, password string, reply byte) func(*scene) {
	return func(s *scene) {
		b := make([]byte, 512)
		read := func(n int) []byte {
			io.ReadFull(s.br, b[:n])
			return b[:n]
		}
		methods := string(read(int(read(2)[1])))
		method := byte(0)
		if user != "" {
			method = 2
		}
		if !strings.Contains(methods, string([]byte{method})) {
			s.Write([]byte{5, 255})
			return
		}
		s.Write([]byte{5, method})
		if user != "" {
			u := string(read(int(read(2)[1])))
			p := string(read(int(read(1)[0])))
			if u != user || p != password {
				s.Write([]byte{1, 1})
				return
			}
			s.Write([]byte{1, 0})
		}
		var target string
		switch read(4)[3] {
		case 1:
			target = net.IP(read(4)).String()
		case 3:
			target = string(read(int(read(1)[0])))
		case 4:
			target = net.IP(read(16)).String()
		}
		target = fmt.Sprintf("%s:%d", target, binary.BigEndian.Uint16(read(2)))
		s.peer.mu.Lock()
		s.peer.requests = append(s.peer.requests, target)
		s.peer.mu.Unlock()
		s.Write([]byte{5, reply, 0, 3, 4, 'n', 'a', 'm', 'e', 0, 80})
		if reply == 0 {
			pipe(s, to)
		}
	}
}

func TestProxy(t *testing.T) {
	ca := newAuthority(t)
	certs := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(time.Hour), "site.test", "127.0.0.1")}}
	hello := keeps(ok+"Content-Length: 5\r\n\r\nhello", ok+"Content-Length: 5\r\n\r\nhello")
	plain := serve(t, hello)
	secure := serve(t, overTLS(certs, hello))
	asHTTP := func(s *scene) { hello(s) }

	tests := []struct {
		name  string
		proxy *peer
		url   string // of the proxy, %s its address
		site  string
		asked string // what the proxy was asked first
	}{
		{"http", serve(t, asHTTP), "http://%s", "http://site.test/a?b", "GET http://site.test/a?b HTTP/1.1\r\nHost: site.test\r\n"},
		{"http with a password", serve(t, asHTTP), "http://me:secret@%s", "http://site.test/", "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"},
		{"https", serve(t, overTLS(certs, asHTTP)), "https://%s", "http://site.test:81/", "GET http://site.test:81/ HTTP/1.1\r\n"},
		{"CONNECT", serve(t, connectProxy(secure.addr.String())), "http://%s", "https://site.test/", "CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n"},
		{"CONNECT with a password", serve(t, connectProxy(secure.addr.String())), "http://me:secret@%s", "https://site.test/", "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"},
		{"CONNECT over TLS", serve(t, overTLS(certs, connectProxy(secure.addr.String()))), "https://%s", "https://site.test/", "CONNECT site.test:443"},
		{"SOCKS5", serve(t, socksProxy(plain.addr.String(), "", "", 0)), "socks5://%s", "http://site.test/", "site.test:80"},
		{"SOCKS5 to an address", serve(t, socksProxy(plain.addr.String(), "", "", 0)), "socks5://%s", "http://8.8.8.8/", "8.8.8.8:80"},
		{"SOCKS5 to IPv6", serve(t, socksProxy(plain.addr.String(), "", "", 0)), "socks5://%s", "http://[2606:4700::1]/", "2606:4700::1:80"},
		{"SOCKS5 with TLS and a password", serve(t, socksProxy(secure.addr.String(), "me", "secret", 0)), "socks5://me:secret@%s", "https://site.test/", "site.test:443"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proxy, err := url.Parse(fmt.Sprintf(tt.url, tt.proxy.addr))
			if err != nil {
				t.Fatal(err)
			}
			// The name server would refuse, and private addresses are refused: a
			// proxy needs neither.
			c := newClient(t, Config{Proxy: proxy, Roots: ca.pool(), Memory: 1 << 20, DNS: "127.0.0.1:1"})
			u := parse(t, tt.site)
			if addrs, _, o := c.Lookup(t.Context(), u.Host()); o != page.OK || len(addrs) != 0 {
				t.Errorf("a name was looked up behind a proxy: %v, %v", addrs, o)
			}
			cn := open(t, c, u, netip.Addr{})
			for range 2 {
				a := cn.Get(t.Context(), u, false)
				if a.Outcome != page.OK || payload(t, a) != "hello" || !a.KeepAlive || a.Addr.IsValid() {
					t.Errorf("%v (%s) from %v", a.Outcome, a.Err, a.Addr)
				}
				if strings.Contains(string(a.Request), "bWU6c2VjcmV0") {
					t.Error("the proxy's password would be archived")
				}
				a.Release()
			}
			if asked := tt.proxy.asked(); len(asked) == 0 || !strings.Contains(asked[0], tt.asked) {
				t.Errorf("the proxy was asked %q", asked)
			}
		})
	}
	for _, req := range append(plain.asked(), secure.asked()...) {
		if strings.Contains(req, "Proxy-") {
			t.Errorf("the site saw what is for the proxy: %q", req)
		}
	}
}

func TestProxyFailed(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	tests := []struct {
		name string
		url  string
		site string
		want page.Outcome
	}{
		{"not there", "http://" + gone.Addr().String(), "http://site.test/", page.ProxyFailed},
		{"no such name", "http://" + strings.Repeat("x", 64) + ".test:1", "http://site.test/", page.ProxyFailed},
		{"refuses", "http://" + serve(t, says("HTTP/1.1 407 Auth\r\n\r\n")).addr.String(), "https://site.test/", page.ProxyFailed},
		{"not HTTP", "http://" + serve(t, says("SSH-2.0\r\n\r\n")).addr.String(), "https://site.test/", page.ProxyFailed},
		{"endless header", "http://" + serve(t, says("HTTP/1.1 200 OK\r\n"+strings.Repeat("x: y\r\n", 1<<14))).addr.String(), "https://site.test/", page.ProxyFailed},
		{"closes", "http://" + serve(t, says("")).addr.String(), "https://site.test/", page.ProxyFailed},
		{"silent", "http://" + serve(t, func(s *scene) { s.wait() }).addr.String(), "https://site.test/", page.ProxyFailed},
		{"not SOCKS", "socks5://" + serve(t, func(s *scene) { s.say("HTTP/1.1 400 No\r\n\r\n"); s.wait() }).addr.String(), "http://site.test/", page.ProxyFailed},
		{"SOCKS wants a password", "socks5://" + serve(t, socksProxy("", "me", "x", 0)).addr.String(), "http://site.test/", page.ProxyFailed},
		{"SOCKS wants another password", "socks5://me:y@" + serve(t, socksProxy("", "me", "x", 0)).addr.String(), "http://site.test/", page.ProxyFailed},
		{"SOCKS refuses", "socks5://" + serve(t, socksProxy("", "", "", 2)).addr.String(), "http://site.test/", page.ProxyFailed},
		{"SOCKS: the site refuses", "socks5://" + serve(t, socksProxy("", "", "", 5)).addr.String(), "http://site.test/", page.ConnectFailed},
		{"SOCKS: the site is silent", "socks5://" + serve(t, socksProxy("", "", "", 6)).addr.String(), "http://site.test/", page.ConnectTimeout},
		{"a private address behind it", "http://" + gone.Addr().String(), "http://10.0.0.1/", page.PrivateAddress},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proxy, _ := url.Parse(tt.url)
			cfg := Config{Proxy: proxy, Memory: 1 << 20, DNS: "127.0.0.1:1"}
			if tt.name == "silent" {
				cfg.Limits.Handshake = 20 * time.Millisecond
			}
			c := newClient(t, cfg)
			cn, o := c.Open(t.Context(), parse(t, tt.site), netip.Addr{})
			defer cn.Close()
			if o != tt.want {
				t.Errorf("%v (%s), want %v", o, cn.Err, tt.want)
			}
		})
	}
}

func FuzzSocks(f *testing.F) {
	f.Add([]byte{5, 0, 5, 0, 0, 1, 1, 2, 3, 4, 0, 80}, true)
	f.Add([]byte{5, 2, 1, 0, 5, 0, 0, 3, 1, 'x', 0, 80}, true)
	u, _ := page.Parse("http://site.test/")
	f.Fuzz(func(t *testing.T, said []byte, user bool) {
		var info *url.Userinfo
		if user {
			info = url.UserPassword("me", "secret")
		}
		s := struct {
			io.Reader
			io.Writer
		}{bufio.NewReader(strings.NewReader(string(said))), io.Discard}
		if o, err := socks(s, info, u); (o == page.OK) != (err == nil) {
			t.Errorf("%v with %v", o, err)
		}
	})
}
