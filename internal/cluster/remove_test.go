package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"weir/overlay"
)

// Who was taken out by hand was not away for long.
func TestRemovedByHand(t *testing.T) {
	for away, want := range map[time.Duration]string{time.Hour: "c was taken out", 1 << 62: "c was taken out", 25 * time.Hour: "c has stayed away for more than 24 hours"} {
		if got := (&RemovedError{"c", away, 24 * time.Hour}).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", away, got)
		}
	}
}

// A node that stays away for too long is taken out, and all who are there say so, once;
// also by a leader who has never heard of it.
func TestNodeThatStaysAwayIsRemoved(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]bool{"by a leader that knew it": false, "by another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			staysAway(t, another)
		})
	}
}

func staysAway(t *testing.T, another bool) {
	w := newWorld(t)
	w.tune = func(c *Config) { c.Forget = time.Second }
	warn := map[string]*warnings{}
	nodes := w.three(warn)
	cfg := w.config("d")
	warn["d"] = new(warnings)
	cfg.Join, cfg.Warn = []string{nodes["a"].Addr()}, warn["d"].add
	nodes["d"] = w.open(cfg)
	w.Until("all see all, and what is new from then on", func() bool {
		for _, n := range nodes {
			n.owners.mu.Lock()
			whole := n.owners.whole // who is still reading takes it for old
			n.owners.mu.Unlock()
			if !whole || len(n.members.all()) != 4 {
				return false
			}
		}
		return true
	})
	nodes["c"].kill()
	delete(nodes, "c")
	if another {
		w.depose(nodes)
	}
	removed := func(err error) bool {
		var r *RemovedError
		return errors.As(err, &r) && r.Node == "c" // who has dropped it already no longer knows for how long it was away
	}
	w.Until("c is removed, and all say so", func() bool {
		said := 0
		for name, n := range nodes {
			n.health.forget(w.ctx) // as every minute
			if warn[name].any(removed) {
				said++
			}
		}
		return said == len(nodes)
	})
	for name, n := range nodes {
		if slices.ContainsFunc(n.Peers(), func(p PeerStatus) bool { return p.Name == "c" }) {
			t.Errorf("%s lists c", name)
		}
		n.owners.mu.Lock()
		n.owners.again() // it reads all anew
		n.owners.mu.Unlock()
	}
	if _, err := Open(w.ctx, w.config("c")); !refusedFor(Removed)(err) {
		t.Errorf("c comes back: %v", err)
	}
	// Whoever comes later has nothing to do about it.
	cfg = w.config("e")
	warn["e"] = new(warnings)
	cfg.Join, cfg.Warn, cfg.Storage = []string{nodes["a"].Addr()}, warn["e"].add, false
	e := w.open(cfg)
	w.Until("e knows that c was removed", func() bool {
		e.owners.mu.Lock()
		defer e.owners.mu.Unlock()
		return len(e.owners.told) == 1
	})
	for name, all := range warn {
		all.mu.Lock()
		n := len(slices.DeleteFunc(slices.Clone(all.all), func(err error) bool { return !removed(err) }))
		all.mu.Unlock()
		if want := map[bool]int{true: 1}[nodes[name] != nil]; n != want {
			t.Errorf("%s says so %d times", name, n)
		}
	}
}

// depose has another of the nodes lead the cluster.
func (w *world) depose(nodes map[string]*Node) {
	w.t.Helper()
	leader := func() string {
		for name, n := range nodes {
			if info, err := n.srv.Jsz(nil); err == nil && info.Meta != nil && info.Meta.Leader == name {
				return name
			}
		}
		return ""
	}
	w.Until("one of those who are left leads", func() bool { return leader() != "" })
	was := leader()
	w.Until("another one leads", func() bool {
		now := leader()
		if now == was {
			_, _ = nodes[was].sys.Request(server.JSApiLeaderStepDown, nil, time.Second) // or again
		}
		return now != was && now != ""
	})
}

// The power fails, and one node does not come back: those that do have servers which have
// never heard of its server. It is taken out all the same.
func TestNodeThatNobodyHasMetIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nodes := w.three(nil)
	cfg := w.config("d")
	cfg.Join = []string{nodes["a"].Addr()}
	nodes["d"] = w.open(cfg)
	w.Until("all have met", func() bool {
		for _, n := range nodes {
			if len(n.members.all()) != 4 {
				return false
			}
		}
		return true
	})
	was := map[string]place{}
	for name, n := range nodes {
		if id := peerID(name); id != n.srv.Node() {
			t.Errorf("the server of %s is %s to others, not %s", name, n.srv.Node(), id)
		}
		was[name] = n.host.self
		n.kill()
	}
	w.tune = func(c *Config) { c.Listen, c.Routes = was[c.Name].Lobby, was[c.Name].Routes } // where the others look for it
	nodes = w.together(nil, "a", "b", "d")
	peers := func() (list []*server.PeerInfo) {
		for name, n := range nodes {
			if info, err := n.srv.Jsz(nil); err == nil && info.Meta != nil && info.Meta.Leader == name {
				list = info.Meta.Replicas
			}
		}
		return list
	}
	w.Until("one leads, and misses one without a name", func() bool {
		return slices.ContainsFunc(peers(), func(p *server.PeerInfo) bool { return checkName(p.Name) != nil })
	})
	w.Until("the logs say who is missing", func() bool {
		return slices.ContainsFunc(nodes["a"].logs(), func(l LogStatus) bool { return slices.Contains(l.Missing, "c") }) ||
			slices.ContainsFunc(nodes["b"].logs(), func(l LogStatus) bool { return slices.Contains(l.Missing, "c") }) ||
			slices.ContainsFunc(nodes["d"].logs(), func(l LogStatus) bool { return slices.Contains(l.Missing, "c") })
	})
	w.Until("c is removed", func() bool {
		err := w.agreed(func() error { return nodes["a"].RemovePeer(w.ctx, "c") })
		if err != nil && !strings.Contains(err.Error(), ErrSoon.Error()) {
			t.Fatal(err)
		}
		return err == nil
	})
	w.Until("two follow who leads", func() bool { return len(peers()) == 2 })
}

// A node without sessions, as where there is no crawl, is not taken out because the one
// that leads now has never heard of it.
func TestStrayed(t *testing.T) {
	const forget = 24 * time.Hour
	for _, c := range []struct {
		active, missed, away time.Duration
		want                 bool
	}{
		{active: forget, missed: time.Minute, away: forget, want: true},
		{active: time.Hour, missed: forget, away: forget},
		{active: forget, missed: forget, away: time.Hour},
		{active: 0, missed: 3 * time.Minute, away: 1 << 62},
		{active: 0, missed: forget, away: 1 << 62, want: true},
		{active: 0, missed: forget, away: time.Hour},
	} {
		if got := strayed(&server.PeerInfo{Offline: true, Active: c.active}, c.missed, c.away, forget); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestWhoMayBeRemoved(t *testing.T) {
	well := func(names ...string) (out []server.PeerInfo) {
		for _, n := range names {
			out = append(out, server.PeerInfo{Name: n, Current: true})
		}
		return out
	}
	lost := server.PeerInfo{Name: "x", Offline: true}
	behind := server.PeerInfo{Name: "y"}
	for _, c := range []struct {
		what  string
		name  string
		at    presence
		peers []server.PeerInfo
		want  string
	}{
		{"two are left, and one has come", "x", gone, append(well("late"), lost), "not removed yet: c has come a moment ago"},
		{"three are left", "x", gone, append(well("b", "c"), lost), ""},
		{"two are left", "x", gone, append(well("y"), lost), "add one first"},
		{"one is behind", "x", gone, append(well("b", "c"), lost, behind), "not removed yet: of the others y must come"},
		{"it answers", "x", here, append(well("b", "c"), lost), "alive"},
		{"it has a session", "x", fading, append(well("b", "c"), lost), ErrSoon.Error()},
		{"its server is missed by few", "e", gone, append(well("b", "c"), server.PeerInfo{Name: "e", Active: time.Second}), ErrSoon.Error()},
		{"who leads has never heard of its server", "d", gone, well("b", "c", "d"), ""},
		{"its server was not heard of for long", "e", gone, append(well("b", "c"), server.PeerInfo{Name: "e", Active: overlay.TTL}), ""},
		{"it leads", "a", here, well("b", "c", "d"), "alive"},
		{"it is unknown", "z", gone, well("b", "c", "d"), "no node of that name"},
	} {
		storing := []string{"a"}
		for _, p := range c.peers {
			if storing = append(storing, p.Name); p.Name == "late" {
				storing = append(storing, "c") // who leads does not count it yet
			}
		}
		err := removable(c.name, Config{Name: "a", Replicas: 3, ttl: overlay.TTL}, c.at, c.peers, storing)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrKeep) && !errors.Is(err, ErrSoon) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
