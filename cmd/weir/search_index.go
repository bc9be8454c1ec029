package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"weir/crawl"
	"weir/internal/extract"
	"weir/internal/fetch"
	"weir/internal/parse"
	"weir/internal/search"
	"weir/internal/store"
	"weir/page"
)

// searching is a crawl that is open to be searched.
type searching struct {
	dir    string
	e      *env
	index  *search.Index
	folder *folder // nil: another process has it
	texts  search.Texts
	frozen bool // nothing may be indexed
}

func (s *searching) close() {
	s.index.Close() // what was written was synced
	if s.folder != nil {
		s.folder.close()
	}
}

func (s *searching) end() search.Point { return search.Start(s.folder.store.End()) }

// ready says what is wrong with an index that may not be changed.
func (s *searching) ready() error {
	missing, err := s.index.Missing(s.end())
	switch {
	case err != nil || !s.frozen || len(missing) == 0:
		return err
	case s.index.Stats().Segments == 0:
		return failure(errors.New("there is no index of this crawl yet"), "weir search without --no-update makes one")
	}
	fmt.Fprintln(s.e.err, "weir: pages that were crawled last are not in the index yet; without --no-update they would be")
	return nil
}

// update indexes what is not.
func (s *searching) update(ctx context.Context) error {
	if s.frozen {
		return nil
	}
	a, err := s.folder.archive(page.Want{Words: true})
	if err != nil {
		return err
	}
	src := &archiveSource{folder: s.folder, archive: a, round: maxRound, show: s.e.screen(), begin: time.Now()}
	src.shown = src.begin
	err = s.index.Update(ctx, src, s.end())
	src.show.wipe()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return failure(fmt.Errorf("index %s: %w", s.dir, err), "what was indexed stays; the same command goes on")
	}
	if src.done > 0 {
		fmt.Fprintf(s.e.err, "weir: indexed %s in %s\n", many(src.done, "page"), short(time.Since(src.begin)))
	}
	return nil
}

// search answers, if need be after a repair. What is damaged is made again; when
// that does not help the index is not of this archive, and all of it is.
func (s *searching) search(ctx context.Context, q *search.Query, limit int) (*search.Answer, error) {
	a, err := s.index.Search(ctx, q, limit, s.texts)
	for _, repair := range []func() error{s.index.Repair, s.index.Clear} {
		if !errors.Is(err, search.ErrDamaged) {
			break
		}
		if s.frozen {
			return nil, failure(err, "weir search without --no-update, when no crawl has the folder in use, makes it again")
		}
		fmt.Fprintln(s.e.err, "weir: the index is damaged and is made again from the archive")
		if err = repair(); err == nil {
			err = s.update(ctx)
		}
		if err == nil {
			a, err = s.index.Search(ctx, q, limit, s.texts)
		}
	}
	return a, err
}

// sum tells a person how much was found, and what else could be asked.
func (s *searching) sum(out io.Writer, q *search.Query, a *search.Answer, took time.Duration) error {
	return sumUp(out, q, a, s.index.Stats().Pages, took, s.index.Suggest)
}

// sumUp does so for an index of so many pages.
func sumUp(out io.Writer, q *search.Query, a *search.Answer, pages int, took time.Duration, suggest func(term string) (string, error)) error {
	count := many(int64(a.Pages), "page")
	if !a.Exact {
		count = "at most " + count
	}
	if len(a.Hits) > 0 {
		_, err := fmt.Fprintf(out, "%s of %s, %.1f ms\n", count, thousands(int64(pages)), took.Seconds()*1000)
		return err
	}
	fmt.Fprintf(out, "No page of %s answers.\n", thousands(int64(pages)))
	some := 0
	for _, t := range a.Terms {
		some = max(some, t.Pages)
		if t.Pages > 0 {
			continue
		}
		guess, err := suggest(t.Term)
		if err != nil {
			return err
		}
		if guess != "" {
			guess = "; did you mean " + guess + "?"
		}
		fmt.Fprintf(out, "  no page says %s%s\n", t.Term, guess)
	}
	if some > 0 && len(a.Terms) > 1 && !q.Any {
		fmt.Fprintf(out, "  weir search --any shows pages that say some of the words\n")
	}
	return nil
}

// archiveSource reads pages for the index, and shows how it is doing.
type archiveSource struct {
	folder  *folder
	archive *extract.Archive
	round   int // pages whose places are in memory at a time
	show    screen
	begin   time.Time
	shown   time.Time
	done    int64
	all     int64
	alive   *heart // of whoever waits; nil: nobody needs it
}

// archived is a page and where it is.
type archived struct {
	key   page.Key
	place crawl.Archived
}

// maxRound is some forty megabytes of places.
const maxRound = 1 << 20

// Pages implements search.Source.
func (s *archiveSource) Pages(ctx context.Context, in []search.Range, fn func(*search.Page) error) error {
	for after := (search.Point{}); ; {
		list, more, err := s.list(in, after)
		if err != nil {
			return err
		}
		if err := s.read(ctx, list, fn); err != nil || !more {
			return err
		}
		after = search.End(store.Place(list[len(list)-1].place))
	}
}

// list returns the first pages from a point on, in the order of the archive, and
// whether there are more than fit into a round.
func (s *archiveSource) list(in []search.Range, after search.Point) (list []archived, more bool, err error) {
	s.all = s.done
	sorted := func() {
		slices.SortFunc(list, func(a, b archived) int {
			return search.Start(store.Place(a.place)).Compare(search.Start(store.Place(b.place)))
		})
		if len(list) > s.round {
			list, more = list[:s.round], true
		}
	}
	read := s.folder.Pages(func(p *crawl.PageInfo) bool {
		if s.alive != nil && !s.alive.beat() {
			err = s.alive.err
			return false
		}
		at := store.Place(p.Record)
		if at.File == 0 || !p.Outcome.Row().Kept || search.Start(at).Compare(after) < 0 {
			return true
		}
		if _, ok := slices.BinarySearchFunc(in, at, func(r search.Range, at store.Place) int {
			switch {
			case r.Holds(at):
				return 0
			case search.Start(at).Compare(r.From) < 0:
				return 1
			}
			return -1
		}); !ok {
			return true
		}
		s.all++
		list = append(list, archived{p.Key, p.Record})
		if len(list) == 2*s.round {
			sorted()
		}
		return true
	})
	sorted()
	return list, more, errors.Join(read, err)
}

// read reads pages again, several at a time.
func (s *archiveSource) read(ctx context.Context, list []archived, fn func(*search.Page) error) error {
	pages := func(yield func(*crawl.PageInfo) bool) error {
		for _, a := range list {
			p, err := s.folder.Key(a.key)
			if err != nil {
				return err
			}
			if s.alive != nil && !s.alive.beat() {
				return s.alive.err
			}
			if p != nil && !yield(p) {
				return nil
			}
		}
		return nil
	}
	type made struct {
		*page.Facts
		at store.Place
	}
	read := func(r *extract.Rereader, p *crawl.PageInfo) (made, error) {
		f, err := r.Facts(p)
		return made{f, store.Place(p.Record)}, err
	}
	for m, err := range extract.Each(ctx, s.archive, pages, read) {
		if err != nil {
			return err
		}
		s.done++
		s.tell()
		if m.NoIndex {
			continue
		}
		if err := fn(&search.Page{URL: m.URL, Title: m.Title, Words: m.Words, Place: m.at}); err != nil {
			return err
		}
	}
	return nil
}

// tell shows how far it is: on a terminal often, in a log now and then.
func (s *archiveSource) tell() {
	if s.done%16 != 0 {
		return
	}
	every := lineEvery
	if s.show.width != nil {
		every = drawEvery
	}
	now := time.Now()
	if now.Sub(s.shown) < every {
		return
	}
	s.shown = now
	line := fmt.Sprintf("indexing: %s of %s, %.0f/s", thousands(s.done), many(s.all, "page"), float64(s.done)/now.Sub(s.begin).Seconds())
	if s.show.width != nil {
		s.show.paint([]string{"  " + line})
	} else {
		fmt.Fprintln(s.show.out, "weir: "+line)
	}
}

// pageTexts reads what archived pages show.
type pageTexts struct{ records }

// records is an archive, with its state or without.
type records interface {
	ReadRecord(store.Place) (*store.Entry, error)
	FileName(file uint32) string
}

// maxShown is how much of a body is read for what it shows.
const maxShown = 64 << 20

// Text implements search.Texts.
func (t pageTexts) Text(at store.Place, url string) (title, text string, err error) {
	e, body, err := openBody(t, at)
	if err != nil {
		return "", "", err
	}
	defer e.Close()
	if e.URI != url {
		return "", "", fmt.Errorf("%w: it has %s where the archive has another page", search.ErrDamaged, url)
	}
	u, err := page.Parse(url)
	if err != nil {
		return "", "", err
	}
	// A body that breaks off shows what came before.
	b, err := io.ReadAll(io.LimitReader(body, maxShown))
	if len(b) == 0 {
		return "", "", err
	}
	kind := fetch.ParseHeader(e.Head).Get("Content-Type")
	var parser parse.Parser
	doc := parser.HTML(b, u, kind, "", parse.Want{Text: true})
	return doc.Title, doc.Text, nil
}
