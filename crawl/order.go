package crawl

import (
	"net/netip"

	"weir/frontier"
	"weir/page"
	"weir/plan"
)

// Order is something that the driver must do.
type Order interface{ order() string }

// Fetch asks for one page, or one robots.txt. Done answers it; what was learned
// goes to the Ledger, and Committed names the ID when it is durable.
type Fetch struct {
	ID     uint64
	Host   string
	Site   page.SiteID // the page's, or the one a robots.txt is for
	URL    page.URL
	Addr   netip.Addr // zero behind a proxy
	Open   bool       // on a new connection
	Last   bool       // the connection is closed after it
	Robots bool
	Hops   int            `json:",omitempty"` // of a robots.txt
	Entry  frontier.Entry `json:",omitzero"`
}

// Close ends the connection to a host.
type Close struct{ Host string }

// Settle makes durable that a page ends without a request; Committed answers.
type Settle struct {
	ID      uint64
	Site    page.SiteID
	Entry   frontier.Entry
	Outcome page.Outcome
}

// Give leaves a page to another partition; Committed answers.
type Give struct {
	ID    uint64
	Site  page.SiteID
	Entry frontier.Entry
	To    uint16
}

// Load asks for the head of a site's queue; Loaded answers.
type Load struct {
	Site page.SiteID
	From frontier.Place
	N    int
}

// Resolve asks for a host's addresses; Resolved answers.
type Resolve struct{ Host string }

// Save makes a host's state durable with the next batch. Nothing answers.
type Save struct {
	Host  string
	State frontier.HostState
}

// Limit sets how many bytes a second may flow from now on: bandwidth.Off lets
// nothing, bandwidth.Unlimited everything. The first one comes with Start, if
// there is a limit of any kind.
type Limit struct{ Rate int64 }

// Keep makes a row of what was learned of the link durable with the next batch,
// or deletes it when there is no value. Nothing answers.
type Keep struct{ Key, Value []byte }

// Wake asks for a Tick at a time. A later Wake replaces it.
type Wake struct{ At page.Time }

// Rank asks for pages to be ranked by the links that are durable; see rescore.go.
// Ranked answers, and nothing waits for it but the next Rank.
type Rank struct {
	Version uint32
	Pages   int64 // of the next batch, at most
}

// Share says whose bytes come first: the hosts whose promises are behind. It
// replaces the one before. Nothing answers.
type Share struct{ Hosts []Urgency }

// Urgency is how urgent a host is, more than 0; the higher the sooner.
type Urgency struct {
	Host string
	Urge float64
}

// Plan asks for a plan of promises, as plan.Reserve makes it: slow work, beside
// the crawl. Planned answers.
type Plan struct {
	Version  uint32
	Link     []plan.Step
	Promises []plan.Promise
}

// News says how it stands with a promise from now on. Nothing answers.
type News struct {
	Host     string
	Standing Standing
	Deadline int64  // nanoseconds since 1970
	Why      string `json:",omitempty"`
}

// Redeliver asks for the facts of pages that are due to be delivered again, so
// many at most; see again.go. Redelivered answers.
type Redeliver struct{ Pages int }

// Finish says that the crawl is over, and why.
type Finish struct{ Reason string }

func (Fetch) order() string     { return "fetch" }
func (Close) order() string     { return "close" }
func (Settle) order() string    { return "settle" }
func (Give) order() string      { return "give" }
func (Load) order() string      { return "load" }
func (Resolve) order() string   { return "resolve" }
func (Save) order() string      { return "save" }
func (Limit) order() string     { return "limit" }
func (Keep) order() string      { return "keep" }
func (Wake) order() string      { return "wake" }
func (Rank) order() string      { return "rank" }
func (Share) order() string     { return "share" }
func (Plan) order() string      { return "plan" }
func (News) order() string      { return "news" }
func (Redeliver) order() string { return "redeliver" }
func (Finish) order() string    { return "finish" }
