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
		name  string
		queue int64 // pages of it that are not loaded
		drop  bool
		room  Room
		want  bool
	}{
		{"there is no room", 0, false, Room{}, false},
		{"there is none for long", 0, false, Room{Rest: true}, true},
		{"its host is another's", 0, true, Room{}, true},
		{"it waits for its queue", 9, false, Room{}, false},
		{"it waits for its queue, and is another's", 9, true, Room{}, true},
	} {
		f := New(Config{Order: Length{}, PerConn: 3, Conns: 4, PerServer: 1, Hot: 8, Proxy: true, NoRobots: true, Window: 8})
		f.Add(1, Known{ID: 1, Name: "http://a.d.org", Queued: c.queue})
		one := Entry{Hash: 7, Rest: "/", Place: Length{}.Place(0, 0, 2)}
		if c.queue > 0 {
			p, ok := f.Next(1, ample)
			if !ok || p.Kind != Load {
				t.Fatalf("%+v, %v", p, ok)
			}
			f.Loaded(1, Batch{Site: 1, From: p.From, Entries: []Entry{one}, More: true})
		} else {
			f.Push(1, 1, one)
			f.Push(1, 1, Entry{Hash: 8, Rest: "/8", Place: Length{}.Place(0, 0, 2)})
		}
		p, ok := f.Next(2, ample)
		if !ok || p.Kind != Fetch || !p.Open || p.Last {
			t.Fatalf("%+v, %v", p, ok)
		}
		f.Done(3, Visit{Host: p.Host, Site: 1, Outcome: page.OK, KeepAlive: true})
		f.Settled(page.Key{Site: 1, Hash: p.Entry.Hash})
		if p, ok := f.Next(3, Room{Fetch: int(c.queue)}); ok { // what could be fetched is not loaded
			t.Fatalf("%s: %+v without room", c.name, p)
		}
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
