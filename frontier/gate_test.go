package frontier

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// dGate is the model's gate: a sum of loads that stays within a limit, unless a
// single one is over it. One that is not picky asks for no fit, only for room.
type dGate struct {
	limit  int
	picky  bool
	loads  map[string]int
	sum    int
	passed string          // who was let pass last
	leased map[string]bool // not nil: all who were, and have not been visited
	asked  int
}

func (g *dGate) Open(ahead int, urgent bool) bool {
	return urgent || g.sum == 0 || g.sum+ahead < g.limit
}

func (g *dGate) Fits(host string, addr netip.Addr) bool {
	g.asked++
	if g.picky && g.sum > 0 && g.sum+load(addr) > g.limit {
		return false
	}
	g.passed = host
	if g.leased != nil {
		g.leased[host] = true
	}
	return true
}

// load is what a visit to this address takes.
func load(addr netip.Addr) int {
	if !addr.IsValid() {
		return 1
	}
	b := addr.As4()
	return 1 + int(b[3])*3
}

func (g *dGate) start(t *rapid.T, host string, addr netip.Addr) {
	if g.passed != host && !g.leased[host] {
		t.Fatalf("%s was visited, and %q was let pass", host, g.passed)
	}
	g.passed = ""
	delete(g.leased, host)
	g.loads[host] = load(addr)
	g.sum += load(addr)
}

func (g *dGate) end(host string) {
	if g != nil {
		g.sum -= g.loads[host]
		delete(g.loads, host)
	}
}

// drained holds, when all that can be picked now is, that who was refused has its
// turn again, and that the gate was not asked about the whole queue: each of the
// depth is asked about once, or twice when it waited for a load in between.
func (g *dGate) drained(d *driver) {
	if g == nil {
		return
	}
	if len(d.f.refused) > 0 || g.asked > 2*(d.depth+len(d.f.urged)) {
		d.t.Fatalf("%d hosts are refused and not in turn again; %d were asked about, the depth is %d", len(d.f.refused), g.asked, d.depth)
	}
	g.asked = 0
}

// inTurn returns the hosts whose turn it could be, in their order.
func (d *driver) inTurn() []*host {
	if d.gate == nil {
		return nil
	}
	var all []*host
	for _, x := range d.f.ready.items {
		all = append(all, x.host)
	}
	slices.SortFunc(all, func(a, b *host) int {
		return cmp.Or(cmp.Compare(b.urge, a.urge), cmp.Compare(d.f.key(a), d.f.key(b)), cmp.Compare(a.turn, b.turn))
	})
	return all
}

// overtaken holds that who is visited passed nobody but those who were refused
// or could not go; and that no more were refused than may be offered.
func (d *driver) overtaken(name string, before []*host) {
	if len(d.f.refused) >= d.depth && d.gate != nil && d.f.hosts[name].urge == 0 {
		d.t.Fatalf("%d hosts were refused before %s, the depth is %d", len(d.f.refused), name, d.depth)
	}
	at := slices.IndexFunc(before, func(h *host) bool { return h.name == name })
	for i := range max(at, 0) {
		if h := before[i]; h.state == ready && h.care.dead == page.None {
			d.t.Fatalf("%s went before %s, which was ready", name, h.name)
		}
	}
}

// limited is a gate that lets pass who is named, so many at a time.
type limited struct {
	room  int
	fits  map[string]bool // nil: all
	asked []string
}

func (g *limited) Open(ahead int, _ bool) bool { return ahead < g.room }

func (g *limited) Fits(host string, addr netip.Addr) bool {
	g.asked = append(g.asked, host)
	return g.fits == nil || g.fits[host]
}

// A crawl under a full link does nothing at all: names are not looked up and
// queues are not read for pages that could not be fetched.
func TestGateShut(t *testing.T) {
	s := newStage(t, nil)
	g := &limited{}
	s.f.Admit(g, 64)
	for i := range 20 {
		s.site(page.SiteID(i+1), 0, 0)
	}
	if p, ok := s.f.Next(s.now, ample); ok {
		t.Fatalf("%+v was picked", p)
	}
	if g.room = 1; len(g.asked) > 0 {
		t.Fatalf("%v were offered", g.asked)
	}
	p, ok := s.f.Next(s.now, ample)
	if !ok || p.Kind != Resolve {
		t.Fatalf("%+v, want a lookup", p)
	}
	if p, ok := s.f.Next(s.now, ample); ok {
		t.Fatalf("%+v was picked beside the one that there is room for", p)
	}
}

// Depth is how far the search goes: hosts below it are not asked about, however
// often those above are refused, and all keep their order.
func TestGateDepth(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Order = Depth{} })
	g := &limited{room: 9, fits: map[string]bool{}}
	s.f.Admit(g, 3)
	for i := range 6 {
		s.site(page.SiteID(i+1), 0, 0) // equals, in the order of their numbers
	}
	for range 5 {
		if p, ok := s.next(); ok {
			t.Fatalf("%s was picked", p.URL)
		}
		s.f.check(t)
	}
	g.asked = nil
	if _, ok := s.next(); ok {
		t.Fatal("something was picked")
	}
	name := func(i int) string { return fmt.Sprintf("h%d.d%d.org", i, i) }
	if want := []string{name(1), name(2), name(3)}; !slices.Equal(g.asked, want) {
		t.Fatalf("%v were offered, want %v", g.asked, want)
	}
	// The second fits: it goes, and the next search begins at the top again.
	g.fits[name(2)] = true
	if p, ok := s.next(); !ok || p.Host != name(2) {
		t.Fatalf("%s was picked, want %s", p.Host, name(2))
	}
	for ok := true; ok; _, ok = s.next() {
	}
	for i := 1; i <= 6; i++ {
		g.fits[name(i)] = true
	}
	var order []string
	for i := 0; len(order) < 5; i++ {
		p, ok := s.next()
		switch {
		case ok:
			order = append(order, p.Host)
		case i != 3:
			t.Fatalf("%v in one search, want three", order)
		}
	}
	if want := []string{name(1), name(3), name(4), name(5), name(6)}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// Once a connection is open its further pages need no leave.
func TestGateKeepsConnections(t *testing.T) {
	s := newStage(t, func(c *Config) { c.PerConn = 3 })
	g := &limited{room: 1}
	s.f.Admit(g, 8)
	s.site(1, 0, 0, 0, 0)
	p, ok := s.next()
	if !ok || !p.Open {
		t.Fatalf("%+v", p)
	}
	g.room, g.asked = 0, nil
	for range 2 {
		s.done(p)
		if p, ok = s.next(); !ok || p.Open {
			t.Fatalf("%+v (%v), want the next page on the connection", p, ok)
		}
	}
	s.done(p)
	s.now = s.now.Add(time.Hour)
	if p, ok := s.next(); ok || len(g.asked) > 0 {
		t.Fatalf("%+v: a new connection past a shut gate", p)
	}
}
