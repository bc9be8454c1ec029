package overlay

import "weir/page"

// Action is something that must be done for a Member: by the carrier, that takes
// bytes to other nodes, or by the driver of the crawl.
type Action interface{ action() string }

// For the carrier.
type (
	// Renew keeps the node's session; Renewed answers, or nothing does.
	Renew struct{ Peer Peer }

	// Claim makes a node the owner of a partition, if the last change of its owner
	// was Before (0: there has been none). Owner answers with what holds then. New is
	// for the owner, see there.
	Claim struct {
		Part    int
		Before  uint64
		Node    string
		Session uint64
		New     bool
	}

	// Follow asks for all batches of a log after an offset, until Unfollow. Stamp is
	// that of the batch at the offset, 0 if it is not known.
	Follow struct {
		Part  int
		After uint64
		Stamp uint64
	}
	Unfollow struct{ Part int }

	// Append adds a batch to a log. Acked or Failed answers.
	Append struct {
		ID    uint64
		Part  int
		Batch Batch
	}

	// Say tells all nodes, Send one of them. Nothing answers, and it may be lost.
	Say  struct{ Data []byte }
	Send struct {
		To   string
		Data []byte
	}
)

// For the driver of the crawl.
type (
	// Apply gives the Ledger a batch of a log, in order. The Ledger keeps the offset
	// together with what came of it.
	Apply struct {
		Part   int
		Offset uint64
		Batch  Batch
	}

	// Rewind says that the log has lost its end: of what the Ledger has applied it has
	// all up to an offset, and other batches come after that.
	Rewind struct {
		Part   int
		Offset uint64
	}

	// Adopt lets the pages of a partition be crawled: all that others have written to
	// its log was applied. Until Since another node may have visited its hosts, and
	// granted leases of them.
	Adopt struct {
		Part  int
		Epoch uint64
		Since page.Time
	}

	// Disown stops that. What is under way may finish; Empty answers.
	Disown struct{ Part int }

	// Fence stops all partitions at once: connections are dropped, nothing is asked
	// for. Nothing answers, nor the Disowns before it.
	Fence struct{}

	// Posted says that parcels up to Seq are safe with the others.
	Posted struct{ Seq uint64 }

	// Throttle says that more is unacknowledged than the node should keep, or that it may
	// be about to read that others have fetched what is its own now: nothing new is to be
	// ordered until it is taken back.
	Throttle struct{ On bool }

	// Share sets this node's part of the limit that all nodes have together.
	Share struct{ Rate int64 }

	// Quiet says that nothing is left to do on any node, or that there is again.
	Quiet struct{ Is bool }

	// Allow says up to how many pages the node may begin in all, see Sum.Begun, and up to
	// how many bytes of bodies it may have when it begins another.
	Allow struct{ Pages, Bytes int64 }

	// Relieve says that a node has connections free for so many hosts that wait here:
	// they may be left to a partition of its.
	Relieve struct{ Part, Hosts int }

	// Enough says that all nodes together have fetched as many pages as they should, or
	// bytes.
	Enough struct{ Bytes bool }

	// Left says that the node owns nothing, and has nothing to say, after a Drain.
	Left struct{}

	// Wake asks for a Tick at a time. A later Wake replaces it.
	Wake struct{ At page.Time }
)

func (Renew) action() string    { return "renew" }
func (Claim) action() string    { return "claim" }
func (Follow) action() string   { return "follow" }
func (Unfollow) action() string { return "unfollow" }
func (Append) action() string   { return "append" }
func (Say) action() string      { return "say" }
func (Send) action() string     { return "send" }
func (Apply) action() string    { return "apply" }
func (Rewind) action() string   { return "rewind" }
func (Adopt) action() string    { return "adopt" }
func (Disown) action() string   { return "disown" }
func (Fence) action() string    { return "fence" }
func (Posted) action() string   { return "posted" }
func (Throttle) action() string { return "throttle" }
func (Share) action() string    { return "share" }
func (Quiet) action() string    { return "quiet" }
func (Allow) action() string    { return "allow" }
func (Relieve) action() string  { return "relieve" }
func (Enough) action() string   { return "enough" }
func (Left) action() string     { return "left" }
func (Wake) action() string     { return "wake" }

// Carrier takes what one node has to say to the others and brings back what they
// say. It carries out the first group of actions; their answers, and news of
// other nodes, come as events through the function that it was made with. Do never
// blocks. internal/cluster is one, on JetStream; the simulator has another.
type Carrier interface {
	Do(Action)
}
