package search

import (
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/parse"
)

// Snippet is a piece of a page's text. Marks are where the words stand that were
// asked for: pairs of offsets, in order.
type Snippet struct {
	Text  string
	Marks [][2]int
}

const (
	snippetSize = 200 // bytes of text, about
	snippetLead = 60  // of them before the first word
)

// mention is a word of the question in a text.
type mention struct {
	term     int // which; beyond the terms: the start of a phrase
	from, to int
}

// snippet picks the piece that says most of what was asked for, the first of
// those that say as much. A page that says it only in its title is shown from
// its beginning.
func (q *Query) snippet(text string) Snippet {
	at := q.mentions(text)
	best, most := 0, -1
	seen := make([]int, len(q.Terms)+len(q.Phrases)) // i+1: in the window that begins at i
	for i := range at {
		n := 0
		for _, m := range at[i:] {
			if m.to-at[i].from > snippetSize-snippetLead {
				break
			}
			if seen[m.term] != i+1 {
				seen[m.term] = i + 1
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	from := 0
	if len(at) > 0 {
		from = wordBefore(text, at[best].from-snippetLead, at[best].from)
	}
	to := wordAfter(text, from+snippetSize)
	return cutSnippet(text, from, to, at)
}

// mentions finds the words of the question, and the starts of its phrases.
func (q *Query) mentions(text string) []mention {
	var at []mention
	var last []int // the terms of the words before, -1 for others
	var starts []int
	parse.EachTerm(text, func(term []byte, from, to int) bool {
		i := slices.IndexFunc(q.Terms, func(t string) bool { return t == string(term) })
		if i >= 0 {
			at = append(at, mention{i, from, to})
		}
		if len(q.Phrases) > 0 {
			last, starts = append(last, i), append(starts, from)
		}
		return true
	})
	if len(q.Phrases) == 0 {
		return at
	}
	for i, p := range q.Phrases {
		want := make([]int, len(p))
		for j, t := range p {
			want[j] = slices.Index(q.Terms, t)
		}
		for j := range len(last) - len(p) + 1 {
			if slices.Equal(last[j:j+len(p)], want) {
				at = append(at, mention{len(q.Terms) + i, starts[j], starts[j]})
			}
		}
	}
	slices.SortStableFunc(at, func(a, b mention) int { return a.from - b.from })
	return at
}

// wordBefore returns where a word begins, from at on and at most at limit.
func wordBefore(text string, at, limit int) int {
	if at <= 0 {
		return 0
	}
	if i := strings.IndexAny(text[at:limit], " \n"); i >= 0 {
		return at + i + 1
	}
	for at < limit && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// wordAfter returns where a word ends, at most at at.
func wordAfter(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if i := strings.LastIndexAny(text[at-snippetLead/2:at+1], " \n"); i >= 0 {
		return at - snippetLead/2 + i
	}
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// cutSnippet makes one line of a piece.
func cutSnippet(text string, from, to int, at []mention) Snippet {
	const dots = "…"
	var s Snippet
	shift := -from
	var b strings.Builder
	if from > 0 {
		b.WriteString(dots)
		shift += len(dots)
	}
	b.WriteString(strings.ReplaceAll(text[from:to], "\n", " "))
	if to < len(text) {
		b.WriteString(dots)
	}
	s.Text = b.String()
	for _, m := range at {
		if m.from < from || m.to > to || m.from == m.to {
			continue
		}
		mark := [2]int{m.from + shift, m.to + shift}
		if n := len(s.Marks); n > 0 && mark[0] < s.Marks[n-1][1] {
			s.Marks[n-1][1] = mark[1] // signs that are words in pairs overlap
			continue
		}
		s.Marks = append(s.Marks, mark)
	}
	return s
}
