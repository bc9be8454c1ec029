package node

import (
	"mime"
	"strings"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/parse"
	"weir/internal/store"
	"weir/page"
	"weir/robots"
)

// maxParse is how much of a decoded body is read for links, at most; with little
// memory it is less.
const maxParse = 64 << 20

// tool is what reading a page takes: a parser, an encoder and their buffers.
// There are a few of them, and a visit borrows one; so the work that costs CPU
// is bounded however many connections there are.
type tool struct {
	n       *node
	parser  parse.Parser
	encoder *store.Encoder
}

func newTool(n *node) *tool {
	return &tool{n: n, encoder: n.store.NewEncoder(0)}
}

// result is a page on its way to the committer.
type result struct {
	id     uint64
	facts  *page.Facts
	record *store.Record // nil: nothing to archive
	rules  *robots.Rules // of a robots.txt
}

func (r *result) release() {
	if r.record != nil {
		r.record.Release()
		r.record = nil
	}
}

// read makes facts and a record of an answer.
func (t *tool) read(o crawl.Fetch, a *fetch.Answer, done crawl.Done, target page.URL) (*result, error) {
	f := t.n.facts(o)
	f.Outcome, f.Status, f.Bytes, f.Wire, f.Elapsed = done.Outcome, a.Status, a.BodyWire, a.Wire, a.Elapsed
	f.At = a.At.UnixNano()
	f.Digest, f.Digested = a.Digest, a.PayloadSize > 0 && a.Digest != [20]byte{}
	if a.Addr.IsValid() {
		f.Server = a.Addr.String()
	}
	contentType := a.Header.Get("Content-Type")
	f.Mime = mediaType(contentType)
	if !target.IsZero() {
		f.Redirect = page.Link{URL: target, Hash: t.n.secret.Hash(target.Rest()), Kind: page.Redirect}
	}
	switch {
	case o.Robots && done.Rules != nil:
		t.sitemapLines(f, done.Rules)
	case !o.Robots && f.Outcome.Row().Kept:
		t.body(f, a, contentType)
	}
	r := &result{id: o.ID, facts: f, rules: done.Rules}
	if !f.Outcome.Row().Answer || len(a.Head) == 0 || !o.Robots && !f.Outcome.Final(f.Attempt) {
		return r, nil
	}
	if t.n.cfg.Archive == store.None && !f.Digested {
		return r, nil
	}
	x := &store.Exchange{
		URL: o.URL.String(), At: a.At, Addr: f.Server, Request: a.Request,
		HeadLen: len(a.Head), Status: a.Status, Mime: f.Mime, PayloadDigest: a.Digest, PayloadSize: a.PayloadSize,
		Truncated: a.Truncated,
	}
	var inMemory bool
	if x.Bytes, inMemory = a.Bytes(); !inMemory {
		block := a.Block()
		x.Response, x.Size = block, block.Size()
	}
	if f.Outcome != page.OK && f.Outcome != page.Redirected && f.Outcome != page.ClientError {
		x.Meta = [][2]string{{"outcome", f.Outcome.String()}, {"reason", a.Err}}
	}
	var err error
	r.record, err = t.encoder.Encode(x)
	return r, err
}

// body reads what a page or sitemap says.
func (t *tool) body(f *page.Facts, a *fetch.Answer, contentType string) {
	asked := robots.ParseHeader(a.Header.Values("X-Robots-Tag"), t.n.cfg.Agent)
	defer func() {
		asked = asked.At(a.At)
		f.NoFollow, f.NoIndex = asked.NoFollow, asked.NoIndex
	}()
	if f.Mime != "" && !parse.IsHTML(contentType, nil) && !t.n.cfg.Scope.Sitemaps {
		return // stored, not read
	}
	body, got := a.Decoded(min(maxParse, max(8<<20, t.n.cfg.Memory/16)))
	if got == page.Bomb {
		f.Outcome = page.Bomb
		return
	}
	head := body[:min(len(body), 1024)]
	switch {
	case parse.IsHTML(contentType, head):
		if f.Mime == "" {
			f.Mime = "text/html"
		}
		doc := t.parser.HTML(body, f.URL, contentType, t.n.cfg.Agent, parse.Want{Requisites: t.n.cfg.Scope.Requisites})
		asked = asked.Merge(doc.Robots)
		f.Title = doc.Title
		if doc.Cut {
			t.n.log.event("links-cut", map[string]any{"url": f.URL.String(), "kept": len(doc.Links)})
		}
		f.Links = t.canonical(doc.Links)
	case t.n.cfg.Scope.Sitemaps && parse.IsSitemap(contentType, f.URL.Path(), head):
		if m, err := t.parser.Sitemap(body, f.URL); err == nil {
			t.sitemap(f, m)
		}
	}
}

// canonical strips and hashes links in place.
func (t *tool) canonical(links []page.Link) []page.Link {
	for i := range links {
		links[i].URL = t.n.cfg.Strip.Apply(links[i].URL)
		links[i].Hash = t.n.secret.Hash(links[i].URL.Rest())
	}
	return links
}

func (t *tool) sitemap(f *page.Facts, m *parse.Sitemap) {
	for _, e := range m.Entries {
		l := page.Link{URL: e.URL, Kind: page.Sitemap}
		if m.Index {
			l.Rel = "sitemap"
		}
		f.Links = append(f.Links, l)
	}
	t.canonical(f.Links)
}

// sitemapLines turns the Sitemap lines of a robots.txt into links; a site that
// names none is asked for the usual place.
func (t *tool) sitemapLines(f *page.Facts, rules *robots.Rules) {
	if !t.n.cfg.Scope.Sitemaps {
		return
	}
	lines := rules.Sitemaps()
	if len(lines) == 0 {
		lines = []string{"/sitemap.xml"}
	}
	for _, line := range lines {
		if u, err := f.URL.Resolve(line); err == nil {
			f.Links = append(f.Links, page.Link{URL: u, Kind: page.Sitemap, Rel: "sitemap"})
		}
	}
	t.canonical(f.Links)
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
