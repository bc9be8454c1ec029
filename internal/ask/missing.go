package ask

import (
	"fmt"
	"slices"
	"strings"

	"weir/query"
)

// Missing lists the facts that a crawl without an archive does not have.
func (p *Program) Missing() []string {
	var names []string
	for _, t := range p.Tables {
		if p.lost(t) && p.uses(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// lost says that the rows of a table are only in the archive.
func (p *Program) lost(t *query.Table) bool {
	return t.Kind == query.PageFact && !slices.Contains(kept, t.Name)
}

// WithoutArchive is the error of a question that a crawl without an archive would
// answer wrongly: one that negates facts which that crawl did not keep, or
// aggregates over them. Where they are only joined, rows are missing and none is
// wrong.
func (p *Program) WithoutArchive() error {
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
				if seen[t] && p.lost(t) && !slices.Contains(names, t.Name) {
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
