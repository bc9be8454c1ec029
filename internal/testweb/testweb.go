// Package testweb makes webs on loopback, polite, huge, slow or hostile, and keeps an account of how their visitor behaved.
//
// A web is a set of sites, each on its own address of 127.0.0.0/8, all on one port. Every page is a pure function of
// (seed, site, page), computed when it is asked for, so a web of ten million pages costs no memory. The servers speak HTTP/1.1
// by hand over plain connections, because most of what a test wants from a server is what a good library refuses to do.
//
// Three questions can be asked of a web: [Web.Truth], what a complete and polite crawl fetches; [Web.Served], what was
// fetched; and [Web.Audit], how. The audit shares no code with the crawler it judges: it has its own few lines of robots.txt
// and its own clock readings, taken so that an honest visitor is never accused (see audit).
//
// Read Site first, then content.go for what a page looks like, serve.go for the life of a connection, and hostile.go for the
// sites that break the rules.
package testweb

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Config describes a web. Equal configs give equal webs, apart from port and certificates.
type Config struct {
	Seed  uint64
	Sites []Site

	// Addresses spreads the sites over so many addresses, in turn; 0 gives each site its own. Where the system has only
	// 127.0.0.1 (macOS), named sites share it.
	Addresses int
	// Port is what every site listens on; 0 takes a free one.
	Port int
	// First is the lowest address of the sites, 127.0.0.1 unless set; DNS has it too. The others follow, all ending in 1 to 254.
	First netip.Addr
	// Conns is the most connections open at once, 8192 unless set; more wait in the listen queue.
	Conns int
	// Heard is called for each request after the audit has noted it and before it is answered; the answer waits for it to
	// return, and so does Close. It is called by many connections at once.
	Heard func(host, path string)
	// Visited is called after each answer, by many connections at once.
	Visited func(Visit)
	// Gone says whether a visitor cannot hang up, because its machine stands still or is cut off: what it opened before does not
	// count as open any more.
	Gone func(visitor netip.Addr, opened time.Time) bool
}

// Visit is one request and its answer.
type Visit struct {
	Host, Path     string
	From           netip.AddrPort
	Agent          string    // what the visitor calls itself
	Arrived, Ended time.Time // see audit
	Status         int       // 0 when the answer broke off
	Sent           int64     // bytes of the answer that were handed to the system, head included
}

// Site describes one host of a web. Its pages are / and /p/1 ... /p/(Pages-1), each reachable from /.
type Site struct {
	// Name is the host name; "" makes the bare address the host.
	Name string
	// With names a site before this one whose address it shares; "" gives it one in turn.
	With string
	// Pages is their number, at least 1. Links is how many each has: half of them form a tree that reaches every page, the
	// rest are drawn, 88 of 100 within the site when there are others. Size is the mean length of the HTML in bytes.
	Pages, Links, Size int
	// Leaves is how many links those pages have that the tree does not go on from; 0: as many as the others.
	Leaves int

	// Latency passes before the first byte of an answer.
	Latency time.Duration
	// Rate is the speed of answers in bytes per second, 0 as fast as possible. Piece is how many bytes then leave at a time, those
	// of a twentieth of a second unless set.
	Rate  int64
	Piece int
	// Slows makes the site slower while it is visited.
	Slows Slows

	// Robots is robots.txt verbatim. When it is "" and Delay or Deny is set, one is made of those; otherwise it is a 404.
	Robots string
	// Delay is the crawl-delay, Deny the forbidden prefixes. Pages link to forbidden ones, to see whether they are fetched.
	Delay time.Duration
	Deny  []string
	// RobotsStatus answers robots.txt instead of the file, RobotsTimes times (0 is always).
	RobotsStatus, RobotsTimes int

	// PerConn closes a connection after so many answers (0 never); the last one announces it unless Silent.
	PerConn int
	Silent  bool

	Faults []Fault
	Traps  Traps

	// TLS serves https with a certificate of the web's own authority, see [Web.CA].
	TLS bool
	// Wildcard also answers to every name below Name.
	Wildcard bool

	// Folder serves the files of a folder instead of made-up pages; of the Faults only Gzip counts, for all of them. Truth leaves such
	// a site out, and no other site links to it.
	Folder string

	// Files are further answers by their paths, such as sitemaps, of the type that their names tell. Truth leaves them out.
	Files map[string]string

	// Behaviour names the hostile script that answers instead of pages, see [Hostile].
	Behaviour string
}

// Slows is a server that tires. What counts is how much it was asked, not for how long, so that equal visits meet equal servers.
type Slows struct {
	// After so many answers, robots.txt among them, all others leave at Factor of Rate, which must be set. A Factor of 0 changes
	// nothing.
	After  int
	Factor float64
}

// rate is that of the answer after so many others.
func (s Slows) rate(own int64, answers int) int64 {
	if s.Factor == 0 || answers < s.After {
		return own
	}
	return max(1, int64(float64(own)*s.Factor))
}

// Fault makes some pages of a site misbehave. Page 0, the start page, never does. The first fault that hits a page counts.
type Fault struct {
	Kind FaultKind
	// Every hits one page in so many, chosen by hash; Pages hits the listed ones.
	Every int
	Pages []int
	// Times is how often a page misbehaves before it is well; 0 is always.
	Times int
	// After is the Retry-After of Busy and Unavailable, in whole seconds; 0 sends none.
	After time.Duration
}

// FaultKind says what goes wrong.
type FaultKind int

// The faults.
const (
	NotFound     FaultKind = iota + 1 // 404
	Broken                            // 500
	Unavailable                       // 503
	Busy                              // 429
	RedirectPage                      // 302 to another page of the site
	RedirectSite                      // 301 to a page of another site
	RedirectLoop                      // 302 to a page that redirects back
	Truncated                         // closes the connection in the middle of the text; all links came before
	Duplicate                         // the same bytes as every other Duplicate of the site, no links but to /
	WrongType                         // HTML sent as application/octet-stream
	Gzip                              // Content-Encoding gzip, when the visitor takes it
	Chunked                           // Transfer-Encoding chunked
	Dropped                           // closes the connection without an answer
)

// Traps adds endless parts to a site, linked from its start page. Truth leaves them out.
type Traps struct {
	Calendar bool // /cal?month=N: a new page for every month, for ever
	Nest     bool // /a/b/: a relative link that nests for ever
	Facets   bool // /find?...: 2^20 combinations, most of which say the same
	Session  bool // /shop/N?sid=...: four pages under endless names
}

// Even makes n sites like one, named s0000.test, s0001.test and so on.
func Even(n int, like Site) []Site {
	sites := make([]Site, n)
	for i := range sites {
		sites[i] = like
		sites[i].Name = fmt.Sprintf("s%04d.test", i)
	}
	return sites
}

// Uneven makes n sites around a mean: a few large ones and many small ones, as on the web. Pages are at most fifty times the mean,
// Links, Size and Latency between a half and one and a half of it.
func Uneven(seed uint64, n int, mean Site) []Site {
	sites := Even(n, mean)
	for i := range sites {
		r := dice(seed, uint64(i), saltSite)
		s := &sites[i]
		// 1/u has a heavy tail: half of the sites stay below the mean divided by two.
		u := 0.02 + 0.98*r.float()
		s.Pages = max(1, int(float64(mean.Pages)*0.25/u))
		s.Links = max(1, mean.Links/2+r.below(mean.Links+1))
		s.Size = mean.Size/2 + r.below(mean.Size+1)
		s.Latency = mean.Latency/2 + time.Duration(r.float()*float64(mean.Latency))
	}
	return sites
}

// Web is a running web. All methods are safe for concurrent use.
type Web struct {
	seed    uint64
	port    int
	text    *text
	sites   []*site
	plain   []*site // those with made-up pages, which others link to
	folders map[string]*folder
	servers []*server
	certs   *certs
	dns     *dns
	stray   stray
	heard   func(host, path string)
	visited func(Visit)
	gone    func(visitor netip.Addr, opened time.Time) bool
	slots   chan struct{}

	closing chan struct{}
	once    sync.Once
	tasks   sync.WaitGroup
	// mu guards open; a connection is in it from accept to close.
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// Start makes a web and serves it until Close.
func Start(cfg Config) (*Web, error) {
	if len(cfg.Sites) == 0 {
		return nil, errors.New("testweb: no sites")
	}
	w := &Web{
		seed:    cfg.Seed,
		text:    newText(cfg.Seed),
		heard:   cfg.Heard,
		visited: cfg.Visited,
		gone:    cfg.Gone,
		slots:   make(chan struct{}, cmp.Or(cfg.Conns, 8192)),
		closing: make(chan struct{}),
		open:    make(map[net.Conn]struct{}),
		folders: make(map[string]*folder),
	}
	for i := range cfg.Sites {
		s, err := newSite(w, i, cfg.Sites[i])
		if err != nil {
			return nil, fmt.Errorf("testweb: site %d %s: %w", i, cfg.Sites[i].Name, err)
		}
		w.sites = append(w.sites, s)
	}
	n := len(cfg.Sites)
	if cfg.Addresses > 0 {
		n = min(n, cfg.Addresses)
	}
	first := cfg.First
	if !first.IsValid() {
		first = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	listeners, port, err := listen(first, n, cfg.Port)
	if errors.Is(err, syscall.EADDRNOTAVAIL) && !slices.ContainsFunc(cfg.Sites, func(s Site) bool { return s.Name == "" }) {
		listeners, port, err = listen(first, 1, cfg.Port)
	}
	if err != nil {
		return nil, fmt.Errorf("testweb: listen: %w", err)
	}
	w.port = port
	for _, l := range listeners {
		w.servers = append(w.servers, newServer(w, l))
	}
	if err := w.settle(first); err != nil {
		w.unlisten()
		return nil, err
	}
	for _, v := range w.servers {
		w.tasks.Go(v.accept)
	}
	w.dns.start(&w.tasks)
	return w, nil
}

// settle gives every site its address, name and certificate, and opens the DNS server.
func (w *Web) settle(first netip.Addr) error {
	at := make(map[string]*server)
	for i, s := range w.sites {
		v := w.servers[i%len(w.servers)]
		if s.With != "" {
			if v = at[s.With]; v == nil {
				return fmt.Errorf("testweb: %s shares the address of %s, which does not come before it", s.Name, s.With)
			}
		}
		at[s.Name] = v
		if err := v.add(s); err != nil {
			return err
		}
	}
	for _, s := range w.sites {
		s.origin = s.scheme() + "://" + s.name + ":" + strconv.Itoa(w.port)
	}
	for _, s := range w.sites {
		if s.behaviour == nil && s.folder == nil {
			s.rank = len(w.plain)
			w.plain = append(w.plain, s)
		}
	}
	var err error
	if w.certs, err = newCerts(w.sites); err != nil {
		return fmt.Errorf("testweb: certificates: %w", err)
	}
	for _, s := range w.sites {
		if s.behaviour != nil && s.behaviour.setup != nil {
			if err = s.behaviour.setup(w, s); err != nil {
				return fmt.Errorf("testweb: %s: %w", s.name, err)
			}
		}
	}
	if w.dns, err = newDNS(w.sites, first); err != nil {
		return fmt.Errorf("testweb: dns: %w", err)
	}
	return nil
}

// maxAddresses keeps a mistaken Config from using up the file descriptors.
const maxAddresses = 16384

// address is the i-th from the first one, which ends in 1.
func address(first netip.Addr, i int) netip.Addr {
	a := first.As4()
	a[1], a[2], a[3] = a[1]+byte(i/254>>8), a[2]+byte(i/254), a[3]+byte(i%254)
	return netip.AddrFrom4(a)
}

// listen opens n addresses on one port. A port that is taken on one of them is given up for another, unless it was asked for.
func listen(first netip.Addr, n, port int) ([]net.Listener, int, error) {
	if n > maxAddresses {
		return nil, 0, fmt.Errorf("%d addresses: the most is %d", n, maxAddresses)
	}
	var err error
	for range 32 {
		var ls []net.Listener
		p := port
		for i := 0; i < n; i++ {
			var l net.Listener
			if l, err = net.Listen("tcp4", netip.AddrPortFrom(address(first, i), uint16(p)).String()); err != nil {
				break
			}
			p = l.Addr().(*net.TCPAddr).Port
			ls = append(ls, l)
		}
		if err == nil {
			return ls, p, nil
		}
		for _, l := range ls {
			l.Close()
		}
		if port != 0 || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, 0, err
}

// Close stops every server, drops every connection and waits for all of it to end.
func (w *Web) Close() {
	w.once.Do(func() {
		close(w.closing)
		w.unlisten()
		w.dns.close()
		w.mu.Lock()
		for c := range w.open {
			c.Close()
		}
		w.mu.Unlock()
	})
	w.tasks.Wait()
}

func (w *Web) unlisten() {
	for _, v := range w.servers {
		v.ln.Close()
	}
	for _, s := range w.sites {
		if s.hole != nil {
			s.hole.Close()
		}
	}
}

// track registers a connection for Close; it says false when the web is closing.
func (w *Web) track(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closing:
		return false
	default:
	}
	w.open[c] = struct{}{}
	return true
}

func (w *Web) untrack(c net.Conn) {
	w.mu.Lock()
	delete(w.open, c)
	w.mu.Unlock()
}

// URL is the start page of site i.
func (w *Web) URL(i int) string { return w.sites[i].origin + "/" }

// Seeds are the start pages of all sites, in order.
func (w *Web) Seeds() []string {
	out := make([]string, len(w.sites))
	for i := range out {
		out[i] = w.URL(i)
	}
	return out
}

// Port is the one all sites listen on.
func (w *Web) Port() int { return w.port }

// Addr is the address of site i, without the port.
func (w *Web) Addr(i int) netip.Addr { return w.sites[i].addr }

// Resolve lists HOST=ADDR for every named site that has an address. Names below a wildcard are known to DNS only.
func (w *Web) Resolve() []string {
	var out []string
	for _, s := range w.sites {
		if s.Name != "" && !s.nameless() {
			out = append(out, s.name+"="+s.addr.String())
		}
	}
	return out
}

// DNS is the address of a DNS server, UDP and TCP, that knows the sites and no other name.
func (w *Web) DNS() string { return w.dns.addr }

// CA is the authority that signed the certificates of TLS sites, in PEM.
func (w *Web) CA() []byte { return w.certs.pem }

// Site is the description of site i.
func (w *Web) Site(i int) Site { return w.sites[i].Site }

func (w *Web) tlsConfig() *tls.Config { return w.certs.config }

// Find is the index of the site with that name, or -1.
func (w *Web) Find(name string) int {
	return slices.IndexFunc(w.sites, func(s *site) bool { return s.name == strings.ToLower(name) })
}
