package parse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHostile reads pages that try to make reading them expensive. Each is a few
// megabytes; anything worse than linear would not come back.
func TestHostile(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	x := strings.Repeat
	for _, tc := range []struct {
		name, html string
		links      int
		refused    int
		cut        bool
	}{
		{"one attribute of 10 MB", `<a href="` + x("x", 10<<20) + `"></a><a href=y>`, 1, 1, false},
		{"a title of 10 MB", `<title>` + x("x ", 5<<20) + `</title><a href=y>`, 1, 0, false},
		{"100,000 attributes", `<a ` + many(1e5, "a%d=1 ") + ` href=x>`, 1, 0, false},
		{"nested divs", x("<div>", 1e5) + `<a href=x>` + x("</div>", 1e5), 1, 0, false},
		{"nested templates", x("<template>", 1e5) + `<a href=x>` + x("</template>", 1e5) + `<a href=y>`, 1, 0, false},
		{"nested svg", x("<svg>", 1e5) + `<a href=x></a>`, 1, 0, false},
		{"a million links", many(1e6, "<a href=%d>"), MaxLinks, 0, true},
		{"one link 100,000 times", x("<a href=x>", 1e5), 1, 0, false},
		{"100,000 fragments", many(1e5, "<a href=x#%d>"), 1, 0, false},
		{"100,000 refused", many(1e5, "<a href=mailto:%d>"), 0, 1e5, false},
		{"links under a long base", `<base href="/` + x("x", 60000) + `/">` + many(1e5, "<a href=%d>"), 138, 0, true},
		{"a srcset of 100,000", `<img srcset="` + many(1e5, "%d 1x,") + `">`, MaxLinks, 0, true},
		{"a srcset of commas", `<img srcset="` + x(",", 5<<20) + `">`, 0, 0, false},
		{"a srcset of parentheses", `<img srcset="` + x("a (,", 1<<20) + `">`, 0, 0, false},
		{"a style of tags", `<style>` + x("<a href=y>", 1<<18) + `</style><a href=x>`, 1, 0, false},
		{"NULs", x("\x00", 1<<20) + "<a\x00 href=x><a href=y\x00>", 1, 0, false},
		{"ampersands", `<a href="` + x("&", 5000) + `">` + x("&#", 1<<20), 1, 0, false},
		{"open comments", x("<!--", 1<<20), 0, 0, false},
		{"open tags", x("<a href=", 1<<20), 0, 0, false},
		{"open scripts", x("<script><!--", 1<<18), 0, 0, false},
		{"less-than signs", x("<", 5<<20), 0, 0, false},
		{"end tags", x("</a></p></template></svg>", 1<<17) + `<a href=x>`, 1, 0, false},
		{"metas", x("<meta charset=", 1<<18), 0, 0, false},
		{"dots", `<a href="` + x("../", 900) + `x">`, 1, 0, false},
		{"alternates", many(1e5, "<link rel=alternate hreflang=de href=%d>"), MaxLinks, 0, true},
		{"refreshes", x(`<meta http-equiv=refresh content="0;url=x">`, 1e5), 1, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := read(t, tc.html, all)
			if len(d.Links) != tc.links || d.Refused != tc.refused || d.Cut != tc.cut {
				t.Errorf("%d links, %d refused, cut %v; want %d, %d, %v", len(d.Links), d.Refused, d.Cut, tc.links, tc.refused, tc.cut)
			}
			bounded(t, d)
		})
	}
}

// bounded holds a page to the bounds of the package doc.
func bounded(t testing.TB, d *Doc) {
	t.Helper()
	if len(d.Metas) > MaxMetas || len(d.Words) > MaxWords {
		t.Errorf("%d metas, %d words", len(d.Metas), len(d.Words))
	}
	for _, m := range d.Metas {
		if len(m.Name) > MaxRel || len(m.Value) > MaxMeta {
			t.Errorf("a meta of %d and %d bytes", len(m.Name), len(m.Value))
		}
	}
	if len(d.Links) > MaxLinks+maxRepeats || len(d.Translations) > MaxTranslations || len(d.Title) > MaxTitle || len(d.Text) > MaxText {
		t.Errorf("%d links, %d alternates, title of %d bytes, text of %d", len(d.Links), len(d.Translations), len(d.Title), len(d.Text))
	}
	if !utf8.ValidString(d.Title) || !utf8.ValidString(d.Text) {
		t.Errorf("invalid UTF-8 in title %.80q or text", d.Title)
	}
	for _, l := range d.Links {
		if len(l.Text) > MaxAnchor || len(l.Rel) > 2*MaxRel || !utf8.ValidString(l.Text) || !utf8.ValidString(l.Rel) {
			t.Errorf("anchor %q, rel %q", l.Text, l.Rel)
		}
	}
}

// TestLateBinary reads a page that turns into something else.
func TestLateBinary(t *testing.T) {
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	body := append([]byte("<title>t</title><a href=x>"), noise...)
	d := read(t, string(body), all)
	if d.Title != "t" || len(d.Links) == 0 {
		t.Errorf("title %q, %d links", d.Title, len(d.Links))
	}
	bounded(t, d)
	if bytes.ContainsRune([]byte(d.Text), 0) {
		t.Error("a NUL in the text")
	}
}
