package testweb

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Each way to misbehave is caught, and only that one is named.
func TestMisbehaviour(t *testing.T) {
	site := Site{Name: "a.test", Pages: 20, Links: 4, Size: 500}
	strict := site
	strict.Deny, strict.Delay = []string{"/private"}, time.Hour
	shut := site
	shut.RobotsStatus = 503
	slow := site
	slow.Faults = []Fault{{Kind: Truncated, Pages: []int{3}}}
	others := Even(3, site)
	tests := []struct {
		name    string
		sites   []Site
		shared  bool
		manners Manners
		visit   func(t *testing.T, w *Web, e ear)
		want    []string // a part of each problem
	}{{
		name: "polite on one connection", sites: []Site{site}, manners: Manners{Wait: time.Hour, PerServer: 1},
		visit: func(t *testing.T, w *Web, e ear) {
			c := dial(t, w, 0)
			c.get("/robots.txt")
			c.get("/")
			c.get("/p/1")
		},
	}, {
		name: "hasty", sites: []Site{site}, manners: Manners{Wait: time.Hour},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/") },
		want:  []string{"its wait is 1h0m0s"},
	}, {
		name: "hasty from request to request", sites: []Site{site}, manners: Manners{Wait: time.Hour, FromStart: true},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/") },
		want:  []string{"after the request before, its wait is 1h0m0s"},
	}, {
		name: "deaf to crawl-delay between connections", sites: []Site{strict}, manners: Manners{Wait: time.Nanosecond},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/") },
		want:  []string{"on another connection"},
	}, {
		name: "deaf to crawl-delay within a connection", sites: []Site{strict},
		visit: func(t *testing.T, w *Web, e ear) {
			c := dial(t, w, 0)
			c.get("/robots.txt")
			c.get("/")
		},
		want: []string{"on the same connection"},
	}, {
		name: "two connections at once", sites: []Site{site},
		visit: func(t *testing.T, w *Web, e ear) {
			c := dial(t, w, 0)
			c.get("/robots.txt")
			dial(t, w, 0).get("/")
		},
		want: []string{"a.test: 2 connections at once"},
	}, {
		name: "too many connections to an address", sites: others, shared: true, manners: Manners{PerServer: 2},
		visit: func(t *testing.T, w *Web, e ear) {
			for i := range 3 {
				dial(t, w, i).get("/robots.txt")
			}
		},
		want: []string{"3 connections at once to one address"},
	}, {
		name: "too many requests on a connection", sites: []Site{site}, manners: Manners{PerConn: 1},
		visit: func(t *testing.T, w *Web, e ear) {
			c := dial(t, w, 0)
			c.get("/robots.txt")
			c.get("/")
		},
		want: []string{"2 requests on one connection"},
	}, {
		name: "forbidden page", sites: []Site{{Name: "a.test", Deny: []string{"/private"}}},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/private/x") },
		want:  []string{"1 requests that robots.txt forbids: /private/x"},
	}, {
		name: "page although robots.txt fails", sites: []Site{shut},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/p/1") },
		want:  []string{"1 requests that robots.txt forbids: /p/1"},
	}, {
		name: "page before robots.txt", sites: []Site{site},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/"); one(t, w, "/robots.txt") },
		want:  []string{"1 requests before robots.txt: /"},
	}, {
		name: "robots.txt asked for but not awaited", sites: []Site{{Name: "a.test", Behaviour: "robots-02/timeout"}},
		visit: func(t *testing.T, w *Web, e ear) {
			c := dial(t, w, 0)
			c.ask("/robots.txt")
			e.await(t, "a.test/robots.txt")
			one(t, w, "/open")
		},
		want: []string{"2 connections at once", "1 requests before robots.txt: /open"},
	}, {
		name: "duplicate page", sites: []Site{site},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/p/1"); one(t, w, "/p/1") },
		want:  []string{"1 pages were fetched again, the most is 0: a.test/p/1"},
	}, {
		name: "duplicate of what is no page", sites: []Site{site},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/gone"); one(t, w, "/gone") },
		want:  []string{"a.test/gone"},
	}, {
		name: "duplicates that are allowed", sites: []Site{site}, manners: Manners{Duplicates: 1},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/robots.txt"); one(t, w, "/p/1"); one(t, w, "/p/1") },
	}, {
		name: "a page again that was cut short", sites: []Site{slow},
		visit: func(t *testing.T, w *Web, e ear) {
			one(t, w, "/robots.txt")
			for range 2 {
				c := dial(t, w, 0)
				c.ask("/p/3")
				c.try()
				c.closed()
				c.conn.Close()
			}
		},
	}, {
		name: "wrong address", sites: others,
		visit: func(t *testing.T, w *Web, e ear) {
			c := dial(t, w, 0)
			c.host = "s0001.test"
			c.get("/robots.txt")
		},
		want: []string{"not the host's: s0001.test at " + "127.0.0.1"},
	}, {
		name: "robots ignored as told", sites: []Site{strict}, manners: Manners{IgnoreRobots: true},
		visit: func(t *testing.T, w *Web, e ear) { one(t, w, "/"); one(t, w, "/private/x") },
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newEar()
			cfg := Config{Sites: test.sites, Heard: e.hear}
			if test.shared {
				cfg.Addresses = 1
			}
			w := start(t, cfg)
			test.visit(t, w, e)
			got := w.Audit().Problems(test.manners)
			if len(got) != len(test.want) {
				t.Fatalf("problems %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("problem %q, want %q", got[i], want)
				}
			}
		})
	}
}

// one fetches a page on a connection of its own.
func one(t *testing.T, w *Web, path string) {
	t.Helper()
	c := dial(t, w, 0)
	c.get(path)
	c.conn.Close()
}

// ear hears of requests as they arrive.
type ear chan string

func (e ear) hear(host, path string) { e <- host + path }

// await waits for a request, forgetting those before it.
func (e ear) await(t *testing.T, url string) {
	t.Helper()
	for {
		select {
		case got := <-e:
			if got == url {
				return
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("no request for %s", url)
		}
	}
}

func newEar() ear { return make(ear, 1000) }

// Who hangs up before the answer comes has left the host alone from then on, not from when the answer finds nobody.
func TestHungUp(t *testing.T) {
	heard, answer, visits := make(chan struct{}), make(chan struct{}), make(chan Visit, 2)
	w := start(t, Config{
		Sites:   []Site{{Name: "a.test", Pages: 3, Links: 2}},
		Heard:   func(string, string) { heard <- struct{}{}; <-answer },
		Visited: func(v Visit) { visits <- v },
	})
	c := dial(t, w, 0)
	c.ask("/robots.txt")
	<-heard
	c.conn.(*net.TCPConn).SetLinger(0)
	c.conn.Close()
	gone := time.Now()
	answer <- struct{}{}
	if v := <-visits; v.Status != 0 {
		t.Fatalf("the answer went out: %+v", v)
	}
	c = dial(t, w, 0)
	kept := time.Since(gone)
	c.ask("/robots.txt")
	<-heard
	answer <- struct{}{}
	<-visits
	if got := w.Audit().Host("a.test").Between.End; got < kept {
		t.Errorf("the visitor stayed away for %v, and is said to have for %v", kept, got)
	}
}

// A request on a second connection while the first is still being answered leaves no gap at all; one whose visitor has gone
// away is no longer being answered.
func TestOverlap(t *testing.T) {
	for _, gone := range []bool{false, true} {
		e := newEar()
		w := start(t, Config{Heard: e.hear, Sites: []Site{{Name: "a.test", Pages: 3, Links: 2, Latency: time.Hour}}})
		c := dial(t, w, 0)
		c.ask("/p/1")
		e.await(t, "a.test/p/1")
		if gone {
			if !canHole {
				continue // only there can the audit tell
			}
			c.conn.Close()
		}
		dial(t, w, 0).ask("/p/2")
		e.await(t, "a.test/p/2")
		h := w.Audit().Host("a.test")
		if gap := h.Between; gap.N != 1 || (gap.End == 0) == gone {
			t.Errorf("visitor gone %v: gap %+v", gone, gap)
		}
		if want := map[bool]int{false: 2, true: 1}[gone]; h.MaxConns != want {
			t.Errorf("visitor gone %v: %d connections at once", gone, h.MaxConns)
		}
		w.Close()
	}
}

// A visitor who closes each connection before opening the next is never said to have had two, and its pauses are never measured
// shorter than they were.
func TestFairness(t *testing.T) {
	if !canHole {
		t.Log("connections that the visitor has closed may count a little longer here")
		return
	}
	w := start(t, Config{Sites: []Site{{Name: "a.test", Pages: 500, Links: 2, Size: 200}}})
	shortest := time.Hour
	var last time.Time
	for i := range 500 {
		c := dial(t, w, 0)
		if i > 0 {
			shortest = min(shortest, time.Since(last))
		}
		c.get(pagePath(i))
		last = time.Now()
		c.conn.Close()
	}
	r := w.Audit()
	h := r.Host("a.test")
	if h.MaxConns != 1 || r.Servers[0].MaxConns != 1 || h.Conns != 500 {
		t.Errorf("%d connections, %d at once to the host, %d to the address", h.Conns, h.MaxConns, r.Servers[0].MaxConns)
	}
	if h.Between.N != 499 || h.Between.End < shortest || h.Between.Start < h.Between.End {
		t.Errorf("kept %v between connections, measured %+v", shortest, h.Between)
	}
}

// The report shows what a visitor gave away, to whom.
func TestAccount(t *testing.T) {
	w := start(t, Config{Sites: Even(2, Site{Pages: 5, Links: 2, Size: 900})})
	c := dial(t, w, 0)
	c.head = "User-Agent: weir/1\r\ncookie: a=b\r\nAuthorization: Basic eA==\r\n"
	_, robots := c.get("/robots.txt")
	_, body := c.get("/")
	c.get("/p/1")
	dial(t, w, 1).get("/robots.txt")
	r := w.Audit()
	h := r.Host("s0000.test")
	if h.Requests != 3 || h.Robots != 1 || h.Pages != 2 || h.PerConn != 3 || h.Within.N != 2 || h.Between.N != 0 {
		t.Errorf("account %+v", h)
	}
	if want := []string{"Cookie: a=b", "Authorization: Basic eA=="}; !slices.Equal(h.Secrets, want) {
		t.Errorf("secrets %q", h.Secrets)
	}
	if !slices.Equal(h.Agents, []string{"weir/1"}) {
		t.Errorf("agents %q", h.Agents)
	}
	if len(r.Host("s0001.test").Secrets) != 0 {
		t.Error("secrets at a host that got none")
	}
	if h.Bytes < int64(len(robots)+2*len(body)/2) {
		t.Errorf("%d bytes sent", h.Bytes)
	}
	if want := []string{w.URL(0), w.URL(0) + "p/1"}; !slices.Equal(w.Served(), want) {
		t.Errorf("served %q", w.Served())
	}
	if r.Requests() != 4 {
		t.Errorf("%d requests in all", r.Requests())
	}
}

// When a host was done is the end of the answer that brought its last page, whatever was asked for later.
func TestLatest(t *testing.T) {
	w := start(t, Config{Sites: Even(1, Site{Pages: 2, Links: 2, Size: 900})})
	c := dial(t, w, 0)
	c.get("/robots.txt")
	if h := w.Audit().Host("s0000.test"); !h.Latest.IsZero() {
		t.Errorf("robots.txt is no page, and yet one came at %v", h.Latest)
	}
	c.get("/")
	before := time.Now()
	c.get("/p/1")
	after := time.Now()
	c.get("/")
	if got := w.Audit().Host("s0000.test").Latest; got.Before(before) || got.After(after) {
		t.Errorf("the last page came at %v, not between %v and %v", got, before, after)
	}
}

// Whatever a visitor sends, the connection ends or an answer comes, and nothing grows.
func TestBadRequests(t *testing.T) {
	w := start(t, Config{Sites: []Site{{Name: "a.test"}}, Conns: 8})
	for name, test := range map[string]struct{ send, want string }{
		"nonsense":     {"hello\r\n\r\n", "400"},
		"long line":    {"GET /" + strings.Repeat("a", 2*maxLine), "431"},
		"long header":  {"GET / HTTP/1.1\r\nX: " + strings.Repeat("a", 2*maxLine), "431"},
		"many headers": {"GET / HTTP/1.1\r\n" + strings.Repeat("X: "+strings.Repeat("a", 1000)+"\r\n", 100), "431"},
		"body":         {"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello", "400"},
		"method":       {"DELETE / HTTP/1.1\r\nHost: a.test\r\n\r\n", "405"},
		"no host":      {"GET / HTTP/1.1\r\n\r\n", "421"},
		"old":          {"GET / HTTP/1.0\r\nHost: a.test\r\n\r\n", "200"},
		"head":         {"HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n", "200"},
	} {
		c := dial(t, w, 0)
		c.conn.Write([]byte(test.send)) // the server may have had enough before all is written
		if t, ok := c.conn.(*net.TCPConn); ok {
			t.CloseWrite()
		}
		line, err := c.in.ReadString('\n')
		// A server that closes with bytes unread resets the connection, which may overtake its answer.
		if !strings.Contains(line, test.want) && !(err != nil && strings.HasPrefix(test.want, "4")) {
			t.Errorf("%s: %q, %v; want %s", name, line, err, test.want)
		}
	}
}

// Close ends answers that never would, and all connections.
func TestClose(t *testing.T) {
	w := start(t, Config{Sites: append(Hostile(), Site{Name: "a.test", Latency: time.Hour})})
	for name, path := range map[string]string{
		"slow-01": "/never", "slow-03": "/drip", "size-01": "/endless", "http-13": "/headers", "smtp.proto-05": "/", "timeout.robots-02": "/robots.txt",
	} {
		to(t, w, name+Suffix).ask(path)
	}
	to(t, w, "a.test").ask("/")
	idle := to(t, w, "a.test")
	w.Close()
	w.Close()
	if !idle.closed() {
		t.Error("an idle connection is open after Close")
	}
	if c, err := net.Dial("tcp", net.JoinHostPort(w.Addr(0).String(), strconv.Itoa(w.Port()))); err == nil {
		c.Close()
		t.Error("still listening")
	}
}

// A port can be asked for again, as after a crash.
func TestPort(t *testing.T) {
	w := start(t, Config{Sites: Even(3, Site{})})
	port := w.Port()
	w.Close()
	again := start(t, Config{Sites: Even(3, Site{}), Port: port})
	if got := again.URL(2); got != fmt.Sprintf("http://s0002.test:%d/", port) {
		t.Errorf("URL %s", got)
	}
}

// A web can lie anywhere; whoever listens hears of every answer, and by whom it was asked for.
func TestVisits(t *testing.T) {
	if !canHole {
		t.Log("other addresses than 127.0.0.1 are not everywhere")
		return
	}
	visits := make(chan Visit, 10)
	var gone atomic.Bool
	w := start(t, Config{
		First: netip.MustParseAddr("127.9.0.1"), Sites: Even(2, Site{Pages: 3, Links: 2, Size: 200}),
		Visited: func(v Visit) { visits <- v }, Gone: func(netip.Addr, time.Time) bool { return gone.Load() },
	})
	if got := w.Addr(1).String(); got != "127.9.0.2" {
		t.Errorf("the second site is at %s", got)
	}
	if !strings.HasPrefix(w.DNS(), "127.9.0.1:") {
		t.Errorf("DNS is at %s", w.DNS())
	}
	c := dial(t, w, 0)
	c.head = "User-Agent: weir/1\r\n"
	c.get("/p/1")
	v := <-visits
	if v.Agent != "weir/1" || v.Sent != w.Audit().Host("s0000.test").Bytes {
		t.Errorf("%q was sent %d bytes, the account has %+v", v.Agent, v.Sent, w.Audit().Host("s0000.test"))
	}
	if v.Host != "s0000.test" || v.Path != "/p/1" || v.Status != 200 || v.From.String() != c.conn.LocalAddr().String() || v.Ended.Before(v.Arrived) {
		t.Errorf("visit %+v", v)
	}
	gone.Store(true) // the first connection is open, though its visitor could not help it
	dial(t, w, 0).get("/p/2")
	if n := w.Audit().Host("s0000.test").MaxConns; n != 1 {
		t.Errorf("%d connections at once", n)
	}
}
