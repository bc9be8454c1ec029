package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/internal/parse"
	"weir/page"
)

// Query is a question: words that a page must say, and what it must not.
//
//	solar panel            pages that say both
//	"solar panel"          pages that say them one after the other
//	-wind -"wind farm"     but not these
//	host:example.org       pages of example.org and of hosts below it
//	-host:example.org      pages of others
//
// Words are parted as those of pages are: case does not count, and e-mail is the
// words e and mail, one after the other.
type Query struct {
	Terms   []string   // a page says all of them; each once, in the order they were asked for
	Phrases [][]string // and these, word after word
	Not     []string   // none of these
	NotSaid [][]string // and none of these, word after word
	Hosts   []string   // it is of one of these hosts, if there are any
	NotOf   []string   // and of none of these
	Any     bool       // one of the terms is enough
}

// maxQuery bounds the words and hosts of a question.
const maxQuery = 64

// Parse reads a question as a person writes it.
func Parse(text string) (*Query, error) {
	q := &Query{}
	if !validText(text) {
		return nil, errors.New("the question is not text in UTF-8")
	}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		word, after, err := nextPart(rest)
		if err != nil {
			return nil, err
		}
		if err := q.take(word); err != nil {
			return nil, err
		}
		rest = after
	}
	switch n := len(q.Terms) + len(q.Not) + len(q.Hosts) + len(q.NotOf) + len(slices.Concat(q.NotSaid...)); {
	case len(q.Terms) == 0 && n > 0:
		return nil, errors.New("there is no word to look for beside what narrows the question: pages are found by a word, at least one, that they say")
	case len(q.Terms) == 0:
		return nil, errors.New("there is no word to look for")
	case n > maxQuery:
		return nil, fmt.Errorf("the question has %d words, which is more than %d", n, maxQuery)
	}
	return q, nil
}

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }

// part is one piece of a question.
type part struct {
	not    bool
	host   bool
	quoted bool
	text   string
}

// nextPart cuts the first piece off.
func nextPart(s string) (part, string, error) {
	var p part
	if len(s) > 1 && s[0] == '-' {
		p.not, s = true, s[1:]
	}
	if s[0] == '"' {
		text, rest, ok := strings.Cut(s[1:], `"`)
		if !ok {
			return p, "", errors.New("a quotation mark is not closed")
		}
		p.quoted, p.text = true, text
		return p, rest, nil
	}
	end := strings.IndexAny(s, " \t\r\n\"")
	if end < 0 {
		end = len(s)
	}
	p.text = s[:end]
	if host, ok := strings.CutPrefix(p.text, "host:"); ok {
		p.host, p.text = true, host
	}
	return p, s[end:], nil
}

// take adds a piece to the question.
func (q *Query) take(p part) error {
	if p.host {
		u, err := page.Parse("http://" + strings.Trim(p.text, ".") + "/")
		if err != nil || u.String() != "http://"+u.Host()+"/" {
			return fmt.Errorf("host:%s names no host: write host:example.org", p.text)
		}
		if p.not {
			q.NotOf = append(q.NotOf, u.Host())
		} else {
			q.Hosts = append(q.Hosts, u.Host())
		}
		return nil
	}
	words := partText(p.text)
	if len(words) == 0 {
		return nil // punctuation says nothing
	}
	switch {
	case p.not && len(words) > 1:
		q.NotSaid = append(q.NotSaid, words)
		return nil
	case p.not:
		q.Not = append(q.Not, words[0])
		return nil
	case len(words) > 1:
		q.Phrases = append(q.Phrases, words)
	}
	for _, w := range words {
		if !slices.Contains(q.Terms, w) {
			q.Terms = append(q.Terms, w)
		}
	}
	return nil
}

// partText returns the words of a text in order.
func partText(text string) []string {
	var words []string
	parse.EachTerm(text, func(term []byte, _, _ int) bool {
		words = append(words, string(term))
		return true
	})
	return words
}

// reads says whether the text of a page must be looked at to answer.
func (q *Query) reads() bool { return len(q.Phrases) > 0 && !q.Any || len(q.NotSaid) > 0 }

// agrees says whether a page that has the terms also says them as was asked.
func (q *Query) agrees(text string) bool {
	words := partText(text)
	if !q.Any {
		for _, p := range q.Phrases {
			if !says(words, p) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(q.NotSaid, func(p []string) bool { return says(words, p) })
}

// says looks for a phrase.
func says(words, phrase []string) bool {
	for i := range len(words) - len(phrase) + 1 {
		if slices.Equal(words[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}
