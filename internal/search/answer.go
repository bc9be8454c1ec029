package search

import (
	"context"
	"errors"

	"weir/internal/store"
)

// Texts reads what a page said.
type Texts interface {
	// Text returns the title and the text of the page at a place. A place that
	// holds another page is ErrDamaged.
	Text(at store.Place, url string) (title, text string, err error)
}

// Answer is what the index says to a question.
type Answer struct {
	Hits  []Hit
	Pages int     // that answer, copies included
	Exact bool    // else so many have the words, and fewer say them as was asked
	Terms []Count // of the question
}

// Count says how many pages have a term.
type Count struct {
	Term  string
	Pages int
}

// Hit is a page that answers.
type Hit struct {
	URL     string
	Title   string
	Score   float64
	Snippet Snippet // empty when the archive cannot be read
	Copies  int     // pages that say the same and rank no worse than the last hit
	Place   store.Place
}

// maxRead bounds the pages that are read to find a phrase.
const maxRead = 1000

// Search answers a question with the limit best pages. Texts may be nil: then
// there are no snippets, and phrases are taken for words.
func (x *Index) Search(ctx context.Context, q *Query, limit int, texts Texts) (*Answer, error) {
	counts, err := x.counts(q.Terms)
	if err != nil {
		return nil, err
	}
	h, err := x.rank(q, counts)
	if err != nil {
		return nil, err
	}
	a := &Answer{Pages: len(h), Exact: true}
	for i, t := range q.Terms {
		a.Terms = append(a.Terms, Count{t, counts[i]})
	}
	s := searcher{x: x, q: q, texts: texts, shown: map[uint64]int{}, urls: map[string]bool{}, answer: a}
	s.reads = texts != nil && q.reads()
	for len(h) > 0 && len(a.Hits) < limit && s.read < maxRead {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.look(h.take()); err != nil {
			return nil, err
		}
	}
	switch {
	case s.reads && len(h) == 0:
		a.Pages = s.agreed
	case q.reads():
		a.Exact = false
	}
	return a, nil
}

// searcher makes hits of the pages that were found, the best first.
type searcher struct {
	x      *Index
	q      *Query
	texts  Texts
	reads  bool // texts must agree
	answer *Answer
	shown  map[uint64]int  // prints of pages seen: their hit, or -1 for none
	urls   map[string]bool // of hits
	read   int             // pages
	agreed int
}

func (s *searcher) look(f found) error {
	seg := s.x.segs[f.seg]
	print := seg.prints[f.doc]
	if i, ok := s.shown[print]; ok {
		// It says the same, so it agrees if the first did.
		if i >= 0 {
			s.answer.Hits[i].Copies++
			s.agreed++
		}
		return nil
	}
	d, err := seg.document(f.doc)
	if err != nil {
		return err
	}
	if s.urls[d.url] {
		return nil // an earlier visit
	}
	h := Hit{URL: d.url, Title: d.title, Score: f.score, Place: d.place}
	if s.texts != nil {
		title, text, err := s.texts.Text(d.place, d.url)
		if errors.Is(err, ErrDamaged) {
			return err
		}
		if s.reads {
			s.read++
			if err != nil || !s.q.agrees(title+"\n"+text) {
				s.shown[print] = -1
				return nil
			}
		}
		h.Snippet = s.q.snippet(text)
	}
	s.agreed++
	s.shown[print] = len(s.answer.Hits)
	s.urls[d.url] = true
	s.answer.Hits = append(s.answer.Hits, h)
	return nil
}
