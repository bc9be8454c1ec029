package overlay

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// keeper is a node that holds leases of a counter.
type keeper struct {
	*Holder
	name string
	c    *counter
}

func newKeeper(c *counter, name string) *keeper {
	return &keeper{NewHolder(NewKeys(Scheme{By: ByURL}, 1), 1), name, c}
}

// write takes its letters to the counter, and the answers back. It returns how many
// leases it has asked for and given back.
func (k *keeper) write() (asked, given int) {
	for _, l := range k.Letters(k.c.now) {
		if l.Ask != nil {
			asked += len(l.Ask.Wants)
			a := k.c.Ask(k.c.now, k.name, l.Ask)
			k.Answer(k.c.now, &a)
		} else {
			given += len(l.Return.Gives)
			k.c.Return(k.c.now, k.name, l.Return)
		}
	}
	return asked, given
}

func (k *keeper) want(t *testing.T, asked, given int) {
	t.Helper()
	if a, g := k.write(); a != asked || g != given {
		t.Errorf("%s asks for %d leases and gives back %d, want %d and %d", k.name, a, g, asked, given)
	}
}

// The lease of a connection is there for the next visit, until it would have to be
// renewed.
func TestConnectionsAreKept(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 1})
	a := newKeeper(c, "a")
	conn := Subject{"x.example", netip.MustParseAddr("192.0.2.1")}
	for range 2 {
		a.Want(c.now, conn, time.Second, false)
		a.want(t, 1, 0)
		a.Keep(c.now, conn)
		a.want(t, 0, 0)
		c.after(time.Second)
		a.Want(c.now, conn, time.Second, false)
		a.want(t, 0, 0)
		if _, x := a.of(conn.Host, conn.Addr); x.until < c.now.Add(3*time.Second) {
			t.Errorf("what was kept lasts until %v", x.until.Sub(c.now))
		}
		c.after(2 * time.Second)
		a.want(t, 1, 0) // it is in use, and renewed
		a.Keep(c.now, conn)
		if at := c.now.Add(MaxLease / 2); a.Next() != at {
			t.Errorf("it is looked at in %v", a.Next().Sub(c.now))
		}
		c.after(MaxLease / 2)
		a.want(t, 0, 1)
		if len(a.list) != 0 || a.kept != 0 || len(c.addrs.get(conn.Addr).slots) != 0 {
			t.Errorf("%d leases are left, %d kept", len(a.list), a.kept)
		}
	}
}

// Who keeps a connection gives it back when others want it, and nobody keeps one at that
// address for a while.
func TestConnectionsAreCalledBack(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 1})
	a, b := newKeeper(c, "a"), newKeeper(c, "b")
	addr := netip.MustParseAddr("192.0.2.1")
	one, two := Subject{"one.x.example", addr}, Subject{"two.x.example", addr}
	a.Want(c.now, one, time.Second, false)
	a.want(t, 1, 0)
	a.Keep(c.now, one)
	b.Want(c.now, two, time.Second, false)
	b.want(t, 1, 0)
	if calls := c.Calls(); len(calls) != 1 || calls[0].To != "a" || calls[0].Subject != one {
		t.Fatalf("called are %+v", calls)
	} else {
		a.Call(c.now, &calls[0].Call)
	}
	if a.Next() > c.now {
		t.Error("it keeps what others want")
	}
	a.want(t, 0, 1)
	if calls := c.called(); !slices.Equal(calls, []string{"b two.x.example"}) {
		t.Fatalf("called are %v", calls)
	}
	b.Call(c.now, &Call{Session: 1, Subject: two})
	b.want(t, 1, 0)
	b.Keep(c.now, two)
	b.want(t, 0, 1)
	c.after(sharedFor)
	a.Want(c.now, one, time.Second, false)
	a.want(t, 1, 0)
	a.Keep(c.now, one)
	a.want(t, 0, 0)

	// While it is in use it is not given back, and not kept afterwards.
	a.Want(c.now, one, time.Second, false)
	b.Want(c.now, two, time.Second, false)
	b.want(t, 1, 0)
	b.Drop(c.now, two, false, 0, 0)
	for _, x := range c.Calls() {
		a.Call(c.now, &x.Call)
	}
	a.want(t, 0, 0)
	a.Keep(c.now, one)
	a.want(t, 0, 1)
}

// A renewal that was under way when its connection was kept tells as well.
func TestKeptConnectionsAreRenewedInVain(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 1})
	a := newKeeper(c, "a")
	conn := Subject{"x.example", netip.MustParseAddr("192.0.2.1")}
	a.Want(c.now, conn, time.Second/2, false)
	a.want(t, 1, 0)
	c.after(MaxLease / 2)
	letters := a.Letters(c.now)
	a.Keep(c.now, conn)
	c.ask("b", Want{Subject: Subject{"y.example", conn.Addr}})
	answer := c.Ask(c.now, "a", letters[0].Ask)
	a.Answer(c.now, &answer)
	if s := a.Sought(); len(s) != 0 {
		t.Errorf("%v is sought, which nobody uses", s)
	}
	a.want(t, 0, 1)
}

// What would not be used before it is to be renewed is not kept, nor what others use as
// well, nor more than a few.
func TestConnectionsAreNotKept(t *testing.T) {
	for _, x := range []struct {
		name string
		wait time.Duration
		also string // is asked for at the address
	}{
		{"a long wait", MaxLease / 2, ""},
		{"another domain", time.Second, "other.test"},
		{"many domains", time.Second, "*"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 2})
			a := newKeeper(c, "a")
			conn := Subject{"x.example", netip.MustParseAddr("192.0.2.1")}
			if x.also != "" {
				c.ask("b", Want{Subject: Subject{"b." + x.also, conn.Addr}, Many: x.also == "*"})
			}
			a.Want(c.now, conn, x.wait, false)
			a.want(t, 1, 0)
			a.Keep(c.now, conn)
			a.want(t, 0, 1)
		})
	}
	c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 1})
	a := newKeeper(c, "a")
	for i := range maxKept + 3 {
		conn := Subject{fmt.Sprint("h", i, ".example"), netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})}
		a.Want(c.now, conn, time.Second, false)
		a.write()
		a.Keep(c.now, conn)
	}
	if a.write(); a.kept != maxKept || len(a.list) != maxKept {
		t.Errorf("%d of %d are kept", a.kept, len(a.list))
	}
}

// Who has been told to give an address back is not told again, and a renewal says that
// others want it. That is remembered for a while, also when nobody has it.
func TestSharedAddresses(t *testing.T) {
	c := newCounter(LeaseConfig{Wait: time.Second, PerServer: 1})
	addr := netip.MustParseAddr("192.0.2.1")
	ask := func(name string, busy bool) Lease {
		return c.ask(name, Want{Subject: Subject{name + ".x.example", addr}, Busy: busy})
	}
	if l := ask("a", false); l.For == 0 || l.Shared {
		t.Fatalf("a has %+v", l)
	}
	ask("b", false)
	if calls := c.called(); !slices.Equal(calls, []string{"a a.x.example"}) {
		t.Errorf("when b has to wait, called are %v", calls)
	}
	ask("c", false)
	if calls := c.called(); len(calls) != 0 {
		t.Errorf("when c has to wait, called are %v", calls)
	}
	for _, name := range []string{"b", "c"} {
		c.back(name, Give{Subject: Subject{name + ".x.example", addr}})
	}
	if l := ask("a", true); l.For == 0 || !l.Shared || l.Others {
		t.Errorf("a renews it: %+v", l)
	}
	ask("b", false)
	if calls := c.called(); len(calls) != 0 {
		t.Errorf("a is called again: %v", calls)
	}
	for _, name := range []string{"a", "b"} {
		c.back(name, Give{Subject: Subject{name + ".x.example", addr}})
	}
	for _, x := range []struct {
		after  time.Duration
		shared bool
	}{{sharedFor - 1, true}, {1, false}} {
		c.after(x.after)
		c.forget(c.now, 10)
		if l := ask("a", false); l.Shared != x.shared {
			t.Errorf("after %v: %+v", x.after, l)
		}
		c.back("a", Give{Subject: Subject{"a.x.example", addr}})
	}
}
