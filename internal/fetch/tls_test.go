package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/page"
)

// authority signs certificates for the tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	return &authority{cert, key}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// issue makes a certificate for names, valid until then.
func (a *authority) issue(t testing.TB, until time.Time, names ...string) tls.Certificate {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// overTLS runs a script behind a handshake with cfg.
func overTLS(cfg *tls.Config, act func(*scene)) func(*scene) {
	return func(s *scene) {
		c := tls.Server(s.Conn, cfg)
		defer c.Close()
		if c.Handshake() != nil {
			return
		}
		s.Conn = c
		s.br.Reset(c)
		act(s)
	}
}

func TestTLS(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	soon := time.Now().Add(time.Hour)
	with := func(cert tls.Certificate) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	good := with(ca.issue(t, soon, "site.test", "127.0.0.1"))
	foreign := good.Clone()
	foreign.NextProtos = []string{"spdy/3"}
	old := good.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	page200 := keeps(ok + "Content-Length: 5\r\n\r\nhello")
	tests := []struct {
		name string
		act  func(*scene)
		host string
		want page.Outcome
		why  string
	}{
		{"good", overTLS(good, page200), "site.test", page.OK, ""},
		{"name with a last dot", overTLS(good, page200), "site.test.", page.OK, ""},
		{"good for an address", overTLS(good, page200), "127.0.0.1", page.OK, ""},
		{"wrong host", overTLS(good, page200), "other.test", page.TLSFailed, "not other.test"},
		{"self-signed", overTLS(with(stranger.issue(t, soon, "site.test")), page200), "site.test", page.TLSFailed, "unknown authority"},
		{"expired", overTLS(with(ca.issue(t, time.Now().Add(-time.Hour), "site.test")), page200), "site.test", page.TLSFailed, "expired"},
		{"no protocol in common", overTLS(foreign, page200), "site.test", page.TLSFailed, "protocol"},
		{"TLS 1.1", overTLS(old, page200), "site.test", page.TLSFailed, "version"},
		{"plain HTTP on the port", func(s *scene) { s.say("HTTP/1.1 400 Bad Request\r\n\r\n") }, "site.test", page.TLSFailed, "does not speak it"},
		{"closed", func(*scene) {}, "site.test", page.TLSFailed, "closed"},
		{"silence", func(s *scene) { s.wait() }, "site.test", page.ConnectTimeout, "in time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, tt.act)
			cfg := local()
			cfg.Roots = ca.pool()
			if tt.name == "silence" {
				cfg.Limits.Handshake = 20 * time.Millisecond
			}
			u := parse(t, "https://"+tt.host+":"+p.url(t, "/").Port()+"/")
			cn, o := newClient(t, cfg).Open(t.Context(), u, p.addr.Addr())
			defer cn.Close()
			if o != tt.want || !strings.Contains(cn.Err, tt.why) {
				t.Fatalf("%v (%s), want %v (%s)", o, cn.Err, tt.want, tt.why)
			}
			if o != page.OK {
				return
			}
			a := cn.Get(t.Context(), u, false)
			defer a.Release()
			if a.Outcome != page.OK || payload(t, a) != "hello" || !a.KeepAlive {
				t.Errorf("%v (%s)", a.Outcome, a.Err)
			}
			if a.Wire <= int64(len(block(t, a))) {
				t.Errorf("%d bytes of wire do not count TLS", a.Wire)
			}
		})
	}
}

func TestTLSKeepAliveAndEnd(t *testing.T) {
	ca := newAuthority(t)
	cfg := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(time.Hour), "site.test")}}
	p := serve(t, overTLS(cfg, func(s *scene) {
		s.hear()
		s.say(ok + "Content-Length: 3\r\n\r\none")
		s.hear()
		s.say(ok + "\r\nuntil the close")
		s.Conn.(*tls.Conn).NetConn().Close() // without a farewell, as many servers do
	}))
	conf := local()
	conf.Roots = ca.pool()
	u := parse(t, "https://site.test:"+p.url(t, "/").Port()+"/")
	cn := open(t, newClient(t, conf), u, p.addr.Addr())
	for _, want := range []string{"one", "until the close"} {
		a := cn.Get(t.Context(), u, false)
		if a.Outcome != page.OK || payload(t, a) != want {
			t.Errorf("%v (%s) %q, want %q", a.Outcome, a.Err, payload(t, a), want)
		}
		a.Release()
	}
	a := cn.Get(t.Context(), u, false)
	defer a.Release()
	if a.Outcome != page.EarlyClose {
		t.Errorf("on the closed connection: %v", a.Outcome)
	}
}

func TestSNI(t *testing.T) {
	ca := newAuthority(t)
	names := make(chan string, 1)
	cert := ca.issue(t, time.Now().Add(time.Hour), "site.test")
	p := serve(t, overTLS(&tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		names <- h.ServerName + " " + strings.Join(h.SupportedProtos, ",")
		return &cert, nil
	}}, func(s *scene) { s.wait() }))
	conf := local()
	conf.Roots = ca.pool()
	open(t, newClient(t, conf), parse(t, "https://site.test:"+p.url(t, "/").Port()+"/"), netip.MustParseAddr("127.0.0.1"))
	if got := <-names; got != "site.test http/1.1" {
		t.Errorf("the server was told %q", got)
	}
}
