package cluster

import (
	"context"
	"fmt"

	"weir/overlay"
)

// maxMend bounds how many batches that are gone are made up for.
const maxMend = 1 << 20

// CutError says that a log ends before what this node has read of it. Nodes with
// storage acknowledge before their disks do, so when all lose power within a
// second of each other its end is lost with them (Config.Always prevents that).
// Whoever wrote there writes again.
type CutError struct {
	Part int
	Last uint64 // of the log
	Read uint64 // by this node
}

func (e *CutError) Error() string {
	return fmt.Sprintf("the log of partition %d ends at %d, and this node had read up to %d: the nodes with storage have lost its end", e.Part, e.Last, e.Read)
}

// mend makes a log that was cut long enough for what follows to come after all
// that was read of it: offsets must rise. It returns how long the log is then.
func (n *Node) mend(ctx context.Context, part int, after uint64) uint64 {
	last, ok := n.end(ctx, part)
	if !ok || last >= after {
		return last
	}
	n.warn(&CutError{Part: part, Last: last, Read: after})
	empty := pack(nil, appendBundle(nil, nil))
	for i := 0; last < after && i < maxMend && ctx.Err() == nil; i++ {
		rctx, cancel := context.WithTimeout(ctx, requestTime)
		ack, err := n.js.Publish(rctx, logSubject(overlay.LogOf(part)), empty)
		cancel()
		if err == nil {
			last = ack.Sequence
		} else if !pause(ctx, tailPause) {
			return last
		}
	}
	return last
}

// end is the last offset of the stream that a partition's log is in.
func (n *Node) end(ctx context.Context, part int) (uint64, bool) {
	for {
		rctx, cancel := context.WithTimeout(ctx, requestTime)
		info, err := n.streams[logStream(overlay.LogOf(part))].Info(rctx)
		cancel()
		if err == nil {
			return info.State.LastSeq, true
		}
		if !pause(ctx, tailPause) {
			return 0, false
		}
	}
}
