package parse

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

func zip(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// entries writes a sitemap as "url lastmod" lines.
func entries(m *Sitemap) string {
	var b strings.Builder
	if m.Index {
		b.WriteString("index\n")
	}
	for _, e := range m.Entries {
		b.WriteString(strings.TrimSpace(e.URL.String()+" "+e.LastMod) + "\n")
	}
	return b.String()
}

// TestSitemapSamples reads the samples of crawler-commons.
func TestSitemapSamples(t *testing.T) {
	hawaii := `http://www.example.com/
http://www.example.com/catalog?item=12&desc=vacation_hawaii
http://www.example.com/catalog?item=73&desc=vacation_new_zealand
http://www.example.com/catalog?item=74&desc=vacation_newfoundland
http://www.example.com/catalog?item=83&desc=vacation_usa
`
	pages := "http://www.domain.com/page1.html\nhttp://www.domain.com/page2.html\n"
	for _, tc := range []struct {
		file string
		n    int
		want string // how the entries begin; all of them when n is 0
	}{
		{"sitemap.txt", 0, pages},
		{"sitemap-with-bom.txt", 0, pages},
		{"do-not-visit.txt", 0, "http://www.example.com/do-not-visit-here\n"},
		{"sitemap.txt.gz", 0, hawaii},
		{"xmlSitemap.gz", 0, `http://www.example.com/ 2005-01-01
http://www.example.com/catalog?item=12&desc=vacation_hawaii
http://www.example.com/catalog?item=73&desc=vacation_new_zealand 2004-12-23
http://www.example.com/catalog?item=74&desc=vacation_newfoundland 2004-12-23T18:00:15+00:00
http://www.example.com/catalog?item=83&desc=vacation_usa 2004-11-23
`},
		{"sitemap.badns.xml", 0, "http://www.example.com/1\nhttp://www.example.com/2\n"},
		{"sitemap.ns.xml", 0, "http://www.example.com/1\nhttp://www.example.com/2\n"},
		{"sitemap.index.xml", 15, "index\nhttps://example.com/sitemap.jss?portalCode=10260&lang=en\n"},
		{"atom.xml", 0, "http://example.org/2003/12/13/atom03 2003-12-13T18:30:02Z\n"},
		{"extension/sitemap-links.xml", 0,
			"http://www.example.com/english/\nhttp://www.example.com/deutsch/\nhttp://www.example.com/schweiz-deutsch/\n"},
		{"extension/sitemap-images.xml", 0, "http://www.example.com/images/some_image_landing_page.html\n"},
		{"extension/sitemap-mobile.xml", 0,
			"http://www.example.com/mobile-friendly-1/\nhttp://www.example.com/mobile-friendly-2/\nhttp://www.example.com/no-mobile/\n"},
		{"extension/sitemap-news.xml", 0,
			"http://www.example.org/business/article55.html\nhttp://www.example.org/empty_news_name.html\n"},
		{"extension/sitemap-videos.xml", 3, "http://www.example.com/videos/some_video_landing_page.html\n"},
		{"extension/sitemap-videos-tvshow.xml", 0, "https://example.org/my-tv-show/23/13/\n"},
		{"extension/pagemaps-sitemap.xml", 0, "http://www.example.com/foo\nhttp://www.example.com/bar\n"},
		{"extension/shinpaideshou-news-sitemap.xml", 3, "https://shinpaideshou.wordpress.com/2017/04/25/"},
		{"extension/hebdenbridgetimes-articles-sitemap.xml", 74,
			"http://www.hebdenbridgetimes.co.uk/news/local/video-tour-de-yorkshire-in-calderdale-1-7242580 2015-05-03T18:51:50+01:00\n"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			body, err := os.ReadFile("testdata/sitemap/" + tc.file)
			if err != nil {
				t.Fatal(err)
			}
			var p Parser
			m, err := p.Sitemap(body, mustURL(t, "http://www.example.com/sitemap.xml"))
			if err != nil {
				t.Fatal(err)
			}
			got := entries(m)
			if tc.n == 0 && got != tc.want || tc.n > 0 && (len(m.Entries) != tc.n || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("%d entries:\n%s\nwant %d:\n%s", len(m.Entries), got, tc.n, tc.want)
			}
			if !IsSitemap("", "/"+tc.file, body) && tc.file != "do-not-visit.txt" {
				t.Error("is not taken for a sitemap")
			}
		})
	}
}

func TestSitemap(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"bare", `<urlset><url><loc>http://h.test/a</loc></url></urlset>`, "http://h.test/a\n"},
		{"empty", `<urlset></urlset>`, ""},
		{"junk before the prolog", "Warning: x\n\n<?xml version='1.0'?><urlset><url><loc>http://h.test/a</loc></url></urlset>", "http://h.test/a\n"},
		{"mark", "\uFEFF<urlset><url><loc>http://h.test/é</loc></url></urlset>", "http://h.test/%C3%A9\n"},
		{"capitals", `<URLSET><URL><LOC>http://h.test/a</LOC></URL></URLSET>`, "http://h.test/a\n"},
		{"CDATA", `<urlset><url><loc><![CDATA[ http://h.test/?a=1&b=2 ]]></loc></url></urlset>`, "http://h.test/?a=1&b=2\n"},
		{"entities", `<urlset><url><loc>http://h.test/?a=1&amp;b=&#x41;&#66;&apos;</loc></url></urlset>`, "http://h.test/?a=1&b=AB%27\n"},
		{"escaped once", `<urlset><url><loc>http://h.test/?a&amp;amp;b</loc></url></urlset>`, "http://h.test/?a&amp;b\n"},
		{"stray ampersands", `<urlset><url><loc>http://h.test/?a=1&copy=2&lt=3&x;</loc></url></urlset>`, "http://h.test/?a=1&copy=2&lt=3&x;\n"},
		{"cut in an address", `<urlset><url><loc>http://h.test/a</loc></url><url><loc>http://h.test/b`, "http://h.test/a\n"},
		{"cut after an address", `<urlset><url><loc>http://h.test/a</loc><lastm`, "http://h.test/a\n"},
		{"entries not closed", `<urlset><url><loc>http://h.test/a</loc><url><loc>http://h.test/b</loc>`, "http://h.test/a\nhttp://h.test/b\n"},
		{"addresses not closed", `<urlset><url><loc>http://h.test/a<lastmod>2020</lastmod></url></urlset>`, "http://h.test/a 2020\n"},
		{"lastmod first", `<urlset><url><lastmod>2020</lastmod><loc>http://h.test/a</loc></url><url><loc>http://h.test/b</loc></url></urlset>`,
			"http://h.test/a 2020\nhttp://h.test/b\n"},
		{"comments", `<urlset><!-- <url><loc>http://h.test/a</loc></url> --></urlset>`, ""},
		{"other schemes and no addresses", `<urlset><url><loc>ftp://h.test/</loc></url><url><loc></loc></url><url/><url><loc>/rel</loc></url></urlset>`,
			"http://h.test/rel\n"},
		{"entities of its own", `<!DOCTYPE urlset [<!ENTITY a "http://h.test/"><!ENTITY x SYSTEM "file:///etc/passwd">]>` +
			`<urlset><url><loc>http://h.test/&a;&x;</loc></url></urlset>`, "http://h.test/&a;&x;\n"},
		{"Latin-1", "<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>http://h.test/?\xe9</loc></url></urlset>", "http://h.test/?%C3%A9\n"},
		{"index", `<sitemapindex><sitemap><loc>http://h.test/1.xml.gz</loc><lastmod>2020-01-02</lastmod></sitemap></sitemapindex>`,
			"index\nhttp://h.test/1.xml.gz 2020-01-02\n"},
		{"RSS", `<rss><channel><title>t</title><link>http://h.test/</link><atom:link href="http://h.test/feed"/>
			<item><title/><link>http://h.test/1</link><pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate></item>
			<item><link>http://h.test/2</link><guid>http://h.test/no</guid><source url="x"><link>http://h.test/no</link></source></item>
			<item><guid>http://h.test/3</guid></item>
			<item><guid isPermaLink="false">http://h.test/4</guid></item><item><guid>4711</guid></item></channel></rss>`,
			"http://h.test/1 Mon, 06 Sep 2021 00:01:00 +0000\nhttp://h.test/2\nhttp://h.test/3\n"},
		{"RSS 1.0", `<rdf:RDF xmlns="x"><channel><link>http://h.test/</link></channel><item rdf:about="x"><link>http://h.test/1</link></item></rdf:RDF>`,
			"http://h.test/1\n"},
		{"Atom", `<feed><link href="http://h.test/"/><entry><link rel="edit" href="/no"/><link rel="alternate" href="/1?a&amp;b"/>
			<published>2019</published><updated>2020</updated><source><link href="/no"/><updated>1</updated></source></entry>
			<entry><id>http://h.test/no</id></entry><entry><link href='/2'/><published>2019</published></entry></feed>`,
			"http://h.test/1?a&b 2020\nhttp://h.test/2 2019\n"},
		{"list", "http://h.test/a\r\n\r\n  HTTPS://h.test/b  \nnonsense\n/rel\n", "http://h.test/a\nhttps://h.test/b\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, body := range [][]byte{[]byte(tc.body), zip(t, []byte(tc.body)), zip(t, zip(t, []byte(tc.body)))} {
				var p Parser
				m, err := p.Sitemap(body, mustURL(t, "http://h.test/sitemap.xml"))
				if err != nil {
					t.Fatal(err)
				}
				if got := entries(m); got != tc.want {
					t.Errorf("got\n%s\nwant\n%s", got, tc.want)
				}
			}
		})
	}
}

func TestSitemapUTF16(t *testing.T) {
	e, _ := charset.Lookup("utf-16le")
	body, err := e.NewEncoder().String("<?xml version='1.0' encoding='utf-16'?><urlset><url><loc>http://h.test/a</loc></url></urlset>")
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"", "\xff\xfe"} {
		var p Parser
		m, err := p.Sitemap([]byte(mark+body), mustURL(t, here))
		if err != nil || entries(m) != "http://h.test/a\n" {
			t.Errorf("mark %q: %v, %v", mark, m, err)
		}
	}
}

func TestNotSitemap(t *testing.T) {
	for _, body := range []string{"", "   ", "<html><body>404</body></html>", "hello", "\x1f\x8b", "\x1f\x8bnonsense", "ftp://h.test/", "%PDF-1.4"} {
		var p Parser
		if m, err := p.Sitemap([]byte(body), mustURL(t, here)); !errors.Is(err, ErrNotSitemap) {
			t.Errorf("%q: %v, %v", body, m, err)
		}
	}
}

func TestSitemapBounds(t *testing.T) {
	at := mustURL(t, here)
	var p Parser
	var b bytes.Buffer
	b.WriteString("<urlset>")
	for i := range MaxEntries + 10 {
		fmt.Fprintf(&b, "<url><loc>http://h.test/%d</loc></url>", i)
	}
	m, err := p.Sitemap(b.Bytes(), at)
	if err != nil || len(m.Entries) != MaxEntries || !m.Cut {
		t.Fatalf("%d entries, cut %v, %v", len(m.Entries), m.Cut, err)
	}

	// 60 MB of nothing, 60 KB on the wire, before an entry that is beyond the bound.
	bomb := append([]byte("<urlset><url><loc>http://h.test/a</loc></url>"), bytes.Repeat([]byte(" "), 60<<20)...)
	bomb = append(bomb, "<url><loc>http://h.test/b</loc></url>"...)
	m, err = p.Sitemap(zip(t, bomb), at)
	if err != nil || len(m.Entries) != 1 || !m.Cut {
		t.Fatalf("bomb: %v, %v", m, err)
	}

	whole := zip(t, b.Bytes())
	m, err = p.Sitemap(whole[:len(whole)/2], at)
	if err != nil || len(m.Entries) < 1000 {
		t.Fatalf("half of a gzip file: %v, %v", m, err)
	}

	deep := strings.Repeat("<x>", 1e6) + "<urlset>" + strings.Repeat("<y>", 1e6) + "<url><loc>http://h.test/a</loc></url>"
	if m, err = p.Sitemap([]byte(deep), at); err != nil || len(m.Entries) != 1 {
		t.Fatalf("deep: %v, %v", m, err)
	}

	long := "<urlset><url><loc>http://h.test/" + strings.Repeat("x", 10<<20) + "</loc><lastmod>" + strings.Repeat("9", 1000) +
		"</lastmod></url><url><loc>http://h.test/a</loc><lastmod>" + strings.Repeat("9", 1000) + "</lastmod></url>"
	m, err = p.Sitemap([]byte(long), at)
	if err != nil || len(m.Entries) != 1 || m.Refused != 1 || len(m.Entries[0].LastMod) != MaxLastMod {
		t.Fatalf("long: %v, %v", m, err)
	}
}

func TestIsSitemap(t *testing.T) {
	xml := "<?xml version='1.0'?>\n<!-- <html> -->\n"
	for _, tc := range []struct {
		contentType, path, head string
		want                    bool
	}{
		{"application/xml", "/sitemap.xml", xml + "<urlset xmlns=x>", true},
		{"text/xml", "/x", xml + "<sm:sitemapindex>", true},
		{"application/rss+xml", "/feed", xml + "<rss version='2.0'>", true},
		{"application/atom+xml", "/feed", xml + "<feed>", true},
		{"application/rdf+xml", "/feed", xml + "<rdf:RDF>", true},
		{"application/x-gzip", "/s.gz", string(zip(t, []byte(xml+"<urlset>"))), true},
		{"text/plain", "/sitemap.txt", "http://h.test/", true},
		{"text/plain", "/a/SiteMap-1.txt?x=/y", "\uFEFFhttps://h.test/", true},
		{"text/plain", "/urls.txt", "http://h.test/", true},
		{"text/plain", "/sitemap/readme.txt", "http://h.test/ is our home\n", false},
		{"text/html", "/sitemap.xml", xml + "<urlset>", false},
		{"application/xml", "/x", xml + "<html><urlset>", false},
		{"image/svg+xml", "/x", xml + "<svg>", false},
		{"application/xml", "/sitemap.xml", "", false},
		{"", "/x", "<", false},
	} {
		if got := IsSitemap(tc.contentType, tc.path, []byte(tc.head)); got != tc.want {
			t.Errorf("IsSitemap(%q, %q, %.40q) = %v", tc.contentType, tc.path, tc.head, got)
		}
	}
}
