package robots

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

var today = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

func TestDirectiveCases(t *testing.T) {
	var cases struct {
		Meta []struct {
			HTML                       string
			NoIndex, NoFollow, NoCache bool
		}
		XRobotsTag []struct {
			Headers           map[string][]string
			Agent             string
			NoIndex, NoFollow bool
		} `json:"x_robots_tag"`
	}
	load(t, "meta-cases.json", &cases)
	if len(cases.Meta) != 9 || len(cases.XRobotsTag) != 11 {
		t.Fatalf("read %d and %d cases, want 9 and 11", len(cases.Meta), len(cases.XRobotsTag))
	}
	for _, c := range cases.Meta {
		var got Directives
		for _, content := range metas(t, c.HTML) {
			got = got.Merge(ParseMeta(content))
		}
		if want := (Directives{NoIndex: c.NoIndex, NoFollow: c.NoFollow, NoCache: c.NoCache}); got != want {
			t.Errorf("%s:\n%+v, want %+v", c.HTML, got, want)
		}
	}
	for _, c := range cases.XRobotsTag {
		got := ParseHeader(c.Headers["X-Robots-Tag"], c.Agent).At(today)
		if got.NoIndex != c.NoIndex || got.NoFollow != c.NoFollow {
			t.Errorf("%q for %s: %+v, want %v %v", c.Headers, c.Agent, got, c.NoIndex, c.NoFollow)
		}
	}
}

// metas returns the contents of a page's robots and pragma elements.
func metas(t *testing.T, page string) (contents []string) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		content, ours := "", false
		for _, a := range n.Attr {
			switch a.Key {
			case "name", "http-equiv":
				ours = strings.EqualFold(a.Val, "robots") || strings.EqualFold(a.Val, "pragma")
			case "content":
				content = a.Val
			}
		}
		if n.Data == "meta" && ours {
			contents = append(contents, content)
		}
	}
	return contents
}

func TestParseMeta(t *testing.T) {
	june := time.Date(2010, 6, 25, 15, 0, 0, 0, time.UTC)
	for content, want := range map[string]Directives{
		"":                                {},
		"all, index, follow, max-snippet": {},
		"noindex,,NoFollow , noarchive":   {NoIndex: true, NoFollow: true, NoArchive: true},
		"noindex nofollow":                {NoIndex: true, NoFollow: true},
		"nocache":                         {NoCache: true},
		"index, noindex":                  {NoIndex: true},
		"xnoindex, nofollowed":            {},
		"unavailable_after: 25 Jun 2010 15:00:00 GMT":                               {Unavailable: june},
		"nofollow, unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, none":          {NoFollow: true, NoIndex: true, Unavailable: june},
		"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC":                         {Unavailable: june},
		"unavailable_after: 2010-06-25T17:00:00+02:00, noarchive":                   {Unavailable: june, NoArchive: true},
		"unavailable_after: when it suits, noarchive":                               {NoArchive: true},
		"unavailable_after: 25 Jun 2010" + strings.Repeat(" ", 80) + "15:00:00 GMT": {},
		"unavailable_after:": {},
		"unavailable_after: 2011-01-01, unavailable_after: 2010-06-25 15:00:00": {Unavailable: june},
	} {
		if got := ParseMeta(content); got != want {
			t.Errorf("%q: %+v, want %+v", content, got, want)
		}
	}
	d := Directives{Unavailable: june}
	if d.At(june.Add(-1)).NoIndex || !d.At(june).NoIndex {
		t.Error("a page is to be listed until it is unavailable")
	}
}

func TestParseHeader(t *testing.T) {
	noIndex, noFollow := Directives{NoIndex: true}, Directives{NoFollow: true}
	for value, want := range map[string]Directives{
		"googlebot: nofollow, otherbot: noindex":        {},
		"googlebot: nofollow, weir: noindex":            noIndex,
		"weir: noindex, googlebot: nofollow, noarchive": noIndex,
		"nofollow, googlebot: noindex":                  noFollow,
		"WEIR: max-image-preview:large, nofollow":       noFollow,
		"*: noindex": noIndex,
		": noindex":  noIndex,
		"max-snippet:-1, max-video-preview:0, noindex":                 noIndex,
		"otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST":        {},
		"weir: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, none": {NoIndex: true, NoFollow: true, Unavailable: time.Date(2010, 6, 25, 15, 0, 0, 0, time.UTC)},
		"":     {},
		",,:,": {},
	} {
		if got := ParseHeader([]string{value}, "weir/1.0"); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
	// A name holds to the end of its own header.
	if got := ParseHeader([]string{"otherbot: noindex", "nofollow"}, "weir"); got != noFollow {
		t.Errorf("two headers: %+v", got)
	}
}
