// Package page is weir's vocabulary: what a page is called, where it lives,
// what is known about it, and what can become of it.
//
// A [URL] is canonical by the WHATWG rules, without its fragment. Three names
// follow from it, and the whole crawler is built on the difference:
//
//   - Site = scheme + host + port. A site has one queue and one robots.txt.
//   - Host = the name alone. A host has one connection, one wait, one backoff,
//     shared by all its sites.
//   - Server = the address a connection goes to. It has a cap on connections.
//
// Inside the crawler a page is a [Key]: the number of its site and a 64-bit
// keyed hash of the rest of its URL. Two URLs of one site with equal hashes
// would be taken for one page. For n URLs on a site the chance that any page is
// lost so is below n^2/2^65: 3e-8 for a million URLs, 3e-4 for a hundred
// million. The hash is keyed with a secret of the crawl, so a server cannot
// aim for it, and since the site is part of the key a server could only ever
// hide pages of its own.
//
// An [Outcome] is the end of one visit; its table says what the crawler does
// next. The package imports nothing of ours, and everything of ours imports it.
package page

import (
	"strings"
	"time"
)

// Time is a moment on the crawl's own clock: nanoseconds since a start that
// only the driver knows. It never goes back and counts sleep; it says nothing
// about the time of day.
type Time int64

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// SiteID numbers the sites of one crawl, from 1 in order of discovery.
type SiteID uint32

// Key names one page of a crawl.
type Key struct {
	Site SiteID
	Hash uint64 // of URL.Rest, under the crawl's secret
}

// Kind says what brought a link about, and so whether it is navigation that a
// reader could follow or something the page needs to be shown.
type Kind uint8

const (
	Nav       Kind = iota // a, area, frame, iframe, meta refresh, rel=next and the like
	Requisite             // images, scripts, style sheets and the like: fetched with --requisites
	Redirect              // the Location of a 3xx answer
	Sitemap               // an entry of a sitemap or feed
)

func (k Kind) String() string {
	return [...]string{"nav", "requisite", "redirect", "sitemap"}[k&3]
}

// Link is one reference from a page to another.
type Link struct {
	URL      URL
	Hash     uint64 // of URL.Rest
	Kind     Kind
	NoFollow bool   // rel=nofollow on the link itself
	Rel      string // as written, lower case
	Text     string // the anchor's text, spaces folded, cut; of a sitemap's entry, when it last changed, as written
}

// Field is a name and what it says: a header, in lower case, or a meta element.
type Field struct{ Name, Value string }

// Word is a word that a page says, and how often.
type Word struct {
	Term string
	N    int
}

// Translation is the page in another language.
type Translation struct {
	Lang string // as written, lower case
	URL  URL
}

// Want says which facts are worth the time to read; those of every crawl are
// links and how the page ended.
type Want struct {
	Anchors      bool // Link.Text, and all links to one target that differ in text or rel, not only the first
	Requisites   bool // links to what the page needs to be shown
	Sitemaps     bool // entries of sitemaps and feeds
	Words        bool
	Headers      bool
	Metas        bool
	Translations bool
}

// Merge returns what either wants.
func (w Want) Merge(v Want) Want {
	return Want{
		w.Anchors || v.Anchors, w.Requisites || v.Requisites, w.Sitemaps || v.Sitemaps, w.Words || v.Words,
		w.Headers || v.Headers, w.Metas || v.Metas, w.Translations || v.Translations,
	}
}

// Has says that w asks for all that v does.
func (w Want) Has(v Want) bool { return w.Merge(v) == w }

// Without returns what w asks for and v does not.
func (w Want) Without(v Want) Want {
	return Want{
		w.Anchors && !v.Anchors, w.Requisites && !v.Requisites, w.Sitemaps && !v.Sitemaps, w.Words && !v.Words,
		w.Headers && !v.Headers, w.Metas && !v.Metas, w.Translations && !v.Translations,
	}
}

// String names what is wanted, for people.
func (w Want) String() string {
	var names []string
	for _, fact := range []struct {
		name   string
		wanted bool
	}{
		{"the texts of links", w.Anchors}, {"requisites", w.Requisites}, {"sitemaps", w.Sitemaps}, {"words", w.Words},
		{"headers", w.Headers}, {"metas", w.Metas}, {"translations", w.Translations},
	} {
		if fact.wanted {
			names = append(names, fact.name)
		}
	}
	return strings.Join(names, ", ")
}

// Facts are what one visit to a page taught us. They are sealed: all of them
// reach the Ledger in one piece, and are either durable together or not known.
type Facts struct {
	Key      Key
	URL      URL
	Depth    uint16 // links from a seed
	Hops     uint8  // redirects on the way to this URL
	Root     bool   // a seed, or what a seed redirects to: scope is drawn round the roots
	Attempt  uint8  // earlier tries that did not count as final
	Counted  bool   // the order's: it was among the pages of its site before
	Robots   bool   // this is a robots.txt: archived, but not a page
	Lent     bool   // another node of the crawl has fetched it, At some time
	Score    float32
	Outcome  Outcome
	Status   int    // 0 when no answer came
	Mime     string // media type, lower case, without parameters
	Bytes    int64  // body as it came over the wire
	Wire     int64  // everything that came over the wire for it
	Digest   [20]byte
	Digested bool // Digest is the SHA-1 of the payload
	Server   string
	At       int64 // wall clock at the request, Unix nanoseconds
	Elapsed  time.Duration
	Redirect Link // the target when Outcome is Redirected
	NoIndex  bool // meta robots or X-Robots-Tag
	NoFollow bool
	Title    string
	Links    []Link

	// Only where a Want asks for them.
	Words        []Word
	Said         int // words in all, however often each
	Headers      []Field
	Metas        []Field
	Translations []Translation
}
