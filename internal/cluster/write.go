package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
)

// WriteTime is how long writing may take, from the question whether there is a crawl
// to write for.
const WriteTime = appendTime

// Write appends records to logs, those of a post at once, and returns when all of
// them are acknowledged. It is for whoever is no Member: after an error some may be
// in their logs, and all may be written again. They are nobody's own, whoever the
// node is. When ctx ends nothing more is sent: whoever writes because of what the
// cluster says (Spec) ends it WriteTime after asking, see Clear.
func (n *Node) Write(ctx context.Context, posts []overlay.Post) error {
	ctx, cancel := context.WithTimeout(ctx, WriteTime)
	defer cancel()
	acks := make([]jetstream.PubAckFuture, 0, len(posts))
	for _, p := range posts {
		raw := overlay.AppendBatch(nil, &overlay.Batch{Records: p.Records})
		if len(raw) > maxSlice {
			return tooLong(p.Part, len(raw))
		}
		data := pack(nil, appendBundle(nil, []slice{{p.Part, raw}}))
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("write to the log of partition %d: %w", p.Part, err)
		}
		ack, err := n.js.PublishMsgAsync(&nats.Msg{Subject: logSubject(overlay.LogOf(p.Part)), Data: data}, jetstream.WithRetryAttempts(0))
		if err != nil {
			return fmt.Errorf("write to the log of partition %d: %w", p.Part, err)
		}
		n.count.sentBatch(raw, len(data))
		acks = append(acks, ack)
	}
	for i, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("write to the log of partition %d: %w", posts[i].Part, err)
		case <-ctx.Done():
			return fmt.Errorf("write to the log of partition %d: %w", posts[i].Part, ctx.Err())
		}
	}
	return nil
}

// Clear empties all logs, when what others may be writing just now has come. It is for
// logs that no crawl has begun with: whoever has read them would not hear of it.
func (n *Node) Clear(ctx context.Context) error {
	if !pause(ctx, WriteTime+time.Second) {
		return ctx.Err()
	}
	for i := range overlay.Logs {
		if err := n.streams[logStream(i)].Purge(ctx); err != nil {
			return fmt.Errorf("empty log %d: %w", i, err)
		}
	}
	return nil
}
