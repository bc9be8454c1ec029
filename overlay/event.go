package overlay

import "weir/page"

// Event is something that happened; Member.Step takes it with its time.
type Event interface{ event() string }

// Peer is a node that has a session.
type Peer struct {
	Name     string
	Session  uint64 // another one each time the node starts, or was fenced
	Draining bool   // it wants to own nothing
	Weight   uint16 // its share of partitions beside the others'; 0 = 1
}

// Members tells which nodes have sessions now: all of them, in the order of their
// names, and never less news than before; and of those that have none which have lost
// theirs since they did not renew it for TTL, in the same order. Both are the Member's
// from then on.
type Members struct {
	Peers  []Peer
	Lapsed []Peer
}

// Renewed answers a Renew.
type Renewed struct {
	Session uint64
	Sent    page.Time // when it was sent: the session lasts from there
}

// Owner tells who owns a partition, since when. It answers a Claim, whether that
// succeeded or not, and comes whenever an owner changes. Older epochs than the one
// heard last mean nothing.
type Owner struct {
	Part    int
	Node    string
	Session uint64
	Epoch   uint64
	Before  uint64 // the epoch that it has replaced; 0 = there was none, or it is not known
	New     bool   // no owner before this one has granted leases or asked hosts
}

// Delivered brings the next batch of a log that is followed: the first after the
// offset of the Follow, then one after the other. It may come after an Unfollow.
type Delivered struct {
	Part   int
	Offset uint64 // of the batch in its log; they rise, not one by one
	Batch  Batch
}

// Rewound says that a log that is followed has lost its end, and agrees with what was
// read of it up to an offset only: what comes next comes after that one. Nodes with
// storage acknowledge a moment before their disks do, and may all lose power in it.
type Rewound struct {
	Part   int
	Offset uint64
}

// Parcel is what a durable group of the Ledger has to say to the others. Rows go
// first; Ended when all the rows of this and of earlier parcels are acknowledged.
type Parcel struct {
	Seq   uint64 // one more with each
	Rows  []Post
	Ended []Post
}

// Post is records for a partition.
type Post struct {
	Part    int
	Records []Record
}

// Acked and Failed answer an Append: one of them does. A failed one may have been
// appended nevertheless, or may be yet.
type (
	Acked  struct{ ID uint64 }
	Failed struct{ ID uint64 }
)

// Empty answers a Disown: all that was ordered for the partition is over and
// durable, and the parcels that tell of it were handed in before.
type Empty struct{ Part int }

// Load tells how busy the node is; about once a second, and when it falls idle or
// has work again.
type Load struct {
	// Applied is how many Apply and Adopt actions of this Member are counted in it: what was
	// given since then may be more to do. 0: the driver does not know, and the Load
	// after it is believed.
	Applied uint64

	Queued int64   // pages that wait in partitions it owns
	Flying int64   // orders that are not over
	Free   int64   // connections that no host waits for, while pages may be begun
	Spare  int64   // hosts that wait for a connection, and could be left to another node
	Unsent int64   // applied or committed, and not handed in as a parcel yet
	Pages  float64 // a second
	Wanted float64 // bytes a second that it could use
	Owed   float64 // of these, promised to sites with deadlines
	Asked  float64 // of these, what it could promise besides

	Print uint64 // of the partitions it has adopted: the sum of their Prints
	Sum          // of pages
	Bytes Sum    // of their bodies; of one that is under way nothing counts before it is there
}

// Sum counts what a bound of all nodes together is for.
type Sum struct {
	Fetched int64 // in the partitions that the node has adopted, by whoever owned them then
	Begun   int64 // by the node itself, fetched or begun to be, whoever else has
	Under   int64 // of this, that whose end is not durable yet
	Allowed int64 // what the last Allow said when this was counted
}

// Turned says that the crawl goes by other rules now, and that there may be more to do
// than loads before it tell. It counts among the Apply and Adopt actions of Load.Applied.
type Turned struct{}

// Heard brings what another node said.
type Heard struct {
	From string
	Data []byte
}

// Drain asks the member to give everything away and leave.
type Drain struct{}

// Tick says that the time of the last Wake has come.
type Tick struct{}

func (Members) event() string   { return "members" }
func (Renewed) event() string   { return "renewed" }
func (Owner) event() string     { return "owner" }
func (Delivered) event() string { return "delivered" }
func (Rewound) event() string   { return "rewound" }
func (Parcel) event() string    { return "parcel" }
func (Acked) event() string     { return "acked" }
func (Failed) event() string    { return "failed" }
func (Empty) event() string     { return "empty" }
func (Load) event() string      { return "load" }
func (Turned) event() string    { return "turned" }
func (Heard) event() string     { return "heard" }
func (Drain) event() string     { return "drain" }
func (Tick) event() string      { return "tick" }
