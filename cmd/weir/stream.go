package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/crawl"
	"weir/internal/ask"
	"weir/internal/extract"
	"weir/internal/node"
	"weir/internal/search"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// A node hands rows and facts of its part of a crawl out as a stream: whoever asks
// begins one with a want, and then asks for its next piece until there is none.
const (
	streamTopic = "stream"
	streamTime  = 5 * time.Minute // to work out a piece, or to ask for the next one
	streamBegin = time.Minute     // to work out the first one: a node that takes longer is silent
	maxStreams  = 16              // at a time
	streamPiece = 1 << 20         // bytes of rows in a piece, about, before they are packed
)

// want says which rows a stream is of. Names are for other versions: add, never
// rename.
type want struct {
	ID    uint64    `json:"id,omitempty"`    // one that was begun
	Of    string    `json:"of,omitempty"`    // of several programs, the one whose crawl it is
	Table string    `json:"table,omitempty"` // of the crawl's program, as far as this node owns it
	First *string   `json:"first,omitempty"` // only rows with this text in their first column
	Sum   bool      `json:"sum,omitempty"`   // only how many rows there are, and the sum of their second column
	Crawl bool      `json:"crawl,omitempty"` // rows of crawl
	Facts *ask.Need `json:"facts,omitempty"` // of pages that this node has fetched
	Words []string  `json:"words,omitempty"` // who says them of these, and how many pages and words there are

	Export string   `json:"export,omitempty"` // a table that every crawl has, see export_at.go
	Owners []string `json:"owners,omitempty"` // with it, who counts as the owner of each partition
	Strays bool     `json:"strays,omitempty"` // with it, what the node has of partitions that are not its own
}

// streamed is a piece of a stream.
type streamed struct {
	ID    uint64 `json:"id"`
	Parts []int  `json:"parts,omitempty"` // with the first: the partitions that the node owns
	Data  []byte `json:"data,omitempty"`  // a packed batch
	End   bool   `json:"end,omitempty"`
}

// batch is what is packed into a piece.
type batch struct {
	Rows  []flow.Row
	Facts []saidPage
	Count int64
	Sum   int64
	Late  bool // there are pages besides
}

// saidPage is what a page says, without what no question looks at.
type saidPage struct {
	URL, Mime, Title, Redirect string
	Depth                      uint16
	Score                      float32
	Root, Robots               bool
	NoIndex, NoFollow          bool
	Outcome                    page.Outcome
	Status                     int
	Bytes, At                  int64
	Elapsed                    time.Duration
	Links                      []saidLink
	Words                      []page.Word
	Said                       int
	Headers, Metas             []page.Field
	Langs, Translations        []string
}

type saidLink struct {
	URL, Rel, Text string
	Kind           page.Kind
	NoFollow       bool
}

// newSaidPage takes of a page what a question needs.
func newSaidPage(f *page.Facts, n *ask.Need) saidPage {
	s := saidPage{
		URL: f.URL.String(), Mime: f.Mime, Title: f.Title, Redirect: f.Redirect.URL.String(), Depth: f.Depth, Score: f.Score, Root: f.Root, Robots: f.Robots,
		NoIndex: f.NoIndex, NoFollow: f.NoFollow, Outcome: f.Outcome, Status: f.Status, Bytes: f.Bytes, At: f.At, Elapsed: f.Elapsed,
	}
	if n.Links {
		for _, l := range f.Links {
			s.Links = append(s.Links, saidLink{l.URL.String(), l.Rel, l.Text, l.Kind, l.NoFollow})
		}
	}
	if n.Words {
		s.Words, s.Said = f.Words, f.Said
	}
	if n.Headers {
		s.Headers = f.Headers
	}
	if n.Metas {
		s.Metas = f.Metas
	}
	if n.Translations {
		for _, t := range f.Translations {
			s.Langs, s.Translations = append(s.Langs, t.Lang), append(s.Translations, t.URL.String())
		}
	}
	return s
}

// facts makes facts of it again.
func (s *saidPage) facts() *page.Facts {
	f := &page.Facts{
		URL: page.Canonical(s.URL), Mime: s.Mime, Title: s.Title, Depth: s.Depth, Score: s.Score, Root: s.Root, Robots: s.Robots, NoIndex: s.NoIndex,
		NoFollow: s.NoFollow, Outcome: s.Outcome, Status: s.Status, Bytes: s.Bytes, At: s.At, Elapsed: s.Elapsed, Words: s.Words, Said: s.Said,
		Headers: s.Headers, Metas: s.Metas,
	}
	if s.Redirect != "" {
		f.Redirect = page.Link{URL: page.Canonical(s.Redirect), Kind: page.Redirect}
	}
	for _, l := range s.Links {
		f.Links = append(f.Links, page.Link{URL: page.Canonical(l.URL), Kind: l.Kind, Rel: l.Rel, Text: l.Text, NoFollow: l.NoFollow})
	}
	for i := range min(len(s.Langs), len(s.Translations)) {
		f.Translations = append(f.Translations, page.Translation{Lang: s.Langs[i], URL: page.Canonical(s.Translations[i])})
	}
	return f
}

// size is what a page takes, about.
func (s *saidPage) size() int {
	n := 200 + len(s.Title) + 40*len(s.Headers) + 40*len(s.Metas) + 16*len(s.Words) + 60*len(s.Translations)
	for i := range s.Links {
		n += 20 + len(s.Links[i].URL) + len(s.Links[i].Text)
	}
	return n
}

var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			panic(err)
		}
		return d
	})
)

func (b *batch) pack() ([]byte, error) {
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(b); err != nil {
		return nil, err
	}
	return packer().EncodeAll(buf.Bytes(), nil), nil
}

func unpackBatch(data []byte) (*batch, error) {
	raw, err := unpacker().DecodeAll(data, nil)
	b := new(batch)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(raw)).Decode(b)
	}
	if err != nil {
		return nil, fmt.Errorf("read a node's rows: %w", err)
	}
	return b, nil
}

// stream is one that is being handed out. A goroutine of the station fills it.
type stream struct {
	parts  []int
	out    chan []byte
	err    error // when out is closed
	cancel context.CancelFunc
	timer  *time.Timer // forgets it
}

// stream answers a want.
func (s *station) stream(ctx context.Context, b []byte) ([]byte, error) {
	var w want
	if err := json.Unmarshal(b, &w); err != nil {
		return nil, fmt.Errorf("read which rows are wanted: %w", err)
	}
	var p streamed
	if w.ID == 0 {
		id, x, err := s.begun(w)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return json.Marshal(streamed{End: true}) // it has no crawl
		}
		w.ID, p.Parts = id, x.parts
	}
	p.ID = w.ID
	s.mu.Lock()
	x := s.streams[w.ID]
	if x != nil {
		x.timer.Reset(streamTime)
	}
	s.mu.Unlock()
	if x == nil {
		return nil, errors.New("the rows were asked for too slowly: begin anew")
	}
	select {
	case data, more := <-x.out:
		if p.Data, p.End = data, !more; more {
			break
		}
		s.endStream(w.ID)
		if x.err != nil {
			return nil, x.err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return json.Marshal(p)
}

// begun begins a stream, and returns its number; none when the node has no crawl.
func (s *station) begun(w want) (uint64, *stream, error) {
	specs := s.cl.Specs() // which has a lock that others hold while they ask for s.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.silent:
		return 0, nil, errors.New("the node is leaving")
	case s.store == nil && len(specs) > 0:
		return 0, nil, errors.New("it has only just started, and opens its part of the crawl: ask again in a few seconds")
	case s.store == nil:
		return 0, nil, nil
	case len(s.streams) >= maxStreams:
		return 0, nil, errors.New("too much is asked for at once")
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.drawn++
	id := s.drawn
	x := &stream{out: make(chan []byte, 1), cancel: cancel, timer: time.AfterFunc(streamTime, func() { s.endStream(id) })}
	mine := s.mine()
	for part, is := range mine {
		if is {
			x.parts = append(x.parts, part)
		}
	}
	s.streams[id] = x
	s.reading.Go(func() {
		defer close(x.out)
		x.err = s.fill(ctx, w, mine, func(b *batch) error {
			data, err := b.pack()
			if err != nil {
				return err
			}
			select {
			case x.out <- data:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	return id, x, nil
}

// endStream drops a stream.
func (s *station) endStream(id uint64) {
	s.mu.Lock()
	x := s.streams[id]
	delete(s.streams, id)
	s.mu.Unlock()
	if x != nil {
		x.timer.Stop()
		x.cancel()
	}
}

// silence ends all streams, before the store is closed, and begins no more.
func (s *station) silence() {
	s.mu.Lock()
	s.silent = true
	var ids []uint64
	for id := range s.streams {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.endStream(id)
	}
	s.reading.Wait()
}

// mine says which partitions are the node's. The caller holds mu.
func (s *station) mine() []bool {
	mine := make([]bool, len(s.member.Parts))
	for i, p := range s.member.Parts {
		switch p.Phase {
		case "owned", "leaving", "emptied", "giving":
			mine[i] = s.member.Held && p.Owner == s.member.Name
		}
	}
	return mine
}

// reader is the node's part of the crawl as it is now. The caller calls done.
func (s *station) reader() (f *folder, snap crawl.KV, done func(), err error) {
	s.mu.Lock()
	st, dir := s.store, s.dir
	s.mu.Unlock()
	if st == nil {
		return nil, nil, nil, errors.New("the node has no crawl")
	}
	known := search.Start(st.End())
	shot, err := st.Snapshot()
	if err != nil {
		return nil, nil, nil, err
	}
	view, err := crawl.NewView(shot)
	if err != nil {
		shot.Close()
		return nil, nil, nil, err
	}
	f = &folder{View: view, dir: dir, store: st, known: known}
	f.asRun, f.strip = readAsRun(dir)
	return f, shot, func() { shot.Close() }, nil // it was only read
}

// fill works a stream out.
func (s *station) fill(ctx context.Context, w want, mine []bool, emit func(*batch) error) error {
	f, snap, done, err := s.reader()
	if err != nil {
		return err
	}
	defer done()
	if f.View, err = ask.Of(f.View, w.Of); err != nil {
		return err
	}
	out := &filler{ctx: ctx, emit: emit}
	switch {
	case w.Table != "":
		err = s.fillTable(f, snap, w, mine, out)
	case w.Crawl:
		err = out.crawl(f.Pages, f.Queue, f.Parked)
	case w.Facts != nil:
		err = out.facts(f, w.Facts)
	case w.Words != nil:
		err = s.fillWords(f, snap, w.Words, out)
	case w.Export != "":
		err = s.fillExport(f, w, out)
	default:
		err = errors.New("the node does not know what is wanted: a newer weir asks")
	}
	if err == nil {
		err = out.err
	}
	if err == nil {
		out.flush()
		err = out.err
	}
	return err
}

// program is the one whose crawl a view is; nil if it is that of several.
func (s *station) program(f *folder, snap crawl.KV, v *crawl.View) (*ask.Own, error) {
	s.mu.Lock()
	scheme, spread := node.Tables(s.scheme)
	s.mu.Unlock()
	return ask.ReadOwnOf(f.dir, snap, v, f.asRun.plain(), flow.Options{Scheme: scheme, Spread: spread})
}

func (s *station) fillTable(f *folder, snap crawl.KV, w want, mine []bool, out *filler) error {
	own, err := s.program(f, snap, f.View)
	if err != nil {
		return err
	}
	if own == nil || own.Table(w.Table) == nil {
		return fmt.Errorf("the crawl keeps no table %s", w.Table)
	}
	owns := func(part int) bool { return part >= 0 && part < len(mine) && mine[part] }
	own.Share(len(mine), owns)
	if w.First == nil {
		take := out.row
		if w.Sum {
			take = out.sum
		}
		return out.rows(func(fn func(flow.Row) bool) error { return own.Rows(w.Table, fn) }, take)
	}
	first := query.Value{S: *w.First}
	if !owns(own.Home(own.Table(w.Table), first, len(mine))) {
		return fmt.Errorf("%s of %q is with another node by now", w.Table, *w.First)
	}
	return own.Find(w.Table, first, out.row)
}

// filler gathers rows until they make a piece.
type filler struct {
	ctx  context.Context
	emit func(*batch) error
	now  batch
	size int
	last string // the first column of the row before, where rows are counted
	most int64  // its second column
	err  error
}

func (o *filler) flush() {
	if o.err == nil {
		o.err = o.emit(&o.now)
	}
	o.now, o.size = batch{}, 0
}

// row takes a row, and says whether more are wanted.
func (o *filler) row(row flow.Row) bool {
	o.now.Rows = append(o.now.Rows, row)
	for i := range row {
		o.size += 8 + len(row[i].S)
	}
	if o.size >= streamPiece {
		o.flush()
	}
	return o.err == nil && o.ctx.Err() == nil
}

// sum counts a row: of those with the same first column, which stand together, the
// one with the greatest second.
func (o *filler) sum(row flow.Row) bool {
	if o.now.Count > 0 && row[0].S == o.last {
		row[1].N = max(row[1].N, o.most)
		o.now.Sum -= o.most
	} else {
		o.now.Count++
	}
	o.now.Sum += row[1].N
	o.last, o.most = row[0].S, row[1].N
	return o.ctx.Err() == nil
}

// crawl takes what the node knows of pages: those of partitions that it has lost are
// as they were then, which is never better than they are.
func (o *filler) crawl(all ...extract.Pages) error {
	take := func(p *crawl.PageInfo) bool {
		return o.row(flow.Row{{S: p.URL.String()}, {N: int64(p.Depth)}, query.FloatValue(float64(p.Score))})
	}
	alive := o.heart()
	for _, pages := range all {
		if err := alive.some(pages, func(p *crawl.PageInfo) bool { return !p.Stray })(take); err != nil {
			return err
		}
	}
	return nil
}

// rows takes those of a table.
func (o *filler) rows(all func(func(flow.Row) bool) error, take func(flow.Row) bool) error {
	alive := o.heart()
	err := all(func(row flow.Row) bool { return alive.beat() && take(row) })
	return errors.Join(err, alive.err)
}

// facts takes the pages that the node has fetched, and what they say.
func (o *filler) facts(f *folder, n *ask.Need) error {
	archive, err := f.archive(n.Want)
	if err != nil {
		return err
	}
	give := func(facts *page.Facts) bool {
		s := newSaidPage(facts, n)
		o.now.Facts = append(o.now.Facts, s)
		if o.size += s.size(); o.size >= streamPiece {
			o.flush()
		}
		return o.err == nil && o.ctx.Err() == nil
	}
	alive := o.heart()
	if n.Robots {
		err := f.Sites(func(s *crawl.SiteInfo) bool { return alive.beat() && (s.RobotsAt.IsZero() || give(archive.Robots(s))) })
		if err = errors.Join(err, alive.err, o.ctx.Err()); err != nil {
			return err
		}
	}
	asked := alive.some(f.Pages, func(p *crawl.PageInfo) bool { return !p.Stray && p.Outcome != page.SteeredAway })
	if !n.Read || !archive.Has(n.Want) {
		return errors.Join(asked(func(p *crawl.PageInfo) bool { return give(p.Facts()) }), o.ctx.Err())
	}
	for facts, err := range archive.Facts(o.ctx, asked) {
		if err != nil {
			return err
		}
		if !give(facts) {
			return errors.Join(o.err, o.ctx.Err())
		}
	}
	return nil
}
