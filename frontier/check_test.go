package frontier

import (
	"reflect"

	"weir/page"
)

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
	checkRoster(t, "ready", &f.ready, func(h *host) { file(h, ready) })
	checkRoster(t, "timers", &f.timers, func(h *host) { file(h, resting) })
	napping := map[*site]bool{}
	checkHeap(t, "naps", &f.naps, func(n *nap) { napping[n.site] = true })
	for _, h := range f.open.items[f.open.head:] {
		file(h, holding)
	}
	ahead := 0
	for n, q := range f.stall {
		for _, h := range q.items[q.head:] {
			file(h, stalled)
			if h.line.conn == nil && (n == needLoad || n == needResolve) {
				ahead++
			}
		}
	}
	for _, h := range f.refused {
		file(h, refused)
	}
	for _, h := range f.granted.items[f.granted.head:] {
		file(h, granted)
	}
	active, called := map[*server]int{}, map[*server]int{}
	for _, srv := range f.servers {
		checkRoster(t, "waiting", &srv.waiting, func(h *host) { file(h, crowded) })
	}
	conns, lines, hurried, lent := 0, 0, 0, 0
	known, led := map[*host]int{}, map[*server]int{}
	for name, h := range f.hosts {
		if h.line != &f.noLine {
			lines++
			led[h.line.server]++
		}
		if f.cares[name] != nil || h.name != name {
			t.Fatalf("%s is known as %s and forgotten at once", h.name, name)
		}
		switch _, listed := in[h]; {
		case listed != (h.state == ready || h.state == resting || h.state == holding || h.state == stalled || h.state == crowded || h.state == refused || h.state == granted):
			t.Fatalf("%s is in state %d and listed: %v", h.name, h.state, listed)
		case h.state == idle && h.wanted(), h.state == turning:
			t.Fatalf("%s is in state %d and forgotten", h.name, h.state)
		}
		if h.sites.many != nil {
			checkHeap(t, "sites", h.sites.many, func(*site) {})
		}
		if h.line.conn == nil && (h.state == resolving || h.state == loading) {
			ahead++
		}
		if h.line.conn == nil && !h.line.errand && (h.state == leasing && !h.line.stands || h.line.leased) {
			lent++
			ahead++
		}
		if h.line.conn != nil || h.line.errand {
			conns++
			hurried += int(min(h.urge, 1))
			active[h.line.server]++
		}
		if h.urge != f.urgency(name) {
			t.Fatalf("%s has an urgency of %d, want %d", name, h.urge, f.urgency(name))
		}
		if h.line.called {
			called[h.line.server]++
		}
	}
	for name, srv := range f.servers {
		room := f.roomOf(srv)
		switch {
		case srv.lines != led[srv] || srv.lines == 0 && !srv.cdn || srv.addr != name:
			t.Fatalf("%s: %d hosts go there, counted %d", name, led[srv], srv.lines)
		case srv.active != active[srv] || srv.called != called[srv] || srv.active+srv.called > room:
			t.Fatalf("%s: %d active, %d called of %d", name, srv.active, srv.called, room)
		case srv.waiting.len() > 0 && srv.active+srv.called < room:
			t.Fatalf("%s: %d hosts wait for room that nobody uses", name, srv.waiting.len())
		}
	}
	var warm, taken int
	var work, asleep, rules int64
	for s := range f.sites.all() {
		known[s.host]++
		if f.hosts[s.host.name] != s.host {
			t.Fatalf("%s: its host is forgotten", s.name)
		}
		if _, gives := f.gifts[s.id]; gives != (s.over == given) || gives && s.queued == 0 {
			t.Fatalf("%s is given away: %v; %d are queued, and end with %v", s.name, gives, s.queued, s.over)
		}
		if s.queued == 0 && !s.leaving {
			t.Fatalf("%s has nothing queued and is never forgotten", s.name)
		}
		if s.asleep() {
			asleep += s.queued
		} else {
			work += s.queued
		}
		if napping[s] && !s.away || s.asleep() && s.away {
			t.Fatalf("%s: away %v, napping %v, asleep %v", s.name, s.away, napping[s], s.asleep())
		}
		taken += int(s.taken)
		if s.hot != nil && s.hot.rules != nil {
			rules += int64(s.hot.rules.Size())
		}
		if s.away {
			work++
		}
		if s.warm {
			warm++
		}
		if s.warm != (s.hot != nil) || s.warm != (s.hot != nil && s.hot.rules != nil || len(s.live()) > 0) || (s.placed > 0) != (s.queued > 0 && !s.away && !s.asleep() && !f.holds(s)) {
			t.Fatalf("%s: warm %v, placed %d, queued %d, away %v", s.name, s.warm, s.placed, s.queued, s.away)
		}
		if s.complete && int64(len(s.live())) != s.queued || len(s.live()) > f.cfg.Window {
			t.Fatalf("%s: %d in the window, %d queued", s.name, len(s.live()), s.queued)
		}
		for i, e := range s.live() {
			out := f.taken.has(page.Key{Site: s.id, Hash: e.Hash})
			if out || e.Place.Before(s.low()) || i > 0 && !s.live()[i-1].Place.Before(e.Place) {
				t.Fatalf("%s: entry %d of the window is out of place", s.name, i)
			}
		}
	}
	for _, h := range f.hosts {
		if known[h] != int(h.known) || known[h] == 0 && h.state == idle && !h.leaving {
			t.Fatalf("%s has %d sites, counted %d; state %d, leaving %v", h.name, known[h], h.known, h.state, h.leaving)
		}
	}
	if f.noCare != (care{}) || !reflect.DeepEqual(f.noLine, line{}) || lines != f.lines {
		t.Fatalf("a host wrote to what all share: %+v, %+v; or %d lines, counted %d", f.noCare, f.noLine, lines, f.lines)
	}
	if ahead != f.ahead || lent != f.lent {
		t.Fatalf("%d hosts are made ready, counted %d; %d have or ask for leave, counted %d", ahead, f.ahead, lent, f.lent)
	}
	if asleep != f.asleep || rules != f.rules {
		t.Fatalf("%d entries are asleep, counted %d; rules of %d bytes, counted %d", asleep, f.asleep, rules, f.rules)
	}
	if warm != f.warm || taken != f.taken.n || work != f.work || conns != f.active || hurried != f.hurried || conns > f.cfg.Conns || f.drift != 0 {
		t.Fatalf("warm %d, counted %d; taken %d, %d; work %d, %d; active %d, %d; drift %d",
			warm, f.warm, taken, f.taken.n, work, f.work, conns, f.active, f.drift)
	}
}

func checkHeap[T any](t fataler, name string, h *heap[T], each func(T)) {
	t.Helper()
	for i, x := range h.items {
		if *h.place(x) != int32(i+1) {
			t.Fatalf("%s: item %d believes it is at %d", name, i, *h.place(x)-1)
		}
		if i > 0 && h.less(x, h.items[(i-1)/4]) {
			t.Fatalf("%s: item %d comes before its parent", name, i)
		}
		each(x)
	}
}

// checkRoster also finds hosts whose keys have changed behind the roster's back.
func checkRoster(t fataler, name string, r *roster, each func(*host)) {
	t.Helper()
	for i, x := range r.items {
		if x.host.placed != int32(i+1) || x.key != r.key(x.host) {
			t.Fatalf("%s: %s, number %d with key %d, believes it is at %d, and its key is %d", name, x.host.name, i, x.key, x.host.placed-1, r.key(x.host))
		}
		if i > 0 && r.less(x, r.items[(i-1)/4]) {
			t.Fatalf("%s: %s, number %d, comes before its parent", name, x.host.name, i)
		}
		each(x.host)
	}
}
