package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"weir/overlay"
)

const (
	readCount = 256                    // messages at once
	readBytes = 1 << 20                // the same, about
	nearTime  = time.Second            // nobody answers where there is no copy
	nearAgain = 500 * time.Millisecond // that will not have changed at once, and
	nearLast  = 2 * time.Second        // not soon if it has not by then
	farTries  = 8                      // not every node that keeps logs keeps each of them, or can read it soon after its start

	directGet = "$JS.API.DIRECT.GET."
	account   = server.DEFAULT_GLOBAL_ACCOUNT // all streams are in it
)

var errNoCopy = errors.New("the node has no copy of the log that can be read")

// source reads the copy of a log that the node's own server has. A copy holds what
// was agreed on, perhaps not the last of it, so what it gives is always the beginning
// of what is missing. Servers would ask one another, too, so they are kept from
// hearing of one another's copies (startServer).
//
// Not safe for concurrent use.
type source struct {
	n      *Node
	stream string
	prefix string // of the subjects that answers come to
	serial uint64
	sub    *nats.Subscription
	none   time.Time // until then there is no use in asking
	wait   time.Duration
}

func newSource(n *Node, log int) (*source, error) {
	s := &source{n: n, stream: logStream(log), prefix: "d." + n.host.id.Node + draw(4) + "."}
	var err error
	if s.sub, err = n.nc.SubscribeSync(s.prefix + "*"); err != nil {
		return nil, fmt.Errorf("listen for messages of logs: %w", err)
	}
	return s, nil
}

// after gives each message after one, some of them, until each returns false. It
// reports whether there is more.
func (s *source) after(ctx context.Context, seq uint64, each func(seq uint64, message []byte) bool) (more bool, err error) {
	if !s.n.srv.JetStreamIsStreamAssigned(account, s.stream) || time.Now().Before(s.none) {
		return false, errNoCopy
	}
	s.serial++
	subject := s.prefix + strconv.FormatUint(s.serial, 36)
	ask := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d}`, seq+1, readCount, readBytes)
	if err := s.n.nc.PublishRequest(directGet+s.stream, subject, ask); err != nil {
		return false, err
	}
	for last := uint64(0); ; {
		m, err := s.next(ctx)
		if ctx.Err() != nil {
			return false, err
		}
		if err != nil {
			return false, s.fail()
		}
		if m.Subject != subject {
			continue // of a question that was given up
		}
		status := m.Header.Get("Status")
		if status == "" || status == "204" || status == "404" {
			s.wait = 0
		}
		switch status {
		case "":
		case "204": // that was all
			pending, _ := strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
			return pending > 0, nil
		case "404": // there is nothing yet
			return false, nil
		default:
			return false, s.fail()
		}
		at, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		before, wrong := strconv.ParseUint(m.Header.Get("Nats-Last-Sequence"), 10, 64)
		if err != nil || wrong != nil || at <= seq || before != last {
			return true, nil // one was lost on the way
		}
		last = at
		if !each(at, m.Data) {
			return false, nil
		}
	}
}

// fail says that there is no copy yet.
func (s *source) fail() error {
	s.wait = min(max(2*s.wait, nearAgain), nearLast)
	s.none = time.Now().Add(s.wait)
	return errNoCopy
}

func (s *source) next(ctx context.Context) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, nearTime)
	defer cancel()
	return s.sub.NextMsgWithContext(ctx)
}

// Who has no copy asks for batches of a few partitions (a query), and one that has
// reads its own for them (an extract): so nobody is sent what it does not follow.
//
//	query    after, partitions: varints
//	extract  packed: how far was read, 1 if there is more, then for each message
//	         its number, length of the bundle: varints; the bundle
type query struct {
	after uint64
	parts []int
}

type extract struct {
	upto     uint64
	more     bool
	messages []excerpt
}

// excerpt is what a message has for those who asked.
type excerpt struct {
	seq    uint64
	slices []slice
	size   int // packed, about
}

func appendQuery(b []byte, q *query) []byte {
	b = binary.AppendUvarint(b, q.after)
	for _, p := range q.parts {
		b = binary.AppendUvarint(b, uint64(p))
	}
	return b
}

// varints takes numbers off the beginning of bytes.
type varints struct {
	b   []byte
	bad bool
}

func (v *varints) next() uint64 {
	n, size := binary.Uvarint(v.b)
	if size <= 0 {
		v.bad, v.b = true, nil
		return 0
	}
	v.b = v.b[size:]
	return n
}

var errQuery = errors.New("it is not a question about a log")

func readQuery(b []byte) (*query, error) {
	v := varints{b: b}
	q := &query{after: v.next()}
	for len(v.b) > 0 {
		p := v.next()
		if p > overlay.MaxParts || len(q.parts) >= maxSlices {
			return nil, errQuery
		}
		q.parts = append(q.parts, int(p))
	}
	if v.bad {
		return nil, errQuery
	}
	return q, nil
}

func appendExtract(b []byte, x *extract) []byte {
	b = binary.AppendUvarint(b, x.upto)
	b = binary.AppendUvarint(b, uint64(btoi(x.more)))
	for _, m := range x.messages {
		bundle := appendBundle(nil, m.slices)
		b = binary.AppendUvarint(b, m.seq)
		b = binary.AppendUvarint(b, uint64(len(bundle)))
		b = append(b, bundle...)
	}
	return pack(nil, b)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func readExtract(message []byte) (*extract, error) {
	raw, err := unpack(message)
	if err != nil {
		return nil, err
	}
	v := varints{b: raw}
	x := &extract{upto: v.next(), more: v.next() == 1}
	for last := uint64(0); len(v.b) > 0; {
		m := excerpt{seq: v.next()}
		n := v.next()
		if v.bad || n > uint64(len(v.b)) || m.seq <= last || m.seq > x.upto {
			return nil, errBundle
		}
		if m.slices, err = readBundle(v.b[:n]); err != nil {
			return nil, err
		}
		m.size = int(n) * len(message) / len(raw)
		last, v.b = m.seq, v.b[n:]
		x.messages = append(x.messages, m)
	}
	if v.bad {
		return nil, errBundle
	}
	return x, nil
}

// extract reads the node's copy for another.
func (s *source) extract(ctx context.Context, q *query) (*extract, error) {
	wanted := make(map[int]bool, len(q.parts))
	for _, p := range q.parts {
		wanted[p] = true
	}
	x := &extract{upto: q.after}
	size, strange := 0, error(nil)
	more, err := s.after(ctx, q.after, func(seq uint64, message []byte) bool {
		list, err := unbundle(message)
		if errors.Is(err, errPacking) {
			strange = err
			return false
		}
		m := excerpt{seq: seq}
		for _, b := range list {
			if wanted[b.part] {
				m.slices = append(m.slices, b)
				size += len(b.data)
			}
		}
		if len(m.slices) > 0 {
			x.messages = append(x.messages, m)
		}
		x.upto = seq
		x.more = size >= readBytes
		return !x.more
	})
	x.more = x.more || more
	return x, errors.Join(err, strange)
}

// lend answers the questions of nodes that have no copy of a log.
func (n *Node) lend(log int) error {
	s, err := newSource(n, log)
	if err != nil {
		return err
	}
	_, err = n.nc.QueueSubscribe(lendSubject(log), "w", func(m *nats.Msg) {
		q, err := readQuery(m.Data)
		if err != nil {
			respond(m, nil, err)
			return
		}
		x, err := s.extract(n.ctx, q)
		if err != nil {
			respond(m, nil, err)
			return
		}
		respond(m, appendExtract(nil, x), nil)
	})
	if err != nil {
		return fmt.Errorf("listen for those who have no copy of a log: %w", err)
	}
	return nil
}

// borrow asks a node that has a copy of a log.
func (n *Node) borrow(ctx context.Context, log int, q *query) (*extract, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var err error
	for range farTries {
		var m *nats.Msg
		if m, err = n.nc.RequestWithContext(ctx, lendSubject(log), appendQuery(nil, q)); err != nil {
			return nil, err
		}
		text := m.Header.Get(errHeader)
		if text == "" {
			return readExtract(m.Data)
		}
		err = errors.New(text)
	}
	return nil, err
}
