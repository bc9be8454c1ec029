package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"weir/page"
)

// An index may lie with several nodes, by term: each has all postings of some words.
// Whoever asks gathers those of the question, ranks them with [Query.Rank] as one
// index would, and has the best shown by the nodes that hold these pages.

// Posting says that a page says a word.
type Posting struct {
	URL   string
	N     int // so many times
	Words int // of so many that it says
}

// Postings are all there is of one word.
type Postings []Posting

// Gathered is an index as far as a question needs it.
type Gathered struct {
	Pages int   // of the whole index
	Words int64 // of these
	Lists map[string]Postings
}

// Postings calls fn for the pages of the index that say a word, until it returns
// false: what a node that indexes its own pages adds to Gathered.
func (x *Index) Postings(term string, fn func(Posting) bool) error {
	for _, s := range x.segs {
		e, err := s.find(term)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := s.load(); err != nil {
			return err
		}
		for p, err := s.postings(e); ; err = p.step() {
			if err != nil {
				return err
			}
			if p.doc == s.foot.docs {
				break
			}
			d, err := s.document(p.doc)
			if err != nil {
				return err
			}
			if !fn(Posting{d.url, p.times, int(s.words[p.doc])}) {
				return nil
			}
		}
	}
	return nil
}

// Needs are the words whose postings must be gathered.
func (q *Query) Needs() []string {
	all := slices.Clone(q.Terms)
	for _, t := range q.Not {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// Sort puts postings in the order in which they are ranked. Of a page that two nodes
// have fetched, with different words, one posting counts.
func (p Postings) Sort() Postings {
	slices.SortFunc(p, func(a, b Posting) int {
		return cmp.Or(strings.Compare(a.URL, b.URL), cmp.Compare(b.Words, a.Words), cmp.Compare(b.N, a.N))
	})
	return slices.CompactFunc(p, func(a, b Posting) bool { return a.URL == b.URL })
}

// Ranked is a page that answers, as far as the postings tell.
type Ranked struct {
	URL   string
	Score float64
}

// Rank returns the pages that answer, the best first. The lists of g are sorted.
// Equal scores stand in the order of their addresses.
func (q *Query) Rank(g *Gathered) []Ranked {
	c := scale{pages: float64(g.Pages), mean: float64(g.Words) / float64(max(g.Pages, 1))}
	weights, lists := make([]float64, len(q.Terms)), make([]Postings, len(q.Terms))
	for i, t := range q.Terms {
		lists[i] = g.Lists[t]
		weights[i] = c.weight(len(lists[i]))
	}
	nots := make([]Postings, len(q.Not))
	for i, t := range q.Not {
		nots[i] = g.Lists[t]
	}
	var all []Ranked
	for {
		url, ok := least(lists)
		if !ok {
			break
		}
		sum, said := 0.0, 0
		for i := range lists {
			if len(lists[i]) > 0 && lists[i][0].URL == url {
				sum += c.score(weights[i], lists[i][0].N, uint32(lists[i][0].Words))
				said++
				lists[i] = lists[i][1:]
			}
		}
		if (said == len(lists) || q.Any) && !without(nots, url) && q.of(url) {
			all = append(all, Ranked{url, sum})
		}
	}
	slices.SortFunc(all, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.URL, b.URL)) })
	return all
}

// least is the first page that one of the lists has.
func least(lists []Postings) (url string, ok bool) {
	for _, l := range lists {
		if len(l) > 0 && (!ok || l[0].URL < url) {
			url, ok = l[0].URL, true
		}
	}
	return url, ok
}

// without says that one of the lists has a page. Pages are asked for in order.
func without(lists []Postings, url string) bool {
	found := false
	for i := range lists {
		for len(lists[i]) > 0 && lists[i][0].URL < url {
			lists[i] = lists[i][1:]
		}
		found = found || len(lists[i]) > 0 && lists[i][0].URL == url
	}
	return found
}

// of says that a page is of the hosts that were asked for.
func (q *Query) of(url string) bool {
	if len(q.Hosts)+len(q.NotOf) == 0 {
		return true
	}
	in := zones(page.Canonical(url).Host())
	within := func(host string) bool { return slices.Contains(in, host) }
	return (len(q.Hosts) == 0 || slices.ContainsFunc(q.Hosts, within)) && !slices.ContainsFunc(q.NotOf, within)
}

// Shown is what the node that holds a page shows of it.
type Shown struct {
	Title   string
	Snippet Snippet
	Print   uint64 // equal for pages that say the same
	Agrees  bool   // it says the words as was asked
}

// Show makes of a page what an answer shows.
func (q *Query) Show(title, text string, words []page.Word) Shown {
	s := Shown{Title: clip(title, maxTitle), Snippet: q.snippet(text), Print: xxhash.Sum64String(title), Agrees: !q.reads() || q.agrees(title+"\n"+text)}
	for _, w := range words {
		s.Print += said(w)
	}
	return s
}

// atOnce is how many pages are to be shown at a time, at least.
const atOnce = 20

// Pick makes hits of the limit best pages. Show returns what those who hold pages
// show of them; a page that it does not know is a hit without a title.
func (q *Query) Pick(g *Gathered, ranked []Ranked, limit int, show func(urls []string) (map[string]Shown, error)) (*Answer, error) {
	a := &Answer{Pages: len(ranked), Exact: !q.reads()}
	for _, t := range q.Terms {
		a.Terms = append(a.Terms, Count{t, len(g.Lists[t])})
	}
	prints := map[uint64]int{} // of pages seen: their hit, or -1 for none
	read, agreed := 0, 0
	for len(ranked) > 0 && len(a.Hits) < limit && (!q.reads() || read < maxRead) {
		some := ranked[:min(len(ranked), max(atOnce, limit-len(a.Hits)), maxShown)]
		urls := make([]string, len(some))
		for i, r := range some {
			urls[i] = r.URL
		}
		pages, err := show(urls)
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			if len(a.Hits) == limit {
				break
			}
			ranked = ranked[1:]
			read++
			s, ok := pages[r.URL]
			if at, twice := prints[s.Print]; ok && twice {
				if at >= 0 {
					a.Hits[at].Copies++
					agreed++
				}
				continue
			}
			if ok {
				prints[s.Print] = -1
			}
			if !s.Agrees && (ok || q.reads()) {
				continue
			}
			if ok {
				prints[s.Print] = len(a.Hits)
			}
			agreed++
			a.Hits = append(a.Hits, Hit{URL: r.URL, Title: s.Title, Score: r.Score, Snippet: s.Snippet})
		}
	}
	if q.reads() && len(ranked) == 0 {
		a.Pages, a.Exact = agreed, true
	}
	return a, nil
}

// maxShown bounds the pages that are asked for at once.
const maxShown = 200
