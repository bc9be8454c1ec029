package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"weir/page"
)

// Config says how a Client fetches. The zero Config works: it asks the system's
// resolvers, refuses private addresses and sends no secrets.
type Config struct {
	Agent  string // User-Agent; "weir" when empty
	From   string // an e-mail address for the From header; none when empty
	Accept string // Accept; a browser's when empty

	// Header holds "Name: value" lines for every request, SiteHeader more of
	// them for the requests to one host. They replace ours of the same name.
	// They are never archived.
	Header     []string
	SiteHeader map[string][]string

	Auth    map[string]Credential // by host: Basic credentials for it alone; never archived
	Cookies []Cookie              // sent where they belong; never archived, never changed by answers

	Proxy   *url.URL                // http, https or socks5; nil: straight to the servers
	Resolve map[string][]netip.Addr // names that are not looked up
	DNS     string                  // "addr" or "addr:port" of the resolver to ask; "": the system's, and its hosts file

	AllowPrivate bool         // connect to private addresses too
	AllowAddrs   []netip.Addr // private addresses that are fine nevertheless

	Digest func(page.URL) bool // whose payloads' digests are wanted; nil: all

	Limits Limits
	Wire   *Wire // caps what arrives over all connections; nil: nothing does

	// SiteLimiter holds further caps, by host in lower case, on what is read from
	// its connections and written to them.
	SiteLimiter map[string]Limiter

	Memory  int64  // bytes that the answers in memory may take together; 256 MiB when 0
	TempDir string // where bodies beyond 1 MiB wait for their Release; the system's when ""

	// Unheard is how long the system may try to deliver a request that the server does
	// not acknowledge; it tries no more when this process is gone, however that ended.
	// 0: it tries for minutes, and also then.
	Unheard time.Duration

	Roots *x509.CertPool // trusted in TLS; nil: the system's
}

// Credential is a name and password for Basic authentication.
type Credential struct{ User, Password string }

// Limits bound what a server can make us do. A zero field means its default.
type Limits struct {
	MaxHeader int   // bytes of header, 1xx answers included: 256 KiB
	MaxBody   int64 // bytes of body on the wire, chunk framing included: 64 MB

	// A body may grow to MaxDecoded bytes (256 MB) when decompressed, and past
	// its first 10 MiB not beyond MaxRatio (200) times its size on the wire.
	// HTML seldom passes 30; deflate cannot pass 1032, brotli can a million.
	MaxDecoded int64
	MaxRatio   int64

	DNS       time.Duration // one question to one resolver: 5 s
	Connect   time.Duration // 20 s
	Handshake time.Duration // TLS or proxy, after connecting: 20 s
	FirstByte time.Duration // from the request to the first byte of the answer: 30 s

	// Over every Window (20 s) an answer must come at MinRate bytes per second
	// (500), and be whole after Whole (30 min). Time that we spend waiting for
	// the Wire, a Limiter or for memory does not count.
	MinRate int64
	Window  time.Duration
	Whole   time.Duration
}

// maxLayers is how many content encodings may lie over each other.
const maxLayers = 2

// maxSessions is how many TLS sessions are remembered, by host: another
// connection to one of them skips the handshake's dear part. One takes a few
// kilobytes, most of them its certificate.
const maxSessions = 2048

// ratioFloor is the output below which no ratio is judged.
const ratioFloor = 10 << 20

func (l Limits) withDefaults() Limits {
	orInt := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	if l.MaxHeader <= 0 {
		l.MaxHeader = 256 << 10
	}
	orInt(&l.MaxBody, 64e6)
	orInt(&l.MaxDecoded, 256e6)
	orInt(&l.MaxRatio, 200)
	orInt(&l.MinRate, 500)
	orTime(&l.DNS, 5*time.Second)
	orTime(&l.Connect, 20*time.Second)
	orTime(&l.Handshake, 20*time.Second)
	orTime(&l.FirstByte, 30*time.Second)
	orTime(&l.Window, 20*time.Second)
	orTime(&l.Whole, 30*time.Minute)
	return l
}

// Client opens connections under one Config. It is safe for concurrent use and
// runs no goroutine of its own between calls.
type Client struct {
	cfg     Config
	limits  Limits
	allowed map[netip.Addr]bool
	extra   []field            // Config.Header
	site    map[string][]field // Config.SiteHeader, by host
	auth    map[string]Credential
	tls     *tls.Config
	memory  *budget
	meter   *Meter
	names   *resolver
	slow    time.Duration // see the constant
	closed  atomic.Bool
}

// New checks cfg and returns a Client for it. The caller must not change the
// maps and slices of cfg afterwards.
func New(cfg Config) (*Client, error) {
	if cfg.Agent == "" {
		cfg.Agent = "weir"
	}
	if cfg.Accept == "" {
		cfg.Accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	}
	if cfg.Memory <= 0 {
		cfg.Memory = 256 << 20
	}
	if cfg.TempDir == "" {
		cfg.TempDir = os.TempDir()
	}
	for name, value := range map[string]string{"User-Agent": cfg.Agent, "From": cfg.From, "Accept": cfg.Accept} {
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("%s cannot be %q: it has a control character", name, value)
		}
	}
	c := &Client{
		cfg:     cfg,
		limits:  cfg.Limits.withDefaults(),
		allowed: make(map[netip.Addr]bool, len(cfg.AllowAddrs)),
		memory:  newBudget(max(cfg.Memory, minBuffer)),
		slow:    slow,
		tls: &tls.Config{
			RootCAs: cfg.Roots, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
			ClientSessionCache: tls.NewLRUClientSessionCache(maxSessions),
		},
	}
	if c.meter = new(Meter); cfg.Wire != nil {
		c.meter = cfg.Wire.meter
	}
	for _, a := range cfg.AllowAddrs {
		c.allowed[a.Unmap().WithZone("")] = true
	}
	var err error
	if c.extra, err = readFields(cfg.Header); err != nil {
		return nil, err
	}
	c.site = make(map[string][]field, len(cfg.SiteHeader))
	for host, lines := range cfg.SiteHeader {
		if c.site[strings.ToLower(host)], err = readFields(lines); err != nil {
			return nil, fmt.Errorf("headers of %s: %w", host, err)
		}
	}
	c.auth = make(map[string]Credential, len(cfg.Auth))
	for host, cred := range cfg.Auth {
		c.auth[strings.ToLower(host)] = cred
	}
	if err := checkProxy(cfg.Proxy); err != nil {
		return nil, err
	}
	if c.names, err = newResolver(cfg, c.limits.DNS); err != nil {
		return nil, err
	}
	return c, nil
}

// Close makes the Client refuse further work. Connections and answers stay the
// caller's to close and release.
func (c *Client) Close() error {
	c.closed.Store(true)
	return nil
}

// Meter counts the bytes that this Client's connections carried: all that came
// on the wire under an exact Wire, else what was read and written.
func (c *Client) Meter() *Meter { return c.meter }

// Private says whether connecting to a is refused.
func (c *Client) Private(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return !c.cfg.AllowPrivate && !Public(a) && !c.allowed[a]
}

// settingsHost names the host of u as maps of settings do.
func settingsHost(u page.URL) string { return strings.ToLower(u.Host()) }
