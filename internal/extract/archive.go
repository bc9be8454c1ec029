package extract

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/parse"
	"weir/internal/store"
	"weir/page"
	"weir/robots"
)

// Archive is a crawl whose pages can be read again: from its archive, or, without
// one, from what it kept of their facts, if anything. It is safe for concurrent use.
type Archive struct {
	store *store.Store
	cfg   Config
	keeps bool      // there is no archive, but facts are kept
	kept  page.Want // which
}

// NewArchive returns the pages of a crawl. The secret is the crawl's own, whatever
// cfg says.
func NewArchive(st *store.Store, cfg Config) (*Archive, error) {
	secret, ok, err := crawl.ReadSecret(st)
	if err == nil && !ok {
		err = errors.New("this crawl has not begun yet")
	}
	if err != nil {
		return nil, err
	}
	cfg.Secret = secret
	a := &Archive{store: st, cfg: cfg}
	if !a.Bodies() {
		a.kept, a.keeps, err = crawl.ReadWant(st)
	}
	return a, err
}

// Bodies says that the crawl keeps an archive: it has all facts of its pages, and
// their texts.
func (a *Archive) Bodies() bool { return a.store.Form() != store.None }

// Has says that the crawl has these facts of its pages, and those that every crawl
// reads. Otherwise it may have some of them, or only know how its pages ended.
func (a *Archive) Has(w page.Want) bool { return a.Bodies() || a.keeps && a.kept.Has(w) }

// Robots returns the facts of a site's robots.txt: the sitemaps it names.
func (a *Archive) Robots(s *crawl.SiteInfo) *page.Facts {
	f := &page.Facts{
		Key: page.Key{Site: s.ID}, URL: page.Join(s.Name, "/robots.txt"), Robots: true, Outcome: page.OK, At: s.RobotsAt.UnixNano(),
	}
	var rules robots.Rules
	rules.UnmarshalText([]byte(s.Robots)) // it was written by MarshalText, and is never an error
	r := Reader{Config: a.cfg}
	r.named(f, &rules)
	return f
}

// Reader returns a Rereader.
func (a *Archive) Reader() *Rereader {
	return &Rereader{archive: a, reader: Reader{Config: a.cfg}}
}

// Pages goes over the pages of a crawl, as [crawl.View.Pages] does, until it is
// told to stop.
type Pages = func(yield func(*crawl.PageInfo) bool) error

// Facts reads pages again. It is [Each] of [Rereader.Facts].
func (a *Archive) Facts(ctx context.Context, pages Pages) iter.Seq2[*page.Facts, error] {
	return Each(ctx, a, pages, (*Rereader).Facts)
}

// Each goes over what read makes of pages, in their order, until the first error.
// Pages are read at the same time, by as many workers as there are cores; what
// they make of a page waits for the pages before it, a few at most. The pages are
// gone over by a goroutine of their own. When the loop over Each ends, so has
// everything it began.
func Each[T any](ctx context.Context, a *Archive, pages Pages, read func(*Rereader, *crawl.PageInfo) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		c := crew[T]{ctx: ctx, read: read}
		defer c.work.Wait()
		defer cancel()
		c.start(a, pages)
		var none T
		for j := range c.order {
			select {
			case r := <-j.done:
				if !yield(r.made, r.err) || r.err != nil {
					return
				}
			case <-ctx.Done():
				yield(none, ctx.Err())
				return
			}
		}
		if c.err == nil {
			c.err = ctx.Err()
		}
		if c.err != nil {
			yield(none, c.err)
		}
	}
}

// crew are the workers of one Each.
type crew[T any] struct {
	ctx   context.Context
	read  func(*Rereader, *crawl.PageInfo) (T, error)
	jobs  chan job[T] // to be taken by any worker
	order chan job[T] // the same, in the order of pages; its length bounds what waits
	work  sync.WaitGroup
	err   error // of going over the pages; read when order is closed
}

type job[T any] struct {
	page *crawl.PageInfo
	done chan result[T]
}

type result[T any] struct {
	made T
	err  error
}

func (c *crew[T]) start(a *Archive, pages Pages) {
	workers := runtime.GOMAXPROCS(0)
	c.jobs = make(chan job[T], workers)
	c.order = make(chan job[T], 4*workers)
	for range workers {
		c.work.Go(func() {
			r := a.Reader()
			for j := range c.jobs {
				if c.ctx.Err() != nil {
					continue
				}
				made, err := c.read(r, j.page)
				if err != nil {
					err = fmt.Errorf("%s: %w", j.page.URL, err)
				}
				j.done <- result[T]{made, err}
			}
		})
	}
	c.work.Go(func() {
		defer close(c.order)
		defer close(c.jobs)
		c.err = pages(func(p *crawl.PageInfo) bool {
			j := job[T]{p, make(chan result[T], 1)}
			for _, to := range []chan job[T]{c.order, c.jobs} {
				select {
				case to <- j:
				case <-c.ctx.Done():
					return false
				}
			}
			return true
		})
	})
}

// Rereader reads pages again, one after another. It is not safe for concurrent
// use.
type Rereader struct {
	archive *Archive
	reader  Reader
	kept    fetch.Kept
}

// Facts returns the facts of a page that ended. Of one that has no record in the
// archive, and of which no facts are kept, they are how it ended, and no more.
func (r *Rereader) Facts(p *crawl.PageInfo) (*page.Facts, error) {
	f := p.Facts()
	if r.archive.keeps {
		return f, crawl.ReadSaid(r.archive.store, r.archive.cfg.Secret, f)
	}
	if f.Outcome != page.Redirected && !f.Outcome.Row().Kept {
		return f, nil
	}
	err := r.open(p, func() {
		r.reader.Read(f, Answer{Head: r.kept.Head, Header: r.kept.Header, Body: &r.kept})
	})
	return f, err
}

// Text returns the title of a page and all that it shows. It is false when the
// page is no HTML, or not in the archive.
func (r *Rereader) Text(p *crawl.PageInfo) (title, text string, ok bool, err error) {
	if !p.Outcome.Row().Kept {
		return "", "", false, nil
	}
	err = r.open(p, func() {
		contentType := r.kept.Header.Get("Content-Type")
		if mediaType(contentType) != "" && !parse.IsHTML(contentType, nil) {
			return
		}
		if body, _ := r.kept.Decoded(r.reader.most()); len(body) > 0 && parse.IsHTML(contentType, body) {
			doc := r.reader.parser.HTML(body, p.URL, contentType, r.reader.Agent, parse.Want{Text: true})
			title, text, ok = doc.Title, doc.Text, true
		}
	})
	return title, text, ok, err
}

// open lets read use what was kept of a page, if anything was.
func (r *Rereader) open(p *crawl.PageInfo, read func()) error {
	if p.Record.File == 0 {
		return nil
	}
	e, err := r.archive.store.ReadRecord(store.Place(p.Record))
	if err != nil {
		return err
	}
	defer e.Close() // what fails of it, fails in reading
	holder := e
	if p.Outcome.Row().Kept { // a redirect's body is of no interest
		if holder, err = e.Holder(); err != nil {
			return err
		}
	}
	var from []byte
	if holder != e {
		from = holder.Head
	}
	r.kept.Open(e.Head, from, holder.Raw())
	read()
	return r.kept.Err()
}
