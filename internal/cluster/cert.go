package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Files of an authority (the first two) and of a node (the last three).
const (
	caKeyFile = "ca.key"
	caFile    = "ca.pem"
	certFile  = "node.pem"
	keyFile   = "node.key"
)

const (
	caLasts   = 10 * 365 * 24 * time.Hour
	nodeLasts = 2 * 365 * 24 * time.Hour
	backdate  = 5 * time.Minute // clocks differ a little
)

// CertFault says what is wrong with a certificate.
type CertFault uint8

const (
	CertUnreadable CertFault = iota + 1
	CertExpired
	CertEarly   // it is not valid yet: one of two clocks is wrong
	CertForeign // another authority made it
	CertName    // it was made for another node
	CertHost    // it does not name the host that was dialled
	CertPerson  // it is a person's, and a node needs one of its own
	CertOld     // the authority that made it has expired
)

// CertError refuses a certificate.
type CertError struct {
	Fault CertFault
	Whose string
	Text  string
}

func (e *CertError) Error() string { return "the certificate of " + e.Whose + " " + e.Text }

// EndError says that the certificate of a node ends soon, or has ended.
type EndError struct {
	Node string // "": that of the authority, and with it all others
	At   time.Time
	Left time.Duration // until then; none is left when it has ended
}

func (e *EndError) Error() string {
	switch {
	case e.Node == "" && e.Left <= 0:
		return fmt.Sprintf("the cluster's authority (ca.pem) HAS EXPIRED, on %s: what is connected stays so, but a node that is cut off or stopped does not come back, and nobody can ask", stamp(e.At))
	case e.Node == "":
		return fmt.Sprintf("the cluster's authority (ca.pem) expires on %s, in %s: from then on no node comes back once it is cut off or stopped, and nobody can ask", stamp(e.At), roughly(e.Left))
	case e.Left <= 0:
		return fmt.Sprintf("the certificate of %s HAS EXPIRED, on %s: what is connected stays so, but once cut off or stopped %[1]s does not come back", e.Node, stamp(e.At))
	}
	return fmt.Sprintf("the certificate of %s expires on %s, in %s: from then on %[1]s does not come back once it is cut off or stopped", e.Node, stamp(e.At), roughly(e.Left))
}

// warnEnds is how long before its end people are told of a certificate.
const warnEnds = 30 * 24 * time.Hour

// ending says that a certificate ends soon; nil: it does not.
func ending(node string, at, now time.Time) *EndError {
	left := at.Sub(now)
	if at.IsZero() || left > warnEnds {
		return nil
	}
	return &EndError{node, at, left}
}

// roughly says how long something takes, as people do.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return "a minute"
}

// InitCA makes an authority for a new cluster: ca.pem, that every node has, and
// ca.key, that only the one who makes certificates needs.
func InitCA(dir string) error { return initCA(dir, time.Now()) }

func initCA(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	ca := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("weir cluster %x", serial.Bytes()[:4])},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLasts),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	// The key goes first: without it the certificate is of no use, and a file that
	// is there already stops us before anything changed.
	if err := writeKey(filepath.Join(dir, caKeyFile), key); err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	if err := writePEM(filepath.Join(dir, caFile), "CERTIFICATE", der, 0o644); err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	return nil
}

// Issue makes a certificate for a node, or for someone at a command line, and
// returns the folder with the three files to bring to its machine. Hosts are the
// names and addresses that others reach it at; without any it is a person's, who
// can ask nodes and is not taken for one.
func Issue(dir, name string, hosts []string) (string, error) {
	return issue(dir, name, hosts, time.Now(), nodeLasts)
}

func issue(dir, name string, hosts []string, now time.Time, lasts time.Duration) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	fail := func(err error) (string, error) { return "", fmt.Errorf("make a certificate for %s: %w", name, err) }
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if err != nil {
		return fail(fmt.Errorf("%s holds no authority: %w", dir, err))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fail(err)
	}
	serial, err := serialNumber()
	if err != nil {
		return fail(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(lasts),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(hosts) > 0 {
		c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, pair.Leaf, &key.PublicKey, pair.PrivateKey)
	if err != nil {
		return fail(err)
	}
	folder := filepath.Join(dir, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fail(err)
	}
	if err := writeKey(filepath.Join(folder, keyFile), key); err != nil {
		return fail(err)
	}
	if err := writePEM(filepath.Join(folder, certFile), "CERTIFICATE", der, 0o644); err != nil {
		return fail(err)
	}
	if err := writePEM(filepath.Join(folder, caFile), "CERTIFICATE", pair.Leaf.Raw, 0o644); err != nil {
		return fail(err)
	}
	return folder, nil
}

func serialNumber() (*big.Int, error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	b[0] = b[0]&0x7f | 0x40
	return new(big.Int).SetBytes(b), nil
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "PRIVATE KEY", der, 0o600)
}

// writePEM never overwrites: a key that is gone takes a cluster with it.
func writePEM(file, kind string, der []byte, mode os.FileMode) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Close())
}

// certs are what a node shows, what it wants to be shown, and until when what others
// have shown is valid.
type certs struct {
	name  string
	hosts []string
	conf  *tls.Config
	ends  time.Time
	old   time.Time // when the authority ends that made it
	shown *sync.Map // by nodes' names, when theirs end, as their servers have shown them
}

// between is what servers go by among themselves.
func (c *certs) between() *tls.Config {
	conf := c.conf.Clone()
	conf.VerifyConnection = func(s tls.ConnectionState) error { // after all else was checked
		if leaf := s.PeerCertificates[0]; ofNode(leaf) {
			c.shown.Store(leaf.Subject.CommonName, leaf.NotAfter)
		}
		return nil
	}
	return conf
}

// until says when the certificate of a node ends; zero: it was never shown.
func (c *certs) until(node string) time.Time {
	if node == c.name {
		return c.ends
	}
	at, _ := c.shown.Load(node)
	end, _ := at.(time.Time)
	return end
}

// loadCerts reads a node's three files and holds them to what others will.
func loadCerts(dir, name string, clock func() time.Time) (*certs, error) {
	whose := name
	if whose == "" {
		whose = dir
	}
	bad := func(f CertFault, format string, a ...any) (*certs, error) {
		return nil, &CertError{Fault: f, Whose: whose, Text: fmt.Sprintf(format, a...)}
	}
	pemCA, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return bad(CertUnreadable, "cannot be checked: %v", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pemCA) {
		return bad(CertUnreadable, "cannot be checked: no certificate in %s", filepath.Join(dir, caFile))
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, certFile), filepath.Join(dir, keyFile))
	if err != nil {
		return bad(CertUnreadable, "cannot be read: %v", err)
	}
	leaf := pair.Leaf
	if name != "" && leaf.Subject.CommonName != name {
		return bad(CertName, "was made for %q: start the node by that name, or make a certificate for %s", leaf.Subject.CommonName, name)
	}
	maker := makerOf(leaf, pemCA)
	if maker != nil && clock().After(maker.NotAfter) { // what is said of that is that nobody knows it
		return bad(CertOld, "is of no use any more: the authority that made it expired on %s%s%s", stamp(maker.NotAfter), hereItIs, stamp(clock()))
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: clock(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return nil, explain(err, whose, leaf, clock())
	}
	if name != "" && !ofNode(leaf) {
		return bad(CertPerson, "is a person's: it names no host that others could reach a node at")
	}
	c := &certs{name: leaf.Subject.CommonName, hosts: leaf.DNSNames, ends: leaf.NotAfter, shown: new(sync.Map)}
	if maker != nil {
		c.old = maker.NotAfter
	}
	for _, ip := range leaf.IPAddresses {
		c.hosts = append(c.hosts, ip.String())
	}
	c.conf = &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		Time:         clock,
	}
	return c, nil
}

// makerOf finds the authority that made a certificate, of those in a file: the one that
// lasts longest, if its key was kept when it was made anew.
func makerOf(leaf *x509.Certificate, file []byte) (maker *x509.Certificate) {
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		ca, err := x509.ParseCertificate(block.Bytes)
		if err == nil && leaf.CheckSignatureFrom(ca) == nil && (maker == nil || ca.NotAfter.After(maker.NotAfter)) {
			maker = ca
		}
	}
	return maker
}

// ofNode says that a certificate is a node's, and not that of a person who asks.
func ofNode(c *x509.Certificate) bool {
	return slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) && len(c.DNSNames)+len(c.IPAddresses) > 0
}

// nodesOnly turns away who comes to the servers' port with a person's certificate.
type nodesOnly struct{}

// Check implements server.Authentication.
func (nodesOnly) Check(c server.ClientAuthentication) bool {
	s := c.GetTLSConnectionState()
	return s != nil && len(s.PeerCertificates) > 0 && ofNode(s.PeerCertificates[0])
}

// explain says in words what the verification of a certificate said, or what the
// other side's alert means. Errors that are about something else stay.
func explain(err error, whose string, leaf *x509.Certificate, now time.Time) error {
	var (
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		foreign x509.UnknownAuthorityError
		verify  *tls.CertificateVerificationError
	)
	if errors.As(err, &verify) && leaf == nil && len(verify.UnverifiedCertificates) > 0 {
		leaf = verify.UnverifiedCertificates[0]
	}
	is := func(f CertFault, text string) error { return &CertError{Fault: f, Whose: whose, Text: text} }
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		c := invalid.Cert
		if c == nil {
			c = leaf
		}
		if c != nil && now.Before(c.NotBefore) {
			return is(CertEarly, fmt.Sprintf("is not valid before %s%s%s: is a clock wrong?", stamp(c.NotBefore), hereItIs, stamp(now)))
		}
		if c != nil {
			return is(CertExpired, fmt.Sprintf("expired on %s%s%s: issue a new one, unless the clock is wrong", stamp(c.NotAfter), hereItIs, stamp(now)))
		}
		return is(CertExpired, "expired")
	case errors.As(err, &foreign):
		return is(CertForeign, "was made by another authority: it belongs to another cluster")
	case errors.As(err, &host):
		return is(CertHost, fmt.Sprintf("does not name %s: issue one with this host", host.Host))
	}
	refused := func(f CertFault, text string) error {
		return &CertError{Fault: f, Whose: "this node", Text: "was refused by " + whose + ": " + text}
	}
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "remote error" {
		// The alert has a type of its own, and only its text is public.
		switch strings.TrimPrefix(op.Err.Error(), "tls: ") {
		case "bad certificate", "unknown certificate authority":
			return refused(CertForeign, "it knows another authority, or another host: they belong to different clusters, or the host is not in the certificate; or by the clock there the certificate has expired")
		case "expired certificate":
			return refused(CertExpired, "by the clock there it has expired, or is not valid yet")
		case "certificate required":
			return refused(CertUnreadable, "it was not shown")
		}
	}
	return err
}

// hereItIs comes before the time of day. What precedes it stays the same.
const hereItIs = ", and here it is "

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
