package testweb

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// How the audit stays fair. An answer's end is stamped just before its last bytes are written, a request's arrival just after its
// first line was read, so a gap between the two is never measured shorter than the visitor kept it. A visitor who hangs up before
// the answer comes is not heard of until it is written: such an answer is taken to have ended when it was asked for. A connection that the
// visitor has closed may still be open here for a moment: before two are called simultaneous, the kernel is asked
// whether the other one's peer is gone.

// Bounds on what the audit remembers.
const (
	maxExamples = 20      // of one kind, per host
	maxURLs     = 1 << 18 // other than pages, per host
	maxBelow    = 1 << 12 // names below one wildcard
	maxNames    = 1 << 12 // strays, and names asked of DNS
)

// tally counts the open connections of something, and the most there were.
type tally struct {
	mu    sync.Mutex
	open  map[*conn]struct{}
	most  int
	total int
}

func (t *tally) join(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(c)
}

// add is join under the lock.
func (t *tally) add(c *conn) {
	if t.open == nil {
		t.open = make(map[*conn]struct{})
	}
	if _, ok := t.open[c]; ok {
		return
	}
	t.total++
	t.open[c] = struct{}{}
	if len(t.open) <= t.most {
		return
	}
	for o := range t.open {
		if o != c && o.gone() {
			delete(t.open, o)
		}
	}
	t.most = max(t.most, len(t.open))
}

func (t *tally) leave(c *conn) {
	t.mu.Lock()
	delete(t.open, c)
	t.mu.Unlock()
}

// host is the account of one host name.
type host struct {
	name string
	site *site
	sent atomic.Int64

	mu       sync.Mutex
	tally    tally // under mu, not its own lock
	requests int
	robots   int
	early    []string
	earlies  int
	denied   []string
	denials  int
	twice    []string
	twices   int
	said     *rules // what robots.txt said last, nil before it was answered
	delay    time.Duration

	seen, good bitset          // pages answered; answered with 200
	other      map[string]bool // other URLs answered: with 200?
	distinct   int
	latest     time.Time // the end of the answer that was last distinct

	last    time.Time // arrival of the last request
	ended   time.Time // end of the last answer
	from    *conn     // that asked last
	within  Gap
	between Gap
	before  Gap
	perConn int

	agents  []string
	secrets []string
	names   map[string]*host // below a wildcard
}

func newHost(name string, s *site) *host {
	return &host{name: name, site: s, other: make(map[string]bool)}
}

// below is the account of a name below a wildcard; beyond the bound they share their parent's.
func (h *host) below(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.names[name]; o != nil {
		return o
	}
	if len(h.names) >= maxBelow {
		return h
	}
	if h.names == nil {
		h.names = make(map[string]*host)
	}
	o := newHost(name, h.site)
	h.names[name] = o
	return o
}

// arrive notes a request.
func (h *host) arrive(x *exchange) {
	c := x.conn
	if c.host != h && c.host != nil {
		c.host.leave(c)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.host = h
	h.gap(c, x.arrived, string(x.path) == "/robots.txt")
	h.tally.add(c)
	c.busy = true
	h.last, h.from = x.arrived, c
	h.requests++
	h.perConn = max(h.perConn, c.answers+1)
	if len(x.agent) > 0 && len(h.agents) < maxExamples && !slices.Contains(h.agents, string(x.agent)) {
		h.agents = append(h.agents, string(x.agent))
	}
	for _, s := range x.secrets {
		if len(h.secrets) < maxExamples && !slices.Contains(h.secrets, s) {
			h.secrets = append(h.secrets, s)
		}
	}
	switch {
	case string(x.path) == "/robots.txt":
		h.robots++
	case h.said == nil:
		h.earlies++
		h.early = example(h.early, x.path)
	case len(h.said.deny) > 0 && h.said.denies(string(x.path)):
		h.denials++
		h.denied = example(h.denied, x.path)
	}
}

func example(list []string, path []byte) []string {
	if len(list) < maxExamples {
		list = append(list, string(path))
	}
	return list
}

// gap measures how long the visitor left the host alone. An answer that is still going out on another connection leaves none at
// all, unless its visitor has gone away.
func (h *host) gap(c *conn, now time.Time, robots bool) {
	if h.from == nil {
		return
	}
	start := now.Sub(h.last)
	if h.from == c {
		h.within.note(start, now.Sub(h.ended))
		return
	}
	end, known := start, !h.ended.Before(h.last)
	if known {
		end = now.Sub(h.ended)
	}
	for o := range h.tally.open {
		if o != c && o.busy && !o.gone() {
			end = 0
		}
	}
	h.between.note(start, end)
	if !robots {
		h.before.note(start, end)
	}
}

// told notes what robots.txt is about to say.
func (h *host) told(r *rules) {
	h.mu.Lock()
	h.said = r
	h.delay = max(h.delay, r.delay)
	h.mu.Unlock()
}

// note is what finish changed, for retract.
type note struct {
	fresh, ok, twice bool
	url              string
}

// final says whether an answer settles a URL: what says "not now" does not.
func final(status int) bool {
	return status != 0 && status != 408 && status != 425 && status != 429 && status < 500
}

// finish notes the end of an answer, complete with a status or broken off with 0.
func (h *host) finish(x *exchange, status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x.conn.busy = false
	h.ended = time.Now()
	x.ended, x.status = h.ended, status
	x.note = note{}
	robots := string(x.path) == "/robots.txt"
	if robots && status != 0 && h.said == nil {
		h.said = &rules{}
	}
	if robots || !final(status) {
		return
	}
	ok := status == 200
	if x.page >= 0 {
		if h.seen == nil {
			h.seen, h.good = newBitset(h.site.Pages), newBitset(h.site.Pages)
		}
		x.note.fresh = h.seen.set(x.page)
		x.note.ok = ok && h.good.set(x.page)
		x.note.twice = !x.note.fresh
	} else {
		url := string(x.path)
		was, known := h.other[url]
		if !known && len(h.other) >= maxURLs {
			return
		}
		x.note = note{fresh: !known, ok: ok && !was, twice: known, url: url}
		h.other[url] = was || ok
	}
	if x.note.fresh {
		h.distinct++
		h.latest = h.ended
	} else {
		h.twices++
		h.twice = example(h.twice, x.path)
	}
}

// retract takes back an answer that could not be written, since its visitor had hung up.
func (h *host) retract(x *exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Equal(x.ended) { // else others were answered since
		h.ended = x.arrived
	}
	n := x.note
	x.note, x.status = note{}, 0
	switch {
	case n.twice:
		h.twices--
	case n.fresh:
		h.distinct--
	}
	switch {
	case n.url != "" && n.fresh:
		delete(h.other, n.url)
	case n.url != "" && n.ok:
		h.other[n.url] = false
	case n.url == "" && n.fresh:
		h.seen.clear(x.page)
		h.good.clear(x.page)
	case n.url == "" && n.ok:
		h.good.clear(x.page)
	}
}

func (h *host) leave(c *conn) {
	h.mu.Lock()
	delete(h.tally.open, c)
	h.mu.Unlock()
}

// stray counts requests for hosts that are not served where they arrived.
type stray struct {
	mu    sync.Mutex
	count map[string]int
	total int
}

func (s *stray) add(name string, at netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	key := name + " at " + at.String()
	if s.count == nil {
		s.count = make(map[string]int)
	}
	if _, ok := s.count[key]; ok || len(s.count) < maxNames {
		s.count[key]++
	}
}
