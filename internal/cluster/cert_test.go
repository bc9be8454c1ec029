package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// Both sides of a handshake that fails say why.
func TestBothSidesSayWhatIsWrongWithACertificate(t *testing.T) {
	ca, other := authority(t), authority(t)
	good := func(ca, name string) *certs {
		dir, err := Issue(ca, name, []string{"127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := loadCerts(dir, name, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
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
			_, err = call(ctx, l.ln.Addr().String(), c.client, maxHello, &request{})
			var ce *CertError
			if !errors.As(err, &ce) || ce.Fault != c.here {
				t.Errorf("the guest is told %v", err)
			}
			select {
			case err := <-warned:
				if !errors.As(err, &ce) || ce.Fault != c.there {
					t.Errorf("the host is told %v", err)
				}
			case <-ctx.Done():
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
