package crawl

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// embark has one node crawl for a while, and the fleet go on with what it has. The
// way there may be cut short, and is then gone on with, or begun anew.
func (f *fleet) embark(pages int) {
	one := f.board(&ship{name: "one", alone: true})
	for range pages {
		one.fetch()
		if rapid.IntRange(0, 3).Draw(f.t, "commits") == 0 {
			one.commit()
		}
	}
	one.again()
	for _, p := range Land(f.keys, fleetParts, worldSecret, "one", f.tuples(one)) {
		f.append(one, p)
	}
	v := &View{kv: one.kv, secret: worldSecret, sites: map[page.SiteID]siteRow{}}
	var mark []byte
	for more := true; more; {
		var cargo []Cargo
		left := rapid.IntRange(1, 30).Draw(f.t, "piece")
		if rapid.IntRange(0, 4).Draw(f.t, "anew") == 0 {
			mark = nil
		}
		more = false
		one.must(v.Move(time.Unix(0, 1e18), mark, func(at []byte, c *Cargo) bool {
			if left--; left < 0 {
				more = true
				return false
			}
			mark = bytes.Clone(at)
			cargo = append(cargo, *c)
			return true
		}))
		for _, p := range Land(f.keys, fleetParts, worldSecret, "one", cargo) {
			f.append(one, p)
		}
	}
}

func (f *fleet) tuples(one *ship) (cargo []Cargo) {
	one.must(one.rules.Ship(fleetParts, func(t flow.Tuple) bool {
		cargo = append(cargo, Cargo{Tuple: &t})
		return true
	}))
	return cargo
}

// TestMove: nodes that go on with the crawl of one fetch what it has not, once, and
// in the end have the rows that it would have.
func TestMove(t *testing.T) {
	plain, err := ScopeConfig{Scope: "host", Depth: -1}.Program()
	if err != nil {
		t.Fatal(err)
	}
	programs := maps.Clone(sharedPrograms)
	programs["plain"] = plain
	delete(programs, "a depth")                                           // a page may be found nearer, and be asked for again
	delete(programs, "pages that are wanted when others have named them") // it stops
	names := slices.Sorted(maps.Keys(programs))
	rapid.Check(t, func(t *rapid.T) {
		text := programs[rapid.SampledFrom(names).Draw(t, "program")]
		scheme := mustScheme("host")
		f := newFleet(t, sharedPlan(t, text, scheme), true)
		f.keys = overlay.NewKeys(scheme, fleetParts)
		all := fleetPages(20, 6)
		for _, u := range all {
			for range 3 {
				f.web[u] = append(f.web[u], rapid.SampledFrom(all).Draw(t, "link"))
			}
		}
		f.seeds = all[:2]
		want := map[string]bool{}
		alone := newFleet(t, f.plan, true)
		alone.keys, alone.web, alone.seeds = f.keys, f.web, f.seeds
		one := alone.board(&ship{name: "alone", alone: true})
		for one.commit(); len(one.queued) > 0; one.commit() {
			one.fetch()
		}
		one.tables(want)

		f.embark(rapid.IntRange(0, 15).Draw(t, "pages"))
		before := maps.Clone(f.asked)
		f.seeds = nil // what follows from them is among what the first has derived
		f.sail()
		for u := range alone.asked {
			if n := f.asked[u]; n == 0 || n > 1+f.crashes {
				t.Fatalf("%s was asked for %d times, after %d crashes", u, n, f.crashes)
			}
			if before[u] > 0 && f.asked[u] > before[u] {
				t.Fatalf("%s was asked for before it moved, and after", u)
			}
		}
		for u := range f.asked {
			if alone.asked[u] == 0 {
				t.Fatalf("%s was asked for, and one alone does not want it", u)
			}
		}
		got := map[string]bool{}
		for _, s := range f.nodes {
			s.commit()
			s.tables(got)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("the tables have %v\none alone has %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	})
}

// TestMoveKeeps: what is known of pages and hosts goes along.
func TestMoveKeeps(t *testing.T) {
	kv := &memory{}
	rules, err := ScopeConfig{Scope: "any", Depth: -1}.Rules(worldSecret, kv)
	if err != nil {
		t.Fatal(err)
	}
	order, err := frontier.Order("siteopic")
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLedger(kv, LedgerConfig{Order: order, Trap: frontier.DefaultTrap(), Rules: rules, Traits: rules.Traits(), Secret: worldSecret, Memory: ample, Again: true})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func() Committed {
		w := &batch{}
		ev, err := l.Flush(w)
		must(err)
		kv.commit(w)
		return ev
	}
	l.Clock(1e18)
	w := &batch{}
	WriteSecret(w, worldSecret)
	kv.commit(w)
	must(l.Begin())
	must(l.Seed(mustURL("http://a.test/"), 0))
	ev := commit()
	f := &page.Facts{
		Key: page.Key{Site: ev.Queued[0].Site, Hash: ev.Queued[0].Entry.Hash}, URL: mustURL("http://a.test/"), Outcome: page.OK, Status: 200,
		Links: []page.Link{link("http://a.test/x"), link("http://b.test/y"), link("http://b.test/a/a/a/a/a/a")},
	}
	must(l.Page(1, f, Archived{File: 1, Length: 1}, false))
	l.Host("b.test", frontier.HostState{Failures: 3, Last: time.Second, Rest: time.Minute})
	commit()

	v, err := NewView(kv)
	must(err)
	var got []Cargo
	must(v.Move(time.Unix(0, 1e18).Add(20*time.Second), nil, func(_ []byte, c *Cargo) bool {
		got = append(got, *c)
		return true
	}))
	third := float32(1) / 3
	want := []Cargo{
		{Host: overlay.Host{Name: "b.test", Failures: 3, Last: time.Second, Rest: 40 * time.Second}},
		{Row: overlay.Row{URL: mustURL("http://a.test/"), Root: true, Seed: true, Rule: uint8(BySeed)}, Outcome: page.OK, Status: 200},
		{Row: overlay.Row{URL: mustURL("http://a.test/x"), Depth: 1, Rule: uint8(ByLink), Score: third}},
		{Row: overlay.Row{URL: mustURL("http://b.test/y"), Depth: 1, Rule: uint8(ByLink), Score: third}},
		{Row: overlay.Row{URL: mustURL("http://b.test/a/a/a/a/a/a"), Depth: 1, Rule: uint8(ByLink), Score: third}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("what moves is\n%v\nnot\n%v", got, want)
	}
}
