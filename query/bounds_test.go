package query

import (
	"fmt"
	"reflect"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestBounds gives the parser more than it takes, in every way there is. Each
// is one error that says how much is allowed.
func TestBounds(t *testing.T) {
	repeat := strings.Repeat
	for _, c := range []struct {
		name, program, says string
	}{
		{"10 MB", repeat("a(1).\n", 10<<20/6), "the program has 10485756 bytes, at most 1048576 are allowed"},
		{"rules", repeat("a(1).\n", MaxRules+1), "more than 10000 rules"},
		{"conditions", "a(X) :- b(X)" + repeat(", b(X)", MaxLiterals) + ".", "more than 1000 conditions in one rule"},
		{"columns of a head", "a(1" + repeat(", 1", MaxColumns) + ").", "more than 32 columns or arguments"},
		{"columns of a body", "a(1) :- b(1" + repeat(", 1", MaxColumns) + ").", "more than 32 columns or arguments"},
		{"columns of an input", "input a(int" + repeat(", int", MaxColumns) + ") from \"x\".", "more than 32 columns"},
		{"brackets", "a(" + repeat("(", 100_000) + "1" + repeat(")", 100_000) + ").", "an expression nested deeper than 100"},
		{"calls", "a(" + repeat("f(", 100_000) + "1" + repeat(")", 100_000) + ").", "an expression nested deeper than 100"},
		{"sums", "a(1" + repeat("+1", 100_000) + ").", "an expression nested deeper than 100"},
		{"sums to the right", "a(" + repeat("1+(", 100_000) + "1" + repeat(")", 100_000) + ").", "an expression nested deeper than 100"},
		{"text", "a(\"" + repeat("x", MaxText+1) + "\").", "a text of 65537 bytes, at most 65536 are allowed"},
		{"raw text", "a(`" + repeat("x", MaxText+1) + "`).", "a text of 65537 bytes, at most 65536 are allowed"},
		{"name", repeat("a", MaxName+1) + "(1).", "a name or number of 101 characters, at most 100 are allowed"},
		{"number", "a(" + repeat("1", 1000) + ").", "a name or number of 1000 characters, at most 100 are allowed"},
		{"pattern", "a(U) :- seed(U), matches(U, \"" + repeat("x", 5000) + "\").", "bad pattern: it is longer than 4096 bytes"},
		{"pattern of steps", "a(U) :- seed(U), matches(U, \"" + repeat("(?:ab){500}", 30) + "\").", "bad pattern: it compiles to more than 10000 instructions"},
	} {
		_, diags := Parse("x", c.program)
		if len(diags) != 1 || diags[0].Message != c.says {
			t.Errorf("%s: %+v, want %s", c.name, diags, c.says)
		}
	}
}

// TestStepsAreEnough compiles patterns: none has more instructions than were
// counted beforehand.
func TestStepsAreEnough(t *testing.T) {
	for _, s := range []string{
		"", "a", "abc", "a*", "a+?", "a?", "(a|b|c)", "(ab|cd|)*", "^a$", "[a-z]", "[^x]\\pL", ".", "(?s).", "\\bsolar\\b", "(?i)climate",
		"a{3}", "a{3,}", "a{3,7}", "a{0,5}", "(a{2}b{3,4}){5}", "(?:ab){900}", "(?m)^x$|y{2}", "a{0}", "(a*)*", "x{1000}",
	} {
		counted, err := patternSteps(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		re, _ := syntax.Parse(s, syntax.Perl)
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if got := len(prog.Inst); got > counted {
			t.Errorf("%s: %d instructions, counted %d", s, got, counted)
		}
	}
}

func TestAllPatternsTogether(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "a(U) :- seed(U), matches(U, \"x%d(?:ab){900}(?:cd){900}(?:ef){900}\").\n", i)
	}
	_, diags := Parse("x", b.String())
	if len(diags) != 1 || diags[0].Line != 93 || !strings.Contains(diags[0].Message, "more than 500000 instructions") {
		t.Errorf("%+v", diags)
	}
}

// TestManyErrors shows a hundred of them and counts the others.
func TestManyErrors(t *testing.T) {
	p, diags := Parse("x", strings.Repeat("a(.\n", 250))
	if len(diags) != MaxErrors+1 {
		t.Fatalf("%d errors", len(diags))
	}
	if got, want := diags[MaxErrors].Format(p), "x:101:3: error: and 150 more from here on\n  a(.\n    ^\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWithinBounds reads the largest programs there are.
func TestWithinBounds(t *testing.T) {
	for _, s := range []string{
		strings.Repeat("a(1).\n", MaxRules),
		"a(X) :- b(X)" + strings.Repeat(", b(X)", MaxLiterals-1) + ".",
		"a(" + strings.Repeat("(", 99) + "1" + strings.Repeat(")", 99) + ").",
		"a(1" + strings.Repeat("+1", 99) + ").",
		"%" + strings.Repeat("x", MaxProgram-1),
		strings.Repeat("\n", MaxProgram),
		"a(\"" + strings.Repeat("é", MaxText/2) + "\").",
	} {
		p, diags := Parse("x", s)
		if len(diags) > 0 {
			t.Errorf("%.40q: %s", s, diags[0].Message)
			continue
		}
		again(t, p)
	}
}

// TestFaultsAlike reads many faults twice: the same is said of it.
func TestFaultsAlike(t *testing.T) {
	for _, s := range []string{"a(", "\"", "`\n", "a(1)", "$x", "!", "((", "1.1.", "#\n", "\xff", "a(U) :- b(U), matches(U, \"(\").", ".", "a\n", "set x=$y."} {
		program := strings.Repeat(s, MaxProgram/32/len(s))
		_, first := Parse("x", program)
		_, second := Parse("x", program)
		if len(first) == 0 || !reflect.DeepEqual(first, second) {
			t.Errorf("%q: %d errors, then %d", s, len(first), len(second))
		}
	}
}

func TestSettingsAreConstants(t *testing.T) {
	for _, c := range []struct {
		given string
		want  string
	}{
		{"3", "3"}, {"-3", "-3"}, {"1.5", "1.5"}, {"30s", "30"}, {"10KB", "10000"}, {"7d", "604800"},
		{`"text"`, `"text"`}, {`"3"`, `"3"`}, {"text", `"text"`}, {"two words", `"two words"`}, {"2026-01-01", `"2026-01-01"`},
		{"3 apples", `"3 apples"`}, {"3%", `"3%"`}, {"3 // three", `"3 // three"`}, {"12x", `"12x"`}, {"", `""`}, {`\.pdf$`, `"\.pdf$"`},
		{"99999999999999999999", `"99999999999999999999"`},
	} {
		p, diags := Parse("x", "a($v).", Setting{"v", c.given})
		if len(diags) > 0 {
			t.Errorf("%s: %s", c.given, diags[0].Message)
			continue
		}
		a := p.Rules[0].Head.Args[0]
		if got := show(a.Value, a.Type); got != c.want || a.Setting != "v" {
			t.Errorf("--set v=%s is %s, want %s", c.given, got, c.want)
		}
		again(t, p)
	}
}

func TestSettingsOverride(t *testing.T) {
	p, diags := Parse("x", `set max = 3. set word = "solar". set share = 0.5. a($max, $word, $share, $more).`,
		Setting{"max", "5"}, Setting{"word", "12"}, Setting{"share", "1"}, Setting{"more", "30s"})
	if len(diags) > 0 {
		t.Fatal(format(p, diags))
	}
	want := "set max = 5.\nset word = \"12\".\nset share = 1.0.\nset more = 30.\na($max, $word, $share, $more).\n"
	if got := p.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNearest(t *testing.T) {
	tables := []string{"link", "fetched", "title", "redirect", "crawl", "seed"}
	for _, c := range []struct{ name, want string }{
		{"lnik", "link"}, {"links", "link"}, {"fetch", "fetched"}, {"titel", "title"}, {"craw", "crawl"}, {"redirects", "redirect"},
		{"xyzzy", ""}, {"", ""}, {"x", ""}, {"nothing_like_it", ""},
	} {
		if got := Nearest(c.name, tables); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
