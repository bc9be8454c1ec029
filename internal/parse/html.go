package parse

import (
	"bytes"
	"io"

	"golang.org/x/net/html"
	"golang.org/x/text/transform"

	"weir/page"
	"weir/robots"
)

// HTML reads the page at an address, which was served as contentType. The agent
// is the product token by which the page may speak to us alone: its directives
// count beside those for all robots.
func (p *Parser) HTML(body []byte, at page.URL, contentType, agent string, w Want) *Doc {
	e := detect(body, contentType)
	body = body[e.bom:]
	p.reset(at, e.query())
	var r io.Reader = bytes.NewReader(body)
	if !e.utf8() {
		r = transform.NewReader(r, e.enc.NewDecoder())
	}
	s := scan{Parser: p, z: html.NewTokenizer(r), want: w, agent: agent, link: -1}
	s.doc.Charset = e.name
	s.run()
	d := s.doc
	d.Title = p.title.String()
	d.Text = p.text.String()
	d.Base = p.base
	d.Links = p.take()
	d.Refused, d.Cut = p.refused, p.cut
	return &d
}

// scan is one walk over a page's tags. There is no tree: what an element is
// inside of is counted, and only where it matters.
type scan struct {
	*Parser
	z     *html.Tokenizer
	doc   Doc
	want  Want
	agent string
	attr  attrs

	raw      string // the element whose text comes next and is no markup
	titled   bool   // a title was read, if an empty one
	template int    // depth
	svg      int    // depth
	noscript bool
	link     int // place of the anchor that is open, or -1
}

func (s *scan) run() {
	for {
		switch s.z.Next() {
		case html.ErrorToken:
			s.closeAnchor()
			return
		case html.TextToken:
			s.writeText()
			s.raw = ""
		case html.StartTagToken:
			s.start(false)
		case html.SelfClosingTagToken:
			s.start(true)
		case html.EndTagToken:
			name, _ := s.z.TagName()
			s.end(name)
			s.raw = ""
		}
	}
}

// writeText hands a piece of text to whatever is being gathered.
func (s *scan) writeText() {
	switch s.raw {
	case "title":
		if s.template == 0 && s.svg == 0 && !s.titled {
			s.title.write(s.z.Text())
			s.titled = true
		}
		return
	case "style":
		if s.template == 0 && s.want.Requisites && s.want.Styles {
			s.css(s.z.Text())
		}
		return
	case "script", "iframe", "noembed", "noframes":
		return
	}
	visible := s.want.Text && s.template == 0 && !s.noscript && !s.text.full()
	if !visible && s.link < 0 {
		return
	}
	text := s.z.Text()
	if visible {
		s.text.write(text)
	}
	if s.link >= 0 {
		s.anchor.write(text)
	}
}

func (s *scan) end(name []byte) {
	switch string(name) {
	case "a":
		s.closeAnchor()
	case "template":
		s.template = max(s.template-1, 0)
	case "svg":
		s.svg = max(s.svg-1, 0)
	case "noscript":
		s.noscript = false
	case "title":
		s.titled = s.titled || s.template == 0 && s.svg == 0
	}
	s.breakText(name)
}

// breakText ends the line at the edge of a block, the word at the edge of a cell.
func (s *scan) breakText(name []byte) {
	switch flow(name) {
	case block:
		s.text.line()
		s.anchor.space()
	case cell:
		s.text.space()
		s.anchor.space()
	}
}

func (s *scan) closeAnchor() {
	if s.link >= 0 && s.links[s.link].Text == "" {
		s.links[s.link].Text = s.anchor.String()
	}
	s.link = -1
}

// start reads a start tag. Names and values are only valid until the next tag.
func (s *scan) start(selfClosing bool) {
	name, more := s.z.TagName()
	s.raw = rawText(name)
	if s.svg > 0 {
		if flow(name) == block {
			s.svg = 0 // a block ends foreign content, closed or not
		} else if selfClosing {
			// <title/> has ended here, while in HTML it would run on.
			s.z.NextIsNotRawText()
			s.raw = ""
		}
	}
	if string(name) == "noscript" {
		s.z.NextIsNotRawText() // the tokenizer takes us for a browser with scripts
	}
	s.breakText(name)
	if string(name) == "template" {
		s.startTemplate(more)
		return
	}
	if s.template > 0 {
		return
	}
	switch string(name) {
	case "svg":
		if !selfClosing {
			s.svg++
		}
	case "noscript":
		s.noscript = true
	case "body":
		s.noscript = false
	}
	if more {
		s.element(name)
	}
}

func (s *scan) startTemplate(more bool) {
	if more && s.template == 0 {
		s.attr.read(s.z)
		if s.attr[shadowRoot] != nil {
			return
		}
	}
	s.template++
}

// element takes what it holds for us from a tag with attributes.
func (s *scan) element(name []byte) {
	styled := s.want.Requisites && s.want.Styles
	if !referring[string(name)] && !styled {
		return
	}
	s.attr.read(s.z)
	a := &s.attr
	switch string(name) {
	case "a":
		s.closeAnchor()
		s.anchorTag()
	case "area":
		i := s.add(page.Nav, a.href(), words(a[rel], MaxRel), hasWord(a[rel], "nofollow"))
		if i >= 0 && s.want.Anchors && s.links[i].Text == "" {
			s.anchor.reset(MaxAnchor)
			s.anchor.write(a[alt])
			s.links[i].Text = s.anchor.String()
		}
	case "iframe", "frame":
		s.add(page.Nav, a[src], "", false)
	case "base":
		s.setBase(a[href])
	case "meta":
		s.meta()
	case "link":
		s.linkTag()
	default:
		if s.want.Requisites {
			s.requisites(name)
		}
	}
	if styled && a[style] != nil {
		s.css(a[style])
	}
	if string(name) == "img" && s.link >= 0 {
		s.anchor.space()
		s.anchor.write(a[alt])
		s.anchor.space()
	}
}

func (s *scan) anchorTag() {
	a := &s.attr
	i := s.add(page.Nav, a.href(), words(a[rel], MaxRel), hasWord(a[rel], "nofollow"))
	if i >= 0 && s.want.Anchors {
		s.link = i
		s.anchor.reset(MaxAnchor)
	}
}

// requisites adds what an element needs to be shown.
func (s *scan) requisites(name []byte) {
	a := &s.attr
	switch string(name) {
	case "img", "source", "video", "audio", "track", "embed", "bgsound", "script":
		s.requisite(a[src])
		s.requisite(a[poster])
		s.srcset(a[srcset])
	case "image":
		s.requisite(a[src])
		s.requisite(a.href())
	case "use", "feimage":
		s.requisite(a.href())
	case "input":
		if is(a[kind], "image") {
			s.requisite(a[src])
		}
	case "object":
		s.requisite(a[data])
	case "body", "table", "tr", "td", "th":
		s.requisite(a[background])
	}
}

// requisite adds a requisite. An empty address or a part of the page itself is
// never fetched, under no base.
func (s *scan) requisite(ref []byte) {
	if ref = trim(ref); len(ref) > 0 && ref[0] != '#' {
		s.add(page.Requisite, ref, "", false)
	}
}

func (s *scan) srcset(set []byte) {
	for len(set) > 0 {
		var ref []byte
		ref, set = candidate(set)
		s.requisite(ref)
	}
}

func (s *scan) css(sheet []byte) {
	for len(sheet) > 0 {
		var ref []byte
		ref, sheet = styleRef(sheet)
		s.requisite(ref)
	}
}

func (s *scan) meta() {
	a := &s.attr
	if is(a[httpEquiv], "refresh") {
		if ref, ok := refresh(a[content]); ok {
			s.add(page.Nav, ref, "refresh", false)
		}
	}
	if is(a[metaName], "robots") || s.agent != "" && bytes.EqualFold(a[metaName], []byte(s.agent)) {
		s.doc.Robots = s.doc.Robots.Merge(robots.ParseMeta(string(a[content])))
	}
}

// linkTag files a link element by its rel.
func (s *scan) linkTag() {
	a := &s.attr
	if a[href] == nil {
		if s.want.Requisites {
			s.srcset(a[imageSrcset])
		}
		return
	}
	rels := words(a[rel], MaxRel)
	switch role := relRole(a[rel], a[kind]); role {
	case relCanonical:
		if u, ok := s.resolve(a[href]); ok && s.doc.Canonical.IsZero() {
			s.doc.Canonical = u
		}
	case relNav:
		i := s.add(page.Nav, a[href], rels, hasWord(a[rel], "nofollow"))
		if i >= 0 && a[hreflang] != nil && hasWord(a[rel], "alternate") && len(s.doc.Alternates) < MaxAlternates {
			lang := words(a[hreflang], MaxRel)
			s.doc.Alternates = append(s.doc.Alternates, Alternate{Lang: lang, URL: s.links[i].URL})
		}
	case relRequisite:
		if s.want.Requisites {
			if ref := trim(a[href]); len(ref) > 0 && ref[0] != '#' {
				s.add(page.Requisite, ref, rels, false)
			}
			s.srcset(a[imageSrcset])
		}
	}
}
