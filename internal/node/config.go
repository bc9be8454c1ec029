package node

import (
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/program"
	"weir/internal/store"
	"weir/page"
)

// Config says what to crawl and how. The command line makes one; zero fields
// mean what their comments say, not a default.
type Config struct {
	Dir   string
	Seeds []Seed

	// Programs are the user's own; none: those that the folder has, or else the
	// plain one that Scope means. More than one share the crawl.
	Programs []*program.Source
	Scope    crawl.ScopeConfig
	Trap     frontier.Trap
	Strip    page.Strip
	Want     page.Want // facts that are asked for beside those of the program
	Order    string
	Batch    int64 // pages in a batch, or between two rankings, for orders that go by ranks

	// StopGain ends the crawl when the last Batch pages were worth less than this
	// share of the first; 0: never.
	StopGain float64

	Wait        time.Duration
	PerConn     int
	Auto        bool // pages per connection follow the backlog, up to PerConn
	Conns       int
	PerServer   int
	SitePages   int64 // 0: no budget
	DomainPages int64 // 0: no budget
	Sites       map[string]frontier.Setting

	MaxPages int64 // 0: no bound, also below
	MaxBytes int64
	MaxTime  time.Duration

	Archive store.Form
	MaxFile int64 // bytes of a WARC file; 0: the store's default
	Info    [][2]string
	Memory  int64 // what caches and buffers may take together

	Agent string // product token, for robots.txt and meta robots
	Fetch fetch.Config

	// Bandwidth says how much may come, what decides which page starts, and with
	// what knowledge of the servers. Strict rather uses less than ever to go over.
	Bandwidth crawl.Bandwidth
	Strict    bool
	Yield     bool     // step aside for others on the link
	Probe     string   // whom to ask for that, as fetch.ParseTarget reads it; "": the nearest
	Warnings  []string // what the user was told before, for the log
	LearnFrom string   // the folder of another crawl whose knowledge of servers is taken over; "": none

	Demands []crawl.Demand // sites that shall be done by a time

	Peer *Peer // nil: no other node crawls with this one

	Lending Lending // with whom pages are shared

	IgnoreRobots bool
	Trace        string // file that gets every Engine event; "": none

	// Progress is told how the crawl is doing, a few times a second, by the
	// loop: it must return soon.
	Progress func(Status)

	// Notice is told what the user should know at once, by any goroutine: it
	// must return soon.
	Notice func(string)
}

// Seed is a page that the user names.
type Seed struct {
	URL   page.URL
	Score float32
}

// Status is how a crawl is doing.
type Status struct {
	crawl.Status
	Run     time.Duration // of this run
	Started crawl.Totals  // the totals when this run began
	Wire    int64         // bytes on the wire in this run, both ways
	Rate    float64       // bytes a second over the last seconds
	Pages   float64       // pages a second over the last seconds
	Commits Commits       // of this run
	Bound   Bound
	Resumed bool
	Enough  string        // why several nodes fetch nothing more, for good: crawl.StopPages, crawl.StopBytes, crawl.StopTime
	Rule    string        // why the rules have ended a crawl of several nodes
	Rules   []string      // the same by program, of those that share it; "": it goes on, or has left
	Lent    int64         // pages of this run that other crawls had fetched
	Pause   time.Duration // until Rest ends; 0: not all hosts rest
}

// ETA returns how long the rest takes at the speed of this run so far, or at that of
// the last seconds if it is less: towards the end a few hosts are left, and what they
// have waits for their rests. It must be possible to know: the queue must be shrinking,
// or a bound must be set, and while all hosts rest nothing tells how many pages come then.
func (s Status) ETA(c Config) (time.Duration, bool) {
	run := s.Run.Seconds()
	fetched := float64(s.Totals.Fetched - s.Started.Fetched)
	if run < 5 || fetched < 1 || s.Enough != "" || s.Rule != "" {
		return 0, false
	}
	slow := min(1, s.Pages/(fetched/run))
	if s.Pause > 0 {
		slow = 0
	}
	best := -1.0
	least := func(seconds float64) {
		if seconds >= 0 && (best < 0 || seconds < best) {
			best = seconds
		}
	}
	if c.MaxTime > 0 && c.Peer == nil {
		least((c.MaxTime - s.Run).Seconds())
	}
	if c.MaxPages > 0 && c.Peer == nil { // else they are of all nodes together
		if slow > 0 {
			least(float64(c.MaxPages-s.Totals.Fetched) / (fetched / run * slow))
		}
	}
	if c.MaxBytes > 0 && c.Peer == nil {
		if bytes := float64(s.Totals.Bytes - s.Started.Bytes); bytes > 0 {
			least(float64(c.MaxBytes-s.Totals.Bytes) / (bytes / run))
		}
	}
	found := float64(s.Totals.Seen-s.Started.Seen) / run
	ended := float64(s.Totals.Ended()-s.Started.Ended()) / run
	if s.Totals.Queued > 0 && found < ended/2 && slow > 0 {
		least(float64(s.Totals.Queued) / ((ended - found) * slow))
	}
	return time.Duration(best * float64(time.Second)), best >= 0
}

// Report is what report.json says. Names are for programs: add, never rename.
type Report struct {
	Pages     int64            `json:"pages"`   // pages that ended
	Fetched   int64            `json:"fetched"` // with an answer
	Bytes     int64            `json:"bytes"`
	WireBytes int64            `json:"wire_bytes"`
	Errors    int64            `json:"errors"`
	Queued    int64            `json:"queued"`
	Parked    int64            `json:"parked"`
	Waiting   int64            `json:"unreachable"` // queued behind a robots.txt that could not be had in this run
	Seconds   float64          `json:"seconds"`     // of this run
	Seeds     int64            `json:"seeds"`
	SeedsOK   int64            `json:"seeds_ok"`
	Sites     int64            `json:"sites"`
	Outcomes  map[string]int64 `json:"outcomes"`
	Bandwidth Bandwidth        `json:"bandwidth"`
	Commits   Commits          `json:"commit_ms"`
	StoppedBy string           `json:"stopped_by"`
	Resumed   bool             `json:"resumed"`
	RunPages  int64            `json:"run_fetched"`      // fetched in this run
	Robots    int64            `json:"robots"`           // robots.txt fetched, no pages
	Lent      int64            `json:"shared,omitempty"` // of this run, that other crawls had fetched
	Idle      float64          `json:"idle_connections"` // that could have been open and were not: the mean share, of 1
	Yields    int              `json:"yields"`           // how often it stepped aside for others
	Promises  []Promise        `json:"promises,omitempty"`
	Dir       string           `json:"dir"`
}

// Bandwidth is how this run used the link.
type Bandwidth struct {
	Limit int64   `json:"limit"` // bytes a second that may flow at the end; 0: no limit, -1: paused
	Mean  float64 `json:"mean"`
	Max1s int64   `json:"max_1s"`

	Control string  `json:"control,omitempty"`       // what decided which page starts
	Exact   bool    `json:"exact,omitempty"`         // bytes were counted on the wire, not as they were read
	Servers int     `json:"servers,omitempty"`       // of which the speed is known
	Used    int64   `json:"quota_used,omitempty"`    // in the quota's period
	Aside   float64 `json:"yield_seconds,omitempty"` // spent stepping aside
}
