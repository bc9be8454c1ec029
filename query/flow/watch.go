package flow

import (
	"slices"

	"weir/page"
	"weir/query"
)

// watch finds out what the caller has to tell the Parts.
func (p *Plan) watch() {
	crawl := p.Program.Table("crawl")
	p.KeepsCrawl = crawl != nil && p.tables[crawl.ID] != nil
	for _, r := range p.Program.Rules {
		for _, l := range r.Body {
			if l.Atom == nil || l.Atom.Table != "crawl" {
				continue
			}
			p.TestsDepth = p.TestsDepth || tests(r, l.Atom, 1)
			p.TestsPriority = p.TestsPriority || tests(r, l.Atom, 2)
		}
	}
}

// tests says that a rule does more with a column of crawl than to pass it on in
// the same column.
func tests(r *query.Rule, a *query.Atom, column int) bool {
	if column >= len(a.Args) || a.Args[column].Op == query.Anon {
		return false
	}
	v := a.Args[column]
	if v.Op != query.Var {
		return true
	}
	uses := 0
	count := func(t *query.Term) {
		t.Vars(func(o *query.Term) {
			if o.Name == v.Name {
				uses++
			}
		})
	}
	for i, t := range r.Head.Args {
		if r.Head.Table != "crawl" || i != column {
			count(t)
		}
	}
	for _, l := range r.Body {
		switch {
		case l.Atom != nil:
			for _, t := range l.Atom.Args {
				count(t)
			}
		case l.Test != nil:
			count(l.Test)
		default:
			count(l.Compare.L)
			count(l.Compare.R)
		}
	}
	return uses > 1
}

// Wants returns which facts the rules look at.
func (p *Plan) Wants() page.Want {
	var w page.Want
	for _, s := range p.Stages {
		for _, in := range slices.Concat(s.Inputs, s.Absent) {
			w = w.Merge(in.Wants())
		}
	}
	return w
}

// Wants returns which facts must be read of pages for the rows of the input.
func (in *Input) Wants() (w page.Want) {
	if in.Table == nil {
		return w
	}
	switch in.Table.Name {
	case "link":
		for _, c := range in.Columns[2:] { // anchor and rel: several links may lead to one target
			w.Anchors = w.Anchors || c.Slot >= 0 || c.Const != nil
		}
	case "requisite":
		w.Requisites = true
	case "sitemap", "robots":
		w.Sitemaps = true
	case "word":
		w.Words = true
	case "header":
		w.Headers = true
	case "meta":
		w.Metas = true
	case "hreflang":
		w.Translations = true
	}
	return w
}

// Exchanges says that rows of a stage go to another place: to a stage, or, from a
// rule's root, to the home of what it derives.
func (s *Stage) Exchanges() bool {
	return s.Sends != nil || s.Rule.Ships && s.Rule.Head.Name != "crawl"
}
