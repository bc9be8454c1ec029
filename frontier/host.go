package frontier

import (
	"net/netip"
	"time"

	"weir/page"
)

// Holdable is the Config.Holdable of live crawls: servers close connections after
// pauses of five seconds and more.
const Holdable = 5 * time.Second

// state is where a host is in its life. A host is in exactly one of them, and
// the heaps and lists it is on follow from it.
type state uint8

const (
	idle      state = iota // no work
	turning                // it is its turn just now; in no list
	resting                // in timers until next
	ready                  // in ready: it could go now
	resolving              // its name is being looked up
	loading                // a site's window is being filled
	crowded                // its address has no room; in the server's waiting heap
	stalled                // the caller has no room for what it needs; in a stall list
	busy                   // a request is under way
	holding                // between two requests of one connection; in open
	leasing                // leave to visit it is being asked for
	granted                // it may be visited; in granted
	refused                // the Gate did not let it pass; in refused until all that can be picked now is
)

// host has one connection, one wait and one backoff, shared by its sites.
// Nothing is sent to it before next.
//
// There can be millions that only wait for their turn, so what most of them do
// not need lies apart. care and line are never nil: a host without its own
// reads the Frontier's empty ones, and gets its own from mind and dial before
// anything is written to them.
type host struct {
	name    string // part of a site's name, as a rule: they share their bytes
	sites   shelf  // those with pages waiting
	care    *care
	line    *line
	next    page.Time // no request before
	turn    uint64
	placed  int32  // in timers, ready or a server's waiting heap: one at a time
	known   int32  // its sites in memory
	pace    uint32 // microseconds that a page of it takes, smoothed; 0: not known, or of no use
	state   state
	urge    uint8 // 0: not urgent; see urge.go
	ran     bool  // its last visit was an errand: its own pages go next
	leaving bool  // in the Frontier's list of hosts that may be forgotten
}

// care is what a host needs beyond the common wait. Most need nothing. It
// stays when the host is forgotten.
type care struct {
	delay    time.Duration // the longest crawl-delay of its sites
	last     time.Duration // how long the last answer took, if that is longer than the wait
	until    page.Time     // its rest, while it is forgotten
	saved    HostState     // as last written
	failures int32         // visits in a row that failed: its rests grow by them
	tried    int32         // addresses that failed to connect since the last success
	lost     streak        // lookups of its name that failed
	dead     page.Outcome  // not None: every page of the host ends so
	try      int32         // which of its addresses is in use
}

// line is how a host is visited: its addresses, its connection, and the errands
// that wait for one. It is given up while the host rests when there are many.
type line struct {
	errands fifo[errand] // robots.txt of other sites, redirected here
	addrs   []netip.Addr
	expires page.Time     // of addrs
	server  *server       // where its connection goes, or would go; none behind a proxy
	conn    *site         // whose connection is open
	end     page.Time     // of the last visit
	pages   int32         // requests made on the connection
	most    int           // that may be made on it
	idle    time.Duration // how long the server keeps it open without a request; 0: it did not say

	resolved bool // just now: the addresses may be used once, however short they live
	called   bool // room on the server is kept for it
	errand   bool // an errand is under way; its connection serves nothing else
	leased   bool // it may be visited at lent, see lease.go
	used     bool // under that lease, it was
	counted  bool // among those that are lent
	stands   bool // in line for leave, see Stands
	sought   bool // by others: its visit is to end soon
	lent     netip.Addr
	since    page.Time // it is leased
}

// addr is the address in use. There may be fewer now than when it was chosen.
func (h *host) addr() netip.Addr { return h.line.addrs[int(h.care.try)%len(h.line.addrs)] }

// turn goes on to the next address. It outlives the line: a host whose first
// address is down must not begin with it every time.
func (c *care) turn(l *line) { c.try = (c.try + 1) % int32(len(l.addrs)) }

// errand is a robots.txt that lies elsewhere than at its site.
type errand struct {
	site *site
	url  page.URL
	hops int
}

func (h *host) wanted() bool { return h.sites.len() > 0 || h.line.errands.len() > 0 }

// runs says that the host's next visit is an errand. Errands and its own pages
// take turns, so that nobody can keep it from its pages by sending others to it.
func (h *host) runs() bool { return h.line.errands.len() > 0 && (h.sites.len() == 0 || !h.ran) }

// asks says that the host's next step sends something to it. Pages that end
// without a request need not wait.
func (h *host) asks() bool {
	return h.care.dead == page.None && (h.runs() || h.sites.len() > 0 && h.sites.top().over == page.None)
}

// mind returns the host's care, to be written to.
func (f *Frontier) mind(h *host) *care {
	if h.care == &f.noCare {
		h.care = &care{}
	}
	return h.care
}

// dial returns the host's line, to be written to. When the last visit ended is
// not known of a new one, but it was not after the host's rest.
func (f *Frontier) dial(h *host) *line {
	if h.line == &f.noLine {
		h.line = &line{end: h.next}
		f.lines++
	}
	return h.line
}

// tight says that too many hosts hold a line.
func (f *Frontier) tight() bool { return f.lines > f.cfg.Hot+f.cfg.Conns }

// part gives up the line of a host that rests or has no work, unless something
// waits on it.
func (f *Frontier) part(h *host) {
	l := h.line
	if l == &f.noLine || l.conn != nil || l.errand || l.called || l.leased || h.state == leasing || l.errands.len() > 0 {
		return
	}
	f.move(h, nil)
	h.line = &f.noLine
	f.lines--
}

// streak counts failures in a row, by kind, since each kind has a bound of its
// own. A restart begins it anew.
type streak struct {
	kind page.Outcome
	same uint8 // of this kind, the last ones
	all  uint8
}

// maxFailures is how many visits in a row may fail, whatever the kinds.
const maxFailures = 16

// fatal counts a failure and says whether it was one too many.
func (s *streak) fatal(o page.Outcome) bool {
	if s.kind != o {
		s.kind, s.same = o, 0
	}
	s.same, s.all = min(s.same, 254)+1, min(s.all, 254)+1
	dead := o.Row().Dead
	return dead > 0 && (s.same >= dead || s.all >= maxFailures)
}

// server is one address, and the hosts that wait for room on it.
//
// Room that falls free is kept for the best host that waits, until it connects
// or turns out not to need it (see Frontier.call and decline): so no host can
// wait for an address that nobody uses.
type server struct {
	addr    netip.Addr
	lines   int // that lead here
	active  int // connections
	called  int // hosts that room is kept for
	waiting roster
	domains []string // registered domains that it serves, until there are so many that it is a CDN
	cdn     bool
}

// move lets a host's line lead to another server, or to none. A server that no
// line leads to is forgotten, but not that it is a CDN.
func (f *Frontier) move(h *host, to *server) {
	from := h.line.server
	if from == to {
		return
	}
	f.decline(h)
	h.line.server = to
	if to != nil {
		to.lines++
	}
	if from == nil {
		return
	}
	if from.lines--; from.lines == 0 && !from.cdn {
		delete(f.servers, from.addr)
	}
}
