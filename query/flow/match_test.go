package flow

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestMatcher holds short cuts against the patterns that they stand for.
func TestMatcher(t *testing.T) {
	patterns := []string{
		"", "^", "$", "a", "/tag/", "^https?://", `\.(pdf|zip)$`, "^http://a\\.org/$", "(a|b)c", "[ab]/[cd]", "a?b?", "(?i)a", "(?m)^a$", "a+b",
		"/page-[0-9]+5", "^$", "(a|b|c|d|e|f|g|h|i|j)", "\\x{FFFD}", "[^a]", "a|^b", "^(a|b)", "(?:a|b)$", ".", "\\bab\\b", "(ab)?", "a{2}", "(^a|b$)c", "\ufffd",
	}
	for _, p := range patterns {
		re := regexp.MustCompile(p)
		m, err := newMatcher(p)
		if err != nil {
			t.Fatal(err)
		}
		texts := rapid.OneOf(
			rapid.StringMatching(`[abcd/.]{0,6}`),
			rapid.SampledFrom([]string{"", "a\nb", "http://a.org/", "https://a.org/x.pdf", "x.zip", "/tag/", "A", "\xff", "\ufffd", "ab\xff", "/page-125"}),
		)
		rapid.Check(t, func(t *rapid.T) {
			if s := texts.Draw(t, "text"); m.match(s) != re.MatchString(s) {
				t.Fatalf("%q on %q: %t, want %t", p, s, m.match(s), re.MatchString(s))
			}
		})
	}
	if _, err := newMatcher("("); err == nil {
		t.Error("a pattern that does not compile passes")
	}
}
