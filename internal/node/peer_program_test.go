package node

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
)

// TestRedirectsWidenTheScopeOfAllNodes: seeds that redirect to other sites bring
// these into the crawl on every node, not only where the redirect was met.
func TestRedirectsWidenTheScopeOfAllNodes(t *testing.T) {
	t.Parallel()
	sites := testweb.Even(12, testweb.Site{Pages: 12, Links: 6, Size: 1000})
	for i := range 4 {
		sites[i].Faults = []testweb.Fault{{Kind: testweb.RedirectSite, Pages: []int{0}}}
	}
	roots := func(web *testweb.Web) []Seed {
		list, err := seeds(web.Seeds()[:4])
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	one := start(t, testweb.Config{Seed: 5, Sites: sites})
	cfg := config(t, one)
	cfg.Seeds = roots(one)
	run(t, cfg)

	web := start(t, testweb.Config{Seed: 5, Sites: sites})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) { cfg.Seeds, cfg.Wait = roots(web), time.Millisecond }
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	paths := func(web *testweb.Web) []string { // without the port
		var list []string
		for _, u := range web.Served() {
			list = append(list, page.Canonical(u).Host()+page.Canonical(u).Path())
		}
		return list
	}
	if got, want := paths(web), paths(one); !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("three nodes were served %d pages, one alone %d; missing %v", len(got), len(want), missing(want, got))
	}
}

// TestNodesCountAndStopTogether: a program counts the pages of all nodes, and stops
// them all.
func TestNodesCountAndStopTogether(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 6, Sites: testweb.Even(12, testweb.Site{Pages: 400, Links: 10, Size: 1000, Latency: time.Millisecond})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) {
		cfg.Wait = 5 * time.Millisecond
		cfg.Programs = []*program.Source{{Name: "enough.dl", Text: `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), host(V) = host(U).
pages("all", max count<U>) :- fetched(U, 200).
stop("enough") :- pages(_, N), N >= 300.
`}}
	}
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	f.leave()
	fetched := int64(0)
	for _, s := range f.nodes {
		if s.err != nil || !s.cut && s.report.StoppedBy != crawl.StopRule+"enough" {
			t.Errorf("%s has ended by %q: %v", s.name, s.report.StoppedBy, s.err)
		}
		fetched += s.report.Fetched
	}
	if fetched < 300 {
		t.Errorf("they have stopped after %d pages", fetched)
	}
}

// TestNodesSharePrograms: several programs share a crawl that several nodes share. A
// page is fetched once for all of them, and each has the pages that it has on one
// node.
func TestNodesSharePrograms(t *testing.T) {
	t.Parallel()
	sites := testweb.Even(9, testweb.Site{Pages: 25, Links: 5, Size: 1000})
	programs := []*program.Source{
		{As: "near", Name: "near.dl", Text: `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 2.`},
		{As: "odd", Name: "odd.dl", Text: `
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V), matches(V, "[13579]$").
live named.
named(path(V), max count<U>) :- link(U, V).`},
	}
	one := start(t, testweb.Config{Seed: 5, Sites: sites})
	cfg := config(t, one)
	cfg.Programs = programs
	run(t, cfg)

	web := start(t, testweb.Config{Seed: 5, Sites: sites})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) { cfg.Programs, cfg.Wait = programs, time.Millisecond }
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	var dirs []string
	f.leave()
	for _, s := range f.nodes {
		if s.err != nil {
			t.Errorf("%s: %v", s.name, s.err)
		}
		dirs = append(dirs, filepath.Join(s.dir, "crawl"))
	}
	for _, p := range programs {
		got, want := claimed(t, p.As, dirs...), claimed(t, p.As, cfg.Dir)
		if !maps.Equal(got, want) || len(want) < 20 {
			t.Errorf("%s: three nodes have %d pages, one alone %d", p.As, len(got), len(want))
		}
	}
}

// claimed are the pages that a program asks for, without their ports, in the folders
// of nodes.
func claimed(t testing.TB, as string, dirs ...string) map[string]bool {
	t.Helper()
	rows := map[string]bool{}
	for _, dir := range dirs {
		st, err := store.Open(dir, store.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		view, err := crawl.NewView(st)
		if err != nil {
			t.Fatal(err)
		}
		each := view.Programs().Each
		i := slices.IndexFunc(each, func(n crawl.Named) bool { return n.Name == as })
		of := view.Of(each[i])
		note := func(p *crawl.PageInfo) bool {
			if !p.Stray {
				rows[p.URL.Host()+p.URL.Path()] = true
			}
			return true
		}
		for _, list := range []func(func(*crawl.PageInfo) bool) error{of.Pages, of.Queue} {
			if err := list(note); err != nil {
				t.Fatal(err)
			}
		}
	}
	return rows
}
