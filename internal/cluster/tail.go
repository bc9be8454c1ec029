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
	pullBeats   = 8               // heartbeats until messages are asked for anew
	pullCount   = 32              // messages of two megabytes at most: the client holds 64 MB, and drops what is more
	tailPause   = 200 * time.Millisecond
	tailWait    = 2 * time.Second // tailPause grows to this while nothing comes
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
	for wait := tailPause; ; wait = min(2*wait, tailWait) {
		begin := time.Now()
		came, again := t.read(ctx)
		if came || time.Since(begin) > tailWait+requestTime { // it could be read, though there was nothing to
			wait = tailPause
		}
		if !again || !pause(ctx, wait) {
			return
		}
	}
}

// read makes a consumer and reads from it until it fails. It reports whether anything
// came of it, and whether to try again.
func (t *tail) read(ctx context.Context) (came, again bool) {
	r, pending, err := t.begin(ctx)
	if err != nil {
		if now := time.Now(); ctx.Err() == nil && now.Sub(t.said) >= sayEvery {
			t.said = now
			t.n.cfg.Log("server: " + plainly(err).Error()) // for the log: whoever waits is told for what
		}
		return false, ctx.Err() == nil
	}
	defer r.stop()
	if t.began != nil {
		t.began(pending)
	}
	for last := uint64(0); ; last++ {
		m, ok := r.next(ctx)
		if !ok {
			return last > 0, ctx.Err() == nil
		}
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Consumer != last+1 { // its own count shows whether one was lost on the way
			return last > 0, true
		}
		if !t.latest && meta.Sequence.Stream <= t.after {
			continue
		}
		if !t.each(m, meta) {
			return true, false
		}
		t.after = meta.Sequence.Stream
	}
}

// begin makes a consumer; pending messages are there.
func (t *tail) begin(ctx context.Context) (r *reading, pending uint64, err error) {
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
	if err == nil {
		r, err = newReading(cons, t.n.cfg.beat)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("follow %s: %w", t.subject, err)
	}
	return r, cons.CachedInfo().NumPending, nil
}

// reading is one consumer that is read. The client has goroutines that call take and
// fail; the tail's own calls next and stop. A message is handed from one to the other,
// so that the client asks for more only as fast as they are dealt with, and none comes
// after stop.
type reading struct {
	messages chan jetstream.Msg
	failed   chan struct{} // holds one when it has
	over     chan struct{}
	client   jetstream.ConsumeContext
	closed   <-chan struct{} // when take is not called any more
}

func newReading(cons jetstream.Consumer, beat time.Duration) (*reading, error) {
	r := &reading{messages: make(chan jetstream.Msg), failed: make(chan struct{}, 1), over: make(chan struct{})}
	var err error
	r.client, err = cons.Consume(r.take, jetstream.PullMaxMessages(pullCount), jetstream.PullExpiry(pullBeats*beat),
		jetstream.PullHeartbeat(beat), jetstream.ConsumeErrHandler(r.fail))
	if err != nil {
		return nil, err
	}
	r.closed = r.client.Closed() // once it is being stopped, this would not wait for a call of take
	return r, nil
}

func (r *reading) take(m jetstream.Msg) {
	select {
	case r.messages <- m:
	case <-r.over:
	}
}

// fail is told of whatever keeps messages from coming. After some of it the client
// waits for two heartbeats and asks the same consumer again: when the servers had not
// heard of that yet as they were asked (no responders), or when the one that keeps it
// was shut down. A new one is there at once. What only ends a request is not told.
func (r *reading) fail(jetstream.ConsumeContext, error) {
	select {
	case r.failed <- struct{}{}:
	default:
	}
}

// next waits for a message. It is not ok when there will be none.
func (r *reading) next(ctx context.Context) (m jetstream.Msg, ok bool) {
	select {
	case m = <-r.messages:
		return m, true
	case <-r.failed:
	case <-ctx.Done():
	}
	return nil, false
}

func (r *reading) stop() {
	close(r.over)
	r.client.Stop()
	<-r.closed
}
