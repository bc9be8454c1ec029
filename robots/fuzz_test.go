package robots

import (
	"os"
	"path/filepath"
	"testing"
)

// No file makes Parse fail or gives rules that change when they are stored.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/crawler-commons/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files to start from: %v", err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "mybot", "/private/x")
	}
	f.Add([]byte("User-agent: *\nDisallow: /a%2*$\nAllow: /index.html\nSitemap: \xff\x00x"), "weir/1.0", "/a%2")
	f.Fuzz(func(t *testing.T, body []byte, agent, path string) {
		r := Parse(body, agent)
		if d := r.CrawlDelay(); d < 0 || d > MaxDelay {
			t.Fatalf("waits %v", d)
		}
		if len(r.Sitemaps()) > MaxSitemaps || r.Size() <= 0 || !r.Allowed("/robots.txt") {
			t.Fatal("a limit does not hold")
		}
		sameAfterMarshal(t, r, []string{path, "/" + path})
	})
}

// The compiled matcher says what the reference says, for any two rules.
func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/a%2Ab", "/a*b")
	f.Add("*a*a*a*a*b", "/%61", "/%61aaaaaaa")
	f.Add("/index.html", "/$", "/")
	f.Add("/%%361", "/ツ", "/%61%e3%83%84")
	f.Fuzz(func(t *testing.T, allow, disallow, path string) {
		lines := []line{{true, []byte(allow)}, {false, []byte(disallow)}}
		var r Rules
		r.compile(lines)
		path = "/" + path
		allowed, rule := r.Match(path)
		if a, u := reference(lines, path); a != allowed || u != rule {
			t.Fatalf("Allow: %q, Disallow: %q: %q: %v by %q, want %v by %q", allow, disallow, path, allowed, rule, a, u)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	f.Add("googlebot: nofollow, otherbot: noindex", "weir")
	f.Add("weir: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, none", "weir/1.0")
	f.Fuzz(func(t *testing.T, value, agent string) {
		both := ParseHeader([]string{value, "none"}, agent)
		if !both.NoIndex || !both.NoFollow {
			t.Fatalf("%q hides the header after it", value)
		}
		if d := ParseMeta(value); d.Merge(d) != d {
			t.Fatalf("%q merged with itself: %+v", value, d.Merge(d))
		}
	})
}
