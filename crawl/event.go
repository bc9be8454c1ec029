package crawl

import (
	"net/netip"
	"time"

	"weir/bandwidth"
	"weir/frontier"
	"weir/overlay"
	"weir/page"
	"weir/plan"
	"weir/robots"
)

// Event is something that happened; Engine.Step takes it with its time.
type Event interface{ event() string }

// Start opens the crawl with what is queued.
type Start struct {
	Resumed bool   // it ran before: hosts may have been visited a moment ago
	Hosts   []Care `json:",omitempty"`
	Sites   []frontier.Known
	Domains []Used
	Kept    []Keep `json:",omitempty"` // what earlier runs, of this crawl or another, learned of the link
	// Rows of promises that this crawl has given.
	Promises []Keep `json:",omitempty"`
	Waits    []Wait `json:",omitempty"` // as the rules say
	Stop     string `json:",omitempty"` // the rules had the crawl stop, and why
	Totals   Totals
	Version  uint32 `json:",omitempty"` // of the last ranking
}

// Care is what a host needs beyond the common wait, as earlier runs learned.
type Care struct {
	Host  string
	State frontier.HostState
	Delay time.Duration `json:",omitempty"` // the crawl-delay of one of its sites
}

// Used are the pages that a registered domain had in earlier runs.
type Used struct {
	Domain string
	Pages  int64
}

// Done answers a Fetch: the answer is in, or there will be none.
type Done struct {
	ID        uint64
	Outcome   page.Outcome
	Status    int
	Bytes     int64
	Wire      int64 `json:",omitempty"` // all that came for it; 0 = as Bytes
	Elapsed   time.Duration
	Waited    time.Duration `json:",omitempty"` // of Elapsed, for our own limit: the server had rest then
	First     time.Duration `json:",omitempty"` // from the request to the first byte; 0 = not known
	RTT       time.Duration `json:",omitempty"` // to the server; 0 = not known
	Throttled bool          `json:",omitempty"` // our own limit slowed it
	Asked     time.Duration `json:",omitempty"` // Retry-After
	KeepAlive bool          `json:",omitempty"`
	Left      int           `json:",omitempty"` // requests that the server still takes on the connection; -1 = none, 0 = it did not say
	Idle      time.Duration `json:",omitempty"` // how long it keeps it open without one; 0 = it did not say
	Rules     *robots.Rules `json:",omitempty"` // of a robots.txt that was read
	Redirect  page.URL      `json:",omitzero"`  // of a robots.txt
}

// Committed says what is durable now. Orders named in IDs are over; rows that
// are new, or stand elsewhere now, are in Queued and Moved. Sites describes the
// sites of those rows, every time: the Engine may have forgotten them.
type Committed struct {
	IDs    []uint64         `json:",omitempty"`
	Vain   []uint64         `json:",omitempty"` // of these, those that have changed nothing: the page had ended before, or waits on as it was
	Sites  []frontier.Known `json:",omitempty"`
	Queued []Queued         `json:",omitempty"`
	Moved  []Moved          `json:",omitempty"`
	Waits  []Wait           `json:",omitempty"` // hosts that shall rest longer
	Hosts  []Care           `json:",omitempty"` // what other nodes have learned of them
	Stop   string           `json:",omitempty"` // the rules have the crawl stop, and why
	// Steered: the program is another one now, and what waits must be looked at
	// again before its turn.
	Steered bool `json:",omitempty"`
	Totals  Totals

	// For the node of a crawl that is shared: what the others must hear of, and the
	// pages that wait in the partitions that it has adopted.
	Parcel  *overlay.Parcel `json:"-"`
	Waiting int64           `json:"-"`
}

// Queued is an entry that waits durably.
type Queued struct {
	Site  page.SiteID
	Entry frontier.Entry
}

// Moved is an entry that has another place now.
type Moved struct {
	Site  page.SiteID
	Old   frontier.Place
	Was   float32 `json:",omitempty"` // its score there
	Entry frontier.Entry
}

// Loaded answers a Load.
type Loaded struct{ frontier.Batch }

// Resolved answers a Resolve.
type Resolved struct {
	Host    string
	Addrs   []netip.Addr
	TTL     time.Duration
	Outcome page.Outcome // OK, or why there is no address
}

// Command is what the user wants now: new limits, or the end.
type Command struct {
	Stop string // finish what is under way, then end, for this reason
	Now  bool   `json:",omitempty"` // end without what is under way: only what was learned is still ordered
	// Not nil: hold these from now on, unless the rate is negative; only a Stop that
	// is not "" ends the crawl then. The same goes for Demands.
	Limits  *Limits  `json:",omitempty"`
	Demands []Demand `json:",omitempty"`
}

// Wall tells the local time of day: before Start, and again when the clock jumps
// or its offset changes.
type Wall struct {
	Unix   int64 // nanoseconds since 1970
	Offset int   // seconds east of UTC
}

// Wire tells what the limiter saw: ten times a second while there is a limit,
// and at once when the link falls idle.
type Wire struct{ bandwidth.Wire }

// Ranked answers a Rank: pages have been ranked, and what comes of it is durable.
type Ranked struct {
	Version uint32
	Pages   int64 // that have another place now; those of the next batch
}

// Redelivered answers a Redeliver: what came of it is durable.
type Redelivered struct{}

// Await says that another program is on its way, or came to nothing or was Committed
// (-1): until it has, having nothing left is not the end.
type Await struct{ More int }

// Planned answers a Plan.
type Planned struct {
	Version  uint32
	Reserved []plan.Reservation // of its promises, in their order
}

// Tick says that the time of the last Wake has come.
type Tick struct{}

func (Start) event() string       { return "start" }
func (Done) event() string        { return "done" }
func (Committed) event() string   { return "committed" }
func (Loaded) event() string      { return "loaded" }
func (Resolved) event() string    { return "resolved" }
func (Command) event() string     { return "command" }
func (Wall) event() string        { return "wall" }
func (Wire) event() string        { return "wire" }
func (Ranked) event() string      { return "ranked" }
func (Planned) event() string     { return "planned" }
func (Redelivered) event() string { return "redelivered" }
func (Await) event() string       { return "await" }
func (Tick) event() string        { return "tick" }
