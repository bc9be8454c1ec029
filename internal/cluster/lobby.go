package cluster

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// The lobby is where a node is asked before it lets anyone in. One connection
// carries one request and one answer, each a length of four bytes and JSON.
const (
	maxHello   = 256 << 10 // of a greeting: a few thousand peers
	maxAsk     = 8 << 20   // of a question or its answer, before JSON; the servers take no longer messages
	maxFrame   = maxAsk/3*4 + 64<<10
	maxGuests  = 64 // at a time
	helloTime  = 3 * time.Second
	guestTime  = 10 * time.Second
	answerTime = 5 * time.Minute // a question may take its time
)

type request struct {
	Hello hello     `json:"hello"`
	Vote  *proposal `json:"vote,omitempty"`
	Ask   *question `json:"ask,omitempty"`
}

// hello says who asks, or who answers.
type hello struct {
	place
	Version int    `json:"version"`
	Least   int    `json:"least"`
	Cluster string `json:"cluster,omitempty"`
	Expect  int    `json:"expect,omitempty"`
}

type question struct {
	Node  string `json:"node,omitempty"` // "" is the one that was dialled
	Topic string `json:"topic"`
	Data  []byte `json:"data,omitempty"`
}

type answer struct {
	Hello   hello    `json:"hello"`
	Refused *Refused `json:"refused,omitempty"`

	// Once it belongs to a cluster.
	Secret string `json:"secret,omitempty"`

	Peers    []place `json:"peers,omitempty"`    // that it knows of
	Proposal string  `json:"proposal,omitempty"` // the cluster it has promised itself to

	Data  []byte `json:"data,omitempty"`
	Error string `json:"error,omitempty"`
}

// caller is whose certificate was shown.
type caller struct {
	name string
	node bool // else a person's
}

// lobby answers at a node's first port.
type lobby struct {
	conf  *tls.Config
	warn  func(error)
	clock func() time.Time
	serve func(ctx context.Context, c caller, r *request) *answer

	ln     net.Listener
	guests chan struct{}
	wg     sync.WaitGroup
	stop   context.CancelFunc
}

func openLobby(bind string, c *certs, clock func() time.Time, warn func(error), serve func(context.Context, caller, *request) *answer) (*lobby, error) {
	ln, err := net.Listen("tcp", bind)
	if err != nil {
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &lobby{conf: c.conf, warn: warn, clock: clock, serve: serve, ln: ln, guests: make(chan struct{}, maxGuests), stop: stop}
	l.wg.Go(func() { l.accept(ctx) })
	return l, nil
}

func (l *lobby) close() {
	l.stop()
	l.ln.Close()
	l.wg.Wait()
}

func (l *lobby) accept(ctx context.Context) {
	for {
		conn, err := l.ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Too many open files, say: those that are open will end.
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case l.guests <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		l.wg.Go(func() {
			defer func() { <-l.guests }()
			unhook := context.AfterFunc(ctx, func() { conn.Close() })
			defer unhook()
			defer conn.Close()
			if err := l.receive(ctx, conn); err != nil && ctx.Err() == nil {
				l.warn(err)
			}
		})
	}
}

// receive serves one guest. Its error is about a guest that was turned away for
// its certificate; what else guests do wrong is their own affair.
func (l *lobby) receive(ctx context.Context, raw net.Conn) error {
	raw.SetDeadline(time.Now().Add(helloTime)) // strangers do not stay
	conn := tls.Server(raw, l.conf)
	from := raw.RemoteAddr().String()
	if err := conn.HandshakeContext(ctx); err != nil {
		var ce *CertError
		if err := explain(err, "whoever asks from "+hostOf(from), nil, l.clock()); errors.As(err, &ce) {
			return ce
		}
		return nil
	}
	raw.SetDeadline(time.Now().Add(guestTime))
	var r request
	if err := readFrame(conn, maxFrame, &r); err != nil {
		return nil
	}
	if r.Ask != nil {
		raw.SetDeadline(time.Now().Add(answerTime))
	}
	leaf := conn.ConnectionState().PeerCertificates[0]
	a := l.serve(ctx, caller{leaf.Subject.CommonName, ofNode(leaf)}, &r)
	raw.SetDeadline(time.Now().Add(guestTime))
	_ = writeFrame(conn, a)
	return nil
}

// call asks the lobby at addr.
func call(ctx context.Context, addr string, c *certs, limit uint32, r *request) (*answer, error) {
	d := tls.Dialer{Config: c.conf}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		var late net.Error // which may be there a moment before the context has ended
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout() {
			return nil, &LateError{Addr: addr}
		}
		return nil, explain(hungUp(err), addr, nil, c.conf.Time())
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer unhook()
	a := new(answer)
	err = writeFrame(conn, r)
	if err == nil {
		err = readFrame(conn, limit, a)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, &LateError{Addr: addr, Met: true}
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ask %s: %w", addr, context.Cause(ctx))
		}
		if err := explain(err, addr, nil, c.conf.Time()); errors.As(err, new(*CertError)) {
			return nil, err
		}
		if errors.Is(err, errServers) {
			return nil, &PortError{addr}
		}
		return nil, fmt.Errorf("ask %s: %w", addr, hungUp(err))
	}
	return a, nil
}

// LateError says that a question was not answered in time.
type LateError struct {
	Addr string
	Met  bool // what listens there belongs to the cluster; else nothing was heard at all
}

func (e *LateError) Error() string {
	if e.Met {
		return e.Addr + " was asked, and has not answered in time"
	}
	return "nothing has answered at " + e.Addr + " in time"
}

// Unwrap has it taken for what it is.
func (e *LateError) Unwrap() error { return context.DeadlineExceeded }

// hungUp says in words that the other end of a connection is gone.
func hungUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("%w (%w)", ErrHungUp, err)
	}
	return err
}

func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), uint32(len(b))), b...))
	return err
}

// errServers says that a server answers, and not a node. Servers begin with this
// word, which would be the length of 1.2 GB.
var errServers = errors.New("a server answers")

// PortError says that an address is that of a node's server.
type PortError struct{ Addr string }

func (e *PortError) Error() string {
	return fmt.Sprintf("%s is where the nodes' servers meet one another; the node itself listens at another port, as a rule at the one before it", e.Addr)
}

func readFrame(r io.Reader, limit uint32, v any) error {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(n[:])
	if string(n[:]) == "INFO" {
		return errServers
	}
	if size > limit {
		return fmt.Errorf("%d bytes are too many", size)
	}
	// Memory is taken as the bytes come, not as they are announced.
	b, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return err
	}
	if uint32(len(b)) != size {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(b, v)
}

func (l *lobby) port() int { return l.ln.Addr().(*net.TCPAddr).Port }
