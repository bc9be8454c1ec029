package main

import (
	"context"
	"io"
	"iter"

	"weir/crawl"
	"weir/internal/extract"
	"weir/page"
	"weir/robots"
)

// archive returns the pages of a crawl to be read again, for the facts wanted
// and those that the crawl itself went by.
func (f *folder) archive(w page.Want) (*extract.Archive, error) {
	agent := robots.Token(f.asRun.UserAgent)
	if agent == "" {
		agent = product
	}
	return extract.NewArchive(f.store, extract.Config{
		Want:  w.Merge(page.Want{Requisites: f.asRun.Requisites, Sitemaps: f.asRun.Sitemaps}),
		Agent: agent, Strip: f.strip, Memory: int64(f.asRun.Memory),
	})
}

// linkWant is what the table of links shows.
var linkWant = page.Want{Anchors: true, Requisites: true}

// rowsOf are the rows that one page has in a table.
type rowsOf[T any] struct {
	at   int64 // when it was fetched
	rows []T
}

// links are the rows of every link of pages, in their order.
func (f *folder) links(ctx context.Context, pages extract.Pages) (iter.Seq2[rowsOf[linkRow], error], error) {
	a, err := f.archive(linkWant)
	if err != nil {
		return nil, err
	}
	return extract.Each(ctx, a, pages, func(r *extract.Rereader, p *crawl.PageInfo) (of rowsOf[linkRow], err error) {
		facts, err := r.Facts(p)
		if err != nil {
			return of, err
		}
		of.at = p.At.UnixNano()
		for _, l := range followed(facts) {
			of.rows = append(of.rows, linkRow{
				From: p.URL.String(), To: l.URL.String(), Kind: l.Kind.String(), Rel: l.Rel, Text: l.Text,
				NoFollow: l.NoFollow || facts.NoFollow,
			})
		}
		return of, nil
	}), nil
}

// followed are the links of a page, or where it redirects to.
func followed(f *page.Facts) []page.Link {
	if !f.Redirect.URL.IsZero() {
		return []page.Link{f.Redirect}
	}
	return f.Links
}

// texts are the rows of those pages that are HTML.
func (f *folder) texts(ctx context.Context, pages extract.Pages) (iter.Seq2[rowsOf[textRow], error], error) {
	a, err := f.archive(page.Want{})
	if err != nil {
		return nil, err
	}
	return extract.Each(ctx, a, pages, func(r *extract.Rereader, p *crawl.PageInfo) (of rowsOf[textRow], err error) {
		title, text, ok, err := r.Text(p)
		if ok && err == nil {
			of = rowsOf[textRow]{p.At.UnixNano(), []textRow{{p.URL.String(), title, text}}}
		}
		return of, err
	}), nil
}

// exportRows writes rows as they come.
func exportRows[T any](out io.Writer, format string, all iter.Seq2[rowsOf[T], error], err error) error {
	if err != nil {
		return err
	}
	w := newTable[T](out, format)
	for of, err := range all {
		for i := range of.rows {
			if err == nil {
				err = w.write(&of.rows[i])
			}
		}
		if err != nil {
			return err
		}
	}
	return w.close()
}
