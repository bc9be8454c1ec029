package crawl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/page"
)

func derive(t *testing.T, cfg ScopeConfig, seed string, f page.Facts) []string {
	t.Helper()
	s, err := cfg.Rules(worldSecret, &memory{})
	if err != nil {
		t.Fatal(err)
	}
	var out Out
	s.Page(&page.Facts{URL: mustURL(seed), Root: true}, &out)
	out.Crawl = nil
	s.Page(&f, &out)
	var rows []string
	for _, r := range out.Crawl {
		rows = append(rows, fmt.Sprintf("%s %s %d", strings.TrimPrefix(r.URL.String(), "http://"), r.By, r.Depth))
	}
	return rows
}

func TestScope(t *testing.T) {
	links := []string{
		"http://docs.a.example/x/1", "https://docs.a.example/x/2", "http://docs.a.example:8080/x/3", "http://docs.a.example/y/4",
		"http://www.a.example/5", "http://a.example.org/6", "http://docs.a.example/x?7",
	}
	for _, c := range []struct {
		scope string
		want  string // the digits of those that are followed
	}{
		{"host", "12347"}, {"domain", "123457"}, {"prefix", "12"}, {"any", "1234567"},
	} {
		var f page.Facts
		f.URL, f.Outcome = mustURL("http://docs.a.example/x/"), page.OK
		for _, l := range links {
			f.Links = append(f.Links, link(l))
		}
		var got string
		for _, r := range derive(t, ScopeConfig{Scope: c.scope, Depth: -1}, "http://docs.a.example/x/index.html?q=/z/", f) {
			u, _, _ := strings.Cut(r, " ")
			got += u[len(u)-1:]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.scope, got, c.want)
		}
	}
	for _, bad := range []ScopeConfig{{Scope: "world"}, {Scope: "any", Match: []string{"("}}, {Scope: "any", Exclude: []string{"["}}} {
		if _, err := bad.Rules(worldSecret, &memory{}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestScopeRows(t *testing.T) {
	of := func(kind page.Kind, u string) page.Link { l := link(u); l.Kind = kind; return l }
	nav, img := of(page.Nav, a+"/nav"), of(page.Requisite, a+"/img")
	entry, index := of(page.Sitemap, a+"/entry"), of(page.Sitemap, a+"/index")
	index.Rel = "sitemap"
	own, other := link(a+"/own"), link("http://b.example/other")
	own.NoFollow, other.NoFollow = true, true
	any := ScopeConfig{Scope: "any", Depth: -1}
	with := func(change func(c *ScopeConfig)) ScopeConfig { c := any; change(&c); return c }
	ok := func(depth uint16, l ...page.Link) page.Facts {
		return page.Facts{URL: mustURL(a + "/"), Outcome: page.OK, Depth: depth, Links: l}
	}
	nofollow := ok(0, nav)
	nofollow.NoFollow = true
	robots := ok(0, entry)
	robots.Robots = true
	nested := ok(2, entry, index)
	deepest := ok(0, index)
	deepest.Hops = sitemapNest
	moved := page.Facts{URL: mustURL(a + "/old"), Outcome: page.Redirected, Depth: 3, Redirect: link("http://b.example/new")}
	root := moved
	root.URL, root.Depth, root.Root = mustURL(a+"/"), 0, true
	for _, c := range []struct {
		name  string
		cfg   ScopeConfig
		facts page.Facts
		want  string
	}{
		{"depth", with(func(c *ScopeConfig) { c.Depth = 2 }), ok(1, nav), "a.example/nav link 2"},
		{"too deep", with(func(c *ScopeConfig) { c.Depth = 2 }), ok(2, nav), ""},
		{"depth ends at 65535", any, ok(65535, nav), "a.example/nav link 65535"},
		{"match", with(func(c *ScopeConfig) { c.Match = []string{"/na", "/zz"} }), ok(0, nav, own), "a.example/nav link 1"},
		{"exclude", with(func(c *ScopeConfig) { c.Exclude = []string{"/na"} }), ok(0, nav, own), "a.example/own link 1"},
		{"exclude beats match", with(func(c *ScopeConfig) { c.Match, c.Exclude = []string{"."}, []string{"/na"} }), ok(0, nav), ""},
		{"requisites are not asked for", any, ok(0, img), ""},
		{"requisites belong to the deepest page", with(func(c *ScopeConfig) { c.Requisites, c.Depth = true, 0 }), ok(0, img, nav), "a.example/img requisite 1"},
		{"sitemaps are not asked for", any, robots, ""},
		{"a sitemap of robots.txt", with(func(c *ScopeConfig) { c.Sitemaps, c.Depth = true, 0 }), robots, "a.example/entry sitemap 0"},
		{"a sitemap's pages and its parts", with(func(c *ScopeConfig) { c.Sitemaps = true }), nested, "a.example/index sitemap 2, a.example/entry sitemap 3"},
		{"sitemaps nest so deep", with(func(c *ScopeConfig) { c.Sitemaps = true }), deepest, ""},
		{"meta nofollow", any, nofollow, ""},
		{"meta nofollow, robots ignored", with(func(c *ScopeConfig) { c.NoRobots = true }), nofollow, "a.example/nav link 1"},
		{"rel=nofollow holds towards strangers", any, ok(0, own, other), "a.example/own link 1"},
		{"rel=nofollow, robots ignored", with(func(c *ScopeConfig) { c.NoRobots = true }), ok(0, other), "b.example/other link 1"},
		{"a redirect keeps the depth", any, moved, "b.example/new redirect 3"},
		{"a redirect out of the scope", ScopeConfig{Scope: "host", Depth: -1}, moved, ""},
		{"a root's redirect makes a root", ScopeConfig{Scope: "host", Depth: -1}, root, "b.example/new redirect 0, b.example/new redirect 0"},
	} {
		if got := strings.Join(derive(t, c.cfg, a+"/", c.facts), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The roots that redirects have made are there after a restart.
func TestScopeKeepsRoots(t *testing.T) {
	for _, scope := range []string{"host", "domain", "prefix"} {
		kv, cfg := &memory{}, ScopeConfig{Scope: scope, Depth: -1}
		s, err := cfg.Rules(worldSecret, kv)
		if err != nil {
			t.Fatal(err)
		}
		var out Out
		s.Page(&page.Facts{URL: mustURL(a + "/"), Root: true}, &out)
		s.Page(&page.Facts{URL: mustURL(a + "/"), Root: true, Outcome: page.Redirected, Redirect: link("http://b.example/dir/x")}, &out)
		b := &batch{}
		for _, p := range out.Put {
			b.Set(append([]byte{keyFact}, p.Key...), p.Value)
		}
		kv.commit(b)
		if s, err = cfg.Rules(worldSecret, kv); err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, u := range []string{a + "/y", "http://b.example/dir/y", "http://c.example/"} {
			follows, err := s.Follows(mustURL(u))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, follows)
		}
		if !slices.Equal(got, []bool{true, true, false}) {
			t.Errorf("%s: %v", scope, got)
		}
	}
}

// Under prefixes, a page is inside when a root's folder is one of its own,
// however many roots there are.
func TestScopePrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := ScopeConfig{Scope: "prefix", Depth: -1}.Rules(worldSecret, &memory{})
		if err != nil {
			t.Fatal(err)
		}
		draw := func(label string) page.URL {
			host := rapid.SampledFrom([]string{"http://a.example", "http://a.example:81", "https://a.example"}).Draw(t, label)
			return mustURL(host + rapid.StringMatching(`(/[ab]{0,2}){1,4}(\?[ab/]{0,3})?`).Draw(t, label))
		}
		var marks []string
		for range rapid.IntRange(0, 4).Draw(t, "roots") {
			u := draw("root")
			var out Out
			if err := s.Page(&page.Facts{URL: u, Root: true}, &out); err != nil {
				t.Fatal(err)
			}
			path, _, _ := strings.Cut(u.Path(), "?")
			marks = append(marks, u.HostPort()+path[:strings.LastIndexByte(path, '/')+1])
		}
		u := draw("page")
		want := slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(u.HostPort()+u.Path(), m) })
		if got, err := s.Follows(u); err != nil || got != want {
			t.Fatalf("%s is inside %q: %v, %v", u, marks, got, err)
		}
	})
}
