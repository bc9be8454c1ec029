package crawl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/query"
	"weir/query/flow"
)

// sharedPrograms have state beyond the page that is looked at.
var sharedPrograms = map[string]string{
	"a scope that redirects widen": `
root(U) :- seed(U).
root(V) :- root(U), redirect(U, V).
small scope.
scope(host(U)) :- root(U).
crawl(U, 0) :- root(U).
crawl(V, D) :- crawl(U, D), redirect(U, V), scope(host(V)).
crawl(V, D+1) :- crawl(U, D), link(U, V), scope(host(V)).`,

	"counts of links": `
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V).
crawl(V) :- crawl(U), redirect(U, V).
live inlinks.
inlinks(V, max count<U>) :- link(U, V).
live known.
known(V) :- inlinks(V, N), N > 2.`,

	"pages that two others link to": `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), host(U) = host(V).
crawl(V, D) :- crawl(U, D), redirect(U, V).
linked(V, max count<U>) :- link(U, V).
crawl(V, 1) :- linked(V, N), N >= 2.`,

	"pages that are wanted when others have named them": `
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V), named(V).
crawl(V) :- crawl(U), redirect(U, V).
named(V) :- link(U, V), fetched(U, 200).
live back.
back(U, V) :- link(U, V), link(V, U).
stop("found") :- back(U, V), U != V.
wait(host(U), 3) :- back(U, V), U != V.`,

	"links that are not returned": `
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V).
crawl(V) :- crawl(U), redirect(U, V).
live single.
single(U, V) :- link(U, V), fetched(V, 200), !link(V, U).`,

	"a depth": `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 4.
crawl(V, D) :- crawl(U, D), redirect(U, V).`,

	"steps on the way": `
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V).
crawl(V) :- crawl(U), redirect(U, V).
live reach.
reach(U, V) :- link(U, V), host(U) != host(V).
reach(U, W) :- reach(U, V), link(V, W), host(U) != host(W).`,
}

// tables are the rows of the program's own tables that are on a node.
func (s *ship) tables(rows map[string]bool) {
	for _, t := range s.fl.plan.Program.Tables {
		if t.Kind != query.Derived || t.Name == "crawl" {
			continue
		}
		s.must(s.rules.Rows(t, func(row flow.Row) bool {
			var b strings.Builder
			b.WriteString(t.Name)
			for _, v := range row {
				fmt.Fprintf(&b, " %s %d", v.S, v.N)
			}
			rows[b.String()] = true
			return true
		}))
	}
}

// TestSharedPrograms: whatever nodes crash, hand over and come late, together they
// fetch the pages, and have the rows, that one node alone would.
func TestSharedPrograms(t *testing.T) {
	names := slices.Sorted(maps.Keys(sharedPrograms))
	rapid.Check(t, func(t *rapid.T) {
		sharedProgram(t, sharedPrograms[rapid.SampledFrom(names).Draw(t, "program")])
	})
}

func sharedProgram(t *rapid.T, text string) {
	scheme := mustScheme(rapid.SampledFrom([]string{"host", "url", "host-2"}).Draw(t, "scheme"))
	f := newFleet(t, sharedPlan(t, text, scheme), true)
	f.keys = overlay.NewKeys(scheme, fleetParts)
	all := fleetPages(20, 6)
	f.link(all, 3)
	f.seeds = all[:2]
	f.sail()

	alone := f.alike()
	got, want := map[string]bool{}, map[string]bool{}
	alone.tables(want)
	for _, s := range f.nodes {
		s.tables(got)
		if s.stop != alone.stop {
			t.Errorf("%s stops for %q, one alone for %q", s.name, s.stop, alone.stop)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("together they have\n%s\nand one alone\n%s", strings.Join(slices.Sorted(maps.Keys(got)), "\n"), strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
	}
}

func sharedPlan(t *rapid.T, text string, s overlay.Scheme) *flow.Plan {
	p, faults := query.Parse("test", text)
	var checked *query.Checked
	if !query.Failed(faults) {
		checked, faults = query.Check(p)
	}
	var plan *flow.Plan
	if !query.Failed(faults) {
		plan, faults = flow.Compile(checked, flow.Options{Scheme: map[overlay.Way]flow.Scheme{overlay.ByHost: flow.ByHost, overlay.ByURL: flow.ByURL, overlay.ByHostN: flow.ByHostN}[s.By], Spread: s.N, Crawl: true})
	}
	for _, d := range faults {
		if !d.Warning {
			t.Fatalf("line %d: %s", d.Line, d.Message)
		}
	}
	return plan
}
