package testweb

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

// Every behaviour of the list has a server, or stands here with the reason.
func TestEveryBehaviourIsServed(t *testing.T) {
	data, err := os.ReadFile("testdata/behaviours.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ ID string }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	have := make(map[string]bool)
	for _, b := range Behaviours() {
		have[b.ID] = true
		if b.Server == "" || b.Expect == "" {
			t.Errorf("%s does not say what it does and what should come of it", b.ID)
		}
		if _, ok := checks[b.ID]; !ok {
			t.Errorf("%s has no check", b.ID)
		}
	}
	for _, b := range list {
		if !have[b.ID] && (b.ID != "slow-05" || canHole) {
			t.Errorf("%s has no server", b.ID)
		}
	}
}

// Every server does what it says.
func TestBehaviours(t *testing.T) {
	e := newEar()
	w := start(t, Config{Sites: Hostile(), Heard: e.hear})
	for _, b := range Behaviours() {
		t.Run(b.ID, func(t *testing.T) {
			v := &visit{t: t, w: w, ear: e, host: b.Host}
			if !startless[b.ID] {
				r, body := v.dial().get("/")
				if r.StatusCode != 200 {
					t.Errorf("start page: %s", r.Status)
				}
				for _, p := range b.Paths {
					if p != "/" && !strings.Contains(body, `href="`+p+`"`) {
						t.Errorf("the start page does not link to %s", p)
					}
				}
			}
			checks[b.ID](v)
		})
	}
}

// startless behaviours have no start page that can be read with a plain connection.
var startless = map[string]bool{
	"slow-05": true, "proto-01": true, "proto-05": true, "proto-05/smtp": true, "dns-04": true, "proto-03/expired": true, "proto-03/self-signed": true,
	"proto-03/wrong-host": true, "proto-03/untrusted": true, "proto-03/incomplete": true, "proto-03/sha1": true, "proto-03/many-names": true,
}

type visit struct {
	t    *testing.T
	w    *Web
	ear  ear
	host string
}

func (v *visit) dial() *client { return to(v.t, v.w, v.host) }

// get is an answer on a connection of its own.
func (v *visit) get(path string) (*http.Response, string) {
	v.t.Helper()
	c := v.dial()
	defer c.conn.Close()
	return c.get(path)
}

// raw is the beginning of what the server sends, as it is.
func (v *visit) raw(path string, n int64) string {
	c := v.dial()
	defer c.conn.Close()
	c.ask(path)
	return c.all(n)
}

func (v *visit) has(got string, wants ...string) {
	v.t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			v.t.Errorf("%q is not in %.300q", want, got)
		}
	}
}

// broken is a path whose body breaks off after the given beginning.
func (v *visit) broken(path, begin string) {
	v.t.Helper()
	c := v.dial()
	c.ask(path)
	if _, body, err := c.try(); err == nil || body != begin {
		v.t.Errorf("%s: %q, %v", path, body, err)
	}
}

func (v *visit) leads(path string, status int, location string) {
	v.t.Helper()
	if r, _ := v.get(path); r.StatusCode != status || r.Header.Get("Location") != location {
		v.t.Errorf("%s: %d to %q, want %d to %q", path, r.StatusCode, r.Header.Get("Location"), status, location)
	}
}

// tls tries to shake hands, trusting the web's authority.
func (v *visit) tls() error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(v.w.CA())
	c := v.dial()
	defer c.conn.Close()
	return tls.Client(c.conn, &tls.Config{ServerName: v.host, RootCAs: pool}).Handshake()
}

func refused(part string) func(*visit) {
	return func(v *visit) {
		if err := v.tls(); err == nil || !strings.Contains(err.Error(), part) {
			v.t.Errorf("handshake: %v, want %q", err, part)
		}
	}
}

var checks = map[string]func(*visit){
	"http-01": func(v *visit) { v.broken("/short", "<p>only this much") },
	"http-03": func(v *visit) {
		c := v.dial()
		c.ask("/lengths")
		got := make([]byte, 400)
		n, _ := io.ReadAtLeast(c.in, got, 150)
		v.has(string(got[:n]), "Content-Length: 4\r\n", "Content-Length: 83\r\n", "\r\n\r\n<p>.HTTP/1.1 200")
	},
	"http-05": func(v *visit) { v.broken("/chunks", "<p>one") },
	"http-07": func(v *visit) { v.broken("/chunks", "<p>one") },
	"http-09": func(v *visit) {
		c := v.dial()
		if r, body := c.get("/both"); body != "<p>one" || len(r.TransferEncoding) != 1 {
			v.t.Errorf("body %q", body)
		}
		if _, body := c.get("/after"); body != "<p>after" {
			v.t.Errorf("after it %q", body)
		}
	},
	"http-11": func(v *visit) {
		if got := v.raw("/bare", 1000); got != "<p>no head at all\n" {
			v.t.Errorf("%q", got)
		}
	},
	"http-13": func(v *visit) {
		got := v.raw("/headers", 2<<20)
		if len(got) != 2<<20 || strings.Contains(got, "\r\n\r\n") {
			v.t.Errorf("headers end within %d bytes", len(got))
		}
	},
	"http-15": func(v *visit) {
		v.has(v.raw("/nul", 1000), "X-Odd: a\x00b\r\n")
		v.has(v.raw("/cr", 1000), "X-Odd: a\rX-Made-Up: b\r\n")
		v.has(v.raw("/fold", 1000), "X-Odd: a\r\n  folded\r\n")
	},
	"http-17": func(v *visit) {
		for _, path := range []string{"/204", "/304"} {
			c := v.dial()
			c.get(path) // has no body for net/http, so what is left is taken for the next answer
			if _, body, err := c.try(); err != nil || body != "<p>smuggled</p>" {
				v.t.Errorf("%s: %q, %v", path, body, err)
			}
		}
	},
	"http-19": func(v *visit) {
		c := v.dial()
		if r, _ := c.get("/1"); r.Close {
			v.t.Error("the close is announced")
		}
		c.ask("/2")
		if _, _, err := c.try(); err == nil || isTimeout(err) {
			v.t.Errorf("second request: %v", err)
		}
		v.get("/2")
	},

	"slow-01": func(v *visit) {
		c := v.dial()
		c.ask("/never")
		v.ear.await(v.t, v.host+"/never")
		if n := v.w.Audit().Host(v.host).Pages; n != 1 {
			v.t.Errorf("%d answers besides the start page", n-1)
		}
	},
	"slow-03": func(v *visit) {
		c := v.dial()
		c.ask("/drip")
		r, err := http.ReadResponse(c.in, nil)
		if err != nil || r.ContentLength != -1 {
			v.t.Fatalf("%v", err)
		}
		if n, err := io.ReadFull(r.Body, make([]byte, 2)); n != 2 {
			v.t.Errorf("%v", err)
		}
		r.Body.Close()
	},
	"slow-05": checkHole,

	"size-01": func(v *visit) {
		got := v.raw("/endless", 8<<20)
		if len(got) != 8<<20 || len(zip([]byte(got[:1<<20]))) < 1<<20 {
			v.t.Errorf("%d bytes", len(got))
		}
	},
	"size-03": func(v *visit) {
		r, body := v.get("/bomb")
		if r.Header.Get("Content-Encoding") != "br" || len(body) > 2000 {
			v.t.Errorf("%d bytes of %s", len(body), r.Header.Get("Content-Encoding"))
		}
		n, err := io.Copy(io.Discard, brotli.NewReader(strings.NewReader(body)))
		if n != 1<<30 || err != nil {
			v.t.Errorf("unpacks to %d bytes, %v", n, err)
		}
	},
	"size-05": func(v *visit) {
		_, two := v.get("/two")
		if got := unzip(v, unzip(v, two)); got != "<p>two deep" {
			v.t.Errorf("%q", got)
		}
		_, three := v.get("/three")
		b, err := io.ReadAll(brotli.NewReader(strings.NewReader(three)))
		if got := unzip(v, unzip(v, string(b))); err != nil || got != "<p>three deep" {
			v.t.Errorf("%q, %v", got, err)
		}
		r, got := v.get("/thirty")
		for range strings.Count(r.Header.Get("Content-Encoding"), "gzip") {
			got = unzip(v, got)
		}
		if got != "<p>thirty deep" {
			v.t.Errorf("%q", got)
		}
	},
	"size-07": func(v *visit) {
		r, body := v.get("/lies")
		if r.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(body, "<!doctype") {
			v.t.Errorf("%q", body)
		}
	},
	"size-09": func(v *visit) {
		if _, body := v.get("/attribute"); len(body) < 10<<20 || strings.Count(body, `"`) != 4 {
			v.t.Errorf("%d bytes", len(body))
		}
		if _, body := v.get("/nested"); strings.Count(body, "<div>") != 100_000 {
			v.t.Error("not deep enough")
		}
	},

	"redirect-01": func(v *visit) { v.leads("/self", 302, "/self") },
	"redirect-03": func(v *visit) {
		v.leads("/r/0", 302, "/r/1")
		v.leads("/r/9999", 302, "/r/10000")
		v.get("/r/10000")
	},
	"redirect-05": func(v *visit) {
		if _, ok := must(v.get("/missing")).Header["Location"]; ok {
			v.t.Error("/missing has a Location")
		}
		if l, ok := must(v.get("/empty")).Header["Location"]; !ok || l[0] != "" {
			v.t.Errorf("/empty: %q", l)
		}
		v.leads("/backslash", 302, "/\\redirect-05.hostile.test/landed?by=backslash")
		v.leads("/javascript", 302, "javascript:alert(1)")
		v.leads("/file", 302, "file:///etc/passwd")
		v.leads("/utf8", 302, "/landed?by=Zürich")
		v.get("/landed?by=x")
	},
	"redirect-07": func(v *visit) {
		v.has(body(v.get("/refresh")), `content="0"`)
		v.has(body(v.get("/ping")), "url=/pong")
		v.has(body(v.get("/pong")), "url=/ping")
	},
	"redirect-09": func(v *visit) {
		v.leads("/300", 300, "/end/300")
		v.leads("/307", 307, "/end/307")
		v.leads("/308", 308, "/end/308")
		v.has(body(v.get("/end/308")), "end of 308")
	},

	"trap-02": func(v *visit) { v.has(body(v.get("/a/b/a/b/a/b/")), `href="a/b/"`) },
	"trap-04": func(v *visit) {
		v.has(body(v.get("/find?f=1")), `href="/find?f=524289"`)
		same := 0
		for f := range uint32(1000) {
			if !bytes.Contains(facets(nil, f), []byte("href")) {
				same++
			}
		}
		if same < 550 || same > 800 {
			v.t.Errorf("%d of 1000 say the same", same)
		}
	},
	"trap-06": func(v *visit) {
		c := v.dial()
		_, first := c.get("/")
		c.host = "deep.below." + v.host
		_, second := c.get("/")
		if strings.Count(first, "href") != 10 || strings.Count(second, "href") != 10 || first == second {
			v.t.Error("not ten new names")
		}
		if v.w.Audit().Host(c.host).Requests != 1 {
			v.t.Error("no account of its own")
		}
	},
	"trap-08": func(v *visit) {
		v.has(body(v.get("/robots.txt")), "/self.xml", "/deep/0.xml")
		v.has(body(v.get("/self.xml")), "/self.xml</loc>")
		v.has(body(v.get("/deep/41.xml")), "/deep/42.xml</loc>")
	},
	"trap-10": func(v *visit) {
		if body(v.get("/page")) != body(v.get("/PaGe")) {
			v.t.Error("spellings differ")
		}
	},

	"robots-02":     func(v *visit) { v.status("/robots.txt", 500) },
	"robots-02/503": func(v *visit) { v.status("/robots.txt", 503) },
	"robots-02/timeout": func(v *visit) {
		c := v.dial()
		c.ask("/robots.txt")
		v.ear.await(v.t, v.host+"/robots.txt")
		c.conn.Close()
		v.get("/open")
		if v.w.Audit().Host(v.host).Early == 0 {
			v.t.Error("an unanswered robots.txt counts as read")
		}
	},
	"robots-04":     func(v *visit) { v.chain(5, 1) },
	"robots-04/six": func(v *visit) { v.chain(6, 0) },
	"robots-06": func(v *visit) {
		before := body(v.get("/robots.txt"))
		v.get("/1")
		v.get("/secret")
		if v.w.Audit().Host(v.host).Forbidden != 0 {
			v.t.Error("accused by a robots.txt that was not yet served")
		}
		v.has(body(v.get("/robots.txt")), "Disallow: /secret")
		v.get("/secret")
		if strings.Contains(before, "secret") || v.w.Audit().Host(v.host).Forbidden != 1 {
			v.t.Error("the change is not seen")
		}
	},

	"proto-01":      func(v *visit) { v.has(v.raw("/", 100), "\x00\x00\x00\x04", "\x00\x00\x08\x07") },
	"proto-05":      func(v *visit) { v.has(v.raw("/", 100), "SSH-2.0-") },
	"proto-05/smtp": func(v *visit) { v.has(v.raw("/", 20), "220 mail.test") },
	"proto-03": func(v *visit) {
		if n := strings.Count(body(v.get("/")), "https://"); n != len(badCerts) {
			v.t.Errorf("%d links to bad certificates, there are %d", n, len(badCerts))
		}
	},
	"proto-03/expired":     refused("expired"),
	"proto-03/self-signed": refused("unknown authority"),
	"proto-03/wrong-host":  refused("somewhere-else.test"),
	"proto-03/untrusted":   refused("unknown authority"),
	"proto-03/incomplete":  refused("unknown authority"),
	"proto-03/sha1":        refused("x509"),
	"proto-03/many-names": func(v *visit) {
		if err := v.tls(); err != nil {
			v.t.Error(err)
		}
	},

	"dns-02": func(v *visit) { v.get("/here") }, // the names are in TestDNS
	"dns-04": func(v *visit) {
		for _, p := range v.w.Resolve() {
			if strings.HasPrefix(p, v.host) {
				v.t.Errorf("has an address: %s", p)
			}
		}
	},

	"url-01": func(v *visit) {
		if n := strings.Count(body(v.get("/")), "<a href="); n != len(oddLinks) || n < 100 {
			v.t.Errorf("%d odd links", n)
		}
	},
	"url-03": func(v *visit) {
		v.has(body(v.get("/")), "%00", "%2e%2e", "%2F", "%252e", "&#xD800;", "\xed\xa0\x80", "\u202e", "аррӏе")
		v.has(body(v.get("/e/x%2Fy")), "/e/x%2Fy")
	},
	"url-05": func(v *visit) {
		v.has(body(v.get("/twice")), `<base href="/one/"><base href="/two/">`)
		v.has(body(v.get("/javascript")), `<base href="javascript:`)
	},
}

func must(r *http.Response, _ string) *http.Response { return r }
func body(_ *http.Response, body string) string      { return body }

func (v *visit) status(path string, want int) {
	v.t.Helper()
	if r, _ := v.get(path); r.StatusCode != want {
		v.t.Errorf("%s: %s, want %d", path, r.Status, want)
	}
}

// chain follows the redirects of robots.txt; afterwards the forbidden page counts as forbidden so many times.
func (v *visit) chain(n, forbidden int) {
	v.t.Helper()
	at := "/robots.txt"
	for range n {
		r, _ := v.get(at)
		at = r.Header.Get("Location")
	}
	v.has(body(v.get(at)), "Disallow: /secret")
	v.get("/open")
	v.get("/secret")
	if got := v.w.Audit().Host(v.host).Forbidden; got != forbidden {
		v.t.Errorf("%d forbidden requests, want %d", got, forbidden)
	}
}

func unzip(v *visit, s string) string {
	v.t.Helper()
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		v.t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(b)
}
