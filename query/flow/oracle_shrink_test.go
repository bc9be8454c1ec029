package flow_test

import (
	"slices"
	"strings"

	"weir/page"
)

// shrink leaves out clauses, pages and links as long as the trial still fails.
func shrink(x trial, fails func(trial) bool) trial {
	for smaller := true; smaller; {
		smaller = false
		for _, y := range x.smaller() {
			if fails(y) {
				x, smaller = y, true
				break
			}
		}
	}
	return x
}

// smaller returns what the trial is without one of its parts.
func (x trial) smaller() []trial {
	var all []trial
	lines := strings.SplitAfter(strings.TrimSpace(x.text), "\n")
	for i, l := range lines {
		without := slices.Concat(lines[:i:i], lines[i+1:])
		y := x
		y.text = strings.Join(without, "")
		all = append(all, y)
		head, body, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(l), "."), " :- ")
		if !ok {
			continue
		}
		lits := literals(body)
		for j := range lits {
			if len(lits) > 1 {
				z := x
				z.text = strings.Join(lines[:i:i], "") + head + " :- " + strings.Join(slices.Concat(lits[:j:j], lits[j+1:]), ", ") + ".\n" + strings.Join(lines[i+1:], "")
				all = append(all, z)
			}
		}
	}
	for i := range x.web.seeds {
		if len(x.web.seeds) > 1 {
			w := *x.web
			w.seeds = slices.Concat(w.seeds[:i:i], w.seeds[i+1:])
			all = append(all, trial{x.seed, x.text, &w})
		}
	}
	for _, u := range x.web.urls {
		all = append(all, trial{x.seed, x.text, x.web.without(u)})
	}
	for _, u := range x.web.urls {
		f := x.web.pages[u]
		for i := range f.Links {
			g := *f
			g.Links = slices.Concat(f.Links[:i:i], f.Links[i+1:])
			all = append(all, trial{x.seed, x.text, x.web.with(u, &g)})
		}
		for _, strip := range []func(*page.Facts) bool{
			func(g *page.Facts) bool { had := g.Title != ""; g.Title = ""; return had },
			func(g *page.Facts) bool { had := g.Words != nil; g.Words = nil; return had },
			func(g *page.Facts) bool { had := g.Metas != nil; g.Metas = nil; return had },
			func(g *page.Facts) bool { had := g.Headers != nil; g.Headers = nil; return had },
			func(g *page.Facts) bool { had := g.Translations != nil; g.Translations = nil; return had },
		} {
			if g := *f; strip(&g) {
				all = append(all, trial{x.seed, x.text, x.web.with(u, &g)})
			}
		}
	}
	return all
}

// literals parts a body at the commas that are not inside parentheses.
func literals(body string) []string {
	var lits []string
	deep, from := 0, 0
	for i := range len(body) {
		switch body[i] {
		case '(':
			deep++
		case ')':
			deep--
		}
		if body[i] == ',' && deep == 0 {
			lits = append(lits, strings.TrimSpace(body[from:i]))
			from = i + 1
		}
	}
	return append(lits, strings.TrimSpace(body[from:]))
}
