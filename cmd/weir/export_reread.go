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

// exportLinks writes a row for every link of every page, in the order of export
// pages.
func exportLinks(ctx context.Context, f *folder, out io.Writer, format string) error {
	a, err := f.archive(linkWant)
	if err != nil {
		return err
	}
	return exportRows(out, format, extract.Each(ctx, a, f.Pages, func(r *extract.Rereader, p *crawl.PageInfo) ([]linkRow, error) {
		facts, err := r.Facts(p)
		if err != nil {
			return nil, err
		}
		links := followed(facts)
		rows := make([]linkRow, len(links))
		for i, l := range links {
			rows[i] = linkRow{
				From: p.URL.String(), To: l.URL.String(), Kind: l.Kind.String(), Rel: l.Rel, Text: l.Text,
				NoFollow: l.NoFollow || facts.NoFollow,
			}
		}
		return rows, nil
	}))
}

// followed are the links of a page, or where it redirects to.
func followed(f *page.Facts) []page.Link {
	if !f.Redirect.URL.IsZero() {
		return []page.Link{f.Redirect}
	}
	return f.Links
}

// exportText writes a row for the text of every HTML page.
func exportText(ctx context.Context, f *folder, out io.Writer, format string) error {
	a, err := f.archive(page.Want{})
	if err != nil {
		return err
	}
	return exportRows(out, format, extract.Each(ctx, a, f.Pages, func(r *extract.Rereader, p *crawl.PageInfo) ([]textRow, error) {
		title, text, ok, err := r.Text(p)
		if err != nil || !ok {
			return nil, err
		}
		return []textRow{{p.URL.String(), title, text}}, nil
	}))
}

// exportRows writes rows as they come.
func exportRows[T any](out io.Writer, format string, all iter.Seq2[[]T, error]) error {
	w := newTable[T](out, format)
	for rows, err := range all {
		for i := range rows {
			if err == nil {
				err = w.write(&rows[i])
			}
		}
		if err != nil {
			return err
		}
	}
	return w.close()
}
