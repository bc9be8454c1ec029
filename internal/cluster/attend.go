package cluster

import (
	"errors"
	"maps"
	"slices"

	"weir/overlay"
)

// errAttended says that somebody is told already.
var errAttended = errors.New("the node has a crawl already")

// Attend lets a crawl take part that begins after the node was opened without a
// Tell: it is told who has a session and who owns what, then everything that
// happens. There is one in the life of a node.
func (n *Node) Attend(tell func(overlay.Event)) error {
	n.telling.Lock()
	if n.mute || n.tell != nil {
		defer n.telling.Unlock()
		if n.mute {
			return ErrClosed
		}
		return errAttended
	}
	n.tell = tell
	n.telling.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return ErrClosed
	}
	// Whoever is told may not be ready for so much yet.
	n.wg.Go(func() {
		n.members.repeat()
		n.owners.repeat()
	})
	return nil
}

// repeat tells again who has a session.
func (m *members) repeat() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told != nil {
		m.n.answer(overlay.Members{Peers: slices.Clone(m.told), Lapsed: m.lapsed()})
	}
}

// repeat tells again who owns what. News that comes first is of later epochs.
func (o *owners) repeat() {
	o.mu.Lock()
	known := maps.Clone(o.known)
	o.mu.Unlock()
	for _, part := range slices.Sorted(maps.Keys(known)) {
		o.n.answer(known[part])
	}
}
