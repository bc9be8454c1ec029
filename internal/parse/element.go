package parse

import "golang.org/x/net/html"

// attr is an attribute that means something to us.
type attr uint8

const (
	alt attr = iota
	background
	content
	data
	href
	hreflang
	httpEquiv
	imageSrcset
	kind // @type
	metaName
	poster
	rel
	shadowRoot
	src
	srcset
	style
	xlink
	attrCount
)

// attrs are the values of one tag: nil where an attribute is missing or empty.
type attrs [attrCount][]byte

// read takes the attributes of the current tag. Of two with one name the first
// counts.
func (a *attrs) read(z *html.Tokenizer) {
	*a = attrs{}
	for more := true; more; {
		var key, val []byte
		key, val, more = z.TagAttr()
		if i, ok := attrOf(key); ok && a[i] == nil && len(val) > 0 {
			a[i] = val
		}
	}
}

// href is the address of an element that may be SVG's.
func (a *attrs) href() []byte {
	if a[href] != nil {
		return a[href]
	}
	return a[xlink]
}

func attrOf(key []byte) (attr, bool) {
	switch string(key) {
	case "alt":
		return alt, true
	case "background":
		return background, true
	case "content":
		return content, true
	case "data":
		return data, true
	case "href":
		return href, true
	case "hreflang":
		return hreflang, true
	case "http-equiv":
		return httpEquiv, true
	case "imagesrcset":
		return imageSrcset, true
	case "type":
		return kind, true
	case "name":
		return metaName, true
	case "poster":
		return poster, true
	case "rel":
		return rel, true
	case "shadowrootmode":
		return shadowRoot, true
	case "src":
		return src, true
	case "srcset":
		return srcset, true
	case "style":
		return style, true
	case "xlink:href":
		return xlink, true
	}
	return 0, false
}

// referring are the elements that may refer to something.
var referring = set(
	"a", "area", "audio", "base", "bgsound", "body", "embed", "feimage", "frame", "iframe",
	"image", "img", "input", "link", "meta", "object", "script", "source", "table", "td", "th",
	"tr", "track", "use", "video",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// rawText returns the name again when the element's content is text whatever it
// looks like, and is not shown or not shown as it stands.
func rawText(name []byte) string {
	switch string(name) {
	case "title":
		return "title"
	case "style":
		return "style"
	case "script":
		return "script"
	case "iframe":
		return "iframe"
	case "noembed":
		return "noembed"
	case "noframes":
		return "noframes"
	}
	return ""
}

// How an element's edges part the text round it.
const (
	inline = iota
	cell
	block
)

func flow(name []byte) int {
	switch string(name) {
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details",
		"dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
		"h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "main",
		"menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead",
		"tr", "ul", "xmp", "plaintext":
		return block
	case "td", "th", "option", "optgroup", "select", "button", "textarea", "img", "input", "iframe",
		"object", "video", "audio", "svg", "title":
		return cell
	}
	return inline
}

// What a link element is for.
const (
	relRequisite = iota
	relNav
	relCanonical
	relNothing
)

// relRole decides by the words of rel, and for pages beside this one also by
// the type: rel=search leads to a page, or to a description for the browser's
// search box. A link with no rel, or one we do not know, is taken for a requisite.
func relRole(rel, kind []byte) int {
	role := relRequisite
	for len(rel) > 0 {
		var w []byte
		w, rel = nextWord(rel)
		switch lowered(w) {
		case "stylesheet", "icon", "manifest":
			return relRequisite // also "alternate stylesheet"
		case "canonical":
			return relCanonical
		case "preconnect", "dns-prefetch", "pingback", "webmention", "profile", "shortlink":
			role = relNothing // a host, a service or another name: nothing to get
		case "alternate", "amphtml", "appendix", "archives", "author", "begin", "bookmark", "chapter",
			"child", "contents", "copyright", "end", "first", "glossary", "help", "home", "index",
			"last", "license", "next", "parent", "prev", "previous", "privacy-policy", "search",
			"section", "sibling", "start", "subsection", "summary", "terms-of-service",
			"toc", "top", "up":
			if role != relNothing && (len(kind) == 0 || htmlType(media(string(kind)))) {
				role = relNav
			}
		}
	}
	return role
}

// nextWord splits a list of words at its spaces.
func nextWord(s []byte) (word, rest []byte) {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for i, c := range s {
		if isSpace(c) {
			return s[:i], s[i:]
		}
	}
	return s, nil
}

// lowered returns a short word in lower case, and nothing for a long one.
func lowered(w []byte) string {
	var short [24]byte
	if len(w) > len(short) {
		return ""
	}
	for i, c := range w {
		short[i] = lower(c)
	}
	return string(short[:len(w)])
}

// hasWord looks for a word, given in lower case, in a list.
func hasWord(list []byte, want string) bool {
	for len(list) > 0 {
		var w []byte
		if w, list = nextWord(list); is(w, want) {
			return true
		}
	}
	return false
}
