package overlay

import (
	"time"

	"weir/page"
)

// Batch is what is appended to a log at once.
type Batch struct {
	Origin  uint64 // of the node's store: who has it applied already
	Records []Record

	// Stamp is the carrier's: no other batch that could lie at its offset, were the log
	// to lose its end, has the same. It is not written.
	Stamp uint64
}

// Record is one entry of a partition's log.
type Record interface{ kind() byte }

// Tuples are rows of crawl whose home is the partition.
type Tuples struct {
	Rows []Row
	Own  bool // whoever wrote them owned the partition, and has taken them before
}

// Row asks for a page to be crawled.
type Row struct {
	URL     page.URL
	Depth   uint16
	Hops    uint8
	Root    bool
	Seed    bool
	Rule    uint8
	Program uint8
	Moves   uint8 // how often it was handed to another node, see Scheme
	Score   float32
}

// Shipped are rows on their way between two stages of a program. See flow.Tuple.
type Shipped struct {
	Program uint8
	Rows    []Ship
}

// Ship is one of them. Row is opaque.
type Ship struct {
	Input uint32
	Row   []byte
}

// Trips are how far hosts are from nodes that have visited them. They lie in the log of
// the hosts' partition.
type Trips struct{ Hosts []Trip }

// Trip is how long it takes to a host and back.
type Trip struct {
	Host string
	Near uint8 // whose measure it is: bit i is set if the node owns the i-th partition from the host's on
	RTT  time.Duration
}

// Hosts are what their owner has learned of hosts.
type Hosts struct{ Hosts []Host }

// Host is what is known of one.
type Host struct {
	Name     string
	Failures uint16
	Last     time.Duration // how long its last answer took
	Rest     time.Duration // how long it rests, from when this was written
	Pace     time.Duration
	Delay    time.Duration // that its robots.txt asks for
}

// Done says that pages have ended, and where their records lie.
type Done struct {
	Epoch uint64 // of the owner that fetched them
	Node  string // that holds them
	Pages []Ended
}

// Ended is a page that has ended: what follows from it, at its depth and with its
// score, is in the logs. Rows that the node had not read by then may ask for more.
type Ended struct {
	Site    string // its name, "https://example.org"
	Hash    uint64 // of the rest, under the crawl's secret
	Outcome page.Outcome
	Status  uint16
	Depth   uint16
	Score   float32 // 0 where rules do not look at it
	Asked   uint32  // a print of what several programs asked of it; 0 where one does
	Bytes   uint64  // of its body; 0 where nobody counts them
}

// Lost says that a node is gone for good with the records of pages that it had
// fetched: they are to be fetched again. It is the only record of its batch.
type Lost struct {
	Node string
	Rows []Row
}

// Handed says that the owner of the partition leaves pages to others. It does if it owns
// the partition still where this lies in the log, behind no later Taken than its own, nor
// what was written under a later epoch; else it means nothing. When it has read that, it tells the others of the pages, and then that
// it has ended with them. What it has not done by the time when somebody else owns the
// partition, that one does.
type Handed struct {
	Epoch uint64
	Pages []Handing
}

// Handing is a page that is left to another partition, with its row for that one.
type Handing struct {
	To  uint16
	Row Row
}

// Taken says that a node owns the partition from here on.
type Taken struct {
	Epoch uint64
	Node  string
}

// Mark says nothing. Whoever reads back its own has read all that was appended
// before it.
type Mark struct {
	ID   uint64
	Node string
}

func (Tuples) kind() byte  { return 'T' }
func (Shipped) kind() byte { return 'S' }
func (Trips) kind() byte   { return 'R' }
func (Hosts) kind() byte   { return 'H' }
func (Done) kind() byte    { return 'D' }
func (Lost) kind() byte    { return 'L' }
func (Handed) kind() byte  { return 'G' }
func (Taken) kind() byte   { return 'E' }
func (Mark) kind() byte    { return 'M' }
