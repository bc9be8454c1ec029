package flow

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// matcher compiles a pattern. Many patterns that people write are plain texts, at
// the start, at the end or anywhere; they are looked for as such. Of others, a
// text that every match contains is looked for first.
func matcher(pattern string) (func(string) bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern does not compile: %w", err)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return re.MatchString, nil
	}
	tree = tree.Simplify()
	if f := plain(tree); f != nil {
		return f, nil
	}
	if must := needed(tree); must != "" {
		return func(s string) bool { return strings.Contains(s, must) && re.MatchString(s) }, nil
	}
	return re.MatchString, nil
}

// plain returns what a tree of literals and anchors asks for, or nil.
func plain(t *syntax.Regexp) func(string) bool {
	for t.Op == syntax.OpCapture {
		t = t.Sub[0]
	}
	if t.Op == syntax.OpAlternate {
		var any []func(string) bool
		for _, s := range t.Sub {
			f := plain(s)
			if f == nil {
				return nil
			}
			any = append(any, f)
		}
		return func(s string) bool {
			for _, f := range any {
				if f(s) {
					return true
				}
			}
			return false
		}
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
	if len(parts) != 1 {
		return nil
	}
	text, ok := literal(parts[0])
	switch {
	case !ok:
		return nil
	case start && end:
		return func(s string) bool { return s == text }
	case start:
		return func(s string) bool { return strings.HasPrefix(s, text) }
	case end:
		return func(s string) bool { return strings.HasSuffix(s, text) }
	}
	return func(s string) bool { return strings.Contains(s, text) }
}

func literal(t *syntax.Regexp) (string, bool) {
	if t.Op != syntax.OpLiteral || t.Flags&syntax.FoldCase != 0 {
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
