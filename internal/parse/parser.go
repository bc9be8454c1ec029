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
	scanner scanner
	whole   []byte // a body that had to be transcoded as a whole

	base     page.URL
	resolver *page.Base        // of base; nil until it is needed
	moved    bool              // base is not the page's own address
	enc      encoding.Encoding // of query parts; nil: UTF-8
	work     int               // bytes the URL parser may still be given

	links   []link
	metas   []meta
	said    []byte // what the links' rel and text are cut from
	seen    table  // of links, by address and kind
	refs    []ref
	written []byte // what the refs are cut from
	known   table  // of refs, by what was written
	refused int
	cut     bool
	apart   bool // links to one target that say different things are all kept
	repeats int  // links to a target that was there, of those

	title, anchor, text, word folder
	query                     []byte
	counter                   Counter
}

// link is a link in the making.
type link struct {
	url       page.URL
	kind      page.Kind
	noFollow  bool
	rel, text span // in said
}

// meta is a meta element in the making.
type meta struct{ name, content span } // in said

// ref is a reference that was resolved under the present base.
type ref struct {
	span          // in written
	url  page.URL // zero when it was refused
}

// span is a part of a buffer.
type span struct{ from, to int }

func (s span) empty() bool { return s.from == s.to }

// Want says what else than nav links is worth the time.
type Want struct {
	Text         bool // Doc.Text
	Anchors      bool // Link.Text, and every link of a target that says something else
	Requisites   bool // links to what the page needs to be shown
	Words        bool // Doc.Words
	Metas        bool // Doc.Metas
	Translations bool // Doc.Translations
}

// Doc is what one HTML page says.
type Doc struct {
	Title     string
	Charset   string   // as the WHATWG names it: "utf-8", "windows-1252"
	Base      page.URL // what references are relative to
	Canonical page.URL // zero when the page names none
	Robots    robots.Directives
	Links     []page.Link // in document order, Hash not yet filled in
	Refused   int         // references that are no http or https URL
	Cut       bool        // there was more than the bounds allow: links are missing
	Text      string      // visible text: spaces folded, a line a block

	Words        []page.Word        // of the title and the text
	Metas        []page.Field       // by name, property or http-equiv, in document order; those that say nothing are left out
	Translations []page.Translation // of link rel=alternate with hreflang
}

// keep is the size up to which buffers and tables wait for the next body.
const keep = 4096

func (p *Parser) reset(at page.URL, enc encoding.Encoding) {
	p.setAddress(at)
	p.moved, p.enc = false, enc
	p.work = maxWork
	p.refused, p.cut = 0, false
	p.apart, p.repeats = false, 0
	clear(p.links)
	p.links = again(p.links, keep)
	p.metas = p.metas[:0]
	p.said = again(p.said, 64*keep)
	p.query = again(p.query, 64*keep)
	p.whole = again(p.whole, 256*keep)
	p.seen.reset()
	p.title.reset(MaxTitle)
	p.anchor.reset(MaxAnchor)
	p.text.reset(MaxText)
}

// again empties a buffer for the next use, if it is not too large to keep.
func again[T any](s []T, most int) []T {
	if cap(s) > most {
		return nil
	}
	return s[:0]
}

// setAddress makes u the base of references, none of which was read before.
func (p *Parser) setAddress(u page.URL) {
	p.base, p.resolver = u, nil
	clear(p.refs)
	p.refs = again(p.refs, keep)
	p.written = again(p.written, 64*keep)
	p.known.reset()
}

// distinct drops links that say what an earlier one says. Texts are known only
// when an anchor has ended, so that links kept apart are compared last.
func (p *Parser) distinct() {
	if p.repeats == 0 {
		return
	}
	p.seen.reset()
	kept := p.links[:0]
links:
	for _, l := range p.links {
		rel, text := p.said[l.rel.from:l.rel.to], p.said[l.text.from:l.text.to]
		h := hashString(l.url.String()) + uint64(l.kind) + 3*hashBytes(rel) + 5*hashBytes(text)
		for probe := p.seen.probe(h); probe.next(); {
			k := &kept[probe.place]
			if k.url == l.url && k.kind == l.kind && k.noFollow == l.noFollow &&
				bytes.Equal(p.said[k.rel.from:k.rel.to], rel) && bytes.Equal(p.said[k.text.from:k.text.to], text) {
				continue links
			}
		}
		p.seen.add(h, len(kept))
		kept = append(kept, l)
	}
	clear(p.links[len(kept):])
	p.links = kept
}

// take gives the links and meta elements found to d, in memory of their own: a
// piece for each kind and one for all they say.
func (p *Parser) take(d *Doc) {
	said := string(p.said)
	if len(p.links) > 0 {
		d.Links = make([]page.Link, len(p.links))
	}
	for i, l := range p.links {
		d.Links[i] = page.Link{
			URL: l.url, Kind: l.kind, NoFollow: l.noFollow,
			Rel: said[l.rel.from:l.rel.to], Text: said[l.text.from:l.text.to],
		}
	}
	if len(p.metas) > 0 {
		d.Metas = make([]page.Field, len(p.metas))
	}
	for i, m := range p.metas {
		d.Metas[i] = page.Field{Name: said[m.name.from:m.name.to], Value: said[m.content.from:m.content.to]}
	}
}

// say keeps words for take.
func (p *Parser) say(words []byte) span {
	from := len(p.said)
	p.said = append(p.said, words...)
	return span{from, len(p.said)}
}

// setBase makes ref the base of all references to come, if it is one.
func (p *Parser) setBase(ref []byte) {
	if p.moved {
		return
	}
	if u, ok := p.resolve(ref); ok && u != p.base {
		p.setAddress(u)
		p.moved = true
	}
}

// add keeps a link and returns its place, or -1 when ref is none. A link that
// is there already stays where it is; its first reference to be followed says
// what it is for. Where links to one target are kept apart, only those beyond
// maxRepeats are joined so.
func (p *Parser) add(kind page.Kind, ref, rel []byte, noFollow bool) int {
	u, ok := p.resolve(ref)
	if !ok {
		return -1
	}
	h := hashString(u.String()) + uint64(kind)
	for probe := p.seen.probe(h); probe.next(); {
		l := &p.links[probe.place]
		if l.kind != kind || l.url != u {
			continue
		}
		if p.apart && kind == page.Nav && p.repeats < maxRepeats {
			p.repeats++
			p.links = append(p.links, link{url: u, kind: kind, noFollow: noFollow, rel: p.say(p.lowerWords(rel))})
			return len(p.links) - 1
		}
		if l.noFollow && !noFollow {
			l.noFollow, l.rel = false, p.say(p.lowerWords(rel))
		}
		return probe.place
	}
	i := len(p.links)
	p.seen.add(h, i)
	p.links = append(p.links, link{url: u, kind: kind, noFollow: noFollow, rel: p.say(p.lowerWords(rel))})
	return i
}

// lowerWords returns the words of a rel. They hold until the next call.
func (p *Parser) lowerWords(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	p.word.reset(MaxRel)
	p.word.write(b)
	return lowerText(p.word.buf)
}

// resolve reads a reference as the page means it. It is false for what leads
// nowhere else: refused references, parts of the page itself, and everything
// new after the page has had its share of links or work.
func (p *Parser) resolve(written []byte) (page.URL, bool) {
	written = trim(written)
	if i := bytes.IndexByte(written, '#'); i >= 0 {
		written = written[:i]
	}
	if len(written) == 0 {
		return p.base, p.moved
	}
	if len(written) > page.MaxURL || foreign(written) {
		p.refused++
		return page.URL{}, false
	}
	h := hashBytes(written)
	for probe := p.known.probe(h); probe.next(); {
		r := &p.refs[probe.place]
		if !bytes.Equal(p.written[r.from:r.to], written) {
			continue
		}
		if r.url.IsZero() {
			p.refused++
		}
		return r.url, !r.url.IsZero()
	}
	cost := 64 + len(p.base.String()) + len(written)
	if p.work < cost || len(p.links)-p.repeats >= MaxLinks {
		p.cut = true
		return page.URL{}, false
	}
	p.work -= cost
	if p.resolver == nil {
		p.resolver = p.base.Base()
	}
	u, err := p.resolver.ResolveBytes(p.encodeQuery(written))
	if err != nil {
		u = page.URL{}
		p.refused++
	}
	p.known.add(h, len(p.refs))
	from := len(p.written)
	p.written = append(p.written, written...)
	p.refs = append(p.refs, ref{span{from, len(p.written)}, u})
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
