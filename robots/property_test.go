package robots

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
	"pgregory.net/rapid"
)

// reference is the matcher as the RFC reads, rule by rule: the specification
// that the compiled one has to equal.
func reference(lines []line, path string) (allowed bool, rule string) {
	if path == "/robots.txt" {
		return true, ""
	}
	allowed, most := true, -1
	try := func(l line, value []byte) {
		how := keepSpecial
		if !l.allow {
			how |= decodeLetters
		}
		text, _ := normalise(nil, value, how)
		expr, anchor := string(text), ""
		if strings.HasSuffix(expr, "$") {
			expr, anchor = expr[:len(expr)-1], "$"
		}
		expr = strings.ReplaceAll(regexp.QuoteMeta(expr), `\*`, `.*`)
		expr = strings.NewReplacer("%2A", `\*`, "%24", `\$`).Replace(expr)
		re := regexp.MustCompile("^" + expr + anchor)
		for _, how := range []spelling{0, decodeLetters} {
			p, _ := normalise(nil, path, how)
			if re.Match(p) && (len(text) > most || len(text) == most && l.allow && !allowed) {
				allowed, most, rule = l.allow, len(text), name(l)
			}
		}
	}
	for _, l := range lines {
		if len(l.value) == 0 {
			continue
		}
		try(l, l.value)
		if dir, file, ok := cutLast(l.value); ok && l.allow && bytes.HasPrefix(file, []byte("index.htm")) {
			try(l, append(slices.Clone(dir), "/$"...))
		}
	}
	return allowed, rule
}

func name(l line) string {
	u := rule{text: readable(l.value), allow: l.allow}
	return u.String()
}

func cutLast(value []byte) (dir, file []byte, ok bool) {
	i := bytes.LastIndexByte(value, '/')
	if i < 0 {
		return nil, nil, false
	}
	return value[:i], value[i+1:], true
}

// words draws a text from few words, so that texts often have much in common.
func words(most int, from ...string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 0, most).Draw(t, "words"), "")
	})
}

var (
	anyValue = words(8, "/", "/", "a", "b", "ab", "*", "*", "$", "%61", "%2F", "%2f", "%2A", "%24", "%7e", "~", "é", "%", "?",
		"category", "categories", "index.html", " ", "\x00", "\xff", ":")
	anyPath = words(10, "/", "a", "b", "ab", "*", "$", "%61", "%62", "%2F", "%2A", "%7E", "~", "é", "%C3%A9", "%", "?", "=",
		"category", "categories", "index.html")
)

func TestCompiledEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []line
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			lines = append(lines, line{rapid.Bool().Draw(t, "allow"), []byte(anyValue.Draw(t, "value"))})
		}
		var r Rules
		r.compile(lines)
		for range 10 {
			path := "/" + anyPath.Draw(t, "path")
			allowed, rule := r.Match(path)
			if a, u := reference(lines, path); a != allowed || u != rule {
				t.Fatalf("%s: %v by %q, want %v by %q", path, allowed, rule, a, u)
			}
			if r.Allowed(path) != allowed {
				t.Fatalf("%s: Allowed and Match differ", path)
			}
		}
	})
}

// The compiled matcher on larger files, whose tables the random ones above never
// fill.
func TestCompiledEqualsReferenceOnBigFiles(t *testing.T) {
	for _, f := range bigFiles() {
		p := parser{}
		for l := range strings.Lines(f.body[:min(len(f.body), 20_000)]) {
			p.line([]byte(strings.TrimSuffix(l, "\n")))
		}
		var r Rules
		r.compile(p.all.lines)
		for _, path := range append(f.paths, "/shop/category-12/x/print", "/x?sid=9&y", "/w/item-14", "/category-/77/z") {
			allowed, rule := r.Match(path)
			if f.tooLong && rule == TooLong && !allowed {
				continue
			}
			if a, u := reference(p.all.lines, path); a != allowed || u != rule {
				t.Errorf("%s: %s: %v by %q, want %v by %q", f.name, path, allowed, rule, a, u)
			}
		}
	}
}

// file draws a robots.txt from keys and values.
func file(keys []string, value *rapid.Generator[string]) *rapid.Generator[string] {
	agents := rapid.SampledFrom([]string{"*", "weir", "WEIR/2.0", "other", "weird", "* x", "weir x", ""})
	line := rapid.Custom(func(t *rapid.T) string {
		key := rapid.SampledFrom(keys).Draw(t, "key")
		v := value.Draw(t, "value")
		if strings.HasPrefix(strings.ToLower(key), "user") {
			v = agents.Draw(t, "agent")
		}
		return key + v + rapid.SampledFrom([]string{"\n", "\r\n", "\r", " \t\n", " # comment\n", "\n\n"}).Draw(t, "end")
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 0, 25).Draw(t, "lines"), "")
	})
}

// The Go port of Google's library is the oracle for reading and matching. We
// differ from it on purpose, and the texts drawn here avoid it, in: encoded
// letters, "%2A", "%24" and "%7E" (section 2.2.2 and 2.2.3), octets outside a
// URI's, a colon in the value of a line that lacks one, /robots.txt, and what
// neither the RFC nor Google has: more misspellings, UTF-16. The port itself
// errs on "%2f" in a rule (it spoils the digit) and on paths with raw octets
// outside ASCII (its URL parser decodes the rest).
func TestSameAsGoogle(t *testing.T) {
	keys := []string{"User-agent: ", "user-agent:", "useragent : ", "User Agent: ", "Allow: ", "Disallow: ", "disallow:", "disalow: ", "Disallow ",
		"Disallowed: ", "Sitemap: ", "Crawl-delay: ", "Noindex: ", "# ", " ", ""}
	bodies := file(keys, words(6, "/", "/", "a", "b", "ab", "*", "$", "%2F", "~", "é", "?", "index.html", "category"))
	paths := words(8, "/", "a", "b", "ab", "%2F", "~", "%C3%A9", "index.html", "category")
	queries := words(4, "?", "a", "b", "/", "$", "*", "%2F", "category")
	rapid.Check(t, func(t *rapid.T) {
		body := bodies.Draw(t, "body")
		r := Parse([]byte(body), "weir")
		for range 5 {
			path := "/" + paths.Draw(t, "path") + "?" + queries.Draw(t, "query")
			if got, want := r.Allowed(path), grobotstxt.AgentAllowed(body, "weir", "http://example.org"+path); got != want {
				_, rule := r.Match(path)
				t.Fatalf("%s: allowed %v by %q, Google says %v\n%s", path, got, rule, want, body)
			}
		}
	})
}

func TestMarshalKeepsBehaviour(t *testing.T) {
	keys := []string{"User-agent: ", "Allow: ", "Disallow: ", "disalow ", "Crawl-delay: 0.", "Crawl-delay: ", "Sitemap: ", "Sitemap: http://example.org/"}
	value := rapid.OneOf(anyValue, rapid.StringMatching(`[0-9]{1,9}`), rapid.String())
	bodies := file(keys, value)
	rapid.Check(t, func(t *rapid.T) {
		r := Parse([]byte(bodies.Draw(t, "body")), "weir")
		var paths []string
		for range 10 {
			paths = append(paths, "/"+anyPath.Draw(t, "path"))
		}
		sameAfterMarshal(t, r, paths)
	})
}

func TestMarshalKeepsBigFiles(t *testing.T) {
	for _, f := range bigFiles() {
		// Each of these octets is three in the text.
		body := strings.ReplaceAll(f.body, "e", "\xe9")
		sameAfterMarshal(t, Parse([]byte(f.body), "weir"), f.paths)
		sameAfterMarshal(t, Parse([]byte(body), "weir"), f.paths)
	}
	long := "User-agent: *\nallow /" + strings.Repeat("\xff", maxLine) + "\nDisallow: /\n"
	sameAfterMarshal(t, Parse([]byte(long), "weir"), []string{"/" + strings.Repeat("\xff", maxLine-7), "/" + strings.Repeat("\xff", maxLine-8)})
	sameAfterMarshal(t, DenyAll(), []string{"/", "/robots.txt"})
	sameAfterMarshal(t, AllowAll(), []string{"/", "/robots.txt"})
}

func sameAfterMarshal(t rapid.TB, r *Rules, paths []string) {
	t.Helper()
	text, err := r.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	s := DenyAll() // UnmarshalText has to replace what was there
	if err := s.UnmarshalText(text); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		allowed, rule := r.Match(path)
		if a, u := s.Match(path); a != allowed || u != rule {
			t.Fatalf("%s: %v by %q, was %v by %q\n%s", path, a, u, allowed, rule, text)
		}
	}
	if s.CrawlDelay() != r.CrawlDelay() || !slices.Equal(s.Sitemaps(), r.Sitemaps()) {
		t.Fatalf("delay %v, was %v; sitemaps %q, were %q", s.CrawlDelay(), r.CrawlDelay(), s.Sitemaps(), r.Sitemaps())
	}
	again, _ := s.MarshalText()
	if !bytes.Equal(again, text) {
		t.Fatalf("marshalled again:\n%s\nwas\n%s", again, text)
	}
}
