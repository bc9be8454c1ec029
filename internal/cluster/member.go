package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
	"weir/page"
)

// record is a node's session as the others see it.
type record struct {
	place
	Session  uint64 `json:"session,string"`
	Draining bool   `json:"draining,omitempty"`
	Weight   uint16 `json:"weight,omitempty"`
	Version  int    `json:"version"`
	Least    int    `json:"least"`
}

func (r *record) peer() overlay.Peer {
	return overlay.Peer{Name: r.Name, Session: r.Session, Draining: r.Draining, Weight: r.Weight}
}

// members keeps the node's own session and knows those of the others.
//
// No clock of a server has a say in how long a session lasts, since servers'
// clocks differ. A node that has seen the same renewal of another one for a TTL,
// by its own clock, ends that session: it puts an empty record in the place of
// the very renewal that it saw. The other one's next renewal was to replace that,
// too, so only one of the two comes to pass, and a session that was ended is not
// renewed again. Since a renewal is seen after it was sent, no session is ended
// before its node has counted a TTL itself.
type members struct {
	n     *Node
	next  chan renewal // the last one wins
	asked atomic.Bool  // there was one
	ends  chan chan struct{}

	own struct { // renewals has it
		session  uint64
		revision uint64
	}

	mu       sync.Mutex
	told     []overlay.Peer
	known    map[string]record
	late     map[string]uint64 // sessions that were ended in place of their nodes
	ages     map[string]age
	seq      uint64            // of the last news
	begun    map[string]record // a reading from the start that is not complete
	complete chan struct{}     // closed after the first
	fresh    time.Time         // when there was news last
	again    context.CancelFunc

	now atomic.Pointer[map[string]record] // what is known, for those who must not wait
}

// lapsedHeader is in the record that ends a session in place of its node: which
// session that was. A node that ends its own writes none.
const lapsedHeader = "Lapsed"

const resignTime = 2 * time.Second

// age is how long the same renewal was seen.
type age struct {
	revision uint64
	since    time.Time
}

type renewal struct {
	peer overlay.Peer
	sent page.Time
}

func newMembers(n *Node) *members {
	return &members{n: n, next: make(chan renewal, 1), ends: make(chan chan struct{}), known: map[string]record{}, late: map[string]uint64{}, ages: map[string]age{}, complete: make(chan struct{})}
}

// renew asks for a renewal. One that has not been sent yet is replaced: its time
// counts from when it was asked for.
func (m *members) renew(a overlay.Renew) {
	m.asked.Store(true)
	r := renewal{a.Peer, m.n.cfg.Now()}
	for {
		select {
		case m.next <- r:
			return
		default:
		}
		select {
		case <-m.next:
		default:
		}
	}
}

func (m *members) renewals(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case done := <-m.ends:
			m.end(ctx)
			close(done)
			return
		case r := <-m.next:
			ok, err := m.write(ctx, r.peer)
			if ok {
				m.n.answer(overlay.Renewed{Session: r.peer.Session, Sent: r.sent})
			}
			if errors.As(err, new(*Refused)) || errors.Is(err, errEnded) {
				m.n.warn(err)
			}
		}
	}
}

// write puts the session's record in place of the one this node wrote before. If
// another stands there, it is either its own (the answer was lost, or the node
// was started again) or that of a second node with this name.
func (m *members) write(ctx context.Context, p overlay.Peer) (bool, error) {
	n := m.n
	subject := memberSubject(n.cfg.Name)
	r := record{place: n.host.self, Session: p.Session, Draining: p.Draining, Weight: p.Weight, Version: n.cfg.Version, Least: n.cfg.Least}
	data, err := json.Marshal(&r)
	if err != nil {
		return false, err
	}
	for range 3 {
		rev, err := n.put(ctx, subject, data, m.own.revision)
		n.count.sent(overlay.Sessions, len(data))
		if err == nil {
			m.own.revision, m.own.session = rev, p.Session
			return true, nil
		}
		if !raced(err) {
			return false, err
		}
		old, rev, err := n.last(ctx, membersStream, subject)
		if err != nil {
			return false, err
		}
		if len(old) == 0 && m.own.session == p.Session {
			return false, errEnded
		}
		var was record
		if len(old) > 0 && json.Unmarshal(old, &was) == nil {
			taken := was.Node != r.Node || was.Session != p.Session && was.Session != m.own.session && m.own.session != 0
			if taken {
				return false, &Refused{Why: NameTaken, By: "the cluster", Who: n.cfg.Name,
					Text: fmt.Sprintf("another node of that name has a session, at %s: one of the two must stop", was.Lobby)}
			}
		}
		m.own.revision = rev
	}
	return false, errors.New("renew the session: another node of that name does, too")
}

var errEnded = errors.New("the others have ended this node's session: they did not hear of it in time")

// resign ends the session, so that the others need not wait for it to run out. It is
// not renewed after that.
func (m *members) resign() {
	if !m.asked.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(m.n.ctx, resignTime)
	defer cancel()
	done := make(chan struct{})
	select {
	case m.ends <- done:
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}

// end puts nothing in place of the session's record. The answer to the last renewal
// may have been lost.
func (m *members) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resignTime)
	defer cancel()
	subject := memberSubject(m.n.cfg.Name)
	for range 3 {
		if _, err := m.n.put(ctx, subject, nil, m.own.revision); !raced(err) {
			return
		}
		old, rev, err := m.n.last(ctx, membersStream, subject)
		var was record
		if err != nil || json.Unmarshal(old, &was) != nil || was.Node != m.n.host.id.Node {
			return
		}
		m.own.revision = rev
	}
}

// watch reads the members' stream. The node's own renewals pass through it, so
// when these are acknowledged and nothing is heard the reading is stale.
func (m *members) watch(ctx context.Context) {
	for ctx.Err() == nil {
		sub, cancel := context.WithCancel(ctx)
		m.mu.Lock()
		m.again, m.fresh = cancel, time.Now()
		m.mu.Unlock()
		t := &tail{n: m.n, stream: membersStream, subject: "m.*", latest: true, began: m.began, each: m.news}
		t.run(sub)
		cancel()
		pause(ctx, tailPause)
	}
}

// began starts a reading of all sessions anew.
func (m *members) began(pending uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = map[string]record{}
	if pending == 0 {
		m.whole(m.seq)
	}
}

// news takes the next message of the stream.
func (m *members) news(msg jetstream.Msg, meta *jetstream.MsgMetadata) bool {
	m.n.count.received(overlay.Sessions, len(msg.Data()))
	name := msg.Subject()[len("m."):]
	var r record
	gone := len(msg.Data()) == 0 || json.Unmarshal(msg.Data(), &r) != nil || r.Name != name
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh = time.Now()
	seq := meta.Sequence.Stream
	if m.ages[name].revision < seq {
		m.ages[name] = age{seq, m.fresh}
		delete(m.late, name)
		if session, err := strconv.ParseUint(msg.Headers().Get(lapsedHeader), 10, 64); gone && err == nil {
			m.late[name] = session
		}
	}
	if m.begun != nil {
		if !gone {
			m.begun[name] = r
		}
		if meta.NumPending == 0 {
			return m.whole(seq)
		}
		return true
	}
	if seq <= m.seq {
		return true
	}
	m.seq = seq
	if gone {
		delete(m.known, name)
	} else {
		m.known[name] = r
	}
	m.tell()
	return true
}

// whole ends a reading from the start. A copy that lags may know less than this
// node does: then it is read again.
func (m *members) whole(seq uint64) bool {
	if seq < m.seq {
		m.again()
		return false
	}
	m.seq, m.known, m.begun = seq, m.begun, nil
	m.publish()
	select {
	case <-m.complete:
	default:
		close(m.complete)
	}
	m.tell()
	return true
}

// publish lets others read what is known.
func (m *members) publish() {
	known := maps.Clone(m.known)
	m.now.Store(&known)
}

// tell passes on who has a session, if that has changed. The lock is held, so that
// what is told never goes back.
func (m *members) tell() {
	m.publish()
	peers := make([]overlay.Peer, 0, len(m.known))
	for _, name := range slices.Sorted(maps.Keys(m.known)) {
		r := m.known[name]
		peers = append(peers, r.peer())
	}
	if slices.Equal(peers, m.told) && m.told != nil {
		return
	}
	m.n.meet(m.known, m.told)
	m.told = peers
	m.n.answer(overlay.Members{Peers: slices.Clone(peers), Lapsed: m.lapsed()})
}

// lapsed lists the sessions that were not renewed in time, by name.
func (m *members) lapsed() (peers []overlay.Peer) {
	for _, name := range slices.Sorted(maps.Keys(m.late)) {
		peers = append(peers, overlay.Peer{Name: name, Session: m.late[name]})
	}
	return peers
}

// first waits until all sessions are known, and looks for one that has this
// node's name.
func (m *members) first(ctx context.Context) error {
	select {
	case <-m.complete:
	case <-ctx.Done():
		return fmt.Errorf("waiting to hear who is there: %w", context.Cause(ctx))
	}
	n := m.n
	if r, ok := m.live(n.cfg.Name); ok && r.Node != n.host.id.Node {
		return &Refused{Why: NameTaken, By: "the cluster", Who: n.cfg.Name, Text: fmt.Sprintf("a node of that name is alive at %s; choose another one, or wait until its session has run out", r.Lobby)}
	}
	return nil
}

// live finds a node that has a session.
func (m *members) live(name string) (record, bool) {
	known := m.now.Load()
	if known == nil {
		return record{}, false
	}
	r, ok := (*known)[name]
	return r, ok
}

// all lists the sessions, by name.
func (m *members) all() []record {
	known := m.now.Load()
	if known == nil {
		return nil
	}
	out := make([]record, 0, len(*known))
	for _, name := range slices.Sorted(maps.Keys(*known)) {
		out = append(out, (*known)[name])
	}
	return out
}

// expire ends the sessions that were not renewed for too long.
func (m *members) expire(ctx context.Context, now time.Time) {
	m.mu.Lock()
	var old []string
	for name := range m.known {
		if now.Sub(m.ages[name].since) >= m.n.cfg.ttl && name != m.n.cfg.Name {
			old = append(old, name)
		}
	}
	ages, known := maps.Clone(m.ages), maps.Clone(m.known)
	m.mu.Unlock()
	for _, name := range old {
		// Others do the same, and one of us is first.
		_, _ = m.n.putMsg(ctx, &nats.Msg{
			Subject: memberSubject(name), Header: nats.Header{lapsedHeader: {strconv.FormatUint(known[name].Session, 10)}},
		}, ages[name].revision)
	}
}

// expiries looks for them.
func (m *members) expiries(ctx context.Context) {
	for pause(ctx, expireEvery) {
		m.expire(ctx, time.Now())
	}
}

// revive reads all anew when nothing was heard for too long.
func (m *members) revive(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.again != nil && now.Sub(m.fresh) > staleTime {
		m.again()
	}
}
