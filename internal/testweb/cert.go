package testweb

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// certs are the certificates of a web: an authority made for it, a leaf for all its good TLS sites, and one for each bad one.
type certs struct {
	pem    []byte
	config *tls.Config
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newCerts(sites []*site) (*certs, error) {
	c := &certs{}
	var names []string
	any := false
	for _, s := range sites {
		if s.TLS {
			any = true
			names = append(names, s.name)
			if s.Wildcard {
				names = append(names, "*."+s.name)
			}
		}
	}
	if !any {
		return c, nil
	}
	root, err := newAuthority("testweb root", nil)
	if err != nil {
		return nil, err
	}
	c.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.cert.Raw})
	good, err := root.leaf(leafOf(names...))
	if err != nil {
		return nil, err
	}
	bad := make(map[string]*tls.Certificate)
	for _, s := range sites {
		if s.behaviour == nil || s.behaviour.cert == nil {
			continue
		}
		if bad[s.name], err = s.behaviour.cert(root, s.name); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	c.config = &tls.Config{
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if b := bad[strings.ToLower(hello.ServerName)]; b != nil {
				return b, nil
			}
			return good, nil
		},
	}
	return c, nil
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// newAuthority makes one, signed by another or by itself.
func newAuthority(name string, by *authority) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	t := leafOf()
	t.Subject.CommonName = name
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = nil
	parent, signer := t, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert: cert, key: key}, err
}

// leafOf is the template of a certificate that is good for a day.
func leafOf(names ...string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // crypto/rand does not fail
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"testweb"}},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	return t
}

// leaf signs a certificate for a fresh key.
func (a *authority) leaf(t *x509.Certificate) (*tls.Certificate, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// The bad certificates of proto-03, by the first label of their host.
var badCerts = map[string]func(root *authority, name string) (*tls.Certificate, error){
	"expired": func(root *authority, name string) (*tls.Certificate, error) {
		t := leafOf(name)
		t.NotBefore, t.NotAfter = t.NotBefore.Add(-48*time.Hour), t.NotBefore.Add(-24*time.Hour)
		return root.leaf(t)
	},
	"self-signed": func(_ *authority, name string) (*tls.Certificate, error) {
		key, err := newKey()
		if err != nil {
			return nil, err
		}
		t := leafOf(name)
		der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
	},
	"wrong-host": func(root *authority, _ string) (*tls.Certificate, error) {
		return root.leaf(leafOf("somewhere-else.test"))
	},
	"untrusted": func(_ *authority, name string) (*tls.Certificate, error) {
		other, err := newAuthority("nobody's root", nil)
		if err != nil {
			return nil, err
		}
		return other.leaf(leafOf(name))
	},
	"incomplete": func(root *authority, name string) (*tls.Certificate, error) {
		middle, err := newAuthority("the link that is not sent", root)
		if err != nil {
			return nil, err
		}
		return middle.leaf(leafOf(name))
	},
	"sha1": func(_ *authority, name string) (*tls.Certificate, error) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		t := leafOf(name)
		t.SignatureAlgorithm = x509.SHA1WithRSA
		der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
	},
	"many-names": func(root *authority, name string) (*tls.Certificate, error) {
		t := leafOf(name)
		for i := range 9_999 {
			t.DNSNames = append(t.DNSNames, fmt.Sprintf("n%d.test", i))
		}
		return root.leaf(t)
	},
}
