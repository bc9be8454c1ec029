package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
)

// CutError says that a log has lost what this node has read of it last. Nodes with
// storage acknowledge before their disks do, so when all lose power within a
// second of each other its end is lost with them (Config.Always prevents that).
// Whoever wrote there writes again, and this node reads again.
type CutError struct {
	Part int
	Read uint64 // by this node
	Left uint64 // of that; what was written shortly before is read again, too
}

func (e *CutError) Error() string {
	return fmt.Sprintf("the nodes with storage have lost the end of the log of partition %d: this node had read up to %d, and goes on after %d", e.Part, e.Read, e.Left)
}

// mendTime is how long before a batch was read the log may have been cut that lost it:
// the moments that disks take, and as much as clocks may differ.
const mendTime = time.Minute

// stampOf tells a batch from another one at its offset, and when it was read.
func stampOf(at time.Time, data []byte) uint64 {
	return uint64(at.Unix())<<32 | uint64(crc32.ChecksumIEEE(data))
}

// agreed returns how far a log is what this node has read of it: up to after, where a
// batch with that stamp was, or not as far. Without a stamp the log must reach there,
// or all of it is read again.
func (n *Node) agreed(ctx context.Context, part int, after, was uint64) (uint64, error) {
	name := logStream(overlay.LogOf(part))
	log := n.streams[name]
	about, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	info, err := log.Info(about)
	if err != nil {
		return 0, fmt.Errorf("see how far the log of partition %d goes: %w", part, err)
	}
	if last := info.State.LastSeq; was == 0 {
		if last < after {
			return 0, nil
		}
		return after, nil
	} else if last >= after {
		m, err := n.stored(ctx, name, after)
		switch {
		case err == nil && holds(m.Data, part, was):
			return after, nil
		case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
			return 0, fmt.Errorf("read the log of partition %d at %d: %w", part, after, err)
		}
	}
	since := time.Unix(int64(was>>32), 0).Add(-mendTime)
	var bad error
	to := sort.Search(int(min(info.State.LastSeq, after)), func(i int) bool {
		if bad != nil {
			return true
		}
		m, err := n.stored(ctx, name, uint64(i)+1)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			bad = err
		}
		return err != nil || !m.Time.Before(since)
	})
	if bad != nil {
		return 0, fmt.Errorf("find where the log of partition %d was cut: %w", part, bad)
	}
	return uint64(to), nil
}

// stored is a message as the leader of its log has it. Streams that can be read from
// copies are only ever asked at the node's own (source), which may have none.
func (n *Node) stored(ctx context.Context, stream string, seq uint64) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	reply, err := n.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, fmt.Appendf(nil, `{"seq":%d}`, seq))
	if err != nil {
		return nil, err
	}
	var a struct {
		Message *message            `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &a); err != nil {
		return nil, err
	}
	switch {
	case a.Error != nil && a.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case a.Error != nil:
		return nil, a.Error
	case a.Message == nil:
		return nil, jetstream.ErrMsgNotFound
	}
	return a.Message, nil
}

// message is one that a stream keeps.
type message struct {
	Data []byte    `json:"data"`
	Time time.Time `json:"time"`
}

// holds reports whether a message has the batch with this stamp for a partition.
func holds(message []byte, part int, was uint64) bool {
	list, err := unbundle(message)
	for _, s := range list {
		if s.part == part {
			return err == nil && uint32(was) == crc32.ChecksumIEEE(s.data)
		}
	}
	return false
}
