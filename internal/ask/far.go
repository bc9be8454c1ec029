package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weir/crawl"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// Far is a crawl whose rows and facts are with others: the nodes of a cluster. What it
// hands out may come in any order, and more than once.
type Far interface {
	Seeds() []crawl.Seed
	// Crawled hands out the rows of crawl.
	Crawled(ctx context.Context, fn func(url string, depth int64, score float64) error) error
	// Rows hands out those of a table that the crawl's own program keeps up.
	Rows(ctx context.Context, table string, fn func(flow.Row) error) error
	// Facts hands out pages that ended.
	Facts(ctx context.Context, n Need, fn func(*page.Facts) error) error
}

// Need says what a question needs of pages.
type Need struct {
	page.Want
	Read   bool // what they say, not only how they ended
	Links  bool
	Robots bool // also the sitemaps that sites name
}

// Needs says what the question needs of pages.
func (p *Program) Needs() Need {
	n := Need{Want: p.Wants(), Read: p.Reads(), Robots: p.uses("robots")}
	for _, table := range []string{"link", "requisite", "sitemap", "robots"} {
		n.Links = n.Links || p.uses(table)
	}
	return n
}

// gather delivers what is far: rows of crawl, seeds, and tables of the crawl's
// program.
func (r *run) gather(far Far) error {
	if r.uses("seed") {
		for _, s := range far.Seeds() {
			if err := r.take(r.part.Seed(s.URL, float64(s.Score), &r.out)); err != nil {
				return err
			}
		}
	}
	if r.plan.KeepsCrawl {
		err := far.Crawled(r.ctx, func(url string, depth int64, score float64) error {
			return r.take(r.part.Crawled(url, depth, score, &r.out))
		})
		if err != nil {
			return err
		}
	}
	for _, name := range r.kept {
		if !r.uses(name) {
			continue
		}
		t := r.Table(name)
		if err := far.Rows(r.ctx, name, func(row flow.Row) error { return r.take(r.part.Give(t, row, &r.out)) }); err != nil {
			return err
		}
	}
	if !r.pageful() {
		return nil
	}
	for again := true; again; again = r.stale {
		r.stale = false
		if err := far.Facts(r.ctx, r.Needs(), r.page); err != nil {
			return err
		}
	}
	return nil
}

// ReadFar is Read for a crawl that is Far. A table that the crawl keeps is worked out
// too: from the rows that each of the others has.
func (q Question) ReadFar() (*Program, []query.Diag) {
	p, diags := q.Read()
	if p == nil || !slices.Contains(p.kept, p.Answer.Name) {
		return p, diags
	}
	vars := make([]string, p.Answer.Arity())
	for i := range vars {
		vars[i] = fmt.Sprint("V", i)
	}
	const name = "gathered_rows"
	columns := strings.Join(vars, ", ")
	all, faults := Question{Name: q.Name, Table: name, Text: name + "(" + columns + ") :- " + p.Answer.Name + "(" + columns + ").", Own: q.Own}.Read()
	if all != nil {
		all.Answer.Columns = p.Answer.Columns
	}
	return all, append(diags, faults...)
}
