package testweb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, cfg Config) *Web {
	t.Helper()
	w, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// client is one connection to one site, as raw as can be.
type client struct {
	t    testing.TB
	w    *Web
	host string
	conn net.Conn
	in   *bufio.Reader
	head string // further header lines of every request
}

// dial connects to site i; a test that hangs is cut off by the deadline.
func dial(t testing.TB, w *Web, i int) *client {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(w.Addr(i).String(), strconv.Itoa(w.Port())))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	t.Cleanup(func() { conn.Close() })
	return &client{t: t, w: w, host: w.sites[i].name, conn: conn, in: bufio.NewReader(conn)}
}

// to connects to the site with that name.
func to(t testing.TB, w *Web, name string) *client {
	t.Helper()
	i := w.Find(name)
	if i < 0 {
		t.Fatalf("no site %s", name)
	}
	return dial(t, w, i)
}

func (c *client) ask(path string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n", path, c.host, c.w.Port(), c.head); err != nil {
		c.t.Fatalf("GET %s: %v", path, err)
	}
}

// try reads an answer that may be broken.
func (c *client) try() (*http.Response, string, error) {
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, "", err
	}
	b, err := io.ReadAll(r.Body)
	r.Body.Close()
	return r, string(b), err
}

// get fetches a page that must come whole.
func (c *client) get(path string) (*http.Response, string) {
	c.t.Helper()
	c.ask(path)
	r, body, err := c.try()
	if err != nil {
		c.t.Fatalf("GET %s%s: %v", c.host, path, err)
	}
	return r, body
}

// all reads what the server sends until it closes, at most n bytes.
func (c *client) all(n int64) string {
	b, err := io.ReadAll(io.LimitReader(c.in, n))
	if err != nil && len(b) == 0 {
		c.t.Fatalf("reading: %v", err)
	}
	return string(b)
}

// closed waits until the server has closed the connection.
func (c *client) closed() bool {
	_, err := c.in.ReadByte()
	return err != nil && !isTimeout(err)
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

var hrefs = regexp.MustCompile(`href="([^"]*)"`)

// crawler is a complete and polite visitor, one page at a time, over net/http: a twin of what is tested with this package.
type crawler struct {
	t     testing.TB
	w     *Web
	http  *http.Client
	wait  time.Duration
	rules map[string]rules
	last  map[string]time.Time
}

func newCrawler(t testing.TB, w *Web, wait time.Duration) *crawler {
	addr := make(map[string]string)
	for _, p := range w.Resolve() {
		name, at, _ := strings.Cut(p, "=")
		addr[name] = at
	}
	tr := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, target string) (net.Conn, error) {
			host, port, _ := net.SplitHostPort(target)
			if a, ok := addr[host]; ok {
				host = a
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(host, port))
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &crawler{
		t: t, w: w, wait: wait, rules: make(map[string]rules), last: make(map[string]time.Time),
		http: &http.Client{Transport: tr, CheckRedirect: stay, Timeout: 5 * time.Minute},
	}
}

// run crawls from the start pages and returns the URLs that came with 200.
func (c *crawler) run() {
	queue := c.w.Seeds()
	known := make(map[string]bool)
	for _, u := range queue {
		known[u] = true
	}
	tries := make(map[string]int)
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		origin, path := split(u)
		if _, ok := c.rules[origin]; !ok {
			c.rules[origin] = c.robots(origin)
		}
		if r := c.rules[origin]; r.denies(path) {
			continue
		}
		status, head, body := c.fetch(u)
		var found []string
		switch {
		case status == 200 && strings.HasPrefix(head.Get("Content-Type"), "text/html"):
			for _, m := range hrefs.FindAllStringSubmatch(body, -1) {
				found = append(found, m[1])
			}
		case status/100 == 3:
			found = append(found, head.Get("Location"))
		case status == 0 || status == 429 || status >= 500:
			if tries[u]++; tries[u] < 4 {
				queue = append(queue, u)
			}
		}
		for _, v := range found {
			if strings.HasPrefix(v, "/") {
				v = origin + v
			}
			if !known[v] {
				known[v] = true
				queue = append(queue, v)
			}
		}
	}
}

func split(u string) (origin, path string) {
	i := strings.Index(u, "://") + 3
	j := strings.IndexByte(u[i:], '/')
	return u[:i+j], u[i+j:]
}

func (c *crawler) robots(origin string) rules {
	for range 4 {
		status, _, body := c.fetch(origin + "/robots.txt")
		switch {
		case status == 200:
			return readRobots(body)
		case status == 0 || status >= 500 || status == 429:
			continue
		}
		return rules{}
	}
	return rules{deny: []string{"/"}}
}

// fetch asks for a URL when its host may be asked again; status 0 is an answer that broke off.
func (c *crawler) fetch(u string) (int, http.Header, string) {
	origin, _ := split(u)
	wait := max(c.wait, c.rules[origin].delay)
	if last, ok := c.last[origin]; ok {
		<-time.After(wait - time.Since(last))
	}
	defer func() { c.last[origin] = time.Now() }()
	r, err := c.http.Get(u)
	if err != nil {
		return 0, nil, ""
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil && len(b) == 0 {
		return 0, nil, ""
	}
	return r.StatusCode, r.Header, string(b)
}
