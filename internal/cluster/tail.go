package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	requestTime = 4 * time.Second
	heartbeat   = 4 * time.Second // a consumer that is silent for two of them is gone
	pullTime    = 30 * time.Second
	pullCount   = 32
	tailPause   = 200 * time.Millisecond
)

// tail reads a subject of a stream for as long as ctx lasts. It begins after the
// message `after`, and when a server or a consumer fails, again after the last one
// that was given to each: messages come in order, some perhaps twice, none is left
// out. Each returns false to end it.
type tail struct {
	n       *Node
	stream  string
	subject string
	after   uint64
	each    func(jetstream.Msg, *jetstream.MsgMetadata) bool

	// For state: begin with the last message of each subject, every time anew.
	// Began is told how many there are.
	latest bool
	began  func(pending uint64)

	said time.Time // that it cannot be read
}

func (t *tail) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !t.read(ctx) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(tailPause):
		}
	}
}

// read makes a consumer and reads from it until it fails. It reports whether to
// try again.
func (t *tail) read(ctx context.Context) bool {
	cons, pending, err := t.consumer(ctx)
	if err != nil {
		if now := time.Now(); ctx.Err() == nil && now.Sub(t.said) >= sayEvery {
			t.said = now
			t.n.cfg.Log("server: " + plainly(err).Error()) // for the log: whoever waits is told for what
		}
		return true
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(pullCount), jetstream.PullExpiry(pullTime),
		jetstream.PullHeartbeat(heartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return true
	}
	defer it.Stop()
	if t.began != nil {
		t.began(pending)
	}
	var last uint64 // the consumer's own count shows whether one was lost on the way
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			return ctx.Err() == nil
		}
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Consumer != last+1 {
			return true
		}
		last++
		if !t.latest && meta.Sequence.Stream <= t.after {
			continue
		}
		if !t.each(m, meta) {
			return false
		}
		t.after = meta.Sequence.Stream
	}
}

func (t *tail) consumer(ctx context.Context) (jetstream.Consumer, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	c := jetstream.ConsumerConfig{
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: consumerWait,
		FilterSubject:     t.subject,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       t.after + 1,
	}
	if t.latest {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverLastPerSubjectPolicy, 0
	}
	cons, err := t.n.js.CreateConsumer(ctx, t.stream, c)
	if err != nil {
		return nil, 0, fmt.Errorf("follow %s: %w", t.subject, err)
	}
	return cons, cons.CachedInfo().NumPending, nil
}
