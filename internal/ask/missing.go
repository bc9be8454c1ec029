package ask

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/page"
	"weir/query"
)

// Has says whether a crawl has the facts of its pages that somebody wants, and
// those that every crawl reads. [extract.Archive.Has] is one.
type Has func(page.Want) bool

// nothing is had of pages by a crawl that knows only how they ended.
func nothing(page.Want) bool { return false }

// Said lists the facts the question needs that are about what pages say, and are
// had.
func (p *Program) Said(has Has) []string {
	return p.names(func(t *query.Table) bool { return p.lost(t, nothing) && !p.lost(t, has) })
}

// Missing lists the facts that the question needs and that are not had.
func (p *Program) Missing(has Has) []string {
	return p.names(func(t *query.Table) bool { return p.lost(t, has) })
}

func (p *Program) names(which func(*query.Table) bool) []string {
	var names []string
	for _, t := range p.Tables {
		if which(t) && p.uses(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// lost says that the rows of a table, with the columns that the question looks at,
// are about what pages say, and are not had.
func (p *Program) lost(t *query.Table, has Has) bool {
	if t.Kind != query.PageFact || slices.Contains(kept, t.Name) {
		return false
	}
	var w page.Want
	for _, in := range p.reads(t.Name) {
		w = w.Merge(in.Wants())
	}
	return !has(w)
}

// WithoutArchive is the error of a question that a crawl without an archive would
// answer wrongly: one that negates facts which that crawl did not keep, or
// aggregates over them, or looks at texts or rels of links where it kept only targets. Where facts
// are only joined, rows are missing and none is wrong.
func (p *Program) WithoutArchive(has Has) error {
	if has(page.Want{}) && slices.Contains(p.Missing(has), "link") {
		return errors.New("this crawl kept no archive (--warc none), of links to one target only the first, and links without their texts")
	}
	var names []string
	p.below(p.Answer, map[*query.Table]bool{}, func(r *query.Rule) {
		whole := slices.ContainsFunc(r.Head.Args, func(t *query.Term) bool { return t.Op == query.Aggregate })
		for _, l := range r.Body {
			if l.Atom == nil || !whole && !l.Neg {
				continue
			}
			seen := map[*query.Table]bool{}
			p.below(p.Table(l.Atom.Table), seen, func(*query.Rule) {})
			for _, t := range p.Tables {
				if seen[t] && p.lost(t, has) && !slices.Contains(names, t.Name) {
					names = append(names, t.Name)
				}
			}
		}
	})
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("this crawl kept no archive (--warc none), so nothing is known of %s, and what is negated or counted of it would be wrong", strings.Join(names, ", "))
}

// below visits a table and all that its rows are worked out from, and calls fn
// for the rules that do it. What the crawl keeps needs no rules.
func (p *Program) below(t *query.Table, seen map[*query.Table]bool, fn func(*query.Rule)) {
	if seen[t] {
		return
	}
	seen[t] = true
	if slices.Contains(p.kept, t.Name) {
		return
	}
	for _, r := range t.Rules {
		fn(r)
		for _, l := range r.Body {
			if l.Atom != nil {
				p.below(p.Table(l.Atom.Table), seen, fn)
			}
		}
	}
}
