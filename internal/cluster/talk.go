package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"weir/overlay"
)

const (
	maxSaying  = 1024                  // messages that wait to be sent; more are lost
	letterWait = 20 * time.Millisecond // what is said to one node within this time goes together
	fullLetter = 64 << 10              // bytes: with so many it goes at once
	maxAnswers = 32                    // questions that are worked on at once
	maxInTurn  = 8                     // of a topic whose questions wait for one another
	turnTime   = 10 * time.Second      // for which they do
	errHeader  = "Weir-Error"
)

// ErrSilent says that a node does not answer: there is none of that name, or it
// does not know the topic.
var ErrSilent = errors.New("nobody answers")

// talk is what nodes say to one another beside the logs: it is not kept, and may
// be lost. Much of it is short, and many are told at about the same time: what is for
// one node goes as a letter of several pieces, each after its length, packed.
type talk struct {
	n     *Node
	queue chan piece
	slots chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	topics map[string]func(ctx context.Context, data []byte) ([]byte, error)
	turns  map[string]chan struct{} // of topics that have slots of their own
}

// piece is something to say, to one node or ("") to all.
type piece struct {
	to   string
	data []byte
}

func newTalk(n *Node) *talk {
	return &talk{n: n, queue: make(chan piece, maxSaying), slots: make(chan struct{}, maxAnswers), topics: map[string]func(context.Context, []byte) ([]byte, error){}, turns: map[string]chan struct{}{}}
}

// Subjects: s.FROM for all, t.TO.FROM for one, q.TO.TOPIC for questions.
func (t *talk) listen() error {
	name := t.n.cfg.Name
	for subject, fn := range map[string]nats.MsgHandler{"s.*": t.heard, "t." + name + ".*": t.letter, "q." + name + ".*": t.asked} {
		if _, err := t.n.nc.Subscribe(subject, fn); err != nil {
			return fmt.Errorf("listen to other nodes: %w", err)
		}
	}
	return nil
}

func (t *talk) say(to string, data []byte) {
	if len(data) > maxAsk/2 || to != "" && checkName(to) != nil {
		return
	}
	select {
	case t.queue <- piece{to, data}:
	default:
	}
}

func (t *talk) send(ctx context.Context) {
	letters := map[string][]byte{}
	timer := time.NewTimer(letterWait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			for to, b := range letters {
				t.post(to, b)
			}
			clear(letters)
		case p := <-t.queue:
			t.n.count.sent(overlay.TrafficOfWord(p.data), len(p.data))
			if p.to == "" {
				_ = t.n.nc.Publish("s."+t.n.cfg.Name, p.data) // it may be lost
				continue
			}
			if len(letters) == 0 {
				timer.Reset(letterWait)
			}
			b := append(binary.AppendUvarint(letters[p.to], uint64(len(p.data))), p.data...)
			if letters[p.to] = b; len(b) >= fullLetter {
				t.post(p.to, b)
				delete(letters, p.to)
			}
		}
	}
}

func (t *talk) post(to string, letter []byte) {
	_ = t.n.nc.Publish("t."+to+"."+t.n.cfg.Name, pack(nil, letter)) // it may be lost
}

func (t *talk) heard(m *nats.Msg) {
	from := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	if from == t.n.cfg.Name {
		return
	}
	t.n.count.received(overlay.TrafficOfWord(m.Data), len(m.Data))
	t.n.answer(overlay.Heard{From: from, Data: slices.Clone(m.Data)})
}

// letter takes a letter apart. What is damaged is left out: it might have been lost.
func (t *talk) letter(m *nats.Msg) {
	from := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	raw, err := unpack(m.Data)
	if err != nil {
		return
	}
	for whole := len(raw); len(raw) > 0; {
		n, k := binary.Uvarint(raw)
		if k <= 0 || n > uint64(len(raw)-k) {
			return
		}
		data := slices.Clone(raw[k : k+int(n)])
		t.n.count.received(overlay.TrafficOfWord(data), (k+int(n))*len(m.Data)/whole)
		t.n.answer(overlay.Heard{From: from, Data: data})
		raw = raw[k+int(n):]
	}
}

// Answer sets what answers the questions of a topic. It is called from several
// goroutines; ctx ends when the node is closed.
func (n *Node) Answer(topic string, fn func(ctx context.Context, data []byte) ([]byte, error)) {
	n.talk.mu.Lock()
	defer n.talk.mu.Unlock()
	n.talk.topics[topic] = fn
}

// AnswerInTurn is Answer for a topic that is asked about very often: a few of its
// questions are worked on at once, the others wait, and those of other topics have
// their room.
func (n *Node) AnswerInTurn(topic string, fn func(ctx context.Context, data []byte) ([]byte, error)) {
	n.Answer(topic, fn)
	n.talk.mu.Lock()
	defer n.talk.mu.Unlock()
	n.talk.turns[topic] = make(chan struct{}, maxInTurn)
}

// Ask asks a node, which may be this one, and waits for its answer.
func (n *Node) Ask(ctx context.Context, node, topic string, data []byte) ([]byte, error) {
	if node == n.cfg.Name {
		return n.talk.reply(ctx, topic, data)
	}
	if checkName(node) != nil || checkName(topic) != nil {
		return nil, fmt.Errorf("ask the node %q (%q): %w", node, topic, ErrSilent)
	}
	if len(data) > maxAsk {
		return nil, fmt.Errorf("ask the node %s (%s): %d bytes are too many, %d are not", node, topic, len(data), maxAsk)
	}
	m, err := n.nc.RequestWithContext(ctx, "q."+node+"."+topic, data)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("ask the node %s (%s): %w", node, topic, ErrSilent)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the node %s (%s): %w", node, topic, err)
	}
	if text := m.Header.Get(errHeader); text != "" {
		return nil, fmt.Errorf("%s: %s", node, text)
	}
	return m.Data, nil
}

// Any asks all other nodes that are there, and returns the first answer that is not
// empty, and whose it is; nil if none is.
func (n *Node) Any(ctx context.Context, topic string, data []byte) (answer []byte, from string) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type reply struct {
		data []byte
		from string
	}
	peers := n.Peers()
	replies, asked := make(chan reply, len(peers)), 0
	for _, p := range peers {
		if p.Name == n.cfg.Name || !p.Connected {
			continue
		}
		asked++
		wg.Go(func() {
			data, _ := n.Ask(ctx, p.Name, topic, data) // who fails has nothing
			replies <- reply{data, p.Name}
		})
	}
	for range asked {
		if r := <-replies; len(r.data) > 0 {
			return r.data, r.from
		}
	}
	return nil, ""
}

func (t *talk) asked(m *nats.Msg) {
	topic := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	slots, patient := t.turns[topic]
	if !patient {
		slots = t.slots
		select {
		case slots <- struct{}{}:
		default:
			respond(m, nil, errBusy)
			return
		}
	}
	t.wg.Go(func() {
		if patient && !t.turn(slots) {
			respond(m, nil, errBusy)
			return
		}
		defer func() { <-slots }()
		data, err := t.reply(t.n.ctx, topic, m.Data)
		respond(m, data, err)
	})
}

var errBusy = errors.New("too many questions at once")

// turn waits for a slot, as long as somebody may wait for the answer.
func (t *talk) turn(slots chan<- struct{}) bool {
	ctx, cancel := context.WithTimeout(t.n.ctx, turnTime)
	defer cancel()
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *talk) reply(ctx context.Context, topic string, data []byte) ([]byte, error) {
	t.mu.Lock()
	fn := t.topics[topic]
	t.mu.Unlock()
	if fn == nil {
		return nil, fmt.Errorf("about %q: %w", topic, ErrSilent)
	}
	out, err := fn(ctx, data)
	if err == nil && len(out) > maxAsk {
		return nil, fmt.Errorf("the answer has %d bytes, and %d can be sent", len(out), maxAsk)
	}
	return out, plainly(err)
}

func respond(m *nats.Msg, data []byte, err error) {
	r := &nats.Msg{Data: data}
	if err != nil {
		r.Header = nats.Header{errHeader: {strings.ReplaceAll(err.Error(), "\n", "; ")}}
	}
	_ = m.RespondMsg(r) // whoever asked will ask again
}

// question is one from a command line, for this node or another.
func (t *talk) question(ctx context.Context, q *question) ([]byte, error) {
	if q.Node == "" {
		return t.reply(ctx, q.Topic, q.Data)
	}
	return t.n.Ask(ctx, q.Node, q.Topic, q.Data)
}

// close returns when no question is worked on, nor will be.
func (t *talk) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wg.Wait()
}
