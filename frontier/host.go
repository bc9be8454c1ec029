package frontier

import (
	"net/netip"
	"time"

	"weir/page"
	"weir/robots"
)

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
)

// host has one connection, one wait and one backoff, shared by its sites.
// Nothing is sent to it before next.
type host struct {
	name    string
	domain  *domain
	state   state
	placed  int // in timers, ready or a server's waiting heap: one at a time
	turn    uint64
	sites   heap[*site]  // those with pages waiting
	errands fifo[errand] // robots.txt of other sites, redirected here
	ran     bool         // its last visit was an errand: its own pages go next

	next     page.Time     // no request before
	end      page.Time     // of the last visit
	delay    time.Duration // the longest crawl-delay of its sites
	last     time.Duration // how long the last answer took
	failures int           // visits in a row that failed: its rests grow by them
	lost     streak        // lookups of its name that failed
	saved    HostState     // as last written
	dead     page.Outcome  // not None: every page of the host ends so

	addrs    []netip.Addr
	try      int // which of addrs is in use
	tried    int // addresses that failed to connect since the last success
	expires  page.Time
	resolved bool // just now: the addresses may be used once, however short they live

	server *server // where its connection goes, or would go
	called bool    // room on the server is kept for it
	conn   *site   // whose connection is open
	errand bool    // an errand is under way; its connection serves nothing else
	pages  int     // requests made on it
}

// streak counts failures in a row, by kind, since each kind has a bound of its
// own. A restart begins it anew.
type streak struct {
	kind page.Outcome
	same int // of this kind, the last ones
	all  int
}

// maxFailures is how many visits in a row may fail, whatever the kinds.
const maxFailures = 16

// fatal counts a failure and says whether it was one too many.
func (s *streak) fatal(o page.Outcome) bool {
	if s.kind != o {
		s.kind, s.same = o, 0
	}
	s.same++
	s.all++
	dead := int(o.Row().Dead)
	return dead > 0 && (s.same >= dead || s.all >= maxFailures)
}

// site is one queue and one robots.txt.
type site struct {
	id     page.SiteID
	name   string
	host   *host
	placed int // in host.sites
	queued int64
	taken  int          // entries handed out and not yet settled durably
	used   int64        // pages fetched, or being fetched
	over   page.Outcome // not None: every page of the site ends so

	lost streak // visits that failed

	window   []Entry // the first entries, in order; window[head:] is live
	head     int
	complete bool  // the window holds every entry that is not taken
	low      Place // nothing that is not taken lies before it on disk

	rules   *robots.Rules
	until   page.Time // when the rules must be asked for again
	asked   int       // times robots.txt could not be had in a row
	away    bool      // robots.txt is being fetched, here or by an errand, or will be again
	again   page.Time // when robots.txt is asked for again; the site is in naps
	napping int       // in naps
	asleep  bool      // robots.txt could not be had: the site is left alone in this run
	unsaved int       // Robots picks whose end is not durable yet
	warm    bool      // counted among the sites that hold memory
	size    int64     // of the rules, as counted
	budget  int64
}

// errand is a robots.txt that lies elsewhere than at its site.
type errand struct {
	site *site
	url  page.URL
	hops int
}

// server is one address, and the hosts that wait for room on it.
//
// Room that falls free is kept for the best host that waits, until it connects
// or turns out not to need it (see Frontier.call and decline): so no host can
// wait for an address that nobody uses.
type server struct {
	active  int // connections
	called  int // hosts that room is kept for
	waiting heap[*host]
	domains []*domain // until there are so many that it is a CDN
	cdn     bool
}

// domain is what one can register; it has a budget of pages.
type domain struct {
	used int64 // pages fetched, or being fetched
}

func (s *site) live() []Entry { return s.window[s.head:] }

// view is what the Ranking sees.
func (s *site) view() View {
	v := View{Queued: s.queued, Head: s.low}
	if w := s.live(); len(w) > 0 {
		v.Head = w[0].Place
	}
	return v
}

// pop takes the first entry of the window.
func (s *site) pop() Entry {
	e := s.window[s.head]
	s.window[s.head] = Entry{}
	s.head++
	s.shift()
	s.low = e.Place.After()
	return e
}

// shift gives back the room before head, now and then.
func (s *site) shift() {
	if s.head == len(s.window) || s.head >= 32 && s.head >= len(s.window)/2 {
		n := copy(s.window, s.live())
		clear(s.window[n:])
		s.window, s.head = s.window[:n], 0
	}
}

// insert puts an entry into the window if it belongs there. What does not fit
// stays on disk.
func (s *site) insert(e Entry, limit int) {
	w := s.live()
	if len(w) == 0 && !s.complete {
		if e.Place.Before(s.low) {
			s.low = e.Place
		}
		return
	}
	if !s.complete && !e.Place.Before(w[len(w)-1].Place) {
		return
	}
	i := len(w)
	for i > 0 && e.Place.Before(w[i-1].Place) {
		i--
	}
	s.window = append(s.window, Entry{})
	w = s.live()
	copy(w[i+1:], w[i:])
	w[i] = e
	if len(w) > limit {
		w[len(w)-1] = Entry{}
		s.window = s.window[:len(s.window)-1]
		s.complete = false
	}
	if i == 0 {
		s.low = e.Place
	}
}

// drop removes the entry at a place, if the window holds it.
func (s *site) drop(p Place, hash uint64) {
	w := s.live()
	for i := range w {
		if w[i].Place == p && w[i].Hash == hash {
			copy(w[i:], w[i+1:])
			w[len(w)-1] = Entry{}
			s.window = s.window[:len(s.window)-1]
			s.shift()
			return
		}
	}
}

// chill forgets the window and the rules; they are loaded again when needed.
func (s *site) chill() {
	if w := s.live(); len(w) > 0 {
		s.low = w[0].Place
	}
	s.window, s.head, s.complete = nil, 0, false
	s.rules = nil
}
