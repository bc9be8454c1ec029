package extract

import (
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/fetch"
	"weir/internal/parse"
	"weir/page"
	"weir/robots"
)

// Reader reads answers, one after another, and keeps its buffers for the next.
// It is not safe for concurrent use; the facts it makes share no memory with it.
type Reader struct {
	Config
	parser parse.Parser
}

// Answer is what came over the wire.
type Answer struct {
	Head   []byte // the header verbatim
	Header fetch.Header
	Body   Body
}

// Body is the body of an Answer. Decoded undoes its codings, as in
// [fetch.Answer.Decoded].
type Body interface {
	Decoded(most int64) ([]byte, page.Outcome)
}

// Read adds to f what an answer says. What it is the answer to, when that was
// asked and what came of it must be there: a body is read only when it is to be
// kept, and f.Outcome becomes Bomb when it turns out to be one. Cut says that the
// page has more links than are taken.
func (r *Reader) Read(f *page.Facts, a Answer) (cut bool) {
	contentType := a.Header.Get("Content-Type")
	f.Mime = mediaType(contentType)
	switch {
	case f.Outcome == page.Redirected:
		if to, err := f.URL.Resolve(a.Header.Get("Location")); err == nil {
			f.Redirect = page.Link{URL: to, Kind: page.Redirect}
			r.name(&f.Redirect)
		}
	case f.Outcome.Row().Kept && !f.Robots:
		if r.Want.Headers {
			f.Headers = headers(a.Head)
		}
		asked := robots.ParseHeader(a.Header.Values("X-Robots-Tag"), r.Agent)
		var said robots.Directives
		said, cut = r.body(f, a.Body, contentType)
		asked = asked.Merge(said).At(time.Unix(0, f.At))
		f.NoFollow, f.NoIndex = asked.NoFollow, asked.NoIndex
	}
	return cut
}

// Robots adds to f the sitemaps that a robots.txt names, if they are wanted. A
// site that names none is asked for the usual place: a link without a Rel.
func (r *Reader) Robots(f *page.Facts, rules *robots.Rules) {
	if !r.Want.Sitemaps {
		return
	}
	r.named(f, rules)
	if len(rules.Sitemaps()) == 0 {
		r.sitemapLine(f, "/sitemap.xml", "")
	}
}

func (r *Reader) named(f *page.Facts, rules *robots.Rules) {
	for _, line := range rules.Sitemaps() {
		r.sitemapLine(f, line, "sitemap")
	}
}

func (r *Reader) sitemapLine(f *page.Facts, line, rel string) {
	if u, err := f.URL.Resolve(line); err == nil {
		l := page.Link{URL: u, Kind: page.Sitemap, Rel: rel}
		r.name(&l)
		f.Links = append(f.Links, l)
	}
}

// body reads what a page or sitemap says, and returns what it asks of crawlers.
func (r *Reader) body(f *page.Facts, b Body, contentType string) (asked robots.Directives, cut bool) {
	if f.Mime != "" && !parse.IsHTML(contentType, nil) && !r.Want.Sitemaps {
		return asked, false // stored, not read
	}
	body, got := b.Decoded(r.most())
	if got == page.Bomb {
		f.Outcome = page.Bomb
		return asked, false
	}
	head := body[:min(len(body), 1024)]
	switch {
	case parse.IsHTML(contentType, head):
		if f.Mime == "" {
			f.Mime = "text/html"
		}
		return r.html(f, body, contentType)
	case r.Want.Sitemaps && parse.IsSitemap(contentType, f.URL.Path(), head):
		if m, err := r.parser.Sitemap(body, f.URL); err == nil {
			r.sitemap(f, m)
		}
	}
	return asked, false
}

// most is how much of a body is read.
func (r *Reader) most() int64 { return min(maxBody, max(minBody, r.Memory/16)) }

func (r *Reader) html(f *page.Facts, body []byte, contentType string) (asked robots.Directives, cut bool) {
	doc := r.parser.HTML(body, f.URL, contentType, r.Agent, parse.Want{
		Anchors: r.Want.Anchors, Requisites: r.Want.Requisites,
		Words: r.Want.Words, Metas: r.Want.Metas, Translations: r.Want.Translations,
	})
	f.Title, f.Links, f.Words, f.Metas, f.Translations = doc.Title, doc.Links, doc.Words, doc.Metas, doc.Translations
	for _, w := range f.Words {
		f.Said += w.N
	}
	for i := range f.Links {
		r.name(&f.Links[i])
	}
	for i := range f.Translations {
		f.Translations[i].URL = r.Strip.Apply(f.Translations[i].URL)
	}
	return doc.Robots, doc.Cut
}

func (r *Reader) sitemap(f *page.Facts, m *parse.Sitemap) {
	f.Links = make([]page.Link, len(m.Entries))
	for i, e := range m.Entries {
		l := page.Link{URL: e.URL, Kind: page.Sitemap, Text: e.LastMod}
		if m.Index {
			l.Rel = "sitemap"
		}
		r.name(&l)
		f.Links[i] = l
	}
}

// name gives a link the name under which the crawl knows its page.
func (r *Reader) name(l *page.Link) {
	l.URL = r.Strip.Apply(l.URL)
	l.Hash = r.Secret.Hash(l.URL.Rest())
}

// headers returns the fields of a header, in the order they came.
func headers(head []byte) []page.Field {
	var fields []page.Field
	for name, value := range fetch.ParseHeader(head).All() {
		if len(fields) == MaxHeaders {
			break
		}
		fields = append(fields, page.Field{Name: strings.ToLower(name), Value: clip(strings.ToValidUTF8(value, "\uFFFD"), MaxHeader)})
	}
	return fields
}

// clip cuts a text at so many bytes, or a little before.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// mediaType is the type without its parameters.
func mediaType(contentType string) string {
	if t, _, err := mime.ParseMediaType(contentType); err == nil {
		return t
	}
	t, _, _ := strings.Cut(contentType, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	if len(t) > 100 || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	return t
}
