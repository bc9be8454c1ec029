package crawl

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/query/flow"
)

// enrolled are the rules of a node that has taken up programs which came later; nil if
// it has not.
func (s *ship) enrolled() *Several {
	had, _, err := ReadPrograms(s.kv)
	s.must(err)
	if len(had.Each) == 0 || len(s.fl.later) == 0 {
		return nil
	}
	s.others = nil
	for i := range had.Each[1:] {
		s.others = append(s.others, s.newcomer(i+1))
	}
	return s.members(had.Each)
}

// newcomer is one of the programs that come later, by its number.
func (s *ship) newcomer(i int) *Program {
	p, err := NewProgram(ProgramConfig{Plan: s.fl.later[i-1], Own: true, Secret: worldSecret, Version: uint8(i)}, s.kv)
	s.must(err)
	return p
}

// members are the node's programs.
func (s *ship) members(each []Named) *Several {
	var list []Member
	for i, n := range each {
		m := Member{Name: n.Name, Rules: s.rules, Joined: n.Joined, Left: n.Left, Since: n.Since}
		if i > 0 {
			m.Rules = s.others[i-1]
		}
		list = append(list, m)
	}
	return NewSeveral(s.kv, list)
}

// enrol has a node take up the next program, if there is one that it has not, and which
// have left.
func (s *ship) enrol() {
	if len(s.fl.later) == 0 {
		return
	}
	had, _, err := ReadPrograms(s.kv)
	s.must(err)
	each := had.Each
	if len(each) == 0 {
		each = []Named{{Name: "0"}}
		w := &batch{}
		s.must(s.l.Divide(func(p Pair) error {
			w.Set(p.Key, p.Value)
			return nil
		}))
		s.kv.commit(w)
	}
	if n := len(each); n <= len(s.fl.later) {
		s.fl.submit(n)
		s.others = append(s.others, s.newcomer(n))
		each = append(each, Named{Name: fmt.Sprint(n), Number: uint8(n), Joined: true, Since: s.fl.since[n]})
	}
	for i := range each {
		each[i].Left = s.fl.left[i]
	}
	if slices.Equal(each, had.Each) {
		return
	}
	s.must(s.l.Change(s.members(each)))
	s.commit()
}

// submit notes when a program comes, with the first node that hears of it. If it wants
// young pages, the web is another one from then on.
func (f *fleet) submit(program int) {
	if len(f.since) > program {
		return
	}
	f.since = append(f.since, 0)
	if f.was != nil {
		f.now++
		f.since[program] = f.now
		f.turn = min(f.turn, f.now)
	}
}

// leave has a program leave that is there.
func (f *fleet) leave(program int) {
	if len(f.since) > program {
		f.left[program] = true
	}
}

// enrol has all nodes take up all programs.
func (f *fleet) enrol() {
	for _, s := range f.nodes {
		for range len(f.later) + 1 {
			s.commit()
			s.enrol()
		}
	}
}

// TestNothingOldForWhoWantsItYoung: what is on its way when a program comes to ask for a
// page, from another node or from the archive, is not given to it if it is too old.
func TestNothingOldForWhoWantsItYoung(t *testing.T) {
	once(t, func(t *rapid.T) {
		f := newFleet(t, sharedPlan(t, narrow("0-9"), overlay.Scheme{}), true)
		f.later = []*flow.Plan{sharedPlan(t, narrow("0-9"), overlay.Scheme{})}
		f.since, f.left = []int64{0}, make([]bool, 2)
		f.keys = overlay.NewKeys(overlay.Scheme{}, fleetParts)
		const u, old, young = "http://h.test/p1", "http://h.test/2", "http://h.test/3"
		f.was = newFleet(t, nil, false)
		f.was.web[u], f.web[u], f.turn = []string{old}, []string{young}, math.MaxInt64
		f.crew(1)
		s := f.nodes[0]
		part := f.keys.Home(mustURL(u))
		asks := func(program uint8) {
			f.append(&ship{fl: f, origin: 7}, overlay.Post{Part: part, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Program: program}}}}})
		}
		asks(0)
		s.adopt(part)
		s.fetch()
		s.commit()
		k := slices.Collect(maps.Keys(s.held))[0]
		read := f.factsAt(k, u, s.row(k).at)

		s.enrol()
		s.again()
		lent := *read
		lent.Lent = true
		asks(1)
		s.read(part)
		if r := s.row(k); r.state != stateQueued || !r.renewed {
			t.Fatalf("a page that is too old is %+v", r)
		}
		if !s.books.counted[k] {
			t.Fatal("the Engine does not hear that a page that is wanted again is counted")
		}
		s.id++
		s.must(s.l.Page(s.id, &lent, Archived{File: 1, Length: 1}, false))
		s.commit()
		if r := s.row(k); r.state != stateQueued {
			t.Fatalf("with what is too old the page has ended: %+v", r)
		}
		for s.queued[k] == u {
			s.fetch()
		}
		s.must(s.l.Again(read))
		s.commit()
		rows := map[string]bool{}
		s.claimed(rows)
		if rows["1 crawl "+old] || !rows["1 crawl "+young] || !rows["0 crawl "+old] {
			t.Fatalf("they ask for %v", slices.Sorted(maps.Keys(rows)))
		}
	})
}

// narrow is a program that asks for some pages only.
func narrow(digits string) string {
	return fmt.Sprintf(`
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V), matches(V, "[%s]$").
crawl(V) :- crawl(U), redirect(U, V).
live named.
named(V, max count<U>) :- link(U, V).`, digits)
}

// TestNodesEnrolPrograms: programs come to share a crawl of one, and leave it, which
// nodes take up at different moments while they crash, hand over and come late. In the
// end each that has stayed has the pages and rows that it has on one node which had all
// of them from the start. One that wants young pages has nothing but what the web says
// since it came.
func TestNodesEnrolPrograms(t *testing.T) {
	programs := []string{narrow("02468"), narrow("13579"), narrow("0-4")}
	for _, name := range slices.Sorted(maps.Keys(sharedPrograms)) {
		if !strings.Contains(sharedPrograms[name], "stop(") {
			programs = append(programs, sharedPrograms[name])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		scheme := mustScheme(rapid.SampledFrom([]string{"host", "url", "host-2"}).Draw(t, "scheme"))
		pick := func() *flow.Plan {
			return sharedPlan(t, rapid.SampledFrom(programs).Draw(t, "program"), scheme)
		}
		f := newFleet(t, pick(), true)
		f.later = []*flow.Plan{pick(), pick()}
		f.since, f.left = []int64{0}, make([]bool, 3)
		f.keys = overlay.NewKeys(scheme, fleetParts)
		all := fleetPages(14, 5)
		f.link(all, 2)
		f.seeds = all[:2]
		if rapid.Bool().Draw(t, "young") {
			f.was = newFleet(t, nil, false)
			f.was.link(all, 2)
			f.turn = math.MaxInt64
			f.lost = map[string]bool{}
			for _, u := range all {
				f.lost[u] = rapid.IntRange(0, 5).Draw(t, "lost") == 0
			}
		}
		f.sail()

		f.more, f.later = f.later, nil
		var alone *ship
		if f.was == nil && !slices.Contains(f.left, true) {
			alone = f.alike()
		} else {
			alone = f.single()
		}
		got, want := map[string]bool{}, map[string]bool{}
		alone.claimed(want)
		for _, s := range f.nodes {
			s.claimed(got)
		}
		for i := range f.left {
			if f.left[i] || f.was != nil && f.since[i] == 0 {
				other := func(row string, _ bool) bool { return strings.HasPrefix(row, fmt.Sprint(i, " ")) }
				maps.DeleteFunc(got, other)
				maps.DeleteFunc(want, other)
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("together they have\n%s\nand one alone\n%s", strings.Join(slices.Sorted(maps.Keys(got)), "\n"), strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
		}

		// Who reads the logs from the start finds nothing that waits.
		f.more, f.later = nil, f.more
		reader := f.board(&ship{name: "reader", origin: 9})
		f.nodes = append(f.nodes, reader)
		f.enrol()
		for part := range fleetParts {
			reader.adopt(part)
		}
		if len(reader.queued) > 0 {
			t.Fatalf("the logs say that these wait: %v", reader.queued)
		}
	})
}
