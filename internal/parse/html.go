package parse

import (
	"bytes"

	"golang.org/x/text/transform"

	"weir/page"
	"weir/robots"
)

// HTML reads the page at an address, which was served as contentType. The agent
// is the product token by which the page may speak to us alone: its directives
// count beside those for all robots.
func (p *Parser) HTML(body []byte, at page.URL, contentType, agent string, w Want) *Doc {
	e := detect(body, contentType)
	p.reset(at, e.query())
	p.apart = w.Anchors
	p.open(body[e.bom:], e)
	defer p.scanner.close()
	d := &Doc{Charset: e.name}
	k := walk{Parser: p, z: &p.scanner, doc: d, want: w, reads: w.Text || w.Words, agent: agent, link: -1}
	k.run()
	d.Title = p.title.String()
	if w.Text {
		d.Text = p.text.String()
	}
	if w.Words {
		p.counter.Add(p.title.buf)
		p.counter.Add(p.text.buf)
		d.Words = p.counter.Take()
	}
	d.Base = p.base
	p.distinct()
	p.take(d)
	d.Refused, d.Cut = p.refused, p.cut
	return d
}

// open hands a page to the scanner: as it is where ASCII bytes always mean
// ASCII, so that only what is of use needs to be transcoded, else as UTF-8.
func (p *Parser) open(body []byte, e charEncoding) {
	switch {
	case e.utf8():
		p.scanner.open(body, nil)
	case e.transparent():
		p.scanner.open(body, e.enc.NewDecoder())
	default:
		p.whole, _, _ = transform.Append(e.enc.NewDecoder(), p.whole, body)
		p.scanner.open(p.whole, nil)
	}
}

// walk is one walk over a page's tags. There is no tree: what an element is
// inside of is counted, and only where it matters.
type walk struct {
	*Parser
	z     *scanner
	doc   *Doc
	want  Want
	reads bool // the text is gathered
	agent string

	titled   bool // a title was read, if an empty one
	template int  // depth
	svg      int  // depth
	noscript bool
	link     int // place of the anchor that is open, or -1
}

func (w *walk) run() {
	if w.want.Requisites {
		w.z.requisite = ^attrSet(0)
	}
	for {
		w.z.mute = !w.reads && w.link < 0
		switch w.z.scan() {
		case endOfPage:
			w.closeAnchor()
			return
		case textToken:
			w.writeText()
		case startTag:
			w.start(w.z.elem)
		case endTag:
			w.end(w.z.elem)
		}
	}
}

// writeText hands a piece of text to whatever is being gathered.
func (w *walk) writeText() {
	if w.z.in != nil {
		switch w.z.in.name {
		case "title":
			if w.template == 0 && w.svg == 0 && !w.titled {
				w.title.write(w.z.text())
				w.titled = true
			}
			return
		case "style", "script", "iframe", "noembed", "noframes":
			return
		}
	}
	visible := w.reads && w.template == 0 && !w.noscript && !w.text.full()
	if !visible && w.link < 0 {
		return
	}
	text := w.z.text()
	if visible {
		w.text.write(text)
	}
	if w.link >= 0 {
		w.anchor.write(text)
	}
}

func (w *walk) end(e *element) {
	switch e.name {
	case "a":
		w.closeAnchor()
	case "template":
		w.template = max(w.template-1, 0)
	case "svg":
		w.svg = max(w.svg-1, 0)
	case "noscript":
		w.noscript = false
	case "title":
		w.titled = w.titled || w.template == 0 && w.svg == 0
	}
	w.breakText(e)
}

// breakText ends the line at the edge of a block, the word at the edge of a cell.
func (w *walk) breakText(e *element) {
	switch e.flow {
	case block:
		w.text.line()
		w.anchor.space()
	case cell:
		w.text.space()
		w.anchor.space()
	}
}

func (w *walk) closeAnchor() {
	if w.link >= 0 {
		w.describe(w.link)
	}
	w.link = -1
}

// describe gives a link the text that was gathered, if it has none yet.
func (w *walk) describe(i int) {
	if l := &w.links[i]; l.text.empty() {
		l.text = w.say(w.anchor.buf)
	}
}

// start reads a start tag.
func (w *walk) start(e *element) {
	if w.svg > 0 {
		if e.flow == block {
			w.svg = 0 // a block ends foreign content, closed or not
		} else if e.text != markupText && w.z.selfClosing() {
			w.z.notRaw() // <title/> has ended here, while in HTML it would run on
		}
	}
	w.breakText(e)
	if e.name == "template" {
		if w.template > 0 || w.z.attr[shadowRoot] == nil {
			w.template++
		}
		return
	}
	if w.template > 0 {
		return
	}
	switch e.name {
	case "svg":
		if !w.z.selfClosing() {
			w.svg++
		}
	case "noscript":
		w.noscript = true
	case "body":
		w.noscript = false
	}
	if w.z.more {
		w.element(e)
	}
}

// element takes what it holds for us from a tag with attributes.
func (w *walk) element(e *element) {
	a := &w.z.attr
	switch e.name {
	case "a":
		w.closeAnchor()
		if i := w.addNav(a.href()); i >= 0 && w.want.Anchors {
			w.link = i
			w.anchor.reset(MaxAnchor)
		}
	case "area":
		if i := w.addNav(a.href()); i >= 0 && w.want.Anchors && w.links[i].text.empty() {
			w.anchor.reset(MaxAnchor)
			w.anchor.write(a[alt])
			w.describe(i)
		}
	case "iframe", "frame":
		w.add(page.Nav, a[src], nil, false)
	case "base":
		w.setBase(a[href])
	case "meta":
		w.meta()
	case "link":
		w.linkTag()
	default:
		if w.want.Requisites && e.requisite != 0 {
			w.requisites(e)
		}
	}
	if e.name == "img" && w.link >= 0 {
		w.anchor.space()
		w.anchor.write(a[alt])
		w.anchor.space()
	}
}

// addNav adds a navigation link with the rel of its tag.
func (w *walk) addNav(ref []byte) int {
	r := w.z.attr[rel]
	return w.add(page.Nav, ref, r, hasWord(r, "nofollow"))
}

// requisites adds what an element needs to be shown. Attributes that an element
// does not have for us were not read, so they are nil.
func (w *walk) requisites(e *element) {
	a := &w.z.attr
	if e.name == "input" && !is(a[kind], "image") {
		return
	}
	w.requisite(a[src])
	w.requisite(a[poster])
	w.srcset(a[srcset])
	w.requisite(a.href())
	w.requisite(a[data])
	w.requisite(a[background])
}

// requisite adds a requisite. An empty address or a part of the page itself is
// never fetched, under no base.
func (w *walk) requisite(ref []byte) {
	if ref = trim(ref); len(ref) > 0 && ref[0] != '#' {
		w.add(page.Requisite, ref, nil, false)
	}
}

func (w *walk) srcset(set []byte) {
	for len(set) > 0 {
		var ref []byte
		ref, set = candidate(set)
		w.requisite(ref)
	}
}

func (w *walk) meta() {
	a := &w.z.attr
	if is(a[httpEquiv], "refresh") {
		if ref, ok := refresh(a[content]); ok {
			w.add(page.Nav, ref, []byte("refresh"), false)
		}
	}
	if is(a[metaName], "robots") || w.agent != "" && bytes.EqualFold(a[metaName], []byte(w.agent)) {
		w.doc.Robots = w.doc.Robots.Merge(robots.ParseMeta(string(a[content])))
	}
	if w.want.Metas && a[content] != nil {
		w.addMeta(a[metaName])
		w.addMeta(a[property])
		w.addMeta(a[httpEquiv])
	}
}

// addMeta keeps what a meta element says under one of its names.
func (w *walk) addMeta(name []byte) {
	name = w.lowerWords(name)
	if len(name) == 0 || len(w.metas) >= MaxMetas {
		return
	}
	m := meta{name: w.say(name)}
	w.word.reset(MaxMeta)
	w.word.write(w.z.attr[content])
	if m.content = w.say(w.word.buf); !m.content.empty() {
		w.metas = append(w.metas, m)
	}
}

// linkTag files a link element by its rel.
func (w *walk) linkTag() {
	a := &w.z.attr
	if a[href] == nil {
		if w.want.Requisites {
			w.srcset(a[imageSrcset])
		}
		return
	}
	switch role := relRole(a[rel], a[kind]); role {
	case relCanonical:
		if u, ok := w.resolve(a[href]); ok && w.doc.Canonical.IsZero() {
			w.doc.Canonical = u
		}
	case relNav:
		i := w.addNav(a[href])
		if w.want.Translations && i >= 0 && a[hreflang] != nil && hasWord(a[rel], "alternate") && len(w.doc.Translations) < MaxTranslations {
			lang := words(a[hreflang], MaxRel)
			w.doc.Translations = append(w.doc.Translations, page.Translation{Lang: lang, URL: w.links[i].url})
		}
	case relRequisite:
		if w.want.Requisites {
			if ref := trim(a[href]); len(ref) > 0 && ref[0] != '#' {
				w.add(page.Requisite, ref, a[rel], false)
			}
			w.srcset(a[imageSrcset])
		}
	}
}
