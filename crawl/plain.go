package crawl

import (
	"fmt"
	"strings"

	"weir/query"
)

// ScopeConfig says which pages a plain crawl is about: what flags can say.
type ScopeConfig struct {
	Scope      string // host, domain, prefix or any: how far from the roots
	Depth      int    // links from a root, -1 = no bound
	Match      []string
	Exclude    []string
	Requisites bool
	Sitemaps   bool
	NoRobots   bool // --ignore-robots: nofollow is not obeyed either
	Index      bool // keep an index of what pages say as tables, see IndexRules
}

// sitemapNest is how many sitemap indexes may lie inside one another.
const sitemapNest = 4

// scopes says, for every --scope, what a root stands for and when a page V is
// inside.
var scopes = map[string]struct{ mark, inside string }{
	"host":   {"host(U)", "scope(host(V))"},
	"domain": {"domain(U)", "scope(domain(V))"},
	"prefix": {"folder(U)", "scope(F), under(V, F)"},
	"any":    {},
}

// IndexRules are those of an inverted index: index is found by its term, and length
// has the words of each page. Nodes of a cluster keep it together, each the terms of
// its partitions.
const IndexRules = `live index, length.
index(W, U, N, L) :- word(U, W, N, L), !noindex(U).
length(U, max<L>) :- word(U, _, _, L), !noindex(U).
`

// Program returns the plain crawl as a program: roots are the seeds and what
// they redirect to, and the rest is what their links lead to. Redirects of roots
// are followed wherever they lead, since that is how a site says where it is
// now.
//
// What a page needs to be shown belongs to it and is not held to the depth; nor
// are the sitemaps that a robots.txt names.
func (c ScopeConfig) Program() (string, error) {
	in, ok := scopes[c.Scope]
	if !ok {
		return "", fmt.Errorf("no scope is called %q; there are host, domain, prefix, any", c.Scope)
	}
	match, err := c.patterns()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("root(U, max S) :- seed(U, S).")
	line("root(V, max S) :- root(U, S), redirect(U, V).")
	if in.mark != "" {
		line("small scope.")
		line("scope(%s) :- root(U, _).", in.mark)
	}
	var inside []string
	if in.inside != "" {
		inside = append(inside, in.inside)
	}
	for _, p := range c.Exclude {
		inside = append(inside, "!matches(V, "+query.Quote(p)+")")
	}
	if match != "" {
		inside = append(inside, "matches(V, "+query.Quote(match)+")")
	}
	wanted, near := "", ""
	if len(inside) > 0 {
		wanted = ", " + strings.Join(inside, ", ")
	}
	if c.Depth >= 0 {
		near = fmt.Sprintf(", D < %d", c.Depth)
	}
	line("crawl(U, 0, S) :- root(U, S).")
	line("crawl(V, D, P) :- crawl(U, D, P), redirect(U, V)%s.", wanted)
	line("crawl(V, D+1, P) :- crawl(U, D, P), link(U, V)%s%s.", near, wanted)
	if c.Requisites {
		line("crawl(V, D+1, P) :- crawl(U, D, P), requisite(U, V)%s.", wanted)
	}
	if c.Sitemaps {
		line(`crawl(V, 0, 0) :- robots(_, V)%s.`, wanted)
		line(`crawl(V, D, P) :- crawl(U, D, P), sitemap(U, V, _, "index")%s.`, wanted)
		line(`crawl(V, D+1, P) :- crawl(U, D, P), sitemap(U, V, _, "page")%s%s.`, near, wanted)
	}
	if c.Index {
		b.WriteString(IndexRules)
	}
	return b.String(), nil
}

// patterns makes one pattern of those of which a page must match any, "" for none.
// What is wrong with a pattern is told with its flag.
func (c ScopeConfig) patterns() (match string, err error) {
	for _, list := range []struct {
		flag     string
		patterns []string
	}{{"--match", c.Match}, {"--exclude", c.Exclude}} {
		for _, p := range list.patterns {
			if err := query.CheckPattern(p); err != nil {
				return "", fmt.Errorf("%s %s: %w", list.flag, shown(p), err)
			}
		}
	}
	if len(c.Match) < 2 {
		return strings.Join(c.Match, ""), nil
	}
	match = "(?:" + strings.Join(c.Match, ")|(?:") + ")"
	if err := query.CheckPattern(match); err != nil {
		return "", fmt.Errorf("the %d patterns of --match together: %w", len(c.Match), err)
	}
	return match, nil
}

// shown is the beginning of a pattern, in quotes.
func shown(pattern string) string {
	const most = 60
	if len(pattern) > most {
		return fmt.Sprintf("%q...", pattern[:most])
	}
	return fmt.Sprintf("%q", pattern)
}
