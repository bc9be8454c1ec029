package frontier

import (
	"testing"

	"weir/page"
)

// ample is room for anything.
var ample = Room{Fetch: 9, Load: 9, Resolve: 9, Settle: 9}

// TestIdleConnectionsAreClosed: an open connection waits for room, but not where that may
// take long, and not where its host is another node's: that may be about to open one.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for _, c := range []struct {
		name string
		drop bool
		room Room
		want bool
	}{
		{"there is no room", false, Room{}, false},
		{"there is none for long", false, Room{Rest: true}, true},
		{"its host is another's", true, Room{}, true},
	} {
		f := New(Config{Order: Length{}, PerConn: 3, Conns: 4, PerServer: 1, Hot: 8, Proxy: true, NoRobots: true, Window: 8})
		f.Add(1, Known{ID: 1, Name: "http://a.d.org"})
		for i := range uint64(3) {
			f.Push(1, 1, Entry{Hash: i + 7, Rest: "/", Place: Length{}.Place(0, 0, 2)})
		}
		p, ok := f.Next(2, ample)
		if !ok || p.Kind != Fetch || !p.Open || p.Last {
			t.Fatalf("%+v, %v", p, ok)
		}
		f.Done(3, Visit{Host: p.Host, Site: 1, Outcome: page.OK, KeepAlive: true})
		f.Settled(page.Key{Site: 1, Hash: p.Entry.Hash})
		if c.drop {
			f.Drop([]uint16{0})
		}
		p, ok = f.Next(4, c.room)
		if ok != c.want || ok && (p.Kind != Close || p.Host != "a.d.org") {
			t.Errorf("%s: %+v, %v", c.name, p, ok)
		}
		if more, ok := f.Next(4, c.room); ok {
			t.Errorf("%s, then: %+v", c.name, more)
		}
	}
}
