package extract

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var everything = page.Want{Anchors: true, Requisites: true, Sitemaps: true, Words: true, Headers: true, Metas: true, Translations: true}

const html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// length frames a body by its length.
func length(head, body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// chunks frames a body in chunks of so many bytes.
func chunks(head, body string, size int) string {
	var b strings.Builder
	b.WriteString(head + "Transfer-Encoding: chunked\r\n\r\n")
	for len(body) > 0 {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

func zipped(body string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, body)
	z.Close()
	return b.String()
}

var rich = `<!doctype html><title>A weir &amp; a dam</title><meta name=Description content="Of water"><meta property=og:type content=page>
<link rel=alternate hreflang=de href=/de?utm_source=x><link rel=stylesheet href=s.css><h1>Weir</h1>
<a href="/next?utm_source=y&amp;a=1#top">The next one</a> <a rel="nofollow ugc" href=//other.test/>other</a><img src=i.png alt=Picture>
` + strings.Repeat("<p>Water flows over the weir. ", 200)

// own is a page that no other is equal to.
func own(name string) string { return rich + "<!-- " + name + " -->" }

// answers are what servers say, verbatim.
var answers = []struct{ name, path, raw string }{
	{"plain", "/plain", length(html, rich)},
	{"chunked", "/chunked", chunks(html, own("/chunked"), 100)},
	{"gzip", "/gzip", length(html+"Content-Encoding: gzip\r\n", zipped(rich))},
	{"gzip in chunks", "/gzip-chunked", chunks(html+"Content-Encoding: gzip\r\n", zipped(own("/gzip-chunked")), 33)},
	{"gzip that is none", "/lie", length(html+"Content-Encoding: gzip\r\n", own("/lie"))},
	{"gzip broken off", "/cut", fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n%s", html, zipped(own("/cut"))[:200])},
	{"broken off", "/short", html + "Content-Length: 9999\r\n\r\n" + own("/short")[:300]},
	{"chunks broken off", "/cut-chunk", html + "Transfer-Encoding: chunked\r\n\r\n40\r\n" + own("/cut-chunk")[:50]},
	{"chunks broken", "/bad-chunk", chunks(html, own("/bad-chunk"), 100)[:900] + "zz\r\n" + own("/bad-chunk")},
	{"too large", "/large", length(html, own("/large")+strings.Repeat("<a href=x>x</a>", 1<<16))},
	{"until the end", "/end", "HTTP/1.0 200 OK\nContent-Type: text/html\nX-Robots-Tag: noindex\n\n" + own("/end")},
	{"folded header", "/fold", "HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>"},
	{"long header", "/long", length(html+"X-Pad: "+strings.Repeat("x", 20000)+"\r\nServer: zeta\r\nAge: 1\r\n", own("/long"))},
	{"headers", "/headers", length(html+"X-Robots-Tag: weir: nofollow\r\nx-robots-tag: googlebot: noindex\r\nX-Bad: \xff\r\nSet-Cookie: a=1\r\nSET-COOKIE: b=2\r\n", own("/headers"))},
	{"directives that end", "/until", length(html+"X-Robots-Tag: unavailable_after: 1 Jan 2020 00:00:00 GMT\r\n", own("/until"))},
	{"meta robots", "/meta", length(html, "<meta name=robots content='noindex,nofollow'><a href=x>x</a>")},
	{"latin-1", "/latin", length("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\n", "<title>caf\xe9</title><a href='?q=\xe9'>caf\xe9</a>")},
	{"utf-16", "/wide", length("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-16le\r\n", "<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00y\x00")},
	{"shift_jis", "/sjis", length("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=shift_jis\r\n", "<title>\x93\x8c\x8b\x9e</title>")},
	{"no type", "/untyped", length("HTTP/1.1 200 OK\r\n", own("/untyped"))},
	{"odd type", "/odd", length("HTTP/1.1 200 OK\r\nContent-Type: TEXT/HTML; =\r\n", own("/odd"))},
	{"picture", "/picture.png", length("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nX-Robots-Tag: noindex\r\n", "\x89PNG\r\n")},
	{"sitemap", "/sitemap.xml", length("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n",
		"<urlset><url><loc>http://h.test/a?utm_source=z</loc><lastmod>2026-01-02</lastmod></url><url><loc>/b</loc></url></urlset>")},
	{"index", "/index.xml", length("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n", "<sitemapindex><sitemap><loc>http://h.test/s.gz</loc></sitemap></sitemapindex>")},
	{"sitemap, gzipped", "/s.gz", length("HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\n", zipped("<urlset><url><loc>http://h.test/c</loc></url></urlset>"))},
	{"feed", "/feed", length("HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n", "<rss><item><link>http://h.test/d</link><pubDate>Mon, 5 Jan 2026 00:00:00 GMT</pubDate></item></rss>")},
	{"redirect", "/moved", length("HTTP/1.1 301 Moved\r\nLocation: /plain?utm_source=x#y\r\n", "gone")},
	{"redirect elsewhere", "/away", "HTTP/1.1 302 Found\r\nLocation: //other.test/a b\r\nLocation: /second\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"not found", "/missing", length("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nX-Robots-Tag: noindex\r\n", own("/missing"))},
	{"empty", "/empty", length(html, "")},
	{"no content", "/none", "HTTP/1.1 204 No Content\r\n\r\n"},
	{"the same again", "/plain/again", length(html+"X-Robots-Tag: noindex\r\n", rich)},
	{"the same in chunks", "/plain/chunked", chunks(html, rich, 77)},
	{"the same gzip, in chunks", "/gzip/chunked", chunks(html+"Content-Encoding: gzip\r\n", zipped(rich), 64)},
	{"the same gzip, taken as it is", "/gzip/raw", length(html, zipped(rich))},
}

// server says what answers has, an answer a connection.
func server(t testing.TB) (netip.AddrPort, map[string]string) {
	raw := map[string]string{}
	for _, a := range answers {
		raw[a.path] = a.raw
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				br := bufio.NewReader(conn)
				first, _ := br.ReadString('\n')
				for line := first; line != "\r\n" && line != ""; {
					line, _ = br.ReadString('\n')
				}
				if words := strings.Fields(first); len(words) == 3 {
					io.WriteString(conn, raw[words[1]])
				}
				conn.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, br)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return netip.MustParseAddrPort(l.Addr().String()), raw
}

func config() Config {
	return Config{Want: everything, Agent: "weir", Strip: page.DefaultStrip(), Secret: page.Secret{7}}
}

// crawled fetches all answers into an archive, and returns it with the facts that
// were read as they came and what the rows would say of each page.
func crawled(t testing.TB, form store.Form, cfg Config) (*Archive, []*page.Facts, []*crawl.PageInfo) {
	t.Helper()
	st, err := store.Create(t.TempDir(), store.Options{Form: form})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	client, err := fetch.New(fetch.Config{AllowPrivate: true, TempDir: t.TempDir(), Limits: fetch.Limits{MaxBody: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	at, _ := server(t)
	g := st.Begin()
	crawl.WriteSecret(g, cfg.Secret)
	enc := st.NewEncoder(0)
	r := Reader{Config: cfg}
	var facts []*page.Facts
	var infos []*crawl.PageInfo
	for i, answer := range answers {
		u, err := page.Parse("http://" + at.String() + answer.path)
		if err != nil {
			t.Fatal(err)
		}
		conn, o := client.Open(context.Background(), u, at.Addr())
		if o != page.OK {
			t.Fatal(o, conn.Err)
		}
		a := conn.Get(context.Background(), u, true)
		conn.Close()
		f := &page.Facts{Key: page.Key{Site: 1, Hash: uint64(i)}, URL: u, Outcome: a.Outcome, Status: a.Status, Bytes: a.BodyWire, At: a.At.UnixNano(), Elapsed: a.Elapsed}
		r.Read(f, Answer{Head: a.Head, Header: a.Header, Body: a})
		facts = append(facts, f)
		record, err := enc.Encode(&store.Exchange{
			URL: u.String(), At: a.At, Request: a.Request, Response: a.Block(), Size: a.Block().Size(), HeadLen: len(a.Head), Status: a.Status,
			Mime: f.Mime, PayloadDigest: a.Digest, PayloadSize: a.PayloadSize, Truncated: a.Truncated,
		})
		if err != nil {
			t.Fatal(err)
		}
		place, _, err := g.Append(record)
		if err != nil {
			t.Fatal(err)
		}
		record.Release()
		a.Release()
		infos = append(infos, &crawl.PageInfo{
			Key: f.Key, URL: u, Outcome: f.Outcome, Status: f.Status, Mime: f.Mime, Bytes: f.Bytes, At: time.Unix(0, f.At), Elapsed: f.Elapsed,
			Record: crawl.Archived(place),
		})
	}
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	cfg.Secret = page.Secret{}
	archive, err := NewArchive(st, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return archive, facts, infos
}

// A page that is read again from the archive has the facts it had when it came.
func TestReadAgain(t *testing.T) {
	for _, form := range []store.Form{store.Gzip, store.Zstd} {
		for name, want := range map[string]page.Want{"all": everything, "links": {}, "sitemaps": {Sitemaps: true}} {
			t.Run(fmt.Sprintf("%v/%s", form, name), func(t *testing.T) {
				cfg := config()
				cfg.Want = want
				archive, facts, infos := crawled(t, form, cfg)
				revisits := 0
				i := 0
				for got, err := range archive.Facts(context.Background(), pagesOf(infos)) {
					if err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, facts[i]) {
						t.Errorf("%s:\n%+v\nwhen it came:\n%+v", answers[i].name, got, facts[i])
					}
					e, err := archive.store.ReadRecord(store.Place(infos[i].Record))
					if err != nil {
						t.Fatal(err)
					}
					if e.Type == "revisit" {
						revisits++
					}
					e.Close()
					i++
				}
				if i != len(answers) || revisits != 4 {
					t.Errorf("%d pages of %d, %d revisits", i, len(answers), revisits)
				}
			})
		}
	}
}

func pagesOf(infos []*crawl.PageInfo) Pages {
	return func(yield func(*crawl.PageInfo) bool) error {
		for _, p := range infos {
			if !yield(p) {
				break
			}
		}
		return nil
	}
}

func find(t testing.TB, facts []*page.Facts, path string) *page.Facts {
	t.Helper()
	for _, f := range facts {
		if f.URL.Path() == path {
			return f
		}
	}
	t.Fatal("no page ", path)
	return nil
}

func TestFacts(t *testing.T) {
	_, facts, _ := crawled(t, store.Gzip, config())
	f := find(t, facts, "/gzip")
	site := f.URL.Site()
	if f.Title != "A weir & a dam" || f.Mime != "text/html" || f.Outcome != page.OK {
		t.Errorf("%q, %q, %v", f.Title, f.Mime, f.Outcome)
	}
	var links []string
	for _, l := range f.Links {
		links = append(links, fmt.Sprintf("%s %s %q %v", l.Kind, strings.TrimPrefix(l.URL.String(), site), l.Text, l.NoFollow))
		if l.Hash != config().Secret.Hash(l.URL.Rest()) {
			t.Errorf("%s has another's hash", l.URL)
		}
	}
	want := []string{
		`nav /de "" false`, `requisite /s.css "" false`, `nav /next?a=1 "The next one" false`,
		`nav http://other.test/ "other" true`, `requisite /i.png "" false`,
	}
	if !reflect.DeepEqual(links, want) {
		t.Errorf("links %q", links)
	}
	if want := []page.Field{{Name: "description", Value: "Of water"}, {Name: "og:type", Value: "page"}}; !reflect.DeepEqual(f.Metas, want) {
		t.Errorf("metas %q", f.Metas)
	}
	if len(f.Translations) != 1 || f.Translations[0].Lang != "de" || f.Translations[0].URL.String() != site+"/de" {
		t.Errorf("translations %v", f.Translations)
	}
	counts := map[string]int{}
	for _, w := range f.Words {
		counts[w.Term] = w.N
	}
	if counts["weir"] != 202 || counts["dam"] != 1 || counts["next"] != 1 {
		t.Errorf("words %v", counts)
	}

	f = find(t, facts, "/headers")
	if !f.NoFollow || f.NoIndex {
		t.Errorf("noindex %v, nofollow %v", f.NoIndex, f.NoFollow)
	}
	var named []string
	for _, h := range f.Headers {
		named = append(named, h.Name+"="+h.Value)
	}
	if got := strings.Join(named, "|"); got != "content-type=text/html|x-robots-tag=weir: nofollow|x-robots-tag=googlebot: noindex|x-bad=\uFFFD|set-cookie=a=1|set-cookie=b=2|content-length="+fmt.Sprint(len(own("/headers"))) {
		t.Errorf("headers %s", got)
	}
	for _, h := range find(t, facts, "/long").Headers {
		if len(h.Value) > MaxHeader {
			t.Errorf("a header of %d bytes", len(h.Value))
		}
	}

	f = find(t, facts, "/sitemap.xml")
	if len(f.Links) != 2 || f.Links[0].URL.String() != "http://h.test/a" || f.Links[0].Text != "2026-01-02" || f.Links[0].Kind != page.Sitemap || f.Links[0].Rel != "" {
		t.Errorf("sitemap %+v", f.Links)
	}
	if f = find(t, facts, "/index.xml"); len(f.Links) != 1 || f.Links[0].Rel != "sitemap" {
		t.Errorf("index %+v", f.Links)
	}
	if f = find(t, facts, "/moved"); f.Redirect.URL.String() != site+"/plain" || f.Redirect.Kind != page.Redirect || f.Headers != nil {
		t.Errorf("redirect %+v, headers %q", f.Redirect, f.Headers)
	}
	if f = find(t, facts, "/missing"); f.Links != nil || f.Headers != nil || f.NoIndex {
		t.Errorf("a page that is not kept says %+v", f)
	}
	if f = find(t, facts, "/picture.png"); !f.NoIndex || f.Links != nil {
		t.Errorf("a picture says %+v", f)
	}
}

// What nobody wants is not there.
func TestUnwanted(t *testing.T) {
	cfg := config()
	cfg.Want = page.Want{}
	_, facts, _ := crawled(t, store.Gzip, cfg)
	f := find(t, facts, "/plain")
	if f.Words != nil || f.Headers != nil || f.Metas != nil || f.Translations != nil || len(f.Links) != 3 || f.Links[1].Text != "" {
		t.Errorf("%+v", f)
	}
	if f := find(t, facts, "/sitemap.xml"); f.Links != nil {
		t.Errorf("%+v", f)
	}
}

func TestText(t *testing.T) {
	archive, _, infos := crawled(t, store.Zstd, config())
	r := archive.Reader()
	for i, a := range answers {
		title, text, ok, err := r.Text(infos[i])
		if err != nil {
			t.Fatal(err)
		}
		switch a.path {
		case "/plain", "/gzip", "/lie", "/untyped", "/plain/chunked":
			if !ok || title != "A weir & a dam" || !strings.HasPrefix(text, "Weir\nThe next one other") {
				t.Errorf("%s: %q, %.40q", a.name, title, text)
			}
		case "/picture.png", "/sitemap.xml", "/moved", "/missing":
			if ok || title != "" || text != "" {
				t.Errorf("%s: %q, %.40q", a.name, title, text)
			}
		}
	}
}

// Whoever stops listening, for whatever reason, leaves nothing behind.
func TestStop(t *testing.T) {
	archive, _, infos := crawled(t, store.Gzip, config())
	many := func(yield func(*crawl.PageInfo) bool) error {
		for yield(infos[0]) {
		}
		return nil
	}
	for range archive.Facts(context.Background(), many) {
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var last error
	for _, err := range archive.Facts(ctx, many) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
	broken := errors.New("broken")
	bad := func(yield func(*crawl.PageInfo) bool) error {
		yield(infos[0])
		return broken
	}
	n = 0
	for _, err := range archive.Facts(context.Background(), bad) {
		n++
		last = err
	}
	if n != 2 || last != broken {
		t.Error(n, last)
	}
}

// A record that is not where it should be names its page, and ends the reading.
func TestDamaged(t *testing.T) {
	archive, _, infos := crawled(t, store.Gzip, config())
	infos[1].Record.Offset++
	n := 0
	var last error
	for _, err := range archive.Facts(context.Background(), pagesOf(infos)) {
		n++
		last = err
	}
	if n != 2 || last == nil || !strings.Contains(last.Error(), "/chunked: archive record") {
		t.Error(n, last)
	}
}

// A crawl without an archive knows how its pages ended.
func TestNoArchive(t *testing.T) {
	st, err := store.Create(t.TempDir(), store.Options{Form: store.None})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := NewArchive(st, config()); err == nil {
		t.Error("a crawl that has not begun")
	}
	g := st.Begin()
	crawl.WriteSecret(g, page.Secret{1})
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	archive, err := NewArchive(st, config())
	if err != nil || archive.Bodies() {
		t.Fatal(err, archive.Bodies())
	}
	u, _ := page.Parse("http://h.test/")
	p := &crawl.PageInfo{URL: u, Outcome: page.OK, Status: 200, Mime: "text/html", Bytes: 9, At: time.Unix(0, 5), Elapsed: time.Second, Depth: 2, Root: true}
	f, err := archive.Reader().Facts(p)
	if want := (&page.Facts{URL: u, Outcome: page.OK, Status: 200, Mime: "text/html", Bytes: 9, At: 5, Elapsed: time.Second, Depth: 2, Root: true}); err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("%+v, %v", f, err)
	}
}
