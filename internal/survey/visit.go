package survey

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/parse"
	"weir/page"
	"weir/robots"
)

// visitor asks hosts for single files, with the manners of a crawl: one
// connection to a host at a time, and after it the wait, or as long as the answer
// took, or what robots.txt asks for, whichever is longest; so many connections to
// an address. It is safe for concurrent use.
type visitor struct {
	client    *fetch.Client
	wait      time.Duration
	sites     map[string]frontier.Setting
	perServer int
	agent     string
	noRobots  bool
	parsers   chan *parse.Parser // bounds how many sitemaps are in memory at once
	room      chan struct{}      // bounds the visits

	mu      sync.Mutex
	hosts   map[string]*host
	servers map[netip.Addr]chan struct{} // by address: whoever has room in it may connect
	rules   map[string]*ruling           // by site
}

// host is what manners need of one. Who has put something into turn owns the rest.
type host struct {
	turn  chan struct{}
	last  time.Time     // when the last visit ended
	rest  time.Duration // after that
	delay time.Duration // crawl-delay
	asked page.URL      // by the last visit
	got   page.Outcome  // of it
}

// due is when the host may be visited again.
func (h *host) due() time.Time { return h.last.Add(max(h.rest, h.delay)) }

// ruling is a site's robots.txt, once ready is closed.
type ruling struct {
	ready chan struct{}
	rules *robots.Rules // nil: it could not be had
	err   error         // why
}

// silence is why nobody answered.
type silence struct{ error }

// errBusy says that a host's next turn comes after the survey has ended.
var errBusy = errors.New("it asks for more time between visits than there is")

func (v *visitor) host(name string) *host {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.hosts[name]
	if h == nil {
		h = &host{turn: make(chan struct{}, 1)}
		v.hosts[name] = h
	}
	return h
}

func (v *visitor) server(addr netip.Addr) chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.servers[addr]
	if c == nil {
		c = make(chan struct{}, max(1, v.perServer))
		v.servers[addr] = c
	}
	return c
}

// ask asks for one URL when it is its host's turn. The answer is the caller's to
// Release; it is nil with an error, which says why nobody answered.
func (v *visitor) ask(ctx context.Context, u page.URL) (*fetch.Answer, page.Outcome, error) {
	h := v.host(u.Host())
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, page.Aborted, ctx.Err()
	}
	defer func() { <-h.turn }()
	if err := pause(ctx, h.due()); err != nil {
		return nil, page.Aborted, err
	}
	select {
	case v.room <- struct{}{}:
	case <-ctx.Done():
		return nil, page.Aborted, ctx.Err()
	}
	began := time.Now()
	a, o, err := v.once(ctx, u)
	<-v.room
	h.last, h.asked, h.got = time.Now(), u, o
	var asked time.Duration
	if a != nil {
		asked = a.RetryAfter
	}
	h.rest = o.Rest(v.plain(u), asked, 1)
	h.rest = max(h.rest, min(h.last.Sub(began), page.MaxPause))
	return a, o, err
}

// plain is the wait between two visits when nothing went wrong.
func (v *visitor) plain(u page.URL) time.Duration { return max(v.wait, v.sites[u.Host()].Wait) }

// retry says whether it makes sense to try another scheme of a host that could
// not be had with the first. When nobody listened there, it was only us who
// guessed wrong: then the host need not rest from it longer than from any visit.
func (v *visitor) retry(ctx context.Context, first, second page.URL) bool {
	h := v.host(first.Host())
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-h.turn }()
	if h.asked.Site() != first.Site() {
		return true
	}
	switch h.got {
	case page.DNSFailed, page.DNSTimeout, page.PrivateAddress:
		return false // as before
	case page.ConnectFailed:
		if first.Port() == second.Port() {
			return false
		}
		h.rest = v.plain(first)
	}
	return true
}

// pause waits for a time, unless that is not to be lived to see.
func pause(ctx context.Context, until time.Time) error {
	if end, ok := ctx.Deadline(); ok && until.After(end) {
		return errBusy
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once visits a host: the first of its addresses that takes the connection. Who has
// taken it is not asked again elsewhere, whatever came of it.
func (v *visitor) once(ctx context.Context, u page.URL) (*fetch.Answer, page.Outcome, error) {
	addrs, _, o := v.client.Lookup(ctx, u.Host())
	if o != page.OK {
		return nil, o, silence{errors.New(o.Row().What)}
	}
	if len(addrs) == 0 { // behind a proxy
		addrs = []netip.Addr{{}}
	}
	var last error
	for _, addr := range addrs[:min(len(addrs), 2)] {
		a, got, taken, err := v.at(ctx, u, addr)
		if taken {
			return a, got, err
		}
		o, last = got, err
	}
	return nil, o, last
}

// at visits one address of a host, and says whether it took the connection: else
// another may be tried.
func (v *visitor) at(ctx context.Context, u page.URL, addr netip.Addr) (_ *fetch.Answer, o page.Outcome, taken bool, err error) {
	if addr.IsValid() {
		room := v.server(addr)
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil, page.Aborted, true, ctx.Err()
		}
		defer func() { <-room }()
	}
	conn, o := v.client.Open(ctx, u, addr)
	defer conn.Close()
	if o != page.OK {
		return nil, o, o != page.ConnectFailed && o != page.ConnectTimeout, silence{errors.New(conn.Err)}
	}
	a := conn.Get(ctx, u, true)
	if a.Status == 0 {
		a.Release()
		return nil, a.Outcome, true, silence{errors.New(a.Err)}
	}
	return a, a.Outcome, true, nil
}

// robots returns the rules of a URL's site. When they cannot be had nothing of it
// may be asked for, and the error says why.
func (v *visitor) robots(ctx context.Context, u page.URL) (*robots.Rules, error) {
	if v.noRobots {
		return robots.AllowAll(), nil
	}
	v.mu.Lock()
	r := v.rules[u.Site()]
	first := r == nil
	if first {
		r = &ruling{ready: make(chan struct{})}
		v.rules[u.Site()] = r
	}
	v.mu.Unlock()
	if first {
		r.rules, r.err = v.readRobots(ctx, page.Join(u.Site(), "/robots.txt"))
		close(r.ready)
	}
	select {
	case <-r.ready:
		return r.rules, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (v *visitor) readRobots(ctx context.Context, at page.URL) (*robots.Rules, error) {
	site := v.host(at.Host())
	for hops := 0; ; hops++ {
		a, o, err := v.ask(ctx, at)
		var read *robots.Rules
		var next page.URL
		why := o.Row().What
		if a != nil {
			if o.Row().Kept {
				if body, got := a.Decoded(8 * robots.MaxSize); got.Row().Kept {
					read = robots.Parse(body, v.agent)
				}
			} else if o == page.Redirected {
				next, _ = at.Resolve(a.Location)
			}
			if a.Err != "" {
				why = a.Err
			}
			a.Release()
		} else if err != nil {
			why = err.Error()
		}
		if o == page.Aborted {
			return nil, err
		}
		rules, follow := frontier.RobotsVerdict(o, read, next, hops)
		switch {
		case follow:
			at = next
		case rules == nil:
			return nil, fmt.Errorf("%s: %s", at, why)
		default:
			v.obey(ctx, site, rules.CrawlDelay())
			return rules, nil
		}
	}
}

// obey keeps a host's crawl-delay from now on.
func (v *visitor) obey(ctx context.Context, h *host, delay time.Duration) {
	select {
	case h.turn <- struct{}{}:
		h.delay = max(h.delay, delay)
		<-h.turn
	case <-ctx.Done():
	}
}

// errDenied says that robots.txt forbids a file.
var errDenied = errors.New("its robots.txt forbids it")

// sitemapHops is how many redirects of a sitemap are followed.
const sitemapHops = 5

// sitemap asks for a sitemap and calls read with what it lists. It follows
// redirects within the registered domain, and asks nobody who does not want to be
// asked.
func (v *visitor) sitemap(ctx context.Context, at page.URL, read func(*parse.Sitemap)) error {
	for hops := 0; ; hops++ {
		rules, err := v.robots(ctx, at)
		if err != nil {
			return err
		}
		if !rules.Allowed(at.Path()) {
			return errDenied
		}
		a, o, err := v.ask(ctx, at)
		if a == nil {
			return err
		}
		if o == page.Redirected && hops < sitemapHops {
			next, err := at.Resolve(a.Location)
			a.Release()
			if err != nil || !kin(next, at) {
				return errors.New("it redirects elsewhere")
			}
			at = next
			continue
		}
		defer a.Release()
		if !o.Row().Kept {
			return errors.New(a.Err)
		}
		return v.parse(a, at, read)
	}
}

// kin says whether two URLs are of one registered domain.
func kin(a, b page.URL) bool {
	return a.Host() == b.Host() || page.Domain(a.Host()) == page.Domain(b.Host())
}

func (v *visitor) parse(a *fetch.Answer, at page.URL, read func(*parse.Sitemap)) error {
	p := <-v.parsers
	defer func() { v.parsers <- p }()
	body, got := a.Decoded(parse.MaxSitemap)
	if got == page.Bomb {
		return errors.New(got.Row().What)
	}
	m, err := p.Sitemap(body, at)
	if err != nil {
		return err
	}
	read(m)
	return nil
}
