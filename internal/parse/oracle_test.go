package parse

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/transform"

	"weir/page"
	"weir/robots"
)

// oracle reads pages the plain way: with the tokenizer of x/net/html, over text
// that is transcoded as a whole, with maps and a string for everything. What it
// says of a page, the Parser must say.
type oracle struct {
	z     *html.Tokenizer
	doc   Doc
	want  Want
	agent string
	attr  oracleAttrs
	enc   Parser // for its encodeQuery
	base  *page.Base
	moved bool
	work  int
	seen  map[linkKey]int
	again int // links to a target that was there
	cache map[string]page.URL

	title, anchor, text folder

	raw      string // the element whose text comes next and is no markup
	titled   bool
	template int
	svg      int
	noscript bool
	link     int
}

type linkKey struct {
	url  page.URL
	kind page.Kind
}

func oracleHTML(body []byte, at page.URL, contentType, agent string, w Want) *Doc {
	e := detect(body, contentType)
	var r io.Reader = bytes.NewReader(body[e.bom:])
	if !e.utf8() {
		r = transform.NewReader(r, e.enc.NewDecoder())
	}
	s := oracle{z: html.NewTokenizer(r), want: w, agent: agent, link: -1, work: maxWork,
		seen: make(map[linkKey]int), cache: make(map[string]page.URL)}
	s.enc.enc = e.query()
	s.title.reset(MaxTitle)
	s.anchor.reset(MaxAnchor)
	s.text.reset(MaxText)
	s.doc.Charset, s.doc.Base, s.base = e.name, at, at.Base()
	s.run()
	s.distinct()
	s.doc.Title, s.doc.Text = s.title.String(), s.text.String()
	if w.Words {
		s.doc.Words = Words(s.doc.Title, s.doc.Text)
	}
	if !w.Text {
		s.doc.Text = ""
	}
	return &s.doc
}

// distinct leaves the first of links that are the same in all they say.
func (s *oracle) distinct() {
	said := make(map[page.Link]bool)
	s.doc.Links = slices.DeleteFunc(s.doc.Links, func(l page.Link) bool {
		had := said[l]
		said[l] = true
		return had
	})
}

func (s *oracle) setBase(ref []byte) {
	if s.moved {
		return
	}
	if u, ok := s.resolve(ref); ok && u != s.doc.Base {
		s.doc.Base, s.base, s.moved = u, u.Base(), true
		clear(s.cache)
	}
}

func (s *oracle) add(kind page.Kind, ref []byte, rel string, noFollow bool) int {
	u, ok := s.resolve(ref)
	if !ok {
		return -1
	}
	key := linkKey{u, kind}
	if i, ok := s.seen[key]; ok && (!s.want.Anchors || kind != page.Nav || s.again >= maxRepeats) {
		if old := &s.doc.Links[i]; old.NoFollow && !noFollow {
			old.NoFollow, old.Rel = false, rel
		}
		return i
	}
	i := len(s.doc.Links)
	if _, ok := s.seen[key]; ok {
		s.again++
	} else {
		s.seen[key] = i
	}
	s.doc.Links = append(s.doc.Links, page.Link{URL: u, Kind: kind, Rel: rel, NoFollow: noFollow})
	return i
}

func (s *oracle) resolve(ref []byte) (page.URL, bool) {
	ref = trim(ref)
	if i := bytes.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	if len(ref) == 0 {
		return s.doc.Base, s.moved
	}
	if len(ref) > page.MaxURL || foreign(ref) {
		s.doc.Refused++
		return page.URL{}, false
	}
	if u, ok := s.cache[string(ref)]; ok {
		if u.IsZero() {
			s.doc.Refused++
		}
		return u, !u.IsZero()
	}
	cost := 64 + len(s.doc.Base.String()) + len(ref)
	if s.work < cost || len(s.doc.Links)-s.again >= MaxLinks {
		s.doc.Cut = true
		return page.URL{}, false
	}
	s.work -= cost
	u, err := s.base.Resolve(string(s.enc.encodeQuery(ref)))
	if err != nil {
		u = page.URL{}
		s.doc.Refused++
	}
	s.cache[string(ref)] = u
	return u, err == nil
}

func (s *oracle) run() {
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
func (s *oracle) writeText() {
	switch s.raw {
	case "title":
		if s.template == 0 && s.svg == 0 && !s.titled {
			s.title.write(s.z.Text())
			s.titled = true
		}
		return
	case "style", "script", "iframe", "noembed", "noframes":
		return
	}
	visible := (s.want.Text || s.want.Words) && s.template == 0 && !s.noscript && !s.text.full()
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

func (s *oracle) end(name []byte) {
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
func (s *oracle) breakText(name []byte) {
	switch oracleFlow(name) {
	case block:
		s.text.line()
		s.anchor.space()
	case cell:
		s.text.space()
		s.anchor.space()
	}
}

func (s *oracle) closeAnchor() {
	if s.link >= 0 && s.doc.Links[s.link].Text == "" {
		s.doc.Links[s.link].Text = s.anchor.String()
	}
	s.link = -1
}

// start reads a start tag. Names and values are only valid until the next tag.
func (s *oracle) start(selfClosing bool) {
	name, more := s.z.TagName()
	s.raw = oracleRaw(name)
	if s.svg > 0 {
		if oracleFlow(name) == block {
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

func (s *oracle) startTemplate(more bool) {
	if more && s.template == 0 {
		s.attr.read(s.z)
		if s.attr[shadowRoot] != nil {
			return
		}
	}
	s.template++
}

// element takes what it holds for us from a tag with attributes.
func (s *oracle) element(name []byte) {
	if !oracleReferring[string(name)] {
		return
	}
	s.attr.read(s.z)
	a := &s.attr
	switch string(name) {
	case "a":
		s.closeAnchor()
		s.anchorTag()
	case "area":
		i := s.add(page.Nav, a.href(), oracleWords(a[rel], MaxRel), hasWord(a[rel], "nofollow"))
		if i >= 0 && s.want.Anchors && s.doc.Links[i].Text == "" {
			s.anchor.reset(MaxAnchor)
			s.anchor.write(a[alt])
			s.doc.Links[i].Text = s.anchor.String()
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
	if string(name) == "img" && s.link >= 0 {
		s.anchor.space()
		s.anchor.write(a[alt])
		s.anchor.space()
	}
}

func (s *oracle) anchorTag() {
	a := &s.attr
	i := s.add(page.Nav, a.href(), oracleWords(a[rel], MaxRel), hasWord(a[rel], "nofollow"))
	if i >= 0 && s.want.Anchors {
		s.link = i
		s.anchor.reset(MaxAnchor)
	}
}

// requisites adds what an element needs to be shown.
func (s *oracle) requisites(name []byte) {
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
func (s *oracle) requisite(ref []byte) {
	if ref = trim(ref); len(ref) > 0 && ref[0] != '#' {
		s.add(page.Requisite, ref, "", false)
	}
}

func (s *oracle) srcset(set []byte) {
	for len(set) > 0 {
		var ref []byte
		ref, set = candidate(set)
		s.requisite(ref)
	}
}

func (s *oracle) meta() {
	a := &s.attr
	if is(a[httpEquiv], "refresh") {
		if ref, ok := refresh(a[content]); ok {
			s.add(page.Nav, ref, "refresh", false)
		}
	}
	if is(a[metaName], "robots") || s.agent != "" && bytes.EqualFold(a[metaName], []byte(s.agent)) {
		s.doc.Robots = s.doc.Robots.Merge(robots.ParseMeta(string(a[content])))
	}
	for _, k := range []attr{metaName, property, httpEquiv} {
		name := oracleWords(a[k], MaxRel)
		f := folder{max: MaxMeta}
		f.write(a[content])
		if s.want.Metas && name != "" && f.String() != "" && len(s.doc.Metas) < MaxMetas {
			s.doc.Metas = append(s.doc.Metas, page.Field{Name: name, Value: f.String()})
		}
	}
}

// linkTag files a link element by its rel.
func (s *oracle) linkTag() {
	a := &s.attr
	if a[href] == nil {
		if s.want.Requisites {
			s.srcset(a[imageSrcset])
		}
		return
	}
	rels := oracleWords(a[rel], MaxRel)
	switch role := relRole(a[rel], a[kind]); role {
	case relCanonical:
		if u, ok := s.resolve(a[href]); ok && s.doc.Canonical.IsZero() {
			s.doc.Canonical = u
		}
	case relNav:
		i := s.add(page.Nav, a[href], rels, hasWord(a[rel], "nofollow"))
		if s.want.Translations && i >= 0 && a[hreflang] != nil && hasWord(a[rel], "alternate") && len(s.doc.Translations) < MaxTranslations {
			lang := oracleWords(a[hreflang], MaxRel)
			s.doc.Translations = append(s.doc.Translations, page.Translation{Lang: lang, URL: s.doc.Links[i].URL})
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

type oracleAttrs attrs

func (a *oracleAttrs) href() []byte { return (*attrs)(a).href() }

// read takes the attributes of the current tag. Of two with one name the first
// counts.
func (a *oracleAttrs) read(z *html.Tokenizer) {
	*a = oracleAttrs{}
	for more := true; more; {
		var key, val []byte
		key, val, more = z.TagAttr()
		if i, ok := oracleAttrNames[string(key)]; ok && a[i] == nil && len(val) > 0 {
			a[i] = val
		}
	}
}

var oracleAttrNames = map[string]attr{
	"alt": alt, "background": background, "content": content, "data": data, "href": href, "hreflang": hreflang,
	"http-equiv": httpEquiv, "imagesrcset": imageSrcset, "type": kind, "name": metaName, "poster": poster, "property": property, "rel": rel,
	"shadowrootmode": shadowRoot, "ispermalink": permaLink, "src": src, "srcset": srcset, "xlink:href": xlink,
}

var oracleReferring = oracleSet(`a area audio base bgsound body embed feimage frame iframe
	image img input link meta object script source table td th tr track use video`)

func oracleSet(names string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

var oracleRawText = oracleSet("title style script iframe noembed noframes")

func oracleRaw(name []byte) string {
	if oracleRawText[string(name)] {
		return string(name)
	}
	return ""
}

var (
	oracleBlocks = oracleSet(`address article aside blockquote body br caption center dd details dialog dir div dl dt
		fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav
		ol p pre section summary table tbody tfoot thead tr ul xmp plaintext`)
	oracleCells = oracleSet(`td th option optgroup select button textarea img input iframe object video audio svg title`)
)

func oracleFlow(name []byte) flow {
	switch {
	case oracleBlocks[string(name)]:
		return block
	case oracleCells[string(name)]:
		return cell
	}
	return inline
}

func oracleWords(b []byte, max int) string {
	if len(b) == 0 {
		return ""
	}
	f := folder{max: max}
	f.write(b)
	return strings.ToLower(f.String())
}
