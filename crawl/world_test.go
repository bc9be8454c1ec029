package crawl

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"weir/page"
	"weir/robots"
)

// world is a made-up web in memory. It answers by what it was asked before, so
// that it goes on where it was when the crawler is started again.
type world struct {
	rng   *rand.Rand
	hosts map[string]*wHost
	sites []*wSite
	names map[string]*wSite
	seeds []page.URL
}

// wHost fails at most three times altogether unless it is dead, so that no host
// dies and no page is given up by bad luck: the test can say how each must end.
type wHost struct {
	name   string
	addrs  []netip.Addr
	dead   page.Outcome // how every visit ends, or None
	flakes []page.Outcome
	slow   time.Duration
	ttl    time.Duration
	speed  float64 // bytes a second, where there is a link
}

type wSite struct {
	name    string
	host    *wHost
	pages   []*wPage
	deny    bool // robots.txt forbids /deny
	delay   time.Duration
	robots  page.Outcome // how it ends after its trouble: OK, ClientError, ServerError (always), Redirected
	trouble int          // 5xx before that
	to      page.URL     // where robots.txt lies, if it is redirected
	rules   *robots.Rules
}

type wPage struct {
	url     page.URL
	site    *wSite
	outcome page.Outcome
	links   []page.Link
	to      page.URL
	size    int64 // 0: 100 bytes
}

var worldSecret = page.Secret{1, 2, 3}

// ample is more memory than these crawls need, and much less to clear for each Ledger
// than one takes without a bound.
const ample = 16 << 20

func hashOf(u page.URL) uint64 { return worldSecret.Hash(u.Rest()) }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func mustURL(s string) page.URL {
	u, err := page.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// newWorld makes a web of a few hosts, some with several sites, one of them
// large enough for refills.
func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), hosts: map[string]*wHost{}, names: map[string]*wSite{}}
	r := w.rng
	shared := netip.AddrFrom4([4]byte{10, 0, 0, 1})
	for i := range 2 + r.IntN(6) {
		h := &wHost{name: fmt.Sprintf("h%d.example%d.org", i, r.IntN(3)), slow: time.Duration(r.IntN(900)) * time.Millisecond}
		h.ttl = pick(r, 0, time.Second, time.Hour)
		h.speed = float64(50 + i*i*100)
		h.addrs = []netip.Addr{pick(r, shared, netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}))}
		if r.IntN(4) == 0 {
			h.addrs = append(h.addrs, netip.AddrFrom4([4]byte{10, 0, 2, byte(i)}))
		}
		if i > 0 && r.IntN(8) == 0 {
			h.dead = pick(r, page.ConnectFailed, page.DNSFailed, page.TLSFailed, page.PrivateAddress, page.ConnectTimeout, page.ProxyFailed)
		}
		if h.dead == page.None {
			h.flakes = append(h.flakes, pick(r, page.None, page.Truncated, page.ServerError)) // only once: it is kept the second time
			for range r.IntN(3) {
				h.flakes = append(h.flakes[:min(len(h.flakes), 1)], pick(r, page.None, page.ServerError, page.EarlyClose, page.ConnectFailed,
					page.RateLimited, page.FirstByteTimeout, page.DNSTimeout, page.Aborted, page.BadResponse))
			}
		}
		w.hosts[h.name] = h
		forms := []string{"http://%s", "https://%s", "http://%s:8080"}[:1+r.IntN(3)]
		for k, form := range forms {
			s := &wSite{name: fmt.Sprintf(form, h.name), host: h, deny: r.IntN(2) == 0}
			s.robots = pick(r, page.OK, page.OK, page.OK, page.ClientError)
			if r.IntN(3) == 0 {
				s.delay = time.Duration(1+r.IntN(40)) * 100 * time.Millisecond
			}
			switch n := r.IntN(12); {
			case n == 0 && k == 0:
				s.trouble = 1
			case n == 1 && len(forms) == 1:
				s.robots = page.ServerError
				h.flakes = nil
			}
			w.sites, w.names[s.name] = append(w.sites, s), s
		}
	}
	for i, s := range w.sites {
		if i > 0 && r.IntN(5) == 0 && s.robots != page.ServerError && w.sites[i-1].robots != page.ServerError {
			s.robots, s.to = page.Redirected, page.Join(w.sites[i-1].name, pick(r, "/robots.txt", "/elsewhere.txt"))
			w.sites[i-1].host.flakes, w.sites[i-1].trouble = nil, 0
		} else if r.IntN(12) == 0 && s.robots != page.ServerError {
			s.robots, s.to = page.Redirected, page.Join("http://"+w.sites[r.IntN(len(w.sites))].host.name+":81", "/robots.txt")
		}
		body := "User-agent: *\n"
		if s.deny {
			body += "Disallow: /deny\n"
		}
		if s.delay > 0 {
			body += fmt.Sprintf("Crawl-delay: %g\n", s.delay.Seconds())
		}
		s.rules = robots.Parse([]byte(body), "weir")
		n := 1 + r.IntN(12)
		if i == 0 || r.IntN(8) == 0 {
			n = 20 + r.IntN(50)
		}
		for k := range n {
			path := fmt.Sprintf("/p%d", k)
			if r.IntN(9) == 0 {
				path = fmt.Sprintf("/deny/p%d", k)
			}
			s.pages = append(s.pages, &wPage{url: page.Join(s.name, path), site: s, outcome: page.OK})
		}
	}
	for i, s := range w.sites {
		for k, p := range s.pages {
			w.furnish(p, k)
		}
		if i == 0 || r.IntN(3) == 0 {
			w.seeds = append(w.seeds, s.pages[0].url)
		}
	}
	return w
}

func (w *world) furnish(p *wPage, k int) {
	r := w.rng
	switch r.IntN(12) {
	case 0:
		p.outcome = pick(r, page.ClientError, page.TooLarge, page.Bomb, page.BadRedirect)
	case 1:
		p.outcome, p.to = page.Redirected, w.anyPage(p.site).url
	}
	add := func(u page.URL) { p.links = append(p.links, page.Link{URL: u, Hash: hashOf(u)}) }
	for _, next := range []int{2*k + 1, 2*k + 2} { // every page of a site can be reached from its first
		if next < len(p.site.pages) {
			add(p.site.pages[next].url)
		}
	}
	for range r.IntN(6) {
		add(w.anyPage(p.site).url)
	}
}

func (w *world) anyPage(near *wSite) *wPage {
	s := near
	if w.rng.IntN(4) == 0 {
		s = w.sites[w.rng.IntN(len(w.sites))]
	}
	return s.pages[w.rng.IntN(len(s.pages))]
}

// answer is what a server does about one request.
type answer struct {
	done  Done
	facts page.Facts
}

func (w *world) ask(f Fetch) answer {
	h := w.hosts[f.Host]
	a := answer{facts: page.Facts{Key: page.Key{Site: f.Site, Hash: f.Entry.Hash}, URL: f.URL, Depth: f.Entry.Depth,
		Hops: f.Entry.Hops, Root: f.Entry.Root, Attempt: f.Entry.Attempt, Score: f.Entry.Score, Robots: f.Robots}}
	if f.Robots {
		a.facts.Key.Hash, a.facts.Hops = 0, uint8(f.Hops)
	}
	a.done = Done{ID: f.ID, Outcome: page.OK, Elapsed: h.slow/2 + time.Duration(w.rng.Int64N(int64(h.slow/2)+int64(time.Millisecond)))}
	o := &a.done.Outcome
	closed := w.names[f.URL.Site()] == nil
	if !closed {
		w.content(f, &a)
	}
	switch {
	case closed:
		*o = page.ConnectFailed
	case h.dead != page.None && h.dead != page.DNSFailed:
		*o = h.dead
	case len(h.flakes) > 0 && h.flakes[0] != page.DNSTimeout:
		if flake := h.flakes[0]; flake != page.None && (flake != page.EarlyClose || !f.Open) {
			*o = flake
			if flake == page.RateLimited && w.rng.IntN(2) == 0 {
				a.done.Asked = time.Duration(w.rng.IntN(60)) * time.Second
			}
		}
		h.flakes = h.flakes[1:]
	}
	if *o != page.OK && *o != page.Redirected && *o != page.ClientError {
		a.done.Rules, a.done.Redirect = nil, page.URL{}
		if !o.Row().Kept {
			a.facts.Links = nil
		}
	}
	if *o != page.Redirected {
		a.facts.Redirect = page.Link{}
	}
	a.done.KeepAlive = !f.Last && o.Row().Answer && w.rng.IntN(5) > 0
	if o.Row().Answer {
		a.done.Status, a.done.Bytes = 200, 100
		if p := w.page(f.URL); p != nil && p.size > 0 {
			a.done.Bytes = p.size
		}
	}
	a.facts.Outcome, a.facts.Status, a.facts.Bytes, a.facts.Elapsed = *o, a.done.Status, a.done.Bytes, a.done.Elapsed
	return a
}

func (w *world) content(f Fetch, a *answer) {
	s := w.names[f.URL.Site()]
	if f.Robots {
		switch {
		case f.URL.Path() == "/elsewhere.txt":
			a.done.Rules = s.rules
		case s.trouble > 0:
			s.trouble--
			a.done.Outcome = page.ServerError
		case s.robots == page.OK:
			a.done.Rules = s.rules
		default:
			a.done.Outcome, a.done.Redirect = s.robots, s.to
			a.facts.Redirect = page.Link{URL: s.to}
		}
		return
	}
	p := w.page(f.URL)
	a.done.Outcome, a.facts.Links = p.outcome, p.links
	if !p.outcome.Row().Kept {
		a.facts.Links = nil
	}
	if p.outcome == page.Redirected {
		a.facts.Redirect = page.Link{URL: p.to, Hash: hashOf(p.to)}
	}
}

// page returns the page of this URL, nil for a robots.txt.
func (w *world) page(u page.URL) *wPage {
	if s := w.names[u.Site()]; s != nil {
		for _, p := range s.pages {
			if p.url == u {
				return p
			}
		}
	}
	return nil
}

// rulesOf follows a robots.txt to the rules that hold for the site; nil when
// they cannot be had.
func (w *world) rulesOf(s *wSite) *robots.Rules {
	for hops, at := 0, s; ; hops++ {
		switch {
		case at.host.dead != page.None || at.robots == page.ServerError:
			return nil
		case at.robots == page.OK:
			return at.rules
		case at.robots == page.ClientError || hops == 5:
			return robots.AllowAll()
		}
		elsewhere := strings.HasSuffix(at.to.Path(), "/elsewhere.txt")
		if at = w.names[at.to.Site()]; at == nil {
			return nil // a closed port
		}
		if elsewhere {
			if at.host.dead != page.None {
				return nil
			}
			return at.rules
		}
	}
}

// end says how a page must end, by all that holds for it.
func (w *world) end(u page.URL) page.Outcome {
	s := w.names[u.Site()]
	rules := w.rulesOf(s)
	switch {
	case s.host.dead != page.None:
		return s.host.dead
	case rules == nil:
		return page.RobotsUnreachable
	case !rules.Allowed(u.Path()):
		return page.Denied
	}
	for _, p := range s.pages {
		if p.url == u {
			return p.outcome
		}
	}
	panic("no such page")
}

// reachable returns every page that a crawl from the seeds must know, with how
// it must end.
func (w *world) reachable() map[string]page.Outcome {
	all := map[string]page.Outcome{}
	todo := append([]page.URL(nil), w.seeds...)
	for len(todo) > 0 {
		u := todo[0]
		todo = todo[1:]
		if _, seen := all[u.String()]; seen {
			continue
		}
		o := w.end(u)
		all[u.String()] = o
		for _, p := range w.names[u.Site()].pages {
			if p.url != u {
				continue
			}
			if o == page.Redirected {
				todo = append(todo, p.to)
			}
			if o.Row().Kept {
				for _, l := range p.links {
					todo = append(todo, l.URL)
				}
			}
		}
	}
	return all
}

// depths are the fewest links from a seed to every page that can be reached;
// redirects are none.
func (w *world) depths() map[string]int {
	least := map[string]int{}
	type step struct {
		to    page.URL
		depth int
	}
	var todo []step
	for _, u := range w.seeds {
		todo = append(todo, step{u, 0})
	}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if had, seen := least[at.to.String()]; seen && had <= at.depth {
			continue
		}
		least[at.to.String()] = at.depth
		p := w.page(at.to)
		switch o := w.end(at.to); {
		case o == page.Redirected:
			todo = append(todo, step{p.to, at.depth})
		case o.Row().Kept:
			for _, l := range p.links {
				todo = append(todo, step{l.URL, at.depth + 1})
			}
		}
	}
	return least
}
