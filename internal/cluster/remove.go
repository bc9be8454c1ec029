package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const removeTopic = "remove-peer"

// ErrKeep says that a node cannot be removed, now or ever.
var ErrKeep = errors.New("not removed")

// ErrSoon says that a node cannot be removed now, but perhaps a little later: it was
// here a moment ago, or others have come since then and do not have all logs yet.
var ErrSoon = errors.New("not removed yet")

// ErrFew says that too few nodes with storage would be left.
var ErrFew = errors.New("add one first")

var errFading = fmt.Errorf("%w: it was here less than half a minute ago", ErrSoon)

// RemovedError says that a node was taken out of the cluster: by a person, or since it
// stayed away too long. All nodes that are there hear of it.
type RemovedError struct {
	Node         string
	Away, Forget time.Duration // how long it was, and when that is too long
}

func (e *RemovedError) Error() string {
	const never = 10 * 365 * 24 * time.Hour                               // it had no session yet
	if e.Forget > 0 && e.Away+forgetEvery >= e.Forget && e.Away < never { // not all have seen it last at the same time
		return fmt.Sprintf("%s has stayed away for more than %s and was taken out of the cluster: its copies of the logs are made elsewhere, and its folder is refused from now on", e.Node, roughly(e.Forget))
	}
	return e.Node + " was taken out of the cluster: its copies of the logs are made elsewhere, and its folder is refused from now on"
}

// RemovePeer takes a dead node out of the groups that keep the logs, and has its
// copies made elsewhere; its folder is refused from then on. It refuses while the
// node lives, while the others are not well, and when too few would be left to hold
// all copies. A node that was removed before stays so.
func (n *Node) RemovePeer(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	leader := n.leader()
	if leader == "" {
		return fmt.Errorf("remove %s: %w: no node leads the cluster", name, ErrSoon)
	}
	_, err := n.Ask(ctx, leader, removeTopic, []byte(name))
	if errors.Is(err, ErrSilent) {
		return fmt.Errorf("remove %s: %w: %s leads the cluster, and does not answer", name, ErrSoon, leader)
	}
	return err
}

// leader is the node whose server leads the cluster, as far as it is known.
func (n *Node) leader() string {
	info, err := n.srv.Jsz(nil)
	if err == nil && info.Meta != nil && info.Meta.Leader != "" {
		return info.Meta.Leader
	}
	// Without storage the server does not know: those with storage do.
	if n.streams[membersStream] == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(n.ctx, requestTime)
	defer cancel()
	for _, r := range n.members.all() {
		if !r.Storage || r.Name == n.cfg.Name {
			continue
		}
		if b, err := n.Ask(ctx, r.Name, leaderTopic, nil); err == nil && len(b) > 0 {
			return string(b)
		}
	}
	return ""
}

const leaderTopic = "leader"

// removes answers the questions that only a leader can.
func (n *Node) removes() {
	n.Answer(leaderTopic, func(context.Context, []byte) ([]byte, error) {
		if !n.cfg.Storage {
			return nil, nil
		}
		return []byte(n.leader()), nil
	})
	n.Answer(removeTopic, func(ctx context.Context, b []byte) ([]byte, error) {
		return nil, n.remove(ctx, string(b))
	})
}

// remove does so at the leader.
func (n *Node) remove(ctx context.Context, name string) error {
	info, err := n.srv.Jsz(nil)
	if err != nil || info.Meta == nil || info.Meta.Leader != n.cfg.Name {
		return fmt.Errorf("remove %s: %w: another node leads by now", name, ErrSoon)
	}
	at, peers := n.presence(ctx, name), n.keepers(info.Meta)
	i := slices.IndexFunc(peers, func(p server.PeerInfo) bool { return p.Name == name })
	if i < 0 && name != n.cfg.Name {
		return n.removeGuest(ctx, name, at)
	}
	if err := removable(name, n.cfg, at, peers, n.storing()); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	// First that it is known to be removed: should it come back meanwhile it is
	// turned away, and not half in.
	if err := n.owners.ban(ctx, name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	req, err := json.Marshal(server.JSApiMetaServerRemoveRequest{Server: name, Peer: peers[i].Peer})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	m, err := n.sys.RequestWithContext(ctx, server.JSApiRemoveServer, req)
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	var resp server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(m.Data, &resp); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	if resp.Error != nil {
		return fmt.Errorf("remove %s: %s", name, resp.Error.Description)
	}
	return nil
}

// keepers are the other nodes whose servers keep the logs, as the leader of these knows
// them. A server that was started after one of them had died does not know its name.
func (n *Node) keepers(meta *server.MetaClusterInfo) []server.PeerInfo {
	peers := make([]server.PeerInfo, len(meta.Replicas))
	for i, p := range meta.Replicas {
		peers[i] = *p
		if name := n.host.named(p); name != "" {
			peers[i].Name = name
		}
	}
	return peers
}

// named is the name of the node that a server is of; "" if it is not known.
func (h *host) named(p *server.PeerInfo) string {
	if checkName(p.Name) == nil {
		return p.Name
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.id.Peers, func(q place) bool { return peerID(q.Name) == p.Peer })
	if i < 0 {
		return ""
	}
	return h.id.Peers[i].Name
}

// peerID is what servers that keep the logs call the server of a node, which has the node's
// name: server.Node() says it of the own one only.
func peerID(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	id := sum[:8]
	for i, b := range id {
		id[i] = digits[int(b)%len(digits)]
	}
	return string(id)
}

// removeGuest does so for a node that keeps no logs.
func (n *Node) removeGuest(ctx context.Context, name string, at presence) error {
	switch {
	case n.host.folder(name) == "":
		return fmt.Errorf("remove %s: %w: no node of that name was ever seen", name, ErrKeep)
	case at == here:
		return fmt.Errorf("remove %s: %w: it is alive, drain and stop it first", name, ErrKeep)
	case at == fading:
		return fmt.Errorf("remove %s: %w", name, errFading)
	}
	if err := n.owners.ban(ctx, name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// presence is how much of a node is here.
type presence uint8

const (
	gone   presence = iota
	fading          // it has a session, and does not answer
	here
)

// presence asks a node whether it is here.
func (n *Node) presence(ctx context.Context, name string) presence {
	if name == n.cfg.Name {
		return here
	}
	ctx, cancel := context.WithTimeout(ctx, presenceTime)
	defer cancel()
	if _, err := n.Ask(ctx, name, clockTopic, nil); err == nil {
		return here
	}
	if _, ok := n.members.live(name); ok {
		return fading
	}
	return gone
}

const presenceTime = 2 * time.Second

// storing are the nodes with storage that this one is connected to, itself too.
func (n *Node) storing() (names []string) {
	for _, p := range n.Peers() {
		if p.Storage && p.Connected {
			names = append(names, p.Name)
		}
	}
	return names
}

// removable says why a node must stay, if it must. Peers are all but the leader, who
// asks; of those who are here it may not have counted all yet.
func removable(name string, leader Config, at presence, peers []server.PeerInfo, storing []string) error {
	if name == leader.Name {
		return fmt.Errorf("%w: it is alive, drain and stop it first", ErrKeep)
	}
	i := slices.IndexFunc(peers, func(p server.PeerInfo) bool { return p.Name == name })
	if i < 0 {
		return fmt.Errorf("%w: no node of that name stores anything", ErrKeep)
	}
	if at == here {
		return fmt.Errorf("%w: it is alive, drain and stop it first", ErrKeep)
	}
	if rest := len(peers); rest < leader.Replicas { // the leader for the one that goes
		for _, one := range storing {
			if one != leader.Name && one != name && !slices.ContainsFunc(peers, func(p server.PeerInfo) bool { return p.Name == one }) {
				return fmt.Errorf("%w: %s has come a moment ago, and has no copies yet", ErrSoon, one)
			}
		}
		return fmt.Errorf("%w: %d nodes with storage would be left for %d copies, %w", ErrKeep, rest, leader.Replicas, ErrFew)
	}
	var unwell []string
	for j, p := range peers {
		if j != i && (p.Offline || !p.Current) {
			unwell = append(unwell, p.Name)
		}
	}
	if len(unwell) > 0 {
		return fmt.Errorf("%w: of the others %s must come, or catch up, before", ErrSoon, strings.Join(unwell, " and "))
	}
	// Servers take minutes to call one offline that did not say goodbye. A leader that has
	// not heard of one since it leads says 0.
	if p := peers[i]; at == fading || !p.Offline && p.Active > 0 && p.Active < leader.ttl {
		return errFading
	}
	return nil
}

// AwayError says that a node stays away, and why it was not taken out for that.
type AwayError struct {
	Node string
	For  time.Duration
	Err  error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("%s was away for %s: %v", e.Node, roughly(e.For), e.Err)
}

func (e *AwayError) Unwrap() error { return e.Err }

// forget removes nodes with storage that stayed away too long, if this node
// leads.
func (h *health) forget(ctx context.Context) {
	n := h.n
	missed, now := map[string]time.Time{}, time.Now()
	h.mu.Lock()
	before := h.missed
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.missed = missed
		h.mu.Unlock()
	}()
	info, err := n.srv.Jsz(nil)
	if err != nil || info.Meta == nil {
		missed = before
		return
	}
	if info.Meta.Leader != n.cfg.Name {
		return
	}
	for _, p := range n.keepers(info.Meta) {
		if !p.Offline || n.host.folder(p.Name) == "" { // or its name is not known
			continue
		}
		since, ok := before[p.Name]
		if !ok {
			since = now
		}
		missed[p.Name] = since
		if !strayed(&p, now.Sub(since), n.host.away(p.Name), n.cfg.Forget) {
			continue
		}
		if err := n.remove(ctx, p.Name); err != nil {
			n.warn(&AwayError{p.Name, n.host.away(p.Name), err})
		}
	}
}

// strayed reports whether a node that is offline has stayed away too long: by its
// sessions, which nodes have as long as there is a crawl, and by its server. A leader that
// has not heard of a server since it leads says 0, for ever; then it counts for how long
// it has missed it.
func strayed(p *server.PeerInfo, missed, away, forget time.Duration) bool {
	silent := p.Active
	if silent == 0 {
		silent = missed
	}
	return silent >= forget && away >= forget
}

// folder is the number of the folder that a node was last seen with.
func (h *host) folder(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.id.Peers {
		if p.Name == name {
			return p.Node
		}
	}
	return ""
}

// away is how long ago a node had a session.
func (h *host) away(name string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.id.Peers {
		if p.Name == name {
			return h.cfg.clock().Sub(time.Unix(p.Seen, 0))
		}
	}
	return 1 << 62
}
