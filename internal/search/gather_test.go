package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// gather makes of a shelf what nodes that have its words would send, in no order.
func (s *shelf) gather(q *Query, r *rand.Rand) *Gathered {
	g := &Gathered{Lists: map[string]Postings{}}
	for i := range s.pages {
		p := &s.pages[i]
		words := 0
		for _, w := range p.Words {
			words += w.N
		}
		g.Pages++
		g.Words += int64(words)
		for _, w := range p.Words {
			if slices.Contains(q.Needs(), w.Term) {
				g.Lists[w.Term] = append(g.Lists[w.Term], Posting{p.URL.String(), w.N, words})
			}
		}
	}
	for t, list := range g.Lists {
		list = append(list, list[0]) // somebody has sent it twice
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		g.Lists[t] = list.Sort()
	}
	return g
}

// show is what nodes show of its pages, each of those that it has.
func (s *shelf) show(q *Query) func([]string) (map[string]Shown, error) {
	return func(urls []string) (map[string]Shown, error) {
		m := map[string]Shown{}
		for i := range s.pages {
			if u := s.pages[i].URL.String(); slices.Contains(urls, u) {
				m[u] = q.Show(s.pages[i].Title, s.texts[i], s.pages[i].Words)
			}
		}
		return m, nil
	}
}

// TestGatheredAnswerIsThatOfOneIndex: postings that several nodes have are ranked as
// one index ranks its own, and shown the same.
func TestGatheredAnswerIsThatOfOneIndex(t *testing.T) {
	words := strings.Fields("sun wind solar panel farm roof power mail expert dam")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := library(t)
		for i := range 60 {
			var text []string
			for range 1 + r.IntN(12) {
				text = append(text, words[r.IntN(len(words))])
			}
			s.put(t, fmt.Sprintf("https://%s.example.net/%d", words[r.IntN(3)], i), words[r.IntN(2)], strings.Join(text, " "))
		}
		x := s.index(t, vfs.NewMem(), 0)
		for _, question := range []string{
			"solar", "solar panel", "sun wind dam", `"solar panel"`, "solar -wind", `farm -"wind farm"`, "solar host:example.net", "dam -host:wind.example.net", "nowhere solar", "nowhere",
		} {
			for _, some := range []bool{false, true} {
				q, err := Parse(question)
				if err != nil {
					t.Fatal(err)
				}
				q.Any = some
				want, err := x.Search(t.Context(), q, 1000, s)
				if err != nil {
					t.Fatal(err)
				}
				g := s.gather(q, r)
				for _, term := range q.Needs() {
					var own Postings
					if err := x.Postings(term, func(p Posting) bool { own = append(own, p); return true }); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(own.Sort(), g.Lists[term]) {
						t.Fatalf("the index has other postings of %s: %v, want %v", term, own, g.Lists[term])
					}
				}
				got, err := q.Pick(g, q.Rank(g), 1000, s.show(q))
				if err != nil {
					t.Fatal(err)
				}
				if a, b := summary(got), summary(want); a != b || got.Pages != want.Pages || got.Exact != want.Exact || !slices.Equal(got.Terms, want.Terms) {
					t.Fatalf("seed %d, %s, any %t: gathered, %d pages, exact %t:\n%s\none index, %d pages, exact %t:\n%s",
						seed, question, some, got.Pages, got.Exact, a, want.Pages, want.Exact, b)
				}
			}
		}
	}
}

// summary is an answer without what equal scores leave open: the order, and which of
// several copies is shown.
func summary(a *Answer) string {
	var lines []string
	for i, h := range a.Hits {
		if i > 0 && h.Score > a.Hits[i-1].Score {
			return "out of order"
		}
		what := fmt.Sprintf("%s %q", h.URL, h.Snippet.Text)
		if h.Copies > 0 {
			what = "one of several"
		}
		lines = append(lines, fmt.Sprintf("%v %s %s %d", h.Score, what, h.Title, h.Copies))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestPagesThatNobodyShows: a page whose node is gone is found, without a title; where
// its text would have to be read it cannot be.
func TestPagesThatNobodyShows(t *testing.T) {
	s := library(t)
	nobody := func([]string) (map[string]Shown, error) { return nil, nil }
	for question, want := range map[string]string{"wind turbine": "both", `"wind turbine"`: ""} {
		q, err := Parse(question)
		if err != nil {
			t.Fatal(err)
		}
		g := s.gather(q, rand.New(rand.NewPCG(1, 1)))
		a, err := q.Pick(g, q.Rank(g), 10, nobody)
		if err != nil || a.names() != want {
			t.Errorf("%s: %s, %v, want %s", question, a.names(), err, want)
		}
	}
}
