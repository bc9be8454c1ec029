package parse

import (
	"os"
	"path/filepath"
	"testing"

	"weir/page"
)

// canonical holds a URL to its own rules: reading it again changes nothing.
func canonical(t *testing.T, u page.URL) {
	t.Helper()
	again, err := page.Parse(u.String())
	if err != nil || again != u {
		t.Errorf("%q is not canonical: %q, %v", u, again, err)
	}
}

func FuzzHTML(f *testing.F) {
	files, _ := filepath.Glob("testdata/pages/*.html")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "text/html")
	}
	f.Add([]byte("<a href=x><base href=//b><img srcset='a 1x,b'><meta http-equiv=refresh content='0;url=y'>"), "text/html; charset=shift_jis")
	f.Add([]byte("<svg><title/><template><noscript><style>@import 'x';url(\\61 )"), "")
	f.Add([]byte("\xff\xfe<\x00a\x00"), "text/html; charset=utf-16")
	f.Add([]byte("<a href='?\x1b$B&#8364;'>"), "text/html; charset=iso-2022-jp")
	at := mustURL(f, here)
	var p Parser
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		IsHTML(contentType, body)
		d := p.HTML(body, at, contentType, "weir", all)
		bounded(t, d)
		seen := make(map[page.Link]bool)
		for _, l := range d.Links {
			canonical(t, l.URL)
			if seen[l] {
				t.Errorf("%+v twice", l)
			}
			seen[l] = true
		}
		for _, a := range d.Translations {
			canonical(t, a.URL)
		}
		canonical(t, d.Base)
		if !d.Canonical.IsZero() {
			canonical(t, d.Canonical)
		}
		if d.Charset == "" {
			t.Error("no charset")
		}
	})
}

func FuzzSitemap(f *testing.F) {
	files, _ := filepath.Glob("testdata/sitemap/*.*")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("<rss><item><guid>http://h/</guid><link><![CDATA[x]]></item><rdf:RDF><feed>"))
	f.Add([]byte("<feed><entry><link rel=alternate href=x><source/><updated>&#x41;&#;"))
	at := mustURL(f, here)
	var p Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		IsSitemap("", "/sitemap.txt", body)
		m, err := p.Sitemap(body, at)
		if err != nil {
			return
		}
		if len(m.Entries) > MaxEntries {
			t.Errorf("%d entries", len(m.Entries))
		}
		for _, e := range m.Entries {
			canonical(t, e.URL)
			if len(e.LastMod) > MaxLastMod {
				t.Errorf("lastmod of %d bytes", len(e.LastMod))
			}
		}
	})
}
