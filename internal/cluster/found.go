package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/overlay"
)

// proposal is a cluster that someone wants to found.
type proposal struct {
	Cluster string  `json:"cluster"`
	Secret  string  `json:"secret"`
	By      string  `json:"by"`
	Members []place `json:"members"`
}

const (
	gatherEvery = 250 * time.Millisecond
	sayEvery    = 5 * time.Second
	firstSay    = time.Second // what a node that is back waits for, unless it is over by then
)

// host is the node's side of the lobby: it keeps the identity, and decides about
// guests. Safe for concurrent use.
type host struct {
	cfg   Config
	certs *certs
	self  place

	mu      sync.Mutex
	id      *identity
	fresh   map[string]hello                 // nodes without a cluster that were met, by name
	guests  map[string]place                 // nodes that were let in and may not have joined, see settle
	told    map[string]time.Time             // warnings, so that each comes once in a while
	live    func(name string) (record, bool) // who has a session; nil until that is known
	ask     func(context.Context, *question) ([]byte, error)
	removed func(node string) bool // which folders were taken out of the cluster
	require int                    // the version that others must speak by now, if that is more than was
}

// Require lets in only nodes that speak a version of the protocol, from now on.
func (n *Node) Require(version int) {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	n.host.require = max(n.host.require, version)
}

// oldest is the version that others must speak. The caller holds mu.
func (h *host) oldest() int { return max(h.cfg.Least, h.require) }

func (h *host) hello() hello {
	return hello{place: h.self, Version: h.cfg.Version, Least: h.oldest(), Cluster: h.id.Cluster, Expect: h.cfg.Expect}
}

// serve answers a guest.
func (h *host) serve(ctx context.Context, from caller, r *request) *answer {
	if r.Ask != nil {
		return h.question(ctx, r.Ask)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &answer{Hello: h.hello()}
	why, text := h.judge(from.name, &r.Hello)
	if !from.node {
		why, text = NotItself, fmt.Sprintf("its certificate is a person's, for questions, and names no host; weir node cert %s --hosts makes one for a node", from.name)
	}
	if why != "" {
		a.Refused = &Refused{Why: why, By: h.self.Name + " at " + h.self.Lobby, Who: r.Hello.Name + " at " + r.Hello.Lobby, Text: text}
		if why != Busy {
			h.warnOnce(a.Refused)
		}
		return a
	}
	if r.Vote != nil {
		a.Refused = h.vote(from.name, r.Vote)
	}
	if h.id.Promised != nil {
		a.Proposal = h.id.Promised.Cluster
	}
	if h.id.Cluster != "" {
		a.Secret = h.id.Secret
		h.guests[r.Hello.Name] = r.Hello.place
	} else if r.Hello.Cluster == "" && r.Hello.Node != h.id.Node {
		h.fresh[r.Hello.Name] = r.Hello
	}
	a.Peers = slices.Clone(h.id.Peers)
	for _, n := range slices.Sorted(maps.Keys(h.fresh)) {
		a.Peers = append(a.Peers, h.fresh[n].place)
	}
	if r.Hello.Cluster != "" { // who joins starts with peers only
		for _, n := range slices.Sorted(maps.Keys(h.guests)) {
			a.Peers = append(a.Peers, h.guests[n])
		}
	}
	return a
}

// judge says why a guest is not let in, or nothing.
func (h *host) judge(name string, g *hello) (Reason, string) {
	switch {
	case checkName(g.Name) != nil || g.Name != name:
		return NotItself, fmt.Sprintf("it says that it is %q, and its certificate that it is %q", g.Name, name)
	case g.Version < h.oldest() || h.cfg.Version < g.Least:
		return OtherVersion, fmt.Sprintf("it speaks version %d of the protocol and understands %d and later; here it is version %d, from %d on: upgrade one of them", g.Version, g.Least, h.cfg.Version, h.oldest())
	case g.Node == h.id.Node && g.Name == h.id.Name:
		return "", "" // this very node: its own address is in its list
	case g.Name == h.id.Name:
		return NameTaken, fmt.Sprintf("this node has that name; it is at %s", h.self.Lobby)
	case g.Cluster != "" && h.id.Cluster != "" && g.Cluster != h.id.Cluster:
		return OtherCluster, fmt.Sprintf("it belongs to cluster %s, and this is %s; a node with an empty folder could join", g.Cluster, h.id.Cluster)
	case g.Cluster == "" && h.id.Cluster == "" && g.Expect != h.cfg.Expect:
		return OtherExpect, fmt.Sprintf("it expects %d nodes with storage to found a cluster, and this node %d", g.Expect, h.cfg.Expect)
	}
	if h.removed != nil && h.removed(g.Node) {
		return Removed, removedText
	}
	if h.live != nil {
		if m, ok := h.live(g.Name); ok && m.Node != g.Node {
			return NameTaken, fmt.Sprintf("a node of that name is alive at %s; choose another one, or wait until its session has run out", m.Lobby)
		}
	} else if f, ok := h.fresh[g.Name]; ok && f.Node != g.Node && f.Lobby != g.Lobby {
		return NameTaken, fmt.Sprintf("a node of that name waits at %s; choose another one", f.Lobby)
	}
	return h.returned(g)
}

// returned refuses a node that had storage and comes back without what it stored:
// it would be counted among those who have it. That of a node that was removed is
// stored elsewhere.
func (h *host) returned(g *hello) (Reason, string) {
	i := slices.IndexFunc(h.id.Peers, func(p place) bool { return p.Name == g.Name })
	if g.Cluster != "" || h.id.Cluster == "" || i < 0 || !h.id.Peers[i].Storage || h.id.Peers[i].Node == g.Node {
		return "", ""
	}
	if h.removed == nil {
		return Busy, "it does not know yet who was removed"
	}
	if h.removed(h.id.Peers[i].Node) {
		return "", ""
	}
	return Returned, fmt.Sprintf("its folder is new, and the cluster counts on the copies that %s keeps in its old one: weir node remove %s first, or start it under another name", g.Name, g.Name)
}

// vote gives this node's word to a proposal, once.
func (h *host) vote(by string, p *proposal) *Refused {
	no := func(text string) *Refused {
		return &Refused{Why: Busy, By: h.self.Name, Who: by, Text: text}
	}
	switch {
	case p.By != by || len(p.Cluster) == 0 || !slices.ContainsFunc(p.Members, func(m place) bool { return m.Name == h.self.Name }):
		return no("the proposal is not about this node")
	case h.id.Cluster == p.Cluster:
		return nil
	case h.id.Cluster != "":
		return no("it belongs to a cluster already")
	case h.id.Promised != nil && h.id.Promised.Cluster != p.Cluster:
		return no("it has promised itself to a proposal of " + h.id.Promised.By)
	}
	h.id.Promised = p
	if err := h.id.save(h.cfg.Dir); err != nil {
		h.id.Promised = nil
		return no(err.Error())
	}
	return nil
}

func (h *host) question(ctx context.Context, q *question) *answer {
	h.mu.Lock()
	ask := h.ask
	h.mu.Unlock()
	if ask == nil {
		return &answer{Error: ErrEarly.Error()}
	}
	data, err := ask(ctx, q)
	if err != nil {
		return &answer{Error: err.Error()}
	}
	return &answer{Data: data}
}

// warnOnce passes a warning on, unless the same one was a while ago.
func (h *host) warnOnce(err error) {
	now := time.Now()
	what, every := often(err)
	if t, ok := h.told[what]; ok && now.Sub(t) < every {
		return
	}
	if len(h.told) > 1000 {
		clear(h.told)
	}
	h.told[what] = now
	h.cfg.Warn(err)
}

// often says what a warning is about, and how often that is told while it lasts.
func often(err error) (what string, every time.Duration) {
	var (
		cert    *CertError
		end     *EndError
		storage *StorageError
		short   *ShortError
		away    *AwayError
	)
	switch {
	case errors.As(err, &away):
		return "away " + away.Node, time.Hour
	case errors.As(err, &end) && end.Left > 0:
		return "ending " + end.Node, 24 * time.Hour
	case errors.As(err, &end):
		return "ended " + end.Node, time.Hour
	case errors.As(err, &cert):
		what, _, _ = strings.Cut(cert.Error(), hereItIs)
		return what, 10 * time.Minute
	case errors.As(err, &storage):
		return "storage", 10 * time.Minute
	case errors.As(err, &short): // logs that this node comes to lead are told of later
		return "short " + short.Node, time.Hour
	}
	return err.Error(), 30 * time.Second
}

// greeting is what came of calling one address.
type greeting struct {
	addr string
	*answer
	err error
}

// greet says hello to everybody that might know something.
func (h *host) greet(ctx context.Context) []greeting {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	h.mu.Lock()
	addrs := slices.Clone(h.cfg.Join)
	for _, p := range h.id.Peers {
		addrs = append(addrs, p.Lobby)
	}
	for _, f := range h.fresh {
		addrs = append(addrs, f.Lobby)
	}
	for _, p := range h.guests {
		addrs = append(addrs, p.Lobby)
	}
	r := &request{Hello: h.hello()}
	h.mu.Unlock()
	slices.Sort(addrs)
	addrs = slices.DeleteFunc(slices.Compact(addrs), func(a string) bool { return a == h.self.Lobby })

	out := make([]greeting, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() {
			a, err := call(ctx, addr, h.certs, maxHello, r)
			out[i] = greeting{addr, a, err}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(out, func(g greeting) bool {
		return g.answer != nil && g.Hello.Node == r.Hello.Node && g.Hello.Name == h.self.Name
	})
}

// check holds what others answer to what this node is. It is the mirror of
// judge: whoever is asked first, both learn of it.
func (h *host) check(g greeting) error {
	if g.err != nil {
		if errors.As(g.err, new(*CertError)) || errors.As(g.err, new(*PortError)) {
			return g.err
		}
		return nil
	}
	if g.Refused != nil && g.Refused.Why != Busy {
		return g.Refused
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	why, text := h.judge(g.Hello.Name, &g.Hello)
	switch why {
	case "", NotItself, Returned, Busy: // the other one's trouble, not this node's
		return nil
	}
	return &Refused{Why: why, By: h.self.Name, Who: g.Hello.Name + " at " + g.addr, Text: text}
}

// pastAmong says that the certificate of one that was greeted has expired, while others are
// well: that is its own trouble, and not a clock that is wrong here.
func pastAmong(g greeting, all []greeting) bool {
	var cert *CertError
	return errors.As(g.err, &cert) && cert.Fault == CertExpired && cert.Whose == g.addr && slices.ContainsFunc(all, func(g greeting) bool { return g.err == nil })
}

// gather returns when the node belongs to a cluster.
func (h *host) gather(ctx context.Context) error {
	tick := time.NewTicker(gatherEvery)
	defer tick.Stop()
	said := time.Time{}
	for {
		done, wait, err := h.round(ctx)
		if done || err != nil {
			return err
		}
		if now := time.Now(); now.Sub(said) >= sayEvery {
			said = now
			h.cfg.Log(wait)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", wait, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// round greets everybody once, and joins or founds a cluster if that can be. Else
// it says what the node waits for.
func (h *host) round(ctx context.Context) (done bool, wait string, err error) {
	var (
		silent []string
		down   []string // of those, whom a person has named
		member *greeting
	)
	all := h.greet(ctx)
	for _, g := range all {
		if pastAmong(g, all) {
			h.mu.Lock()
			h.warnOnce(g.err)
			h.mu.Unlock()
			text, _, _ := strings.Cut(g.err.Error(), hereItIs)
			silent = append(silent, text)
			continue
		}
		if err := h.check(g); err != nil {
			return false, "", err
		}
		if g.err != nil {
			text := fmt.Sprintf("%s does not answer (%v)", g.addr, brief(g.err))
			if silent = append(silent, text); slices.Contains(h.cfg.Join, g.addr) {
				down = append(down, text)
			}
			continue
		}
		if g.Refused != nil {
			silent = append(silent, fmt.Sprintf("%s is not ready (%s)", g.Hello.Name, g.Refused.Text))
			continue
		}
		if g.Hello.Cluster != "" {
			if member != nil && member.Hello.Cluster != g.Hello.Cluster {
				return false, "", &Refused{Why: OtherCluster, By: h.self.Name, Who: g.Hello.Name + " at " + g.addr,
					Text: fmt.Sprintf("%s belongs to another cluster than %s: name nodes of one only", g.Hello.Name, member.Hello.Name)}
			}
			member = &g
			continue
		}
		h.mu.Lock()
		h.fresh[g.Hello.Name] = g.Hello
		for _, p := range g.Peers {
			if _, ok := h.fresh[p.Name]; !ok && p.Name != h.self.Name && len(h.fresh) < 1000 {
				// Known by hearsay: it counts when it has answered itself.
				p.Node = ""
				h.fresh[p.Name] = hello{place: p}
			}
		}
		h.mu.Unlock()
		h.release(&g)
	}
	if member != nil {
		if len(down) > 0 {
			h.cfg.Log(fmt.Sprintf("joining by %s; of the addresses to join at, %s", member.addr, strings.Join(down, "; ")))
		}
		return true, "", h.join(member)
	}
	return h.found(ctx, silent)
}

// release takes the word back that was given to a proposal which its author has
// dropped.
func (h *host) release(g *greeting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.id.Promised; p != nil && p.By == g.Hello.Name && g.Proposal != p.Cluster {
		h.id.Promised = nil
	}
}

// join takes over the identity of a member's cluster.
func (h *host) join(g *greeting) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id.Cluster, h.id.Secret, h.id.Promised = g.Hello.Cluster, g.Secret, nil
	h.id.meet(g.Hello.place)
	for _, p := range g.Peers {
		h.id.meet(p)
	}
	if _, err := h.id.secret(); err != nil {
		return err
	}
	return h.id.save(h.cfg.Dir)
}

// found proposes a cluster when enough nodes are there and this one is the first
// of them by name. All of them must agree; the cluster exists as soon as the
// identity of its founder is on disk, and the others find it by their next round.
func (h *host) found(ctx context.Context, silent []string) (done bool, wait string, err error) {
	h.mu.Lock()
	var ready, names []string
	for name, f := range h.fresh {
		if f.Node == "" {
			continue
		}
		names = append(names, name)
		if f.Storage {
			ready = append(ready, name)
		}
	}
	if h.self.Storage {
		ready = append(ready, h.self.Name)
	}
	slices.Sort(ready)
	slices.Sort(names)
	p := h.id.Promised
	h.mu.Unlock()

	if p != nil && p.By != h.self.Name {
		return false, fmt.Sprintf("waiting for %s, which founds cluster %s", p.By, p.Cluster), nil
	}
	if len(ready) < h.cfg.Expect && p == nil {
		wait = fmt.Sprintf("waiting for %d more of %d nodes with storage", h.cfg.Expect-len(ready), h.cfg.Expect)
		if len(names) > 0 {
			wait += "; here are " + h.self.Name + ", " + strings.Join(names, ", ")
		}
		if len(names) == 0 && len(silent) == 0 {
			wait += ": start them with --join " + h.self.Lobby
		}
		return false, strings.Join(append([]string{wait}, silent...), "; "), nil
	}
	if ready[0] != h.self.Name && p == nil {
		return false, fmt.Sprintf("waiting for %s to found the cluster", ready[0]), nil
	}
	if p == nil {
		p = &proposal{Cluster: draw(8), Secret: draw(16), By: h.self.Name}
		h.mu.Lock()
		for _, name := range ready[:h.cfg.Expect] {
			if name == h.self.Name {
				p.Members = append(p.Members, h.self)
			} else {
				p.Members = append(p.Members, h.fresh[name].place)
			}
		}
		h.id.Promised = p
		err := h.id.save(h.cfg.Dir)
		h.mu.Unlock()
		if err != nil {
			return false, "", err
		}
	}
	return h.propose(ctx, p)
}

func (h *host) propose(ctx context.Context, p *proposal) (done bool, wait string, err error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	h.mu.Lock()
	r := &request{Hello: h.hello(), Vote: p}
	h.mu.Unlock()
	for _, m := range p.Members {
		if m.Name == h.self.Name {
			continue
		}
		a, err := call(ctx, m.Lobby, h.certs, maxHello, r)
		if err != nil {
			return false, fmt.Sprintf("waiting for %s to found the cluster with: %v", m.Name, brief(err)), nil
		}
		if a.Refused != nil {
			// Another proposal was first. Those who gave their word take it back when
			// they see that it is gone.
			h.mu.Lock()
			h.id.Promised = nil
			err := h.id.save(h.cfg.Dir)
			h.mu.Unlock()
			return false, a.Refused.Error(), err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id.Cluster, h.id.Secret, h.id.Promised = p.Cluster, p.Secret, nil
	for _, m := range p.Members {
		h.id.meet(m)
	}
	return true, "", h.id.save(h.cfg.Dir)
}

// brief leaves out what every failed dial says.
func brief(err error) string {
	if errors.As(err, new(tls.RecordHeaderError)) {
		return "what listens there is no node"
	}
	if errors.Is(err, ErrHungUp) {
		return ErrHungUp.Error()
	}
	if errors.As(err, new(*LateError)) {
		return "no answer in time"
	}
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		return s[i+2:]
	}
	return s
}

func newHost(cfg Config, c *certs, id *identity) *host {
	return &host{cfg: cfg, certs: c, id: id, fresh: map[string]hello{}, guests: map[string]place{}, told: map[string]time.Time{}}
}

// enter makes the node part of a cluster: its own, if it has one. Then it asks
// the others whether they let it in; when none of them is there, it comes before
// them.
func (h *host) enter(ctx context.Context) error {
	h.mu.Lock()
	member := h.id.Cluster != ""
	h.mu.Unlock()
	if !member {
		return h.gather(ctx)
	}
	all := h.greet(ctx)
	for _, g := range all {
		if pastAmong(g, all) || errors.As(g.err, new(*PortError)) {
			h.cfg.Warn(g.err) // it knows where else to go
			continue
		}
		if err := h.check(g); err != nil {
			return err
		}
		if g.err == nil && g.Hello.Cluster != "" {
			h.mu.Lock()
			h.id.meet(g.Hello.place) // it may have moved
			h.mu.Unlock()
		}
	}
	return ctx.Err()
}

// open lets guests in whose names and questions can be dealt with from now on.
func (h *host) open(live func(string) (record, bool), removed func(string) bool, ask func(context.Context, *question) ([]byte, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live, h.removed, h.ask = live, removed, ask
	clear(h.fresh)
}

// meet keeps where the members are, for the next start, and when those were seen
// that were there until now.
func (n *Node) meet(known map[string]record, before []overlay.Peer) {
	h := n.host
	now := h.cfg.clock().Unix()
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := h.id.saw(before, now)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		p := known[name].place
		p.Seen = now
		changed = h.id.meet(p) || changed
	}
	h.keep(changed)
}

// settle makes peers of the guests whose servers are here: the others may have been
// refused elsewhere, and nobody is to count on them.
func (h *host) settle(here map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := false
	for _, name := range slices.Sorted(maps.Keys(h.guests)) {
		if !here[name] {
			continue
		}
		if p := h.guests[name]; h.removed == nil || !h.removed(p.Node) {
			changed = h.id.meet(p) || changed
		}
		delete(h.guests, name)
	}
	h.keep(changed)
}

// acquaint asks the others who they are by now, and whom they know.
func (h *host) acquaint(ctx context.Context) {
	changed := false
	for again := true; again; {
		again = false
		for _, g := range h.greet(ctx) {
			if h.check(g) != nil || g.err != nil || g.Refused != nil || g.Hello.Cluster == "" {
				continue
			}
			h.mu.Lock()
			changed = h.id.meet(g.Hello.place) || changed
			delete(h.guests, g.Hello.Name)
			for _, p := range g.Peers {
				if !h.knows(p.Name) {
					h.guests[p.Name], again = p, true
				}
			}
			h.mu.Unlock()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(changed)
}

// keep writes down who the peers are, if that has changed. The caller holds mu.
func (h *host) keep(changed bool) {
	if !changed {
		return
	}
	if err := h.id.save(h.cfg.Dir); err != nil {
		h.warnOnce(err)
	}
}

// knows says whether a node was met, or heard of. The caller holds mu.
func (h *host) knows(name string) bool {
	_, guest := h.guests[name]
	return guest || name == h.self.Name || slices.ContainsFunc(h.id.Peers, func(p place) bool { return p.Name == name })
}

// Acquaint asks the others who they are by now, and whom they know, so that Peers has
// those without sessions as they are. It returns the nodes that are here and that nobody
// knows more of: they joined where that was not kept.
func (n *Node) Acquaint(ctx context.Context) (strangers []string) {
	n.host.acquaint(ctx)
	here := n.routes()
	n.host.settle(here)
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if !n.host.knows(name) {
			strangers = append(strangers, name)
		}
	}
	return strangers
}
