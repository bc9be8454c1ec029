package crawl

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/page"
)

// crew is a fleet whose first node owns everything, and a second one that brings it
// rows.
func crew(t *rapid.T, scheme string, bound int) (f *fleet, a *ship, bring func(u string, depth uint16)) {
	s := mustScheme(scheme)
	f = newFleet(t, sharedPlan(t, fmt.Sprintf(boundedPrograms["a depth"], bound), s), true)
	f.keys = overlay.NewKeys(s, fleetParts)
	f.crew(2)
	a = f.nodes[0]
	for part := range fleetParts {
		a.adopt(part)
	}
	return f, a, func(u string, depth uint16) {
		part := f.keys.Home(mustURL(u))
		f.append(f.nodes[1], overlay.Post{Part: part, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Depth: depth}}}}})
		a.settle()
	}
}

// once tests what takes a fleet, which draws, and draws nothing itself.
func once(t *testing.T, test func(t *rapid.T)) {
	passed := false
	rapid.Check(t, func(t *rapid.T) {
		if !passed {
			test(t)
			passed = true
		}
	})
}

// settle brings everything that a node has to say into the logs, and reads them.
func (s *ship) settle() {
	for more := true; more; more = len(s.outbox) > 0 {
		s.tell()
		for part := range fleetParts {
			s.read(part)
		}
	}
}

// A page that was handed on, and turns out to be nearer, is fetched once all the same,
// and its links are followed; by whoever owns its home.
func TestHandedOnPagesComeNearer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scheme := rapid.SampledFrom([]string{"redirect:over=1", "redirect:url,over=1", "adaptive:over=1"}).Draw(t, "scheme")
		f, a, bring := crew(t, scheme, 2)
		const u = "http://h.test/p"
		f.web[u] = []string{"http://h.test/child"}
		for i := range 8 {
			bring(fmt.Sprintf("http://h.test/%d", i), 2)
		}
		bring(u, 2)
		bring(u, 1)
		for len(a.queued) > 0 {
			a.fetch()
			a.settle()
		}
		moved := 0
		for _, log := range f.logs {
			for _, b := range log {
				for _, r := range b.Records {
					if rows, ok := r.(overlay.Tuples); ok {
						for _, row := range rows.Rows {
							moved += int(row.Moves)
						}
					}
				}
			}
		}
		if moved == 0 {
			t.Fatalf("%s: nothing was handed on", scheme)
		}
		if f.asked[u] != 1 || f.asked[f.web[u][0]] != 1 {
			t.Errorf("%s: the page was fetched %d times, and what it links to %d times", scheme, f.asked[u], f.asked[f.web[u][0]])
		}
		if n := a.l.Totals(); n.Seen != 10 || n.Queued != 0 {
			t.Errorf("%s: %d pages are known, %d wait", scheme, n.Seen, n.Queued)
		}
		// Another owner has nothing to do, and counts the same.
		b := f.board(&ship{name: "n2", origin: 3})
		f.nodes = append(f.nodes, b)
		for part := range fleetParts {
			b.adopt(part)
		}
		if n := b.l.Totals(); len(b.queued) > 0 || n.Seen != 10 {
			t.Errorf("%s: the next owner fetches %v, and knows of %d pages", scheme, b.queued, n.Seen)
		}
	})
}

// A page that was left twice, and turns out to be nearer, is found wherever it is; its
// links are followed.
func TestPagesLeftTwiceComeNearer(t *testing.T) {
	for _, c := range []struct {
		name string
		next bool // another node owns the partition between by then
	}{{"by the one who left it", false}, {"by the next owner", true}} {
		once(t, func(t *rapid.T) {
			f, a, bring := crew(t, "adaptive:over=20", 2)
			const u = "http://h.test/p"
			f.web[u] = []string{"http://h.test/child"}
			bring(u, 2)
			home := f.keys.HostPart("h.test")
			between := (home + 1) % fleetParts
			for i := range 2 {
				for _, id := range slices.Sorted(maps.Keys(a.site)) {
					if a.site[id].Part == uint16(home+i)%fleetParts {
						a.giveSite(a.site[id], (home+i+1)%fleetParts)
					}
				}
				a.settle()
			}
			for k := range a.queued {
				if part := a.site[k.Site].Part; part != uint16(home+2)%fleetParts {
					t.Fatalf("the page waits in partition %d", part)
				}
			}
			nodes := []*ship{a}
			if c.next {
				b := f.board(&ship{name: "n2", origin: 3})
				f.nodes, nodes = append(f.nodes, b), append(nodes, b)
				a.disown(between)
				b.adopt(between)
			}
			a.l.share.spreads.forget(between)
			bring(u, 1)
			for more := true; more; {
				more = false
				for range 3 { // from one to the other and back
					for _, s := range nodes {
						s.settle()
					}
				}
				for _, s := range nodes {
					more = more || len(s.queued) > 0
					s.fetch()
				}
			}
			if f.asked[u] != 1 || f.asked[f.web[u][0]] != 1 {
				t.Fatalf("%s: the page was fetched %d times, and what it links to %d times", c.name, f.asked[u], f.asked[f.web[u][0]])
			}
		})
	}
}

// A page that was tried stays, and is left as what the Ledger knows it to be; a partition
// that comes back has none of its hosts left to anybody.
func TestGiveGoesByTheLedger(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, bring := crew(t, "adaptive:over=20", 2)
		const tried, u = "http://h.test/tried", "http://h.test/p"
		home := f.keys.HostPart("h.test")
		to := (home + 1) % fleetParts
		bring(tried, 1)
		for k := range a.queued {
			facts := f.facts(k, tried)
			facts.Outcome = page.ServerError
			a.id++
			a.must(a.l.Page(a.id, facts, Archived{}, false))
		}
		a.settle()
		bring(u, 2)
		for _, id := range slices.Sorted(maps.Keys(a.site)) {
			got, err := a.l.Load(Load{Site: id, N: 9})
			a.must(err)
			for _, e := range got.Entries {
				e.Score = -1 // what was ordered is not what is known by now
				a.id++
				a.must(a.l.Give(Give{ID: a.id, Site: id, Entry: e, To: uint16(to)}))
			}
		}
		a.settle()
		var left []overlay.Row
		for _, b := range f.logs[to] {
			for _, r := range b.Records {
				if rows, ok := r.(overlay.Tuples); ok {
					left = append(left, rows.Rows...)
				}
			}
		}
		if len(left) != 1 || left[0].URL.String() != u || left[0].Score < 0 {
			t.Fatalf("left are %v", left)
		}
		x := &a.l.share.spreads
		if x.away[home]["h.test"] != to {
			t.Fatalf("the host is left to %v", x.away[home])
		}
		a.disown(home)
		a.adopt(home)
		if len(x.away[home]) != 0 {
			t.Fatalf("the partition is back, and hosts are left: %v", x.away[home])
		}
		for i := range 3 * awayKept {
			x.send(fmt.Sprintf("%d.test", i), home, to)
		}
		if n := len(x.away[home]); n > awayKept {
			t.Fatalf("%d hosts are known to be left", n)
		}
	})
}

// A node that has handed on all its pages knows them after a restart, though none is
// among its numbers: a row that asks for one again is not new.
func TestHandedOnPagesAreKnown(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, bring := crew(t, "adaptive:over=20", 2)
		const u = "http://h.test/p"
		home := f.keys.HostPart("h.test")
		to := (home + 1) % fleetParts
		a.disown(to)
		bring(u, 1)
		for _, id := range slices.Sorted(maps.Keys(a.site)) {
			a.giveSite(a.site[id], to)
		}
		a.tell()
		if n := a.l.totals.Seen; n != 0 {
			t.Fatalf("%d pages are among its numbers", n)
		}
		f.owner[home] = -1
		a.open()
		f.append(a, overlay.Post{Part: home, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Depth: 1}}}}})
		a.adopt(home)
		if len(a.queued) > 0 {
			t.Fatalf("these wait again: %v", a.queued)
		}
	})
}

// Over how many partitions a host is spread is known after a restart, though its log is
// not read again.
func TestSpreadsAreKept(t *testing.T) {
	once(t, func(t *rapid.T) {
		_, a, bring := crew(t, "adaptive:over=1", 2)
		for i := range 20 {
			bring(fmt.Sprintf("http://h.test/%d", i), 1)
		}
		was := a.l.share.spreads.table.Of("h.test")
		if was == 1 {
			t.Fatal("the host is not spread")
		}
		a.open()
		if n := a.l.share.spreads.table.Of("h.test"); n != was {
			t.Errorf("the host was spread over %d partitions, and after a restart over %d", was, n)
		}
	})
}

// What waits of a host that is left to another partition goes there, and what is found of
// it later; each page is fetched once, and who owns its home next knows of all.
func TestHostsAreLeft(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, bring := crew(t, "adaptive:over=20", 2)
		home := f.keys.HostPart("h.test")
		to := (home + 3) % fleetParts
		for i := range 5 {
			bring(fmt.Sprintf("http://h.test/%d", i), 1)
		}
		a.give(to)
		a.settle()
		bring("http://h.test/5", 1)
		where := map[uint16]int{}
		for k := range a.queued {
			where[a.site[k.Site].Part]++
		}
		if where[uint16(to)] != 6 || len(a.queued) != 6 {
			t.Fatalf("pages wait in partitions %v, not all in %d", where, to)
		}
		if n := a.l.Totals(); n.Seen != 6 || n.Queued != 6 {
			t.Errorf("%d pages are known, %d wait", n.Seen, n.Queued)
		}
		a.l.Pressed(Counted{}) // it has connections again
		for i := range 20 {
			bring(fmt.Sprintf("http://h.test/again%d", i), 1)
		}
		bring("http://h.test/last", 1)
		for k, u := range a.queued {
			if part := a.site[k.Site].Part; u == "http://h.test/last" && int(part) != home {
				t.Errorf("the host is gathered, and its page waits in partition %d", part)
			}
		}
		for len(a.queued) > 0 {
			a.fetch()
			a.settle()
		}
		for u, n := range f.asked {
			if n != 1 {
				t.Errorf("%s was fetched %d times", u, n)
			}
		}
		b := f.board(&ship{name: "n2", origin: 3})
		f.nodes = append(f.nodes, b)
		for part := range fleetParts {
			b.adopt(part)
		}
		if n := b.l.Totals(); len(b.queued) > 0 || n.Seen != 27 {
			t.Errorf("the next owner fetches %v, and knows of %d pages", b.queued, n.Seen)
		}
	})
}
