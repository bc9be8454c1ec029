package main

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/node"
	"weir/internal/store"
	"weir/page"
)

const (
	minMemory = 64e6
	maxConns  = 100_000
	product   = "weir"
)

// plain is what the flags say a crawl is about.
func (s *settings) plain() crawl.ScopeConfig {
	return crawl.ScopeConfig{
		Scope: s.Scope, Depth: int(s.Depth), Match: s.Match, Exclude: s.Exclude,
		Requisites: s.Requisites, Sitemaps: s.Sitemaps, NoRobots: s.IgnoreRobots, Index: s.ByTerm,
	}
}

// setup checks settings and makes of them what a node runs.
func setup(s *settings, seeds []node.Seed) (*node.Config, error) {
	if !slices.Contains([]string{"host", "domain", "prefix", "any"}, s.Scope) {
		return nil, choice("--scope", s.Scope, "host", "domain", "prefix", "any")
	}
	if err := setupOrder(s); err != nil {
		return nil, err
	}
	form, err := store.ParseForm(s.Warc)
	if err != nil {
		return nil, choice("--warc", s.Warc, "gzip", "zstd", "none")
	}
	for _, f := range []struct {
		flag     string
		patterns []string
	}{{"--match", s.Match}, {"--exclude", s.Exclude}} {
		for _, p := range f.patterns {
			if _, err := regexp.Compile(p); err != nil {
				return nil, usage("the syntax is that of RE2, as in 'example\\.org/docs/'; quote it for the shell", "%s %q: %w", f.flag, p, err)
			}
		}
	}
	strip, err := page.ParseStrip(s.Strip)
	if err != nil {
		return nil, usage("write names separated by commas, as in --strip default,sid", "--strip: %w", err)
	}
	switch {
	case s.Wait < 0:
		return nil, usage("write --wait 0s for a server you own", "--wait cannot be none")
	case s.Memory == 0:
		return nil, usage("write a size, as in --memory 1GB", "--memory cannot be none")
	case s.Memory < minMemory:
		return nil, usage("weir needs 64MB at least; 1GB is the default", "--memory %s is too little", s.Memory)
	case s.MaxBody == 0:
		return nil, usage("write a size, as in --max-body 64MB", "--max-body cannot be none")
	case s.Conns > maxConns:
		return nil, usage(fmt.Sprintf("use %d at most", maxConns), "--conns %d is too many", s.Conns)
	case s.Index && form == store.None:
		return nil, usage("leave out --index, or keep an archive with --warc gzip", "--index has nothing to show for pages that are not kept (--warc none)")
	case s.MaxTime == 0:
		return nil, usage("write none for no bound", "--max-time 0s would fetch nothing")
	}
	cfg := &node.Config{
		Dir:          s.Dir,
		Seeds:        seeds,
		Scope:        s.plain(),
		Trap:         frontier.Trap(s.Trap),
		Strip:        strip,
		Order:        s.Order,
		Batch:        int64(s.Batch),
		StopGain:     float64(s.StopGain),
		Wait:         time.Duration(s.Wait),
		PerConn:      int(s.PerConn.most),
		Auto:         s.PerConn.auto,
		Conns:        int(s.Conns),
		PerServer:    int(s.PerServer),
		SitePages:    int64(s.SitePages),
		DomainPages:  int64(s.DomainPages),
		Sites:        map[string]frontier.Setting{},
		MaxPages:     int64(s.MaxPages),
		MaxBytes:     int64(s.MaxBytes),
		MaxTime:      max(0, time.Duration(s.MaxTime)),
		Archive:      form,
		Memory:       int64(s.Memory),
		IgnoreRobots: s.IgnoreRobots,
		Trace:        s.Trace,
	}
	cfg.Want.Words = s.Index
	cfg.Fetch.AllowPrivate = s.AllowPrivate
	cfg.Fetch.Limits.MaxBody = int64(s.MaxBody)
	if err := setupSites(s, cfg); err != nil {
		return nil, err
	}
	if err := setupIdentity(s, cfg); err != nil {
		return nil, err
	}
	if err := setupNetwork(s, cfg); err != nil {
		return nil, err
	}
	if err := setupSharing(s, cfg); err != nil {
		return nil, err
	}
	client, err := fetch.New(cfg.Fetch)
	if err != nil {
		return nil, usage("weir crawl --help says how flags are written", "%w", err)
	}
	if err := setupLink(s, cfg, client); err != nil {
		return nil, err
	}
	if err := setupDeadlines(s, cfg); err != nil {
		return nil, err
	}
	return cfg, client.Close()
}

// orders are those that a live crawl can have.
var orders = slices.DeleteFunc(frontier.Orders(), func(name string) bool { return name == frontier.Optimal{}.Name() })

// setupOrder checks the order, and what goes with it.
func setupOrder(s *settings) error {
	if s.Order == (frontier.Optimal{}).Name() {
		return usage("choose another order; weir sim run --order optimal shows what could be gained", "--order optimal goes by the ranks that pages will have in the end, which only a simulation knows")
	}
	if !slices.Contains(orders, s.Order) {
		return choice("--order", s.Order, orders...)
	}
	return gainful(s.Order, float64(s.StopGain))
}

const siteHint = "write a host's name, as in site: example.org"

func setupSites(s *settings, cfg *node.Config) error {
	cfg.Fetch.SiteHeader = map[string][]string{}
	cfg.Fetch.SiteLimiter = map[string]fetch.Limiter{}
	for _, one := range s.Sites {
		host, err := hostOf(one.Site)
		if err != nil {
			return usage(siteHint, "%s: %w", one.where(), err)
		}
		if one.Wait >= 0 && one.Wait < s.Wait {
			return usage("a site's wait can be longer than the common one, not shorter", "%s: wait %s of %s is shorter than --wait %s", one.where(), one.Wait, host, s.Wait)
		}
		if _, twice := cfg.Sites[host]; twice {
			return usage("name each site once", "%s: %s is there twice", one.where(), host)
		}
		cfg.Sites[host] = frontier.Setting{Wait: max(0, time.Duration(one.Wait)), MaxPages: int64(one.MaxPages)}
		if one.Limit > 0 { // none is 0
			cfg.Fetch.SiteLimiter[host] = fetch.NewBucket(int64(one.Limit))
		}
		if len(one.Headers) > 0 {
			cfg.Fetch.SiteHeader[host] = one.Headers
		}
	}
	return nil
}

// setupIdentity says who asks: names, headers and secrets.
func setupIdentity(s *settings, cfg *node.Config) error {
	agent := s.UserAgent
	if agent == "" {
		agent = product + "/" + version()
	}
	cfg.Agent = token(agent)
	if cfg.Agent == "" {
		return usage("begin with the name of your crawler, as in 'examplebot/1.0'", "--user-agent %q has no name that a robots.txt could speak of", s.UserAgent)
	}
	if s.Contact != "" {
		if address, err := mail.ParseAddress(s.Contact); err == nil && address.Name == "" {
			cfg.Fetch.From = address.Address
		} else if _, err := page.Parse(s.Contact); err != nil {
			return usage("give a page about your crawler, or an address: https://example.org/bot, bot@example.org", "--contact %q is neither a URL nor an e-mail address", s.Contact)
		}
		agent += " (+" + s.Contact + ")"
	}
	cfg.Fetch.Agent = agent
	if len(s.Header) > 0 && len(s.HeaderHosts) == 0 {
		return usage("name the seeds again: the header goes to their hosts", "--header needs a host to go to")
	}
	for _, host := range s.HeaderHosts {
		cfg.Fetch.SiteHeader[host] = append(slices.Clone(s.Header), cfg.Fetch.SiteHeader[host]...)
	}
	robots := "obey"
	if s.IgnoreRobots {
		robots = "ignore"
	}
	cfg.Info = [][2]string{
		{"software", product + "/" + version()},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"http-header-user-agent", agent},
		{"robots", robots},
	}
	if s.Contact != "" {
		cfg.Info = append(cfg.Info, [2]string{"operator", s.Contact})
	}
	if s.Cookies != "" {
		f, err := os.Open(s.Cookies)
		if err != nil {
			return usage("check the name and the permissions of the file", "--cookies: %w", err)
		}
		defer f.Close()
		if cfg.Fetch.Cookies, err = fetch.ReadCookies(f); err != nil {
			return usage("it must be a Netscape cookie file, as curl and browser add-ons write it", "--cookies %s: %w", s.Cookies, err)
		}
	}
	cfg.Fetch.Auth = map[string]fetch.Credential{}
	for _, a := range s.Auth {
		const hint = "write --auth HOST=USER:FILE, with the password in FILE"
		name, rest, ok := strings.Cut(a, "=")
		user, file, ok2 := strings.Cut(rest, ":")
		if !ok || !ok2 || user == "" || file == "" {
			return usage(hint, "--auth %q is incomplete", a)
		}
		host, err := hostOf(name)
		if err != nil {
			return usage(hint, "--auth: %w", err)
		}
		password, err := os.ReadFile(file)
		if err != nil {
			return usage(hint, "--auth: cannot read the password: %w", err)
		}
		cfg.Fetch.Auth[host] = fetch.Credential{User: user, Password: strings.TrimRight(string(password), "\r\n")}
	}
	return nil
}

// setupNetwork says how servers are found and reached.
func setupNetwork(s *settings, cfg *node.Config) error {
	if s.Proxy != "" {
		proxy, err := url.Parse(s.Proxy)
		if err != nil || proxy.Host == "" {
			return usage("write it as in http://proxy.example.org:3128 or socks5://127.0.0.1:1080", "--proxy is no URL of a proxy")
		}
		cfg.Fetch.Proxy = proxy
	}
	cfg.Fetch.DNS = s.DNS
	cfg.Fetch.Resolve = map[string][]netip.Addr{}
	for _, r := range s.Resolve {
		const hint = "write --resolve HOST=ADDR, as in --resolve example.org=192.0.2.7"
		name, text, _ := strings.Cut(r, "=")
		host, err := hostOf(name)
		if err != nil {
			return usage(hint, "--resolve: %w", err)
		}
		addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			return usage(hint, "--resolve %q: %q is no address", r, text)
		}
		cfg.Fetch.Resolve[host] = append(cfg.Fetch.Resolve[host], addr)
		if !fetch.Public(addr) {
			cfg.Fetch.AllowAddrs = append(cfg.Fetch.AllowAddrs, addr)
		}
	}
	for _, text := range s.AllowAddress {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return usage("allow-address lists addresses, as in [127.0.0.1]", "%q is no address", text)
		}
		cfg.Fetch.AllowAddrs = append(cfg.Fetch.AllowAddrs, addr)
	}
	return nil
}

// noTime refuses pages of no age.
var noTime = usage("write how old pages may be, as in --share-within 1h", "--share-within must be more than 0s")

// setupSharing says from which other crawls pages are taken.
func setupSharing(s *settings, cfg *node.Config) error {
	if len(s.ShareWith) == 0 {
		return nil
	}
	own, err := filepath.Abs(s.Dir)
	if err != nil {
		return err
	}
	switch {
	case s.ShareWithin <= 0:
		return noTime
	case len(s.Header) > 0 || len(cfg.Fetch.SiteHeader) > 0 || s.Cookies != "" || len(s.Auth) > 0:
		return usage("leave one of them out", "--share-with: pages that are asked for with --header, --cookies or --auth are nobody else's")
	}
	for i, dir := range s.ShareWith {
		if dir, err = filepath.Abs(dir); err != nil {
			return err
		}
		if dir == own {
			return usage("name the folder of another crawl", "--share-with %s: that is this crawl's own folder", s.ShareWith[i])
		}
		s.ShareWith[i] = dir // it may go on from elsewhere
	}
	cfg.Lending = node.Lending{With: s.ShareWith, Within: time.Duration(s.ShareWithin)}
	return nil
}

// allow notes what seeds allow by being named: private addresses may be visited,
// for who asks for one by its address means it; and --header goes to the seeds'
// hosts, not to whatever they lead to.
func (s *settings) allow(seeds []node.Seed) {
	for _, seed := range seeds {
		if h := seed.URL.Host(); len(s.Header) > 0 && !slices.Contains(s.HeaderHosts, h) {
			s.HeaderHosts = append(s.HeaderHosts, h)
		}
		var addrs []netip.Addr
		if a, ok := seed.URL.Addr(); ok {
			addrs = []netip.Addr{a}
		} else if h := seed.URL.Host(); h == "localhost" || strings.HasSuffix(h, ".localhost") {
			addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		}
		for _, a := range addrs {
			if !fetch.Public(a) && !slices.Contains(s.AllowAddress, a.String()) {
				s.AllowAddress = append(s.AllowAddress, a.String())
			}
		}
	}
}

// token returns the name that a User-Agent begins with, by which robots.txt
// knows a crawler: letters, - and _ (RFC 9309, section 2.2.1).
func token(agent string) string {
	end := strings.IndexFunc(agent, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	})
	if end < 0 {
		return agent
	}
	return agent[:end]
}

// hostOf reads the name of a host as URLs write it.
func hostOf(name string) (string, error) {
	u, err := page.Parse("http://" + name + "/")
	if err == nil && (u.Path() != "/" || u.Port() != "80") {
		err = errors.New("it has more than a name")
	}
	if err != nil {
		return "", fmt.Errorf("%q is no host: %w", name, err)
	}
	return u.Host(), nil
}
