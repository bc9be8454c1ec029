package crawl

import (
	"strings"
	"testing"
)

// What is wrong with a pattern is told of its flag, and not of a line that nobody
// has written.
func TestFaultyPatterns(t *testing.T) {
	long := strings.Repeat("a", 3000)
	for _, c := range []struct {
		match, exclude []string
		want           string
	}{
		{match: []string{"/docs/", "(x"}, want: `--match "(x": error parsing regexp: missing closing ): ` + "`(x`"},
		{exclude: []string{`\.(pdf|zip)$`, "[z-a]"}, want: `--exclude "[z-a]": error parsing regexp: invalid character class range: ` + "`z-a`"},
		{exclude: []string{long + long}, want: `--exclude "` + long[:60] + `"...: it is longer than 4096 bytes`},
		{match: []string{long, "/docs/", long}, want: "the 3 patterns of --match together: it is longer than 4096 bytes"},
		{exclude: []string{long, "/docs/", long}},
	} {
		got := ""
		if _, err := (ScopeConfig{Scope: "host", Depth: -1, Match: c.match, Exclude: c.exclude}).Compile(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Patterns mean in the program what they mean on the command line.
func TestPatternsStandAsTheyAre(t *testing.T) {
	text, err := ScopeConfig{Scope: "any", Depth: -1, Match: []string{`\.html$`, "a`b"}, Exclude: []string{`"\t\\`}}.Program()
	if err != nil {
		t.Fatal(err)
	}
	want := `link(U, V), !matches(V, "\"\\t\\\\"), matches(V, "(?:\.html$)|(?:a` + "`" + `b)").`
	if !strings.Contains(text, want) {
		t.Errorf("got\n%swant in it\n%s", text, want)
	}
}
