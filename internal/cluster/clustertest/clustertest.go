// Package clustertest says what every carrier must do, as one suite of tests: the
// real one on JetStream and the simulated one alike. A Member relies on nothing
// else.
//
// The contract:
//
//   - All who follow a log read the same batches in the same order, from wherever
//     they begin; offsets rise. A batch may come again, none is left out.
//   - An append that was acknowledged is read by all who follow, now or later,
//     whatever becomes of one node, and when all stop and come back.
//   - Of several claims with the same Before at most one succeeds. All hear of it.
//   - A session lasts while it is renewed, and then no longer than a while. All
//     hear the same about sessions in the end.
//   - What is said reaches the others, and what is sent the one it is for.
package clustertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"weir/overlay"
	"weir/page"
)

// World is a cluster of three nodes under test: a, b and c.
type World interface {
	// Start starts a node, or starts it again with all that it kept. Events come from
	// then on; they may come from several goroutines.
	Start(name string, tell func(overlay.Event)) overlay.Carrier

	// Kill stops a node without a word to the others. No event comes after it.
	Kill(name string)

	// Until lets time pass until done says so, asking it again and again from this
	// goroutine, at least every second of its time. After long enough it fails the
	// test, saying what did not happen.
	Until(what string, done func() bool)

	Now() page.Time
}

// Run tests the worlds that open makes.
func Run(t *testing.T, open func(t *testing.T) World) {
	for _, c := range []struct {
		name string
		test func(*scene)
	}{
		{"all read the same order", order},
		{"a log is read from an offset", offsets},
		{"partitions that share a log", sharing},
		{"one claim wins", claims},
		{"sessions last while they are renewed", sessions},
		{"what is said is heard", talk},
		{"one of three may die", death},
		{"all may stop and come back", blackout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(newScene(t, open(t)))
		})
	}
}

var names = []string{"a", "b", "c"}

// scene is three nodes and what they were told.
type scene struct {
	t     *testing.T
	w     World
	nodes map[string]*node
	next  uint64
}

// node remembers what it was told. Its fields are guarded by mu.
type node struct {
	s       *scene
	name    string
	carrier overlay.Carrier
	sent    page.Time // the last renewal

	mu      sync.Mutex
	alive   bool
	first   uint64 // session since it was started
	session uint64
	listed  bool      // the session is among members
	kept    page.Time // when it began, or the last renewal was sent that was answered
	members []overlay.Peer
	lapsed  []overlay.Peer
	heardOf bool
	renewed int
	owners  map[int]overlay.Owner
	read    map[int][]overlay.Delivered
	acked   map[uint64]bool
	failed  []uint64
	heard   []overlay.Heard
	wrong   string // with what it was told
}

func newScene(t *testing.T, w World) *scene {
	s := &scene{t: t, w: w, nodes: map[string]*node{}}
	for i, name := range names {
		s.nodes[name] = &node{s: s, name: name, session: uint64(100 * (i + 1)), owners: map[int]overlay.Owner{}, read: map[int][]overlay.Delivered{}, acked: map[uint64]bool{}}
	}
	for _, name := range names {
		s.start(name)
	}
	return s
}

func (s *scene) start(name string) {
	n := s.nodes[name]
	n.begin()
	n.carrier = s.w.Start(name, n.tell)
}

func (s *scene) kill(name string) {
	s.w.Kill(name)
	s.nodes[name].rest()
}

// begin has the node renew another session from now on.
func (n *node) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next()
	n.first, n.alive, n.sent = n.session, true, 0
}

// next takes another session. The caller holds mu.
func (n *node) next() {
	n.session++
	n.listed, n.kept = false, n.s.w.Now()
}

// rest has it renew none.
func (n *node) rest() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alive = false
}

// had reports whether a session is one that the node had since it was started.
func (n *node) had(session uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.first <= session && session <= n.session
}

// until lets time pass; the nodes that live renew their sessions meanwhile.
func (s *scene) until(what string, done func() bool) {
	s.t.Helper()
	s.w.Until(what, func() bool {
		for _, name := range names {
			s.nodes[name].renew()
		}
		return done()
	})
	for _, name := range names {
		n := s.nodes[name]
		n.mu.Lock()
		bad := n.wrong
		n.mu.Unlock()
		if bad != "" {
			s.t.Fatal(bad)
		}
	}
}

// renew renews the session when it is time. One that could not be renewed for long, as when
// the machine stands still, is over: a Member begins another, too.
func (n *node) renew() {
	now := n.s.w.Now()
	n.mu.Lock()
	if n.alive && now.Sub(n.kept) >= overlay.Hold {
		n.next()
	}
	p, alive := n.own(), n.alive
	n.mu.Unlock()
	if !alive || n.sent != 0 && now.Sub(n.sent) < overlay.Renewal {
		return
	}
	n.sent = now
	n.carrier.Do(overlay.Renew{Peer: p})
}

// own is the node as the others should see it. The caller holds mu.
func (n *node) own() overlay.Peer { return overlay.Peer{Name: n.name, Session: n.session} }

// meet learns who is there.
func (n *node) meet(e overlay.Members) {
	n.members, n.lapsed, n.heardOf = e.Peers, e.Lapsed, true
	if !slices.IsSortedFunc(e.Peers, func(a, b overlay.Peer) int { return compare(a.Name, b.Name) }) {
		n.wrong = fmt.Sprintf("%s was told of members out of order: %v", n.name, e.Peers)
	}
	was, age := n.listed, n.s.w.Now().Sub(n.kept)
	if n.listed = slices.Contains(e.Peers, n.own()); was && !n.listed && n.alive && age < 2*overlay.Renewal {
		n.wrong = fmt.Sprintf("the session %d of %s was renewed %v ago, and has ended", n.session, n.name, age)
	}
}

func (n *node) tell(e overlay.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case overlay.Members:
		n.meet(e)
	case overlay.Renewed:
		n.renewed++
		if e.Session == n.session {
			n.kept = max(n.kept, e.Sent)
		}
	case overlay.Owner:
		if e.Epoch >= n.owners[e.Part].Epoch {
			n.owners[e.Part] = e
		}
	case overlay.Delivered:
		log := n.read[e.Part]
		if len(log) > 0 && e.Offset <= log[len(log)-1].Offset {
			return // again
		}
		n.read[e.Part] = append(log, e)
	case overlay.Acked:
		n.acked[e.ID] = true
	case overlay.Failed:
		n.failed = append(n.failed, e.ID)
	case overlay.Heard:
		n.heard = append(n.heard, e)
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// mark is a batch that can be told from all others.
func mark(by string, id uint64) overlay.Batch {
	return overlay.Batch{Origin: id, Records: []overlay.Record{overlay.Mark{ID: id, Node: by}}}
}

// append appends a new batch to a log and returns its number.
func (n *node) append(part int) uint64 {
	n.s.next++
	id := n.s.next
	n.carrier.Do(overlay.Append{ID: id, Part: part, Batch: mark(n.name, id)})
	return id
}

// settled reports whether all of the appends were acknowledged; those that failed
// are made again.
func (n *node) settled(part int, ids []uint64) bool {
	var again []uint64
	n.mu.Lock()
	n.failed = slices.DeleteFunc(n.failed, func(id uint64) bool {
		mine := slices.Contains(ids, id)
		if mine {
			again = append(again, id)
		}
		return mine
	})
	n.mu.Unlock()
	for _, id := range again {
		n.carrier.Do(overlay.Append{ID: id, Part: part, Batch: mark(n.name, id)})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id uint64) bool { return !n.acked[id] })
}

// log is what the node has read of a partition, offsets and marks.
func (n *node) log(part int) (offsets, ids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.read[part] {
		offsets = append(offsets, d.Offset)
		ids = append(ids, d.Batch.Origin)
	}
	return offsets, ids
}

func (n *node) has(part int, ids []uint64) bool {
	_, got := n.log(part)
	seen := map[uint64]bool{}
	for _, id := range got {
		seen[id] = true
	}
	return !slices.ContainsFunc(ids, func(id uint64) bool { return !seen[id] })
}

func (n *node) follow(part int, after uint64) {
	n.carrier.Do(overlay.Follow{Part: part, After: after})
}

func (n *node) owner(part int) overlay.Owner {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.owners[part]
}

func (n *node) claim(part int, before uint64) {
	n.mu.Lock()
	p := n.own()
	n.mu.Unlock()
	n.carrier.Do(overlay.Claim{Part: part, Before: before, Node: p.Name, Session: p.Session, New: before == 0})
}
