package parse

import (
	"bytes"

	"golang.org/x/text/encoding"

	"weir/page"
	"weir/robots"
)

// Parser reads bodies, one after another, and keeps its buffers for the next.
// The zero value is ready. It is not safe for concurrent use; what it returns
// is the caller's and shares no memory with it or with the body.
type Parser struct {
	base  page.URL
	moved bool              // base is not the page's own address
	enc   encoding.Encoding // of query parts; nil: UTF-8
	work  int               // bytes the URL parser may still be given

	links   []page.Link
	seen    map[linkKey]int32   // where in links
	cache   map[string]page.URL // of references as written, under base
	refused int
	cut     bool

	title, anchor, text folder
	query               []byte
}

type linkKey struct {
	url  page.URL
	kind page.Kind
}

// Want says what else than nav links is worth the time.
type Want struct {
	Text       bool // Doc.Text
	Anchors    bool // Link.Text
	Requisites bool // links to what the page needs to be shown
	Styles     bool // with Requisites: also those named in style elements and attributes
}

// Doc is what one HTML page says.
type Doc struct {
	Title      string
	Charset    string   // as the WHATWG names it: "utf-8", "windows-1252"
	Base       page.URL // what references are relative to
	Canonical  page.URL // zero when the page names none
	Robots     robots.Directives
	Links      []page.Link // in document order, Hash not yet filled in
	Alternates []Alternate
	Refused    int    // references that are no http or https URL
	Cut        bool   // there was more than the bounds allow: links are missing
	Text       string // visible text: spaces folded, a line a block
}

// Alternate is the same page for other readers.
type Alternate struct {
	Lang string // as written, lower case: "de-ch", "x-default"
	URL  page.URL
}

// keep is the size up to which buffers and tables wait for the next body.
const keep = 4096

func (p *Parser) reset(at page.URL, enc encoding.Encoding) {
	p.base, p.moved, p.enc = at, false, enc
	p.work = maxWork
	p.refused, p.cut = 0, false
	if p.seen == nil || len(p.seen) > keep {
		p.seen = make(map[linkKey]int32)
	}
	if p.cache == nil || len(p.cache) > keep {
		p.cache = make(map[string]page.URL)
	}
	clear(p.seen)
	clear(p.cache)
	clear(p.links)
	p.links = p.links[:0]
	p.title.reset(MaxTitle)
	p.anchor.reset(MaxAnchor)
	p.text.reset(MaxText)
}

// take returns the links found, in memory of their own.
func (p *Parser) take() []page.Link {
	if len(p.links) == 0 {
		return nil
	}
	links := make([]page.Link, len(p.links))
	copy(links, p.links)
	if cap(p.links) > keep {
		p.links = nil
	}
	return links
}

// setBase makes ref the base of all references to come, if it is one.
func (p *Parser) setBase(ref []byte) {
	if p.moved {
		return
	}
	if u, ok := p.resolve(ref); ok && u != p.base {
		p.base, p.moved = u, true
		clear(p.cache)
	}
}

// add keeps a link and returns its place, or -1 when ref is none.
func (p *Parser) add(kind page.Kind, ref []byte, rel string, noFollow bool) int {
	u, ok := p.resolve(ref)
	if !ok {
		return -1
	}
	return p.put(page.Link{URL: u, Kind: kind, Rel: rel, NoFollow: noFollow})
}

func (p *Parser) put(l page.Link) int {
	key := linkKey{l.URL, l.Kind}
	if i, ok := p.seen[key]; ok {
		if old := &p.links[i]; old.NoFollow && !l.NoFollow {
			old.NoFollow, old.Rel = false, l.Rel
		}
		return int(i)
	}
	p.seen[key] = int32(len(p.links))
	p.links = append(p.links, l)
	return len(p.links) - 1
}

// resolve reads a reference as the page means it. It is false for what leads
// nowhere else: refused references, parts of the page itself, and everything
// new after the page has had its share of links or work.
func (p *Parser) resolve(ref []byte) (page.URL, bool) {
	ref = trim(ref)
	if i := bytes.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	if len(ref) == 0 {
		return p.base, p.moved
	}
	if len(ref) > page.MaxURL || foreign(ref) {
		p.refused++
		return page.URL{}, false
	}
	if u, ok := p.cache[string(ref)]; ok {
		if u.IsZero() {
			p.refused++
		}
		return u, !u.IsZero()
	}
	cost := 64 + len(p.base.String()) + len(ref)
	if p.work < cost || len(p.links) >= MaxLinks {
		p.cut = true
		return page.URL{}, false
	}
	p.work -= cost
	u, err := p.base.Resolve(string(p.encodeQuery(ref)))
	if err != nil {
		u = page.URL{}
		p.refused++
	}
	p.cache[string(ref)] = u
	return u, err == nil
}

// trim cuts what the URL rules ignore round a reference: controls and spaces.
func trim(ref []byte) []byte {
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for len(ref) > 0 && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	return ref
}

// foreign says that ref plainly has a scheme that is not http or https. Schemes
// that are hidden better are left to the URL parser.
func foreign(ref []byte) bool {
	for i, c := range ref {
		switch {
		case isLetter(c), i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case c == ':':
			return i > 0 && !is(ref[:i], "http") && !is(ref[:i], "https")
		default:
			return false
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' && c != '\v' }

// is compares ASCII without regard to case; want is lower case.
func is(b []byte, want string) bool {
	return len(b) == len(want) && hasPrefix(b, want)
}

// hasPrefix is is for the beginning of b.
func hasPrefix(b []byte, want string) bool {
	if len(b) < len(want) {
		return false
	}
	for i := range len(want) {
		if lower(b[i]) != want[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
