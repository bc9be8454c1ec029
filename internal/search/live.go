package search

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"weir/internal/store"
	"weir/page"
)

// Indexer indexes the pages of a crawl while it runs. Add and Commit belong to
// the committer and never wait: pages wait in a queue, and a group for which
// there is no room is left for [Index.Update], as are all pages after the first
// failure. A nil Indexer indexes nothing.
type Indexer struct {
	x     *Index
	queue chan group
	waits atomic.Int64 // pages in the queue
	done  chan struct{}
	err   error // of run; read after done
	open  group // what was added and is not committed
	at    Point // up to here it is committed
}

// group is what was committed together.
type group struct {
	pages  []Page
	covers Range
}

// What may wait: so many pages, some ten megabytes, and so many groups, which may be
// of few pages each.
const (
	queuedPages = 1600
	queued      = 1024
)

// Pages wait until they can be found: a segment is written then, if a small one.
// The first are there soon, for whoever watches a crawl begin; the wait doubles
// with every segment until there is enough in one.
const (
	soon  = 2 * time.Second
	fresh = 30 * time.Second
)

// Live begins to index a crawl whose archive is committed up to a point. It owns
// the Index until Close.
func (x *Index) Live(at Point) (*Indexer, error) {
	if _, err := x.Missing(at); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	l := &Indexer{x: x, at: at, queue: make(chan group, queued), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.err = l.run()
	}()
	return l, nil
}

// Add takes the facts of a page that the next Commit makes durable, and where its
// record is; they must have been read with [page.Want].Words. It keeps f's words.
// Pages without a record, or that ask not to be indexed, are passed over.
func (l *Indexer) Add(f *page.Facts, at store.Place) {
	if l == nil || at.File == 0 || f.Robots || f.NoIndex || !f.Outcome.Row().Kept || len(f.Words) == 0 {
		return
	}
	l.open.pages = append(l.open.pages, Page{URL: f.URL, Title: f.Title, Words: f.Words, Place: at})
}

// Commit says that what was added is durable and that the archive is committed up
// to end.
func (l *Indexer) Commit(end Point) {
	if l == nil {
		return
	}
	g := l.open
	g.covers = Range{l.at, end}
	l.open, l.at = group{}, end
	if g.covers.empty() {
		return
	}
	n := int64(len(g.pages))
	if l.waits.Load()+n > queuedPages {
		return // a gap
	}
	l.waits.Add(n) // before they are taken out
	select {
	case l.queue <- g:
	default: // a gap
		l.waits.Add(-n)
	}
}

// Close writes what is left and returns what went wrong since Live. It closes the
// Index.
func (l *Indexer) Close() error {
	if l == nil {
		return nil
	}
	close(l.queue)
	<-l.done
	return errors.Join(l.err, l.x.Close())
}

// merged is the end of a merge.
type merged struct {
	run []*segment
	one *segment
	err error
}

// run builds segments. Merges go on beside it, one at a time.
func (l *Indexer) run() error {
	x, build := l.x, newBuilder()
	var covers Range // of what is in build
	joined := make(chan merged, 1)
	joining := false
	var failed error
	note := func(err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("index: %w", err)
		}
	}
	spill := func() {
		if covers.empty() || failed != nil {
			return
		}
		note(x.spill(build, covers))
		build, covers = newBuilder(), Range{}
		if run := x.due(); run != nil && !joining && failed == nil {
			joining = true
			go func() {
				one, err := x.join(run)
				joined <- merged{run, one, err}
			}()
		}
	}
	settle := func(m merged) {
		joining = false
		if m.err == nil {
			m.err = x.replace(m.run, m.one)
		}
		note(m.err)
	}
	wait := soon
	tick := time.NewTimer(wait)
	defer tick.Stop()
	for queue := l.queue; queue != nil; {
		select {
		case g, ok := <-queue:
			if !ok {
				queue = nil
				break
			}
			l.waits.Add(-int64(len(g.pages)))
			if failed != nil {
				break // the queue is emptied, no more
			}
			if g.covers.From != covers.To {
				spill() // there is a gap between
				covers = Range{g.covers.From, g.covers.From}
			}
			for i := range g.pages {
				build.add(&g.pages[i])
			}
			covers.To = g.covers.To
			if build.size >= x.memory {
				spill()
			}
		case m := <-joined:
			settle(m)
		case <-tick.C:
			if len(build.docs) > 0 {
				wait = min(2*wait, fresh)
			}
			spill()
			tick.Reset(wait)
		}
	}
	if joining {
		settle(<-joined)
	}
	spill()
	if joining {
		settle(<-joined)
	}
	return failed
}
