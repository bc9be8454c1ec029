package robots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// ask checks what one agent may fetch: paths after "+" are allowed, after "-"
// denied.
func ask(t *testing.T, body, agent string, paths ...string) {
	t.Helper()
	r := Parse([]byte(body), agent)
	for _, p := range paths {
		want, path := p[0] == '+', p[1:]
		if got, rule := r.Match(path); got != want {
			t.Errorf("%s asks for %s: allowed %v by %q, want %v", agent, path, got, rule, want)
		}
	}
}

// Section 2.2.1: "If there is more than one group matching the user-agent, the
// matching groups' rules MUST be combined into one group", compared without
// regard to case.
func TestSection2_2_1_GroupsOfOneAgentAreMerged(t *testing.T) {
	body := "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: eXAMPLEbOT/2.0\ndisallow: /baz\n"
	ask(t, body, "examplebot", "-/foo", "-/bar", "-/baz", "+/")
	ask(t, body, "ExampleBot/1.0 (+https://example.org/bot)", "-/foo", "-/baz", "+/")
}

// Section 2.2.1: the group of "*" only for those that no group names, even when
// the group that names them has no rules.
func TestSection2_2_1_StarIsTheFallback(t *testing.T) {
	body := "User-agent: *\nDisallow: /a\nUser-agent: one\nDisallow: /b\n\nUser-agent: *\nDisallow: /c\nUser-agent: two"
	ask(t, body, "one", "+/a", "-/b", "+/c")
	ask(t, body, "two", "+/a", "+/b", "+/c")
	ask(t, body, "three", "-/a", "+/b", "-/c")
	ask(t, body, "", "-/a", "+/b", "-/c")
	ask(t, "Disallow: /\n", "one", "+/a") // a rule outside any group
}

// Section 2.2.2: "The most specific match found MUST be used", the one with the
// most octets; an allow wins over an equivalent disallow; without a match the
// path is allowed.
func TestSection2_2_2_LongestMatch(t *testing.T) {
	body := "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n" + // section 5.2
		"Disallow: /tie\nAllow: /tie\nDisallow: /a*b\nAllow: /aab\n"
	ask(t, body, "foobot", "+/example/page/x", "-/example/page/disallowed.gif", "+/tie", "+/aab", "-/axb", "+/other")
}

// Section 2.2.2, table 2, and the text above it.
func TestSection2_2_2_PercentEncoding(t *testing.T) {
	deny := func(rule string, paths ...string) {
		t.Helper()
		ask(t, "User-agent: *\nDisallow: "+rule+"\n", "weir", paths...)
	}
	deny("/foo/bar?baz=quz", "-/foo/bar?baz=quz", "+/foo/bar")
	deny("/foo/bar?baz=https://foo.bar", "-/foo/bar?baz=https://foo.bar")
	deny("/foo/bar/ツ", "-/foo/bar/ツ", "-/foo/bar/%E3%83%84", "-/foo/bar/%e3%83%84", "+/foo/bar/")
	deny("/foo/bar/%e3%83%84", "-/foo/bar/ツ", "-/foo/bar/%E3%83%84")
	deny("/foo/bar/%62%61%7A", "-/foo/bar/%62%61%7A", "-/foo/bar/baz", "-/foo/bar/b%61z")
	deny("/foo/bar/baz", "-/foo/bar/%62%61%7A")
	deny("/%7Ejoe", "-/~joe/index.html", "-/%7ejoe")
	deny("/~joe", "-/%7Ejoe", "-/%7ejoe/")
	deny("/a%2Fb", "-/a%2Fb", "-/a%2fb", "+/a/b")
	deny("/a/b", "+/a%2Fb")
	deny("/a b", "-/a%20b")
	deny("/100%/x", "-/100%/x", "-/100%25/x")
	deny("/caf\xe9", "-/caf%E9", "+/caf%C3%A9") // Latin-1 octets are octets
}

// An Allow with encoded letters holds for paths spelled the same: Google's
// reading where it is the stricter one.
func TestSection2_2_2_AllowWithEncodedLetters(t *testing.T) {
	body := "User-agent: *\nDisallow: /\nAllow: /%62%61%7A\nAllow: /quz\n"
	ask(t, body, "weir", "+/%62%61%7a", "-/baz", "+/quz", "+/%71uz")
}

// Section 2.2.3: "#" starts a comment, "$" ends the path, "*" is any run of
// octets; encoded they stand for themselves.
func TestSection2_2_3_SpecialCharacters(t *testing.T) {
	deny := func(rule string, paths ...string) {
		t.Helper()
		ask(t, "User-agent: * # all\nDisallow:"+rule+" # comment\n", "weir", paths...)
	}
	deny("/path/file-with-a-%2A.html", "-/path/file-with-a-*.html", "-/path/file-with-a-%2a.html", "+/path/file-with-a-b.html")
	deny("/path/foo-%24", "-/path/foo-$", "-/path/foo-$1", "-/path/foo-%24", "+/path/foo-")
	deny("/this/path/exactly$", "-/this/path/exactly", "+/this/path/exactly/", "+/this/path/exactly?q")
	deny("/this/*/exactly", "-/this/path/exactly", "-/this//exactly", "-/this/a/b/exactly/x", "+/this/exactly")
	deny("/a$b", "-/a$b", "-/a$bc", "+/a")
	deny("*.gif$", "-/a.gif", "-/a.gif.gif", "+/a.gif?x", "+/a.gifs")
	deny("/*", "-/", "-/a")
	deny("*", "-/", "-/a")
	deny("/$", "-/", "+/a", "-")
	deny("/**a***b*", "-/ab", "-/xaxbx", "+/ba")
	deny("/a*$", "-/a", "-/abc", "+/b")
	deny("$", "+/", "+/a")
	deny("", "+/", "+/a")
	deny("private/", "+/private/") // a rule starts with a slash or a wildcard
	deny("/*ab*ab$", "-/abab", "-/xabxxabab", "+/ab", "+/aab")
}

// Section 2.2.4: "Parsing of other records MUST NOT interfere with the parsing
// of explicitly defined records": a Sitemap line does not end a group.
func TestSection2_2_4_OtherRecords(t *testing.T) {
	body := "User-agent: one\nSitemap: https://example.org/s.xml\nCrawl-delay: 3\nHost: example.org\nUser-agent: two\nDisallow: /x\n"
	ask(t, body, "one", "-/x")
	ask(t, body, "two", "-/x")
	ask(t, body, "three", "+/x")
}

// Sections 2.3.1.3 and 2.3.1.4: unavailable means everything is allowed,
// unreachable means nothing is. Section 2.2.2: /robots.txt itself always is.
func TestSection2_3_1_UnavailableAndUnreachable(t *testing.T) {
	if ok, rule := AllowAll().Match("/a"); !ok || rule != "" {
		t.Errorf("AllowAll: %v by %q", ok, rule)
	}
	if ok, rule := DenyAll().Match("/a"); ok || rule != "Disallow: /" {
		t.Errorf("DenyAll: %v by %q", ok, rule)
	}
	for _, r := range []*Rules{AllowAll(), DenyAll(), new(Rules)} {
		if !r.Allowed("/robots.txt") {
			t.Error("/robots.txt is denied")
		}
	}
	if DenyAll().Allowed("") || DenyAll().Allowed("?q") {
		t.Error("an empty path is not the root")
	}
}

// Section 2.5: at least 500 KiB are read. What lies beyond is not, nor is the
// line that crosses the border, whose beginning could mean the contrary.
func TestSection2_5_Limits(t *testing.T) {
	head := "User-agent: *\nDisallow: /\n"
	last := "Allow: /public/only\n"
	pad := strings.Repeat("#", MaxSize-len(head)-len(last)-1) + "\n"
	ask(t, head+pad+last, "weir", "-/public", "+/public/only")
	ask(t, head+pad+"#"+last, "weir", "-/public/only")
	ask(t, head+"#"+pad+last, "weir", "-/public", "-/public/only", "-/p")
	ask(t, strings.Repeat("x", 2*MaxSize), "weir", "+/")

	// A line longer than any URL is cut, as Google's parser does.
	long := "/" + strings.Repeat("a", 3*maxLine)
	ask(t, "User-agent: *\nDisallow: "+long+"b\nDisallow: /x\n", "weir", "-"+long, "+/aaa", "-/x")
}

// Section 5.1, the simple example.
func TestSection5_1_SimpleExample(t *testing.T) {
	body := "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n" +
		"User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n" +
		"User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n"
	ask(t, body, "anybot", "-/a.gif", "-/example/page.html", "+/publications/", "+/publications/a.gif", "+/")
	ask(t, body, "foobot", "-/", "+/example/page.html", "+/example/allowed.gif", "-/example/denied.gif")
	ask(t, body, "barbot", "-/example/page.html", "+/a.gif")
	ask(t, body, "bazbot", "-/example/page.html", "+/a.gif")
	ask(t, body, "quxbot", "+/example/page.html", "+/a.gif")
}

// A person asks why: the rule that decided, as it stands in the file.
func TestMatchNamesTheRule(t *testing.T) {
	r := Parse([]byte("user-agent: *\ndisalow: /private  # keep out\nallow /private/ツ\nAllow: /dir/index.html\nDisallow: /dir/\nDisallow: /bad\x1b[31m\xff\n"), "weir")
	for path, want := range map[string]string{
		"/private/x":         "Disallow: /private",
		"/private/%E3%83%84": "Allow: /private/ツ",
		"/public":            "",
		"/dir/":              "Allow: /dir/index.html",
		"/dir/x":             "Disallow: /dir/",
		"/bad%1B[31m%FF":     "Disallow: /bad%1B[31m%FF", // safe on a terminal
	} {
		if _, rule := r.Match(path); rule != want {
			t.Errorf("%s: %q, want %q", path, rule, want)
		}
	}
}

func TestLenientReading(t *testing.T) {
	for _, body := range []string{
		"User-agent: *\rDisallow: /x\r",
		"User-agent: *\r\nDisallow: /x\r\n",
		"\n\n\r\rUser-agent: *\n\nDisallow: /x",
		"\ufeffUser-agent: *\nDisallow: /x",
		"# concatenated\n\ufeffUser-agent: *\nDisallow: /x",
		"USER-AGENT : *\nDISALLOW : /x",
		"useragent:*\ndisalow:/x",
		"user agent: * and more\ndissallow:\t/x\t",
		"user-agent *\ndisallow /x",
		"\t User-agent: *\n \u00a0Disallow:\u00a0/x\u00a0",
		"User-agent: *\x00\x00\nDisallow: /x\x00\n\x00\x00\x00",
		"\x00\x01\x02garbage\xff\xfe\nUser-agent: *\nDisallow: /x\n\x80\x81:\x82\n::::\n: x\n",
		"U\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00x\x00",
	} {
		if r := Parse([]byte(body), "weir"); r.Allowed("/x") || !r.Allowed("/y") {
			t.Errorf("%q: /x allowed %v, /y allowed %v", body, r.Allowed("/x"), r.Allowed("/y"))
		}
	}
	ask(t, "user-agent weir\ndisallow /a:b\nsitemap http://example.org/s.xml", "weir", "-/a:b", "+/a")
	ask(t, "User-agent: *\ndisallow /a b\n", "weir", "+/a") // three words are a sentence
	html := "<!DOCTYPE html>\n<html><head><title>Not found: /</title></head>\n<body style=\"color: red\">\n<p>Disallow: nothing</p>\n</body></html>\n"
	ask(t, html, "weir", "+/", "+/x")
	for _, body := range []string{"", "\n", "\xef", "\xef\xbb", "\xff\xfe", "\xfe\xff\x00", ":", "%", "User-agent", "User-agent:"} {
		ask(t, body, "weir", "+/")
	}
}

func TestToken(t *testing.T) {
	for ua, want := range map[string]string{
		"weir": "weir", "weir/1.0": "weir", "weir/1.0 (+https://example.org/)": "weir", "weir (+https://example.org/)": "weir",
		" bot_2-x.y ": "bot_2-x.y", "Foo Bar": "", "*": "", "": "", "/1.0": "",
	} {
		if got := Token(ua); got != want {
			t.Errorf("Token(%q) = %q, want %q", ua, got, want)
		}
	}
}

func TestCrawlDelay(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0.5": 500 * time.Millisecond, ".25": 250 * time.Millisecond, "2.": 2 * time.Second,
		"10 # seconds": 10 * time.Second, "10s": 10 * time.Second, "0": 0, "-1": 0, "": 0, "NaN": 0, "soon": 0, "1.2.3": 0,
		"86400": MaxDelay, "86401": MaxDelay, "1" + strings.Repeat("0", 400): MaxDelay, "Inf": 0, "0.0000000001": 0,
	} {
		r := Parse([]byte("User-agent: *\nCrawl-delay: "+value), "weir")
		if got := r.CrawlDelay(); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	body := "Crawl-delay: 9\nUser-agent: slow\nCrawl-delay: 7\nDisallow:\nUser-agent: *\nCrawl-delay: 2\n" +
		"User-agent: slow\nCrawl-delay: 4\nUser-agent: one\nUser-agent: two\nAllow: /\nCrawl-delay: 3\n"
	for agent, want := range map[string]time.Duration{"slow": 7 * time.Second, "other": 2 * time.Second, "one": 3 * time.Second, "two": 3 * time.Second} {
		if got := Parse([]byte(body), agent).CrawlDelay(); got != want {
			t.Errorf("%s waits %v, want %v", agent, got, want)
		}
	}
}

func TestSitemaps(t *testing.T) {
	body := "sitemap: /a.xml\nUser-agent: other\nSite-map: https://example.org/B.xml # b\nDisallow: /\nSITEMAP:/a.xml\nSitemap:\n"
	if got, want := Parse([]byte(body), "weir").Sitemaps(), []string{"/a.xml", "https://example.org/B.xml"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var many strings.Builder
	for i := range 2 * MaxSitemaps {
		fmt.Fprintf(&many, "Sitemap: /%d.xml\n", i)
	}
	if got := len(Parse([]byte(many.String()), "weir").Sitemaps()); got != MaxSitemaps {
		t.Errorf("%d sitemaps, want %d", got, MaxSitemaps)
	}
}

func TestSizeGrowsWithTheFile(t *testing.T) {
	small := Parse([]byte("User-agent: *\nDisallow: /x\n"), "weir").Size()
	if small > 1000 {
		t.Errorf("a small file takes %d bytes", small)
	}
	for _, f := range bigFiles()[1:] {
		if n := Parse([]byte(f.body), "weir").Size(); n < 100*small || n > 10*MaxSize {
			t.Errorf("%s takes %d bytes", f.name, n)
		}
	}
}
