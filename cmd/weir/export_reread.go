package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/textproto"
	"runtime"
	"sync"

	"weir/crawl"
	"weir/internal/parse"
	"weir/internal/store"
	"weir/page"
	"weir/robots"
)

// maxReread is how much of a stored body is read, as in a crawl.
const maxReread = 64 << 20

// rereader reads archived pages once more. It belongs to one goroutine.
type rereader struct {
	f      *folder
	agent  string
	parser parse.Parser
	body   bytes.Buffer
}

// reread writes the rows that read makes of every archived page, in the order
// of export pages.
func reread[T any](ctx context.Context, f *folder, out io.Writer, format string, read func(*rereader, *crawl.PageInfo) ([]T, error)) error {
	w := newTable[T](out, format)
	err := rereadEach(ctx, f, read, func(_ *crawl.PageInfo, rows []T) error {
		for i := range rows {
			if err := w.write(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.close()
}

// rereadEach calls use with what read makes of every archived page, in the order
// of export pages. Workers read pages at the same time; what they made of a page
// waits for the pages before it.
func rereadEach[T any](ctx context.Context, f *folder, read func(*rereader, *crawl.PageInfo) (T, error), use func(*crawl.PageInfo, T) error) error {
	type result struct {
		made T
		err  error
	}
	type job struct {
		page *crawl.PageInfo
		done chan result
	}
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan job, workers)
	order := make(chan job, 4*workers) // bounds the results that wait
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range workers {
		all.Go(func() {
			r := &rereader{f: f, agent: robots.Token(f.asRun.UserAgent)}
			if r.agent == "" {
				r.agent = "weir"
			}
			for j := range jobs {
				if ctx.Err() != nil {
					continue
				}
				made, err := read(r, j.page)
				if err != nil {
					err = fmt.Errorf("%s: %w", j.page.URL, err)
				}
				j.done <- result{made, err}
			}
		})
	}
	var scanned error
	all.Go(func() {
		defer close(order)
		defer close(jobs)
		scanned = f.Pages(func(p *crawl.PageInfo) bool {
			if p.Record.File == 0 {
				return true
			}
			j := job{p, make(chan result, 1)}
			for _, to := range []chan job{order, jobs} {
				select {
				case to <- j:
				case <-ctx.Done():
					return false
				}
			}
			return true
		})
	})
	for j := range order {
		var r result
		select {
		case r = <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.err != nil {
			return r.err
		}
		if err := use(j.page, r.made); err != nil {
			return err
		}
	}
	return scanned
}

// stored is an archived answer, ready to be read.
type stored struct {
	header textproto.MIMEHeader
	body   []byte // decoded; valid until the next record is read
}

// open reads a page's record. The body is read only when its type may be wanted.
func (r *rereader) open(p *crawl.PageInfo, want func(h textproto.MIMEHeader) bool) (*stored, error) {
	e, err := r.f.store.ReadRecord(store.Place(p.Record))
	if err != nil {
		return nil, err
	}
	s := &stored{header: readHeader(e.Head)}
	if !want(s.header) {
		return s, e.Close()
	}
	e.Close() // it is read again, from the beginning
	e, body, err := openBody(r.f.store, store.Place(p.Record))
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if r.body.Cap() > maxReread/8 {
		r.body = bytes.Buffer{}
	}
	r.body.Reset()
	// A stream that breaks off gives what came before, as it did in the crawl.
	_, err = r.body.ReadFrom(io.LimitReader(body, maxReread))
	s.body = r.body.Bytes()
	if len(s.body) > 0 {
		err = nil
	}
	return s, err
}

// readHeader reads the fields of an HTTP head; those after one that cannot be
// read are left out.
func readHeader(head []byte) textproto.MIMEHeader {
	_, head, _ = bytes.Cut(head, []byte("\n"))
	h, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(head))).ReadMIMEHeader()
	return h
}

// mayBeHTML says whether a type is read as HTML, or must be looked at first.
func mayBeHTML(h textproto.MIMEHeader) bool {
	return parse.IsHTML(h.Get("Content-Type"), []byte("<html>"))
}

// links makes a row of every link of a page.
func (r *rereader) links(p *crawl.PageInfo) ([]linkRow, error) {
	found, err := r.follow(p)
	if err != nil {
		return nil, err
	}
	rows := make([]linkRow, len(found.links))
	for i, l := range found.links {
		rows[i] = linkRow{
			From: p.URL.String(), To: l.URL.String(), Kind: l.Kind.String(), Rel: l.Rel, Text: l.Text,
			NoFollow: l.NoFollow || found.noFollow,
		}
	}
	return rows, nil
}

// leads are the links of a page, as the crawl took them.
type leads struct {
	links    []page.Link
	noFollow bool // the page asks that none of them be followed
}

// follow returns the links of a page.
func (r *rereader) follow(p *crawl.PageInfo) (leads, error) {
	var found leads
	switch {
	case p.Outcome == page.Redirected:
		return r.redirect(p)
	case !p.Outcome.Row().Kept:
		return found, nil
	}
	listed := p.By == crawl.BySitemap
	s, err := r.open(p, func(h textproto.MIMEHeader) bool { return listed || mayBeHTML(h) })
	if err != nil || len(s.body) == 0 {
		return found, err
	}
	kind := s.header.Get("Content-Type")
	asked := robots.ParseHeader(s.header.Values("X-Robots-Tag"), r.agent)
	switch {
	case parse.IsHTML(kind, s.body):
		doc := r.parser.HTML(s.body, p.URL, kind, r.agent, parse.Want{Anchors: true, Requisites: true})
		asked = asked.Merge(doc.Robots)
		found.links = doc.Links
	case listed && parse.IsSitemap(kind, p.URL.Path(), s.body):
		m, err := r.parser.Sitemap(s.body, p.URL)
		if err != nil {
			return found, nil // it lists nothing
		}
		for _, e := range m.Entries {
			found.links = append(found.links, page.Link{URL: e.URL, Kind: page.Sitemap})
		}
	}
	for i := range found.links {
		found.links[i].URL = r.f.strip.Apply(found.links[i].URL)
	}
	found.noFollow = asked.NoFollow
	return found, nil
}

func (r *rereader) redirect(p *crawl.PageInfo) (leads, error) {
	s, err := r.open(p, func(textproto.MIMEHeader) bool { return false })
	if err != nil {
		return leads{}, err
	}
	to, err := p.URL.Resolve(s.header.Get("Location"))
	if err != nil {
		return leads{}, nil // it leads nowhere
	}
	return leads{links: []page.Link{{URL: r.f.strip.Apply(to), Kind: page.Redirect}}}, nil
}

// text makes a row of a page's title and text.
func (r *rereader) text(p *crawl.PageInfo) ([]textRow, error) {
	if !p.Outcome.Row().Kept {
		return nil, nil
	}
	s, err := r.open(p, mayBeHTML)
	if err != nil || len(s.body) == 0 {
		return nil, err
	}
	kind := s.header.Get("Content-Type")
	if !parse.IsHTML(kind, s.body) {
		return nil, nil
	}
	doc := r.parser.HTML(s.body, p.URL, kind, r.agent, parse.Want{Text: true})
	return []textRow{{p.URL.String(), doc.Title, doc.Text}}, nil
}
