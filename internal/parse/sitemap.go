package parse

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"weir/page"
)

// ErrNotSitemap says that a body lists nothing that can be crawled.
var ErrNotSitemap = errors.New("neither a sitemap nor a feed")

// Sitemap is what a sitemap or feed lists. Addresses on other sites are listed
// too: whether they are believed is for the crawl's scope to say.
type Sitemap struct {
	Index   bool // the entries are sitemaps themselves
	Entries []Entry
	Refused int  // entries without an http or https URL
	Cut     bool // there were more entries than are kept
}

// Entry is one address of a sitemap.
type Entry struct {
	URL     page.URL
	LastMod string // as written: of a sitemap a W3C date, of RSS an RFC 822 one
}

// Sitemap reads an XML sitemap, a sitemap index, an RSS or Atom feed or a list
// of addresses, gzipped or not.
//
// XML is read with the scanner for HTML: it takes junk before the prolog, lost end
// tags and stray ampersands in its stride, keeps no stack, and knows nothing of
// entities that a document defines, so none is ever fetched or multiplied.
// Of what was cut off in the middle, the entries before the cut count.
func (p *Parser) Sitemap(body []byte, at page.URL) (*Sitemap, error) {
	body = gunzip(body, MaxSitemap)
	cut := len(body) >= MaxSitemap
	body = body[:min(len(body), MaxSitemap)]
	e := detectXML(body)
	body = body[e.bom:]
	p.reset(at, nil)
	p.work = 6 * maxWork // as many entries as there may be, of a thousand bytes
	if !e.utf8() {
		body, _, _ = transform.Bytes(e.enc.NewDecoder(), body)
	}
	l := listing{Parser: p, z: &p.scanner}
	l.z.open(body, nil)
	defer l.z.close()
	l.z.cdata, l.z.always = true, set(href, permaLink, rel)
	l.run()
	if l.form == none && !bytes.HasPrefix(skipSpace(body), []byte("<")) {
		l.lines(body)
	}
	if l.form == none && len(l.out.Entries) == 0 {
		return nil, ErrNotSitemap
	}
	l.out.Index = l.form == index
	l.out.Refused = p.refused
	l.out.Cut = l.out.Cut || p.cut || cut
	return &l.out, nil
}

// detectXML finds the encoding of XML, which may have junk before its prolog.
func detectXML(body []byte) charEncoding {
	if e, ok := byMark(body); ok {
		return e
	}
	head := body[:min(len(body), prescanned)]
	if i := bytes.Index(head, []byte("<?xml")); i >= 0 {
		if e, ok := lookupInside(xmlEncoding(head[i:])); ok {
			return e
		}
	}
	if plausible(body) {
		return utf8Encoding
	}
	return must("windows-1252")
}

// What a listing is, by its root.
const (
	none = iota
	urlset
	index
	rss
	atom
)

// listing is one walk over a sitemap's tags.
type listing struct {
	*Parser
	z    *scanner
	form int
	ns   string // the root's prefix: what has another is an extension
	out  Sitemap

	open   bool   // inside an entry
	source bool   // inside what tells where an entry was taken from
	bare   bool   // the entry has had no element yet: its text may be its address
	field  string // the element whose text is gathered
	value  []byte
	name   []byte // of the tag

	loc, guid, mod string
}

func (l *listing) run() {
	for !l.out.Cut {
		switch l.z.scan() {
		case endOfPage:
			if l.loc != "" {
				l.flush()
			}
			return
		case textToken:
			l.text()
		case startTag:
			l.start()
		case endTag:
			prefix, local := splitName(l.lowerName())
			if l.form != none && string(prefix) == l.ns {
				l.end(string(local))
			}
		}
	}
}

// lowerName returns the name of the tag in lower case. It holds until the next.
func (l *listing) lowerName() []byte {
	l.name = l.name[:0]
	for _, c := range l.z.name {
		l.name = append(l.name, lower(c))
	}
	return l.name
}

func (l *listing) start() {
	l.z.notRaw() // a title is no different from a loc here
	selfClosing := l.z.selfClosing()
	prefix, local := splitName(l.lowerName())
	if l.form == none {
		l.root(string(prefix), string(local))
		return
	}
	if l.open && string(prefix) != l.ns {
		l.field, l.bare = "", false
		return
	}
	switch {
	case l.isItem(string(local)):
		if l.loc != "" {
			l.flush() // the last entry was not closed
		}
		l.open, l.bare, l.source = !selfClosing, true, false
		l.loc, l.guid, l.mod, l.field = "", "", "", ""
		l.value = l.value[:0]
	case !l.open || l.source:
	case string(local) == "source":
		l.source = !selfClosing
	default:
		if l.field != "" {
			l.close()
		}
		l.bare = false
		l.value = l.value[:0]
		if l.form == atom && string(local) == "link" {
			l.atomLink()
		} else if !selfClosing {
			l.field = l.fieldOf(string(local))
		}
	}
}

func (l *listing) root(prefix, local string) {
	switch local {
	case "urlset":
		l.form = urlset
	case "sitemapindex":
		l.form = index
	case "feed":
		l.form = atom
	case "rss":
		l.form = rss
	case "rdf": // RSS 1.0: the root has a prefix, its items have none
		l.form, prefix = rss, ""
	}
	l.ns = prefix
}

func (l *listing) isItem(name string) bool {
	switch l.form {
	case urlset:
		return name == "url"
	case index:
		return name == "sitemap"
	case rss:
		return name == "item"
	}
	return name == "entry"
}

// fieldOf returns the name again when the element's text is of use.
func (l *listing) fieldOf(name string) string {
	switch l.form {
	case urlset, index:
		if name == "loc" || name == "lastmod" {
			return name
		}
	case rss:
		// A guid may be marked as no address.
		if name == "link" || name == "pubdate" || name == "guid" && !is(l.z.attr[permaLink], "false") {
			return name
		}
	case atom:
		if name == "updated" || name == "published" {
			return name
		}
	}
	return ""
}

// atomLink takes the entry's own page: the first link that is no other relation.
func (l *listing) atomLink() {
	a := &l.z.attr
	if l.loc == "" && (a[rel] == nil || is(a[rel], "alternate")) {
		l.loc = string(trim(a[href]))
	}
}

func (l *listing) text() {
	switch {
	case !l.open || l.field == "" && !l.bare || len(l.value) > page.MaxURL:
	case l.z.section:
		l.value = append(l.value, l.z.raw...)
	default:
		l.value = appendXML(l.value, l.z.raw)
	}
}

func (l *listing) end(name string) {
	switch {
	case l.open && l.isItem(name):
		if l.bare {
			l.loc = string(trim(l.value))
		}
		l.flush()
		l.open = false
	case name == "source":
		l.source = false
	case l.field == name:
		l.close()
	}
}

// close ends a field and keeps its value. The first of each kind counts.
func (l *listing) close() {
	value := string(trim(l.value))
	switch l.field {
	case "loc", "link":
		l.loc = first(l.loc, value)
	case "guid":
		l.guid = first(l.guid, value)
	case "lastmod", "pubdate", "updated":
		l.mod = value
	case "published":
		l.mod = first(l.mod, value)
	}
	l.field = ""
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// flush ends an entry.
func (l *listing) flush() {
	if guid := []byte(l.guid); hasPrefix(guid, "http://") || hasPrefix(guid, "https://") {
		l.loc = first(l.loc, l.guid)
	}
	if l.loc != "" {
		l.entry([]byte(l.loc), l.mod)
	}
	l.loc, l.guid, l.mod = "", "", ""
}

func (l *listing) entry(ref []byte, mod string) {
	if len(l.out.Entries) >= MaxEntries {
		l.out.Cut = true
		return
	}
	if u, ok := l.resolve(ref); ok {
		f := folder{max: MaxLastMod}
		f.write([]byte(mod))
		l.out.Entries = append(l.out.Entries, Entry{URL: u, LastMod: f.String()})
	}
}

// lines reads a list of addresses, one a line. A line that is none is refused.
func (l *listing) lines(body []byte) {
	for len(body) > 0 && !l.out.Cut {
		var line []byte
		if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			line, body = body, nil
		}
		switch line = trim(line); {
		case len(line) == 0:
		case hasPrefix(line, "http://"), hasPrefix(line, "https://"):
			l.entry(line, "")
		default:
			l.refused++
		}
	}
}

// appendXML appends text with XML's own five entities and character references
// undone. Anything else after an ampersand stays as it stands: an address whose
// ampersands were not escaped is still an address.
func appendXML(out, s []byte) []byte {
	for len(s) > 0 {
		i := bytes.IndexByte(s, '&')
		if i < 0 {
			return append(out, s...)
		}
		out = append(out, s[:i]...)
		s = s[i:]
		end := bytes.IndexByte(s[:min(len(s), 12)], ';')
		if end < 0 {
			out = append(out, '&')
			s = s[1:]
			continue
		}
		r, ok := entity(string(s[1:end]))
		if !ok {
			out = append(out, '&')
			s = s[1:]
			continue
		}
		out = utf8.AppendRune(out, r)
		s = s[end+1:]
	}
	return out
}

func entity(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, radix := name[1:], 10
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, radix = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, radix, 32)
	if err != nil || n == 0 || n > utf8.MaxRune {
		return 0, false
	}
	return rune(n), true
}
