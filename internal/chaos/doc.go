// Package chaos finds out what a cluster of weir nodes loses, fetches twice or does too hastily while everything around it
// breaks. It builds a network of namespaces in this machine, one for each node, one for a web made by testweb, and a router
// between them; runs the real binary in them; and lets a schedule of faults drawn from a seed loose on it.
//
//	node 0  10.78.0.2 --+
//	node 1  10.78.1.2 --+-- router --- web  10.80.0.0/16, the audit, and whoever asks the nodes
//	node 2  10.78.2.2 --+
//
// The router is where links are cut: it swallows packets from one to another, in one direction or both, and nobody is told.
// Nodes are killed with -9, stopped and continued, drained and started again, and new ones join.
//
// Four things are judged afterwards: that every page of the web was served; that a page was served again only if its end was
// not acknowledged yet when it was asked for again, and if a fault came at most 15 seconds after it was served (see judge); that
// the web saw no more haste than one polite visitor would show, at a host or at an address that hosts share; and that the nodes
// noticed together that nothing was left.
//
// When an end was acknowledged the nodes themselves write down, each page with its time, as the acknowledgement comes (witness
// in cmd/weir, which is off unless a run asks for it). The logs could be read instead, but do not tell: a message has the time
// at which the server that led put it there, and before it was agreed on that server may have been stopped or cut off; and a log
// that has lost its end does not show what was acknowledged. The account is whole: an acknowledgement is written down before
// the node hears of it, and one that was not heard comes again. A run that ends with a page of which none was written fails.
//
// Read fault.go for what happens, judge.go for what is allowed, run_linux.go for how. It needs Linux, root and the ip command.
package chaos

import (
	"time"

	"weir/internal/testweb"
)

// Config is one run.
type Config struct {
	Weir   string // the binary
	Dir    string // where nodes, logs and records go
	Seed   uint64
	Nodes  int            // that found the cluster: 3, 5 or 7
	Spares int            // that join and leave besides
	Scheme string         // how pages are spread over nodes; "": by host
	Pages  int            // of the web, about
	Conns  int            // of a node; 0: as many as it likes
	Server int            // connections to an address at most; a fifth of the sites share some then, see crowd. 0: none does
	Faults time.Duration  // how long things break; none at all for a quiet run
	Settle time.Duration  // how long it may take afterwards until nothing is left
	Pace   time.Duration  // between connections to a host; 0: such that the crawl lasts as long as the faults
	Script []Fault        // what breaks, instead of what the seed says
	Poll   bool           // ask all the time who owns how much
	Web    []testweb.Site // what there is to crawl, instead of so many Pages
	Seeds  []string       // besides the web's own
	Log    func(string)   // of what happens, as it happens
}

// perConn is how many pages are fetched over one connection.
const perConn = 2

// sites is how many the web has: few enough that each is visited again and again, many enough that every node has some.
func (c Config) sites() int { return min(max(c.Pages/100, 30), 500) }

// wait is between connections to a host. A crawl that nothing disturbs takes half as long as the faults.
func (c Config) wait() time.Duration {
	if c.Pace > 0 {
		return c.Pace
	}
	d := c.Faults * perConn / time.Duration(max(1, c.Pages/c.sites())) / 2
	return max(d, 50*time.Millisecond).Round(10 * time.Millisecond)
}

// crowded is how many sites share an address.
const crowded = 6

// crowd lets a fifth of the sites share addresses, and answer so slowly that each address would often have three connections
// at once or more.
func (c Config) crowd(web []testweb.Site) {
	for i := range len(web) / 5 / crowded * crowded {
		web[i].Latency = c.wait() / 6
		if first := i / crowded * crowded; i > first {
			web[i].With = web[first].Name
		}
	}
}

// Result is what a run has shown.
type Result struct {
	Seed        uint64
	Pages       int // of the web
	Lost        []string
	Again       []Refetch
	Own         int       // of Again: so many are explained by a fault of who had the page first
	Unsound     []Refetch // of Again: the end had been acknowledged
	Unexplained []Refetch // of Again: no fault was near
	Hasty       []string  // what the web complains about
	Failed      []string  // nodes that ended by themselves, and what else should not have been
	Quiet       bool      // nodes have noticed, all of them
	Took        time.Duration
	ToQuiet     time.Duration // from the last page or the last fault, whichever was later
	Oldest      time.Duration // of Again: how long a page had been served before the fault that explains it
	Latest      time.Duration // of Again, but for Unsound: how long the end had been acknowledged; see refetches
	Gap         time.Duration // the longest time without any page
	Stood       time.Duration // the longest time that this machine stood still, see watch
	Requests    int
	Spoken      int64 // bytes that nodes received of one another
	Kinds       map[string]int64
	CPU         time.Duration // of all nodes
	Shares      []Share       // as asked for by Poll
	Visits      []Visit
	Spans       []Span
}

// Share is how many partitions a node had at a time.
type Share struct {
	At    time.Duration
	Node  int
	Owned int
}

// Visit is one request as the web saw it, in times of the run.
type Visit struct {
	testweb.Visit
	At, End time.Duration // arrival and end of the answer
	Node    int           // who asked
}
