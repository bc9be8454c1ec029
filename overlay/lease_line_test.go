package overlay

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/page"
)

// counter is a granter that owns everything, and some nodes that ask it.
type counter struct {
	*Granter
	now page.Time
	ids map[string]uint64
}

func newCounter(cfg LeaseConfig) *counter {
	c := &counter{Granter: NewGranter(NewKeys(Scheme{By: ByURL}, 1), cfg), now: page.Time(time.Hour), ids: map[string]uint64{}}
	c.Start(0, 0)
	return c
}

func (c *counter) ask(from string, w Want) Lease {
	c.ids[from]++
	return c.Ask(c.now, from, &Ask{Session: 1, ID: c.ids[from], Wants: []Want{w}}).Leases[0]
}

func (c *counter) back(from string, g Give) bool {
	c.ids[from]++
	return c.Return(c.now, from, &Return{Session: 1, ID: c.ids[from], Gives: []Give{g}})
}

// called returns who was called since the last time.
func (c *counter) called() (names []string) {
	for _, x := range c.Calls() {
		names = append(names, fmt.Sprint(x.To, " ", x.Subject.Host))
	}
	return names
}

func (c *counter) after(d time.Duration) { c.now = c.now.Add(d) }

// Who comes first to a host that another one has gets it next, and is called when it
// is free; who has just had it waits in line as well.
func TestHostsAreGrantedInTurn(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 1})
	host := Subject{Host: "a.example"}
	want := Want{Subject: host, Wait: time.Second}
	if l := c.ask("x", want); l.For != MaxLease || l.Wait != 0 {
		t.Fatalf("x: %+v", l)
	}
	for _, name := range []string{"y", "z"} {
		if l := c.ask(name, want); l.For != 0 || l.Wait > Patience {
			t.Fatalf("%s: %+v", name, l)
		}
	}
	if got := c.called(); got != nil {
		t.Fatalf("called %v while x has it", got)
	}
	c.back("x", Give{Subject: host, Used: true})
	if got := c.called(); !slices.Equal(got, []string{"y a.example"}) {
		t.Fatalf("called %v", got)
	}
	if l := c.ask("z", want); l.For != 0 {
		t.Errorf("z is before its turn: %+v", l)
	}
	if l := c.ask("x", want); l.For != 0 {
		t.Errorf("x has it again at once: %+v", l)
	}
	if got := c.called(); got != nil {
		t.Errorf("called %v again", got)
	}
	if l := c.ask("y", want); l.For != MaxLease || l.Wait != time.Second {
		t.Fatalf("y: %+v", l)
	}
	// z gives up while it waits: x is next.
	c.back("z", Give{Subject: host})
	c.after(time.Second)
	c.back("y", Give{Subject: host, Used: true})
	if got := c.called(); !slices.Equal(got, []string{"x a.example"}) {
		t.Fatalf("called %v", got)
	}
	// The Call is lost, and x as well: that costs z a second.
	if l := c.ask("z", want); l.For != 0 {
		t.Fatalf("z: %+v", l)
	}
	c.after(leaseEarly/2 + askAgain)
	if l := c.ask("z", want); l.For != MaxLease {
		t.Errorf("z waits for one that has gone: %+v", l)
	}
}

// Nobody waits in line who would have to for long.
func TestLongLinesAreNotStoodIn(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: 2 * time.Second, PerServer: 1})
	want := Want{Subject: Subject{Host: "a.example"}}
	c.ask("x", want)
	for i, wait := range []time.Duration{callAgain, 3500 * time.Millisecond, 3500 * time.Millisecond} {
		if l := c.ask(fmt.Sprint("y", i), want); l.For != 0 || l.Wait != wait {
			t.Errorf("number %d is to wait for %v, want %v", i, l.Wait, wait)
		}
	}
	slow := Want{Subject: Subject{Host: "b.example"}, Wait: time.Minute}
	c.ask("x", slow)
	if l := c.ask("y", slow); l.For != 0 || l.Wait < 50*time.Second {
		t.Errorf("of a host that is asked once a minute: %+v", l)
	}
}

// An address has as many connections as on one node, whoever they are of: few, until it
// serves many domains, and then more. Whatever falls free goes to who waits.
func TestAddressesOfCDNs(t *testing.T) {
	c := newCounter(LeaseConfig{PerServer: 4, PerCDN: 32, Domains: 50})
	addr := netip.MustParseAddr("192.0.2.1")
	want := func(i int) Want { return Want{Subject: Subject{fmt.Sprintf("www.site%d.example", i), addr}} }
	node := func(i int) string { return string(rune('a' + i%3)) }
	granted := map[int]bool{}
	for i := range 50 {
		l := c.ask(node(i), want(i))
		if granted[i] = l.For > 0; l.Many {
			t.Fatalf("%d domains make a CDN", i+1)
		}
	}
	count := func() (n int) {
		for _, is := range granted {
			if is {
				n++
			}
		}
		return n
	}
	if n := count(); n != 4 {
		t.Fatalf("an address of few domains has %d connections", n)
	}
	if l := c.ask("c", Want{Subject: Subject{"other.site7.example", addr}}); l.Many {
		t.Fatal("a second host of a domain counts as another")
	}
	if l := c.ask("a", want(50)); !l.Many {
		t.Fatal("51 domains make no CDN")
	}
	for i := range 80 {
		if l := c.ask(node(i), want(i)); l.For > 0 {
			granted[i] = true
		}
	}
	// Those in line come first, and are called.
	for range 3 {
		for _, x := range c.Calls() {
			var i int
			fmt.Sscanf(x.Subject.Host, "www.site%d.example", &i)
			if l := c.ask(x.To, Want{Subject: x.Subject}); l.For > 0 {
				granted[i] = true
			}
		}
	}
	if n := count(); n > 32 || n < 28 {
		t.Errorf("an address of many domains has %d connections", n)
	}
	// Another owner is told by whoever knows.
	other := newCounter(LeaseConfig{PerServer: 1, PerCDN: 2, Domains: 50})
	w := want(0)
	w.Many = true
	if l := other.ask("a", w); l.For == 0 || !l.Many {
		t.Errorf("the first: %+v", l)
	}
	if l := other.ask("b", want(1)); l.For == 0 || !l.Many {
		t.Errorf("the second: %+v", l)
	}
	if l := other.ask("c", want(2)); l.For != 0 {
		t.Errorf("the third: %+v", l)
	}
}

// How long a host wants to be left alone is told until it was heard, and to a new
// owner of its partition too. It does not give a lease back that is held since.
func TestLongRestsAreTold(t *testing.T) {
	keys := NewKeys(Scheme{By: ByURL}, 1)
	h := NewHolder(keys, 1)
	host := Subject{Host: "a.example"}
	now := page.Time(time.Hour)
	told := func() (rests []time.Duration, id uint64) {
		for _, l := range h.Letters(now) {
			if l.Return != nil {
				for _, g := range l.Return.Gives {
					if !g.Sure || !g.Used {
						t.Errorf("returned %+v", g)
					}
					rests, id = append(rests, g.Rest), l.Return.ID
				}
			}
		}
		return rests, id
	}
	h.Want(now, host, time.Second, false)
	told()
	h.Drop(now, host, true, now, time.Hour)
	for i := range 3 {
		if got, _ := told(); !slices.Equal(got, []time.Duration{time.Hour - time.Duration(i)*askAgain}) {
			t.Fatalf("told %v", got)
		}
		if h.Next() != now.Add(askAgain) {
			t.Fatalf("to be told again in %v", h.Next().Sub(now))
		}
		now = now.Add(askAgain)
	}
	_, id := told()
	h.Answer(now, &Answer{Session: 1, ID: id})
	now = now.Add(time.Minute)
	if got, _ := told(); got != nil || h.Next() != notHere {
		t.Fatalf("told %v though it was heard", got)
	}
	h.Moved(now, 0)
	if got, _ := told(); len(got) != 1 || got[0] > time.Hour-time.Minute {
		t.Fatalf("a new owner is told %v", got)
	}
	h.Want(now, host, time.Second, false)
	now = now.Add(askAgain)
	if got, _ := told(); got != nil {
		t.Fatalf("told %v while it is wanted again", got)
	}
	h.Moved(now, 0)
	if got, _ := told(); got != nil {
		t.Fatalf("told %v to a new owner while it is wanted again", got)
	}
	// A usual rest is not worth it: the granter reckons with it anyway.
	other := Subject{Host: "b.example"}
	h.Want(now, other, time.Second, false)
	h.Letters(now)
	h.Drop(now, other, true, now, time.Second)
	for _, l := range h.Letters(now) {
		if l.Return != nil && l.Return.Gives[0].Sure {
			t.Errorf("returned %+v", l.Return)
		}
	}
}

// A host that has answered slowly once is visited as often as ever when it answers fast
// again: how long a node waits counts as it has said last. That of another counts, too,
// for as long as it may come back; and a crawl-delay for as long as the host is
// remembered.
func TestWaitsShrink(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: 50 * time.Millisecond, PerServer: 1})
	host := Subject{Host: "a.example"}
	visit := func(from string, asks, rests time.Duration) {
		t.Helper()
		l := c.ask(from, Want{Subject: host, Wait: asks})
		if l.For == 0 && l.Wait > 0 {
			c.after(l.Wait)
			rests -= l.Wait
			l = c.ask(from, Want{Subject: host, Wait: asks})
		}
		if l.For == 0 || l.Wait != rests {
			t.Fatalf("%s, whose waits are %v, is given %+v, want it in %v", from, asks, l, rests)
		}
		c.after(l.Wait)
		c.back(from, Give{Subject: host, Used: true})
	}
	const short, slow = 50 * time.Millisecond, 2 * time.Second
	visit("x", short, 0)
	visit("x", slow, slow)
	visit("x", short, short)
	visit("y", slow, slow)
	visit("x", short, slow)
	c.after(keptFor)
	visit("x", short, 0)
	visit("x", short, short)
	c.Learn(c.now, host.Host, time.Second, 0)
	visit("x", slow, slow)
	visit("x", short, time.Second)
	c.after(keptFor)
	visit("y", short, 0)
	visit("x", short, time.Second)
}

// A node that has once had a slow answer, and then has no pages of the host any more or
// is gone, slows nobody down for good: others visit the host as often as they wait. It
// does while it may have sent a request of late, or still asks, or may have asked the
// partition's former owner.
func TestHabitsOfTheGoneAreForgotten(t *testing.T) {
	const short, slow = 6 * time.Second, 30 * time.Second
	host := Subject{Host: "a.example"}
	fast, slowly := Want{Subject: host, Wait: short}, Want{Subject: host, Wait: slow}
	for name, visit := range map[string]func(*counter){
		"returned": func(c *counter) { c.ask("y", slowly); c.back("y", Give{Subject: host, Used: true}) },
		"lapsed":   func(c *counter) { c.ask("y", slowly); c.after(MaxLease) },
		"refused":  func(c *counter) { c.ask("x", fast); c.ask("y", slowly); c.back("x", Give{Subject: host, Used: true}) },
	} {
		c := newCounter(LeaseConfig{Wait: short, PerServer: 1})
		visit(c)
		last := c.now
		var rests []time.Duration
		for len(rests) < 10 && c.now.Sub(last) < time.Minute {
			l := c.ask("x", fast)
			c.after(l.Wait)
			if l.For > 0 {
				rests, last = append(rests, c.now.Sub(last)), c.now
				c.back("x", Give{Subject: host, Used: true})
			}
		}
		if len(rests) < 10 || rests[0] < slow || rests[9] != short {
			t.Errorf("%s: x lets the host rest for %v", name, rests)
		}
	}
	// Who asks on, and has not been given it yet, is reckoned with.
	c := newCounter(LeaseConfig{Wait: short, PerServer: 1})
	c.ask("x", fast)
	c.back("x", Give{Subject: host, Used: true})
	for range 10 {
		c.after(short)
		c.ask("y", slowly)
		if l := c.ask("x", fast); l.For > 0 || l.Wait < slow-short-leaseEarly {
			t.Fatalf("x is given %+v, though y waits for %v", l, slow)
		}
		c.after(slow) // y is late
		if l := c.ask("x", fast); l.For == 0 {
			t.Fatalf("x is given %+v of a host that has rested", l)
		}
		c.back("x", Give{Subject: host, Used: true})
	}
	c.after(10 * time.Minute)
	c.Start(c.now, 0)
	if l := c.ask("x", fast); l.Wait < slow {
		t.Errorf("x is given %+v by a new owner that has known of y's %v before", l, slow)
	}
}

// Of those who were sent away until a host has rested, the one that came first has it
// next, however near another is. If it does not come back, that costs others a second.
func TestWhoWasSentAwayHasItsTurn(t *testing.T) {
	const wait = 6 * time.Second
	host := Subject{Host: "a.example"}
	want := Want{Subject: host, Wait: wait}
	c := newCounter(LeaseConfig{Wait: wait, PerServer: 1})
	// turn lets all ask until one has it, x always first, and returns which, and after how long.
	turn := func(names ...string) (string, time.Duration) {
		for since := c.now; c.now.Sub(since) < time.Minute; c.after(leaseEarly / 2) {
			for _, name := range names {
				if l := c.ask(name, want); l.For > 0 {
					c.after(l.Wait)
					c.back(name, Give{Subject: host, Used: true})
					return name, c.now.Sub(since)
				}
			}
		}
		return "nobody", time.Minute
	}
	turn("x")
	for i := range 9 {
		if name, after := turn("x", "y", "z"); name != []string{"x", "y", "z"}[i%3] || after > wait+askAgain {
			t.Fatalf("turn %d is of %s after %v", i, name, after)
		}
	}
	c.ask("x", want)
	c.ask("z", want)
	c.after(wait)
	for i, most := range []time.Duration{0, wait, wait + askAgain, wait} { // z does not come back
		if name, after := turn("y", "x"); name == "nobody" || after > most {
			t.Errorf("turn %d without z is of %s after %v", i, name, after)
		}
	}
}

// Who stands in line is not put off for one who was sent away since the line was long.
func TestLineGoesBeforeThoseSentAway(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: 2 * time.Second, PerServer: 1})
	want := Want{Subject: Subject{Host: "a.example"}}
	c.ask("x", want)
	if l := c.ask("z", want); l.Wait != callAgain {
		t.Fatalf("z does not stand in line: %+v", l)
	}
	if l := c.ask("y", want); l.Wait != 3500*time.Millisecond {
		t.Fatalf("y is to come back in %v", l.Wait)
	}
	c.after(1500 * time.Millisecond)
	c.back("x", Give{Subject: want.Subject, Used: true})
	c.after(1500 * time.Millisecond)
	if l := c.ask("z", want); l.For == 0 {
		t.Errorf("z is put off for y, who came later: %+v", l)
	}
}
