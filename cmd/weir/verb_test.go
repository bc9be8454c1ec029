package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/node"
	"weir/internal/testweb"
	"weir/page"
)

// said is what a command line printed.
type said struct {
	out, err string
	code     int
}

// weir runs a command line in this process.
func weir(t testing.TB, input string, args ...string) said {
	t.Helper()
	var out, err bytes.Buffer
	code := run(args, &env{ctx: context.Background(), in: strings.NewReader(input), out: &out, err: &err})
	return said{out.String(), err.String(), code}
}

// must is weir for a command that has to work.
func must(t testing.TB, args ...string) string {
	t.Helper()
	got := weir(t, "", args...)
	if got.code != 0 {
		t.Fatalf("weir %s: exit %d\n%s", strings.Join(args, " "), got.code, got.err)
	}
	return got.out
}

// smallWeb has a bit of everything: a forbidden part, a slow host to come, a
// trap, redirects, errors, compressed and repeated pages.
func smallWeb(t testing.TB) *testweb.Web {
	t.Helper()
	web, err := testweb.Start(testweb.Config{Seed: 7, Sites: []testweb.Site{
		{Name: "plain.test", Pages: 12, Links: 4, Size: 2000, Faults: []testweb.Fault{
			{Kind: testweb.Gzip, Pages: []int{1}}, {Kind: testweb.Chunked, Pages: []int{2}},
			{Kind: testweb.Duplicate, Pages: []int{3, 4}}, {Kind: testweb.WrongType, Pages: []int{5}},
		}},
		{Name: "odd.test", Pages: 10, Links: 4, Size: 1000, Deny: []string{"/private"}, Traps: testweb.Traps{Nest: true},
			Faults: []testweb.Fault{{Kind: testweb.NotFound, Pages: []int{1}}, {Kind: testweb.RedirectPage, Pages: []int{2}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	return web
}

// crawlWeb crawls a web from all its start pages and returns the folder.
func crawlWeb(t testing.TB, web *testweb.Web, change func(*node.Config)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "crawl")
	crawlInto(t, dir, web.Seeds(), web.Resolve(), change)
	return dir
}

// crawlInto crawls without a wait into a folder, which may hold a crawl.
func crawlInto(t testing.TB, dir string, urls, resolve []string, change func(*node.Config)) {
	t.Helper()
	s := defaults()
	s.Dir, s.Wait, s.Scope, s.Memory, s.Resolve = dir, 0, "any", 64e6, resolve
	var seeds []node.Seed
	for _, text := range urls {
		u, err := page.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, node.Seed{URL: u})
	}
	s.allow(seeds)
	cfg, err := setup(s, seeds)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cfg)
	}
	report, err := node.Run(context.Background(), make(chan struct{}), *cfg)
	if err != nil {
		t.Fatal(err)
	}
	if report.Fetched == 0 {
		t.Fatalf("nothing was fetched: %+v", report)
	}
}
