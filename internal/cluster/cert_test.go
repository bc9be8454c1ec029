package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func authority(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "ca")
	if err := InitCA(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestKeysAreForTheirOwnerOnly(t *testing.T) {
	ca := authority(t)
	dir, err := Issue(ca, "n1", []string{"127.0.0.1", "n1.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{filepath.Join(ca, caKeyFile), filepath.Join(dir, keyFile)} {
		st, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, st.Mode())
		}
	}
	c, err := loadCerts(dir, "n1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.hosts, " "); got != "n1.example.org 127.0.0.1" {
		t.Errorf("hosts %q", got)
	}
	if err := InitCA(ca); err == nil {
		t.Error("an authority was overwritten")
	}
	if _, err := Issue(ca, "n1", nil); err == nil {
		t.Error("a node's key was overwritten")
	}
	if _, err := Issue(ca, "../n2", nil); err == nil {
		t.Error("a name that is a path was taken")
	}
}

func TestOwnCertificateIsChecked(t *testing.T) {
	ca, other := authority(t), authority(t)
	dir, err := Issue(ca, "n1", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	later := func() time.Time { return time.Now().Add(3 * 365 * 24 * time.Hour) }
	earlier := func() time.Time { return time.Now().Add(-time.Hour) }
	mixed := filepath.Join(t.TempDir(), "mixed")
	if err := os.CopyFS(mixed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(other, caFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(mixed, caFile), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, name string
		clock     func() time.Time
		want      CertFault
		text      string
	}{
		{dir, "n1", later, CertExpired, "expired on"},
		{dir, "n1", earlier, CertEarly, "is a clock wrong?"},
		{dir, "n2", time.Now, CertName, `was made for "n1"`},
		{mixed, "n1", time.Now, CertForeign, "another authority"},
		{t.TempDir(), "n1", time.Now, CertUnreadable, "no such file"},
	} {
		_, err := loadCerts(c.dir, c.name, c.clock)
		var ce *CertError
		if !errors.As(err, &ce) || ce.Fault != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("want %q, got %v", c.text, err)
		}
	}
}

// certsOf makes a certificate for a node here, and reads it.
func certsOf(t *testing.T, ca, name string, lasts time.Duration) *certs {
	t.Helper()
	dir, err := issue(ca, name, []string{"127.0.0.1"}, time.Now(), lasts)
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadCerts(dir, name, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Both sides of a handshake that fails say why.
func TestBothSidesSayWhatIsWrongWithACertificate(t *testing.T) {
	ca, other := authority(t), authority(t)
	good := func(ca, name string) *certs { return certsOf(t, ca, name, nodeLasts) }
	// Of a certificate that is valid for an hour only some see the hour.
	short, err := issue(ca, "short", []string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	brief, err := loadCerts(short, "short", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	nowhere, err := Issue(ca, "nowhere", []string{"192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := loadCerts(nowhere, "nowhere", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	late := good(ca, "late")
	late.conf.Time = func() time.Time { return time.Now().Add(48 * time.Hour) }
	early := good(ca, "early")
	early.conf.Time = func() time.Time { return time.Now().Add(-48 * time.Hour) }
	for _, c := range []struct {
		what           string
		server, client *certs
		there, here    CertFault
	}{
		{"guest of another authority", good(ca, "a1"), good(other, "b1"), CertForeign, CertForeign},
		{"its guest has expired", late, brief, CertExpired, CertExpired},
		{"a guest from the future", early, good(ca, "b2"), CertEarly, CertExpired},
		{"the host is not named", elsewhere, good(ca, "b3"), CertForeign, CertHost},
	} {
		t.Run(c.what, func(t *testing.T) {
			warned := make(chan error, 10)
			l, err := openLobby("127.0.0.1:0", c.server, c.server.conf.Time, func(err error) { warned <- err },
				func(context.Context, caller, *request) *answer { return &answer{} })
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			var here, there *CertError
			told := func() bool {
				if _, err := callAgain(ctx, l.ln.Addr().String(), c.client, &request{}); !errors.As(err, &here) || here.Fault != c.here {
					t.Errorf("the guest is told %v", err)
				}
				select {
				case err := <-warned:
					if !errors.As(err, &there) || there.Fault != c.there {
						t.Errorf("the host is told %v", err)
					}
					return true
				case <-time.After(2 * helloTime): // strangers do not stay
					return false
				}
			}
			if !tries(told) {
				t.Error("the host is told nothing")
			}
		})
	}
}

func TestLobbySpeaksOnlyTLS13WithCertificates(t *testing.T) {
	ca := authority(t)
	dir, err := Issue(ca, "n1", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadCerts(dir, "n1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	served := false
	l, err := openLobby("127.0.0.1:0", c, time.Now, func(error) {}, func(context.Context, caller, *request) *answer {
		served = true
		return &answer{}
	})
	if err != nil {
		t.Fatal(err)
	}
	old := *c
	old.conf = c.conf.Clone()
	old.conf.MinVersion, old.conf.MaxVersion = 0x0303, 0x0303
	bare := *c
	bare.conf = c.conf.Clone()
	bare.conf.Certificates = nil
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for what, c := range map[string]*certs{"TLS 1.2": &old, "no certificate": &bare} {
		if _, err := call(ctx, l.ln.Addr().String(), c, maxHello, &request{}); err == nil {
			t.Errorf("%s was let in", what)
		}
	}
	if conn, err := net.Dial("tcp", l.ln.Addr().String()); err == nil {
		conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		conn.Close()
	}
	l.close()
	if served {
		t.Error("a guest was served")
	}
}

// A certificate that ends while nodes run is told of by all of them, first as one that
// will and then as one that has, and Status has it as long.
func TestCertificateThatEndsIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := issue(filepath.Join(w.dir, "ca"), "c", []string{"127.0.0.1"}, time.Now(), 20*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	w.tune = func(c *Config) {
		c.clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}
	warn := map[string]*warnings{}
	nodes := w.three(warn)
	of := func(node string, ended bool) func(error) bool {
		return func(err error) bool {
			var e *EndError
			return errors.As(err, &e) && e.Node == node && (e.Left <= 0) == ended
		}
	}
	seen := func(ended bool) {
		t.Helper()
		for name, n := range nodes {
			w.Until(name+" tells of it", func() bool { return warn[name].any(of("c", ended)) })
			if !slices.ContainsFunc(n.Status().Lasting, of("c", ended)) {
				t.Errorf("the status of %s has %v", name, n.Status().Lasting)
			}
			for _, p := range n.Peers() {
				if p.CertEnds.IsZero() || (p.Name == "c") != (time.Until(p.CertEnds) < warnEnds) {
					t.Errorf("%s has %+v", name, p)
				}
			}
		}
	}
	seen(false)
	for name := range nodes {
		if warn[name].any(of("a", false)) || warn[name].any(of("c", true)) || warn[name].any(of("", false)) {
			t.Errorf("%s tells of %v", name, warn[name].all)
		}
	}
	later.Store(int64(21 * 24 * time.Hour))
	seen(true)
	for ended, left := range map[bool]time.Duration{false: warnEnds / 2, true: -time.Hour} { // of the authority
		later.Store(int64(caLasts - left))
		for name, n := range nodes {
			w.Until(name+" tells of the authority", func() bool { return warn[name].any(of("", ended)) })
			if !slices.ContainsFunc(n.Status().Lasting, of("", ended)) {
				t.Errorf("the status of %s has %v", name, n.Status().Lasting)
			}
		}
	}
}

// A certificate whose authority has expired is not taken for that of another cluster.
func TestAuthorityThatHasExpired(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca")
	if err := initCA(ca, time.Now().Add(-caLasts)); err != nil {
		t.Fatal(err)
	}
	dir, err := Issue(ca, "a", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	var e *CertError
	if _, err := loadCerts(dir, "a", time.Now); !errors.As(err, &e) || e.Fault != CertOld {
		t.Errorf("%v", err)
	}
}

// Servers that refuse one another's certificates say why on both sides, as lobbies do.
func TestServersSayWhatIsWrongWithACertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var later atomic.Int64
	w.tune = func(c *Config) {
		c.clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}
	warn := map[string]*warnings{}
	a := w.three(warn)["a"]
	later.Store(int64(2 * time.Hour))
	ca := filepath.Join(w.dir, "ca")
	for _, c := range []struct {
		what  string
		as    *certs
		fault CertFault
		says  string
	}{
		{"it has expired", certsOf(t, ca, "short", time.Hour), CertExpired, "of the server at 127.0.0.1 expired on "},
		{"that of the server is of another authority", certsOf(t, authority(t), "x", nodeLasts), CertForeign, "of this node was refused by the server at 127.0.0.1: it knows another authority"},
	} {
		conn, err := tls.Dial("tcp", a.host.self.Routes, c.as.conf)
		if err == nil { // the client is done before the server has seen its certificate
			conn.SetDeadline(time.Now().Add(patience))
			_, err = io.ReadAll(conn)
			conn.Close()
		}
		if err == nil {
			t.Errorf("%s: it is let in", c.what)
		}
		w.Until("a says: "+c.what, func() bool {
			return warn["a"].any(func(err error) bool {
				var e *CertError
				return errors.As(err, &e) && e.Fault == c.fault && strings.Contains(e.Error(), c.says)
			})
		})
	}
}

// A server that was called by this one's shows a certificate that is refused; what else
// servers say stays in the log.
func TestRefusalsOfServers(t *testing.T) {
	x := certsOf(t, authority(t), "x", nodeLasts)
	var warned, said []string
	l := &serverLog{say: func(s string) { said = append(said, s) }, warn: func(err error) { warned = append(warned, err.Error()) }, clock: time.Now}
	foreign := &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{x.conf.Certificates[0].Leaf}, Err: x509.UnknownAuthorityError{}}
	l.Errorf("192.0.2.7:7401 - rid:3 - TLS %s handshake error: %v%s", "route", foreign, " (CN=x)")
	l.Errorf("192.0.2.7:7401 - rid:4 - TLS %s handshake error: %v%s", "route", io.EOF, "")
	if len(warned) != 1 || warned[0] != "the certificate of the server at 192.0.2.7 was made by another authority: it belongs to another cluster" {
		t.Errorf("warned of %q", warned)
	}
	if len(said) != 1 || !strings.HasSuffix(said[0], "EOF") {
		t.Errorf("said %q", said)
	}
}

// What is wrong with one certificate, or that a node stays away, is said once in a while,
// though the time that is said with it is another one each time.
func TestTheSameIsNotToldAllTheTime(t *testing.T) {
	var said []error
	h := newHost(Config{Warn: func(err error) { said = append(said, err) }}, nil, nil)
	end := time.Now().Add(36 * time.Hour)
	for i := range 3 {
		now := time.Now().Add(time.Duration(i) * 2 * time.Hour)
		h.warnOnce(&CertError{CertExpired, "x", "expired" + hereItIs + stamp(now)})
		h.warnOnce(ending("y", end, now))
		h.warnOnce(&AwayError{"z", time.Duration(i) * time.Minute, ErrFew})
	}
	h.warnOnce(ending("y", end, end))
	if len(said) != 4 {
		t.Errorf("%q", said)
	}
	for _, c := range []struct {
		before time.Duration
		want   string
	}{
		{31 * 24 * time.Hour, ""},
		{30 * 24 * time.Hour, "in 30 days"},
		{47 * time.Hour, "in 47 hours"},
		{119 * time.Minute, "in 119 minutes"},
		{0, "HAS EXPIRED"},
		{-time.Hour, "HAS EXPIRED"},
	} {
		err := ending("y", end, end.Add(-c.before))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v before: %v", c.before, err)
		}
	}
}
