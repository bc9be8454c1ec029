package flow

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// matcher is a compiled pattern. Many patterns that people write stand for a few
// plain texts, at the start, at the end or anywhere; they are looked for as such.
type matcher struct {
	how   how // byCall: it has to be tried
	texts []string
	match func(string) bool
}

// newMatcher compiles a pattern. Of those that stand for more than a few texts, a
// text that every match contains is looked for first.
func newMatcher(pattern string) (m matcher, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return m, fmt.Errorf("the pattern does not compile: %w", err)
	}
	m.match = re.MatchString
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return m, nil
	}
	tree = tree.Simplify()
	if m.plain(tree) {
		return m, nil
	}
	if must := needed(tree); must != "" {
		m.match = func(s string) bool { return strings.Contains(s, must) && re.MatchString(s) }
	}
	return m, nil
}

// plain prepares for a tree that stands for a few texts, if it does.
func (m *matcher) plain(t *syntax.Regexp) bool {
	for t.Op == syntax.OpCapture {
		t = t.Sub[0]
	}
	parts := []*syntax.Regexp{t}
	if t.Op == syntax.OpConcat {
		parts = t.Sub
	}
	start, end := false, false
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		start, parts = true, parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		end, parts = true, parts[:n-1]
	}
	texts, ok := spell(&syntax.Regexp{Op: syntax.OpConcat, Sub: parts})
	if !ok {
		return false
	}
	switch {
	case start && end:
		m.match = func(s string) bool { return slices.Contains(texts, s) }
		return true
	case start:
		m.how = starts
	case end:
		m.how = ends
	default:
		m.how = has
	}
	m.texts = texts
	s := sieve{how: m.how, texts: texts}
	m.match = s.test
	return true
}

// maxTexts bounds how many texts are looked for one by one.
const maxTexts = 8

// spell lists the texts that a tree stands for, if they are few.
func spell(t *syntax.Regexp) (texts []string, ok bool) {
	switch t.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		s, ok := literal(t)
		return []string{s}, ok
	case syntax.OpCharClass:
		for i := 0; i < len(t.Rune); i += 2 {
			for r := t.Rune[i]; r <= t.Rune[i+1]; r++ {
				if len(texts) == maxTexts || r == utf8.RuneError {
					return nil, false
				}
				texts = append(texts, string(r))
			}
		}
		return texts, len(texts) > 0
	case syntax.OpCapture:
		return spell(t.Sub[0])
	case syntax.OpQuest:
		texts, ok = spell(t.Sub[0])
		return append(texts, ""), ok && len(texts) < maxTexts
	case syntax.OpAlternate:
		for _, s := range t.Sub {
			more, ok := spell(s)
			if texts = append(texts, more...); !ok || len(texts) > maxTexts {
				return nil, false
			}
		}
		return texts, true
	case syntax.OpConcat:
		texts = []string{""}
		for _, s := range t.Sub {
			more, ok := spell(s)
			if !ok || len(texts)*len(more) > maxTexts {
				return nil, false
			}
			var all []string
			for _, a := range texts {
				for _, b := range more {
					all = append(all, a+b)
				}
			}
			texts = all
		}
		return texts, true
	}
	return nil, false
}

// literal returns the text of a literal. One with the character that broken bytes
// are read as stands for more than itself.
func literal(t *syntax.Regexp) (string, bool) {
	if t.Op != syntax.OpLiteral || t.Flags&syntax.FoldCase != 0 || slices.Contains(t.Rune, utf8.RuneError) {
		return "", false
	}
	return string(t.Rune), true
}

// needed returns the longest literal that every match contains, or "".
func needed(t *syntax.Regexp) string {
	switch t.Op {
	case syntax.OpLiteral:
		s, _ := literal(t)
		return s
	case syntax.OpCapture, syntax.OpPlus:
		return needed(t.Sub[0])
	case syntax.OpConcat:
		best := ""
		for _, s := range t.Sub {
			if n := needed(s); len(n) > len(best) {
				best = n
			}
		}
		return best
	}
	return ""
}
