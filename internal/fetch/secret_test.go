package fetch

import (
	"crypto/tls"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/page"
)

const cookieFile = `# Netscape HTTP Cookie File
# a comment

site.test	FALSE	/	FALSE	0	host	secret1
.site.test	TRUE	/deep	FALSE	0	deep	secret2
#HttpOnly_site.test	FALSE	/	TRUE	0	tls	secret3
site.test	FALSE	/	FALSE	86400	stale	secret4
.test	TRUE	/	FALSE	0	suffix	secret5
other.test	FALSE	/	FALSE	4102444800	other	secret6
`

func TestCookies(t *testing.T) {
	jar, err := ReadCookies(strings.NewReader(cookieFile))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for target, want := range map[string]string{
		"http://site.test/":          "host=secret1",
		"http://site.test/deep":      "deep=secret2; host=secret1",
		"http://site.test/deep/x?y":  "deep=secret2; host=secret1",
		"http://site.test/deeper":    "host=secret1",
		"https://site.test/":         "host=secret1; tls=secret3",
		"http://www.site.test/deep/": "deep=secret2",
		"http://www.site.test/":      "",
		"http://notsite.test/deep":   "",
		"http://site.test.evil.org/": "",
		"https://other.test/":        "other=secret6",
		"http://127.0.0.1/":          "",
	} {
		if got := cookieHeader(jar, parse(t, target), now); got != want {
			t.Errorf("%s gets %q, want %q", target, got, want)
		}
	}
	for _, bad := range []string{
		"site.test TRUE / FALSE 0 n v",
		"site.test\tMAYBE\t/\tFALSE\t0\tn\tv",
		"site.test\tTRUE\t/\tFALSE\tsoon\tn\tv",
		"site.test\tTRUE\tx\tFALSE\t0\tn\tv",
		"\tTRUE\t/\tFALSE\t0\tn\tv",
		"site.test\tTRUE\t/\tFALSE\t0\tn\tv;w",
		"site.test\tTRUE\t/\tFALSE\t0\tn\tv\x01",
		strings.Repeat("x", maxCookieLine+1),
	} {
		_, err := ReadCookies(strings.NewReader("# c\n" + bad + "\n"))
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

// What is secret goes to the host it was given for, to no other, and never
// into the archive.
func TestSecrets(t *testing.T) {
	ca := newAuthority(t)
	certs := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(time.Hour), "site.test", "other.test")}}
	echo := func(s *scene) {
		for s.hear() != "" {
			s.say(ok + "Content-Length: 0\r\nSet-Cookie: planted=1; Path=/\r\n\r\n")
		}
	}
	plain, secure := serve(t, echo), serve(t, overTLS(certs, echo))
	jar, err := ReadCookies(strings.NewReader(cookieFile))
	if err != nil {
		t.Fatal(err)
	}
	cfg := local()
	cfg.Roots = ca.pool()
	cfg.Header = []string{"X-Token: token7", "accept: text/plain"}
	cfg.SiteHeader = map[string][]string{"Site.test": {"X-Site: token8"}}
	cfg.Auth = map[string]Credential{"Site.Test": {"me", "pa:ss"}}
	cfg.Cookies = jar
	c := newClient(t, cfg)

	visit := func(p *peer, u page.URL) (sent, kept string) {
		cn := open(t, c, u, p.addr.Addr())
		for range 2 { // the second time the server has tried to plant a cookie
			a := cn.Get(t.Context(), u, false)
			kept = string(a.Request)
			a.Release()
		}
		asked := p.asked()
		return asked[len(asked)-1], kept
	}
	at := func(scheme, host string, p *peer) page.URL {
		return parse(t, scheme+"://"+host+":"+p.url(t, "/").Port()+"/deep")
	}
	const auth = "Authorization: Basic bWU6cGE6c3M=\r\n"
	for _, tt := range []struct {
		scheme, host string
		has, hasNot  []string
	}{
		{"http", "site.test", []string{auth, "Cookie: deep=secret2; host=secret1\r\n", "X-Token: token7\r\n", "X-Site: token8\r\n"}, []string{"secret3"}},
		{"https", "site.test", []string{auth, "Cookie: deep=secret2; host=secret1; tls=secret3\r\n"}, nil},
		{"http", "www.site.test", []string{"Cookie: deep=secret2\r\n"}, []string{"Authorization", "token8", "secret1"}},
		{"http", "other.test", []string{"Cookie: other=secret6\r\n", "X-Token: token7\r\n"}, []string{"Authorization", "token8", "secret1", "secret2"}},
		{"https", "other.test", nil, []string{"Authorization", "token8", "secret1", "secret2", "secret3"}},
		{"http", "site.test.evil.test", nil, []string{"Authorization", "Cookie", "token8"}},
	} {
		p := plain
		if tt.scheme == "https" {
			p = secure
		}
		sent, kept := visit(p, at(tt.scheme, tt.host, p))
		for _, s := range tt.has {
			if !strings.Contains(sent, s) {
				t.Errorf("%s://%s was not sent %q: %q", tt.scheme, tt.host, s, sent)
			}
		}
		for _, s := range append(tt.hasNot, "planted", "secret4", "secret5") {
			if strings.Contains(sent, s) {
				t.Errorf("%s://%s was sent %q: %q", tt.scheme, tt.host, s, sent)
			}
		}
		for _, s := range []string{"Authorization", "Cookie", "secret", "token", "bWU6"} {
			if strings.Contains(kept, s) {
				t.Errorf("the archive would hold %q: %q", s, kept)
			}
		}
		if strings.Count(sent, "ccept: ") != 1 || !strings.Contains(sent, "Accept: text/plain\r\n") {
			t.Errorf("a header of the user's replaces ours: %q", sent)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"header without a colon": {Header: []string{"X"}},
		"header name":            {Header: []string{"a b: c"}},
		"header splits":          {Header: []string{"A: b\r\nC: d"}},
		"header is ours":         {Header: []string{"host: evil.test"}},
		"framing":                {Header: []string{"Transfer-Encoding: chunked"}},
		"site header":            {SiteHeader: map[string][]string{"h": {"Range: bytes=0-1"}}},
		"agent splits":           {Agent: "x\r\ny"},
		"proxy scheme":           {Proxy: &url.URL{Scheme: "ftp", Host: "h"}},
		"proxy host":             {Proxy: &url.URL{Scheme: "http"}},
		"resolver":               {DNS: "dns.example.org"},
		"resolve to nothing":     {Resolve: map[string][]netip.Addr{"h": nil}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzCookies(f *testing.F) {
	f.Add(cookieFile)
	u, _ := page.Parse("https://www.site.test/deep/x")
	f.Fuzz(func(t *testing.T, s string) {
		jar, err := ReadCookies(strings.NewReader(s))
		if err != nil {
			return
		}
		if h := cookieHeader(jar, u, time.Unix(0, 0)); strings.ContainsAny(h, "\r\n\x00") {
			t.Errorf("the header %q would split the request", h)
		}
	})
}
