package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// post is a server with one stream, as a client sees it: it makes consumers, and what
// comes of requests for messages is up to the test. Real servers let nobody else
// answer for a stream.
type post struct {
	t      *testing.T
	node   *Node
	made   chan consumer
	wishes chan wish
	deaf   atomic.Bool         // nobody has heard of the consumers yet
	all    map[string]consumer // by name

	mu   sync.Mutex // of writes
	conn net.Conn
	subs map[string]string // by number
	done chan struct{}
}

type consumer struct {
	nth   int
	after uint64
}

// wish is a consumer's request for messages.
type wish struct {
	consumer
	inbox string
	Batch int
}

func newPost(t *testing.T) *post {
	p := &post{t: t, made: make(chan consumer, 64), wishes: make(chan wish, 64), all: map[string]consumer{}, subs: map[string]string{}, done: make(chan struct{})}
	nc, err := nats.Connect("", nats.InProcessServer(p), nats.NoReconnect(), nats.Timeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		<-p.done
	})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	p.node = &Node{js: js, cfg: Config{beat: maxBeat, Log: func(text string) {
		if !strings.Contains(text, ErrHeadless.Error()) { // the machine stood still
			t.Error(text)
		}
	}}}
	return p
}

// InProcessConn is how a client gets its connection. There is one.
func (p *post) InProcessConn() (net.Conn, error) {
	theirs, ours := net.Pipe()
	p.conn = ours
	go func() {
		defer close(p.done)
		defer ours.Close()
		p.write(`INFO {"server_id":"x","version":"2.12.0","proto":1,"headers":true,"max_payload":1048576}` + "\r\n")
		for r := bufio.NewReader(ours); p.read(r); {
		}
	}()
	return theirs, nil
}

// read takes what a client says next.
func (p *post) read(r *bufio.Reader) bool {
	line, err := r.ReadString('\n')
	f := strings.Fields(line)
	if err != nil || len(f) == 0 {
		return false
	}
	switch last := f[len(f)-1]; f[0] {
	case "PING":
		p.write("PONG\r\n")
	case "SUB":
		p.mu.Lock()
		p.subs[last] = f[1]
		p.mu.Unlock()
	case "UNSUB":
		p.mu.Lock()
		delete(p.subs, f[1])
		p.mu.Unlock()
	case "PUB":
		n, _ := strconv.Atoi(last)
		data := make([]byte, n+2)
		if _, err := io.ReadFull(r, data); err != nil {
			return false
		}
		p.answer(f[1], f[2], data[:n])
	}
	return true
}

// answer answers a request.
func (p *post) answer(subject, inbox string, data []byte) {
	if name, ok := strings.CutPrefix(subject, "$JS.API.CONSUMER.MSG.NEXT.news."); ok {
		w := wish{consumer: p.all[name], inbox: inbox}
		if err := json.Unmarshal(data, &w); err != nil {
			p.t.Error(err)
		}
		if p.deaf.Load() {
			p.status(w, "503", 0)
		} else {
			p.wishes <- w
		}
		return
	}
	var in struct {
		Config struct {
			OptStartSeq uint64 `json:"opt_start_seq"`
		}
	}
	if err := json.Unmarshal(data, &in); err != nil {
		p.t.Error(err)
	}
	name := strings.Split(strings.TrimPrefix(subject, "$JS.API.CONSUMER.CREATE.news."), ".")[0]
	p.all[name] = consumer{len(p.all) + 1, in.Config.OptStartSeq - 1}
	p.made <- p.all[name]
	p.message(inbox, "", fmt.Sprintf(`{"stream_name":"news","name":%q,"config":{"ack_policy":"none"}}`, name))
}

func (p *post) write(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.conn, text) // or the client has left
}

// to finds the number of the subscription that takes a subject; none if it has ended.
func (p *post) to(subject string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, pattern := range p.subs {
		if front, some := strings.CutSuffix(pattern, "*"); pattern == subject || some && strings.HasPrefix(subject, front) {
			return number
		}
	}
	return ""
}

func (p *post) message(subject, reply, data string) {
	if to := p.to(subject); to != "" {
		p.write(fmt.Sprintf("MSG %s %s %s %d\r\n%s\r\n", subject, to, reply, len(data), data))
	}
}

// send sends the message seq of the stream as the nth of a consumer.
func (p *post) send(w wish, seq, nth int) {
	p.message(w.inbox, fmt.Sprintf("$JS.ACK.news.x.1.%d.%d.1.0", seq, nth), strconv.Itoa(seq))
}

// status sends what is no message; pending are those that the wish still has.
func (p *post) status(w wish, text string, pending int) {
	if to := p.to(w.inbox); to != "" {
		head := fmt.Sprintf("NATS/1.0 %s\r\nNats-Pending-Messages: %d\r\n\r\n", text, pending)
		p.write(fmt.Sprintf("HMSG %s %s %d %d\r\n%s\r\n", w.inbox, to, len(head), len(head), head))
	}
}

// next waits until a consumer is made.
func (p *post) next(ctx context.Context) consumer {
	p.t.Helper()
	select {
	case c := <-p.made:
		return c
	case <-ctx.Done():
		p.t.Fatal("no consumer is made")
		return consumer{}
	}
}

// wish waits until messages are asked for.
func (p *post) wish(ctx context.Context) wish {
	p.t.Helper()
	select {
	case w := <-p.wishes:
		return w
	case <-ctx.Done():
		p.t.Fatal("nothing is asked for")
		return wish{}
	}
}

// follow runs a tail until the test ends; each gives what to return for a message.
func (p *post) follow(ctx context.Context, each func(seq uint64) bool) (done chan struct{}) {
	ctx, stop := context.WithCancel(ctx)
	done = make(chan struct{})
	t := &tail{n: p.node, stream: "news", subject: "n.*", each: func(_ jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		return each(meta.Sequence.Stream)
	}}
	go func() {
		defer close(done)
		t.run(ctx)
	}()
	p.t.Cleanup(func() {
		stop()
		<-done
	})
	return done
}

// Heartbeats that clients may ask for.
const (
	minBeat = 500 * time.Millisecond
	maxBeat = 30 * time.Second
)

// soon is before a client has missed two heartbeats.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), maxBeat*3/2)
	t.Cleanup(cancel)
	return ctx
}

func heard(ctx context.Context, t *testing.T, seqs chan uint64) uint64 {
	t.Helper()
	select {
	case seq := <-seqs:
		return seq
	case <-ctx.Done():
		t.Fatal("no message comes")
		return 0
	}
}

// TestTailWithoutResponders: messages are asked for before the servers have heard of
// the consumer.
func TestTailWithoutResponders(t *testing.T) {
	t.Parallel()
	ctx, p := soon(t), newPost(t)
	p.deaf.Store(true)
	seqs := make(chan uint64, 8)
	p.follow(ctx, func(seq uint64) bool { seqs <- seq; return true })
	p.next(ctx)
	p.next(ctx)
	p.deaf.Store(false)
	p.send(p.wish(ctx), 7, 1)
	if seq := heard(ctx, t, seqs); seq != 7 {
		t.Errorf("%d came", seq)
	}
}

// TestTailLosesItsConsumer: whatever becomes of a consumer, the next one goes on where
// it has ended.
func TestTailLosesItsConsumer(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"503", "409 Leadership Change", "409 Server Shutdown", "409 Consumer Deleted", "409 Something that servers say later", "400 Bad Request"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			ctx, p := soon(t), newPost(t)
			seqs := make(chan uint64, 8)
			p.follow(ctx, func(seq uint64) bool { seqs <- seq; return true })
			if first := p.next(ctx); first.after != 0 {
				t.Errorf("it begins after %d", first.after)
			}
			w := p.wish(ctx)
			p.send(w, 3, 1)
			p.send(w, 5, 2)
			got := []uint64{heard(ctx, t, seqs), heard(ctx, t, seqs)}
			p.status(w, status, 0)
			second := p.next(ctx)
			for second.nth <= w.nth { // those that took too long to be made
				second = p.next(ctx)
			}
			if second.after != 5 {
				t.Errorf("it goes on after %d", second.after)
			}
			for w.nth != second.nth { // the first may have been asked again
				w = p.wish(ctx)
			}
			p.send(w, 6, 1)
			if got = append(got, heard(ctx, t, seqs)); !slices.Equal(got, []uint64{3, 5, 6}) {
				t.Errorf("%v came", got)
			}
		})
	}
}

// TestTailKeepsItsConsumer: a request that has come to its end is no failure.
func TestTailKeepsItsConsumer(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"408 Request Timeout", "409 Batch Completed"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			ctx, p := soon(t), newPost(t)
			seqs := make(chan uint64, 8)
			p.follow(ctx, func(seq uint64) bool { seqs <- seq; return true })
			w := p.wish(ctx)
			p.send(w, 1, 1)
			p.status(w, "100 Idle Heartbeat", 0)
			p.status(w, status, w.Batch-1)
			again := p.wish(ctx)
			if again.nth != w.nth {
				t.Error("another consumer is made")
			}
			p.send(again, 2, 2)
			if got := []uint64{heard(ctx, t, seqs), heard(ctx, t, seqs)}; !slices.Equal(got, []uint64{1, 2}) {
				t.Errorf("%v came", got)
			}
		})
	}
}

// TestTailIsBounded: while a message is dealt with no more are asked for than can wait.
func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	ctx, p := soon(t), newPost(t)
	// The client does not ask again if messages come while it is still at asking for
	// them. That is rare; what helps is another consumer.
	p.node.cfg.beat = minBeat
	dealing := make(chan uint64)
	p.follow(ctx, func(seq uint64) bool {
		select {
		case dealing <- seq:
		case <-ctx.Done():
		}
		return true
	})
	var now consumer
	for sent, dealt := uint64(0), uint64(0); dealt < 4*pullCount; {
		select {
		case w := <-p.wishes:
			if w.nth < now.nth || w.nth == now.nth && w.Batch == pullCount { // it has missed heartbeats: another consumer comes
				continue
			}
			if w.nth > now.nth {
				now, sent = w.consumer, w.after
			}
			if waiting := int(sent - dealt); waiting+w.Batch > pullCount+1 { // one is dealt with before that is counted
				t.Errorf("%d more are asked for while %d wait", w.Batch, waiting)
			}
			for range w.Batch {
				sent++
				p.send(w, int(sent), int(sent-now.after))
			}
		case seq := <-dealing:
			if dealt++; seq != dealt {
				t.Fatalf("%d comes instead of %d", seq, dealt)
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d messages came", dealt, sent)
		}
	}
}

// TestTailEnds: a tail ends though messages wait, and none comes after that.
func TestTailEnds(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"by itself", "with its context", "while it waits"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx, p := soon(t), newPost(t)
			sub, stop := context.WithCancel(ctx)
			defer stop()
			var calls, ended atomic.Int64
			done := p.follow(sub, func(uint64) bool {
				calls.Add(1)
				if ended.Load() > 0 {
					t.Error("a message comes to a tail that has ended")
				}
				if how == "with its context" {
					stop()
				}
				return how != "by itself"
			})
			p.next(ctx)
			w := p.wish(ctx)
			if how == "while it waits" {
				stop()
			}
			for i := range w.Batch {
				p.send(w, i+1, i+1)
			}
			select {
			case <-done:
				ended.Store(1)
			case <-ctx.Done():
				t.Fatal("it does not end")
			}
			// Whatever is on its way to the client comes before this.
			if _, err := p.node.js.CreateConsumer(ctx, "news", jetstream.ConsumerConfig{}); err != nil {
				t.Error(err)
			}
			if n := calls.Load(); how == "by itself" && n != 1 {
				t.Errorf("%d messages came", n)
			}
		})
	}
}
