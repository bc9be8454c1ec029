package flow

import (
	"weir/page"
	"weir/query"
)

// Scheme says what decides where a row lives.
type Scheme uint8

// Schemes. By host, a host's name and all its URLs live together: large hosts make
// large partitions. ByHostN spreads the URLs of a host over a few partitions, so
// that only equal ones are sure to meet.
const (
	ByURL Scheme = iota
	ByHost
	ByHostN
)

// Options say what to compile a program for.
type Options struct {
	Scheme Scheme
	Spread int // of ByHostN: over how many partitions a host may spread, 1 or more
	// Crawl compiles what a crawl keeps up: what crawl, stop and wait need, live
	// tables that no Exchange is needed for, and those declared live. Else
	// everything is compiled, or what Tables need.
	Crawl  bool
	Tables []string
	// Given tables are handed in, not derived: crawl itself, when a finished crawl
	// is asked.
	Given []string
	// IgnoreRobots shows rules that steer the crawl all links, also those that a
	// page or a link asks crawlers not to follow.
	IgnoreRobots bool
	// Steers names tables that steer the crawl, though no rule that is compiled says
	// so: in a question, those that steer in the program of the crawl. They mean the
	// same in both.
	Steers []string
}

// State is what a Part has kept, as of the last commit. A value holds until the
// next call.
type State interface {
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn for the keys from lower up to but not including upper, in
	// order, until fn returns false. Key and value hold during the call.
	Scan(lower, upper []byte, fn func(key, value []byte) bool) error
}

// Writer is a State that takes changes at once: a Part writes to it directly and
// puts nothing out.
type Writer interface {
	State
	Set(key, value []byte) error
	Delete(key []byte) error
}

// Pair is a change of the state: the key's value, or that it is gone.
type Pair struct {
	Key   []byte
	Value []byte
	Gone  bool
}

// Via says which fact led to an order to crawl.
type Via uint8

// Ways to a page.
const (
	ByRule Via = iota // none of those below
	BySeed
	ByLink
	ByRedirect
	ByRequisite
	BySitemap      // an entry of kind page
	BySitemapIndex // an entry of kind index
	ByRobots
)

// Order is a derived row of crawl. It may be new, better or known: whoever keeps
// the crawl table finds out.
type Order struct {
	URL      page.URL
	Link     *page.Link // where it was found, if a link, redirect, requisite or sitemap of the page led there
	Depth    int64      // -1: the program has no depth
	Priority float64
	Rule     int // query.Rule.ID
	Via      Via
}

// Wait asks for longer rests of a host.
type Wait struct {
	Host    string
	Seconds float64
}

// Everywhere is where rows go that all partitions must have.
const Everywhere = -1

// Tuple is a row on its way to a partition. Row is opaque.
type Tuple struct {
	To    int    // the partition, or Everywhere
	Input uint32 // what it goes into
	Row   []byte
}

// Out is what follows from one delivery. It is the caller's, who resets it; its
// parts hold until then.
type Out struct {
	Crawl []Order
	Send  []Tuple // to other partitions; to this one too, if there are several; see Part.Share
	Put   []Pair
	Stop  string // the reason, when the program has the crawl stop
	Waits []Wait
	Stale bool // a small table has grown, and pages that were delivered before may mean more now
}

// Reset empties o and keeps its room.
func (o *Out) Reset() {
	*o = Out{Crawl: o.Crawl[:0], Send: o.Send[:0], Put: o.Put[:0], Waits: o.Waits[:0]}
}

// Row is a row of a table, with the types of its columns.
type Row = []query.Value
