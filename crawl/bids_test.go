package crawl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// claimed are the crawl tables of a node's programs, and the rows of their others.
func (s *ship) claimed(rows map[string]bool) {
	all := append([]*Program{s.rules}, s.others...)
	for i, p := range all {
		v := &View{kv: s.kv, secret: worldSecret, sites: map[page.SiteID]siteRow{}}
		of := v.Of(Named{Name: fmt.Sprint(i), Number: uint8(i)})
		note := func(x *PageInfo) bool {
			if !x.Stray {
				rows[fmt.Sprint(i, " crawl ", x.URL)] = true
			}
			return true
		}
		s.must(of.Pages(note))
		s.must(of.Queue(note))
		for _, t := range p.cfg.Plan.Program.Tables {
			if t.Kind != query.Derived || t.Name == "crawl" {
				continue
			}
			s.must(p.Rows(t, func(row flow.Row) bool {
				text := fmt.Sprint(i, " ", t.Name)
				for _, v := range row {
					text += fmt.Sprintf(" %s %d", v.S, v.N)
				}
				rows[text] = true
				return true
			}))
		}
	}
}

// TestNodesShareSeveralPrograms: whatever nodes crash, hand over and come late, each
// of several programs ends with the pages and rows that it has on one node.
func TestNodesShareSeveralPrograms(t *testing.T) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(sharedPrograms)), func(name string) bool { return strings.Contains(sharedPrograms[name], "stop(") })
	rapid.Check(t, func(t *rapid.T) {
		scheme := mustScheme(rapid.SampledFrom([]string{"host", "url", "host-2"}).Draw(t, "scheme"))
		pick := func() *flow.Plan {
			return sharedPlan(t, sharedPrograms[rapid.SampledFrom(names).Draw(t, "program")], scheme)
		}
		f := newFleet(t, pick(), true)
		f.more = []*flow.Plan{pick()}
		f.keys = overlay.NewKeys(scheme, fleetParts)
		all := fleetPages(14, 5)
		f.link(all, 2)
		f.seeds = all[:2]
		f.sail()

		alone := f.alike()
		got, want := map[string]bool{}, map[string]bool{}
		alone.claimed(want)
		for _, s := range f.nodes {
			s.claimed(got)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("together they have\n%s\nand one alone\n%s", strings.Join(slices.Sorted(maps.Keys(got)), "\n"), strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
		}
	})
}

// TestAskedBeforeEnd: that another program asks for a page lies in the log before the
// end of a fetch that had not read it. The next owner has the page fetched again;
// unless who fetched it has said, by then, that this program has had it too.
func TestAskedBeforeEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { // for the fleet's sake; nothing is drawn
		plan := sharedPlan(t, "crawl(U) :- seed(U). crawl(V) :- crawl(U), link(U, V).", overlay.Scheme{})
		f := newFleet(t, plan, true)
		f.more = []*flow.Plan{plan}
		f.keys = overlay.NewKeys(overlay.Scheme{}, fleetParts)
		f.crew(3)
		a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
		u := "http://h.test/p"
		part := f.keys.Home(mustURL(u))
		f.web[u] = []string{"http://h.test/child"}
		asks := func(program uint8) overlay.Post {
			return overlay.Post{Part: part, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Program: program}}}}}
		}
		f.append(c, asks(0))
		a.adopt(part)
		f.append(c, asks(1)) // a has not read it
		a.fetch()
		a.tell()
		a.disown(part)

		b.adopt(part)
		if got := slices.Sorted(maps.Values(b.queued)); !slices.Equal(got, []string{f.web[u][0], u}) {
			t.Fatalf("%v wait, want the page that one program has not had, and its child", got)
		}
		b.disown(part)

		a.read(part)
		a.again()
		a.tell()
		c.adopt(part)
		if got := slices.Collect(maps.Values(c.queued)); !slices.Equal(got, f.web[u]) {
			t.Fatalf("%v wait, want the child of the page that was delivered again", got)
		}
		rows := map[string]bool{}
		c.claimed(rows)
		if want := map[string]bool{"0 crawl " + f.web[u][0]: true, "1 crawl " + f.web[u][0]: true}; !maps.Equal(rows, want) {
			t.Fatalf("the new owner says that programs ask for %v", rows)
		}
	})
}
