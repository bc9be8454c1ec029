package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
)

const lostRows = 1000 // in a batch

// Refetch has the pages fetched again that a node has fetched, which was removed and
// is gone with its archive: it finds them in the logs, and says there that they are
// lost. It returns how many there are. When it fails half-way it can be done again.
func (n *Node) Refetch(ctx context.Context, name string) (pages int, err error) {
	fail := func(err error) (int, error) { return pages, fmt.Errorf("fetch again what %s had: %w", name, err) }
	if err := checkName(name); err != nil {
		return 0, err
	}
	if n.presence(ctx, name) != gone {
		return fail(fmt.Errorf("%w: a node of that name is here, and its pages cannot be told from those of the one before", ErrKeep))
	}
	out, _, err := n.last(ctx, ownersStream, bannedSubject(name)) // this node may not have heard of it yet
	if err != nil {
		return fail(err)
	}
	if folder := n.host.folder(name); folder == "" || !listed(string(out), folder) {
		return fail(fmt.Errorf("%w: remove it first", ErrKeep))
	}
	for i := range overlay.Logs {
		found, err := n.search(ctx, name, i)
		if err != nil {
			return fail(err)
		}
		for _, part := range found.parts {
			rows := found.of[part].Rows()
			if err := n.lose(ctx, name, part, found.last, rows); err != nil {
				return fail(err)
			}
			pages += len(rows)
		}
	}
	return pages, nil
}

// search reads a stream of logs to its end.
func (n *Node) search(ctx context.Context, name string, log int) (*searches, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	out := &searches{of: map[int]*overlay.Search{}}
	stream := logStream(log)
	info, err := n.streams[stream].Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	if info.State.Msgs == 0 {
		return out, nil
	}
	out.last = info.State.LastSeq
	var bad error
	t := &tail{n: n, stream: stream, subject: logSubject(log)}
	t.each = func(m jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		bad = out.take(n, name, m)
		return bad == nil && meta.Sequence.Stream < out.last
	}
	t.run(ctx)
	if bad == nil {
		bad = ctx.Err()
	}
	if bad != nil {
		return nil, fmt.Errorf("read %s: %w", stream, bad)
	}
	return out, nil
}

// searches are those of the partitions that share a stream.
type searches struct {
	of    map[int]*overlay.Search
	parts []int  // in the order in which they came
	last  uint64 // message of the stream
}

func (s *searches) take(n *Node, name string, m jetstream.Msg) error {
	list, err := unbundle(m.Data())
	if errors.Is(err, errPacking) {
		return err
	}
	for _, x := range list { // none if it is damaged: those who follow leave it out, too
		b, err := overlay.ReadBatch(x.data)
		if errors.Is(err, overlay.ErrVersion) {
			return err
		}
		if err != nil {
			continue
		}
		if s.of[x.part] == nil {
			s.of[x.part] = overlay.NewSearch(name, n.secret)
			s.parts = append(s.parts, x.part)
		}
		s.of[x.part].Take(b)
	}
	return nil
}

// lose says in a partition's log that pages are lost. Each batch has a name, so that
// one that is sent twice is appended once.
func (n *Node) lose(ctx context.Context, node string, part int, last uint64, rows []overlay.Row) error {
	count := 0
	for some := range slices.Chunk(rows, lostRows) {
		b := overlay.Batch{Records: []overlay.Record{overlay.Lost{Node: node, Rows: some}}}
		id := fmt.Sprintf("lost %s %d %d %d", node, part, last, count)
		count++
		rctx, cancel := context.WithTimeout(ctx, requestTime)
		bundle := appendBundle(nil, []slice{{part, overlay.AppendBatch(nil, &b)}})
		_, err := n.js.Publish(rctx, logSubject(overlay.LogOf(part)), pack(nil, bundle), jetstream.WithMsgID(id))
		cancel()
		if err != nil {
			return fmt.Errorf("append to partition %d: %w", part, err)
		}
	}
	return nil
}
