package crawl

import (
	"fmt"
	"maps"
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
	members := []Member{{Name: "0", Rules: s.rules}}
	s.others = nil
	for i, plan := range s.fl.later[:len(had.Each)-1] {
		p, err := NewProgram(ProgramConfig{Plan: plan, Own: true, Secret: worldSecret, Version: uint8(i + 1)}, s.kv)
		s.must(err)
		s.others = append(s.others, p)
		members = append(members, Member{Name: fmt.Sprint(i + 1), Rules: p, Joined: true})
	}
	return NewSeveral(s.kv, members)
}

// enrol has a node take up the next program, if there is one that it has not.
func (s *ship) enrol() {
	n := len(s.others)
	if n == len(s.fl.later) {
		return
	}
	if n == 0 {
		w := &batch{}
		s.must(s.l.Divide(func(p Pair) error {
			w.Set(p.Key, p.Value)
			return nil
		}))
		s.kv.commit(w)
	}
	members := []Member{{Name: "0", Rules: s.rules}}
	for i, p := range s.others {
		members = append(members, Member{Name: fmt.Sprint(i + 1), Rules: p, Joined: true})
	}
	p, err := NewProgram(ProgramConfig{Plan: s.fl.later[n], Own: true, Secret: worldSecret, Version: uint8(n + 1)}, s.kv)
	s.must(err)
	s.others = append(s.others, p)
	members = append(members, Member{Name: fmt.Sprint(n + 1), Rules: p, Joined: true})
	s.must(s.l.Change(NewSeveral(s.kv, members)))
	s.commit()
}

// enrol has all nodes take up all programs.
func (f *fleet) enrol() {
	for _, s := range f.nodes {
		for range f.later {
			s.commit()
			s.enrol()
		}
	}
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

// TestNodesEnrolPrograms: programs come to share a crawl of one, which nodes take up at
// different moments while they crash, hand over and come late. In the end each has the
// pages and rows that it has on one node which had all of them from the start.
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
		f.keys = overlay.NewKeys(scheme, fleetParts)
		all := fleetPages(14, 5)
		f.link(all, 2)
		f.seeds = all[:2]
		f.sail()

		f.more, f.later = f.later, nil
		alone := f.alike()
		got, want := map[string]bool{}, map[string]bool{}
		alone.claimed(want)
		for _, s := range f.nodes {
			s.claimed(got)
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
