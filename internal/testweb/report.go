package testweb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is the account of a web's visitors so far.
type Report struct {
	Hosts   []Host   // that were visited, in the order of the sites
	Servers []Server // that were visited, in the order of their addresses
	Strays  []string // "HOST at ADDR" for requests to an address that does not serve the host
	Lookups int      // questions asked of DNS
}

// Host is the account of one host name.
type Host struct {
	Host, Addr string
	Requests   int // all of them
	Robots     int // for robots.txt
	Pages      int // distinct URLs, other than robots.txt, that got a complete and final answer
	Duplicates int // further complete and final answers for the same URL; 429 and 5xx are not final
	Early      int // requests before robots.txt was answered
	Forbidden  int // requests that the last robots.txt forbids; a 429 or 5xx for it forbids everything
	Bytes      int64
	Latest     time.Time // the end of the answer that last added to Pages

	Conns    int // opened
	MaxConns int // at the same time
	PerConn  int // most requests on one

	Delay   time.Duration // the longest crawl-delay its robots.txt has asked for
	Within  Gap           // between requests on one connection
	Between Gap           // between a request and the next one on another connection
	Before  Gap           // of those, before requests for anything but robots.txt

	Agents  []string // User-Agent headers
	Secrets []string // Cookie, Authorization and Proxy-Authorization headers, whole

	// The first few of each kind, as paths.
	DuplicateURLs, EarlyURLs, ForbiddenURLs []string
}

// Server is the account of one address.
type Server struct {
	Addr            string
	Conns, MaxConns int
}

// Gap is the shortest pause between requests to one host.
type Gap struct {
	N     int           // pauses seen
	Start time.Duration // from the arrival of one request to that of the next
	End   time.Duration // from the end of an answer to the arrival of the next request; 0 when they overlap
}

func (g *Gap) note(start, end time.Duration) {
	end = max(0, end)
	if g.N == 0 {
		g.Start, g.End = start, end
	}
	g.N++
	g.Start, g.End = min(g.Start, start), min(g.End, end)
}

// Audit reports on the visitors so far.
func (w *Web) Audit() Report {
	var r Report
	for _, s := range w.sites {
		s.host.mu.Lock()
		below := slices.Sorted(maps.Keys(s.host.names))
		s.host.mu.Unlock()
		all := []*host{s.host}
		for _, name := range below {
			all = append(all, s.host.below(name))
		}
		for _, h := range all {
			if a := h.account(); a.Requests > 0 {
				r.Hosts = append(r.Hosts, a)
			}
		}
	}
	for _, v := range w.servers {
		v.tally.mu.Lock()
		if v.tally.total > 0 {
			r.Servers = append(r.Servers, Server{Addr: v.addr.String(), Conns: v.tally.total, MaxConns: v.tally.most})
		}
		v.tally.mu.Unlock()
	}
	w.stray.mu.Lock()
	r.Strays = slices.Sorted(maps.Keys(w.stray.count))
	w.stray.mu.Unlock()
	r.Lookups = int(w.dns.lookups.Load())
	return r
}

func (h *host) account() Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Host{
		Host: h.name, Addr: h.site.addr.String(),
		Requests: h.requests, Robots: h.robots, Pages: h.distinct, Duplicates: h.twices,
		Early: h.earlies, Forbidden: h.denials, Bytes: h.sent.Load(), Latest: h.latest,
		Conns: h.tally.total, MaxConns: h.tally.most, PerConn: h.perConn,
		Delay: h.delay, Within: h.within, Between: h.between, Before: h.before,
		Agents: slices.Clone(h.agents), Secrets: slices.Clone(h.secrets),
		DuplicateURLs: slices.Clone(h.twice), EarlyURLs: slices.Clone(h.early), ForbiddenURLs: slices.Clone(h.denied),
	}
}

// Host is the account of one host, zero when it was not visited.
func (r Report) Host(name string) Host {
	for _, h := range r.Hosts {
		if h.Host == name {
			return h
		}
	}
	return Host{Host: name}
}

// Requests is their number over all hosts.
func (r Report) Requests() int {
	n := 0
	for _, h := range r.Hosts {
		n += h.Requests
	}
	return n
}

// Served lists every URL that was answered completely with a 200, other than robots.txt, sorted. After a complete crawl of a web
// without traps it equals Truth.
func (w *Web) Served() []string {
	var out []string
	for _, s := range w.sites {
		h := s.host
		h.mu.Lock()
		for i := 0; h.good != nil && i < s.Pages; i++ {
			if h.good.has(i) {
				out = append(out, s.origin+pagePath(i))
			}
		}
		for path, ok := range h.other {
			if ok {
				out = append(out, s.origin+path)
			}
		}
		h.mu.Unlock()
	}
	slices.Sort(out)
	return out
}

// Manners are what Problems holds a visitor to. The zero value checks what is never right: more than one connection a host,
// robots.txt not read first or not obeyed, a URL fetched twice, a crawl-delay cut short, a host asked for at the wrong address.
type Manners struct {
	// Wait is the pause before a host is visited on another connection; requests on one connection may follow at
	// once. A crawl-delay replaces it when longer, and also holds within a connection.
	Wait time.Duration
	// FromStart measures pauses from request to request, not from the end of an answer to the next request.
	FromStart bool
	// Slack is taken off every pause asked for. From the end of an answer none is needed.
	Slack time.Duration

	Conns      int // most connections at once to a host; 0 is 1
	PerServer  int // most connections at once to an address; 0 is any number
	PerConn    int // most requests on one connection; 0 is any number
	Duplicates int // how many URLs may be answered twice, over all hosts

	IgnoreRobots bool // read or not, obeyed or not

	// Forgets lets robots.txt be asked for after Wait, whatever crawl-delay it asks for: a visitor that was killed may not
	// know that it has read it.
	Forgets bool
}

// Problems lists what a visitor did against its manners, a sentence each; none is the mark of a good one.
func (r Report) Problems(m Manners) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m.Conns == 0 {
		m.Conns = 1
	}
	pause := func(g Gap) (time.Duration, string) {
		if m.FromStart {
			return g.Start, "after the request before"
		}
		return g.End, "after the answer before"
	}
	var twice int
	var urls []string
	for _, h := range r.Hosts {
		wait, why := m.Wait, "wait"
		if h.Delay > wait && !m.IgnoreRobots {
			wait, why = h.Delay, "crawl-delay"
		}
		all := h.Between
		if m.Forgets {
			if d, from := pause(all); all.N > 0 && d < m.Wait-m.Slack {
				say("%s: a request came on another connection %v %s, its wait is %v", h.Host, d, from, m.Wait)
			}
			all = h.Before
		}
		if d, from := pause(all); all.N > 0 && d < wait-m.Slack {
			say("%s: a request came on another connection %v %s, its %s is %v", h.Host, d, from, why, wait)
		}
		if d, from := pause(h.Within); h.Within.N > 0 && !m.IgnoreRobots && d < h.Delay-m.Slack {
			say("%s: a request came on the same connection %v %s, its crawl-delay is %v", h.Host, d, from, h.Delay)
		}
		if h.MaxConns > m.Conns {
			say("%s: %d connections at once, the most is %d", h.Host, h.MaxConns, m.Conns)
		}
		if m.PerConn > 0 && h.PerConn > m.PerConn {
			say("%s: %d requests on one connection, the most is %d", h.Host, h.PerConn, m.PerConn)
		}
		if h.Early > 0 && !m.IgnoreRobots {
			say("%s: %d requests before robots.txt: %s", h.Host, h.Early, some(h.EarlyURLs))
		}
		if h.Forbidden > 0 && !m.IgnoreRobots {
			say("%s: %d requests that robots.txt forbids: %s", h.Host, h.Forbidden, some(h.ForbiddenURLs))
		}
		if twice += h.Duplicates; h.Duplicates > 0 {
			for _, u := range h.DuplicateURLs {
				urls = append(urls, h.Host+u)
			}
		}
	}
	if twice > m.Duplicates {
		say("%d pages were fetched again, the most is %d: %s", twice, m.Duplicates, some(urls))
	}
	for _, s := range r.Servers {
		if m.PerServer > 0 && s.MaxConns > m.PerServer {
			say("%s: %d connections at once to one address, the most is %d", s.Addr, s.MaxConns, m.PerServer)
		}
	}
	for _, s := range r.Strays {
		say("a request went to an address that is not the host's: %s", s)
	}
	return out
}

// some are the first three of a list.
func some(list []string) string {
	if len(list) > 3 {
		return strings.Join(list[:3], " ") + " ..."
	}
	return strings.Join(list, " ")
}
