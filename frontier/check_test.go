package frontier

import "weir/page"

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check holds the frontier's own books: every host is where its state says,
// heaps are heaps, and counts count.
func (f *Frontier) check(t fataler) {
	t.Helper()
	in := map[*host]state{}
	file := func(h *host, s state) {
		if was, twice := in[h]; twice || h.state != s {
			t.Fatalf("%s is in state %d, and in the lists of %d and %d (%v)", h.name, h.state, s, was, twice)
		}
		in[h] = s
	}
	checkHeap(t, "ready", &f.ready, func(h *host) { file(h, ready) })
	checkHeap(t, "timers", &f.timers, func(h *host) { file(h, resting) })
	checkHeap(t, "naps", &f.naps, func(*site) {})
	for _, h := range f.open.items[f.open.head:] {
		file(h, holding)
	}
	for _, q := range f.stall {
		for _, h := range q.items[q.head:] {
			file(h, stalled)
		}
	}
	active, called := map[*server]int{}, map[*server]int{}
	for _, srv := range f.servers {
		checkHeap(t, "waiting", &srv.waiting, func(h *host) { file(h, crowded) })
	}
	conns := 0
	for _, h := range f.hosts {
		switch _, listed := in[h]; {
		case listed != (h.state == ready || h.state == resting || h.state == holding || h.state == stalled || h.state == crowded):
			t.Fatalf("%s is in state %d and listed: %v", h.name, h.state, listed)
		case h.state == idle && h.wanted(), h.state == turning:
			t.Fatalf("%s is in state %d and forgotten", h.name, h.state)
		}
		checkHeap(t, "sites", &h.sites, func(*site) {})
		if h.conn != nil || h.errand {
			conns++
			active[h.server]++
		}
		if h.called {
			called[h.server]++
		}
	}
	for name, srv := range f.servers {
		room := f.roomOf(srv)
		switch {
		case srv.active != active[srv] || srv.called != called[srv] || srv.active+srv.called > room:
			t.Fatalf("%s: %d active, %d called of %d", name, srv.active, srv.called, room)
		case srv.waiting.len() > 0 && srv.active+srv.called < room:
			t.Fatalf("%s: %d hosts wait for room that nobody uses", name, srv.waiting.len())
		}
	}
	var warm, taken int
	var work, asleep, rules int64
	for _, s := range f.sites {
		if s.asleep {
			asleep += s.queued
		} else {
			work += s.queued
		}
		if s.napping > 0 && !s.away || s.asleep && s.away {
			t.Fatalf("%s: away %v, napping %d, asleep %v", s.name, s.away, s.napping, s.asleep)
		}
		taken += s.taken
		if s.rules != nil {
			rules += int64(s.rules.Size())
		}
		if s.away {
			work++
		}
		if s.warm {
			warm++
		}
		if s.warm != (s.rules != nil || len(s.live()) > 0) || (s.placed > 0) != (s.queued > 0 && !s.away && !s.asleep) {
			t.Fatalf("%s: warm %v, placed %d, queued %d, away %v", s.name, s.warm, s.placed, s.queued, s.away)
		}
		if s.complete && int64(len(s.live())) != s.queued || len(s.live()) > f.cfg.Window {
			t.Fatalf("%s: %d in the window, %d queued", s.name, len(s.live()), s.queued)
		}
		for i, e := range s.live() {
			_, out := f.taken[page.Key{Site: s.id, Hash: e.Hash}]
			if out || e.Place.Before(s.low) || i > 0 && !s.live()[i-1].Place.Before(e.Place) {
				t.Fatalf("%s: entry %d of the window is out of place", s.name, i)
			}
		}
	}
	if asleep != f.asleep || rules != f.rules {
		t.Fatalf("%d entries are asleep, counted %d; rules of %d bytes, counted %d", asleep, f.asleep, rules, f.rules)
	}
	if warm != f.warm || taken != len(f.taken) || work != f.work || conns != f.active || conns > f.cfg.Conns || f.drift != 0 {
		t.Fatalf("warm %d, counted %d; taken %d, %d; work %d, %d; active %d, %d; drift %d",
			warm, f.warm, taken, len(f.taken), work, f.work, conns, f.active, f.drift)
	}
}

func checkHeap[T any](t fataler, name string, h *heap[T], each func(T)) {
	t.Helper()
	for i, x := range h.items {
		if *h.place(x) != i+1 {
			t.Fatalf("%s: item %d believes it is at %d", name, i, *h.place(x)-1)
		}
		if i > 0 && h.less(x, h.items[(i-1)/4]) {
			t.Fatalf("%s: item %d comes before its parent", name, i)
		}
		each(x)
	}
}
