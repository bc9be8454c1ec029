package page

import (
	"fmt"
	"time"
)

// Outcome is how one visit to a page ended, or why there was none. The list is
// append-only: the numbers are stored.
type Outcome uint8

const (
	None Outcome = iota

	// The server answered.
	OK
	Redirected
	ClientError
	RateLimited
	ServerError
	Truncated
	TooLarge
	Bomb
	BadRedirect

	// The server was reached but gave no usable answer.
	BadResponse
	HeaderTooLarge
	FirstByteTimeout
	TooSlow
	EarlyClose
	TLSFailed

	// The server was not reached.
	ConnectFailed
	ConnectTimeout
	DNSFailed
	DNSTimeout
	PrivateAddress
	ProxyFailed

	// The page was never asked for.
	Denied
	RobotsUnreachable
	TooManyRedirects
	Trap
	SiteBudget
	DomainBudget
	DeadHost

	// The visit was cut short by us; the page goes back to its queue.
	Aborted

	// The page was never asked for.
	SteeredAway

	outcomes
)

// Pause is how long a host rests after a visit, before anything else is asked
// of it.
type Pause uint8

const (
	Polite  Pause = iota // the host's normal wait
	Doubled              // the normal wait, doubled with every failure in a row
	Backoff              // ten times the wait, doubled with every failure in a row
	Asked                // what Retry-After asks for, at least Backoff
	NoPause              // nothing was sent to the host
)

// Row is what the crawler does about an outcome.
type Row struct {
	Name    string
	Answer  bool  // an answer came: the page counts as fetched and is archived
	Kept    bool  // the body is whole enough to read links from
	Pause   Pause // what the host does next
	Retries uint8 // how often the page is tried again before the outcome is final
	Dead    uint8 // the host is dead after so many failures in a row; 0: never by this
	What    string
}

// table says, for every outcome, what happens next. A retried page goes to the
// end of its class. A failure of the host (Dead > 0) does not use up the
// page's retries when Retries is 0: the host's count decides, and when it is
// spent all pages of the host end as DeadHost. EarlyClose comes behind an answer on
// the same connection only, so there are never more of them than answers; but a server
// that hangs up after every few without a word may do that to one page a few times
// in a row.
var table = [outcomes]Row{
	None:              {Name: "none", What: "nothing happened yet"},
	OK:                {Name: "ok", Answer: true, Kept: true, What: "2xx, stored"},
	Redirected:        {Name: "redirect", Answer: true, What: "3xx; the target is a URL of its own"},
	ClientError:       {Name: "client-error", Answer: true, What: "4xx: the page is not there, or not for us"},
	RateLimited:       {Name: "rate-limited", Answer: true, Pause: Asked, Retries: 4, Dead: 16, What: "429, or 503 with Retry-After: the server asks for rest"},
	ServerError:       {Name: "server-error", Answer: true, Pause: Doubled, Retries: 2, Dead: 16, What: "5xx: the server has trouble"},
	Truncated:         {Name: "truncated", Answer: true, Kept: true, Pause: Doubled, Retries: 1, What: "the connection ended before the body did; what came is stored"},
	TooLarge:          {Name: "too-large", Answer: true, Kept: true, What: "the body was cut at --max-body"},
	Bomb:              {Name: "bomb", Answer: true, What: "the body grows too much when decompressed; stored, not read"},
	BadRedirect:       {Name: "bad-redirect", Answer: true, What: "3xx without a target that can be crawled"},
	BadResponse:       {Name: "bad-response", Pause: Doubled, Retries: 2, Dead: 16, What: "not HTTP/1, or broken HTTP"},
	HeaderTooLarge:    {Name: "header-too-large", Pause: Doubled, Retries: 0, What: "the header never ended"},
	FirstByteTimeout:  {Name: "first-byte-timeout", Pause: Backoff, Retries: 2, Dead: 6, What: "connected, but no answer in time"},
	TooSlow:           {Name: "too-slow", Pause: Backoff, Retries: 1, What: "the answer came slower than is acceptable"},
	EarlyClose:        {Name: "early-close", Retries: 31, What: "a kept-alive connection was closed before it answered"},
	TLSFailed:         {Name: "tls-failed", Pause: Backoff, Dead: 2, What: "no trusted TLS connection"},
	ConnectFailed:     {Name: "connect-failed", Pause: Backoff, Dead: 4, What: "the connection was refused or broke"},
	ConnectTimeout:    {Name: "connect-timeout", Pause: Backoff, Dead: 4, What: "no connection in time"},
	DNSFailed:         {Name: "dns-failed", Pause: Backoff, Dead: 2, What: "the name does not exist"},
	DNSTimeout:        {Name: "dns-timeout", Pause: Backoff, Dead: 4, What: "the name could not be looked up now"},
	PrivateAddress:    {Name: "private-address", Dead: 1, Pause: NoPause, What: "the name leads to a private address, which is refused"},
	ProxyFailed:       {Name: "proxy-failed", Pause: Backoff, Dead: 8, What: "the proxy did not connect us"},
	Denied:            {Name: "denied", Pause: NoPause, What: "robots.txt forbids it"},
	RobotsUnreachable: {Name: "robots-unreachable", Pause: NoPause, What: "robots.txt could not be had, so nothing may be fetched in this run; the page stays queued"},
	TooManyRedirects:  {Name: "too-many-redirects", Pause: NoPause, What: "more than 10 redirects in a row"},
	Trap:              {Name: "trap", Pause: NoPause, What: "looks like an endless site; parked, released by weir release"},
	SiteBudget:        {Name: "site-budget", Pause: NoPause, What: "the site has had its --site-pages"},
	DomainBudget:      {Name: "domain-budget", Pause: NoPause, What: "the registered domain has had its --domain-pages"},
	DeadHost:          {Name: "dead-host", Pause: NoPause, What: "the host failed too often in a row, or asked to be left alone for more than a day"},
	Aborted:           {Name: "aborted", Retries: 255, What: "cut short by us; back in the queue"},
	SteeredAway:       {Name: "steered-away", Pause: NoPause, What: "it waited, and the program that weir steer brought does not ask for it"},
}

// Row returns what to do about o.
func (o Outcome) Row() Row {
	if o >= outcomes {
		return table[None]
	}
	return table[o]
}

func (o Outcome) String() string { return o.Row().Name }

// Outcomes returns all outcomes, in order.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, outcomes-1)
	for o := OK; o < outcomes; o++ {
		all = append(all, o)
	}
	return all
}

// MarshalText writes the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads a name.
func (o *Outcome) UnmarshalText(b []byte) error {
	for i := range table {
		if table[i].Name == string(b) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("no outcome is called %q", b)
}

// HostFault says that the failure is the host's, not the page's: it counts
// against the host, and the page keeps its tries.
func (o Outcome) HostFault() bool {
	r := o.Row()
	return r.Dead > 0 && r.Retries == 0
}

// Final says whether a page that has been tried before so many times ends with
// this outcome now.
func (o Outcome) Final(attempt uint8) bool {
	return !o.HostFault() && attempt >= o.Row().Retries
}

// MaxPause bounds every pause but the one a server asks for.
const MaxPause = 10 * time.Minute

// MaxAsked is the longest Retry-After that is waited for. A host that asks for
// more is left alone for the rest of the crawl.
const MaxAsked = 24 * time.Hour

// Rest returns how long a host rests after this outcome: wait is its normal
// pause, asked its Retry-After, failures how many visits in a row have failed,
// this one included.
func (o Outcome) Rest(wait, asked time.Duration, failures int) time.Duration {
	var base time.Duration
	pause := o.Row().Pause
	switch pause {
	case NoPause:
		return 0
	case Polite:
		return wait
	case Doubled:
		base = max(wait, 100*time.Millisecond)
	default:
		base = max(10*wait, time.Second)
	}
	rest := base << min(max(failures-1, 0), 20)
	rest = max(min(rest, MaxPause), wait)
	if pause == Asked {
		rest = max(rest, asked)
	}
	return rest
}
