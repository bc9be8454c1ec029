package crawl

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
)

// hall is the desks of some nodes, a virtual clock, and messages that take a while.
type hall struct {
	t     *testing.T
	now   page.Time
	delay time.Duration
	owner func(part int) string
	names []string
	desks map[string]*Desk
	mail  []letter
	sent  int // messages
	told  map[string][]string
	hear  func(name string, ev Leased) // nil: nobody acts on it
	lost  func(from, to string, data []byte) bool
	wake  map[string]page.Time
}

type letter struct {
	at       page.Time
	from, to string
	data     []byte
}

func newHall(t *testing.T, owner string, names ...string) *hall {
	h := &hall{
		t: t, now: page.Time(time.Hour), delay: 10 * time.Millisecond, owner: func(int) string { return owner }, names: names, desks: map[string]*Desk{},
		told: map[string][]string{}, wake: map[string]page.Time{}, lost: func(string, string, []byte) bool { return false },
	}
	for _, name := range names {
		h.desks[name] = NewDesk(DeskConfig{
			Name: name, Session: 1, Keys: overlay.NewKeys(overlay.Scheme{By: overlay.ByURL}, 4), Manners: overlay.LeaseConfig{Wait: time.Second, PerServer: 1, PerCDN: 2, Domains: 2},
			Owner: func(part int) string { return h.owner(part) },
		})
	}
	for part := range 4 {
		h.desks[owner].Start(0, part)
	}
	return h
}

// run lets time pass.
func (h *hall) run(d time.Duration) {
	end := h.now.Add(d)
	for {
		next := end
		for _, name := range h.names {
			next = min(next, max(h.wake[name], h.now))
		}
		for _, m := range h.mail {
			next = min(next, m.at)
		}
		h.now = next
		for len(h.mail) > 0 && h.mail[0].at <= h.now {
			m := h.mail[0]
			h.mail = h.mail[1:]
			if err := h.desks[m.to].Hear(h.now, m.from, m.data); err != nil {
				h.t.Fatal(err)
			}
			h.wake[m.to] = h.now
		}
		for _, name := range h.names {
			if h.wake[name] <= h.now { // as a driver does, not whenever something happens
				h.step(name)
			}
		}
		if h.now >= end {
			return
		}
	}
}

func (h *hall) step(name string) {
	sends, told, next := h.desks[name].Step(h.now)
	for _, x := range sends {
		h.sent++
		if !h.lost(name, x.To, x.Data) {
			h.mail = append(h.mail, letter{h.now.Add(h.delay), name, x.To, x.Data})
			slices.SortStableFunc(h.mail, func(a, b letter) int { return cmp.Compare(a.at, b.at) }) // delays may differ
		}
	}
	for _, ev := range told {
		if h.hear != nil {
			h.hear(name, ev)
		}
		text := fmt.Sprintf("%s in %v", ev.Host, ev.In)
		switch {
		case ev.Others:
			text = "others want " + ev.Host
		case ev.Waits:
			text = "others have " + ev.Host
		case !ev.Given:
			text = "no " + text
		}
		if ev.CDN {
			text += ", of a CDN"
		}
		h.told[name] = append(h.told[name], text)
	}
	h.wake[name] = next
	if next <= h.now {
		h.t.Fatalf("%s wants to be called again at once", name)
	}
}

func (h *hall) want(name, host string) {
	h.desks[name].Want(h.now, Lease{Host: host, Addr: deskAddr, Wait: time.Second})
	h.wake[name] = h.now
}

func (h *hall) give(name, host string, used bool, rest time.Duration) {
	h.desks[name].Give(h.now, Return{Host: host, Used: used, Rest: rest})
	h.wake[name] = h.now
}

// heard checks what an Engine was told since the last time.
func (h *hall) heard(name string, want ...string) {
	h.t.Helper()
	if got := h.told[name]; !slices.Equal(got, want) {
		h.t.Errorf("%s was told %q, want %q", name, got, want)
	}
	h.told[name] = nil
}

var deskAddr = netip.MustParseAddr("192.0.2.1")

const deskHost = "www.example.org"

// One node has leave at a time, whoever grants it; a request needs it, and must end
// with it.
func TestDeskGivesLeaveToOne(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	h.want("b", deskHost)
	h.run(time.Second / 10)
	h.heard("b", "www.example.org in 0s")
	h.want("a", deskHost)
	h.want("c", deskHost)
	h.run(time.Second)
	h.heard("a", "others have www.example.org")
	h.heard("c", "others have www.example.org")
	for name, want := range map[string]bool{"a": false, "b": true, "c": false} {
		if h.desks[name].May(h.now, deskHost, deskAddr) != want {
			t.Errorf("%s may ask: %v", name, !want)
		}
	}
	if until := h.desks["b"].Until(deskHost, deskAddr); until <= h.now || until > h.now.Add(overlay.MaxLease) {
		t.Errorf("b may ask until %v from now on", until.Sub(h.now))
	}
	h.run(6 * time.Second) // nobody else gets it as long as it is asked
	if h.heard("b", "others want www.example.org"); !h.desks["b"].May(h.now, deskHost, deskAddr) {
		t.Error("a request that is under way is not covered")
	}
}

// Leave that does not come is given up, and the Engine asks again when it is told to.
func TestDeskGivesUp(t *testing.T) {
	h := newHall(t, "a", "a", "b")
	h.want("a", deskHost)
	h.run(time.Millisecond)
	h.desks["a"].May(h.now, deskHost, deskAddr)
	h.want("b", deskHost)
	h.run(linePatience - time.Millisecond)
	h.heard("b", "others have www.example.org")
	h.run(time.Millisecond)
	h.heard("b", "no www.example.org in 1s")
	h.run(time.Minute)
	h.heard("b")
}

// A partition that nobody owns grants nothing, nor does a message that cannot be read.
func TestDeskWithoutAnOwner(t *testing.T) {
	h := newHall(t, "a", "a")
	h.owner = func(int) string { return "" }
	h.want("a", deskHost)
	h.run(4 * time.Second)
	h.heard("a", "no www.example.org in 1s")
	if err := h.desks["a"].Hear(h.now, "b", []byte("?")); err == nil {
		t.Error("any bytes are a message")
	}
}

// What is given back serves the next, when the host has rested.
func TestDeskHandsOver(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	h.want("b", deskHost)
	h.run(time.Second / 10)
	h.give("b", deskHost, true, time.Second)
	h.run(time.Second / 2)
	h.want("c", deskHost)
	h.run(time.Second / 2)
	h.heard("b", "www.example.org in 0s")
	h.heard("c", "www.example.org in 80ms")
}

// Who waits hears at once that it is free, and who has it that somebody waits.
func TestDeskCallsWhoWaits(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	h.want("b", deskHost)
	h.run(time.Second / 10)
	h.heard("b", "www.example.org in 0s")
	h.want("c", deskHost)
	h.run(2700 * time.Millisecond)
	h.heard("b", "others want www.example.org")
	h.heard("c", "others have www.example.org")
	h.give("b", deskHost, true, time.Second)
	h.run(time.Second)
	h.heard("c", "www.example.org in 80ms")
}

// Who waits for an address has its host, and hears that others wait for that when it
// can do something about it.
func TestDeskRemembersWhoSeeks(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	const other = "other.example.org"
	h.want("c", other)
	h.run(time.Second / 10)
	h.heard("c", "other.example.org in 0s")
	h.desks["c"].May(h.now, other, deskAddr)
	h.want("b", deskHost)
	h.run(time.Second / 10)
	h.want("a", deskHost)
	h.run(6 * time.Second)
	h.heard("b", "others have www.example.org")
	h.desks["c"].Over(other, deskAddr)
	h.give("c", other, true, time.Second)
	h.run(time.Second / 10)
	h.heard("b", "www.example.org in 0s", "others want www.example.org")
}

// A host that rests for longer than anybody waits is not asked for until then.
func TestDeskComesBackLater(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	h.want("b", deskHost)
	h.run(time.Second / 10)
	h.heard("b", "www.example.org in 0s")
	h.give("b", deskHost, true, time.Hour)
	h.run(time.Second / 10)
	h.want("c", deskHost)
	was := h.sent
	h.run(time.Minute)
	h.heard("c", "no www.example.org in 59m59.4s")
	if n := h.sent - was; n > 8 {
		t.Errorf("%d messages about a host that rests", n)
	}
}

// That a host wants to be left alone is heard though messages are lost, and by who
// owns its partition next.
func TestDeskTellsOfRestsUntilHeard(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	h.want("b", deskHost)
	h.run(time.Second / 10)
	h.heard("b", "www.example.org in 0s")
	h.lost = func(from, to string, data []byte) bool { return from == "b" }
	h.give("b", deskHost, true, time.Hour)
	h.run(10 * time.Second)
	h.lost = func(string, string, []byte) bool { return false }
	h.run(2 * time.Second)
	h.want("c", deskHost)
	h.run(time.Second)
	h.heard("c", "no www.example.org in 59m47.5s")
	for part := range 4 {
		h.desks["a"].Stop(part)
		h.desks["c"].Start(h.now, part)
	}
	h.owner = func(int) string { return "c" }
	h.run(10 * time.Second)
	was := h.sent
	h.want("c", deskHost)
	h.run(time.Second)
	h.heard("c", "no www.example.org in 59m36.51s")
	if h.sent != was {
		t.Errorf("%d messages of what has long been heard", h.sent-was)
	}
}

// That an address serves many domains is found by all nodes together, and told them.
func TestDeskTellsOfCDNs(t *testing.T) {
	h := newHall(t, "a", "a", "b", "c")
	h.want("b", "www.one.example")
	h.run(time.Second / 10)
	h.heard("b", "www.one.example in 0s")
	h.want("c", "www.two.example")
	h.run(time.Second / 10)
	h.heard("c", "others have www.two.example")
	h.want("b", "www.three.example")
	h.run(time.Second / 10)
	h.heard("c", "www.two.example in 0s, of a CDN")
	h.run(4 * time.Second)
	h.heard("b", "others have www.three.example, of a CDN", "others want www.one.example")
}

// keeping is a hall in which a owns a host, and b its address.
func keeping(t *testing.T) *hall {
	h := newHall(t, "b", "a", "b")
	keys := h.desks["a"].cfg.Keys
	own := keys.HostPart(deskHost)
	if own == keys.AddrPart(deskAddr) {
		t.Fatal("the host and its address are in one partition")
	}
	h.desks["b"].Stop(own)
	h.desks["a"].Start(0, own)
	h.owner = func(part int) string {
		if part == own {
			return "a"
		}
		return "b"
	}
	return h
}

// visit lets a node that has leave use it, and give it back.
func (h *hall) visit(name string, rest time.Duration) {
	h.t.Helper()
	if !h.desks[name].May(h.now, deskHost, deskAddr) {
		h.t.Fatalf("%s may not visit", name)
	}
	h.desks[name].Over(deskHost, deskAddr)
	h.give(name, deskHost, true, rest)
}

// The connection to a host that the node owns is there for its next visit, and nobody is
// asked for it again.
func TestDeskKeepsConnections(t *testing.T) {
	for _, x := range []struct {
		name string
		used bool
		rest time.Duration
		also string // is at the same address
		kept bool
	}{
		{"soon", true, time.Second, "", true},
		{"late", true, 4 * time.Second, "", false},
		{"not used", false, 0, "", false},
		{"another domain", true, time.Second, "two.test", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := keeping(t)
			if x.also != "" {
				h.desks["b"].Want(h.now, Lease{Host: x.also, Addr: deskAddr, Wait: time.Second})
				h.wake["b"] = h.now
				h.run(time.Second)
				h.give("b", x.also, true, 0)
				h.run(time.Second)
			}
			h.want("a", deskHost)
			h.run(50 * time.Millisecond)
			h.heard("a", deskHost+" in 0s")
			h.sent = 0
			if x.used {
				h.visit("a", x.rest)
			} else {
				h.give("a", deskHost, false, x.rest)
			}
			h.run(1100 * time.Millisecond)
			if kept := h.sent == 0; kept != x.kept {
				t.Fatalf("%d messages: kept is %v", h.sent, kept)
			}
			if !x.kept {
				return
			}
			h.want("a", deskHost)
			h.run(10 * time.Millisecond)
			h.heard("a", deskHost+" in 0s")
			h.visit("a", x.rest)
			if h.run(3 * time.Second); h.sent != 1 {
				t.Errorf("%d messages give it back", h.sent)
			}
		})
	}
}

// A host that has to rest is granted a while before. Its connection is only kept until
// then: who wants the address has it, and nobody is told that the host may be visited.
func TestDeskGivesNothingThatIsKept(t *testing.T) {
	h := newHall(t, "a", "a", "b")
	h.want("a", deskHost)
	h.run(50 * time.Millisecond)
	h.heard("a", deskHost+" in 0s")
	h.visit("a", 2*time.Second)
	h.run(1500 * time.Millisecond)
	h.want("a", deskHost)
	h.run(20 * time.Millisecond)
	h.heard("a")
	h.run(500 * time.Millisecond)
	h.heard("a", deskHost+" in 100ms")
	h.run(100 * time.Millisecond)
	if !h.desks["a"].May(h.now, deskHost, deskAddr) {
		t.Fatal("it may not visit what it was given")
	}
	const two = "two.example.org"
	h.desks["b"].Want(h.now, Lease{Host: two, Addr: deskAddr, Wait: time.Second})
	h.wake["b"] = h.now
	for range 12 {
		h.run(100 * time.Millisecond)
		if h.desks["b"].May(h.now, two, deskAddr) {
			t.Fatal("two connections, and one is allowed")
		}
	}
}
