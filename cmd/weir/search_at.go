package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"weir/crawl"
	"weir/internal/ask"
	"weir/internal/search"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// showTopic asks a node to show those of some pages that it has fetched.
const (
	showTopic   = "show"
	maxShowings = 200     // pages asked for at once
	maxPostings = 4 << 20 // of all words of a question: some hundreds of megabytes
)

// showing is a question, and the pages that answer it.
type showing struct {
	Query search.Query `json:"query"`
	URLs  []string     `json:"urls"`
}

// show answers a showing with what the node has.
func (s *station) show(_ context.Context, b []byte) ([]byte, error) {
	var in showing
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("read which pages are wanted: %w", err)
	}
	if len(in.URLs) > maxShowings {
		return nil, fmt.Errorf("%d pages are too many to be shown at once", len(in.URLs))
	}
	shown := map[string]search.Shown{}
	s.mu.Lock()
	none, scheme := s.store == nil, s.scheme
	s.mu.Unlock()
	if none {
		return json.Marshal(shown)
	}
	f, _, done, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer done()
	archive, err := f.archive(page.Want{Words: true})
	if err != nil {
		return nil, err
	}
	reader, keys := archive.Reader(), overlay.NewKeys(scheme, overlay.Parts)
	for _, url := range in.URLs {
		u, err := page.Parse(url)
		if err != nil {
			return nil, err
		}
		info, err := fetchedAt(f, keys, u)
		if err != nil {
			return nil, err
		}
		if info == nil {
			continue
		}
		facts, err := reader.Facts(info)
		if err != nil {
			return nil, err
		}
		_, text, ok, err := reader.Text(info)
		if err != nil {
			return nil, err
		}
		if ok {
			shown[url] = in.Query.Show(facts.Title, text, facts.Words)
		}
	}
	return json.Marshal(shown)
}

// fetchedAt finds a page that the node has fetched; nil if it has not.
func fetchedAt(f *folder, keys overlay.Keys, u page.URL) (*crawl.PageInfo, error) {
	return findAt(f, keys, u, func(p *crawl.PageInfo) bool { return p.State == "ended" && p.Record.File != 0 })
}

// findAt finds a page that fits in what the node knows; nil: there is none. A page that was
// handed on may be in any partition.
func findAt(f *folder, keys overlay.Keys, u page.URL, fits func(*crawl.PageInfo) bool) (*crawl.PageInfo, error) {
	one := func(p *crawl.PageInfo, err error) (*crawl.PageInfo, error) {
		if err != nil || p == nil || !fits(p) {
			return nil, err
		}
		return p, nil
	}
	scheme := keys.Scheme()
	if !scheme.Leased() {
		return one(f.Page(u))
	}
	info, err := one(f.PageIn(u, keys.Home(u)))
	for part := 0; part < overlay.Parts && scheme.Second != overlay.Stay && info == nil && err == nil; part++ {
		info, err = one(f.PageIn(u, part))
	}
	return info, err
}

// searchAt answers from an index that the nodes of a cluster keep together.
func (c *searchCmd) searchAt(ctx context.Context, e *env, q *search.Query) error {
	begin := time.Now()
	w, err := e.openSwarm(ctx, &contact{At: c.At, Certs: c.Certs, Node: "weir-node"}, "")
	if err != nil {
		return err
	}
	g, err := w.postings(ctx, q)
	if err != nil {
		return err
	}
	whole := len(w.missing) == 0
	x := shower{w: w, q: q}
	a, err := q.Pick(g, q.Rank(g), c.Limit, func(urls []string) (map[string]search.Shown, error) { return x.show(ctx, urls) })
	if err != nil {
		return err
	}
	if err := c.print(e, a); err != nil {
		return err
	}
	if !c.JSON {
		if err := sumUp(e.err, q, a, g.Pages, time.Since(begin), func(string) (string, error) { return "", nil }); err != nil {
			return err
		}
	}
	if x.unseen == 0 && whole {
		clear(w.missing) // nobody missed them
	}
	if len(w.missing) == 0 && x.unseen > 0 {
		return failure(fmt.Errorf("pages are shown, of which no node has %s any more", many(int64(x.unseen), "page")), "a node that was removed has taken them along")
	}
	what := "pages are shown"
	if len(a.Hits) == 0 {
		what = "no page is shown"
	}
	return w.lacks(what)
}

// indexed finds the program that keeps an index; false if none does, or if that would
// leave out pages of others, which the archive has.
func (w *swarm) indexed() bool {
	if w.own != nil && keepsIndex(w.own) {
		return true
	}
	if w.shared && w.settings.Warc != store.None.String() {
		return false
	}
	for _, p := range w.programs {
		if own, err := ask.NewOwn(p.Source, w.settings.plain(), w.options); err == nil && w.shared && keepsIndex(own) {
			return w.about(p) == nil
		}
	}
	return false
}

func keepsIndex(own *ask.Own) bool {
	index, length := own.Table("index"), own.Table("length")
	return index != nil && length != nil && slices.Equal(index.Types, []query.Type{query.Text, query.URL, query.Int, query.Int}) && slices.Equal(length.Types, []query.Type{query.URL, query.Int})
}

// postings gathers the index as far as a question needs it: each word's from the
// node that owns it. Without one of them there is no right answer. When the crawl
// keeps no such index, each node is asked for what its own pages say.
func (w *swarm) postings(ctx context.Context, q *search.Query) (*search.Gathered, error) {
	if !w.indexed() {
		return w.apart(ctx, q)
	}
	var g *search.Gathered
	err := w.whole(ctx, func() error {
		g = &search.Gathered{Lists: map[string]search.Postings{}}
		err := w.each(ctx, w.owners(), want{Table: "length", Sum: true}, func(b *batch) error {
			g.Pages += int(b.Count)
			g.Words += b.Sum
			return nil
		})
		all := 0
		for _, term := range q.Needs() {
			if err == nil {
				g.Lists[term], err = w.list(ctx, term, &all)
			}
		}
		return err
	})
	if err == nil {
		err = w.lacks("there is no answer")
	}
	return g, err
}

// apart gathers the postings of a crawl whose nodes index their own pages.
func (w *swarm) apart(ctx context.Context, q *search.Query) (*search.Gathered, error) {
	if w.settings.Warc == store.None.String() {
		return nil, failure(errors.New("this crawl keeps no archive (--warc none): there is nothing to search"), "submit a crawl with --index, or with --warc gzip")
	}
	g, all, late := &search.Gathered{Lists: map[string]search.Postings{}}, 0, false
	err := w.each(ctx, w.Nodes, want{Words: q.Needs()}, func(b *batch) error {
		g.Pages += int(b.Count)
		g.Words += b.Sum
		if b.Late && !late {
			late = true
			w.note("pages that were crawled last are not in the nodes' indexes yet: ask again in half a minute")
		}
		for _, row := range b.Rows {
			if p, ok := posting(row); ok {
				g.Lists[row[0].S] = append(g.Lists[row[0].S], p)
			}
		}
		return tooMany(&all, len(b.Rows))
	})
	for term, list := range g.Lists {
		g.Lists[term] = list.Sort()
	}
	return g, err
}

// tooMany bounds the postings of a question.
func tooMany(all *int, more int) error {
	if *all += more; *all > maxPostings {
		return usage("ask for words that fewer pages say", "more than %s pages say these words, and no more can be ranked at once", thousands(maxPostings))
	}
	return nil
}

// fillWords looks words up in the index of the node's own pages, which is brought up
// to date before. If the crawl does so itself, that is only what it leaves: pages of its
// last seconds when it was killed, and what came too fast for it.
func (s *station) fillWords(f *folder, snap crawl.KV, words []string, out *filler) error {
	s.indexes.Lock()
	defer s.indexes.Unlock()
	live, err := s.indexing(f, snap)
	if err != nil {
		return err
	}
	x, err := search.Open(f.dir, search.Options{Crawl: f.Hash(search.Folder), Guest: live})
	if err != nil {
		return err
	}
	defer x.Close() // what was written was synced
	end := f.known
	if live {
		end = search.Start(f.store.End())
	}
	missing, err := x.Missing(end)
	if err != nil {
		return err
	}
	fill := missing
	if live {
		s.mu.Lock()
		fill = search.Holes(missing, end, s.began, f.known)
		s.mu.Unlock()
	}
	if len(fill) > 0 {
		archive, err := f.archive(page.Want{Words: true})
		if err != nil {
			return err
		}
		src := &archiveSource{folder: f, archive: archive, round: maxRound, show: screen{out: io.Discard}, begin: time.Now(), alive: out.heart()}
		if err := x.Fill(out.ctx, src, fill); err != nil {
			return fmt.Errorf("index the node's pages: %w", err)
		}
		if missing, err = x.Missing(end); err != nil {
			return err
		}
	}
	t := x.Stats()
	out.now.Late = len(missing) > 0
	out.now.Count, out.now.Sum = int64(t.Pages), t.Words
	for _, term := range words {
		err := x.Postings(term, func(p search.Posting) bool {
			return out.row(flow.Row{{S: term}, {S: p.URL}, {N: int64(p.N)}, {N: int64(p.Words)}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// indexing says that the crawl indexes its pages itself: it does so when their words
// are read anyway.
func (s *station) indexing(f *folder, snap crawl.KV) (bool, error) {
	views := []*crawl.View{f.View}
	if each := f.Programs().Each; len(each) > 0 {
		views = nil
		for _, n := range each {
			views = append(views, f.Of(n))
		}
	}
	for _, v := range views {
		own, err := s.program(f, snap, v)
		if err != nil || own != nil && own.Wants().Words {
			return true, err
		}
	}
	return f.asRun.Index, nil
}

// list gathers what there is of one word; all counts postings of all words.
func (w *swarm) list(ctx context.Context, term string, all *int) (search.Postings, error) {
	owner := w.Owners[w.own.Home(w.own.Table("index"), query.Value{S: term}, len(w.Owners))]
	if owner == "" {
		w.orphans++
		return nil, nil
	}
	var list search.Postings
	err := w.each(ctx, []string{owner}, want{Table: "index", First: &term}, func(b *batch) error {
		for _, row := range b.Rows {
			if p, ok := posting(row); ok {
				list = append(list, p)
			}
		}
		return tooMany(all, len(b.Rows))
	})
	if w.missing[owner] != nil {
		w.orphans++
	}
	return list.Sort(), err
}

func posting(row flow.Row) (search.Posting, bool) {
	if len(row) != 4 || row[2].N <= 0 || row[3].N <= 0 {
		return search.Posting{}, false
	}
	return search.Posting{URL: row[1].S, N: int(row[2].N), Words: int(row[3].N)}, true
}

// shower has pages shown by the nodes that have fetched them.
type shower struct {
	w      *swarm
	q      *search.Query
	unseen int // pages that nobody has
}

func (x *shower) show(ctx context.Context, urls []string) (map[string]search.Shown, error) {
	data, err := json.Marshal(showing{*x.q, urls})
	if err != nil {
		return nil, err
	}
	all := map[string]search.Shown{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAsked)
	for _, name := range x.w.Nodes {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			b, err := x.w.cl.Ask(ctx, name, showTopic, data)
			var some map[string]search.Shown
			if err == nil {
				err = json.Unmarshal(b, &some)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				x.w.missing[name] = err
			}
			for url, s := range some {
				all[url] = s
			}
		})
	}
	wg.Wait()
	x.unseen += len(urls) - len(all)
	return all, ctx.Err()
}
