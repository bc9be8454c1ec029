package crawl

import (
	"fmt"
	"regexp"
	"strings"

	"weir/page"
)

// Scope are the rules of a plain crawl: scope, depth and patterns.
type Scope struct {
	cfg            ScopeConfig
	match, exclude []*regexp.Regexp
	roots          map[string]bool // hosts, domains or prefixes, by scope
	longest        int             // of the roots
}

var rootKey = []byte("root/")

// NewScope returns the rules, with the roots that earlier runs have kept.
func NewScope(cfg ScopeConfig, kv KV) (*Scope, error) {
	s := &Scope{cfg: cfg, roots: map[string]bool{}}
	switch cfg.Scope {
	case "host", "domain", "prefix", "any":
	default:
		return nil, fmt.Errorf("no scope is called %q; there are host, domain, prefix, any", cfg.Scope)
	}
	for _, list := range []struct {
		flag string
		from []string
		to   *[]*regexp.Regexp
	}{{"--match", cfg.Match, &s.match}, {"--exclude", cfg.Exclude, &s.exclude}} {
		for _, p := range list.from {
			re, err := regexp.Compile(p)
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", list.flag, p, err)
			}
			*list.to = append(*list.to, re)
		}
	}
	prefix := append([]byte{keyFact}, rootKey...)
	err := kv.Scan(prefix, after(prefix), func(key, _ []byte) bool {
		s.addRoot(string(key[len(prefix):]))
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read the roots: %w", err)
	}
	return s, nil
}

// mark is what a root stands for under the scope.
func (s *Scope) mark(u page.URL) string {
	switch s.cfg.Scope {
	case "host":
		return u.Host()
	case "domain":
		return page.Domain(u.Host())
	case "prefix":
		path, _, _ := strings.Cut(u.Path(), "?")
		return u.HostPort() + path[:strings.LastIndexByte(path, '/')+1]
	}
	return ""
}

func (s *Scope) addRoot(mark string) bool {
	if s.roots[mark] {
		return false
	}
	s.roots[mark] = true
	s.longest = max(s.longest, len(mark))
	return true
}

func (s *Scope) root(u page.URL, out *Out) {
	if m := s.mark(u); s.addRoot(m) {
		out.Put = append(out.Put, Pair{Key: append(append([]byte(nil), rootKey...), m...), Value: []byte{}})
	}
}

func (s *Scope) inside(u page.URL) bool {
	switch s.cfg.Scope {
	case "any":
		return true
	case "prefix":
		// A prefix ends in a slash: ask for each folder on the way down.
		path, _, _ := strings.Cut(u.Path(), "?")
		site := u.HostPort()
		at := site + path
		for i := len(site); i < min(len(at), s.longest); i++ {
			if at[i] == '/' && s.roots[at[:i+1]] {
				return true
			}
		}
		return false
	}
	return s.roots[s.mark(u)]
}

// Wanted says whether a link to u is followed, as far as its URL decides.
func (s *Scope) Wanted(u page.URL) bool {
	if !s.inside(u) {
		return false
	}
	for _, re := range s.exclude {
		if re.MatchString(u.String()) {
			return false
		}
	}
	for _, re := range s.match {
		if re.MatchString(u.String()) {
			return true
		}
	}
	return len(s.match) == 0
}

// Page derives the crawl rows of a page:
//
//	crawl(U, 0)   :- seed(U).                                root(U) :- seed(U).
//	crawl(V, D)   :- crawl(U, D), redirect(U, V).            root(V) :- root(U), redirect(U, V).
//	crawl(V, D+1) :- crawl(U, D), link(U, V), D < depth, wanted(V).
//
// Requisites belong to their page: they are not held to the depth.
func (s *Scope) Page(f *page.Facts, out *Out) error {
	switch {
	case f.Outcome == page.None && f.Root:
		s.root(f.URL, out)
		out.Crawl = append(out.Crawl, Row{
			URL: f.URL, Hash: s.cfg.Secret.Hash(f.URL.Rest()), Root: true, Seed: true, Score: f.Score, By: BySeed,
		})
		return nil
	case f.Outcome == page.Redirected && !f.Robots && !f.Redirect.URL.IsZero():
		if f.Root {
			s.root(f.Redirect.URL, out)
		} else if !s.Wanted(f.Redirect.URL) {
			return nil
		}
		out.Crawl = append(out.Crawl, Row{
			URL: f.Redirect.URL, Hash: f.Redirect.Hash, Depth: f.Depth, Hops: f.Hops + 1, Root: f.Root, Score: f.Score, By: ByRedirect,
		})
		return nil
	case f.NoFollow && !s.cfg.NoRobots:
		return nil
	}
	for i := range f.Links {
		s.link(f, &f.Links[i], out)
	}
	return nil
}

func (s *Scope) Crawled(page.URL, uint16, float32, *Out) error { return nil }
func (s *Scope) Committed()                                    {}
func (s *Scope) Start(*Out) error                              { return nil }

func (s *Scope) link(f *page.Facts, l *page.Link, out *Out) {
	row := Row{URL: l.URL, Hash: l.Hash, Depth: max(f.Depth, f.Depth+1), Score: f.Score, By: ByLink}
	deep := s.cfg.Depth >= 0 && int(f.Depth) >= s.cfg.Depth
	switch l.Kind {
	case page.Requisite:
		if !s.cfg.Requisites {
			return
		}
		row.By, deep = ByRequisite, false
	case page.Sitemap:
		if !s.cfg.Sitemaps {
			return
		}
		row.By = BySitemap
		if f.Robots {
			row.Depth, deep = 0, false
		} else if l.Rel == "sitemap" { // an index: it costs a hop, not a link
			row.Depth, row.Hops, deep = f.Depth, f.Hops+1, f.Hops >= sitemapNest
		}
	}
	// rel=nofollow withholds a recommendation from a stranger; on the page's own
	// host it says nothing (docs/adr/0001).
	stranger := l.NoFollow && !s.cfg.NoRobots && l.URL.Host() != f.URL.Host()
	if deep || stranger || !s.Wanted(l.URL) {
		return
	}
	out.Crawl = append(out.Crawl, row)
}
