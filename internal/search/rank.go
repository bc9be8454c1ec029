package search

import (
	"cmp"
	"math"
	"slices"
)

// k1 and b of BM25: how soon a word said again stops to count, and how much long
// pages are held back.
const (
	saturation = 1.2
	leaning    = 0.75
)

// scale is BM25 for one index: what all pages and terms have in common.
type scale struct {
	pages float64
	mean  float64 // words of a page
}

// weight is the idf of a term that n pages have.
func (c *scale) weight(n int) float64 {
	return math.Log1p((c.pages - float64(n) + 0.5) / (float64(n) + 0.5))
}

// score is what a term said so many times adds to a page of so many words.
func (c *scale) score(weight float64, times int, words uint32) float64 {
	f := float64(times)
	length := 1 - leaning + float64(leaning*float64(words))/c.mean
	return weight * float64(f*(saturation+1)) / (f + float64(saturation*length))
}

// found is a page that answers.
type found struct {
	score float64
	seg   int
	doc   int
}

// better says that a stands before b. Equal scores stand in the order of the
// archive.
func better(a, b found) bool {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.seg, b.seg), cmp.Compare(a.doc, b.doc)) < 0
}

// rank finds the pages that answer, as far as the index knows. They make a heap:
// the best is first, and next takes it off.
func (x *Index) rank(q *Query, counts []int) (heap, error) {
	t := x.Stats()
	c := scale{pages: float64(t.Pages), mean: float64(t.Words) / float64(max(t.Pages, 1))}
	weights := make([]float64, len(q.Terms))
	for i, n := range counts {
		weights[i] = c.weight(n)
	}
	var h heap
	for i, s := range x.segs {
		m, err := match(s, q)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if err := s.load(); err != nil {
			return nil, err
		}
		for {
			doc, err := m.next()
			if err != nil {
				return nil, err
			}
			if doc == s.foot.docs {
				break
			}
			sum := 0.0
			for j, p := range m.terms {
				if p != nil && p.doc == doc {
					sum += c.score(weights[j], p.times, s.words[doc])
				}
			}
			h = append(h, found{sum, i, doc})
		}
	}
	h.init()
	return h, nil
}

// matcher walks over the pages of a segment that answer a question.
type matcher struct {
	s     *segment
	any   bool
	terms []*postings // as in the question; nil: nobody says it
	hosts []*postings // one of them must have the page; nil: no matter
	nots  []*postings // none may
	held  bool        // hosts were asked for
	doc   int
}

// match returns nil when no page of the segment can answer.
func match(s *segment, q *Query) (*matcher, error) {
	m := &matcher{s: s, any: q.Any, doc: -1, held: len(q.Hosts) > 0}
	var err error
	open := func(term string) *postings {
		if err != nil {
			return nil
		}
		var e *entry
		var p *postings
		if e, err = s.find(term); e != nil && err == nil {
			p, err = s.postings(e)
		}
		return p
	}
	some := false
	for _, t := range q.Terms {
		p := open(t)
		if p == nil && !q.Any {
			return nil, err
		}
		some = some || p != nil
		m.terms = append(m.terms, p)
	}
	for _, h := range q.Hosts {
		if p := open(hostTerm(h)); p != nil {
			m.hosts = append(m.hosts, p)
		}
	}
	for _, h := range q.NotOf {
		if p := open(hostTerm(h)); p != nil {
			m.nots = append(m.nots, p)
		}
	}
	for _, t := range q.Not {
		if p := open(t); p != nil {
			m.nots = append(m.nots, p)
		}
	}
	if err != nil || !some || m.held && len(m.hosts) == 0 {
		return nil, err
	}
	return m, nil
}

// next returns the next page that answers, or the number of documents.
func (m *matcher) next() (int, error) {
	for {
		var err error
		if m.any {
			m.doc, err = m.nextAny()
		} else {
			m.doc, err = m.nextAll()
		}
		if err != nil || m.doc == m.s.foot.docs {
			return m.doc, err
		}
		held, err := has(m.hosts, m.doc)
		if err != nil {
			return 0, err
		}
		not, err := has(m.nots, m.doc)
		if err != nil {
			return 0, err
		}
		if (held || !m.held) && !not {
			return m.doc, nil
		}
	}
}

// nextAny returns the next document that has one of the terms.
func (m *matcher) nextAny() (int, error) {
	least := m.s.foot.docs
	for _, p := range m.terms {
		if p == nil {
			continue
		}
		if err := p.seek(m.doc + 1); err != nil {
			return 0, err
		}
		least = min(least, p.doc)
	}
	return least, nil
}

// nextAll returns the next document that has all terms: each list goes to where
// the others are, until they agree.
func (m *matcher) nextAll() (int, error) {
	doc := m.doc + 1
	for agreed := 0; agreed < len(m.terms); {
		p := m.terms[agreed]
		if err := p.seek(doc); err != nil {
			return 0, err
		}
		if p.doc == m.s.foot.docs {
			return p.doc, nil
		}
		if p.doc > doc {
			doc, agreed = p.doc, 0
			continue
		}
		agreed++
	}
	return doc, nil
}

// has says whether one of the lists has a document. Documents are asked for in
// order.
func has(lists []*postings, doc int) (bool, error) {
	for _, p := range lists {
		if err := p.seek(doc); err != nil {
			return false, err
		}
		if p.doc == doc {
			return true, nil
		}
	}
	return false, nil
}

// counts returns how many pages say each term.
func (x *Index) counts(terms []string) ([]int, error) {
	n := make([]int, len(terms))
	for _, s := range x.segs {
		for i, t := range terms {
			e, err := s.find(t)
			if err != nil {
				return nil, err
			}
			if e != nil {
				n[i] += e.n
			}
		}
	}
	return n, nil
}

// heap has its best element first. Most answers are never looked at, so sorting
// them all would be a waste.
type heap []found

func (h heap) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h heap) down(i int) {
	for {
		best := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h) && better(h[child], h[best]) {
				best = child
			}
		}
		if best == i {
			return
		}
		h[i], h[best] = h[best], h[i]
		i = best
	}
}

// take removes the best.
func (h *heap) take() found {
	all := *h
	best := all[0]
	last := len(all) - 1
	all[0] = all[last]
	*h = slices.Delete(all, last, last+1)
	h.down(0)
	return best
}
