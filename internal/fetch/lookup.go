package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/page"
)

// What is kept of a lookup.
const (
	minTTL     = 30 * time.Second
	maxTTL     = time.Hour
	fixedTTL   = 5 * time.Minute // where the system does not tell
	maxAddrs   = 16
	maxCached  = 1 << 16 // names in each of the two halves of the cache
	maxServers = 3
)

// Lookup returns the addresses of a host, IPv4 first, and how long they may be
// used. A host that is an address is its own. Behind a proxy nothing is looked
// up: there are no addresses then, and the outcome is OK. DNSFailed means that
// the name does not exist or has no address, DNSTimeout that this could not be
// found out now, Aborted that we could not ask.
func (c *Client) Lookup(ctx context.Context, host string) (addrs []netip.Addr, ttl time.Duration, o page.Outcome) {
	if c.closed.Load() {
		return nil, 0, page.Aborted
	}
	if c.cfg.Proxy != nil {
		return nil, maxTTL, page.OK
	}
	return c.names.lookup(ctx, host)
}

// resolver looks names up and remembers the answers for their time. It is safe
// for concurrent use.
type resolver struct {
	fixed   map[string][]netip.Addr // --resolve, then the hosts file unless DNS is set
	servers []string                // host:port; none: ask the system
	timeout time.Duration
	wire    *Wire // that answers are charged to; may be nil

	mu       sync.Mutex
	now, old map[string]entry // old is the half filled before; it is dropped whole
}

type entry struct {
	addrs   []netip.Addr
	outcome page.Outcome
	until   time.Time
}

func newResolver(cfg Config, timeout time.Duration) (*resolver, error) {
	r := &resolver{fixed: map[string][]netip.Addr{}, timeout: timeout, wire: cfg.Wire, now: map[string]entry{}}
	if cfg.DNS == "" {
		if f, err := os.Open(hostsFile); err == nil {
			r.fixed = readHosts(f)
			f.Close()
		}
	}
	for host, addrs := range cfg.Resolve {
		if len(addrs) == 0 {
			return nil, fmt.Errorf("%s is to be resolved to no address", host)
		}
		r.fixed[dnsName(host)] = addrs
	}
	if cfg.DNS != "" {
		server, err := serverAddr(cfg.DNS)
		if err != nil {
			return nil, err
		}
		r.servers = []string{server}
		return r, nil
	}
	// On these systems the file, where there is one, is not what programs use.
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" || runtime.GOOS == "windows" {
		return r, nil
	}
	if f, err := os.Open("/etc/resolv.conf"); err == nil {
		r.servers = readServers(f)
		f.Close()
	}
	return r, nil
}

// serverAddr reads the address of a resolver, with port 53 unless it says else.
func serverAddr(s string) (string, error) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.String(), nil
	}
	a, ok := page.HostAddr(s)
	if !ok {
		return "", fmt.Errorf("%q is not the address of a resolver: write 9.9.9.9 or [2620:fe::fe]:53", s)
	}
	return netip.AddrPortFrom(a, 53).String(), nil
}

// dnsName is a host as it is looked up: lower case, without the last dot.
func dnsName(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func (r *resolver) lookup(ctx context.Context, host string) ([]netip.Addr, time.Duration, page.Outcome) {
	if a, ok := page.HostAddr(host); ok {
		return []netip.Addr{a}, maxTTL, page.OK
	}
	name := dnsName(host)
	if addrs, ok := r.fixed[name]; ok {
		return order(addrs), maxTTL, page.OK
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761, section 6.3
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, maxTTL, page.OK
	}
	start := time.Now()
	if e, ok := r.cached(name, start); ok {
		return slices.Clone(e.addrs), e.until.Sub(start), e.outcome
	}
	addrs, ttl, o := r.ask(ctx, name)
	if ctx.Err() != nil {
		return nil, 0, page.Aborted
	}
	ttl = min(max(ttl, minTTL), maxTTL)
	addrs = order(addrs)
	if o != page.DNSTimeout && o != page.Aborted {
		r.keep(name, entry{addrs, o, time.Now().Add(ttl)})
	}
	return slices.Clone(addrs), ttl, o
}

func (r *resolver) cached(name string, now time.Time) (entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.now[name]
	if !ok {
		e, ok = r.old[name]
	}
	return e, ok && now.Before(e.until)
}

func (r *resolver) keep(name string, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.now) >= maxCached {
		r.old, r.now = r.now, map[string]entry{}
	}
	r.now[name] = e
}

// order puts IPv4 first, drops doubles and keeps a bounded number.
func order(addrs []netip.Addr) []netip.Addr {
	var four, six []netip.Addr
	for _, a := range addrs {
		a = a.Unmap()
		switch {
		case slices.Contains(four, a) || slices.Contains(six, a):
		case a.Is4() && len(four) < maxAddrs:
			four = append(four, a)
		case a.Is6() && len(six) < maxAddrs:
			six = append(six, a)
		}
	}
	all := append(four, six...)
	return all[:min(len(all), maxAddrs)]
}

// ask goes out for a name.
func (r *resolver) ask(ctx context.Context, name string) ([]netip.Addr, time.Duration, page.Outcome) {
	if len(r.servers) == 0 {
		return r.askSystem(ctx, name)
	}
	if !validName(name) {
		return nil, maxTTL, page.DNSFailed
	}
	var four, six found
	var wait sync.WaitGroup
	wait.Go(func() { four = r.resolve(ctx, name, typeA) })
	wait.Go(func() { six = r.resolve(ctx, name, typeAAAA) })
	wait.Wait()
	addrs := append(four.addrs, six.addrs...)
	switch {
	case len(four.addrs) > 0 && len(six.addrs) > 0:
		return addrs, min(four.ttl, six.ttl), page.OK
	case len(four.addrs) > 0:
		return addrs, four.ttl, page.OK
	case len(six.addrs) > 0:
		return addrs, six.ttl, page.OK
	case four.fault || six.fault:
		return nil, 0, page.Aborted
	case four.failed || six.failed:
		return nil, 0, page.DNSTimeout
	}
	return nil, min(four.ttl, six.ttl), page.DNSFailed
}

func (r *resolver) askSystem(ctx context.Context, name string) ([]netip.Addr, time.Duration, page.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, 2*r.timeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	var dns *net.DNSError
	switch {
	case err == nil && len(addrs) > 0:
		return addrs, fixedTTL, page.OK
	case err == nil, errors.As(err, &dns) && dns.IsNotFound:
		return nil, fixedTTL, page.DNSFailed
	case exhausted(err):
		return nil, 0, page.Aborted
	}
	return nil, 0, page.DNSTimeout
}

// hostsFile is where a system keeps names of its own.
const hostsFile = "/etc/hosts"

// maxConf is how much of a system file is read.
const maxConf = 4 << 20

// readHosts reads a hosts file. Lines it cannot read are not for us.
func readHosts(f io.Reader) map[string][]netip.Addr {
	hosts := map[string][]netip.Addr{}
	for fields := range confLines(f) {
		a, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, host := range fields[1:] {
			name := dnsName(host)
			hosts[name] = append(hosts[name], a)
		}
	}
	return hosts
}

// readServers reads the nameserver lines of a resolv.conf.
func readServers(f io.Reader) []string {
	var servers []string
	for fields := range confLines(f) {
		if fields[0] != "nameserver" || len(fields) < 2 || len(servers) == maxServers {
			continue
		}
		if server, err := serverAddr(fields[1]); err == nil {
			servers = append(servers, server)
		}
	}
	return servers
}

// confLines yields the words of every line that has some, without comments.
func confLines(f io.Reader) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		lines := bufio.NewScanner(io.LimitReader(f, maxConf))
		for lines.Scan() {
			line, _, _ := strings.Cut(lines.Text(), "#")
			if fields := strings.Fields(line); len(fields) > 0 && !yield(fields) {
				return
			}
		}
	}
}
